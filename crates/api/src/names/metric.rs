//! Names of metrics, and of their labels' values that alerts match on.

// Those of the reference, all of them gauges: alerts, dashboards and telemetry match on them.

/// Points in time of the cluster's version, by type.
pub const CLUSTER_VERSION: &str = "cluster_version";
/// How many updates are recommended.
pub const AVAILABLE_UPDATES: &str = "cluster_version_available_updates";
/// Which capabilities are enabled.
pub const CAPABILITY: &str = "cluster_version_capability";
/// Whether a component is available.
pub const OPERATOR_UP: &str = "cluster_operator_up";
/// Every condition that is True or False.
pub const OPERATOR_CONDITIONS: &str = "cluster_operator_conditions";
/// How often the status of a condition has changed.
pub const OPERATOR_CONDITION_TRANSITIONS: &str = "cluster_operator_condition_transitions";
/// Which update risks apply.
pub const RISK_CONDITIONS: &str = "cluster_version_risk_conditions";
/// Who installed the cluster.
pub const INSTALLER: &str = "cluster_installer";
/// When the update service last answered.
pub const UPDATE_RETRIEVAL: &str = "cluster_version_operator_update_retrieval_timestamp_seconds";
/// Since when a conditional update is recommended or not.
pub const CONDITIONAL_UPDATE: &str = "cluster_version_conditional_update_condition_seconds";
/// How many manifests are applied, and how many are not yet.
pub const PAYLOAD: &str = "cluster_version_payload";
/// How often a manifest could not be applied.
pub const PAYLOAD_ERRORS: &str = "cluster_operator_payload_errors";

// Our own. A counter is named here without the `_total` that its samples have.

/// How long tasks took.
pub const TASK_DURATION: &str = "lockstep_task_duration_seconds";
/// How many tasks wait, by cause.
pub const WAITS: &str = "lockstep_waits";
/// How often drift was repaired.
pub const DRIFT_REPAIRS: &str = "lockstep_drift_repairs";
/// How long a repair took from the event to the write.
pub const DRIFT_REPAIR_SECONDS: &str = "lockstep_drift_repair_seconds";
/// How many objects somebody else changes back again and again.
pub const FIGHTS: &str = "lockstep_fights";
/// Requests to the API server.
pub const REQUESTS: &str = "lockstep_requests";
/// Whether this replica is the one at work.
pub const LEADER: &str = "lockstep_leader";
/// How often a release could not be loaded, by step.
pub const RELEASE_LOAD_FAILURES: &str = "lockstep_release_load_failures";
/// Events that were not written: too many, or refused by the API server.
pub const EVENTS_DROPPED: &str = "lockstep_events_dropped";
/// Operators that have not come to rest for a whole period.
pub const OPERATOR_UNSTABLE: &str = "lockstep_cluster_operator_unstable";
