//! What `apply` decides about live objects, with the answers of an API server: the lab.
#![recursion_limit = "256"]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::time::Duration;

use kube::Client;
use lockstep_apply::FIELD_MANAGER;
use lockstep_apply::compare::{
    Next, PatchOperation, adoption, compare, decide, foreign, managers_of, repair,
};
use lockstep_lab::{Lab, LabOptions};
use lockstep_tests::clients::{Answer, Call};
use serde_json::{Value, json};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn lab() -> (Lab, Client) {
    let lab = Lab::new(LabOptions { controllers: false, ..LabOptions::default() });
    let client = lab.client();
    (lab, client)
}

async fn send(client: &Client, call: Call) -> Answer {
    call.send(client).await.unwrap()
}

/// Applies as we do; a kind that is just being defined is waited for.
async fn apply(client: &Client, path: &str, object: &Value) -> Value {
    for _ in 0..1000 {
        let answer = send(client, Call::apply(path, FIELD_MANAGER, object)).await;
        if answer.code != 404 {
            assert!(answer.code < 300, "{path}: {}", answer.body);
            return answer.body;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{path} is never served");
}

async fn patch(client: &Client, path: &str, manager: &str, operations: &Value) -> Answer {
    let call = Call::new("PATCH", format!("{path}?fieldManager={manager}"));
    send(client, call.body("application/json-patch+json", operations.to_string())).await
}

/// A change by somebody else.
async fn intrude(client: &Client, path: &str, operations: Value) -> Value {
    let answer = patch(client, path, "intruder", &operations).await;
    assert_eq!(answer.code, 200, "{path}: {}", answer.body);
    answer.body
}

/// Does what is decided until nothing is left; gives the object and the names of the steps.
async fn settle(client: &Client, path: &str, manifest: &Value) -> (Value, Vec<&'static str>) {
    let mut live = send(client, Call::new("GET", path)).await.body;
    let mut steps = Vec::new();
    for _ in 0..6 {
        live = match decide(manifest, &live, &[]) {
            Next::Equal => return (live, steps),
            Next::Apply { .. } => {
                steps.push("apply");
                apply(client, path, manifest).await
            }
            Next::Patch { operations, .. } => {
                steps.push("patch");
                patched(client, path, &operations).await
            }
            Next::Suspect { fields } => panic!("{path}: {fields:?}"),
        };
    }
    panic!("{path} never settles: {steps:?}");
}

async fn patched(client: &Client, path: &str, operations: &[PatchOperation]) -> Value {
    let answer = patch(client, path, FIELD_MANAGER, &serde_json::to_value(operations).unwrap()).await;
    assert_eq!(answer.code, 200, "{path} {operations:?}: {}", answer.body);
    answer.body
}

/// Waits until the server has said all about a definition: it writes its status a little later.
async fn settled_definition(client: &Client, path: &str) -> Value {
    for _ in 0..1000 {
        let live = send(client, Call::new("GET", path)).await.body;
        let conditions = live["status"]["conditions"].as_array();
        if conditions.into_iter().flatten().any(|c| c["type"] == "Established" && c["status"] == "True") {
            return live;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{path} is never established");
}

/// An object without what every write changes and without its status.
fn content(live: &Value) -> Value {
    let mut content = live.clone();
    content.as_object_mut().unwrap().remove("status");
    for name in ["managedFields", "resourceVersion", "generation"] {
        content["metadata"].as_object_mut().unwrap().remove(name);
    }
    content
}

fn meta(name: &str) -> Value {
    json!({"name": name, "labels": {"lockstep.dev/payload": "version"}})
}

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("web"), "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
            "containers": [{"name": "web", "image": "i:1", "args": ["-v", "2"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": ""}],
                "ports": [{"containerPort": 8443, "name": "https"}],
                "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": 8443}, "initialDelaySeconds": 0},
                "volumeMounts": [{"mountPath": "/c", "name": "config"}]}],
            "tolerations": [{"key": "k", "operator": "Exists"}],
            "volumes": [{"name": "config", "configMap": {"name": "c"}}]}}}})
}

fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": meta("web"), "spec": {"selector": {"app": "web"},
        "ports": [{"name": "metrics", "port": 9000}, {"name": "https", "port": 443, "targetPort": "https"}]}})
}

