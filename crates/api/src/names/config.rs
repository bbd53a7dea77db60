//! Names of the configuration that decides which manifests a cluster gets, and of the places it lives in.

/// Cluster profiles; each names an annotation that includes manifests.
pub mod profile {
    /// The variable of the environment that tells the operator its profile.
    pub const VARIABLE: &str = "CLUSTER_PROFILE";
    /// A cluster that runs its own, highly available control plane; the default.
    pub const SELF_MANAGED_HIGH_AVAILABILITY: &str = "self-managed-high-availability";
    /// A developer's cluster on one node.
    pub const SINGLE_NODE_DEVELOPER: &str = "single-node-developer";
    /// A cluster whose control plane a cloud runs.
    pub const IBM_CLOUD_MANAGED: &str = "ibm-cloud-managed";
    /// A cluster whose control plane runs as pods of another cluster.
    pub const HYPERSHIFT: &str = "hypershift";

    /// All known profiles, the default first.
    pub const ALL: [&str; 4] =
        [SELF_MANAGED_HIGH_AVAILABILITY, SINGLE_NODE_DEVELOPER, IBM_CLOUD_MANAGED, HYPERSHIFT];
}

/// Feature sets of a cluster.
pub mod feature_set {
    /// The default set; a cluster spells it as the empty string, a manifest as this word.
    pub const DEFAULT: &str = "Default";
    /// Technology previews; the cluster can never be updated again.
    pub const TECH_PREVIEW_NO_UPGRADE: &str = "TechPreviewNoUpgrade";
    /// Developer previews; the cluster can never be updated again.
    pub const DEV_PREVIEW_NO_UPGRADE: &str = "DevPreviewNoUpgrade";
    /// A set of gates chosen by hand; the cluster can never be updated again.
    pub const CUSTOM_NO_UPGRADE: &str = "CustomNoUpgrade";
    /// The set of the community distribution.
    pub const OKD: &str = "OKD";

    /// All known feature sets in the order in which an error lists them: sorted byte-wise.
    pub const ALL: [&str; 5] =
        [CUSTOM_NO_UPGRADE, DEFAULT, DEV_PREVIEW_NO_UPGRADE, OKD, TECH_PREVIEW_NO_UPGRADE];

    /// The name that manifests use for a cluster's feature set, where the empty one is the default.
    pub fn spelled_out(of_cluster: &str) -> &str {
        if of_cluster.is_empty() { DEFAULT } else { of_cluster }
    }
}

/// Feature gates that change the operator itself or the capabilities that it knows.
pub mod feature_gate {
    /// The architecture of a release is published in status.
    pub const IMAGE_STREAM_IMPORT_MODE: &str = "ImageStreamImportMode";
    /// The operator's own configuration object is reconciled.
    pub const CLUSTER_VERSION_OPERATOR_CONFIGURATION: &str = "ClusterVersionOperatorConfiguration";
    /// Update risks can be accepted in spec.
    pub const CLUSTER_UPDATE_ACCEPT_RISKS: &str = "ClusterUpdateAcceptRisks";
    /// An update can be asked for as a preflight.
    pub const CLUSTER_UPDATE_PREFLIGHT: &str = "ClusterUpdatePreflight";
    /// Signature stores can be named in spec.
    pub const SIGNATURE_STORES: &str = "SignatureStores";
    /// Brings the capability `CompatibilityRequirements`.
    pub const CRD_COMPATIBILITY_REQUIREMENT_OPERATOR: &str = "CRDCompatibilityRequirementOperator";
    /// Brings the capabilities `ClusterAPI` and `CompatibilityRequirements`.
    pub const CLUSTER_API_MACHINE_MANAGEMENT: &str = "ClusterAPIMachineManagement";
}

/// Namespaces that the operator reads or writes.
pub mod namespace {
    /// Where the operator itself runs.
    pub const CLUSTER_VERSION: &str = "openshift-cluster-version";
    /// Configuration by the administrator.
    pub const CONFIG: &str = "openshift-config";
    /// Configuration by operators.
    pub const CONFIG_MANAGED: &str = "openshift-config-managed";
    /// Where the metrics that judge update risks come from.
    pub const MONITORING: &str = "openshift-monitoring";
    /// Namespace of the cluster's own components.
    pub const KUBE_SYSTEM: &str = "kube-system";
}

/// Names of objects, and of entries in them, that the operator looks for.
pub mod object {
    /// The one ClusterVersion, and the operator's lease.
    pub const VERSION: &str = "version";
    /// Every configuration object of a cluster that exists once.
    pub const CLUSTER: &str = "cluster";
    /// The operator's Deployment, container, Service and image.
    pub const CLUSTER_VERSION_OPERATOR: &str = "cluster-version-operator";
    /// The entry of a ClusterOperator's versions that every operator reports.
    pub const OPERATOR_VERSION: &str = "operator";
    /// The entry of a ClusterOperator's versions with the operator's image.
    pub const OPERATOR_IMAGE_VERSION: &str = "operator-image";
    /// The one ClusterOperator that is given more time, because it restarts nodes.
    pub const MACHINE_CONFIG: &str = "machine-config";
    /// What an administrator must acknowledge before a minor update.
    pub const ADMIN_GATES: &str = "admin-gates";
    /// What an administrator has acknowledged.
    pub const ADMIN_ACKS: &str = "admin-acks";
    /// Signatures of releases, as found by the operator.
    pub const SIGNATURES_MANAGED: &str = "signatures-managed";
    /// Certificate authorities that the administrator added.
    pub const TRUSTED_CA_BUNDLE: &str = "trusted-ca-bundle";
    /// The secret with the credentials of registries.
    pub const PULL_SECRET: &str = "pull-secret";
    /// Who ran the installer, and which one.
    pub const INSTALL: &str = "openshift-install";
    /// Who made the manifests that the cluster was installed from.
    pub const INSTALL_MANIFESTS: &str = "openshift-install-manifests";
    /// Who may sign the certificates of the API server's clients.
    pub const API_SERVER_AUTHENTICATION: &str = "extension-apiserver-authentication";
    /// The entry of [`API_SERVER_AUTHENTICATION`] with the certificate authorities.
    pub const CLIENT_CA_FILE: &str = "client-ca-file";
    /// Who may read metrics, unless somebody else is named.
    pub const METRICS_READER: &str = "system:serviceaccount:openshift-monitoring:prometheus-k8s";
}

#[cfg(test)]
mod tests {
    use super::feature_set;

    #[test]
    fn feature_sets_are_listed_sorted_because_errors_print_them_so() {
        assert!(feature_set::ALL.is_sorted());
        assert_eq!(
            feature_set::ALL.join(","),
            "CustomNoUpgrade,Default,DevPreviewNoUpgrade,OKD,TechPreviewNoUpgrade"
        );
    }

    #[test]
    fn empty_feature_set_of_a_cluster_is_spelled_default() {
        assert_eq!(feature_set::spelled_out(""), "Default");
        assert_eq!(feature_set::spelled_out("OKD"), "OKD");
    }
}
