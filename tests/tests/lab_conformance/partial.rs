//! Metadata alone, tables, and dry runs: other forms of the same requests.

use serde_json::json;

use crate::objects::{config_map, deployment, labelled, namespace, widget};
use crate::target::{Target, cases};

cases!("metadata only", controllers: false;
    an_object_as_metadata_shows_nothing_else,
    a_list_as_metadata_shows_nothing_else,
    metadata_of_custom_objects_is_the_same,
    metadata_lists_have_limits_and_selectors,
    a_write_can_answer_with_metadata,
    metadata_of_an_absent_object_is_not_found,
    the_first_known_form_of_several_is_used,
    the_old_version_of_metadata_is_served_too,
    a_deletion_can_answer_with_metadata,
);

const OBJECT: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

async fn an_object_as_metadata_shows_nothing_else(t: &Target) {
    t.given("deployments", deployment("a")).await;
    t.get_as("deployments/a", OBJECT).await;
    t.get_as("namespaces/{id}", OBJECT).await;
    t.get_as("deployments/a", LIST).await;
}

async fn a_list_as_metadata_shows_nothing_else(t: &Target) {
    t.given("deployments", deployment("a")).await;
    t.given("deployments", deployment("b")).await;
    t.get_as("deployments", LIST).await;
    t.get_as("secrets", LIST).await;
    t.get_as("deployments", OBJECT).await;
}

async fn metadata_of_custom_objects_is_the_same(t: &Target) {
    t.given("widgets", widget("a", json!({"size": 1}))).await;
    t.get_as("widgets/a", OBJECT).await;
    t.get_as("widgets", LIST).await;
}

async fn metadata_lists_have_limits_and_selectors(t: &Target) {
    for name in ["a", "b", "c"] {
        t.given("configmaps", labelled(name, json!({"all": "x"}))).await;
    }
    t.get_as("configmaps?limit=2&labelSelector=all=x", LIST).await;
    t.get_as("configmaps?fieldSelector=metadata.name=b", LIST).await;
}

async fn a_write_can_answer_with_metadata(t: &Target) {
    use crate::wire::Call;
    let call =
        Call::new("POST", t.path("configmaps")).body(&config_map("a", json!({"k": "v"}))).accept(OBJECT);
    t.send("POST", call).await;
    let patch = json!({"data": {"k": "w"}}).to_string().into_bytes();
    let call = Call::new("PATCH", t.path("configmaps/a"))
        .bytes("application/merge-patch+json", patch)
        .accept(OBJECT);
    t.send("PATCH", call).await;
}

async fn metadata_of_an_absent_object_is_not_found(t: &Target) {
    t.get_as("configmaps/none", OBJECT).await;
    t.get_as("widgets/none", OBJECT).await;
}

async fn the_first_known_form_of_several_is_used(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.get_as(
        "configmaps/a",
        &format!("application/json;as=Nothing;g=meta.k8s.io;v=v1,{OBJECT},application/json"),
    )
    .await;
    t.get_as("configmaps/a", "application/json;as=Nothing;g=meta.k8s.io;v=v1,application/json").await;
    t.get_as("configmaps/a", "application/json;q=0.5").await;
}

async fn the_old_version_of_metadata_is_served_too(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.get_as("configmaps/a", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1").await;
}

async fn a_deletion_can_answer_with_metadata(t: &Target) {
    use crate::wire::Call;
    t.given("namespaces", namespace("{id}-m")).await;
    let mut body = config_map("a", json!({"k": "v"}));
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    t.given("configmaps", body).await;
    t.send("DELETE", Call::new("DELETE", t.path("configmaps/a")).accept(OBJECT)).await;
}
