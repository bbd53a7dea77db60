//! What the administrator wants.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ResourceId;
use crate::object_meta::{is_off, or_default};

/// What the administrator wants of the cluster's version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionSpec {
    /// The identity of the cluster towards update services, a UUID.
    #[serde(rename = "clusterID", default)]
    pub cluster_id: String,
    /// The release to go to; absent means: stay where you are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_update: Option<Update>,
    /// The update service; empty means the default one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub upstream: String,
    /// The channel to look for updates in; empty means: do not look.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The optional parts of the platform; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<CapabilitiesSpec>,
    /// Where to get signatures of releases, instead of the default stores.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub signature_stores: Vec<SignatureStore>,
    /// Objects that the operator shall leave alone.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A release that the administrator asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// `Multi` to go to the release of several architectures; excludes an image and needs a version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    /// The version; without an image it must be one of the available updates.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The pull spec of the release image.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Go on although the release cannot be verified or a precondition says no.
    #[serde(default, skip_serializing_if = "is_off")]
    pub force: bool,
    /// Risks of updates that the administrator accepts.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub accept_risks: Vec<AcceptedRisk>,
    /// `Preflight` to check the update without starting it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A risk that the administrator accepts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AcceptedRisk {
    /// The name of the risk.
    pub name: String,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The optional parts of the platform that are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesSpec {
    /// The name of a [`BaselineSet`](crate::capability::BaselineSet); empty means the current one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub baseline_capability_set: String,
    /// Capabilities beyond the baseline.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub additional_enabled_capabilities: Vec<String>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One object of the release that the operator shall leave alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Override {
    /// The bare API group, without a version.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace; irrelevant for a cluster-scoped object.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// Whether the object is left alone; `false` does nothing.
    pub unmanaged: bool,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A place to get signatures of releases from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignatureStore {
    /// The address of the store.
    pub url: String,
    /// The certificate authorities to trust for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapName>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The name of a config map in the administrator's configuration namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigMapName {
    /// The name.
    pub name: String,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

// === impl Override ===

impl Override {
    /// Whether this entry names the object; an object without a namespace matches any namespace of the entry.
    pub fn names(&self, id: &ResourceId) -> bool {
        let namespace = id.namespace.is_empty() || self.namespace == id.namespace;
        self.group == id.group && self.kind == id.kind && self.name == id.name && namespace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn override_names_an_object_when_all_four_parts_match() {
        let entry = Override {
            group: "apps".into(),
            kind: "Deployment".into(),
            namespace: "ns".into(),
            name: "a".into(),
            ..Override::default()
        };
        assert!(entry.names(&ResourceId::new("apps", "Deployment", "ns", "a")));
        assert!(entry.names(&ResourceId::new("apps", "Deployment", "", "a")), "cluster-scoped");
        for other in [
            ResourceId::new("apps/v1", "Deployment", "ns", "a"),
            ResourceId::new("apps", "deployment", "ns", "a"),
            ResourceId::new("apps", "Deployment", "other", "a"),
            ResourceId::new("apps", "Deployment", "ns", "b"),
        ] {
            assert!(!entry.names(&other), "{other}");
        }
    }
}
