//! Reasons of conditions, update errors and events. They are matched on by tools and double as metric labels.

// Of any condition.

/// Nothing to complain about.
pub const AS_EXPECTED: &str = "AsExpected";
/// More than one thing; the message lists them.
pub const MULTIPLE_REASONS: &str = "MultipleReasons";
/// More than one error stops the run; the message lists them.
pub const MULTIPLE_ERRORS: &str = "MultipleErrors";
/// The question could not be answered.
pub const EVALUATION_FAILED: &str = "EvaluationFailed";
/// Nobody has reported anything yet.
pub const NO_DATA: &str = "NoData";
/// The component was told to leave its operands alone.
pub const UNMANAGED: &str = "Unmanaged";
/// An error that fits nowhere else.
pub const UNKNOWN_ERROR: &str = "UnknownError";

// Of ClusterVersion: Progressing, Failing, Invalid and capabilities.

/// The spec has parts that cannot be used.
pub const INVALID_CLUSTER_VERSION: &str = "InvalidClusterVersion";
/// There is no release image to apply.
pub const NO_DESIRED_IMAGE: &str = "NoDesiredImage";
/// A ClusterOperator takes longer than expected.
pub const SLOW_CLUSTER_OPERATOR: &str = "SlowClusterOperator";
/// Capabilities could not be disabled.
pub const CAPABILITIES_IMPLICITLY_ENABLED: &str = "CapabilitiesImplicitlyEnabled";

// Of waiting for cluster operators, for one and for several.

/// The manifest of a ClusterOperator declares no versions.
pub const CLUSTER_OPERATOR_NO_VERSIONS: &str = "ClusterOperatorNoVersions";
/// The manifests of several cluster operators declare no versions.
pub const CLUSTER_OPERATORS_NO_VERSIONS: &str = "ClusterOperatorsNoVersions";
/// A ClusterOperator is not available.
pub const CLUSTER_OPERATOR_NOT_AVAILABLE: &str = "ClusterOperatorNotAvailable";
/// Several cluster operators are not available.
pub const CLUSTER_OPERATORS_NOT_AVAILABLE: &str = "ClusterOperatorsNotAvailable";
/// A ClusterOperator is degraded.
pub const CLUSTER_OPERATOR_DEGRADED: &str = "ClusterOperatorDegraded";
/// Several cluster operators are degraded.
pub const CLUSTER_OPERATORS_DEGRADED: &str = "ClusterOperatorsDegraded";
/// A ClusterOperator does not report the expected versions yet.
pub const CLUSTER_OPERATOR_UPDATING: &str = "ClusterOperatorUpdating";
/// Several cluster operators do not report the expected versions yet.
pub const CLUSTER_OPERATORS_UPDATING: &str = "ClusterOperatorsUpdating";

// Of workloads.

/// A workload is neither available nor progressing.
pub const WORKLOAD_NOT_AVAILABLE: &str = "WorkloadNotAvailable";
/// A workload cannot roll out.
pub const WORKLOAD_NOT_PROGRESSING: &str = "WorkloadNotProgressing";
/// A Deployment gave up, in its own words.
pub const PROGRESS_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
/// A Job or Pod ran out of time, in its own words.
pub const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";
/// Pods of the new generation are on their way.
pub const ROLLING_OUT: &str = "RollingOut";
/// No Pod could be created, in the words of the controllers.
pub const FAILED_CREATE: &str = "FailedCreate";
/// A Job has not finished.
pub const JOB_RUNNING: &str = "JobRunning";
/// A Job is told not to run.
pub const JOB_SUSPENDED: &str = "JobSuspended";
/// A Job failed and does not say why.
pub const JOB_FAILED: &str = "JobFailed";

// Of Pods; the words are those of the node, where it has one.

