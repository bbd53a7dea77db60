//! What speaks against going to a release, and what an administrator may insist on.

use lockstep_api::names::{condition, precondition as name, reason};
use lockstep_api::{ClusterVersion, Condition, ConditionStatus};
use semver::Version;

use crate::version::{compare, minor, parse};

/// One thing that speaks against an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which precondition is not met.
    pub name: &'static str,
    /// Why, as one word.
    pub reason: String,
    /// Why, for a person.
    pub message: String,
    /// Whether the update may not start; otherwise it is only worth remembering.
    pub is_blocking: bool,
}

/// What becomes of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It does not start; the text says why.
    Refused(String),
    /// It may start.
    Accepted {
        /// What was accepted with it, for the history; empty when nothing was.
        risks: String,
    },
}

/// The one exception from "within a major version": the last minor of 4 goes to 5.0.
const NEXT_MAJOR: (u64, u64) = (5, 0);

/// Everything that speaks against going from the current release of a cluster to a version.
///
/// *Order*: rollback, giant hop, Upgradeable, recommendation; all of them are looked at.
pub fn check(version: &ClusterVersion, target_version: &str) -> Vec<Finding> {
    let checks = [rollback, giant_hop, upgradeable, recommended];
    checks.into_iter().filter_map(|check| check(version, target_version)).collect()
}

/// What becomes of an update with these findings.
pub fn decide(findings: &[Finding], force: bool) -> Decision {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let text = match lines.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("Multiple precondition checks failed:\n* {}", many.join("\n* ")),
    };
    let is_blocked = findings.iter().any(|finding| finding.is_blocking);
    match (is_blocked, force) {
        (true, false) => Decision::Refused(text),
        (true, true) => Decision::Accepted { risks: format!("Forced through blocking failures: {text}") },
        (false, _) => Decision::Accepted { risks: text },
    }
}

/// Both versions as numbers, or the finding that one of them has none.
fn versions(
    name: &'static str,
    version: &ClusterVersion,
    target: &str,
) -> Result<(Version, Version), Finding> {
    let current = &version.status.desired.version;
    let must = "is not a semantic version (1.2.3[-...])";
    let from = parse(current).ok_or_else(|| {
        let message =
            format!("The current version {current:?} {must}, so it cannot be compared with {target:?}");
        Finding::warning(name, reason::INVALID_CURRENT_VERSION, message)
    })?;
    let to = parse(target).ok_or_else(|| {
        let message = format!("The version {target:?} of the release {must}");
        Finding::blocking(name, reason::INVALID_DESIRED_VERSION, message)
    })?;
    Ok((from, to))
}

/// An older release is reached only as the one before, and only within a minor version.
fn rollback(version: &ClusterVersion, target: &str) -> Option<Finding> {
    let (from, to) = match versions(name::ROLLBACK, version, target) {
        Ok(versions) => versions,
        Err(finding) => return Some(finding),
    };
    if compare(&to, &from).is_ge() {
        return None;
    }
    let desired = &version.status.desired;
    let mut history = version.status.history.iter();
    let previous = history.find(|it| it.version != desired.version || it.image != desired.image);
    let lower = format!("{target} is less than the current target {}", desired.version);
    let message = match previous.and_then(|entry| Some((entry, parse(&entry.version)?))) {
        None => format!("{lower}, and the cluster has no previous Semantic Version"),
        Some((entry, previous)) if compare(&previous, &to).is_ne() => format!(
            "{lower}, and the only supported rollback is to the cluster's previous version {} ({})",
            entry.version, entry.image
        ),
        Some(_) if minor(&from) == minor(&to) => return None,
        Some(_) => format!(
            "{lower} and matches the cluster's previous version, but rollbacks that change major or minor versions are \
             not recommended"
        ),
    };
    Some(Finding::blocking(name::ROLLBACK, reason::LOW_DESIRED_VERSION, message))
}

/// Not more than one minor version at a time, and no other major version.
fn giant_hop(version: &ClusterVersion, target: &str) -> Option<Finding> {
    let (from, to) = match versions(name::GIANT_HOP, version, target) {
        Ok(versions) => versions,
        Err(finding) => return Some(finding),
    };
    let current = &version.status.desired.version;
    let may_change_major = from.major + 1 == NEXT_MAJOR.0;
    if to.major > from.major {
        if may_change_major && minor(&to) == NEXT_MAJOR {
            return None;
        }
        let exception = if may_change_major { "or to 5.0 " } else { "" };
        let message = format!(
            "{target} has a larger major version than the current target {current} ({} > {}), and only updates within \
             the current major version {exception}are supported.",
            to.major, from.major
        );
        return Some(Finding::blocking(name::GIANT_HOP, reason::MAJOR_VERSION_UPDATE, message));
    }
    if to.major == from.major && to.minor > from.minor + 1 {
        let message = format!(
            "{target} is more than one minor version beyond the current target {current} ({}.{} > {}.({}+1)), and only \
             updates within the current minor version or to the next minor version are supported.",
            to.major, to.minor, from.major, from.minor
        );
        return Some(Finding::blocking(name::GIANT_HOP, reason::MULTIPLE_MINOR_VERSIONS_UPDATE, message));
    }
    None
}

