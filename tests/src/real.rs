//! A real API server with scripted operators, the engine against it, and what a release wants there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use lockstep_api::names::label;
use lockstep_api::{ResourceId, object};
use lockstep_apply::compare::{Comparison, Next, PatchOperation, compare, decide};
use lockstep_apply::engine::{self, Ending, Options, Plan, PlanOptions};
use lockstep_apply::kinds::Resource;
use lockstep_apply::merge;
use lockstep_apply::modify::{ClusterFacts, modify};
use lockstep_apply::normalise::Rules;
use lockstep_apply::progress::Event;
use lockstep_apply::server::Server;
use lockstep_graph::{InstallOrder, Mode};
use lockstep_lab::{Clock, ReleaseFacts, Scenario, World};
use lockstep_payload::{Manifest, Release, Selection};
use serde_json::Value;
use tokio::task::JoinSet;
use xtask::kube::ServerOptions;

use crate::clients::{self, Call};
use crate::releases::aggregated_kinds;

/// The value of the label of everything that the suites apply.
pub const SET: &str = "version";
/// Controllers of workloads are played by the scripted world: without machines the real ones never get anywhere.
const CONTROLLERS: &str = "--controllers=*,-deployment-controller,-replicaset-controller,-daemonset-controller,\
    -statefulset-controller,-job-controller,-cronjob-controller";
/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(10);
/// How often a state is looked at that is waited for.
const PAUSE: Duration = Duration::from_millis(30);

/// A release and what of it belongs to a cluster.
pub type Chosen = (Release, Selection);

/// A real server in which scripted operators live; dropping it ends everything.
pub struct Real {
    // Fields are dropped in this order: who asks before who answers.
    _world: JoinSet<()>,
    /// The administrator.
    pub client: Client,
    /// The same as the engine connects.
    engine: Client,
    /// The server.
    pub kube: xtask::kube::Server,
}

/// An object of a release, as it is sent.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which object.
    pub id: ResourceId,
    /// Where its kind is served.
    pub resource: Resource,
    /// All of it.
    pub object: Value,
    /// Whether it is only created, never changed.
    pub is_create_only: bool,
}

// === impl Real ===

impl Real {
    /// Starts a server, with audit log, and the operators of releases.
    ///
    /// # Panics
    /// When something of it cannot start.
    pub async fn start(controller_manager: bool, releases: &[&Chosen]) -> Self {
        Self::start_with(ServerOptions { controller_manager, ..ServerOptions::default() }, releases).await
    }

