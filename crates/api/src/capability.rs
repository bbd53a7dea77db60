//! The optional parts of the platform: which there are, in which baseline sets, and behind which feature gates.
//!
//! This is data and look-up; what is enabled in a cluster is computed where releases are read.

use std::fmt;

use crate::names::feature_gate;

/// Provisioning of bare-metal machines.
pub const BAREMETAL: &str = "baremetal";
/// The web console.
pub const CONSOLE: &str = "Console";
/// Reports about the cluster to its vendor.
pub const INSIGHTS: &str = "Insights";
/// Catalogues of operators; needs [`OPERATOR_LIFECYCLE_MANAGER`].
pub const MARKETPLACE: &str = "marketplace";
/// Storage drivers of the clouds.
pub const STORAGE: &str = "Storage";
/// Sample images and templates.
pub const OPENSHIFT_SAMPLES: &str = "openshift-samples";
/// Snapshots of volumes.
pub const CSI_SNAPSHOT: &str = "CSISnapshot";
/// Tuning of nodes.
pub const NODE_TUNING: &str = "NodeTuning";
/// Management of machines.
pub const MACHINE_API: &str = "MachineAPI";
/// Builds of images.
pub const BUILD: &str = "Build";
/// The older kind of deployment.
pub const DEPLOYMENT_CONFIG: &str = "DeploymentConfig";
/// The registry inside the cluster.
pub const IMAGE_REGISTRY: &str = "ImageRegistry";
/// Management of optional operators.
pub const OPERATOR_LIFECYCLE_MANAGER: &str = "OperatorLifecycleManager";
/// Management of optional operators, second generation.
pub const OPERATOR_LIFECYCLE_MANAGER_V1: &str = "OperatorLifecycleManagerV1";
/// Cloud credentials for components.
pub const CLOUD_CREDENTIAL: &str = "CloudCredential";
/// Ways into the cluster.
pub const INGRESS: &str = "Ingress";
/// The cloud's part of node and load-balancer management.
pub const CLOUD_CONTROLLER_MANAGER: &str = "CloudControllerManager";
/// Requirements on the compatibility of CRDs; feature-gated.
pub const COMPATIBILITY_REQUIREMENTS: &str = "CompatibilityRequirements";
/// Management of machines by Cluster API; feature-gated, needs [`COMPATIBILITY_REQUIREMENTS`].
pub const CLUSTER_API: &str = "ClusterAPI";

/// All known capabilities in the order of the API, the feature-gated ones included.
pub const KNOWN: [&str; 19] = [
    BAREMETAL,
    CONSOLE,
    INSIGHTS,
    MARKETPLACE,
    STORAGE,
    OPENSHIFT_SAMPLES,
    CSI_SNAPSHOT,
    NODE_TUNING,
    MACHINE_API,
    BUILD,
    DEPLOYMENT_CONFIG,
    IMAGE_REGISTRY,
    OPERATOR_LIFECYCLE_MANAGER,
    OPERATOR_LIFECYCLE_MANAGER_V1,
    CLOUD_CREDENTIAL,
    INGRESS,
    CLOUD_CONTROLLER_MANAGER,
    COMPATIBILITY_REQUIREMENTS,
    CLUSTER_API,
];

/// A capability that is known only where a feature gate is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gated {
    /// The capability.
    pub capability: &'static str,
    /// The gates; one of them is enough.
    pub any_of: &'static [&'static str],
}

/// The capabilities that are known only where a feature gate is on.
pub const GATED: [Gated; 2] = [
    Gated {
        capability: COMPATIBILITY_REQUIREMENTS,
        any_of: &[
            feature_gate::CRD_COMPATIBILITY_REQUIREMENT_OPERATOR,
            feature_gate::CLUSTER_API_MACHINE_MANAGEMENT,
        ],
    },
    Gated { capability: CLUSTER_API, any_of: &[feature_gate::CLUSTER_API_MACHINE_MANAGEMENT] },
];

/// A named set of capabilities that a cluster starts from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BaselineSet {
    /// Nothing.
    None,
    /// What was optional in 4.11.
    V4_11,
    /// What was optional in 4.12.
    V4_12,
    /// What was optional in 4.13.
    V4_13,
    /// What was optional in 4.14.
    V4_14,
    /// What was optional in 4.15.
    V4_15,
    /// What was optional in 4.16.
    V4_16,
    /// What was optional in 4.17.
    V4_17,
    /// What was optional in 4.18.
    V4_18,
    /// Everything that is known; the default when nothing is asked for.
    #[default]
    Current,
}

