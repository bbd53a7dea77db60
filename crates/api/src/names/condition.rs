//! Condition types of ClusterVersion, ClusterOperator and update risks.

// Of both ClusterVersion and ClusterOperator.

/// A ClusterOperator works; a ClusterVersion has been applied at least once.
pub const AVAILABLE: &str = "Available";
/// Something is being rolled out.
pub const PROGRESSING: &str = "Progressing";
/// Updates to the next minor version are safe unless this is False.
pub const UPGRADEABLE: &str = "Upgradeable";

// Of ClusterOperator.

/// The component has been away from its desired state for some time.
pub const DEGRADED: &str = "Degraded";
/// A planned change would hit this cluster; telemetry only.
pub const EVALUATION_CONDITIONS_DETECTED: &str = "EvaluationConditionsDetected";

// Of ClusterVersion. `Failing` is also the first-generation name of a ClusterOperator's `Degraded`.

/// The release cannot be applied.
pub const FAILING: &str = "Failing";
/// The ClusterVersion's spec has parts that cannot be used.
pub const INVALID: &str = "Invalid";
/// The desired release was retrieved, verified and loaded.
pub const RELEASE_ACCEPTED: &str = "ReleaseAccepted";
/// The update service has answered.
pub const RETRIEVED_UPDATES: &str = "RetrievedUpdates";
/// Capabilities are enabled that the spec does not ask for.
pub const IMPLICITLY_ENABLED_CAPABILITIES: &str = "ImplicitlyEnabledCapabilities";
/// A stray name of earlier releases; only ever removed.
pub const IMPLICITLY_ENABLED: &str = "ImplicitlyEnabled";
/// A tree of problems as JSON, set by 4.16 to 4.19; only ever removed.
pub const RECONCILIATION_ISSUES: &str = "ReconciliationIssues";
/// Part of Upgradeable before 5.0: overrides are set.
pub const UPGRADEABLE_CLUSTER_VERSION_OVERRIDES: &str = "UpgradeableClusterVersionOverrides";
/// Part of Upgradeable before 5.0: an administrator must acknowledge something.
pub const UPGRADEABLE_ADMIN_ACK_REQUIRED: &str = "UpgradeableAdminAckRequired";
/// Part of Upgradeable before 5.0: a ClusterOperator says no.
pub const UPGRADEABLE_CLUSTER_OPERATORS: &str = "UpgradeableClusterOperators";
/// Part of Upgradeable before 5.0: objects are being deleted.
pub const UPGRADEABLE_DELETES_IN_PROGRESS: &str = "UpgradeableDeletesInProgress";
/// Part of Upgradeable before 5.0: an update is running.
pub const UPGRADEABLE_UPGRADE_IN_PROGRESS: &str = "UpgradeableUpgradeInProgress";

// Of conditional updates and their risks.

/// A conditional update is recommended for this cluster.
pub const RECOMMENDED: &str = "Recommended";
/// An update risk applies to this cluster.
pub const APPLIES: &str = "Applies";

// Of the kinds of Kubernetes itself, and of objects that keep to its conventions.

/// A Deployment cannot create or delete Pods.
pub const REPLICA_FAILURE: &str = "ReplicaFailure";
/// A Job finished well.
pub const COMPLETE: &str = "Complete";
/// A Job gave up.
pub const FAILED: &str = "Failed";
/// A Job is about to give up.
pub const FAILURE_TARGET: &str = "FailureTarget";
/// A Job has succeeded, and its last Pods are ending.
pub const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
/// A definition is served.
pub const ESTABLISHED: &str = "Established";
/// The names of a definition belong to it.
pub const NAMES_ACCEPTED: &str = "NamesAccepted";
/// A Pod has its node.
pub const POD_SCHEDULED: &str = "PodScheduled";
/// A Pod, a Node or another object is ready for use.
pub const READY: &str = "Ready";
/// The controller of an object is at work.
pub const RECONCILING: &str = "Reconciling";
/// The controller of an object cannot go on.
pub const STALLED: &str = "Stalled";
/// Node: its disk is full.
pub const DISK_PRESSURE: &str = "DiskPressure";
/// Node: its network is not set up.
pub const NETWORK_UNAVAILABLE: &str = "NetworkUnavailable";
