//! What holds for any two objects.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{clear, merge};

/// Kinds with rules of their own and kinds without.
const KINDS: [(&str, &str); 14] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("security.openshift.io/v1", "SecurityContextConstraints"),
    ("image.openshift.io/v1", "ImageStream"),
    ("operators.coreos.com/v1", "OperatorGroup"),
    ("example.com/v1", "Thing"),
];

/// Names that the rules look at, so that random objects meet them.
const NAMES: [&str; 40] = [
    "spec",
    "template",
    "jobTemplate",
    "containers",
    "initContainers",
    "env",
    "name",
    "value",
    "ports",
    "port",
    "targetPort",
    "containerPort",
    "protocol",
    "nodePort",
    "type",
    "strategy",
    "rollingUpdate",
    "replicas",
    "securityContext",
    "runAsUser",
    "capabilities",
    "resources",
    "limits",
    "cpu",
    "volumes",
    "emptyDir",
    "tolerations",
    "nodeSelector",
    "tags",
    "importPolicy",
    "importMode",
    "rules",
    "webhooks",
    "subjects",
    "selector",
    "names",
    "kind",
    "conversion",
    "affinity",
    "livenessProbe",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1..3i64).prop_map(Value::from),
        Just(json!(0.0)),
        select(vec!["", "a", "b", "1", "1000m", "TCP", "RollingUpdate", "ClusterIP"]).prop_map(Value::from),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 48, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(select(NAMES.to_vec()), inner, 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

/// A pod template whose lists have entries with names, so that the walk goes deep.
fn a_pod() -> impl Strategy<Value = Value> {
    let list = || vec(btree_map(select(NAMES.to_vec()), anything(), 0..4), 0..4);
    (list(), list(), anything()).prop_map(|(containers, volumes, context)| {
        let named = |list: Vec<_>| -> Value {
            list.into_iter()
                .enumerate()
                .map(|(index, fields)| {
                    let mut item = json!(fields);
                    item["name"] = json!(["a", "b", "a", "c"][index]);
                    item
                })
                .collect()
        };
        json!({"template": {"spec": {"containers": named(containers), "volumes": named(volumes), "securityContext": context}}})
    })
}

fn an_object() -> impl Strategy<Value = (Value, Value)> {
    let body = || (anything(), prop_oneof![anything(), a_pod()], anything());
    (select(KINDS.to_vec()), body(), body()).prop_map(|((api_version, kind), manifest, live)| {
        let object = |(top, spec, metadata): (Value, Value, Value)| {
            let mut object = if top.is_object() { top } else { json!({}) };
            object["apiVersion"] = json!(api_version);
            object["kind"] = json!(kind);
            object["metadata"] = metadata;
            object["spec"] = spec;
            object
        };
        (object(manifest), object(live))
    })
}

proptest! {
    #[test]
    fn a_merge_of_a_merge_changes_nothing((manifest, live) in an_object()) {
        if let Some(merged) = merge(&manifest, &live) {
            prop_assert_ne!(&merged, &live);
            prop_assert_eq!(merge(&manifest, &merged), None, "{}", merged);
        }
    }

    #[test]
    fn an_object_is_as_it_says_itself((manifest, _) in an_object()) {
        prop_assert_eq!(merge(&manifest, &manifest), None);
        prop_assert_eq!(clear(&manifest, &manifest), vec![]);
    }

    #[test]
    fn nothing_is_cleared_without_foreign_managers((manifest, mut live) in an_object(), fields in anything()) {
        live["metadata"] = json!({"managedFields": [{"manager": "lockstep", "operation": "Apply", "fieldsV1": fields}]});
        prop_assert_eq!(clear(&manifest, &live), vec![]);
    }

    #[test]
    fn what_is_cleared_is_there_and_the_manifest_has_none((manifest, mut live) in an_object()) {
        let owns_all = json!({"f:spec": {}, "f:rules": {}, "f:webhooks": {}, "f:subjects": {}, "f:template": {}, "f:resources": {}});
        live["metadata"] = json!({"managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": owns_all}]});
        let mut rest = live.clone();
        for field in clear(&manifest, &live) {
            prop_assert!(live.pointer(&field.pointer).is_some(), "{}", field.pointer);
            let (parent, name) = field.pointer.rsplit_once('/').unwrap();
            let removed = rest.pointer_mut(parent).and_then(Value::as_object_mut).and_then(|parent| parent.remove(name));
            prop_assert!(removed.is_some(), "{} is below another", field.pointer);
        }
        let again = clear(&manifest, &rest);
        prop_assert!(again.is_empty(), "{:?}", again);
    }

    #[test]
    fn nothing_panics_on_anything(one in anything(), other in anything()) {
        let _ = merge(&one, &other);
        let _ = clear(&one, &other);
    }
}
