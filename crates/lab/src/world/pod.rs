//! The scheduler and the kubelet: Pods find a machine, live their script, and go.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::{KUBELET, Place, SCHEDULER, code};
use super::cache::{Key, Kind, controller_key, is_ending, text, uid};
use super::event::{Note, Source, record};
use super::life::{Life, LifeScript};
use super::placement;
use super::pod_status::{Address, of_life, unschedulable};
use super::rules::{WorkloadScript, draw};
use super::scenario::WorkloadBehaviour;
use super::shared::{Shared, lock};
use super::span::Span;
use super::workload::{is_orphan, status_patch, sweep};

/// How long a container takes to end after somebody asked for it.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// Looks at a Pod.
pub(crate) async fn look(world: &Shared, key: &Key) -> Result<Option<Duration>, kube::Error> {
    let Some(pod) = world.object(key) else {
        lock(&world.lives).remove(key);
        return Ok(None);
    };
    if is_ending(&pod) {
        return end(world, key, &pod).await;
    }
    if is_orphan(world, &pod) {
        return sweep(world, key, &pod).await;
    }
    if matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed") {
        return Ok(None);
    }
    let top = top(world, key, &pod);
    let script = world.scenario.workload(&top.kind.resource().kind, &top.namespace, &top.name);
    if text(&pod["spec"]["nodeName"]).is_empty() && (script.pods || top != *key) {
        return schedule(world, key, &pod, &script).await;
    }
    live(world, key, &pod, &script, &top).await
}

/// The workload that a Pod belongs to in the end.
fn top(world: &Shared, key: &Key, pod: &Value) -> Key {
    let Some(owner) = controller_key(pod) else { return key.clone() };
    match world.object(&owner).and_then(|owner| controller_key(&owner)) {
        Some(owner) => owner,
        None => owner,
    }
}

/// The kubelet stops the containers and lets the Pod go.
async fn end(world: &Shared, key: &Key, pod: &Value) -> Result<Option<Duration>, kube::Error> {
    let at = {
        let mut rollouts = lock(&world.rollouts);
        let memory = rollouts.entry(key.clone()).or_default();
        *memory.ending.get_or_insert(world.now() + LAST_BREATH)
    };
    if world.now() < at {
        return Ok(Some(at));
    }
    world.delete(&KUBELET, key, pod, Some(0)).await?;
    lock(&world.rollouts).remove(key);
    Ok(None)
}

/// Finds a machine, or says why there is none.
async fn schedule(
    world: &Shared,
    key: &Key,
    pod: &Value,
    script: &WorkloadScript,
) -> Result<Option<Duration>, kube::Error> {
    let since = lock(&world.rollouts).entry(key.clone()).or_default().start(uid(pod), "", world.now());
    let waits = match (&script.behaviour, script.recovers_after) {
        (WorkloadBehaviour::Pending { message }, recovers) => {
            let until = recovers.map(|span| since + draw(&world.rng, &format!("recover/{key}"), span));
            until.is_none_or(|until| world.now() < until).then(|| (message.clone(), until))
        }
        _ => None,
    };
    let chosen = match &waits {
        Some((Some(message), _)) => Err(message.clone()),
        Some((None, _)) => {
            let all = placement::nodes(world).len();
            Err(format!(
                "0/{all} nodes are available: {all} Insufficient cpu. no new claims to deallocate, preemption: 0/{all} nodes are available: {all} No preemption victims found for incoming pod."
            ))
        }
        None => {
            let mut rng = world.rng.fork(&format!("node/{key}"));
            placement::choose(&placement::nodes(world), &pod["spec"], &mut rng).map(str::to_owned)
        }
    };
    let source = Source { actor: &SCHEDULER, component: "default-scheduler", host: "" };
    match chosen {
        Ok(node) => {
            bind(world, key, pod, &node).await?;
            let text = format!("Successfully assigned {}/{} to {node}", key.namespace, key.name);
            record(world, source, key.kind.resource(), pod, &Note::normal("Scheduled", text)).await;
            Ok(None)
        }
        Err(message) => {
            let status = unschedulable(pod, &message, &world.clock.stamp());
            if let Some(patch) = status_patch(&pod["status"], &status) {
                world.patch(&SCHEDULER, key, "status", &patch).await?;
                let note = Note::warning("FailedScheduling", message);
                record(world, source, key.kind.resource(), pod, &note).await;
            }
            // A machine that comes wakes it; this is for the one that recovers by the clock.
            Ok(waits.and_then(|(_, until)| until))
        }
    }
}

