//! Dry runs: every verb answers as if it had happened, and nothing has.

use serde_json::json;

use crate::objects::{config_map, deployment, labelled, service, widget};
use crate::target::{Target, cases};

cases!("dry run", controllers: false;
    a_dry_create_stores_nothing,
    a_dry_create_of_an_existing_object_is_a_conflict,
    a_dry_update_stores_nothing,
    a_dry_patch_stores_nothing,
    a_dry_apply_stores_nothing,
    a_dry_delete_keeps_the_object,
    a_dry_delete_of_a_held_object_keeps_it,
    a_dry_delete_of_a_collection_keeps_it,
    a_dry_status_and_scale_store_nothing,
    a_dry_run_is_validated_and_defaulted,
    a_dry_service_takes_no_address,
    a_dry_generated_name_is_given,
    a_dry_definition_defines_nothing,
);

async fn unchanged(t: &Target, path: &str, version: &str) {
    let now = t.peek(path).await;
    t.note("unchanged", now.meta("resourceVersion") == version);
}

async fn a_dry_create_stores_nothing(t: &Target) {
    t.post("configmaps?dryRun=All", config_map("a", json!({"k": "v"}))).await;
    t.post("widgets?dryRun=All", widget("a", json!({"size": 1}))).await;
    t.get("configmaps/a").await;
    t.get("widgets/a").await;
}

async fn a_dry_create_of_an_existing_object_is_a_conflict(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    t.post("configmaps?dryRun=All", config_map("a", json!({}))).await;
}

async fn a_dry_update_stores_nothing(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.put("configmaps/a?dryRun=All", config_map("a", json!({"k": "w"}))).await;
    unchanged(t, "configmaps/a", &made.meta("resourceVersion")).await;
    t.put("configmaps/none?dryRun=All", config_map("none", json!({}))).await;
}

async fn a_dry_patch_stores_nothing(t: &Target) {
    let made = t.given("deployments", deployment("a")).await;
    t.merge("deployments/a?dryRun=All", json!({"spec": {"replicas": 3}})).await;
    t.json_patch(
        "deployments/a?dryRun=All",
        json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]),
    )
    .await;
    unchanged(t, "deployments/a", &made.meta("resourceVersion")).await;
}

async fn a_dry_apply_stores_nothing(t: &Target) {
    t.apply("one", "configmaps/new?dryRun=All", config_map("new", json!({"k": "v"}))).await;
    t.get("configmaps/new").await;
    let made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.apply("one", "configmaps/a?dryRun=All", config_map("a", json!({"k": "w"}))).await;
    t.force("one", "configmaps/a?dryRun=All", config_map("a", json!({"k": "w"}))).await;
    unchanged(t, "configmaps/a", &made.meta("resourceVersion")).await;
}

async fn a_dry_delete_keeps_the_object(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({}))).await;
    t.delete("configmaps/a?dryRun=All").await;
    t.delete_with("configmaps/a", json!({"dryRun": ["All"]})).await;
    unchanged(t, "configmaps/a", &made.meta("resourceVersion")).await;
    t.delete("configmaps/none?dryRun=All").await;
}

async fn a_dry_delete_of_a_held_object_keeps_it(t: &Target) {
    let mut body = config_map("a", json!({}));
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let made = t.given("configmaps", body).await;
    t.delete("configmaps/a?dryRun=All").await;
    unchanged(t, "configmaps/a", &made.meta("resourceVersion")).await;
}

async fn a_dry_delete_of_a_collection_keeps_it(t: &Target) {
    let made = t.given("configmaps", labelled("a", json!({"all": "x"}))).await;
    t.delete("configmaps?labelSelector=all=x&dryRun=All").await;
    unchanged(t, "configmaps/a", &made.meta("resourceVersion")).await;
}

async fn a_dry_status_and_scale_store_nothing(t: &Target) {
    let made = t.given("widgets", widget("a", json!({"replicas": 1}))).await;
    t.merge("widgets/a/status?dryRun=All", json!({"status": {"phase": "x"}})).await;
    t.merge("widgets/a/scale?dryRun=All", json!({"spec": {"replicas": 5}})).await;
    unchanged(t, "widgets/a", &made.meta("resourceVersion")).await;
    let made = t.given("deployments", deployment("a")).await;
    t.merge("deployments/a/scale?dryRun=All", json!({"spec": {"replicas": 5}})).await;
    unchanged(t, "deployments/a", &made.meta("resourceVersion")).await;
}

async fn a_dry_run_is_validated_and_defaulted(t: &Target) {
    t.post("deployments?dryRun=All", deployment("a")).await;
    let mut body = deployment("b");
    body["spec"]["replicas"] = json!(-1);
    t.post("deployments?dryRun=All", body).await;
    t.post("widgets?dryRun=All", widget("a", json!({"size": "x"}))).await;
}

async fn a_dry_service_takes_no_address(t: &Target) {
    let mut body = service("a");
    body["spec"]["clusterIP"] = json!("172.30.99.99");
    t.post("services?dryRun=All", body.clone()).await;
    t.post("services?dryRun=All", body).await;
    t.post("services?dryRun=All", service("b")).await;
}

async fn a_dry_generated_name_is_given(t: &Target) {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "some-"}});
    t.post("configmaps?dryRun=All", body).await;
}

async fn a_dry_definition_defines_nothing(t: &Target) {
    let body = crate::objects::definition("{group}", "Gear", crate::objects::schema(json!({})));
    t.post("customresourcedefinitions?dryRun=All", body).await;
    t.get("customresourcedefinitions/gears.{group}").await;
    t.get("/apis/{group}/v1/gears").await;
}