/// Nothing in the cluster wants to stay at its minor version.
fn upgradeable(version: &ClusterVersion, target: &str) -> Option<Finding> {
    let blocked = version.status.conditions.find(condition::UPGRADEABLE).filter(|it| it.is_false())?;
    let (from, to) = match versions(name::UPGRADEABLE, version, target) {
        Ok(versions) => versions,
        Err(finding) => return Some(finding),
    };
    let is_same_minor = minor(&from) == minor(&to);
    if !is_same_minor && compare(&to, &from).is_gt() {
        return Some(Finding::blocking(name::UPGRADEABLE, &blocked.reason, blocked.message.clone()));
    }
    let current = &version.status.desired.version;
    if version.spec.overrides.iter().any(|it| it.unmanaged) {
        let message = format!(
            "Retarget from {current} to {target} is not blocked by {}. But the cluster-version operator is not managing \
             these resources; they are currently the responsibility of the agent that set the overrides: Disabling \
             ownership via cluster version overrides prevents upgrades between minor or major versions. Please remove \
             overrides before requesting a minor or major version update.",
            reason::CLUSTER_VERSION_OVERRIDES_SET
        );
        return Some(Finding::warning(name::UPGRADEABLE, reason::CLUSTER_VERSION_OVERRIDES_SET, message));
    }
    let (completed, reason, kind) = larger_update(version, &from).filter(|_| is_same_minor)?;
    let message = format!(
        "Retarget to {target} while a {kind} version update from {completed} to {current} is in progress"
    );
    Some(Finding::warning(name::UPGRADEABLE, reason, message))
}

/// The update to another minor or major version that is on its way: from where, and what it is called.
fn larger_update<'a>(
    version: &'a ClusterVersion,
    from: &Version,
) -> Option<(&'a str, &'static str, &'static str)> {
    if !version.status.conditions.is_true(condition::PROGRESSING) {
        return None;
    }
    let entry = version.status.last_completed()?;
    let completed = parse(&entry.version)?;
    if completed.major < from.major {
        Some((&entry.version, reason::MAJOR_VERSION_CLUSTER_UPDATE_IN_PROGRESS, "major"))
    } else if completed.major == from.major && completed.minor < from.minor {
        Some((&entry.version, reason::MINOR_VERSION_CLUSTER_UPDATE_IN_PROGRESS, "minor"))
    } else {
        None
    }
}

/// The update service recommends the release; this never stops an update.
fn recommended(version: &ClusterVersion, target: &str) -> Option<Finding> {
    let status = &version.status;
    if status.available_updates.iter().flatten().any(|release| release.version == target) {
        return None;
    }
    let hop = format!("from {} to {target}", status.desired.version);
    let (reason, message) = match status.conditional_updates.iter().find(|it| it.release.version == target) {
        Some(update) => match update.conditions.find(condition::RECOMMENDED) {
            None => (
                reason::UNKNOWN_CONDITION_TYPE,
                format!(
                    "Update {hop} has a status.conditionalUpdates entry, but no {} condition.",
                    condition::RECOMMENDED
                ),
            ),
            Some(it) if it.is_true() => return None,
            Some(Condition { status: ConditionStatus::False, reason, message, .. }) => {
                (reason.as_str(), format!("Update {hop} is not recommended:\n\n{message}"))
            }
            Some(Condition { status, reason, message, .. }) => (
                reason.as_str(),
                format!("Update {hop} is {}={status}: {reason}: {message}", condition::RECOMMENDED),
            ),
        },
        None if version.spec.channel.is_empty() => (
            reason::NO_CHANNEL,
            format!("Configured channel is unset, so the recommended status of updating {hop} is unknown."),
        ),
        None => {
            (reason::UNKNOWN_UPDATE, not_listed(status.conditions.find(condition::RETRIEVED_UPDATES), &hop))
        }
    };
    Some(Finding::warning(name::RECOMMENDED_UPDATE, reason, message))
}

/// A release that the update service does not list, if it was asked at all.
fn not_listed(retrieved: Option<&Condition>, hop: &str) -> String {
    let name = condition::RETRIEVED_UPDATES;
    match retrieved {
        None => format!("No {name}, so the recommended status of updating {hop} is unknown."),
        Some(it) if it.is_true() => format!(
            "{name}=True ({}), so the update {hop} is probably neither recommended nor supported.",
            it.reason
        ),
        Some(it) => format!(
            "{name}={} ({}), so the recommended status of updating {hop} is unknown.",
            it.status, it.reason
        ),
    }
}

// === impl Finding ===

impl Finding {
    fn blocking(name: &'static str, reason: &str, message: String) -> Self {
        Self { name, reason: reason.to_owned(), message, is_blocking: true }
    }

    fn warning(name: &'static str, reason: &str, message: String) -> Self {
        Self { is_blocking: false, ..Self::blocking(name, reason, message) }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, reason, message, .. } = self;
        write!(f, "Precondition {name:?} failed because of {reason:?}: {message}")
    }
}

#[cfg(test)]
#[path = "precondition_tests.rs"]
mod tests;
