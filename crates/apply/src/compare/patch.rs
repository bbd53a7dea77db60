//! JSON patches: their operations, the precondition that the object has not changed, and a safe order.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path;

/// One operation of a JSON patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchOperation {
    /// What is done.
    pub op: PatchVerb,
    /// Where, as a JSON pointer.
    pub path: String,
    /// The new value; none for a removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatchVerb {
    /// Sets a field that may be missing.
    Add,
    /// Removes what is there.
    Remove,
    /// Puts another value in the place of one that is there.
    Replace,
}

// === impl PatchOperation ===

impl PatchOperation {
    /// Sets a field that may be missing.
    pub fn add(path: impl Into<String>, value: Value) -> Self {
        Self { op: PatchVerb::Add, path: path.into(), value: Some(value) }
    }

    /// Removes what is there.
    pub fn remove(path: impl Into<String>) -> Self {
        Self { op: PatchVerb::Remove, path: path.into(), value: None }
    }

    /// Puts another value in the place of one that is there.
    pub fn replace(path: impl Into<String>, value: Value) -> Self {
        Self { op: PatchVerb::Replace, path: path.into(), value: Some(value) }
    }
}

/// Makes a patch fail when the object is not the one that was read.
///
/// NB: a stale version is answered with 409 Conflict; a `test` operation would be answered with 422, which cannot be
/// told from a patch that is wrong.
pub fn unchanged_since(live: &Value) -> Option<PatchOperation> {
    let version = live["metadata"].get("resourceVersion")?;
    Some(PatchOperation::replace("/metadata/resourceVersion", version.clone()))
}

/// Operations that do not disturb each other: none inside what another one removes or replaces, and later list items
/// before earlier ones, so that no removal moves the target of the next.
pub fn in_safe_order(mut operations: Vec<PatchOperation>) -> Vec<PatchOperation> {
    let mut keyed: Vec<(Vec<String>, PatchOperation)> =
        operations.drain(..).map(|operation| (path::parts(&operation.path).collect(), operation)).collect();
    keyed.sort_by(|(a, _), (b, _)| later_items_first(a, b));
    let mut kept: Vec<(Vec<String>, PatchOperation)> = Vec::with_capacity(keyed.len());
    for (place, operation) in keyed {
        // A whole sorts directly before its parts.
        if kept.last().is_some_and(|(whole, _)| place.starts_with(whole)) {
            continue;
        }
        kept.push((place, operation));
    }
    kept.into_iter().map(|(_, operation)| operation).collect()
}

fn later_items_first(a: &[String], b: &[String]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        let order = match (a.parse::<usize>(), b.parse::<usize>()) {
            (Ok(a), Ok(b)) => b.cmp(&a),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ordered(paths: &[&str]) -> Vec<String> {
        let operations = paths.iter().map(|path| PatchOperation::remove(*path)).collect();
        in_safe_order(operations).into_iter().map(|operation| operation.path).collect()
    }

    #[test]
    fn operations_are_written_as_the_server_reads_them() {
        let operations = [
            PatchOperation::remove("/spec/paused"),
            PatchOperation::replace("/a", json!([])),
            PatchOperation::add("/b", Value::Null),
        ];
        assert_eq!(
            serde_json::to_value(&operations).unwrap(),
            json!([{"op": "remove", "path": "/spec/paused"}, {"op": "replace", "path": "/a", "value": []},
                {"op": "add", "path": "/b", "value": null}])
        );
    }

    #[test]
    fn later_items_go_first_and_a_whole_swallows_its_parts() {
        assert_eq!(
            ordered(&["/c/0/env/2", "/c/0/env/10", "/c/1", "/c/1/env/0", "/a", "/c/0/env/2", "/ab"]),
            ["/a", "/ab", "/c/1", "/c/0/env/10", "/c/0/env/2"]
        );
    }

    #[test]
    fn an_object_without_a_version_has_no_precondition() {
        assert_eq!(unchanged_since(&json!({"metadata": {}})), None);
        assert_eq!(
            unchanged_since(&json!({"metadata": {"resourceVersion": "7"}})),
            Some(PatchOperation::replace("/metadata/resourceVersion", json!("7")))
        );
    }
}