/// An image cannot be pulled; the node tries again.
pub const IMAGE_PULL_BACK_OFF: &str = "ImagePullBackOff";
/// A container ends again and again.
pub const CRASH_LOOP_BACK_OFF: &str = "CrashLoopBackOff";
/// No node fits.
pub const UNSCHEDULABLE: &str = "Unschedulable";
/// A Pod ended without success.
pub const POD_FAILED: &str = "PodFailed";
/// A Pod is on its way.
pub const POD_STARTING: &str = "PodStarting";

// Of any object.

/// Somebody deleted the object, and it is not gone yet.
pub const BEING_DELETED: &str = "BeingDeleted";
/// The controller of the object has not seen its latest change.
pub const NOT_OBSERVED: &str = "NotObserved";
/// The object says that it is not ready.
pub const NOT_READY: &str = "NotReady";
/// A definition is not served yet.
pub const NOT_ESTABLISHED: &str = "NotEstablished";
/// The names of a definition are taken by another one.
pub const NAMES_NOT_ACCEPTED: &str = "NamesNotAccepted";
/// An API that another server serves is not answered.
pub const API_NOT_AVAILABLE: &str = "APINotAvailable";

// Of applying one manifest.

/// A manifest could not be applied.
pub const UPDATE_PAYLOAD_FAILED: &str = "UpdatePayloadFailed";
/// The object is gone, or already there.
pub const UPDATE_PAYLOAD_RESOURCE_NOT_FOUND: &str = "UpdatePayloadResourceNotFound";
/// Someone else is changing the object.
pub const UPDATE_PAYLOAD_RESOURCE_CONFLICT: &str = "UpdatePayloadResourceConflict";
/// The API server refuses the object as invalid.
pub const UPDATE_PAYLOAD_RESOURCE_INVALID: &str = "UpdatePayloadResourceInvalid";
/// The API server forbids the change.
pub const UPDATE_PAYLOAD_RESOURCE_FORBIDDEN: &str = "UpdatePayloadResourceForbidden";
/// The kind is not served.
pub const UPDATE_PAYLOAD_RESOURCE_TYPE_MISSING: &str = "UpdatePayloadResourceTypeMissing";
/// The API server does not answer.
pub const UPDATE_PAYLOAD_CLUSTER_DOWN: &str = "UpdatePayloadClusterDown";
/// The API server has an internal error.
pub const UPDATE_PAYLOAD_CLUSTER_ERROR: &str = "UpdatePayloadClusterError";
/// The API server is overloaded.
pub const UPDATE_PAYLOAD_CLUSTER_OVERLOADED: &str = "UpdatePayloadClusterOverloaded";
/// The API server does not know us.
pub const UPDATE_PAYLOAD_CLUSTER_UNAUTHORIZED: &str = "UpdatePayloadClusterUnauthorized";

// Of loading a release; the steps are also reasons of ReleaseAccepted and of events.

/// Step: retrieving and verifying the release.
pub const RETRIEVE_PAYLOAD: &str = "RetrievePayload";
/// Step: reading the release.
pub const LOAD_PAYLOAD: &str = "LoadPayload";
/// Step: comparing the version with the one asked for.
pub const VERIFY_PAYLOAD_VERSION: &str = "VerifyPayloadVersion";
/// Step: checking whether the update may start.
pub const PRECONDITION_CHECKS: &str = "PreconditionChecks";
/// The release is loaded.
pub const PAYLOAD_LOADED: &str = "PayloadLoaded";
/// Event: the release could not be retrieved.
pub const RETRIEVE_PAYLOAD_FAILED: &str = "RetrievePayloadFailed";
/// Event: the release could not be read.
pub const LOAD_PAYLOAD_FAILED: &str = "LoadPayloadFailed";
/// Event: the release has another version.
pub const VERIFY_PAYLOAD_VERSION_FAILED: &str = "VerifyPayloadVersionFailed";
/// Event: a precondition stops the update.
pub const PRECONDITION_BLOCK: &str = "PreconditionBlock";
/// Event: a precondition warns.
pub const PRECONDITION_WARN: &str = "PreconditionWarn";
/// Event: the preconditions are met.
pub const PRECONDITIONS_PASSED: &str = "PreconditionsPassed";
/// Event: this replica has become, or is no longer, the one at work.
pub const LEADER_ELECTION: &str = "LeaderElection";
/// The release could not be downloaded.
pub const UPDATE_PAYLOAD_RETRIEVAL_FAILED: &str = "UpdatePayloadRetrievalFailed";
/// The contents of the release are invalid.
pub const UPDATE_PAYLOAD_INTEGRITY: &str = "UpdatePayloadIntegrity";
/// The release could not be verified.
pub const IMAGE_VERIFICATION_FAILED: &str = "ImageVerificationFailed";
/// A precondition stops the update.
pub const UPGRADE_PRECONDITION_CHECK_FAILED: &str = "UpgradePreconditionCheckFailed";
/// The container runtime refused an image for its signature.
pub const SIGNATURE_VALIDATION_FAILED: &str = "SignatureValidationFailed";
/// The container runtime could not pull an image.
pub const ERR_IMAGE_PULL: &str = "ErrImagePull";

