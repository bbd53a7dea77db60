//! Which definitions the server accepts.
//!
//! The server checks an internal form of a definition: what all versions share (schema, subresources, columns, selectable
//! fields) stands at the top there, so the errors name `spec.validation` and the like.

use std::collections::BTreeSet;

use serde_json::Value;

use super::raw::Raw;
use super::{conversion_rules, default_rules, internal, schema_rules, structure_rules, version_rules};
use crate::crd::formats::Format;
use crate::crd::structural::Structural;
use crate::crd::{approval, lifecycle, names};
use crate::status::{FieldError, FieldErrorKind};

/// A definition in the form in which it is checked.
struct Spec<'a> {
    source: &'a Value,
    versions: &'a [Value],
    schema: Shared<'a>,
    subresources: Shared<'a>,
    columns: Shared<'a>,
    selectable: Shared<'a>,
}

/// A field of the versions: either the same in all of them, or each version has its own.
enum Shared<'a> {
    All(Option<&'a Value>),
    Each(Vec<Option<&'a Value>>),
}

/// Checks a definition, without the rules that metadata has everywhere. `old` is the stored one in an update.
///
/// Not checked: whether the rules in CEL compile and what they cost. The real server is also milder with an update of a
/// definition that today's rules would refuse; the lab never holds one.
pub(crate) fn validate(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = Spec::of(new);
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    let wanted = format!("{}.{}", text(&spec.source["names"], "plural"), text(spec.source, "group"));
    if old.is_none() && name != wanted {
        errors.push(FieldError::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
    let is_established = old.is_some_and(|old| lifecycle::is_true(old, "Established"));
    spec.check(is_established, &mut errors);
    if let Some(old) = old {
        check_immutable(spec.source, &old["spec"], is_established, &mut errors);
    }
    check_names(&new["status"]["acceptedNames"], "status.acceptedNames", &mut errors);
    check_stored_versions(&new["status"]["storedVersions"], spec.versions, &mut errors);
    errors.extend(approval::check(new, old));
    if spec.source["preserveUnknownFields"] == true
        && !old.is_some_and(|old| old["spec"]["preserveUnknownFields"] == true)
    {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, detail));
    }
    errors
}

/// The warnings that come with an accepted definition: formats that the server does not know and the old one did not have.
pub(crate) fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known: BTreeSet<String> = old.map(unknown_formats).unwrap_or_default().into_iter().collect();
    let formats = unknown_formats(new).into_iter().filter(|format| !known.contains(format));
    formats.map(|format| format!("unrecognized format {format:?}")).collect()
}

fn unknown_formats(crd: &Value) -> Vec<String> {
    let spec = Spec::of(crd);
    let mut formats = Vec::new();
    let schemas: Vec<Option<&Value>> = match &spec.schema {
        Shared::All(schema) => vec![*schema],
        Shared::Each(schemas) => schemas.clone(),
    };
    for schema in schemas.into_iter().flatten() {
        collect_formats(Raw::of(schema.get("openAPIV3Schema")), &mut formats);
    }
    formats
}

fn collect_formats(schema: Option<Raw<'_>>, formats: &mut Vec<String>) {
    let Some(schema) = schema else { return };
    let format = schema.text("format");
    let type_name = Some(schema.type_name()).filter(|name| !name.is_empty());
    if !format.is_empty() && Format::of(format, type_name, false).is_none() {
        formats.push(format.to_owned());
    }
    collect_formats(schema.items(), formats);
    for key in ["allOf", "anyOf", "oneOf"] {
        for (_, nested) in schema.list(key) {
            collect_formats(Some(nested), formats);
        }
    }
    collect_formats(Raw::of(schema.value("not")), formats);
    for (_, property) in schema.properties() {
        collect_formats(Some(property), formats);
    }
    collect_formats(schema.additional(), formats);
}

// === impl Shared ===

impl<'a> Shared<'a> {
    fn of(versions: &'a [Value], key: &str) -> Self {
        let is_set = |value: &&Value| !value.is_null() && !value.as_array().is_some_and(Vec::is_empty);
        let mut each = versions.iter().map(|version| version.get(key).filter(is_set));
        let first = each.clone().next().flatten();
        if each.all(|value| value == first) {
            return Self::All(first);
        }
        Self::Each(versions.iter().map(|version| version.get(key).filter(is_set)).collect())
    }

    /// The value of a version alone; none when all share it.
    fn own(&self, index: usize) -> Option<&'a Value> {
        match self {
            Self::All(_) => None,
            Self::Each(values) => values.get(index).copied().flatten(),
        }
    }

    /// The value for all versions.
    fn shared(&self) -> Option<&'a Value> {
        match self {
            Self::All(value) => *value,
            Self::Each(_) => None,
        }
    }

    fn of_version(&self, index: usize) -> Option<&'a Value> {
        self.shared().or_else(|| self.own(index))
    }

    fn is_shared(&self) -> bool {
        matches!(self, Self::All(_))
    }
}

