//! The status of a Pod from its life.

use serde_json::{Map, Value, json};

use super::cache::text;
use super::life::{Ended, Lead, Life};

/// Where a Pod runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) pod: String,
}

/// The status of a Pod that a machine has taken.
pub(crate) fn of_life(pod: &Value, life: &Life, address: &Address, stamp: &str) -> Value {
    let (spec, old) = (&pod["spec"], &pod["status"]);
    let phase = match life.finished {
        Some(true) => "Succeeded",
        Some(false) => "Failed",
        None if life.is_initialized => "Running",
        None => "Pending",
    };
    let mut status = json!({
        "phase": phase,
        "observedGeneration": pod["metadata"]["generation"],
        "hostIP": address.host,
        "hostIPs": [{"ip": address.host}],
        "startTime": old["startTime"].as_str().unwrap_or(stamp),
        "containerStatuses": containers(spec, life),
        "qosClass": old["qosClass"].as_str().unwrap_or("Burstable"),
    });
    if life.is_initialized {
        status["podIP"] = address.pod.as_str().into();
        status["podIPs"] = json!([{"ip": address.pod}]);
    }
    let inits = spec["initContainers"].as_array();
    if let Some(inits) = inits.filter(|inits| !inits.is_empty()) {
        status["initContainerStatuses"] =
            inits.iter().map(|init| init_container(init, life, stamp)).collect();
    }
    status["conditions"] = conditions(spec, &old["conditions"], life, stamp);
    status
}

/// The status of a Pod that no machine takes.
pub(crate) fn unschedulable(pod: &Value, message: &str, stamp: &str) -> Value {
    let scheduled =
        Fact { kind: "PodScheduled", holds: false, reason: "Unschedulable", message: message.to_owned() };
    json!({"phase": "Pending", "conditions": [scheduled.condition(&pod["status"]["conditions"], stamp)]})
}

// === conditions ===

