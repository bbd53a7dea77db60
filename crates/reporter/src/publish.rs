//! The rim: one status write per change, none when nothing changed.

use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use kube::Client;
use lockstep_api::ClusterOperator;

use crate::server::{CLUSTER_OPERATORS, CallError, call};
use crate::{Invalid, Report};

/// Writes reports into a cluster.
#[derive(Clone)]
pub struct Reporter {
    client: Client,
}

/// What a publication did.
#[derive(Debug, Clone, PartialEq)]
pub enum Published {
    /// The cluster says the same already; nothing was written.
    Unchanged(Box<ClusterOperator>),
    /// The status was written.
    Written(Box<ClusterOperator>),
}

/// Why a report is not in the cluster.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The report is none.
    #[error("the report of clusteroperator/{name} is not valid")]
    Invalid {
        /// Which one.
        name: String,
        /// Why.
        #[source]
        source: Invalid,
    },
    /// The kind is not there; whoever brings the platform brings it.
    #[error(
        "clusteroperator/{name}: the API server serves no ClusterOperators yet; apply their definition, then try again"
    )]
    NoSuchKind {
        /// Which one.
        name: String,
    },
    /// Somebody else writes faster.
    #[error(
        "clusteroperator/{name} was changed by others {tries} times while it was written; look for a second operator that reports it"
    )]
    Contended {
        /// Which one.
        name: String,
        /// How often it was tried.
        tries: u32,
    },
    /// A request failed.
    #[error("{verb} clusteroperator/{name}")]
    Request {
        /// What was tried.
        verb: &'static str,
        /// Which one.
        name: String,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// How often a write is tried that others overtake.
const TRIES: u32 = 8;
/// The pause before the next try, times the number of tries so far.
const PAUSE: Duration = Duration::from_millis(25);

// === impl Reporter ===

impl Reporter {
    /// A reporter that writes through this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Makes the cluster say what the report says.
    ///
    /// *Order*: the object is read; the status that follows is computed over it; equal ones are not written; a missing
    /// object is created first. A conflict starts again with what is there now, so that nothing of others is lost.
    pub async fn publish(&self, report: &Report, now: Timestamp) -> Result<Published, PublishError> {
        let name = report.name().to_owned();
        report.check().map_err(|source| PublishError::Invalid { name: name.clone(), source })?;
        for tried in 0..TRIES {
            tokio::time::sleep(PAUSE * tried).await;
            match self.publish_once(report, now).await {
                Err(Stumble::Conflict) => {}
                Err(Stumble::Error(error)) => return Err(error),
                Ok(published) => return Ok(published),
            }
        }
        Err(PublishError::Contended { name, tries: TRIES })
    }

    async fn publish_once(&self, report: &Report, now: Timestamp) -> Result<Published, Stumble> {
        let name = report.name();
        let mut object = self.read_or_create(name).await?;
        let status = report.over(&object.status, now);
        let status = status.map_err(|source| PublishError::Invalid { name: name.to_owned(), source })?;
        if status == object.status {
            return Ok(Published::Unchanged(Box::new(object)));
        }
        object.status = status;
        let path = format!("{CLUSTER_OPERATORS}/{name}/status");
        match call(&self.client, Method::PUT, &path, Some(&object)).await {
            Ok(written) => Ok(Published::Written(Box::new(written))),
            // Gone in between: it is created anew.
            Err(error) if error.code() == 409 || error.code() == 404 => Err(Stumble::Conflict),
            Err(error) => Err(failed("writing the status of", name, error)),
        }
    }

    async fn read_or_create(&self, name: &str) -> Result<ClusterOperator, Stumble> {
        match call(&self.client, Method::GET, &format!("{CLUSTER_OPERATORS}/{name}"), None).await {
            Ok(object) => return Ok(object),
            Err(error) if error.code() == 404 => {}
            Err(error) => return Err(failed("reading", name, error)),
        }
        let fresh = ClusterOperator::new(name);
        match call(&self.client, Method::POST, CLUSTER_OPERATORS, Some(&fresh)).await {
            Ok(object) => Ok(object),
            Err(error) if error.code() == 409 => Err(Stumble::Conflict),
            Err(error) if error.code() == 404 => {
                Err(PublishError::NoSuchKind { name: name.to_owned() }.into())
            }
            Err(error) => Err(failed("creating", name, error)),
        }
    }
}

// === impl Published ===

impl Published {
    /// The object as it is now.
    pub fn object(&self) -> &ClusterOperator {
        match self {
            Self::Unchanged(object) | Self::Written(object) => object,
        }
    }

    /// Whether something was written.
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Written(_))
    }
}

/// Why a try did not succeed.
enum Stumble {
    /// Others were faster: again.
    Conflict,
    Error(PublishError),
}

impl From<PublishError> for Stumble {
    fn from(error: PublishError) -> Self {
        Self::Error(error)
    }
}

fn failed(verb: &'static str, name: &str, error: CallError) -> Stumble {
    Stumble::Error(PublishError::Request { verb, name: name.to_owned(), source: Box::new(error) })
}
