//! Watches and requests of the engine against the lab with its faults, in virtual time, and against a real API server.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

#[path = "watch_lab/front.rs"]
mod front;
#[path = "watch_lab/reader.rs"]
mod reader;
#[path = "watch_lab/real.rs"]
mod real;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join;
use lockstep_apply::kinds::{Kinds, Resource};
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun, ListPage, Removal, Server};
use lockstep_apply::watch::{Seen, Watched, watch};
use lockstep_lab::{Clock, Lab, LabOptions, Scenario};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use front::{REFUSED_AS_ANSWER, REFUSED_AS_EVENT};
use reader::{Reader, map};

const NAMESPACE: Option<&str> = Some("default");
/// How long a test may take in virtual time.
const PATIENCE: Duration = Duration::from_hours(6);

fn maps() -> Resource {
    Resource::new("", "v1", "ConfigMap", "configmaps", true)
}

fn all_of(resource: Resource) -> Watched {
    Watched { resource, namespace: None, label_selector: None, field_selector: None, metadata_only: false }
}

/// A lab with these faults that remembers this many events.
fn lab(faults: &str, window: usize) -> Lab {
    let clock = Arc::new(Clock::simulated());
    let lab = Lab::new(LabOptions { clock, window, ..LabOptions::default() });
    if !faults.is_empty() {
        let text = format!("apiVersion: lab.lockstep.dev/v1\nkind: Scenario\nfaults:\n{faults}");
        for rule in Scenario::read("test", text.as_bytes()).unwrap().faults {
            lab.faults().add(rule).unwrap();
        }
    }
    lab
}

async fn put(server: &Server, name: &str, number: usize) {
    let body = map(name, number).to_string().into();
    server.send(Call::apply(&maps(), NAMESPACE, name, body, true, DryRun::No)).await.unwrap();
}

/// Changes five objects again and again, deletes one now and then, and gives the story as a reader should see it.
async fn write_story(server: &Server, changes: usize) -> Vec<String> {
    let mut story = Vec::new();
    for number in 0..changes {
        sleep(Duration::from_secs(7)).await;
        let name = format!("m{}", number % 5);
        if number % 11 == 10 {
            server.send(Call::delete(&maps(), NAMESPACE, &name, &Removal::default())).await.unwrap();
            story.push(format!("-{name}"));
        } else {
            put(server, &name, number).await;
            story.push(format!("{name}={number}"));
        }
    }
    put(server, "end", 0).await;
    story.push("end=0".to_owned());
    story
}