struct Fact {
    kind: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

impl Fact {
    /// The condition; its time of change is kept while its status is.
    fn condition(&self, old: &Value, stamp: &str) -> Value {
        let status = if self.holds { "True" } else { "False" };
        let known = old.as_array().into_iter().flatten().find(|known| known["type"] == self.kind);
        let since = known.filter(|known| known["status"] == status).map(|known| &known["lastTransitionTime"]);
        let mut condition = json!({
            "type": self.kind,
            "status": status,
            "lastProbeTime": null,
            "lastTransitionTime": since.and_then(Value::as_str).unwrap_or(stamp),
        });
        if !self.reason.is_empty() {
            condition["reason"] = self.reason.into();
            condition["message"] = self.message.as_str().into();
        }
        condition
    }
}

fn conditions(spec: &Value, old: &Value, life: &Life, stamp: &str) -> Value {
    let names = |list: &Value| {
        let names = list.as_array().into_iter().flatten().map(|container| text(&container["name"]));
        names.collect::<Vec<_>>().join(" ")
    };
    let unready =
        if life.is_initialized { life.script.container.clone() } else { names(&spec["containers"]) };
    let readiness = |kind| match (life.finished, life.is_ready) {
        (Some(true), _) => Fact { kind, holds: false, reason: "PodCompleted", message: String::new() },
        (_, true) => Fact { kind, holds: true, reason: "", message: String::new() },
        _ => Fact {
            kind,
            holds: false,
            reason: "ContainersNotReady",
            message: format!("containers with unready status: [{unready}]"),
        },
    };
    let inits = names(&spec["initContainers"]);
    let initialized = if life.is_initialized || inits.is_empty() {
        Fact { kind: "Initialized", holds: true, reason: "", message: String::new() }
    } else {
        let message = format!("containers with incomplete status: [{inits}]");
        Fact { kind: "Initialized", holds: false, reason: "ContainersNotInitialized", message }
    };
    let started = life.is_initialized && life.finished.is_none();
    let facts = [
        Fact { kind: "PodReadyToStartContainers", holds: started, reason: "", message: String::new() },
        initialized,
        readiness("Ready"),
        readiness("ContainersReady"),
        Fact { kind: "PodScheduled", holds: true, reason: "", message: String::new() },
    ];
    facts.iter().map(|fact| fact.condition(old, stamp)).collect()
}

// === containers ===

fn containers(spec: &Value, life: &Life) -> Value {
    let all = spec["containers"].as_array().into_iter().flatten();
    all.enumerate()
        .map(|(index, container)| if index == 0 { lead(container, life) } else { other(container, life) })
        .collect()
}

/// The container that has the trouble.
fn lead(container: &Value, life: &Life) -> Value {
    let state = match &life.lead {
        Lead::Creating if life.is_initialized => running(life),
        Lead::Creating => json!({"waiting": {"reason": "ContainerCreating"}}),
        Lead::Running => running(life),
        Lead::Ended(ended) => terminated(ended),
        Lead::Waiting { reason, message } => json!({"waiting": {"reason": reason, "message": message}}),
    };
    let runs = life.lead == Lead::Running;
    let mut status = container_status(container, state, life.is_ready, runs, life.is_initialized);
    status["restartCount"] = life.restarts.into();
    if let (Some(last), false) = (&life.last, matches!(life.lead, Lead::Ended(_))) {
        status["lastState"] = terminated(last);
    }
    status
}

/// The others are well as soon as the Pod runs.
fn other(container: &Value, life: &Life) -> Value {
    match (life.finished, life.is_initialized) {
        (Some(_), _) => {
            let ended = life.last.clone().map(|ended| Ended {
                exit_code: 0,
                reason: "Completed",
                message: String::new(),
                ..ended
            });
            let state = ended.as_ref().map_or_else(|| json!({}), terminated);
            container_status(container, state, false, false, true)
        }
        (None, true) => container_status(container, running(life), true, true, true),
        (None, false) => container_status(
            container,
            json!({"waiting": {"reason": "ContainerCreating"}}),
            false,
            false,
            false,
        ),
    }
}

fn init_container(container: &Value, life: &Life, stamp: &str) -> Value {
    let state = if life.is_initialized {
        let at = life.started_at.as_deref().unwrap_or(stamp).to_owned();
        terminated(&Ended {
            exit_code: 0,
            reason: "Completed",
            message: String::new(),
            started_at: at.clone(),
            finished_at: at,
        })
    } else {
        json!({"waiting": {"reason": "PodInitializing"}})
    };
    container_status(container, state, life.is_initialized, false, life.is_initialized)
}

fn running(life: &Life) -> Value {
    json!({"running": {"startedAt": life.started_at}})
}

fn terminated(ended: &Ended) -> Value {
    let mut state = json!({
        "exitCode": ended.exit_code,
        "reason": ended.reason,
        "startedAt": ended.started_at,
        "finishedAt": ended.finished_at,
    });
    if !ended.message.is_empty() {
        state["message"] = ended.message.as_str().into();
    }
    json!({"terminated": state})
}

fn container_status(container: &Value, state: Value, ready: bool, started: bool, pulled: bool) -> Value {
    let image = text(&container["image"]);
    let mut status = Map::from_iter([
        ("name".to_owned(), container["name"].clone()),
        ("image".to_owned(), image.into()),
        ("imageID".to_owned(), if pulled { image.into() } else { "".into() }),
        ("ready".to_owned(), ready.into()),
        ("started".to_owned(), started.into()),
        ("restartCount".to_owned(), 0.into()),
        ("lastState".to_owned(), json!({})),
    ]);
    status.insert("state".to_owned(), state);
    Value::Object(status)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::life::LifeScript;
    use super::super::scenario::WorkloadBehaviour;
    use super::*;

    fn pod() -> Value {
        json!({"metadata": {"generation": 1}, "spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}})
    }

    fn at(behaviour: WorkloadBehaviour, seconds: u64) -> Value {
        let script = LifeScript {
            behaviour,
            ready_after: Duration::from_secs(10),
            recovers_after: None,
            beat: Duration::from_secs(2),
            is_job: false,
            container: "a".into(),
            image: "x".into(),
            pod: "p_n(u)".into(),
        };
        let mut life = Life::new("u", script, Duration::ZERO);
        while life.advance(Duration::from_secs(seconds), "T").is_some() {}
        of_life(&pod(), &life, &Address { host: "1.1.1.1".into(), pod: "2.2.2.2".into() }, "T")
    }

    fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
        status["conditions"].as_array().unwrap().iter().find(|it| it["type"] == kind).unwrap()
    }

    #[test]
    fn a_new_pod_creates_containers_and_a_running_one_has_an_address() {
        let status = at(WorkloadBehaviour::Ready, 1);
        assert_eq!(status["phase"], "Pending");
        assert_eq!(status["containerStatuses"][1]["state"]["waiting"]["reason"], "ContainerCreating");
        assert_eq!(condition(&status, "Ready")["message"], "containers with unready status: [a b]");
        assert_eq!(status.get("podIP"), None);
        let status = at(WorkloadBehaviour::Ready, 20);
        assert_eq!((&status["phase"], &status["podIP"]), (&json!("Running"), &json!("2.2.2.2")));
        assert_eq!(condition(&status, "Ready")["status"], "True");
    }

    #[test]
    fn a_crashed_container_shows_why_it_waits_and_how_it_ended() {
        let crash =
            WorkloadBehaviour::CrashLoop { runs_for: None, exit_code: Some(7), message: Some("boom".into()) };
        let status = at(crash, 13);
        let first = &status["containerStatuses"][0];
        assert_eq!(first["state"]["waiting"]["reason"], "CrashLoopBackOff");
        assert_eq!(
            first["state"]["waiting"]["message"],
            "back-off 10s restarting failed container=a pod=p_n(u)"
        );
        assert_eq!(first["lastState"]["terminated"]["exitCode"], 7);
        assert_eq!(first["lastState"]["terminated"]["message"], "boom");
        assert_eq!(first["restartCount"], 1);
        assert_eq!(status["containerStatuses"][1]["ready"], true);
        assert_eq!(status["phase"], "Running");
    }

    #[test]
    fn a_transition_time_is_kept_while_the_status_is() {
        let mut pod = pod();
        pod["status"] = unschedulable(&pod, "none", "T1");
        let again = unschedulable(&pod, "still none", "T2");
        assert_eq!(again["conditions"][0]["lastTransitionTime"], "T1");
        assert_eq!(again["conditions"][0]["message"], "still none");
    }
}
