//! Since when each ClusterOperator has been waited for, and how long that may take.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use lockstep_api::names::condition;
use lockstep_api::names::config::object::MACHINE_CONFIG;
use lockstep_api::{ClusterOperator, UpdateHistory};

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
    /// Since when operators have been waited for, from what the API tells: so the windows survive a restart.
    ///
    /// `operators` are those of the release, `waited` the names of those that are waited for now. A wait began at the
    /// latest of three moments:
    ///
    /// - the update began;
    /// - the last of the operators that are done came to rest, because an update takes one level after the other and this
    ///   operator could not begin before;
    /// - this operator says since when it rolls out, or since when it is degraded.
    ///
    /// Each of them can only be too late, for an operator that was looked at earlier or one that flapped later. Then a
    /// window is longer than it should be, never shorter: nobody is called late who is not. Without a history there is no
    /// update, and no wait.
    pub fn of_api(history: &[UpdateHistory], operators: &[ClusterOperator], waited: &[&str]) -> Self {
        let Some(began) = history.first().map(|entry| entry.started_time.timestamp()) else {
            return Self::default();
        };
        let is_waited = |operator: &&ClusterOperator| waited.contains(&operator.metadata.name.as_str());
        let came_to_rest = operators.iter().filter(|it| !is_waited(it)).filter_map(last_change).max();
        let since = |name: &str| {
            let own = operators.iter().find(|it| it.metadata.name == name).and_then(own_word);
            [came_to_rest, own].into_iter().flatten().fold(began, Timestamp::max)
        };
        waited.iter().map(|&name| (name, since(name))).collect()
    }

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

/// When an operator last changed its mind about how it is; what it says about later updates does not count.
fn last_change(operator: &ClusterOperator) -> Option<Timestamp> {
    [condition::AVAILABLE, condition::PROGRESSING, condition::DEGRADED]
        .into_iter()
        .filter_map(|kind| operator.status.conditions.find(kind)?.last_transition_time)
        .map(lockstep_api::Time::timestamp)
        .max()
}

/// Since when an operator is degraded, else since when it rolls out, in its own words.
fn own_word(operator: &ClusterOperator) -> Option<Timestamp> {
    let conditions = &operator.status.conditions;
    let degraded = conditions.find(condition::DEGRADED).filter(|it| !it.is_false());
    let progressing = || conditions.find(condition::PROGRESSING).filter(|it| it.is_true());
    degraded.or_else(progressing)?.last_transition_time.map(lockstep_api::Time::timestamp)
}

impl<N: Into<String>> FromIterator<(N, Timestamp)> for StartTimes {
    fn from_iter<T: IntoIterator<Item = (N, Timestamp)>>(times: T) -> Self {
        Self(times.into_iter().map(|(operator, since)| (operator.into(), since)).collect())
    }
}

#[cfg(test)]
mod tests {
    use lockstep_api::{Condition, ConditionStatus, Release};

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

    /// A ClusterOperator with conditions: type, whether it holds, minute of its transition.
    fn operator(name: &str, conditions: &[(&str, bool, i64)]) -> ClusterOperator {
        let mut operator = ClusterOperator::new(name);
        for (kind, holds, at) in conditions {
            operator.status.conditions.set(Condition::new(*kind, ConditionStatus::of(*holds)), minute(*at));
        }
        operator
    }

    fn begun_at(at: i64) -> Vec<UpdateHistory> {
        vec![UpdateHistory::begun(&Release::default(), minute(at).into())]
    }

    #[test]
    fn a_wait_began_with_the_update_the_level_before_or_the_operators_own_word() {
        let rests =
            operator("etcd", &[("Available", true, 1), ("Progressing", false, 20), ("Degraded", false, 5)]);
        let later =
            operator("dns", &[("Available", true, 1), ("Progressing", true, 25), ("Degraded", false, 1)]);
        let degraded = operator("dns", &[("Progressing", true, 25), ("Degraded", true, 30)]);
        let earlier = operator("dns", &[("Progressing", true, 3)]);
        let unsaid = operator("dns", &[("Progressing", false, 99)]);
        let cases: [(&[ClusterOperator], i64); 6] = [
            (&[], 10),
            (std::slice::from_ref(&earlier), 10),
            (&[earlier.clone(), rests.clone()], 20),
            (&[later, rests.clone()], 25),
            (&[degraded, rests.clone()], 30),
            (&[unsaid, rests], 20),
        ];
        for (operators, expected) in cases {
            let times = StartTimes::of_api(&begun_at(10), operators, &["dns"]);
            assert_eq!(times.since("dns"), Some(minute(expected)), "{operators:?}");
            assert_eq!(times.since("etcd"), None, "nobody waits for it");
        }
    }

    #[test]
    fn an_operator_that_is_waited_for_too_does_not_put_the_start_off() {
        let operators =
            [operator("dns", &[("Progressing", true, 12)]), operator("etcd", &[("Progressing", true, 40)])];
        let times = StartTimes::of_api(&begun_at(10), &operators, &["dns", "etcd"]);
        assert_eq!((times.since("dns"), times.since("etcd")), (Some(minute(12)), Some(minute(40))));
    }

    #[test]
    fn a_window_that_was_used_up_before_a_restart_stays_so() {
        let operators = [operator("dns", &[("Progressing", true, 2)])];
        let reference = StartTimes::default();
        let times = StartTimes::of_api(&begun_at(1), &operators, &["dns"]);
        assert!(times.is_slow("dns", minute(60)));
        assert!(!reference.is_slow("dns", minute(60)));
        assert_eq!(
            StartTimes::of_api(&[], &operators, &["dns"]),
            reference,
            "without an update nobody waits"
        );
    }

    #[test]
    fn what_an_operator_says_of_later_updates_starts_no_window() {
        let rests = operator("etcd", &[("Progressing", false, 20), ("Upgradeable", false, 50)]);
        let times = StartTimes::of_api(&begun_at(10), &[rests], &["dns"]);
        assert_eq!(times.since("dns"), Some(minute(20)));
    }

    #[test]
    fn a_window_without_a_start_has_not_begun() {
        let times = StartTimes::default();
        assert!(!times.is_slow("dns", minute(1_000_000)));
        let reference = true;
        assert_ne!(times.is_intolerable("dns", minute(1_000_000)), reference);
    }
}
