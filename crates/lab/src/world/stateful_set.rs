//! The `StatefulSet` controller: numbered Pods, one after the other.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::CONTROLLERS;
use super::cache::{Key, Kind, is_ending, text, uid};
use super::shared::{Shared, lock};
use super::template::{hash, label, pod};
use super::workload::{
    count, is_active, is_ready, is_ready_without_pods, make_pod, replicas, status_patch, try_again,
};

const COMPONENT: &str = "statefulset-controller";
const HASH_LABEL: &str = "controller-revision-hash";

/// The Pods of a `StatefulSet` in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    total: u64,
    updated: u64,
    ready: u64,
}

/// Looks at a `StatefulSet`.
pub(crate) async fn look(world: &Shared, key: &Key) -> Result<Option<Duration>, kube::Error> {
    let Some(set) = world.object(key) else {
        lock(&world.rollouts).remove(key);
        return Ok(None);
    };
    if is_ending(&set) {
        return Ok(None);
    }
    let revision = format!("{}-{}", key.name, hash(&set["spec"]["template"]));
    let since =
        lock(&world.rollouts).entry(key.clone()).or_default().start(uid(&set), &revision, world.now());
    let script = world.scenario.workload("StatefulSet", &key.namespace, &key.name);
    let (counts, again) = if script.pods {
        number(world, key, &set, &revision).await?
    } else {
        let (is_ready, again) = is_ready_without_pods(world, key, &script, since);
        let desired = replicas(&set);
        (Counts { total: desired, updated: desired, ready: if is_ready { desired } else { 0 } }, again)
    };
    let Some(set) = world.object(key) else { return Ok(None) };
    if let Some(patch) = status_patch(&set["status"], &status(&set, counts, &revision)) {
        world.patch(&CONTROLLERS, key, "status", &patch).await?;
    }
    Ok(again)
}

/// One step: make the next missing Pod, remove the last surplus one, or replace the last old one.
async fn number(
    world: &Shared,
    key: &Key,
    set: &Value,
    revision: &str,
) -> Result<(Counts, Option<Duration>), kube::Error> {
    let desired = replicas(set);
    let parallel = set["spec"]["podManagementPolicy"] == "Parallel";
    let all = world.children(set, Kind::Pod);
    let find = |ordinal: u64| all.iter().find(|(pod, _)| pod.name == format!("{}-{ordinal}", key.name));
    let mut counts = Counts::default();
    let mut old: Option<&(Key, Arc<Value>)> = None;
    let mut is_calm = true;
    for ordinal in 0..desired {
        let Some(found) = find(ordinal) else {
            if is_calm || parallel {
                let mut made = pod(
                    key.kind.resource(),
                    set,
                    &set["spec"]["template"],
                    &format!("{}-{ordinal}", key.name),
                );
                dress(&mut made, set, ordinal, revision);
                if !make_pod(world, key, set, made, COMPONENT).await? {
                    return Ok((counts, Some(try_again(world))));
                }
            }
            is_calm = false;
            continue;
        };
        let (ready, is_new) = (is_ready(&found.1), found.1["metadata"]["labels"][HASH_LABEL] == revision);
        counts.total += u64::from(is_active(&found.1));
        counts.ready += u64::from(ready);
        counts.updated += u64::from(is_new);
        is_calm &= ready && is_active(&found.1);
        if !is_new && is_active(&found.1) {
            old = Some(found);
        }
    }
    let surplus =
        all.iter().rev().find(|(pod, _)| ordinal(key, pod).is_some_and(|ordinal| ordinal >= desired));
    if let Some((pod_key, pod)) = surplus.filter(|(_, pod)| is_active(pod)) {
        world.delete(&CONTROLLERS, pod_key, pod, None).await?;
    }
    // A broken Pod of the old template is replaced at once, a good one when all are up.
    if let Some((pod_key, pod)) = old.filter(|(_, pod)| is_calm || !is_ready(pod))
        && set["spec"]["updateStrategy"]["type"] != "OnDelete"
    {
        world.delete(&CONTROLLERS, pod_key, pod, None).await?;
    }
    Ok((counts, None))
}

fn ordinal(set: &Key, pod: &Key) -> Option<u64> {
    pod.name.strip_prefix(&set.name)?.strip_prefix('-')?.parse().ok()
}

/// What distinguishes the Pods of a `StatefulSet`: number, host name, claims.
fn dress(pod: &mut Value, set: &Value, ordinal: u64, revision: &str) {
    let name = text(&pod["metadata"]["name"]).to_owned();
    label(pod, HASH_LABEL, revision);
    label(pod, "statefulset.kubernetes.io/pod-name", &name);
    label(pod, "apps.kubernetes.io/pod-index", &ordinal.to_string());
    pod["spec"]["hostname"] = name.as_str().into();
    pod["spec"]["subdomain"] = set["spec"]["serviceName"].clone();
    let claims = set["spec"]["volumeClaimTemplates"].as_array();
    let volumes: Vec<Value> = claims
        .into_iter()
        .flatten()
        .map(|claim| text(&claim["metadata"]["name"]))
        .map(
            |claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": format!("{claim}-{name}")}}),
        )
        .collect();
    if !volumes.is_empty() {
        let mut all = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
        all.extend(volumes);
        pod["spec"]["volumes"] = all.into();
    }
}

fn status(set: &Value, counts: Counts, revision: &str) -> Value {
    let is_done = counts.updated == replicas(set) && counts.ready == replicas(set);
    let current = set["status"]["currentRevision"].as_str().filter(|_| !is_done).unwrap_or(revision);
    let mut status = json!({
        "observedGeneration": set["metadata"]["generation"],
        "replicas": counts.total,
        "updateRevision": revision,
        "currentRevision": current,
        "collisionCount": 0,
        "availableReplicas": counts.ready,
    });
    count(&mut status, "readyReplicas", counts.ready);
    count(&mut status, "updatedReplicas", counts.updated);
    let old = counts.total.saturating_sub(counts.updated);
    count(&mut status, "currentReplicas", if current == revision { counts.updated } else { old });
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_revision_changes_only_when_all_pods_have_it() {
        let set = json!({"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": {"currentRevision": "s-a"}});
        let half = status(&set, Counts { total: 2, updated: 1, ready: 2 }, "s-b");
        assert_eq!((&half["currentRevision"], &half["currentReplicas"]), (&json!("s-a"), &json!(1)));
        let done = status(&set, Counts { total: 2, updated: 2, ready: 2 }, "s-b");
        assert_eq!((&done["currentRevision"], &done["currentReplicas"]), (&json!("s-b"), &json!(2)));
    }

    #[test]
    fn a_pod_carries_its_number_and_its_claims() {
        let set = json!({"metadata": {"name": "db"}, "spec": {"serviceName": "db",
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}});
        let mut pod = json!({"metadata": {"name": "db-1"}, "spec": {}});
        dress(&mut pod, &set, 1, "db-x");
        assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-1");
        assert_eq!(pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"], "1");
    }
}
