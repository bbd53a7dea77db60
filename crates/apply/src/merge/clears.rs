//! What is cleared, and what never is.

use serde_json::{Value, json};

use super::{PathStep, clear};

/// The fields of an object as somebody owns them who wrote it as it is; lists by the keys that the server would use.
fn owned(value: &Value, keys: &[&str]) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (format!("f:{name}"), owned(value, keys))).collect()
        }
        Value::Array(items) if items.iter().all(Value::is_object) => items
            .iter()
            .map(|item| {
                let key: Value = keys
                    .iter()
                    .filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone())))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
                (format!("k:{key}"), owned(item, keys))
            })
            .collect(),
        _ => json!({}),
    }
}

/// What is cleared of an object that somebody wrote as a whole.
fn cleared_by(
    manager: &str,
    subresource: &str,
    api_version: &str,
    kind: &str,
    live: &Value,
    manifest: &Value,
) -> Vec<String> {
    let object = |fields: &Value| {
        let mut object = fields.clone();
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!("a");
        object
    };
    let mut live_object = object(live);
    live_object["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Update", "subresource": subresource,
        "fieldsV1": owned(live, &["name", "containerPort", "mountPath"])}]);
    clear(&object(manifest), &live_object).into_iter().map(|field| field.pointer).collect()
}

fn cleared(api_version: &str, kind: &str, live: &Value, manifest: &Value) -> Vec<String> {
    cleared_by("kubectl", "", api_version, kind, live, manifest)
}

fn a_pod(pod: &Value) -> Value {
    json!({"spec": {"template": {"spec": pod}}})
}

#[test]
fn what_somebody_added_to_a_deployment_is_cleared() {
    let manifest =
        json!({"containers": [{"name": "b", "resources": {"limits": {"cpu": "1"}}}, {"name": "a"}]});
    let live = json!({"initContainers": [{"name": "i"}], "automountServiceAccountToken": false, "hostNetwork": true,
        "securityContext": {"runAsUser": 1},
        "containers": [{"name": "a", "livenessProbe": {"periodSeconds": 3}, "env": [{"name": "E"}], "startupProbe": {}},
            {"name": "b", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}}, "securityContext": {"privileged": true}}]});
    let below = "/spec/template/spec";
    let expected = [
        "/initContainers",
        "/containers/1/resources/limits/memory",
        "/containers/1/resources/requests",
        "/containers/1/securityContext",
        "/containers/0/env",
        "/containers/0/livenessProbe",
        "/automountServiceAccountToken",
        "/hostNetwork",
        "/securityContext",
    ];
    assert_eq!(
        cleared("apps/v1", "Deployment", &a_pod(&live), &a_pod(&manifest)),
        expected.map(|path| format!("{below}{path}"))
    );
    let spec = json!({"spec": {"paused": true, "minReadySeconds": 4, "replicas": 3, "strategy": {"type": "Recreate"}, "revisionHistoryLimit": 2}});
    assert_eq!(
        cleared("apps/v1", "Deployment", &spec, &json!({"spec": {}})),
        ["/spec/replicas", "/spec/paused", "/spec/minReadySeconds", "/spec/strategy"]
    );
}

