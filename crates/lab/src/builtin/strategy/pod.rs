//! Pods: their first status, and the writes of parts of them.

use serde_json::{Value, json};

use crate::builtin::validate::quantity::Quantity;

use super::paths::{at, copy, put, put_or_remove};

/// The first status of a pod.
pub(super) fn prepare_create(pod: &mut Value, now: &str) {
    let mut status = json!({"phase": "Pending", "qosClass": qos_class(pod)});
    if at(pod, &["spec", "schedulingGates"]).and_then(Value::as_array).is_some_and(|gates| !gates.is_empty())
    {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": now,
        }]);
    }
    pod["status"] = status;
}

/// A write of the status does not lose the class and the observed generations.
pub(super) fn keep_status_facts(new: &mut Value, old: &Value) {
    for name in ["qosClass", "observedGeneration"] {
        if at(new, &["status", name]).is_none_or(|value| value == "" || value == 0) {
            copy(new, old, &["status", name]);
        }
    }
}

/// Writes of `ephemeralcontainers` and `resize`: everything else stays as it was.
pub(super) fn prepare_part(part: &str, new: &mut Value, old: &Value) {
    let sent = new.take();
    *new = old.clone();
    for name in ["managedFields", "resourceVersion"] {
        put_or_remove(new, &["metadata", name], at(&sent, &["metadata", name]).cloned());
    }
    if part == "ephemeralcontainers" {
        copy(new, &sent, &["spec", "ephemeralContainers"]);
    } else {
        for list in ["containers", "initContainers"] {
            let (sent, kept) = (&sent["spec"][list], &mut new["spec"][list]);
            let pairs = sent.as_array().into_iter().flatten().zip(kept.as_array_mut().into_iter().flatten());
            for (sent, kept) in pairs.filter(|(sent, kept)| sent["name"] == kept["name"]) {
                for name in ["resources", "resizePolicy"] {
                    put_or_remove(kept, &[name], at(sent, &[name]).cloned());
                }
            }
        }
    }
    if new["spec"] != old["spec"] {
        let generation = at(old, &["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
        put(new, &["metadata", "generation"], (generation + 1).into());
    }
}

/// The quality of service that follows from requests and limits of CPU and memory.
fn qos_class(pod: &Value) -> &'static str {
    if let Some(resources) = at(pod, &["spec", "resources"])
        && resources.as_object().is_some_and(|map| !map.is_empty())
    {
        return class_of(std::iter::once(resources));
    }
    let containers = ["initContainers", "containers"]
        .into_iter()
        .flat_map(|list| at(pod, &["spec", list]).and_then(Value::as_array).into_iter().flatten());
    class_of(containers.map(|container| &container["resources"]))
}

fn class_of<'v>(all: impl Iterator<Item = &'v Value>) -> &'static str {
    let (mut any, mut guaranteed) = (false, true);
    for resources in all {
        for name in ["cpu", "memory"] {
            let amount = |part: &str| {
                at(resources, &[part, name]).and_then(Quantity::of).filter(|quantity| !quantity.is_zero())
            };
            let (request, limit) = (amount("requests"), amount("limits"));
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && request == limit;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(resources: &Value) -> &'static str {
        qos_class(&json!({"spec": {"containers": [{"resources": resources}]}}))
    }

    #[test]
    fn the_class_follows_from_requests_and_limits() {
        assert_eq!(class(&json!({})), "BestEffort");
        assert_eq!(class(&json!({"requests": {"cpu": "1"}})), "Burstable");
        let both = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(class(&json!({"requests": both, "limits": both})), "Guaranteed");
        assert_eq!(class(&json!({"requests": both, "limits": {"cpu": "2", "memory": "1Gi"}})), "Burstable");
    }

    #[test]
    fn a_resize_takes_resources_only() {
        let old =
            json!({"metadata": {"generation": 1}, "spec": {"containers": [{"name": "a", "image": "i"}]}});
        let mut new = json!({"metadata": {}, "spec": {"containers": [{"name": "a", "image": "j", "resources": {"limits": {"cpu": "1"}}}]}});
        prepare_part("resize", &mut new, &old);
        assert_eq!(
            new["spec"]["containers"],
            json!([{"name": "a", "image": "i", "resources": {"limits": {"cpu": "1"}}}])
        );
        assert_eq!(new["metadata"]["generation"], 2);
    }
}
