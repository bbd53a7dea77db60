//! Fields that are not valid together are not reported at all.

use std::collections::BTreeSet;

use lockstep_api::names::condition;
use lockstep_api::{Condition, ConditionStatus};

use crate::Report;

/// Why a report is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The object needs a name that the API takes.
    #[error("`{0}` is no name of a ClusterOperator; use lower case letters, digits and dashes")]
    Name(String),
    /// A version without a name or without a text.
    #[error("the version `{name}` is `{version}`; neither may be empty")]
    EmptyVersion {
        /// The entry.
        name: String,
        /// Its text.
        version: String,
    },
    /// Of two versions of one name only the first would ever be read.
    #[error("the version `{0}` is given twice; give every operand a name of its own")]
    RepeatedVersion(String),
    /// A resource is what an object is found by.
    #[error(
        "a related object of group `{group}` named `{name}` has no resource; give the plural, such as `deployments`"
    )]
    NoResource {
        /// Its group.
        group: String,
        /// Its name.
        name: String,
    },
    /// A bad condition without a word about it helps nobody.
    #[error("{kind}={status} has no {missing}; say what is wrong and what an administrator can do")]
    Unexplained {
        /// The type.
        kind: String,
        /// The status.
        status: String,
        /// What is missing.
        missing: &'static str,
    },
    /// Tools match on reasons.
    #[error("the reason `{reason}` of {kind} is no single word in CamelCase")]
    Reason {
        /// The type.
        kind: String,
        /// The reason.
        reason: String,
    },
}

// === impl Report ===

impl Report {
    /// Whether the fields are valid together.
    pub fn check(&self) -> Result<(), Invalid> {
        let is_of_a_name =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter);
        if self.name.is_empty() || !self.name.chars().all(is_of_a_name) {
            return Err(Invalid::Name(self.name.clone()));
        }
        self.check_versions()?;
        if let Some(object) = self.related.iter().find(|object| object.resource.is_empty()) {
            return Err(Invalid::NoResource { group: object.group.clone(), name: object.name.clone() });
        }
        self.said.iter().chain(&self.parts).try_for_each(check_reason)?;
        self.said.iter().try_for_each(check_words)
    }

    fn check_versions(&self) -> Result<(), Invalid> {
        let own = self.own.iter().map(|(name, version)| (name, version));
        let operands = self.operands.iter().map(|operand| (&operand.name, &operand.version));
        let mut seen = BTreeSet::new();
        for (name, version) in own.chain(operands) {
            if name.is_empty() || version.is_empty() {
                return Err(Invalid::EmptyVersion { name: name.clone(), version: version.clone() });
            }
            if !seen.insert(name) {
                return Err(Invalid::RepeatedVersion(name.clone()));
            }
        }
        Ok(())
    }
}

fn check_reason(condition: &Condition) -> Result<(), Invalid> {
    let Condition { kind, reason, .. } = condition;
    let is_word = |reason: &str| {
        reason.starts_with(|first: char| first.is_ascii_alphabetic())
            && reason.chars().all(|letter| letter.is_ascii_alphanumeric() || "_,:".contains(letter))
    };
    if reason.is_empty() || is_word(reason) {
        return Ok(());
    }
    Err(Invalid::Reason { kind: kind.clone(), reason: reason.clone() })
}

/// Whoever says that something is wrong says what.
fn check_words(condition: &Condition) -> Result<(), Invalid> {
    let bad = match condition.kind.as_str() {
        condition::AVAILABLE | condition::UPGRADEABLE => ConditionStatus::False,
        condition::DEGRADED | condition::PROGRESSING => ConditionStatus::True,
        _ => return Ok(()),
    };
    let missing = match () {
        () if condition.status != bad => return Ok(()),
        () if condition.reason.is_empty() => "reason",
        () if condition.message.is_empty() => "message",
        () => return Ok(()),
    };
    Err(Invalid::Unexplained { kind: condition.kind.clone(), status: condition.status.to_string(), missing })
}