#[test]
fn what_somebody_added_to_other_kinds_is_cleared() {
    let cases = [
        (
            "v1",
            "ServiceAccount",
            json!({"automountServiceAccountToken": true, "secrets": [{"name": "s"}]}),
            json!({}),
            vec!["/automountServiceAccountToken"],
        ),
        (
            "v1",
            "Service",
            json!({"spec": {"type": "NodePort", "clusterIP": "1", "selector": {"a": "b"}}}),
            json!({"spec": {}}),
            vec!["/spec/type", "/spec/selector"],
        ),
        ("v1", "ConfigMap", json!({"data": {"a": "b"}}), json!({"data": {}}), vec![]),
        (
            "batch/v1",
            "Job",
            json!({"spec": {"activeDeadlineSeconds": 4, "backoffLimit": 5, "podReplacementPolicy": "Failed"}}),
            json!({}),
            vec!["/spec/activeDeadlineSeconds", "/spec/backoffLimit"],
        ),
        (
            "batch/v1",
            "CronJob",
            json!({"spec": {"suspend": true, "jobTemplate": {"spec": {"ttlSecondsAfterFinished": 4}}}}),
            json!({"spec": {"suspend": null}}),
            vec!["/spec/suspend", "/spec/jobTemplate/spec/ttlSecondsAfterFinished"],
        ),
        ("rbac.authorization.k8s.io/v1", "Role", json!({"rules": [{}]}), json!({}), vec!["/rules"]),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            json!({"webhooks": [{"name": "h", "timeoutSeconds": 3, "matchPolicy": "Equivalent"}]}),
            json!({"webhooks": [{"name": "h"}]}),
            vec!["/webhooks/0/timeoutSeconds"],
        ),
        (
            "security.openshift.io/v1",
            "SecurityContextConstraints",
            json!({"priority": 5, "allowPrivilegeEscalation": true, "users": ["u"]}),
            json!({}),
            vec!["/priority", "/users"],
        ),
        (
            "example.com/v1",
            "Thing",
            json!({"spec": {"a/b": false, "said": {"x": 1, "y": 2}}, "other": 1}),
            json!({"spec": {"said": {"x": 1}}}),
            vec!["/spec/said/y", "/spec/a~1b"],
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"spec": {"minReadySeconds": 4, "replicas": 1, "podManagementPolicy": "OrderedReady"}}),
            json!({"spec": {}}),
            vec!["/spec/minReadySeconds"],
        ),
    ];
    for (api_version, kind, live, manifest, expected) in cases {
        assert_eq!(cleared(api_version, kind, &live, &manifest), expected, "{kind}");
    }
}

#[test]
fn nothing_is_cleared_that_only_we_a_controller_or_a_subresource_wrote() {
    let (live, manifest) = (json!({"spec": {"paused": true}}), json!({"spec": {}}));
    let by =
        |manager, subresource| cleared_by(manager, subresource, "apps/v1", "Deployment", &live, &manifest);
    assert_eq!(by("kubectl", ""), ["/spec/paused"]);
    for (manager, subresource) in [("lockstep", ""), ("kube-controller-manager", ""), ("kubectl", "status")] {
        assert!(by(manager, subresource).is_empty(), "{manager} {subresource}");
    }
}

#[test]
fn nothing_is_cleared_that_nobody_is_known_to_have_written() {
    let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}});
    let with = |fields: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"paused": true, "minReadySeconds": 3},
            "metadata": {"managedFields": [{"manager": "kubectl", "fieldsV1": fields}]}})
    };
    let pointers =
        |live: Value| clear(&manifest, &live).into_iter().map(|field| field.pointer).collect::<Vec<_>>();
    assert_eq!(pointers(with(json!({"f:spec": {"f:paused": {}}}))), ["/spec/paused"]);
    assert!(pointers(with(json!({"f:metadata": {"f:labels": {}}}))).is_empty());
    assert!(pointers(with(json!({}))).is_empty());
}

