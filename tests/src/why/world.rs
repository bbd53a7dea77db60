//! The worlds that situations play in: a cluster with everything well, in four states.

use lockstep_api::object;
use lockstep_health::why::resource::{self, Resource};
use serde_json::{Value, json};

use super::ago;

/// How old everything is, in seconds, unless a situation says otherwise.
pub(super) const AGE: i64 = 86_400;

/// A request for a certificate, as a file and then as the API wants it: nobody looks into it.
pub(super) const REQUEST: &str = "\
     LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdU1JR1ZBZ0VBTURNeEZUQVRCZ05WQkFvTURITjVjM1JsYlRw\
     dWIyUmxjekVhTUJnR0ExVUVBd3dSYzNsegpkR1Z0T201dlpHVTZjM1JoWjJVd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqT1BRTUJC\
     d05DQUFUQkRSNnhXaGZyCjhuWmFudlFnTVd1K1BpWG15ZDlLOUtiYUQzSFNTTkIrNnJMdVlUaDBOQTBRbFlUc0tUUTBtRW5nQnhv\
     cjR5NVMKMEhESS9INmdLSm1Bb0FBd0NnWUlLb1pJemowRUF3SURTQUF3UlFJaEFNU29WVFRGN08wQVBtVnhzY2RiUjIxSQpEeDBQ\
     Uk4vV2UwYmVBTDF6cG1nN0FpQWJHU3NiTlJObG9LK0xYN3FXa2xhWXJTYTFjcE9WVmhhTWp4SjZURERaCnhRPT0KLS0tLS1FTkQg\
     Q0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

/// The operators of the worlds, and the component and run level of each.
pub(super) const OPERATORS: [&str; 14] = [
    "authentication",
    "config-operator",
    "console",
    "dns",
    "etcd",
    "image-registry",
    "ingress",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "machine-approver",
    "machine-config",
    "monitoring",
    "network",
];

/// Where an object is.
pub(super) struct Place {
    /// How a snapshot calls its resource.
    pub(super) key: String,
    pub(super) collection: String,
}

/// Kinds that rules do not ask for and situations have.
const OTHERS: [Resource; 1] = [Resource { key: "replicasets.apps", kind: "ReplicaSet" }];
/// Kinds without namespaces.
const CLUSTER_WIDE: [&str; 19] = [
    "ClusterVersion",
    "ClusterOperator",
    "Node",
    "Namespace",
    "StorageClass",
    "CertificateSigningRequest",
    "CustomResourceDefinition",
    "APIService",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "MachineConfigPool",
    "Infrastructure",
    "Network",
    "Proxy",
    "FeatureGate",
    "Etcd",
    "KubeAPIServer",
    "Scheduler",
    "Image",
];

pub(super) fn is_namespaced(kind: &str) -> bool {
    !CLUSTER_WIDE.contains(&kind)
}

/// Where an object is, by its kind.
pub(super) fn place(it: &Value) -> Place {
    let (api_version, kind) = (object::api_version(it), object::kind(it));
    let (group, _) = object::split_api_version(api_version);
    let known =
        resource::ALL.iter().chain(&OTHERS).find(|known| known.kind == kind && known.group() == group);
    let known = known.unwrap_or_else(|| panic!("a situation has an unknown kind {api_version} {kind}"));
    let root = if group.is_empty() { format!("/api/{api_version}") } else { format!("/apis/{api_version}") };
    let space =
        if is_namespaced(kind) { format!("/namespaces/{}", object::namespace(it)) } else { String::new() };
    Place { key: known.key.to_owned(), collection: format!("{root}{space}/{}", known.plural()) }
}

/// An operator that is well.
pub(super) fn operator(name: &str, version: &str) -> Value {
    let mut it = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "spec": {},
        "status": {"conditions": []}});
    if !version.is_empty() {
        it["status"]["versions"] = json!([{"name": "operator", "version": version}]);
    }
    it
}

fn well(name: &str, version: &str) -> Value {
    let mut it = operator(name, version);
    let since = ago(AGE / 2);
    it["status"]["conditions"] = json!([
        {"type": "Available", "status": "True", "lastTransitionTime": since, "reason": "AsExpected", "message": ""},
        {"type": "Progressing", "status": "False", "lastTransitionTime": since, "reason": "AsExpected", "message": ""},
        {"type": "Degraded", "status": "False", "lastTransitionTime": since, "reason": "AsExpected", "message": ""},
    ]);
    let mut spaces = vec![format!("openshift-{name}"), format!("openshift-{name}-operator")];
    if name == "network" {
        spaces.extend(["openshift-ovn-kubernetes".to_owned(), "openshift-multus".to_owned()]);
    }
    if name == "kube-apiserver" {
        spaces.push("openshift-apiserver".to_owned());
    }
    let related = spaces.iter().map(|it| json!({"group": "", "resource": "namespaces", "name": it}));
    it["status"]["relatedObjects"] = related.collect::<Vec<_>>().into();
    it
}

