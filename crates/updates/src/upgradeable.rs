//! What speaks against leaving the minor version: risks that the cluster itself knows, as condition `Upgradeable`.

use std::collections::BTreeMap;

use lockstep_api::names::{condition, object, reason, risk};
use lockstep_api::{ClusterOperator, ClusterVersion, Condition, ConditionStatus};

use crate::version::parse;

/// What is known about the cluster.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The ClusterVersion.
    pub version: &'a ClusterVersion,
    /// Whether a release is on its way, which is what Progressing is going to say.
    ///
    /// NB: not what it says: the risk would otherwise be one write late, and stay after the end of an update.
    pub is_updating: bool,
    /// Every ClusterOperator of the cluster, also those that the release does not bring.
    pub operators: &'a [ClusterOperator],
    /// What an administrator must acknowledge; absent means nothing.
    pub gates: Option<&'a BTreeMap<String, String>>,
    /// What was acknowledged; absent means nothing.
    pub acks: Option<&'a BTreeMap<String, String>>,
    /// The objects that are being deleted, as `Kind "namespace/name"`.
    pub deletions: &'a [String],
}

/// One thing that speaks against an update to another minor or major version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// Its name among all risks.
    pub name: String,
    /// Why, as one word that the condition can carry.
    pub reason: String,
    /// Why, for a person.
    pub message: String,
}

/// The value of an acknowledged gate.
const ACKNOWLEDGED: &str = "true";

/// What a gate's name must look like: whom tools tell when it does not.
const GATE_FORMAT: &str = "^ack-([0-9]{1,}[.][0-9]{1,})-[^-]";

/// Everything that speaks against leaving the minor version.
///
/// *Order*: an update on its way, overrides, deletions, gates by name, operators by name.
///
/// *Compatibility*: a missing list of gates or acknowledgements is an empty one; the reference cannot judge then. The
/// message about an operator names it, and the reason is one that says something: see [`Risk::reason`].
pub fn risks(facts: &Facts<'_>) -> Vec<Risk> {
    let mut risks = Vec::new();
    if facts.is_updating {
        let message = "An update is already in progress and the details are in the Progressing condition.";
        risks.push(Risk::named_by_reason(reason::CLUSTER_VERSION_UPDATING, message.to_owned()));
    }
    if facts.version.spec.overrides.iter().any(|it| it.unmanaged) {
        let message = "Disabling ownership via cluster version overrides prevents updates between minor or major \
                       versions. Please remove overrides before requesting a minor or major version update.";
        risks.push(Risk::named_by_reason(reason::CLUSTER_VERSION_OVERRIDES, message.to_owned()));
    }
    if !facts.deletions.is_empty() {
        let mut resources = facts.deletions.to_vec();
        resources.sort();
        let message = format!(
            "Cluster minor or major version upgrades are not allowed while resource deletions are in progress; \
             resources={}",
            resources.join(",")
        );
        risks.push(Risk::named_by_reason(reason::RESOURCE_DELETION_IN_PROGRESS, message));
    }
    risks.extend(of_gates(facts));
    risks.extend(of_operators(facts.operators));
    risks
}

/// The condition `Upgradeable`; nothing when it is to be removed, because it is never True.
pub fn condition(risks: &[Risk]) -> Option<Condition> {
    let (reason, message) = match risks {
        [] => return None,
        [one] => (one.reason.clone(), one.message.clone()),
        many => {
            let lines: Vec<&str> = many.iter().map(|risk| risk.message.as_str()).collect();
            let message = format!(
                "Cluster should not be upgraded between minor or major versions for multiple reasons:\n* {}",
                lines.join("\n* ")
            );
            (reason::MULTIPLE_REASONS.to_owned(), message)
        }
    };
    Some(Condition::new(condition::UPGRADEABLE, ConditionStatus::False).because(reason, message))
}

