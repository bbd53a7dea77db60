//! Manifests of generated releases. They are written as the server stores them, so that a plain comparison shows
//! whether they arrived.

use lockstep_api::names::annotation;
use serde_json::{Value, json};

/// Group of all custom kinds.
pub(crate) const GROUP: &str = "sim.example.com";
const INCLUDE: &str = "include.release.openshift.io/self-managed-high-availability";

/// Puts an annotation on a manifest.
pub(crate) fn annotate(object: &mut Value, key: &str) {
    object["metadata"]["annotations"][key] = "true".into();
}

/// The manifest that removes an object.
pub(crate) fn removal(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let mut removal = of(object["apiVersion"].as_str(), object["kind"].as_str(), metadata["name"].as_str());
    if let Some(namespace) = metadata.get("namespace") {
        removal["metadata"]["namespace"] = namespace.clone();
    }
    annotate(&mut removal, annotation::DELETE);
    removal
}

fn of(api_version: Option<&str>, kind: Option<&str>, name: Option<&str>) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "annotations": {INCLUDE: "true"}}})
}

fn inside(namespace: &str, mut object: Value) -> Value {
    object["metadata"]["namespace"] = namespace.into();
    object
}

pub(crate) fn namespace(name: &str) -> Value {
    of(Some("v1"), Some("Namespace"), Some(name))
}

pub(crate) fn config_map(namespace: &str, name: &str, text: &str) -> Value {
    let mut object = inside(namespace, of(Some("v1"), Some("ConfigMap"), Some(name)));
    object["data"] = json!({"text": text, "name": name});
    object
}

pub(crate) fn secret(namespace: &str, name: &str) -> Value {
    let mut object = inside(namespace, of(Some("v1"), Some("Secret"), Some(name)));
    object["type"] = "Opaque".into();
    object["data"] = json!({"key": "c2ltdWxhdGVk"});
    object
}

pub(crate) fn service_account(namespace: &str, name: &str) -> Value {
    inside(namespace, of(Some("v1"), Some("ServiceAccount"), Some(name)))
}

pub(crate) fn service(namespace: &str, name: &str, port: u64) -> Value {
    let mut object = inside(namespace, of(Some("v1"), Some("Service"), Some(name)));
    object["spec"] = json!({"selector": {"app": name}, "ports": [{"name": "web", "port": port, "protocol": "TCP", "targetPort": port}]});
    object
}

pub(crate) fn cluster_role(name: &str, verbs: &[&str]) -> Value {
    let mut object = of(Some("rbac.authorization.k8s.io/v1"), Some("ClusterRole"), Some(name));
    object["rules"] = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
    object
}

pub(crate) fn deployment(namespace: &str, name: &str, version: &str) -> Value {
    let mut object = inside(namespace, of(Some("apps/v1"), Some("Deployment"), Some(name)));
    object["spec"] = json!({
        "replicas": 1,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": format!("registry.example.com/{name}:{version}"),
                "env": [{"name": "VERSION", "value": version}]}]},
        },
    });
    object
}

pub(crate) fn job(namespace: &str, name: &str) -> Value {
    let mut object = inside(namespace, of(Some("batch/v1"), Some("Job"), Some(name)));
    object["spec"] = json!({"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": "registry.example.com/job:1"}]}}});
    object
}

/// A definition of a kind with a namespace; `fields` are the texts that its spec may have.
pub(crate) fn definition(kind: &str, fields: &[&str]) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    definition_of(
        GROUP,
        kind,
        &plural,
        "Namespaced",
        &json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": properties}}}),
    )
}

/// The definition of ClusterOperators.
pub(crate) fn operator_definition() -> Value {
    let mut object = definition_of(
        "config.openshift.io",
        "ClusterOperator",
        "clusteroperators",
        "Cluster",
        &json!({"type": "object", "properties": {
            "spec": {"type": "object"},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}),
    );
    object["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    object
}

fn definition_of(group: &str, kind: &str, plural: &str, scope: &str, schema: &Value) -> Value {
    let name = format!("{plural}.{group}");
    let mut object = of(Some("apiextensions.k8s.io/v1"), Some("CustomResourceDefinition"), Some(&name));
    object["spec"] = json!({
        "group": group,
        "scope": scope,
        "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    });
    object
}

pub(crate) fn custom(kind: &str, namespace: &str, name: &str, text: &str) -> Value {
    let api_version = format!("{GROUP}/v1");
    let mut object = inside(namespace, of(Some(&api_version), Some(kind), Some(name)));
    object["spec"] = json!({"text": text});
    object
}

pub(crate) fn operator(name: &str, version: &str) -> Value {
    let mut object = of(Some("config.openshift.io/v1"), Some("ClusterOperator"), Some(name));
    object["spec"] = json!({});
    object["status"] = json!({
        "versions": [{"name": "operator", "version": version}],
        "relatedObjects": [{"group": "", "resource": "namespaces", "name": format!("sim-{name}")}],
    });
    object
}
