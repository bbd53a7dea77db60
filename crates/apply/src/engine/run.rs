//! The state of a run, as a pure value: what happened goes in, what to do next comes out.

mod answer;
mod begin;
mod doomed;
mod drift;
mod ending;
mod gate;
mod observe;
mod sync;
mod timer;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lockstep_api::ResourceId;
use lockstep_graph::{Frontier, NodeId, TaskId};
use lockstep_health::{Verdict, Why};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::bring::{Brought, Stopped};
use super::fights::Fights;
use super::pace::Pace;
use super::plan::Plan;
use super::{Ending, Options};
use crate::kinds::{Kinds, Resource};
use crate::progress::{Event, Happening, ObjectText, Wait};
use crate::refusal::Refusal;
use crate::watch::Seen;

use drift::Repair;
use timer::{Timer, Timers};
use wait::Waited;

/// The state of a run.
pub(crate) struct Run<'p> {
    plan: &'p Plan,
    options: &'p Options,
    began: Instant,
    now: Instant,
    frontier: Frontier,
    node_of: Vec<NodeId>,
    /// By task.
    tracks: Vec<Track>,
    /// What the server serves.
    kinds: Kinds,
    watches: BTreeMap<Watching, WatchState>,
    /// Tasks about whose object no watch tells yet.
    unwatched: BTreeSet<TaskId>,
    /// How many of the first watches have not given everything yet; nothing starts before.
    unsynced: usize,
    /// Live ClusterOperators.
    operators: BTreeMap<ResourceId, Value>,
    /// Who waits for what.
    waiting: BTreeMap<Waited, BTreeSet<TaskId>>,
    timers: Timers,
    under_way: BTreeSet<TaskId>,
    pace: Pace,
    /// How often in a row the server did not answer.
    outages: u32,
    fights: Fights,
    repairs: BTreeMap<TaskId, Repair>,
    orphans: BTreeMap<ResourceId, Orphan>,
    writes: usize,
    /// Since when everything is done.
    converged: Option<Instant>,
    /// Whether the cluster is just being told to remember that.
    is_recording: bool,
    /// Nothing new starts while somebody wants it so.
    is_paused: bool,
    ending: Option<Ending>,
    events: Vec<Event>,
    commands: Vec<Command>,
}

/// What is known of one task and its object.
#[derive(Debug)]
struct Track {
    live: Live,
    /// The version of the object that `live` is about.
    version: Option<String>,
    phase: Phase,
    failures: u32,
    /// How often it was tried whether what it waits for is there although no event said so.
    probes: u32,
    /// Whether the object is well, for kinds that others wait for.
    verdict: Option<Verdict>,
    /// What the Pods of a workload show.
    diagnosis: Option<Why>,
    /// Since when the task waits, and what for; stays while the sentence changes.
    wait: Option<(Wait, Instant)>,
    /// Whether a removal has been asked for (and of which object).
    removal: Option<String>,
}

/// An object in the cluster, as far as we need to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Live {
    /// Nobody has looked.
    Unknown,
    /// It is not there, or has lost our label.
    Absent,
    /// It is as it should be.
    Equal,
    /// It is there and belongs to others.
    Present,
    /// These fields differ; who wrote them.
    Different { fields: Vec<String>, managers: Vec<String> },
    /// It differs in a way that applying does not change: a mark of how.
    Overridden(u64),
    /// It is just going away.
    Terminating(String),
}

/// What a task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Its turn has not come.
    Pending,
    /// A request is under way.
    Asking,
    /// It waits for an event or for the clock.
    Parked,
    /// It failed, and is tried again.
    Failed,
    /// It failed for good.
    GivenUp,
    /// It is done; its object is kept as it should be.
    Done,
}

