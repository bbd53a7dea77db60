//! `lockstep status`: a cluster on one screen, from plain objects.
//!
//! [`picture`] is a function from objects and a moment to a [`Picture`]; [`text::text`] and serde make a screen or a
//! document of it; [`read::read`] gets the objects from a cluster.

pub mod changes;
mod control_plane;
pub mod duration;
pub mod estimate;
mod insights;
pub mod live;
mod nodes;
mod operators;
mod pools;
pub mod read;
mod rest;
mod summary;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod text;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use lockstep_api::names::condition;
use lockstep_api::{ClusterOperator, ClusterVersion, Condition};

pub use control_plane::ControlPlane;
pub use insights::{Impact, Insight, Resources, Severity};
pub use nodes::{Node, NodeAssessment, Phase, Trouble};
pub use operators::{Count, Counts, Level, Operator, Step, Word};
pub use pools::{Pool, PoolAssessment, Tally};
pub use summary::{Ahead, Now, Summary};

/// What a picture is made of.
#[derive(Debug, Clone)]
pub struct Input {
    /// The ClusterVersion, where there is one.
    pub version: Option<ClusterVersion>,
    /// Every ClusterOperator.
    pub operators: Vec<ClusterOperator>,
    /// All pools of machines; none where machines are not configured by the platform.
    pub pools: Vec<Value>,
    /// All Nodes.
    pub nodes: Vec<Value>,
    /// The configurations that nodes name.
    pub configs: Vec<Value>,
    /// The Deployment of the operator of machine configurations.
    pub config_operator: Option<Value>,
    /// The alerts, as the query API gives them.
    pub alerts: Option<Vec<Value>>,
    /// The run level of each operator, where the release is known.
    pub levels: BTreeMap<String, String>,
    /// What is said of stability, in a line; without it the operators are looked at once.
    pub stability: Option<String>,
    /// What could not be read, and what is missing because of that.
    pub remarks: Vec<String>,
    /// The moment that is looked at.
    pub now: Timestamp,
}

/// A cluster at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The version of this form.
    pub api_version: &'static str,
    /// `Status`.
    pub kind: &'static str,
    /// The moment.
    pub at: Timestamp,
    /// Whether the control plane or a pool is on its way to another release.
    pub is_updating: bool,
    /// What fits on one screen.
    pub summary: Summary,
    /// Operators by run level.
    pub levels: Vec<Level>,
    /// The control plane on its way.
    pub control_plane: ControlPlane,
    /// Pools of nodes, the control plane first.
    pub pools: Vec<Pool>,
    /// What speaks against a good end.
    pub insights: Vec<Insight>,
    /// What could not be read.
    pub remarks: Vec<String>,
}

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPicture {
    /// Nobody keeps a version.
    #[error(
        "no cluster version information available: the cluster has no ClusterVersion `version`, so no operator of \
         releases runs there; `lockstep apply RELEASE` brings a cluster to a release from here"
    )]
    NoVersion,
    /// Nobody reports.
    #[error(
        "no cluster operator information available: the cluster has no ClusterOperator; see `kubectl describe \
         clusterversion version` for what its operator does"
    )]
    NoOperators,
    /// The operator has not said yet whether it works on something.
    #[error(
        "no current Progressing info: the operator of the cluster has not reported yet; see `kubectl describe \
         clusterversion version`, and whether it runs: `kubectl -n openshift-cluster-version get pods`"
    )]
    NoProgressing,
}

/// The version of the JSON form.
const API_VERSION: &str = "lockstep.dev/v1";

/// The picture of a cluster.
pub fn picture(input: &Input) -> Result<Picture, NoPicture> {
    let version = input.version.as_ref().ok_or(NoPicture::NoVersion)?;
    if input.operators.is_empty() {
        return Err(NoPicture::NoOperators);
    }
    let status = &version.status;
    let progressing = status.conditions.find(condition::PROGRESSING).ok_or(NoPicture::NoProgressing)?;
    let is_moving = progressing.is_true();
    // Levels hold each other up while a release is replaced by another, not while the first one is brought.
    let holds_levels = status.history.len() > 1 && is_moving;
    let operators = operators::look(input, &status.desired.version, holds_levels);
    let control_plane = control_plane::look(version, &input.operators, &operators, input.now);
    let latest = status.history.first();
    let goal = latest.map_or(status.desired.version.as_str(), |entry| entry.version.as_str());
    let pools = pools::look(input, goal, control_plane.is_multi_arch_migration);
    let is_behind = |pool: &Pool| !pool.is_control_plane && pool.tally.completed < pool.tally.total;
    let is_updating = is_moving || pools.iter().any(is_behind);
    let began = latest.map_or(input.now, |entry| entry.started_time.timestamp());
    let mut insights = insights::look(input, version, &operators, &pools, began);
    if insights.is_empty() && is_updating {
        insights.push(Insight::all_is_well(began));
    }
    let levels = operators::by_level(&operators);
    let moves = (is_updating, holds_levels);
    let summary = summary::sum_up(input, version, &operators, &levels, &control_plane, moves);
    Ok(Picture {
        api_version: API_VERSION,
        kind: "Status",
        at: input.now,
        is_updating,
        summary,
        levels,
        control_plane,
        pools,
        insights,
        remarks: input.remarks.clone(),
    })
}

/// The sentence of a condition, or its word where it has none.
fn sentence(condition: &Condition) -> &str {
    if condition.message.is_empty() { &condition.reason } else { &condition.message }
}
