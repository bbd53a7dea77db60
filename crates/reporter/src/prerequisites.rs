//! The operators that have to be there first.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt as _;
use http::Request;
use kube::Client;
use kube::core::WatchEvent;
use lockstep_api::names::{condition, object};
use lockstep_api::{ClusterOperator, ConditionStatus};
use tokio::time::Instant;

use crate::server::{CLUSTER_OPERATORS, list};

/// Versions that other operators have to report before this one goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prerequisites {
    needs: Vec<Need>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Need {
    operator: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Version { name: String, version: String },
    Available,
}

/// What one operator does not report yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The operator.
    pub operator: String,
    /// What is needed and what is there, as a sentence without its subject.
    pub why: String,
}

/// Why the wait ended without what was waited for.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// The time is over.
    #[error(
        "after {limit:?} still waiting for {}; `kubectl describe clusteroperator {}` says why",
        tell(missing),
        first(missing)
    )]
    Limit {
        /// How long was waited.
        limit: Duration,
        /// For what.
        missing: Vec<Missing>,
    },
    /// The cluster could not be asked when the time was over.
    #[error("after {limit:?} the API server still cannot be asked for ClusterOperators")]
    Unanswered {
        /// How long was waited.
        limit: Duration,
        /// What it said last.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A watch lives this long; then everything is read anew, because events can be lost.
const RECHECK: Duration = Duration::from_mins(1);
/// The pause after a request that failed.
const PAUSE: Duration = Duration::from_secs(1);

// === impl Prerequisites ===

impl Prerequisites {
    /// Nothing is needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// An operator has to report this version of itself.
    #[must_use]
    pub fn version(self, operator: impl Into<String>, version: impl Into<String>) -> Self {
        self.operand(operator, object::OPERATOR_VERSION, version)
    }

    /// An operator has to report this version of one of its operands.
    #[must_use]
    pub fn operand(
        self,
        operator: impl Into<String>,
        name: impl Into<String>,
        version: impl Into<String>,
    ) -> Self {
        self.need(operator.into(), What::Version { name: name.into(), version: version.into() })
    }

    /// An operator has to be available.
    #[must_use]
    pub fn available(self, operator: impl Into<String>) -> Self {
        self.need(operator.into(), What::Available)
    }

    fn need(mut self, operator: String, what: What) -> Self {
        self.needs.push(Need { operator, what });
        self
    }

    /// What of it the operators of a cluster do not report.
    pub fn missing<'a>(&self, operators: impl IntoIterator<Item = &'a ClusterOperator>) -> Vec<Missing> {
        let operators: BTreeMap<&str, &ClusterOperator> =
            operators.into_iter().map(|operator| (operator.metadata.name.as_str(), operator)).collect();
        self.needs
            .iter()
            .filter_map(|need| need.missing(operators.get(need.operator.as_str()).copied()))
            .collect()
    }

    /// Waits until all of it is reported, or the limit is over; `told` hears what is missing whenever that changes.
    pub async fn wait(
        &self,
        client: &Client,
        limit: Duration,
        mut told: impl FnMut(&[Missing]),
    ) -> Result<(), WaitError> {
        let end = Instant::now() + limit;
        let mut last = None;
        let mut trouble = None;
        loop {
            let round = self.round(client, &mut last, &mut told);
            match tokio::time::timeout_at(end, round).await {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) => trouble = None,
                Ok(Err(error)) => {
                    trouble = Some(error);
                    if tokio::time::timeout_at(end, tokio::time::sleep(PAUSE)).await.is_ok() {
                        continue;
                    }
                }
                Err(_) => {}
            }
            if Instant::now() >= end {
                return Err(match (trouble, last) {
                    (Some(source), _) => WaitError::Unanswered { limit, source },
                    (None, missing) => {
                        WaitError::Limit { limit, missing: missing.unwrap_or_else(|| self.missing([])) }
                    }
                });
            }
        }
    }

    /// Reads everything and follows the changes, until all is there or the watch ends.
    async fn round(
        &self,
        client: &Client,
        last: &mut Option<Vec<Missing>>,
        told: &mut impl FnMut(&[Missing]),
    ) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
        let (items, version) = list(client).await?;
        let mut operators: BTreeMap<String, ClusterOperator> =
            items.into_iter().map(|item| (item.metadata.name.clone(), item)).collect();
        if self.is_met(&operators, last, told) {
            return Ok(true);
        }
        let seconds = RECHECK.as_secs();
        let path =
            format!("{CLUSTER_OPERATORS}?watch=true&resourceVersion={version}&timeoutSeconds={seconds}");
        let request = Request::builder().uri(path).body(Vec::new())?;
        let mut events = pin!(client.request_events::<ClusterOperator>(request).await?);
        // The server ends the watch; a connection that died without a word is given up a little later.
        let end = Instant::now() + RECHECK + PAUSE;
        while let Ok(event) = tokio::time::timeout_at(end, events.try_next()).await {
            match event? {
                Some(WatchEvent::Added(operator) | WatchEvent::Modified(operator)) => {
                    operators.insert(operator.metadata.name.clone(), operator);
                }
                Some(WatchEvent::Deleted(operator)) => {
                    operators.remove(&operator.metadata.name);
                }
                Some(WatchEvent::Bookmark(_)) => {}
                Some(WatchEvent::Error(_)) | None => break,
            }
            if self.is_met(&operators, last, told) {
                return Ok(true);
            }
        }
        // A server that ends watches at once shall not be asked in a circle.
        tokio::time::sleep(PAUSE).await;
        Ok(false)
    }

    fn is_met(
        &self,
        operators: &BTreeMap<String, ClusterOperator>,
        last: &mut Option<Vec<Missing>>,
        told: &mut impl FnMut(&[Missing]),
    ) -> bool {
        let missing = self.missing(operators.values());
        if last.as_ref() != Some(&missing) {
            told(&missing);
        }
        last.insert(missing).is_empty()
    }
}

