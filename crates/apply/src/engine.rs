//! Runs a release against a cluster: in order, as fast as the server takes it, and then keeps it there.
//!
//! [`Plan`] says what is to be done, `Run` is the state of doing it as a pure value (inputs in, commands out), and
//! [`run`] pumps between the two and a server. Nothing here knows whether time is real or virtual.

mod bring;
mod fights;
mod pace;
mod packed;
mod plan;
mod pump;
mod run;

use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) use bring::label_only;
pub(crate) use plan::Item;
pub use plan::{Plan, PlanOptions, Planned};
pub use pump::{prune, run};
pub use run::Orphan;

use lockstep_graph::Mode;
use lockstep_health as health;
use tokio::sync::watch;

use crate::progress::Outcome;
use crate::record::Record;

/// How a release is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// After how long to give up; `None` for never.
    pub timeout: Option<Duration>,
    /// For how long to keep the cluster at the release after it got there; `None` for ever.
    pub hold: Option<Duration>,
    /// Objects (`Kind/name`) that may be deleted and created again when their fields cannot be changed.
    pub recreate: BTreeSet<String>,
    /// After how long a wait for something that nothing in the release provides counts as a failure.
    pub unprovided_after: Duration,
    /// What the cluster remembers of this set, for who wants it to remember that the release is complete.
    pub record: Option<Record>,
    /// Who can pause the run: while it says so nothing new starts, and drift is still repaired.
    pub pause: Option<watch::Receiver<bool>>,
    /// The seed of all pauses.
    pub seed: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// In one word.
    pub outcome: Outcome,
    /// What is missing and why; empty when converged.
    pub missing: Vec<String>,
    /// Objects of this set that the release does not name.
    pub orphans: Vec<Orphan>,
    /// Writes that the server accepted.
    pub writes: usize,
}

/// How operators are judged while a release is run in a mode.
pub fn health_mode(mode: Mode) -> health::Mode {
    match mode {
        Mode::Installing => health::Mode::Installing,
        Mode::Updating => health::Mode::Updating,
        Mode::Reconciling => health::Mode::Reconciling,
    }
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: None,
            hold: Some(Duration::ZERO),
            recreate: BTreeSet::new(),
            unprovided_after: Duration::from_mins(10),
            record: None,
            pause: None,
            seed: 0,
        }
    }
}
