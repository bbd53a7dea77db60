//! `lockstep adopt` on a real API server whose objects the reference operator wrote: ownership moves, survives kills, comes back.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kube::Client;
use lockstep_tests::cli::{Run, binary, lockstep_with, root};
use lockstep_tests::clients::{self, Call};
use lockstep_tests::real::{Wanted, wanted};
use lockstep_tests::releases::{example, run_time_namespaces};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use xtask::kube::{Server, ServerOptions};

const RELEASE: &str = "examples/releases/1.0.0";
const IMAGE: [&str; 2] = ["--release-image", "registry.example.com/release:1.0.0"];
/// The manager of the reference.
const REFERENCE: &str = "cluster-version-operator";
const NAMESPACE: &str = "/api/v1/namespaces/openshift-cluster-version/configmaps";
const DEPLOYMENT: &str =
    "/apis/apps/v1/namespaces/openshift-cluster-version/deployments/cluster-version-operator";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/openshift-cluster-version/leases/version";
/// An object of the release that has one key more in the cluster.
const CHANGED: &str = "/api/v1/namespaces/openshift-dns/configmaps/dns-forwarders";
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);
const PAUSE: Duration = Duration::from_millis(20);

/// A real server, populated as the reference does it.
struct Cluster {
    runtime: Runtime,
    client: Client,
    kube: Server,
    objects: Vec<Wanted>,
}

/// What matters of an object for ownership: labels, and entries without times, in a fixed order.
type Owners = BTreeMap<String, Value>;

// === impl Cluster ===

