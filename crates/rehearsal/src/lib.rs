//! A release and a scenario, run in the lab by the same engine that runs against a cluster.
//!
//! Time is virtual unless a speed is given: an installation of an hour takes a second, and the same seed gives the same
//! run event by event.

pub mod recorded;
pub mod report;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use lockstep_apply::engine::{self, Ending, Options, Plan, PlanOptions};
use lockstep_apply::modify::ClusterFacts;
use lockstep_apply::progress::{Event, Outcome};
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::Server;
use lockstep_graph::{InstallOrder, Mode};
use lockstep_lab::{Clock, Lab, LabOptions, ReleaseFacts, RuleError, Scenario, World, WorldError};
use lockstep_payload::{Release, Selection};
use tokio::task::JoinSet;

/// A release and what of it belongs to the cluster.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The release.
    pub release: &'a Release,
    /// What of it belongs to the cluster.
    pub selection: &'a Selection,
}

/// What is rehearsed.
#[derive(Debug, Clone)]
pub struct Rehearsal<'a> {
    /// The release to come to.
    pub target: Target<'a>,
    /// The release that is installed before, for the rehearsal of an update.
    pub from: Option<Target<'a>>,
    /// In which order an installation runs.
    pub install_order: InstallOrder,
    /// What the operators, workloads and people of the cluster do.
    pub scenario: Scenario,
    /// The seed of everything that is random.
    pub seed: u64,
    /// How many times faster than in reality; `None` for virtual time, which does not wait at all.
    pub speed: Option<f64>,
    /// After how long a run is given up.
    pub timeout: Duration,
    /// For how long the cluster is watched after it got there.
    pub hold: Duration,
}

/// One run of a rehearsal.
#[derive(Debug)]
pub struct Act {
    /// Version of the release.
    pub version: String,
    /// What it was run for.
    pub mode: Mode,
    /// How it ended.
    pub ending: Ending,
}

/// Why there was no rehearsal.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The runtime could not be made.
    #[error("starting the runtime")]
    Runtime(#[source] io::Error),
    /// A fault of the scenario makes no sense.
    #[error("a fault of the scenario")]
    Fault(#[source] RuleError),
    /// The lab did not answer; this is a bug.
    #[error("the lab refuses to say what it serves: {}", .0.explain("the lab"))]
    Lab(Refusal),
    /// The scripted world ended; this is a bug.
    #[error("the scripted world ended")]
    World(#[source] WorldError),
}

// === impl Rehearsal ===

impl Rehearsal<'_> {
    /// Runs it. Every event of every act is given to `tell`; an act begins with [`Happening::Began`].
    ///
    /// An update is not tried when the installation before it did not get there.
    ///
    /// [`Happening::Began`]: lockstep_apply::progress::Happening::Began
    ///
    /// # Errors
    /// Only for reasons that have nothing to do with the release.
    pub fn run(&self, mut tell: impl FnMut(&Event)) -> Result<Vec<Act>, RehearsalError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(self.speed.is_none())
            .build()
            .map_err(RehearsalError::Runtime)?;
        runtime.block_on(self.play(&mut tell))
    }

    async fn play(&self, tell: &mut impl FnMut(&Event)) -> Result<Vec<Act>, RehearsalError> {
        let clock = Arc::new(self.speed.map_or_else(Clock::simulated, Clock::real));
        let options = LabOptions { seed: self.seed, clock: Arc::clone(&clock), ..LabOptions::default() };
        let lab = Lab::new(options);
        for rule in &self.scenario.faults {
            lab.faults().add(rule.clone()).map_err(RehearsalError::Fault)?;
        }
        let target = ReleaseFacts::of(self.target.release, self.target.selection);
        let facts = match self.from {
            Some(from) => ReleaseFacts::of(from.release, from.selection).followed_by(target),
            None => target,
        };
        let world = World::new(lab.world_client(), self.scenario.clone(), Some(facts), clock, self.seed);
        // Dropped at the end, which ends the world.
        let mut world_task = JoinSet::new();
        world_task.spawn(world.run());
        let server = Server::new(lab.client());
        let mut acts = Vec::new();
        let first = self.from.map(|from| (from, Mode::Installing));
        let last = (self.target, if self.from.is_some() { Mode::Updating } else { Mode::Installing });
        for (target, mode) in first.into_iter().chain([last]) {
            let act = self.act(&server, target, mode, tell).await?;
            let is_converged = act.ending.outcome == Outcome::Converged;
            acts.push(act);
            if let Some(ended) = world_task.try_join_next() {
                return Err(RehearsalError::World(ended.unwrap_or(WorldError::Ended)));
            }
            if !is_converged {
                break;
            }
        }
        Ok(acts)
    }

    async fn act(
        &self,
        server: &Server,
        target: Target<'_>,
        mode: Mode,
        tell: &mut impl FnMut(&Event),
    ) -> Result<Act, RehearsalError> {
        let facts = ClusterFacts { set: "version".to_owned(), ..ClusterFacts::default() };
        let plan_options = PlanOptions { install_order: self.install_order, facts, namespace: None };
        let plan = Plan::new(target.release, target.selection, mode, &plan_options);
        let options = Options {
            timeout: Some(self.timeout),
            hold: Some(self.hold),
            seed: self.seed,
            ..Options::default()
        };
        let ending = engine::run(server, &plan, &options, |event| tell(&event)).await;
        let ending = ending.map_err(RehearsalError::Lab)?;
        Ok(Act { version: target.release.metadata.version.to_string(), mode, ending })
    }
}
