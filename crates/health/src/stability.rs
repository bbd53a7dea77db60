//! Whether operators have come to rest: which of them held `Progressing=False` long enough, and within how long.
//!
//! An operator that does not hold `Progressing=False` for 30 seconds within five minutes is unstable. Rest is counted by
//! what was observed, on the clock of who observes; timestamps of the cluster are never compared with it. They are used
//! for two things only: a transition time that is another one than before betrays a change that nobody saw, and how long
//! an object has not been written at all, by the server's own clock, is rest that counts from before the first look.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use lockstep_api::names::condition;
use lockstep_api::object;
use serde::Serialize;
use serde_json::Value;

use crate::facts::{Condition, list, text};

/// Somebody who observes for months does not remember everything.
const MOST_RESTS: usize = 10_000;

/// The two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long an operator has to rest.
    pub quiet: Duration,
    /// Within how long.
    pub period: Duration,
    /// Whether all have to rest at the same time, and not each once.
    pub together: bool,
}

/// What is observed of all operators. Moments are counted from when the observation began.
#[derive(Debug, Clone)]
pub struct Stability {
    limits: Limits,
    tracks: BTreeMap<String, Track>,
    expected: BTreeSet<String>,
    rests: Vec<Rest>,
}

/// What is observed of one operator.
#[derive(Debug, Clone)]
struct Track {
    state: State,
    /// The transition time of `Progressing` as it is written.
    transition: String,
    /// Since when it rests; what it rested before that.
    resting: Option<(Duration, Duration)>,
    /// The last moment that had a whole rest behind it.
    last_rested: Option<Duration>,
    /// How often it began to move again.
    starts: usize,
    sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Quiet,
    Moving,
    Gone,
}

/// A time of rest that came to its end: the data to choose the two numbers by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rest {
    /// Who.
    pub operator: String,
    /// How long, as far as it was observed.
    pub seconds: f64,
}

/// How things are at a moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// In one word.
    pub verdict: Verdict,
    /// Every operator, by name.
    pub operators: Vec<Operator>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
}

/// The judgement in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Somebody has not rested yet, and there is time.
    NotYet,
    /// Everybody has rested.
    Stable,
    /// The time is over, and somebody has not.
    Unstable,
}

/// One operator.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operator {
    /// Its name.
    pub name: String,
    /// Whether it has rested.
    pub is_stable: bool,
    /// For how long it rests now; 0 when it does not.
    pub quiet_seconds: u64,
    /// How often it was seen to move again.
    pub starts: usize,
    /// Its last transition, as it is written.
    pub last_transition: String,
    /// What it says, or what is missing.
    pub sentence: String,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { quiet: Duration::from_secs(30), period: Duration::from_mins(5), together: false }
    }
}

// === impl Stability ===

impl Stability {
    /// Begins to observe.
    pub fn new(limits: Limits) -> Self {
        Self { limits, tracks: BTreeMap::new(), expected: BTreeSet::new(), rests: Vec::new() }
    }

    /// Operators that have to be there, such as those of a release.
    pub fn expect(&mut self, names: impl IntoIterator<Item = String>) {
        self.expected.extend(names);
    }

    /// An operator as it is now, which was not written for `unchanged` before.
    pub fn see(&mut self, operator: &Value, unchanged: Duration, now: Duration) {
        let name = object::name(operator);
        let progressing = Condition::find(operator, condition::PROGRESSING);
        let (state, transition, sentence) = match &progressing {
            Some(found) if found.is_false() => (State::Quiet, found.since, found.told()),
            Some(found) => (State::Moving, found.since, found.told()),
            None => (State::Moving, "", "it reports no condition Progressing".to_owned()),
        };
        let before = self.tracks.get(name);
        // A flip that nobody saw leaves another time behind.
        let is_same = before.is_some_and(|it| it.state == state && it.transition == transition);
        if is_same {
            if let Some(track) = self.tracks.get_mut(name) {
                track.sentence = sentence;
            }
            return;
        }
        let credit = if before.is_none() { unchanged } else { Duration::ZERO };
        self.turn(name, state, transition, sentence, (now, credit));
    }

    /// An operator that is no longer there.
    pub fn gone(&mut self, name: &str, now: Duration) {
        if self.tracks.get(name).is_some_and(|track| track.state != State::Gone) {
            self.turn(name, State::Gone, "", "it is gone".to_owned(), (now, Duration::ZERO));
        }
    }

    fn turn(
        &mut self,
        name: &str,
        state: State,
        transition: &str,
        sentence: String,
        (now, credit): (Duration, Duration),
    ) {
        let quiet = self.limits.quiet;
        let before = self.tracks.get(name);
        let starts = before.map_or(0, |track| track.starts);
        let last_rested = before.and_then(|track| track.last_rested(quiet, now));
        let rested = before.and_then(|track| track.rested(now)).map(|it| it.as_secs_f64());
        if let Some(seconds) = rested.filter(|_| self.rests.len() < MOST_RESTS) {
            self.rests.push(Rest { operator: name.to_owned(), seconds });
        }
        let resting = (state != State::Moving).then_some((now, credit));
        let track = Track {
            state,
            transition: transition.to_owned(),
            resting,
            last_rested,
            starts: starts + usize::from(before.is_some() && state == State::Moving),
            sentence,
        };
        self.tracks.insert(name.to_owned(), track);
    }

