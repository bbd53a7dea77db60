//! JSON patch and merge patch.

use serde_json::json;

use crate::objects::{config_map, deployment, widget};
use crate::target::{Target, cases};
use crate::wire::Call;

cases!("patch", controllers: false;
    a_merge_patch_adds_changes_and_removes,
    a_merge_patch_replaces_lists,
    a_merge_patch_null_of_an_absent_field_changes_nothing,
    an_equal_merge_patch_writes_nothing,
    a_merge_patch_of_an_absent_object_is_not_found,
    a_merge_patch_with_a_stale_version_is_a_conflict,
    a_merge_patch_may_not_rename,
    a_merge_patch_may_not_move_to_another_namespace,
    a_merge_patch_with_another_kind_is_refused,
    a_merge_patch_that_is_no_object_is_refused,
    a_merge_patch_with_an_invalid_value_is_invalid,
    a_merge_patch_of_a_custom_object_fills_defaults_and_prunes,
    a_merge_patch_with_a_wrong_type_in_a_custom_object_is_invalid,
    json_patch_knows_its_six_operations,
    json_patch_inserts_into_and_appends_to_a_list,
    json_patch_escapes_slashes_and_tildes,
    json_patch_removal_of_an_absent_path_is_refused,
    json_patch_replaces_and_copies_absent_keys,
    a_failed_test_operation_changes_nothing,
    json_patch_with_an_unknown_operation_is_refused,
    json_patch_that_is_no_list_is_refused,
    an_empty_json_patch_writes_nothing,
    json_patch_of_the_version_is_a_precondition,
    json_patch_of_an_absent_object_is_not_found,
    a_patch_of_finalizers_and_owners_is_stored,
    a_patch_names_its_field_manager,
);

async fn a_merge_patch_adds_changes_and_removes(t: &Target) {
    t.given("configmaps", config_map("a", json!({"keep": "1", "change": "1", "remove": "1"}))).await;
    t.merge("configmaps/a", json!({"data": {"change": "2", "remove": null, "add": "2"}})).await;
    t.merge("configmaps/a", json!({"metadata": {"labels": {"x": "y"}, "annotations": {"n": "m"}}})).await;
    t.merge("configmaps/a", json!({"metadata": {"labels": null}, "data": null})).await;
    t.get("configmaps/a").await;
}

async fn a_merge_patch_replaces_lists(t: &Target) {
    t.given("deployments", deployment("a")).await;
    let containers = json!([{"name": "d", "image": "example.com/d:1", "args": ["x"]}]);
    t.merge("deployments/a", json!({"spec": {"template": {"spec": {"containers": containers}}}})).await;
}

async fn a_merge_patch_null_of_an_absent_field_changes_nothing(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    let next = t.merge("configmaps/a", json!({"data": {"other": null}, "binaryData": null})).await;
    t.note("same version", made.meta("resourceVersion") == next.meta("resourceVersion"));
}

async fn an_equal_merge_patch_writes_nothing(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    let next = t.merge("configmaps/a?fieldManager=other", json!({"data": {"k": "v"}})).await;
    t.note("same version", made.meta("resourceVersion") == next.meta("resourceVersion"));
}

async fn a_merge_patch_of_an_absent_object_is_not_found(t: &Target) {
    t.merge("configmaps/a", json!({"data": {"k": "v"}})).await;
    t.merge("widgets/a", json!({"spec": {"size": 1}})).await;
}

async fn a_merge_patch_with_a_stale_version_is_a_conflict(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    let version = made.meta("resourceVersion");
    t.merge("configmaps/a", json!({"metadata": {"resourceVersion": version}, "data": {"k": "w"}})).await;
    t.merge("configmaps/a", json!({"metadata": {"resourceVersion": version}, "data": {"k": "x"}})).await;
    t.merge("configmaps/a", json!({"metadata": {"resourceVersion": null}, "data": {"k": "y"}})).await;
}

async fn a_merge_patch_may_not_rename(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.merge("configmaps/a", json!({"metadata": {"name": "b"}})).await;
    t.merge("configmaps/a", json!({"metadata": {"name": null}})).await;
    t.merge("configmaps/a", json!({"metadata": null})).await;
    t.given("widgets", widget("a", json!({}))).await;
    t.merge("widgets/a", json!({"metadata": {"name": "b"}})).await;
}

