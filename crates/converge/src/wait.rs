//! Waiting for a cluster with an end: every step has a limit, every limit that passes names what was missing and what to do.

mod steps;
mod told;

use std::collections::BTreeSet;
use std::time::Duration;

use lockstep_apply::server::Server;
use lockstep_health::convergence::OperatorState;
use lockstep_health::stability::{Judgement, Limits, Rest};
use serde::Serialize;

use crate::sight::{Sight, Source};
use steps::Steps;
pub use told::{Pacer, Told};

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// The API server answers and says that it is ready.
    Api,
    /// The bootstrap host is done and may go.
    BootstrapComplete,
    /// The cluster is initialised, and its operators have come to rest.
    InstallComplete,
    /// The operators have come to rest.
    Stable,
    /// The whole checklist holds.
    Converged,
    /// One operator is well.
    Operator(String),
}

/// How long is waited, and for whom.
#[derive(Debug, Clone)]
pub struct Options {
    /// Until the API server answers.
    pub api: Duration,
    /// Until the bootstrap host is done.
    pub bootstrap: Duration,
    /// Until its etcd member is gone.
    pub etcd: Duration,
    /// Until the cluster is initialised, converged, or an operator is well.
    pub cluster: Duration,
    /// When operators have come to rest.
    pub stability: Limits,
    /// Operators that have to be there.
    pub expected: BTreeSet<String>,
    /// The seed of all pauses.
    pub seed: u64,
}

/// Which step failed: installers give each its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Until the bootstrap host is done.
    Bootstrap,
    /// Until the cluster is there.
    Install,
    /// Until it has come to rest.
    Stability,
}

/// What was not there in time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Which step.
    pub stage: Stage,
    /// What was missing, and since when.
    pub sentence: String,
    /// Every operator that is not well.
    pub operators: Vec<OperatorState>,
    /// What to do now.
    pub next_steps: Vec<String>,
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// What was not there in time, if anything was not.
    pub failure: Option<Failure>,
    /// The judgement about rest, where that was asked for.
    pub stability: Option<Judgement>,
    /// Times of rest that came to an end while it was watched.
    pub rests: Vec<Rest>,
}

/// Waits, and tells what happens meanwhile.
pub async fn wait(
    server: &Server,
    goal: &Goal,
    options: &Options,
    tell: &mut (dyn FnMut(Told) + Send),
) -> Ending {
    let mut steps = Steps::new(server, options, tell);
    let outcome = match goal {
        Goal::Api => steps.api().await,
        Goal::BootstrapComplete => steps.bootstrap_complete().await,
        Goal::InstallComplete => steps.install_complete().await,
        Goal::Stable => steps.stable().await,
        Goal::Converged => steps.converged().await,
        Goal::Operator(name) => steps.operator(name).await,
    };
    steps.end(outcome.err())
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            api: Duration::from_mins(20),
            bootstrap: Duration::from_mins(45),
            etcd: Duration::from_mins(30),
            cluster: Duration::from_mins(40),
            stability: Limits::default(),
            expected: BTreeSet::new(),
            seed: 0,
        }
    }
}

// === impl Stage ===

impl Stage {
    /// The exit code of the reference's installer.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Bootstrap => 5,
            Self::Install => 6,
            Self::Stability => 7,
        }
    }
}

/// Watches over what a goal looks at.
fn sight(server: &Server, sources: &[Source], options: &Options) -> Sight {
    Sight::new(server, sources, options.seed)
}
