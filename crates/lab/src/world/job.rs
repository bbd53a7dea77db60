//! The Job controller: Pods until one came to a good end, or too many to a bad one.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::CONTROLLERS;
use super::cache::{Key, Kind, is_ending, text, uid};
use super::event::{Note, Source, record};
use super::scenario::WorkloadBehaviour;
use super::shared::{Shared, lock};
use super::workload::{
    count, is_active, is_ready, is_ready_without_pods, make_pod, next_pod, status_patch, try_again,
};

const COMPONENT: &str = "job-controller";
/// The first pause after a failed Pod; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

/// How a Job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Running,
    Complete,
    TooManyFailures,
    TooLong,
}

/// The Pods of a Job in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    active: u64,
    ready: u64,
    succeeded: u64,
    failed: u64,
}

/// Looks at a Job.
pub(crate) async fn look(world: &Shared, key: &Key) -> Result<Option<Duration>, kube::Error> {
    let Some(job) = world.object(key) else {
        lock(&world.rollouts).remove(key);
        return Ok(None);
    };
    if is_ending(&job) || is_finished(&job) || job["spec"]["suspend"] == true {
        return Ok(None);
    }
    let script = world.scenario.workload("Job", &key.namespace, &key.name);
    let now = world.now();
    let since = lock(&world.rollouts).entry(key.clone()).or_default().start(uid(&job), "", now);
    let deadline =
        job["spec"]["activeDeadlineSeconds"].as_u64().map(|seconds| since + Duration::from_secs(seconds));
    let (mut outcome, mut counts, mut again) = if script.pods {
        work(world, key, &job).await?
    } else {
        let fails =
            matches!(script.behaviour, WorkloadBehaviour::Fails { .. } | WorkloadBehaviour::CrashLoop { .. });
        let mut ends = script.clone();
        if fails && script.recovers_after.is_none() {
            ends.behaviour = WorkloadBehaviour::Ready;
        }
        match is_ready_without_pods(world, key, &ends, since) {
            (true, _) if fails && script.recovers_after.is_none() => {
                (Outcome::TooManyFailures, Counts { failed: 1, ..Counts::default() }, None)
            }
            (true, _) => (Outcome::Complete, Counts { succeeded: wanted(&job), ..Counts::default() }, None),
            (false, again) => (Outcome::Running, Counts { active: 1, ..Counts::default() }, again),
        }
    };
    if outcome == Outcome::Running
        && let Some(deadline) = deadline
    {
        if now >= deadline {
            for (pod_key, pod) in world.children(&job, Kind::Pod).iter().filter(|(_, pod)| is_active(pod)) {
                world.delete(&CONTROLLERS, pod_key, pod, None).await?;
            }
            counts = Counts { failed: counts.failed + counts.active, active: 0, ready: 0, ..counts };
            outcome = Outcome::TooLong;
        } else {
            again = Some(again.map_or(deadline, |again| again.min(deadline)));
        }
    }
    finish(world, key, outcome, counts).await?;
    Ok(again)
}

/// Makes the Pods that are still needed.
async fn work(
    world: &Shared,
    key: &Key,
    job: &Value,
) -> Result<(Outcome, Counts, Option<Duration>), kube::Error> {
    let pods = world.children(job, Kind::Pod);
    let phase = |phase: &str| pods.iter().filter(|(_, pod)| pod["status"]["phase"] == phase).count() as u64;
    let active = pods.iter().filter(|(_, pod)| is_active(pod));
    let mut counts = Counts {
        active: active.clone().count() as u64,
        ready: active.filter(|(_, pod)| is_ready(pod)).count() as u64,
        succeeded: phase("Succeeded"),
        failed: phase("Failed"),
    };
    if counts.succeeded >= wanted(job) {
        return Ok((Outcome::Complete, counts, None));
    }
    let limit = job["spec"]["backoffLimit"].as_u64().unwrap_or(6);
    if counts.failed > limit {
        return Ok((Outcome::TooManyFailures, counts, None));
    }
    let mut again = None;
    if counts.failed > 0 && counts.active == 0 {
        // The pause counts from the last failure, which is the last step forward of this memory.
        let failed_at =
            lock(&world.rollouts).entry(key.clone()).or_default().progress(counts.failed, world.now());
        let pause = FIRST_PAUSE * (1 << counts.failed.saturating_sub(1).min(5));
        if world.now() < failed_at + pause {
            return Ok((Outcome::Running, counts, Some(failed_at + pause)));
        }
    }
    let parallel = job["spec"]["parallelism"].as_u64().unwrap_or(1);
    let missing = parallel.min(wanted(job).saturating_sub(counts.succeeded)).saturating_sub(counts.active);
    for _ in 0..missing {
        let pod = next_pod(world, key, job, &job["spec"]["template"]);
        if !make_pod(world, key, job, pod, COMPONENT).await? {
            again = Some(try_again(world));
            break;
        }
        counts.active += 1;
    }
    Ok((Outcome::Running, counts, again))
}

