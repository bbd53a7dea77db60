//! What the workload controllers have in common: memory of a rollout, Pods to make, conditions, patches of a status.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::api::{Actor, CONTROLLERS, Place, Resource, code};
use super::cache::{Key, Kind, controller, controller_key, is_ending, text, uid};
use super::event::{Note, Source, record};
use super::life::SHORTEST_BEAT;
use super::placement;
use super::rules::{WorkloadScript, draw};
use super::scenario::WorkloadBehaviour;
use super::shared::{Shared, lock};
use super::template::{pod, pod_name};

/// What the world remembers about a workload beyond what the server has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rollout {
    uid: String,
    template: String,
    since: Duration,
    /// How many templates came before.
    pub(crate) earlier: u32,
    /// How many Pods were made.
    pub(crate) made: u64,
    /// When a Pod that ends is gone, or an orphan is swept.
    pub(crate) ending: Option<Duration>,
    /// When a rollout last came forward, and what it had reached.
    pub(crate) progressed: (Duration, u64),
}

/// The pause after a Pod was refused.
const PAUSE: Duration = Duration::from_secs(5);
/// How long garbage collection may take before the world does it.
const SWEEP_AFTER: Duration = Duration::from_secs(2);

// === impl Rollout ===

impl Rollout {
    /// When the rollout of this template started: now, if it is new.
    pub(crate) fn start(&mut self, uid: &str, template: &str, now: Duration) -> Duration {
        if self.uid != uid {
            *self = Self {
                uid: uid.to_owned(),
                template: template.to_owned(),
                since: now,
                made: self.made,
                ..Self::default()
            };
            self.progressed.0 = now;
        } else if self.template != template {
            template.clone_into(&mut self.template);
            self.since = now;
            self.earlier += 1;
            self.progressed = (now, 0);
        }
        self.since
    }

    /// Notes how far a rollout has come; gives the time of the last step forward.
    pub(crate) fn progress(&mut self, reached: u64, now: Duration) -> Duration {
        if reached > self.progressed.1 {
            self.progressed = (now, reached);
        }
        self.progressed.0
    }
}

// === workloads without Pods ===

/// Whether a workload that has no Pods is ready; else when to look again.
pub(crate) fn is_ready_without_pods(
    world: &Shared,
    key: &Key,
    script: &WorkloadScript,
    since: Duration,
) -> (bool, Option<Duration>) {
    if script.instant {
        return (true, None);
    }
    let now = world.now();
    let drawn = |purpose: &str, span| since + draw(&world.rng, &format!("{purpose}/{key}"), span);
    let ready_at = match (&script.behaviour, script.recovers_after) {
        (WorkloadBehaviour::Ready, _) => Some(drawn("ready", script.ready_after)),
        (WorkloadBehaviour::Flapping { period }, _) => {
            let first = drawn("ready", script.ready_after);
            let period =
                draw(&world.rng, &format!("beat/{key}"), period.unwrap_or(super::span::Span::seconds(30)))
                    .max(SHORTEST_BEAT);
            if now < first {
                return (false, Some(first));
            }
            let beats = now.saturating_sub(first).as_millis() / period.as_millis();
            let next =
                first.saturating_add(period.saturating_mul(u32::try_from(beats + 1).unwrap_or(u32::MAX)));
            return (beats.is_multiple_of(2), Some(next));
        }
        (_, Some(recovers)) => Some(drawn("recover", recovers)),
        (_, None) => None,
    };
    match ready_at {
        Some(at) if at <= now => (true, None),
        at => (false, at),
    }
}

// === Pods ===

