//! The control plane on its way to a release.

use jiff::Timestamp;
use serde::Serialize;

use lockstep_api::names::{condition, object};
use lockstep_api::{ClusterOperator, ClusterVersion, UpdateHistory, UpdateState};

use super::duration::{Seconds, between, rounded};
use super::estimate::{Assessment, Estimate, Pace, USUAL};
use super::operators::{Operator, Step};

/// How the control plane is on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlane {
    /// How it goes.
    pub assessment: Assessment,
    /// From where to where, in words.
    pub target_version: String,
    /// The version that is gone to.
    pub version: String,
    /// Whether only the architecture of the images changes.
    pub is_multi_arch_migration: bool,
    /// Operators that are at work, by name.
    pub updating: Vec<String>,
    /// How many are updated.
    pub updated: usize,
    /// How many wait.
    pub waiting: usize,
    /// How many count.
    pub total: usize,
    /// How long it takes so far, or took.
    pub duration: Seconds,
    /// When it was over.
    pub completed: Option<Timestamp>,
    /// What is left.
    pub estimate: Estimate,
    /// How many are not Available.
    pub unavailable: usize,
    /// How many are Available and Degraded.
    pub degraded: usize,
}

/// Looks at the control plane.
pub(super) fn look(
    version: &ClusterVersion,
    objects: &[ClusterOperator],
    operators: &[Operator],
    now: Timestamp,
) -> ControlPlane {
    let status = &version.status;
    let history = &status.history;
    let platform: Vec<&Operator> = operators.iter().filter(|operator| operator.is_platform).collect();
    let count = |is: fn(&Operator) -> bool| platform.iter().filter(|operator| is(operator)).count();
    let updated = count(|operator| operator.step == Step::Updated);
    let latest = history.first();
    let completed = latest.filter(|entry| entry.is_completed()).and_then(|entry| entry.completion_time);
    let completed = completed.map(Timestamp::from);
    let began = latest.map_or(now, |entry| entry.started_time.timestamp());
    let pace = Pace {
        updated,
        total: platform.len(),
        to_last: between(began, last_progress(objects, &platform, began, now)),
        so_far: between(began, now),
        usual: usual(history),
    };
    let estimate = pace.estimate();
    let is_over = completed.is_some() && updated == platform.len();
    ControlPlane {
        assessment: if is_over { Assessment::Completed } else { estimate.assessment() },
        target_version: target_version(version),
        version: status.desired.version.clone(),
        is_multi_arch_migration: is_multi_arch_migration(history),
        updating: platform
            .iter()
            .filter(|operator| operator.step == Step::Updating)
            .map(|operator| operator.name.clone())
            .collect(),
        updated,
        waiting: count(|operator| operator.step == Step::Waiting),
        total: platform.len(),
        duration: rounded(between(began, completed.unwrap_or(now))),
        completed: completed.filter(|_| is_over),
        estimate,
        unavailable: count(Operator::is_unavailable),
        degraded: count(Operator::is_degraded),
    }
}

/// The last time that an operator began or ended its work.
///
/// Where only the machines are left, that of their operator: each restart of a machine makes others look busy.
fn last_progress(
    objects: &[ClusterOperator],
    platform: &[&Operator],
    began: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let transition = |operator: &ClusterOperator| {
        let found = operator.status.conditions.find(condition::PROGRESSING)?;
        found.last_transition_time.map(Timestamp::from)
    };
    let open: Vec<&&Operator> = platform.iter().filter(|operator| operator.step != Step::Updated).collect();
    let of_machines = match open[..] {
        [only] if only.name == object::MACHINE_CONFIG && only.step == Step::Updating => {
            objects.iter().find(|operator| operator.metadata.name == only.name).and_then(transition)
        }
        _ => None,
    };
    let is_platform =
        |operator: &&ClusterOperator| platform.iter().any(|it| it.name == operator.metadata.name);
    let newest = || objects.iter().filter(is_platform).filter_map(transition).max();
    of_machines.or_else(newest).filter(|last| *last > began).unwrap_or(now)
}

/// How long the newest complete update took; the oldest entry is the installation, which tells nothing of updates.
fn usual(history: &[UpdateHistory]) -> Seconds {
    let updates = history.get(1..history.len().saturating_sub(1)).unwrap_or_default();
    let took = |entry: &UpdateHistory| {
        let end = entry.completion_time.filter(|_| entry.is_completed())?;
        Some(between(entry.started_time.timestamp(), end.timestamp()))
    };
    updates.iter().find_map(took).unwrap_or(USUAL)
}

fn is_multi_arch_migration(history: &[UpdateHistory]) -> bool {
    match history {
        [to, from, ..] => to.version == from.version && to.image != from.image,
        _ => false,
    }
}

/// From where to where.
fn target_version(version: &ClusterVersion) -> String {
    let known = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    let to = known(&version.status.desired.version);
    let history = &version.status.history;
    match history.get(1) {
        _ if history.is_empty() => format!("{to} (from unknown)"),
        None => format!("{to} (a new install)"),
        Some(_) if is_multi_arch_migration(history) => format!("{to} to Multi-Architecture"),
        Some(from) if from.state == UpdateState::Partial => {
            format!("{to} (from incomplete {})", known(&from.version))
        }
        Some(from) => format!("{to} (from {})", known(&from.version)),
    }
}
