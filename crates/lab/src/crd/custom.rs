//! The rules of custom resources: what the server sets, keeps and refuses when one is written.

use serde_json::{Map, Value};

use super::definition::Version;
use super::embedded::{self, MetaCheck};
use super::scale;
use super::validation::Reading;
use crate::go;
use crate::status::{FieldError, FieldErrorKind};

/// Which part of a resource is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it, but not the status when that is a part of its own.
    Main,
    /// The status.
    Status,
}

/// A new resource: its status is not for whoever creates it, when the status is a part of its own.
pub(crate) fn prepare_create(version: &Version, object: &mut Value) {
    if version.status
        && let Some(object) = object.as_object_mut()
    {
        object.remove("status");
    }
    object["metadata"]["generation"] = 1.into();
}

/// A changed resource: takes over what this part of it cannot write, and counts the change.
pub(crate) fn prepare_update(version: &Version, part: Part, new: &mut Value, old: &Value) {
    match part {
        Part::Main => {
            if version.status {
                put(new, "status", old.get("status"));
            }
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
            let changed = i64::from(!equal_outside_metadata(new, old));
            new["metadata"]["generation"] = (generation + changed).into();
        }
        Part::Status => {
            let status = new.get_mut("status").map(Value::take);
            let managed = new["metadata"].get_mut("managedFields").map(Value::take);
            new.clone_from(old);
            put(new, "status", status.as_ref());
            put(&mut new["metadata"], "managedFields", managed.as_ref());
        }
    }
}

/// The fields that this part of a resource cannot write, for server-side apply.
pub(crate) fn reset_fields(version: &Version, part: Part) -> &'static [&'static [&'static str]] {
    match part {
        Part::Main if version.status => &[&["status"]],
        Part::Main => &[],
        Part::Status => &[&["metadata"], &["spec"]],
    }
}

/// Checks a resource, new or changed. `errors` are those of its metadata, which come first; `meta` checks the metadata of
/// embedded resources.
///
/// `x-kubernetes-validations` are not evaluated; the real server does that last, and says so when it cannot.
pub(crate) fn validate(
    version: &Version,
    part: Part,
    new: &Value,
    old: Option<&Value>,
    meta: MetaCheck,
    mut errors: Vec<FieldError>,
) -> Vec<FieldError> {
    let wrong = type_errors(version, new);
    if !wrong.is_empty() {
        return wrong;
    }
    let schema = &version.schema;
    match part {
        Part::Main => {
            errors.extend(schema.check(new, old, None, Reading::Served));
            errors.extend(scale::check_spec(version, new));
            errors.extend(scale::check_status(version, new));
            embedded::check(new, schema, "", meta, &mut errors);
        }
        Part::Status => {
            let status_schema = schema.properties.get("status");
            if let (Some(schema), Some(status)) = (status_schema, new.get("status")) {
                let old = old.and_then(|old| old.get("status"));
                errors.extend(schema.check(status, old, Some("status"), Reading::Served));
            }
            errors.extend(scale::check_status(version, new));
        }
    }
    let was_wrong = || old.is_some_and(|old| !schema.check_lists(old).is_empty());
    let lists = schema.check_lists(new);
    if !lists.is_empty() && !was_wrong() {
        errors.extend(lists);
    }
    if schema.has_rules && errors.iter().any(blocks_rules) {
        errors.push(FieldError {
            kind: FieldErrorKind::Invalid,
            field: "<nil>".to_owned(),
            value: Some(Value::Null),
            detail: "some validation rules were not checked because the object was invalid; correct the existing errors \
                     to complete validation"
                .to_owned(),
        });
    }
    // This is where the rules in CEL would be evaluated, unless they are blocked as above.
    errors
}

/// The values of the fields that selectors can use, by their names.
pub(crate) fn selectable_fields(version: &Version, object: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut fields = vec![("metadata.name".to_owned(), text(&object["metadata"]["name"]))];
    if version.namespaced {
        fields.push(("metadata.namespace".to_owned(), text(&object["metadata"]["namespace"])));
    }
    for path in &version.selectable_fields {
        let name = path.strip_prefix('.').unwrap_or(path);
        let value = name.split('.').try_fold(object, |value, key| value.get(key));
        let value = value.filter(|value| !value.is_null()).map(go::plain).unwrap_or_default();
        fields.push((name.to_owned(), value));
    }
    fields
}

fn type_errors(version: &Version, object: &Value) -> Vec<FieldError> {
    [("kind", version.kind.as_str()), ("apiVersion", version.api_version.as_str())]
        .into_iter()
        .filter(|(key, wanted)| object[*key] != *wanted)
        .map(|(key, wanted)| {
            let found = object[key].as_str().unwrap_or_default();
            FieldError::invalid(key, found, format!("must be {wanted}"))
        })
        .collect()
}

/// After these the real server does not look at the rules.
fn blocks_rules(error: &FieldError) -> bool {
    use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    matches!(error.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid)
}

fn equal_outside_metadata(one: &Value, other: &Value) -> bool {
    let empty = Map::new();
    let (one, other) = (one.as_object().unwrap_or(&empty), other.as_object().unwrap_or(&empty));
    let outside = |key: &&String| *key != "metadata";
    one.keys().filter(outside).count() == other.keys().filter(outside).count()
        && one.iter().filter(|(key, _)| outside(key)).all(|(key, value)| other.get(key) == Some(value))
}

