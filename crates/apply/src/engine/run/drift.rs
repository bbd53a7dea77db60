//! Objects that somebody changed after they were applied.

use std::time::Duration;

use lockstep_graph::{TaskId, Treatment};
use tokio::time::Instant;

use super::timer::Timer;
use super::{Command, Live, Phase, Run, doubling};
use crate::engine::plan::Item;
use crate::progress::Happening;
use crate::refusal::Refusal;

/// A repair that is to be made.
#[derive(Debug, Clone)]
pub(super) struct Repair {
    /// When the change was seen.
    pub(super) since: Instant,
    /// When it is repaired.
    at: Instant,
    failures: u32,
}

/// Stands for the whole object where fields are named.
const WHOLE: &str = "(the object)";
/// First and longest pause after a repair that was refused.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_mins(1));

// === impl Run ===

impl Run<'_> {
    /// Repairs the object of a finished task when it is not as it should be.
    pub(super) fn look_at_drift(&mut self, task: TaskId) {
        let track = &self.tracks[task];
        if track.phase != Phase::Done || self.under_way.contains(&task) {
            return;
        }
        let is_removal = self.plan.items[task].treatment == Treatment::Delete;
        let (fields, managers) = match (&track.live, is_removal) {
            (Live::Different { fields, managers }, false) => (fields.clone(), managers.clone()),
            (Live::Absent, false) | (Live::Present, true) => (Vec::new(), Vec::new()),
            (Live::Equal | Live::Overridden(_), false) | (Live::Absent, true) => {
                // By a repair whose answer was lost, or by who had changed it.
                self.tell_repaired(task);
                return;
            }
            _ => {
                self.drop_repair(task);
                return;
            }
        };
        if self.repairs.contains_key(&task) {
            return;
        }
        let object = self.plan.items[task].title.clone();
        let manager = managers.first().cloned().unwrap_or_else(|| "somebody".to_owned());
        self.tell(Happening::Drifted { object: object.clone(), fields: fields.clone(), managers });
        let whole = [WHOLE.to_owned()];
        let keys = if fields.is_empty() { &whole } else { fields.as_slice() };
        let (at, fight) = self.fights.changed(task, keys, &manager, self.now);
        if let Some((field, fight)) = fight {
            let next_at = self.seconds(at);
            self.tell(Happening::Fighting {
                object,
                field,
                manager: fight.manager,
                rounds: fight.rounds,
                next_at,
            });
        }
        self.repairs.insert(task, Repair { since: self.now, at, failures: 0 });
        self.timers.set(at, Timer::Repair(task));
    }

    fn drop_repair(&mut self, task: TaskId) {
        self.repairs.remove(&task);
        self.timers.cancel(&Timer::Repair(task));
    }

    /// A repair whose time has come.
    pub(super) fn due_repair(&self) -> Option<TaskId> {
        let due = |(task, repair): (&TaskId, &Repair)| {
            (repair.at <= self.now && !self.under_way.contains(task)).then_some(*task)
        };
        self.repairs.iter().find_map(due)
    }

    pub(super) fn start_repair(&mut self, task: TaskId) {
        let Some(resource) = self.resource(task) else {
            self.drop_repair(task);
            return;
        };
        let is_removal = self.plan.items[task].treatment == Treatment::Delete;
        match (is_removal, &self.tracks[task].live) {
            // It is going away: the event that says so asks again.
            (_, Live::Terminating(_)) => self.drop_repair(task),
            (true, _) => {
                let uid = self.tracks[task].removal.clone();
                self.ask(task, Command::Remove(task, resource, uid));
            }
            (false, _) => {
                let known = self.tracks[task].version.clone();
                self.ask(task, Command::Bring(task, resource, known));
            }
        }
    }

    pub(super) fn repaired(&mut self, task: TaskId) {
        self.tell_repaired(task);
        if let Some(name) = self.namespace_of(task) {
            self.repair_now(|item| item.id.namespace == name);
        }
        self.look_at_drift(task);
    }

    /// The object is as it should be again.
    fn tell_repaired(&mut self, task: TaskId) {
        if let Some(repair) = self.repairs.get(&task).cloned() {
            self.drop_repair(task);
            let seconds = self.now.duration_since(repair.since).as_secs_f64();
            self.tell(Happening::Repaired { object: self.plan.items[task].title.clone(), seconds });
        }
    }

    /// What stood in the way of repairs is gone: they need not wait for their next try.
    pub(super) fn repair_now(&mut self, is_concerned: impl Fn(&Item) -> bool) {
        let plan = self.plan;
        for (task, repair) in &mut self.repairs {
            // One that has not been refused waits because of a fight.
            if repair.failures > 0 && is_concerned(&plan.items[*task]) {
                repair.at = self.now;
                self.timers.set(self.now, Timer::Repair(*task));
            }
        }
    }

    /// Whether an object waits only for its namespace or its definition, which are repaired themselves.
    fn comes_with_another(&self, task: TaskId, refusal: &Refusal) -> bool {
        let id = &self.plan.items[task].id;
        match refusal {
            Refusal::NamespaceMissing { .. } | Refusal::NamespaceTerminating { .. } => {
                self.plan.namespaces.contains_key(&id.namespace)
            }
            Refusal::KindNotServed | Refusal::DefinitionTerminating => {
                self.plan.definitions.contains_key(&(id.group.clone(), id.kind.clone()))
            }
            _ => false,
        }
    }

    pub(super) fn repair_refused(&mut self, task: TaskId, refusal: &Refusal) {
        if refusal.is_transient() {
            self.server_refused(refusal);
        }
        let sentence = format!("repairing: {}", refusal.explain(&self.plan.items[task].title));
        let is_quiet = self.comes_with_another(task, refusal);
        let Some(repair) = self.repairs.get_mut(&task) else { return };
        let is_first = repair.failures == 0;
        repair.at = self.now + doubling(PAUSE.0, repair.failures, PAUSE.1);
        repair.failures += 1;
        let at = repair.at;
        self.timers.set(at, Timer::Repair(task));
        if is_first && !is_quiet {
            self.tell(Happening::Remark { sentence });
        }
    }

    /// Whether every finished object is as it should be, or fought over.
    pub(super) fn is_at_rest(&self) -> bool {
        self.repairs.values().all(|repair| repair.at > self.now + Duration::from_secs(5))
            && self.under_way.is_empty()
    }
}
