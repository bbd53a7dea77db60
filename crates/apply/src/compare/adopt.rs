//! Taking over what the reference, or an earlier patch of ours, wrote into an object.
//!
//! Fields that the reference owns beside us would stay for ever when a later release drops them. Their entries of
//! `managedFields` are therefore merged into ours, once, before the first apply.

use lockstep_api::names::label;
use serde_json::{Map, Value, json};

use super::fields::{Entry, Node};
use super::patch::{PatchOperation, unchanged_since};
use crate::FIELD_MANAGER;

/// The manager under which the reference writes.
const REFERENCE: &str = "cluster-version-operator";

/// The patch that makes their fields ours; nothing when there are none.
///
/// Entries for subresources stay: they say who reports status.
pub fn adoption(live: &Value) -> Option<Vec<PatchOperation>> {
    let (taken, others): (Vec<Entry<'_>>, Vec<Entry<'_>>) =
        Entry::all(live).partition(|entry| is_predecessor(*entry));
    let last = *taken.last()?;
    let ours = others.iter().copied().find(|entry| entry.is_ours());
    let mut fields = ours.and_then(Entry::fields).cloned().unwrap_or_default();
    for entry in &taken {
        if let Some(theirs) = entry.fields() {
            merge(&mut fields, theirs);
        }
    }
    let newest = taken.iter().chain(&ours).filter_map(|entry| entry.0["time"].as_str()).max();
    let mut entry = json!({
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": ours.unwrap_or(last).0["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if let (Some(time), Some(entry)) = (newest, entry.as_object_mut()) {
        entry.insert("time".to_owned(), Value::from(time));
    }
    let rest = others.into_iter().filter(|entry| !entry.is_ours()).map(|entry| entry.0.clone());
    let entries: Vec<Value> = std::iter::once(entry).chain(rest).collect();
    let mut operations = vec![PatchOperation::replace("/metadata/managedFields", Value::Array(entries))];
    operations.extend(unchanged_since(live));
    Some(operations)
}

/// The entries that an adoption changes, as they are: what [`restoration`] needs to go back.
pub fn former(live: &Value) -> Vec<Value> {
    let is_changed = |entry: &Entry<'_>| is_predecessor(*entry) || entry.is_ours();
    Entry::all(live).filter(is_changed).map(|entry| entry.0.clone()).collect()
}

/// The patch that puts former entries in the place of ours and takes our label away; nothing when neither is there.
///
/// Without former entries only the label goes: whoever has its fields keeps them. An object in which we own nothing
/// keeps its entries: somebody else has taken them since, or they were never moved.
pub fn restoration(live: &Value, former: &[Value]) -> Option<Vec<PatchOperation>> {
    let mut operations = Vec::new();
    if !former.is_empty() && Entry::all(live).any(Entry::is_ours) {
        let is_kept = |entry: &Entry<'_>| !is_predecessor(*entry) && !entry.is_ours();
        let kept = Entry::all(live).filter(is_kept).map(|entry| entry.0.clone());
        let entries: Vec<Value> = former.iter().cloned().chain(kept).collect();
        operations.push(PatchOperation::replace("/metadata/managedFields", Value::Array(entries)));
    }
    if let Some(labels) =
        live["metadata"]["labels"].as_object().filter(|labels| labels.contains_key(label::PAYLOAD))
    {
        let place = if labels.len() == 1 {
            "/metadata/labels".to_owned()
        } else {
            format!("/metadata/labels/{}", label::PAYLOAD.replace('/', "~1"))
        };
        operations.push(PatchOperation::remove(place));
    }
    if operations.is_empty() {
        return None;
    }
    operations.extend(unchanged_since(live));
    Some(operations)
}

/// Whether an entry holds what the reference wrote, or what a patch of ours wrote.
pub(crate) fn is_predecessor(entry: Entry<'_>) -> bool {
    !entry.is_apply() && !entry.has_subresource() && [REFERENCE, FIELD_MANAGER].contains(&entry.manager())
}

/// Adds the fields of one node to another.
fn merge(ours: &mut Node, theirs: &Node) {
    for (key, theirs) in theirs {
        let Some(theirs) = theirs.as_object() else { continue };
        let Some(own) = ours.get_mut(key).and_then(Value::as_object_mut) else {
            ours.insert(key.clone(), Value::Object(theirs.clone()));
            continue;
        };
        // An empty node owns the value itself; together with children this is written as a dot.
        let is_value = key != "." && own.is_empty() != theirs.is_empty();
        merge(own, theirs);
        if is_value {
            own.insert(".".to_owned(), Value::Object(Map::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(entries: Value) -> Value {
        let mut live = json!({"metadata": {"name": "a", "resourceVersion": "839"}});
        live["metadata"]["managedFields"] = entries;
        live
    }

    fn entry(manager: &str, operation: &str, time: &str, fields: Value) -> Value {
        let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1"});
        entry["fieldsV1"] = fields;
        entry
    }

    #[test]
    fn entry_of_the_reference_becomes_ours() {
        let fields = json!({"f:metadata": {"f:ownerReferences": {".": {}, "k:{\"uid\":\"a\"}": {}}}});
        let live = live(json!([entry(
            "cluster-version-operator",
            "Update",
            "2026-01-02T00:00:00Z",
            fields.clone()
        )]));
        let operations = adoption(&live).unwrap();
        assert_eq!(
            serde_json::to_value(operations).unwrap(),
            json!([
                {"op": "replace", "path": "/metadata/managedFields",
                    "value": [entry("lockstep", "Apply", "2026-01-02T00:00:00Z", fields)]},
                {"op": "replace", "path": "/metadata/resourceVersion", "value": "839"},
            ])
        );
    }

    #[test]
    fn entries_are_merged_and_those_of_others_and_of_subresources_stay() {
        let mut status = entry("cluster-version-operator", "Update", "t", json!({"f:status": {}}));
        status["subresource"] = json!("status");
        let other = entry("kubectl", "Update", "t", json!({"f:data": {}}));
        let live = live(json!([
            entry(
                "cluster-version-operator",
                "Update",
                "2026-01-01T00:00:00Z",
                json!({"f:spec": {}, "f:x": {"f:y": {}}})
            ),
            status,
            entry("lockstep", "Apply", "2026-03-01T00:00:00Z", json!({"f:spec": {"f:a": {}}})),
            other,
            entry("lockstep", "Update", "2026-02-01T00:00:00Z", json!({"f:spec": {"f:a": {}, "f:b": {}}})),
        ]));
        let operations = adoption(&live).unwrap();
        let merged = json!({"f:spec": {".": {}, "f:a": {}, "f:b": {}}, "f:x": {"f:y": {}}});
        assert_eq!(
            operations[0].value,
            Some(json!([entry("lockstep", "Apply", "2026-03-01T00:00:00Z", merged), status, other]))
        );
    }

    #[test]
    fn object_without_such_entries_is_left_alone() {
        assert_eq!(adoption(&live(json!([entry("lockstep", "Apply", "t", json!({}))]))), None);
        assert_eq!(
            adoption(&live(json!([entry("cluster-version-operator", "Apply", "t", json!({}))]))),
            None
        );
        assert_eq!(adoption(&json!({"metadata": {}})), None);
    }

    #[test]
    fn former_entries_come_back_as_they_were_and_the_label_goes() {
        let theirs = entry(
            "cluster-version-operator",
            "Update",
            "2026-01-01T00:00:00Z",
            json!({"f:spec": {"f:a": {}}}),
        );
        let other = entry("kubectl", "Update", "t", json!({"f:data": {}}));
        let before = live(json!([theirs, other]));
        let saved = former(&before);
        assert_eq!(saved, std::slice::from_ref(&theirs));
        let moved = adoption(&before).unwrap()[0].value.clone().unwrap();
        let mut after = live(moved);
        after["metadata"]["labels"] = json!({"lockstep.dev/payload": "version"});
        let operations = restoration(&after, &saved).unwrap();
        assert_eq!(operations[0].value, Some(json!([theirs, other])));
        assert_eq!(operations[1], PatchOperation::remove("/metadata/labels"));
        assert_eq!(restoration(&before, &saved), None, "nothing is ours");
        after["metadata"]["labels"]["a"] = json!("b");
        let label_only = restoration(&after, &[]).unwrap();
        assert_eq!(label_only[0], PatchOperation::remove("/metadata/labels/lockstep.dev~1payload"));
        assert_eq!(label_only.len(), 2);
    }
}