// === impl Spec ===

impl<'a> Spec<'a> {
    fn of(crd: &'a Value) -> Self {
        let spec = &crd["spec"];
        let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self {
            source: spec,
            versions,
            schema: Shared::of(versions, "schema"),
            subresources: Shared::of(versions, "subresources"),
            columns: Shared::of(versions, "additionalPrinterColumns"),
            selectable: Shared::of(versions, "selectableFields"),
        }
    }

    fn check(&self, is_established: bool, errors: &mut Vec<FieldError>) {
        self.check_group_and_scope(errors);
        self.check_schemas_exist(errors);
        for index in 0..self.versions.len() {
            self.check_version(index, errors);
        }
        self.check_versions(errors);
        self.check_spec_names(errors);
        let any_status = (0..self.versions.len()).any(|index| self.has_status(index));
        if let Some(validation) = self.schema.shared() {
            check_schema(validation, any_status, "spec.validation", errors);
        }
        if let Some(subresources) = self.subresources.shared() {
            version_rules::check_subresources(subresources, "spec.subresources", errors);
        }
        version_rules::check_columns(self.columns.shared(), "spec.additionalPrinterColumns", errors);
        if let Some(fields) = self.selectable.shared() {
            match self.schema.shared() {
                None => {
                    let detail = "may only be set when validations.schema is included";
                    errors.push(FieldError::invalid("spec.selectableFields", "", detail));
                }
                Some(validation) => {
                    version_rules::check_selectable(fields, validation, "spec.selectableFields", errors);
                }
            }
        }
        let strategy = text(&self.source["conversion"], "strategy");
        if self.source["preserveUnknownFields"] == true
            && self.source["conversion"].is_object()
            && strategy != "None"
        {
            let detail = "must be None if spec.preserveUnknownFields is true";
            errors.push(FieldError::invalid("spec.conversion.strategy", strategy, detail));
        }
        conversion_rules::check(&self.source["conversion"], "spec.conversion", is_established, errors);
    }

