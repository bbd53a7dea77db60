//! Names of what speaks against an update: preconditions, and risks that the cluster itself knows.

/// Preconditions in the order in which they are checked.
pub mod precondition {
    /// The target is not older than the current release, or is the one before it.
    pub const ROLLBACK: &str = "ClusterVersionRollback";
    /// The target is not too far ahead.
    pub const GIANT_HOP: &str = "ClusterVersionGiantHop";
    /// Nothing in the cluster says that it must stay at its minor version.
    pub const UPGRADEABLE: &str = "ClusterVersionUpgradeable";
    /// The update service recommends the target.
    pub const RECOMMENDED_UPDATE: &str = "ClusterVersionRecommendedUpdate";
    /// The name under which a failure of preconditions is reported.
    pub const CHECK: &str = "PreconditionCheck";
}

/// Risks that are named after something; the other names are reasons.
pub mod risk {
    /// Prefix of the risk that an administrator has not acknowledged a gate; the gate's key follows.
    pub const ADMIN_ACK_PREFIX: &str = "AdminAck-";
    /// Nobody can say which gates count.
    pub const ADMIN_ACK_UNKNOWN: &str = "AdminAckUnknown";
    /// Prefix of the risk that a ClusterOperator says no; its name follows.
    pub const CLUSTER_OPERATOR_UPGRADEABLE_PREFIX: &str = "ClusterOperatorUpgradeable-";
}
