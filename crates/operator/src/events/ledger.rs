//! Which events were written, and which write a new note becomes: an event, one more of the same, or nothing yet.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use lockstep_api::Time;
use lockstep_api::names::{group, kind, namespace, object};
use lockstep_api::text::masked;

use super::{About, Note};
use crate::{Notice, Tone};

/// The events of the last minutes.
#[derive(Debug)]
pub(super) struct Ledger {
    seed: String,
    entries: BTreeMap<Key, Entry>,
}

/// What makes events the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    about: About,
    is_warning: bool,
    reason: &'static str,
    /// Empty for the event that stands for all further messages of a reason: no note has an empty one.
    message: String,
}

/// A write of one event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Write {
    pub(super) name: String,
    pub(super) act: Act,
}

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    /// The whole event.
    Create(Value),
    /// Operations of a JSON patch.
    Patch(Value),
}

#[derive(Debug)]
struct Entry {
    name: String,
    /// The message as it is shown; of a combined event that of the last note.
    message: String,
    count: u64,
    first: Timestamp,
    last: Timestamp,
    /// When it was last written.
    written: Timestamp,
    is_unwritten: bool,
}

/// Repeats within this time are one event with a count.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// How many different messages of one reason are events of their own within the window.
const MOST_MESSAGES: usize = 10;
/// The shortest time between two writes of one event.
const WRITE_EVERY: SignedDuration = SignedDuration::from_secs(10);
/// The longest message in bytes: what the API server takes.
const LONGEST_MESSAGE: usize = 1024;
/// Says that more than one message stands behind an event.
const COMBINED: &str = "(combined from similar events): ";

// === impl Ledger ===

impl Ledger {
    pub(super) fn new(seed: &str) -> Self {
        Self { seed: seed.to_owned(), entries: BTreeMap::new() }
    }

    /// Takes a note; gives what is to be written at once.
    pub(super) fn take(&mut self, note: Note, now: Timestamp) -> Option<Write> {
        self.entries.retain(|_, entry| entry.is_unwritten || now.duration_since(entry.last) < WINDOW);
        let Note { about, notice: Notice { tone, reason, message } } = note;
        let mut message = bounded(&masked(&message), LONGEST_MESSAGE);
        let mut key = Key { about, is_warning: tone == Tone::Warning, reason, message: message.clone() };
        if !self.entries.contains_key(&key) && self.messages(&key) >= MOST_MESSAGES {
            message = bounded(&format!("{COMBINED}{message}"), LONGEST_MESSAGE);
            key.message.clear();
        }
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.count += 1;
            entry.last = now;
            entry.message = message;
            entry.is_unwritten = true;
            return (now.duration_since(entry.written) >= WRITE_EVERY).then(|| entry.patch(now));
        }
        let name = name(&self.seed, &key, now);
        let entry =
            Entry { name, message, count: 1, first: now, last: now, written: now, is_unwritten: false };
        let write = entry.create(&key);
        self.entries.insert(key, entry);
        Some(write)
    }

    /// When something that was held back is to be written.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let held_back = self.entries.values().filter(|entry| entry.is_unwritten);
        held_back.filter_map(|entry| entry.written.checked_add(WRITE_EVERY).ok()).min()
    }

    /// What was held back and is to be written now.
    pub(super) fn due(&mut self, now: Timestamp) -> Vec<Write> {
        let is_due =
            |entry: &&mut Entry| entry.is_unwritten && now.duration_since(entry.written) >= WRITE_EVERY;
        self.entries.values_mut().filter(is_due).map(|entry| entry.patch(now)).collect()
    }

    /// An event is gone from the server: the same one as a new one.
    pub(super) fn renew(&mut self, name: &str, now: Timestamp) -> Option<Write> {
        let (key, entry) = self.entries.iter_mut().find(|(_, entry)| entry.name == name)?;
        entry.name = self::name(&self.seed, key, now);
        Some(entry.create(key))
    }

    /// An event could not be written: the next note like it begins anew.
    pub(super) fn forget(&mut self, name: &str) {
        self.entries.retain(|_, entry| entry.name != name);
    }

    /// How many different messages the reason of a note has had.
    fn messages(&self, of: &Key) -> usize {
        let is_alike = |key: &&Key| {
            (key.about, key.is_warning, key.reason) == (of.about, of.is_warning, of.reason)
                && !key.message.is_empty()
        };
        self.entries.keys().filter(is_alike).count()
    }
}