/// What happened outside.
#[derive(Debug)]
pub(crate) enum Input {
    /// The requests for an object ended.
    Brought(TaskId, Result<Brought, Stopped>),
    /// The request to remove an object ended.
    Removed(TaskId, Result<(), Refusal>),
    /// Somebody looked at the Pods of a workload.
    Diagnosed(TaskId, Option<Why>),
    /// The object of a task was read.
    Looked(TaskId, Result<Value, Refusal>),
    /// The server was asked again what it serves.
    Discovered(Result<Kinds, Refusal>),
    /// The cluster was told to remember that the release is complete.
    Recorded(Result<(), Refusal>),
    /// A watch saw something.
    Seen(Watching, Seen),
    /// Somebody pauses the run, or lets it go on.
    Paused(bool, watch::Receiver<bool>),
    /// It is later.
    Tick,
}

/// What to do outside.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// Make an object, which has this version if it was seen, what its manifest says.
    Bring(TaskId, Resource, Option<String>),
    /// Ask for the removal of an object, if it is still the one with this uid.
    Remove(TaskId, Resource, Option<String>),
    /// Look why a workload is not well.
    Diagnose(TaskId, Resource),
    /// Read the object of a task.
    Look(TaskId, Resource),
    /// Ask again what the server serves.
    Discover,
    /// Let the cluster remember that the release is complete.
    Record,
    /// Open a watch.
    Watch(Watching),
    /// Close a watch.
    Unwatch(Watching),
}

/// A watch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watching {
    /// All objects of a kind that carry our label.
    Ours(Resource),
    /// All objects of a kind: ClusterOperators.
    All(Resource),
    /// The metadata of all objects of a kind, while somebody waits for one of them.
    Names(Resource),
    /// The metadata of the one object that a task removes.
    One(TaskId, Resource),
}

/// What a watch has given so far.
#[derive(Debug, Default)]
struct WatchState {
    is_synced: bool,
    /// Tasks whose object was given since the watch began anew.
    seen: BTreeSet<TaskId>,
}

/// An object of this set that the release does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The object, for people.
    pub title: ObjectText,
    /// Its kind.
    pub resource: Resource,
    /// Its namespace, if its kind has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Which object of this name.
    pub uid: Option<String>,
}

// === impl Run ===

impl<'p> Run<'p> {
    /// The start of a run.
    pub(crate) fn new(plan: &'p Plan, options: &'p Options, kinds: Kinds, now: Instant) -> Self {
        let mut node_of = vec![0; plan.items.len()];
        for (id, node) in plan.graph.nodes.iter().enumerate() {
            for task in &node.tasks {
                node_of[*task] = id;
            }
        }
        let mut run = Self {
            plan,
            options,
            began: now,
            now,
            frontier: Frontier::new(&plan.graph).preferring(plan.preference()),
            node_of,
            tracks: (0..plan.items.len()).map(|_| Track::new()).collect(),
            kinds,
            watches: BTreeMap::new(),
            unwatched: BTreeSet::new(),
            unsynced: 0,
            operators: BTreeMap::new(),
            waiting: BTreeMap::new(),
            timers: Timers::default(),
            under_way: BTreeSet::new(),
            pace: Pace::new(),
            outages: 0,
            fights: Fights::default(),
            repairs: BTreeMap::new(),
            orphans: BTreeMap::new(),
            writes: 0,
            converged: None,
            is_recording: false,
            is_paused: options.pause.as_ref().is_some_and(|pause| *pause.borrow()),
            ending: None,
            events: Vec::new(),
            commands: Vec::new(),
        };
        run.tell(Happening::Began {
            version: plan.version.clone(),
            mode: text_of(plan.mode).to_owned(),
            tasks: plan.tasks(),
            levels: plan.levels(),
        });
        for sentence in plan.remarks.clone() {
            run.tell(Happening::Remark { sentence });
        }
        if let Some(timeout) = options.timeout {
            run.timers.set(now + timeout, Timer::Deadline);
        }
        run.open_first_watches();
        run.pump();
        run
    }

