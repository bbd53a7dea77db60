//! What the operator reports.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ConditionalUpdate, ConditionalUpdateRisk};
use crate::object_meta::or_default;
use crate::text_enum::text_enum;
use crate::{Conditions, Time};

/// What the operator reports about the cluster's version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionStatus {
    /// The release that the operator works towards or keeps.
    #[serde(default, deserialize_with = "or_default")]
    pub desired: Release,
    /// The releases that the cluster was brought to, newest first.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<UpdateHistory>,
    /// The generation of the spec that this status answers.
    #[serde(default)]
    pub observed_generation: i64,
    /// A fingerprint of the manifests in use.
    #[serde(default)]
    pub version_hash: String,
    /// The optional parts of the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<CapabilitiesStatus>,
    /// Available, Failing, Progressing and the others.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// The recommended updates, newest first; absent while nobody has been asked.
    #[serde(default)]
    pub available_updates: Option<Vec<Release>>,
    /// The updates that are recommended only to some clusters.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub conditional_updates: Vec<ConditionalUpdate>,
    /// All risks of updates that are known, once each.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub conditional_update_risks: Vec<ConditionalUpdateRisk>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A release of the platform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The version; empty when only the image is known.
    #[serde(default)]
    pub version: String,
    /// The pull spec of the release image.
    #[serde(default)]
    pub image: String,
    /// Where a person reads about the release.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The channels that hold the release.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// [`ARCHITECTURE_MULTI`](super::ARCHITECTURE_MULTI), or empty for a release of one architecture.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

text_enum! {
    /// How far an entry of the history came.
    UpdateState {
        /// Every manifest of the release was applied at least once.
        Completed = "Completed",
        /// Not all of the release has been applied.
        Partial = "Partial",
    }
}

/// One release that the cluster was brought to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateHistory {
    /// How far it came.
    pub state: UpdateState,
    /// When it began.
    pub started_time: Time,
    /// When it was completed or replaced by another; absent while it is the current one and not complete.
    #[serde(default)]
    pub completion_time: Option<Time>,
    /// The version; empty until the release is loaded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The pull spec of the release image.
    #[serde(default)]
    pub image: String,
    /// Whether the release was verified before it was used.
    #[serde(default)]
    pub verified: bool,
    /// What was forced or accepted on the way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub accepted_risks: String,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The optional parts of the platform, both lists sorted byte-wise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesStatus {
    /// Those that are enabled.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub enabled_capabilities: Vec<String>,
    /// Those that there are.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub known_capabilities: Vec<String>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

// === impl ClusterVersionStatus ===

impl ClusterVersionStatus {
    /// Whether the operator has not reported anything yet.
    pub fn is_unreported(&self) -> bool {
        *self == Self::default()
    }

    /// The newest release of the history that was completed.
    pub fn last_completed(&self) -> Option<&UpdateHistory> {
        self.history.iter().find(|entry| entry.is_completed())
    }
}

// === impl Release ===

impl Release {
    /// The release as texts name it: by its version, else by its image.
    pub fn name(&self) -> &str {
        let names = [self.version.as_str(), self.image.as_str()];
        names.into_iter().find(|name| !name.is_empty()).unwrap_or("<unknown>")
    }
}

// === impl UpdateHistory ===

impl UpdateHistory {
    /// The entry of a release that begins now.
    pub fn begun(release: &Release, now: Time) -> Self {
        Self {
            state: UpdateState::Partial,
            started_time: now,
            completion_time: None,
            version: release.version.clone(),
            image: release.image.clone(),
            verified: false,
            accepted_risks: String::new(),
            other: Map::new(),
        }
    }

    /// Whether every manifest of the release was applied at least once.
    pub fn is_completed(&self) -> bool {
        self.state == UpdateState::Completed
    }
}