fn webhooks() -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": meta("hooks"), "webhooks": [{"name": "a.example.com", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "clientConfig": {"service": {"name": "s", "namespace": "default"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]})
}

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": meta("widgets.example.com"),
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "size": {"type": "number"}, "note": {"type": "string"},
                    "priority": {"type": "integer", "nullable": true},
                    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "users": {"type": "array", "items": {"type": "string"}},
                    "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "groups": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "required": ["name"], "properties": {
                            "name": {"type": "string"}, "rules": {"type": "array", "items": {"type": "string"}}}}}}}}}}}]}})
}

fn widget() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta("w"), "spec": {
        "size": 1.0, "priority": null, "users": [], "set": ["a", "b"], "open": {"x": {"y": [1, {"z": null}]}},
        "groups": [{"name": "g<&>", "rules": ["r"]}, {"name": "h", "rules": []}]}})
}

/// The address of an object, the object, a place in it, a value to put there, and the path that is then named.
type Case = (String, Value, &'static str, Value, &'static str);

fn objects() -> Vec<Case> {
    let mut all = plain_objects();
    all.extend(objects_with_lists());
    all
}

fn of(kind: &str, name: &str, more: &Value) -> Value {
    let (api_version, kind) = kind.rsplit_once('/').unwrap();
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": meta(name)});
    for (name, value) in more.as_object().unwrap() {
        object[name] = value.clone();
    }
    object
}

fn plain_objects() -> Vec<Case> {
    let rbac = "rbac.authorization.k8s.io/v1";
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]);
    vec![
        (
            "/api/v1/namespaces/n".into(),
            of("v1/Namespace", "n", &json!({})),
            "/metadata/labels/lockstep.dev~1payload",
            json!("other"),
            r#"metadata.labels["lockstep.dev/payload"]"#,
        ),
        (
            "/api/v1/namespaces/default/configmaps/c".into(),
            of("v1/ConfigMap", "c", &json!({"data": {"k.yaml": "v", "e": ""}})),
            "/data/k.yaml",
            json!("w"),
            r#"data["k.yaml"]"#,
        ),
        (
            "/api/v1/namespaces/default/secrets/s".into(),
            of("v1/Secret", "s", &json!({"data": {"k": "djE="}, "type": "Opaque"})),
            "/data/k",
            json!("djI="),
            "data.k",
        ),
        (
            "/api/v1/namespaces/default/serviceaccounts/a".into(),
            of("v1/ServiceAccount", "a", &json!({"automountServiceAccountToken": false})),
            "/automountServiceAccountToken",
            json!(true),
            "automountServiceAccountToken",
        ),
        (
            format!("/apis/{rbac}/clusterroles/r"),
            of(&format!("{rbac}/ClusterRole"), "r", &json!({"rules": rules})),
            "/rules/0/verbs/1",
            json!("watch"),
            "rules",
        ),
        (
            format!("/apis/{rbac}/clusterrolebindings/b"),
            of(
                &format!("{rbac}/ClusterRoleBinding"),
                "b",
                &json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "default"}]}),
            ),
            "/subjects/0/name",
            json!("z"),
            "subjects",
        ),
    ]
}

fn objects_with_lists() -> Vec<Case> {
    vec![
        (
            format!("{SERVICES}/web"),
            service(),
            "/spec/ports/1/targetPort",
            json!(1),
            r#"spec.ports[port=443,protocol="TCP"].targetPort"#,
        ),
        (
            format!("{DEPLOYMENTS}/web"),
            deployment(),
            "/spec/template/spec/containers/0/env/0/value",
            json!("2"),
            r#"spec.template.spec.containers[name="web"].env[name="A"].value"#,
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs/j".into(),
            of(
                "batch/v1/CronJob",
                "j",
                &json!({"spec": {
            "schedule": "@daily", "suspend": false, "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never",
                "containers": [{"name": "c", "image": "i"}]}}}}}}),
            ),
            "/spec/schedule",
            json!("@hourly"),
            "spec.schedule",
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks".into(),
            webhooks(),
            "/webhooks/0/rules/0/operations/0",
            json!("*"),
            r#"webhooks[name="a.example.com"].rules"#,
        ),
        (
            format!("{DEFINITIONS}/widgets.example.com"),
            definition(),
            "/spec/versions/0/served",
            json!(false),
            "spec.versions",
        ),
        (
            format!("{WIDGETS}/w"),
            widget(),
            "/spec/groups/0/rules/0",
            json!("q"),
            r#"spec.groups[name="g<&>"].rules"#,
        ),
        (format!("{WIDGETS}/w"), widget(), "/spec/priority", json!(7), "spec.priority"),
        (format!("{WIDGETS}/w"), widget(), "/spec/size", json!(2), "spec.size"),
    ]
}

