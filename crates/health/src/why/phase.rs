//! Where a cluster stands in its life; rules apply to some of it.

use lockstep_api::names::{namespace, object};
use serde::Serialize;
use serde_json::Value;

use super::facts::Facts;
use super::resource::{CLUSTER_VERSIONS, CONFIG_MAPS, POOLS};
use crate::facts::{is_true, list, text};

/// Where a cluster stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Phase {
    /// There is no API yet, or the bootstrap host has not finished.
    #[serde(rename = "B")]
    Bootstrap,
    /// The first release is being applied.
    #[serde(rename = "I")]
    Install,
    /// The cluster moves from one release to another, or its nodes do.
    #[serde(rename = "U")]
    Update,
    /// Nothing is going on.
    #[serde(rename = "S")]
    Steady,
}

/// Every phase.
pub(super) const BIUS: &[Phase] = &[Phase::Bootstrap, Phase::Install, Phase::Update, Phase::Steady];
pub(super) const IUS: &[Phase] = &[Phase::Install, Phase::Update, Phase::Steady];
pub(super) const BIU: &[Phase] = &[Phase::Bootstrap, Phase::Install, Phase::Update];
pub(super) const BI: &[Phase] = &[Phase::Bootstrap, Phase::Install];
pub(super) const BIS: &[Phase] = &[Phase::Bootstrap, Phase::Install, Phase::Steady];
pub(super) const IU: &[Phase] = &[Phase::Install, Phase::Update];
pub(super) const IS: &[Phase] = &[Phase::Install, Phase::Steady];
pub(super) const US: &[Phase] = &[Phase::Update, Phase::Steady];
pub(super) const B: &[Phase] = &[Phase::Bootstrap];
pub(super) const I: &[Phase] = &[Phase::Install];
pub(super) const U: &[Phase] = &[Phase::Update];
pub(super) const S: &[Phase] = &[Phase::Steady];

/// The name of the `ConfigMap` with which a bootstrap host says that it has finished.
const BOOTSTRAP: &str = "bootstrap";

// === impl Phase ===

impl Phase {
    /// The letter of the catalogue.
    pub fn letter(self) -> char {
        match self {
            Self::Bootstrap => 'B',
            Self::Install => 'I',
            Self::Update => 'U',
            Self::Steady => 'S',
        }
    }

    /// What goes on, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrapping",
            Self::Install => "installing",
            Self::Update => "updating",
            Self::Steady => "steady",
        }
    }

    /// *Order*: no API or records of a bootstrap host; then the history; then the pools.
    ///
    /// *Compatibility*: a cluster without the bootstrap `ConfigMap` whose history has a completed entry was made in
    /// another way and is not bootstrapping.
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        let version = facts.get(CLUSTER_VERSIONS, "", object::VERSION);
        let history = version.map_or(&[][..], |version| list(&version["status"]["history"]));
        let is_complete = |entry: &Value| text(&entry["state"]) == "Completed";
        let has_lists = !facts.snapshot.objects.is_empty();
        let was_done = history.iter().any(is_complete);
        let bootstrapped = facts
            .get(CONFIG_MAPS, namespace::KUBE_SYSTEM, BOOTSTRAP)
            .is_some_and(|map| text(&map["data"]["status"]) == "complete");
        if !has_lists || !was_done && !bootstrapped {
            return Self::Bootstrap;
        }
        let outdated = || facts.all(POOLS).iter().any(|pool| !is_true(pool, "Updated"));
        match history {
            [] => Self::Install,
            [only] if !is_complete(only) => Self::Install,
            [newest, ..] if !is_complete(newest) => Self::Update,
            _ if outdated() => Self::Update,
            _ => Self::Steady,
        }
    }
}