/// The gates of the current minor version that nobody has acknowledged, and those that cannot be read.
fn of_gates(facts: &Facts<'_>) -> Vec<Risk> {
    let current = &facts.version.status.desired.version;
    let Some(gates) = facts.gates.filter(|gates| !gates.is_empty() && !current.is_empty()) else {
        return Vec::new();
    };
    let Some(version) = parse(current) else {
        let message = format!(
            "The current version {current:?} is not a semantic version (1.2.3[-...]), so it is unknown which gates of the \
             configmap {} count.",
            object::ADMIN_GATES
        );
        return vec![Risk {
            name: risk::ADMIN_ACK_UNKNOWN.to_owned(),
            reason: reason::ADMIN_ACK_REQUIRED.to_owned(),
            message,
        }];
    };
    let minor = format!("{}.{}", version.major, version.minor);
    let is_acknowledged =
        |gate: &str| facts.acks.and_then(|acks| acks.get(gate)).is_some_and(|value| value == ACKNOWLEDGED);
    gates
        .iter()
        .filter_map(|(gate, text)| {
            let (reason, message) = match minor_of(gate) {
                None => {
                    let message = format!(
                        "{0} configmap gate {gate:?} is invalid: {0} configmap gate name {gate} has invalid format; must \
                         comply with {GATE_FORMAT:?}",
                        object::ADMIN_GATES
                    );
                    (reason::ADMIN_ACK_CONFIG_MAP_GATE_NAME_ERROR, message)
                }
                Some(of_gate) if of_gate != minor => return None,
                Some(_) if text.is_empty() => {
                    let message =
                        format!("{} configmap gate {gate} must contain a non-empty value.", object::ADMIN_GATES);
                    (reason::ADMIN_ACK_CONFIG_MAP_GATE_VALUE_ERROR, message)
                }
                Some(_) if is_acknowledged(gate) => return None,
                Some(_) => (reason::ADMIN_ACK_REQUIRED, text.clone()),
            };
            let name = format!("{}{gate}", risk::ADMIN_ACK_PREFIX);
            Some(Risk { name, reason: reason.to_owned(), message })
        })
        .collect()
}

/// The minor version that a gate belongs to, if it has the form of [`GATE_FORMAT`].
///
/// *Compatibility*: the reference knows the major versions 4 and 5 only; other platforms count from 1.
fn minor_of(gate: &str) -> Option<&str> {
    let (minor, text) = gate.strip_prefix("ack-")?.split_once('-')?;
    let (major, digits) = minor.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    (is_number(major) && is_number(digits) && !text.is_empty() && !text.starts_with('-')).then_some(minor)
}

/// The operators that say no; one that says nothing, or does not know, does not.
fn of_operators(operators: &[ClusterOperator]) -> Vec<Risk> {
    let mut risks: Vec<Risk> = operators
        .iter()
        .filter_map(|operator| {
            let no = operator.status.conditions.find(condition::UPGRADEABLE).filter(|it| it.is_false())?;
            let name = &operator.metadata.name;
            let message = format!(
                "Cluster operator {name} should not be upgraded between minor or major versions: {}",
                no.message
            );
            let is_usable = is_reason(&no.reason);
            let reason = if is_usable { &no.reason } else { reason::CLUSTER_OPERATORS_NOT_UPGRADEABLE };
            let name = format!("{}{name}", risk::CLUSTER_OPERATOR_UPGRADEABLE_PREFIX);
            Some(Risk { name, reason: reason.to_owned(), message })
        })
        .collect();
    risks.sort_by(|one, other| one.name.cmp(&other.name));
    risks
}

/// Whether the API accepts a text as the reason of a condition.
fn is_reason(text: &str) -> bool {
    let is_inner = |sign: char| sign.is_ascii_alphanumeric() || "_,:".contains(sign);
    text.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && text.ends_with(|sign: char| sign.is_ascii_alphanumeric() || sign == '_')
        && text.chars().all(is_inner)
}

// === impl Risk ===

impl Risk {
    fn named_by_reason(reason: &str, message: String) -> Self {
        Self { name: reason.to_owned(), reason: reason.to_owned(), message }
    }
}

#[cfg(test)]
#[path = "upgradeable_tests.rs"]
mod tests;
