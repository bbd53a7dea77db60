//! Since when each ClusterOperator has been waited for, and how long that may take.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use lockstep_api::names::config::object::MACHINE_CONFIG;

/// Minutes that an operator may take for its update before it is called slow: most need less than ten.
pub const SLOW_WINDOW: SignedDuration = SignedDuration::from_mins(30);

/// Minutes that `machine-config` may take before it is called slow: it drains and restarts one node after the other.
pub const MACHINE_CONFIG_WINDOW: SignedDuration = SignedDuration::from_mins(90);

/// Minutes that an operator may be degraded during an update before that is a failure: one that is being replaced
/// often is for a while, and recovers by itself.
pub const TOLERANCE: SignedDuration = SignedDuration::from_mins(40);

/// Since when each ClusterOperator has been waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartTimes(BTreeMap<String, Timestamp>);

// === impl StartTimes ===

impl StartTimes {
    /// Notes a look at an operator, also the one before it is created; only the first one counts.
    ///
    /// `since` is the time of the look, or an earlier one that the API tells: so a window survives a restart.
    pub fn look(&mut self, operator: impl Into<String>, since: Timestamp) {
        self.0.entry(operator.into()).or_insert(since);
    }

    /// Forgets an operator that is healthy at its version.
    pub fn healthy(&mut self, operator: &str) {
        self.0.remove(operator);
    }

    /// Forgets everything when a run is the first for what it applies, which is attempt 0.
    pub fn run_starts(&mut self, attempt: u32) {
        if attempt == 0 {
            self.0.clear();
        }
    }

    /// Since when an operator has been waited for, if that is known.
    pub fn since(&self, operator: &str) -> Option<Timestamp> {
        self.0.get(operator).copied()
    }

    /// Whether an operator takes longer than it should.
    pub fn is_slow(&self, operator: &str, now: Timestamp) -> bool {
        let window = if operator == MACHINE_CONFIG { MACHINE_CONFIG_WINDOW } else { SLOW_WINDOW };
        self.is_older(operator, window, now)
    }

    /// Whether an operator has been degraded for too long.
    ///
    /// *Compatibility*: to the reference, an operator without a start time has been so for too long. It is the one
    /// about which least is known; here its window has not begun.
    pub fn is_intolerable(&self, operator: &str, now: Timestamp) -> bool {
        self.is_older(operator, TOLERANCE, now)
    }

    fn is_older(&self, operator: &str, window: SignedDuration, now: Timestamp) -> bool {
        self.since(operator).is_some_and(|since| now.duration_since(since) > window)
    }
}

impl<N: Into<String>> FromIterator<(N, Timestamp)> for StartTimes {
    fn from_iter<T: IntoIterator<Item = (N, Timestamp)>>(times: T) -> Self {
        Self(times.into_iter().map(|(operator, since)| (operator.into(), since)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    #[test]
    fn the_first_look_counts_until_the_operator_is_healthy() {
        let mut times = StartTimes::default();
        times.look("dns", minute(1));
        times.look("dns", minute(2));
        assert_eq!(times.since("dns"), Some(minute(1)));
        times.healthy("dns");
        assert_eq!(times.since("dns"), None);
        times.look("dns", minute(3));
        assert_eq!(times.since("dns"), Some(minute(3)));
    }

    #[test]
    fn one_healthy_operator_leaves_the_others_waiting() {
        let mut times: StartTimes = [("dns", minute(1)), ("etcd", minute(2))].into_iter().collect();
        times.healthy("dns");
        assert_eq!((times.since("dns"), times.since("etcd")), (None, Some(minute(2))));
    }

    #[test]
    fn only_the_first_attempt_starts_all_windows_again() {
        let mut times: StartTimes = [("dns", minute(1))].into_iter().collect();
        times.run_starts(1);
        assert_eq!(times.since("dns"), Some(minute(1)));
        times.run_starts(0);
        assert_eq!(times, StartTimes::default());
    }

    #[test]
    fn windows_are_exceeded_after_30_40_and_90_minutes_and_not_at_them() {
        let times: StartTimes = [("dns", minute(0)), ("machine-config", minute(0))].into_iter().collect();
        let after = |minutes| minute(minutes) + SignedDuration::from_secs(1);
        for (operator, minutes) in [("dns", 30), ("machine-config", 90)] {
            assert!(!times.is_slow(operator, minute(minutes)), "{operator}");
            assert!(times.is_slow(operator, after(minutes)), "{operator}");
        }
        for operator in ["dns", "machine-config"] {
            assert!(!times.is_intolerable(operator, minute(40)), "{operator}");
            assert!(times.is_intolerable(operator, after(40)), "{operator}");
        }
    }

    #[test]
    fn a_window_without_a_start_has_not_begun() {
        let times = StartTimes::default();
        assert!(!times.is_slow("dns", minute(1_000_000)));
        let reference = true;
        assert_ne!(times.is_intolerable("dns", minute(1_000_000)), reference);
    }
}
