//! What a report may do while versions and workloads move, and while they do not.

use jiff::{SignedDuration, Timestamp};
use lockstep_api::names::condition;
use serde_json::Value;

use super::history::operator_version;
use super::{Check, History, Outcome, Rule};
use crate::facts::Condition;

pub(super) const CHECKS: &[Check<History>] = &[
    Check {
        rule: Rule {
            id: "version-after-operands",
            says: "The version changes only when no operand runs the old one any more",
            remedy: "keep the old version until every replica of every operand is new",
        },
        judge: version_after_operands,
    },
    Check {
        rule: Rule {
            id: "version-when-available",
            says: "The version changes in a report that also says Available=True",
            remedy: "write all fields of the status in one request",
        },
        judge: version_when_available,
    },
    Check {
        rule: Rule {
            id: "progressing-while-moving",
            says: "Progressing is True while operands move to another version",
            remedy: "say Progressing=True as soon as an operand is changed, until the last replica is new",
        },
        judge: progressing_while_moving,
    },
    Check {
        rule: Rule {
            id: "steady-without-progressing",
            says: "Progressing does not become True while nothing moves",
            remedy: "do not say Progressing for plain reconciling, or because a Pod or a node restarts",
        },
        judge: steady_without_progressing,
    },
    Check {
        rule: Rule {
            id: "progress-ends",
            says: "Progressing ends within 20 minutes (machine-config: 90)",
            remedy: "find out what it waits for; say Degraded when it does not get on",
        },
        judge: progress_ends,
    },
    Check {
        rule: Rule {
            id: "available-while-moving",
            says: "A rollout does not make the component unavailable",
            remedy: "roll out replica by replica; say Available=False only when an administrator has to act at once",
        },
        judge: available_while_moving,
    },
    Check {
        rule: Rule {
            id: "no-flapping",
            says: "No condition changes more than twice within two minutes",
            remedy: "report what lasts: give parts that come and go some inertia",
        },
        judge: no_flapping,
    },
    Check {
        rule: Rule {
            id: "degraded-lasts",
            says: "Degraded=True is said of what lasts, not of a moment",
            remedy: "wait two minutes before a bad part makes Degraded True",
        },
        judge: degraded_lasts,
    },
];

/// A span in which a condition must not change more than [`CHANGES`] times; both are those of the alert.
const SPAN: SignedDuration = SignedDuration::from_mins(2);
const CHANGES: usize = 2;
/// Degraded that ends sooner was no lower quality of service over a period of time.
const MOMENT: SignedDuration = SignedDuration::from_secs(60);
/// How long an update of a component may take, and the one that may take longer.
const LONGEST: SignedDuration = SignedDuration::from_mins(20);
const SLOW: (&str, SignedDuration) = ("machine-config", SignedDuration::from_mins(90));

fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%SZ").to_string()
}

fn is_true(report: &Value, kind: &str) -> bool {
    Condition::find(report, kind).is_some_and(|found| found.is_true())
}

fn no_move() -> Outcome {
    Outcome::not_seen("the version did not change; watch an install or an update")
}

fn version_after_operands(history: &History) -> Outcome {
    if history.moves().next().is_none() {
        return no_move();
    }
    if history.workloads.is_empty() {
        return Outcome::not_applicable("there are no workloads in its namespaces");
    }
    let early = history.moves().flat_map(|(seen, _, new)| {
        history
            .on_their_way(seen.at)
            .map(move |why| format!("{}: the version became {new}, but {why}", clock(seen.at)))
    });
    Outcome::of(early.collect())
}

fn version_when_available(history: &History) -> Outcome {
    if history.moves().next().is_none() {
        return no_move();
    }
    let bad = history.moves().filter(|(seen, ..)| !is_true(&seen.object, condition::AVAILABLE));
    let bad = bad.map(|(seen, _, new)| {
        let status =
            Condition::find(&seen.object, condition::AVAILABLE).map_or("missing", |found| found.status);
        format!("{}: the version became {new} while Available was {status}", clock(seen.at))
    });
    Outcome::of(bad.collect())
}

fn progressing_while_moving(history: &History) -> Outcome {
    let mut is_seen = false;
    let mut silent = Vec::new();
    let mut since = history.begin;
    for (seen, old, new) in history.moves() {
        if history.is_moving(since, seen.at) {
            is_seen = true;
            let on_the_way =
                history.reports.iter().filter(|report| report.at >= since && report.at <= seen.at);
            if !on_the_way.into_iter().any(|report| is_true(&report.object, condition::PROGRESSING)) {
                let old = if old.is_empty() { "nothing" } else { old };
                silent.push(format!(
                    "{}: the version went from {old} to {new} without Progressing=True",
                    clock(seen.at)
                ));
            }
        }
        since = seen.at;
    }
    if is_seen { Outcome::of(silent) } else { no_move() }
}

