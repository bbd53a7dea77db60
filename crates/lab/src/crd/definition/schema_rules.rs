//! What a schema may say at all, structural or not.

use serde_json::Value;

use super::raw::Raw;
use crate::status::{FieldError, FieldErrorKind};

/// The types that a schema can name, in the order of the real server's list.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// The reasons that a rule can give, in the order of the real server's list.
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What holds for a part of a schema because of where it stands.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    /// Why there may be no defaults.
    no_defaults: Option<&'a str>,
    /// Whether this is `apiVersion`, `kind` or `metadata` of a resource, or below.
    in_meta: bool,
}

/// Checks the schema of a version.
pub(super) fn check(schema: Raw<'_>, path: &str, errors: &mut Vec<FieldError>) {
    node(schema, path, Place::default(), true, errors);
}

fn node(schema: Raw<'_>, path: &str, place: Place<'_>, is_root: bool, errors: &mut Vec<FieldError>) {
    own_fields(schema, path, place, errors);
    if schema.flag("uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{path}.uniqueItems"), detail));
    }
    if let Some(additional) = schema.value("additionalProperties") {
        let path = format!("{path}.additionalProperties");
        if !schema.is_empty_at("properties") && *additional != Value::Bool(true) {
            let detail = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(path.clone(), detail));
        }
        if let Some(additional) = schema.additional() {
            let reason = "inside additionalProperties applying to object metadata";
            let no_defaults = if place.in_meta { Some(reason) } else { place.no_defaults };
            node(additional, &path, Place { no_defaults, ..place }, false, errors);
        }
    }
    for (name, property) in schema.properties() {
        let path = format!("{path}.properties[{name}]");
        let is_meta = matches!(name, "metadata" | "kind" | "apiVersion");
        if is_meta && (is_root || schema.flag("x-kubernetes-embedded-resource")) {
            let reason = format!("in top-level {name}");
            let no_defaults = if is_root { Some(reason.as_str()) } else { place.no_defaults };
            node(property, &path, Place { no_defaults, in_meta: true }, false, errors);
        } else {
            node(property, &path, place, false, errors);
        }
    }
    if let Some(not) = Raw::of(schema.value("not")) {
        node(not, &format!("{path}.not"), place, false, errors);
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (index, nested) in schema.list(key) {
            node(nested, &format!("{path}.{key}[{index}]"), place, false, errors);
        }
    }
    for (name, nested) in schema.map("definitions") {
        node(nested, &format!("{path}.definitions[{name}]"), place, false, errors);
    }
    if let Some(items) = schema.items() {
        node(items, &format!("{path}.items"), place, false, errors);
    }
    for (index, items) in schema.list("items") {
        node(items, &format!("{path}.items[{index}]"), place, false, errors);
    }
    for (name, nested) in schema.map("dependencies") {
        node(nested, &format!("{path}.dependencies[{name}]"), place, false, errors);
    }
    extensions(schema, path, errors);
    rules(schema, path, errors);
}

fn own_fields(schema: Raw<'_>, path: &str, place: Place<'_>, errors: &mut Vec<FieldError>) {
    let type_name = schema.type_name();
    if !type_name.is_empty() && !TYPES.contains(&type_name) {
        errors.push(FieldError::not_supported(format!("{path}.type"), type_name, &TYPES));
    }
    let mut forbid =
        |key: &str, detail: &str| errors.push(FieldError::forbidden(format!("{path}.{key}"), detail));
    if let (true, Some(reason)) = (schema.has("default"), place.no_defaults) {
        forbid("default", &format!("must not be set {reason}"));
    }
    if !schema.is_empty_at("id") {
        forbid("id", "id is not supported");
    }
    if schema.has("additionalItems") {
        forbid("additionalItems", "additionalItems is not supported");
    }
    if !schema.is_empty_at("patternProperties") {
        forbid("patternProperties", "patternProperties is not supported");
    }
    if !schema.is_empty_at("definitions") {
        forbid("definitions", "definitions is not supported");
    }
    if schema.has("dependencies") {
        forbid("dependencies", "dependencies is not supported");
    }
    if schema.has("$ref") {
        forbid("$ref", "$ref is not supported");
    }
    if type_name == "null" {
        forbid("type", "type cannot be set to null, use nullable as an alternative");
    }
    if schema.value("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty()) {
        forbid("items", "items must be a schema object and not an array");
    }
    if place.in_meta && schema.flag("x-kubernetes-embedded-resource") {
        forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
    }
}