fn node(name: &str, role: &str, at: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {format!("node-role.kubernetes.io/{role}"): ""}, "annotations": {
            "machineconfiguration.openshift.io/state": "Done"}},
        "spec": {},
        "status": {"addresses": [{"type": "InternalIP", "address": format!("192.0.2.{}", 10 + at)}],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(AGE / 2), "reason": "KubeletReady", "message": ""}]}})
}

/// A Pod in the short form of situations.
pub(super) fn pod(it: &Value) -> Value {
    let (namespace, name) = it["name"].as_str().and_then(|it| it.split_once('/')).expect("namespace/name");
    let image = it["image"].as_str().unwrap_or("registry.example.com/platform/part@sha256:0000000000000000000000000000000000000000000000000000000000000001");
    let mut status = json!({"name": "main", "image": image, "imageID": "", "ready": false, "restartCount": 0, "state": {}});
    let mut phase = it["phase"].as_str().unwrap_or("Pending");
    if it["waiting"].is_array() {
        status["state"] = json!({"waiting": {"reason": it["waiting"][0], "message": it["waiting"][1]}});
    }
    if it["exit"].is_array() {
        phase = it["phase"].as_str().unwrap_or("Running");
        status["lastState"] = json!({"terminated": {"exitCode": it["exit"][0], "reason": it["exit"][1], "message": it["exit"][2],
            "finishedAt": ago(120), "startedAt": ago(180)}});
        status["restartCount"] = it["exit"].get(3).cloned().unwrap_or(json!(7));
    }
    if it["running"] == true {
        phase = "Running";
        status["state"] = json!({"running": {"startedAt": ago(AGE)}});
        status["ready"] = (it["ready"][0] == "True").into();
    }
    let mut conditions = Vec::new();
    if it["unschedulable"].is_string() {
        conditions.push(json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": it["unschedulable"],
            "lastTransitionTime": ago(1200)}));
    }
    if it["ready"].is_array() {
        conditions
            .push(json!({"type": "Ready", "status": it["ready"][0], "lastTransitionTime": it["ready"][1],
            "reason": it["ready"][2], "message": it["ready"][3]}));
    }
    let statuses = if it["unschedulable"].is_string() { json!([]) } else { json!([status]) };
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name, "labels": it["labels"]},
        "spec": {"containers": [{"name": "main", "image": image, "env": it["env"]}], "nodeName": it["node"], "volumes": it["volumes"]},
        "status": {"phase": phase, "conditions": conditions, "containerStatuses": statuses, "reason": it["reason"], "message": it["message"]},
        "age": it.get("age").cloned().unwrap_or(json!("30m"))});
    prune(&mut pod);
    pod
}

/// An event in the short form of situations: `about: Pod namespace/name`.
pub(super) fn event(at: usize, it: &Value) -> Value {
    let (kind, path) = it["about"].as_str().and_then(|it| it.split_once(' ')).expect("Kind namespace/name");
    let (namespace, name) = path.split_once('/').unwrap_or(("default", path));
    let age = it["age"].as_i64().unwrap_or(120);
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"namespace": namespace, "name": format!("{name}.{at}")},
        "involvedObject": {"kind": kind, "namespace": namespace, "name": name},
        "type": it["type"].as_str().unwrap_or("Warning"), "reason": it["reason"], "message": it["message"],
        "count": it["count"].as_i64().unwrap_or(3), "firstTimestamp": ago(age + 600), "lastTimestamp": ago(age),
        "source": {"component": "stage"}, "age": age})
}

fn prune(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, value| !value.is_null());
        map.values_mut().for_each(prune);
    }
    if let Value::Array(list) = value {
        list.iter_mut().for_each(prune);
    }
}

