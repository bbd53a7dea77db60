//! Names of what configures machines: pools, rendered configurations and the annotations of nodes.

/// The group of pools and configurations.
pub const GROUP: &str = "machineconfiguration.openshift.io";
/// The namespace of the operator of machine configurations.
pub const NAMESPACE: &str = "openshift-machine-config-operator";
/// Its Deployment, and the container in it.
pub const OPERATOR: &str = "machine-config-operator";

/// The pool of the control plane.
pub const POOL_MASTER: &str = "master";
/// The pool of every node that no other pool has.
pub const POOL_WORKER: &str = "worker";

/// Node: the configuration that it has.
pub const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";
/// Node: the configuration that it shall have.
pub const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";
/// Node: what is being done on it.
pub const STATE: &str = "machineconfiguration.openshift.io/state";
/// Node: why it is not well.
pub const REASON: &str = "machineconfiguration.openshift.io/reason";
/// Node: whether it shall be emptied.
pub const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
/// Node: which wish of that sort was fulfilled last.
pub const LAST_APPLIED_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
/// Configuration: the version of the release that it was rendered by.
pub const RELEASE_IMAGE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";
