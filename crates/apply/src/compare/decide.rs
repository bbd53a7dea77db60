//! What to do next with an object that is there.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::fields::{Entry, owns};
use super::patch::{PatchOperation, in_safe_order, unchanged_since};
use super::{adoption, compare, foreign, path};
use crate::FIELD_MANAGER;

/// The next step for an object. After each one the answer of the server is looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it is as the manifest says.
    Equal,
    /// Apply the manifest.
    Apply {
        /// Paths of what differs.
        drift: Vec<String>,
    },
    /// Send a JSON patch, which fails with a conflict when the object has changed since it was read.
    Patch {
        /// Its operations.
        operations: Vec<PatchOperation>,
        /// What it does, to follow the name of the object.
        why: &'static str,
        /// Paths of what it changes.
        fields: Vec<String>,
    },
    /// Apply once. When the object does not change by that, admission overrides the release: remember it by its
    /// [`fingerprint`] and leave it.
    Suspect {
        /// Paths of what differs.
        fields: Vec<String>,
    },
}

/// Why a patch moves ownership.
pub const ADOPTS: &str = "takes over the fields that the previous operator wrote";
/// Why a patch removes something.
pub const REMOVES: &str = "removes what others added where the release alone decides";

/// Decides the next step. `clear` are operations for fields that the manifest leaves out and that must not be set.
///
/// *Order*: ownership first, because what we apply before it is co-owned for ever; then our own values, so that what
/// is left over is really foreign; then what has to go; then what an apply may not be able to change.
pub fn decide(manifest: &Value, live: &Value, clear: &[PatchOperation]) -> Next {
    if let Some(operations) = adoption(live) {
        return Next::Patch { operations, why: ADOPTS, fields: vec!["metadata.managedFields".to_owned()] };
    }
    let found = compare(manifest, live);
    if !found.drift.is_empty() {
        return Next::Apply { drift: found.drift };
    }
    let mut operations = foreign(manifest, live);
    operations.extend_from_slice(clear);
    if !operations.is_empty() {
        let mut operations = in_safe_order(operations);
        let fields = operations.iter().map(|operation| path::describe(live, &operation.path)).collect();
        operations.extend(unchanged_since(live));
        return Next::Patch { operations, why: REMOVES, fields };
    }
    if !found.suspect.is_empty() {
        return Next::Suspect { fields: found.suspect };
    }
    Next::Equal
}

/// Who else is recorded as owner of a path; empty when nobody is, for example because they removed it.
pub fn managers_of(live: &Value, path: &str) -> Vec<String> {
    let Some(path) = path::parse(path) else { return Vec::new() };
    let others = Entry::all(live).filter(|entry| entry.manager() != FIELD_MANAGER);
    let owners = others.filter(|entry| entry.fields().is_some_and(|fields| owns(fields, &path)));
    let mut names: Vec<String> = owners.map(|entry| entry.manager().to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A number that changes with the manifest and with the live values at these paths.
pub fn fingerprint(manifest: &Value, live: &Value, paths: &[String]) -> u64 {
    let mut hash = Sha256::new();
    hash.update(manifest.to_string());
    for path in paths {
        let value =
            path::parse(path).and_then(|segments| path::value_at(live, &segments).map(Value::to_string));
        hash.update(format!("\n{path}\n{}", value.unwrap_or_default()));
    }
    hash.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A config map as we applied it.
    fn live() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "3",
            "managedFields": [{"manager": "lockstep", "operation": "Apply", "fieldsV1": {"f:data": {"f:k": {}}}}]},
            "data": {"k": "v"}})
    }

    fn manifest() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}})
    }

    #[test]
    fn steps_come_in_order() {
        let manifest = manifest();
        assert_eq!(decide(&manifest, &live(), &[]), Next::Equal);

        let mut suspect = live();
        suspect["data"]["k"] = json!("w");
        let Next::Suspect { fields } = decide(&manifest, &suspect, &[]) else { panic!("suspect") };
        assert_eq!(fields, ["data.k"]);

        let clear = [PatchOperation::remove("/data/a~1b"), PatchOperation::remove("/immutable")];
        let Next::Patch { operations, why, fields } = decide(&manifest, &suspect, &clear) else {
            panic!("patch")
        };
        assert_eq!((why, fields), (REMOVES, vec![r#"data["a/b"]"#.to_owned(), "immutable".to_owned()]));
        assert_eq!(operations.last().unwrap().path, "/metadata/resourceVersion");
        assert_eq!(operations.len(), 3);

        let mut drifted = suspect.clone();
        drifted["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:metadata": {}});
        assert_eq!(decide(&manifest, &drifted, &clear), Next::Apply { drift: vec!["data.k".into()] });

        let mut theirs = drifted.clone();
        theirs["metadata"]["managedFields"][0]["operation"] = json!("Update");
        let Next::Patch { why, .. } = decide(&manifest, &theirs, &clear) else { panic!("adoption") };
        assert_eq!(why, ADOPTS);
    }

    #[test]
    fn owners_of_a_path_are_all_but_us() {
        let mut live = live();
        let entries = live["metadata"]["managedFields"].as_array_mut().unwrap();
        for (manager, fields) in [
            ("zoe", json!({"f:data": {"f:k": {}}})),
            ("hpa", json!({"f:spec": {"f:replicas": {}}})),
            ("amy", json!({"f:data": {}})),
            ("zoe", json!({"f:data": {"f:k": {}}})),
        ] {
            entries.push(json!({"manager": manager, "operation": "Update", "fieldsV1": fields}));
        }
        assert_eq!(managers_of(&live, "data.k"), ["amy", "zoe"]);
        assert_eq!(managers_of(&live, "spec.replicas"), ["hpa"]);
        assert!(managers_of(&live, "metadata.labels.a").is_empty());
        assert!(managers_of(&live, "not[a path").is_empty());
    }

    #[test]
    fn fingerprint_changes_with_the_manifest_and_with_the_values_at_the_paths_alone() {
        let paths = vec!["data.k".to_owned()];
        let first = fingerprint(&manifest(), &live(), &paths);
        let mut other = live();
        other["metadata"]["resourceVersion"] = json!("9");
        assert_eq!(fingerprint(&manifest(), &other, &paths), first);
        other["data"]["k"] = json!("w");
        assert_ne!(fingerprint(&manifest(), &other, &paths), first);
        let mut manifest = manifest();
        manifest["data"]["k"] = json!("x");
        assert_ne!(fingerprint(&manifest, &live(), &paths), first);
    }
}
