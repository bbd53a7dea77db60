//! What is exported: the reference's metrics by the same names and labels, and our own.
//!
//! The reference's are computed from [`Facts`] when somebody asks, so nothing can be forgotten and stay for ever.

mod cluster;
mod facts;
mod gauge;
mod process;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use lockstep_api::names::metric;

pub use facts::{Facts, Installer, Pass, Version};

use gauge::Gauge;
use transitions::Transitions;

/// The media type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that is exported; copies are the same.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    state: Arc<Shared>,
    tasks: Family<OfKind, Histogram, fn() -> Histogram>,
    drift_repairs: Counter,
    drift_repair_seconds: Histogram,
    requests: Family<Request, Counter>,
    load_failures: Family<Step, Counter>,
    events_dropped: Counter,
}

/// What is shown as it is at the moment.
#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    facts: Facts,
    transitions: Transitions,
    payload_errors: BTreeMap<String, i64>,
    waits: BTreeMap<String, usize>,
    fights: usize,
    unstable: BTreeSet<String>,
    is_leading: bool,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfKind {
    kind: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    verb: &'static str,
    code: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Step {
    step: String,
}

/// Bounds in seconds: a write takes a hundredth, a gate takes minutes.
const TASK_BUCKETS: [f64; 9] = [0.01, 0.05, 0.25, 1.0, 5.0, 30.0, 120.0, 600.0, 1800.0];
/// Bounds in seconds: a repair is one event and one write.
const REPAIR_BUCKETS: [f64; 8] = [0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

// === impl Metrics ===

impl Metrics {
    /// Nothing is known yet.
    pub fn new() -> Self {
        let state = Arc::new(Shared::default());
        let tasks = Family::new_with_constructor((|| Histogram::new(TASK_BUCKETS)) as fn() -> Histogram);
        let drift_repair_seconds = Histogram::new(REPAIR_BUCKETS);
        let (drift_repairs, events_dropped) = (Counter::default(), Counter::default());
        let (requests, load_failures) = (Family::default(), Family::default());

        let mut registry = Registry::default();
        registry.register_collector(Box::new(Arc::clone(&state)));
        registry.register(metric::TASK_DURATION, "How long tasks took, from ready to done", tasks.clone());
        registry.register(metric::DRIFT_REPAIRS, "How often drift was repaired", drift_repairs.clone());
        registry.register(
            metric::DRIFT_REPAIR_SECONDS,
            "From the event that shows drift to the write that repairs it",
            drift_repair_seconds.clone(),
        );
        registry.register(
            metric::REQUESTS,
            "Requests to the API server; code 0 is no answer",
            Family::clone(&requests),
        );
        registry.register(
            metric::RELEASE_LOAD_FAILURES,
            "How often a release was not loaded, by the step that failed",
            Family::clone(&load_failures),
        );
        registry.register(
            metric::EVENTS_DROPPED,
            "Events that were not written: too many at a time, or refused",
            events_dropped.clone(),
        );
        registry.register_collector(Box::new(process::Process));
        Self(Arc::new(Inner {
            registry,
            state,
            tasks,
            drift_repairs,
            drift_repair_seconds,
            requests,
            load_failures,
            events_dropped,
        }))
    }

    /// Changes what is known of the cluster.
    pub fn set(&self, change: impl FnOnce(&mut Facts)) {
        let mut state = self.0.state.lock();
        change(&mut state.facts);
        let State { facts, transitions, .. } = &mut *state;
        match facts.version {
            Version::Unknown => transitions.forget(),
            Version::Missing | Version::Found(_) => transitions.see(&facts.operators),
        }
    }

    /// Everything as text in the format of [`CONTENT_TYPE`].
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Always succeeds: it is a text.
        let _ = text::encode(&mut text, &self.0.registry);
        text
    }

    /// A task is done, that many seconds after it could begin.
    pub fn task_done(&self, kind: &str, seconds: f64) {
        self.0.tasks.get_or_create(&OfKind { kind: kind.to_owned() }).observe(seconds);
    }

    /// How many tasks wait, by cause: one word each, not a sentence.
    pub fn waits(&self, causes: BTreeMap<String, usize>) {
        self.0.state.lock().waits = causes;
    }

    /// Drift was repaired, that many seconds after the event that showed it.
    pub fn drift_repaired(&self, seconds: f64) {
        self.0.drift_repairs.inc();
        self.0.drift_repair_seconds.observe(seconds);
    }

    /// How many objects somebody else changes back again and again.
    pub fn fights(&self, count: usize) {
        self.0.state.lock().fights = count;
    }

    /// Which operators have not come to rest for a whole period.
    pub fn unstable(&self, operators: BTreeSet<String>) {
        self.0.state.lock().unstable = operators;
    }

    /// A request to the API server was answered; 0 is no answer.
    pub fn request(&self, verb: &'static str, code: u16) {
        self.0.requests.get_or_create(&Request { verb, code }).inc();
    }

    /// Whether this replica is the one at work; what is known of the cluster is forgotten when it is not.
    pub fn leading(&self, is_leading: bool) {
        self.0.state.lock().is_leading = is_leading;
        if !is_leading {
            self.unstable(BTreeSet::new());
            self.set(|facts| facts.version = Version::Unknown);
        }
    }

    /// A release could not be loaded; `step` is the reason that `ReleaseAccepted` has.
    pub fn load_failed(&self, step: &str) {
        self.0.load_failures.get_or_create(&Step { step: step.to_owned() }).inc();
    }

    /// A manifest of a version could not be applied in one attempt.
    pub fn payload_error(&self, version: &str) {
        *self.0.state.lock().payload_errors.entry(version.to_owned()).or_default() += 1;
    }

    /// An event was not written.
    pub fn event_dropped(&self) {
        self.0.events_dropped.inc();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Shared {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // NB: nothing in here waits, so whoever changes the state waits for microseconds.
        let state = self.lock();
        let mut gauges = cluster::gauges(&state.facts, &state.transitions, &state.payload_errors);
        gauges.extend([state.waits(), state.fights(), state.leader(), state.unstable()]);
        drop(state);
        gauges.iter().try_for_each(|gauge| gauge.encode(&mut encoder))
    }
}

// === impl State ===

impl State {
    fn waits(&self) -> Gauge {
        let mut gauge = Gauge::new(metric::WAITS, "How many tasks wait, by cause");
        for (cause, count) in &self.waits {
            gauge.set([("cause", cause)], i64::try_from(*count).unwrap_or(i64::MAX));
        }
        gauge
    }

    fn fights(&self) -> Gauge {
        let mut gauge = Gauge::new(metric::FIGHTS, "Objects that somebody else changes back again and again");
        gauge.set([], i64::try_from(self.fights).unwrap_or(i64::MAX));
        gauge
    }

    fn unstable(&self) -> Gauge {
        let mut gauge =
            Gauge::new(metric::OPERATOR_UNSTABLE, "Operators that have not come to rest for a whole period");
        for name in &self.unstable {
            gauge.set([("name", name)], 1);
        }
        gauge
    }

    fn leader(&self) -> Gauge {
        let mut gauge = Gauge::new(metric::LEADER, "Whether this replica is the one at work");
        gauge.set([], self.is_leading.into());
        gauge
    }
}

#[cfg(test)]
mod tests;
