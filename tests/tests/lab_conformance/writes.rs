//! Create, read, update and delete of single objects.

use serde_json::json;

use crate::objects::{config_map, deployment, labelled, namespace, pod, service, widget};
use crate::target::{Target, cases};

cases!("create, update, delete", controllers: false;
    a_created_object_comes_back_as_it_is_stored,
    a_second_create_of_the_same_name_is_a_conflict,
    create_without_a_name_and_prefix_is_invalid,
    a_prefix_gets_a_random_end,
    a_prefix_beside_a_name_is_kept_and_the_name_wins,
    a_wrong_name_is_invalid_and_a_service_may_begin_with_a_digit,
    server_fields_in_a_create_are_ignored,
    an_update_replaces_what_it_leaves_out,
    an_equal_update_writes_nothing,
    an_update_with_a_stale_version_is_a_conflict,
    an_update_without_a_version_wins,
    an_update_of_an_absent_object_creates_nothing,
    an_update_with_another_uid_is_refused,
    an_update_may_not_change_creation_fields,
    generation_counts_changes_of_the_spec_only,
    a_delete_answers_with_a_success_status,
    a_delete_of_an_absent_object_is_not_found,
    a_deleted_name_can_be_used_again_with_a_new_uid,
    a_collection_is_deleted_by_label,
    a_collection_of_nothing_is_deleted_successfully,
    an_immutable_config_map_keeps_its_data,
    an_immutable_selector_keeps_its_value,
    a_secret_turns_texts_into_bytes,
    quantities_are_written_in_one_form,
    wrong_labels_and_annotations_are_invalid,
    a_cluster_wide_object_has_no_namespace,
    a_custom_object_is_created_updated_and_deleted,
    a_service_keeps_its_address_over_updates,
);

async fn a_created_object_comes_back_as_it_is_stored(t: &Target) {
    t.post("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.get("configmaps/a").await;
}

async fn a_second_create_of_the_same_name_is_a_conflict(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.post("configmaps", config_map("a", json!({"k": "w"}))).await;
    t.given("widgets", widget("a", json!({}))).await;
    t.post("widgets", widget("a", json!({"size": 1}))).await;
    t.get("configmaps/a").await;
}

async fn create_without_a_name_and_prefix_is_invalid(t: &Target) {
    t.post("configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})).await;
    t.post("widgets", json!({"apiVersion": "{shared}/v1", "kind": "Widget"})).await;
}

async fn a_prefix_gets_a_random_end(t: &Target) {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "some-"}});
    let one = t.post("configmaps", body.clone()).await;
    let two = t.post("configmaps", body).await;
    t.note("length", one.meta("name").len());
    t.note("two names", one.meta("name") != two.meta("name"));
}

