//! Server-side apply of lists and maps by their declared type.

use serde_json::{Value, json};

use crate::objects::{config_map, deployment, service, widget};
use crate::target::{Target, cases};

cases!("apply: list types", controllers: false;
    a_set_keeps_the_members_of_every_owner,
    a_set_with_a_repeated_member_is_refused,
    a_keyed_list_is_merged_by_its_keys,
    a_keyed_item_is_removed_with_its_last_owner,
    a_repeated_key_is_refused,
    a_missing_key_takes_its_default,
    a_missing_key_without_default_is_refused,
    an_atomic_list_has_one_owner,
    an_untyped_list_is_atomic,
    an_atomic_object_has_one_owner,
    keyed_lists_inside_keyed_lists_are_merged,
    the_order_of_items_follows_the_applier,
    a_map_is_owned_key_by_key,
    free_objects_are_owned_field_by_field,
    containers_and_their_environment_are_merged,
    a_repeated_variable_is_refused_but_stored_ones_may_be_there,
    ports_of_a_service_are_keyed_by_port_and_protocol,
    rules_of_a_role_are_replaced_as_a_whole,
    an_emptied_list_disappears,
    an_update_inside_a_keyed_item_takes_only_that_field,
    a_set_inside_a_keyed_item_is_merged,
    finalizers_are_a_set_and_owners_are_keyed_by_uid,
);

async fn apply(t: &Target, manager: &str, spec: Value) {
    t.apply(manager, "widgets/a", widget("a", spec)).await;
}

async fn a_set_keeps_the_members_of_every_owner(t: &Target) {
    apply(t, "one", json!({"tags": ["a", "b"]})).await;
    apply(t, "two", json!({"tags": ["b", "c"]})).await;
    apply(t, "one", json!({"tags": ["d"]})).await;
    apply(t, "two", json!({})).await;
}

async fn a_set_with_a_repeated_member_is_refused(t: &Target) {
    apply(t, "one", json!({"tags": ["a", "a"]})).await;
    t.post("widgets", widget("b", json!({"tags": ["a", "a"]}))).await;
}

async fn a_keyed_list_is_merged_by_its_keys(t: &Target) {
    apply(t, "one", json!({"ports": [{"port": 1, "protocol": "TCP", "note": "x"}]})).await;
    apply(
        t,
        "two",
        json!({"ports": [{"port": 1, "protocol": "UDP", "note": "y"}, {"port": 2, "protocol": "TCP"}]}),
    )
    .await;
    apply(t, "two", json!({"ports": [{"port": 1, "protocol": "TCP", "note": "z"}]})).await;
    t.get("widgets/a").await;
}

async fn a_keyed_item_is_removed_with_its_last_owner(t: &Target) {
    apply(t, "one", json!({"ports": [{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "TCP"}]})).await;
    apply(t, "two", json!({"ports": [{"port": 2, "protocol": "TCP"}]})).await;
    apply(t, "one", json!({"size": 1})).await;
    apply(t, "two", json!({})).await;
}

async fn a_repeated_key_is_refused(t: &Target) {
    apply(t, "one", json!({"ports": [{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "TCP"}]})).await;
    t.post("widgets", widget("b", json!({"ports": [{"port": 1}, {"port": 1}]}))).await;
}

async fn a_missing_key_takes_its_default(t: &Target) {
    apply(t, "one", json!({"ports": [{"port": 1}]})).await;
    apply(t, "two", json!({"ports": [{"port": 1, "protocol": "TCP", "note": "x"}]})).await;
}

async fn a_missing_key_without_default_is_refused(t: &Target) {
    apply(t, "one", json!({"ports": [{"note": "x"}]})).await;
    apply(t, "one", json!({"groups": [{}]})).await;
    apply(t, "one", json!({"groups": ["text"]})).await;
    apply(t, "one", json!({"groups": [null]})).await;
}

async fn an_atomic_list_has_one_owner(t: &Target) {
    apply(t, "one", json!({"stages": [{"name": "a"}, {"name": "b", "wait": 1}]})).await;
    apply(t, "two", json!({"stages": [{"name": "c"}]})).await;
    t.force("two", "widgets/a", widget("a", json!({"stages": [{"name": "c"}]}))).await;
}

async fn an_untyped_list_is_atomic(t: &Target) {
    apply(t, "one", json!({"steps": ["a", "a"]})).await;
    apply(t, "two", json!({"steps": ["a", "a"]})).await;
    apply(t, "two", json!({"steps": ["a"]})).await;
    apply(t, "one", json!({})).await;
}

async fn an_atomic_object_has_one_owner(t: &Target) {
    apply(t, "one", json!({"conf": {"a": "1"}})).await;
    apply(t, "two", json!({"conf": {"b": "1"}})).await;
    t.force("two", "widgets/a", widget("a", json!({"conf": {"b": "1"}}))).await;
}

async fn keyed_lists_inside_keyed_lists_are_merged(t: &Target) {
    apply(
        t,
        "one",
        json!({"groups": [{"name": "g", "members": [{"name": "a", "role": "x"}, {"name": "b"}]}]}),
    )
    .await;
    apply(t, "two", json!({"groups": [{"name": "g", "members": [{"name": "c"}]}, {"name": "h"}]})).await;
    apply(t, "two", json!({"groups": [{"name": "g", "members": [{"name": "a", "role": "y"}]}]})).await;
    apply(t, "one", json!({"groups": [{"name": "g", "members": [{"name": "b"}]}]})).await;
}