/// Whether a Pod counts for its workload.
pub(crate) fn is_active(pod: &Value) -> bool {
    !is_ending(pod) && !matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// Whether a Pod is ready.
pub(crate) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Makes one Pod of a workload; `false` when the server refuses it for now, which its Event says.
pub(crate) async fn make_pod(
    world: &Shared,
    key: &Key,
    object: &Value,
    mut pod: Value,
    component: &str,
) -> Result<bool, kube::Error> {
    let resource = key.kind.resource();
    let script = script_of(world, key, object);
    if !matches!(script.behaviour, WorkloadBehaviour::Pending { .. }) && pod["spec"]["nodeName"].is_null() {
        let nodes = placement::nodes(world);
        let mut rng = world.rng.fork(&format!("node/{}", text(&pod["metadata"]["name"])));
        if let Ok(node) = placement::choose(&nodes, &pod["spec"], &mut rng) {
            pod["spec"]["nodeName"] = node.into();
        }
    }
    let name = text(&pod["metadata"]["name"]).to_owned();
    let source = Source { actor: &CONTROLLERS, component, host: "" };
    match create_pod(world, &CONTROLLERS, &pod).await {
        Ok(()) => {
            record(
                world,
                source,
                resource,
                object,
                &Note::normal("SuccessfulCreate", format!("Created pod: {name}")),
            )
            .await;
            if let Some(node) = pod["spec"]["nodeName"].as_str() {
                let made = Key::new(Kind::Pod, &key.namespace, &name);
                let made = world.object(&made);
                let text = format!("Successfully assigned {}/{name} to {node}", key.namespace);
                let source = Source { component: "default-scheduler", ..source };
                let note = Note::normal("Scheduled", text);
                record(world, source, Kind::Pod.resource(), made.as_deref().unwrap_or(&pod), &note).await;
            }
            Ok(true)
        }
        // A name that an earlier run of the world gave; the next one is another.
        Err(error) if code(&error) == 409 => Ok(true),
        Err(error) if matches!(code(&error), 403 | 404 | 422) => {
            let text = format!("Error creating: {error}");
            record(world, source, resource, object, &Note::warning("FailedCreate", text)).await;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Makes a Pod. Where nobody makes the default service account of a namespace, the world does.
async fn create_pod(world: &Shared, who: &Actor, pod: &Value) -> Result<(), kube::Error> {
    let outcome = world.create(who, Kind::Pod, pod).await;
    let Err(kube::Error::Api(status)) = &outcome else { return outcome };
    let account = pod["spec"]["serviceAccountName"].as_str().unwrap_or("default");
    if status.code != 403
        || account != "default"
        || !status.message.contains("serviceaccount \"default\" not found")
    {
        return outcome;
    }
    let namespace = text(&pod["metadata"]["namespace"]);
    let accounts = Resource::known("", "serviceaccounts", "ServiceAccount");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}});
    drop(world.api.create(who, Place::collection(&accounts, namespace), &account).await);
    world.create(who, Kind::Pod, pod).await
}

/// The script of the workload that an object belongs to: its own, or that of its Deployment.
pub(crate) fn script_of(world: &Shared, key: &Key, object: &Value) -> WorkloadScript {
    let owner = controller(object).filter(|_| key.kind == Kind::ReplicaSet);
    let (kind, name) = match owner {
        Some(owner) => (text(&owner["kind"]), text(&owner["name"])),
        None => (&*key.kind.resource().kind, key.name.as_str()),
    };
    world.scenario.workload(kind, &key.namespace, name)
}

/// A Pod of a workload under the next free name.
pub(crate) fn next_pod(world: &Shared, key: &Key, object: &Value, template: &Value) -> Value {
    let serial = {
        let mut rollouts = lock(&world.rollouts);
        let memory = rollouts.entry(key.clone()).or_default();
        memory.made += 1;
        memory.made
    };
    pod(key.kind.resource(), object, template, &pod_name(&world.rng, object, serial))
}

/// When a workload whose Pod was refused tries again.
pub(crate) fn try_again(world: &Shared) -> Duration {
    world.now() + PAUSE
}

// === orphans ===

/// Whether the owner that controls an object is gone. Owners that the world does not follow count as there.
pub(crate) fn is_orphan(world: &Shared, object: &Value) -> bool {
    let Some(owner) = controller(object) else { return false };
    let Some(key) = controller_key(object).filter(|key| world.follows(key.kind)) else { return false };
    world.object(&key).is_none_or(|found| uid(&found) != text(&owner["uid"]))
}

/// Deletes an orphan, if garbage collection has not done it in time.
pub(crate) async fn sweep(
    world: &Shared,
    key: &Key,
    object: &Value,
) -> Result<Option<Duration>, kube::Error> {
    let at = {
        let mut rollouts = lock(&world.rollouts);
        *rollouts.entry(key.clone()).or_default().ending.get_or_insert(world.now() + SWEEP_AFTER)
    };
    if world.now() < at {
        return Ok(Some(at));
    }
    lock(&world.rollouts).remove(key);
    world.delete(&CONTROLLERS, key, object, None).await?;
    Ok(None)
}

// === statuses ===

/// The merge patch from one status to another; nothing when they are equal. Numbers that are 0 are left out.
pub(crate) fn status_patch(old: &Value, new: &Value) -> Option<Value> {
    let empty = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object()?);
    let mut patch: Map<String, Value> = new
        .iter()
        .filter(|(key, value)| old.get(*key) != Some(*value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    (!patch.is_empty()).then(|| json!({"status": patch}))
}

/// A count of a status; Kubernetes leaves out most of those that are 0.
pub(crate) fn count(status: &mut Value, field: &str, number: u64) {
    if number > 0 {
        status[field] = number.into();
    }
}

/// Sets one condition of a workload: equal status and reason change nothing, a new one goes to the end.
pub(crate) fn set_condition(
    list: &mut Vec<Value>,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    stamp: &str,
) {
    let at = list.iter().position(|known| known["type"] == kind);
    let old = at.map(|at| &list[at]);
    if old.is_some_and(|old| old["status"] == status && old["reason"] == reason && old["message"] == message)
    {
        return;
    }
    let since = old
        .filter(|old| old["status"] == status)
        .map_or(stamp, |old| text(&old["lastTransitionTime"]))
        .to_owned();
    if let Some(at) = at {
        list.remove(at);
    }
    list.push(json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastUpdateTime": stamp,
        "lastTransitionTime": since,
    }));
}

