//! What the API server fills in where an object says nothing, by type.
//!
//! The reference has a hand-written default in many of its rules, and each one that is missing makes it write for ever. Here a
//! default belongs to the type it is in, and all rules share it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lockstep_api::names::group;
use lockstep_schema::Type;
use serde_json::{Map, Value, json};

use super::equal::is_zero;

/// Types, one field of each, and the value of the field when it is missing, as JSON.
const DEFAULTS: &[(&[&str], &str, &str)] = &[
    (&["core.v1.PodSpec"], "dnsPolicy", r#""ClusterFirst""#),
    (&["core.v1.PodSpec"], "restartPolicy", r#""Always""#),
    (&["core.v1.PodSpec"], "securityContext", "{}"),
    (&["core.v1.PodSpec"], "terminationGracePeriodSeconds", "30"),
    (&["core.v1.PodSpec"], "schedulerName", r#""default-scheduler""#),
    (&["core.v1.Container"], "terminationMessagePath", r#""/dev/termination-log""#),
    (&["core.v1.Container"], "terminationMessagePolicy", r#""File""#),
    (&["core.v1.ContainerPort", "core.v1.ServicePort"], "protocol", r#""TCP""#),
    (&["core.v1.Probe"], "timeoutSeconds", "1"),
    (&["core.v1.Probe"], "periodSeconds", "10"),
    (&["core.v1.Probe"], "successThreshold", "1"),
    (&["core.v1.Probe"], "failureThreshold", "3"),
    (&["core.v1.HTTPGetAction"], "path", r#""/""#),
    (&["core.v1.HTTPGetAction"], "scheme", r#""HTTP""#),
    (&["core.v1.GRPCAction"], "service", r#""""#),
    (&["core.v1.ObjectFieldSelector"], "apiVersion", r#""v1""#),
    (&["core.v1.FileKeySelector"], "optional", "false"),
    (FILES, "defaultMode", "420"),
    (&["core.v1.ServiceAccountTokenProjection"], "expirationSeconds", "3600"),
    (&["core.v1.HostPathVolumeSource"], "type", r#""""#),
    (&["core.v1.ISCSIVolumeSource", "core.v1.ISCSIPersistentVolumeSource"], "iscsiInterface", r#""default""#),
    (RBD, "pool", r#""rbd""#),
    (RBD, "user", r#""admin""#),
    (RBD, "keyring", r#""/etc/ceph/keyring""#),
    (&["core.v1.AzureDiskVolumeSource"], "cachingMode", r#""ReadWrite""#),
    (&["core.v1.AzureDiskVolumeSource"], "fsType", r#""ext4""#),
    (&["core.v1.AzureDiskVolumeSource"], "readOnly", "false"),
    (&["core.v1.AzureDiskVolumeSource"], "kind", r#""Shared""#),
    (SCALE_IO, "storageMode", r#""ThinProvisioned""#),
    (SCALE_IO, "fsType", r#""xfs""#),
    (&["core.v1.PersistentVolumeSpec"], "persistentVolumeReclaimPolicy", r#""Retain""#),
    (&["core.v1.PersistentVolumeSpec", "core.v1.PersistentVolumeClaimSpec"], "volumeMode", r#""Filesystem""#),
    (&["core.v1.ServiceSpec"], "sessionAffinity", r#""None""#),
    (&["core.v1.ServiceSpec"], "type", r#""ClusterIP""#),
    (&["core.v1.ServiceSpec"], "internalTrafficPolicy", r#""Cluster""#),
    (&["apps.v1.DeploymentSpec", "apps.v1.StatefulSetSpec", "apps.v1.ReplicaSetSpec"], "replicas", "1"),
    (&["apps.v1.DeploymentSpec"], "strategy", "{}"),
    (&["apps.v1.DaemonSetSpec", "apps.v1.StatefulSetSpec"], "updateStrategy", "{}"),
    (STRATEGIES, "type", r#""RollingUpdate""#),
    (&["apps.v1.RollingUpdateDeployment"], "maxUnavailable", r#""25%""#),
    (&["apps.v1.RollingUpdateDeployment"], "maxSurge", r#""25%""#),
    (&["apps.v1.RollingUpdateDaemonSet"], "maxUnavailable", "1"),
    (&["apps.v1.RollingUpdateDaemonSet"], "maxSurge", "0"),
    (&["apps.v1.RollingUpdateStatefulSetStrategy"], "partition", "0"),
    (&["apps.v1.DeploymentSpec"], "progressDeadlineSeconds", "600"),
    (WORKLOADS, "revisionHistoryLimit", "10"),
    (&["apps.v1.StatefulSetSpec"], "podManagementPolicy", r#""OrderedReady""#),
    (&["apps.v1.StatefulSetSpec"], "persistentVolumeClaimRetentionPolicy", "{}"),
    (&["apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy"], "whenDeleted", r#""Retain""#),
    (&["apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy"], "whenScaled", r#""Retain""#),
    (&["batch.v1.JobSpec"], "parallelism", "1"),
    (&["batch.v1.JobSpec"], "completionMode", r#""NonIndexed""#),
    (&["batch.v1.JobSpec", "batch.v1.CronJobSpec"], "suspend", "false"),
    (&["batch.v1.JobSpec"], "manualSelector", "false"),
    (&["batch.v1.PodFailurePolicyOnPodConditionsPattern"], "status", r#""True""#),
    (&["batch.v1.CronJobSpec"], "concurrencyPolicy", r#""Allow""#),
    (&["batch.v1.CronJobSpec"], "successfulJobsHistoryLimit", "3"),
    (&["batch.v1.CronJobSpec"], "failedJobsHistoryLimit", "1"),
    (
        &["autoscaling.v1.HorizontalPodAutoscalerSpec", "autoscaling.v2.HorizontalPodAutoscalerSpec"],
        "minReplicas",
        "1",
    ),
    (POLICY_SPECS, "failurePolicy", r#""Fail""#),
    (MATCHES, "matchPolicy", r#""Equivalent""#),
    (MATCHES, "namespaceSelector", "{}"),
    (MATCHES, "objectSelector", "{}"),
    (WEBHOOKS, "timeoutSeconds", "10"),
    (&["admissionregistration.v1.MutatingWebhook"], "reinvocationPolicy", r#""Never""#),
    (RULES, "scope", r#""*""#),
    (SERVICES, "port", "443"),
    (&["apiextensions.v1.CustomResourceDefinitionSpec"], "conversion", r#"{"strategy": "None"}"#),
    (&["networking.v1.NetworkPolicyPort"], "protocol", r#""TCP""#),
    (&["networking.v1.IngressClassParametersReference"], "scope", r#""Cluster""#),
    (&["storage.v1.CSIDriverSpec"], "attachRequired", "true"),
    (&["storage.v1.CSIDriverSpec"], "podInfoOnMount", "false"),
    (&["storage.v1.CSIDriverSpec"], "storageCapacity", "false"),
    (&["storage.v1.CSIDriverSpec"], "fsGroupPolicy", r#""ReadWriteOnceWithFSType""#),
    (&["storage.v1.CSIDriverSpec"], "volumeLifecycleModes", r#"["Persistent"]"#),
    (&["storage.v1.CSIDriverSpec"], "requiresRepublish", "false"),
    (&["storage.v1.CSIDriverSpec"], "seLinuxMount", "false"),
    (&["flowcontrol.v1.FlowSchemaSpec"], "matchingPrecedence", "1000"),
    (&["flowcontrol.v1.ExemptPriorityLevelConfiguration"], "nominalConcurrencyShares", "0"),
    (&["flowcontrol.v1.LimitedPriorityLevelConfiguration"], "nominalConcurrencyShares", "30"),
    (LEVELS, "lendablePercent", "0"),
    (&["flowcontrol.v1.QueuingConfiguration"], "handSize", "8"),
    (&["flowcontrol.v1.QueuingConfiguration"], "queues", "64"),
    (&["flowcontrol.v1.QueuingConfiguration"], "queueLengthLimit", "50"),
];

const FILES: &[&str] = &[
    "core.v1.SecretVolumeSource",
    "core.v1.ConfigMapVolumeSource",
    "core.v1.DownwardAPIVolumeSource",
    "core.v1.ProjectedVolumeSource",
];
const RBD: &[&str] = &["core.v1.RBDVolumeSource", "core.v1.RBDPersistentVolumeSource"];
const SCALE_IO: &[&str] = &["core.v1.ScaleIOVolumeSource", "core.v1.ScaleIOPersistentVolumeSource"];
const STRATEGIES: &[&str] =
    &["apps.v1.DeploymentStrategy", "apps.v1.DaemonSetUpdateStrategy", "apps.v1.StatefulSetUpdateStrategy"];
const WORKLOADS: &[&str] = &["apps.v1.DeploymentSpec", "apps.v1.DaemonSetSpec", "apps.v1.StatefulSetSpec"];
const WEBHOOKS: &[&str] =
    &["admissionregistration.v1.ValidatingWebhook", "admissionregistration.v1.MutatingWebhook"];
const POLICY_SPECS: &[&str] = &[
    "admissionregistration.v1.ValidatingWebhook",
    "admissionregistration.v1.MutatingWebhook",
    "admissionregistration.v1.ValidatingAdmissionPolicySpec",
    "admissionregistration.v1.MutatingAdmissionPolicySpec",
];
const MATCHES: &[&str] = &[
    "admissionregistration.v1.ValidatingWebhook",
    "admissionregistration.v1.MutatingWebhook",
    "admissionregistration.v1.MatchResources",
];
const RULES: &[&str] =
    &["admissionregistration.v1.RuleWithOperations", "admissionregistration.v1.NamedRuleWithOperations"];
const SERVICES: &[&str] = &[
    "admissionregistration.v1.ServiceReference",
    "apiextensions.v1.ServiceReference",
    "apiregistration.v1.ServiceReference",
];
const LEVELS: &[&str] =
    &["flowcontrol.v1.ExemptPriorityLevelConfiguration", "flowcontrol.v1.LimitedPriorityLevelConfiguration"];

/// Fields that the server, or a part of it, computes from others; nobody clears them.
const DERIVED: &[(&str, &str)] = &[
    ("core.v1.Container", "imagePullPolicy"),
    ("core.v1.ImageVolumeSource", "pullPolicy"),
    // The old name of `serviceAccountName`, which the server keeps equal.
    ("core.v1.PodSpec", "serviceAccount"),
    ("core.v1.PersistentVolumeClaimSpec", "volumeName"),
    ("core.v1.PersistentVolumeClaimSpec", "dataSourceRef"),
    ("core.v1.PersistentVolumeClaimSpec", "storageClassName"),
    ("core.v1.PersistentVolumeSpec", "claimRef"),
    ("batch.v1.JobSpec", "podReplacementPolicy"),
    ("apps.v1.StatefulSetUpdateStrategy", "rollingUpdate"),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", "metrics"),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", "behavior"),
];

static BY_TYPE: LazyLock<BTreeMap<(&str, &str), Value>> = LazyLock::new(|| {
    let rows = DEFAULTS.iter().flat_map(|(types, field, json)| {
        let value: Value =
            serde_json::from_str(json).expect("invariant: the defaults are JSON, a test reads them all");
        types.iter().map(move |ty| ((*ty, *field), value.clone()))
    });
    rows.collect()
});

/// The value that a missing field of a type gets, given the fields beside it.
pub(super) fn of(ty: &Type, name: &str, beside: &Map<String, Value>) -> Option<Value> {
    if let Some(value) = BY_TYPE.get(&(ty.name, name)) {
        return Some(value.clone());
    }
    computed(ty.name, name, beside).or_else(|| {
        // An empty published default only says that the server always writes the field.
        ty.field(name)?.default.as_ref().filter(|value| !is_zero(value)).cloned()
    })
}

/// Whether a field of a type is none of anybody's business but the server's.
pub(super) fn is_derived(ty: &str, name: &str) -> bool {
    DERIVED.contains(&(ty, name))
}

/// Defaults that depend on other fields.
fn computed(ty: &str, name: &str, beside: &Map<String, Value>) -> Option<Value> {
    let text = |name: &str| beside.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_missing = |name: &str| beside.get(name).is_none_or(Value::is_null);
    match (ty, name) {
        ("core.v1.ServicePort", "targetPort") => beside.get("port").cloned(),
        ("core.v1.Volume", "emptyDir") => {
            let alone = beside.iter().all(|(name, value)| name == "name" || value.is_null());
            alone.then(|| json!({}))
        }
        ("apps.v1.DeploymentStrategy" | "apps.v1.DaemonSetUpdateStrategy", "rollingUpdate") => {
            matches!(text("type"), "" | "RollingUpdate").then(|| json!({}))
        }
        ("batch.v1.JobSpec", "completions") => is_missing("parallelism").then(|| json!(1)),
        ("batch.v1.JobSpec", "backoffLimit") => {
            Some(if is_missing("backoffLimitPerIndex") { json!(6) } else { json!(i32::MAX) })
        }
        ("rbac.v1.RoleRef", "apiGroup") => Some(json!(group::RBAC)),
        ("rbac.v1.Subject", "apiGroup") => {
            matches!(text("kind"), "User" | "Group").then(|| json!(group::RBAC))
        }
        ("apiextensions.v1.CustomResourceDefinitionNames", "singular") => {
            Some(json!(text("kind").to_lowercase()))
        }
        ("apiextensions.v1.CustomResourceDefinitionNames", "listKind") => {
            Some(json!(format!("{}List", text("kind"))))
        }
        ("networking.v1.NetworkPolicySpec", "policyTypes") => {
            let has_egress = beside.get("egress").is_some_and(|rules| !is_zero(rules));
            Some(if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;

    use super::*;

    #[test]
    fn every_default_names_a_field_that_the_server_has() {
        for (ty, name) in BY_TYPE.keys().chain(DERIVED) {
            let declared = Schema::builtin().ty(ty).and_then(|ty| ty.field(name));
            assert!(declared.is_some(), "{ty}.{name}");
        }
        assert!(BY_TYPE.len() > 90, "{}", BY_TYPE.len());
    }

    #[test]
    fn no_default_stands_twice() {
        let rows: usize = DEFAULTS.iter().map(|(types, ..)| types.len()).sum();
        assert_eq!(rows, BY_TYPE.len());
    }

    #[test]
    fn computed_defaults_follow_their_neighbours() {
        let of = |ty: &str, name: &str, beside: Value| {
            of(Schema::builtin().ty(ty).unwrap(), name, beside.as_object().unwrap())
        };
        assert_eq!(of("core.v1.ServicePort", "targetPort", json!({"port": 80})), Some(json!(80)));
        assert_eq!(of("core.v1.Volume", "emptyDir", json!({"name": "a"})), Some(json!({})));
        assert_eq!(of("core.v1.Volume", "emptyDir", json!({"name": "a", "secret": {}})), None);
        assert_eq!(of("apps.v1.DeploymentStrategy", "rollingUpdate", json!({"type": "Recreate"})), None);
        assert_eq!(of("batch.v1.JobSpec", "completions", json!({"parallelism": 2})), None);
        assert_eq!(of("rbac.v1.Subject", "apiGroup", json!({"kind": "ServiceAccount"})), None);
        assert_eq!(of("core.v1.Container", "image", json!({})), None);
    }
}