/// The `x-kubernetes-` fields, apart from rules.
fn extensions(schema: Raw<'_>, path: &str, errors: &mut Vec<FieldError>) {
    const KEEP: &str = "x-kubernetes-preserve-unknown-fields";
    if schema.value(KEEP) == Some(&Value::Bool(false)) {
        errors.push(FieldError::invalid(format!("{path}.{KEEP}"), false, "must be true or undefined"));
    }
    let (map_type, list_type) =
        (schema.pointer("x-kubernetes-map-type"), schema.pointer("x-kubernetes-list-type"));
    wrong_carrier(schema, "object", "x-kubernetes-map-type", path, errors);
    if let Some(map_type) = map_type.filter(|map_type| !matches!(*map_type, "atomic" | "granular")) {
        let path = format!("{path}.x-kubernetes-map-type");
        errors.push(FieldError::not_supported(path, map_type, &["atomic", "granular"]));
    }
    if !wrong_carrier(schema, "array", "x-kubernetes-list-type", path, errors) && list_type == Some("set") {
        set_items(schema, path, errors);
    }
    let list_path = format!("{path}.x-kubernetes-list-type");
    if let Some(list_type) = list_type.filter(|list_type| !matches!(*list_type, "atomic" | "set" | "map")) {
        errors.push(FieldError::not_supported(list_path.clone(), list_type, &["atomic", "set", "map"]));
    }
    let keys = schema.texts("x-kubernetes-list-map-keys");
    if !keys.is_empty() && list_type != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match list_type {
            None => FieldError::required(list_path, detail),
            Some(list_type) => FieldError::invalid(list_path, list_type, detail),
        });
    }
    if list_type == Some("map") {
        map_list(schema, &keys, path, errors);
    }
    if matches!(list_type, Some("map" | "set"))
        && let Some(items) = schema.items()
    {
        map_list_keys(items, list_type.unwrap_or_default(), &keys, path, errors);
    }
}

/// `x-kubernetes-list-type` stands on arrays, `x-kubernetes-map-type` on objects; whether it does not.
fn wrong_carrier(schema: Raw<'_>, wanted: &str, key: &str, path: &str, errors: &mut Vec<FieldError>) -> bool {
    let type_name = schema.type_name();
    if !schema.has(key) || type_name == wanted {
        return false;
    }
    let detail = format!("must be {wanted} if {key} is specified");
    let path = format!("{path}.type");
    errors.push(if type_name.is_empty() {
        FieldError::required(path, detail)
    } else {
        FieldError::invalid(path, type_name, detail)
    });
    true
}

/// The elements of a set are compared as wholes.
fn set_items(schema: Raw<'_>, path: &str, errors: &mut Vec<FieldError>) {
    let Some(items) = schema.items() else { return };
    let list_type = items.pointer("x-kubernetes-list-type");
    let key = match items.type_name() {
        "array" if list_type.is_some_and(|list_type| list_type != "atomic") => "x-kubernetes-list-type",
        "object" if items.pointer("x-kubernetes-map-type") != Some("atomic") => "x-kubernetes-map-type",
        _ => return,
    };
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    // NB: for both keys the real server shows the list type.
    let value = list_type.map_or(Value::Null, Value::from);
    errors.push(FieldError::new(FieldErrorKind::Invalid, format!("{path}.items.{key}"), value, detail));
}

fn map_list(schema: Raw<'_>, keys: &[&str], path: &str, errors: &mut Vec<FieldError>) {
    let keys_path = format!("{path}.x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(keys_path.clone(), detail));
    }
    if !schema.has("items") {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{path}.items"), detail));
    }
    let Some(items) = schema.items() else { return };
    if items.type_name() != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(format!("{path}.items.type"), items.type_name(), detail));
        return;
    }
    for (index, key) in keys.iter().enumerate() {
        match items.property(key) {
            Some(property) if matches!(property.type_name(), "array" | "object") => {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let path = format!("{path}.items.properties[{key}].type");
                errors.push(FieldError::invalid(path, items.type_name(), detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(FieldError::invalid(keys_path.clone(), keys.to_vec(), detail));
            }
        }
        if keys[..index].contains(key) {
            let detail = "must not contain duplicate entries";
            errors.push(FieldError::invalid(keys_path.clone(), keys.to_vec(), detail));
        }
    }
}

/// The keys of a list are always there.
fn map_list_keys(items: Raw<'_>, list_type: &str, keys: &[&str], path: &str, errors: &mut Vec<FieldError>) {
    if items.flag("nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(format!("{path}.items.nullable"), detail));
    }
    if list_type != "map" {
        return;
    }
    let required = items.texts("required");
    for key in keys {
        let Some(property) = items.property(key) else { continue };
        let path = format!("{path}.items.properties[{key}]");
        if !required.contains(key) && !property.has("default") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(format!("{path}.default"), detail));
        }
        if property.flag("nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(format!("{path}.nullable"), detail));
        }
    }
}