    fn check_group_and_scope(&self, errors: &mut Vec<FieldError>) {
        let group = text(self.source, "group");
        let problems = names::subdomain(group);
        if group.is_empty() {
            errors.push(FieldError::required("spec.group", ""));
        } else if !problems.is_empty() {
            errors.push(FieldError::invalid("spec.group", group, problems.join(",")));
        } else if !group.contains('.') {
            errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
        }
        match text(self.source, "scope") {
            "" => errors.push(FieldError::required("spec.scope", "")),
            "Cluster" | "Namespaced" => {}
            other => errors.push(FieldError::not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
        }
    }

    fn check_schemas_exist(&self, errors: &mut Vec<FieldError>) {
        let has_schema =
            |validation: Option<&Value>| validation.is_some_and(|value| value["openAPIV3Schema"].is_object());
        for index in 0..self.versions.len() {
            if !has_schema(self.schema.of_version(index)) {
                let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
                errors.push(FieldError::required(path, ""));
            }
        }
        let has_defaults = || {
            let mut schemas = (0..self.versions.len()).filter_map(|index| self.schema.of_version(index));
            schemas.any(|schema| Raw::of(schema.get("openAPIV3Schema")).is_some_and(has_default))
        };
        if self.source["preserveUnknownFields"] == true && has_defaults() {
            let detail = "must be false in order to use defaults in the schema";
            errors.push(FieldError::invalid("spec.preserveUnknownFields", true, detail));
        }
    }

    fn check_version(&self, index: usize, errors: &mut Vec<FieldError>) {
        let version = &self.versions[index];
        let path = format!("spec.versions[{index}]");
        let name = text(version, "name");
        let problems = names::label(name);
        if !problems.is_empty() {
            errors.push(FieldError::invalid(format!("{path}.name"), name, problems.join(",")));
        }
        version_rules::check_deprecation(version, &path, errors);
        if let Some(validation) = self.schema.own(index) {
            check_schema(validation, self.has_status(index), &format!("{path}.schema"), errors);
        }
        if let Some(subresources) = self.subresources.own(index) {
            version_rules::check_subresources(subresources, &format!("{path}.subresources"), errors);
        }
        version_rules::check_columns(
            self.columns.own(index),
            &format!("{path}.additionalPrinterColumns"),
            errors,
        );
        if let Some(fields) = self.selectable.own(index) {
            let path = format!("{path}.selectableFields");
            match self.schema.own(index) {
                Some(validation) if validation["openAPIV3Schema"].is_object() => {
                    version_rules::check_selectable(fields, validation, &path, errors);
                }
                _ => {
                    let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
                    errors.push(FieldError::invalid(path, "", detail));
                }
            }
        }
    }

    fn check_versions(&self, errors: &mut Vec<FieldError>) {
        let mut names_seen = BTreeSet::new();
        let is_unique = self.versions.iter().all(|version| names_seen.insert(text(version, "name")));
        let storage = self.versions.iter().filter(|version| version["storage"] == true).count();
        for (is_fine, rule) in [
            (is_unique, "must contain unique version names"),
            (storage == 1, "must have exactly one version marked as storage version"),
        ] {
            if !is_fine {
                errors.push(shown("spec.versions", &self.show_versions(), rule));
            }
        }
        let first = self.versions.first().map(|version| text(version, "name")).unwrap_or_default();
        let problems = names::label(first);
        if !first.is_empty() && !problems.is_empty() {
            errors.push(FieldError::invalid("spec.version", first, problems.join(",")));
        }
    }

    fn check_spec_names(&self, errors: &mut Vec<FieldError>) {
        let spec_names = &self.source["names"];
        for key in ["plural", "singular", "kind", "listKind"] {
            if text(spec_names, key).is_empty() {
                errors.push(FieldError::required(format!("spec.names.{key}"), ""));
            }
        }
        check_names(spec_names, "spec.names", errors);
    }

    fn has_status(&self, index: usize) -> bool {
        self.subresources.of_version(index).is_some_and(|subresources| subresources["status"].is_object())
    }

    fn show_versions(&self) -> String {
        if !self.source["versions"].is_array() {
            return "null".to_owned();
        }
        internal::versions(self.versions, |key| match key {
            "schema" => self.schema.is_shared(),
            "subresources" => self.subresources.is_shared(),
            "additionalPrinterColumns" => self.columns.is_shared(),
            "selectableFields" => self.selectable.is_shared(),
            _ => false,
        })
    }
}

fn check_schema(validation: &Value, has_status: bool, path: &str, errors: &mut Vec<FieldError>) {
    let Some(schema) = Raw::of(validation.get("openAPIV3Schema")) else { return };
    let path = format!("{path}.openAPIV3Schema");
    let before = errors.len();
    if has_status {
        check_root(schema, &path, errors);
    }
    if schema.flag("nullable") {
        errors.push(FieldError::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let unsupported = structure_rules::unsupported(schema);
    if unsupported.is_none() {
        let structure = structure_rules::check(schema, &path);
        if structure.is_empty() {
            let structural = Structural::parse(&validation["openAPIV3Schema"]);
            default_rules::check(&structural, &path, true, false, errors);
        }
        errors.extend(structure);
    }
    schema_rules::check(schema, &path, errors);
    if errors.len() == before
        && let Some(unsupported) = unsupported
    {
        errors.push(FieldError::invalid(path, "", unsupported));
    }
}

/// Beside a status subresource the root may only have what does not get lost when `status` is checked alone.
fn check_root(schema: Raw<'_>, path: &str, errors: &mut Vec<FieldError>) {
    let forbidden = internal::forbidden_at_root(schema);
    let wrong_type = !matches!(schema.type_name(), "" | "object");
    match forbidden {
        Some((comes_first, rule)) if comes_first || !wrong_type => {
            errors.push(shown(path, &internal::show_schema(schema), &rule));
        }
        _ if wrong_type => {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                          enabled";
            errors.push(FieldError::invalid(format!("{path}.type"), schema.type_name(), detail));
        }
        _ => {}
    }
}

fn has_default(schema: Raw<'_>) -> bool {
    schema.has("default")
        || schema.items().is_some_and(has_default)
        || schema.additional().is_some_and(has_default)
        || schema.properties().any(|(_, property)| has_default(property))
}

fn check_names(value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for key in ["plural", "singular"] {
        let name = text(value, key);
        let problems = names::label(name);
        if !name.is_empty() && !problems.is_empty() {
            errors.push(FieldError::invalid(format!("{path}.{key}"), name, problems.join(",")));
        }
    }
    for key in ["kind", "listKind"] {
        let name = text(value, key);
        if !name.is_empty()
            && let Some(problem) = names::mixed_case_label(name)
        {
            errors.push(FieldError::invalid(format!("{path}.{key}"), name, problem));
        }
    }
    let check_list = |key: &str, errors: &mut Vec<FieldError>| {
        for (index, name) in value[key].as_array().into_iter().flatten().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let problems = names::label(name);
            if !problems.is_empty() {
                errors.push(FieldError::invalid(format!("{path}.{key}[{index}]"), name, problems.join(",")));
            }
        }
    };
    check_list("shortNames", errors);
    let (kind, list_kind) = (text(value, "kind"), text(value, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(format!("{path}.listKind"), list_kind, detail));
    }
    check_list("categories", errors);
}

fn check_immutable(new: &Value, old: &Value, is_established: bool, errors: &mut Vec<FieldError>) {
    let always: [&[&str]; 2] = [&["group"], &["names", "plural"]];
    let established: [&[&str]; 2] = [&["scope"], &["names", "kind"]];
    let established = if is_established { &established[..] } else { &[] };
    for path in established.iter().chain(&always) {
        let get = |spec: &Value| path.iter().fold(spec.clone(), |value, key| value[*key].clone());
        let value = get(new);
        if value != get(old) {
            errors.push(FieldError::invalid(format!("spec.{}", path.join(".")), value, "field is immutable"));
        }
    }
}

/// No version goes away while objects may be stored in it.
fn check_stored_versions(stored: &Value, versions: &[Value], errors: &mut Vec<FieldError>) {
    const PATH: &str = "status.storedVersions";
    let list: Vec<&str> = stored.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if list.is_empty() {
        errors.push(FieldError::invalid(PATH, stored.clone(), "must have at least one stored version"));
        return;
    }
    let mut seen = BTreeSet::new();
    for version in versions {
        let name = text(version, "name");
        // NB: a version that is there twice is found the first time only, as on the real server.
        let is_listed = seen.insert(name) && list.contains(&name);
        if version["storage"] == true && !is_listed {
            errors.push(FieldError::invalid(
                PATH,
                stored.clone(),
                format!("must have the storage version {name}"),
            ));
        }
    }
    for (index, name) in list.iter().enumerate() {
        if !versions.iter().any(|version| text(version, "name") == *name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            errors.push(FieldError::invalid(format!("{PATH}[{index}]"), *name, detail));
        }
    }
}

/// An invalid value that the server shows in a form of its own.
fn shown(field: &str, value: &str, detail: &str) -> FieldError {
    let detail = format!("{value}: {detail}");
    FieldError { kind: FieldErrorKind::Invalid, field: field.to_owned(), value: None, detail }
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_definition() -> Value {
        json!({"metadata": {"name": "widgets.ex.dev"},
            "spec": {"group": "ex.dev", "scope": "Namespaced", "conversion": {"strategy": "None"},
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}]},
            "status": {"storedVersions": ["v1"]}})
    }

