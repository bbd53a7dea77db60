//! Breaks objects while the engine keeps a release, and waits until they are whole again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use lockstep_apply::engine::{self, Options};
use lockstep_apply::progress::Happening;
use lockstep_graph::{InstallOrder, Mode};
use lockstep_lab::Rng;
use lockstep_tests::clients::Call;
use lockstep_tests::normalise::{Normaliser, differences};
use lockstep_tests::real::{Chosen, PATIENCE, Real, Wanted, plan, wanted};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::leaves::{changed, leaves};

/// How many objects are broken at the same time.
const SIDE_BY_SIDE: usize = 8;
/// Of a kind at least so many are tried.
const LEAST: usize = 3;
/// How many fields of an object are tried until the server takes a change.
const TRIES: usize = 15;

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    Deleted,
    Changed,
    Added,
    Removed,
}

/// What came of it.
enum Trial {
    Restored,
    /// The server let nobody do it, or the release has nothing of the sort.
    NotDone,
    Broken(String),
}

/// Breaks a share of the objects of each kind in every way, then a namespace and a definition with all they have.
pub(crate) async fn everything(real: &Real, release: &Chosen, share: f64, rng: &mut Rng) {
    let start = Instant::now();
    let all = wanted(release);
    let sample = sample(&all, share, rng);
    let mut outcomes = Vec::new();
    for harm in [Harm::Deleted, Harm::Changed, Harm::Added, Harm::Removed] {
        // Each time anew: who harms the same field a third time is taken for a controller that fights.
        let keeper = Keeper::start(real, release).await;
        let trials = futures::stream::iter(sample.iter().map(|wanted| {
            let mut rng = rng.fork(&format!("{harm:?} {}", wanted.path()));
            async move { (wanted.id.kind.clone(), harm, harm_one(real, wanted, harm, &mut rng).await) }
        }));
        outcomes.extend(trials.buffer_unordered(SIDE_BY_SIDE).collect::<Vec<_>>().await);
        keeper.end();
    }
    let mut table: BTreeMap<(String, Harm), (usize, usize)> = BTreeMap::new();
    let mut broken = Vec::new();
    for (kind, harm, trial) in outcomes {
        let (restored, not_done) = table.entry((kind, harm)).or_default();
        match trial {
            Trial::Restored => *restored += 1,
            Trial::NotDone => *not_done += 1,
            Trial::Broken(why) => broken.push(why),
        }
    }
    print_table(&table, &all, &sample);
    let keeper = Keeper::start(real, release).await;
    broken.extend(with_its_content(real, &all, "Namespace").await.err());
    broken.extend(with_its_content(real, &all, "CustomResourceDefinition").await.err());
    keeper.end();
    assert!(broken.is_empty(), "{} were not restored: {broken:#?}", broken.len());
    let of =
        |harm: Harm| table.iter().filter(|((_, it), _)| *it == harm).map(|(_, (restored, _))| restored).sum();
    let counts: [usize; 4] = [Harm::Deleted, Harm::Changed, Harm::Added, Harm::Removed].map(of);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    println!("restored {counts:?} (deleted, changed, added, removed) in {} s", start.elapsed().as_secs());
}

/// The engine, which keeps the release until it is dropped.
struct Keeper {
    tasks: JoinSet<()>,
}

impl Keeper {
    async fn start(real: &Real, release: &Chosen) -> Self {
        let plan = plan(release, Mode::Installing, InstallOrder::Flat);
        let (server, options) = (real.server(), Options { hold: None, ..Options::default() });
        let (done, total) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
        let mut tasks = JoinSet::new();
        let (counted, all) = (Arc::clone(&done), Arc::clone(&total));
        tasks.spawn(async move {
            let tell = |event: lockstep_apply::progress::Event| match event.what {
                Happening::Began { tasks, .. } => all.store(tasks.len(), Ordering::SeqCst),
                Happening::Done { .. } => {
                    counted.fetch_add(1, Ordering::SeqCst);
                }
                Happening::Fighting { object, field, manager, next_at, .. } => {
                    println!("  fight {object} {field} {manager}, next at {next_at}");
                }
                Happening::Overridden { object, fields } => println!("  overridden {object} {fields:?}"),
                Happening::Remark { sentence } if event.at > 0.0 => println!("  {sentence}"),
                _ => {}
            };
            let ended = engine::run(&server, &plan, &options, tell).await;
            panic!("nobody told it to end: {ended:?}");
        });
        let start = Instant::now();
        while done.load(Ordering::SeqCst) < total.load(Ordering::SeqCst) {
            assert!(start.elapsed() < PATIENCE, "{done:?} of {total:?}");
            assert!(!tasks.is_empty() && tasks.try_join_next().is_none(), "the engine ended");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Self { tasks }
    }

    fn end(mut self) {
        if let Some(Err(error)) = self.tasks.try_join_next() {
            panic!("the engine ended: {error}");
        }
    }
}

/// Some objects of each kind; not those that take others with them.
fn sample<'a>(all: &'a [Wanted], share: f64, rng: &mut Rng) -> Vec<&'a Wanted> {
    let mut by_kind: BTreeMap<(&str, &str), Vec<&Wanted>> = BTreeMap::new();
    for wanted in all {
        by_kind.entry((&wanted.id.group, &wanted.id.kind)).or_default().push(wanted);
    }
    let mut sample = Vec::new();
    for mut of_kind in by_kind.into_values() {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        let count = LEAST.max((of_kind.len() as f64 * share).ceil() as usize).min(of_kind.len());
        for _ in 0..count {
            let place = usize::try_from(rng.below(of_kind.len() as u64)).expect("small");
            sample.push(of_kind.swap_remove(place));
        }
    }
    sample
}

