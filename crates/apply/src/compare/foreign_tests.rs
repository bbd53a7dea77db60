use serde_json::json;

use super::*;

/// A live object: ours by an apply, and with what `intruder` owns.
fn live(object: &Value, ours: &Value, theirs: &Value) -> Value {
    let mut live = object.clone();
    live["metadata"]["managedFields"] = json!([
        {"manager": "lockstep", "operation": "Apply", "fieldsV1": ours},
        {"manager": "intruder", "operation": "Update", "fieldsV1": theirs},
    ]);
    live
}

fn pointers(operations: &[PatchOperation]) -> Vec<&str> {
    operations.iter().map(|operation| operation.path.as_str()).collect()
}

fn deployment(spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": spec}}})
}

#[test]
fn additions_to_exclusive_lists_of_pods_are_removed_and_the_rest_stays() {
    let manifest =
        deployment(&json!({"containers": [{"name": "web", "env": [{"name": "A", "value": "1"}]}]}));
    let object = deployment(&json!({
        "containers": [
            {"name": "first"},
            {"name": "web", "env": [{"name": "X"}, {"name": "A", "value": "1"}, {"name": "Y"}], "startupProbe": {},
                "imagePullPolicy": "Always", "volumeMounts": [{"mountPath": "/m"}], "resources": {"limits": {"cpu": "1"}}},
            {"name": "last"},
        ],
        "initContainers": [{"name": "init"}],
        "volumes": [{"name": "v"}],
        "nodeSelector": {"a": "b"}, "tolerations": [{}], "imagePullSecrets": [{"name": "s"}], "hostAliases": [{}],
    }));
    let ours = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
        "k:{\"name\":\"web\"}": {".": {}, "f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}}, "f:name": {}}}}}}});
    let theirs = json!({"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {"f:template": {
        "f:metadata": {"f:annotations": {}},
        "f:spec": {
            "f:containers": {
                "k:{\"name\":\"first\"}": {".": {}, "f:name": {}},
                "k:{\"name\":\"last\"}": {".": {}, "f:name": {}},
                "k:{\"name\":\"gone\"}": {".": {}, "f:name": {}},
                "k:{\"name\":\"web\"}": {
                    "f:env": {"k:{\"name\":\"X\"}": {}, "k:{\"name\":\"Y\"}": {}},
                    "f:startupProbe": {}, "f:imagePullPolicy": {}, "f:volumeMounts": {"k:{\"mountPath\":\"/m\"}": {}},
                    "f:resources": {"f:limits": {"f:cpu": {}}}},
            },
            "f:initContainers": {"k:{\"name\":\"init\"}": {}}, "f:volumes": {"k:{\"name\":\"v\"}": {}},
            "f:nodeSelector": {}, "f:tolerations": {}, "f:imagePullSecrets": {"k:{\"name\":\"s\"}": {}}, "f:hostAliases": {}}}}});
    let operations = foreign(&manifest, &live(&object, &ours, &theirs));
    assert_eq!(
        pointers(&operations),
        [
            "/spec/template/spec/containers/2",
            "/spec/template/spec/containers/1/env/2",
            "/spec/template/spec/containers/1/env/0",
            "/spec/template/spec/containers/1/volumeMounts",
            "/spec/template/spec/containers/0",
            "/spec/template/spec/initContainers",
            "/spec/template/spec/volumes",
        ]
    );
    assert!(operations.iter().all(|operation| *operation == PatchOperation::remove(operation.path.clone())));
}

/// Kind, manifest, live object, what is theirs, what is removed.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

