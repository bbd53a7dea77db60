//! Server-side apply: owners, conflicts, force, and what goes when it is dropped.

use serde_json::{Value, json};

use crate::objects::{config_map, deployment, namespace, pods_of, service, widget};
use crate::target::{Target, cases};
use crate::wire::Call;

cases!("apply", controllers: false;
    an_apply_of_an_absent_object_creates_it,
    an_equal_apply_writes_nothing,
    a_value_of_another_manager_is_a_conflict,
    several_conflicts_are_named_at_once,
    force_takes_the_fields_over,
    equal_values_are_owned_by_both_and_outlive_one_owner,
    a_dropped_field_is_removed,
    a_dropped_field_with_a_default_gets_the_default,
    an_update_takes_a_field_from_an_applier,
    an_apply_over_an_update_conflicts_until_forced,
    a_first_apply_over_an_untracked_object_knows_who_was_before,
    an_apply_that_owns_nothing_has_no_entry,
    an_apply_without_a_manager_is_invalid,
    an_apply_with_managed_fields_is_refused,
    an_apply_with_a_stale_version_is_a_conflict,
    an_apply_with_another_uid_is_invalid,
    an_apply_with_a_version_creates_an_absent_object,
    an_apply_with_another_name_is_refused,
    an_apply_with_another_kind_is_refused,
    an_apply_without_kind_is_refused,
    an_apply_of_yaml_is_understood,
    an_apply_of_wrong_yaml_is_refused,
    an_undeclared_field_is_named,
    a_value_of_the_wrong_type_is_named,
    null_is_no_value_of_a_built_in_kind,
    null_in_a_custom_object_is_a_value_where_it_may_be,
    a_pruned_field_stays_owned_and_writes_each_time,
    an_empty_object_of_a_custom_kind_loses_its_owned_parts,
    a_status_apply_owns_only_the_status,
    an_apply_ignores_the_status_on_the_main_resource,
    an_apply_through_scale_owns_the_replicas,
    a_scale_update_takes_the_replicas_from_the_applier,
    managed_fields_can_be_reset,
    managed_fields_can_be_given_to_another_manager,
    wrong_managed_fields_are_dropped_or_refused,
    many_update_managers_are_merged_into_one,
    string_data_stays_owned_as_it_was_applied,
    a_default_strategy_stands_in_the_way_of_another_one,
    an_immutable_field_is_refused_as_in_an_update,
    an_apply_of_a_namespace_creates_it,
    an_apply_into_a_missing_namespace_is_not_found,
    one_manager_with_two_operations_has_two_entries,
    an_apply_to_an_object_that_is_being_deleted_is_stored,
    labels_and_annotations_are_owned_key_by_key,
);

fn data(data: Value) -> Value {
    config_map("a", data)
}

async fn an_apply_of_an_absent_object_creates_it(t: &Target) {
    t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    t.apply("one", "deployments/a", deployment("a")).await;
    t.apply("one", "widgets/a", widget("a", json!({"size": 1}))).await;
    t.apply("one", "services/a", service("a")).await;
    t.get("deployments/a").await;
}

async fn an_equal_apply_writes_nothing(t: &Target) {
    for (path, body) in [
        ("configmaps/a", data(json!({"k": "v"}))),
        ("deployments/a", deployment("a")),
        ("services/a", service("a")),
        ("widgets/a", widget("a", json!({"size": 1, "ports": [{"port": 1}]}))),
    ] {
        let one = t.apply("one", path, body.clone()).await;
        let two = t.apply("one", path, body).await;
        t.note("same version", one.meta("resourceVersion") == two.meta("resourceVersion"));
    }
}

async fn a_value_of_another_manager_is_a_conflict(t: &Target) {
    t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    t.apply("two", "configmaps/a", data(json!({"k": "w"}))).await;
    t.apply("one", "widgets/a", widget("a", json!({"size": 1}))).await;
    t.apply("two", "widgets/a", widget("a", json!({"size": 2}))).await;
    t.get("configmaps/a").await;
}

