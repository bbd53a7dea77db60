//! The rules that make a schema structural: it says the type of everything outside of the junctors, and nothing but value
//! checks inside of them.

use serde_json::Value;

use super::raw::Raw;
use crate::crd::pattern;
use crate::status::FieldError;

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The field that cannot be read into a structural schema at all, in the server's words.
pub(super) fn unsupported(schema: Raw<'_>) -> Option<String> {
    for (key, name) in [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
    ] {
        if !schema.is_empty_at(key) {
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    if schema.has("additionalItems") {
        return Some("OpenAPIV3Schema 'additionalItems' is not supported".to_owned());
    }
    if !schema.is_empty_at("definitions") {
        return Some("OpenAPIV3Schema 'definitions' is not supported".to_owned());
    }
    let below = Raw::of(schema.value("not"))
        .into_iter()
        .chain(schema.list("allOf").map(|(_, schema)| schema))
        .chain(schema.list("anyOf").map(|(_, schema)| schema))
        .chain(schema.list("oneOf").map(|(_, schema)| schema))
        .find_map(unsupported);
    if below.is_some() {
        return below;
    }
    if schema.value("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let text = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
        return Some(text.to_owned());
    }
    if schema.value("items").and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    schema
        .items()
        .into_iter()
        .chain(schema.properties().map(|(_, schema)| schema))
        .chain(schema.additional())
        .find_map(unsupported)
}

/// Everything that keeps a schema from being structural, sorted by its text.
pub(super) fn check(schema: Raw<'_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, path, &mut errors);
    complete_junctors(schema, Some(schema), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn invariants(schema: Raw<'_>, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let type_name = schema.type_name();
    let is_embedded = schema.flag("x-kubernetes-embedded-resource");
    let keeps_unknown = schema.flag("x-kubernetes-preserve-unknown-fields");
    let is_int_or_string = schema.flag("x-kubernetes-int-or-string");

    if type_name == "array" && !schema.has("items") {
        errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = schema.items() {
        invariants(items, Level::Item, &format!("{path}.items"), errors);
    }
    for (name, property) in schema.properties() {
        invariants(property, Level::Field, &format!("{path}.properties[{name}]"), errors);
    }
    if schema.has("additionalProperties") {
        let path = format!("{path}.additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(path.clone(), "must not be used at the root"));
        }
        if let Some(additional) = schema.additional() {
            invariants(additional, Level::Field, &path, errors);
        }
    }
    for (conflicting, key) in [
        (keeps_unknown, "x-kubernetes-preserve-unknown-fields"),
        (is_embedded, "x-kubernetes-embedded-resource"),
    ] {
        if is_int_or_string && conflicting {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(format!("{path}.{key}"), true, detail));
        }
    }
    let (any_of, all_of) = (schema.is_int_or_string_any_of(), schema.is_int_or_string_all_of());
    value_checks(schema, any_of, all_of, path, errors);

    let type_path = format!("{path}.type");
    if is_embedded && type_name != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if type_name.is_empty() {
            FieldError::required(type_path.clone(), detail)
        } else {
            FieldError::invalid(type_path.clone(), type_name, detail)
        });
    } else if type_name.is_empty() && !is_int_or_string && !keeps_unknown {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(type_path.clone(), detail));
    }
    if is_embedded && schema.has("additionalProperties") {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(format!("{path}.additionalProperties"), detail));
    }
    if level == Level::Root && !type_name.is_empty() && type_name != "object" {
        errors.push(FieldError::invalid(type_path, type_name, "must be object at the root"));
    }
    meta_fields(schema, level, is_embedded, path, errors);
    if is_embedded && !keeps_unknown && schema.is_empty_at("properties") {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{path}.properties"), detail));
    }
}

/// A resource may restrict the name in its metadata, and nothing else there.
fn meta_fields(schema: Raw<'_>, level: Level, is_embedded: bool, path: &str, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || is_embedded;
    for key in ["kind", "apiVersion"] {
        if let Some(property) = schema.property(key)
            && is_resource
            && property.type_name() != "string"
        {
            let path = format!("{path}.properties[{key}].type");
            errors.push(FieldError::invalid(path, property.type_name(), "must be string"));
        }
    }
    let Some(metadata) = schema.property("metadata") else { return };
    let path = format!("{path}.properties[metadata]");
    if is_resource && metadata.type_name() != "object" {
        errors.push(FieldError::invalid(format!("{path}.type"), metadata.type_name(), "must be object"));
    }
    let names_only = metadata.properties().all(|(name, _)| matches!(name, "name" | "generateName"));
    let is_plain = metadata
        .0
        .keys()
        .all(|key| matches!(key.as_str(), "type" | "default" | "properties") || metadata.is_empty_at(key));
    if level == Level::Root && !(names_only && is_plain) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn value_checks(
    schema: Raw<'_>,
    skip_any_of: bool,
    skip_first: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (index, nested) in schema.list("anyOf") {
            nested_checks(nested, false, &format!("{path}.anyOf[{index}]"), errors);
        }
    }
    for (index, nested) in schema.list("allOf") {
        nested_checks(nested, skip_first && index == 0, &format!("{path}.allOf[{index}]"), errors);
    }
    for (index, nested) in schema.list("oneOf") {
        nested_checks(nested, false, &format!("{path}.oneOf[{index}]"), errors);
    }
    if let Some(not) = Raw::of(schema.value("not")) {
        nested_checks(not, false, &format!("{path}.not"), errors);
    }
    let source = schema.text("pattern");
    if !source.is_empty()
        && let Err(error) = pattern::parse(source)
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), source, detail));
    }
}

