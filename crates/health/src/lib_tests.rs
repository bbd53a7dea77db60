use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Group, version and kind of everything that has rules of its own, and of one thing that has none.
const KINDS: [(&str, &str); 11] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("v1", "Namespace"),
    ("v1", "Pod"),
    ("config.openshift.io/v1", "ClusterOperator"),
    ("operatorstatus.openshift.io/v1", "ClusterOperator"),
    ("example.com/v1", "Thing"),
];

#[test]
fn kind_is_judged_by_its_own_rules_only_in_its_own_group() {
    let reason = |api_version: &str, kind: &str| {
        let verdict = of(&json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}));
        verdict.why().map_or_else(String::new, |why| why.reason.clone())
    };
    for ((api_version, kind), expected) in KINDS.into_iter().zip([
        "RollingOut",
        "",
        "RollingOut",
        "JobRunning",
        "NotEstablished",
        "APINotAvailable",
        "",
        "PodStarting",
        "ClusterOperatorNotAvailable",
        "ClusterOperatorNotAvailable",
        "",
    ]) {
        assert_eq!(reason(api_version, kind), expected, "{api_version} {kind}");
        assert_eq!(reason("example.com/v1", kind), "", "{kind}");
    }
}

/// Any JSON, made of the words that the rules look for, so that they get far.
fn any_json() -> impl Strategy<Value = Value> {
    let word = proptest::sample::select(vec![
        "True",
        "False",
        "Unknown",
        "Available",
        "Degraded",
        "Progressing",
        "Failing",
        "Ready",
        "Complete",
        "Failed",
        "Established",
        "NamesAccepted",
        "ReplicaFailure",
        "PodScheduled",
        "Stalled",
        "Reconciling",
        "Pending",
        "Running",
        "Terminating",
        "ErrImagePull",
        "ImagePullBackOff",
        "CrashLoopBackOff",
        "Back-off pulling image \"i\": ErrImagePull: x",
        "ProgressDeadlineExceeded",
        "OnDelete",
        "FailedCreate",
        "FailedMount",
        "Pod",
        "a",
        "operator",
        "ä€\n\u{1b}[2J",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![any::<i64>(), -2..4_i64].prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    let key = proptest::sample::select(vec![
        "metadata",
        "spec",
        "status",
        "conditions",
        "type",
        "reason",
        "message",
        "name",
        "namespace",
        "uid",
        "labels",
        "generation",
        "observedGeneration",
        "deletionTimestamp",
        "creationTimestamp",
        "finalizers",
        "versions",
        "version",
        "replicas",
        "updatedReplicas",
        "availableReplicas",
        "completions",
        "phase",
        "containerStatuses",
        "initContainerStatuses",
        "containers",
        "state",
        "lastState",
        "waiting",
        "terminated",
        "running",
        "exitCode",
        "selector",
        "matchLabels",
        "matchExpressions",
        "involvedObject",
        "lastTimestamp",
        "updateStrategy",
        "rollingUpdate",
        "partition",
        "desiredNumberScheduled",
    ]);
    leaf.prop_recursive(6, 96, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Any JSON that claims to be of one of the kinds, with the top fields that lead into their rules.
fn any_object() -> impl Strategy<Value = Value> {
    let kind = proptest::sample::select(KINDS.to_vec());
    (kind, any_json(), any_json(), any_json(), any_json()).prop_map(
        |((api_version, kind), metadata, spec, conditions, mut status)| {
            if status.is_object() && !conditions.is_null() {
                status["conditions"] = conditions;
            }
            json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
        },
    )
}

proptest! {
    #[test]
    fn no_json_makes_a_verdict_panic_or_say_nothing(object in prop_oneof![any_json(), any_object()]) {
        let verdict = of(&object);
        if let Some(why) = verdict.why() {
            prop_assert!(!why.reason.is_empty());
            prop_assert!(!why.sentence.is_empty());
            prop_assert!(!why.sentence.contains(char::is_control), "{:?}", why.sentence);
        }
        prop_assert_eq!(of(&object), verdict);
    }

    #[test]
    fn no_json_makes_a_gate_panic(
        expected in prop_oneof![any_json(), any_object()],
        live in proptest::option::of(prop_oneof![any_json(), any_object()]),
        mode in proptest::sample::select(vec![Mode::Installing, Mode::Updating, Mode::Reconciling]),
    ) {
        let gate = gate(&expected, live.as_ref(), mode);
        prop_assert_eq!(gate.effect == Some(Effect::Report), gate.remark.is_some());
        prop_assert!(gate.verdict.is_good() || gate.remark.is_none());
        if let Some(why) = gate.verdict.why() {
            prop_assert!(!why.sentence.contains(char::is_control), "{:?}", why.sentence);
        }
    }

    #[test]
    fn no_json_makes_a_diagnosis_panic_and_the_order_of_the_pods_does_not_matter(
        owner in any_object(),
        mut pods in proptest::collection::vec(any_object(), 0..4),
        mut events in proptest::collection::vec(any_json(), 0..4),
    ) {
        for (at, pod) in pods.iter_mut().enumerate() {
            pod["apiVersion"] = json!("v1");
            pod["kind"] = json!("Pod");
            pod["metadata"] = json!({"name": format!("p-{at}"), "namespace": object::namespace(&owner),
                "labels": {"a": "1"}});
        }
        let mut owner = owner;
        if owner["spec"].is_object() {
            owner["spec"]["selector"] = json!({"matchLabels": {"a": "1"}});
        }
        let first = workload(&owner, &pods, &events);
        pods.reverse();
        events.reverse();
        let second = workload(&owner, &pods, &events);
        prop_assert_eq!(first, second);
    }
}
