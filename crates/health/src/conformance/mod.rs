//! Does an operator keep to the protocol? One verdict per rule, over its manifests and over what it was seen to report.
//!
//! [`manifests`] judges a folder as an operator ships it, [`running`] what a ClusterOperator said while it was watched. A
//! rule never guesses: what did not happen in the time is *not seen*, what does not concern an operator is *not
//! applicable*.

mod conditions;
mod folder;
mod history;
mod movement;
mod order;
pub mod output;
mod related;
mod shipped;
mod times;

use serde::Serialize;

pub use folder::{Folder, ManifestFile};
pub use history::{History, RelatedObject, Seen};

/// One rule of the protocol. Its id never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The words by which it is known.
    pub id: &'static str,
    /// What holds when it is kept.
    pub says: &'static str,
    /// What to do when it is broken.
    pub remedy: &'static str,
}

/// How an operator stands to a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "verdict", content = "evidence")]
pub enum Outcome {
    /// It was seen to keep it.
    Pass,
    /// It broke it; each line is one proof.
    Fail(Vec<String>),
    /// The rule is not about such an operator, and why.
    NotApplicable(String),
    /// Nothing happened that would show it, and what would.
    NotSeen(String),
}

/// A rule and how the operator stands to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// The verdict.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A rule and the function that judges by it.
struct Check<T> {
    rule: Rule,
    judge: fn(&T) -> Outcome,
}

/// Judges a folder of manifests.
pub fn manifests(folder: &Folder) -> Vec<Finding> {
    of_manifests().map(|check| check.finding(folder)).collect()
}

/// Judges what a running operator was seen to report.
pub fn running(history: &History) -> Vec<Finding> {
    of_running().map(|check| check.finding(history)).collect()
}

/// All rules about manifests, in the order in which they are told.
pub fn manifest_rules() -> Vec<Rule> {
    of_manifests().map(|check| check.rule).collect()
}

/// All rules about running operators, in the order in which they are told.
pub fn running_rules() -> Vec<Rule> {
    of_running().map(|check| check.rule).collect()
}

fn of_manifests() -> impl Iterator<Item = &'static Check<Folder>> {
    shipped::CHECKS.iter().chain(order::CHECKS)
}

fn of_running() -> impl Iterator<Item = &'static Check<History>> {
    conditions::CHECKS.iter().chain(movement::CHECKS).chain(times::CHECKS).chain(related::CHECKS)
}

// === impl Check ===

impl<T> Check<T> {
    fn finding(&self, judged: &T) -> Finding {
        Finding { rule: self.rule, outcome: (self.judge)(judged) }
    }
}

// === impl Outcome ===

impl Outcome {
    /// A failure when there is evidence, else a pass.
    fn of(evidence: Vec<String>) -> Self {
        if evidence.is_empty() { Self::Pass } else { Self::Fail(evidence) }
    }

    fn not_seen(what: impl Into<String>) -> Self {
        Self::NotSeen(what.into())
    }

    fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable(why.into())
    }

    /// Whether the rule was broken.
    pub fn is_fail(&self) -> bool {
        matches!(self, Self::Fail(_))
    }

    /// The verdict in two words at most.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::NotApplicable(_) => "not applicable",
            Self::NotSeen(_) => "not seen",
        }
    }
}

#[cfg(test)]
mod tests;
