//! Inside a cluster: brings it to the release that its ClusterVersion asks for, keeps it there, and reports.
//!
//! ```text
//! watches ─▶ World ─▶ Asked ─┬─▶ load ─▶ Accepted ─▶ Work (engine) ─▶ Tracker ─▶ Report ─▶ status ─▶ one writer
//!                            └─ Choice (gates, capabilities, overrides, facts) ─▲
//! ```
//!
//! Everything happens in one task, behind a Lease: when the Lease is lost, the task is dropped, and with it every request.

pub mod adopt;
mod asked;
pub mod clock;
mod core;
pub mod events;
mod gates;
mod host;
pub mod lease;
pub mod manifests;
pub mod metrics;
mod notice;
mod retrieve;
pub mod rights;
pub mod serve;
mod settings;
mod tracker;
mod world;

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use lockstep_api::names::object;
use lockstep_apply::server::Server;

use crate::core::Core;
use crate::lease::Candidate;
pub use host::{Authorities, Host};
pub use notice::{Notice, Tone};
pub use settings::{OwnDeployment, Settings};

/// Why an operator stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It was asked to.
    Stopped,
    /// Its successor, from another release, does the rest.
    HandedOver,
}

/// Why an operator cannot work.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The release that it comes from cannot be read.
    #[error(
        "the local release contents are invalid - no current version can be determined from disk: {folder}: {why}",
        folder = .folder.display()
    )]
    Local {
        /// Where it should be.
        folder: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// What is under way at the server when the work ends has this long to end as well, before the next one may begin.
const GRACE: Duration = Duration::from_millis(200);

/// Runs until `stop` is done, or until a successor takes over. Waits for the Lease first, and again when it is lost.
///
/// # Errors
/// When the release that the operator comes from cannot be read.
pub async fn run(
    server: Server,
    settings: Settings,
    host: Host,
    stop: impl Future<Output = ()>,
) -> Result<End, OperatorError> {
    let candidate = Candidate {
        server: server.clone(),
        namespace: settings.namespace.clone(),
        name: object::VERSION.to_owned(),
        identity: settings.identity.clone(),
        timing: settings.timing,
        clock: host.clock.clone(),
        seed: settings.seed,
    };
    let mut stop = pin!(stop);
    loop {
        tracing::info!("waiting for the lease as {}", settings.identity);
        host.health.ready("standing by: another replica may hold the lease");
        let mut held = tokio::select! {
            biased;
            () = &mut stop => return Ok(End::Stopped),
            held = candidate.acquire(|holder| tracing::info!("the lease is held by {holder}")) => held,
        };
        tracing::info!("the lease is ours");
        let became = format!("{} became leader", settings.identity);
        host.events.record_lease(Notice::normal("LeaderElection", became));
        host.metrics.leading(true);
        let mut core = Core::new(server.clone(), settings.clone(), host.clone())?;
        let end = tokio::select! {
            biased;
            // First, also after this process stood still: who has lost the lease must not write once more.
            lost = held.keep() => Err(lost),
            () = &mut stop => Ok(End::Stopped),
            end = core.run() => Ok(end),
        };
        drop(core);
        host.metrics.leading(false);
        host.metrics.set(|facts| *facts = metrics::Facts::default());
        match end {
            Ok(end) => {
                tokio::time::sleep(GRACE).await;
                held.give_back().await;
                return Ok(end);
            }
            Err(lost) => {
                tracing::warn!("{lost}; the work is stopped");
                let stopped = format!("{} stopped leading", settings.identity);
                host.events.record_lease(Notice::warning("LeaderElection", stopped));
            }
        }
    }
}
