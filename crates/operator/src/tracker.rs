//! The events of an engine as the report of a run: how far it is, and what keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lockstep_api::names::reason;
use lockstep_apply::progress::{Event, Happening, WaitReason};
use lockstep_graph::report::{Effect, FailedTask, Failure, condense, one_of};
use lockstep_graph::{Role, TaskId};
use lockstep_health::Mode;
use serde_json::Value;
use tokio::time::Instant;

use crate::gates::GateTask;

/// How long something may keep a run before it is told as a problem: most of it is over at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The same for what is no operator: kinds and namespaces that are just coming are nobody's business.
const LONG_PATIENCE: Duration = Duration::from_mins(1);

/// What is known of a run.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// All tasks, for people: `deployment "ns/name" (3 of 9)`.
    texts: Vec<String>,
    gates: BTreeMap<TaskId, GateTask>,
    done: BTreeSet<TaskId>,
    started: BTreeMap<TaskId, f64>,
    waiting: BTreeMap<TaskId, (WaitReason, String, Instant)>,
    failed: BTreeMap<TaskId, (String, String, Instant)>,
    drifted: BTreeMap<String, Instant>,
    /// Operators of a release that is complete which are not well, and since when.
    unwell: BTreeMap<TaskId, Instant>,
    fights: BTreeMap<(String, String), String>,
}

// === impl Tracker ===

impl Tracker {
    pub(crate) fn new(texts: Vec<String>, gates: BTreeMap<TaskId, GateTask>) -> Self {
        Self { texts, gates, ..Self::default() }
    }

    /// Takes in an event.
    pub(crate) fn on(&mut self, event: &Event, now: Instant) {
        match &event.what {
            Happening::Started { task } => {
                self.started.entry(*task).or_insert(event.at);
            }
            Happening::Waiting { task, wait } => {
                let since = match self.waiting.get(task) {
                    Some((reason, _, since)) if *reason == wait.reason => *since,
                    _ => now,
                };
                self.failed.remove(task);
                self.waiting.insert(*task, (wait.reason, wait.sentence.clone(), since));
            }
            Happening::Failed { task, reason, sentence, .. } => {
                let since = self.failed.get(task).map_or(now, |(.., since)| *since);
                self.waiting.remove(task);
                self.failed.insert(*task, (reason.clone(), sentence.clone(), since));
            }
            Happening::Done { task } => {
                self.waiting.remove(task);
                self.failed.remove(task);
                self.done.insert(*task);
            }
            Happening::Drifted { object, .. } => {
                self.drifted.entry(object.clone()).or_insert(now);
            }
            Happening::Repaired { object, .. } => {
                self.drifted.remove(object);
            }
            Happening::Fighting { object, field, manager, .. } => {
                self.fights.insert((object.clone(), field.clone()), manager.clone());
            }
            // What a task waits for goes on to be told until it is done, fails or waits for something else.
            Happening::Began { .. }
            | Happening::Orphan { .. }
            | Happening::Remark { .. }
            | Happening::Compared { .. }
            | Happening::Applied { .. }
            | Happening::Unchanged { .. }
            | Happening::Woke { .. }
            | Happening::Retried { .. }
            | Happening::Overridden { .. }
            | Happening::Concurrency { .. }
            | Happening::Ended { .. } => {}
        }
    }

    /// Tasks that are done.
    pub(crate) fn done(&self) -> usize {
        self.done.len()
    }

    /// All tasks.
    pub(crate) fn total(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.done() == self.total()
    }

    /// When the first request of a task went out, in seconds since the run began.
    pub(crate) fn started_at(&self, task: TaskId) -> Option<f64> {
        self.started.get(&task).copied()
    }

    /// The kind of a task's object, in lower case.
    pub(crate) fn kind_of(&self, task: TaskId) -> &str {
        self.texts.get(task).and_then(|text| text.split(' ').next()).unwrap_or_default()
    }

    /// How many tasks wait, by what for.
    pub(crate) fn waits(&self) -> BTreeMap<String, usize> {
        let mut waits = BTreeMap::new();
        for (reason, ..) in self.waiting.values() {
            *waits.entry(reason.to_string()).or_default() += 1;
        }
        waits
    }

    /// Fields that are fought over.
    pub(crate) fn fights(&self) -> usize {
        self.fights.len()
    }

    /// The operators that the run waits for.
    pub(crate) fn waited_operators(&self) -> Vec<&str> {
        let gates = self.waiting.keys().filter_map(|task| self.gates.get(task));
        gates.map(|gate| gate.name.as_str()).collect()
    }

    /// Objects that are being deleted and still there.
    pub(crate) fn deletions(&self) -> Vec<String> {
        let is_deletion = |(task, (reason, ..)): (&TaskId, &(WaitReason, String, Instant))| {
            (*reason == WaitReason::Deletion).then(|| self.texts[*task].clone())
        };
        self.waiting.iter().filter_map(is_deletion).collect()
    }

