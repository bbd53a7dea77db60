//! Taking over a cluster that the reference operator runs, and giving it back.
//!
//! ```text
//! keep what is needed to go back ─▶ Deployment to 0 ─▶ Lease ─▶ for every chunk of objects: keep former entries, move them
//! ```
//!
//! Nothing but `metadata.managedFields` and the label of create-only objects is written, so no value changes; what the next
//! apply does is what changes values. All state is in the cluster, and every step looks before it writes: whoever is killed in
//! the middle runs again and goes on.

mod backup;
mod objects;
mod predecessor;

use std::future::Future;
use std::time::Duration;

use lockstep_apply::engine::Plan;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::Server;
use tokio::time::timeout;

use crate::clock::Clock;
use crate::lease::{Candidate, Timing};
use backup::Backup;
use predecessor::Predecessor;

/// Where, and as whom, an adoption works.
#[derive(Clone)]
pub struct Adoption {
    /// The cluster.
    pub server: Server,
    /// The namespace of the operator: of its Deployment, its Lease and of what is kept.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// The set that objects become members of.
    pub set: String,
    /// Who we are: different for every process.
    pub identity: String,
    /// The time of day.
    pub clock: Clock,
    /// How long somebody else may hold the Lease.
    pub patience: Duration,
    /// The seed of pauses.
    pub seed: u64,
}

/// What an adoption would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Objects whose owner entries would become ours.
    pub moves: Vec<String>,
    /// Objects that are only created, never changed, and would get our label.
    pub labels: Vec<String>,
    /// Objects of the release that are not there, or in which the reference owns nothing.
    pub others: usize,
    /// What would become of the Deployment of the operator, for people.
    pub deployment: String,
    /// Whether the Deployment would be scaled to 0.
    pub stops_operator: bool,
    /// Whether the release itself brings the Deployment of the reference, which is not to be applied then.
    pub brings_reference: bool,
    /// What the server refused to tell, for people.
    pub unknown: Vec<String>,
}

/// What happens meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The Deployment was scaled.
    Scaled {
        /// To how many replicas.
        replicas: u64,
    },
    /// Somebody else holds the Lease; it is waited for.
    Held {
        /// Who.
        holder: String,
    },
    /// Objects were worked on.
    Done {
        /// How many so far.
        done: usize,
        /// Of how many.
        total: usize,
    },
    /// Something is left as it is, and why.
    Left(String),
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Objects whose owner entries were moved, or restored.
    pub entries: usize,
    /// Objects that got our label, or lost it.
    pub labels: usize,
    /// Objects that are left as they are because the server refused.
    pub refused: usize,
}