fn steady_without_progressing(history: &History) -> Outcome {
    let is_at_rest = |seen: &&super::Seen| {
        Condition::find(&seen.object, condition::PROGRESSING).is_some_and(|found| found.is_false())
    };
    if !history.reports.iter().any(|seen| is_at_rest(&seen)) {
        return Outcome::not_seen("Progressing never was False; watch it at rest");
    }
    let begins = history
        .changes()
        .filter(|change| change.after.kind == condition::PROGRESSING && change.after.is_true());
    let idle = begins.filter_map(|change| {
        let end = history
            .changes()
            .find(|later| later.after.kind == condition::PROGRESSING && later.at > change.at);
        let end = end.map_or(history.end, |later| later.at);
        let version = |at: Timestamp| {
            let seen = history.reports.iter().rev().find(|seen| seen.at <= at);
            seen.map(|seen| operator_version(&seen.object)).unwrap_or_default()
        };
        let is_still = !history.is_moving(change.at, end) && version(change.at) == version(end);
        is_still.then(|| {
            let why =
                if change.after.message.is_empty() { change.after.reason } else { change.after.message };
            format!(
                "{}: Progressing became True ({why}), but neither a workload nor a version moved",
                clock(change.at)
            )
        })
    });
    Outcome::of(idle.collect())
}

fn progress_ends(history: &History) -> Outcome {
    let limit = if history.name == SLOW.0 { SLOW.1 } else { LONGEST };
    let mut since: Option<Timestamp> = None;
    let mut was_seen = false;
    let mut slow = Vec::new();
    for (at, progressing) in history
        .reports
        .iter()
        .map(|seen| (seen.at, Condition::find(&seen.object, condition::PROGRESSING)))
        .chain([(history.end, None)])
    {
        match (since, progressing.is_some_and(|found| found.is_true())) {
            // What it says itself counts where it was found so.
            (None, true) => {
                was_seen = true;
                let said = progressing.and_then(|found| found.since.parse().ok()).filter(|said| *said <= at);
                since = Some(if at <= history.begin { said.unwrap_or(at) } else { at });
            }
            (Some(start), is_still) => {
                if at.duration_since(start) > limit {
                    let minutes = at.duration_since(start).as_mins();
                    slow.push(format!(
                        "{}: Progressing has been True for {minutes} minutes, since {}",
                        clock(at),
                        clock(start)
                    ));
                }
                since = is_still.then_some(start);
            }
            (None, false) => {}
        }
    }
    if was_seen {
        Outcome::of(slow.pop().into_iter().collect())
    } else {
        Outcome::not_seen("Progressing never was True")
    }
}

fn available_while_moving(history: &History) -> Outcome {
    let is_loss = |change: &super::history::Change<'_>| {
        change.after.kind == condition::AVAILABLE && change.before.is_true() && !change.after.is_true()
    };
    let lost = history.changes().filter(is_loss).filter(|change| history.is_moving(change.at, change.at));
    let lost: Vec<String> = lost
        .map(|change| {
            format!(
                "{}: Available became {} during a rollout: {}",
                clock(change.at),
                change.after.status,
                change.after.message
            )
        })
        .collect();
    if lost.is_empty() && !history.is_moving(history.begin, history.end) {
        return Outcome::not_seen("nothing was rolled out; watch an update");
    }
    Outcome::of(lost)
}

fn no_flapping(history: &History) -> Outcome {
    let kinds = [condition::AVAILABLE, condition::PROGRESSING, condition::DEGRADED, condition::UPGRADEABLE];
    let flapping = kinds.iter().filter_map(|kind| {
        let times: Vec<Timestamp> =
            history.changes().filter(|change| change.after.kind == *kind).map(|change| change.at).collect();
        let span = times
            .windows(CHANGES + 1)
            .find(|span| matches!(span, [first, .., last] if last.duration_since(*first) <= SPAN))?;
        let [first, .., last] = span else { return None };
        let seconds = last.duration_since(*first).as_secs();
        Some(format!("{kind} changed {} times within {seconds} s, from {} on", span.len(), clock(*first)))
    });
    Outcome::of(flapping.collect())
}

fn degraded_lasts(history: &History) -> Outcome {
    let mut since: Option<Timestamp> = None;
    let mut was_seen = false;
    let mut short = Vec::new();
    for change in history.changes().filter(|change| change.after.kind == condition::DEGRADED) {
        if change.after.is_true() {
            since = Some(change.at);
            was_seen = true;
        } else if let Some(start) = since.take() {
            let lasted = change.at.duration_since(start);
            if lasted < MOMENT {
                short.push(format!(
                    "{}: Degraded was True for {} s only: {}",
                    clock(start),
                    lasted.as_secs(),
                    change.before.message
                ));
            }
        }
    }
    if was_seen {
        Outcome::of(short)
    } else {
        Outcome::not_seen("Degraded never became True; watch a failure")
    }
}