    fn errors(crd: &Value, old: Option<&Value>) -> Vec<String> {
        validate(crd, old).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_plain_definition_is_accepted_also_as_an_update_of_itself() {
        assert_eq!(errors(&a_definition(), None), [""; 0]);
        assert_eq!(errors(&a_definition(), Some(&a_definition())), [""; 0]);
    }

    #[test]
    fn the_name_is_plural_and_group() {
        let mut crd = a_definition();
        crd["metadata"]["name"] = "other".into();
        assert_eq!(
            errors(&crd, None),
            [r#"metadata.name: Invalid value: "other": must be spec.names.plural+"."+spec.group"#]
        );
    }

    #[test]
    fn a_schema_of_all_versions_is_named_at_the_top_and_another_one_in_its_version() {
        let mut crd = a_definition();
        crd["spec"]["versions"][0]["schema"] = json!({"openAPIV3Schema": {}});
        let message = "type: Required value: must not be empty at the root";
        assert_eq!(errors(&crd, None), [format!("spec.validation.openAPIV3Schema.{message}")]);
        let second = json!({"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}});
        crd["spec"]["versions"].as_array_mut().unwrap().push(second);
        assert_eq!(errors(&crd, None), [format!("spec.versions[0].schema.openAPIV3Schema.{message}")]);
    }

    #[test]
    fn names_and_scope_are_fixed_once_established() {
        let old = a_definition();
        let mut new = a_definition();
        new["spec"]["scope"] = "Cluster".into();
        new["spec"]["names"]["kind"] = "Gadget".into();
        assert_eq!(errors(&new, Some(&old)), [""; 0]);
        let mut old = old;
        old["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
        assert_eq!(
            errors(&new, Some(&old)),
            [
                r#"spec.scope: Invalid value: "Cluster": field is immutable"#,
                r#"spec.names.kind: Invalid value: "Gadget": field is immutable"#,
            ]
        );
    }

    #[test]
    fn a_stored_version_must_stay() {
        let mut crd = a_definition();
        crd["status"]["storedVersions"] = json!(["v1alpha1", "v1"]);
        let errors = errors(&crd, Some(&a_definition()));
        assert_eq!(errors.len(), 1);
        assert!(errors[0].starts_with(
            "status.storedVersions[0]: Invalid value: \"v1alpha1\": missing from spec.versions; v1alpha1 was previously"
        ));
    }

    #[test]
    fn unknown_formats_are_warned_about_once() {
        let mut crd = a_definition();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] =
            json!({"a": {"type": "string", "format": "foo"}, "b": {"type": "string", "format": "date"}});
        assert_eq!(warnings(&crd, None), ["unrecognized format \"foo\""]);
        assert_eq!(warnings(&crd, Some(&crd)), [""; 0]);
    }
}
