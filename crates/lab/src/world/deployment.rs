//! The Deployment controller: one `ReplicaSet` per template, scaled by the strategy, and the status of it all.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::CONTROLLERS;
use super::cache::{Key, Kind, is_ending, text, uid};
use super::event::{Note, Source, record};
use super::rules::WorkloadScript;
use super::shared::{Shared, lock};
use super::template;
use super::workload::{count, int_or_percent, is_ready_without_pods, replicas, set_condition, status_patch};

const COMPONENT: &str = "deployment-controller";
const HASH_LABEL: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";

/// How many Pods there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    desired: u64,
    total: u64,
    updated: u64,
    ready: u64,
}

/// A `ReplicaSet` in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SetState {
    spec: u64,
    total: u64,
    available: u64,
}

/// Looks at a Deployment.
pub(crate) async fn look(world: &Shared, key: &Key) -> Result<Option<Duration>, kube::Error> {
    let Some(deployment) = world.object(key) else {
        lock(&world.rollouts).remove(key);
        return Ok(None);
    };
    if is_ending(&deployment) {
        return Ok(None);
    }
    let script = world.scenario.workload("Deployment", &key.namespace, &key.name);
    let hash = template::hash(&deployment["spec"]["template"]);
    let (since, earlier) = {
        let mut rollouts = lock(&world.rollouts);
        let memory = rollouts.entry(key.clone()).or_default();
        (memory.start(uid(&deployment), &hash, world.now()), memory.earlier)
    };
    let (counts, again) = if script.pods {
        (roll_out(world, key, &deployment, &hash).await?, None)
    } else {
        without_pods(world, key, &deployment, &script, since, earlier)
    };
    report(world, key, &hash, counts, again).await
}

/// Writes the status, and wakes up for the deadline of the rollout.
async fn report(
    world: &Shared,
    key: &Key,
    hash: &str,
    counts: Counts,
    again: Option<Duration>,
) -> Result<Option<Duration>, kube::Error> {
    let Some(deployment) = world.object(key) else { return Ok(None) };
    let deadline = deployment["spec"]["progressDeadlineSeconds"].as_u64().unwrap_or(600);
    let reached = 1 + counts.updated * 2 + counts.ready;
    let progressed = lock(&world.rollouts).entry(key.clone()).or_default().progress(reached, world.now());
    let expires = progressed + Duration::from_secs(deadline);
    let set = format!("{}-{hash}", key.name);
    let timed_out = world.now() >= expires;
    let status = status(&deployment, counts, &set, timed_out, &world.clock.stamp());
    if let Some(patch) = status_patch(&deployment["status"], &status) {
        world.patch(&CONTROLLERS, key, "status", &patch).await?;
        if is_available(&status) != is_available(&deployment["status"]) {
            let change = if is_available(&status) { "available" } else { "not available" };
            world.say(|| format!("{key} is {change}: {} of {} Pods are ready", counts.ready, counts.desired));
        }
    }
    let expires = (!timed_out && !counts.is_complete()).then_some(expires);
    Ok([again, expires].into_iter().flatten().min())
}

// === with Pods ===

/// Brings the `ReplicaSets` one step further.
async fn roll_out(world: &Shared, key: &Key, deployment: &Value, hash: &str) -> Result<Counts, kube::Error> {
    let desired = replicas(deployment);
    let name = format!("{}-{hash}", key.name);
    let mut sets = world.children(deployment, Kind::ReplicaSet);
    sets.retain(|(_, set)| !is_ending(set));
    let (new, old): (Vec<_>, Vec<_>) = sets.into_iter().partition(|(set, _)| set.name == name);
    let new = new.into_iter().next();
    let state = |set: &Value| SetState {
        spec: replicas(set),
        total: set["status"]["replicas"].as_u64().unwrap_or_default(),
        available: set["status"]["availableReplicas"].as_u64().unwrap_or_default(),
    };
    let old_states: Vec<SetState> = old.iter().map(|(_, set)| state(set)).collect();
    let new_state = new.as_ref().map(|(_, set)| state(set)).unwrap_or_default();
    let (new_size, old_sizes) = plan(&deployment["spec"]["strategy"], desired, new_state, &old_states);
    if let Some(size) = new_size {
        match &new {
            None => create_set(world, key, deployment, hash, size, &old).await?,
            Some((set_key, set)) => scale(world, key, deployment, (set_key, set), size).await?,
        }
    }
    for ((set_key, set), size) in old.iter().zip(old_sizes) {
        scale(world, key, deployment, (set_key, set), size).await?;
    }
    retire(world, deployment, &old).await?;
    let total = |of: fn(&SetState) -> u64| old_states.iter().map(of).sum::<u64>();
    Ok(Counts {
        desired,
        total: new_state.total + total(|set| set.total),
        updated: new_state.total,
        ready: new_state.available + total(|set| set.available),
    })
}