    /// The same, with more of what a server can have.
    ///
    /// # Panics
    /// When something of it cannot start.
    pub async fn start_with(options: ServerOptions, releases: &[&Chosen]) -> Self {
        let options = ServerOptions {
            audit_log: true,
            controller_manager_flags: vec![CONTROLLERS.to_owned()],
            ..options
        };
        let started = tokio::task::spawn_blocking(move || xtask::kube::Server::start(&options)).await;
        let kube = started.expect("no panic").unwrap_or_else(|error| failed(&error.to_string()));
        let client = clients::of_file(kube.kubeconfig()).await;
        let engine = clients::of_engine(kube.kubeconfig()).await;
        for definition in aggregated_kinds() {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let answer = Call::post(path, &definition).send(&client).await.expect("an answer");
            assert_eq!(answer.code, 201, "{}", answer.body);
        }
        let facts = releases.iter().map(|(release, selection)| ReleaseFacts::of(release, selection));
        let facts = facts.reduce(ReleaseFacts::followed_by);
        let clock = Arc::new(Clock::real(1.0));
        let world = World::new(client.clone(), Scenario::instant(), facts, clock, 1);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { failed(&format!("the world ended: {}", world.run().await)) });
        Self { _world: tasks, client, engine, kube }
    }

    /// The server, as the engine sees it.
    pub fn server(&self) -> Server {
        Server::new(self.engine.clone())
    }

    /// Runs the engine once to the end; gives its events, too.
    ///
    /// # Panics
    /// When the server does not say what it serves.
    pub async fn run(&self, plan: &Plan, options: &Options) -> (Ending, Vec<Event>) {
        let mut events = Vec::new();
        let ending = engine::run(&self.server(), plan, options, |event| events.push(event)).await;
        let ending = ending.unwrap_or_else(|refusal| failed(&refusal.explain("the server")));
        (ending, events)
    }

    /// The object at an address; `Null` when there is none.
    pub async fn get(&self, path: &str) -> Value {
        match Call::new("GET", path).send(&self.client).await {
            Some(answer) if answer.code == 200 => answer.body,
            _ => Value::Null,
        }
    }

    /// A list; a server that still gets to know the kind is asked again.
    async fn list(&self, path: &str) -> Value {
        let start = Instant::now();
        loop {
            match Call::new("GET", path).send(&self.client).await {
                Some(answer) if answer.code == 200 => return answer.body,
                Some(answer) if answer.code == 404 => return Value::Null,
                answer => assert!(start.elapsed() < PATIENCE, "{path}: {answer:?}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// A JSON patch by somebody else; the object afterwards, or `None` when the server refuses it.
    pub async fn intrude(&self, path: &str, operations: &Value) -> Option<Value> {
        let call = Call::new("PATCH", format!("{path}?fieldManager=intruder"))
            .body("application/json-patch+json", operations.to_string());
        call.send(&self.client).await.filter(|answer| answer.code == 200).map(|answer| answer.body)
    }

    /// Waits until the object at an address is as wanted; gives the last state when that does not come.
    ///
    /// # Errors
    /// When the time is over.
    pub async fn until(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Result<Value, Value> {
        let start = Instant::now();
        loop {
            let live = self.get(path).await;
            if is_wanted(&live) {
                return Ok(live);
            }
            if start.elapsed() > PATIENCE / 5 {
                return Err(live);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// All objects of the set in the kinds of a release, with API version and kind.
    pub async fn live(&self, wanted: &[Wanted]) -> BTreeMap<ResourceId, Value> {
        let resources: BTreeMap<String, &Resource> =
            wanted.iter().map(|it| (it.resource.list_path(None), &it.resource)).collect();
        let mut live = BTreeMap::new();
        for (path, resource) in resources {
            let path = format!("{path}?labelSelector={}%3D{SET}", label::PAYLOAD.replace('/', "%2F"));
            let list = self.list(&path).await;
            for item in list["items"].as_array().into_iter().flatten() {
                let mut item = item.clone();
                item["apiVersion"] = resource.api_version().into();
                item["kind"] = resource.kind.clone().into();
                let id = ResourceId::new(
                    &resource.group,
                    &resource.kind,
                    object::namespace(&item),
                    object::name(&item),
                );
                live.insert(id, item);
            }
        }
        live
    }
}

/// The usual options of a run: it ends once the cluster is there.
pub fn once() -> Options {
    Options { timeout: Some(PATIENCE), ..Options::default() }
}

/// The plan of a release.
pub fn plan((release, selection): &Chosen, mode: Mode, install_order: InstallOrder) -> Plan {
    Plan::new(release, selection, mode, &PlanOptions { install_order, facts: facts(), namespace: None })
}

fn facts() -> ClusterFacts {
    ClusterFacts { set: SET.to_owned(), ..ClusterFacts::default() }
}

/// Where the kinds of a release are, with those of the aggregated API servers.
pub fn places((release, selection): &Chosen) -> Rules {
    let stubs: Vec<Value> = aggregated_kinds().collect();
    Rules::of_release(release.selected(selection).map(|manifest| &manifest.object).chain(&stubs))
}

/// Every object of a release, as it is sent; of two manifests of one object the last counts.
///
/// # Panics
/// When a kind is nowhere defined, or a manifest cannot be applied.
pub fn wanted(chosen: &Chosen) -> Vec<Wanted> {
    wanted_in(chosen, &facts())
}

/// The same for a cluster that adds more to manifests than the label.
///
/// # Panics
/// When a kind is nowhere defined, or a manifest cannot be applied.
pub fn wanted_in(chosen: &Chosen, facts: &ClusterFacts) -> Vec<Wanted> {
    let (release, selection) = chosen;
    let manifests: Vec<&Manifest> = release.selected(selection).collect();
    let rules = Rules::of_release(manifests.iter().map(|manifest| &manifest.object));
    let places = places(chosen);
    let mut wanted: BTreeMap<ResourceId, Wanted> = BTreeMap::new();
    for manifest in manifests.into_iter().filter(|manifest| !manifest.is_delete()) {
        let mut object = rules.normalise(&manifest.object).object;
        modify(&mut object, facts).unwrap_or_else(|error| failed(&error.to_string()));
        let resource =
            resource(&places, manifest).unwrap_or_else(|| failed(&format!("{manifest}: no such kind")));
        let mut id = manifest.id.clone();
        if !resource.namespaced {
            id.namespace.clear();
        }
        let is_create_only = manifest.is_create_only();
        wanted.insert(id.clone(), Wanted { id, resource, object, is_create_only });
    }
    wanted.into_values().collect()
}

/// Where the kind of a manifest is served.
pub fn resource(places: &Rules, manifest: &Manifest) -> Option<Resource> {
    let plural = places.plural(&manifest.api_version, &manifest.id.kind)?;
    let is_namespaced = places.is_namespaced(&manifest.api_version, &manifest.id.kind)?;
    Some(Resource::new(&manifest.id.group, manifest.version(), &manifest.id.kind, plural, is_namespaced))
}

// === impl Wanted ===

impl Wanted {
    /// Its address.
    pub fn path(&self) -> String {
        self.resource.object_path(Some(&self.id.namespace), &self.id.name)
    }

    /// How a live object differs from it.
    pub fn compare(&self, live: &Value) -> Comparison {
        compare(&self.object, live)
    }

    /// Whether the engine would leave a live object alone.
    pub fn is_met_by(&self, live: &Value) -> bool {
        let is_there = live.is_object() && live["metadata"].get("deletionTimestamp").is_none();
        is_there && (self.is_create_only || self.next(live) == Next::Equal)
    }

    /// What the engine would do next.
    pub fn next(&self, live: &Value) -> Next {
        let cleared = merge::clear(&self.object, live).into_iter();
        let cleared: Vec<PatchOperation> =
            cleared.map(|field| PatchOperation::remove(field.pointer)).collect();
        decide(&self.object, live, &cleared)
    }
}

#[expect(clippy::panic, reason = "a suite fails by a panic")]
fn failed(why: &str) -> ! {
    panic!("{why}")
}