async fn a_prefix_beside_a_name_is_kept_and_the_name_wins(t: &Target) {
    let meta = json!({"generateName": "other-", "name": "a"});
    t.post("configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})).await;
}

async fn a_wrong_name_is_invalid_and_a_service_may_begin_with_a_digit(t: &Target) {
    t.post("configmaps", config_map("Not_Right", json!({}))).await;
    t.post("configmaps", config_map("-a", json!({}))).await;
    t.post("configmaps", config_map(&"x".repeat(254), json!({}))).await;
    t.post("services", service("1a")).await;
    t.post("services", service("a.b")).await;
    t.post("namespaces", namespace("a.b")).await;
    t.post("widgets", widget("A", json!({}))).await;
    t.post("pods", pod("a_b")).await;
}

async fn server_fields_in_a_create_are_ignored(t: &Target) {
    let meta = json!({"name": "a", "uid": "0a1b2c3d-0000-4000-8000-000000000001", "generation": 9,
        "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x", "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5});
    let made = t.post("deployments", {
        let mut body = deployment("a");
        body["metadata"] = meta;
        body["status"] = json!({"replicas": 7});
        body
    });
    let made = made.await;
    t.note("own uid", made.meta("uid") != "0a1b2c3d-0000-4000-8000-000000000001");
    t.note("own time", !made.meta("creationTimestamp").starts_with("2001"));
    t.note("generation", made.body["metadata"]["generation"].clone());
    let mut versioned = config_map("b", json!({}));
    versioned["metadata"]["resourceVersion"] = json!("1");
    t.post("configmaps", versioned).await;
}

async fn an_update_replaces_what_it_leaves_out(t: &Target) {
    let mut body = config_map("a", json!({"k": "v", "l": "w"}));
    body["metadata"]["labels"] = json!({"x": "y"});
    t.given("configmaps", body).await;
    t.put("configmaps/a", config_map("a", json!({"k": "z"}))).await;
    t.get("configmaps/a").await;
}

async fn an_equal_update_writes_nothing(t: &Target) {
    let made = t.given("deployments", deployment("a")).await;
    let same = t.put("deployments/a", made.body.clone()).await;
    t.note("same version", same.meta("resourceVersion") == made.meta("resourceVersion"));
    let made = t.given("widgets", widget("a", json!({"size": 1}))).await;
    let same = t.put("widgets/a", made.body.clone()).await;
    t.note("same version", same.meta("resourceVersion") == made.meta("resourceVersion"));
}

async fn an_update_with_a_stale_version_is_a_conflict(t: &Target) {
    let first = t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.merge("configmaps/a", json!({"data": {"k": "w"}})).await;
    t.put("configmaps/a", first.body.clone()).await;
    let mut wrong = first.body;
    wrong["metadata"]["resourceVersion"] = json!("abc");
    t.put("configmaps/a", wrong).await;
    let first = t.given("widgets", widget("a", json!({"size": 1}))).await;
    t.merge("widgets/a", json!({"spec": {"size": 2}})).await;
    t.put("widgets/a", first.body).await;
}

async fn an_update_without_a_version_wins(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.put("configmaps/a", config_map("a", json!({"k": "w"}))).await;
    t.given("widgets", widget("a", json!({"size": 1}))).await;
    // A custom kind insists on the version.
    t.put("widgets/a", widget("a", json!({"size": 2}))).await;
}

async fn an_update_of_an_absent_object_creates_nothing(t: &Target) {
    t.put("configmaps/a", config_map("a", json!({"k": "v"}))).await;
    t.put("deployments/a", deployment("a")).await;
    t.put("widgets/a", widget("a", json!({}))).await;
    t.get("configmaps/a").await;
}

async fn an_update_with_another_uid_is_refused(t: &Target) {
    let mut made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await.body;
    made["metadata"]["uid"] = json!("0a1b2c3d-0000-4000-8000-000000000001");
    t.put("configmaps/a", made.clone()).await;
    made["metadata"]["resourceVersion"] = json!("");
    t.put("configmaps/a", made).await;
}

async fn an_update_may_not_change_creation_fields(t: &Target) {
    let mut made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await.body;
    made["metadata"]["creationTimestamp"] = json!("2001-01-01T00:00:00Z");
    made["metadata"]["generation"] = json!(77);
    made["metadata"]["deletionTimestamp"] = json!("2001-01-01T00:00:00Z");
    let now = t.put("configmaps/a", made).await;
    t.note("own time", !now.meta("creationTimestamp").starts_with("2001"));
}

async fn generation_counts_changes_of_the_spec_only(t: &Target) {
    let mut generations =
        vec![t.given("deployments", deployment("a")).await.body["metadata"]["generation"].clone()];
    for (path, patch) in [
        ("deployments/a", json!({"metadata": {"labels": {"a": "b"}}})),
        ("deployments/a", json!({"spec": {"replicas": 3}})),
        ("deployments/a", json!({"spec": {"replicas": 3}})),
        ("deployments/a/status", json!({"status": {"replicas": 3}})),
    ] {
        generations.push(t.merge(path, patch).await.body["metadata"]["generation"].clone());
    }
    t.note("deployment", generations);
    let mut generations =
        vec![t.given("widgets", widget("a", json!({}))).await.body["metadata"]["generation"].clone()];
    for (path, patch) in [
        ("widgets/a", json!({"metadata": {"labels": {"a": "b"}}})),
        ("widgets/a", json!({"spec": {"size": 3}})),
        ("widgets/a/status", json!({"status": {"phase": "x"}})),
    ] {
        generations.push(t.merge(path, patch).await.body["metadata"]["generation"].clone());
    }
    t.note("custom", generations);
}

async fn a_delete_answers_with_a_success_status(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    t.delete("configmaps/a").await;
    t.get("configmaps/a").await;
    t.given("services", service("a")).await;
    t.delete("services/a").await;
    t.given("widgets", widget("a", json!({}))).await;
    t.delete("widgets/a").await;
    t.given("deployments", deployment("a")).await;
    t.delete("deployments/a").await;
}

async fn a_delete_of_an_absent_object_is_not_found(t: &Target) {
    t.delete("configmaps/a").await;
    t.delete("deployments/a").await;
    t.delete("widgets/a").await;
    t.delete("clusterroles/{id}").await;
}

async fn a_deleted_name_can_be_used_again_with_a_new_uid(t: &Target) {
    let one = t.given("configmaps", config_map("a", json!({}))).await;
    t.delete("configmaps/a").await;
    let two = t.post("configmaps", config_map("a", json!({}))).await;
    t.note("another uid", one.meta("uid") != two.meta("uid"));
}

async fn a_collection_is_deleted_by_label(t: &Target) {
    for (name, side) in [("a", "left"), ("b", "right"), ("c", "left")] {
        t.given("configmaps", labelled(name, json!({"side": side, "case": "x"}))).await;
    }
    t.delete("configmaps?labelSelector=side=left").await;
    t.get("configmaps?labelSelector=case=x").await;
}

async fn a_collection_of_nothing_is_deleted_successfully(t: &Target) {
    t.delete("configmaps?labelSelector=side=nowhere").await;
    t.delete("widgets").await;
    t.delete("services").await;
}

async fn an_immutable_config_map_keeps_its_data(t: &Target) {
    let mut body = config_map("a", json!({"k": "v"}));
    body["immutable"] = json!(true);
    t.given("configmaps", body).await;
    t.merge("configmaps/a", json!({"data": {"k": "w"}})).await;
    t.merge("configmaps/a", json!({"immutable": false})).await;
    t.merge("configmaps/a", json!({"metadata": {"labels": {"a": "b"}}})).await;
}

async fn an_immutable_selector_keeps_its_value(t: &Target) {
    t.given("deployments", deployment("a")).await;
    let changed = json!({"spec": {"selector": {"matchLabels": {"app": "b"}},
        "template": {"metadata": {"labels": {"app": "b"}}}}});
    t.merge("deployments/a", changed).await;
}

async fn a_secret_turns_texts_into_bytes(t: &Target) {
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "data": {"k": "eA==", "both": "eA=="}, "stringData": {"s": "text", "both": "wins"}});
    t.post("secrets", body).await;
    t.merge("secrets/a", json!({"type": "other"})).await;
    t.put(
        "secrets/a",
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "data": {"k": "not base64"}}),
    )
    .await;
    t.merge("secrets/a", json!({"stringData": {"k": "new"}})).await;
}

