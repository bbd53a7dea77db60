//! The discipline of `lastTransitionTime`.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::history::Change;
use super::{Check, History, Outcome, Rule, Seen};
use crate::facts::{Condition, list, text};

pub(super) const CHECKS: &[Check<History>] = &[
    Check {
        rule: Rule {
            id: "transition-time-moves",
            says: "lastTransitionTime changes with the status",
            remedy: "set lastTransitionTime to now whenever the status of a condition changes",
        },
        judge: transition_time_moves,
    },
    Check {
        rule: Rule {
            id: "transition-time-stays",
            says: "lastTransitionTime stays while the status stays, whatever reason and message do",
            remedy: "keep lastTransitionTime of the live object unless the status changes",
        },
        judge: transition_time_stays,
    },
    Check {
        rule: Rule {
            id: "transition-time-not-ahead",
            says: "lastTransitionTime is not in the future",
            remedy: "take the time from a clock that is synchronised; do not compute it",
        },
        judge: transition_time_not_ahead,
    },
];

/// Clocks of machines differ by so much even where they are synchronised.
const SKEW: SignedDuration = SignedDuration::from_secs(5);
/// The precision of times in the API, and a little for the way.
const SECOND: SignedDuration = SignedDuration::from_secs(2);
/// Where the server does not say when something was written, the clock of the watcher may be this wrong.
const OUR_SKEW: SignedDuration = SignedDuration::from_mins(5);

fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%SZ").to_string()
}

fn transition_time_moves(history: &History) -> Outcome {
    // Times are whole seconds: what changes twice within one keeps its time rightly.
    let is_older = |change: &Change<'_>| {
        let is_so = |seen: &&Seen| {
            Condition::find(&seen.object, change.after.kind)
                .is_some_and(|found| found.since == change.after.since)
        };
        let first = history.reports.iter().find(is_so);
        first.is_some_and(|first| change.at.duration_since(first.at) > SECOND)
    };
    let mut is_seen = false;
    let stood = history
        .changes()
        .inspect(|_| is_seen = true)
        .filter(|change| change.before.since == change.after.since && is_older(change));
    let stood: Vec<String> = stood
        .map(|change| {
            let (before, after) = (change.before, change.after);
            format!(
                "{}: {} went from {} to {}, lastTransitionTime is still {}",
                clock(change.at),
                after.kind,
                before.status,
                after.status,
                after.since
            )
        })
        .collect();
    if is_seen {
        Outcome::of(stood)
    } else {
        Outcome::not_seen("no condition changed; watch an update or a failure")
    }
}

fn transition_time_stays(history: &History) -> Outcome {
    let mut is_seen = false;
    let same =
        history.pairs().filter(|pair| pair.before.status == pair.after.status).inspect(|_| is_seen = true);
    let moved: Vec<String> = same
        .filter(|pair| pair.before.since != pair.after.since)
        .map(|pair| {
            let (before, after) = (pair.before, pair.after);
            format!(
                "{}: {} is still {}, but lastTransitionTime went from {} to {}",
                clock(pair.at),
                after.kind,
                after.status,
                before.since,
                after.since
            )
        })
        .collect();
    if is_seen { Outcome::of(moved) } else { Outcome::not_seen("nothing was reported twice; watch longer") }
}

fn transition_time_not_ahead(history: &History) -> Outcome {
    if history.reports.is_empty() {
        return Outcome::not_seen("the ClusterOperator never was there");
    }
    let mut ahead = Vec::new();
    for seen in &history.reports {
        let (limit, whose) = match written(&seen.object) {
            // The clock of the server is the one that everybody else compares with.
            Some(written) => (written + SKEW, "it was written"),
            None => (seen.at + OUR_SKEW, "it was seen"),
        };
        for found in list(&seen.object["status"]["conditions"]).iter().map(Condition::read) {
            let Ok(since) = found.since.parse::<Timestamp>() else { continue };
            let line = format!(
                "{}={} since {}, but {whose} at {}",
                found.kind,
                found.status,
                clock(since),
                clock(written(&seen.object).unwrap_or(seen.at))
            );
            if since > limit && ahead.len() < 5 {
                ahead.push(line);
            }
        }
    }
    Outcome::of(ahead)
}

/// When the server wrote the object last, by its own clock.
fn written(object: &Value) -> Option<Timestamp> {
    let managers = list(&object["metadata"]["managedFields"]).iter();
    managers.filter_map(|entry| text(&entry["time"]).parse().ok()).max()
}