// Of preconditions.

/// The target is older than the current release.
pub const LOW_DESIRED_VERSION: &str = "LowDesiredVersion";
/// The target is of another major version.
pub const MAJOR_VERSION_UPDATE: &str = "MajorVersionUpdate";
/// The target is more than one minor version ahead.
pub const MULTIPLE_MINOR_VERSIONS_UPDATE: &str = "MultipleMinorVersionsUpdate";
/// A minor update is running.
pub const MINOR_VERSION_CLUSTER_UPDATE_IN_PROGRESS: &str = "MinorVersionClusterUpdateInProgress";
/// A major update is running.
pub const MAJOR_VERSION_CLUSTER_UPDATE_IN_PROGRESS: &str = "MajorVersionClusterUpdateInProgress";
/// Overrides are set.
pub const CLUSTER_VERSION_OVERRIDES_SET: &str = "ClusterVersionOverridesSet";
/// The current version is not a semantic version.
pub const INVALID_CURRENT_VERSION: &str = "InvalidCurrentVersion";
/// The target's version is not a semantic version.
pub const INVALID_DESIRED_VERSION: &str = "InvalidDesiredVersion";
/// A conditional update lacks its Recommended condition.
pub const UNKNOWN_CONDITION_TYPE: &str = "UnknownConditionType";
/// The update service does not list the target.
pub const UNKNOWN_UPDATE: &str = "UnknownUpdate";

// Of retrieving updates.

/// No update service is configured.
pub const NO_UPSTREAM: &str = "NoUpstream";
/// No channel is configured.
pub const NO_CHANNEL: &str = "NoChannel";
/// The architecture is not known.
pub const NO_ARCHITECTURE: &str = "NoArchitecture";
/// The current version is not known.
pub const NO_CURRENT_VERSION: &str = "NoCurrentVersion";
/// The address of the update service is no URL.
pub const INVALID_URI: &str = "InvalidURI";
/// The cluster ID is no UUID.
pub const INVALID_ID: &str = "InvalidID";
/// The request could not be made.
pub const INVALID_REQUEST: &str = "InvalidRequest";
/// The update service could not be reached.
pub const REMOTE_FAILED: &str = "RemoteFailed";
/// The update service answered with an error.
pub const RESPONSE_FAILED: &str = "ResponseFailed";
/// The update service's answer makes no sense.
pub const RESPONSE_INVALID: &str = "ResponseInvalid";
/// The channel does not hold the current version.
pub const VERSION_NOT_FOUND: &str = "VersionNotFound";
/// The update service failed in another way.
pub const UNKNOWN: &str = "Unknown";

// Of conditional updates and their risks.

