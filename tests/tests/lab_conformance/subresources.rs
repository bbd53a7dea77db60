//! Status, scale, finalize, binding, approval.

use serde_json::{Value, json};

use crate::objects::{deployment, namespace, pod, pods_of, widget};
use crate::target::{Target, cases};

cases!("subresources", controllers: false;
    the_main_resource_ignores_a_status,
    the_status_subresource_ignores_a_spec,
    the_status_subresource_keeps_the_metadata_rules,
    the_status_of_a_custom_object_is_separate,
    a_status_write_of_an_absent_object_is_not_found,
    a_stale_status_write_is_a_conflict,
    the_status_can_be_read_alone,
    an_invalid_status_is_refused,
    the_scale_of_a_deployment_is_read,
    a_scale_update_changes_the_replicas,
    a_scale_patch_changes_the_replicas,
    a_negative_scale_is_invalid,
    the_scale_of_a_custom_object_follows_its_paths,
    a_custom_object_without_replicas_has_no_scale_to_read,
    the_scale_of_an_absent_object_is_not_found,
    every_scalable_kind_has_a_scale,
    an_unknown_subresource_is_not_found,
    a_binding_gives_a_pod_its_node,
    a_second_binding_is_a_conflict,
    a_signing_request_is_approved_through_its_subresource,
    a_signing_request_status_takes_a_certificate_or_refuses_it,
    a_pod_status_is_written_by_patch,
    a_node_status_is_written_by_patch,
    a_namespace_status_is_separate,
    a_token_is_requested_through_a_service_account,
);

fn with_status(mut body: Value, status: Value) -> Value {
    body["status"] = status;
    body
}

async fn status(t: &Target, path: &str) {
    let answer = t.peek(path).await;
    t.note("status", answer.body["status"].clone());
}

async fn the_main_resource_ignores_a_status(t: &Target) {
    t.post("deployments", with_status(deployment("a"), json!({"replicas": 5}))).await;
    status(t, "deployments/a").await;
    t.merge("deployments/a", json!({"status": {"replicas": 6}})).await;
    status(t, "deployments/a").await;
    t.put("deployments/a", with_status(deployment("a"), json!({"replicas": 7}))).await;
    status(t, "deployments/a").await;
}

async fn the_status_subresource_ignores_a_spec(t: &Target) {
    t.given("deployments", deployment("a")).await;
    let mut body = with_status(deployment("a"), json!({"replicas": 5, "observedGeneration": 1}));
    body["spec"]["replicas"] = json!(9);
    body["metadata"]["labels"] = json!({"new": "label"});
    t.put("deployments/a/status", body).await;
    status(t, "deployments/a").await;
    t.get("deployments/a").await;
}

async fn the_status_subresource_keeps_the_metadata_rules(t: &Target) {
    t.given("deployments", deployment("a")).await;
    let meta = json!({"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/hold"]});
    t.merge("deployments/a/status", json!({"metadata": meta, "status": {"replicas": 1}})).await;
    t.given("widgets", widget("a", json!({}))).await;
    t.merge("widgets/a/status", json!({"metadata": meta, "status": {"phase": "x"}})).await;
}

async fn the_status_of_a_custom_object_is_separate(t: &Target) {
    let made = t.post("widgets", with_status(widget("a", json!({"size": 1})), json!({"phase": "No"}))).await;
    t.merge("widgets/a", json!({"status": {"phase": "No"}})).await;
    t.merge("widgets/a/status", json!({"status": {"phase": "Yes", "odd": 1}, "spec": {"size": 5}})).await;
    let mut body = made.body;
    body["metadata"]["resourceVersion"] = json!(t.peek("widgets/a").await.meta("resourceVersion"));
    body["status"] = json!({"phase": "Put"});
    t.put("widgets/a/status", body).await;
    t.get("widgets/a").await;
}

async fn a_status_write_of_an_absent_object_is_not_found(t: &Target) {
    t.merge("deployments/a/status", json!({"status": {}})).await;
    t.merge("widgets/a/status", json!({"status": {}})).await;
    t.put("deployments/a/status", deployment("a")).await;
    t.get("deployments/a/status").await;
}

async fn a_stale_status_write_is_a_conflict(t: &Target) {
    let made = t.given("widgets", widget("a", json!({}))).await;
    t.merge("widgets/a", json!({"spec": {"size": 1}})).await;
    t.put("widgets/a/status", with_status(made.body, json!({"phase": "x"}))).await;
}

