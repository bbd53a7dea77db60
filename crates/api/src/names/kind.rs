//! Kinds that the code asks for by name.

/// The one object that says which release a cluster runs and should run.
pub const CLUSTER_VERSION: &str = "ClusterVersion";
/// What one component of the platform reports about itself.
pub const CLUSTER_OPERATOR: &str = "ClusterOperator";
/// The feature set and the feature gates of a cluster.
pub const FEATURE_GATE: &str = "FeatureGate";
/// Topology and API addresses of a cluster.
pub const INFRASTRUCTURE: &str = "Infrastructure";
/// The proxy settings of a cluster.
pub const PROXY: &str = "Proxy";
/// The TLS settings of a cluster.
pub const API_SERVER: &str = "APIServer";
/// The list of images of a release.
pub const IMAGE_STREAM: &str = "ImageStream";
/// A kind that a manifest brings.
pub const CUSTOM_RESOURCE_DEFINITION: &str = "CustomResourceDefinition";
/// An API group that another server serves.
pub const API_SERVICE: &str = "APIService";
/// A namespace.
pub const NAMESPACE: &str = "Namespace";
/// A config map.
pub const CONFIG_MAP: &str = "ConfigMap";
/// A secret; its data are never shown.
pub const SECRET: &str = "Secret";
/// A service.
pub const SERVICE: &str = "Service";
/// A service account.
pub const SERVICE_ACCOUNT: &str = "ServiceAccount";
/// A pod.
pub const POD: &str = "Pod";
/// A node.
pub const NODE: &str = "Node";
/// A deployment.
pub const DEPLOYMENT: &str = "Deployment";
/// A daemon set.
pub const DAEMON_SET: &str = "DaemonSet";
/// A stateful set.
pub const STATEFUL_SET: &str = "StatefulSet";
/// A job; a barrier in the order of a release.
pub const JOB: &str = "Job";
/// A cron job.
pub const CRON_JOB: &str = "CronJob";
/// A role.
pub const ROLE: &str = "Role";
/// A cluster role.
pub const CLUSTER_ROLE: &str = "ClusterRole";
/// A role binding.
pub const ROLE_BINDING: &str = "RoleBinding";
/// A cluster role binding.
pub const CLUSTER_ROLE_BINDING: &str = "ClusterRoleBinding";
/// Validating webhooks.
pub const VALIDATING_WEBHOOK_CONFIGURATION: &str = "ValidatingWebhookConfiguration";
/// Mutating webhooks.
pub const MUTATING_WEBHOOK_CONFIGURATION: &str = "MutatingWebhookConfiguration";
/// What pods may ask of their node.
pub const SECURITY_CONTEXT_CONSTRAINTS: &str = "SecurityContextConstraints";
/// A route into the cluster.
pub const ROUTE: &str = "Route";
/// The lease that elects the one active operator.
pub const LEASE: &str = "Lease";
/// A note about something that happened.
pub const EVENT: &str = "Event";
/// The question whose token it is.
pub const TOKEN_REVIEW: &str = "TokenReview";
/// The kind of a tag's `from` that is a pull spec.
pub const DOCKER_IMAGE: &str = "DockerImage";
/// A request for cloud credentials.
pub const CREDENTIALS_REQUEST: &str = "CredentialsRequest";
/// The namespaces that the operators of a namespace watch.
pub const OPERATOR_GROUP: &str = "OperatorGroup";
/// Which signatures images must have, cluster-wide.
pub const CLUSTER_IMAGE_POLICY: &str = "ClusterImagePolicy";
/// Which signatures images must have in a namespace.
pub const IMAGE_POLICY: &str = "ImagePolicy";
/// A group of machines with one configuration.
pub const MACHINE_CONFIG_POOL: &str = "MachineConfigPool";
/// A configuration of machines.
pub const MACHINE_CONFIG: &str = "MachineConfig";
