//! Label and field selectors of lists.

use serde_json::{Value, json};

use crate::objects::{labelled, pod, service, widget};
use crate::target::{Target, cases};

cases!("selectors", controllers: false;
    equal_and_double_equal_select_the_value,
    not_equal_selects_other_values_and_absence,
    in_selects_any_of_the_values,
    notin_selects_other_values_and_absence,
    a_bare_key_selects_presence,
    an_exclamation_mark_selects_absence,
    several_requirements_are_all_needed,
    blanks_and_empty_values_are_allowed,
    a_prefixed_key_is_one_key,
    greater_and_less_compare_numbers,
    an_empty_selector_selects_all,
    a_wrong_label_selector_is_refused,
    a_field_selector_finds_a_name,
    a_field_selector_excludes_a_name,
    a_field_selector_finds_a_namespace_across_all,
    a_field_selector_of_pods_looks_at_phase_and_node,
    a_field_selector_of_secrets_looks_at_the_type,
    a_field_selector_of_services_looks_at_the_type,
    a_field_selector_of_events_looks_at_the_object,
    an_unknown_field_label_is_refused,
    a_selectable_field_of_a_custom_kind_selects,
    label_and_field_selectors_are_both_needed,
    a_selector_with_a_name_in_the_path_is_ignored,
);

/// Five objects; `all=x` keeps what controllers create out of the lists.
async fn given(t: &Target) {
    for (name, labels) in [
        ("a", json!({"all": "x", "tier": "front", "n": "5"})),
        ("b", json!({"all": "x", "tier": "back", "n": "50"})),
        ("c", json!({"all": "x", "tier": ""})),
        ("d", json!({"all": "x", "example.com/role": "r"})),
        ("e", json!({"all": "x", "tier": "middle", "n": "word"})),
    ] {
        t.given("configmaps", labelled(name, labels)).await;
    }
}

async fn select(t: &Target, selectors: &[&str]) {
    given(t).await;
    for selector in selectors {
        let answer = t.peek(&format!("configmaps?labelSelector={selector}")).await;
        let names: Vec<Value> = answer.body["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| item["metadata"]["name"].clone())
            .collect();
        t.note(selector, json!({"code": answer.code, "names": names, "status": answer.body["message"]}));
    }
    t.get(&format!("configmaps?labelSelector={}", selectors[0])).await;
}

async fn equal_and_double_equal_select_the_value(t: &Target) {
    select(t, &["tier=front", "tier==front", "tier=nothing"]).await;
}

async fn not_equal_selects_other_values_and_absence(t: &Target) {
    select(t, &["tier!=front,all=x", "all!=x,tier=front"]).await;
}

async fn in_selects_any_of_the_values(t: &Target) {
    select(t, &["tier in (front,back)", "tier in (front)", "tier in (nothing,)"]).await;
}

async fn notin_selects_other_values_and_absence(t: &Target) {
    select(t, &["all=x,tier notin (front,back)", "tier notin (front),tier,all"]).await;
}

async fn a_bare_key_selects_presence(t: &Target) {
    select(t, &["tier", "all,n"]).await;
}

async fn an_exclamation_mark_selects_absence(t: &Target) {
    select(t, &["!tier,all", "all,!n", "! tier,all"]).await;
}

async fn several_requirements_are_all_needed(t: &Target) {
    select(t, &["all=x,tier=front,n=5", "tier=front,tier=back"]).await;
}

async fn blanks_and_empty_values_are_allowed(t: &Target) {
    select(t, &[" tier = front ", "tier=", "tier in (front , back) , all", "tier in (,front)"]).await;
}

async fn a_prefixed_key_is_one_key(t: &Target) {
    select(t, &["example.com/role=r", "example.com/role", "!example.com/role,all"]).await;
}

async fn greater_and_less_compare_numbers(t: &Target) {
    select(t, &["n>4", "n<10", "n>4,n<49", "n>x"]).await;
}

async fn an_empty_selector_selects_all(t: &Target) {
    t.given("services", service("a")).await;
    t.get("services?labelSelector=&fieldSelector=").await;
}

async fn a_wrong_label_selector_is_refused(t: &Target) {
    for selector in
        ["a b", "=x", "a in b", "a in (b", "a=b c", "a=-b", "-a=b", "x/y/z=b", "a===b", ",", "!a=b", "a<1.5"]
    {
        t.get(&format!("configmaps?labelSelector={selector}")).await;
    }
    t.get("widgets?labelSelector=a b").await;
    t.delete("configmaps?labelSelector=a b").await;
}

async fn a_field_selector_finds_a_name(t: &Target) {
    given(t).await;
    t.get("configmaps?fieldSelector=metadata.name=b").await;
    t.get("configmaps?fieldSelector=metadata.name==none").await;
    t.given("widgets", widget("w", json!({}))).await;
    t.get("widgets?fieldSelector=metadata.name=w").await;
}

async fn a_field_selector_excludes_a_name(t: &Target) {
    given(t).await;
    t.get("configmaps?fieldSelector=metadata.name!=b&labelSelector=tier").await;
    t.get("configmaps?fieldSelector=metadata.name!=a,metadata.name!=b&labelSelector=tier").await;
}

async fn a_field_selector_finds_a_namespace_across_all(t: &Target) {
    given(t).await;
    t.get("/api/v1/configmaps?fieldSelector=metadata.namespace={id}&labelSelector=tier=front").await;
    t.get("/api/v1/configmaps?fieldSelector=metadata.namespace={id}-x").await;
}

async fn a_field_selector_of_pods_looks_at_phase_and_node(t: &Target) {
    let mut bound = pod("b");
    bound["spec"]["nodeName"] = json!("node-1");
    t.given("pods", pod("a")).await;
    t.given("pods", bound).await;
    t.get("pods?fieldSelector=spec.nodeName=node-1").await;
    t.get("pods?fieldSelector=spec.nodeName=").await;
    t.get("pods?fieldSelector=status.phase=Pending,spec.nodeName!=node-1").await;
    t.get("pods?fieldSelector=status.phase!=Pending").await;
    t.get(
        "pods?fieldSelector=spec.restartPolicy=Always,spec.schedulerName=default-scheduler,metadata.name=a",
    )
    .await;
}

async fn a_field_selector_of_secrets_looks_at_the_type(t: &Target) {
    for (name, kind) in [("a", "Opaque"), ("b", "example.com/other")] {
        t.given(
            "secrets",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind}),
        )
        .await;
    }
    t.get("secrets?fieldSelector=type=example.com/other").await;
}

