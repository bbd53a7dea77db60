//! Watches: events, versions, bookmarks, initial events, selectors.

use serde_json::json;

use crate::objects::{config_map, deployment, labelled, widget};
use crate::target::{Target, cases};

cases!("watch", controllers: false;
    a_watch_from_a_version_tells_what_came_after,
    a_watch_without_a_version_begins_with_what_is_there,
    a_watch_from_version_zero_begins_with_what_is_there,
    writes_that_change_nothing_cause_no_event,
    an_object_that_loses_the_label_is_deleted_for_the_watch,
    an_object_that_gains_the_label_is_added_for_the_watch,
    a_change_outside_of_the_selector_causes_no_event,
    a_finalizer_turns_the_deletion_into_a_change_first,
    a_watch_of_one_name_sees_only_that_object,
    a_watch_over_all_namespaces_sees_this_one,
    a_watch_from_a_forgotten_version_is_gone,
    a_watch_from_a_future_version_waits,
    a_watch_from_a_wrong_version_is_refused,
    initial_events_end_with_a_marked_bookmark,
    initial_events_of_nothing_are_only_the_bookmark,
    initial_events_of_a_custom_kind_end_with_a_marked_bookmark,
    initial_events_need_their_other_options,
    a_watch_ends_when_its_time_is_over,
    a_watch_with_bookmarks_gets_one_before_its_end,
    a_watch_of_metadata_shows_nothing_else,
    a_watch_of_custom_objects_tells_the_same,
    status_changes_are_changes,
    a_deleted_collection_is_a_deletion_for_each,
    an_apply_is_an_addition_and_a_change,
    a_wrong_selector_of_a_watch_is_refused,
    a_watch_of_an_unknown_kind_is_not_found,
    a_dry_run_causes_no_event,
    the_deprecated_watch_path_gives_the_same_events,
);

async fn version(t: &Target, path: &str) -> String {
    t.peek(path).await.meta("resourceVersion")
}

/// A watch of the labelled `ConfigMaps` of the case from now on.
async fn from_now(t: &Target, resource: &str, query: &str) -> String {
    format!("{resource}?{query}resourceVersion={}", version(t, resource).await)
}

async fn a_watch_from_a_version_tells_what_came_after(t: &Target) {
    t.given("configmaps", labelled("before", json!({"all": "x"}))).await;
    let mut watch = t.watch(&from_now(t, "configmaps", "").await).await;
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.merge("configmaps/a", json!({"data": {"k": "w"}})).await;
    t.delete("configmaps/a").await;
    let events = watch.events(3).await;
    t.note("the deletion has a newer version", {
        let number = |index: usize| -> u64 {
            events[index]["object"]["metadata"]["resourceVersion"]
                .as_str()
                .unwrap_or_default()
                .parse()
                .unwrap_or_default()
        };
        number(2) > number(1)
    });
}

async fn a_watch_without_a_version_begins_with_what_is_there(t: &Target) {
    t.given("configmaps", labelled("a", json!({"all": "x"}))).await;
    t.given("configmaps", labelled("b", json!({"all": "x"}))).await;
    let mut watch = t.watch("configmaps?labelSelector=all=x").await;
    watch.events(2).await;
    t.given("configmaps", labelled("c", json!({"all": "x"}))).await;
    watch.events(1).await;
}

async fn a_watch_from_version_zero_begins_with_what_is_there(t: &Target) {
    t.given("configmaps", labelled("a", json!({"all": "x"}))).await;
    let mut watch = t.watch("configmaps?labelSelector=all=x&resourceVersion=0").await;
    watch.events(1).await;
}

async fn writes_that_change_nothing_cause_no_event(t: &Target) {
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    let mut watch = t.watch(&from_now(t, "configmaps", "").await).await;
    t.merge("configmaps/a", json!({"data": {"k": "v"}})).await;
    t.put("configmaps/a", config_map("a", json!({"k": "v"}))).await;
    t.given("configmaps", config_map("z", json!({}))).await;
    watch.events(1).await;
}

async fn an_object_that_loses_the_label_is_deleted_for_the_watch(t: &Target) {
    t.given("configmaps", labelled("a", json!({"all": "x"}))).await;
    t.given("configmaps", labelled("b", json!({"all": "x"}))).await;
    let mut watch = t.watch(&from_now(t, "configmaps", "labelSelector=all=x&").await).await;
    t.merge("configmaps/a", json!({"metadata": {"labels": {"all": null}}})).await;
    t.merge("configmaps/b", json!({"metadata": {"labels": {"all": "y"}}, "data": {"k": "v"}})).await;
    let events = watch.events(2).await;
    let newest = t.peek("configmaps/b").await.meta("resourceVersion");
    t.note(
        "version of the change",
        events.get(1).is_some_and(|event| event["object"]["metadata"]["resourceVersion"] == newest),
    );
}

