//! A real release in the lab and in a real API server: every object gets the same verdict and is stored equally.
//!
//! Namespaces and definitions go first, then everything else, each as it is in its manifest. `LOCKSTEP_DIFF=FILE` writes
//! every difference as one line.
#![expect(clippy::panic, reason = "a test fails by a panic, also in the functions that tests share")]

#[path = "lab_conformance/wire.rs"]
#[expect(dead_code, reason = "this suite needs no watches")]
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Client;
use lockstep_lab::{Lab, LabOptions};
use lockstep_tests::clients;
use lockstep_tests::corpus::corpus;
use lockstep_tests::normalise::{Difference, Normaliser, differences};
use lockstep_tests::releases::{aggregated_kinds, load, run_time_namespaces};
use serde_json::{Value, json};
use wire::{Answer, Call};
use xtask::kube::{Server, ServerOptions};

const VERSION: &str = "4.20.0";
/// Requests that are under way at a time on each server.
const CONCURRENCY: usize = 8;
/// How long the definitions may take until all are established.
const PATIENCE: Duration = Duration::from_mins(2);
/// Of a hundred stored objects this many are equal.
const EQUAL_PERCENT: usize = 99;

/// One manifest on its way.
struct Item {
    /// For people: kind, namespace and name.
    name: String,
    object: Value,
}

/// What became of it on one server.
struct Outcome {
    answer: Answer,
    stored: Value,
}

/// What happened on one server.
struct Run {
    outcomes: Vec<Outcome>,
    applied: Duration,
}

/// Where a kind is served.
type Served = BTreeMap<(String, String), (String, bool)>;

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn item(object: Value) -> Item {
    let (kind, namespace, name) =
        (text(&object, "/kind"), text(&object, "/metadata/namespace"), text(&object, "/metadata/name"));
    let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    Item { name: format!("{kind} {place}{name}"), object }
}

fn is_first(object: &Value) -> bool {
    matches!(text(object, "/kind"), "Namespace" | "CustomResourceDefinition")
}

/// What the release does not bring but its objects need.
fn prerequisites() -> Vec<Item> {
    run_time_namespaces().chain(aggregated_kinds()).map(item).collect()
}

/// The objects of the release: what goes first, the rest, and what is there a second time.
fn release(folder: &Path) -> [Vec<Item>; 3] {
    let (release, selection) = load(&folder.join(VERSION));
    let wanted = release.selected(&selection).filter(|manifest| !manifest.is_delete());
    let mut seen = BTreeSet::new();
    let (new, again): (Vec<Item>, Vec<Item>) =
        wanted.map(|manifest| item(manifest.object.clone())).partition(|item| seen.insert(item.name.clone()));
    let (first, rest) = new.into_iter().partition(|item| is_first(&item.object));
    [first, rest, again]
}

// === One server ===

fn group_path(api_version: &str) -> String {
    if api_version.contains('/') { format!("/apis/{api_version}") } else { format!("/api/{api_version}") }
}