#[tokio::test]
async fn an_applied_object_is_equal_and_a_foreign_value_is_drift_until_it_is_applied_again() {
    let (_lab, client) = lab();
    for (path, manifest, pointer, value, drift) in objects() {
        let mut first = apply(&client, &path, &manifest).await;
        if path.starts_with(DEFINITIONS) {
            first = settled_definition(&client, &path).await;
        }
        let found = compare(&manifest, &first);
        assert!(found.is_ours, "{path}");
        assert_eq!((found.drift, found.extra, found.suspect), (vec![], vec![], vec![]), "{path} {first}");
        assert_eq!(decide(&manifest, &first, &[]), Next::Equal, "{path}");
        let again = apply(&client, &path, &manifest).await;
        assert_eq!(again["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"], "{path}");

        let live = intrude(&client, &path, json!([{"op": "replace", "path": pointer, "value": value}])).await;
        assert_eq!(
            decide(&manifest, &live, &[]),
            Next::Apply { drift: vec![drift.to_owned()] },
            "{path} {live}"
        );
        assert_eq!(managers_of(&live, drift), ["intruder"], "{path}");
        let (restored, steps) = settle(&client, &path, &manifest).await;
        assert_eq!(steps, ["apply"], "{path}");
        assert_eq!(content(&restored), content(&first), "{path}");
    }
}

#[tokio::test]
async fn items_that_others_add_are_removed_and_the_rest_of_theirs_stays() {
    let (_lab, client) = lab();
    let pod = "/spec/template/spec";
    let add = |path: String, value: Value| json!({"op": "add", "path": path, "value": value});
    apply(&client, &format!("{DEFINITIONS}/widgets.example.com"), &definition()).await;
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks";
    let mut hook = webhooks()["webhooks"][0].clone();
    hook["name"] = json!("b.example.com");
    let cases = [
        (
            format!("{DEPLOYMENTS}/web"),
            deployment(),
            vec![
                add(format!("{pod}/containers/0/env/0"), json!({"name": "X", "value": "x"})),
                add(format!("{pod}/containers/0/env/-"), json!({"name": "Y", "value": "y"})),
                add(format!("{pod}/containers/0/ports/-"), json!({"containerPort": 1})),
                add(format!("{pod}/volumes/-"), json!({"name": "v", "emptyDir": {}})),
                add(format!("{pod}/volumes/0/configMap/optional"), json!(true)),
                add(format!("{pod}/containers/0/volumeMounts/-"), json!({"mountPath": "/v", "name": "v"})),
                add(format!("{pod}/initContainers"), json!([{"name": "init", "image": "i"}])),
                add(format!("{pod}/containers/0"), json!({"name": "first", "image": "i"})),
            ],
        ),
        (
            format!("{SERVICES}/web"),
            service(),
            vec![add("/spec/ports/0".into(), json!({"name": "x", "port": 1}))],
        ),
        (hooks.into(), webhooks(), vec![add("/webhooks/0".into(), hook)]),
        (
            format!("{WIDGETS}/w"),
            widget(),
            vec![
                add("/spec/note".into(), json!("n")),
                add("/spec/set/0".into(), json!("z")),
                add("/spec/users/-".into(), json!("u")),
                add("/spec/groups/0".into(), json!({"name": "f"})),
            ],
        ),
    ];
    for (path, manifest, additions) in cases {
        let first = apply(&client, &path, &manifest).await;
        let live = intrude(&client, &path, Value::Array(additions.clone())).await;
        let found = compare(&manifest, &live);
        assert!(found.drift.is_empty() && !found.extra.is_empty(), "{path} {found:?}");
        assert_eq!(
            foreign(&manifest, &live).len(),
            additions.len(),
            "{path} {:?}",
            foreign(&manifest, &live)
        );
        let (restored, steps) = settle(&client, &path, &manifest).await;
        // An empty list that is written back is a write of ours, which is folded into what we applied.
        let expected = if path.starts_with(WIDGETS) { &["patch", "patch"][..] } else { &["patch"] };
        assert_eq!(steps, expected, "{path}");
        assert_eq!(content(&restored), content(&first), "{path}");
    }

    let path = format!("{DEPLOYMENTS}/web");
    intrude(
        &client,
        &path,
        json!([
            add("/metadata/annotations".into(), json!({"a": "b"})),
            add("/metadata/finalizers".into(), json!(["example.com/f"])),
            add("/spec/template/metadata/labels/x".into(), json!("y")),
            add(format!("{pod}/nodeSelector"), json!({"a": "b"})),
            add(format!("{pod}/imagePullSecrets"), json!([{"name": "s"}])),
            add(format!("{pod}/containers/0/startupProbe"), json!({"exec": {"command": ["a"]}})),
            {"op": "replace", "path": format!("{pod}/containers/0/imagePullPolicy"), "value": "Always"},
        ]),
    )
    .await;
    let (live, steps) = settle(&client, &path, &deployment()).await;
    assert_eq!(
        (steps, &live["metadata"]["annotations"]["a"]),
        (vec![], &json!("b")),
        "nothing of this is ours"
    );
}

