//! The rules about what a version has besides its schema.

use std::collections::BTreeSet;

use serde_json::Value;

use super::raw::Raw;
use super::rules::text;
use super::schema_rules;
use crate::status::{FieldError, FieldErrorKind};

/// How many fields of a version selectors can use.
const MAX_SELECTABLE_FIELDS: usize = 8;

pub(super) fn check_deprecation(version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(warning) = version["deprecationWarning"].as_str() else { return };
    let mut add = |detail: String| {
        errors.push(FieldError::invalid(format!("{path}.deprecationWarning"), warning, detail));
    };
    if version["deprecated"] != true {
        add("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > 256 {
        add("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        add("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, sign)| sign.is_control()) {
        add(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}

pub(super) fn check_subresources(subresources: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let scale = &subresources["scale"];
    if !scale.is_object() {
        return;
    }
    for (key, prefix) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let value = text(scale, key);
        let path = format!("{path}.scale.{key}");
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if !check_simple_path(value, &path, errors) && !value.starts_with(&format!("{prefix}.")) {
            errors.push(FieldError::invalid(path, value, format!("should be a json path under {prefix}")));
        }
    }
    let selector = text(scale, "labelSelectorPath");
    let path = format!("{path}.scale.labelSelectorPath");
    if !selector.is_empty()
        && !check_simple_path(selector, &path, errors)
        && !selector.starts_with(".spec.")
        && !selector.starts_with(".status.")
    {
        errors.push(FieldError::invalid(
            path,
            selector,
            "should be a json path under either .spec or .status",
        ));
    }
}

/// Whether a path is no simple one; then it has been reported.
fn check_simple_path(value: &str, path: &str, errors: &mut Vec<FieldError>) -> bool {
    if value.starts_with('.') {
        return false;
    }
    errors.push(FieldError::invalid(path, value, "must be a simple json path starting with ."));
    true
}

pub(super) fn check_columns(columns: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    for (index, column) in columns.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        let type_name = text(column, "type");
        let one_of = |list: &[&str]| format!("must be one of {}", list.join(","));
        if type_name.is_empty() {
            errors.push(FieldError::required(format!("{path}.type"), one_of(&TYPES)));
        } else if !TYPES.contains(&type_name) {
            errors.push(FieldError::invalid(format!("{path}.type"), type_name, one_of(&TYPES)));
        }
        let format = text(column, "format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            errors.push(FieldError::invalid(format!("{path}.format"), format, one_of(&FORMATS)));
        }
        let json_path = text(column, "jsonPath");
        let path = format!("{path}.JSONPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else {
            check_simple_path(json_path, &path, errors);
        }
    }
}

pub(super) fn check_selectable(fields: &Value, validation: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(schema) = Raw::of(validation.get("openAPIV3Schema")) else { return };
    let mut seen = BTreeSet::new();
    for (index, field) in fields.as_array().into_iter().flatten().enumerate() {
        let json_path = text(field, "jsonPath");
        let path = format!("{path}[{index}].jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let (found, first) = match schema_rules::find_field(schema, json_path, false) {
            Ok(found) => found,
            Err(error) => {
                errors.push(FieldError::invalid(path, json_path, format!("is an invalid path: {error}")));
                continue;
            }
        };
        if first == "metadata" {
            errors.push(FieldError::invalid(path.clone(), json_path, "must not point to fields in metadata"));
        }
        if !found.is_some_and(|found| matches!(found.type_name(), "string" | "boolean" | "integer")) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                          formats are allowed.";
            errors.push(FieldError::invalid(path.clone(), json_path, detail));
        }
        if !seen.insert(json_path) {
            errors.push(FieldError::duplicate(path, json_path));
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        let detail = format!("must have at most {MAX_SELECTABLE_FIELDS} items");
        errors.push(FieldError::new(FieldErrorKind::TooMany, path, seen.len(), detail));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_scale_needs_paths_below_spec_and_status() {
        let mut errors = Vec::new();
        let scale = json!({"specReplicasPath": ".status.x", "statusReplicasPath": "status.x", "labelSelectorPath": ".x"});
        check_subresources(&json!({"scale": scale}), "s", &mut errors);
        assert_eq!(
            texts(&errors),
            [
                r#"s.scale.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec"#,
                r#"s.scale.statusReplicasPath: Invalid value: "status.x": must be a simple json path starting with ."#,
                r#"s.scale.labelSelectorPath: Invalid value: ".x": should be a json path under either .spec or .status"#,
            ]
        );
    }

    #[test]
    fn a_selectable_field_is_a_scalar_outside_of_metadata() {
        let validation = json!({"openAPIV3Schema": {"properties": {"spec": {"properties": {
            "color": {"type": "string"}, "list": {"type": "array"}}}}}});
        let mut errors = Vec::new();
        let fields =
            json!([{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.list"}, {"jsonPath": ".spec.color"}]);
        check_selectable(&fields, &validation, "f", &mut errors);
        assert_eq!(texts(&errors)[1], r#"f[2].jsonPath: Duplicate value: ".spec.color""#);
        assert!(
            texts(&errors)[0]
                .starts_with("f[1].jsonPath: Invalid value: \".spec.list\": must point to a field of type")
        );
    }
}
