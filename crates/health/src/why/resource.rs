//! The resources that rules look at, by the names under which a snapshot keeps them.

/// A resource: how a snapshot calls it, and what one of them is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// Plural, and the group where there is one: `deployments.apps`.
    pub key: &'static str,
    /// The kind of one object.
    pub kind: &'static str,
}

impl Resource {
    /// The API group; empty for the core group.
    pub fn group(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(_, group)| group)
    }

    /// The plural alone.
    pub fn plural(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(plural, _)| plural)
    }
}

macro_rules! resources {
    ($($name:ident = $key:literal $kind:literal;)*) => {
        $(#[doc = concat!("`", $key, "`.")] pub const $name: Resource = Resource { key: $key, kind: $kind };)*

        /// All of them: what a gatherer should list, where it is served.
        pub const ALL: &[Resource] = &[$($name),*];
    };
}

resources! {
    CLUSTER_VERSIONS = "clusterversions.config.openshift.io" "ClusterVersion";
    CLUSTER_OPERATORS = "clusteroperators.config.openshift.io" "ClusterOperator";
    NODES = "nodes" "Node";
    PODS = "pods" "Pod";
    EVENTS = "events" "Event";
    NAMESPACES = "namespaces" "Namespace";
    CONFIG_MAPS = "configmaps" "ConfigMap";
    SECRETS = "secrets" "Secret";
    SERVICES = "services" "Service";
    CLAIMS = "persistentvolumeclaims" "PersistentVolumeClaim";
    STORAGE_CLASSES = "storageclasses.storage.k8s.io" "StorageClass";
    DEPLOYMENTS = "deployments.apps" "Deployment";
    DAEMON_SETS = "daemonsets.apps" "DaemonSet";
    JOBS = "jobs.batch" "Job";
    BUDGETS = "poddisruptionbudgets.policy" "PodDisruptionBudget";
    REQUESTS = "certificatesigningrequests.certificates.k8s.io" "CertificateSigningRequest";
    LEASES = "leases.coordination.k8s.io" "Lease";
    SLICES = "endpointslices.discovery.k8s.io" "EndpointSlice";
    DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io" "CustomResourceDefinition";
    API_SERVICES = "apiservices.apiregistration.k8s.io" "APIService";
    VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io" "ValidatingWebhookConfiguration";
    MUTATING = "mutatingwebhookconfigurations.admissionregistration.k8s.io" "MutatingWebhookConfiguration";
    POOLS = "machineconfigpools.machineconfiguration.openshift.io" "MachineConfigPool";
    MACHINES = "machines.machine.openshift.io" "Machine";
    MACHINE_SETS = "machinesets.machine.openshift.io" "MachineSet";
    HOSTS = "baremetalhosts.metal3.io" "BareMetalHost";
    INFRASTRUCTURES = "infrastructures.config.openshift.io" "Infrastructure";
    NETWORKS = "networks.config.openshift.io" "Network";
    PROXIES = "proxies.config.openshift.io" "Proxy";
    FEATURE_GATES = "featuregates.config.openshift.io" "FeatureGate";
    ETCDS = "etcds.operator.openshift.io" "Etcd";
    KUBE_API_SERVERS = "kubeapiservers.operator.openshift.io" "KubeAPIServer";
    OPERATOR_NETWORKS = "networks.operator.openshift.io" "Network";
    INGRESS_CONTROLLERS = "ingresscontrollers.operator.openshift.io" "IngressController";
}
