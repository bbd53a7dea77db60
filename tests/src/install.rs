//! A release applied to an API server, as an operator does it: server-side apply in three waves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use lockstep_schema::Schema;
use serde_json::Value;

use crate::clients::Call;
use crate::corpus::corpus;
use crate::releases::{aggregated_kinds, example, load, run_time_namespaces};

/// The field manager.
pub const MANAGER: &str = "lockstep";
/// Requests at a time.
pub const CONCURRENCY: usize = 16;
/// The real release, and the example that stands for it.
const REAL: &str = "4.20.0";
const EXAMPLE: &str = "1.1.0";
/// How often a kind is asked for that is not served yet.
const PAUSE: Duration = Duration::from_millis(20);
/// When a kind is given up; real servers took 11 s at most.
const PATIENCE: Duration = Duration::from_mins(1);

/// The objects of a release in the order in which they are applied.
pub struct Install {
    /// The version of the release.
    pub release: String,
    /// Whether it is a real one, and no example of ours.
    pub is_real: bool,
    /// Namespaces and CRDs; those CRDs first that objects of the release need.
    first: Vec<Arc<Item>>,
    /// Objects of built-in kinds.
    builtin: Vec<Arc<Item>>,
    /// Objects of kinds that CRDs define.
    custom: Vec<Arc<Item>>,
}

/// One object and where it goes.
struct Item {
    /// Kind, namespace and name.
    label: String,
    /// The address of all objects of its kind.
    list: String,
    /// The address of those in its namespace.
    collection: String,
    name: String,
    object: Value,
}

/// A kind as addresses name it.
#[derive(Clone)]
struct Place {
    plural: String,
    is_namespaced: bool,
}

/// What an installation gave.
pub struct Outcome {
    /// How long it took.
    pub time: Duration,
    /// Objects that were refused, with code and reason.
    pub refused: BTreeMap<String, String>,
}

// === impl Install ===

impl Install {
    /// Release 4.20.0 of the corpus, or our own example where there is none.
    ///
    /// # Panics
    /// When the release cannot be read, or has a kind that neither Kubernetes nor one of its CRDs defines.
    pub fn load() -> Self {
        let real = corpus("a real release").map(|folder| folder.join(REAL));
        let (name, is_real) = if real.is_some() { (REAL, true) } else { (EXAMPLE, false) };
        let (release, selection) = real.map_or_else(|| example(EXAMPLE), |folder| load(&folder));
        let selected = release.selected(&selection).filter(|manifest| !manifest.is_delete());
        Self::of(name.to_owned(), is_real, selected.map(|manifest| manifest.object.clone()).collect())
    }

    fn of(release: String, is_real: bool, objects: Vec<Value>) -> Self {
        let places = places(&objects);
        let mut install = Self { release, is_real, first: vec![], builtin: vec![], custom: vec![] };
        for object in objects {
            let kind = (text(&object["apiVersion"]).to_owned(), text(&object["kind"]).to_owned());
            let is_builtin = Schema::builtin().kind(&kind.0, &kind.1).is_some();
            let place = places.get(&kind);
            let item = Arc::new(Item::new(object, place.unwrap_or_else(|| missing(&kind))));
            match kind.1.as_str() {
                "Namespace" | "CustomResourceDefinition" => install.first.push(item),
                _ if is_builtin => install.builtin.push(item),
                _ => install.custom.push(item),
            }
        }
        let needed: BTreeSet<&str> = install.custom.iter().map(|item| text(&item.object["kind"])).collect();
        let is_needed = |item: &Item| needed.contains(text(&item.object["spec"]["names"]["kind"]));
        install.first.sort_by_key(|item| (text(&item.object["kind"]) != "Namespace", !is_needed(item)));
        install
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.first.len() + self.builtin.len() + self.custom.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Creates what the release expects from others; not part of an installation.
    ///
    /// # Panics
    /// When the server refuses something of it.
    pub async fn prepare(client: &Client) {
        for object in run_time_namespaces() {
            expect_created(client, "/api/v1/namespaces", &object).await;
        }
        for object in aggregated_kinds() {
            let collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            expect_created(client, collection, &object).await;
            let (group, plural) = (text(&object["spec"]["group"]), text(&object["spec"]["names"]["plural"]));
            assert!(is_served_soon(client, &format!("/apis/{group}/v1/{plural}")).await, "{plural}");
        }
    }

    /// Applies everything: namespaces and CRDs, then built-in kinds, then custom ones as soon as they are served.
    pub async fn run(&self, client: &Client) -> Outcome {
        let start = Instant::now();
        let mut refused = apply(client, &self.first).await;
        refused.extend(apply(client, &self.builtin).await);
        let kinds: BTreeSet<&str> = self.custom.iter().map(|item| item.list.as_str()).collect();
        futures::stream::iter(kinds)
            .for_each_concurrent(CONCURRENCY, async |list| {
                // One that never comes shows as refusals.
                is_served_soon(client, list).await;
            })
            .await;
        refused.extend(apply(client, &self.custom).await);
        Outcome { time: start.elapsed(), refused }
    }
}

async fn expect_created(client: &Client, collection: &str, object: &Value) {
    let answer = Call::post(collection, object).send(client).await.expect("an answer");
    assert_eq!(answer.code, 201, "{collection}: {}", answer.body);
}

/// Applies objects, each in a task of its own; gives those that were refused, and why.
async fn apply(client: &Client, items: &[Arc<Item>]) -> BTreeMap<String, String> {
    let tasks = futures::stream::iter(items).map(|item| {
        let (client, item) = (client.clone(), Arc::clone(item));
        tokio::spawn(
            async move { item.apply(&client).await.err().map(|reason| (item.label.clone(), reason)) },
        )
    });
    let results = tasks.buffer_unordered(CONCURRENCY);
    results.filter_map(async |result| result.expect("no request panics")).collect().await
}

fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} {}", status.code, status.reason),
        other => other.to_string(),
    }
}

