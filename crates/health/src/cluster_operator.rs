//! ClusterOperators: may a run go past this one?

use lockstep_api::names::{condition, reason};
use lockstep_api::{object, text::visible};
use serde::Serialize;
use serde_json::Value;

use crate::facts::{Condition, called, list, one_line, text};
use crate::{Verdict, Why, first_generation};

/// What a run is doing, which decides how strict a gate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// The cluster gets its first release: operators must be available, their versions do not matter yet.
    Installing,
    /// The cluster moves to another release: versions must be reached, and nothing degraded.
    Updating,
    /// The cluster is at its release and is kept there; as strict as an update.
    Reconciling,
}

/// What a gate that is not met means for the status of the ClusterVersion.
///
/// *Compatibility*: the four words of the reference; a gate without one is an ordinary error there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Effect {
    /// Say it, and go on.
    Report,
    /// Waiting is normal; nothing fails.
    None,
    /// The release is failing at once.
    Fail,
    /// The release is failing when it stays so for 40 minutes.
    FailAfterInterval,
}

/// The answer for one ClusterOperator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    /// Whether the run may go past it.
    pub verdict: Verdict,
    /// What is wrong although the run goes on.
    pub remark: Option<Why>,
    /// What it means for the ClusterVersion.
    pub effect: Option<Effect>,
    /// The text that the reference writes to its log for it.
    pub nested: Option<String>,
}

/// How the reference tells a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The reason for one operator.
    pub reason: &'static str,
    /// The reason for several that have it in common.
    pub plural: &'static str,
    /// The message for one, with `%s` where its name belongs.
    pub one: &'static str,
    /// The message for several, with `%s` where their names belong.
    pub several: &'static str,
}

const FORMS: [Form; 4] = [
    Form {
        reason: reason::CLUSTER_OPERATOR_NO_VERSIONS,
        plural: reason::CLUSTER_OPERATORS_NO_VERSIONS,
        one: "Cluster operator %s does not declare expected versions",
        several: "Cluster operators %s do not declare expected versions",
    },
    Form {
        reason: reason::CLUSTER_OPERATOR_NOT_AVAILABLE,
        plural: reason::CLUSTER_OPERATORS_NOT_AVAILABLE,
        one: "Cluster operator %s is not available",
        several: "Cluster operators %s are not available",
    },
    Form {
        reason: reason::CLUSTER_OPERATOR_DEGRADED,
        plural: reason::CLUSTER_OPERATORS_DEGRADED,
        one: "Cluster operator %s is degraded",
        several: "Cluster operators %s are degraded",
    },
    Form {
        reason: reason::CLUSTER_OPERATOR_UPDATING,
        plural: reason::CLUSTER_OPERATORS_UPDATING,
        one: "Cluster operator %s is updating versions",
        several: "Cluster operators %s are updating versions",
    },
];

/// Whether a run may go past a ClusterOperator: `expected` is its manifest, `live` the object of the cluster.
///
/// *Order*: the manifest must declare versions; the object must exist; it must be available; it must not be degraded
/// (at install that is a remark only); it must report every expected version (not at install). Whether it is
/// progressing, and whether it can be upgraded, does not matter. A missing or unknown Available is not available, a
/// missing or unknown Degraded is degraded.
///
/// *Compatibility*: as the reference, except that at install a degraded operator does not hold the run up later either,
/// and that an object that is missing is waited for. A manifest of the first generation follows its own rules.
pub fn gate(expected: &Value, live: Option<&Value>, mode: Mode) -> Gate {
    if first_generation::is(expected) {
        return first_generation::gate(expected, live);
    }
    let versions = list(&expected["status"]["versions"]);
    if versions.is_empty() {
        return Gate::no_versions(
            expected,
            "its manifest must list in status.versions what the operator will report, at least the one named operator",
        );
    }
    match live {
        Some(live) => judge(expected, versions, live, mode),
        None => Gate::missing(expected),
    }
}

/// Whether a ClusterOperator is well, when nothing is known of what it should report.
pub(crate) fn of(live: &Value) -> Verdict {
    if first_generation::is(live) {
        first_generation::of(live)
    } else {
        judge(live, &[], live, Mode::Reconciling).verdict
    }
}

/// How the reference tells a reason, given as the one for a single operator.
pub fn form(reason: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.reason == reason)
}

// === impl Gate ===

impl Gate {
    pub(crate) fn good() -> Self {
        Self { verdict: Verdict::Good, remark: None, effect: None, nested: None }
    }

    pub(crate) fn waits(
        effect: Effect,
        reason: &str,
        sentence: impl Into<String>,
        nested: Option<String>,
    ) -> Self {
        let verdict = Verdict::not_yet(reason, sentence);
        Self { verdict, remark: None, effect: Some(effect), nested }
    }

    pub(crate) fn no_versions(expected: &Value, remedy: &str) -> Self {
        let sentence = format!("{} does not declare expected versions: {remedy}", called(expected));
        let verdict = Verdict::bad(reason::CLUSTER_OPERATOR_NO_VERSIONS, sentence);
        Self { verdict, remark: None, effect: Some(Effect::Fail), nested: None }
    }

