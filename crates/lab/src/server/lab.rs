//! The lab as its users hold it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, header};
use serde_json::json;
use tokio::task::JoinSet;

use super::Shared;
use super::core::{Core, namespaces_table};
use super::journal::Journal;
use super::verbs;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::rng::Rng;
use crate::store::{Key, Window};

/// How a lab is made.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// Where names, uids and durations come from.
    pub seed: u64,
    /// The time of the lab.
    pub clock: Arc<Clock>,
    /// How long the controllers of the server wait after a write, in lab time.
    pub settle: Duration,
    /// How many events of each resource are remembered; a watch from before them gets `410 Gone`.
    pub window: usize,
    /// How often the past of lists is forgotten, in lab time: a `continue` token lives at least that long.
    pub compaction: Duration,
    /// Whether garbage is collected and namespaces are emptied, as by a controller manager.
    pub controllers: bool,
    /// Whether every write is noted for [`Lab::journal`].
    pub journal: bool,
}

/// An embedded Kubernetes API server.
///
/// It must be made inside a tokio runtime, and lives until it is dropped; its clients then wait in vain for what its
/// controllers would do. Two clients of one lab see the same objects.
pub struct Lab {
    shared: Arc<Shared>,
    faults: Faults,
    seed: Rng,
    /// The controllers; they end with the lab.
    _tasks: JoinSet<()>,
}

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

// === impl LabOptions ===

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            clock: Arc::new(Clock::real(1.0)),
            settle: Duration::from_millis(5),
            window: Window::default().events,
            compaction: Duration::from_mins(5),
            controllers: true,
            journal: false,
        }
    }
}

// === impl Lab ===

impl Lab {
    /// A lab with nothing but the namespaces that every cluster has.
    pub fn new(options: LabOptions) -> Self {
        let LabOptions { seed, clock, settle, window, compaction, controllers, journal } = options;
        let seed = Rng::new(seed);
        let window = Window { events: window.max(1), ..Window::default() };
        let journal = journal.then(|| Journal::new(Arc::clone(&clock)));
        let mut core = Core::new(&seed, window, journal);
        let now = clock.stamp();
        for name in NAMESPACES {
            let object = json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": name,
                    "uid": core.uids.uid(),
                    "creationTimestamp": now,
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            });
            core.put(&Key::new(&namespaces_table(), "", name), object);
        }
        let shared = Arc::new(Shared::new(core, Arc::clone(&clock)));
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&shared).keep_house(settle, controllers));
        let faults = Faults::new(&seed, Arc::clone(&clock));
        tasks.spawn(Arc::clone(&shared).forget(compaction));
        tasks.spawn(faults.clone().run_schedule());
        Self { shared, faults, seed, _tasks: tasks }
    }

    /// The server as a service: every request of a client goes through it.
    pub fn router(&self) -> Router {
        self.faults.wrap(self.faultless_router())
    }

    fn faultless_router(&self) -> Router {
        Router::new().fallback(handle).with_state(Arc::clone(&self.shared))
    }

    /// A client of this lab, without a socket.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.router(), "default")
    }

    /// A client that no fault meets, for the scripted world: a broken API server breaks those who use it, not the story.
    pub fn world_client(&self) -> kube::Client {
        kube::Client::new(self.faultless_router(), "default")
    }

    /// The time of the lab.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.shared.clock
    }

    /// The faults of the lab, to add and remove them.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Randomness for one purpose, from the seed of the lab.
    pub fn rng(&self, purpose: &str) -> Rng {
        self.seed.fork(purpose)
    }

    /// One line per write since the start; empty unless [`LabOptions::journal`] asked for it.
    pub fn journal(&self) -> String {
        self.shared.core().journal.as_ref().map(|journal| journal.text().to_owned()).unwrap_or_default()
    }

    /// How many objects the lab holds and how many events it remembers.
    pub fn counts(&self) -> (usize, usize) {
        self.shared.core().store.counts()
    }
}

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let mut response = verbs::answer(&shared, request).await;
    // Clients correct their clocks by it, so it has to be that of the lab.
    let date = shared.clock.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if let Ok(date) = HeaderValue::from_str(&date) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}