async fn an_object_that_gains_the_label_is_added_for_the_watch(t: &Target) {
    t.given("configmaps", labelled("a", json!({"other": "x"}))).await;
    let mut watch = t.watch(&from_now(t, "configmaps", "labelSelector=all=x&").await).await;
    t.merge("configmaps/a", json!({"metadata": {"labels": {"all": "x"}}})).await;
    t.merge("configmaps/a", json!({"metadata": {"labels": {"more": "x"}}})).await;
    watch.events(2).await;
}

async fn a_change_outside_of_the_selector_causes_no_event(t: &Target) {
    t.given("configmaps", labelled("a", json!({"other": "x"}))).await;
    let mut watch = t.watch(&from_now(t, "configmaps", "labelSelector=all=x&").await).await;
    t.merge("configmaps/a", json!({"data": {"k": "v"}})).await;
    t.delete("configmaps/a").await;
    t.given("configmaps", labelled("z", json!({"all": "x"}))).await;
    watch.events(1).await;
}

async fn a_finalizer_turns_the_deletion_into_a_change_first(t: &Target) {
    let mut body = labelled("a", json!({"all": "x"}));
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    t.given("configmaps", body).await;
    let mut watch = t.watch(&from_now(t, "configmaps", "labelSelector=all=x&").await).await;
    t.delete("configmaps/a").await;
    t.merge("configmaps/a", json!({"metadata": {"finalizers": null}})).await;
    watch.events(2).await;
}

async fn a_watch_of_one_name_sees_only_that_object(t: &Target) {
    let query = "fieldSelector=metadata.name=a&";
    let mut watch = t.watch(&from_now(t, "configmaps", query).await).await;
    t.given("configmaps", config_map("b", json!({}))).await;
    t.given("configmaps", config_map("a", json!({}))).await;
    t.delete("configmaps/b").await;
    t.delete("configmaps/a").await;
    watch.events(2).await;
}

async fn a_watch_over_all_namespaces_sees_this_one(t: &Target) {
    let path = "/api/v1/configmaps?labelSelector=only={id}";
    let from = version(t, path).await;
    let mut watch = t.watch(&format!("{path}&resourceVersion={from}")).await;
    t.given("configmaps", labelled("a", json!({"only": "{id}"}))).await;
    watch.events(1).await;
}

/// Nothing is kept from before the definition of the kind.
async fn a_watch_from_a_forgotten_version_is_gone(t: &Target) {
    t.watch("widgets?resourceVersion=1").await.until_the_end().await;
}

async fn a_watch_from_a_future_version_waits(t: &Target) {
    t.watch("configmaps?resourceVersion=99999999&timeoutSeconds=1").await.until_the_end().await;
}

async fn a_watch_from_a_wrong_version_is_refused(t: &Target) {
    t.watch("configmaps?resourceVersion=abc").await.until_the_end().await;
    t.watch("configmaps?resourceVersion=1&resourceVersionMatch=Exact").await.until_the_end().await;
}

const INITIAL: &str = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async fn initial_events_end_with_a_marked_bookmark(t: &Target) {
    for name in ["b", "a"] {
        t.given("configmaps", labelled(name, json!({"all": "x"}))).await;
    }
    let mut watch = t.watch(&format!("configmaps?labelSelector=all=x&{INITIAL}")).await;
    watch.until_the_bookmark().await;
    t.given("configmaps", labelled("c", json!({"all": "x"}))).await;
    watch.events(1).await;
}

async fn initial_events_of_nothing_are_only_the_bookmark(t: &Target) {
    t.watch(&format!("services?{INITIAL}")).await.until_the_bookmark().await;
    t.watch(&format!("services?{INITIAL}&resourceVersion=0")).await.until_the_bookmark().await;
}

async fn initial_events_of_a_custom_kind_end_with_a_marked_bookmark(t: &Target) {
    t.given("widgets", widget("a", json!({"size": 1}))).await;
    t.watch(&format!("widgets?{INITIAL}")).await.until_the_bookmark().await;
}

async fn initial_events_need_their_other_options(t: &Target) {
    t.watch("configmaps?sendInitialEvents=true").await.until_the_end().await;
    t.watch("configmaps?sendInitialEvents=true&resourceVersionMatch=Exact").await.until_the_end().await;
    t.watch("configmaps?resourceVersionMatch=NotOlderThan").await.until_the_end().await;
    let version = version(t, "services").await;
    let none = format!(
        "services?sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion={version}"
    );
    t.watch(&format!("{none}&timeoutSeconds=1")).await.until_the_end().await;
}

