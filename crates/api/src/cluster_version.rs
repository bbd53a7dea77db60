//! ClusterVersion: which release a cluster should run, which it runs, and how far it has come.

mod spec;
mod status;
mod updates;
pub mod validation;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::spec::{
    AcceptedRisk, CapabilitiesSpec, ClusterVersionSpec, ConfigMapName, Override, SignatureStore, Update,
};
pub use self::status::{CapabilitiesStatus, ClusterVersionStatus, Release, UpdateHistory, UpdateState};
pub use self::updates::{ClusterCondition, ConditionalUpdate, ConditionalUpdateRisk, PromQl, RuleType};
use crate::ObjectMeta;
use crate::names::{group, kind};
use crate::object_meta::or_default;

/// The architecture of a release image that holds several.
pub const ARCHITECTURE_MULTI: &str = "Multi";

/// The one object that says which release a cluster should run and which it runs.
///
/// A text, list or flag that is empty is the same as an absent one and is not written, unless the API requires it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersion {
    /// Group and version.
    pub api_version: String,
    /// Always `ClusterVersion`.
    pub kind: String,
    /// The object's metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What the administrator wants.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: ClusterVersionSpec,
    /// What the operator reports; not written while there is nothing to report.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "ClusterVersionStatus::is_unreported"
    )]
    pub status: ClusterVersionStatus,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

// === impl ClusterVersion ===

impl ClusterVersion {
    /// A ClusterVersion that asks for nothing; the API also wants a cluster ID in its spec.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            api_version: format!("{}/v1", group::CONFIG),
            kind: kind::CLUSTER_VERSION.to_owned(),
            metadata: ObjectMeta::named(name),
            spec: ClusterVersionSpec::default(),
            status: ClusterVersionStatus::default(),
            other: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::a_full_cluster_version;

    #[test]
    fn every_field_known_or_not_survives_a_round_trip() {
        let read: ClusterVersion = serde_json::from_value(a_full_cluster_version()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), a_full_cluster_version());
        assert_eq!(read.spec.desired_update.unwrap().accept_risks[0].name, "Risk");
        assert_eq!(read.status.history[1].state, UpdateState::Completed);
    }

    #[test]
    fn fresh_object_writes_only_what_the_api_requires() {
        assert_eq!(
            serde_json::to_value(ClusterVersion::new("version")).unwrap(),
            json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
                "metadata": {"name": "version"}, "spec": {"clusterID": ""}})
        );
    }

    #[test]
    fn started_status_writes_all_fields_that_the_api_requires() {
        let mut object = ClusterVersion::new("version");
        object.status.observed_generation = 1;
        assert_eq!(
            serde_json::to_value(object).unwrap()["status"],
            json!({"desired": {"version": "", "image": ""}, "observedGeneration": 1, "versionHash": "",
                "availableUpdates": null})
        );
    }

    #[test]
    fn no_known_updates_and_not_asked_yet_are_different() {
        for updates in [json!(null), json!([])] {
            let status = json!({"desired": {"version": "1", "image": "i"}, "observedGeneration": 1,
                "versionHash": "", "availableUpdates": updates});
            let read: ClusterVersionStatus = serde_json::from_value(status.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), status);
        }
    }
}
