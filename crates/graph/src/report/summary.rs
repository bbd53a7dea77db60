//! One half sentence for a failure, as it stands behind "Unable to apply …" and "Error while reconciling …".

use lockstep_api::names::reason;

use super::failure::Failure;

/// Reasons whose text names nobody.
const PLAIN: [(&str, &str); 14] = [
    (reason::UPDATE_PAYLOAD_RESOURCE_NOT_FOUND, "some resources could not be updated"),
    (reason::UPDATE_PAYLOAD_RESOURCE_CONFLICT, "some resources could not be updated"),
    (reason::UPDATE_PAYLOAD_CLUSTER_DOWN, "the control plane is down or not responding"),
    (reason::UPDATE_PAYLOAD_CLUSTER_ERROR, "the control plane is reporting an internal error"),
    (
        reason::UPDATE_PAYLOAD_CLUSTER_OVERLOADED,
        "the control plane is overloaded and is not accepting updates",
    ),
    (reason::UPDATE_PAYLOAD_CLUSTER_UNAUTHORIZED, "could not authenticate to the server"),
    (reason::UPDATE_PAYLOAD_RETRIEVAL_FAILED, "could not download the update"),
    (reason::UPDATE_PAYLOAD_RESOURCE_FORBIDDEN, "the server is rejecting updates"),
    (reason::UPDATE_PAYLOAD_RESOURCE_TYPE_MISSING, "a required extension is not available to update"),
    (reason::UPDATE_PAYLOAD_RESOURCE_INVALID, "some cluster configuration is invalid"),
    (reason::UPDATE_PAYLOAD_INTEGRITY, "the contents of the update are invalid"),
    (reason::IMAGE_VERIFICATION_FAILED, "the image may not be safe to use"),
    (reason::UPGRADE_PRECONDITION_CHECK_FAILED, "it may not be safe to apply this update"),
    (reason::CLUSTER_OPERATORS_NOT_AVAILABLE, "some cluster operators are not available"),
];

/// Reasons whose text names somebody: with a name, where it belongs, and without.
const NAMED: [(&str, &str, &str); 5] = [
    (
        reason::CLUSTER_OPERATOR_DEGRADED,
        "the cluster operator % is degraded",
        "a cluster operator is degraded",
    ),
    (
        reason::CLUSTER_OPERATOR_NOT_AVAILABLE,
        "the cluster operator % is not available",
        "a cluster operator is not available",
    ),
    (
        reason::CLUSTER_OPERATOR_NO_VERSIONS,
        "the cluster operator % does not declare expected versions",
        "a cluster operator does not declare expected versions",
    ),
    (
        reason::WORKLOAD_NOT_AVAILABLE,
        "the workload % has not yet successfully rolled out",
        "a workload has not yet rolled out",
    ),
    (reason::WORKLOAD_NOT_PROGRESSING, "the workload % cannot roll out", "a workload cannot roll out"),
];

/// The beginning of every reason of applying or loading a release.
const UPDATE_PAYLOAD: &str = "UpdatePayload";

