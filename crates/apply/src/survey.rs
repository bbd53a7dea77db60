//! What is asked of a cluster before a release is brought to it: what it says about itself, and whether it is new.

use lockstep_api::names::{group, kind, label, object};
use lockstep_api::{ClusterVersion, Override};
use lockstep_graph::Mode;
use serde_json::Value;

use crate::kinds::Resource;
use crate::modify::{ClusterFacts, ModifyError};
use crate::refusal::Refusal;
use crate::server::{Call, ListPage, Server};

/// What is known of a cluster before the first write.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// What the cluster adds to manifests.
    pub facts: ClusterFacts,
    /// Objects that the administrator wants to be left alone.
    pub overrides: Vec<Override>,
    /// Whether there is a Namespace of this set.
    pub has_objects: bool,
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
    let version = read(server, kind::CLUSTER_VERSION, "clusterversions", object::VERSION).await?;
    let proxy = read(server, kind::PROXY, "proxies", object::CLUSTER).await?;
    let infrastructure = read(server, kind::INFRASTRUCTURE, "infrastructures", object::CLUSTER).await?;
    let api_server = read(server, kind::API_SERVER, "apiservers", object::CLUSTER).await?;
    let (proxy, infrastructure, api_server) = (proxy.as_ref(), infrastructure.as_ref(), api_server.as_ref());
    let facts = ClusterFacts::read(version.as_ref(), proxy, infrastructure, api_server, set)?;
    let has_objects = has_objects(server, set).await?;
    let version: Option<ClusterVersion> =
        version.map(serde_json::from_value).transpose().map_err(SurveyError::Version)?;
    let has_completed = version.as_ref().is_some_and(|version| version.status.last_completed().is_some());
    let overrides = version.map(|version| version.spec.overrides).unwrap_or_default();
    Ok(Survey { facts, overrides, has_objects, has_completed })
}

async fn read(server: &Server, kind: &str, plural: &str, name: &str) -> Result<Option<Value>, SurveyError> {
    let resource = Resource::new(group::CONFIG, "v1", kind, plural, false);
    match server.send(Call::get(&resource, None, name)).await {
        Ok(answer) => Ok(Some(answer.object)),
        Err(Refusal::NotFound | Refusal::KindNotServed) => Ok(None),
        Err(refusal) => Err(SurveyError::Refused { object: format!("{kind} {name}"), refusal }),
    }
}

/// Every release of a platform brings Namespaces, so that one list of them is enough.
async fn has_objects(server: &Server, set: &str) -> Result<bool, SurveyError> {
    let resource = Resource::new("", "v1", kind::NAMESPACE, "namespaces", false);
    let selector = format!("{}={set}", label::PAYLOAD);
    let page = ListPage { label_selector: Some(&selector), limit: Some(1), ..ListPage::default() };
    match server.send(Call::list(&resource, None, &page).metadata_only_list()).await {
        Ok(answer) => Ok(answer.object["items"].as_array().is_some_and(|items| !items.is_empty())),
        Err(refusal) => Err(SurveyError::Refused { object: "Namespaces".to_owned(), refusal }),
    }
}

// === impl Survey ===

impl Survey {
    /// What a release is applied for where nobody says it: a cluster without anything of it is installed.
    pub fn mode(&self) -> Mode {
        if self.has_objects || self.has_completed { Mode::Updating } else { Mode::Installing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cluster_without_objects_and_history_is_installed() {
        let survey = |has_objects, has_completed| Survey {
            facts: ClusterFacts::default(),
            overrides: Vec::new(),
            has_objects,
            has_completed,
        };
        assert_eq!(survey(false, false).mode(), Mode::Installing);
        for (has_objects, has_completed) in [(true, false), (false, true), (true, true)] {
            assert_eq!(survey(has_objects, has_completed).mode(), Mode::Updating);
        }
    }

    #[test]
    fn a_refusal_names_what_was_asked_for() {
        let refusal = Refusal::Forbidden { message: "no".to_owned() };
        let error = SurveyError::Refused { object: "Proxy cluster".to_owned(), refusal };
        assert!(error.to_string().starts_with("Proxy cluster: no"), "{error}");
    }
}
