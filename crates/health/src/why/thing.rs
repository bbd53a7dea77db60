//! What is not well, before anybody asks why.

use lockstep_api::names::condition::{FAILING, INVALID, PROGRESSING, READY, RELEASE_ACCEPTED};
use lockstep_api::names::namespace;
use lockstep_api::object;

use super::Phase;
use super::concerns::Concerns;
use super::facts::Facts;
use super::resource::{INFRASTRUCTURES, POOLS};
use crate::facts::{Condition, is_true};

/// Something that should be well and is not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Api,
    Bootstrap,
    Operator(String),
    Node(String),
    Pool(String),
    Version,
}

/// After how long an operator that is at work counts as stuck, in seconds.
pub(super) const LONG_PROGRESSING: i64 = 20 * 60;

// === impl Thing ===

impl Thing {
    /// Everything that is not well.
    pub(super) fn all(facts: &Facts<'_>) -> Vec<Self> {
        let mut found = Vec::new();
        if !facts.snapshot.api_error.is_empty() {
            found.push(Self::Api);
        }
        if facts.phase == Phase::Bootstrap
            && (!facts.all(INFRASTRUCTURES).is_empty()
                || !facts.version().is_null()
                || facts.snapshot.objects.is_empty())
        {
            found.push(Self::Bootstrap);
        }
        for operator in facts.operators.values() {
            let is_stuck = operator.is_progressing()
                && operator
                    .condition(PROGRESSING)
                    .is_some_and(|it| facts.is_older(it.since, LONG_PROGRESSING));
            let is_behind = facts.phase == Phase::Update && super::layers::is_behind(facts, operator);
            if operator.is_unavailable()
                || operator.is_degraded()
                || operator.is_silent()
                || is_stuck
                || is_behind
                || operator.lacks().next().is_some()
                || super::layers::flaps(facts, operator.name)
            {
                found.push(Self::Operator(operator.name.to_owned()));
            }
        }
        for expected in facts.snapshot.payload.iter().flat_map(|payload| &payload.operators) {
            if facts.phase != Phase::Bootstrap && !facts.operators.contains_key(expected.name.as_str()) {
                found.push(Self::Operator(expected.name.clone()));
            }
        }
        for node in facts.nodes() {
            if Condition::find(node, READY).is_some_and(|ready| !ready.is_true()) {
                found.push(Self::Node(object::name(node).to_owned()));
            }
        }
        for pool in facts.all(POOLS) {
            if is_true(pool, "Degraded") || !is_true(pool, "Updated") {
                found.push(Self::Pool(object::name(pool).to_owned()));
            }
        }
        let is = |kind: &str, status: &str| facts.of_version(kind).is_some_and(|it| it.status == status);
        let is_failing = facts.of_version(FAILING).is_some_and(|failing| !failing.is_false());
        let is_moving = matches!(facts.phase, Phase::Install | Phase::Update) && is(PROGRESSING, "True");
        if is_failing || is_moving || is(RELEASE_ACCEPTED, "False") || is(INVALID, "True") {
            found.push(Self::Version);
        }
        found
    }

    /// Whether a finding explains why this is not well.
    pub(super) fn is_covered(&self, by: &Concerns) -> bool {
        if by.whole {
            return true;
        }
        match self {
            Self::Api => false,
            Self::Bootstrap => by.version || !by.operators.is_empty() || !by.down.is_empty(),
            Self::Operator(name) => by.operators.contains(name),
            // A Pod that is ill on a node does not explain the node.
            Self::Node(name) => by.down.contains(name),
            Self::Pool(name) => by.pools.contains(name),
            Self::Version => by.version || by.namespaces.contains(namespace::CLUSTER_VERSION),
        }
    }

    /// For people.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Api => "the API".to_owned(),
            Self::Bootstrap => "the bootstrap".to_owned(),
            Self::Operator(name) => format!("operator {name}"),
            Self::Node(name) => format!("node {name}"),
            Self::Pool(name) => format!("machine config pool {name}"),
            Self::Version => "the release".to_owned(),
        }
    }
}

/// What a finding concerns, with what follows from it: namespaces belong to operators, and what is ill on a node is
/// ill because of the node.
pub(super) fn widened(facts: &Facts<'_>, concerns: &Concerns) -> Concerns {
    let mut wide = concerns.clone();
    for node in &concerns.down {
        wide.namespaces.extend(facts.sick_on(node).map(|sick| sick.namespace.to_owned()));
    }
    for namespace in &wide.namespaces {
        wide.operators.extend(facts.owners(namespace).iter().map(|&name| name.to_owned()));
    }
    wide
}