async fn the_status_can_be_read_alone(t: &Target) {
    t.given("deployments", deployment("a")).await;
    t.get("deployments/a/status").await;
    t.given("widgets", widget("a", json!({}))).await;
    t.get("widgets/a/status").await;
}

async fn an_invalid_status_is_refused(t: &Target) {
    t.given("deployments", deployment("a")).await;
    t.merge("deployments/a/status", json!({"status": {"replicas": -1}})).await;
    t.given("widgets", widget("a", json!({}))).await;
    t.merge("widgets/a/status", json!({"status": {"phase": 5}})).await;
}

async fn the_scale_of_a_deployment_is_read(t: &Target) {
    t.given("deployments", deployment("a")).await;
    t.merge("deployments/a/status", json!({"status": {"replicas": 4}})).await;
    t.get("deployments/a/scale").await;
}

async fn a_scale_update_changes_the_replicas(t: &Target) {
    t.given("deployments", deployment("a")).await;
    let mut scale = t.get("deployments/a/scale").await.body;
    scale["spec"]["replicas"] = json!(7);
    t.put("deployments/a/scale", scale.clone()).await;
    scale["spec"]["replicas"] = json!(8);
    t.put("deployments/a/scale", scale).await;
    let bare = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "{id}"}});
    t.put("deployments/a/scale", bare).await;
    t.get("deployments/a").await;
}

async fn a_scale_patch_changes_the_replicas(t: &Target) {
    t.given("deployments", deployment("a")).await;
    t.merge("deployments/a/scale", json!({"spec": {"replicas": 3}})).await;
    t.json_patch("deployments/a/scale", json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]))
        .await;
    t.get("deployments/a").await;
}

async fn a_negative_scale_is_invalid(t: &Target) {
    t.given("deployments", deployment("a")).await;
    t.merge("deployments/a/scale", json!({"spec": {"replicas": -3}})).await;
    t.given("widgets", widget("a", json!({"replicas": 1}))).await;
    t.merge("widgets/a/scale", json!({"spec": {"replicas": -3}})).await;
}

async fn the_scale_of_a_custom_object_follows_its_paths(t: &Target) {
    t.given("widgets", widget("a", json!({"replicas": 2}))).await;
    t.merge("widgets/a/status", json!({"status": {"replicas": 1, "selector": "app=a"}})).await;
    let mut scale = t.get("widgets/a/scale").await.body;
    scale["spec"]["replicas"] = json!(5);
    t.put("widgets/a/scale", scale).await;
    t.get("widgets/a").await;
}

async fn a_custom_object_without_replicas_has_no_scale_to_read(t: &Target) {
    t.given("widgets", widget("a", json!({}))).await;
    t.get("widgets/a/scale").await;
    t.merge("widgets/a/scale", json!({"spec": {"replicas": 1}})).await;
}

async fn the_scale_of_an_absent_object_is_not_found(t: &Target) {
    t.get("deployments/a/scale").await;
    t.get("widgets/a/scale").await;
    t.merge("deployments/a/scale", json!({"spec": {"replicas": 1}})).await;
}

async fn every_scalable_kind_has_a_scale(t: &Target) {
    let mut set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}, "spec": pods_of("a")});
    set["spec"]["serviceName"] = json!("a");
    t.given("statefulsets", set).await;
    t.get("statefulsets/a/scale").await;
    t.given(
        "replicasets",
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a"},
        "spec": pods_of("a")}),
    )
    .await;
    t.get("replicasets/a/scale").await;
    t.get("daemonsets/a/scale").await;
}

async fn an_unknown_subresource_is_not_found(t: &Target) {
    t.given("configmaps", crate::objects::config_map("a", json!({}))).await;
    t.get("configmaps/a/status").await;
    t.get("configmaps/a/anything").await;
    t.given("widgets", widget("a", json!({}))).await;
    t.get("widgets/a/anything").await;
    t.get("deployments/a/status/more").await;
}

async fn a_binding_gives_a_pod_its_node(t: &Target) {
    t.given("pods", pod("a")).await;
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"}});
    t.post("pods/a/binding", binding.clone()).await;
    let seen = t.get("pods/a").await;
    t.note("status", seen.body["status"]["conditions"][0]["type"].clone());
    t.post("pods/none/binding", binding).await;
}

async fn a_second_binding_is_a_conflict(t: &Target) {
    t.given("pods", pod("a")).await;
    let binding = |node: &str| {
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
    };
    t.given("pods/a/binding", binding("node-1")).await;
    t.post("pods/a/binding", binding("node-2")).await;
    t.merge("pods/a", json!({"spec": {"nodeName": "node-2"}})).await;
}

