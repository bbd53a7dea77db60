//! The engine against a real API server with its controller manager and scripted operators.
#![expect(
    clippy::print_stdout,
    clippy::panic,
    reason = "a suite that says what it did, and fails by a panic"
)]

mod engine_real {
    pub(crate) mod leaves;
    pub(crate) mod restore;
}

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use engine_real::leaves::{changed, leaves};
use engine_real::restore;
use lockstep_apply::progress::{Event, Happening, Outcome};
use lockstep_graph::{Graph, InstallOrder, Mode, Task, Treatment, build};
use lockstep_lab::Rng;
use lockstep_tests::corpus::corpus;
use lockstep_tests::real::{Chosen, Real, once, places, plan, wanted};
use lockstep_tests::releases::{example, load};
use lockstep_tests::request_order::{self as audit, Place, Request};

/// The seed of this run; a failure prints it.
fn seed() -> u64 {
    std::env::var("LOCKSTEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_example_installs_flat_stays_and_updates_in_order() {
    whole_life(&example("1.0.0"), &example("1.1.0"), 1.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_example_installs_level_by_level() {
    let release = example("1.1.0");
    let real = Real::start(true, &[&release]).await;
    let mark = mark(&real);
    converge(&real, &release, Mode::Installing, InstallOrder::RunLevel).await;
    assert_order(&real, &release, Mode::Installing, mark);
    assert_second_run_is_quiet(&real, &release, Mode::Installing, InstallOrder::RunLevel).await;
    assert_compares(&real, &release).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_real_release_installs_flat_stays_and_updates_in_order() {
    let Some(corpus) = corpus("the engine with real releases") else { return };
    // Every object is tried; LOCKSTEP_SHARE=0.1 is enough for a look.
    let share = std::env::var("LOCKSTEP_SHARE").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    whole_life(&load(&corpus.join("4.20.0")), &load(&corpus.join("4.21.0")), share).await;
}

/// Installs a release, proves that nothing is left to do, breaks what can be broken, updates to the next one.
async fn whole_life(first: &Chosen, second: &Chosen, share: f64) {
    println!("seed {} (LOCKSTEP_SEED)", seed());
    let real = Real::start(true, &[first, second]).await;
    converge(&real, first, Mode::Installing, InstallOrder::Flat).await;
    assert_second_run_is_quiet(&real, first, Mode::Installing, InstallOrder::Flat).await;
    assert_compares(&real, first).await;
    restore::everything(&real, first, share, &mut Rng::new(seed())).await;

    let mark = mark(&real);
    converge(&real, second, Mode::Updating, InstallOrder::Flat).await;
    assert_order(&real, second, Mode::Updating, mark);
    assert_second_run_is_quiet(&real, second, Mode::Updating, InstallOrder::Flat).await;
    assert_compares(&real, second).await;
}

async fn converge(real: &Real, release: &Chosen, mode: Mode, order: InstallOrder) {
    let start = Instant::now();
    let plan = plan(release, mode, order);
    let (ending, events) = real.run(&plan, &once()).await;
    println!(
        "{} {mode:?} {order:?}: {:?}, {} writes, {} s",
        plan.version,
        ending.outcome,
        ending.writes,
        start.elapsed().as_secs()
    );
    tell(&events);
    assert_eq!(ending.outcome, Outcome::Converged, "{:#?}", ending.missing);
    assert!(ending.writes > 0);
}

/// What is worth to be read in the output of a suite.
fn tell(events: &[Event]) {
    for event in events {
        match &event.what {
            // What is worth a line before anything begins is the same each time.
            Happening::Remark { .. } if event.at < 0.001 => {}
            Happening::Failed { sentence, .. } | Happening::Remark { sentence } => {
                println!("  {:6.1} {sentence}", event.at);
            }
            Happening::Overridden { object, fields } => {
                println!("  {:6.1} overridden {object} {fields:?}", event.at);
            }
            Happening::Fighting { object, field, manager, .. } => {
                println!("  {:6.1} fight {object} {field} {manager}", event.at);
            }
            Happening::Drifted { object, fields, managers } => {
                println!("  {:6.1} drifted {object} {fields:?} {managers:?}", event.at);
            }
            _ => {}
        }
    }
}

/// Where the audit log is now.
fn mark(real: &Real) -> u64 {
    audit::read(real.kube.audit_log().expect("a log"), 0).1
}

fn since(real: &Real, mark: u64) -> Vec<Request> {
    audit::read(real.kube.audit_log().expect("a log"), mark).0
}

async fn assert_second_run_is_quiet(real: &Real, release: &Chosen, mode: Mode, order: InstallOrder) {
    // What operators still have to say is none of ours.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mark = mark(real);
    let start = Instant::now();
    let (ending, events) = real.run(&plan(release, mode, order), &once()).await;
    tell(&events);
    let time = start.elapsed();
    assert_eq!(ending.outcome, Outcome::Converged, "{:#?}", ending.missing);
    // The log is written when an answer is complete, which may be after it was read.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let requests = since(real, mark);
    let ours: Vec<&Request> = requests.iter().filter(|it| it.is_ours()).collect();
    let of_one: Vec<String> = ours
        .iter()
        .filter(|it| it.is_write() || it.is_read_of_one())
        .map(|it| format!("{} {} {}", it.verb, it.uri, it.code))
        .collect();
    assert!(of_one.is_empty(), "a second run must not read or write single objects: {of_one:#?}");
    assert_eq!(ending.writes, 0);
    assert!(ours.len() > 5, "the audit log has nothing of us: {ours:?}");
    println!("second run of {mode:?}: {} requests, none to one object, {} ms", ours.len(), time.as_millis());
}

/// Every object is as its manifest says, and would not be with any other manifest.
async fn assert_compares(real: &Real, release: &Chosen) {
    let mut rng = Rng::new(seed()).fork("leaves");
    let all = wanted(release);
    let live = real.live(&all).await;
    let (mut wrong, mut count, mut leaf_count) = (Vec::new(), 0, 0);
    for wanted in all.iter().filter(|it| !it.is_create_only) {
        let Some(live) = live.get(&wanted.id) else {
            wrong.push(format!("{:?} is not there", wanted.id));
            continue;
        };
        count += 1;
        let found = wanted.compare(live);
        if !(found.drift.is_empty() && found.extra.is_empty() && found.suspect.is_empty() && found.is_ours) {
            wrong.push(format!("{:?} differs: {found:?}", wanted.id));
        }
        let leaves = leaves(&wanted.object);
        let place = usize::try_from(rng.below(leaves.len() as u64)).expect("small");
        let Some(pointer) = leaves.get(place) else { continue };
        leaf_count += 1;
        let mut other = wanted.clone();
        let leaf = other.object.pointer_mut(pointer).expect("a leaf");
        *leaf = changed(leaf);
        let found = other.compare(live);
        if found.drift.is_empty() && found.extra.is_empty() && found.suspect.is_empty() {
            wrong.push(format!("{:?}: another {pointer} makes no difference", wanted.id));
        }
    }
    assert!(wrong.is_empty(), "seed {}: {} of {count}: {wrong:#?}", seed(), wrong.len());
    println!("{count} objects are equal, and with one of {leaf_count} leaves changed they are not");
}

/// The writes of a run came in the order of its graph.
fn assert_order(real: &Real, release: &Chosen, mode: Mode, mark: u64) {
    let requests = since(real, mark);
    let tasks = Task::list(release.0.selected(&release.1));
    let places = places(release);
    // Of two manifests of one object only the last is applied.
    let last: BTreeMap<_, usize> = tasks.iter().map(|task| (task.id.clone(), task.index)).collect();
    let manifests: Vec<_> = release.0.selected(&release.1).collect();
    let place_of = |task: &Task| {
        if task.treatment == Treatment::Delete || last.get(&task.id) != Some(&task.index) {
            return None;
        }
        let resource = lockstep_tests::real::resource(&places, manifests[task.index - 1])?;
        let namespace = if resource.namespaced { task.id.namespace.clone() } else { String::new() };
        Some(Place { group: resource.group, plural: resource.plural, namespace, name: task.id.name.clone() })
    };
    let graph = build(tasks, mode, InstallOrder::RunLevel, 0);
    let order = audit::order(&graph, place_of, &requests);
    assert!(
        order.violations.is_empty(),
        "{} of {}: {:#?}",
        order.violations.len(),
        order.written,
        order.violations
    );
    println!("{mode:?}: {} tasks were written in order, {} gates", order.written, order.gates);
    assert!(order.written > 30 && order.gates > 5, "{} {}", order.written, order.gates);
    // The other way round it must not hold, or it proves nothing.
    let order = audit::order(&reversed(graph), place_of, &requests);
    assert!(order.violations.len() > order.written / 2, "{} of {}", order.violations.len(), order.written);
}

fn reversed(mut graph: Graph) -> Graph {
    for node in &mut graph.nodes {
        node.tasks.reverse();
        std::mem::swap(&mut node.before, &mut node.after);
    }
    graph
}