/// The sizes of the new `ReplicaSet` and of the old ones; `None` when the new one has to wait for the end of the old.
fn plan(strategy: &Value, desired: u64, new: SetState, old: &[SetState]) -> (Option<u64>, Vec<u64>) {
    if strategy["type"] == "Recreate" {
        let is_clear = old.iter().all(|set| set.spec == 0 && set.total == 0);
        return (is_clear.then_some(desired), vec![0; old.len()]);
    }
    let (surge, unavailable) = limits(strategy, desired);
    let spec_total = new.spec + old.iter().map(|set| set.spec).sum::<u64>();
    let room = (desired + surge).saturating_sub(spec_total);
    let new_size = desired.min(new.spec + room);
    let keep = desired.saturating_sub(unavailable);
    let not_up = new.spec.saturating_sub(new.available);
    let mut removable = spec_total.saturating_sub(keep + not_up);
    // First those that do not work anyway, then as many working ones as may be missing.
    let mut sizes: Vec<u64> = old.iter().map(|set| set.spec).collect();
    for (size, set) in sizes.iter_mut().zip(old) {
        let broken = set.spec.saturating_sub(set.available).min(removable);
        *size -= broken;
        removable -= broken;
    }
    let available = new.available + old.iter().map(|set| set.available).sum::<u64>();
    let mut removable = available.saturating_sub(keep).min(removable);
    for size in &mut sizes {
        let gone = removable.min(*size);
        *size -= gone;
        removable -= gone;
    }
    (Some(new_size), sizes)
}

/// How many more, and how many fewer Pods than desired there may be; at least one of the two is not 0.
fn limits(strategy: &Value, desired: u64) -> (u64, u64) {
    if strategy["type"] == "Recreate" {
        return (0, 0);
    }
    let rolling = &strategy["rollingUpdate"];
    let or_quarter = |value: &Value| if value.is_null() { json!("25%") } else { value.clone() };
    let surge = int_or_percent(&or_quarter(&rolling["maxSurge"]), desired, true);
    let unavailable = int_or_percent(&or_quarter(&rolling["maxUnavailable"]), desired, false).min(desired);
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

async fn create_set(
    world: &Shared,
    key: &Key,
    deployment: &Value,
    hash: &str,
    size: u64,
    old: &[(Key, Arc<Value>)],
) -> Result<(), kube::Error> {
    let last = old.iter().map(|(_, set)| revision(set)).max().unwrap_or_default();
    let revision = (last + 1).to_string();
    let set = replica_set(deployment, hash, size, &revision);
    world.create(&CONTROLLERS, Kind::ReplicaSet, &set).await?;
    let name = text(&set["metadata"]["name"]).to_owned();
    announce(world, key, deployment, format!("Scaled up replica set {name} from 0 to {size}")).await;
    let annotations = json!({"metadata": {"annotations": {REVISION: revision}}});
    world.patch(&CONTROLLERS, key, "", &annotations).await
}

/// The `ReplicaSet` of a template.
fn replica_set(deployment: &Value, hash: &str, size: u64, revision: &str) -> Value {
    let metadata = &deployment["metadata"];
    let (surge, _) = limits(&deployment["spec"]["strategy"], replicas(deployment));
    let mut template = deployment["spec"]["template"].clone();
    template::label(&mut template, HASH_LABEL, hash);
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH_LABEL] = hash.into();
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", text(&metadata["name"])),
            "namespace": metadata["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": {
                "deployment.kubernetes.io/desired-replicas": replicas(deployment).to_string(),
                "deployment.kubernetes.io/max-replicas": (replicas(deployment) + surge).to_string(),
                REVISION: revision,
            },
            "ownerReferences": [template::owner(Kind::Deployment.resource(), deployment)],
        },
        "spec": {
            "replicas": size,
            "selector": selector,
            "minReadySeconds": deployment["spec"]["minReadySeconds"].as_u64().unwrap_or_default(),
            "template": template,
        },
    })
}

async fn scale(
    world: &Shared,
    key: &Key,
    deployment: &Value,
    (set_key, set): (&Key, &Value),
    size: u64,
) -> Result<(), kube::Error> {
    let was = replicas(set);
    if was == size {
        return Ok(());
    }
    world.patch(&CONTROLLERS, set_key, "", &json!({"spec": {"replicas": size}})).await?;
    let direction = if size > was { "up" } else { "down" };
    let text = format!("Scaled {direction} replica set {} from {was} to {size}", set_key.name);
    announce(world, key, deployment, text).await;
    Ok(())
}

