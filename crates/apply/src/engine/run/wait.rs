//! Tasks that cannot go on, what they wait for, and what wakes them.

use std::time::Duration;

use lockstep_api::ResourceId;
use lockstep_graph::TaskId;

use super::timer::Timer;
use super::{Command, Live, Phase, Run, doubling};
use crate::kinds::Kinds;
use crate::progress::{Happening, Wait, WaitReason};
use crate::refusal::Refusal;

/// Something that tasks wait for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Waited {
    /// A kind, by API version and name.
    Kind(String, String),
    /// A namespace.
    Namespace(String),
    /// A ClusterOperator.
    Operator(ResourceId),
    /// The object of a task: a Job that ends, a definition that is established, an object that goes away.
    Object(TaskId),
    /// The server.
    Server,
    /// Only the clock.
    Clock(TaskId),
}

/// First and longest pause between two looks at something whose event may have been lost.
const PROBE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

// === impl Run ===

impl Run<'_> {
    /// A task cannot go on before something has happened. Telling the same again is quiet.
    pub(super) fn park(&mut self, task: TaskId, waited: Waited, wait: Wait) {
        let since = match &self.tracks[task].wait {
            Some((before, since)) if before.reason == wait.reason => *since,
            _ => self.now,
        };
        let is_news = self.tracks[task].wait.as_ref().is_none_or(|(before, _)| *before != wait);
        self.forget_wait(task);
        if matches!(waited, Waited::Kind(..) | Waited::Namespace(_)) {
            let at = self.now + doubling(PROBE.0, self.tracks[task].failures, PROBE.1);
            self.timers.set_once(at, Timer::Probe(waited.clone()));
            if wait.provider.is_none() {
                self.timers.set_once(since + self.options.unprovided_after, Timer::Unprovided(task));
            }
        }
        self.waiting.entry(waited).or_default().insert(task);
        self.tracks[task].phase = Phase::Parked;
        self.tracks[task].wait = Some((wait.clone(), since));
        let moved = self.frontier.wait(self.node_of[task], wait.sentence.clone());
        debug_assert!(moved.is_ok(), "{moved:?}");
        if is_news {
            self.tell(Happening::Waiting { task, wait });
        }
        self.open_watches_for_waits();
    }

    /// What a task waited for may have happened: it goes on from where it is.
    pub(super) fn wake(&mut self, task: TaskId) {
        if !matches!(self.tracks[task].phase, Phase::Parked | Phase::Failed | Phase::GivenUp) {
            return;
        }
        let was_waiting = self.tracks[task].phase == Phase::Parked;
        self.forget_wait(task);
        self.tracks[task].phase = Phase::Pending;
        let moved = self.frontier.wake(self.node_of[task]);
        debug_assert!(moved.is_ok(), "{moved:?}");
        if was_waiting {
            self.tell(Happening::Woke { task });
        } else {
            let failures = self.tracks[task].failures as usize;
            self.tell(Happening::Retried { task, failures });
        }
    }

    pub(super) fn wake_all(&mut self, waited: &Waited) {
        self.timers.cancel(&Timer::Probe(waited.clone()));
        for task in self.waiting.remove(waited).unwrap_or_default() {
            self.wake(task);
        }
    }

    /// The task no longer waits, and tells nothing about it.
    pub(super) fn leave_wait(&mut self, task: TaskId) {
        self.forget_wait(task);
        self.tracks[task].wait = None;
        self.timers.cancel(&Timer::Unprovided(task));
        self.timers.cancel(&Timer::Retry(task));
    }

    fn forget_wait(&mut self, task: TaskId) {
        self.waiting.retain(|_, tasks| {
            tasks.remove(&task);
            !tasks.is_empty()
        });
    }

    /// Lets one of those that wait for something try; if it works, it wakes the others.
    pub(super) fn probe(&mut self, waited: &Waited) {
        let Some(first) = self.waiting.get(waited).and_then(|tasks| tasks.first().copied()) else { return };
        self.tracks[first].failures = self.tracks[first].failures.saturating_add(1);
        if let Waited::Kind(api_version, kind) = waited {
            // Absence in discovery is no proof of absence: ask as if it were served.
            let item = &self.plan.items[first];
            if let Some(resource) =
                item.resource.clone().filter(|_| item.api_version == *api_version && item.id.kind == *kind)
            {
                self.kinds.insert(resource);
            } else {
                self.commands.push(Command::Discover);
                return;
            }
        }
        self.wake(first);
    }

    /// The server said anew what it serves; those that still wait are probed again later.
    pub(super) fn on_discovered(&mut self, outcome: Result<Kinds, Refusal>) {
        if let Ok(kinds) = outcome {
            self.kinds.merge(kinds);
        }
        let of_kinds: Vec<Waited> =
            self.waiting.keys().filter(|waited| matches!(waited, Waited::Kind(..))).cloned().collect();
        for waited in of_kinds {
            let Waited::Kind(api_version, kind) = &waited else { continue };
            if self.kinds.find(api_version, kind).is_some() {
                self.wake_all(&waited);
            } else {
                let tasks = self.waiting.get(&waited);
                let failures =
                    tasks.and_then(|tasks| tasks.first()).map_or(0, |task| self.tracks[*task].failures);
                self.timers.set_once(self.now + doubling(PROBE.0, failures, PROBE.1), Timer::Probe(waited));
            }
        }
    }

    /// A wait for something that nothing in the release provides has lasted too long: from now on it is a failure.
    pub(super) fn escalate(&mut self, task: TaskId) {
        if self.tracks[task].phase != Phase::Parked {
            return;
        }
        let Some((wait, _)) = self.tracks[task].wait.clone() else { return };
        let minutes = self.options.unprovided_after.as_secs() / 60;
        self.tell(Happening::Failed {
            task,
            reason: "PrerequisiteMissing".to_owned(),
            sentence: format!("{} (for more than {minutes} minutes)", wait.sentence),
            retry_at: None,
        });
    }

    /// What is missing before a task can be sent, as far as is known without asking.
    pub(super) fn missing(&self, task: TaskId) -> Option<(Waited, Wait)> {
        let item = &self.plan.items[task];
        if !self.is_served(task) {
            let key = (item.id.group.clone(), item.id.kind.clone());
            let provider = self.plan.definitions.get(&key).copied();
            return Some((
                Waited::Kind(item.api_version.clone(), item.id.kind.clone()),
                self.kind_wait(task, provider),
            ));
        }
        if item.id.namespace.is_empty() {
            return None;
        }
        let provider = *self.plan.namespaces.get(&item.id.namespace)?;
        let track = &self.tracks[provider];
        let is_there = track.phase == Phase::Done || !matches!(track.live, Live::Unknown | Live::Absent);
        (!is_there).then(|| {
            let wait = self.namespace_wait(task, &item.id.namespace);
            (Waited::Namespace(item.id.namespace.clone()), wait)
        })
    }

    pub(super) fn kind_wait(&self, task: TaskId, provider: Option<TaskId>) -> Wait {
        let item = &self.plan.items[task];
        let what = format!("the kind {} {} is not served", item.api_version, item.id.kind);
        let sentence = match provider {
            Some(provider) => {
                let file = &self.plan.graph.tasks[provider].file;
                format!("{} waits: {what} yet; {file} brings it", item.title)
            }
            None => format!(
                "{} waits: {what}; nothing in the release provides it, an operator may create it at run time",
                item.title
            ),
        };
        Wait { reason: WaitReason::KindNotServed, sentence, provider }
    }

    pub(super) fn namespace_wait(&self, task: TaskId, namespace: &str) -> Wait {
        let item = &self.plan.items[task];
        let provider = self.plan.namespaces.get(namespace).copied();
        let sentence = match provider {
            Some(provider) => {
                let file = &self.plan.graph.tasks[provider].file;
                format!("{} waits: the namespace {namespace} is not there yet; {file} brings it", item.title)
            }
            None => format!(
                "{} waits: the namespace {namespace} is not there; nothing in the release provides it, an operator may \
                 create it at run time",
                item.title
            ),
        };
        Wait { reason: WaitReason::NamespaceMissing, sentence, provider }
    }
}
