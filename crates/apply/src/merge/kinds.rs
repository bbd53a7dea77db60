//! The rules of each kind, as tables.

use serde_json::json;

use super::rules::{ANY, Fields, Items, Rule};

use Rule::{Exact, IfSaid, Left, Or, Pointer, Raw, SameEntries, Text};

// === what every object has ===

const API_VERSION: (&str, Rule) = ("apiVersion", Left);
const KIND: (&str, Rule) = ("kind", Left);
const STATUS: (&str, Rule) = ("status", Left);
const METADATA: (&str, Rule) = (
    "metadata",
    Rule::Fields(&[
        // By these the live object was found. A namespace in the manifest of a kind that has none is no difference.
        ("name", Left),
        ("namespace", Left),
        (
            "ownerReferences",
            Rule::Items(Items { keys: &["uid"], exclusive: false, ordered: false, item: &Exact }),
        ),
        ("creationTimestamp", Left),
        ("deletionGracePeriodSeconds", Left),
        ("deletionTimestamp", Left),
        ("generation", Left),
        ("managedFields", Left),
        ("resourceVersion", Left),
        ("selfLink", Left),
        ("uid", Left),
    ]),
);

/// A kind of which no field is special: the manifest is followed in what it says, and no further.
pub(super) const OTHER: Fields = &[API_VERSION, KIND, STATUS, METADATA];
/// The same where additions below the manifest's fields are to be found, and types are known.
pub(super) const OTHER_BUILT_IN: Fields = &[API_VERSION, KIND, STATUS, METADATA, (ANY, Exact)];
/// The same where no types are known.
pub(super) const OTHER_CUSTOM: Fields = &[API_VERSION, KIND, STATUS, METADATA, (ANY, Raw)];

// === core ===

pub(super) const SERVICE_ACCOUNT: Fields =
    &[API_VERSION, KIND, STATUS, METADATA, ("automountServiceAccountToken", Exact)];

pub(super) const SERVICE: Fields = &[
    API_VERSION,
    KIND,
    STATUS,
    METADATA,
    ("spec", Rule::Fields(&[("ports", only(&["name"], &Exact)), ("type", Exact), ("selector", Exact)])),
];

// === access ===

pub(super) const ROLE: Fields = &[API_VERSION, KIND, STATUS, METADATA, ("rules", Exact)];
pub(super) const CLUSTER_ROLE: Fields =
    &[API_VERSION, KIND, STATUS, METADATA, ("aggregationRule", Exact), ("rules", Exact)];
/// A controller of the cluster collects the rules.
pub(super) const AGGREGATED_ROLE: Fields =
    &[API_VERSION, KIND, STATUS, METADATA, ("aggregationRule", Exact), ("rules", Left)];
pub(super) const BINDING: Fields =
    &[API_VERSION, KIND, STATUS, METADATA, ("subjects", Exact), ("roleRef", Exact)];

/// Lists are replaced and never merged; `userNamespaceLevel` is not among the fields that the reference knows.
pub(super) const CONSTRAINTS: Fields = &[
    API_VERSION,
    KIND,
    STATUS,
    METADATA,
    ("priority", Exact),
    ("allowPrivilegedContainer", Exact),
    ("defaultAddCapabilities", Exact),
    ("requiredDropCapabilities", Exact),
    ("allowedCapabilities", Exact),
    ("allowHostDirVolumePlugin", Exact),
    ("volumes", Exact),
    ("allowedFlexVolumes", Exact),
    ("allowHostNetwork", Exact),
    ("allowHostPorts", Exact),
    ("allowHostPID", Exact),
    ("allowHostIPC", Exact),
    ("defaultAllowPrivilegeEscalation", Exact),
    ("allowPrivilegeEscalation", Or(|| json!(true))),
    ("seLinuxContext", Exact),
    ("runAsUser", Exact),
    ("fsGroup", Exact),
    ("supplementalGroups", Exact),
    ("readOnlyRootFilesystem", Exact),
    ("users", Exact),
    ("groups", Exact),
    ("seccompProfiles", Exact),
    ("allowedUnsafeSysctls", Exact),
    ("forbiddenSysctls", Exact),
];

// === definitions and admission ===

pub(super) const DEFINITION: Fields = &[API_VERSION, KIND, STATUS, METADATA, ("spec", Exact)];
pub(super) const WEBHOOKS: Fields =
    &[API_VERSION, KIND, STATUS, METADATA, ("webhooks", only(&["name"], &Exact))];

// === OpenShift ===

pub(super) const IMAGE_STREAM: Fields = &[
    API_VERSION,
    KIND,
    STATUS,
    METADATA,
    (
        "spec",
        Rule::Fields(&[
            ("lookupPolicy", Rule::Fields(&[("local", Exact)])),
            (
                "tags",
                Rule::Items(Items {
                    keys: &["name"],
                    exclusive: false,
                    ordered: false,
                    item: &Rule::Fields(&[
                        ("importPolicy", IMPORT_POLICY),
                        ("from", Exact),
                        ("generation", Left),
                    ]),
                }),
            ),
        ]),
    ),
];
const IMPORT_POLICY: Rule =
    Rule::Fields(&[("insecure", Exact), ("scheduled", Exact), ("importMode", Or(|| json!("Legacy")))]);

