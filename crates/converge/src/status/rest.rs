//! Whether operators rest, judged by one look: the same rule by which `wait-for stable` judges over time.

use std::time::Duration;

use jiff::Timestamp;

use lockstep_api::ClusterOperator;
use lockstep_api::names::condition;
use lockstep_health::stability::{Limits, Stability, unchanged_for};

/// How many operators are named.
const NAMES: usize = 3;

/// A line about stability; none when the operators cannot be judged.
pub(super) fn line(operators: &[ClusterOperator], now: Timestamp) -> Option<String> {
    let limits = Limits::default();
    let mut stability = Stability::new(limits);
    for operator in operators {
        let object = serde_json::to_value(operator).ok()?;
        let unwritten = unchanged_for(&object, Some(now));
        // Where the server does not tell who wrote when, what the operator says itself has to do.
        let unwritten = if unwritten.is_zero() { unturned(operator, now) } else { unwritten };
        stability.see(&object, unwritten, Duration::ZERO);
    }
    let judgement = stability.judge(Duration::ZERO);
    let restless: Vec<&str> =
        judgement.operators.iter().filter(|it| !it.is_stable).map(|it| it.name.as_str()).collect();
    let (all, quiet) = (judgement.operators.len(), limits.quiet.as_secs());
    if restless.is_empty() {
        return Some(format!("all {all} operators rest for at least {quiet}s"));
    }
    let names = restless.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
    let more = match restless.len().saturating_sub(NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{} of {all} operators have not rested for {quiet}s: {names}{more}", restless.len()))
}

/// How long ago Progressing turned, by the operator's own clock.
fn unturned(operator: &ClusterOperator, now: Timestamp) -> Duration {
    let found = operator.status.conditions.find(condition::PROGRESSING);
    let since = found.and_then(|it| it.last_transition_time).map(Timestamp::from);
    since.and_then(|since| now.duration_since(since).try_into().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ago, an_operator, now, with};
    use super::*;

    #[test]
    fn an_operator_that_moves_or_moved_a_moment_ago_does_not_rest() {
        let quiet = an_operator("a", "1");
        assert_eq!(
            line(std::slice::from_ref(&quiet), now()).unwrap(),
            "all 1 operators rest for at least 30s"
        );
        let moving = with(an_operator("b", "1"), "Progressing", "True", &ago(9, 0), "", "");
        let young = with(an_operator("c", "1"), "Progressing", "False", &ago(0, 29), "", "");
        let old = with(an_operator("d", "1"), "Progressing", "False", &ago(0, 30), "", "");
        let text = line(&[quiet, moving, young, old], now()).unwrap();
        assert_eq!(text, "2 of 4 operators have not rested for 30s: b, c");
    }

    #[test]
    fn what_was_written_a_moment_ago_is_not_believed_to_rest() {
        let mut operator = an_operator("a", "1");
        let fields = serde_json::json!([{"manager": "m", "time": ago(0, 5)}]);
        operator.metadata.other.insert("managedFields".into(), fields);
        assert!(line(&[operator], now()).unwrap().starts_with("1 of 1 operators have not rested"));
    }
}
