//! The operator's own manifests: what its image carries as `manifests/`, beside the definitions of its kinds.

use lockstep_api::crd;

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Base name.
    pub name: &'static str,
    /// Its text, a template.
    pub text: &'static str,
    /// Whether it is of use only where kinds of the Prometheus operator are served.
    pub is_monitoring: bool,
}

/// A file of `deploy/manifests/`, which is where people read and change it.
macro_rules! file {
    ($name:literal) => {
        File {
            name: $name,
            text: include_str!(concat!("../../../deploy/manifests/", $name)),
            is_monitoring: false,
        }
    };
    (monitoring $name:literal) => {
        File { is_monitoring: true, ..file!($name) }
    };
}

/// The static pod of a bootstrap host: what the image carries as `bootstrap/`.
pub const BOOTSTRAP: File = File {
    name: "bootstrap-pod.yaml",
    text: include_str!("../../../deploy/static-pod/bootstrap-pod.yaml"),
    is_monitoring: false,
};

/// Every file, in the order in which it is applied.
pub const FILES: [File; 16] = [
    file!("0000_00_cluster-version-operator_00_config-namespaces.yaml"),
    file!("0000_00_cluster-version-operator_00_namespace.yaml"),
    file!("0000_00_cluster-version-operator_01_admin-acks.yaml"),
    file!("0000_00_cluster-version-operator_01_admin-gates.yaml"),
    File {
        name: "0000_00_cluster-version-operator_01_clusteroperators.crd.yaml",
        text: crd::CLUSTER_OPERATOR,
        is_monitoring: false,
    },
    File {
        name: "0000_00_cluster-version-operator_01_clusterversions.crd.yaml",
        text: crd::CLUSTER_VERSION,
        is_monitoring: false,
    },
    file!("0000_00_cluster-version-operator_02_networkpolicy.yaml"),
    file!("0000_00_cluster-version-operator_02_rbac.yaml"),
    file!("0000_00_cluster-version-operator_02_serviceaccount.yaml"),
    file!("0000_00_cluster-version-operator_03_deployment.yaml"),
    file!("0000_00_cluster-version-operator_04_service.yaml"),
    file!("0000_00_cluster-version-operator_05_protection.yaml"),
    file!(monitoring "0000_90_cluster-version-operator_00_prometheusrole.yaml"),
    file!(monitoring "0000_90_cluster-version-operator_01_prometheusrolebinding.yaml"),
    file!(monitoring "0000_90_cluster-version-operator_02_servicemonitor.yaml"),
    file!(monitoring "0000_90_cluster-version-operator_03_alerts.yaml"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_and_each_object_belongs_to_a_self_managed_cluster() {
        assert!(FILES.is_sorted_by_key(|file| file.name));
        for file in FILES {
            let objects = file.text.split("\n---\n").count();
            let included =
                file.text.matches("include.release.openshift.io/self-managed-high-availability: \"true\"");
            assert_eq!(included.count(), objects, "{}", file.name);
        }
    }
}
