//! Namespaces: their life, what is in them, and what they refuse.

use serde_json::{Value, json};

use crate::objects::{config_map, labelled, namespace};
use crate::target::{Target, cases};

cases!("namespaces", controllers: true;
    a_namespace_gets_its_label_phase_and_finalizer,
    a_create_in_a_missing_namespace_is_not_found,
    a_read_in_a_missing_namespace_is_empty_or_not_found,
    a_deleted_namespace_is_terminating_while_something_holds_it,
    a_terminating_namespace_takes_nothing_new,
    a_terminating_namespace_still_takes_changes,
    a_deleted_namespace_takes_its_content_along,
    a_second_delete_of_a_terminating_namespace_succeeds,
    a_namespace_can_come_back_after_its_end,
    finalize_sets_the_finalizers_of_the_spec,
    the_label_of_the_name_cannot_be_changed,
    the_default_namespaces_cannot_be_deleted,
    a_body_with_another_namespace_is_refused,
    a_namespaced_kind_needs_a_namespace_to_create,
    a_cluster_wide_kind_is_not_in_a_namespace,
    a_namespace_collection_cannot_be_deleted,
    a_watch_sees_the_whole_life_of_a_namespace,
);

fn held(name: &str) -> Value {
    let mut body = labelled(name, json!({"all": "x"}));
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    body
}

/// A namespace beside that of the case, with one object that holds it.
async fn terminating(t: &Target) {
    t.given("namespaces", namespace("{id}-t")).await;
    t.given("/api/v1/namespaces/{id}-t/configmaps", held("held")).await;
    t.delete_unrecorded("namespaces/{id}-t", json!({})).await;
    t.settled("/api/v1/namespaces/{id}-t/configmaps/held", |answer| {
        !answer.body["metadata"]["deletionTimestamp"].is_null()
    })
    .await;
}

async fn release(t: &Target) {
    t.merge("/api/v1/namespaces/{id}-t/configmaps/held", json!({"metadata": {"finalizers": null}})).await;
}

async fn a_namespace_gets_its_label_phase_and_finalizer(t: &Target) {
    t.post("namespaces", namespace("{id}-n")).await;
    t.get("namespaces/{id}-n").await;
    let mut body = namespace("{id}-m");
    body["metadata"]["labels"] = json!({"a": "b", "kubernetes.io/metadata.name": "wrong"});
    body["spec"] = json!({"finalizers": []});
    body["status"] = json!({"phase": "Terminating"});
    t.post("namespaces", body).await;
}

async fn a_create_in_a_missing_namespace_is_not_found(t: &Target) {
    t.post("/api/v1/namespaces/{id}-none/configmaps", config_map("a", json!({}))).await;
    t.post("/apis/apps/v1/namespaces/{id}-none/deployments", crate::objects::deployment("a")).await;
}

async fn a_read_in_a_missing_namespace_is_empty_or_not_found(t: &Target) {
    t.get("/api/v1/namespaces/{id}-none/configmaps").await;
    t.get("/api/v1/namespaces/{id}-none/configmaps/a").await;
    t.put("/api/v1/namespaces/{id}-none/configmaps/a", config_map("a", json!({}))).await;
    t.merge("/api/v1/namespaces/{id}-none/configmaps/a", json!({})).await;
    t.delete("/api/v1/namespaces/{id}-none/configmaps/a").await;
    t.delete("/api/v1/namespaces/{id}-none/configmaps").await;
    t.get("namespaces/{id}-none").await;
}