/// The form of rules. Whether they compile, and what they cost, is not checked: the lab has no CEL.
fn rules(schema: Raw<'_>, path: &str, errors: &mut Vec<FieldError>) {
    for (index, rule) in schema.list("x-kubernetes-validations") {
        let path = format!("{path}.x-kubernetes-validations[{index}]");
        let has_newline = |text: &str| text.contains(['\n', '\r']);
        let (source, message) = (rule.text("rule").trim(), rule.text("message"));
        if source.is_empty() {
            errors.push(FieldError::required(format!("{path}.rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(FieldError::invalid(
                format!("{path}.message"),
                message,
                "must be non-empty if specified",
            ));
        } else if has_newline(message.trim()) {
            errors.push(FieldError::invalid(
                format!("{path}.message"),
                message,
                "must not contain line breaks",
            ));
        } else if has_newline(source) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(format!("{path}.message"), detail));
        }
        let expression = rule.text("messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(format!("{path}.messageExpression"), detail));
        }
        if let Some(reason) = rule.pointer("reason").filter(|reason| !REASONS.contains(reason)) {
            errors.push(FieldError::not_supported(format!("{path}.reason"), reason, &REASONS));
        }
        let field = rule.text("fieldPath");
        let field_path = format!("{path}.fieldPath");
        if !field.is_empty() && field.trim().is_empty() {
            errors.push(FieldError::invalid(field_path.clone(), field, "must be non-empty if specified"));
        }
        if has_newline(field) {
            errors.push(FieldError::invalid(field_path.clone(), field, "must not contain line breaks"));
        }
        if !field.is_empty() && find_field(schema, field, true).is_err() {
            errors.push(FieldError::invalid(field_path, field, "must be a valid path"));
        }
    }
}

/// The schema of a field that a path such as `.spec.color` or `.spec['x']` names, with its first step.
pub(super) fn find_field<'a>(
    schema: Raw<'a>,
    path: &str,
    brackets: bool,
) -> Result<(Option<Raw<'a>>, String), String> {
    let mut schema = Some(schema);
    let mut first = String::new();
    let mut tokens = tokens(path).into_iter();
    let ended = || "unexpected end of JSON path".to_owned();
    while let Some(token) = tokens.next() {
        let name = match token.as_str() {
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or_else(ended)?;
                let inside = quoted.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let name = inside.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                match tokens.next() {
                    None => return Err(ended()),
                    Some(close) if close == "]" => {}
                    Some(other) => return Err(format!("expected ] but got {other}")),
                }
                name.replace("\\'", "'").replace("\\\\", "\\")
            }
            "." => tokens.next().ok_or_else(ended)?,
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let invalid = || "does not refer to a valid field".to_owned();
        let parent = schema.ok_or_else(invalid)?;
        schema = if !parent.is_empty_at("properties") {
            Some(parent.property(&name).ok_or_else(invalid)?)
        } else if parent.has("additionalProperties") {
            parent.additional()
        } else {
            return Err(invalid());
        };
        if first.is_empty() {
            first = name;
        }
    }
    Ok((schema, first))
}

/// The path in pieces: `.`, `[` and `]`, quoted texts, and what is between them.
fn tokens(path: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => {
                let bytes = rest.as_bytes();
                let close = (1..bytes.len()).find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\');
                close.map_or(rest.len(), |close| close + 1)
            }
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        tokens.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    tokens
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(schema: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        check(Raw::of(Some(schema)).unwrap(), "s", &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn list_map_keys_are_required_or_have_defaults() {
        let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object", "properties": {"a": {"type": "string"}}}});
        assert_eq!(
            errors(&schema),
            [
                r#"s.x-kubernetes-list-map-keys: Invalid value: ["a","b"]: entries must all be names of item properties"#,
                "s.items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it \
                 must have a default or be a required property",
            ]
        );
    }

    #[test]
    fn forbidden_fields_are_named() {
        let schema = json!({"type": "foo", "uniqueItems": true, "$ref": "x", "properties": {"a": {}},
            "additionalProperties": {"default": 1}});
        assert_eq!(
            errors(&schema),
            [
                r#"s.type: Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string""#,
                "s.$ref: Forbidden: $ref is not supported",
                "s.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
                "s.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ]
        );
    }

    #[test]
    fn paths_follow_properties_and_maps() {
        let schema = json!({"properties": {"spec": {"properties": {"m": {"additionalProperties": {"type": "string"}}}}}});
        let find = |path: &str, brackets| {
            find_field(Raw::of(Some(&schema)).unwrap(), path, brackets)
                .map(|(found, _)| found.map(|found| found.type_name().to_owned()))
        };
        assert_eq!(find(".spec.m.x", false), Ok(Some("string".to_owned())));
        assert_eq!(find(".spec.m['x']", true), Ok(Some("string".to_owned())));
        assert_eq!(find(".spec.m['x']", false), Err("array notation is not allowed".to_owned()));
        assert_eq!(find(".spec.n", false), Err("does not refer to a valid field".to_owned()));
        assert_eq!(find("spec", false), Err("expected [ or . but got: spec".to_owned()));
    }
}
