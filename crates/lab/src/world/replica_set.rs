//! The `ReplicaSet` controller: as many Pods as asked for.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::CONTROLLERS;
use super::cache::{Key, Kind, is_ending};
use super::event::{Note, Source, record};
use super::shared::Shared;
use super::workload::{
    count, is_active, is_orphan, is_ready, make_pod, next_pod, replicas, script_of, status_patch, sweep,
    try_again,
};

const COMPONENT: &str = "replicaset-controller";

/// Looks at a `ReplicaSet`.
pub(crate) async fn look(world: &Shared, key: &Key) -> Result<Option<Duration>, kube::Error> {
    let Some(set) = world.object(key) else { return Ok(None) };
    if is_ending(&set) {
        return Ok(None);
    }
    if is_orphan(world, &set) {
        return sweep(world, key, &set).await;
    }
    if !script_of(world, key, &set).pods {
        return Ok(None);
    }
    let mut again = None;
    let active = active(world, &set);
    let (wanted, have) = (replicas(&set), active.len() as u64);
    for _ in have..wanted {
        let pod = next_pod(world, key, &set, &set["spec"]["template"]);
        if !make_pod(world, key, &set, pod, COMPONENT).await? {
            again = Some(try_again(world));
            break;
        }
    }
    let surplus = usize::try_from(have.saturating_sub(wanted)).unwrap_or(usize::MAX);
    for (pod_key, pod) in victims(active, surplus) {
        world.delete(&CONTROLLERS, &pod_key, &pod, None).await?;
        let source = Source { actor: &CONTROLLERS, component: COMPONENT, host: "" };
        let note = Note::normal("SuccessfulDelete", format!("Deleted pod: {}", pod_key.name));
        record(world, source, key.kind.resource(), &set, &note).await;
    }
    let Some(set) = world.object(key) else { return Ok(None) };
    let pods: Vec<Arc<Value>> = self::active(world, &set).into_iter().map(|(_, pod)| pod).collect();
    if let Some(patch) = status_patch(&set["status"], &status(&set, &pods)) {
        world.patch(&CONTROLLERS, key, "status", &patch).await?;
    }
    Ok(again)
}

fn active(world: &Shared, set: &Value) -> Vec<(Key, Arc<Value>)> {
    let mut pods = world.children(set, Kind::Pod);
    pods.retain(|(_, pod)| is_active(pod));
    pods
}

/// Which Pods go: those that are not ready first.
fn victims(mut pods: Vec<(Key, Arc<Value>)>, number: usize) -> Vec<(Key, Arc<Value>)> {
    pods.sort_by_key(|(_, pod)| is_ready(pod));
    pods.truncate(number);
    pods
}

/// The status of a `ReplicaSet` from its Pods.
fn status(set: &Value, pods: &[Arc<Value>]) -> Value {
    let ready = pods.iter().filter(|pod| is_ready(pod)).count() as u64;
    let mut status = json!({"replicas": pods.len(), "observedGeneration": set["metadata"]["generation"]});
    count(&mut status, "fullyLabeledReplicas", pods.len() as u64);
    count(&mut status, "readyReplicas", ready);
    count(&mut status, "availableReplicas", ready);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, ready: bool) -> (Key, Arc<Value>) {
        let status = if ready { "True" } else { "False" };
        let pod = json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
        (Key::new(Kind::Pod, "n", name), Arc::new(pod))
    }

    #[test]
    fn pods_that_are_not_ready_go_first() {
        let gone = victims(vec![pod("a", true), pod("b", false), pod("c", true)], 2);
        let names: Vec<&str> = gone.iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
    }

    #[test]
    fn counts_that_are_zero_are_left_out() {
        let set = json!({"metadata": {"generation": 2}});
        assert_eq!(status(&set, &[]), json!({"replicas": 0, "observedGeneration": 2}));
        let (_, ready) = pod("a", true);
        assert_eq!(status(&set, &[ready])["availableReplicas"], 1);
    }
}