async fn several_conflicts_are_named_at_once(t: &Target) {
    // Of one manager: the real server names several managers in a random order.
    t.apply("one", "configmaps/a", data(json!({"k": "v", "l": "v", "m": "v"}))).await;
    t.apply("two", "configmaps/a", data(json!({"m": "w", "l": "w", "n": "w"}))).await;
    t.given("deployments", deployment("a")).await;
    let mut other = deployment("a");
    other["spec"]["replicas"] = json!(3);
    other["spec"]["template"]["spec"]["containers"][0]["image"] = json!("example.com/c:2");
    t.apply("two", "deployments/a", other).await;
}

async fn force_takes_the_fields_over(t: &Target) {
    t.apply("one", "configmaps/a", data(json!({"k": "v", "l": "v"}))).await;
    t.force("two", "configmaps/a", data(json!({"k": "w"}))).await;
    t.apply("one", "configmaps/a", data(json!({"l": "v"}))).await;
    t.get("configmaps/a").await;
}

async fn equal_values_are_owned_by_both_and_outlive_one_owner(t: &Target) {
    t.apply("one", "configmaps/a", data(json!({"k": "v", "l": "v"}))).await;
    t.apply("two", "configmaps/a", data(json!({"k": "v"}))).await;
    t.apply("one", "configmaps/a", data(json!({"l": "v"}))).await;
    t.apply("two", "configmaps/a", data(json!({}))).await;
}

async fn a_dropped_field_is_removed(t: &Target) {
    let mut body = deployment("a");
    body["metadata"]["labels"] = json!({"x": "y"});
    body["spec"]["paused"] = json!(true);
    body["spec"]["template"]["spec"]["nodeSelector"] = json!({"a": "b", "c": "d"});
    body["spec"]["template"]["spec"]["securityContext"] = json!({"runAsUser": 5});
    t.apply("one", "deployments/a", body).await;
    t.apply("one", "deployments/a", deployment("a")).await;
    t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    t.apply(
        "one",
        "configmaps/a",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
    )
    .await;
}

async fn a_dropped_field_with_a_default_gets_the_default(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["replicas"] = json!(5);
    body["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!("Always");
    t.apply("one", "deployments/a", body).await;
    t.apply("one", "deployments/a", deployment("a")).await;
    t.apply("one", "widgets/a", widget("a", json!({"color": "red"}))).await;
    t.apply("one", "widgets/a", widget("a", json!({"size": 1}))).await;
}

async fn an_update_takes_a_field_from_an_applier(t: &Target) {
    t.apply("one", "configmaps/a", data(json!({"k": "v", "l": "v"}))).await;
    t.merge("configmaps/a?fieldManager=two", json!({"data": {"k": "w"}})).await;
    t.merge("configmaps/a?fieldManager=two", json!({"data": {"l": null}})).await;
    t.apply("one", "configmaps/a", data(json!({"k": "v", "l": "v"}))).await;
    t.force("one", "configmaps/a", data(json!({"k": "v", "l": "v"}))).await;
}

async fn an_apply_over_an_update_conflicts_until_forced(t: &Target) {
    t.given("configmaps?fieldManager=maker", data(json!({"k": "v"}))).await;
    t.apply("one", "configmaps/a", data(json!({"k": "w"}))).await;
    t.apply("maker", "configmaps/a", data(json!({"k": "w"}))).await;
    t.force("one", "configmaps/a", data(json!({"k": "w"}))).await;
}

async fn a_first_apply_over_an_untracked_object_knows_who_was_before(t: &Target) {
    t.given("configmaps", data(json!({"k": "v", "l": "v"}))).await;
    t.merge("configmaps/a", json!({"metadata": {"managedFields": [{}]}})).await;
    t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    t.apply("one", "configmaps/a", data(json!({"k": "w"}))).await;
    t.force("one", "configmaps/a", data(json!({"k": "w"}))).await;
}

async fn an_apply_that_owns_nothing_has_no_entry(t: &Target) {
    t.apply(
        "one",
        "configmaps/a",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
    )
    .await;
    t.apply("one", "configmaps/b", config_map("b", json!({}))).await;
    t.apply("one", "configmaps/b", config_map("b", json!({"k": "v"}))).await;
    t.apply("one", "configmaps/b", config_map("b", json!({}))).await;
}

async fn an_apply_without_a_manager_is_invalid(t: &Target) {
    t.patch("configmaps/a", "application/apply-patch+yaml", data(json!({}))).await;
    t.patch("configmaps/a?force=true", "application/apply-patch+yaml", data(json!({}))).await;
    t.merge("configmaps/a?force=true", json!({})).await;
    t.patch("configmaps/a?fieldManager=one&force=maybe", "application/apply-patch+yaml", data(json!({})))
        .await;
}

async fn an_apply_with_managed_fields_is_refused(t: &Target) {
    let mut body = data(json!({"k": "v"}));
    body["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply"}]);
    t.apply("one", "configmaps/a", body.clone()).await;
    body["metadata"]["managedFields"] = json!([]);
    t.apply("one", "configmaps/a", body).await;
}