/// A number or a percentage of `all`.
pub(crate) fn int_or_percent(value: &Value, all: u64, round_up: bool) -> u64 {
    if let Some(number) = value.as_u64() {
        return number;
    }
    let percent: u64 = text(value).trim_end_matches('%').parse().unwrap_or_default();
    if round_up { (all * percent).div_ceil(100) } else { all * percent / 100 }
}

/// A number of replicas; absent means 1.
pub(crate) fn replicas(object: &Value) -> u64 {
    object["spec"]["replicas"].as_u64().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_holds_what_changed_and_takes_away_what_is_gone() {
        let patch = status_patch(&json!({"a": 1, "b": 2, "c": 3}), &json!({"a": 1, "b": 3, "d": 4}));
        assert_eq!(patch, Some(json!({"status": {"b": 3, "c": null, "d": 4}})));
        assert_eq!(status_patch(&json!({"a": 1}), &json!({"a": 1})), None);
        assert_eq!(status_patch(&Value::Null, &json!({})), None);
    }

    #[test]
    fn a_condition_keeps_its_transition_while_only_its_reason_changes() {
        let mut list = Vec::new();
        set_condition(&mut list, "A", "True", "R", "m", "T1");
        set_condition(&mut list, "A", "True", "R2", "m", "T2");
        assert_eq!(
            (&list[0]["lastTransitionTime"], &list[0]["lastUpdateTime"]),
            (&json!("T1"), &json!("T2"))
        );
        set_condition(&mut list, "A", "False", "R2", "m", "T3");
        assert_eq!((list.len(), &list[0]["lastTransitionTime"]), (1, &json!("T3")));
    }

    #[test]
    fn a_new_template_starts_a_new_rollout() {
        let mut memory = Rollout::default();
        let at = Duration::from_secs;
        assert_eq!(memory.start("u", "t1", at(1)), at(1));
        assert_eq!(memory.start("u", "t1", at(5)), at(1));
        assert_eq!((memory.start("u", "t2", at(7)), memory.earlier), (at(7), 1));
        assert_eq!((memory.start("v", "t2", at(9)), memory.earlier), (at(9), 0));
    }

    #[test]
    fn percentages_round_as_the_field_wants() {
        assert_eq!(int_or_percent(&json!("25%"), 3, true), 1);
        assert_eq!(int_or_percent(&json!("25%"), 3, false), 0);
        assert_eq!(int_or_percent(&json!(2), 3, false), 2);
    }
}
