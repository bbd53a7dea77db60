//! What all parts of the world share: the server, the time, the script, the knowledge and the queue.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::{Clock, Rng};

use super::api::{Actor, Api, Patch, Place, code};
use super::cache::{Cache, Key, Kind, controller_key, is_ending, uid};
use super::event::Recorder;
use super::facts::ReleaseFacts;
use super::life::Life;
use super::operator::OperatorMemory;
use super::queue::Queue;
use super::scenario::Scenario;
use super::workload::Rollout;

/// One line of what the world did, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The time in the lab.
    pub time: Timestamp,
    /// What happened, as a sentence without a full stop.
    pub text: String,
    /// Whether something did not work, so that the script is not played as written.
    pub is_problem: bool,
}

impl std::fmt::Display for LogLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"), self.text)
    }
}

/// Takes the lines of the log.
pub(crate) type Sink = Box<dyn Fn(LogLine) + Send + Sync>;

/// The shared state; every lock is held for a few instructions and never across a wait.
pub(crate) struct Shared {
    pub(crate) api: Api,
    pub(crate) clock: Arc<Clock>,
    pub(crate) scenario: Scenario,
    /// Empty without a release: then every `ClusterOperator` that appears has an operator.
    pub(crate) facts: ReleaseFacts,
    pub(crate) rng: Rng,
    pub(crate) queue: Queue,
    pub(crate) events: Recorder,
    pub(crate) sink: Option<Sink>,
    pub(crate) cache: Mutex<Cache>,
    /// The custom kinds that were listed once, so that writing them makes sense.
    pub(crate) served: Mutex<BTreeSet<Kind>>,
    pub(crate) lives: Mutex<BTreeMap<Key, Life>>,
    pub(crate) rollouts: Mutex<BTreeMap<Key, Rollout>>,
    pub(crate) operators: Mutex<BTreeMap<Key, OperatorMemory>>,
}

/// Locks; what a panicking task left behind is still consistent, because no lock is held across a wait.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Shared ===

impl Shared {
    /// Tells people what happened.
    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        self.tell(text, false);
    }

    /// Tells people what did not work.
    pub(crate) fn complain(&self, text: impl FnOnce() -> String) {
        self.tell(text, true);
    }

    fn tell(&self, text: impl FnOnce() -> String, is_problem: bool) {
        if let Some(sink) = &self.sink {
            sink(LogLine { time: self.clock.now(), text: text(), is_problem });
        }
    }

    /// Lab time since the start; jumps of the clock do not change it.
    pub(crate) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Whether the world hears of objects of this kind.
    pub(crate) fn follows(&self, kind: Kind) -> bool {
        kind != Kind::ReplicaSet || self.scenario.has_pods()
    }

    /// An object as last seen.
    pub(crate) fn object(&self, key: &Key) -> Option<Arc<Value>> {
        lock(&self.cache).get(key)
    }

    /// The objects of a kind that an object controls.
    pub(crate) fn children(&self, owner: &Value, kind: Kind) -> Vec<(Key, Arc<Value>)> {
        lock(&self.cache).children(owner, kind)
    }

    /// Takes in an object from the server and wakes whoever cares.
    pub(crate) fn learn(&self, kind: Kind, object: Value) {
        let key = Key::of(kind, &object);
        let owner = controller_key(&object);
        if lock(&self.cache).put(&key, object) {
            self.wake(key, owner);
        }
    }

    /// The server says that an object is gone.
    pub(crate) fn unlearn(&self, key: Key, object: &Value) {
        if lock(&self.cache).remove(&key, uid(object)) {
            self.mourn(key, object);
        }
    }

    /// Wakes whoever cares about the end of an object: its owner, and what it controlled.
    fn mourn(&self, key: Key, object: &Value) {
        let orphans = lock(&self.cache).children_of(uid(object));
        // They look at their owner themselves; garbage collection may be faster.
        for orphan in orphans {
            self.queue.add(orphan, self.now());
        }
        self.wake(key, controller_key(object));
    }

    fn wake(&self, key: Key, owner: Option<Key>) {
        let now = self.now();
        let mut keys: Vec<Key> = owner.into_iter().collect();
        match key.kind {
            Kind::Node => {
                let cache = lock(&self.cache);
                keys.extend(cache.of_kind(Kind::DaemonSet).map(|(key, _)| key.clone()));
                let waits = |pod: &Value| pod["spec"]["nodeName"].is_null();
                keys.extend(
                    cache.of_kind(Kind::Pod).filter(|(_, pod)| waits(pod)).map(|(key, _)| key.clone()),
                );
            }
            Kind::Deployment => keys.extend(self.operators_of(&key)),
            _ => {}
        }
        for key in keys {
            self.queue.add(key, now);
        }
        self.queue.add(key, now);
    }

    // === writes that the cache sees at once ===

    /// Makes an object.
    pub(crate) async fn create(&self, who: &Actor, kind: Kind, object: &Value) -> Result<(), kube::Error> {
        let namespace = lockstep_api::object::namespace(object);
        let place = Place::collection(kind.resource(), namespace);
        let created = self.api.create(who, place, object).await?;
        self.learn(kind, created);
        Ok(())
    }

    /// Changes an object, or with `status` that part of it.
    pub(crate) async fn patch(
        &self,
        who: &Actor,
        key: &Key,
        subresource: &str,
        body: &Value,
    ) -> Result<(), kube::Error> {
        let place = Place::object(key.kind.resource(), &key.namespace, &key.name).sub(subresource);
        match self.api.patch(who, place, Patch::Merge, body).await {
            Ok(patched) => {
                self.learn(key.kind, patched);
                Ok(())
            }
            // Gone meanwhile: its event is on the way.
            Err(error) if code(&error) == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object; one that is gone or another by now is no error.
    pub(crate) async fn delete(
        &self,
        who: &Actor,
        key: &Key,
        object: &Value,
        grace: Option<u32>,
    ) -> Result<(), kube::Error> {
        let place = Place::object(key.kind.resource(), &key.namespace, &key.name);
        match self.api.delete(who, place, uid(object), grace).await {
            Ok(answer) if is_ending(&answer) && grace != Some(0) => self.learn(key.kind, answer),
            Ok(_) => {
                lock(&self.cache).deleted(key, uid(object));
                self.mourn(key.clone(), object);
            }
            Err(error) if matches!(code(&error), 404 | 409) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
