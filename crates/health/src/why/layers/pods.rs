//! Layer 7, second part: Pods and workloads.

use lockstep_api::names::condition::{
    AVAILABLE, FAILED, FAILURE_TARGET, PROGRESSING, READY, REPLICA_FAILURE,
};
use lockstep_api::names::{namespace, reason};
use lockstep_api::object;
use serde_json::Value;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, Sick, event_time, parse, restarts, said, statuses, subject, terminated};
use super::super::phase::{IU, IUS};
use super::super::resource::{DEPLOYMENTS, JOBS};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::{failed_manifest, says};
use super::{on_pod, with};
use crate::facts::{Condition, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "P01",
        layer: Layer::Pods,
        title: "Container crashes again and again",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a container waits with CrashLoopBackOff, or restarted three times and ended within 15 minutes",
        why: "The program ends by itself; its last words say why.",
        remedy: "read the log of the previous run",
        hides: &["K06", "B17", "P03"],
        check: crash_loop,
    },
    Rule {
        id: "P02",
        layer: Layer::Pods,
        title: "Container cannot be configured",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a container waits with CreateContainerConfigError, CreateContainerError or RunContainerError",
        why: "A ConfigMap, Secret or key is missing, the user is not allowed, or a mount fails.",
        remedy: "create what the message names",
        hides: &["K06", "B17", "P03"],
        check: not_configured,
    },
    Rule {
        id: "P03",
        layer: Layer::Pods,
        title: "Pod runs but is not ready",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "phase Running and Ready=False for 5 minutes, with the text of the failing probe",
        why: "The program runs and its own probe says that it cannot serve.",
        remedy: "read its log and call the probe's target",
        hides: &["K06"],
        check: not_ready,
    },
    Rule {
        id: "P04",
        layer: Layer::Pods,
        title: "Pods cannot be created",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a Deployment with ReplicaFailure=True, or FailedCreate events",
        why: "Admission refuses the Pods: security, quota, or a ServiceAccount that is not there.",
        remedy: "by the text: security context constraints, labels of the namespace, quota, service account",
        hides: &["K06", "B17"],
        check: not_created,
    },
    Rule {
        id: "P05",
        layer: Layer::Pods,
        title: "Roll-out exceeded its deadline",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a Deployment with Progressing=False and reason ProgressDeadlineExceeded, or the ClusterVersion says that a workload is not available",
        why: "The newest Pods of a Deployment did not become ready in time.",
        remedy: "look at the Pods of its newest ReplicaSet",
        hides: &[],
        check: deadline,
    },
    Rule {
        id: "P06",
        layer: Layer::Pods,
        title: "Job of the release failed",
        phases: IU,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a Job of the release with condition Failed",
        why: "A Job is a barrier: what comes after it in the release waits.",
        remedy: "mend the cause, then delete the Job; it is created again",
        hides: &["P01"],
        check: job,
    },
];

/// What the end of a container means.
fn meaning(code: i64, why: &str, words: &str) -> &'static str {
    if why == "OOMKilled" {
        "it needs more memory than its limit"
    } else if says(words, &["panic:", "SIGSEGV"]) {
        "the program has a bug"
    } else if says(words, &["forbidden"]) {
        "it lacks a permission"
    } else if says(words, &["x509"]) {
        "it does not trust a certificate"
    } else if says(words, &["dial tcp"]) {
        "it cannot reach something over the network"
    } else if code == 137 {
        "it was killed"
    } else {
        ""
    }
}

fn crash(facts: &Facts<'_>, sick: &Sick<'_>) -> Option<String> {
    let looping = sick.waiting().find(|it| it.reason == reason::CRASH_LOOP_BACK_OFF).map(|it| it.container);
    let ended_lately =
        terminated(sick.pod).any(|ended| facts.age(text(&ended["finishedAt"])).is_some_and(|age| age <= 900));
    if looping.is_none() && (restarts(sick.pod) < 3 || !ended_lately) {
        return None;
    }
    let of_container = statuses(sick.pod).find(|it| looping.is_none_or(|name| text(&it["name"]) == name))?;
    Some(text(&of_container["name"]).to_owned())
}