/// Capabilities in the order in which baseline sets took them up; each set is the beginning of this list.
const BY_AGE: [&str; 19] = [
    BAREMETAL,
    MARKETPLACE,
    OPENSHIFT_SAMPLES,
    MACHINE_API,
    // 4.12
    CONSOLE,
    INSIGHTS,
    STORAGE,
    CSI_SNAPSHOT,
    // 4.13
    NODE_TUNING,
    // 4.14
    BUILD,
    DEPLOYMENT_CONFIG,
    IMAGE_REGISTRY,
    // 4.15
    OPERATOR_LIFECYCLE_MANAGER,
    CLOUD_CREDENTIAL,
    // 4.16
    INGRESS,
    CLOUD_CONTROLLER_MANAGER,
    // 4.18
    OPERATOR_LIFECYCLE_MANAGER_V1,
    // vCurrent
    COMPATIBILITY_REQUIREMENTS,
    CLUSTER_API,
];

// === impl Gated ===

impl Gated {
    /// Whether the capability exists in a cluster, where `is_enabled` answers for its feature gates.
    pub fn is_known(&self, is_enabled: impl Fn(&str) -> bool) -> bool {
        self.any_of.iter().any(|gate| is_enabled(gate))
    }
}

// === impl BaselineSet ===

impl BaselineSet {
    /// All sets, smallest first, as the API lists them.
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::V4_11,
        Self::V4_12,
        Self::V4_13,
        Self::V4_14,
        Self::V4_15,
        Self::V4_16,
        Self::V4_17,
        Self::V4_18,
        Self::Current,
    ];

    /// The set of that name, if there is one; names are case-sensitive.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.as_str() == name)
    }

    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::V4_11 => "v4.11",
            Self::V4_12 => "v4.12",
            Self::V4_13 => "v4.13",
            Self::V4_14 => "v4.14",
            Self::V4_15 => "v4.15",
            Self::V4_16 => "v4.16",
            Self::V4_17 => "v4.17",
            Self::V4_18 => "v4.18",
            Self::Current => "vCurrent",
        }
    }

    /// The capabilities of the set, feature-gated ones included, in no order that matters.
    pub fn members(self) -> &'static [&'static str] {
        let count = match self {
            Self::None => 0,
            Self::V4_11 => 4,
            Self::V4_12 => 8,
            Self::V4_13 => 9,
            Self::V4_14 => 12,
            Self::V4_15 => 14,
            Self::V4_16 | Self::V4_17 => 16,
            Self::V4_18 => 17,
            Self::Current => 19,
        };
        BY_AGE.split_at(count).0
    }
}

impl fmt::Display for BaselineSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn added(set: &str, over: &str) -> BTreeSet<&'static str> {
        let of = |name| BaselineSet::parse(name).unwrap().members().iter().copied().collect::<BTreeSet<_>>();
        assert!(of(set).is_superset(&of(over)), "{set} lost something of {over}");
        &of(set) - &of(over)
    }

    #[test]
    fn each_set_adds_what_its_release_made_optional() {
        for (set, over, expected) in [
            ("v4.11", "None", &["baremetal", "marketplace", "openshift-samples", "MachineAPI"][..]),
            ("v4.12", "v4.11", &["Console", "Insights", "Storage", "CSISnapshot"]),
            ("v4.13", "v4.12", &["NodeTuning"]),
            ("v4.14", "v4.13", &["Build", "DeploymentConfig", "ImageRegistry"]),
            ("v4.15", "v4.14", &["OperatorLifecycleManager", "CloudCredential"]),
            ("v4.16", "v4.15", &["Ingress", "CloudControllerManager"]),
            ("v4.17", "v4.16", &[]),
            ("v4.18", "v4.17", &["OperatorLifecycleManagerV1"]),
            ("vCurrent", "v4.18", &["CompatibilityRequirements", "ClusterAPI"]),
        ] {
            assert_eq!(added(set, over), expected.iter().copied().collect(), "{set}");
        }
        assert!(BaselineSet::None.members().is_empty());
    }

    #[test]
    fn current_set_holds_every_known_capability_once() {
        let known: BTreeSet<_> = KNOWN.into_iter().collect();
        assert_eq!(known.len(), 19);
        assert_eq!(known, BaselineSet::default().members().iter().copied().collect());
    }

    #[test]
    fn names_round_trip_and_case_matters() {
        for set in BaselineSet::ALL {
            assert_eq!(BaselineSet::parse(set.as_str()), Some(set));
        }
        assert_eq!(BaselineSet::parse("none"), None);
        assert_eq!(BaselineSet::parse("v4.19"), None);
        assert_eq!(BaselineSet::parse(""), None);
    }

    #[test]
    fn one_of_its_gates_makes_a_gated_capability_known() {
        let known = |on: &[&str]| -> Vec<&str> {
            GATED.iter().filter(|g| g.is_known(|gate| on.contains(&gate))).map(|g| g.capability).collect()
        };
        assert_eq!(known(&[]), [""; 0]);
        assert_eq!(known(&["CRDCompatibilityRequirementOperator"]), ["CompatibilityRequirements"]);
        assert_eq!(known(&["ClusterAPIMachineManagement"]), ["CompatibilityRequirements", "ClusterAPI"]);
    }
}