/// Does one harm to one object, and waits until it is whole.
async fn harm_one(real: &Real, wanted: &Wanted, harm: Harm, rng: &mut Rng) -> Trial {
    let path = wanted.path();
    // An earlier harm of somebody else may still be in the air.
    let Ok(before) = real.until(&path, |live| wanted.is_met_by(live)).await else {
        return Trial::Broken(format!("{path}: not whole before it was {harm:?}"));
    };
    let is_done = match harm {
        Harm::Deleted if is_container(wanted) => false,
        Harm::Deleted => delete(real, &path).await,
        _ if wanted.is_create_only => false,
        Harm::Changed | Harm::Removed => harm_a_leaf(real, wanted, &before, harm, rng).await,
        Harm::Added => {
            let operations = addition(&wanted.id.kind, &before);
            match operations {
                Some(operations) => harmed(real, &path, &before, &operations).await,
                None => false,
            }
        }
    };
    if !is_done {
        return Trial::NotDone;
    }
    let (uid, expected) = (&before["metadata"]["uid"], content(&before));
    let is_whole = |live: &Value| {
        wanted.is_met_by(live)
            && content(live) == expected
            && (harm != Harm::Deleted || live["metadata"]["uid"] != *uid)
    };
    match real.until(&path, is_whole).await {
        Ok(_) => Trial::Restored,
        Err(live) => {
            let differences: Vec<String> =
                differences(&expected, &content(&live)).iter().take(5).map(ToString::to_string).collect();
            let next =
                if live.is_object() { format!("{:?}", wanted.next(&live)) } else { "absent".to_owned() };
            Trial::Broken(format!("{path} {harm:?}: {differences:?}, next {next}"))
        }
    }
}

fn is_container(wanted: &Wanted) -> bool {
    matches!(wanted.id.kind.as_str(), "Namespace" | "CustomResourceDefinition")
}

async fn delete(real: &Real, path: &str) -> bool {
    Call::new("DELETE", path).send(&real.client).await.is_some_and(|answer| answer.code < 300)
}

async fn harm_a_leaf(real: &Real, wanted: &Wanted, before: &Value, harm: Harm, rng: &mut Rng) -> bool {
    let mut candidates = leaves(&wanted.object);
    // Entries of lists may be elsewhere in the live object.
    candidates.retain(|pointer| before.pointer(pointer) == wanted.object.pointer(pointer));
    for _ in 0..TRIES {
        if candidates.is_empty() {
            return false;
        }
        let place = usize::try_from(rng.below(candidates.len() as u64)).expect("small");
        let pointer = candidates.swap_remove(place);
        let operation = if harm == Harm::Removed {
            json!([{"op": "remove", "path": pointer}])
        } else {
            let value = changed(before.pointer(&pointer).unwrap_or(&Value::Null));
            json!([{"op": "replace", "path": pointer, "value": value}])
        };
        if harmed(real, &wanted.path(), before, &operation).await {
            return true;
        }
    }
    false
}

/// Whether a change was taken and made a difference.
async fn harmed(real: &Real, path: &str, before: &Value, operations: &Value) -> bool {
    let after = real.intrude(path, operations).await;
    after.is_some_and(|after| content(&after) != content(before))
}