async fn the_order_of_items_follows_the_applier(t: &Target) {
    apply(
        t,
        "one",
        json!({"groups": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "tags": ["x", "y", "z"]}),
    )
    .await;
    apply(
        t,
        "one",
        json!({"groups": [{"name": "c"}, {"name": "b"}, {"name": "a"}], "tags": ["z", "y", "x"]}),
    )
    .await;
    apply(t, "two", json!({"groups": [{"name": "d"}, {"name": "b"}], "tags": ["w", "y"]})).await;
    apply(
        t,
        "one",
        json!({"groups": [{"name": "b"}, {"name": "e"}, {"name": "c"}], "tags": ["y", "v", "z"]}),
    )
    .await;
}

async fn a_map_is_owned_key_by_key(t: &Target) {
    apply(t, "one", json!({"limits": {"a": "1", "b": "1"}})).await;
    apply(t, "two", json!({"limits": {"b": "2"}})).await;
    apply(t, "two", json!({"limits": {"c": "1"}})).await;
    apply(t, "one", json!({"limits": {"a": "1"}})).await;
    apply(t, "two", json!({"limits": {}})).await;
}

async fn free_objects_are_owned_field_by_field(t: &Target) {
    apply(t, "one", json!({"free": {"a": {"b": 1, "list": [{"x": 1}, 2, "three"]}, "c": "x"}})).await;
    apply(t, "two", json!({"free": {"a": {"d": 1}}})).await;
    apply(t, "two", json!({"free": {"a": {"list": [1]}}})).await;
    apply(t, "one", json!({"free": {"a": {"b": 1.0}, "e": {}, "f": []}})).await;
}

async fn containers_and_their_environment_are_merged(t: &Target) {
    let with = |environment: Value| {
        let mut body = deployment("a");
        body["spec"]["template"]["spec"]["containers"][0]["env"] = environment;
        body
    };
    t.apply(
        "one",
        "deployments/a",
        with(json!([{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}])),
    )
    .await;
    let sidecar = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"app": "a"}}, "template": {"spec": {"containers": [
            {"name": "c", "env": [{"name": "C", "value": "3"}]},
            {"name": "side", "image": "example.com/s:1", "ports": [{"containerPort": 80}]}]}}}});
    t.apply("two", "deployments/a", sidecar).await;
    t.apply("one", "deployments/a", with(json!([{"name": "A", "value": "1"}]))).await;
}

async fn a_repeated_variable_is_refused_but_stored_ones_may_be_there(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{"name": "E", "value": "1"}, {"name": "E", "value": "2"}]);
    t.apply("one", "deployments/a", body.clone()).await;
    t.post("deployments", body).await;
    let mut other = deployment("a");
    other["metadata"]["labels"] = json!({"x": "y"});
    t.apply("two", "deployments/a", other.clone()).await;
    other["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "E", "value": "3"}]);
    t.force("two", "deployments/a", other).await;
}

async fn ports_of_a_service_are_keyed_by_port_and_protocol(t: &Target) {
    let with = |ports: Value| {
        let mut body = service("a");
        body["spec"]["ports"] = ports;
        body
    };
    t.apply("one", "services/a", with(json!([{"name": "dns", "port": 53, "protocol": "UDP"}]))).await;
    t.apply("two", "services/a", with(json!([{"name": "dns-tcp", "port": 53, "protocol": "TCP"}]))).await;
    t.apply("one", "services/a", with(json!([{"name": "dns", "port": 54, "protocol": "UDP"}]))).await;
    t.apply("two", "services/a", with(json!([{"name": "dns", "port": 55}]))).await;
}

async fn rules_of_a_role_are_replaced_as_a_whole(t: &Target) {
    let role = |verbs: Value| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]})
    };
    t.apply("one", "roles/a", role(json!(["get", "list"]))).await;
    t.apply("two", "roles/a", role(json!(["get"]))).await;
    t.force("two", "roles/a", role(json!(["get"]))).await;
}

async fn an_emptied_list_disappears(t: &Target) {
    apply(t, "one", json!({"tags": ["a"], "steps": ["a"], "ports": [{"port": 1}]})).await;
    apply(t, "one", json!({"tags": [], "steps": [], "ports": []})).await;
    apply(t, "one", json!({})).await;
}

async fn an_update_inside_a_keyed_item_takes_only_that_field(t: &Target) {
    apply(t, "one", json!({"ports": [{"port": 1, "note": "x"}, {"port": 2, "note": "x"}]})).await;
    t.json_patch(
        "widgets/a?fieldManager=two",
        json!([{"op": "replace", "path": "/spec/ports/1/note", "value": "y"}]),
    )
    .await;
    t.json_patch("widgets/a?fieldManager=two", json!([{"op": "remove", "path": "/spec/ports/0"}])).await;
    t.force(
        "one",
        "widgets/a",
        widget("a", json!({"ports": [{"port": 1, "note": "x"}, {"port": 2, "note": "x"}]})),
    )
    .await;
}

async fn a_set_inside_a_keyed_item_is_merged(t: &Target) {
    apply(t, "one", json!({"ports": [{"port": 1, "hosts": ["a", "b"]}]})).await;
    apply(t, "two", json!({"ports": [{"port": 1, "hosts": ["c"]}]})).await;
    apply(t, "one", json!({"ports": [{"port": 1}]})).await;
}

async fn finalizers_are_a_set_and_owners_are_keyed_by_uid(t: &Target) {
    for (manager, word) in [("one", "first"), ("two", "second"), ("one", "third")] {
        let made = t.given("configmaps", config_map(word, json!({}))).await;
        let reference =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": word, "uid": made.meta("uid")});
        let finalizer = format!("example.com/{word}");
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": [finalizer],
            "ownerReferences": [reference]}});
        t.apply(manager, "configmaps/a", body).await;
    }
}
