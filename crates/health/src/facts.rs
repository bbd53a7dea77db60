//! What an object says about itself.
//!
//! Every reader here is total: a part that is missing, or has another type than expected, is empty.

use lockstep_api::names::reason;
use lockstep_api::{object, text::visible};
use serde_json::Value;

use crate::Verdict;

/// How much of a foreign text goes into a sentence, in characters: enough for a cause, too little for a log file.
const LONGEST: usize = 1000;

/// One entry of `status.conditions`, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Condition<'a> {
    pub(crate) kind: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    /// The time of the last transition, as written.
    pub(crate) since: &'a str,
    pub(crate) observed_generation: Option<i64>,
}

// === impl Condition ===

impl<'a> Condition<'a> {
    /// The first condition of a type.
    pub(crate) fn find(object: &'a Value, kind: &str) -> Option<Self> {
        list(&object["status"]["conditions"]).iter().map(Self::read).find(|found| found.kind == kind)
    }

    /// Reads one entry.
    pub(crate) fn read(entry: &'a Value) -> Self {
        Self {
            kind: text(&entry["type"]),
            status: text(&entry["status"]),
            reason: text(&entry["reason"]),
            message: text(&entry["message"]),
            since: text(&entry["lastTransitionTime"]),
            observed_generation: entry["observedGeneration"].as_i64(),
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        self.status == "True"
    }

    pub(crate) fn is_false(&self) -> bool {
        self.status == "False"
    }

    /// The whole condition in words: `Available=False since 2026-07-01T10:31:02Z, reason Down: no endpoint`.
    ///
    /// The time is the one of the API, never "2 minutes ago": whoever compares sentences must see a change only when
    /// something changed.
    pub(crate) fn told(&self) -> String {
        let mut told = format!("{}={}", visible(self.kind), visible(self.status));
        for (before, part) in [(" since ", self.since), (", reason ", self.reason), (": ", self.message)] {
            if !part.trim().is_empty() {
                told += before;
                told += &one_line(part);
            }
        }
        told
    }

    /// Reason and message alone.
    pub(crate) fn cause(&self) -> String {
        cause(self.reason, self.message)
    }
}

/// Whether a condition is there and True.
pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    Condition::find(object, kind).is_some_and(|found| found.is_true())
}

/// Reason and message, whichever there is.
pub(crate) fn cause(reason: &str, message: &str) -> String {
    match (reason.trim().is_empty(), message.trim().is_empty()) {
        (false, false) => format!("{}: {}", one_line(reason), one_line(message)),
        (false, true) => one_line(reason),
        (true, false) => one_line(message),
        (true, true) => "no reason given".to_owned(),
    }
}

/// Kind and name for people, with the namespace where there is one: `Deployment openshift-dns/dns`.
pub(crate) fn called(object: &Value) -> String {
    format!("{} {}", visible(object::kind(object)), path(object))
}

/// The name, with the namespace where there is one.
pub(crate) fn path(object: &Value) -> String {
    let name = visible(object::name(object));
    match object::namespace(object) {
        "" => name.into_owned(),
        namespace => format!("{}/{name}", visible(namespace)),
    }
}

/// A foreign text as part of a sentence: one line, nothing that drives a terminal, not too long.
pub(crate) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let line = lines.join("; ");
    match line.char_indices().nth(LONGEST) {
        None => visible(&line).into_owned(),
        Some((end, _)) => format!("{}…", visible(&line[..end])),
    }
}

/// A text, or the empty one.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The entries of a list, or none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A count; what is not a count, or below zero, is zero.
pub(crate) fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0).max(0)
}

/// A count with the default that the API gives it.
pub(crate) fn count_or(value: &Value, default: i64) -> i64 {
    value.as_i64().unwrap_or(default).max(0)
}

/// Not yet, when the controller's status is about an older generation: then it must not be believed.
pub(crate) fn not_observed(object: &Value) -> Option<Verdict> {
    let (wanted, seen) =
        (count(&object["metadata"]["generation"]), count(&object["status"]["observedGeneration"]));
    (seen < wanted).then(|| {
        let at = if seen == 0 { "none yet".to_owned() } else { format!("generation {seen}") };
        Verdict::not_yet(
            reason::NOT_OBSERVED,
            format!("{}: its controller has not seen generation {wanted} (it has seen {at})", called(object)),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn condition_is_told_with_the_parts_that_it_has() {
        let told = |entry: Value| Condition::read(&entry).told();
        assert_eq!(told(json!({"type": "Available", "status": "False"})), "Available=False");
        assert_eq!(
            told(json!({"type": "Available", "status": "False", "reason": "Down", "message": "a\n\n b \n",
                "lastTransitionTime": "2026-07-01T10:31:02Z"})),
            "Available=False since 2026-07-01T10:31:02Z, reason Down: a; b"
        );
        assert_eq!(told(json!({"type": 7, "status": null, "message": [1]})), "=");
    }

    #[test]
    fn first_condition_of_a_type_counts() {
        let object = json!({"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]}});
        assert!(is_true(&object, "A"));
        assert!(!is_true(&object, "B"));
    }

    #[test]
    fn long_text_is_cut_at_a_character_and_escapes_are_shown() {
        let cut = one_line(&"ä".repeat(LONGEST + 1));
        assert_eq!(cut.chars().count(), LONGEST + 1);
        assert!(cut.ends_with("ä…"));
        assert_eq!(one_line(&"ä".repeat(LONGEST)).chars().count(), LONGEST);
        assert_eq!(one_line("a\u{1b}[2J"), "a\u{fffd}[2J");
    }

    #[test]
    fn older_status_is_not_believed_and_a_newer_one_is() {
        let at = |wanted: i64, seen: i64| {
            not_observed(&json!({"metadata": {"generation": wanted}, "status": {"observedGeneration": seen}}))
                .is_some()
        };
        assert!(at(2, 1));
        assert!(!at(2, 2));
        assert!(!at(2, 3));
        assert!(not_observed(&json!({"metadata": {"generation": 1}})).is_some());
        assert!(not_observed(&json!({})).is_none());
    }
}
