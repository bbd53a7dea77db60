//! From pod templates to Pods: names, hashes, owners.

use serde_json::{Value, json};

use crate::Rng;

use super::api::Resource;
use super::cache::{text, uid};

/// The letters of hashes in names: no vowels, so that no words appear.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The name of a template's content, as it stands in names of `ReplicaSets` and in labels.
pub(crate) fn hash(template: &Value) -> String {
    let mut hash = 0x811c_9dc5_u32;
    for byte in template.to_string().bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash.to_string().bytes().map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()])).collect()
}

/// A reference to the object that controls another.
pub(crate) fn owner(resource: &Resource, object: &Value) -> Value {
    json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "name": object["metadata"]["name"],
        "uid": uid(object),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// A Pod of a workload.
pub(crate) fn pod(resource: &Resource, object: &Value, template: &Value, name: &str) -> Value {
    let mut metadata = json!({
        "name": name,
        "namespace": object["metadata"]["namespace"],
        "ownerReferences": [owner(resource, object)],
    });
    if let Some((start, _)) = name.rsplit_once('-') {
        metadata["generateName"] = format!("{start}-").into();
    }
    for key in ["labels", "annotations"] {
        if template["metadata"][key].is_object() {
            metadata[key] = template["metadata"][key].clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// Adds a label to an object, or to a template.
pub(crate) fn label(object: &mut Value, key: &str, value: &str) {
    object["metadata"]["labels"][key] = value.into();
}

/// The name of the next Pod that a workload makes; the same in every run with one seed.
pub(crate) fn pod_name(rng: &Rng, object: &Value, serial: u64) -> String {
    let name = text(&object["metadata"]["name"]);
    let purpose = format!("pod/{}/{name}/{serial}", text(&object["metadata"]["namespace"]));
    // A Pod's name ends at 63 letters because it becomes a host name.
    let mut start = name.to_owned();
    start.truncate(57);
    format!("{start}-{}", rng.fork(&purpose).name_suffix())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_follows_the_content_and_has_the_letters_of_names() {
        let (one, two) = (hash(&json!({"a": 1})), hash(&json!({"a": 2})));
        assert_ne!(one, two);
        assert_eq!(one, hash(&json!({"a": 1})));
        assert!(
            (6..=10).contains(&one.len()) && one.bytes().all(|letter| LETTERS.contains(&letter)),
            "{one}"
        );
    }

    #[test]
    fn a_pod_belongs_to_its_workload_and_looks_like_its_template() {
        let set = json!({"metadata": {"namespace": "n", "name": "web-abc", "uid": "u"}});
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}});
        let pod =
            pod(&Resource::known("apps", "replicasets", "ReplicaSet"), &set, &template, "web-abc-x2y4z");
        assert_eq!(pod["metadata"]["generateName"], "web-abc-");
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(pod["metadata"]["labels"], json!({"app": "web"}));
    }
}