/// No risk applies.
pub const NOT_EXPOSED_TO_RISKS: &str = "NotExposedToRisks";
/// A risk applies whose name cannot be a reason.
pub const EXPOSED_TO_RISKS: &str = "ExposedToRisks";
/// Every risk that applies was accepted.
pub const ALL_EXPOSED_RISKS_ACCEPTED: &str = "AllExposedRisksAccepted";
/// A risk applies that was not accepted.
pub const UNACCEPTED_RISKS: &str = "UnacceptedRisks";
/// A risk's rule matches this cluster.
pub const MATCH: &str = "Match";
/// A risk's rule does not match this cluster.
pub const NOT_MATCH: &str = "NotMatch";
/// A risk was not evaluated.
pub const INTERNAL_ERROR_FOUND_NO_RISK_CONDITION: &str = "InternalErrorFoundNoRiskCondition";
/// A risk's name cannot be a reason.
pub const RISK_NAME_NOT_COMPATIBLE_WITH_REASON_PROPERTY: &str = "RiskNameNotCompatibleWithReasonProperty";

// Of Upgradeable.

/// An update is running.
pub const CLUSTER_VERSION_UPDATING: &str = "ClusterVersionUpdating";
/// Overrides are set, as a risk's name.
pub const CLUSTER_VERSION_OVERRIDES: &str = "ClusterVersionOverrides";
/// Objects are being deleted, as a risk's name.
pub const RESOURCE_DELETION_IN_PROGRESS: &str = "ResourceDeletionInProgress";
/// Objects are being deleted.
pub const RESOURCE_DELETES_IN_PROGRESS: &str = "ResourceDeletesInProgress";
/// An update is running, before 5.0.
pub const UPDATE_IN_PROGRESS: &str = "UpdateInProgress";
/// An administrator must acknowledge something.
pub const ADMIN_ACK_REQUIRED: &str = "AdminAckRequired";
/// A gate has a name that cannot be read.
pub const ADMIN_ACK_CONFIG_MAP_GATE_NAME_ERROR: &str = "AdminAckConfigMapGateNameError";
/// A gate has no text.
pub const ADMIN_ACK_CONFIG_MAP_GATE_VALUE_ERROR: &str = "AdminAckConfigMapGateValueError";
/// The gates cannot be read.
pub const UNABLE_TO_ACCESS_ADMIN_GATES_CONFIG_MAP: &str = "UnableToAccessAdminGatesConfigMap";
/// The acknowledgements cannot be read.
pub const UNABLE_TO_ACCESS_ADMIN_ACKS_CONFIG_MAP: &str = "UnableToAccessAdminAcksConfigMap";
/// The ClusterVersion cannot be read.
pub const UNABLE_TO_GET_CLUSTER_VERSION: &str = "UnableToGetClusterVersion";
/// Several cluster operators say no.
pub const CLUSTER_OPERATORS_NOT_UPGRADEABLE: &str = "ClusterOperatorsNotUpgradeable";
/// The cluster operators cannot be read.
pub const FAILED_TO_LIST_CLUSTER_OPERATORS: &str = "FailedToListClusterOperators";

// Of metrics, where there is no condition to take a reason from.

/// The ClusterOperator has no Available condition.
pub const NO_AVAILABLE_CONDITION: &str = "NoAvailableCondition";
/// There is no ClusterVersion.
pub const CLUSTER_VERSION_NOT_FOUND: &str = "ClusterVersionNotFound";

// Of events of a ClusterOperator's reporter.

/// There is no status to report from.
pub const STATUS_NOT_FOUND: &str = "StatusNotFound";
/// The ClusterOperator could not be created.
pub const STATUS_CREATE_FAILED: &str = "StatusCreateFailed";
/// The ClusterOperator could not be read.
pub const STATUS_FAILED: &str = "StatusFailed";
/// The status was written.
pub const OPERATOR_STATUS_CHANGED: &str = "OperatorStatusChanged";
/// A reported version changed.
pub const OPERATOR_VERSION_CHANGED: &str = "OperatorVersionChanged";
