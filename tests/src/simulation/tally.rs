//! How often everything was reached that a simulation is for.

use std::collections::BTreeMap;
use std::fmt;

use lockstep_lab::Effect;

/// Counts by what was reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<String, u64>);

/// What every whole suite must reach: a way that is never gone proves nothing.
const EXPECTED: [&str; 47] = [
    "mode installing, flat",
    "mode installing, by run level",
    "mode updating",
    "mode second run",
    "crash after a write",
    "run after a failed one",
    "fault latency",
    "fault refuse 401",
    "fault refuse 403",
    "fault refuse 404",
    "fault refuse 409",
    "fault refuse 429",
    "fault refuse 500",
    "fault refuse 503",
    "fault timeout before the commit",
    "fault timeout after the commit",
    "fault dropped watch",
    "fault stalled watch",
    "fault expired watch",
    "fault outage",
    "fault clock jump",
    "fault webhook down",
    "fault aggregated API down",
    "wait kind not served",
    "wait namespace missing",
    "wait API unavailable",
    "wait webhook unavailable",
    "wait operator not available",
    "wait operator degraded",
    "wait operator updating",
    "wait job running",
    "wait definition not established",
    "wait deletion",
    "wait server busy",
    "deed object deleted",
    "deed field changed",
    "deed label removed",
    "deed namespace deleted",
    "deed definition deleted",
    "deed finalizer ends",
    "verb created",
    "verb changed",
    "verb deleted",
    "drift repaired",
    "task failed",
    "task retried",
    "orphan",
];

// === impl Tally ===

impl Tally {
    /// Counts something.
    pub fn count(&mut self, what: impl Into<String>) {
        self.add(what, 1);
    }

    /// Counts something that happened several times.
    pub fn add(&mut self, what: impl Into<String>, times: u64) {
        *self.0.entry(what.into()).or_default() += times;
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            self.add(what.as_str(), *times);
        }
    }

    /// How often something was reached.
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }

    /// What should have been reached and was not.
    pub fn missing(&self) -> Vec<&'static str> {
        self.lacks(&EXPECTED)
    }

    /// What of this was never reached.
    pub(crate) fn lacks(&self, expected: &[&'static str]) -> Vec<&'static str> {
        expected.iter().copied().filter(|what| self.of(what) == 0).collect()
    }
}

/// One line per thing.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, times) in &self.0 {
            writeln!(f, "{times:>9}  {what}")?;
        }
        Ok(())
    }
}

/// The name of a fault in the counts.
pub(crate) fn name_of(effect: &Effect) -> String {
    let name = match effect {
        Effect::Latency { .. } => "latency",
        Effect::Refuse { code, .. } => return format!("fault refuse {code}"),
        Effect::TimeoutBeforeCommit { .. } => "timeout before the commit",
        Effect::TimeoutAfterCommit { .. } => "timeout after the commit",
        Effect::DropWatch { .. } => "dropped watch",
        Effect::StallWatch { .. } => "stalled watch",
        Effect::ExpireWatch {} => "expired watch",
        Effect::Outage {} => "outage",
        Effect::ClockJump { .. } => "clock jump",
    };
    format!("fault {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_reached_is_missing() {
        let mut tally = Tally::default();
        EXPECTED.iter().skip(1).for_each(|what| tally.count(*what));
        assert_eq!(tally.missing(), [EXPECTED[0]]);
    }
}
