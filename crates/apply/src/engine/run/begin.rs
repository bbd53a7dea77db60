//! The start of tasks, and the watches that a run keeps open.

use std::collections::BTreeSet;

use lockstep_api::names::{group, kind};
use lockstep_graph::{Mode, Role, TaskId, Treatment};
use lockstep_health::Verdict;

use super::wait::Waited;
use super::{Command, Live, Phase, Run, WatchState, Watching};
use crate::kinds::Resource;
use crate::progress::{Happening, Wait, WaitReason};

// === impl Run ===

impl Run<'_> {
    /// Watches every kind of the plan that is served already: what is there is compared before anything is sent.
    pub(super) fn open_first_watches(&mut self) {
        let is_kept = |task: &TaskId| self.plan.items[*task].treatment != Treatment::Delete;
        self.unwatched = (0..self.plan.items.len()).filter(is_kept).collect();
        self.open_watches_of(&self.unwatched.clone());
        self.unsynced = self.watches.len();
        if self.unsynced == 0 {
            self.tell_compared();
        }
    }

    /// Watches kinds that are served by now. Those of gates at once, the others when there is nothing else to do.
    pub(super) fn open_late_watches(&mut self) {
        let is_idle = self.under_way.len() * 2 < self.pace.limit() && self.frontier.ready().next().is_none();
        let is_due = |task: &TaskId| {
            (is_idle || self.plan.items[*task].role == Role::Gate)
                && matches!(self.tracks[*task].phase, Phase::Done | Phase::Parked)
        };
        let due: BTreeSet<TaskId> = self.unwatched.iter().copied().filter(is_due).collect();
        self.open_watches_of(&due);
    }

    fn open_watches_of(&mut self, tasks: &BTreeSet<TaskId>) {
        for task in tasks {
            if let Some(watching) = self.watch_of(*task) {
                self.unwatched.remove(task);
                if !self.watches.contains_key(&watching) {
                    self.open(watching);
                }
            }
        }
    }

    /// The watch that tells about the object of a task, if its kind is served.
    fn watch_of(&self, task: TaskId) -> Option<Watching> {
        let item = &self.plan.items[task];
        if item.treatment == Treatment::Delete || !self.is_served(task) {
            return None;
        }
        let resource = self.resource(task)?;
        Some(if item.role == Role::Gate { Watching::All(resource) } else { Watching::Ours(resource) })
    }

    pub(super) fn open(&mut self, watching: Watching) {
        self.watches.insert(watching.clone(), WatchState::default());
        self.commands.push(Command::Watch(watching));
    }

    /// While somebody waits for something that is not of this release, the metadata of all such objects are watched.
    pub(super) fn open_watches_for_waits(&mut self) {
        let foreign = |run: &Self, reason: WaitReason| {
            let is_foreign = |tasks: &BTreeSet<TaskId>| {
                tasks.iter().any(|task| {
                    let wait = run.tracks[*task].wait.as_ref();
                    wait.is_some_and(|(wait, _)| wait.reason == reason && wait.provider.is_none())
                })
            };
            run.waiting.values().any(is_foreign)
        };
        let needed = [
            (WaitReason::NamespaceMissing, Resource::new("", "v1", kind::NAMESPACE, "namespaces", false)),
            (
                WaitReason::KindNotServed,
                Resource::new(
                    group::API_EXTENSIONS,
                    "v1",
                    kind::CUSTOM_RESOURCE_DEFINITION,
                    "customresourcedefinitions",
                    false,
                ),
            ),
            (
                WaitReason::KindNotServed,
                Resource::new(group::API_REGISTRATION, "v1", kind::API_SERVICE, "apiservices", false),
            ),
        ];
        for (reason, resource) in needed {
            let watching = Watching::Names(resource);
            match (foreign(self, reason), self.watches.contains_key(&watching)) {
                (true, false) => self.open(watching),
                (false, true) => {
                    self.watches.remove(&watching);
                    self.commands.push(Command::Unwatch(watching));
                }
                _ => {}
            }
        }
    }

    /// A task whose turn has come.
    pub(super) fn begin(&mut self, task: TaskId) {
        let item = &self.plan.items[task];
        if let Some(flaw) = &item.flaw {
            let sentence = format!("{} cannot be applied: {flaw}", item.title);
            self.fail(task, "ManifestUnusable", sentence, true);
            return;
        }
        if item.is_superseded {
            self.tell(Happening::Unchanged { task });
            self.finish(task);
            return;
        }
        if item.treatment == Treatment::Delete {
            self.begin_removal(task);
            return;
        }
        match self.tracks[task].live.clone() {
            Live::Equal | Live::Present | Live::Overridden(_) => {
                self.tell(Happening::Unchanged { task });
                self.settle(task);
            }
            Live::Terminating(sentence) => self.park_for_removal(task, sentence),
            Live::Unknown | Live::Absent | Live::Different { .. } => match self.missing(task) {
                Some((waited, wait)) => self.park(task, waited, wait),
                None => self.send(task),
            },
        }
    }

    /// Sends the requests for a task.
    fn send(&mut self, task: TaskId) {
        if let Some(resource) = self.resource(task) {
            let known = self.tracks[task].version.clone();
            self.ask(task, Command::Bring(task, resource, known));
        } else {
            let item = &self.plan.items[task];
            let waited = Waited::Kind(item.api_version.clone(), item.id.kind.clone());
            let wait = self.kind_wait(task, None);
            self.park(task, waited, wait);
        }
    }

    /// The object of a task is right: the task is done, unless others wait for more than that.
    pub(super) fn settle(&mut self, task: TaskId) {
        let item = &self.plan.items[task];
        let is_definition = self.plan.definitions.get(&self.defined_by(task)) == Some(&task);
        match item.role {
            Role::Gate => self.check_gate(task),
            Role::Barrier => self.check_object(task, WaitReason::JobRunning),
            Role::Plain if is_definition && self.plan.mode != Mode::Installing => {
                self.check_object(task, WaitReason::NotEstablished);
            }
            Role::Plain => self.finish(task),
        }
    }

    /// A Job or a definition: done when it is well.
    pub(super) fn check_object(&mut self, task: TaskId, reason: WaitReason) {
        let title = &self.plan.items[task].title;
        match self.tracks[task].verdict.clone() {
            Some(Verdict::Good) => self.finish(task),
            Some(Verdict::Bad(why)) => self.fail(task, "ObjectUnwell", why.sentence, true),
            Some(Verdict::NotYet(why)) => {
                self.park(
                    task,
                    Waited::Object(task),
                    Wait { reason, sentence: why.sentence, provider: None },
                );
            }
            None => {
                let sentence = format!("{title} has been applied; the server has not told yet how it is");
                self.park(task, Waited::Object(task), Wait { reason, sentence, provider: None });
            }
        }
    }

    pub(super) fn park_for_removal(&mut self, task: TaskId, sentence: String) {
        let wait = Wait { reason: WaitReason::Deletion, sentence, provider: None };
        self.park(task, Waited::Object(task), wait);
    }

    /// A task that removes an object: a watch on that one object tells whether it is there.
    fn begin_removal(&mut self, task: TaskId) {
        match self.tracks[task].live.clone() {
            Live::Absent => self.finish_removal(task),
            Live::Terminating(sentence) => self.park_for_removal(task, sentence),
            Live::Present => match self.resource(task) {
                Some(resource) => {
                    let uid = self.tracks[task].removal.clone();
                    self.ask(task, Command::Remove(task, resource, uid));
                }
                None => self.finish_removal(task),
            },
            _ => {
                // A kind that nobody serves has no objects.
                let Some(resource) = self.resource(task).filter(|_| self.is_served(task)) else {
                    self.finish_removal(task);
                    return;
                };
                let title = &self.plan.items[task].title;
                let sentence = format!("{title} must go; looking whether it is there");
                self.park_for_removal(task, sentence);
                self.open(Watching::One(task, resource));
            }
        }
    }

    pub(super) fn finish_removal(&mut self, task: TaskId) {
        if self.tracks[task].removal.is_none() {
            self.tell(Happening::Unchanged { task });
        }
        self.tracks[task].live = Live::Absent;
        self.finish(task);
    }

    /// The kind that a task defines, as group and kind; empty for other tasks.
    pub(super) fn defined_by(&self, task: TaskId) -> (String, String) {
        let found = self.plan.definitions.iter().find(|(_, definer)| **definer == task);
        found.map(|(key, _)| key.clone()).unwrap_or_default()
    }
}
