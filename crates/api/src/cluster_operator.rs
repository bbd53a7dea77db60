//! ClusterOperator: what one component of the platform reports about itself.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::names::{condition, group, kind};
use crate::object_meta::or_default;
use crate::{Conditions, ObjectMeta};

/// A component of the platform, reported by its operator and waited for by us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterOperator {
    /// Group and version.
    pub api_version: String,
    /// Always `ClusterOperator`.
    pub kind: String,
    /// The object's metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Empty by design, but required by the API; what is in it nevertheless is kept.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: Map<String, Value>,
    /// What the component reports.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "ClusterOperatorStatus::is_empty"
    )]
    pub status: ClusterOperatorStatus,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a component reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterOperatorStatus {
    /// Available, Progressing, Degraded, Upgradeable and whatever else the operator says.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// The versions that the component has reached.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<OperandVersion>,
    /// The objects to look at when the component is in trouble.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub related_objects: Vec<ObjectReference>,
    /// Anything else that the operator wants to say; an explicit `null`, which the reference writes, is kept.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub extension: Option<Value>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The version of an operator or of one of its operands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperandVersion {
    /// Which part; `operator` is the one that every component reports.
    pub name: String,
    /// A version or a pull spec; compared as text.
    pub version: String,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Objects of one resource: one by name, or all of a namespace or of the cluster when the name is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObjectReference {
    /// The API group, empty for the core group.
    pub group: String,
    /// The plural name of the resource.
    pub resource: String,
    /// The namespace, empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name, or empty for all.
    pub name: String,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

// === impl ClusterOperator ===

impl ClusterOperator {
    /// A ClusterOperator that has reported nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            api_version: format!("{}/v1", group::CONFIG),
            kind: kind::CLUSTER_OPERATOR.to_owned(),
            metadata: ObjectMeta::named(name),
            spec: Map::new(),
            status: ClusterOperatorStatus::default(),
            other: Map::new(),
        }
    }
}

// === impl ClusterOperatorStatus ===

impl ClusterOperatorStatus {
    /// Whether nothing at all is reported.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The reported version of a part; the first one, because the API does not forbid several.
    pub fn version(&self, name: &str) -> Option<&str> {
        self.versions.iter().find(|version| version.name == name).map(|version| version.version.as_str())
    }

    /// The one sentence to show in a table: of Available=False, else Degraded=True, else Progressing=True.
    ///
    /// *Compatibility*: it is the MESSAGE column that OpenShift's API server adds and others do not; a condition
    /// without a message shows its reason.
    pub fn headline(&self) -> &str {
        let conditions = &self.conditions;
        let unavailable = conditions.find(condition::AVAILABLE).filter(|found| found.is_false());
        let degraded = || conditions.find(condition::DEGRADED).filter(|found| found.is_true());
        let progressing = || conditions.find(condition::PROGRESSING).filter(|found| found.is_true());
        match unavailable.or_else(degraded).or_else(progressing) {
            Some(found) if found.message.is_empty() => &found.reason,
            Some(found) => &found.message,
            None => "",
        }
    }
}

/// Tells an explicit `null` from an absent field.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Condition;
    use crate::ConditionStatus::{False, True};
    use crate::fixture::a_full_cluster_operator;

    #[test]
    fn every_field_known_or_not_survives_a_round_trip() {
        let read: ClusterOperator = serde_json::from_value(a_full_cluster_operator()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), a_full_cluster_operator());
        assert_eq!(read.status.version("operator"), Some("1.0.0"));
        assert_eq!(read.metadata.generation, Some(3));
    }

    #[test]
    fn fresh_object_writes_the_empty_spec_and_no_status() {
        assert_eq!(
            serde_json::to_value(ClusterOperator::new("dns")).unwrap(),
            json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
                "metadata": {"name": "dns"}, "spec": {}})
        );
    }

    #[test]
    fn null_extension_is_kept_and_null_lists_read_as_empty() {
        let read: ClusterOperator = serde_json::from_value(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "dns"},
            "spec": null, "status": {"conditions": null, "versions": null, "extension": null},
        }))
        .unwrap();
        assert_eq!(serde_json::to_value(read).unwrap()["status"], json!({"extension": null}));
    }

    #[test]
    fn parts_that_manifests_leave_out_are_written_because_the_api_requires_them() {
        let read: ClusterOperator = serde_json::from_value(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "dns"},
            "status": {"relatedObjects": [{"group": "", "resource": "nodes"}]},
        }))
        .unwrap();
        let written = serde_json::to_value(read).unwrap();
        assert_eq!(written["spec"], json!({}));
        assert_eq!(
            written["status"]["relatedObjects"],
            json!([{"group": "", "resource": "nodes", "name": ""}])
        );
    }

    #[test]
    fn first_of_two_versions_with_one_name_counts() {
        let status: ClusterOperatorStatus = serde_json::from_value(json!({
            "versions": [{"name": "operator", "version": "1"}, {"name": "operator", "version": "2"}],
        }))
        .unwrap();
        assert_eq!(status.version("operator"), Some("1"));
        assert_eq!(status.version("operand"), None);
    }

    #[test]
    fn headline_prefers_unavailable_over_degraded_over_progressing() {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let mut status = ClusterOperatorStatus::default();
        assert_eq!(status.headline(), "");
        status.conditions.set(Condition::new("Progressing", True).because("R", "rolling out"), now);
        assert_eq!(status.headline(), "rolling out");
        status.conditions.set(Condition::new("Degraded", True).because("Broken", ""), now);
        assert_eq!(status.headline(), "Broken");
        status.conditions.set(Condition::new("Available", False).because("R", "down"), now);
        assert_eq!(status.headline(), "down");
        status.conditions.set(Condition::new("Available", True).because("R", "up"), now);
        assert_eq!(status.headline(), "Broken");
    }
}
