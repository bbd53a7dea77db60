//! The whole status of a ClusterVersion.

use jiff::Timestamp;
use lockstep_api::names::{condition, feature_gate, reason};
use lockstep_api::validation::FieldError;
use lockstep_api::{
    CapabilitiesStatus, ClusterVersion, ClusterVersionSpec, ClusterVersionStatus, Condition, ConditionStatus,
    Conditions, Release,
};
use lockstep_graph::report::{Failure, Report, Run};
use lockstep_payload::Capabilities;
use lockstep_updates::request::complete;

use crate::accepted::{implicitly_enabled, invalid, release_accepted, retrieved_updates};
use crate::conditions::{Asked, Before, conditions, is_complete};
use crate::history::{self, Entry};
use crate::progress;
use crate::start_times::StartTimes;

/// What a status depends on besides the ClusterVersion and the report.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The release of the running operator, with everything that is known about it.
    pub own: &'a Release,
    /// The parts of the spec that cannot be used.
    pub invalid: &'a [FieldError],
    /// The condition `Upgradeable`; nothing removes it.
    pub upgradeable: Option<Condition>,
    /// Whether nothing new may start.
    pub is_paused: bool,
    /// What is worth telling about the accepted release, a sentence each.
    pub remarks: &'a [String],
    /// Since when operators have been waited for.
    pub times: &'a StartTimes,
    /// Whether the architecture of the release is published.
    pub publish_architecture: bool,
}

/// Conditions of earlier releases of the reference, which nobody keeps up to date any more.
const STRAY: [&str; 7] = [
    condition::IMPLICITLY_ENABLED,
    condition::RECONCILIATION_ISSUES,
    condition::UPGRADEABLE_CLUSTER_VERSION_OVERRIDES,
    condition::UPGRADEABLE_ADMIN_ACK_REQUIRED,
    condition::UPGRADEABLE_CLUSTER_OPERATORS,
    condition::UPGRADEABLE_DELETES_IN_PROGRESS,
    condition::UPGRADEABLE_UPGRADE_IN_PROGRESS,
];

/// The status that a ClusterVersion should have now; the same one when nothing has changed.
///
/// *Order*: generation and hash, Upgradeable, history and desired release, capabilities, Invalid,
/// `ImplicitlyEnabledCapabilities`, `ReleaseAccepted`, Available, Failing, Progressing, `RetrievedUpdates`: so stand the
/// conditions in a new list.
///
/// *Compatibility*: a message names a release by its version as soon as that is known from anywhere; the reference by the
/// image until the release is loaded.
pub fn status(
    version: &ClusterVersion,
    report: &Report,
    context: &Context<'_>,
    now: Timestamp,
) -> ClusterVersionStatus {
    let mut status = version.status.clone();
    if report.generation != 0 {
        status.observed_generation = report.generation;
    }
    if !report.run.version_hash.is_empty() {
        status.version_hash.clone_from(&report.run.version_hash);
    }
    for kind in STRAY {
        status.conditions.remove(kind);
    }
    put(&mut status.conditions, condition::UPGRADEABLE, context.upgradeable.clone(), now);

    let actual = actual(report, &status, context);
    let shown = Report { run: no_less(&status, report, &actual), actual: actual.clone(), ..report.clone() };
    remember(&mut status, &version.spec, &shown, now);
    remember_capabilities(&mut status, &report.loaded.capabilities);

    put(&mut status.conditions, condition::INVALID, invalid(context.invalid), now);
    let is_told = status.conditions.find(condition::IMPLICITLY_ENABLED_CAPABILITIES).is_some();
    if is_loaded(&report.loaded.capabilities) || !is_told {
        status.conditions.set(implicitly_enabled(&report.loaded.capabilities.implicit), now);
    }
    status.conditions.merge(release_accepted(&report.loaded, context.remarks), now);

    let before = Before { conditions: &status.conditions, has_history: !status.history.is_empty() };
    let asked = Asked { is_invalid: !context.invalid.is_empty(), is_paused: context.is_paused };
    let of_run = conditions(&shown, before, asked, context.times, now);
    status.conditions.merge(of_run, now);
    status.conditions.set(retrieved_updates(&version.spec), now);
    status
}

