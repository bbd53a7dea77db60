//! The rules of `metadata` that all kinds share, built-in or custom.

mod cursor;
pub(crate) mod names;

use std::collections::BTreeSet;

use serde_json::Value;

pub(crate) use cursor::Cursor;
pub(crate) use names::NameRule;

use crate::status::FieldError;

/// The largest sum of the lengths of keys and values of annotations.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// What is wrong with the metadata of an object that is to be stored.
pub(crate) fn validate_meta_create(object: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    let root = Cursor::root(object);
    let mut errors = Vec::new();
    check(&root.field("metadata"), namespaced, rule, &mut errors);
    errors
}

/// What is wrong with the metadata of an object that is to take the place of another: first what holds for every object, then
/// what must not change.
pub(crate) fn validate_meta_update(new: &Value, old: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = validate_meta_create(new, namespaced, NameRule::PathSegment);
    errors.extend(validate_meta_change(new, old));
    errors
}

/// What must not change in the metadata of an object.
pub(crate) fn validate_meta_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new_root, old_root) = (Cursor::root(new), Cursor::root(old));
    let (meta, before) = (new_root.field("metadata"), old_root.field("metadata"));
    let mut errors = Vec::new();
    if before.field("deletionTimestamp").is_set() {
        no_new_finalizers(&meta.field("finalizers"), &before.field("finalizers"), &mut errors);
    }
    if meta.field("resourceVersion").text().is_empty() {
        errors.push(meta.field("resourceVersion").invalid_as("", "must be specified for an update"));
    }
    let generation = |meta: &Cursor<'_, '_>| meta.field("generation").number().unwrap_or(0);
    if generation(&meta) < generation(&before) {
        errors.push(meta.field("generation").invalid_as(generation(&meta), "must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        if meta.field(name).text() != before.field(name).text() {
            errors.push(meta.field(name).invalid("field is immutable"));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if meta.field(name).value() != before.field(name).value() {
            errors.push(meta.field(name).invalid_as(meta.field(name).value().clone(), "field is immutable"));
        }
    }
    labels(&meta.field("labels"), &mut errors);
    annotations(&meta.field("annotations"), &mut errors);
    owner_references(&meta.field("ownerReferences"), &mut errors);
    managed_fields(&meta.field("managedFields"), &mut errors);
    errors
}

/// The checks of one object's metadata, in the order of the real server.
fn check(meta: &Cursor<'_, '_>, namespaced: bool, rule: NameRule, errors: &mut Vec<FieldError>) {
    let (name, prefix, namespace) = (meta.field("name"), meta.field("generateName"), meta.field("namespace"));
    if !prefix.is_empty() {
        prefix.each_invalid(rule.check(prefix.text(), true), errors);
    }
    if name.is_empty() {
        errors.push(name.required("name or generateName is required"));
    } else {
        name.each_invalid(rule.check(name.text(), false), errors);
    }
    if namespaced && namespace.is_empty() {
        errors.push(namespace.required(""));
    } else if namespaced {
        namespace.each_invalid(names::dns_label(namespace.text()), errors);
    } else if !namespace.is_empty() {
        errors.push(namespace.forbidden("not allowed on this type"));
    }
    if meta.field("generation").number().is_some_and(|it| it < 0) {
        errors.push(meta.field("generation").invalid("must be greater than or equal to 0"));
    }
    labels(&meta.field("labels"), errors);
    annotations(&meta.field("annotations"), errors);
    owner_references(&meta.field("ownerReferences"), errors);
    finalizers(&meta.field("finalizers"), errors);
    managed_fields(&meta.field("managedFields"), errors);
}

/// The keys and values of labels. A message names the map, not the entry.
pub(crate) fn labels(labels: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.entries() {
        let value = value.as_str().unwrap_or_default();
        for sentence in names::qualified_name(key) {
            errors.push(labels.invalid_as(key, sentence));
        }
        for sentence in names::label_value(value) {
            errors.push(labels.invalid_as(value, sentence));
        }
    }
}

/// The keys of annotations, and how much there is of them.
pub(crate) fn annotations(annotations: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in annotations.entries() {
        size += key.len() + value.as_str().map_or(0, str::len);
        for sentence in names::qualified_name(&key.to_lowercase()) {
            errors.push(annotations.invalid_as(key, sentence));
        }
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(annotations.too_long(ANNOTATIONS_LIMIT));
    }
}

/// A selector of labels: `matchLabels` and `matchExpressions`.
pub(crate) fn label_selector(selector: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    labels(&selector.field("matchLabels"), errors);
    for expression in selector.field("matchExpressions").items() {
        let (operator, values) = (expression.field("operator"), expression.field("values"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.push(
                    values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(operator.invalid("not a valid selector operator")),
        }
        let key = expression.field("key");
        key.each_invalid(names::qualified_name(key.text()), errors);
        for value in values.items() {
            value.each_invalid(names::label_value(value.text()), errors);
        }
    }
}

/// Whether a selector of labels selects these labels; an empty one selects everything.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    let root = Cursor::root(selector);
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let labels_match = root.field("matchLabels").entries().all(|(key, value)| label(key) == value.as_str());
    labels_match
        && root.field("matchExpressions").items().all(|expression| {
            let found = label(expression.field("key").text());
            let listed = || {
                expression
                    .field("values")
                    .list()
                    .iter()
                    .any(|value| found.is_some() && value.as_str() == found)
            };
            match expression.field("operator").text() {
                "In" => listed(),
                "NotIn" => !listed(),
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

fn owner_references(owners: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    let mut controller: Option<String> = None;
    for owner in owners.items() {
        let (api_version, kind) = (owner.field("apiVersion").text(), owner.field("kind").text());
        let version = api_version.rsplit('/').next().unwrap_or_default();
        if version.is_empty() || api_version.matches('/').count() > 1 {
            errors.push(owners.field("apiVersion").invalid_as(api_version, "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if owner.field(name).is_empty() {
                errors.push(owners.field(name).invalid_as("", "must not be empty"));
            }
        }
        if api_version == "v1" && kind == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(owners.invalid_as(owner.value().clone(), detail));
        }
        if owner.field("controller").is_true() {
            let this = format!("{kind}/{}", owner.field("name").text());
            match &controller {
                Some(first) => errors.push(owners.invalid(format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                ))),
                None => controller = Some(this),
            }
        }
    }
}

fn finalizers(finalizers: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    let mut found = [false, false];
    for finalizer in finalizers.list() {
        let name = finalizer.as_str().unwrap_or_default();
        for sentence in names::qualified_name(name) {
            errors.push(finalizers.invalid_as(name, sentence));
        }
        found[0] |= name == "orphan";
        found[1] |= name == "foregroundDeletion";
    }
    if found == [true, true] {
        errors.push(finalizers.invalid("finalizer orphan and foregroundDeletion cannot be both set"));
    }
}

/// An object that is on its way out gets no reason to stay.
fn no_new_finalizers(new: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    let before: BTreeSet<&str> = old.list().iter().filter_map(Value::as_str).collect();
    let now: BTreeSet<&str> = new.list().iter().filter_map(Value::as_str).collect();
    let extra: Vec<String> = now.difference(&before).map(|name| format!("{name:?}")).collect();
    if !extra.is_empty() {
        errors.push(new.forbidden(format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            extra.join(", ")
        )));
    }
}

fn managed_fields(entries: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    for entry in entries.items() {
        let (operation, fields_type) = (entry.field("operation"), entry.field("fieldsType"));
        if !matches!(operation.text(), "Apply" | "Update") {
            errors.push(operation.invalid("must be `Apply` or `Update`"));
        }
        if !fields_type.is_empty() && fields_type.text() != "FieldsV1" {
            errors.push(fields_type.invalid("must be `FieldsV1`"));
        }
        field_manager(&entry.field("manager"), errors);
        if entry.field("subresource").text().len() > 256 {
            errors.push(entry.field("subresource").too_long(256));
        }
    }
}

/// The name of a field manager: not too long, and printable.
pub(crate) fn field_manager(manager: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    if manager.text().len() > 128 {
        errors.push(manager.too_long(128));
    }
    if manager.text().chars().any(char::is_control) {
        errors.push(manager.invalid("should only contain printable characters"));
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
    fn a_missing_name_and_a_wrong_label_are_both_named() {
        let object = json!({"metadata": {"namespace": "x", "labels": {"a b": "c"}}});
        let errors = texts(&validate_meta_create(&object, true, NameRule::Subdomain));
        assert_eq!(errors[0], "metadata.name: Required value: name or generateName is required");
        assert!(
            errors[1].starts_with("metadata.labels: Invalid value: \"a b\": name part must consist of"),
            "{errors:?}"
        );
    }

    #[test]
    fn two_controllers_are_refused() {
        let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": true});
        let object = json!({"metadata": {"name": "x", "ownerReferences": [owner("a"), owner("b")]}});
        let errors = texts(&validate_meta_create(&object, false, NameRule::Subdomain));
        assert_eq!(errors.len(), 1);
        assert!(errors[0].ends_with("in references for Pod/a and Pod/b"), "{errors:?}");
    }

    #[test]
    fn annotations_above_the_limit_are_too_long() {
        let object = json!({"metadata": {"name": "x", "annotations": {"a": "b".repeat(262_144)}}});
        let errors = texts(&validate_meta_create(&object, false, NameRule::Subdomain));
        assert_eq!(errors, ["metadata.annotations: Too long: may not be more than 262144 bytes"]);
    }

    #[test]
    fn an_update_keeps_uid_and_gets_no_new_finalizer_while_it_is_deleted() {
        let old = json!({"metadata": {"name": "x", "uid": "1", "deletionTimestamp": "2020-01-01T00:00:00Z", "resourceVersion": "5"}});
        let mut new = old.clone();
        new["metadata"]["uid"] = "2".into();
        new["metadata"]["finalizers"] = json!(["a/b"]);
        let errors = texts(&validate_meta_change(&new, &old));
        assert_eq!(
            errors,
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"a/b\"}",
                "metadata.uid: Invalid value: \"2\": field is immutable",
            ]
        );
        new["metadata"] = old["metadata"].clone();
        assert!(validate_meta_change(&new, &old).is_empty());
    }

    #[test]
    fn selectors_match_by_labels_and_expressions() {
        let labels = json!({"app": "web", "tier": "a"});
        assert!(selects(&json!({"matchLabels": {"app": "web"}}), &labels));
        assert!(!selects(&json!({"matchLabels": {"app": "db"}}), &labels));
        let expression = |operator: &str| json!({"matchExpressions": [{"key": "tier", "operator": operator, "values": ["a"]}]});
        assert!(selects(&expression("In"), &labels) && !selects(&expression("NotIn"), &labels));
        assert!(!selects(&expression("DoesNotExist"), &labels));
    }
}