async fn quantities_are_written_in_one_form(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({
        "requests": {"cpu": "1000m", "memory": "1024Mi", "ephemeral-storage": "1e3"},
        "limits": {"cpu": 2.5, "memory": "1.5Gi", "ephemeral-storage": "0.5Gi"}});
    t.post("deployments", body.clone()).await;
    body["metadata"]["name"] = json!("b");
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1x"}});
    t.post("deployments", body.clone()).await;
    body["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}});
    t.post("deployments", body).await;
}

async fn wrong_labels_and_annotations_are_invalid(t: &Target) {
    t.post("configmaps", labelled("a", json!({"a b": "c"}))).await;
    t.post("configmaps", labelled("a", json!({"a": "-c"}))).await;
    t.post("configmaps", labelled("a", json!({"x/y/z": "c"}))).await;
    let mut body = config_map("a", json!({}));
    body["metadata"]["annotations"] = json!({"UPPER/ok": "any text at all\n", "bad key": ""});
    t.post("configmaps", body.clone()).await;
    body["metadata"]["annotations"] = json!({"long": "x".repeat(262_200)});
    t.post("configmaps", body).await;
}

async fn a_cluster_wide_object_has_no_namespace(t: &Target) {
    let body = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "{id}", "namespace": "{id}"}, "rules": []});
    t.post("clusterroles", body.clone()).await;
    t.put("clusterroles/{id}", body).await;
    t.get("clusterroles/{id}").await;
    t.delete("clusterroles/{id}").await;
}

async fn a_custom_object_is_created_updated_and_deleted(t: &Target) {
    let made = t.post("widgets", widget("a", json!({"size": 1}))).await;
    let mut next = made.body;
    next["spec"]["size"] = json!(2);
    t.put("widgets/a", next).await;
    t.get("widgets/a").await;
    t.delete("widgets/a").await;
    t.get("widgets").await;
}

async fn a_service_keeps_its_address_over_updates(t: &Target) {
    let made = t.given("services", service("a")).await;
    let next = t.put("services/a", service("a")).await;
    t.note("same address", made.body["spec"]["clusterIP"] == next.body["spec"]["clusterIP"]);
    t.merge("services/a", json!({"spec": {"clusterIP": "172.30.200.200"}})).await;
    t.merge("services/a", json!({"spec": {"type": "NodePort"}})).await;
    t.merge("services/a", json!({"spec": {"type": "ClusterIP"}})).await;
}