async fn an_apply_with_a_stale_version_is_a_conflict(t: &Target) {
    let made = t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    t.apply("one", "configmaps/a", data(json!({"k": "w"}))).await;
    let mut body = data(json!({"k": "x"}));
    body["metadata"]["resourceVersion"] = json!(made.meta("resourceVersion"));
    t.apply("one", "configmaps/a", body).await;
}

async fn an_apply_with_another_uid_is_invalid(t: &Target) {
    t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    let mut body = data(json!({"k": "x"}));
    body["metadata"]["uid"] = json!("0a1b2c3d-0000-4000-8000-000000000001");
    t.apply("one", "configmaps/a", body.clone()).await;
    body["metadata"]["name"] = json!("b");
    t.apply("one", "configmaps/b", body).await;
}

async fn an_apply_with_a_version_creates_an_absent_object(t: &Target) {
    let mut body = data(json!({"k": "v"}));
    body["metadata"]["resourceVersion"] = json!("1");
    t.apply("one", "configmaps/a", body).await;
}

async fn an_apply_with_another_name_is_refused(t: &Target) {
    t.apply("one", "configmaps/b", data(json!({"k": "v"}))).await;
    let mut body = data(json!({"k": "v"}));
    body["metadata"]["namespace"] = json!("default");
    t.apply("one", "configmaps/a", body).await;
    let unnamed = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}});
    t.apply("one", "configmaps/c", unnamed).await;
}

async fn an_apply_with_another_kind_is_refused(t: &Target) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    t.apply("one", "configmaps/a", secret.clone()).await;
    t.given("configmaps", data(json!({}))).await;
    t.apply("one", "configmaps/a", secret).await;
    let later = json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}});
    t.apply("one", "configmaps/a", later).await;
}

