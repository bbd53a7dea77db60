//! The `DaemonSet` controller: one Pod on every machine that fits.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::CONTROLLERS;
use super::cache::{Key, Kind, is_ending, text, uid};
use super::placement::{nodes, refusal};
use super::shared::{Shared, lock};
use super::template::{hash, label};
use super::workload::{
    count, int_or_percent, is_active, is_ready, is_ready_without_pods, make_pod, next_pod, status_patch,
    try_again,
};

const COMPONENT: &str = "daemonset-controller";
const HASH_LABEL: &str = "controller-revision-hash";

/// Taints that a Pod of a `DaemonSet` tolerates by itself.
const TOLERATED: [&str; 5] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/unschedulable",
];

/// The machines and Pods of a `DaemonSet` in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    desired: u64,
    current: u64,
    updated: u64,
    ready: u64,
}

/// Looks at a `DaemonSet`.
pub(crate) async fn look(world: &Shared, key: &Key) -> Result<Option<Duration>, kube::Error> {
    let Some(set) = world.object(key) else {
        lock(&world.rollouts).remove(key);
        return Ok(None);
    };
    if is_ending(&set) {
        return Ok(None);
    }
    let template = hash(&set["spec"]["template"]);
    let since =
        lock(&world.rollouts).entry(key.clone()).or_default().start(uid(&set), &template, world.now());
    let script = world.scenario.workload("DaemonSet", &key.namespace, &key.name);
    let names: Vec<String> = nodes(world)
        .iter()
        .filter(|node| refusal(node, &tolerant(&set["spec"]["template"]["spec"])).is_none())
        .map(|node| text(&node["metadata"]["name"]).to_owned())
        .collect();
    let desired = names.len() as u64;
    let (counts, again) = if script.pods {
        place(world, key, &set, &names, &template).await?
    } else {
        let (is_ready, again) = is_ready_without_pods(world, key, &script, since);
        (
            Counts { desired, current: desired, updated: desired, ready: if is_ready { desired } else { 0 } },
            again,
        )
    };
    let Some(set) = world.object(key) else { return Ok(None) };
    if let Some(patch) = status_patch(&set["status"], &status(&set, counts)) {
        world.patch(&CONTROLLERS, key, "status", &patch).await?;
    }
    Ok(again)
}

/// The spec of a Pod with the tolerations that the controller adds.
fn tolerant(spec: &Value) -> Value {
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    tolerations.extend(TOLERATED.map(|key| json!({"key": key, "operator": "Exists"})));
    json!({"nodeSelector": spec["nodeSelector"], "tolerations": tolerations})
}

/// Makes missing Pods, removes those of no machine, and replaces old ones as the strategy allows.
async fn place(
    world: &Shared,
    key: &Key,
    set: &Value,
    names: &[String],
    template: &str,
) -> Result<(Counts, Option<Duration>), kube::Error> {
    let mut pods = world.children(set, Kind::Pod);
    pods.retain(|(_, pod)| is_active(pod));
    let (mut counts, mut again) = (Counts { desired: names.len() as u64, ..Counts::default() }, None);
    let mut old: Vec<&(Key, Arc<Value>)> = Vec::new();
    for (pod_key, pod) in pods.iter().filter(|(_, pod)| !names.iter().any(|name| is_on(pod, name))) {
        world.delete(&CONTROLLERS, pod_key, pod, None).await?;
    }
    for name in names {
        let Some(found) = pods.iter().find(|(_, pod)| is_on(pod, name)) else {
            let mut pod = next_pod(world, key, set, &set["spec"]["template"]);
            label(&mut pod, HASH_LABEL, template);
            pod["spec"]["nodeName"] = name.as_str().into();
            if !make_pod(world, key, set, pod, COMPONENT).await? {
                again = Some(try_again(world));
            }
            continue;
        };
        counts.current += 1;
        counts.ready += u64::from(is_ready(&found.1));
        if found.1["metadata"]["labels"][HASH_LABEL] == template {
            counts.updated += 1;
        } else {
            old.push(found);
        }
    }
    let strategy = &set["spec"]["updateStrategy"];
    if strategy["type"] != "OnDelete" {
        let limit = &strategy["rollingUpdate"]["maxUnavailable"];
        let limit = if limit.is_null() { 1 } else { int_or_percent(limit, counts.desired, true).max(1) };
        let missing = counts.desired.saturating_sub(counts.ready);
        let mut allowed = limit.saturating_sub(missing);
        for (pod_key, pod) in old {
            if !is_ready(pod) || allowed > 0 {
                allowed = allowed.saturating_sub(u64::from(is_ready(pod)));
                world.delete(&CONTROLLERS, pod_key, pod, None).await?;
            }
        }
    }
    Ok((counts, again))
}

fn is_on(pod: &Value, node: &str) -> bool {
    pod["spec"]["nodeName"] == node
}

fn status(set: &Value, counts: Counts) -> Value {
    let mut status = json!({
        "currentNumberScheduled": counts.current,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": counts.desired,
        "numberReady": counts.ready,
        "observedGeneration": set["metadata"]["generation"],
    });
    count(&mut status, "updatedNumberScheduled", counts.updated);
    count(&mut status, "numberAvailable", counts.ready);
    count(&mut status, "numberUnavailable", counts.desired.saturating_sub(counts.ready));
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_counts_machines() {
        let set = json!({"metadata": {"generation": 4}});
        let found = status(&set, Counts { desired: 3, current: 3, updated: 2, ready: 1 });
        assert_eq!(found["numberUnavailable"], 2);
        assert_eq!(found["observedGeneration"], 4);
        assert_eq!(status(&set, Counts::default()).get("numberAvailable"), None);
    }

    #[test]
    fn machines_that_are_not_ready_get_their_pod_too() {
        let node = json!({"metadata": {"labels": {}}, "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}});
        assert_eq!(refusal(&node, &tolerant(&json!({}))), None);
        assert!(refusal(&node, &json!({})).is_some());
    }
}