async fn a_field_selector_of_services_looks_at_the_type(t: &Target) {
    let mut headless = service("b");
    headless["spec"]["clusterIP"] = json!("None");
    t.given("services", service("a")).await;
    t.given("services", headless).await;
    t.get("services?fieldSelector=spec.clusterIP=None").await;
    t.get("services?fieldSelector=spec.type=ClusterIP,metadata.name=a").await;
}

async fn a_field_selector_of_events_looks_at_the_object(t: &Target) {
    for (name, object) in [("e1", "a"), ("e2", "b")] {
        let body = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "reason": "Tested",
            "type": "Normal", "involvedObject": {"kind": "Pod", "name": object, "namespace": "{id}"}});
        t.given("events", body).await;
    }
    t.get("events?fieldSelector=involvedObject.name=b,involvedObject.kind=Pod").await;
    t.get("events?fieldSelector=reason=Tested,type!=Normal").await;
}

async fn an_unknown_field_label_is_refused(t: &Target) {
    t.get("configmaps?fieldSelector=data.k=v").await;
    t.get("pods?fieldSelector=spec.hostNetwork.x=v").await;
    t.get("widgets?fieldSelector=spec.size=1").await;
    t.get("configmaps?fieldSelector=metadata.name").await;
    t.get("configmaps?fieldSelector=metadata.labels=a").await;
    t.get("configmaps?fieldSelector=metadata.name in (a)").await;
    t.get("deployments?fieldSelector=spec.replicas=1").await;
}

async fn a_selectable_field_of_a_custom_kind_selects(t: &Target) {
    t.given("widgets", widget("a", json!({"color": "red"}))).await;
    t.given("widgets", widget("b", json!({}))).await;
    t.get("widgets?fieldSelector=spec.color=red").await;
    t.get("widgets?fieldSelector=spec.color!=red").await;
}

async fn label_and_field_selectors_are_both_needed(t: &Target) {
    given(t).await;
    t.get("configmaps?labelSelector=tier&fieldSelector=metadata.name=d").await;
    t.get("configmaps?labelSelector=tier&fieldSelector=metadata.name=c").await;
}

async fn a_selector_with_a_name_in_the_path_is_ignored(t: &Target) {
    given(t).await;
    t.get("configmaps/a?labelSelector=tier=back").await;
}