const KINDS: &[Case] = &[
    (
        "v1 Service",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"ports": [], "b": 1}}"#,
        r#"{"f:spec": {"f:ports": {}, "f:b": {}}}"#,
        &["/spec/ports"],
    ),
    ("v1 ConfigMap", r#"{"data": {"a": "1"}}"#, r#"{"data": {"b": "1"}}"#, r#"{"f:data": {"f:b": {}}}"#, &[]),
    (
        "v1 Namespace",
        r#"{"spec": {}}"#,
        r#"{"spec": {"finalizers": []}}"#,
        r#"{"f:spec": {"f:finalizers": {}}}"#,
        &[],
    ),
    ("v1 ServiceAccount", "{}", r#"{"imagePullSecrets": []}"#, r#"{"f:imagePullSecrets": {}}"#, &[]),
    (
        "image.openshift.io/v1 ImageStream",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"tags": []}}"#,
        r#"{"f:spec": {"f:tags": {}}}"#,
        &[],
    ),
    (
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"conversion": {}}}"#,
        r#"{"f:spec": {"f:conversion": {}}}"#,
        &["/spec/conversion"],
    ),
    // What the server fills in stays, whoever is recorded for it.
    (
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"conversion": {"strategy": "None"}}}"#,
        r#"{"f:spec": {"f:conversion": {".": {}, "f:strategy": {}}}}"#,
        &[],
    ),
    ("rbac.authorization.k8s.io/v1 Role", "{}", r#"{"rules": [{}]}"#, r#"{"f:rules": {}}"#, &["/rules"]),
    (
        "rbac.authorization.k8s.io/v1 ClusterRole",
        r#"{"aggregationRule": {}}"#,
        r#"{"rules": [{}]}"#,
        r#"{"f:rules": {}}"#,
        &[],
    ),
    (
        "rbac.authorization.k8s.io/v1 RoleBinding",
        "{}",
        r#"{"subjects": [{}]}"#,
        r#"{"f:subjects": {}}"#,
        &["/subjects"],
    ),
    (
        "security.openshift.io/v1 SecurityContextConstraints",
        "{}",
        r#"{"userNamespaceLevel": "a", "fsGroup": {}}"#,
        r#"{"f:userNamespaceLevel": {}, "f:fsGroup": {}}"#,
        &["/fsGroup"],
    ),
    (
        "operators.coreos.com/v1 OperatorGroup",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"targetNamespaces": ["x"], "serviceAccountName": "s"}}"#,
        r#"{"f:spec": {"f:targetNamespaces": {"v:\"x\"": {}}, "f:serviceAccountName": {}}}"#,
        &["/spec/targetNamespaces"],
    ),
    (
        "monitoring.coreos.com/v1 ServiceMonitor",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"sampleLimit": 1}, "extra": 1}"#,
        r#"{"f:spec": {"f:sampleLimit": {}}, "f:extra": {}}"#,
        &["/spec/sampleLimit"],
    ),
    ("example.com/v1 Widget", "{}", r#"{"spec": {"b": 1}}"#, r#"{"f:spec": {"f:b": {}}}"#, &[]),
    (
        "v1 PersistentVolumeClaim",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"volumeName": "v"}}"#,
        r#"{"f:spec": {"f:volumeName": {}}}"#,
        &[],
    ),
    (
        "apps/v1 Deployment",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"paused": true}}"#,
        r#"{"f:spec": {"f:paused": {}}}"#,
        &[],
    ),
    (
        "apps/v1beta1 Deployment",
        r#"{"spec": {"a": 1}}"#,
        r#"{"spec": {"paused": true}}"#,
        r#"{"f:spec": {"f:paused": {}}}"#,
        &["/spec/paused"],
    ),
];

#[test]
fn each_kind_keeps_its_own_parts_exclusive() {
    for (kind, wanted, there, theirs, expected) in KINDS {
        let (api_version, kind) = kind.split_once(' ').unwrap();
        let object = |part: &str| {
            let mut object: Value = serde_json::from_str(part).unwrap();
            object["apiVersion"] = json!(api_version);
            object["kind"] = json!(kind);
            object["metadata"] = json!({"name": "a"});
            object
        };
        let ours = if wanted.contains("spec") { json!({"f:spec": {"f:a": {}}}) } else { json!({}) };
        let theirs = serde_json::from_str(theirs).unwrap();
        let operations = foreign(&object(wanted), &live(&object(there), &ours, &theirs));
        assert_eq!(pointers(&operations), *expected, "{api_version} {kind} {there}");
    }
}

#[test]
fn an_empty_list_of_the_manifest_is_written_back() {
    let manifest =
        json!({"apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints", "users": []});
    let object = json!({"metadata": {}, "users": ["x"]});
    let operations = foreign(&manifest, &live(&object, &json!({}), &json!({"f:users": {}})));
    assert_eq!(operations, [PatchOperation::replace("/users", json!([]))]);
}

#[test]
fn injected_bundles_stay_where_the_annotation_is() {
    let kind = |annotations: &Value, hooks: &Value| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "a", "annotations": annotations}, "webhooks": hooks})
    };
    let wanted = json!([{"name": "w", "clientConfig": {"service": {}}}]);
    let there = json!([{"name": "w", "clientConfig": {"service": {}, "caBundle": "x"}}]);
    let node = |inside: Value| json!({"f:webhooks": {"k:{\"name\":\"w\"}": {"f:clientConfig": inside}}});
    let inject = json!({"service.beta.openshift.io/inject-cabundle": "true"});
    for (on_manifest, on_live, expected) in [
        (json!({}), json!({}), &["/webhooks/0/clientConfig/caBundle"][..]),
        (inject.clone(), json!({}), &[]),
        (json!({}), inject.clone(), &[]),
    ] {
        let live =
            live(&kind(&on_live, &there), &node(json!({"f:service": {}})), &node(json!({"f:caBundle": {}})));
        assert_eq!(pointers(&foreign(&kind(&on_manifest, &wanted), &live)), expected);
    }
}

#[test]
fn members_of_sets_and_entries_that_count() {
    let object = |names: &[&str]| json!({"apiVersion": "example.com/v1", "kind": "W", "metadata": {}, "spec": {"set": names}});
    let ours = json!({"f:spec": {"f:set": {"v:\"a\"": {}}}});
    let theirs = json!({"f:spec": {"f:set": {"v:\"x\"": {}, "v:\"y\"": {}, "v:\"a\"": {}}}});
    let mut live = live(&object(&["x", "a", "y"]), &ours, &theirs);
    assert_eq!(pointers(&foreign(&object(&["a"]), &live)), ["/spec/set/2", "/spec/set/0"]);
    let entry = live["metadata"]["managedFields"][1].clone();
    for (field, value) in
        [("subresource", "scale"), ("manager", "lockstep"), ("manager", "cluster-version-operator")]
    {
        live["metadata"]["managedFields"][1] = entry.clone();
        live["metadata"]["managedFields"][1][field] = json!(value);
        assert!(foreign(&object(&["a"]), &live).is_empty(), "{field} {value}");
    }
}