async fn an_apply_without_kind_is_refused(t: &Target) {
    t.apply("one", "configmaps/a", json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await;
    t.apply("one", "configmaps/a", json!({"apiVersion": "v1", "metadata": {"name": "a"}})).await;
    t.apply("one", "configmaps/a", json!({"kind": "ConfigMap", "metadata": {"name": "a"}})).await;
}

async fn an_apply_of_yaml_is_understood(t: &Target) {
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  text: |\n    one\n    two\n  n: \"1\"\n";
    let call = Call::new("PATCH", t.path("configmaps/a?fieldManager=one"));
    t.send("yaml", call.bytes("application/apply-patch+yaml", yaml.into())).await;
}

async fn an_apply_of_wrong_yaml_is_refused(t: &Target) {
    for (label, text) in [
        ("broken", "{"),
        ("list", "[]"),
        ("nothing", ""),
        ("text", "just text"),
        ("twice", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: a}\n"),
    ] {
        let call = Call::new("PATCH", t.path("configmaps/a?fieldManager=one"));
        t.send(label, call.bytes("application/apply-patch+yaml", text.into())).await;
    }
}

async fn an_undeclared_field_is_named(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["template"]["spec"]["backOffLimit"] = json!(1);
    t.apply("one", "deployments/a", body.clone()).await;
    t.apply("one", "deployments/a?fieldValidation=Ignore", body).await;
    let mut body = data(json!({}));
    body["userNames"] = json!(["x"]);
    t.apply("one", "configmaps/a", body).await;
    let mut body = data(json!({}));
    body["metadata"]["wrong"] = json!(1);
    t.apply("one", "configmaps/a", body).await;
    t.apply("one", "widgets/a", widget("a", json!({"unknown": 1}))).await;
    t.apply("one", "widgets/a", widget("a", json!({"ports": [{"port": 1, "unknown": 1}]}))).await;
    t.apply("one", "widgets/a?fieldValidation=Strict", widget("a", json!({"bare": {"x": 1}}))).await;
}

async fn a_value_of_the_wrong_type_is_named(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["replicas"] = json!("3");
    t.apply("one", "deployments/a", body.clone()).await;
    body["spec"]["replicas"] = json!(3);
    body["spec"]["paused"] = json!("yes");
    t.apply("one", "deployments/a", body.clone()).await;
    body["spec"]["paused"] = json!(true);
    body["spec"]["template"]["spec"]["containers"] = json!({"name": "c"});
    t.apply("one", "deployments/a", body).await;
    t.apply("one", "configmaps/a", data(json!({"b": 5}))).await;
    t.apply("one", "configmaps/a", data(json!("text"))).await;
    t.apply("one", "widgets/a", widget("a", json!({"size": "large"}))).await;
    t.apply("one", "widgets/a", widget("a", json!({"tags": "x"}))).await;
}

async fn null_is_no_value_of_a_built_in_kind(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["replicas"] = Value::Null;
    body["spec"]["strategy"] = Value::Null;
    body["metadata"]["creationTimestamp"] = Value::Null;
    t.apply("one", "deployments/a", body).await;
    t.apply("one", "configmaps/a", data(json!({"k": null}))).await;
    t.apply("one", "configmaps/b", config_map("b", Value::Null)).await;
}

async fn null_in_a_custom_object_is_a_value_where_it_may_be(t: &Target) {
    t.apply("one", "widgets/a", widget("a", json!({"maybe": null}))).await;
    t.apply("one", "widgets/b", widget("b", json!({"text": null}))).await;
    t.apply("one", "widgets/c", widget("c", json!({"color": null}))).await;
    t.apply("one", "widgets/d", widget("d", json!({"limits": {"a": null}}))).await;
    t.apply("one", "widgets/e", widget("e", json!({"free": {"a": null}, "tags": null}))).await;
}

async fn a_pruned_field_stays_owned_and_writes_each_time(t: &Target) {
    let body = widget("a", json!({"bare": {"x": 1}}));
    let one = t.apply("one", "widgets/a", body.clone()).await;
    let two = t.apply("one", "widgets/a", body).await;
    t.note("same version", one.meta("resourceVersion") == two.meta("resourceVersion"));
    t.note("generations", json!([one.body["metadata"]["generation"], two.body["metadata"]["generation"]]));
}

async fn an_empty_object_of_a_custom_kind_loses_its_owned_parts(t: &Target) {
    t.apply("one", "widgets/a", widget("a", json!({"nested": {"other": "x"}}))).await;
    t.apply("one", "widgets/a", widget("a", json!({"nested": {}}))).await;
    t.apply("one", "widgets/a", widget("a", json!({}))).await;
    t.apply("one", "widgets/a", widget("a", json!({"nested": {}}))).await;
}

async fn a_status_apply_owns_only_the_status(t: &Target) {
    t.apply("one", "widgets/a", widget("a", json!({"size": 1}))).await;
    let mut body = widget("a", json!({"size": 2}));
    body["status"] = json!({"phase": "Ready"});
    t.apply("two", "widgets/a/status", body.clone()).await;
    t.apply("three", "widgets/a/status", body).await;
    let mut body = widget("a", json!({}));
    body["status"] = json!({"phase": "Gone"});
    t.apply("three", "widgets/a/status", body.clone()).await;
    t.force("three", "widgets/a/status", body).await;
    t.apply("two", "widgets/none/status", widget("none", json!({}))).await;
}

async fn an_apply_ignores_the_status_on_the_main_resource(t: &Target) {
    let mut body = widget("a", json!({"size": 1}));
    body["status"] = json!({"phase": "Ready"});
    t.apply("one", "widgets/a", body).await;
    let mut body = namespace("{id}-n");
    body["status"] = json!({"phase": "Terminating"});
    t.apply("one", "namespaces/{id}-n", body).await;
}

async fn an_apply_through_scale_owns_the_replicas(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["replicas"] = json!(2);
    t.apply("one", "deployments/a", body).await;
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"},
        "spec": {"replicas": 4}});
    t.apply("two", "deployments/a/scale", scale.clone()).await;
    t.force("two", "deployments/a/scale", scale).await;
    t.get("deployments/a").await;
}