/// Waits until a collection can be listed; whether that happened.
async fn is_served_soon(client: &Client, list: &str) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let answer = Call::new("GET", format!("{list}?limit=1")).send(client).await;
        if answer.is_some_and(|answer| answer.code == 200) {
            return true;
        }
        tokio::time::sleep(PAUSE).await;
    }
    false
}

// === impl Item ===

impl Item {
    fn new(object: Value, place: &Place) -> Self {
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let name = text(&object["metadata"]["name"]).to_owned();
        let namespace = if place.is_namespaced { text(&object["metadata"]["namespace"]) } else { "" };
        let api = if api_version.contains('/') { "apis" } else { "api" };
        let list = format!("/{api}/{api_version}/{}", place.plural);
        let collection = if namespace.is_empty() {
            list.clone()
        } else {
            format!("/{api}/{api_version}/namespaces/{namespace}/{}", place.plural)
        };
        Self { label: format!("{kind} {namespace}/{name}"), list, collection, name, object }
    }

    async fn apply(&self, client: &Client) -> Result<Value, String> {
        let parameters = PatchParams::apply(MANAGER).force();
        let patch = Patch::Apply(&self.object);
        let request = Request::new(&self.collection).patch(&self.name, &parameters, &patch);
        let request = request.map_err(|error| error.to_string())?;
        client.request(request).await.map_err(|error| reason(&error))
    }
}

/// Where every kind lives that Kubernetes, the release or a stub defines.
fn places(objects: &[Value]) -> BTreeMap<(String, String), Place> {
    let builtin = Schema::builtin().kinds().map(|kind| {
        let place = Place { plural: kind.plural.to_owned(), is_namespaced: kind.namespaced };
        ((kind.api_version.to_owned(), kind.kind.to_owned()), place)
    });
    let mut places: BTreeMap<_, _> = builtin.collect();
    let stubs: Vec<Value> = aggregated_kinds().collect();
    for definition in objects.iter().filter(|it| it["kind"] == "CustomResourceDefinition").chain(&stubs) {
        let spec = &definition["spec"];
        for version in spec["versions"].as_array().into_iter().flatten() {
            let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            let plural = text(&spec["names"]["plural"]).to_owned();
            let place = Place { plural, is_namespaced: spec["scope"] == "Namespaced" };
            places.insert((api_version, text(&spec["names"]["kind"]).to_owned()), place);
        }
    }
    places
}

#[expect(clippy::panic, reason = "a suite fails by a panic")]
fn missing(kind: &(String, String)) -> ! {
    panic!("neither Kubernetes nor a CRD of the release defines {} of {}", kind.1, kind.0)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::releases::stub;

    #[test]
    fn crds_that_objects_need_come_before_others_and_after_namespaces() {
        let crd = |kind: &str| {
            let mut stub = stub("example.com", kind, &format!("{}s", kind.to_lowercase()));
            stub["metadata"]["name"] = kind.into();
            stub
        };
        let object = json!({"apiVersion": "example.com/v1", "kind": "Two",
            "metadata": {"name": "x", "namespace": "n"}});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
        let install = Install::of("x".into(), false, vec![crd("One"), crd("Two"), object, namespace]);
        let names: Vec<&str> = install.first.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["n", "Two", "One"]);
        assert_eq!(install.custom[0].collection, "/apis/example.com/v1/namespaces/n/twos");
        assert_eq!(install.len(), 4);
    }
}
