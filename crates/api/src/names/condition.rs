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