async fn a_merge_patch_may_not_move_to_another_namespace(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.merge("configmaps/a", json!({"metadata": {"namespace": "default"}})).await;
    t.merge("configmaps/a", json!({"metadata": {"uid": "0a1b2c3d-0000-4000-8000-000000000001"}})).await;
}

async fn a_merge_patch_with_another_kind_is_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.merge_refused("configmaps/a", json!({"kind": "Secret"})).await;
    t.merge_refused("configmaps/a", json!({"apiVersion": "v2"})).await;
    t.given("widgets", widget("a", json!({}))).await;
    t.merge("widgets/a", json!({"kind": "Check"})).await;
}

async fn a_merge_patch_that_is_no_object_is_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    for (label, text) in [("list", "[]"), ("text", "\"x\""), ("broken", "{\"data\":"), ("nothing", "")] {
        let call = Call::new("PATCH", t.path("configmaps/a"));
        t.send(label, call.bytes("application/merge-patch+json", text.as_bytes().to_vec())).await;
    }
}

async fn a_merge_patch_with_an_invalid_value_is_invalid(t: &Target) {
    t.given("deployments", deployment("a")).await;
    t.merge("deployments/a", json!({"spec": {"replicas": -1}})).await;
    t.merge("deployments/a", json!({"spec": {"template": {"spec": {"restartPolicy": "Never"}}}})).await;
    t.merge("deployments/a", json!({"spec": {"template": {"spec": {"containers": []}}}})).await;
}

async fn a_merge_patch_of_a_custom_object_fills_defaults_and_prunes(t: &Target) {
    t.given("widgets", widget("a", json!({"color": "red", "size": 1}))).await;
    t.merge("widgets/a", json!({"spec": {"color": null, "nested": {"deep": {}}, "unknown": 1}})).await;
    t.merge("widgets/a", json!({"spec": null})).await;
}

async fn a_merge_patch_with_a_wrong_type_in_a_custom_object_is_invalid(t: &Target) {
    t.given("widgets", widget("a", json!({"size": 1}))).await;
    t.merge("widgets/a", json!({"spec": {"size": "large"}})).await;
    t.merge("widgets/a", json!({"spec": "x"})).await;
    t.merge_refused("widgets/a", json!({"metadata": {"labels": {"a": 5}}})).await;
}

async fn json_patch_knows_its_six_operations(t: &Target) {
    t.given("configmaps", config_map("a", json!({"one": "1", "two": "2", "three": "3"}))).await;
    let patch = json!([
        {"op": "test", "path": "/data/one", "value": "1"},
        {"op": "add", "path": "/data/four", "value": "4"},
        {"op": "replace", "path": "/data/one", "value": "eins"},
        {"op": "remove", "path": "/data/two"},
        {"op": "move", "from": "/data/three", "path": "/data/drei"},
        {"op": "copy", "from": "/data/four", "path": "/data/vier"}]);
    t.json_patch("configmaps/a", patch).await;
    t.get("configmaps/a").await;
}

async fn json_patch_inserts_into_and_appends_to_a_list(t: &Target) {
    t.given("widgets", widget("a", json!({"steps": ["b", "c"]}))).await;
    let patch = json!([{"op": "add", "path": "/spec/steps/0", "value": "a"},
        {"op": "add", "path": "/spec/steps/-", "value": "d"}, {"op": "remove", "path": "/spec/steps/1"}]);
    t.json_patch("widgets/a", patch).await;
    t.json_patch("widgets/a", json!([{"op": "add", "path": "/spec/steps/9", "value": "x"}])).await;
    t.json_patch("widgets/a", json!([{"op": "replace", "path": "/spec/steps/-1", "value": "x"}])).await;
    t.json_patch("widgets/a", json!([{"op": "remove", "path": "/spec/steps/7"}])).await;
}

async fn json_patch_escapes_slashes_and_tildes(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    let patch = json!([{"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/a.b~1c", "value": "slash"},
        {"op": "add", "path": "/data/plain.text", "value": "t"}]);
    t.json_patch("configmaps/a", patch).await;
    t.json_patch("configmaps/a", json!([{"op": "remove", "path": "/metadata/annotations/a.b~1c"}])).await;
}

async fn json_patch_removal_of_an_absent_path_is_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.json_patch("configmaps/a", json!([{"op": "remove", "path": "/data/none"}])).await;
    t.json_patch("configmaps/a", json!([{"op": "remove", "path": "/nowhere/none"}])).await;
}