/// The schemas inside junctors check values; what describes structure is forbidden.
fn nested_checks(schema: Raw<'_>, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    value_checks(schema, skip_any_of, false, path, errors);
    if let Some(items) = schema.items() {
        nested_checks(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in schema.properties() {
        nested_checks(property, false, &format!("{path}.properties[{name}]"), errors);
    }
    let additional = schema.value("additionalProperties").is_some_and(|value| *value != Value::Bool(false));
    for (is_set, key, must) in [
        (!schema.is_empty_at("type"), "type", "empty"),
        (additional, "additionalProperties", "undefined"),
        (schema.has("default"), "default", "undefined"),
        (!schema.is_empty_at("title"), "title", "empty"),
        (!schema.is_empty_at("description"), "description", "empty"),
        (schema.flag("nullable"), "nullable", "false"),
        (
            schema.flag("x-kubernetes-preserve-unknown-fields"),
            "x-kubernetes-preserve-unknown-fields",
            "false",
        ),
        (schema.flag("x-kubernetes-embedded-resource"), "x-kubernetes-embedded-resource", "false"),
        (schema.flag("x-kubernetes-int-or-string"), "x-kubernetes-int-or-string", "false"),
        (!schema.is_empty_at("x-kubernetes-list-map-keys"), "x-kubernetes-list-map-keys", "empty"),
        (schema.has("x-kubernetes-list-type"), "x-kubernetes-list-type", "undefined"),
        (schema.has("x-kubernetes-map-type"), "x-kubernetes-map-type", "undefined"),
        (!schema.is_empty_at("x-kubernetes-validations"), "x-kubernetes-validations", "empty"),
    ] {
        if is_set {
            errors.push(FieldError::forbidden(
                format!("{path}.{key}"),
                format!("must be {must} to be structural"),
            ));
        }
    }
    if schema.property("metadata").is_some() {
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(format!("{path}.properties[metadata]"), detail));
    }
}

/// What a junctor checks must also be declared outside of it.
///
/// NB: the real server starts at the root only; junctors deeper in the schema are not looked at.
fn complete_junctors(
    checks: Raw<'_>,
    structure: Option<Raw<'_>>,
    path: &str,
    from: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(not) = Raw::of(checks.value("not")) {
        complete(not, structure, path, &format!("{from}.not"), errors);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, nested) in checks.list(key) {
            complete(nested, structure, path, &format!("{from}.{key}[{index}]"), errors);
        }
    }
}

fn complete(
    checks: Raw<'_>,
    structure: Option<Raw<'_>>,
    path: &str,
    from: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = structure else {
        errors.push(FieldError::required(path, format!("because it is defined in {from}")));
        return;
    };
    complete_junctors(checks, structure, path, from, errors);
    if let Some(items) = checks.items() {
        complete(items, schema.items(), &format!("{path}.items"), &format!("{from}.items"), errors);
    }
    for (name, property) in checks.properties() {
        let step = format!("properties[{name}]");
        complete(
            property,
            schema.property(name),
            &format!("{path}.{step}"),
            &format!("{from}.{step}"),
            errors,
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(schema: &Value) -> Vec<String> {
        check(Raw::of(Some(schema)).unwrap(), "s").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_field_needs_a_type() {
        assert_eq!(
            errors(
                &json!({"properties": {"a": {}, "l": {"type": "array", "items": {}}, "x": {"type": "array"}}})
            ),
            [
                "s.properties[a].type: Required value: must not be empty for specified object fields",
                "s.properties[l].items.type: Required value: must not be empty for specified array items",
                "s.properties[x].items: Required value: must be specified",
                "s.type: Required value: must not be empty at the root",
            ]
        );
        assert_eq!(
            errors(&json!({"type": "object", "properties": {"i": {"x-kubernetes-int-or-string": true,
            "anyOf": [{"type": "integer"}, {"type": "string"}]}}})),
            [""; 0]
        );
    }

    #[test]
    fn junctors_only_check_values() {
        assert_eq!(
            errors(&json!({"type": "object", "anyOf": [{"type": "object", "properties": {"b": {}}}]})),
            [
                "s.anyOf[0].type: Forbidden: must be empty to be structural",
                "s.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b]",
            ]
        );
    }

    #[test]
    fn metadata_restricts_only_names() {
        let with = |metadata: Value| errors(&json!({"type": "object", "properties": {"metadata": metadata}}));
        assert_eq!(
            with(json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}})),
            [""; 0]
        );
        assert_eq!(with(json!({"type": "object", "properties": {"labels": {"type": "object"}}})).len(), 1);
    }

    #[test]
    fn a_pattern_must_compile() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(?!x)"}}});
        assert_eq!(
            errors(&schema),
            [
                "s.properties[a].pattern: Invalid value: \"(?!x)\": must be a valid regular expression, but isn't: error \
              parsing regexp: invalid or unsupported Perl syntax: `(?!`"
            ]
        );
    }
}