/// Gives a Pod to a machine. A server that knows no bindings gets a new Pod from its controller instead.
async fn bind(world: &Shared, key: &Key, pod: &Value, node: &str) -> Result<(), kube::Error> {
    let resource = key.kind.resource();
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid(pod)},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    let place = Place::object(resource, &key.namespace, &key.name).sub("binding");
    match world.api.create(&SCHEDULER, place, &binding).await {
        Err(error) if matches!(code(&error), 404 | 405) => world.delete(&SCHEDULER, key, pod, Some(0)).await,
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// Lives on: what is due happens, and is written once.
async fn live(
    world: &Shared,
    key: &Key,
    pod: &Value,
    script: &WorkloadScript,
    top: &Key,
) -> Result<Option<Duration>, kube::Error> {
    let now = world.now();
    let stamp = world.clock.stamp();
    let known = lock(&world.lives).get(key).filter(|life| life.uid == uid(pod)).cloned();
    let mut life =
        known.unwrap_or_else(|| Life::new(uid(pod), life_script(world, key, pod, script, top), now));
    let mut notes = Vec::new();
    while let Some(made) = life.advance(now, &stamp) {
        notes.extend(made);
    }
    let address = address(world, pod);
    let status = of_life(pod, &life, &address, &stamp);
    if let Some(patch) = status_patch(&pod["status"], &status) {
        world.patch(&KUBELET, key, "status", &patch).await?;
    }
    let next = life.next_at();
    // Only now: after a failed write the same moves are made again.
    lock(&world.lives).insert(key.clone(), life);
    if script.pods {
        let source = Source { actor: &KUBELET, component: "kubelet", host: text(&pod["spec"]["nodeName"]) };
        for note in &notes {
            record(world, source, key.kind.resource(), pod, note).await;
        }
    }
    Ok(next)
}

fn life_script(world: &Shared, key: &Key, pod: &Value, script: &WorkloadScript, top: &Key) -> LifeScript {
    let draw = |purpose: &str, span: Span| draw(&world.rng, &format!("{purpose}/{key}"), span);
    let beat = match &script.behaviour {
        WorkloadBehaviour::CrashLoop { runs_for, .. } => runs_for.unwrap_or(Span::seconds(2)),
        WorkloadBehaviour::Flapping { period } => period.unwrap_or(Span::seconds(30)),
        _ => Span::seconds(2),
    };
    let container = &pod["spec"]["containers"][0];
    LifeScript {
        behaviour: script.behaviour.clone(),
        ready_after: draw("ready", script.ready_after),
        recovers_after: script.recovers_after.map(|span| draw("recover", span)),
        beat: draw("beat", beat),
        is_job: top.kind == Kind::Job,
        container: text(&container["name"]).to_owned(),
        image: text(&container["image"]).to_owned(),
        pod: format!("{}_{}({})", key.name, key.namespace, uid(pod)),
    }
}

/// The addresses of machine and Pod: those that the machine reports, and one of the usual Pod network.
fn address(world: &Shared, pod: &Value) -> Address {
    let node = Key::new(Kind::Node, "", text(&pod["spec"]["nodeName"]));
    let node = world.object(&node);
    let reported = node.as_ref().and_then(|node| node["status"]["addresses"].as_array());
    let internal = reported.into_iter().flatten().find(|address| address["type"] == "InternalIP");
    let host = internal.map_or("10.0.0.10", |address| text(&address["address"])).to_owned();
    if pod["spec"]["hostNetwork"] == true {
        return Address { pod: host.clone(), host };
    }
    let mut rng = world.rng.fork(&format!("address/{}", uid(pod)));
    let known = text(&pod["status"]["podIP"]);
    let fresh = format!("10.128.{}.{}", rng.below(16), 2 + rng.below(250));
    Address { host, pod: if known.is_empty() { fresh } else { known.to_owned() } }
}