    pub(crate) fn missing(expected: &Value) -> Self {
        let sentence = format!("{} does not exist; its operator has to report it", called(expected));
        let verdict = Verdict::not_yet(reason::UPDATE_PAYLOAD_RESOURCE_NOT_FOUND, sentence);
        Self { verdict, remark: None, effect: None, nested: None }
    }
}

/// The checks on the object of the cluster, in their order; `named` is whichever object says what it is called.
fn judge(named: &Value, versions: &[Value], live: &Value, mode: Mode) -> Gate {
    let available = Condition::find(live, condition::AVAILABLE);
    let degraded = Condition::find(live, condition::DEGRADED);
    let is_available = available.is_some_and(|found| found.is_true());
    let is_degraded = !degraded.is_some_and(|found| found.is_false());
    let undone = undone(versions, live);
    let name = object::name(named);
    let summary = || {
        let progressing =
            !Condition::find(live, condition::PROGRESSING).is_some_and(|found| found.is_false());
        let undone = undone.join(", ");
        format!(
            "cluster operator {name}: available={is_available}, progressing={progressing}, degraded={is_degraded}, undone={undone}"
        )
    };

    if !is_available {
        let nested = match available {
            Some(Condition { status, reason, message, .. }) if !message.is_empty() => {
                format!("cluster operator {name} is Available={status}: {reason}: {message}")
            }
            _ => summary(),
        };
        let sentence = not_available(named, live, available, degraded);
        return Gate::waits(Effect::Fail, reason::CLUSTER_OPERATOR_NOT_AVAILABLE, sentence, Some(nested));
    }
    if is_degraded {
        let nested = match degraded {
            Some(Condition { status, reason, message, .. }) if !message.is_empty() => {
                format!("cluster operator {name} is Degraded={status}: {reason}, {message}")
            }
            _ => summary(),
        };
        let why = Why {
            reason: reason::CLUSTER_OPERATOR_DEGRADED.to_owned(),
            sentence: is_degraded_because(named, degraded),
        };
        let nested = Some(nested);
        return if mode == Mode::Installing {
            Gate { remark: Some(why), effect: Some(Effect::Report), nested, ..Gate::good() }
        } else {
            let effect = Some(Effect::FailAfterInterval);
            Gate { verdict: Verdict::NotYet(why), remark: None, effect, nested }
        };
    }
    if !undone.is_empty() && mode != Mode::Installing {
        let nested = format!(
            "cluster operator {name} is available and not degraded but has not finished updating to target version"
        );
        let sentence = is_updating(named, live, &undone);
        return Gate::waits(Effect::None, reason::CLUSTER_OPERATOR_UPDATING, sentence, Some(nested));
    }
    Gate::good()
}

/// The versions that are not reached, as `NAME to V` or `NAME from OLD to V`, sorted.
fn undone(versions: &[Value], live: &Value) -> Vec<String> {
    let reported = list(&live["status"]["versions"]);
    let mut undone: Vec<String> = versions
        .iter()
        .filter_map(|expected| {
            let (name, wanted) = (text(&expected["name"]), text(&expected["version"]));
            let found = reported.iter().find(|reported| text(&reported["name"]) == name);
            match found.map_or("", |found| text(&found["version"])) {
                old if old == wanted => None,
                "" => Some(format!("{name} to {wanted}")),
                old => Some(format!("{name} from {old} to {wanted}")),
            }
        })
        .collect();
    undone.sort_unstable();
    undone
}

// === sentences ===

fn not_available(
    named: &Value,
    live: &Value,
    available: Option<Condition<'_>>,
    degraded: Option<Condition<'_>>,
) -> String {
    let mut sentence = format!("{} is not available: ", called(named));
    match available {
        Some(available) => sentence += &available.told(),
        None if list(&live["status"]["conditions"]).is_empty() => {
            sentence += "it has reported no conditions yet, so its operator may not run";
        }
        None => sentence += "it does not report the condition Available",
    }
    // The cause is often told there.
    if let Some(degraded) = degraded.filter(Condition::is_true) {
        sentence += "; also ";
        sentence += &degraded.told();
    }
    sentence
}

fn is_degraded_because(named: &Value, degraded: Option<Condition<'_>>) -> String {
    match degraded {
        Some(degraded) if degraded.is_true() => format!("{} is degraded: {}", called(named), degraded.told()),
        Some(degraded) => format!("{} counts as degraded: {}", called(named), degraded.told()),
        None => format!("{} counts as degraded: it does not report the condition Degraded", called(named)),
    }
}

fn is_updating(named: &Value, live: &Value, undone: &[String]) -> String {
    let undone: Vec<String> = undone.iter().map(|undone| one_line(undone)).collect();
    let mut sentence = format!("{} is updating versions: {}", called(named), visible(&undone.join(", ")));
    if let Some(progressing) = Condition::find(live, condition::PROGRESSING).filter(Condition::is_true) {
        sentence += "; ";
        sentence += &progressing.told();
    }
    sentence
}

#[cfg(test)]
#[path = "cluster_operator_tests.rs"]
mod tests;