pub(super) const OPERATOR_GROUP: Fields = &[
    API_VERSION,
    KIND,
    STATUS,
    METADATA,
    (
        "spec",
        Rule::Fields(&[
            ("selector", Exact),
            ("targetNamespaces", Exact),
            ("serviceAccountName", Text),
            ("staticProvidedAPIs", Exact),
            ("upgradeStrategy", Or(|| json!("Default"))),
        ]),
    ),
];

// === workloads ===

pub(super) const DEPLOYMENT: Fields = &[
    API_VERSION,
    KIND,
    STATUS,
    METADATA,
    (
        "spec",
        Rule::Fields(&[
            ("replicas", Exact),
            ("selector", Exact),
            ("paused", Exact),
            ("minReadySeconds", Exact),
            ("strategy", Exact),
            ("template", TEMPLATE),
        ]),
    ),
];

pub(super) const DAEMON_SET: Fields = &[
    API_VERSION,
    KIND,
    STATUS,
    METADATA,
    ("spec", Rule::Fields(&[("selector", Exact), ("template", TEMPLATE)])),
];

pub(super) const JOB: Fields = &[API_VERSION, KIND, STATUS, METADATA, ("spec", JOB_SPEC)];

/// *Compatibility*: a selector in a manifest is followed as far as the server allows; the reference crashes.
const JOB_SPEC: Rule = Rule::Fields(&[
    ("parallelism", Exact),
    ("completions", Exact),
    ("activeDeadlineSeconds", Exact),
    ("manualSelector", Exact),
    ("ttlSecondsAfterFinished", Exact),
    ("backoffLimit", Exact),
    ("suspend", Exact),
    ("completionMode", Exact),
    ("podFailurePolicy", Exact),
    ("template", TEMPLATE),
]);

pub(super) const CRON_JOB: Fields = &[
    API_VERSION,
    KIND,
    STATUS,
    METADATA,
    (
        "spec",
        Rule::Fields(&[
            ("startingDeadlineSeconds", Exact),
            ("suspend", Exact),
            ("successfulJobsHistoryLimit", Exact),
            ("failedJobsHistoryLimit", Exact),
            ("schedule", Exact),
            ("timeZone", Exact),
            ("concurrencyPolicy", Exact),
            ("jobTemplate", Rule::Fields(&[("spec", JOB_SPEC)])),
        ]),
    ),
];

// === pods ===

const TEMPLATE: Rule = Rule::Fields(&[("spec", POD)]);

const POD: Rule = Rule::Fields(&[
    ("initContainers", only(&["name"], &CONTAINER)),
    ("containers", only(&["name"], &CONTAINER)),
    ("volumes", only(&["name"], &Exact)),
    ("restartPolicy", Text),
    ("automountServiceAccountToken", Exact),
    ("hostUsers", Exact),
    ("shareProcessNamespace", Exact),
    ("priority", Exact),
    ("serviceAccountName", Text),
    ("priorityClassName", Text),
    ("hostNetwork", Exact),
    (
        "securityContext",
        Pointer(&[
            ("seLinuxOptions", SE_LINUX),
            ("runAsUser", Exact),
            ("runAsGroup", Exact),
            ("runAsNonRoot", Exact),
            ("fsGroup", Exact),
            ("seccompProfile", Exact),
        ]),
    ),
    ("affinity", IfSaid(&[("nodeAffinity", Exact), ("podAffinity", Exact), ("podAntiAffinity", Exact)])),
    ("tolerations", SameEntries),
    ("dnsPolicy", Exact),
    ("terminationGracePeriodSeconds", Exact),
]);

const CONTAINER: Rule = Rule::Fields(&[
    ("image", Text),
    ("workingDir", Text),
    ("command", Exact),
    ("args", Exact),
    // A variable may refer to those before it.
    ("env", Rule::Items(Items { keys: &["name"], exclusive: true, ordered: true, item: &Exact })),
    ("envFrom", Exact),
    ("resources", Rule::Fields(&[("limits", Exact), ("requests", Exact)])),
    // NB: by number, as the server tells them apart. By name, as in the reference, two without a name become one.
    ("ports", only(&["containerPort", "protocol"], &Exact)),
    ("volumeMounts", only(&["mountPath"], &Exact)),
    ("livenessProbe", Exact),
    ("readinessProbe", Exact),
    (
        "securityContext",
        Pointer(&[
            ("capabilities", Pointer(&[])),
            ("seLinuxOptions", SE_LINUX),
            ("privileged", Exact),
            ("runAsUser", Exact),
            ("runAsNonRoot", Exact),
            ("readOnlyRootFilesystem", Exact),
            ("allowPrivilegeEscalation", Exact),
            ("seccompProfile", Exact),
        ]),
    ),
]);

const SE_LINUX: Rule = Pointer(&[("user", Text), ("role", Text), ("type", Text), ("level", Text)]);

/// Entries told apart by keys, in any order, and no others.
const fn only(keys: &'static [&'static str], item: &'static Rule) -> Rule {
    Rule::Items(Items { keys, exclusive: true, ordered: false, item })
}
