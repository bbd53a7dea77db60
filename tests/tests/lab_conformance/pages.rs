//! Lists in parts, and lists of a version.

use serde_json::{Value, json};

use crate::objects::{labelled, widget};
use crate::target::{Target, cases};
use crate::wire::Answer;

cases!("limit and continue", controllers: false;
    a_limit_cuts_the_list_and_tells_how_many_remain,
    a_token_gives_the_next_part_until_there_is_none,
    a_limit_that_fits_gives_no_token,
    a_selector_hides_how_many_remain,
    a_selector_holds_over_the_parts,
    the_parts_are_of_one_version,
    a_token_outlives_the_deletion_of_its_place,
    a_malformed_token_is_refused,
    a_token_with_a_version_is_refused,
    an_expired_token_is_gone_and_offers_another,
    a_negative_limit_is_none_and_a_word_is_refused,
    a_limit_of_zero_is_none,
    a_list_over_all_namespaces_has_parts,
    custom_objects_come_in_parts,
    a_list_at_version_zero_has_no_parts,
    a_list_not_older_than_a_version_has_the_newest,
    a_list_of_an_exact_version_shows_the_past,
    a_list_of_a_future_version_is_refused,
    a_list_of_a_forgotten_version_is_gone,
    a_wrong_version_is_refused,
    a_wrong_version_match_is_refused,
    a_get_of_a_version_is_not_older,
    a_list_is_sorted_by_name,
);

async fn given(t: &Target, names: &[&str]) {
    for name in names {
        t.given("configmaps", labelled(name, json!({"all": "x", "name": name}))).await;
    }
}

fn token(answer: &Answer) -> String {
    answer.body["metadata"]["continue"].as_str().unwrap_or_default().to_owned()
}

/// Tokens are base64 of JSON without padding.
fn crafted(version: i64, start: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let text = json!({"v": "meta.k8s.io/v1", "rv": version, "start": start}).to_string();
    let mut result = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let mut bits = 0_usize;
        for index in 0..3 {
            bits = bits << 8 | usize::from(chunk.get(index).copied().unwrap_or_default());
        }
        for place in 0..=chunk.len() {
            result.push(char::from(DIGITS[bits >> (18 - 6 * place) & 63]));
        }
    }
    result
}

async fn a_limit_cuts_the_list_and_tells_how_many_remain(t: &Target) {
    for name in ["a", "b", "c"] {
        t.given("widgets", widget(name, json!({}))).await;
    }
    t.get("widgets?limit=1").await;
    t.get("widgets?limit=2").await;
}

async fn a_token_gives_the_next_part_until_there_is_none(t: &Target) {
    given(t, &["a", "b", "c", "d", "e"]).await;
    let one = t.get("configmaps?limit=2&labelSelector=all=x").await;
    let two = t.get(&format!("configmaps?limit=2&labelSelector=all=x&continue={}", token(&one))).await;
    t.get(&format!("configmaps?limit=2&labelSelector=all=x&continue={}", token(&two))).await;
    t.get(&format!("configmaps?labelSelector=all=x&continue={}", token(&one))).await;
}