/// One half sentence for a failure.
///
/// *Compatibility*: the texts of the known reasons are the reference's. Where it has only `an unknown error has
/// occurred: <reason>` or `an error occurred`, the message of the failure stands here; of a list, its first cause.
pub fn summary(failure: &Failure) -> String {
    let reason = failure.reason;
    if let Some((_, text)) = PLAIN.iter().find(|(known, _)| *known == reason) {
        return (*text).to_owned();
    }
    if let Some((_, named, nameless)) = NAMED.iter().find(|(known, ..)| *known == reason) {
        let name = failure.name();
        return if name.is_empty() { (*nameless).to_owned() } else { named.replace('%', &name) };
    }
    if reason.starts_with(UPDATE_PAYLOAD) {
        return "the update could not be applied".to_owned();
    }
    if reason == reason::MULTIPLE_ERRORS && !failure.parts.is_empty() {
        let first = failure.first_cause();
        let others = failure.parts.len() - 1;
        return format!("{} (and {others} more)", first.message);
    }
    if failure.message.is_empty() {
        format!("failed for the reason {reason}")
    } else {
        failure.message.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::one_of;

    fn text(reason: &'static str, name: &str) -> String {
        let failure = Failure::new(reason, "what happened");
        summary(&if name.is_empty() { failure } else { failure.about(name) })
    }

    #[test]
    fn texts_of_the_specification() {
        let cases = [
            ("UpdatePayloadResourceNotFound", "some resources could not be updated"),
            ("UpdatePayloadResourceConflict", "some resources could not be updated"),
            ("UpdatePayloadClusterDown", "the control plane is down or not responding"),
            ("UpdatePayloadClusterError", "the control plane is reporting an internal error"),
            (
                "UpdatePayloadClusterOverloaded",
                "the control plane is overloaded and is not accepting updates",
            ),
            ("UpdatePayloadClusterUnauthorized", "could not authenticate to the server"),
            ("UpdatePayloadRetrievalFailed", "could not download the update"),
            ("UpdatePayloadResourceForbidden", "the server is rejecting updates"),
            ("UpdatePayloadResourceTypeMissing", "a required extension is not available to update"),
            ("UpdatePayloadResourceInvalid", "some cluster configuration is invalid"),
            ("UpdatePayloadIntegrity", "the contents of the update are invalid"),
            ("ImageVerificationFailed", "the image may not be safe to use"),
            ("UpgradePreconditionCheckFailed", "it may not be safe to apply this update"),
            ("ClusterOperatorsNotAvailable", "some cluster operators are not available"),
            ("UpdatePayloadFailed", "the update could not be applied"),
            ("UpdatePayloadSomethingNew", "the update could not be applied"),
        ];
        for (reason, expected) in cases {
            assert_eq!(text(reason, ""), expected, "{reason}");
            assert_eq!(text(reason, "n"), expected, "{reason} with a name");
        }
        let named = [
            (
                "ClusterOperatorDegraded",
                "the cluster operator n is degraded",
                "a cluster operator is degraded",
            ),
            (
                "ClusterOperatorNotAvailable",
                "the cluster operator n is not available",
                "a cluster operator is not available",
            ),
            (
                "ClusterOperatorNoVersions",
                "the cluster operator n does not declare expected versions",
                "a cluster operator does not declare expected versions",
            ),
            (
                "WorkloadNotAvailable",
                "the workload n has not yet successfully rolled out",
                "a workload has not yet rolled out",
            ),
            ("WorkloadNotProgressing", "the workload n cannot roll out", "a workload cannot roll out"),
        ];
        for (reason, with, without) in named {
            assert_eq!((text(reason, "n").as_str(), text(reason, "").as_str()), (with, without), "{reason}");
        }
    }

    #[test]
    fn what_the_reference_calls_unknown_is_told() {
        // Reason and name; the reference's text; ours.
        let cases = [
            ("Strange", "n", "n has an unknown error: Strange", "what happened"),
            ("Strange", "", "an unknown error has occurred: Strange", "what happened"),
            (
                "ClusterOperatorUpdating",
                "n",
                "n has an unknown error: ClusterOperatorUpdating",
                "what happened",
            ),
            ("", "", "an error occurred", "what happened"),
        ];
        for (reason, name, reference, ours) in cases {
            assert_ne!(text(reason, name), reference);
            assert_eq!(text(reason, name), ours);
        }
        assert_eq!(summary(&Failure::new("Strange", "")), "failed for the reason Strange");
    }

    #[test]
    fn a_list_is_told_by_its_first_cause() {
        let parts = ["one", "two", "three"].map(|text| Failure::new("Strange", text));
        assert_eq!(summary(&one_of(parts.to_vec()).unwrap()), "one (and 2 more)");
    }
}