// === impl Need ===

impl Need {
    fn missing(&self, live: Option<&ClusterOperator>) -> Option<Missing> {
        let missing = |why| Some(Missing { operator: self.operator.clone(), why });
        let Some(live) = live else { return missing("is not there yet".to_owned()) };
        match &self.what {
            What::Version { name, version } => match live.status.version(name) {
                Some(reported) if reported == version => None,
                Some(reported) => {
                    missing(format!("reports version `{name}` {reported}, {version} is needed"))
                }
                None => missing(format!("reports no version `{name}`, {version} is needed")),
            },
            What::Available => match live.status.conditions.status(condition::AVAILABLE) {
                ConditionStatus::True => None,
                status => missing(format!("says Available={status}, True is needed")),
            },
        }
    }
}

// === impl Missing ===

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clusteroperator/{}, which {}", self.operator, self.why)
    }
}

fn tell(missing: &[Missing]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn first(missing: &[Missing]) -> &str {
    missing.first().map_or("", |missing| &missing.operator)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use lockstep_api::Condition;

    use super::*;

    fn dns(version: &str, available: ConditionStatus) -> ClusterOperator {
        let mut dns = ClusterOperator::new("dns");
        dns.status.versions.push(crate::version("operator", version));
        dns.status.conditions.set(Condition::new("Available", available), Timestamp::UNIX_EPOCH);
        dns
    }

    fn texts(prerequisites: &Prerequisites, operators: &[ClusterOperator]) -> Vec<String> {
        prerequisites.missing(operators).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn whatever_is_missing_is_told_with_what_is_there() {
        let needs =
            Prerequisites::new().version("dns", "1.1.0").operand("dns", "coredns", "9").available("dns");
        assert_eq!(texts(&needs, &[]), vec!["clusteroperator/dns, which is not there yet"; 3]);
        assert_eq!(
            texts(&needs, &[dns("1.0.0", ConditionStatus::False)]),
            [
                "clusteroperator/dns, which reports version `operator` 1.0.0, 1.1.0 is needed",
                "clusteroperator/dns, which reports no version `coredns`, 9 is needed",
                "clusteroperator/dns, which says Available=False, True is needed",
            ]
        );
    }

    #[test]
    fn nothing_is_missing_when_all_is_reported_or_nothing_needed() {
        let needs = Prerequisites::new().version("dns", "1.1.0").available("dns");
        assert_eq!(needs.missing(&[dns("1.1.0", ConditionStatus::True)]), []);
        assert_eq!(Prerequisites::new().missing([]), []);
    }

    #[test]
    fn a_limit_names_what_was_waited_for_and_how_to_look() {
        let missing = Prerequisites::new().version("dns", "1").missing([]);
        let error = WaitError::Limit { limit: Duration::from_secs(5), missing };
        assert_eq!(
            error.to_string(),
            "after 5s still waiting for clusteroperator/dns, which is not there yet; \
             `kubectl describe clusteroperator dns` says why"
        );
    }
}