async fn announce(world: &Shared, key: &Key, deployment: &Value, text: String) {
    let source = Source { actor: &CONTROLLERS, component: COMPONENT, host: "" };
    record(world, source, key.kind.resource(), deployment, &Note::normal("ScalingReplicaSet", text)).await;
}

/// Deletes the oldest of the `ReplicaSets` that are no longer used, down to the limit.
async fn retire(world: &Shared, deployment: &Value, old: &[(Key, Arc<Value>)]) -> Result<(), kube::Error> {
    let limit = deployment["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10);
    let is_idle = |set: &Value| replicas(set) == 0 && set["status"]["replicas"] == 0;
    let mut idle: Vec<&(Key, Arc<Value>)> = old.iter().filter(|(_, set)| is_idle(set)).collect();
    idle.sort_by_key(|(_, set)| revision(set));
    let surplus = idle.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    for (set_key, set) in idle.into_iter().take(surplus) {
        world.delete(&CONTROLLERS, set_key, set, None).await?;
    }
    Ok(())
}

fn revision(set: &Value) -> u64 {
    text(&set["metadata"]["annotations"][REVISION]).parse().unwrap_or_default()
}

// === without Pods ===

fn without_pods(
    world: &Shared,
    key: &Key,
    deployment: &Value,
    script: &WorkloadScript,
    since: Duration,
    earlier: u32,
) -> (Counts, Option<Duration>) {
    let desired = replicas(deployment);
    let (is_ready, again) = is_ready_without_pods(world, key, script, since);
    let counts = if is_ready {
        Counts { desired, total: desired, updated: desired, ready: desired }
    } else if earlier > 0 && deployment["spec"]["strategy"]["type"] != "Recreate" {
        // The old Pods go on until the new ones are ready.
        Counts { desired, total: desired, updated: 0, ready: desired }
    } else {
        Counts { desired, total: desired, updated: desired, ready: 0 }
    };
    (counts, again)
}

// === the status ===

impl Counts {
    fn is_complete(&self) -> bool {
        self.updated == self.desired && self.total == self.desired && self.ready == self.desired
    }
}

/// The status of a Deployment; `set` is the name of its `ReplicaSet`.
fn status(deployment: &Value, counts: Counts, set: &str, timed_out: bool, stamp: &str) -> Value {
    let Counts { desired, total, updated, ready } = counts;
    let old = &deployment["status"];
    let mut status = json!({"observedGeneration": deployment["metadata"]["generation"]});
    count(&mut status, "replicas", total);
    count(&mut status, "updatedReplicas", updated);
    count(&mut status, "readyReplicas", ready);
    count(&mut status, "availableReplicas", ready);
    count(&mut status, "unavailableReplicas", total.max(desired).saturating_sub(ready));
    if !old["collisionCount"].is_null() {
        status["collisionCount"] = old["collisionCount"].clone();
    }
    let mut conditions = old["conditions"].as_array().cloned().unwrap_or_default();
    let (_, unavailable) = limits(&deployment["spec"]["strategy"], desired);
    let (available, reason, message) = if ready + unavailable >= desired {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    set_condition(&mut conditions, "Available", available, reason, message, stamp);
    let done = format!("ReplicaSet \"{set}\" has successfully progressed.");
    let progressing = conditions.iter().find(|condition| condition["type"] == "Progressing");
    // A rollout that was complete once does not start again when Pods fail later.
    let was_complete = progressing.is_some_and(|condition| condition["message"] == done.as_str());
    let (progressing, reason, message) = if counts.is_complete() || was_complete {
        ("True", "NewReplicaSetAvailable", done)
    } else if timed_out {
        ("False", "ProgressDeadlineExceeded", format!("ReplicaSet \"{set}\" has timed out progressing."))
    } else if progressing.is_none() && total == 0 {
        ("True", "NewReplicaSetCreated", format!("Created new replica set \"{set}\""))
    } else {
        ("True", "ReplicaSetUpdated", format!("ReplicaSet \"{set}\" is progressing."))
    };
    set_condition(&mut conditions, "Progressing", progressing, reason, &message, stamp);
    status["conditions"] = conditions.into();
    status
}

/// Whether a status says Available.
pub(crate) fn is_available(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Available" && condition["status"] == "True")
}

/// Whether a Deployment runs its newest template on all its Pods.
pub(crate) fn is_rolled_out(deployment: &Value) -> bool {
    let (status, desired) = (&deployment["status"], replicas(deployment));
    let is = |field: &str| status[field].as_u64().unwrap_or_default() == desired;
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && is("updatedReplicas")
        && is("replicas")
        && is("availableReplicas")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rolling() -> Value {
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    }

    fn set(spec: u64, available: u64) -> SetState {
        SetState { spec, total: spec, available }
    }

    #[test]
    fn a_rolling_update_surges_then_shrinks_the_old() {
        assert_eq!(plan(&rolling(), 3, set(0, 0), &[]), (Some(3), vec![]));
        assert_eq!(plan(&rolling(), 3, set(0, 0), &[set(3, 3)]), (Some(1), vec![3]));
        assert_eq!(plan(&rolling(), 3, set(1, 1), &[set(3, 3)]), (Some(1), vec![2]));
        assert_eq!(
            plan(&rolling(), 3, set(1, 0), &[set(3, 3)]),
            (Some(1), vec![3]),
            "the new one is not up yet"
        );
        assert_eq!(plan(&rolling(), 3, set(3, 3), &[set(1, 1)]), (Some(3), vec![0]));
        assert_eq!(plan(&rolling(), 3, set(3, 3), &[set(0, 0)]), (Some(3), vec![0]));
        assert_eq!(plan(&rolling(), 1, set(3, 3), &[]), (Some(1), vec![]), "scaled down");
    }

    #[test]
    fn broken_pods_of_an_old_template_go_at_once() {
        let strategy =
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
        assert_eq!(plan(&strategy, 1, set(1, 0), &[set(1, 0)]), (Some(1), vec![1]), "nothing may be missing");
        assert_eq!(plan(&strategy, 1, set(1, 1), &[set(1, 0)]), (Some(1), vec![0]));
    }

    #[test]
    fn recreate_waits_until_the_old_pods_are_gone() {
        let strategy = json!({"type": "Recreate"});
        assert_eq!(plan(&strategy, 1, set(0, 0), &[set(1, 1)]), (None, vec![0]));
        let ending = SetState { spec: 0, total: 1, available: 0 };
        assert_eq!(plan(&strategy, 1, set(0, 0), &[ending]), (None, vec![0]));
        assert_eq!(plan(&strategy, 1, set(0, 0), &[set(0, 0)]), (Some(1), vec![0]));
    }

    fn reasons(status: &Value) -> Vec<(&str, &str)> {
        let conditions = status["conditions"].as_array().unwrap();
        conditions.iter().map(|it| (text(&it["status"]), text(&it["reason"]))).collect()
    }

    #[test]
    fn the_conditions_tell_the_story_of_a_rollout() {
        let mut deployment =
            json!({"metadata": {"generation": 1}, "spec": {"replicas": 2, "strategy": rolling()}});
        let counts = |total, updated, ready| Counts { desired: 2, total, updated, ready };
        deployment["status"] = status(&deployment, counts(0, 0, 0), "a", false, "T1");
        assert_eq!(
            reasons(&deployment["status"]),
            [("False", "MinimumReplicasUnavailable"), ("True", "NewReplicaSetCreated")]
        );
        deployment["status"] = status(&deployment, counts(2, 2, 0), "a", false, "T2");
        assert_eq!(reasons(&deployment["status"])[1], ("True", "ReplicaSetUpdated"));
        assert_eq!(
            reasons(&status(&deployment, counts(2, 2, 0), "a", true, "T3"))[1],
            ("False", "ProgressDeadlineExceeded")
        );
        deployment["status"] = status(&deployment, counts(2, 2, 2), "a", false, "T4");
        assert_eq!(
            reasons(&deployment["status"]),
            [("True", "MinimumReplicasAvailable"), ("True", "NewReplicaSetAvailable")]
        );
        assert_eq!(deployment["status"].get("unavailableReplicas"), None);
        assert!(is_rolled_out(&deployment));
        let later = status(&deployment, counts(2, 2, 0), "a", true, "T5");
        assert_eq!(
            reasons(&later),
            [("True", "NewReplicaSetAvailable"), ("False", "MinimumReplicasUnavailable")]
        );
    }

    #[test]
    fn a_replica_set_selects_by_the_hash_of_its_template() {
        let deployment = json!({"metadata": {"name": "web", "namespace": "n", "uid": "u"}, "spec": {"replicas": 2,
            "strategy": rolling(), "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {}}}});
        let set = replica_set(&deployment, "abc", 2, "1");
        assert_eq!(set["metadata"]["name"], "web-abc");
        assert_eq!(set["spec"]["selector"]["matchLabels"], json!({"app": "web", "pod-template-hash": "abc"}));
        assert_eq!(set["spec"]["template"]["metadata"]["labels"]["pod-template-hash"], "abc");
        assert_eq!(set["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"], "3");
    }
}