/// The status when the operator cannot do its work at all and has tried often enough.
///
/// *Compatibility*: where the cluster has a release, the history goes on with that one. The reference writes the release
/// of its own image, which is the same there.
pub fn generic_failure(
    version: &ClusterVersion,
    own: &Release,
    error: &str,
    now: Timestamp,
) -> ClusterVersionStatus {
    let mut status = version.status.clone();
    let has_release = !status.desired.image.is_empty();
    let current = if has_release { status.desired.clone() } else { own.clone() };
    history::merge(&mut status.history, &current, Entry::default(), now.into());
    if !current.image.is_empty() {
        status.desired = current;
    }
    let progressing = status.conditions.status(condition::PROGRESSING).clone();
    let message = format!("Error ensuring the cluster version is up to date: {error}");
    status.conditions.merge(
        [
            Condition::new(condition::AVAILABLE, ConditionStatus::False),
            Condition::new(condition::FAILING, ConditionStatus::True).because("", error),
            Condition::new(condition::PROGRESSING, progressing).because("", message),
        ],
        now,
    );
    status
}

/// The failure of an operator that was told no release.
pub fn no_desired_image() -> Failure {
    let message = "No configured operator version, unable to update cluster";
    Failure::new(reason::NO_DESIRED_IMAGE, message)
}

/// Sets a condition, or removes it.
fn put(conditions: &mut Conditions, kind: &str, new: Option<Condition>, now: Timestamp) {
    match new {
        Some(new) => conditions.set(new, now),
        None => {
            conditions.remove(kind);
        }
    }
}

/// The release that is worked on, with what is known about it.
fn actual(report: &Report, status: &ClusterVersionStatus, context: &Context<'_>) -> Release {
    let available = status.available_updates.as_deref().unwrap_or_default();
    let mut actual = complete(report.actual.clone(), context.own, available);
    if !context.publish_architecture {
        actual.architecture.clear();
    }
    actual
}

/// The run, telling no less of a release on its way than was told before.
fn no_less(before: &ClusterVersionStatus, report: &Report, actual: &Release) -> Run {
    let run = report.run.clone();
    let is_same_way = before
        .history
        .first()
        .is_some_and(|newest| !newest.is_completed() && history::is_same(newest, actual));
    let told = before
        .conditions
        .find(condition::PROGRESSING)
        .and_then(|progressing| progress::told(&progressing.message, actual.name()));
    match told.filter(|_| is_same_way && !report.reconciling) {
        Some(told) => progress::no_less(run, told),
        None => run,
    }
}

/// Writes the release into the history, and as the desired one.
fn remember(status: &mut ClusterVersionStatus, spec: &ClusterVersionSpec, report: &Report, now: Timestamp) {
    let actual = &report.actual;
    let risks = accepted_risks(status, spec, report);
    let is_verified = report.verified || report.loaded.verified && report.loaded.image == actual.image;
    let entry = Entry { is_complete: is_complete(report), is_verified, accepted_risks: &risks };
    history::merge(&mut status.history, actual, entry, now.into());
    if !actual.image.is_empty() {
        status.desired = actual.clone();
    }
}

/// What was accepted with the release that is worked on.
///
/// A release that is read from the operator's own image was accepted by the operator before this one, which wrote it down.
fn accepted_risks(status: &ClusterVersionStatus, spec: &ClusterVersionSpec, report: &Report) -> String {
    let loaded = &report.loaded;
    let image = &report.actual.image;
    if loaded.is_local || loaded.image != *image {
        return String::new();
    }
    let forced = &loaded.accepted_risks;
    let by_name = || {
        let update = status.conditional_updates.iter().find(|update| update.release.image == *image)?;
        let accepted = &spec.desired_update.as_ref()?.accept_risks;
        let is_accepted = |name: &String| accepted.iter().any(|risk| risk.name == *name);
        let names = Some(&update.risk_names).filter(|names| !names.is_empty())?;
        names.iter().all(is_accepted).then(|| names.join(","))
    };
    let has_feature = loaded.feature_gates.contains(feature_gate::CLUSTER_UPDATE_ACCEPT_RISKS);
    let Some(names) = has_feature.then(by_name).flatten() else { return forced.clone() };
    let subject =
        if forced.is_empty() { format!("The target release {image}") } else { format!("{forced}; It") };
    format!(
        "{subject} is exposed to the risks [{names}] which were all explicitly accepted by the cluster administrator."
    )
}

/// Writes the capabilities, once they are known.
fn remember_capabilities(status: &mut ClusterVersionStatus, capabilities: &Capabilities) {
    if !is_loaded(capabilities) {
        return;
    }
    let other = status.capabilities.take().unwrap_or_default();
    status.capabilities = Some(CapabilitiesStatus {
        enabled_capabilities: capabilities.enabled.iter().cloned().collect(),
        known_capabilities: capabilities.known.iter().cloned().collect(),
        ..other
    });
}

/// Whether capabilities were computed: there are always some that are known.
fn is_loaded(capabilities: &Capabilities) -> bool {
    !capabilities.known.is_empty()
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
