//! The operators of a cluster: how far each is, how well, and what stands behind it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use lockstep_api::names::{annotation, condition, machine, object};
use lockstep_api::text::masked;
use lockstep_api::{ClusterOperator, Condition, ConditionStatus};

use super::Input;

/// What one condition says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Word {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can tell.
    Unknown,
    /// The operator does not report it.
    Missing,
}

/// How far an operator is on the way to the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Step {
    /// It reports the version of the release.
    Updated,
    /// It does not, and is at work.
    Updating,
    /// It does not, and waits.
    Waiting,
    /// It does not, and does not say whether it is at work.
    Unclear,
}

/// One operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operator {
    /// Its name.
    pub name: String,
    /// Its run level, where the release is known.
    pub level: Option<String>,
    /// Whether it belongs to the platform; others do not hold an update up.
    pub is_platform: bool,
    /// The version that it reports.
    pub version: Option<String>,
    /// How far it is.
    pub step: Step,
    /// Available.
    pub available: Word,
    /// Progressing.
    pub progressing: Word,
    /// Degraded.
    pub degraded: Word,
    /// Since when the state that is told here holds.
    pub since: Option<Timestamp>,
    /// Why, in a word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// Who cannot begin before it is done, by name.
    pub blocks: Vec<String>,
}

/// The operators of one run level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Level {
    /// The level; none for operators of which it is not known.
    pub name: Option<String>,
    /// How many are updated.
    pub updated: usize,
    /// Its operators, those that are not updated or not well first.
    pub operators: Vec<Operator>,
}

/// How many operators say what of one condition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Count {
    /// True.
    pub yes: usize,
    /// False.
    pub no: usize,
    /// Unknown.
    pub unknown: usize,
    /// Not reported at all.
    pub missing: usize,
}

/// How many operators say what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All operators.
    pub total: usize,
    /// Of Available.
    pub available: Count,
    /// Of Progressing.
    pub progressing: Count,
    /// Of Degraded.
    pub degraded: Count,
}

/// Looks at every operator, in the order of the input.
pub(super) fn look(input: &Input, target: &str, holds_levels: bool) -> Vec<Operator> {
    // A cluster of somebody who marks nothing has only operators of the platform.
    let none_is_marked = !input.operators.iter().any(is_marked);
    let mut operators: Vec<Operator> = input
        .operators
        .iter()
        .map(|operator| Operator::of(operator, input, target, none_is_marked || is_marked(operator)))
        .collect();
    if holds_levels {
        block(&mut operators);
    }
    operators
}

/// Groups operators by run level; without one they come last.
pub(super) fn by_level(operators: &[Operator]) -> Vec<Level> {
    let mut levels: BTreeMap<(bool, Option<&str>), Vec<&Operator>> = BTreeMap::new();
    for operator in operators {
        let level = operator.level.as_deref();
        levels.entry((level.is_none(), level)).or_default().push(operator);
    }
    let level = |((_, name), mut operators): ((bool, Option<&str>), Vec<&Operator>)| {
        operators.sort_by_key(|operator| (operator.is_fine(), operator.name.as_str()));
        Level {
            name: name.map(str::to_owned),
            updated: operators.iter().filter(|operator| operator.step == Step::Updated).count(),
            operators: operators.into_iter().cloned().collect(),
        }
    };
    levels.into_iter().map(level).collect()
}

/// Counts what operators say, those that say nothing too.
pub(super) fn count(operators: &[Operator]) -> Counts {
    let count = |word: fn(&Operator) -> Word| {
        let of = |wanted| operators.iter().filter(|operator| word(operator) == wanted).count();
        Count {
            yes: of(Word::True),
            no: of(Word::False),
            unknown: of(Word::Unknown),
            missing: of(Word::Missing),
        }
    };
    Counts {
        total: operators.len(),
        available: count(|operator| operator.available),
        progressing: count(|operator| operator.progressing),
        degraded: count(|operator| operator.degraded),
    }
}

// === impl Operator ===

