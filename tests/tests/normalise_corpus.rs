//! Real releases in normal form, on a real API server: nothing is refused, written again or stored differently.
//!
//! Namespaces and definitions go first, then built-in kinds, then custom resources once they are served. Every object is
//! normalised and labelled before; each is then applied once more, and compared leaf by leaf with what is stored.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Client;
use lockstep_apply::FIELD_MANAGER;
use lockstep_apply::modify::{ClusterFacts, modify};
use lockstep_apply::normalise::Rules;
use lockstep_payload::{Capabilities, DiskFiles, LoadOptions, Release, Selection};
use lockstep_schema::Schema;
use lockstep_tests::clients::{self, Answer, Call};
use lockstep_tests::corpus::corpus;
use lockstep_tests::install::Install;
use serde_json::Value;
use xtask::kube::{Server, ServerOptions};

const PROFILE: &str = "self-managed-high-availability";
/// Each release, and how many undeclared fields its objects have.
const RELEASES: [(&str, usize); 2] = [("4.20.0", 5), ("4.21.0", 4)];
/// Requests at a time.
const CONCURRENCY: usize = 8;
/// How long a kind may take until it is served.
const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(100);
/// The server itself writes the status of some objects; an apply that changes nothing leaves the version alone in one of these.
const ATTEMPTS: usize = 5;
/// Kinds that only an aggregated API server defines; the server gets stubs for them.
const AGGREGATED: [(&str, &str); 2] = [("ImageStream", "imagestreams"), ("Route", "routes")];

/// An object on its way.
struct Item {
    /// Kind, namespace and name.
    label: String,
    /// The address of its kind.
    list: String,
    path: String,
    object: Value,
}

