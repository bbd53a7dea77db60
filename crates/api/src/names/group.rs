//! API groups.

/// ClusterVersion, ClusterOperator and the configuration objects of the cluster.
pub const CONFIG: &str = "config.openshift.io";
/// Where ClusterOperator lived in its first generation.
pub const OPERATOR_STATUS: &str = "operatorstatus.openshift.io";
/// Configuration of the operators of the platform.
pub const OPERATOR: &str = "operator.openshift.io";
/// ImageStream.
pub const IMAGE: &str = "image.openshift.io";
/// `SecurityContextConstraints`.
pub const SECURITY: &str = "security.openshift.io";
/// Route.
pub const ROUTE: &str = "route.openshift.io";
/// `CustomResourceDefinition`.
pub const API_EXTENSIONS: &str = "apiextensions.k8s.io";
/// `APIService`.
pub const API_REGISTRATION: &str = "apiregistration.k8s.io";
/// Webhook configurations and admission policies.
pub const ADMISSION_REGISTRATION: &str = "admissionregistration.k8s.io";
/// Roles and their bindings.
pub const RBAC: &str = "rbac.authorization.k8s.io";
/// Deployments, `DaemonSets`, `StatefulSets`.
pub const APPS: &str = "apps";
/// Jobs and `CronJobs`.
pub const BATCH: &str = "batch";
/// Leases.
pub const COORDINATION: &str = "coordination.k8s.io";
/// Questions whose credentials these are.
pub const AUTHENTICATION: &str = "authentication.k8s.io";
/// Service monitors and alert rules.
pub const MONITORING: &str = "monitoring.coreos.com";
/// Operators that are installed after the platform.
pub const OPERATORS: &str = "operators.coreos.com";
/// Requests for cloud credentials.
pub const CLOUD_CREDENTIAL: &str = "cloudcredential.openshift.io";
/// Our own documents: outputs, scenarios, recordings.
pub const LOCKSTEP: &str = "lockstep.dev";