// === impl Entry ===

impl Entry {
    /// NB: the name is that of an event which exists, or the write before has failed and the entry is gone.
    fn patch(&mut self, now: Timestamp) -> Write {
        self.is_unwritten = false;
        self.written = now;
        let operations = json!([
            {"op": "replace", "path": "/count", "value": self.count},
            {"op": "replace", "path": "/lastTimestamp", "value": Time::from(self.last)},
            {"op": "replace", "path": "/message", "value": self.message},
        ]);
        Write { name: self.name.clone(), act: Act::Patch(operations) }
    }

    fn create(&self, key: &Key) -> Write {
        let (api_version, kind) = match key.about {
            About::ClusterVersion => (format!("{}/v1", group::CONFIG), kind::CLUSTER_VERSION),
            About::Lease => (format!("{}/v1", group::COORDINATION), kind::LEASE),
        };
        // NB: a cluster-scoped object has no namespace, but an event is refused whose object is elsewhere.
        let event = json!({
            "apiVersion": "v1",
            "kind": kind::EVENT,
            "metadata": {"name": self.name, "namespace": namespace::CLUSTER_VERSION},
            "involvedObject": {"apiVersion": api_version, "kind": kind, "name": object::VERSION,
                "namespace": namespace::CLUSTER_VERSION},
            "type": if key.is_warning { "Warning" } else { "Normal" },
            "reason": key.reason,
            "message": self.message,
            "count": self.count,
            "firstTimestamp": Time::from(self.first),
            "lastTimestamp": Time::from(self.last),
            "source": {"component": namespace::CLUSTER_VERSION},
            "reportingComponent": namespace::CLUSTER_VERSION,
        });
        Write { name: self.name.clone(), act: Act::Create(event) }
    }
}