async fn a_scale_update_takes_the_replicas_from_the_applier(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["replicas"] = json!(2);
    t.apply("one", "deployments/a", body.clone()).await;
    t.merge("deployments/a/scale?fieldManager=scaler", json!({"spec": {"replicas": 3}})).await;
    t.get("deployments/a").await;
    t.apply("one", "deployments/a", body.clone()).await;
    t.force("one", "deployments/a", body).await;
    t.apply("one", "widgets/a", widget("a", json!({"replicas": 2}))).await;
    t.merge("widgets/a/scale?fieldManager=scaler", json!({"spec": {"replicas": 3}})).await;
    t.get("widgets/a").await;
}

async fn managed_fields_can_be_reset(t: &Target) {
    t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    t.merge("configmaps/a", json!({"metadata": {"managedFields": []}})).await;
    t.merge("configmaps/a", json!({"metadata": {"managedFields": [{}]}})).await;
    t.merge("configmaps/a", json!({"data": {"l": "w"}})).await;
}

async fn managed_fields_can_be_given_to_another_manager(t: &Target) {
    t.given("configmaps?fieldManager=old", data(json!({"k": "v", "l": "v"}))).await;
    let entry = json!({"manager": "new", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}, "f:l": {}}}});
    t.json_patch(
        "configmaps/a",
        json!([{"op": "replace", "path": "/metadata/managedFields", "value": [entry]}]),
    )
    .await;
    t.apply("new", "configmaps/a", data(json!({"k": "v"}))).await;
}

async fn wrong_managed_fields_are_dropped_or_refused(t: &Target) {
    t.given("configmaps", data(json!({"k": "v"}))).await;
    let good = json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {}}});
    for (field, value) in [
        ("operation", json!("Guess")),
        ("fieldsType", json!("FieldsV2")),
        ("manager", json!("m".repeat(129))),
        ("fieldsV1", json!({"x:data": {}})),
        ("apiVersion", json!("v9")),
    ] {
        let mut entry = good.clone();
        entry[field] = value;
        t.merge("configmaps/a", json!({"metadata": {"managedFields": [entry]}})).await;
    }
}

async fn many_update_managers_are_merged_into_one(t: &Target) {
    t.given("configmaps?fieldManager=m00", data(json!({"m00": "x"}))).await;
    t.apply("applier", "configmaps/a", data(json!({"applied": "x"}))).await;
    for number in 1..=11 {
        let manager = format!("m{number:02}");
        let path = format!("configmaps/a?fieldManager={manager}");
        let last = t.merge(&path, json!({"data": {manager: "x"}})).await;
        t.note("entries", last.body["metadata"]["managedFields"].as_array().map_or(0, Vec::len));
    }
}