/// Asks the server where the kinds of these objects are, until it knows them all or the time is over.
async fn discover(client: &Client, items: &[Item]) -> Served {
    let start = Instant::now();
    let wanted: BTreeSet<(String, String)> = items
        .iter()
        .map(|item| (text(&item.object, "/apiVersion").to_owned(), text(&item.object, "/kind").to_owned()))
        .collect();
    let mut served = Served::new();
    loop {
        let missing: BTreeSet<&String> =
            wanted.iter().filter(|kind| !served.contains_key(*kind)).map(|(version, _)| version).collect();
        if missing.is_empty() || start.elapsed() > PATIENCE {
            return served;
        }
        for api_version in missing {
            let answer = Call::new("GET", group_path(api_version)).send(client).await;
            for entry in answer.body["resources"].as_array().into_iter().flatten() {
                let (kind, name) = (text(entry, "/kind").to_owned(), text(entry, "/name").to_owned());
                if !name.contains('/') {
                    let namespaced = entry["namespaced"] == true;
                    served.insert((api_version.clone(), kind), (name, namespaced));
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn path(served: &Served, object: &Value) -> String {
    let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    let (plural, namespaced) = match served.get(&(api_version.to_owned(), kind.to_owned())) {
        Some((plural, namespaced)) => (plural.as_str(), *namespaced),
        None => ("unknown", true),
    };
    let namespace = text(object, "/metadata/namespace");
    let place = if namespaced { format!("/namespaces/{namespace}") } else { String::new() };
    format!("{}{place}/{plural}/{}", group_path(api_version), text(object, "/metadata/name"))
}

async fn apply(client: &Client, served: &Served, items: &[Item]) -> Vec<Answer> {
    let applies = items.iter().map(|item| {
        let path = format!("{}?fieldManager=lockstep&force=true", path(served, &item.object));
        let body = item.object.to_string().into_bytes();
        let call = Call::new("PATCH", path).bytes("application/apply-patch+yaml", body);
        async move { call.send(client).await }
    });
    futures::stream::iter(applies).buffered(CONCURRENCY).collect().await
}

/// Waits until every definition is established.
async fn established(client: &Client) {
    let start = Instant::now();
    loop {
        let call = Call::new("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        let list = call.send(client).await;
        let is_ready = |definition: &Value| {
            let conditions = definition["status"]["conditions"].as_array();
            conditions.is_some_and(|all| {
                all.iter().any(|one| one["type"] == "Established" && one["status"] == "True")
            })
        };
        let items = list.body["items"].as_array();
        if items.is_some_and(|items| !items.is_empty() && items.iter().all(is_ready)) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "definitions are not established");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Applies everything and reads it back when all of it is there.
async fn run(client: &Client, waves: &[Vec<Item>; 3]) -> Run {
    let [first, rest, again] = waves;
    let before = prerequisites();
    let mut served = discover(client, &before).await;
    let answers = apply(client, &served, &before).await;
    assert!(
        answers.iter().all(|answer| answer.code == 201),
        "{:#?}",
        answers.iter().find(|answer| answer.code != 201)
    );

    let start = Instant::now();
    let mut answers = apply(client, &served, first).await;
    established(client).await;
    served.extend(discover(client, rest).await);
    answers.extend(apply(client, &served, rest).await);
    // After the others: which of two equal manifests creates the object would be chance.
    answers.extend(apply(client, &served, again).await);
    let applied = start.elapsed();

    let reads = waves.iter().flatten().map(|item| {
        let call = Call::new("GET", path(&served, &item.object));
        async move { call.send(client).await.body }
    });
    let stored: Vec<Value> = futures::stream::iter(reads).buffered(CONCURRENCY).collect().await;
    let outcomes =
        answers.into_iter().zip(stored).map(|(answer, stored)| Outcome { answer, stored }).collect();
    Run { outcomes, applied }
}

// === Two servers ===

fn real_server() -> Server {
    Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Refusals with their texts, or the stored objects, without what may differ.
fn compare(left: &Outcome, right: &Outcome) -> Vec<Difference> {
    let value = |outcome: &Outcome| {
        let mut normaliser = Normaliser::default();
        let refusal = (outcome.answer.code >= 400).then(|| normaliser.value(&outcome.answer.body));
        json!({"refusal": refusal, "warnings": outcome.answer.warnings, "stored": normaliser.value(&outcome.stored)})
    };
    differences(&value(left), &value(right))
}

#[test]
fn a_real_release_is_judged_and_stored_equally() {
    let Some(corpus) = corpus("objects of a real release in the lab") else { return };
    let waves = release(&corpus);
    let real = real_server();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (left, right) = runtime.block_on(async {
        let client = clients::of_file(real.kubeconfig()).await;
        let left = run(&client, &waves).await;
        let lab = Lab::new(LabOptions::default());
        (left, run(&lab.client(), &waves).await)
    });

    let items: Vec<&Item> = waves.iter().flatten().collect();
    let (mut report, mut judged, mut unequal) = (String::new(), Vec::new(), Vec::new());
    let mut warned = Vec::new();
    for ((item, left), right) in items.iter().zip(&left.outcomes).zip(&right.outcomes) {
        if left.answer.code != right.answer.code {
            let (one, two) = (&left.answer, &right.answer);
            judged.push(&item.name);
            writeln!(
                report,
                "{} | verdict: {} {} | {} {}",
                item.name, one.code, one.body["message"], two.code, two.body["message"]
            )
            .unwrap();
        }
        let found = compare(left, right);
        let (about_warnings, about_objects): (Vec<_>, Vec<_>) =
            found.iter().partition(|difference| difference.path.starts_with(".warnings"));
        if !about_objects.is_empty() {
            unequal.push(&item.name);
        }
        if !about_warnings.is_empty() {
            warned.push(&item.name);
        }
        for difference in found {
            writeln!(report, "{} | {difference}", item.name).unwrap();
        }
    }
    if let Some(file) = std::env::var_os("LOCKSTEP_DIFF") {
        std::fs::write(file, &report).unwrap();
    }
    let refused = left.outcomes.iter().filter(|outcome| outcome.answer.code >= 400).count();
    println!("{} objects of {VERSION}, {refused} refused by the real server", items.len());
    println!("applied in {:.1?} by the real server, in {:.1?} by the other", left.applied, right.applied);
    println!("{} other verdicts, {} objects stored differently", judged.len(), unequal.len());
    println!("{} objects with other warnings: {warned:?}", warned.len());
    print!("{}", report.lines().take(200).fold(String::new(), |all, line| all + line + "\n"));
    assert!(items.len() > 900 && refused > 10, "the release is not what it was");
    assert!(judged.is_empty(), "another verdict: {judged:?}");
    assert!(warned.len() * 100 <= items.len(), "other warnings: {warned:?}");
    assert!(unequal.len() * 100 <= items.len() * (100 - EQUAL_PERCENT), "stored differently: {unequal:?}");
}