/// Why an adoption, or the way back, stopped. What was done stays; another run goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// A request did not work.
    #[error("{}", .refusal.explain(.object))]
    Refused {
        /// What it was about.
        object: String,
        /// Why.
        refusal: Refusal,
    },
    /// Somebody else is at work.
    #[error(
        "the Lease {lease} is still held by {holder:?} after {} s: another operator works on this cluster; stop it (a static \
         pod, a Deployment elsewhere) and run this again", .patience.as_secs()
    )]
    Held {
        /// The Lease.
        lease: String,
        /// Who holds it.
        holder: String,
        /// How long it was waited for.
        patience: Duration,
    },
    /// The Lease was lost meanwhile.
    #[error("stopped, because {0}; run it again")]
    Lost(crate::lease::Lost),
    /// There is nothing to go back to.
    #[error("the cluster was not adopted: there is no {0} that keeps what was before")]
    NotAdopted(String),
    /// What is kept cannot be read.
    #[error("reading {name}, which keeps what was before the adoption")]
    Unreadable {
        /// The `ConfigMap`.
        name: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// How long a Lease is good for that is held only for minutes: short, so that a run that was killed is soon followed.
const TIMING: Timing = Timing {
    duration: Duration::from_secs(10),
    renew_deadline: Duration::from_secs(8),
    retry_period: Duration::from_secs(2),
};

// === impl Adoption ===

impl Adoption {
    /// What would be done. Nothing is written.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub async fn look(&self, plan: &Plan) -> Result<Outlook, AdoptError> {
        let predecessor = Predecessor::read(self).await?;
        let survey = objects::survey(self, plan).await?;
        Ok(Outlook {
            moves: survey.moves.iter().map(|object| object.title.clone()).collect(),
            labels: survey.labels.iter().map(|object| object.title.clone()).collect(),
            others: survey.others,
            deployment: predecessor.sentence(self),
            stops_operator: predecessor.must_stop(),
            brings_reference: plan.planned().any(|planned| Predecessor::stays(&planned.object)),
            unknown: survey.unknown,
        })
    }

    /// Takes the cluster over.
    ///
    /// # Errors
    /// When a request does not work that cannot be done without, or somebody else holds the Lease.
    pub async fn adopt(&self, plan: &Plan, mut tell: impl FnMut(Progress)) -> Result<Summary, AdoptError> {
        let predecessor = Predecessor::read(self).await?;
        let survey = objects::survey(self, plan).await?;
        if survey.is_empty() && !predecessor.must_stop() {
            return Ok(Summary::default());
        }
        let mut backup = Backup::begin(self, &predecessor).await?;
        if predecessor.must_stop() {
            predecessor.scale(self, 0).await?;
            tell(Progress::Scaled { replicas: 0 });
        }
        self.alone(&mut tell, async |tell: &mut dyn FnMut(Progress)| {
            // Whoever was stopped has written until now.
            let survey = objects::survey(self, plan).await?;
            objects::take(self, &survey, &mut backup, tell).await
        })
        .await
    }

    /// Gives the cluster back.
    ///
    /// # Errors
    /// When a request does not work that cannot be done without, or somebody else holds the Lease.
    pub async fn revert(&self, mut tell: impl FnMut(Progress)) -> Result<Summary, AdoptError> {
        let backup = Backup::read(self).await?;
        let predecessor = Predecessor::read(self).await?;
        // Whoever it runs: nobody shall write meanwhile.
        if predecessor.replicas() > 0 {
            predecessor.scale(self, 0).await?;
            tell(Progress::Scaled { replicas: 0 });
        }
        let summary = self
            .alone(&mut tell, async |tell: &mut dyn FnMut(Progress)| {
                objects::give_back(self, &backup, tell).await
            })
            .await?;
        if summary.refused == 0 {
            if let Some(replicas) = predecessor::restore(self, &backup.deployment).await? {
                tell(Progress::Scaled { replicas });
            }
            backup.discard(self).await?;
        }
        Ok(summary)
    }

    /// Does something while nobody else works on the cluster.
    async fn alone<T, W>(&self, tell: &mut dyn FnMut(Progress), work: W) -> Result<T, AdoptError>
    where
        W: AsyncFnOnce(&mut dyn FnMut(Progress)) -> Result<T, AdoptError>,
    {
        let candidate = Candidate {
            server: self.server.clone(),
            namespace: self.namespace.clone(),
            name: self.lease.clone(),
            identity: self.identity.clone(),
            timing: TIMING,
            clock: self.clock.clone(),
            seed: self.seed,
        };
        let mut holding = String::new();
        let waiting = candidate.acquire(|holder| {
            if holder != self.identity {
                holder.clone_into(&mut holding);
                tell(Progress::Held { holder: holder.to_owned() });
            }
        });
        let Ok(mut held) = timeout(self.patience, waiting).await else {
            let lease = format!("{}/{}", self.namespace, self.lease);
            return Err(AdoptError::Held { lease, holder: holding, patience: self.patience });
        };
        let outcome = tokio::select! {
            biased;
            why = held.keep() => return Err(AdoptError::Lost(why)),
            outcome = boxed(work(tell)) => outcome,
        };
        held.give_back().await;
        outcome
    }
}

/// A future of unknown size on the heap: the loops over objects are large.
fn boxed<'a, T>(future: impl Future<Output = T> + 'a) -> std::pin::Pin<Box<dyn Future<Output = T> + 'a>> {
    Box::pin(future)
}

/// A refusal about something.
fn refused(object: impl Into<String>) -> impl FnOnce(Refusal) -> AdoptError {
    let object = object.into();
    move |refusal| AdoptError::Refused { object, refusal }
}