impl Operator {
    fn of(operator: &ClusterOperator, input: &Input, target: &str, is_platform: bool) -> Self {
        let (name, status) = (&operator.metadata.name, &operator.status);
        let find = |kind| status.conditions.find(kind);
        let version = status.version(object::OPERATOR_VERSION);
        let is_updated = version == Some(target) && !lacks_image(operator, input.config_operator.as_ref());
        let progressing = word(find(condition::PROGRESSING));
        let step = match progressing {
            _ if is_updated => Step::Updated,
            Word::True => Step::Updating,
            Word::False => Step::Waiting,
            Word::Unknown | Word::Missing => Step::Unclear,
        };
        let told = find(condition::AVAILABLE).filter(|it| !it.is_true());
        let told = told.or_else(|| find(condition::DEGRADED).filter(|it| it.is_true()));
        let told = told.or_else(|| find(condition::PROGRESSING));
        Self {
            name: name.clone(),
            level: input.levels.get(name).cloned(),
            is_platform,
            version: version.map(str::to_owned),
            step,
            available: word(find(condition::AVAILABLE)),
            progressing,
            degraded: word(find(condition::DEGRADED)),
            since: told.and_then(|it| it.last_transition_time).map(Timestamp::from),
            reason: told.map(|it| it.reason.clone()).unwrap_or_default(),
            message: told.map(|it| masked(&it.message).into_owned()).unwrap_or_default(),
            blocks: Vec::new(),
        }
    }

    /// Whether it is not Available, for whatever reason.
    pub fn is_unavailable(&self) -> bool {
        self.available != Word::True
    }

    /// Whether it works, but not well.
    pub fn is_degraded(&self) -> bool {
        !self.is_unavailable() && self.degraded == Word::True
    }

    /// Whether there is nothing to say of it.
    pub fn is_fine(&self) -> bool {
        self.step == Step::Updated && !self.is_unavailable() && !self.is_degraded()
    }
}

// === impl Count ===

impl Count {
    /// The parts that are not zero, in words.
    pub fn words(&self) -> String {
        let parts =
            [(self.yes, "True"), (self.no, "False"), (self.unknown, "Unknown"), (self.missing, "missing")];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }
}

/// Who waits for whom: everything of a later level for what is not done in an earlier one.
fn block(operators: &mut [Operator]) {
    let open: BTreeSet<(String, String)> = operators
        .iter()
        .filter(|operator| operator.step != Step::Updated && operator.is_platform)
        .filter_map(|operator| Some((operator.level.clone()?, operator.name.clone())))
        .collect();
    let Some(first) = open.first().map(|(level, _)| level.clone()) else { return };
    for operator in operators.iter_mut().filter(|operator| operator.step != Step::Updated) {
        // Those of later levels wait themselves: what they block is blocked already.
        if operator.level.as_ref() == Some(&first) {
            let later = open.iter().filter(|(level, _)| *level > first);
            operator.blocks = later.map(|(_, name)| name.clone()).collect();
        }
    }
}

fn is_marked(operator: &ClusterOperator) -> bool {
    let prefixes = [annotation::INCLUDE_PREFIX, annotation::EXCLUDE_PREFIX];
    let mut keys = operator.metadata.annotations.keys();
    keys.any(|key| prefixes.iter().any(|prefix| key.starts_with(prefix)))
}

/// Whether this is the operator of machine configurations and still runs from another image than it should.
fn lacks_image(operator: &ClusterOperator, deployment: Option<&Value>) -> bool {
    if operator.metadata.name != object::MACHINE_CONFIG {
        return false;
    }
    let containers = deployment.and_then(|it| it["spec"]["template"]["spec"]["containers"].as_array());
    let container = containers.into_iter().flatten().find(|it| it["name"] == machine::OPERATOR);
    let Some(image) = container.and_then(|it| it["image"].as_str()) else { return false };
    operator.status.version(object::OPERATOR_IMAGE_VERSION) != Some(image)
}

fn word(found: Option<&Condition>) -> Word {
    match found.map(|it| &it.status) {
        None => Word::Missing,
        Some(ConditionStatus::True) => Word::True,
        Some(ConditionStatus::False) => Word::False,
        Some(_) => Word::Unknown,
    }
}
