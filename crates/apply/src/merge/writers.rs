//! Who wrote a field of a live object, as its managed fields say.

use lockstep_api::names::FIELD_MANAGER;
use serde_json::{Map, Value};

use super::PathStep;

/// Controllers of the cluster, whose values are nobody's drift: rules of an aggregated role, the volume of a claim.
const CONTROLLERS: [&str; 5] = [
    "clusterrole-aggregation-controller",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
];

/// The fields of everybody whose additions are not wanted.
pub(super) struct Writers<'a>(Vec<&'a Map<String, Value>>);

/// Whether the replicas of an object are set through its scale subresource.
pub(super) fn scales(live: &Value) -> bool {
    entries(live).any(|entry| entry["subresource"] == "scale")
}

fn entries(live: &Value) -> impl Iterator<Item = &Value> {
    live["metadata"]["managedFields"].as_array().into_iter().flatten()
}

// === impl Writers ===

impl<'a> Writers<'a> {
    pub(super) fn of(live: &'a Value) -> Self {
        let foreign = entries(live).filter(|entry| {
            let manager = entry["manager"].as_str().unwrap_or_default();
            let subresource = entry["subresource"].as_str().unwrap_or_default();
            subresource.is_empty() && manager != FIELD_MANAGER && !CONTROLLERS.contains(&manager)
        });
        Self(
            foreign
                .filter_map(|entry| entry["fieldsV1"].as_object())
                .filter(|fields| !fields.is_empty())
                .collect(),
        )
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them wrote the value at a path, or something in it, or a whole that it is in.
    pub(super) fn wrote(&self, live: &Value, path: &[PathStep]) -> bool {
        self.0.iter().any(|fields| owns(fields, live, path))
    }
}

fn owns(fields: &Map<String, Value>, live: &Value, path: &[PathStep]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    let (below, value) = match step {
        PathStep::Field(name) => (fields.get(&format!("f:{name}")), live.get(name)),
        PathStep::Item(index) => {
            let value = live.get(index);
            (value.and_then(|value| entry_of(fields, value)), value)
        }
    };
    match (below.and_then(Value::as_object), value) {
        // A leaf: a scalar, or something that has one owner as a whole.
        (Some(below), Some(_)) if below.is_empty() => true,
        (Some(below), Some(value)) => owns(below, value, rest),
        _ => false,
    }
}

/// What somebody owns of the entry of a list.
fn entry_of<'a>(fields: &'a Map<String, Value>, item: &Value) -> Option<&'a Value> {
    let found = fields.iter().find(|(name, _)| {
        if let Some(keys) = name.strip_prefix("k:") {
            let keys: Option<Map<String, Value>> = serde_json::from_str(keys).ok();
            keys.is_some_and(|keys| keys.iter().all(|(key, value)| item.get(key) == Some(value)))
        } else if let Some(member) = name.strip_prefix("v:") {
            serde_json::from_str::<Value>(member).is_ok_and(|member| member == *item)
        } else {
            false
        }
    });
    found.map(|(_, below)| below)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live(entries: &Value) -> Value {
        json!({"metadata": {"managedFields": entries},
            "spec": {"paused": true, "containers": [{"name": "a", "tty": true}, {"name": "b"}], "set": ["x"], "whole": {"in": 1}}})
    }

    fn path(text: &str) -> Vec<PathStep> {
        let step = |part: &str| part.parse().map_or(PathStep::Field(part.to_owned()), PathStep::Item);
        text.split('/').map(step).collect()
    }

    #[test]
    fn a_path_is_found_through_fields_keys_members_and_wholes() {
        let fields = json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:tty": {}}},
            "f:set": {"v:\"x\"": {}}, "f:whole": {}}});
        let live = live(&json!([{"manager": "kubectl", "operation": "Update", "fieldsV1": fields}]));
        let writers = Writers::of(&live);
        let cases = [
            ("spec/containers/0/tty", true),
            ("spec/containers/1/tty", false),
            ("spec/containers/7/tty", false),
            ("spec/containers/0/name", false),
            ("spec/set/0", true),
            ("spec/whole/in", true),
            ("spec/paused", false),
            ("spec", true),
            ("status", false),
        ];
        for (text, owned) in cases {
            assert_eq!(writers.wrote(&live, &path(text)), owned, "{text}");
        }
    }

    #[test]
    fn we_the_controllers_and_subresources_are_no_foreign_writers() {
        let fields = json!({"f:spec": {"f:paused": {}}});
        let wrote = |entry: Value| {
            let mut entry = entry;
            entry["fieldsV1"] = fields.clone();
            let live = live(&json!([entry, 7, null, {"fieldsV1": 7}]));
            Writers::of(&live).wrote(&live, &path("spec/paused"))
        };
        assert!(wrote(json!({"manager": "kubectl"})));
        assert!(wrote(json!({})));
        assert!(!wrote(json!({"manager": FIELD_MANAGER})));
        assert!(!wrote(json!({"manager": "kube-controller-manager"})));
        assert!(!wrote(json!({"manager": "kubectl", "subresource": "status"})));
    }
}
