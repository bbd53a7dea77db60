//! Objects that must go, and objects that were read because an event may have been lost.

use lockstep_graph::{Role, TaskId, Treatment};
use lockstep_health as health;
use serde_json::Value;

use super::observe::with_kind;
use super::{Live, Phase, Run};
use crate::refusal::Refusal;

// === impl Run ===

impl Run<'_> {
    /// An object that must go is there.
    pub(super) fn on_doomed(&mut self, task: TaskId, live: &Value) {
        let item = &self.plan.items[task];
        let metadata = &live["metadata"];
        self.tracks[task].removal = metadata["uid"].as_str().map(str::to_owned);
        if metadata.get("deletionTimestamp").is_some() {
            let why = health::deletion(&with_kind(live, item));
            let sentence = why.map_or_else(|| format!("{} is being deleted", item.title), |why| why.sentence);
            self.tracks[task].live = Live::Terminating(sentence.clone());
            if self.tracks[task].phase == Phase::Parked {
                self.park_for_removal(task, sentence);
            }
            return;
        }
        self.tracks[task].live = Live::Present;
        match self.tracks[task].phase {
            Phase::Parked => self.wake(task),
            Phase::Done => self.look_at_drift(task),
            _ => {}
        }
    }

    pub(super) fn doomed_is_gone(&mut self, task: TaskId) {
        self.tracks[task].live = Live::Absent;
        match self.tracks[task].phase {
            Phase::Parked => self.finish_removal(task),
            Phase::Done => self.look_at_drift(task),
            _ => {}
        }
    }

    /// An object was read because its event may have been lost.
    pub(super) fn on_looked(&mut self, task: TaskId, outcome: Result<Value, Refusal>) {
        let item = &self.plan.items[task];
        let is_removal = item.treatment == Treatment::Delete;
        match outcome {
            Ok(live) if is_removal => self.on_doomed(task, &live),
            Err(Refusal::NotFound | Refusal::KindNotServed) if is_removal => self.doomed_is_gone(task),
            Ok(live) => {
                if item.role == Role::Gate {
                    self.operators.insert(item.id.clone(), live.clone());
                    self.operator_changed(&item.id.clone());
                }
                self.on_ours(task, &live);
            }
            // A watch tells, or the next look.
            Err(_) => {}
        }
    }
}