/// Writes the status, and the Event about an end.
async fn finish(world: &Shared, key: &Key, outcome: Outcome, counts: Counts) -> Result<(), kube::Error> {
    let Some(job) = world.object(key) else { return Ok(()) };
    let Some(patch) = status_patch(&job["status"], &status(&job, outcome, counts, &world.clock.stamp()))
    else {
        return Ok(());
    };
    world.patch(&CONTROLLERS, key, "status", &patch).await?;
    let note = match outcome {
        Outcome::Running => return Ok(()),
        Outcome::Complete => Note::normal("Completed", "Job completed"),
        other => Note::warning(other.failure().0, other.failure().1),
    };
    world.say(|| format!("{key}: {}", note.message));
    if world.scenario.workload("Job", &key.namespace, &key.name).pods {
        let source = Source { actor: &CONTROLLERS, component: COMPONENT, host: "" };
        record(world, source, key.kind.resource(), &job, &note).await;
    }
    Ok(())
}

impl Outcome {
    fn failure(self) -> (&'static str, &'static str) {
        match self {
            Self::TooLong => ("DeadlineExceeded", "Job was active longer than specified deadline"),
            _ => ("BackoffLimitExceeded", "Job has reached the specified backoff limit"),
        }
    }
}

fn wanted(job: &Value) -> u64 {
    job["spec"]["completions"].as_u64().unwrap_or(1)
}

fn is_finished(job: &Value) -> bool {
    let conditions = job["status"]["conditions"].as_array();
    let ends = |kind: &Value| matches!(text(kind), "Complete" | "Failed");
    conditions
        .into_iter()
        .flatten()
        .any(|condition| ends(&condition["type"]) && condition["status"] == "True")
}

fn status(job: &Value, outcome: Outcome, counts: Counts, stamp: &str) -> Value {
    let old = &job["status"];
    let mut status = json!({
        "startTime": old["startTime"].as_str().unwrap_or(stamp),
        "ready": counts.ready,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    });
    count(&mut status, "active", counts.active);
    count(&mut status, "succeeded", counts.succeeded);
    count(&mut status, "failed", counts.failed);
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": stamp, "lastTransitionTime": stamp})
    };
    let (first, last, reason, message) = match outcome {
        Outcome::Running => return status,
        Outcome::Complete => {
            status["completionTime"] = stamp.into();
            (
                "SuccessCriteriaMet",
                "Complete",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            )
        }
        other => ("FailureTarget", "Failed", other.failure().0, other.failure().1),
    };
    status["conditions"] = json!([condition(first, reason, message), condition(last, reason, message)]);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_has_its_target_condition_first() {
        let job = json!({"spec": {}});
        let done = status(&job, Outcome::Complete, Counts { succeeded: 1, ..Counts::default() }, "T");
        let kinds: Vec<&str> =
            done["conditions"].as_array().unwrap().iter().map(|it| text(&it["type"])).collect();
        assert_eq!(kinds, ["SuccessCriteriaMet", "Complete"]);
        assert_eq!((&done["completionTime"], &done["succeeded"]), (&json!("T"), &json!(1)));
        assert!(is_finished(&json!({"status": done})));
        let failed = status(&job, Outcome::TooLong, Counts { failed: 1, ..Counts::default() }, "T");
        assert_eq!(failed["conditions"][1]["reason"], "DeadlineExceeded");
        assert_eq!(failed.get("completionTime"), None);
        assert!(!is_finished(&json!({"status": status(&job, Outcome::Running, Counts::default(), "T")})));
    }
}
