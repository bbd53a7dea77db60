//! Which kinds the server knows, including those that it no longer serves.

use lockstep_schema::Schema;

/// API versions that are not served, or not all of it, but of which the server can still read objects.
const STILL_READ: [&str; 25] = [
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1beta1",
    "batch/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "certificates.k8s.io/v1beta1",
    "coordination.k8s.io/v1beta1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "rbac.authorization.k8s.io/v1beta1",
    "scheduling.k8s.io/v1beta1",
    "storage.k8s.io/v1alpha1",
    "storage.k8s.io/v1beta1",
];

/// Whether the server can read objects of this version and kind, served or not.
pub(crate) fn is_registered(api_version: &str, kind: &str) -> bool {
    let schema = Schema::builtin();
    schema.kind(api_version, kind).is_some()
        || (STILL_READ.contains(&api_version) && schema.removed(api_version, kind).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_version_is_known_and_an_invented_one_is_not() {
        assert!(is_registered("apps/v1", "Deployment"));
        assert!(is_registered("apps/v1beta1", "Deployment"));
        assert!(!is_registered("v1", "Deployment"));
        assert!(!is_registered("apps/v9", "Deployment"));
    }
}
