//! What a failure means at a moment: still on its way, too slow, or a problem.

use jiff::{SignedDuration, Timestamp};
use lockstep_api::names::config::object::MACHINE_CONFIG;
use lockstep_api::names::reason;
use lockstep_graph::report::{Effect, Failure, failing_part, summary};

use crate::start_times::{MACHINE_CONFIG_WINDOW, SLOW_WINDOW, StartTimes, TOLERANCE};

/// What the failure of a run that makes its way to a release means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Not a problem: somebody needs time, and has it.
    Waiting {
        /// For whom.
        text: String,
    },
    /// Nobody can say: somebody needs more time than is usual.
    Slow {
        /// For whom, and for how long.
        text: String,
    },
    /// A problem.
    Failing {
        /// What of the failure is one.
        problem: Failure,
        /// One half sentence about it.
        text: String,
    },
}

/// Whom a run waits for, by how patient it is with them.
#[derive(Debug, Default)]
struct Waits<'a> {
    usual: Vec<&'a str>,
    slow: Vec<&'a str>,
    is_machine_config_slow: bool,
    tolerated: Vec<&'a str>,
    /// What is on its way without a name.
    nameless: Vec<String>,
}

/// What a failure means now, while a run makes its way to a release.
///
/// *Compatibility*: of one failure, as in the reference. A list of nothing but waits is a wait here; the reference
/// is unable to apply the release and does not say that it fails, or says that it fails although each of the list alone
/// would still have time.
pub fn judge(failure: &Failure, times: &StartTimes, now: Timestamp) -> Judgement {
    let mut waits = Waits::default();
    if waits.take(failure, times, now) {
        return waits.judgement();
    }
    // NB: an operator that would still be tolerated alone stays in a list with a problem, as in the reference.
    let problem = failing_part(failure).unwrap_or_else(|| failure.clone());
    let text = match failure.effect {
        Effect::Report => failure.message.clone(),
        Effect::FailAfterInterval if !failure.names.is_empty() => {
            let late: Vec<&str> = names(failure).filter(|name| times.is_intolerable(name, now)).collect();
            format!("wait has exceeded {} for these operators: {}", minutes(TOLERANCE), late.join(", "))
        }
        _ => summary(failure),
    };
    Judgement::Failing { problem, text }
}

fn names(failure: &Failure) -> impl Iterator<Item = &str> {
    failure.names.iter().map(String::as_str)
}

fn minutes(window: SignedDuration) -> String {
    format!("{} minutes", window.as_mins())
}

// === impl Waits ===

impl<'a> Waits<'a> {
    /// Adds everybody that a failure waits for; whether it is a wait and nothing else.
    fn take(&mut self, failure: &'a Failure, times: &StartTimes, now: Timestamp) -> bool {
        if failure.reason == reason::MULTIPLE_ERRORS && !failure.parts.is_empty() {
            return failure.parts.iter().all(|part| self.take(part, times, now));
        }
        match failure.effect {
            Effect::None if failure.names.is_empty() => self.nameless.push(summary(failure)),
            Effect::None => {
                for name in names(failure) {
                    match (times.is_slow(name, now), name == MACHINE_CONFIG) {
                        (false, _) => self.usual.push(name),
                        (true, false) => self.slow.push(name),
                        (true, true) => self.is_machine_config_slow = true,
                    }
                }
            }
            // Without a name there is no window that could end: it is a problem at once.
            Effect::FailAfterInterval if !failure.names.is_empty() => {
                if names(failure).any(|name| times.is_intolerable(name, now)) {
                    return false;
                }
                self.tolerated.extend(names(failure));
            }
            Effect::FailAfterInterval | Effect::Report | Effect::Unset | Effect::Fail => return false,
        }
        true
    }

    /// Slow ones are told alone: they are what somebody should look at.
    fn judgement(self) -> Judgement {
        if self.is_machine_config_slow || !self.slow.is_empty() {
            return Judgement::Slow { text: self.slow_text() };
        }
        let mut texts = Vec::new();
        if !self.usual.is_empty() {
            texts.push(format!("waiting on {}", self.usual.join(", ")));
        }
        if !self.tolerated.is_empty() {
            texts.push(format!("waiting up to {} on {}", minutes(TOLERANCE), self.tolerated.join(", ")));
        }
        texts.extend(self.nameless);
        Judgement::Waiting { text: texts.join(", ") }
    }