fn crash_loop(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts.sick.iter().filter_map(|sick| Some((sick, crash(facts, sick)?)));
    found
        .map(|(sick, container)| {
            let own = statuses(sick.pod).find(|it| text(&it["name"]) == container).unwrap_or(&Value::Null);
            let ended = [&own["lastState"]["terminated"], &own["state"]["terminated"]]
                .into_iter()
                .find(|it| it.is_object());
            let ended = ended.unwrap_or(&Value::Null);
            let (code, why) = (ended["exitCode"].as_i64().unwrap_or(0), text(&ended["reason"]));
            let words = facts.last_words(sick).join("\n");
            let tail: Vec<&str> =
                words.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
            let tail = tail.into_iter().rev().collect::<Vec<_>>().join("; ");
            let (namespace, name) = (sick.namespace, sick.name);
            on_pod(sick)
                .line(format!(
                    "Pod {}, container {container}: exit code {code} {why}, {} restarts",
                    sick.called(),
                    restarts(sick.pod)
                ))
                .line(tail)
                .line(meaning(code, why, &words))
                .fix(format!("kubectl -n {namespace} logs {name} -c {container} --previous --tail=50"))
                .fix(format!("kubectl -n {namespace} describe pod {name}"))
        })
        .collect()
}

fn not_configured(facts: &Facts<'_>) -> Vec<Hit> {
    let reasons = ["CreateContainerConfigError", "CreateContainerError", "RunContainerError"];
    let found = facts.sick.iter().flat_map(|sick| sick.waiting().map(move |waiting| (sick, waiting)));
    found
        .filter(|(_, waiting)| reasons.contains(&waiting.reason))
        .map(|(sick, waiting)| {
            on_pod(sick)
                .line(format!(
                    "Pod {}, container {}: {}: {}",
                    sick.called(),
                    waiting.container,
                    waiting.reason,
                    waiting.message
                ))
                .fix(format!("kubectl -n {} get configmaps,secrets", sick.namespace))
                .fix(format!("kubectl -n {} describe pod {}", sick.namespace, sick.name))
        })
        .collect()
}

fn not_ready(facts: &Facts<'_>) -> Vec<Hit> {
    let running = facts.sick.iter().filter(|sick| text(&sick.pod["status"]["phase"]) == "Running");
    running
        .filter_map(|sick| {
            let ready = Condition::find(sick.pod, READY).filter(Condition::is_false)?;
            if !facts.is_older(ready.since, 300)
                || crash(facts, sick).is_some()
                || sick.waiting().next().is_some()
            {
                return None;
            }
            let probe =
                facts.pod_events(sick, &["Unhealthy"]).max_by_key(|event| event_time(event)).map(said);
            let hit = with(on_pod(sick), &ready).line(probe.unwrap_or_default());
            let (namespace, name) = (sick.namespace, sick.name);
            Some(
                hit.fix(format!("kubectl -n {namespace} logs {name} --all-containers --tail=50"))
                    .fix(format!("kubectl -n {namespace} describe pod {name}")),
            )
        })
        .collect()
}

/// Refusals of admission, and what to do about each.
const REFUSALS: [(&str, &str); 6] = [
    (
        "unable to validate against any security context constraint",
        "give its ServiceAccount a security context constraint: oc adm policy add-scc-to-user",
    ),
    (
        "violates PodSecurity",
        "label the namespace: kubectl label namespace <namespace> pod-security.kubernetes.io/enforce=privileged",
    ),
    ("exceeded quota", "raise or remove the ResourceQuota of the namespace"),
    ("error looking up service account", "create the ServiceAccount"),
    ("serviceaccount", "create the ServiceAccount"),
    (
        "unable to find annotation openshift.io/sa.scc.uid-range",
        "the namespace security controller has not run: look at kube-controller-manager",
    ),
];