/// A name that no other event has, and that the same event would have again.
fn name(seed: &str, key: &Key, now: Timestamp) -> String {
    let mut hash = Sha256::new();
    for part in [seed, key.reason, &key.message, &now.as_nanosecond().to_string()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut name = format!("{}.", object::VERSION);
    for byte in &hash.finalize()[..8] {
        // Always succeeds: it is a text.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// The text, cut between two characters where it is longer; never empty, for the API server wants something to read.
fn bounded(text: &str, most: usize) -> String {
    const CUT: &str = "…";
    match text.len() {
        0 => "-".to_owned(),
        length if length <= most => text.to_owned(),
        _ => format!("{}{CUT}", &text[..text.floor_char_boundary(most - CUT.len())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + seconds).unwrap()
    }

    fn note(reason: &'static str, message: &str) -> Note {
        Note { about: About::ClusterVersion, notice: Notice::normal(reason, message) }
    }

    fn created(write: Option<Write>) -> Value {
        match write.unwrap().act {
            Act::Create(event) => event,
            Act::Patch(patch) => panic!("{patch}"),
        }
    }

    fn patched(write: Write) -> (u64, String) {
        match write.act {
            Act::Patch(patch) => {
                (patch[0]["value"].as_u64().unwrap(), patch[2]["value"].as_str().unwrap().to_owned())
            }
            Act::Create(event) => panic!("{event}"),
        }
    }

    #[test]
    fn event_has_the_form_that_describe_reads() {
        let event = created(Ledger::new("a").take(note("LoadPayload", "Loading payload"), at(0)));
        assert_eq!(event["involvedObject"]["kind"], "ClusterVersion");
        assert_eq!(event["involvedObject"]["namespace"], "openshift-cluster-version");
        assert_eq!(event["metadata"]["namespace"], "openshift-cluster-version");
        assert_eq!(event["source"]["component"], "openshift-cluster-version");
        assert_eq!((&event["count"], &event["type"]), (&json!(1), &json!("Normal")));
        assert_eq!(event["firstTimestamp"], "2026-01-01T00:00:00Z");
        let about = About::Lease;
        let event = created(Ledger::new("a").take(Note { about, ..note("LeaderElection", "x") }, at(0)));
        assert_eq!(event["involvedObject"]["apiVersion"], "coordination.k8s.io/v1");
    }

    #[test]
    fn repeat_is_counted_and_written_at_most_every_ten_seconds() {
        let mut ledger = Ledger::new("a");
        assert!(ledger.take(note("R", "m"), at(0)).is_some());
        assert_eq!(ledger.take(note("R", "m"), at(1)), None);
        assert_eq!(ledger.take(note("R", "m"), at(2)), None);
        assert_eq!(ledger.next_due(), Some(at(10)));
        assert!(ledger.due(at(9)).is_empty());
        assert_eq!(patched(ledger.due(at(10)).remove(0)), (3, "m".to_owned()));
        assert_eq!(ledger.next_due(), None);
        assert_eq!(patched(ledger.take(note("R", "m"), at(30)).unwrap()), (4, "m".to_owned()));
    }

    #[test]
    fn repeat_after_the_window_is_a_new_event() {
        let mut ledger = Ledger::new("a");
        let first = ledger.take(note("R", "m"), at(0)).unwrap();
        let second = ledger.take(note("R", "m"), at(600)).unwrap();
        assert!(matches!(second.act, Act::Create(_)));
        assert_ne!(first.name, second.name);
    }

    #[test]
    fn ever_new_messages_of_one_reason_are_combined() {
        let mut ledger = Ledger::new("a");
        for number in 0..10 {
            created(ledger.take(note("R", &format!("m{number}")), at(number)));
        }
        let combined = created(ledger.take(note("R", "m10"), at(10)));
        assert_eq!(combined["message"], "(combined from similar events): m10");
        assert_eq!(ledger.take(note("R", "m11"), at(11)), None);
        assert_eq!(patched(ledger.due(at(30)).remove(0)).1, "(combined from similar events): m11");
        assert_eq!(created(ledger.take(note("Other", "m12"), at(31)))["message"], "m12");
    }

    #[test]
    fn event_that_is_gone_comes_again_with_its_count() {
        let mut ledger = Ledger::new("a");
        ledger.take(note("R", "m"), at(0));
        let patch = ledger.take(note("R", "m"), at(20)).unwrap();
        let event = created(ledger.renew(&patch.name, at(20)));
        assert_eq!((&event["count"], &event["firstTimestamp"]), (&json!(2), &json!("2026-01-01T00:00:00Z")));
        assert_ne!(event["metadata"]["name"], patch.name);
    }

    #[test]
    fn names_are_the_same_for_the_same_and_differ_by_seed_time_and_text() {
        let name = |seed: &str, message: &str, second: i64| {
            Ledger::new(seed).take(note("R", message), at(second)).unwrap().name
        };
        assert_eq!(name("a", "m", 0), name("a", "m", 0));
        for other in [name("b", "m", 0), name("a", "n", 0), name("a", "m", 1)] {
            assert_ne!(name("a", "m", 0), other);
        }
    }

    #[test]
    fn message_is_masked_bounded_and_never_empty() {
        let message = |text: &str| created(Ledger::new("a").take(note("R", text), at(0)))["message"].clone();
        assert_eq!(message("from https://a:b@example.com"), "from https://(secret)@example.com");
        assert_eq!(message(""), "-");
        let long = message(&"ä".repeat(2000));
        assert!(long.as_str().unwrap().len() <= 1024 && long.as_str().unwrap().ends_with('…'));
    }
}