impl Cluster {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let kube = Server::start(&ServerOptions::default()).unwrap();
        let client = runtime.block_on(clients::of_file(kube.kubeconfig()));
        let cluster = Self { runtime, client, kube, objects: wanted(&example("1.0.0")) };
        cluster.populate();
        cluster
    }

    /// Creates every object in the name of the reference, in whatever order the server takes them.
    fn populate(&self) {
        let brings = |name: &Value| {
            self.objects.iter().any(|it| it.id.kind == "Namespace" && *name == it.id.name.as_str())
        };
        for namespace in run_time_namespaces().filter(|namespace| !brings(&namespace["metadata"]["name"])) {
            assert_eq!(self.send(&Call::post("/api/v1/namespaces", &namespace)).0, 201);
        }
        let mut left: Vec<&Wanted> = self.objects.iter().collect();
        let start = Instant::now();
        while !left.is_empty() {
            assert!(start.elapsed() < PATIENCE, "{} objects are refused", left.len());
            left.retain(|wanted| {
                let mut object = wanted.object.clone();
                let metadata = object["metadata"].as_object_mut().unwrap();
                let labels = metadata["labels"].as_object_mut().unwrap();
                labels.remove("lockstep.dev/payload");
                if labels.is_empty() {
                    metadata.remove("labels");
                }
                if wanted.path() == DEPLOYMENT {
                    // The release brings ours; what runs is the reference.
                    object["metadata"]["annotations"]
                        .as_object_mut()
                        .unwrap()
                        .remove("lockstep.dev/operator");
                }
                if wanted.path() == CHANGED {
                    object["data"]["dropped"] = "yes".into();
                }
                let namespace = Some(wanted.id.namespace.as_str());
                let path = format!("{}?fieldManager={REFERENCE}", wanted.resource.list_path(namespace));
                let answer = self.send(&Call::post(path, &object));
                let is_later = answer.0 == 404 || answer.0 >= 500;
                assert!(is_later || answer.0 == 201, "{}: {}", wanted.path(), answer.1);
                is_later
            });
            thread::sleep(PAUSE);
        }
    }

    fn send(&self, call: &Call) -> (u16, Value) {
        let answer = self.runtime.block_on(call.send(&self.client)).unwrap();
        (answer.code, answer.body)
    }

    fn get(&self, path: &str) -> Value {
        match self.send(&Call::new("GET", path)) {
            (200, object) => object,
            _ => Value::Null,
        }
    }

    fn of_release(&self, path: &str) -> &Wanted {
        self.objects.iter().find(|wanted| wanted.path() == path).unwrap()
    }

    fn owners(&self) -> Owners {
        let owners = |wanted: &Wanted| {
            let live = self.get(&wanted.path());
            let metadata = &live["metadata"];
            let mut entries: Vec<Value> = metadata["managedFields"].as_array().cloned().unwrap_or_default();
            for entry in &mut entries {
                entry.as_object_mut().unwrap().remove("time");
            }
            entries.sort_by_key(ToString::to_string);
            (wanted.path(), json!({"labels": metadata["labels"], "entries": entries}))
        };
        self.objects.iter().map(owners).collect()
    }

    /// The Lease as somebody holds it who has stopped renewing it.
    fn hold_lease(&self, holder: &str) {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "version"},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 3, "leaseTransitions": 0}});
        let (code, answer) = self.send(&Call::apply(LEASE, "reference", &lease));
        assert!(code < 300, "{answer}");
    }

    /// How many `ConfigMap`s keep what was before.
    fn kept(&self) -> usize {
        let list = self.get(&format!("{NAMESPACE}?labelSelector=lockstep.dev%2Fadoption%3Dversion"));
        list["items"].as_array().map_or(0, Vec::len)
    }

    fn adopt(&self, arguments: &[&str]) -> Run {
        let arguments = [&["adopt"], arguments].concat();
        lockstep_with(&arguments, &[("KUBECONFIG", self.kubeconfig())])
    }

    fn begin(&self, arguments: &[&str]) -> Child {
        Command::new(binary())
            .arg("adopt")
            .args(arguments)
            .current_dir(root())
            .env("KUBECONFIG", self.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn kubeconfig(&self) -> &str {
        Path::to_str(self.kube.kubeconfig()).unwrap()
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(PAUSE);
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[track_caller]
fn ended(run: &Run, code: i32, part: &str) {
    let all = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, code, "{all}");
    assert!(all.contains(part), "{part:?} is missing: {all}");
}

fn has(owners: &Value, manager: &str, operation: &str) -> bool {
    owners["entries"].as_array().unwrap().iter().any(|entry| {
        entry["manager"] == manager && entry["operation"] == operation && entry.get("subresource").is_none()
    })
}

#[test]
fn ownership_moves_survives_kills_and_comes_back() {
    let cluster = Cluster::start();
    let before = cluster.owners();
    // Of an object that is nothing but its name nobody owns anything.
    let is_owned = |path: &str| has(&before[path], REFERENCE, "Update");
    let owned = before.keys().filter(|path| is_owned(path)).count();
    assert!(owned > 100 && owned + 10 > before.len(), "{owned} of {}", before.len());
    without_adoption_a_dropped_field_stays(&cluster);

    ended(&cluster.adopt(&[&[RELEASE][..], &IMAGE].concat()), 2, "--yes");
    let dry = cluster.adopt(&[&[RELEASE, "--dry-run"][..], &IMAGE].concat());
    ended(&dry, 0, "cluster-version-operator is scaled from 1 to 0");
    ended(&dry, 0, "change their owner entry from cluster-version-operator to lockstep");
    assert_eq!(cluster.owners(), before, "a dry run writes nothing");
    assert_eq!(cluster.kept(), 0);

    let moves = take_over(&cluster);
    let text = format!("{}{}", moves.stdout, moves.stderr);
    assert!(moves.stdout.contains("dropped"), "the next apply is told: {text}");
    let after = cluster.owners();
    for wanted in &cluster.objects {
        let (path, owners) = (wanted.path(), &after[&wanted.path()]);
        if wanted.is_create_only {
            assert!(has(owners, REFERENCE, "Update"), "{path}: only the label is ours");
            assert_eq!(owners["labels"]["lockstep.dev/payload"], "version", "{path}");
        } else if path == DEPLOYMENT {
            assert_eq!(cluster.get(DEPLOYMENT)["spec"]["replicas"], 0);
        } else if is_owned(&path) {
            assert!(
                has(owners, "lockstep", "Apply") && !has(owners, REFERENCE, "Update"),
                "{path}: {owners}; before: {}",
                before[&path]
            );
        }
    }
    ended(&cluster.adopt(&[&[RELEASE, "--yes"][..], &IMAGE].concat()), 0, "Nothing is left to adopt");

    let release = cluster.of_release(CHANGED).object.clone();
    let (code, answer) = cluster.send(&Call::apply(CHANGED, "lockstep", &release));
    assert_eq!((code, &answer["data"]["dropped"]), (200, &Value::Null), "{answer}");

    give_back(&cluster);
    let mut restored = cluster.owners();
    let mut expected = before.clone();
    // That one has lost a field meanwhile.
    assert!(has(&restored[CHANGED], REFERENCE, "Update") && !has(&restored[CHANGED], "lockstep", "Apply"));
    restored.remove(CHANGED);
    expected.remove(CHANGED);
    for (path, owners) in &expected {
        assert_eq!(&restored[path], owners, "{path}");
    }
    assert_eq!(cluster.get(DEPLOYMENT)["spec"]["replicas"], 1);
    assert_eq!(cluster.kept(), 0);
    ended(&cluster.adopt(&["--revert", "--yes"]), 1, "the cluster was not adopted");
}

/// The reason for all of it: what two own, neither can drop.
fn without_adoption_a_dropped_field_stays(cluster: &Cluster) {
    let mut twin = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "twin"},
        "data": {"kept": "yes", "dropped": "yes"}});
    let (code, _) = cluster.send(&Call::post(format!("{NAMESPACE}?fieldManager={REFERENCE}"), &twin));
    assert_eq!(code, 201);
    twin["data"].as_object_mut().unwrap().remove("dropped");
    let path = format!("{NAMESPACE}/twin");
    let (code, answer) = cluster.send(&Call::apply(&path, "lockstep", &twin));
    assert_eq!((code, &answer["data"]["dropped"]), (200, &"yes".into()), "{answer}");
}

/// Adopts, with a kill while the Lease is waited for and one while entries are moved.
fn take_over(cluster: &Cluster) -> Run {
    let arguments = [&[RELEASE, "--yes"][..], &IMAGE].concat();
    cluster.hold_lease("reference");
    let waiting = cluster.begin(&arguments);
    until("the reference is scaled to 0", || cluster.get(DEPLOYMENT)["spec"]["replicas"] == 0);
    kill(waiting);
    assert_eq!(cluster.kept(), 1, "what is needed to go back came first");
    let moving = cluster.begin(&arguments);
    until("something is moved", || cluster.kept() > 1);
    kill(moving);
    let run = cluster.adopt(&arguments);
    ended(&run, 0, "");
    run
}

/// Goes back, with a kill while entries are restored.
fn give_back(cluster: &Cluster) {
    let restoring = cluster.begin(&["--revert", "--yes"]);
    until("something is restored", || {
        let entries = cluster.get(CHANGED)["metadata"]["managedFields"].to_string();
        entries.contains(REFERENCE)
    });
    kill(restoring);
    ended(&cluster.adopt(&["--revert", "--yes"]), 0, "Given back");
}