/// A request for a certificate, made with a P-256 key: CN=system:node:n, O=system:nodes.
pub(crate) const REQUEST: &str = "\
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIcU1JR1JBZ0VBTUM4eEZUQVRCZ05WQkFvTURITjVjM1Js\
    YlRwdWIyUmxjekVXTUJRR0ExVUVBd3dOYzNsegpkR1Z0T201dlpHVTZiakJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdF\
    SEEwSUFCREZ2cUNWTFZob2czTGIxClNFaGtNMXpKN0xiUGhPTHBHa1kxeTBINmlvSHRQQjhKZ2VSMngwQ0JoelV4VTdCTnZr\
    M2tycnRnM1A1MERyTzQKcU5JUjNBaWdBREFLQmdncWhrak9QUVFEQWdOSUFEQkZBaUFMd3psMFBZOWdYTEVSSzRBakE1dTlC\
    SEdPOFljQgpuWjZWb1lwZjloN21yUUloQUxsWTN5QlFiMGJ4S0RueHZONDkrVGhReGFlUXJJeFNEeFlicmx0RnlsTWkKLS0t\
    LS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

fn signing_request() -> Value {
    json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{id}"},
        "spec": {"request": REQUEST, "signerName": "example.com/signer", "usages": ["digital signature", "client auth"]}})
}

async fn a_signing_request_is_approved_through_its_subresource(t: &Target) {
    let made = t.post("certificatesigningrequests", signing_request()).await;
    let mut next = made.body;
    let condition = json!({"type": "Approved", "status": "True", "reason": "Tested", "message": "by a test"});
    next["status"] = json!({"conditions": [condition]});
    t.put("certificatesigningrequests/{id}", next.clone()).await;
    next["metadata"]["resourceVersion"] = json!("");
    let answer = t.put("certificatesigningrequests/{id}/approval", next.clone()).await;
    next["metadata"]["resourceVersion"] = json!(answer.meta("resourceVersion"));
    next["status"]["conditions"][0]["type"] = json!("Denied");
    t.put("certificatesigningrequests/{id}/approval", next).await;
    t.get("certificatesigningrequests/{id}").await;
}

async fn a_signing_request_status_takes_a_certificate_or_refuses_it(t: &Target) {
    t.given("certificatesigningrequests", signing_request()).await;
    t.merge("certificatesigningrequests/{id}/status", json!({"status": {"certificate": "bm90IHBlbQ=="}}))
        .await;
    t.merge("certificatesigningrequests/{id}", json!({"spec": {"signerName": "example.com/other"}})).await;
    t.get("certificatesigningrequests/{id}").await;
}

async fn a_pod_status_is_written_by_patch(t: &Target) {
    t.given("pods", pod("a")).await;
    status(t, "pods/a").await;
    let running = json!({"phase": "Running", "podIP": "10.0.0.5", "podIPs": [{"ip": "10.0.0.5"}],
        "startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "c", "ready": true, "restartCount": 0, "image": "example.com/c:1",
            "imageID": "", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]});
    t.merge("pods/a/status", json!({"status": running})).await;
    status(t, "pods/a").await;
    t.merge("pods/a/status", json!({"spec": {"nodeName": "x"}})).await;
}

async fn a_node_status_is_written_by_patch(t: &Target) {
    t.post(
        "nodes",
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "{id}"},
        "status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
    )
    .await;
    let ready = json!({"capacity": {"cpu": "4", "memory": "8192Mi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]});
    t.merge("nodes/{id}/status", json!({"status": ready})).await;
    t.merge("nodes/{id}", json!({"spec": {"unschedulable": true}})).await;
}

async fn a_namespace_status_is_separate(t: &Target) {
    t.given("namespaces", namespace("{id}-n")).await;
    t.merge("namespaces/{id}-n", json!({"status": {"phase": "Terminating"}})).await;
    t.merge(
        "namespaces/{id}-n/status",
        json!({"status": {"conditions": [{"type": "NamespaceContentRemaining",
        "status": "False"}]}}),
    )
    .await;
}

async fn a_token_is_requested_through_a_service_account(t: &Target) {
    t.given(
        "serviceaccounts",
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}),
    )
    .await;
    t.get("serviceaccounts/a").await;
    t.get("serviceaccounts/a/token").await;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    t.post("serviceaccounts/none/token", request).await;
}