async fn string_data_stays_owned_as_it_was_applied(t: &Target) {
    let secret = |texts: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": texts});
    let one = t.apply("one", "secrets/a", secret(json!({"k": "v", "l": "v"}))).await;
    let two = t.apply("one", "secrets/a", secret(json!({"k": "v", "l": "v"}))).await;
    t.note("same version", one.meta("resourceVersion") == two.meta("resourceVersion"));
    t.apply("one", "secrets/a", secret(json!({"k": "v"}))).await;
}

async fn a_default_strategy_stands_in_the_way_of_another_one(t: &Target) {
    t.apply("one", "deployments/a", deployment("a")).await;
    let mut body = deployment("a");
    body["spec"]["strategy"] = json!({"type": "Recreate"});
    t.apply("one", "deployments/a", body.clone()).await;
    body["spec"]["strategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    t.apply("one", "deployments/a", body.clone()).await;
    body["spec"]["strategy"] = json!({"type": "Recreate"});
    t.apply("one", "deployments/a", body).await;
    let mut body = deployment("b");
    body["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v"}]);
    t.apply("one", "deployments/b", body.clone()).await;
    body["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "configMap": {"name": "x"}}]);
    t.apply("one", "deployments/b", body.clone()).await;
    body["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "v", "configMap": {"name": "x"}, "emptyDir": null}]);
    t.apply("one", "deployments/b", body).await;
}

async fn an_immutable_field_is_refused_as_in_an_update(t: &Target) {
    t.apply("one", "deployments/a", deployment("a")).await;
    let mut body = deployment("a");
    body["spec"] = pods_of("b");
    t.apply("one", "deployments/a", body).await;
    let binding = |role: &str| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "a"},
            "subjects": [{"kind": "ServiceAccount", "name": "a"}], "roleRef": {"kind": "Role", "name": role,
                "apiGroup": "rbac.authorization.k8s.io"}})
    };
    t.apply("one", "rolebindings/a", binding("x")).await;
    t.apply("one", "rolebindings/a", binding("y")).await;
}

async fn an_apply_of_a_namespace_creates_it(t: &Target) {
    t.apply("one", "namespaces/{id}-n", namespace("{id}-n")).await;
    t.apply("one", "/api/v1/namespaces/{id}-n/configmaps/a", data(json!({"k": "v"}))).await;
    t.apply("one", "namespaces/{id}-n", namespace("{id}-n")).await;
}

async fn an_apply_into_a_missing_namespace_is_not_found(t: &Target) {
    t.apply("one", "/api/v1/namespaces/{id}-none/configmaps/a", data(json!({"k": "v"}))).await;
    t.apply("one", "/apis/{shared}/v1/namespaces/{id}-none/widgets/a", widget("a", json!({}))).await;
}

async fn one_manager_with_two_operations_has_two_entries(t: &Target) {
    t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    t.merge("configmaps/a?fieldManager=one", json!({"data": {"k": "w", "l": "w"}})).await;
    t.apply("one", "configmaps/a", data(json!({"k": "v"}))).await;
    t.force("one", "configmaps/a", data(json!({"k": "v"}))).await;
}

async fn an_apply_to_an_object_that_is_being_deleted_is_stored(t: &Target) {
    let mut body = data(json!({"k": "v"}));
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    t.apply("one", "configmaps/a", body.clone()).await;
    t.delete("configmaps/a").await;
    body["data"] = json!({"k": "w"});
    t.apply("one", "configmaps/a", body).await;
    t.apply("one", "configmaps/a", data(json!({"k": "x"}))).await;
    t.get("configmaps/a").await;
}

async fn labels_and_annotations_are_owned_key_by_key(t: &Target) {
    let with = |labels: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels,
            "annotations": {"example.com/note": "x"}}})
    };
    t.apply("one", "configmaps/a", with(json!({"a": "1", "b": "1"}))).await;
    t.apply("two", "configmaps/a", with(json!({"b": "1", "c": "1"}))).await;
    t.apply("one", "configmaps/a", with(json!({}))).await;
    t.apply("two", "configmaps/a", config_map("a", json!({}))).await;
}
