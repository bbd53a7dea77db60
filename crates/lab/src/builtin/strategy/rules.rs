//! Facts about single kinds that decide what a write may touch.

use lockstep_schema::Kind;
use serde_json::{Value, json};

/// When the generation of a kind goes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// It has none.
    None,
    /// It is 1 for ever.
    Fixed,
    /// When one of these paths changes.
    On(&'static [&'static [&'static str]]),
    /// When one of these paths changes, but a new object has none.
    Later(&'static [&'static [&'static str]]),
    /// When anything changes but the metadata, or the labels do.
    AllButMetadata,
}

/// What happens to the metadata that comes with a write of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnStatus {
    /// It is taken.
    Taken,
    /// It is taken, but the labels stay.
    LabelsStay,
    /// It is taken, but the owners stay.
    OwnersStay,
    /// Labels, annotations, finalizers and owners stay.
    MostStays,
    /// Everything but the managed fields stays.
    AllStays,
}

/// When the generation of a kind goes up.
pub(crate) fn generation(kind: &Kind) -> Generation {
    const SPEC: Generation = Generation::On(&[&["spec"]]);
    match (kind.group, kind.kind) {
        ("apps", "Deployment") => Generation::On(&[&["spec"], &["metadata", "annotations"]]),
        ("apps", "DaemonSet" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job" | "CronJob")
        | ("", "Pod" | "ReplicationController")
        | ("networking.k8s.io", "Ingress" | "IngressClass" | "NetworkPolicy")
        | ("policy", "PodDisruptionBudget")
        | ("flowcontrol.apiserver.k8s.io", _)
        | ("resource.k8s.io", "DeviceClass" | "ResourceSlice")
        | ("apiextensions.k8s.io", "CustomResourceDefinition")
        | (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
            | "MutatingAdmissionPolicy"
            | "MutatingAdmissionPolicyBinding",
        ) => SPEC,
        ("admissionregistration.k8s.io", _) => Generation::On(&[&["webhooks"]]),
        ("", "PodTemplate") => Generation::On(&[&["template"]]),
        ("discovery.k8s.io", "EndpointSlice") => Generation::AllButMetadata,
        ("scheduling.k8s.io", "PriorityClass") => Generation::Fixed,
        ("storage.k8s.io", "CSIDriver") => Generation::Later(&[&["spec"]]),
        _ => Generation::None,
    }
}

/// Whether what a create says about the status is dropped; a Node brings its own.
pub(crate) fn drops_status_on_create(kind: &Kind) -> bool {
    kind.subresources.contains_key("status") && (kind.group, kind.kind) != ("", "Node")
}

/// The status of a new object.
pub(crate) fn empty_status(kind: &Kind) -> Value {
    match (kind.group, kind.kind, kind.version) {
        ("", "Service", _) | ("networking.k8s.io", "Ingress", _) => json!({"loadBalancer": {}}),
        ("", "ReplicationController", _) | ("apps", "ReplicaSet", _) => json!({"replicas": 0}),
        ("", "PersistentVolumeClaim", _) => json!({"phase": "Pending"}),
        ("apps", "StatefulSet", _) => json!({"replicas": 0, "availableReplicas": 0}),
        ("apps", "DaemonSet", _) => {
            json!({"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0})
        }
        ("autoscaling", _, "v1") => json!({"currentReplicas": 0, "desiredReplicas": 0}),
        ("autoscaling", _, _) => json!({"desiredReplicas": 0, "currentMetrics": null}),
        ("policy", "PodDisruptionBudget", _) => {
            json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0})
        }
        ("storage.k8s.io", "VolumeAttachment", _) => json!({"attached": false}),
        ("apiextensions.k8s.io", "CustomResourceDefinition", _) => {
            json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null})
        }
        _ => json!({}),
    }
}

/// What happens to the metadata that comes with a write of the status.
pub(crate) fn metadata_on_status(kind: &Kind) -> OnStatus {
    match (kind.group, kind.kind) {
        ("", "Pod") => OnStatus::OwnersStay,
        ("apps", "Deployment") => OnStatus::LabelsStay,
        ("flowcontrol.apiserver.k8s.io", _) => OnStatus::AllStays,
        (
            "admissionregistration.k8s.io"
            | "apiregistration.k8s.io"
            | "apiextensions.k8s.io"
            | "resource.k8s.io",
            _,
        )
        | ("networking.k8s.io", "ServiceCIDR")
        | ("storage.k8s.io", "VolumeAttachment") => OnStatus::MostStays,
        _ => OnStatus::Taken,
    }
}

/// The paths that a write to this address never takes: managed fields must not name them.
pub(crate) fn reset_fields(kind: &Kind, subresource: &str) -> &'static [&'static [&'static str]] {
    const STATUS: &[&[&str]] = &[&["status"]];
    const SPEC: &[&[&str]] = &[&["spec"]];
    const SPEC_AND_METADATA: &[&[&str]] = &[&["spec"], &["metadata"]];
    let has_status = kind.subresources.contains_key("status");
    match (kind.group, kind.kind, subresource) {
        ("certificates.k8s.io", "CertificateSigningRequest", "") => &[&["spec"], &["status"]],
        ("certificates.k8s.io", "CertificateSigningRequest", "status") => {
            &[&["spec"], &["status", "conditions"]]
        }
        ("certificates.k8s.io", "CertificateSigningRequest", "approval") => {
            &[&["spec"], &["status", "certificate"]]
        }
        ("", "Pod", "status") => {
            &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
        }
        ("apps", "Deployment", "status") => &[&["spec"], &["metadata", "labels"]],
        ("", "Namespace", "finalize") => STATUS,
        (_, _, "") if has_status => STATUS,
        (_, _, "status") => match metadata_on_status(kind) {
            OnStatus::MostStays | OnStatus::AllStays => SPEC_AND_METADATA,
            _ => SPEC,
        },
        _ => &[],
    }
}

/// Whether an update must name the resource version that it was made from.
pub(crate) fn needs_resource_version_for_update(kind: &Kind) -> bool {
    matches!(
        (kind.group, kind.kind),
        (
            "admissionregistration.k8s.io"
                | "apiregistration.k8s.io"
                | "apiextensions.k8s.io"
                | "coordination.k8s.io",
            _
        ) | ("node.k8s.io", "RuntimeClass")
            | ("policy", "PodDisruptionBudget")
            | ("storage.k8s.io", "CSIDriver" | "CSINode" | "CSIStorageCapacity" | "VolumeAttachment")
    )
}

/// Whether an update of an object that is not there makes it.
pub(crate) fn creates_on_update(kind: &Kind) -> bool {
    matches!(
        (kind.group, kind.kind),
        ("", "Endpoints" | "Event" | "LimitRange" | "Service")
            | ("events.k8s.io" | "coordination.k8s.io" | "rbac.authorization.k8s.io", _)
            | ("node.k8s.io", "RuntimeClass")
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::kind;
    use super::*;

    #[test]
    fn kinds_without_a_generation_are_told_apart() {
        assert_eq!(generation(kind("v1", "Service")), Generation::None);
        assert_eq!(generation(kind("autoscaling/v2", "HorizontalPodAutoscaler")), Generation::None);
        assert_eq!(generation(kind("scheduling.k8s.io/v1", "PriorityClass")), Generation::Fixed);
        assert!(matches!(generation(kind("v1", "Pod")), Generation::On(_)));
    }

    #[test]
    fn the_fields_that_an_address_resets_follow_from_what_it_takes() {
        assert_eq!(reset_fields(kind("apps/v1", "ReplicaSet"), ""), [["status"]]);
        assert_eq!(reset_fields(kind("apps/v1", "ReplicaSet"), "status"), [["spec"]]);
        assert_eq!(reset_fields(kind("apps/v1", "Deployment"), "status").len(), 2);
        assert!(reset_fields(kind("v1", "ConfigMap"), "").is_empty());
        assert_eq!(reset_fields(kind("apiregistration.k8s.io/v1", "APIService"), "status")[1], ["metadata"]);
    }

    #[test]
    fn some_kinds_need_the_resource_version_and_some_are_made_by_an_update() {
        assert!(needs_resource_version_for_update(kind("coordination.k8s.io/v1", "Lease")));
        assert!(!needs_resource_version_for_update(kind("v1", "ConfigMap")));
        assert!(creates_on_update(kind("rbac.authorization.k8s.io/v1", "Role")));
        assert!(!creates_on_update(kind("v1", "ConfigMap")));
    }
}