/// Everything of a world.
pub(super) fn objects(world: &str) -> Vec<Value> {
    let now = match world {
        "updating" => "4.21.0",
        _ => "4.20.0",
    };
    let mut all: Vec<Value> =
        vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}})];
    for (at, name) in ["master-0", "master-1", "master-2", "worker-0", "worker-1"].into_iter().enumerate() {
        all.push(node(name, name.split('-').next().unwrap_or_default(), at));
    }
    all.extend(OPERATORS.iter().map(|name| well(name, now)));
    all.push(version(world));
    all.push(json!({"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"}, "spec": {},
        "status": {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable", "infrastructureName": "stage-x1",
            "apiServerInternalURI": "https://api-int.stage.example.com:6443", "platformStatus": {"type": "None"}}}));
    for (api, kind) in [
        ("config.openshift.io/v1", "Network"),
        ("operator.openshift.io/v1", "Network"),
        ("config.openshift.io/v1", "FeatureGate"),
        ("config.openshift.io/v1", "Proxy"),
    ] {
        all.push(json!({"apiVersion": api, "kind": kind, "metadata": {"name": "cluster"}, "spec": {}}));
    }
    let removed = if world == "bootstrapping" { "False" } else { "True" };
    let since = if world == "bootstrapping" { ago(300) } else { ago(AGE / 2) };
    all.push(json!({"apiVersion": "operator.openshift.io/v1", "kind": "Etcd", "metadata": {"name": "cluster"}, "spec": {},
        "status": {"conditions": [{"type": "EtcdBootstrapMemberRemoved", "status": removed, "lastTransitionTime": since, "reason": "", "message": ""}]}}));
    all.push(config_map("kube-system", "cluster-config-v1", &json!({"install-config": "x"})));
    let mut endpoints = config_map("openshift-etcd", "etcd-endpoints", &json!({}));
    endpoints["metadata"]["annotations"] =
        json!({"alpha.installer.openshift.io/etcd-bootstrap": "192.0.2.99"});
    all.push(endpoints);
    if world != "bootstrapping" {
        all.push(config_map("kube-system", "bootstrap", &json!({"status": "complete"})));
        all.push(json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": "openshift-cluster-version", "name": "version"},
            "spec": {"holderIdentity": "master-0", "leaseDurationSeconds": 137, "renewTime": format!("{}.000000Z", ago(10).trim_end_matches('Z'))}}));
    }
    let mut own = pod(
        &json!({"name": "openshift-cluster-version/cluster-version-operator-1", "node": "master-0", "running": true, "age": 7200,
        "ready": ["True", ago(7200), "", ""], "labels": {"k8s-app": "cluster-version-operator"},
        "env": [{"name": "CLUSTER_PROFILE", "value": "self-managed-high-availability"}]}),
    );
    own["age"] = json!(7200);
    all.push(own);
    all.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "openshift-config", "name": "pull-secret"},
        "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "e30="}}));
    for (name, role) in [("master", 3), ("worker", 2)] {
        all.push(json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": {"paused": false},
            "status": {"machineCount": role, "updatedMachineCount": role, "conditions": [
                {"type": "Updated", "status": "True", "lastTransitionTime": ago(AGE / 2), "reason": "", "message": ""},
                {"type": "Degraded", "status": "False", "lastTransitionTime": ago(AGE / 2), "reason": "", "message": ""}]}}));
    }
    all
}

fn config_map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": data})
}

fn version(world: &str) -> Value {
    let entry = |version: &str, state: &str, age: i64| {
        json!({"version": version, "state": state, "startedTime": ago(age), "image": format!("registry.example.com/release:{version}"), "verified": true,
            "completionTime": if state == "Completed" { json!(ago(age - 1800)) } else { Value::Null }})
    };
    let (history, desired, progressing, message, available) = match world {
        "steady" => {
            (vec![entry("4.20.0", "Completed", AGE)], "4.20.0", "False", "Cluster version is 4.20.0", "True")
        }
        "updating" => (
            vec![entry("4.21.0", "Partial", 1200), entry("4.20.0", "Completed", AGE)],
            "4.21.0",
            "True",
            "Working towards 4.21.0: 500 of 900 done (55% complete)",
            "True",
        ),
        _ => (
            vec![entry("4.20.0", "Partial", 1800)],
            "4.20.0",
            "True",
            "Working towards 4.20.0: 500 of 900 done (55% complete)",
            "False",
        ),
    };
    let since = ago(1200);
    let condition = |kind: &str, status: &str, message: &str| json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": "", "message": message});
    json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "3b1c1a10-6f5b-4d6e-9e0d-2f4c3c0b8a11", "channel": "stable-4.20"},
        "status": {"desired": {"version": desired, "image": format!("registry.example.com/release:{desired}")}, "history": history,
            "observedGeneration": 1, "versionHash": "x", "availableUpdates": null,
            "capabilities": {"enabledCapabilities": ["Console", "Ingress", "ImageRegistry"], "knownCapabilities": ["Console", "Ingress", "ImageRegistry", "Insights"]},
            "conditions": [condition("Available", available, ""), condition("Progressing", progressing, message), condition("Failing", "False", ""),
                condition("RetrievedUpdates", "True", ""), condition("ReleaseAccepted", "True", "")]},
        "age": if world == "steady" || world == "updating" { AGE } else { 1800 }})
}
