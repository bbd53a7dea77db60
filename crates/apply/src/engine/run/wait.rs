//! Tasks that cannot go on, what they wait for, and what wakes them.

use std::time::Duration;

use lockstep_api::ResourceId;
use lockstep_graph::TaskId;

use super::ending::duration;
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
const PROBE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(1));
/// The first pause when a task of the release brings it.
const PROBE_OWN: Duration = Duration::from_secs(5);
/// The same for an object whose state is waited for.
const LOOK: (Duration, Duration) = (Duration::from_mins(1), Duration::from_mins(10));

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
        self.tracks[task].phase = Phase::Parked;
        self.tracks[task].wait = Some((wait.clone(), since));
        match &waited {
            Waited::Kind(..) | Waited::Namespace(_) => {
                self.probe_later(task, waited.clone());
                if wait.provider.is_none() {
                    self.timers.set_once(since + self.options.unprovided_after, Timer::Unprovided(task));
                }
            }
            Waited::Operator(_) | Waited::Object(_) => self.look_later(task),
            Waited::Server | Waited::Clock(_) => {}
        }
        self.waiting.entry(waited).or_default().insert(task);
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
        for timer in [Timer::Unprovided(task), Timer::Retry(task), Timer::Look(task)] {
            self.timers.cancel(&timer);
        }
        self.tracks[task].probes = 0;
    }

    fn forget_wait(&mut self, task: TaskId) {
        self.waiting.retain(|_, tasks| {
            tasks.remove(&task);
            !tasks.is_empty()
        });
    }

    /// Events can be lost: what is waited for is looked at by the clock as well. What the release itself brings is
    /// looked at more rarely: its event comes for sure, or almost.
    fn probe_later(&mut self, task: TaskId, waited: Waited) {
        let is_brought = self.tracks[task].wait.as_ref().is_some_and(|(wait, _)| wait.provider.is_some());
        let first = if is_brought { PROBE_OWN } else { PROBE.0 };
        let at = self.now + doubling(first, self.tracks[task].probes, PROBE.1);
        self.timers.set_once(at, Timer::Probe(waited));
    }

    /// Lets one of those that wait for something try; if it works, it wakes the others.
    pub(super) fn probe(&mut self, waited: &Waited) {
        let Some(first) = self.waiting.get(waited).and_then(|tasks| tasks.first().copied()) else { return };
        let provider = self.tracks[first].wait.as_ref().and_then(|(wait, _)| wait.provider);
        if provider.is_some_and(|provider| self.tracks[provider].phase != Phase::Done) {
            // It cannot be there yet.
            self.probe_later(first, waited.clone());
            return;
        }
        self.tracks[first].probes = self.tracks[first].probes.saturating_add(1);
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
        // NB: the one that tries may find its own object as it should be and ask nobody; the others still wait.
        self.probe_later(first, waited.clone());
        self.wake(first);
    }

    /// The object that a task waits for is read by the clock as well, ever more rarely.
    pub(super) fn look_later(&mut self, task: TaskId) {
        let at = self.now + doubling(LOOK.0, self.tracks[task].probes, LOOK.1);
        self.timers.set_once(at, Timer::Look(task));
    }

    pub(super) fn look(&mut self, task: TaskId) {
        let is_waiting =
            |waited: &Waited| self.waiting.get(waited).is_some_and(|tasks| tasks.contains(&task));
        let id = self.plan.items[task].id.clone();
        if !is_waiting(&Waited::Object(task)) && !is_waiting(&Waited::Operator(id)) {
            return;
        }
        self.tracks[task].probes = self.tracks[task].probes.saturating_add(1);
        if let Some(resource) = self.resource(task) {
            self.commands.push(Command::Look(task, resource));
        }
        self.look_later(task);
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
                let first = self.waiting.get(&waited).and_then(|tasks| tasks.first().copied());
                if let Some(first) = first {
                    self.probe_later(first, waited);
                }
            }
        }
    }

    /// A wait for something that nothing in the release provides has lasted too long: from now on it is a failure.
    pub(super) fn escalate(&mut self, task: TaskId) {
        if self.tracks[task].phase != Phase::Parked {
            return;
        }
        let Some((wait, _)) = self.tracks[task].wait.clone() else { return };
        let time = duration(self.options.unprovided_after.as_secs());
        self.tell(Happening::Failed {
            task,
            reason: "PrerequisiteMissing".to_owned(),
            sentence: format!("{} (for more than {time})", wait.sentence),
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
                "{} waits: {what}; nothing in the release provides it, an operator may create it at run time. If none \
                 does, bring its CustomResourceDefinition, or take it out of the release",
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
