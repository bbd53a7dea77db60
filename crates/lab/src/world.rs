//! The scripted world: nodes, workloads, operators and people.
//!
//! It acts through a client alone, so it plays against the embedded server and against any other. Informers keep what it
//! knows, a queue says which object is looked at when, and each look is a small controller: deployment, replica set,
//! daemon set, stateful set, job, pod, operator. What they write are pure functions of the script and of what is there.

mod api;
mod cache;
mod daemon_set;
mod deployment;
mod event;
mod facts;
mod format;
mod informer;
mod job;
mod life;
mod node;
mod operator;
mod people;
mod placement;
mod pod;
mod pod_status;
mod queue;
mod replica_set;
mod rules;
mod scenario;
mod shape;
mod shared;
mod span;
mod stateful_set;
mod template;
mod timeline;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use crate::{Clock, Rng};

use api::{Api, code};
use cache::{Cache, Key, Kind};
use queue::Queue;
use shared::Shared;

pub use facts::ReleaseFacts;
pub use format::{scenario_reference, scenario_schema};
pub use scenario::{Scenario, ScenarioError};
pub use shared::LogLine;

/// How many objects are looked at side by side: enough to keep a server busy, few enough to be polite.
const SIDE_BY_SIDE: usize = 16;
/// The pause before an object is looked at again after a failed request.
const PAUSE: Duration = Duration::from_secs(1);

/// Machines, workloads, operators and people of a scenario.
pub struct World {
    shared: Shared,
}

/// Why a world ended by itself, which it should not.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// One of its tasks broke; this is a bug.
    #[error("a part of the scripted world broke")]
    Broken(#[source] JoinError),
    /// One of its tasks ended although it runs for ever; this is a bug.
    #[error("a part of the scripted world ended")]
    Ended,
}

// === impl World ===

impl World {
    /// A world for the server of this client.
    ///
    /// Without facts of a release every `ClusterOperator` that appears is played, and it reports what the scenario says.
    pub fn new(
        client: Client,
        scenario: Scenario,
        facts: Option<ReleaseFacts>,
        clock: Arc<Clock>,
        seed: u64,
    ) -> Self {
        let rng = Rng::new(seed).fork("world");
        Self {
            shared: Shared {
                api: Api::new(client),
                clock,
                scenario,
                facts: facts.unwrap_or_default(),
                events: event::Recorder::new(&rng),
                rng,
                queue: Queue::default(),
                sink: None,
                cache: Mutex::new(Cache::default()),
                served: Mutex::new(BTreeSet::new()),
                lives: Mutex::new(BTreeMap::new()),
                rollouts: Mutex::new(BTreeMap::new()),
                operators: Mutex::new(BTreeMap::new()),
            },
        }
    }

    /// The same world with somebody who takes the lines of what it does.
    #[must_use]
    pub fn with_log(mut self, sink: impl Fn(LogLine) + Send + Sync + 'static) -> Self {
        self.shared.sink = Some(Box::new(sink));
        self
    }

    /// Plays until it is dropped; a result is a bug.
    pub async fn run(self) -> WorldError {
        let world = Arc::new(self.shared);
        let mut background = JoinSet::new();
        let mut waiting = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| world.follows(*kind)) {
            let (synced, is_synced) = watch::channel(false);
            waiting.push(is_synced);
            background.spawn(informer::follow(Arc::clone(&world), kind, synced));
        }
        node::start(&world, &mut background);
        people::start(&world, &mut background);
        // Nobody may take an owner for missing that was only not listed yet.
        for mut is_synced in waiting {
            if is_synced.wait_for(|synced| *synced).await.is_err() {
                return WorldError::Ended;
            }
        }
        world.start_operators();
        pump(&world, &mut background).await
    }
}

/// Looks at objects as they become due.
async fn pump(world: &Arc<Shared>, background: &mut JoinSet<()>) -> WorldError {
    let mut looks = JoinSet::new();
    loop {
        while looks.len() < SIDE_BY_SIDE
            && let Some(key) = world.queue.take(world.now())
        {
            looks.spawn(look(Arc::clone(world), key));
        }
        let next = if looks.len() < SIDE_BY_SIDE { world.queue.next() } else { None };
        let pause = next.map_or(Duration::from_hours(1), |at| at.saturating_sub(world.now()));
        let (changed, pause) = (pin!(world.queue.changed()), pin!(world.clock.sleep(pause)));
        if let Err(error) = woken(&mut looks, background, changed, pause).await {
            return error;
        }
    }
}

/// Waits for whatever comes first; of several the first in this order.
async fn woken(
    looks: &mut JoinSet<()>,
    background: &mut JoinSet<()>,
    mut changed: Pin<&mut impl Future<Output = ()>>,
    mut pause: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), WorldError> {
    poll_fn(|context| {
        if let Poll::Ready(Some(ended)) = looks.poll_join_next(context) {
            return Poll::Ready(ended.map_err(WorldError::Broken));
        }
        match background.poll_join_next(context) {
            Poll::Ready(Some(Ok(()))) => return Poll::Ready(Err(WorldError::Ended)),
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(WorldError::Broken(error))),
            _ => {}
        }
        if changed.as_mut().poll(context).is_ready() || pause.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    })
    .await
}

/// Looks at one object; a failed request is tried again after a pause.
async fn look(world: Arc<Shared>, key: Key) {
    let result = match key.kind {
        Kind::Node => Ok(None),
        Kind::Deployment => deployment::look(&world, &key).await,
        Kind::ReplicaSet => replica_set::look(&world, &key).await,
        Kind::DaemonSet => daemon_set::look(&world, &key).await,
        Kind::StatefulSet => stateful_set::look(&world, &key).await,
        Kind::Job => job::look(&world, &key).await,
        Kind::Pod => pod::look(&world, &key).await,
        Kind::ClusterOperator | Kind::FirstGeneration => operator::look(&world, &key).await,
    };
    let again = result.unwrap_or_else(|error| {
        if code(&error) != 409 {
            world.complain(|| format!("{key}: a request failed, next try in 1 s: {error}"));
        }
        Some(world.now() + PAUSE)
    });
    world.queue.done(key, again);
}

#[cfg(test)]
mod tests;