fn not_created(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for deployment in facts.all(DEPLOYMENTS) {
        if let Some(failure) = Condition::find(deployment, REPLICA_FAILURE).filter(Condition::is_true) {
            let hit = with(Hit::on(DEPLOYMENTS, deployment), &failure);
            hits.push((hit, failure.message.to_owned()));
        }
    }
    for event in facts.all_warnings().filter(|event| text(&event["reason"]) == reason::FAILED_CREATE) {
        let (about, message) = (subject(event), said(event));
        let namespace = text(&about["namespace"]);
        let is_known = hits.iter().any(|(hit, _)| hit.object.namespace == namespace);
        if !is_known && !says(message, &["failed calling webhook"]) {
            let resource = super::super::resource::Resource { key: "replicasets.apps", kind: "ReplicaSet" };
            let mut hit =
                Hit::named(resource, namespace, text(&about["name"])).since(parse(event_time(event)));
            text(&about["kind"]).clone_into(&mut hit.object.kind);
            hits.push((hit.line(message), message.to_owned()));
        }
    }
    hits.into_iter()
        .map(|(hit, message)| {
            let namespace = hit.object.namespace.clone();
            let told = REFUSALS
                .iter()
                .find(|(words, _)| says(&message, &[words]))
                .map(|(_, told)| told.replace("<namespace>", &namespace));
            let hit =
                hit.fix(format!("kubectl -n {namespace} get events --field-selector reason=FailedCreate"));
            told.into_iter().fold(hit, Hit::fix)
        })
        .collect()
}

fn deadline(facts: &Facts<'_>) -> Vec<Hit> {
    let late = facts.all(DEPLOYMENTS).iter().filter_map(|deployment| {
        let found = Condition::find(deployment, PROGRESSING)?;
        (found.is_false() && found.reason == reason::PROGRESS_DEADLINE_EXCEEDED)
            .then_some((deployment, found))
    });
    let fix = |namespace: &str, name: &str| {
        format!("kubectl -n {namespace} get pods -o wide; kubectl -n {namespace} describe deployment {name}")
    };
    let mut hits: Vec<Hit> = late
        .map(|(it, found)| {
            with(Hit::on(DEPLOYMENTS, it), &found).fix(fix(object::namespace(it), object::name(it)))
        })
        .collect();
    let reasons = [reason::WORKLOAD_NOT_AVAILABLE, reason::WORKLOAD_NOT_PROGRESSING];
    if let Some(failing) =
        facts.of_version("Failing").filter(|it| it.is_true() && reasons.contains(&it.reason))
        && hits.is_empty()
    {
        let named = failed_manifest(failing.message).map(|(_, namespace, name)| (namespace, name));
        let told = failing
            .message
            .split_once("deployment ")
            .and_then(|(_, rest)| rest.split(' ').next()?.split_once('/'));
        if let Some((namespace, name)) = named.or(told) {
            let hit =
                with(Hit::named(DEPLOYMENTS, namespace, name), &failing).concerning(Concerns::version());
            hits.push(hit.fix(fix(namespace, name)));
        }
    }
    hits
}

fn job(facts: &Facts<'_>) -> Vec<Hit> {
    let expected = facts.snapshot.payload.as_ref();
    let is_of_release = |job: &Value| {
        let (space, name) = (object::namespace(job), object::name(job));
        match expected {
            Some(payload) => payload.jobs.iter().any(|it| it.namespace == space && it.name == name),
            None => space.starts_with("openshift-") && space != namespace::CLUSTER_VERSION,
        }
    };
    let failed = facts.all(JOBS).iter().filter(|job| is_of_release(job)).filter_map(|job| {
        let found = Condition::find(job, FAILED).or_else(|| Condition::find(job, FAILURE_TARGET))?;
        found.is_true().then_some((job, found))
    });
    failed
        .map(|(job, found)| {
            let (space, name) = (object::namespace(job), object::name(job));
            let confidence = if expected.is_some() { Confidence::Sure } else { Confidence::Likely };
            with(Hit::on(JOBS, job), &found)
                .concerning(Concerns::version())
                .confidence(confidence)
                .fix(format!("kubectl -n {space} logs job/{name} --tail=50"))
                .fix(format!("kubectl -n {space} delete job {name}   # after the cause is mended"))
        })
        .collect()
}

/// Whether a Deployment has what it wants.
pub(super) fn is_available(deployment: &Value) -> bool {
    crate::facts::is_true(deployment, AVAILABLE)
}