    /// Looks at the operators of a release that is complete: one that is not well for a moment only is nobody's business.
    pub(crate) fn look<'w>(
        &mut self,
        mode: Mode,
        operator: impl Fn(&str) -> Option<&'w Value>,
        now: Instant,
    ) {
        let is_complete = self.is_complete();
        for (task, gate) in &self.gates {
            let is_well = !is_complete
                || gate.is_first_generation()
                || gate.failure(operator(&gate.name), mode).is_none();
            if is_well {
                self.unwell.remove(task);
            } else {
                self.unwell.entry(*task).or_insert(now);
            }
        }
    }

    /// What is wrong, as one failure. `mode` is what the run is for now; a release that is only kept has all its operators
    /// looked at, one that is on its way only those that it waits for.
    pub(crate) fn failure<'w>(
        &self,
        mode: Mode,
        operator: impl Fn(&str) -> Option<&'w Value>,
        now: Instant,
    ) -> Option<Failure> {
        let (mut failures, mut others) = (Vec::new(), Vec::new());
        for (task, (code, sentence, since)) in &self.failed {
            if now.duration_since(*since) >= PATIENCE {
                failures.push(self.of_task(*task, known(code), sentence));
            }
        }
        for (object, since) in &self.drifted {
            if now.duration_since(*since) >= LONG_PATIENCE {
                let message = format!("{object} was changed by somebody and cannot be restored");
                failures.push(Failure::new(reason::UPDATE_PAYLOAD_FAILED, message));
            }
        }
        for (task, (wait, sentence, since)) in &self.waiting {
            let age = now.duration_since(*since);
            let is_old = age >= PATIENCE;
            match self.gates.get(task) {
                Some(gate) => {
                    let found = if gate.is_first_generation() {
                        Some(gate.first_generation_failure(*wait, sentence))
                    } else {
                        gate.failure(operator(&gate.name), mode)
                    };
                    // Who is only asked for time is told at once, a problem after a moment: it may be over by then.
                    failures.extend(found.filter(|failure| is_old || is_patient(failure)));
                }
                None if age >= LONG_PATIENCE => others.push(sentence.as_str()),
                None => {}
            }
        }
        if let Some((first, more)) = others.split_first() {
            // One sentence says why; a hundred say nothing.
            let text = if more.is_empty() {
                (*first).to_owned()
            } else {
                format!("{first} (and {} more)", more.len())
            };
            failures.push(Failure::new("", text).with_effect(Effect::None));
        }
        if self.is_complete() {
            let lasting = self.unwell.iter().filter(|(_, since)| now.duration_since(**since) >= PATIENCE);
            let gates = lasting.filter_map(|(task, _)| self.gates.get(task));
            failures.extend(gates.filter_map(|gate| gate.failure(operator(&gate.name), mode)));
        }
        one_of(condense(failures))
    }

    /// When something becomes a problem that is none yet.
    pub(crate) fn next_look(&self, now: Instant) -> Option<Instant> {
        let waits = self.waiting.values().flat_map(|(.., since)| [*since + PATIENCE, *since + LONG_PATIENCE]);
        let failures = self.failed.values().map(|(.., since)| *since + PATIENCE);
        let drifts = self.drifted.values().map(|since| *since + LONG_PATIENCE);
        let unwell = self.unwell.values().map(|since| *since + PATIENCE);
        waits.chain(failures).chain(drifts).chain(unwell).filter(|moment| *moment > now).min()
    }

    fn of_task(&self, task: TaskId, reason: &'static str, sentence: &str) -> Failure {
        let text = self.texts.get(task).cloned().unwrap_or_default();
        let failure = Failure::new(reason, format!("Could not update {text}: {sentence}"));
        Failure { task: Some(FailedTask { text, role: Role::Plain }), ..failure }
    }
}

fn is_patient(failure: &Failure) -> bool {
    matches!(failure.effect, Effect::None | Effect::Report | Effect::FailAfterInterval)
}

/// The reasons that an engine gives; what it says beyond them is a plain failure.
fn known(code: &str) -> &'static str {
    const KNOWN: [&str; 12] = [
        reason::UPDATE_PAYLOAD_RESOURCE_NOT_FOUND,
        reason::UPDATE_PAYLOAD_RESOURCE_CONFLICT,
        reason::UPDATE_PAYLOAD_RESOURCE_INVALID,
        reason::UPDATE_PAYLOAD_RESOURCE_FORBIDDEN,
        reason::UPDATE_PAYLOAD_RESOURCE_TYPE_MISSING,
        reason::UPDATE_PAYLOAD_CLUSTER_DOWN,
        reason::UPDATE_PAYLOAD_CLUSTER_ERROR,
        reason::UPDATE_PAYLOAD_CLUSTER_OVERLOADED,
        reason::UPDATE_PAYLOAD_CLUSTER_UNAUTHORIZED,
        reason::CLUSTER_OPERATOR_NO_VERSIONS,
        reason::WORKLOAD_NOT_AVAILABLE,
        reason::WORKLOAD_NOT_PROGRESSING,
    ];
    KNOWN.into_iter().find(|known| *known == code).unwrap_or(reason::UPDATE_PAYLOAD_FAILED)
}

#[cfg(test)]
#[path = "tracker_tests.rs"]
mod tests;
