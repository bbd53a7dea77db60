//! When a watch has given everything, or gives nothing.

use lockstep_graph::{TaskId, Treatment};

use super::{Command, Live, Run, Watching};
use crate::progress::Happening;
use crate::refusal::Refusal;

// === impl Run ===

impl Run<'_> {
    /// Everything that exists has been given: what was not is gone.
    pub(super) fn on_synced(&mut self, watching: &Watching) {
        let is_first = self.watches.get(watching).is_some_and(|state| !state.is_synced);
        self.watch_state(watching, |state| state.is_synced = true);
        match watching {
            Watching::Names(_) => {}
            Watching::One(task, _) => {
                // NB: it may have gone while the watch was away; then nothing but this tells.
                let is_absent = self.watches.get(watching).is_some_and(|state| !state.seen.contains(task));
                if is_absent {
                    self.doomed_is_gone(*task);
                }
            }
            Watching::All(resource) | Watching::Ours(resource) => {
                let seen = self.watches.get(watching).map(|state| state.seen.clone()).unwrap_or_default();
                let is_gone = |task: &TaskId| {
                    let item = &self.plan.items[*task];
                    item.treatment != Treatment::Delete
                        && !item.is_superseded
                        && item.id.group == resource.group
                        && item.id.kind == resource.kind
                        && item.api_version == resource.api_version()
                        && !seen.contains(task)
                        && !self.under_way.contains(task)
                };
                let gone: Vec<TaskId> = (0..self.plan.items.len()).filter(is_gone).collect();
                for task in gone {
                    self.tracks[task].version = None;
                    self.ours_is_gone(task, None);
                }
            }
        }
        if is_first {
            self.first_sync_done(watching);
        }
    }

    fn first_sync_done(&mut self, watching: &Watching) {
        if self.unsynced > 0 && matches!(watching, Watching::Ours(_) | Watching::All(_)) {
            self.unsynced -= 1;
            if self.unsynced == 0 {
                self.tell_compared();
            }
        }
    }

    pub(super) fn tell_compared(&mut self) {
        let (mut equal, mut different, mut missing) = (0, 0, 0);
        for (track, item) in self.tracks.iter().zip(&self.plan.items) {
            match &track.live {
                _ if item.treatment == Treatment::Delete || item.is_superseded => {}
                Live::Equal | Live::Present | Live::Overridden(_) => equal += 1,
                Live::Different { .. } | Live::Terminating(_) => different += 1,
                Live::Unknown | Live::Absent => missing += 1,
            }
        }
        self.tell(Happening::Compared { equal, different, missing });
    }

    /// A watch does not work. It goes on trying; what must not wait for it does not.
    pub(super) fn on_trouble(&mut self, watching: &Watching, refusal: &Refusal) {
        if let Watching::One(task, _) = watching
            && *refusal == Refusal::KindNotServed
        {
            self.watches.remove(watching);
            self.commands.push(Command::Unwatch(watching.clone()));
            self.doomed_is_gone(*task);
            return;
        }
        let is_first = self.watches.get(watching).is_some_and(|state| !state.is_synced);
        if is_first && !refusal.is_transient() {
            let what = match watching {
                Watching::Ours(resource) | Watching::All(resource) | Watching::Names(resource) => {
                    resource.name()
                }
                Watching::One(task, _) => self.plan.items[*task].title.clone(),
            };
            self.watch_state(watching, |state| state.is_synced = true);
            // A kind that has just been defined is served a moment later, and the watch tries again by itself.
            if *refusal != Refusal::KindNotServed {
                let sentence = refusal.explain(&format!("watching {what}"));
                self.tell(Happening::Remark { sentence });
            }
            self.first_sync_done(watching);
        }
    }
}
