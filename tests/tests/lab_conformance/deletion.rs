//! Finalizers, propagation, garbage collection, grace periods and preconditions.

use serde_json::{Value, json};

use crate::objects::{config_map, deployment, namespace, owner, pod};
use crate::target::{Target, cases};

cases!("finalizers and garbage collection", controllers: true;
    a_finalizer_keeps_the_object_until_it_is_removed,
    the_last_of_two_finalizers_ends_the_deletion,
    no_finalizer_can_be_added_to_an_object_that_is_being_deleted,
    a_second_delete_of_a_held_object_changes_nothing,
    an_update_without_finalizers_ends_the_deletion,
    a_child_goes_with_its_owner_in_the_background,
    a_grandchild_goes_too,
    a_child_of_two_owners_stays_with_one,
    orphaned_children_lose_the_reference,
    foreground_deletion_waits_for_blocking_children,
    foreground_deletion_does_not_wait_for_others,
    a_child_of_an_absent_owner_is_collected,
    a_child_of_an_owner_with_another_uid_is_collected,
    an_owner_in_another_namespace_does_not_count,
    an_unscheduled_pod_goes_at_once,
    a_bound_pod_is_terminating_until_it_is_forced,
    the_grace_period_can_only_be_shortened,
    a_precondition_of_the_uid_must_hold,
    a_precondition_of_the_version_must_hold,
    a_wrong_propagation_policy_is_refused,
    both_ways_to_orphan_exclude_each_other,
    orphan_of_a_held_object_adds_its_finalizer,
    a_deleted_collection_with_finalizers_stays_held,
);

fn held(name: &str, finalizers: &[&str]) -> Value {
    let mut body = config_map(name, json!({"k": "v"}));
    body["metadata"]["finalizers"] = json!(finalizers);
    body
}

fn child(name: &str, owners: &[Value]) -> Value {
    let mut body = config_map(name, json!({}));
    body["metadata"]["ownerReferences"] = json!(owners);
    body
}

/// An owner and its uid.
async fn parent(t: &Target, name: &str) -> String {
    t.given("configmaps", config_map(name, json!({}))).await.meta("uid")
}

async fn gone(t: &Target, path: &str) {
    t.eventually(path, |answer| answer.code == 404).await;
}

/// Whether the collector had its chance: something that it must collect is gone.
async fn collector_was_here(t: &Target) {
    let uid = parent(t, "marker").await;
    t.given("configmaps", child("marked", &[owner("ConfigMap", "marker", &uid)])).await;
    t.given(
        "configmaps",
        child("absent", &[owner("ConfigMap", "never", "0a1b2c3d-0000-4000-8000-00000000000f")]),
    )
    .await;
    t.settled("configmaps/absent", |answer| answer.code == 404).await;
}

async fn a_finalizer_keeps_the_object_until_it_is_removed(t: &Target) {
    t.given("configmaps", held("a", &["example.com/hold"])).await;
    t.delete("configmaps/a").await;
    t.get("configmaps/a").await;
    t.merge("configmaps/a", json!({"data": {"k": "w"}})).await;
    t.merge("configmaps/a", json!({"metadata": {"finalizers": null}})).await;
    t.get("configmaps/a").await;
}

async fn the_last_of_two_finalizers_ends_the_deletion(t: &Target) {
    t.given("configmaps", held("a", &["example.com/one", "example.com/two"])).await;
    t.delete("configmaps/a").await;
    t.json_patch("configmaps/a", json!([{"op": "remove", "path": "/metadata/finalizers/0"}])).await;
    t.json_patch("configmaps/a", json!([{"op": "remove", "path": "/metadata/finalizers/0"}])).await;
    t.get("configmaps/a").await;
}

async fn no_finalizer_can_be_added_to_an_object_that_is_being_deleted(t: &Target) {
    t.given("configmaps", held("a", &["example.com/hold"])).await;
    t.delete("configmaps/a").await;
    t.merge("configmaps/a", json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}))
        .await;
}

async fn a_second_delete_of_a_held_object_changes_nothing(t: &Target) {
    t.given("configmaps", held("a", &["example.com/hold"])).await;
    let one = t.delete("configmaps/a").await;
    let two = t.delete("configmaps/a").await;
    t.note("same version", one.meta("resourceVersion") == two.meta("resourceVersion"));
    t.post("configmaps", config_map("a", json!({}))).await;
}

async fn an_update_without_finalizers_ends_the_deletion(t: &Target) {
    t.given("configmaps", held("a", &["example.com/hold"])).await;
    t.delete("configmaps/a").await;
    t.put("configmaps/a", config_map("a", json!({"k": "last"}))).await;
    t.get("configmaps/a").await;
}