#[tokio::test(start_paused = true)]
async fn every_change_is_seen_once_and_in_order_whatever_happens_to_the_watch() {
    let drop = "- {name: d, match: {resources: [configmaps]}, effect: {dropWatch: {after: 20s}}}\n";
    for faults in [
        String::new(),
        drop.to_owned(),
        "- {name: d, match: {verbs: [watch]}, effect: {dropWatch: {}}, from: 1m, for: 1m}\n".to_owned(),
        "- {name: s, match: {resources: [configmaps]}, effect: {stallWatch: {after: 30s}}}\n".to_owned(),
        "- {name: o, effect: {outage: {}}, from: 50s, for: 2m}\n".to_owned(),
        format!("{drop}- {{name: o, effect: {{outage: {{}}}}, from: 50s, for: 10m}}\n"),
        format!(
            "{drop}- {{name: r, match: {{verbs: [watch]}}, effect: {{refuse: {{code: 429, retryAfter: 5s}}}}, probability: 0.5}}\n"
        ),
        format!(
            "{drop}- {{name: r, match: {{verbs: [watch]}}, effect: {{refuse: {{code: 500}}}}, probability: 0.7}}\n"
        ),
        format!(
            "{drop}- {{name: r, match: {{verbs: [watch]}}, effect: {{refuse: {{code: 401}}}}, probability: 0.7}}\n"
        ),
        format!(
            "{drop}- {{name: h, match: {{verbs: [watch]}}, effect: {{timeoutBeforeCommit: {{hang: true}}}}, from: 1m, times: 4}}\n"
        ),
        format!(
            "{drop}- {{name: l, match: {{verbs: [watch]}}, effect: {{latency: {{from: 1s, to: 20s}}}}}}\n"
        ),
    ] {
        for seed in 0..3 {
            let lab = lab(&faults, 5000);
            let world = Server::new(lab.world_client());
            let stream = watch(Server::new(lab.client()), all_of(maps()), seed);
            let mut reader = Reader::default();
            let both = join(write_story(&world, 150), reader.read_to_end(stream));
            let (story, ()) = timeout(PATIENCE, both).await.unwrap();
            assert_eq!(reader.story, story, "seed {seed}, {faults}");
            assert_eq!(reader.restarts, 1, "seed {seed}, {faults}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_exists_is_known_in_the_end_although_the_server_forgets() {
    let drop = "- {name: d, match: {resources: [configmaps]}, effect: {dropWatch: {after: 20s}}}\n";
    for (faults, window) in [
        (
            format!(
                "{drop}- {{name: e, match: {{verbs: [watch]}}, effect: {{expireWatch: {{}}}}, probability: 0.5}}\n"
            ),
            5000,
        ),
        ("- {name: o, effect: {outage: {}}, from: 50s, for: 5m}\n".to_owned(), 3),
        ("- {name: s, match: {resources: [configmaps]}, effect: {stallWatch: {after: 30s}}}\n".to_owned(), 3),
        (
            "- {name: s, match: {resources: [configmaps]}, effect: {stallWatch: {}}, times: 1}\n".to_owned(),
            5000,
        ),
        (
            format!(
                "{drop}- {{name: e, match: {{verbs: [list]}}, effect: {{expireWatch: {{}}}}, times: 2}}\n"
            ),
            2,
        ),
        (format!("{drop}- {{name: r, effect: {{refuse: {{code: 503}}}}, probability: 0.6}}\n"), 2),
    ] {
        for front in [None, Some(REFUSED_AS_ANSWER), Some(REFUSED_AS_EVENT)] {
            let lab = lab(&faults, window);
            let world = Server::new(lab.world_client());
            let client = match front {
                Some(refusal) => front::without_streams(lab.client(), refusal),
                None => lab.client(),
            };
            // They go away while nobody looks, or stay unseen: the sweep must tell.
            for number in 0..5 {
                put(&world, &format!("m{number}"), 0).await;
            }
            let stream = watch(Server::new(client), all_of(maps()), 1);
            let mut reader = Reader::default();
            let both = join(write_story(&world, 100), reader.read_to_end(stream));
            timeout(PATIENCE, both).await.unwrap();
            assert_eq!(reader.known, stored(&world).await, "{front:?} {faults}");
            assert!(reader.is_in_order(), "{front:?} {faults}: {:?}", reader.story);
        }
    }
}

/// The numbers that the objects of the server have.
async fn stored(server: &Server) -> BTreeMap<String, u64> {
    let list = server.send(Call::list(&maps(), NAMESPACE, &ListPage::default())).await.unwrap().object;
    let items = list["items"].as_array().unwrap();
    items.iter().filter(|item| item["data"]["n"].is_string()).map(reader::number).collect()
}

#[tokio::test(start_paused = true)]
async fn more_objects_than_a_page_has_are_all_given_also_when_a_page_fails() {
    let faults = "- {name: r, match: {verbs: [list]}, effect: {refuse: {code: 503}}, probability: 0.5}\n";
    let lab = lab(faults, 5000);
    let world = Server::new(lab.world_client());
    for number in 0..230 {
        put(&world, &format!("m{number:03}"), number).await;
    }
    put(&world, "end", 0).await;
    let client = front::without_streams(lab.client(), REFUSED_AS_EVENT);
    let mut reader = Reader::default();
    timeout(PATIENCE, reader.read_to_end(watch(Server::new(client), all_of(maps()), 0))).await.unwrap();
    assert_eq!(reader.known, stored(&world).await);
    assert_eq!(reader.story.len(), 231, "no page is given twice");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_is_asked_for_ever_more_rarely_until_it_is_there() {
    let lab = lab("", 5000);
    let server = Server::new(lab.client());
    let widgets = Resource::new("example.com", "v1", "Widget", "widgets", false);
    let mut stream = watch(server.clone(), all_of(widgets), 3);
    let mut pauses = Vec::new();
    for _ in 0..9 {
        match stream.next().await.unwrap() {
            Seen::Trouble { refusal: Refusal::KindNotServed, retry_in } => pauses.push(retry_in),
            other => panic!("{other:?}"),
        }
    }
    assert!(pauses[0] <= Duration::from_millis(200) && pauses[8] >= Duration::from_secs(15), "{pauses:?}");
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Cluster",
            "names": {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let definitions = Resource::new(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    );
    server.send(Call::create(&definitions, None, definition.to_string().into(), DryRun::No)).await.unwrap();
    assert_eq!(stream.next().await, Some(Seen::Restarted));
    assert!(matches!(stream.next().await, Some(Seen::Synced { .. })));
    let kinds = Kinds::discover(&server).await.unwrap();
    assert_eq!(kinds.find("example.com/v1", "Widget").unwrap().plural, "widgets");
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_are_given_where_they_are_enough() {
    let lab = lab("", 5000);
    let server = Server::new(lab.client());
    put(&server, "a", 1).await;
    let what =
        Watched { field_selector: Some("metadata.name=a".to_owned()), metadata_only: true, ..all_of(maps()) };
    for client in [lab.client(), front::without_streams(lab.client(), REFUSED_AS_ANSWER)] {
        let seen: Vec<Seen> = watch(Server::new(client), what.clone(), 0).take(3).collect().await;
        let [Seen::Restarted, Seen::Object(object), Seen::Synced { .. }] = &seen[..] else {
            panic!("{seen:?}")
        };
        assert_eq!((&object["metadata"]["name"], &object["data"]), (&json!("a"), &Value::Null));
        assert_eq!(object["kind"], "PartialObjectMetadata");
    }
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_one_history_to_the_millisecond() {
    let faults = "- {name: d, match: {resources: [configmaps]}, effect: {dropWatch: {after: 20s}}}\n\
                  - {name: o, effect: {outage: {}}, from: 50s, for: 3m}\n";
    let mut histories = Vec::new();
    for seed in [1, 1, 2] {
        let lab = lab(faults, 5000);
        let world = Server::new(lab.world_client());
        let start = Instant::now();
        let mut history = Vec::new();
        let read = async {
            let mut stream = watch(Server::new(lab.client()), all_of(maps()), seed);
            while let Some(seen) = stream.next().await {
                history.push(format!("{} {seen:?}", start.elapsed().as_millis()));
                if matches!(&seen, Seen::Object(object) if object["metadata"]["name"] == "end") {
                    break;
                }
            }
        };
        timeout(PATIENCE, join(write_story(&world, 60), read)).await.unwrap();
        histories.push(history);
    }
    assert_eq!(histories[0], histories[1]);
    assert_ne!(histories[0], histories[2], "the seed has no effect");
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_ends_and_says_how_long_it_waited() {
    let lab = lab("- {name: h, match: {verbs: [get]}, effect: {timeoutBeforeCommit: {hang: true}}}\n", 5000);
    let server = Server::new(lab.client()).with_timeout(Duration::from_secs(3));
    let refusal = server.send(Call::get(&maps(), NAMESPACE, "a")).await.unwrap_err();
    assert_eq!(refusal, Refusal::Busy { message: "no answer within 3 s".to_owned(), retry_after: None });
}