fn put(object: &mut Value, key: &str, value: Option<&Value>) {
    let Some(object) = object.as_object_mut() else { return };
    match value {
        Some(value) => object.insert(key.to_owned(), value.clone()),
        None => object.remove(key),
    };
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::crd::definition::Definition;

    fn a_version(subresources: &Value, schema: &Value) -> Arc<Version> {
        let crd = json!({"spec": {"group": "ex.dev", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": subresources,
                "selectableFields": [{"jsonPath": ".spec.color"}], "schema": {"openAPIV3Schema": schema}}]}});
        Arc::clone(&Definition::parse(&crd).unwrap().versions[0])
    }

    fn a_widget(spec: &Value, status: &Value) -> Value {
        json!({"apiVersion": "ex.dev/v1", "kind": "Widget", "metadata": {"name": "w", "generation": 3}, "spec": spec,
            "status": status})
    }

    #[test]
    fn a_status_of_its_own_is_written_on_its_own() {
        let version = a_version(&json!({"status": {}}), &json!({}));
        let old = a_widget(&json!({"a": 1}), &json!({"b": 1}));

        let mut new = a_widget(&json!({"a": 2}), &json!({"b": 2}));
        prepare_update(&version, Part::Main, &mut new, &old);
        assert_eq!((&new["spec"]["a"], &new["status"]["b"]), (&json!(2), &json!(1)));
        assert_eq!(new["metadata"]["generation"], 4);

        let mut new = a_widget(&json!({"a": 2}), &json!({"b": 2}));
        new["metadata"] = json!({"managedFields": [1], "labels": {"x": "y"}});
        prepare_update(&version, Part::Status, &mut new, &old);
        assert_eq!((&new["spec"]["a"], &new["status"]["b"]), (&json!(1), &json!(2)));
        assert_eq!(new["metadata"], json!({"name": "w", "generation": 3, "managedFields": [1]}));

        let mut new = a_widget(&json!({}), &json!({"b": 2}));
        prepare_create(&version, &mut new);
        assert_eq!((new.get("status"), &new["metadata"]["generation"]), (None, &json!(1)));
    }

    #[test]
    fn without_that_the_status_is_a_field_like_others() {
        let version = a_version(&Value::Null, &json!({}));
        let old = a_widget(&json!({}), &json!({"b": 1}));
        let mut new = a_widget(&json!({}), &json!({"b": 2}));
        prepare_update(&version, Part::Main, &mut new, &old);
        assert_eq!((&new["status"]["b"], &new["metadata"]["generation"]), (&json!(2), &json!(4)));
        let mut labelled = old.clone();
        labelled["metadata"]["labels"] = json!({"x": "y"});
        prepare_update(&version, Part::Main, &mut labelled, &old);
        assert_eq!(labelled["metadata"]["generation"], 3);
    }

    #[test]
    fn blocked_rules_are_mentioned() {
        let schema =
            json!({"type": "object", "required": ["spec"], "x-kubernetes-validations": [{"rule": "true"}]});
        let version = a_version(&Value::Null, &schema);
        let object = json!({"apiVersion": "ex.dev/v1", "kind": "Widget"});
        let errors = validate(&version, Part::Main, &object, None, |_, _| Vec::new(), Vec::new());
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors[0], "spec: Required value");
        assert!(
            errors[1].starts_with("<nil>: Invalid value: null: some validation rules were not checked"),
            "{errors:?}"
        );
    }

    #[test]
    fn a_status_is_checked_with_its_own_path() {
        let schema = json!({"type": "object", "properties": {"status": {"type": "object", "required": ["c"], "properties":
            {"b": {"type": "string"}}}}});
        let version = a_version(&json!({"status": {}}), &schema);
        let errors = validate(
            &version,
            Part::Status,
            &a_widget(&json!({}), &json!({"b": 1})),
            None,
            |_, _| Vec::new(),
            Vec::new(),
        );
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                r#"status.b: Invalid value: "integer": b in body must be of type string: "integer""#,
                "status.c: Required value"
            ]
        );
    }

    #[test]
    fn lists_that_had_duplicates_may_keep_them() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"l":
            {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}}});
        let version = a_version(&Value::Null, &schema);
        let object = a_widget(&json!({"l": ["a", "a"]}), &json!(null));
        let check = |old| validate(&version, Part::Main, &object, old, |_, _| Vec::new(), Vec::new());
        assert_eq!(check(None).len(), 1);
        assert_eq!(check(Some(&object)).len(), 0);
    }

    #[test]
    fn selectors_see_texts_of_their_fields() {
        let version = a_version(&Value::Null, &json!({}));
        let fields = selectable_fields(&version, &a_widget(&json!({"color": true}), &Value::Null));
        assert_eq!(fields[2], ("spec.color".to_owned(), "true".to_owned()));
        let fields = selectable_fields(&version, &a_widget(&json!({}), &Value::Null));
        assert_eq!(fields[2], ("spec.color".to_owned(), String::new()));
    }
}