async fn a_child_goes_with_its_owner_in_the_background(t: &Target) {
    let uid = parent(t, "p").await;
    t.given("configmaps", child("c", &[owner("ConfigMap", "p", &uid)])).await;
    t.delete_with("configmaps/p", json!({"propagationPolicy": "Background"})).await;
    t.get("configmaps/p").await;
    gone(t, "configmaps/c").await;
}

async fn a_grandchild_goes_too(t: &Target) {
    let uid = parent(t, "p").await;
    let uid = t.given("configmaps", child("c", &[owner("ConfigMap", "p", &uid)])).await.meta("uid");
    t.given("configmaps", child("g", &[owner("ConfigMap", "c", &uid)])).await;
    t.delete("configmaps/p").await;
    gone(t, "configmaps/c").await;
    gone(t, "configmaps/g").await;
}

async fn a_child_of_two_owners_stays_with_one(t: &Target) {
    let (one, two) = (parent(t, "p").await, parent(t, "q").await);
    t.given("configmaps", child("c", &[owner("ConfigMap", "p", &one), owner("ConfigMap", "q", &two)])).await;
    t.delete("configmaps/p").await;
    let single = |answer: &crate::wire::Answer| {
        answer.body["metadata"]["ownerReferences"].as_array().is_some_and(|owners| owners.len() == 1)
    };
    let child = t.settled("configmaps/c", single).await;
    t.note("owners", child.body["metadata"]["ownerReferences"].clone());
    t.delete("configmaps/q").await;
    gone(t, "configmaps/c").await;
}

async fn orphaned_children_lose_the_reference(t: &Target) {
    let uid = parent(t, "p").await;
    t.given("configmaps", child("c", &[owner("ConfigMap", "p", &uid)])).await;
    let answer = t.delete_with("configmaps/p", json!({"propagationPolicy": "Orphan"})).await;
    t.note("finalizers", answer.body["metadata"]["finalizers"].clone());
    gone(t, "configmaps/p").await;
    let child = t.peek("configmaps/c").await;
    t.note("child", json!({"code": child.code, "owners": child.body["metadata"]["ownerReferences"]}));
}

async fn foreground_deletion_waits_for_blocking_children(t: &Target) {
    let uid = parent(t, "p").await;
    let mut reference = owner("ConfigMap", "p", &uid);
    reference["blockOwnerDeletion"] = json!(true);
    let mut blocking = child("c", &[reference]);
    blocking["metadata"]["finalizers"] = json!(["example.com/hold"]);
    t.given("configmaps", blocking).await;
    t.delete_with("configmaps/p", json!({"propagationPolicy": "Foreground"})).await;
    t.settled("configmaps/c", |answer| !answer.body["metadata"]["deletionTimestamp"].is_null()).await;
    let waiting = t.peek("configmaps/p").await;
    t.note("owner", json!({"code": waiting.code, "finalizers": waiting.body["metadata"]["finalizers"]}));
    t.merge("configmaps/c", json!({"metadata": {"finalizers": null}})).await;
    gone(t, "configmaps/p").await;
    gone(t, "configmaps/c").await;
}

async fn foreground_deletion_does_not_wait_for_others(t: &Target) {
    let uid = parent(t, "p").await;
    let mut other = child("c", &[owner("ConfigMap", "p", &uid)]);
    other["metadata"]["finalizers"] = json!(["example.com/hold"]);
    t.given("configmaps", other).await;
    t.delete_with("configmaps/p", json!({"propagationPolicy": "Foreground"})).await;
    gone(t, "configmaps/p").await;
    let child =
        t.settled("configmaps/c", |answer| !answer.body["metadata"]["deletionTimestamp"].is_null()).await;
    t.note("child", child.body["metadata"]["finalizers"].clone());
}

async fn a_child_of_an_absent_owner_is_collected(t: &Target) {
    let absent = owner("ConfigMap", "never", "0a1b2c3d-0000-4000-8000-000000000001");
    t.post("configmaps", child("c", &[absent])).await;
    gone(t, "configmaps/c").await;
}

async fn a_child_of_an_owner_with_another_uid_is_collected(t: &Target) {
    parent(t, "p").await;
    let wrong = owner("ConfigMap", "p", "0a1b2c3d-0000-4000-8000-000000000002");
    t.given("configmaps", child("c", &[wrong])).await;
    gone(t, "configmaps/c").await;
    t.get("configmaps/p").await;
}

async fn an_owner_in_another_namespace_does_not_count(t: &Target) {
    t.given("namespaces", namespace("{id}-o")).await;
    let other = t.given("/api/v1/namespaces/{id}-o/configmaps", config_map("p", json!({}))).await;
    t.given("configmaps", child("c", &[owner("ConfigMap", "p", &other.meta("uid"))])).await;
    gone(t, "configmaps/c").await;
}