async fn a_limit_that_fits_gives_no_token(t: &Target) {
    for name in ["a", "b"] {
        t.given("secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})).await;
    }
    t.get("secrets?limit=2").await;
    t.get("secrets?limit=500").await;
    t.get("services?limit=1").await;
}

async fn a_selector_hides_how_many_remain(t: &Target) {
    given(t, &["a", "b", "c"]).await;
    t.get("configmaps?limit=1&labelSelector=all=x").await;
    t.get("configmaps?limit=1&fieldSelector=metadata.name!=kube-root-ca.crt").await;
}

async fn a_selector_holds_over_the_parts(t: &Target) {
    given(t, &["a", "b", "c", "d"]).await;
    t.merge("configmaps/b", json!({"metadata": {"labels": {"all": "y"}}})).await;
    let one = t.get("configmaps?limit=1&labelSelector=all=x").await;
    t.get(&format!("configmaps?limit=1&labelSelector=all=x&continue={}", token(&one))).await;
    t.get("configmaps?limit=1&labelSelector=all=y").await;
}

async fn the_parts_are_of_one_version(t: &Target) {
    given(t, &["a", "c", "d"]).await;
    let one = t.get("configmaps?limit=1&labelSelector=all=x").await;
    given(t, &["b"]).await;
    t.delete("configmaps/d").await;
    let two = t.get(&format!("configmaps?labelSelector=all=x&continue={}", token(&one))).await;
    t.note("same version", one.meta("resourceVersion") == two.meta("resourceVersion"));
}

async fn a_token_outlives_the_deletion_of_its_place(t: &Target) {
    given(t, &["a", "b", "c"]).await;
    let one = t.get("configmaps?limit=1&labelSelector=all=x").await;
    t.delete("configmaps/a").await;
    t.delete("configmaps/b").await;
    t.get(&format!("configmaps?limit=1&labelSelector=all=x&continue={}", token(&one))).await;
}

async fn a_malformed_token_is_refused(t: &Target) {
    t.get("configmaps?limit=1&continue=abc").await;
    t.get("configmaps?limit=1&continue=!!!").await;
    t.get(&format!("configmaps?continue={}", crafted(5, "../x"))).await;
    t.get("widgets?limit=1&continue=abc").await;
}

async fn a_token_with_a_version_is_refused(t: &Target) {
    given(t, &["a", "b"]).await;
    let one = t.get("configmaps?limit=1&labelSelector=all=x").await;
    t.get(&format!("configmaps?limit=1&resourceVersion=5&continue={}", token(&one))).await;
    t.get(&format!("configmaps?limit=1&resourceVersion=0&continue={}", token(&one))).await;
    t.get(&format!("configmaps?resourceVersion=5&resourceVersionMatch=Exact&continue={}", token(&one))).await;
}

/// The real server forgets version 1 some seconds after its start.
async fn an_expired_token_is_gone_and_offers_another(t: &Target) {
    given(t, &["a", "b"]).await;
    let path = format!("configmaps?limit=1&continue={}", crafted(1, "a\u{0}"));
    let answer = t.eventually(&path, |answer| answer.code == 410).await;
    t.get(&format!("configmaps?limit=1&labelSelector=all=x&continue={}", token(&answer))).await;
}

async fn a_negative_limit_is_none_and_a_word_is_refused(t: &Target) {
    t.get("secrets?limit=-1").await;
    t.get("secrets?limit=many").await;
}

async fn a_limit_of_zero_is_none(t: &Target) {
    given(t, &["a", "b"]).await;
    t.get("configmaps?limit=0&labelSelector=all=x").await;
}

async fn a_list_over_all_namespaces_has_parts(t: &Target) {
    t.given("namespaces", crate::objects::namespace("{id}-z")).await;
    given(t, &["a", "b"]).await;
    t.given("/api/v1/namespaces/{id}-z/configmaps", labelled("a", json!({"only": "{id}"}))).await;
    t.merge("configmaps/b", json!({"metadata": {"labels": {"only": "{id}"}}})).await;
    let one = t.get("/api/v1/configmaps?limit=1&labelSelector=only={id}").await;
    // Whether there might be more depends on what other cases have behind this namespace.
    let path = format!("/api/v1/configmaps?limit=1&labelSelector=only={{id}}&continue={}", token(&one));
    let two = t.peek(&path).await;
    t.note("the second part", two.body["items"].as_array().map(Vec::len));
}

async fn custom_objects_come_in_parts(t: &Target) {
    for name in ["a", "b", "c"] {
        t.given("widgets", widget(name, json!({"size": 1}))).await;
    }
    let one = t.get("widgets?limit=2").await;
    t.get(&format!("widgets?limit=2&continue={}", token(&one))).await;
}

async fn a_list_at_version_zero_has_no_parts(t: &Target) {
    given(t, &["a", "b"]).await;
    // A cache answers; wait until it has seen both.
    let complete = |answer: &Answer| answer.body["items"].as_array().is_some_and(|items| items.len() == 2);
    t.eventually("configmaps?resourceVersion=0&labelSelector=all=x", complete).await;
    t.eventually("configmaps?resourceVersion=0&limit=1&labelSelector=all=x", |_| true).await;
}

async fn a_list_not_older_than_a_version_has_the_newest(t: &Target) {
    given(t, &["a"]).await;
    let version = t.peek("configmaps/a").await.meta("resourceVersion");
    given(t, &["b"]).await;
    let query = format!("configmaps?labelSelector=all=x&resourceVersion={version}");
    let newer = |answer: &Answer| answer.body["items"].as_array().is_some_and(|items| items.len() == 2);
    t.eventually(&format!("{query}&resourceVersionMatch=NotOlderThan"), newer).await;
    t.get("configmaps?labelSelector=all=x&resourceVersionMatch=NotOlderThan").await;
}

async fn a_list_of_an_exact_version_shows_the_past(t: &Target) {
    given(t, &["a"]).await;
    let version = t.peek("configmaps/a").await.meta("resourceVersion");
    given(t, &["b"]).await;
    t.delete("configmaps/a").await;
    let list = t
        .get(&format!("configmaps?labelSelector=all=x&resourceVersion={version}&resourceVersionMatch=Exact"))
        .await;
    t.note("that version", list.meta("resourceVersion") == version);
}

async fn a_list_of_a_future_version_is_refused(t: &Target) {
    t.get("configmaps?resourceVersion=99999999&resourceVersionMatch=NotOlderThan&labelSelector=all=x").await;
}

/// The real server forgets version 1 some seconds after its start.
async fn a_list_of_a_forgotten_version_is_gone(t: &Target) {
    let forgotten = |answer: &Answer| answer.code == 410;
    t.eventually("configmaps?resourceVersion=1&resourceVersionMatch=Exact", forgotten).await;
}

async fn a_wrong_version_is_refused(t: &Target) {
    t.get("configmaps?resourceVersion=abc").await;
    t.get("configmaps?resourceVersion=-1").await;
    t.given("configmaps", labelled("a", json!({}))).await;
    t.get("configmaps/a?resourceVersion=abc").await;
}

async fn a_wrong_version_match_is_refused(t: &Target) {
    t.get("configmaps?resourceVersion=1&resourceVersionMatch=Guess").await;
    t.get("configmaps?resourceVersionMatch=Exact").await;
    t.get("configmaps?resourceVersion=0&resourceVersionMatch=Exact").await;
    t.get("configmaps?sendInitialEvents=true").await;
}

async fn a_get_of_a_version_is_not_older(t: &Target) {
    let made = t.given("configmaps", labelled("a", json!({}))).await;
    t.get(&format!("configmaps/a?resourceVersion={}", made.meta("resourceVersion"))).await;
    t.eventually("configmaps/a?resourceVersion=0", |answer| answer.code == 200).await;
}

async fn a_list_is_sorted_by_name(t: &Target) {
    given(t, &["b", "a.b", "a", "a-b", "c", "0"]).await;
    let list = t.get("configmaps?labelSelector=all=x").await;
    let names: Vec<Value> = list.body["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| item["metadata"]["name"].clone())
        .collect();
    t.note("names", names);
}