async fn a_watch_ends_when_its_time_is_over(t: &Target) {
    t.given("configmaps", labelled("a", json!({"all": "x"}))).await;
    t.watch("configmaps?labelSelector=all=x&timeoutSeconds=1").await.until_the_end().await;
    t.watch("configmaps?timeoutSeconds=soon").await.until_the_end().await;
}

async fn a_watch_with_bookmarks_gets_one_before_its_end(t: &Target) {
    let path =
        from_now(t, "configmaps", "labelSelector=none&allowWatchBookmarks=true&timeoutSeconds=6&").await;
    let mut watch = t.watch(&path).await;
    // Without any write there is nothing to say.
    t.given("configmaps", config_map("other", json!({}))).await;
    watch.until_the_bookmark().await;
}

async fn a_watch_of_metadata_shows_nothing_else(t: &Target) {
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let path = from_now(t, "configmaps", "").await;
    let mut watch = t.watch_as(&path, accept).await;
    t.given("configmaps", config_map("a", json!({"k": "v"}))).await;
    t.merge("configmaps/a", json!({"data": {"k": "w"}})).await;
    t.delete("configmaps/a").await;
    watch.events(3).await;
    let mut watch = t.watch_as(&format!("configmaps?{INITIAL}"), accept).await;
    watch.until_the_bookmark().await;
}

async fn a_watch_of_custom_objects_tells_the_same(t: &Target) {
    let mut watch = t.watch(&from_now(t, "widgets", "").await).await;
    t.given("widgets", widget("a", json!({"size": 1}))).await;
    t.merge("widgets/a", json!({"spec": {"size": 2}})).await;
    t.delete("widgets/a").await;
    watch.events(3).await;
}

async fn status_changes_are_changes(t: &Target) {
    t.given("widgets", widget("a", json!({}))).await;
    let mut watch = t.watch(&from_now(t, "widgets", "").await).await;
    t.merge("widgets/a/status", json!({"status": {"phase": "Ready"}})).await;
    t.merge("widgets/a/scale", json!({"spec": {"replicas": 3}})).await;
    watch.events(2).await;
}

async fn a_deleted_collection_is_a_deletion_for_each(t: &Target) {
    for name in ["a", "b"] {
        t.given("configmaps", labelled(name, json!({"all": "x"}))).await;
    }
    let mut watch = t.watch(&from_now(t, "configmaps", "labelSelector=all=x&").await).await;
    t.delete("configmaps?labelSelector=all=x").await;
    let mut names: Vec<String> = watch
        .peek_events(2)
        .await
        .iter()
        .map(|event| format!("{} {}", event["type"], event["object"]["metadata"]["name"]))
        .collect();
    names.sort();
    t.note("events in any order", names);
}

async fn an_apply_is_an_addition_and_a_change(t: &Target) {
    let mut watch = t.watch(&from_now(t, "deployments", "").await).await;
    t.apply("one", "deployments/a", deployment("a")).await;
    t.apply("one", "deployments/a", deployment("a")).await;
    t.apply("two", "deployments/a", deployment("a")).await;
    t.delete("deployments/a").await;
    watch.events(3).await;
}

async fn a_wrong_selector_of_a_watch_is_refused(t: &Target) {
    t.watch("configmaps?labelSelector=a b").await.until_the_end().await;
    t.watch("configmaps?fieldSelector=data.k=v").await.until_the_end().await;
}

async fn a_watch_of_an_unknown_kind_is_not_found(t: &Target) {
    t.watch("/api/v1/nothings").await.until_the_end().await;
    t.watch("/apis/none.example.com/v1/nothings").await.until_the_end().await;
}

async fn a_dry_run_causes_no_event(t: &Target) {
    let mut watch = t.watch(&from_now(t, "configmaps", "").await).await;
    t.post("configmaps?dryRun=All", config_map("a", json!({}))).await;
    t.given("configmaps", config_map("z", json!({}))).await;
    watch.events(1).await;
}

async fn the_deprecated_watch_path_gives_the_same_events(t: &Target) {
    let path = format!(
        "/api/v1/watch/namespaces/{{id}}/configmaps?resourceVersion={}",
        version(t, "configmaps").await
    );
    let mut watch = t.watch(&path).await;
    t.given("configmaps", config_map("a", json!({}))).await;
    watch.events(1).await;
}