    /// How things are now.
    pub fn judge(&self, now: Duration) -> Judgement {
        let Limits { quiet, period, together } = self.limits;
        let missing = self.expected.iter().filter(|name| self.is_missing(name));
        let mut operators: Vec<Operator> = missing
            .map(|name| Operator {
                name: name.clone(),
                is_stable: false,
                quiet_seconds: 0,
                starts: 0,
                last_transition: String::new(),
                sentence: "the release has it, and there is no such ClusterOperator".to_owned(),
            })
            .collect();
        let (mut all_quiet, mut notes) = (true, Vec::new());
        for (name, track) in self.tracks.iter().filter(|(name, _)| !self.is_missing(name)) {
            let rested = track.rested(now);
            all_quiet &= rested.is_some();
            let is_stable = if together {
                rested.is_some_and(|rested| rested >= quiet)
            } else {
                track.last_rested(quiet, now).is_some()
            };
            if track.state == State::Gone {
                notes.push(format!("ClusterOperator {name} was there and is gone"));
            } else if is_stable && rested.is_none() {
                notes.push(format!("ClusterOperator {name} rested and moves again: {}", track.sentence));
            }
            operators.push(Operator {
                name: name.clone(),
                is_stable,
                quiet_seconds: rested.unwrap_or_default().as_secs(),
                starts: track.starts,
                last_transition: track.transition.clone(),
                sentence: track.sentence.clone(),
            });
        }
        operators.sort_by(|one, other| one.name.cmp(&other.name));
        let is_anybody = self.tracks.values().any(|track| track.state != State::Gone);
        let have_all = is_anybody && operators.iter().all(|operator| operator.is_stable);
        if !is_anybody {
            notes.push("there is no ClusterOperator: nothing was judged".to_owned());
        }
        let verdict = match (have_all, now >= period) {
            (true, true) => Verdict::Stable,
            (true, false) if all_quiet => Verdict::Stable,
            (false, true) => Verdict::Unstable,
            (_, false) => Verdict::NotYet,
        };
        Judgement { verdict, operators, notes }
    }

    /// When the judgement may be another one although nothing happens.
    pub fn next_look(&self, now: Duration) -> Option<Duration> {
        let quiet = self.limits.quiet;
        let ends = self.tracks.values().filter_map(|track| {
            let (since, credit) = track.resting?;
            Some(since + quiet.saturating_sub(credit))
        });
        ends.chain([self.limits.period]).filter(|moment| *moment > now).min()
    }

    /// Operators that have not rested for a whole period: what somebody who never stops to observe calls unstable.
    pub fn restless(&self, now: Duration) -> BTreeMap<&str, &str> {
        let Limits { quiet, period, .. } = self.limits;
        let is_restless = |track: &Track| {
            track.state == State::Moving
                && now.saturating_sub(track.last_rested(quiet, now).unwrap_or_default()) >= period
        };
        self.tracks
            .iter()
            .filter(|(_, track)| is_restless(track))
            .map(|(name, track)| (name.as_str(), track.sentence.as_str()))
            .collect()
    }

    /// When the next of them becomes restless, if nothing happens.
    pub fn next_restless(&self, now: Duration) -> Option<Duration> {
        let Limits { quiet, period, .. } = self.limits;
        let moving = self.tracks.values().filter(|track| track.state == State::Moving);
        let moments = moving.map(|track| track.last_rested(quiet, now).unwrap_or_default() + period);
        moments.filter(|moment| *moment > now).min()
    }

    /// The times of rest that came to an end.
    pub fn rests(&self) -> &[Rest] {
        &self.rests
    }

    fn is_missing(&self, name: &str) -> bool {
        self.expected.contains(name) && self.tracks.get(name).is_none_or(|track| track.state == State::Gone)
    }
}

// === impl Track ===

impl Track {
    /// For how long it rests now.
    fn rested(&self, now: Duration) -> Option<Duration> {
        self.resting.map(|(since, credit)| now.saturating_sub(since) + credit)
    }

    /// The last moment that had a whole rest behind it.
    fn last_rested(&self, quiet: Duration, now: Duration) -> Option<Duration> {
        match self.rested(now) {
            Some(rested) if rested >= quiet => Some(now),
            _ => self.last_rested,
        }
    }
}

/// How long nobody has written an object, by the clock of the server that wrote its metadata.
///
/// Zero where that cannot be said.
pub fn unchanged_for(object: &Value, server_time: Option<Timestamp>) -> Duration {
    let metadata = &object["metadata"];
    let written = list(&metadata["managedFields"]).iter().map(|entry| text(&entry["time"]));
    let moments: Option<Vec<Timestamp>> = written.map(|time| time.parse().ok()).collect();
    let last = moments.and_then(|moments| moments.into_iter().max());
    match (last, server_time) {
        (Some(last), Some(now)) => now.duration_since(last).try_into().unwrap_or_default(),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
#[path = "stability_tests.rs"]
mod tests;
