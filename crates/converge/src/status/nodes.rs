//! Nodes on their way to the configuration of a release.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use lockstep_api::names::{condition, machine};
use lockstep_api::object;
use lockstep_api::text::masked;

use super::duration::{MINUTE, Seconds, between};

/// How a node is; the order is that of the table, what needs eyes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum NodeAssessment {
    /// Its configuration failed.
    Degraded,
    /// It does not work for another reason.
    Unavailable,
    /// It is being updated.
    Progressing,
    /// Its pool is paused.
    Excluded,
    /// Its turn comes.
    Outdated,
    /// It is updated.
    Completed,
}

/// Where a node is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Phase {
    /// Its Pods are moved away.
    Draining,
    /// Its configuration is written.
    Updating,
    /// It starts anew.
    Rebooting,
    /// It is there.
    Updated,
    /// Its pool is paused.
    Paused,
    /// Its turn comes.
    Pending,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its name.
    pub name: String,
    /// How it is.
    pub assessment: NodeAssessment,
    /// Where it is.
    pub phase: Phase,
    /// The version of its configuration.
    pub version: Option<String>,
    /// How long it still takes, in words.
    pub estimate: &'static str,
    /// What is wrong with it.
    pub message: String,
    /// Whether Pods can run on it.
    pub is_available: bool,
    /// What is so wrong that somebody should know: a sentence without its subject, since when, and what the node says.
    pub trouble: Option<Trouble>,
}

/// Why somebody should look at a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// `is not ready`, `has disk pressure` …
    pub what: &'static str,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
    /// In the node's words.
    pub message: String,
    /// Whether its configuration failed.
    pub is_degraded: bool,
}

/// What a node is judged by.
pub(super) struct Goal<'a> {
    pub(super) version: &'a str,
    pub(super) pool: &'a Value,
    pub(super) configs: &'a [Value],
    pub(super) is_multi_arch_migration: bool,
    pub(super) now: Timestamp,
}

/// A node that is not ready for as long is in trouble.
const NOT_READY: Seconds = 5 * MINUTE;
/// The same for its disk and its network.
const PRESSURE: Seconds = MINUTE;
/// Shorter names are part of too many words to be taken out of a sentence.
const LONG_NAME: usize = 8;

/// Looks at a node.
pub(super) fn look(node: &Value, goal: &Goal<'_>) -> Node {
    let annotation = |key| object::annotation(node, key).unwrap_or_default();
    let (current, desired) = (annotation(machine::CURRENT_CONFIG), annotation(machine::DESIRED_CONFIG));
    let state = annotation(machine::STATE);
    let of_pool = goal.pool["spec"]["configuration"]["name"].as_str().unwrap_or_default();
    let version = version_of(current, goal.configs);
    let is_at_version = version.is_some_and(|version| version == goal.version);
    let is_updated =
        is_at_version && (!goal.is_multi_arch_migration || current == desired && desired == of_pool);
    let is_updating = !is_updated
        && !current.is_empty()
        && version_of(desired, goal.configs) == Some(goal.version)
        && current != desired
        && desired == of_pool;
    let phase = match state {
        _ if is_updating && (is_draining(node) || state == "Done") => Phase::Draining,
        "Rebooting" if is_updating => Phase::Rebooting,
        _ if is_updating => Phase::Updating,
        _ if is_updated => Phase::Updated,
        _ if goal.pool["spec"]["paused"] == true => Phase::Paused,
        _ => Phase::Pending,
    };
    let (mut assessment, mut estimate) = match phase {
        Phase::Draining => (NodeAssessment::Progressing, "+10m"),
        Phase::Updating | Phase::Rebooting => (NodeAssessment::Progressing, "+5m"),
        Phase::Updated => (NodeAssessment::Completed, "-"),
        Phase::Paused => (NodeAssessment::Excluded, "-"),
        Phase::Pending => (NodeAssessment::Outdated, "?"),
    };
    let faults = faults(node, state, goal.now);
    let is_available = faults.iter().all(|fault| fault.word == MCD_WORKS);
    let (mut message, mut trouble) = (String::new(), None);
    if !is_updating && !faults.is_empty() {
        assessment = NodeAssessment::Unavailable;
        estimate = if is_updated { "-" } else { "?" };
        message = faults.iter().map(|fault| fault.word).collect::<Vec<_>>().join(" | ");
        trouble = faults.into_iter().find_map(|fault| fault.trouble);
    }
    let name = object::name(node);
    if matches!(state, "Degraded" | "Unreconcilable") {
        assessment = NodeAssessment::Degraded;
        estimate = if is_updated { "-" } else { "?" };
        let reason = masked(annotation(machine::REASON)).into_owned();
        message = if name.len() >= LONG_NAME { reason.replace(name, "<node>") } else { reason };
        let what = "is degraded";
        trouble = Some(Trouble { what, since: None, message: message.clone(), is_degraded: true });
    }
    Node {
        name: name.to_owned(),
        assessment,
        phase,
        version: version.map(str::to_owned),
        estimate,
        message,
        is_available,
        trouble,
    }
}

/// Something that keeps a node from work.
struct Fault {
    word: &'static str,
    trouble: Option<Trouble>,
}

const MCD_WORKS: &str = "Machine Config Daemon is processing the node";

fn faults(node: &Value, state: &str, now: Timestamp) -> Vec<Fault> {
    let conditions = node["status"]["conditions"].as_array();
    let find = |kind: &str| conditions.into_iter().flatten().find(|it| it["type"] == kind);
    let mut faults = Vec::new();
    let kinds = [
        (condition::READY, "True", "Not ready", "is not ready", NOT_READY),
        (condition::DISK_PRESSURE, "False", "Disk pressure", "has disk pressure", PRESSURE),
        (condition::NETWORK_UNAVAILABLE, "False", "Network unavailable", "has unavailable network", PRESSURE),
    ];
    for (kind, good, word, what, patience) in kinds {
        let found = find(kind);
        // A node that never said that it is ready is not; the other two are often not reported at all.
        let is_bad = found.map_or(kind == condition::READY, |it| it["status"] != good);
        if !is_bad {
            continue;
        }
        let time = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let since = found.and_then(|it| time(&it["lastTransitionTime"]));
        let since = since.or_else(|| time(&node["metadata"]["creationTimestamp"]));
        let is_serious = since.is_none_or(|since| between(since, now) >= patience);
        let message = found.and_then(|it| it["message"].as_str()).unwrap_or_default();
        let trouble = Trouble { what, since, message: masked(message).into_owned(), is_degraded: false };
        faults.push(Fault { word, trouble: is_serious.then_some(trouble) });
    }
    if node["spec"]["unschedulable"] == true {
        faults.push(Fault { word: "Node is marked unschedulable", trouble: None });
    }
    if matches!(state, "Working" | "Rebooting") {
        faults.push(Fault { word: MCD_WORKS, trouble: None });
    }
    faults
}

/// Whether a wish to empty the node is not fulfilled yet.
fn is_draining(node: &Value) -> bool {
    let annotation = |key| object::annotation(node, key).unwrap_or_default();
    let (wanted, done) = (annotation(machine::DESIRED_DRAIN), annotation(machine::LAST_APPLIED_DRAIN));
    !wanted.is_empty() && !done.is_empty() && wanted != done && wanted.split('-').next() == Some("drain")
}

fn version_of<'a>(config: &str, configs: &'a [Value]) -> Option<&'a str> {
    let found = configs.iter().find(|it| object::name(it) == config && !config.is_empty())?;
    object::annotation(found, machine::RELEASE_IMAGE_VERSION).filter(|version| !version.is_empty())
}
