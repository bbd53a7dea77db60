//! Defaults must be values that the schema itself accepts, with nothing that it would drop.

use serde_json::Value;

use crate::crd::embedded;
use crate::crd::structural::Structural;
use crate::crd::validation::Reading;
use crate::status::FieldError;

/// Checks the defaults of a structural schema.
///
/// Defaults in the metadata of embedded resources are checked against their schema only, not as metadata.
pub(super) fn check(
    schema: &Structural,
    path: &str,
    is_root: bool,
    in_meta: bool,
    errors: &mut Vec<FieldError>,
) {
    let is_resource = is_root || schema.embedded;
    let in_meta = in_meta && !schema.embedded;
    if let Some(default) = &schema.default {
        check_default(schema, default, &format!("{path}.default"), in_meta, errors);
    }
    // Below additionalProperties there are none.
    if let Some(items) = &schema.items {
        check(items, &format!("{path}.items"), false, in_meta, errors);
    }
    for (name, property) in &schema.properties {
        let enters_meta = is_resource && matches!(&**name, "metadata" | "apiVersion" | "kind");
        check(property, &format!("{path}.properties[{name}]"), false, in_meta || enters_meta, errors);
    }
}

fn check_default(
    schema: &Structural,
    default: &Value,
    path: &str,
    in_meta: bool,
    errors: &mut Vec<FieldError>,
) {
    if !in_meta {
        let mut value = default.clone();
        if !schema.prune_value(&mut value, schema.embedded).is_empty() {
            errors.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
        }
        let mut value = default.clone();
        let mut unknown = Vec::new();
        if let Err(error) = embedded::coerce(&mut value, schema, path, &mut unknown) {
            errors.push(FieldError::invalid(path, default.clone(), error));
            return;
        }
        let before = errors.len();
        embedded::check(default, schema, path, |_, _| Vec::new(), errors);
        if errors.len() > before {
            return;
        }
    }
    errors.extend(schema.check(default, None, Some(path), Reading::Bare));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_default_that_the_schema_refuses_or_drops_is_named() {
        let schema = Structural::parse(&json!({"type": "object", "properties": {
            "n": {"type": "integer", "default": "x"},
            "o": {"type": "object", "default": {"y": 1}},
            "ok": {"type": "object", "default": {"y": 1}, "properties": {"y": {"type": "integer"}}},
        }}));
        let mut errors = Vec::new();
        check(&schema, "s", true, false, &mut errors);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                r#"s.properties[n].default: Invalid value: "string": s.properties[n].default in body must be of type integer: "string""#
                    .replace("s.properties[n].default in body", " in body"),
                r#"s.properties[o].default: Invalid value: {"y":1}: must not have unknown fields"#.to_owned(),
            ]
        );
    }
}
