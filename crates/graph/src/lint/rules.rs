//! All rules with their ids, which are part of the interface: an id is never changed or used again.

use super::Rule;
use super::Severity::{Error, Info, Warning};

macro_rules! rules {
    ($($name:ident = $severity:ident $id:literal: $summary:literal;)*) => {
        $(
            #[doc = concat!($summary, ".")]
            pub const $name: Rule = Rule { id: $id, severity: $severity, summary: $summary };
        )*

        /// Every rule, by family.
        pub static RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    // File names.
    MISTYPED_RUN_LEVEL = Error "mistyped-run-level":
        "File name begins like one with a run level but has none";
    FILE_NAME_WITHOUT_RUN_LEVEL = Warning "file-name-without-run-level":
        "File name has neither run level nor component";
    RUN_LEVEL_OF_ANOTHER_COMPONENT = Info "run-level-of-another-component":
        "Component sits in a run level that is assigned to others";

    // Annotations that decide whether an object is selected.
    MISTYPED_ANNOTATION = Error "mistyped-annotation":
        "Annotation key is a misspelling of one that selects or controls objects";
    UNKNOWN_PROFILE = Warning "unknown-profile":
        "Objects are included in a cluster profile that nobody knows";
    ANNOTATION_VALUE_NOT_TRUE = Warning "annotation-value-not-true":
        "Annotation that only counts with the value \"true\" has another value";
    ANNOTATION_NOT_A_STRING = Error "annotation-not-a-string":
        "Annotation value that is not a string hides all annotations of the object";
    NO_INCLUDE_ANNOTATION = Warning "no-include-annotation":
        "Object is included in no cluster profile, so no cluster ever gets it";
    UNKNOWN_FEATURE_SET = Error "unknown-feature-set":
        "Feature set does not exist, so the object is never selected";
    BOTH_FEATURE_ANNOTATIONS = Error "both-feature-annotations":
        "Object names feature sets and feature gates, so it is never selected";
    CONTRADICTORY_FEATURE_GATES = Error "contradictory-feature-gates":
        "Object wants one feature gate both on and off, so it is never selected";
    UNKNOWN_CAPABILITY = Error "unknown-capability":
        "Capability does not exist, so the object is never selected";
    UNUSABLE_MAJOR_VERSION = Error "unusable-major-version":
        "Major version is given on a kind that cannot have one, or cannot be read";

    // The same object more than once.
    SAME_OBJECT_TWICE = Warning "same-object-twice":
        "Two files bring the same object, in a way that leads to no fight";
    CONFLICTING_OBJECTS = Error "conflicting-objects":
        "Two files bring the same object with different content and overwrite each other";
    DELETE_OF_CREATED_OBJECT = Error "delete-of-created-object":
        "One manifest deletes an object that another one creates";
    TOMBSTONE_AFTER_REPLACEMENT = Warning "tombstone-after-replacement":
        "Component starts a new workload before it deletes the old one";

    // ClusterOperators and workloads.
    CLUSTEROPERATOR_BEFORE_WORKLOAD = Error "clusteroperator-before-workload":
        "Update waits for a ClusterOperator before it applies the workload that reports it";
    CLUSTEROPERATOR_WITHOUT_VERSIONS = Error "clusteroperator-without-versions":
        "ClusterOperator does not say which versions to wait for";
    CLUSTEROPERATOR_WITHOUT_WORKLOAD = Warning "clusteroperator-without-workload":
        "Release ships no workload that could report the ClusterOperator";
    WORKLOAD_WITHOUT_CLUSTEROPERATOR = Warning "workload-without-clusteroperator":
        "Component has a workload but no ClusterOperator, so nothing waits for it";

    // What must be there first.
    CUSTOM_RESOURCE_BEFORE_CRD = Error "custom-resource-before-crd":
        "Update waits for a kind whose CRD comes later";
    CUSTOM_RESOURCE_WITHOUT_CRD = Warning "custom-resource-without-crd":
        "Object is selected where the CRD of its kind, which the release has, is not";
    KIND_NOT_PROVIDED = Warning "kind-not-provided":
        "Kind is not built in and the release brings no CRD for it";
    UNKNOWN_BUILT_IN_KIND = Error "unknown-built-in-kind":
        "Kind does not exist in an API group of Kubernetes itself, where nothing can add it";
    OBJECT_BEFORE_NAMESPACE = Error "object-before-namespace":
        "Update waits for a namespace that comes later";
    NAMESPACE_NOT_IN_RELEASE = Info "namespace-not-in-release":
        "Object lives in a namespace that the release does not bring";
    NAMESPACED_OBJECT_WITHOUT_NAMESPACE = Error "namespaced-object-without-namespace":
        "Object of a namespaced kind names no namespace";

    // Objects that name other objects.
    RBAC_SUBJECT_NOT_PROVIDED = Info "rbac-subject-not-provided":
        "Role is bound to a service account that the release does not bring";
    RBAC_SUBJECT_WITHOUT_NAMESPACE = Error "rbac-subject-without-namespace":
        "Binding names a service account without a namespace, which the API server refuses";
    SERVICE_NOT_PROVIDED = Warning "service-not-provided":
        "Webhook, API service or CRD conversion calls a service that the release does not bring";

    // Images.
    IMAGE_NOT_LISTED = Error "image-not-listed":
        "Container runs an image that image-references does not list";
    IMAGE_MENTION_NOT_LISTED = Warning "image-mention-not-listed":
        "Object names an image, other than as that of a container, that image-references does not list";
    IMAGE_NOT_BY_DIGEST = Error "image-not-by-digest":
        "Image is not pinned by a digest";

    // Form.
    UNDECLARED_FIELD = Warning "undeclared-field":
        "Object of a built-in kind has a field that the kind does not declare";
    REMOVED_API_VERSION = Error "removed-api-version":
        "API version is no longer served by Kubernetes";
    API_VERSION_WITHOUT_VERSION = Warning "api-version-without-version":
        "apiVersion names a group without a version";
    SKIPPED_TEMPLATE = Warning "skipped-template":
        "Template cannot be rendered, so its file is left out";
}

/// The rule of this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_kebab_case_and_stands_once() {
        for rule in RULES {
            assert!(rule.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.id);
            assert_eq!(RULES.iter().filter(|other| other.id == rule.id).count(), 1, "{}", rule.id);
            assert!(!rule.summary.ends_with('.'), "{}", rule.id);
            assert_eq!(find(rule.id), Some(rule));
        }
        assert_eq!(find("no-such-rule"), None);
    }
}
