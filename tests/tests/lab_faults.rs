//! Faults of a whole lab in virtual time: what clients see, and what is stored all the same.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use http::Request;
use lockstep_lab::{Clock, Lab, LabOptions, Scenario};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A lab with the faults of a scenario.
fn lab(faults: &str) -> Lab {
    let text = format!("apiVersion: lab.lockstep.dev/v1\nkind: Scenario\nfaults:\n{faults}");
    let scenario = Scenario::read("test", text.as_bytes()).unwrap();
    let clock = Arc::new(Clock::simulated());
    let lab = Lab::new(LabOptions { clock, ..LabOptions::default() });
    for rule in scenario.faults {
        lab.faults().add(rule).unwrap();
    }
    lab
}

async fn send(client: &kube::Client, line: &str, body: Value) -> Result<Value, kube::Error> {
    let (method, path) = line.split_once(' ').unwrap();
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", content);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.request(request.body(body).unwrap()).await
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// Code and reason of a refusal.
fn refusal(outcome: Result<Value, kube::Error>) -> (u16, String) {
    match outcome {
        Err(kube::Error::Api(status)) => (status.code, status.reason),
        other => (0, format!("not refused: {other:?}")),
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_changes_nothing_and_is_over_after_its_times() {
    let lab = lab(
        "- {name: c, match: {verbs: [patch], resources: [configmaps]}, effect: {refuse: {code: 409}}, times: 1}\n",
    );
    let client = lab.client();
    send(&client, &format!("POST {MAPS}"), map("a")).await.unwrap();
    let patch = format!("PATCH {MAPS}/a");
    let outcome = send(&client, &patch, json!({"data": {"k": "v"}})).await;
    assert_eq!(refusal(outcome), (409, "Conflict".to_owned()));
    let stored = send(&client, &format!("GET {MAPS}/a"), Value::Null).await.unwrap();
    assert_eq!(stored["data"], Value::Null);
    let patched = send(&client, &patch, json!({"data": {"k": "v"}})).await.unwrap();
    assert_eq!(patched["data"]["k"], "v");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_after_the_commit_leaves_the_object_stored() {
    let lab = lab(
        "- {name: lost, match: {verbs: [create]}, effect: {timeoutAfterCommit: {after: 30s}}, times: 1}\n\
         - {name: early, match: {verbs: [create]}, effect: {timeoutBeforeCommit: {after: 10s}}, times: 1}\n",
    );
    let client = lab.client();
    let create = format!("POST {MAPS}");
    assert_eq!(refusal(send(&client, &create, map("lost")).await), (504, "Timeout".to_owned()));
    assert_eq!(refusal(send(&client, &create, map("early")).await), (504, "Timeout".to_owned()));
    assert_eq!(lab.clock().elapsed().as_secs(), 40, "the waits are waits of the lab");
    let list = send(&client, &format!("GET {MAPS}"), Value::Null).await.unwrap();
    let names: Vec<&Value> =
        list["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(names, ["lost"]);
    let again = send(&client, &create, map("lost")).await;
    assert_eq!(refusal(again), (409, "AlreadyExists".to_owned()), "whoever tries again finds it");
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_in_time_and_an_outage_ends_it_at_once_but_not_for_the_world() {
    for (fault, seconds) in [
        ("{name: w, match: {resources: [configmaps]}, effect: {dropWatch: {after: 20s}}}", 20),
        ("{name: w, effect: {outage: {}}, from: 50s}", 50),
    ] {
        let lab = lab(&format!("- {fault}\n"));
        let watch = |client: kube::Client| async move {
            let request = Request::get(format!("{MAPS}?watch=1")).body(Vec::new()).unwrap();
            client.request_events::<Value>(request).await.unwrap().boxed()
        };
        let (client, world) = (lab.client(), lab.world_client());
        let (mut hit, mut spared) = (watch(client.clone()).await, watch(world.clone()).await);
        send(&client, &format!("POST {MAPS}"), map("a")).await.unwrap();
        assert!(hit.next().await.unwrap().is_ok());
        assert!(hit.next().await.is_none(), "{fault}");
        assert_eq!(lab.clock().elapsed().as_secs(), seconds, "{fault}");
        assert!(spared.next().await.unwrap().is_ok());
        send(&world, &format!("POST {MAPS}"), map("b")).await.unwrap();
        let next = tokio::time::timeout(Duration::from_mins(1), spared.next()).await;
        assert!(next.unwrap().unwrap().is_ok(), "{fault}");
    }
}