async fn json_patch_replaces_and_copies_absent_keys(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.json_patch("configmaps/a", json!([{"op": "replace", "path": "/data/none", "value": "x"}])).await;
    t.json_patch("configmaps/a", json!([{"op": "add", "path": "/binaryData/x", "value": "eA=="}])).await;
    t.json_patch("configmaps/a", json!([{"op": "copy", "from": "/data/none", "path": "/data/x"}])).await;
}

async fn a_failed_test_operation_changes_nothing(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    let patch = json!([{"op": "replace", "path": "/data/k", "value": "w"},
        {"op": "test", "path": "/data/k", "value": "v"}]);
    t.json_patch("configmaps/a", patch).await;
    t.json_patch("configmaps/a", json!([{"op": "test", "path": "/data/none", "value": "v"}])).await;
    t.json_patch("configmaps/a", json!([{"op": "test", "path": "/data/none", "value": null}])).await;
    t.get("configmaps/a").await;
}

async fn json_patch_with_an_unknown_operation_is_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.json_patch("configmaps/a", json!([{"op": "spin", "path": "/data/k"}])).await;
    t.json_patch("configmaps/a", json!([{"path": "/data/k", "value": "x"}])).await;
    t.json_patch("configmaps/a", json!([{"op": "add", "path": "data/k", "value": "x"}])).await;
}

async fn json_patch_that_is_no_list_is_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    for (label, text) in [("object", "{}"), ("broken", "[{"), ("nothing", "")] {
        let call = Call::new("PATCH", t.path("configmaps/a"));
        t.send(label, call.bytes("application/json-patch+json", text.as_bytes().to_vec())).await;
    }
}

async fn an_empty_json_patch_writes_nothing(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    let next = t.json_patch("configmaps/a", json!([])).await;
    t.note("same version", made.meta("resourceVersion") == next.meta("resourceVersion"));
    let same =
        t.json_patch("configmaps/a", json!([{"op": "replace", "path": "/data/k", "value": "v"}])).await;
    t.note("same version", made.meta("resourceVersion") == same.meta("resourceVersion"));
}

async fn json_patch_of_the_version_is_a_precondition(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    let patch = |version: String, value: &str| {
        json!([{"op": "replace", "path": "/metadata/resourceVersion", "value": version},
            {"op": "replace", "path": "/data/k", "value": value}])
    };
    t.json_patch("configmaps/a", patch(made.meta("resourceVersion"), "w")).await;
    t.json_patch("configmaps/a", patch(made.meta("resourceVersion"), "x")).await;
    t.json_patch("configmaps/a", patch("none".into(), "x")).await;
}

async fn json_patch_of_an_absent_object_is_not_found(t: &Target) {
    t.json_patch("configmaps/a", json!([{"op": "add", "path": "/data", "value": {}}])).await;
    t.json_patch("deployments/a", json!([])).await;
}

async fn a_patch_of_finalizers_and_owners_is_stored(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    let owner = t.given("configmaps", config_map("b", json!({}))).await.meta("uid");
    let meta = json!({"finalizers": ["example.com/hold"], "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap",
        "name": "b", "uid": owner, "controller": true, "blockOwnerDeletion": true}]});
    t.merge("configmaps/a", json!({"metadata": meta})).await;
    t.merge("configmaps/a", json!({"metadata": {"finalizers": ["noslash"]}})).await;
    t.merge("configmaps/a", json!({"metadata": {"finalizers": ["Bad Name/x"]}})).await;
    t.merge("configmaps/a", json!({"metadata": {"ownerReferences": [{"kind": "ConfigMap", "name": ""}]}}))
        .await;
    t.merge("configmaps/a", json!({"metadata": {"finalizers": null, "ownerReferences": null}})).await;
}

async fn a_patch_names_its_field_manager(t: &Target) {
    t.given("configmaps?fieldManager=maker", config_map("a", json!({"k": "v"}))).await;
    t.merge("configmaps/a?fieldManager=merger", json!({"data": {"m": "1"}})).await;
    t.json_patch(
        "configmaps/a?fieldManager=patcher",
        json!([{"op": "add", "path": "/data/p", "value": "1"}]),
    )
    .await;
    t.merge(&format!("configmaps/a?fieldManager={}", "m".repeat(129)), json!({"data": {"m": "2"}})).await;
    t.merge("configmaps/a?fieldManager=a%07b", json!({"data": {"m": "3"}})).await;
}