    fn slow_text(&self) -> String {
        let mut over = Vec::new();
        if !self.slow.is_empty() {
            over.push(format!("{} over {}", self.slow.join(", "), minutes(SLOW_WINDOW)));
        }
        if self.is_machine_config_slow {
            over.push(format!("{MACHINE_CONFIG} over {}", minutes(MACHINE_CONFIG_WINDOW)));
        }
        format!("waiting on {} which is longer than expected", over.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use lockstep_graph::report::one_of;

    use super::*;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    /// Judged at minute 60; `late` has been waited for since minute 0, `new` since minute 50.
    fn judged(failure: &Failure) -> Judgement {
        let times: StartTimes = [("late", minute(0)), ("new", minute(50))].into_iter().collect();
        judge(failure, &times, minute(60))
    }

    fn degraded(operator: &str) -> Failure {
        let message = format!("Cluster operator {operator} is degraded");
        Failure::new(reason::CLUSTER_OPERATOR_DEGRADED, message)
            .about(operator)
            .with_effect(Effect::FailAfterInterval)
    }

    fn updating(operator: &str) -> Failure {
        let message = format!("Cluster operator {operator} is updating versions");
        Failure::new(reason::CLUSTER_OPERATOR_UPDATING, message).about(operator).with_effect(Effect::None)
    }

    fn waiting(text: &str) -> Judgement {
        Judgement::Waiting { text: text.to_owned() }
    }

    #[test]
    fn a_degraded_operator_is_tolerated_for_40_minutes() {
        assert_eq!(judged(&degraded("new")), waiting("waiting up to 40 minutes on new"));
        let text = "wait has exceeded 40 minutes for these operators: late".to_owned();
        assert_eq!(judged(&degraded("late")), Judgement::Failing { problem: degraded("late"), text });
    }

    #[test]
    fn of_several_degraded_operators_only_the_late_ones_are_told() {
        let names = ["new", "late"].map(str::to_owned).to_vec();
        let both = Failure { names, ..degraded("") };
        let text = "wait has exceeded 40 minutes for these operators: late".to_owned();
        assert_eq!(judged(&both), Judgement::Failing { problem: both.clone(), text });
    }

    #[test]
    fn an_operator_without_a_start_time_has_not_used_up_its_time() {
        let reference = "wait has exceeded 40 minutes for these operators: other";
        let found = judged(&degraded("other"));
        assert_ne!(
            found,
            Judgement::Failing { problem: degraded("other"), text: reference.to_owned() },
            "the reference"
        );
        assert_eq!(found, waiting("waiting up to 40 minutes on other"));
    }

    #[test]
    fn a_degradation_of_nobody_is_a_problem_at_once() {
        let nobody = Failure { names: Vec::new(), ..degraded("x") };
        let text = "a cluster operator is degraded".to_owned();
        assert_eq!(judged(&nobody), Judgement::Failing { problem: nobody.clone(), text });
    }

    #[test]
    fn a_wait_without_a_name_tells_its_message() {
        let nameless = Failure::new("Strange", "the weather is bad").with_effect(Effect::None);
        let reference = "waiting on ";
        assert_ne!(judged(&nameless), waiting(reference));
        assert_eq!(judged(&nameless), waiting("the weather is bad"));
        let list = one_of(vec![nameless, updating("new")]).unwrap();
        assert_eq!(judged(&list), waiting("waiting on new, the weather is bad"));
    }

    #[test]
    fn a_list_of_waits_is_a_wait_as_long_as_each_has_time() {
        let in_time = one_of(vec![updating("new"), degraded("new")]).unwrap();
        assert_eq!(judged(&in_time), waiting("waiting on new, waiting up to 40 minutes on new"));
        let slow = one_of(vec![updating("late"), degraded("new")]).unwrap();
        let text = "waiting on late over 30 minutes which is longer than expected".to_owned();
        assert_eq!(judged(&slow), Judgement::Slow { text });
        let late = one_of(vec![updating("new"), degraded("late")]).unwrap();
        let text = "Cluster operator late is degraded (and 1 more)".to_owned();
        assert_eq!(judged(&late), Judgement::Failing { problem: degraded("late"), text });
    }

    #[test]
    fn a_remark_is_told_in_its_own_words() {
        let remark = degraded("new").with_effect(Effect::Report);
        let text = "Cluster operator new is degraded".to_owned();
        assert_eq!(judged(&remark), Judgement::Failing { problem: remark.clone(), text });
    }
}
