//! What is asked of a cluster before a release is brought to it: what it says about itself, and whether it is new.

use lockstep_api::names::{group, kind, object};
use lockstep_api::{ClusterVersion, Override};
use lockstep_graph::Mode;
use serde_json::Value;

use crate::kinds::Resource;
use crate::modify::{ClusterFacts, ModifyError};
use crate::record::{self, Record};
use crate::refusal::Refusal;
use crate::server::{Call, ListPage, Server};

/// These kinds have one object each.
const PAGE: u32 = 10;

/// What is known of a cluster before the first write.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// What the cluster adds to manifests.
    pub facts: ClusterFacts,
    /// Objects that the administrator wants to be left alone.
    pub overrides: Vec<Override>,
    /// What the cluster remembers of this set; `None` where we are not allowed to know.
    pub record: Option<Record>,
    /// Whether the ClusterVersion says that a release was brought to it completely.
    pub has_completed: bool,
}

/// Why a cluster cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// A request did not work.
    #[error("{}", .refusal.explain(.object))]
    Refused {
        /// What was asked for.
        object: String,
        /// Why there is no answer.
        refusal: Refusal,
    },
    /// The ClusterVersion cannot be read, and with it what is to be left alone.
    #[error("reading ClusterVersion version")]
    Version(#[source] serde_json::Error),
    /// An object of the cluster says something that cannot be used.
    #[error(transparent)]
    Facts(#[from] ModifyError),
}

/// Asks a cluster about itself and about the objects of a set. What it does not have is a default.
///
/// # Errors
/// When it does not answer, does not let us read, or says something that cannot be used.
pub async fn survey(server: &Server, set: &str) -> Result<Survey, SurveyError> {
    // First alone: it opens the connection that the others share.
    let version = read(server, kind::CLUSTER_VERSION, "clusterversions", object::VERSION).await?;
    let record = async {
        match record::read(server, set).await {
            Ok(record) => Ok(Some(record)),
            Err(Refusal::Forbidden { .. }) => Ok(None),
            Err(refusal) => Err(SurveyError::Refused { object: record::title(set), refusal }),
        }
    };
    let (proxy, infrastructure, api_server, record) = futures::try_join!(
        read(server, kind::PROXY, "proxies", object::CLUSTER),
        read(server, kind::INFRASTRUCTURE, "infrastructures", object::CLUSTER),
        read(server, kind::API_SERVER, "apiservers", object::CLUSTER),
        record,
    )?;
    let (proxy, infrastructure, api_server) = (proxy.as_ref(), infrastructure.as_ref(), api_server.as_ref());
    let facts = ClusterFacts::read(version.as_ref(), proxy, infrastructure, api_server, set)?;
    let version: Option<ClusterVersion> =
        version.map(serde_json::from_value).transpose().map_err(SurveyError::Version)?;
    let has_completed = version.as_ref().is_some_and(|version| version.status.last_completed().is_some());
    let overrides = version.map(|version| version.spec.overrides).unwrap_or_default();
    Ok(Survey { facts, overrides, record, has_completed })
}

/// Reads one object of the cluster's configuration; `None` where there is none.
///
/// By a list: an object of the release is never read by itself. A small page and no selector, because only that is
/// answered while the server still gets to know a kind.
///
/// # Errors
/// When the cluster does not answer or does not let us read.
pub async fn read(
    server: &Server,
    kind: &str,
    plural: &str,
    name: &str,
) -> Result<Option<Value>, SurveyError> {
    let resource = Resource::new(group::CONFIG, "v1", kind, plural, false);
    let page = ListPage { limit: Some(PAGE), ..ListPage::default() };
    match server.send_patiently(&Call::list(&resource, None, &page)).await {
        Ok(mut answer) => {
            let items = answer.object["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
            Ok(items.into_iter().find(|object| lockstep_api::object::name(object) == name))
        }
        Err(Refusal::NotFound | Refusal::KindNotServed) => Ok(None),
        Err(refusal) => Err(SurveyError::Refused { object: format!("{kind} {name}"), refusal }),
    }
}

// === impl Survey ===

impl Survey {
    /// What a release is applied for where nobody says it: a cluster that was never brought to a release completely is
    /// installed, also where an installation was stopped half-way. `None` when we are not allowed to know.
    pub fn mode(&self) -> Option<Mode> {
        if self.has_completed {
            return Some(Mode::Updating);
        }
        let record = self.record.as_ref()?;
        Some(if record.completed.is_some() { Mode::Updating } else { Mode::Installing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cluster_that_remembers_a_complete_release_is_updated() {
        let mode = |record: Option<Option<&str>>, has_completed| {
            let record = record.map(|completed| Record { completed: completed.map(str::to_owned) });
            Survey { facts: ClusterFacts::default(), overrides: Vec::new(), record, has_completed }.mode()
        };
        assert_eq!(mode(Some(None), false), Some(Mode::Installing));
        assert_eq!(mode(Some(Some("1.0.0")), false), Some(Mode::Updating));
        assert_eq!(mode(Some(None), true), Some(Mode::Updating));
        assert_eq!(mode(None, true), Some(Mode::Updating));
        assert_eq!(mode(None, false), None);
    }

    #[test]
    fn a_refusal_names_what_was_asked_for() {
        let refusal = Refusal::Forbidden { message: "no".to_owned() };
        let error = SurveyError::Refused { object: "Proxy cluster".to_owned(), refusal };
        assert!(error.to_string().starts_with("Proxy cluster: no"), "{error}");
    }
}