#[test]
fn what_the_server_fills_in_is_never_cleared_whoever_made_the_object() {
    let pod = json!({"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {},
        "terminationGracePeriodSeconds": 30, "serviceAccount": "s", "serviceAccountName": "s",
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}}],
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "resources": {}, "ports": [{"containerPort": 1, "protocol": "TCP"}],
            "livenessProbe": {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}}]});
    let manifest = json!({"serviceAccountName": "s", "volumes": [{"name": "v"}, {"name": "s", "secret": {"secretName": "s"}}],
        "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1}], "livenessProbe": {"httpGet": {"port": 1}}}]});
    let workload = json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}, "template": {"spec": pod}});
    let stateful = json!({"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}, "template": {"spec": pod}});
    let job = json!({"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false, "manualSelector": false,
        "podReplacementPolicy": "TerminatingOrFailed", "template": {"spec": pod}});
    for (api_version, kind, live) in
        [("apps/v1", "Deployment", workload), ("apps/v1", "StatefulSet", stateful), ("batch/v1", "Job", job)]
    {
        let nothing = cleared(api_version, kind, &json!({"spec": live}), &a_pod(&manifest));
        assert!(nothing.is_empty(), "{kind}: {nothing:?}");
    }
    let service = json!({"spec": {"type": "ClusterIP", "clusterIP": "1", "clusterIPs": ["1"], "sessionAffinity": "None", "ipFamilies": ["IPv4"],
        "ports": [{"name": "a", "port": 1, "targetPort": 1, "protocol": "TCP"}]}});
    assert!(
        cleared("v1", "Service", &service, &json!({"spec": {"ports": [{"name": "a", "port": 1}]}}))
            .is_empty()
    );
}

#[test]
fn what_the_cluster_owns_is_never_cleared() {
    let hooks = |client: Value| json!({"webhooks": [{"name": "h", "clientConfig": client}]});
    let mut injected = hooks(json!({"caBundle": "QQ=="}));
    assert_eq!(
        cleared(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            &injected,
            &hooks(json!({}))
        ),
        ["/webhooks/0/clientConfig/caBundle"]
    );
    injected["metadata"]["annotations"] = json!({"service.beta.openshift.io/inject-cabundle": "true"});
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        assert!(
            cleared("admissionregistration.k8s.io/v1", kind, &injected, &hooks(json!({}))).is_empty(),
            "{kind}"
        );
    }
    let aggregated = json!({"aggregationRule": {}, "rules": [{}]});
    assert!(
        cleared("rbac.authorization.k8s.io/v1", "ClusterRole", &aggregated, &json!({"aggregationRule": {}}))
            .is_empty()
    );

    let service = |ty: &str, port: Value| json!({"spec": {"type": ty, "ports": [port]}});
    for (ty, expected) in
        [("NodePort", vec![]), ("LoadBalancer", vec![]), ("ClusterIP", vec!["/spec/ports/0/nodePort"])]
    {
        let live = service(ty, json!({"name": "a", "port": 1, "nodePort": 30000}));
        assert_eq!(
            cleared("v1", "Service", &live, &service(ty, json!({"name": "a", "port": 1}))),
            expected,
            "{ty}"
        );
    }
    let mut scaled = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 5}, "metadata": {"managedFields": [
        {"manager": "kubectl", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}});
    let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}});
    assert_eq!(clear(&manifest, &scaled).len(), 1);
    let entry = json!({"manager": "hpa", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
    scaled["metadata"]["managedFields"].as_array_mut().unwrap().push(entry);
    assert!(clear(&manifest, &scaled).is_empty());
}

#[test]
fn metadata_and_status_are_never_cleared() {
    let live = json!({"metadata": {"labels": {"x": "y"}, "finalizers": ["f"], "ownerReferences": [{"uid": "1"}]}, "status": {"a": 1}, "spec": {"a": 1}});
    for (api_version, kind) in [("example.com/v1", "Thing"), ("apps/v1", "StatefulSet"), ("v1", "Namespace")]
    {
        assert!(cleared(api_version, kind, &live, &json!({})).is_empty(), "{kind}");
    }
}

#[test]
fn a_path_says_the_same_as_its_pointer() {
    let live = json!({"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"a/b~": 1},
        "metadata": {"managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {"f:a/b~": {}}}}]}});
    let fields = clear(&json!({"apiVersion": "example.com/v1", "kind": "Thing", "spec": {}}), &live);
    assert_eq!(fields.len(), 1);
    assert_eq!(fields[0].path, [PathStep::Field("spec".into()), PathStep::Field("a/b~".into())]);
    assert_eq!(live.pointer(&fields[0].pointer), Some(&json!(1)));
}
