//! Pools of nodes: which node is in which, and how far each pool is.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use lockstep_api::names::machine;
use lockstep_api::object;

use super::Input;
use super::nodes::{self, Goal, Node, NodeAssessment, Phase};

/// How a pool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PoolAssessment {
    /// It has no nodes.
    Empty,
    /// All its nodes are updated.
    Completed,
    /// All its nodes wait for their turn.
    Pending,
    /// A node of it is degraded.
    Degraded,
    /// It is paused.
    Excluded,
    /// It is on its way.
    Progressing,
}

/// A pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Whether it is the control plane.
    pub is_control_plane: bool,
    /// Whether somebody paused it.
    pub is_paused: bool,
    /// How it is.
    pub assessment: PoolAssessment,
    /// How many of its nodes are how.
    pub tally: Tally,
    /// Its nodes, what needs eyes first.
    pub nodes: Vec<Node>,
}

/// How many nodes are how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// All.
    pub total: usize,
    /// Updated.
    pub completed: usize,
    /// Pods can run there.
    pub available: usize,
    /// On their way, but not being emptied.
    pub progressing: usize,
    /// Their turn comes.
    pub outdated: usize,
    /// Being emptied.
    pub draining: usize,
    /// In a paused pool.
    pub excluded: usize,
    /// Their configuration failed.
    pub degraded: usize,
}

/// Looks at all pools: the control plane first, then by name.
pub(super) fn look(input: &Input, version: &str, is_multi_arch_migration: bool) -> Vec<Pool> {
    let mut members: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for node in &input.nodes {
        if let Some(pool) = pool_of(node, &input.pools) {
            members.entry(pool).or_default().push(node);
        }
    }
    let mut pools: Vec<Pool> = input
        .pools
        .iter()
        .map(|pool| {
            let goal =
                Goal { version, pool, configs: &input.configs, is_multi_arch_migration, now: input.now };
            let name = object::name(pool);
            let nodes = members.remove(name).unwrap_or_default();
            let mut nodes: Vec<Node> = nodes.into_iter().map(|node| nodes::look(node, &goal)).collect();
            nodes.sort_by(|a, b| (a.assessment, a.phase, &a.name).cmp(&(b.assessment, b.phase, &b.name)));
            let is_paused = pool["spec"]["paused"] == true;
            Pool {
                name: name.to_owned(),
                is_control_plane: name == machine::POOL_MASTER,
                is_paused,
                assessment: assess(&nodes),
                tally: Tally::of(&nodes),
                nodes,
            }
        })
        .collect();
    pools.sort_by(|a, b| (!a.is_control_plane, &a.name).cmp(&(!b.is_control_plane, &b.name)));
    pools
}

// === impl Tally ===

impl Tally {
    /// Counts nodes.
    pub(super) fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        let mut tally = Self::default();
        for node in nodes {
            tally.total += 1;
            tally.available += usize::from(node.is_available);
            tally.completed += usize::from(node.phase == Phase::Updated);
            tally.outdated += usize::from(matches!(node.phase, Phase::Pending | Phase::Paused));
            tally.draining += usize::from(node.phase == Phase::Draining);
            tally.progressing += usize::from(matches!(node.phase, Phase::Updating | Phase::Rebooting));
            tally.excluded += usize::from(node.phase == Phase::Paused);
            tally.degraded += usize::from(node.assessment == NodeAssessment::Degraded);
        }
        tally
    }
}

// === impl PoolAssessment ===

impl PoolAssessment {
    /// The word in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Completed => "Completed",
            Self::Pending => "Pending",
            Self::Degraded => "Degraded",
            Self::Excluded => "Excluded",
            Self::Progressing => "Progressing",
        }
    }
}

fn assess(nodes: &[Node]) -> PoolAssessment {
    let any = |wanted| nodes.iter().any(|node| node.assessment == wanted);
    let all = |wanted| nodes.iter().all(|node| node.phase == wanted);
    if nodes.is_empty() {
        PoolAssessment::Empty
    } else if all(Phase::Updated) {
        PoolAssessment::Completed
    } else if any(NodeAssessment::Degraded) {
        // Before "all are pending": one that cannot begin is worth more than those that wait behind it.
        PoolAssessment::Degraded
    } else if all(Phase::Pending) {
        PoolAssessment::Pending
    } else if any(NodeAssessment::Excluded) {
        PoolAssessment::Excluded
    } else {
        PoolAssessment::Progressing
    }
}

/// The pool of a node: the control plane's, else one of its own, else that of all others.
fn pool_of<'a>(node: &Value, pools: &'a [Value]) -> Option<&'a str> {
    let rank = |name: &str| match name {
        machine::POOL_MASTER => 0,
        machine::POOL_WORKER => 2,
        _ => 1,
    };
    let matching = pools.iter().filter(|pool| selects(&pool["spec"]["nodeSelector"], node));
    matching.map(object::name).min_by_key(|name| (rank(name), *name))
}

/// Whether a label selector takes an object; none takes nothing.
fn selects(selector: &Value, object: &Value) -> bool {
    let label = |key: &str| object["metadata"]["labels"][key].as_str();
    let by_labels = selector["matchLabels"].as_object();
    let by_rules = selector["matchExpressions"].as_array();
    let is_set = by_labels.is_some_and(|it| !it.is_empty()) || by_rules.is_some_and(|it| !it.is_empty());
    let labels_fit = by_labels.into_iter().flatten().all(|(key, value)| label(key) == value.as_str());
    let rules_fit = by_rules.into_iter().flatten().all(|rule| {
        let found = label(rule["key"].as_str().unwrap_or_default());
        let mut values = rule["values"].as_array().into_iter().flatten();
        let is_among = found.is_some_and(|found| values.any(|value| value == found));
        match rule["operator"].as_str() {
            Some("In") => is_among,
            Some("NotIn") => !is_among,
            Some("Exists") => found.is_some(),
            Some("DoesNotExist") => found.is_none(),
            _ => false,
        }
    });
    is_set && labels_fit && rules_fit
}