#[tokio::test]
async fn fields_of_the_reference_are_taken_over_and_go_with_the_next_release() {
    let (_lab, client) = lab();
    let mut old = deployment();
    let pod = &mut old["spec"]["template"]["spec"];
    pod["automountServiceAccountToken"] = json!(false);
    pod["containers"].as_array_mut().unwrap().push(json!({"name": "proxy", "image": "p"}));
    let created = Call::post(format!("{DEPLOYMENTS}?fieldManager=cluster-version-operator"), &old);
    assert_eq!(send(&client, created).await.code, 201);
    let path = format!("{DEPLOYMENTS}/web");
    let (live, steps) = settle(&client, &path, &deployment()).await;
    assert_eq!(steps, ["patch", "apply"], "ownership first, then what is ours and not in the manifest goes");
    assert_eq!(adoption(&live), None);
    let fresh = Lab::new(LabOptions { controllers: false, ..LabOptions::default() });
    let expected = apply(&fresh.client(), &path, &deployment()).await;
    assert_eq!(live["spec"], expected["spec"]);
}

#[tokio::test]
async fn a_refused_repair_goes_through_a_patch() {
    let (_lab, client) = lab();
    let pod = "/spec/template/spec";
    let replace = |path: &str, value: Value| json!([{"op": "replace", "path": path, "value": value}]);
    let mut recreate = deployment();
    recreate["spec"]["strategy"] = json!({"type": "Recreate"});
    for (path, manifest, change, repaired) in [
        (format!("{SERVICES}/web"), service(), replace("/spec/ports/1/port", json!(444)), "/spec/ports"),
        (
            format!("{DEPLOYMENTS}/web"),
            deployment(),
            replace(&format!("{pod}/volumes/0"), json!({"name": "config", "secret": {"secretName": "s"}})),
            "/spec/template/spec/volumes",
        ),
        (
            format!("{DEPLOYMENTS}/web"),
            recreate,
            replace("/spec/strategy", json!({"type": "RollingUpdate"})),
            "/spec/strategy",
        ),
    ] {
        let before = send(&client, Call::apply(&path, FIELD_MANAGER, &manifest)).await;
        if before.code >= 300 {
            // The strategy of an object with defaults is refused at once: the way round is the same.
            assert_eq!(before.code, 422, "{}", before.body);
        } else {
            intrude(&client, &path, change).await;
        }
        let refused = send(&client, Call::apply(&path, FIELD_MANAGER, &manifest)).await;
        assert_eq!(refused.code, 422, "{path} {}", refused.body);
        let causes = refused.body["details"]["causes"].as_array().unwrap();
        let fields: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
        let live = send(&client, Call::new("GET", path.as_str())).await.body;
        let operations = repair(&manifest, &live, &fields).unwrap();
        assert!(operations.iter().any(|operation| operation.path == repaired), "{fields:?} {operations:?}");
        patched(&client, &path, &operations).await;
        apply(&client, &path, &manifest).await;
        let (live, _) = settle(&client, &path, &manifest).await;
        assert_eq!(adoption(&live), None, "the patch leaves nothing under another operation");
    }
}

#[tokio::test]
async fn a_patch_for_an_older_state_is_a_conflict() {
    let (_lab, client) = lab();
    let path = format!("{SERVICES}/web");
    apply(&client, &path, &service()).await;
    let add = json!([{"op": "add", "path": "/spec/ports/0", "value": {"name": "x", "port": 1}}]);
    let live = intrude(&client, &path, add).await;
    intrude(&client, &path, json!([{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]))
        .await;
    let Next::Patch { operations, .. } = decide(&service(), &live, &[]) else { panic!("{live}") };
    let answer = patch(&client, &path, FIELD_MANAGER, &serde_json::to_value(operations).unwrap()).await;
    assert_eq!(answer.verdict(), (409, "Conflict"));
}