async fn an_unscheduled_pod_goes_at_once(t: &Target) {
    t.given("pods", pod("a")).await;
    t.delete("pods/a").await;
    t.get("pods/a").await;
    t.given("pods", pod("b")).await;
    t.delete("pods/b?gracePeriodSeconds=0").await;
    t.get("pods/b").await;
}

/// A node keeps the collector of lost Pods away.
async fn node(t: &Target) {
    t.given("nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "{id}"}})).await;
}

async fn a_bound_pod_is_terminating_until_it_is_forced(t: &Target) {
    node(t).await;
    let mut bound = pod("a");
    bound["spec"]["nodeName"] = json!("{id}");
    bound["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    t.given("pods", bound).await;
    let answer = t.delete("pods/a").await;
    t.note("grace", answer.body["metadata"]["deletionGracePeriodSeconds"].clone());
    let seen = t.peek("pods/a").await;
    t.note("after", json!({"code": seen.code, "grace": seen.body["metadata"]["deletionGracePeriodSeconds"]}));
    t.delete_with("pods/a", json!({"gracePeriodSeconds": 0})).await;
    t.get("pods/a").await;
}

async fn the_grace_period_can_only_be_shortened(t: &Target) {
    node(t).await;
    let mut bound = pod("a");
    bound["spec"]["nodeName"] = json!("{id}");
    bound["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    t.given("pods", bound).await;
    for seconds in [20, 600, 10, -1] {
        let answer = t.delete_with("pods/a", json!({"gracePeriodSeconds": seconds})).await;
        t.note("grace", answer.body["metadata"]["deletionGracePeriodSeconds"].clone());
    }
    t.delete_with("pods/a", json!({"gracePeriodSeconds": 0})).await;
}

async fn a_precondition_of_the_uid_must_hold(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({}))).await;
    let wrong = "0a1b2c3d-0000-4000-8000-000000000001";
    t.delete_with("configmaps/a", json!({"preconditions": {"uid": wrong}})).await;
    t.delete_with("configmaps/a", json!({"preconditions": {"uid": made.meta("uid")}})).await;
    t.get("configmaps/a").await;
}

async fn a_precondition_of_the_version_must_hold(t: &Target) {
    let made = t.given("configmaps", config_map("a", json!({}))).await;
    let version = made.meta("resourceVersion");
    let next = t.merge("configmaps/a", json!({"data": {"k": "v"}})).await;
    let refused =
        t.delete_unrecorded("configmaps/a", json!({"preconditions": {"resourceVersion": version}})).await;
    t.note(
        "refused",
        json!({"code": refused.code, "reason": refused.body["reason"], "details": refused.body["details"]}),
    );
    t.delete_with(
        "configmaps/a",
        json!({"preconditions": {"resourceVersion": next.meta("resourceVersion")}}),
    )
    .await;
}

async fn a_wrong_propagation_policy_is_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    t.delete("configmaps/a?propagationPolicy=Sideways").await;
    t.delete_with("configmaps/a", json!({"propagationPolicy": "Sideways"})).await;
    t.delete("configmaps/a?gracePeriodSeconds=x").await;
}

async fn both_ways_to_orphan_exclude_each_other(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    t.delete_with("configmaps/a", json!({"propagationPolicy": "Orphan", "orphanDependents": true})).await;
    t.delete_with("configmaps/a", json!({"orphanDependents": false})).await;
}

async fn orphan_of_a_held_object_adds_its_finalizer(t: &Target) {
    let mut body = deployment("a");
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    body["spec"]["paused"] = json!(true);
    body["spec"]["replicas"] = json!(0);
    t.given("deployments", body).await;
    t.delete_unrecorded("deployments/a", json!({"propagationPolicy": "Orphan"})).await;
    let settled = t
        .settled("deployments/a", |answer| {
            answer.body["metadata"]["finalizers"].as_array().is_some_and(|all| all.len() == 1)
        })
        .await;
    t.note("finalizers", settled.body["metadata"]["finalizers"].clone());
    t.note("deleting", !settled.body["metadata"]["deletionTimestamp"].is_null());
}

async fn a_deleted_collection_with_finalizers_stays_held(t: &Target) {
    let mut one = held("a", &["example.com/hold"]);
    one["metadata"]["labels"] = json!({"all": "x"});
    t.given("configmaps", one).await;
    t.delete("configmaps?labelSelector=all=x&propagationPolicy=Background").await;
    t.get("configmaps/a").await;
    collector_was_here(t).await;
    t.get("configmaps/a").await;
}