async fn a_deleted_namespace_is_terminating_while_something_holds_it(t: &Target) {
    t.given("namespaces", namespace("{id}-t")).await;
    t.given("/api/v1/namespaces/{id}-t/configmaps", held("held")).await;
    t.delete("namespaces/{id}-t").await;
    let complete = |answer: &crate::wire::Answer| {
        answer.body["status"]["conditions"].as_array().is_some_and(|all| {
            all.iter().any(|one| one["type"] == "NamespaceFinalizersRemaining" && one["status"] == "True")
        })
    };
    t.settled("namespaces/{id}-t", complete).await;
    let seen = t.peek("namespaces/{id}-t").await;
    t.note("phase", json!([seen.body["status"]["phase"], seen.body["spec"]]));
    let types: Vec<Value> = seen.body["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| json!([one["type"], one["status"], one["reason"], one["message"]]))
        .collect();
    t.note("conditions", types);
    release(t).await;
    t.eventually("namespaces/{id}-t", |answer| answer.code == 404).await;
}

async fn a_terminating_namespace_takes_nothing_new(t: &Target) {
    terminating(t).await;
    t.post("/api/v1/namespaces/{id}-t/configmaps", config_map("a", json!({}))).await;
    t.apply("one", "/api/v1/namespaces/{id}-t/configmaps/a", config_map("a", json!({}))).await;
    t.post("/apis/apps/v1/namespaces/{id}-t/deployments", crate::objects::deployment("a")).await;
    release(t).await;
}

async fn a_terminating_namespace_still_takes_changes(t: &Target) {
    terminating(t).await;
    t.merge("/api/v1/namespaces/{id}-t/configmaps/held", json!({"data": {"k": "v"}})).await;
    t.apply("one", "/api/v1/namespaces/{id}-t/configmaps/held", config_map("held", json!({"l": "v"}))).await;
    let labelled = t.merge_quiet("namespaces/{id}-t", json!({"metadata": {"labels": {"a": "b"}}})).await;
    t.note("namespace", json!({"code": labelled.code, "labels": labelled.body["metadata"]["labels"]}));
    release(t).await;
}

async fn a_deleted_namespace_takes_its_content_along(t: &Target) {
    t.given("namespaces", namespace("{id}-t")).await;
    t.given("/api/v1/namespaces/{id}-t/configmaps", config_map("a", json!({}))).await;
    t.given(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{id}-t/roles",
        json!({"apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role", "metadata": {"name": "r"}, "rules": []}),
    )
    .await;
    t.delete("namespaces/{id}-t").await;
    t.eventually("namespaces/{id}-t", |answer| answer.code == 404).await;
    t.get("/api/v1/namespaces/{id}-t/configmaps").await;
    t.get("/apis/rbac.authorization.k8s.io/v1/namespaces/{id}-t/roles/r").await;
}

async fn a_second_delete_of_a_terminating_namespace_succeeds(t: &Target) {
    terminating(t).await;
    let again = t.delete_unrecorded("namespaces/{id}-t", json!({})).await;
    t.note(
        "again",
        json!({"code": again.code, "reason": again.body["reason"], "message": again.body["message"]}),
    );
    t.post("namespaces", namespace("{id}-t")).await;
    release(t).await;
}

async fn a_namespace_can_come_back_after_its_end(t: &Target) {
    t.given("namespaces", namespace("{id}-t")).await;
    t.given("/api/v1/namespaces/{id}-t/configmaps", config_map("a", json!({}))).await;
    t.delete_unrecorded("namespaces/{id}-t", json!({})).await;
    t.settled("namespaces/{id}-t", |answer| answer.code == 404).await;
    t.post("namespaces", namespace("{id}-t")).await;
    t.get("/api/v1/namespaces/{id}-t/configmaps/a").await;
    t.post("/api/v1/namespaces/{id}-t/configmaps", config_map("a", json!({}))).await;
}

async fn finalize_sets_the_finalizers_of_the_spec(t: &Target) {
    let mut made = t.given("namespaces", namespace("{id}-f")).await.body;
    made["spec"]["finalizers"] = json!(["kubernetes", "example.com/more"]);
    t.put("namespaces/{id}-f/finalize", made.clone()).await;
    t.merge("namespaces/{id}-f", json!({"spec": {"finalizers": []}})).await;
    t.put("namespaces/{id}-none/finalize", namespace("{id}-none")).await;
    t.get("namespaces/{id}-f/finalize").await;
}

async fn the_label_of_the_name_cannot_be_changed(t: &Target) {
    t.given("namespaces", namespace("{id}-n")).await;
    t.merge("namespaces/{id}-n", json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}})).await;
    t.merge("namespaces/{id}-n", json!({"metadata": {"labels": null}})).await;
    t.merge("namespaces/{id}-n", json!({"metadata": {"labels": {"a": "b"}}})).await;
}

async fn the_default_namespaces_cannot_be_deleted(t: &Target) {
    for name in ["default", "kube-system", "kube-public"] {
        t.delete(&format!("namespaces/{name}?dryRun=All")).await;
    }
}

async fn a_body_with_another_namespace_is_refused(t: &Target) {
    let mut body = config_map("a", json!({}));
    body["metadata"]["namespace"] = json!("default");
    t.post("configmaps", body.clone()).await;
    t.given("configmaps", config_map("a", json!({}))).await;
    t.put("configmaps/a", body).await;
}

async fn a_namespaced_kind_needs_a_namespace_to_create(t: &Target) {
    t.post("/api/v1/configmaps", config_map("a", json!({}))).await;
    t.get("/api/v1/configmaps/a").await;
    t.delete("/api/v1/configmaps").await;
    t.post("/apis/apps/v1/deployments", crate::objects::deployment("a")).await;
}

async fn a_cluster_wide_kind_is_not_in_a_namespace(t: &Target) {
    t.get("/api/v1/namespaces/{id}/nodes").await;
    t.get("/apis/rbac.authorization.k8s.io/v1/namespaces/{id}/clusterroles/x").await;
    t.get("/apis/apiextensions.k8s.io/v1/namespaces/{id}/customresourcedefinitions").await;
}

async fn a_namespace_collection_cannot_be_deleted(t: &Target) {
    t.delete("/api/v1/namespaces?labelSelector=none={id}").await;
}

async fn a_watch_sees_the_whole_life_of_a_namespace(t: &Target) {
    let version = t.peek("namespaces").await.meta("resourceVersion");
    let path = format!("namespaces?fieldSelector=metadata.name={{id}}-w&resourceVersion={version}");
    let mut watch = t.watch(&t.fill(&path)).await;
    t.given("namespaces", namespace("{id}-w")).await;
    t.delete_unrecorded("namespaces/{id}-w", json!({})).await;
    t.settled("namespaces/{id}-w", |answer| answer.code == 404).await;
    let mut story: Vec<Value> = Vec::new();
    while story.last().is_none_or(|last| last[0] != "DELETED") {
        let events = watch.peek_events(1).await;
        let Some(event) = events.first() else { break };
        let moment = json!([event["type"], event["object"]["status"]["phase"]]);
        if story.last() != Some(&moment) {
            story.push(moment);
        }
    }
    t.note("story", story);
}