    /// Takes in what happened.
    pub(crate) fn on(&mut self, input: Input, now: Instant) {
        self.now = now;
        match input {
            Input::Brought(task, outcome) => self.on_brought(task, outcome),
            Input::Removed(task, outcome) => self.on_removed(task, outcome),
            Input::Diagnosed(task, why) => self.on_diagnosed(task, why),
            Input::Looked(task, outcome) => self.on_looked(task, outcome),
            Input::Discovered(outcome) => self.on_discovered(outcome),
            Input::Recorded(outcome) => self.on_recorded(outcome),
            Input::Seen(watching, seen) => self.on_seen(&watching, seen),
            Input::Paused(is_paused, _) => self.is_paused = is_paused,
            Input::Tick => {}
        }
        while let Some(timer) = self.timers.due(now) {
            self.on_timer(timer);
        }
        self.pump();
    }

    /// What to do outside, since the last time.
    pub(crate) fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// What to tell, since the last time.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// When to come back at the latest.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.timers.first()
    }

    /// How the run ended, once it has.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Starts whatever can start.
    fn pump(&mut self) {
        if self.unsynced > 0 || self.ending.is_some() {
            return;
        }
        while self.under_way.len() < self.pace.limit() {
            if let Some(until) = self.pace.held_until(self.now) {
                self.timers.set(until, Timer::Resume);
                break;
            }
            if let Some(task) = self.due_repair() {
                self.start_repair(task);
                continue;
            }
            if self.is_paused {
                break;
            }
            let Some(node) = self.frontier.ready().next() else { break };
            match self.frontier.start(node) {
                Ok(task) => self.begin(task),
                Err(error) => {
                    debug_assert!(false, "{error}");
                    break;
                }
            }
        }
        self.open_late_watches();
        self.check_ending();
    }

    fn tell(&mut self, what: Happening) {
        self.events.push(Event { at: self.seconds(self.now), what });
    }

    fn seconds(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.began).as_secs_f64()
    }

    /// A request for a task goes out.
    fn ask(&mut self, task: TaskId, command: Command) {
        self.under_way.insert(task);
        if self.tracks[task].phase != Phase::Done {
            self.tracks[task].phase = Phase::Asking;
            self.tell(Happening::Started { task });
        }
        self.commands.push(command);
    }

    /// A task is done.
    fn finish(&mut self, task: TaskId) {
        self.leave_wait(task);
        self.tracks[task].phase = Phase::Done;
        self.tracks[task].failures = 0;
        let moved = self.frontier.finish(self.node_of[task]);
        debug_assert!(moved.is_ok(), "{moved:?}");
        self.tell(Happening::Done { task });
        if let Some(name) = self.namespace_of(task) {
            self.wake_all(&Waited::Namespace(name));
        }
    }

    /// The namespace that a task brings, if it does.
    fn namespace_of(&self, task: TaskId) -> Option<String> {
        let name = &self.plan.items[task].id.name;
        (self.plan.namespaces.get(name) == Some(&task)).then(|| name.clone())
    }

    /// The resource of a task, if the server is known to serve it or the release tells.
    fn resource(&self, task: TaskId) -> Option<Resource> {
        let item = &self.plan.items[task];
        let served = self.kinds.find(&item.api_version, &item.id.kind).cloned();
        served.or_else(|| item.resource.clone())
    }

    fn is_served(&self, task: TaskId) -> bool {
        let item = &self.plan.items[task];
        self.kinds.find(&item.api_version, &item.id.kind).is_some()
    }
}

// === impl Track ===

impl Track {
    fn new() -> Self {
        Self {
            live: Live::Unknown,
            version: None,
            phase: Phase::Pending,
            failures: 0,
            probes: 0,
            verdict: None,
            diagnosis: None,
            wait: None,
            removal: None,
        }
    }
}

/// The word for a mode.
pub(crate) fn text_of(mode: lockstep_graph::Mode) -> &'static str {
    match mode {
        lockstep_graph::Mode::Installing => "installing",
        lockstep_graph::Mode::Updating => "updating",
        lockstep_graph::Mode::Reconciling => "reconciling",
    }
}

/// A pause that doubles with every failure.
fn doubling(first: Duration, failures: u32, most: Duration) -> Duration {
    first.saturating_mul(1 << failures.min(16)).min(most)
}
