//! What a report holds: the conditions that everybody reads, versions, words.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::names::{condition, object as names};
use serde_json::Value;

use super::{Check, History, Outcome, Rule};
use crate::facts::{Condition, list, text};

pub(super) const CHECKS: &[Check<History>] = &[
    Check {
        rule: Rule {
            id: "core-conditions",
            says: "Available, Progressing and Degraded are always reported",
            remedy: "report all three in one write, from the first report on",
        },
        judge: core_conditions,
    },
    Check {
        rule: Rule {
            id: "condition-values",
            says: "A condition is True, False or Unknown, and stands in the list once",
            remedy: "write one of the three words",
        },
        judge: condition_values,
    },
    Check {
        rule: Rule {
            id: "operator-version",
            says: "Whoever is available reports the version `operator`, and every name once",
            remedy: "report the version of the release under the name `operator`",
        },
        judge: operator_version,
    },
    Check {
        rule: Rule {
            id: "bad-news-explained",
            says: "A condition that is bad or unknown has a reason, and a bad one a message",
            remedy: "say in the message what is wrong and what an administrator can do",
        },
        judge: bad_news_explained,
    },
    Check {
        rule: Rule {
            id: "reasons-are-words",
            says: "A reason is one word that tools can match on",
            remedy: "write CamelCase without spaces; put sentences into the message",
        },
        judge: reasons_are_words,
    },
    Check {
        rule: Rule {
            id: "messages-steady",
            says: "A message changes when something changes, not with every look at a clock or a counter",
            remedy: "leave times, counters and addresses that change by themselves out of messages",
        },
        judge: messages_steady,
    },
];

/// The conditions that everybody reads.
pub(super) const CORE: [&str; 3] = [condition::AVAILABLE, condition::PROGRESSING, condition::DEGRADED];

/// Every report with its time.
fn each<'a>(history: &'a History, wrong: impl Fn(&'a Value) -> Vec<String>) -> Outcome {
    if history.reports.is_empty() {
        return Outcome::not_seen("the ClusterOperator never was there");
    }
    let mut told = BTreeSet::new();
    let mut evidence = Vec::new();
    for seen in &history.reports {
        for line in wrong(&seen.object) {
            // What is wrong all the time is told once.
            if told.insert(line.clone()) {
                evidence.push(format!("{}: {line}", seen.at.strftime("%H:%M:%SZ")));
            }
        }
    }
    Outcome::of(evidence)
}

fn conditions(report: &Value) -> impl Iterator<Item = Condition<'_>> {
    list(&report["status"]["conditions"]).iter().map(Condition::read)
}

fn core_conditions(history: &History) -> Outcome {
    each(history, |report| {
        let missing = CORE.iter().filter(|kind| Condition::find(report, kind).is_none());
        // Whoever applies a release creates the object before the operator is there.
        let is_blank = list(&report["status"]["conditions"]).is_empty()
            && list(&report["status"]["versions"]).is_empty();
        let is_last = history.last() == Some(report);
        if is_blank && !is_last {
            Vec::new()
        } else {
            missing.map(|kind| format!("{kind} is missing")).collect()
        }
    })
}

fn condition_values(history: &History) -> Outcome {
    each(history, |report| {
        let mut seen = BTreeSet::new();
        let mut wrong = Vec::new();
        for found in conditions(report) {
            if !["True", "False", "Unknown"].contains(&found.status) {
                wrong.push(format!("{} is `{}`", found.kind, found.status));
            }
            if !seen.insert(found.kind) {
                wrong.push(format!("{} stands in the list twice", found.kind));
            }
        }
        wrong
    })
}

/// What is wrong with the versions of a ClusterOperator, shipped or reported.
pub(super) fn wrong_versions(operator: &Value, called: &str) -> Vec<String> {
    let versions = list(&operator["status"]["versions"]);
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in versions {
        *count.entry(text(&entry["name"])).or_default() += 1;
    }
    let mut wrong = Vec::new();
    if !count.contains_key(names::OPERATOR_VERSION) {
        wrong.push(format!("{called}: there is no version `operator`"));
    }
    let repeated = count.iter().filter(|(_, count)| **count > 1);
    wrong.extend(
        repeated.map(|(name, count)| format!("{called}: the version `{name}` stands there {count} times")),
    );
    let empty = versions.iter().filter(|entry| text(&entry["version"]).is_empty());
    wrong.extend(empty.map(|entry| format!("{called}: the version `{}` is empty", text(&entry["name"]))));
    wrong
}

fn operator_version(history: &History) -> Outcome {
    let is_available =
        |report: &Value| Condition::find(report, condition::AVAILABLE).is_some_and(|found| found.is_true());
    if !history.reports.iter().any(|seen| is_available(&seen.object)) {
        return Outcome::not_seen("it never was available; watch until it is");
    }
    each(
        history,
        |report| if is_available(report) { wrong_versions(report, "status.versions") } else { Vec::new() },
    )
}

/// The status of a condition that is bad news.
fn bad(kind: &str) -> Option<&'static str> {
    match kind {
        condition::AVAILABLE | condition::UPGRADEABLE => Some("False"),
        condition::DEGRADED | condition::PROGRESSING => Some("True"),
        _ => None,
    }
}

fn bad_news_explained(history: &History) -> Outcome {
    let news = |found: &Condition<'_>| {
        bad(found.kind).is_some_and(|bad| found.status == bad || found.status == "Unknown")
    };
    if !history.reports.iter().any(|seen| conditions(&seen.object).any(|found| news(&found))) {
        return Outcome::not_seen("there was no bad news; watch an update or a failure");
    }
    each(history, |report| {
        let mut wrong = Vec::new();
        for found in conditions(report).filter(news) {
            if found.reason.is_empty() {
                wrong.push(format!("{}={} has no reason", found.kind, found.status));
            }
            if found.message.is_empty() && found.status != "Unknown" {
                wrong.push(format!("{}={} has no message", found.kind, found.status));
            }
        }
        wrong
    })
}

fn reasons_are_words(history: &History) -> Outcome {
    let is_word = |reason: &str| {
        let ends = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        reason.chars().all(|letter| ends(letter) || letter == ',' || letter == ':') && reason.ends_with(ends)
    };
    each(history, |report| {
        let odd = conditions(report).filter(|found| !found.reason.is_empty() && !is_word(found.reason));
        odd.map(|found| format!("the reason of {} is `{}`", found.kind, found.reason)).collect()
    })
}

/// How often a message may change although nothing else does.
const CHANGES: usize = 1;

fn messages_steady(history: &History) -> Outcome {
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut steady = 0;
    for pair in history.pairs() {
        let (before, after) = (pair.before, pair.after);
        let is_steady = (before.status, before.reason) == (after.status, after.reason)
            && !(after.kind == condition::PROGRESSING && after.is_true())
            && !history.is_moving(pair.at, pair.at);
        if !is_steady {
            continue;
        }
        steady += 1;
        if before.message != after.message && masked(before.message) == masked(after.message) {
            let line = format!(
                "{}: {} says `{}`, before `{}`",
                pair.at.strftime("%H:%M:%SZ"),
                after.kind,
                after.message,
                before.message
            );
            kinds.entry(after.kind).or_default().push(line);
        }
    }
    let evidence: Vec<String> =
        kinds.into_values().filter(|lines| lines.len() > CHANGES).flatten().take(5).collect();
    if evidence.is_empty() && steady == 0 && history.reports.len() > 1 {
        return Outcome::not_seen("it never was steady; watch it at rest");
    }
    Outcome::of(evidence)
}

/// A text without its digits.
fn masked(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
