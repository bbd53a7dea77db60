//! Label keys of cluster objects and of images.

/// On every managed object: the name of the set that it belongs to.
pub const PAYLOAD: &str = "lockstep.dev/payload";
/// On a `ConfigMap`: it keeps who owned the fields of objects before they were adopted; the value is the set.
pub const ADOPTION: &str = "lockstep.dev/adoption";
/// On a `ConfigMap`: its data are signatures of releases; the value is irrelevant.
pub const VERIFICATION_SIGNATURES: &str = "release.openshift.io/verification-signatures";
/// The application that a pod belongs to, in manifests of the platform.
pub const K8S_APP: &str = "k8s-app";
/// On a Namespace: its run level for admission; the empty value means none.
pub const NAMESPACE_RUN_LEVEL: &str = "openshift.io/run-level";
/// Value `true` on a Namespace: the platform's monitoring scrapes it.
pub const CLUSTER_MONITORING: &str = "openshift.io/cluster-monitoring";
/// On a Node that runs the control plane.
pub const CONTROL_PLANE_NODE: &str = "node-role.kubernetes.io/control-plane";
/// On a Node that runs the control plane, the older name.
pub const MASTER_NODE: &str = "node-role.kubernetes.io/master";

/// On an image: a non-empty value says that its `manifests` folder contributes to a release.
pub const IMAGE_RELEASE_OPERATOR: &str = "io.openshift.release.operator";
/// On a release image: the name of the release, which is its version.
pub const IMAGE_RELEASE: &str = "io.openshift.release";
/// On a release image: the digest of the image that it was built on.
pub const IMAGE_RELEASE_BASE_DIGEST: &str = "io.openshift.release.base-image-digest";
