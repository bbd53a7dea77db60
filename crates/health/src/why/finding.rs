//! What a diagnosis says, in the form that programs read.

use jiff::Timestamp;
use lockstep_api::{ResourceId, Time};
use serde::Serialize;

use super::concerns::Concerns;
use super::{Confidence, Layer, Level, Phase};

/// What is the matter with a cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The version of this format.
    pub version: u32,
    /// When the cluster was looked at, by its own clock.
    pub at: Time,
    /// Where the cluster stands in its life.
    pub phase: Phase,
    /// Causes, the root cause first.
    pub causes: Vec<Finding>,
    /// Everything that is not well, in words: `operator dns`, `node worker-1`.
    pub unhealthy: Vec<String>,
    /// Operators that are not well and that no cause explains.
    pub unexplained: Vec<Unexplained>,
}

/// One rule that fired.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule.
    pub id: &'static str,
    /// How bad it is.
    pub level: Level,
    /// How much it is to be believed.
    pub confidence: Confidence,
    /// Where the cluster stood.
    pub phase: Phase,
    /// How deep the cause sits.
    pub layer: Layer,
    /// What is the matter, in a few words.
    pub title: &'static str,
    /// The object that it shows on.
    pub object: ResourceId,
    /// Other objects with the same trouble.
    pub others: Vec<ResourceId>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// One to three lines that were read in the cluster.
    pub evidence: Vec<String>,
    /// One sentence that explains it.
    pub why: &'static str,
    /// What it blocks: operators, nodes, the release.
    pub blocks: Vec<String>,
    /// What to do, as commands and sentences, the cheapest and safest first.
    pub fix: Vec<String>,
    /// Findings that follow from this one.
    pub explains: Vec<Explained>,
    #[serde(skip)]
    pub(super) concerns: Concerns,
}

/// A symptom that a cause explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// The rule that saw it.
    pub id: &'static str,
    /// What it says.
    pub title: &'static str,
    /// The object that it shows on.
    pub object: ResourceId,
}

/// An operator that is not well, without a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unexplained {
    /// Its name.
    pub operator: String,
    /// Its conditions, as it tells them.
    pub conditions: Vec<String>,
    /// The newest warnings of its namespaces, newest first.
    pub events: Vec<String>,
}

/// An object for people: `Deployment openshift-dns/dns`.
pub(super) fn called(object: &ResourceId) -> String {
    let ResourceId { kind, namespace, name, .. } = object;
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}
