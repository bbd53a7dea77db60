//! Updates that are recommended only to some clusters, and the risks that decide it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Release;
use crate::Conditions;
use crate::condition::serialize_complete;
use crate::object_meta::or_default;
use crate::text_enum::text_enum;

/// An update that is recommended only to clusters to which none of its risks applies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdate {
    /// The release to update to.
    pub release: Release,
    /// The names of its risks, each of which stands in the status' list of risks.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub risk_names: Vec<String>,
    /// Its risks.
    #[serde(default, deserialize_with = "or_default")]
    pub risks: Vec<ConditionalUpdateRisk>,
    /// The verdict, as condition `Recommended`.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Conditions::is_empty",
        serialize_with = "serialize_complete"
    )]
    pub conditions: Conditions,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A reason not to update, with rules that say which clusters it concerns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdateRisk {
    /// Whether the risk concerns this cluster, as condition `Applies`.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Conditions::is_empty",
        serialize_with = "serialize_complete"
    )]
    pub conditions: Conditions,
    /// Where a person reads about the risk.
    pub url: String,
    /// The name, usable as a reason when it is one word.
    pub name: String,
    /// What can happen, and to whom.
    pub message: String,
    /// The rules in order of preference; the first one that can be evaluated decides.
    #[serde(default, deserialize_with = "or_default")]
    pub matching_rules: Vec<ClusterCondition>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

text_enum! {
    /// How a rule decides.
    RuleType {
        /// Every cluster matches.
        Always = "Always",
        /// A query to the cluster's metrics decides.
        PromQl = "PromQL",
    }
}

/// A rule that says whether a cluster is concerned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterCondition {
    /// How the rule decides.
    #[serde(rename = "type")]
    pub rule: RuleType,
    /// The query of a rule of type `PromQL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promql: Option<PromQl>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A query to the cluster's metrics; the result 1 means concerned, 0 means not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromQl {
    /// The query.
    pub promql: String,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
