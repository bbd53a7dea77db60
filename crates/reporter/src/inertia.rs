//! How long a part may be bad before the whole says so.

use std::time::Duration;

use lockstep_api::Condition;

/// How long a bad part is left out of Degraded: a moment is no lower quality of service.
///
/// *Compatibility*: the reference takes regular expressions; here a rule is a whole type or how types begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inertia {
    rules: Vec<(Pattern, Duration)>,
    otherwise: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exactly(String),
    Beginning(String),
}

/// The usual patience, that of the reference.
const USUAL: Duration = Duration::from_mins(2);

// === impl Inertia ===

impl Inertia {
    /// The same patience with every part.
    pub fn of(patience: Duration) -> Self {
        Self { rules: Vec::new(), otherwise: patience }
    }

    /// No patience at all.
    pub fn none() -> Self {
        Self::of(Duration::ZERO)
    }

    /// Adds a rule for one condition type; of several rules that fit the first counts.
    #[must_use]
    pub fn exactly(mut self, kind: impl Into<String>, patience: Duration) -> Self {
        self.rules.push((Pattern::Exactly(kind.into()), patience));
        self
    }

    /// Adds a rule for the types that begin so; of several rules that fit the first counts.
    #[must_use]
    pub fn beginning(mut self, start: impl Into<String>, patience: Duration) -> Self {
        self.rules.push((Pattern::Beginning(start.into()), patience));
        self
    }

    /// The patience with one part.
    pub fn with(&self, part: &Condition) -> Duration {
        let fits = |pattern: &Pattern| match pattern {
            Pattern::Exactly(kind) => part.kind == *kind,
            Pattern::Beginning(start) => part.kind.starts_with(start.as_str()),
        };
        self.rules.iter().find(|(pattern, _)| fits(pattern)).map_or(self.otherwise, |(_, patience)| *patience)
    }
}

/// Two minutes.
impl Default for Inertia {
    fn default() -> Self {
        Self::of(USUAL)
    }
}

#[cfg(test)]
mod tests {
    use lockstep_api::ConditionStatus;

    use super::*;

    #[test]
    fn first_rule_that_fits_counts() {
        let second = Duration::from_secs;
        let inertia = Inertia::of(second(9))
            .exactly("NodeDegraded", second(1))
            .beginning("Node", second(2))
            .beginning("No", second(3));
        let with = |kind: &str| inertia.with(&Condition::new(kind, ConditionStatus::True)).as_secs();
        assert_eq!((with("NodeDegraded"), with("NodesDegraded"), with("NoDegraded")), (1, 2, 3));
        assert_eq!((with("PodDegraded"), with("XNodeDegraded")), (9, 9));
        let part = Condition::new("PodDegraded", ConditionStatus::True);
        assert_eq!((Inertia::default().with(&part), Inertia::none().with(&part)), (second(120), second(0)));
    }
}