/// The objects of a release.
struct Waves {
    first: Vec<Item>,
    builtin: Vec<Item>,
    custom: Vec<Item>,
    /// Undeclared fields, with their objects.
    dropped: Vec<String>,
    /// Objects that the release has more than once.
    doubled: Vec<String>,
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

// === What is sent ===

fn selected(folder: &Path) -> Vec<Value> {
    let options = LoadOptions {
        release_image: "registry.example.com/release:1".to_owned(),
        profile: PROFILE.to_owned(),
    };
    let release = Release::load(&DiskFiles::open(folder).unwrap(), &options).unwrap();
    let selection = Selection {
        exclude: Some(String::new()),
        feature_set: Some(String::new()),
        feature_gates: Some(BTreeSet::new()),
        major_version: Some(release.major_version()),
        profile: Some(PROFILE.to_owned()),
        capabilities: Some(Capabilities::all(&BTreeSet::new()).filter()),
        ..Selection::default()
    };
    let wanted = release.selected(&selection).filter(|manifest| !manifest.is_delete());
    wanted.map(|manifest| manifest.object.clone()).collect()
}

fn waves(objects: &[Value]) -> Waves {
    let rules = Rules::of_release(objects);
    let facts = ClusterFacts { set: "version".to_owned(), ..ClusterFacts::default() };
    let (mut first, mut builtin, mut custom) = (Vec::new(), Vec::new(), Vec::new());
    let (mut dropped, mut doubled, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for object in objects {
        let mut normalised = rules.normalise(object);
        assert_eq!(rules.normalise(&normalised.object).object, normalised.object);
        modify(&mut normalised.object, &facts).unwrap();
        let item = item(&rules, normalised.object);
        dropped.extend(normalised.dropped.iter().map(|path| format!("{} {path}", item.label)));
        if !seen.insert(item.path.clone()) {
            doubled.push(item.label);
            continue;
        }
        let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        if matches!(kind, "Namespace" | "CustomResourceDefinition") {
            first.push(item);
        } else if Schema::builtin().kind(api_version, kind).is_some() {
            builtin.push(item);
        } else {
            custom.push(item);
        }
    }
    Waves { first, builtin, custom, dropped, doubled }
}

fn item(rules: &Rules, object: Value) -> Item {
    let (api_version, kind) = (text(&object, "/apiVersion"), text(&object, "/kind"));
    let (namespace, name) = (text(&object, "/metadata/namespace"), text(&object, "/metadata/name"));
    let aggregated =
        || AGGREGATED.iter().find(|(aggregated, _)| *aggregated == kind).map(|(_, plural)| *plural);
    let plural = rules.plural(api_version, kind).or_else(aggregated);
    let plural = plural.unwrap_or_else(|| panic!("nobody defines {kind} of {api_version}"));
    let api = if api_version.contains('/') { "apis" } else { "api" };
    let is_namespaced = rules.is_namespaced(api_version, kind).unwrap_or(true);
    let place = if is_namespaced { format!("/namespaces/{namespace}") } else { String::new() };
    Item {
        label: format!("{kind} {namespace}/{name}"),
        list: format!("/{api}/{api_version}/{plural}"),
        path: format!("/{api}/{api_version}{place}/{plural}/{name}"),
        object,
    }
}

// === One server ===

async fn send(client: &Client, call: &Call) -> Answer {
    let start = Instant::now();
    loop {
        let answer = call.send(client).await.expect("an answer");
        // A server that is busy with a new kind asks to come again.
        if answer.code != 429 || start.elapsed() > PATIENCE {
            return answer;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn apply(client: &Client, item: &Item) -> Answer {
    send(client, &Call::apply(&item.path, FIELD_MANAGER, &item.object)).await
}

/// Applies all; gives the refusals.
async fn apply_all(client: &Client, items: &[Item]) -> Vec<String> {
    let answers = futures::stream::iter(items).map(|item| async move {
        let answer = apply(client, item).await;
        (answer.code >= 300).then(|| format!("{}: {} {}", item.label, answer.code, answer.body["message"]))
    });
    answers.buffer_unordered(CONCURRENCY).filter_map(async |refusal| refusal).collect().await
}

async fn wait_until_served(client: &Client, items: &[Item]) {
    let lists: BTreeSet<&str> = items.iter().map(|item| item.list.as_str()).collect();
    let start = Instant::now();
    for list in lists {
        while send(client, &Call::new("GET", format!("{list}?limit=1"))).await.code != 200 {
            assert!(start.elapsed() < PATIENCE, "{list} is not served");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// What is stored, and whether an apply of the same object changes its version.
async fn apply_again(client: &Client, item: &Item) -> (Value, bool) {
    let version = |object: &Value| text(object, "/metadata/resourceVersion").to_owned();
    let read = Call::new("GET", &item.path);
    let mut stored = send(client, &read).await.body;
    for _ in 0..ATTEMPTS {
        let answer = apply(client, item).await;
        if !version(&stored).is_empty() && version(&answer.body) == version(&stored) {
            return (stored, false);
        }
        stored = send(client, &read).await.body;
    }
    (stored, true)
}

// === Leaves ===

/// Compares every leaf of a manifest with what is stored: scalars and empty lists and maps; counts them.
fn compare(path: &str, manifest: &Value, stored: Option<&Value>, count: &mut usize, found: &mut Vec<String>) {
    match (manifest, stored) {
        (Value::Object(map), Some(Value::Object(stored))) if !map.is_empty() => {
            for (key, value) in map {
                compare(&format!("{path}.{key}"), value, stored.get(key), count, found);
            }
        }
        (Value::Array(list), Some(Value::Array(stored)))
            if !list.is_empty() && list.len() == stored.len() =>
        {
            for (index, (value, stored)) in list.iter().zip(stored).enumerate() {
                compare(&format!("{path}[{index}]"), value, Some(stored), count, found);
            }
        }
        // An empty map says that there is a map; what others put there is theirs.
        (Value::Object(map), Some(Value::Object(_))) if map.is_empty() => *count += 1,
        (manifest, Some(stored)) if manifest == stored => *count += 1,
        (manifest, stored) => {
            let stored = stored.map_or("absent".to_owned(), Value::to_string);
            found.push(format!("{path}: {manifest} is stored as {stored}"));
        }
    }
}

#[test]
fn a_normalised_release_is_stored_as_it_is_and_written_once() {
    let Some(corpus) = corpus("normalised objects of real releases") else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for (version, undeclared) in RELEASES {
        let Waves { first, builtin, custom, dropped, doubled } = waves(&selected(&corpus.join(version)));
        let total = first.len() + builtin.len() + custom.len();
        let server = Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let (refused, stored) = runtime.block_on(async {
            let client = clients::of_file(server.kubeconfig()).await;
            Install::prepare(&client).await;
            let mut refused = apply_all(&client, &first).await;
            refused.extend(apply_all(&client, &builtin).await);
            wait_until_served(&client, &custom).await;
            refused.extend(apply_all(&client, &custom).await);
            let all = first.iter().chain(&builtin).chain(&custom);
            let again = all.map(|item| {
                let client = &client;
                async move { (item, apply_again(client, item).await) }
            });
            let stored: Vec<_> = futures::stream::iter(again).buffered(CONCURRENCY).collect().await;
            (refused, stored)
        });

        let (mut leaves, mut differences, mut written) = (0, Vec::new(), Vec::new());
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for (item, (stored, is_written)) in &stored {
            let mut found = Vec::new();
            compare("", &item.object, Some(stored), &mut leaves, &mut found);
            differences.extend(found.into_iter().map(|difference| format!("{} {difference}", item.label)));
            if *is_written {
                written.push(&item.label);
            }
            *kinds.entry(text(&item.object, "/kind")).or_default() += 1;
        }
        println!("{version}: {total} objects of {} kinds, {leaves} leaves, twice: {doubled:?}", kinds.len());
        println!(
            "{} refused, {} written again, {} differences",
            refused.len(),
            written.len(),
            differences.len()
        );
        println!("{} undeclared fields dropped: {dropped:#?}", dropped.len());
        assert!(total > 900 && leaves > 50_000, "the release is not what it was");
        assert!(refused.is_empty(), "refused: {refused:#?}");
        assert!(written.is_empty(), "written again: {written:#?}");
        assert!(differences.is_empty(), "stored differently: {differences:#?}");
        assert_eq!(dropped.len(), undeclared, "undeclared fields: {dropped:#?}");
    }
}