/// Something that the reference takes away again, as its merge rules say: the kinds with lists that are its alone, and
/// with fields that must not be set.
fn addition(kind: &str, live: &Value) -> Option<Value> {
    let into_list = |list: &str, item: Value| match live.pointer(list).and_then(Value::as_array) {
        Some(_) => json!([{"op": "add", "path": format!("{list}/-"), "value": item}]),
        None => json!([{"op": "add", "path": list, "value": [item]}]),
    };
    let set = |path: &str, value: Value| {
        live.pointer(path).is_none().then(|| json!([{"op": "add", "path": path, "value": value}]))
    };
    let variable = json!({"name": "INTRUDER", "value": "was here"});
    match kind {
        "Deployment" | "DaemonSet" => Some(into_list("/spec/template/spec/containers/0/env", variable)),
        "CronJob" => set("/spec/startingDeadlineSeconds", json!(77)),
        "Service" => Some(into_list("/spec/ports", json!({"name": "intruder", "port": 64999}))),
        "Role" | "ClusterRole" if live.get("aggregationRule").is_none() => {
            let rule = json!({"apiGroups": [""], "resources": ["intruders"], "verbs": ["get"]});
            Some(into_list("/rules", rule))
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let subject =
                json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "intruder"});
            Some(into_list("/subjects", subject))
        }
        "ServiceAccount" => set("/automountServiceAccountToken", json!(false)),
        "CustomResourceDefinition" => Some(into_list("/spec/names/categories", json!("intruders"))),
        "ValidatingWebhookConfiguration" => {
            let mut webhook = live["webhooks"][0].clone();
            webhook["name"] = json!("intruder.example.com");
            // NB: it must match nothing, or it would stop the repair of itself.
            webhook["rules"] = json!([]);
            Some(into_list("/webhooks", webhook))
        }
        "SecurityContextConstraints" => Some(into_list("/users", json!("intruder"))),
        _ => None,
    }
}

/// What of an object must come back: all but what servers make up, who owns what, and what controllers report.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["managedFields", "generation", "uid", "resourceVersion", "creationTimestamp"] {
            metadata.remove(field);
        }
        // Workload controllers count their roll-outs here.
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("deployment.kubernetes.io/revision");
            annotations.remove("deprecated.daemonset.template.generation");
        }
        metadata.retain(|_, value| !value.as_object().is_some_and(serde_json::Map::is_empty));
    }
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        // An operator that was faster creates its ClusterOperator with an empty one.
        map.retain(|_, value| !value.as_object().is_some_and(serde_json::Map::is_empty));
    }
    Normaliser::default().value(&object)
}

/// Deletes a namespace or a definition that has most objects of the release, and waits until all of them are back.
async fn with_its_content(real: &Real, all: &[Wanted], kind: &str) -> Result<(), String> {
    let start = Instant::now();
    let belongs = |it: &Wanted, container: &Wanted| {
        if kind == "Namespace" {
            it.id.namespace == container.id.name
        } else {
            let spec = &container.object["spec"];
            spec["group"] == it.id.group && spec["names"]["kind"] == it.id.kind
        }
    };
    let containers = all.iter().filter(|it| it.id.kind == kind);
    // Operators are not gone with their ClusterOperators: that would be about the world, not about us.
    let containers = containers.filter(|it| it.id.name != "clusteroperators.config.openshift.io");
    let size = |container: &&Wanted| all.iter().filter(|it| belongs(it, container)).count();
    let container = containers.max_by_key(size).expect("there is one");
    let content: Vec<&Wanted> = all.iter().filter(|it| belongs(it, container)).collect();
    assert!(!content.is_empty(), "{kind}");
    let mut before = Vec::new();
    for wanted in std::iter::once(container).chain(content.iter().copied()) {
        before.push((wanted, real.get(&wanted.path()).await["metadata"]["uid"].clone()));
    }
    assert!(delete(real, &container.path()).await, "{kind} {}", container.id.name);
    for (wanted, uid) in before {
        let is_whole = |live: &Value| wanted.is_met_by(live) && live["metadata"]["uid"] != uid;
        if let Err(live) = real.until(&wanted.path(), is_whole).await {
            let next =
                if live.is_object() { format!("{:?}", wanted.next(&live)) } else { "absent".to_owned() };
            return Err(format!("{} after {kind} {} was deleted: {next}", wanted.path(), container.id.name));
        }
    }
    let (name, count, seconds) = (&container.id.name, content.len(), start.elapsed().as_secs());
    println!("{kind} {name} was deleted and came back with {count} objects in {seconds} s");
    Ok(())
}

fn print_table(table: &BTreeMap<(String, Harm), (usize, usize)>, all: &[Wanted], sample: &[&Wanted]) {
    println!("kind: objects, tried; restored (not possible) after deleted, changed, added, removed");
    let mut kinds: Vec<&str> = table.keys().map(|(kind, _)| kind.as_str()).collect();
    kinds.dedup();
    for kind in kinds {
        let of = |harm: Harm| {
            let (restored, not_done) = table.get(&(kind.to_owned(), harm)).copied().unwrap_or_default();
            format!("{restored} ({not_done})")
        };
        let cells = [Harm::Deleted, Harm::Changed, Harm::Added, Harm::Removed].map(of).join(", ");
        let count = all.iter().filter(|it| it.id.kind == kind).count();
        let tried = sample.iter().filter(|it| it.id.kind == kind);
        let fixed = tried.clone().filter(|it| it.is_create_only).count();
        println!("  {kind}: {count}, {} ({fixed} only created, never changed); {cells}", tried.count());
    }
}
