//! A rollout of forty minutes in virtual time: the example release is created in graph order, its scripted operators turn
//! healthy one run level after the other. The same seed gives the same journal byte for byte, also in another process.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share; the figures are meant to be read"
)]

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use kube::Client;
use lockstep_graph::{Frontier, InstallOrder, Mode, Role, Task, build};
use lockstep_lab::{Clock, Lab, LabOptions, ReleaseFacts, Scenario, World};
use lockstep_schema::Schema;
use lockstep_tests::releases::example;
use serde_json::Value;
use tokio::task::JoinSet;

/// Slow enough for forty minutes.
const SCENARIO: &str = "
apiVersion: lab.lockstep.dev/v1
kind: Scenario
operators:
- name: '*'
  progressingFor: {from: 4m, to: 7m}
";
/// Where a child process writes its journal.
const OUTPUT: &str = "LOCKSTEP_ROLLOUT_OUTPUT";

/// What a rollout left behind.
struct Rollout {
    journal: String,
    took: Duration,
}

/// Rolls the example release out in virtual time.
fn roll_out(seed: u64) -> Rollout {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (release, selection) = example("1.0.0");
        let clock = Arc::new(Clock::simulated());
        let options = LabOptions { seed, clock: Arc::clone(&clock), journal: true, ..LabOptions::default() };
        let lab = Lab::new(options);
        let scenario = Scenario::read("rollout.yaml", SCENARIO.as_bytes()).unwrap();
        let facts = ReleaseFacts::of(&release, &selection);
        let mut world = JoinSet::new();
        world.spawn(World::new(lab.client(), scenario, Some(facts), Arc::clone(&clock), seed).run());

        // Nothing is there that could be deleted.
        let wanted = || release.selected(&selection).filter(|manifest| !manifest.is_delete());
        let graph = build(Task::list(wanted()), Mode::Updating, InstallOrder::Flat, 0);
        let manifests: Vec<Value> = wanted().map(|manifest| manifest.object.clone()).collect();
        let client = lab.client();
        let mut frontier = Frontier::new(&graph);
        let mut running: Vec<(usize, usize, bool)> = Vec::new();
        while !frontier.is_done() {
            let ready: Vec<usize> = frontier.ready().collect();
            for node in ready {
                let task = frontier.start(node).unwrap();
                running.push((node, task, false));
            }
            let mut left = Vec::new();
            let before = running.len();
            for (node, task, was_applied) in running {
                let manifest = &manifests[task];
                let is_applied = was_applied || apply(&client, manifest).await;
                if is_applied && is_well(&client, manifest, graph.tasks[task].role).await {
                    frontier.finish(node).unwrap();
                } else {
                    left.push((node, task, is_applied));
                }
            }
            running = left;
            if running.len() == before {
                // Nothing moved: let the world go on.
                clock.sleep(Duration::from_secs(2)).await;
            }
            if clock.elapsed() > Duration::from_hours(4) {
                let waiting = running.iter().map(|(_, task, _)| path(&manifests[*task]));
                panic!("the rollout waits for {:?}\n{}", waiting.collect::<Vec<_>>(), lab.journal());
            }
        }
        assert!(world.try_join_next().is_none(), "the world ended");
        Rollout { journal: lab.journal(), took: clock.elapsed() }
    })
}

/// Applies a manifest; whether it was accepted.
async fn apply(client: &Client, manifest: &Value) -> bool {
    let Some(path) = path(manifest) else { panic!("no path: {manifest}") };
    let request = Request::patch(format!("{path}?fieldManager=lockstep&force=true"))
        .header("Content-Type", "application/apply-patch+yaml")
        .body(serde_json::to_vec(&without_status(manifest)).unwrap())
        .unwrap();
    match client.request_text(request).await {
        Ok(_) => true,
        // A kind or a namespace that an operator brings comes later; everything else is a mistake here.
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 404, "{path}: {status:?}");
            false
        }
        Err(error) => panic!("{path}: {error}"),
    }
}

fn without_status(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    if let Some(fields) = manifest.as_object_mut() {
        fields.remove("status");
        if fields["kind"] == "ClusterOperator" {
            fields.entry("spec").or_insert_with(|| serde_json::json!({}));
        }
    }
    manifest
}

/// Whether what a task waits for holds.
async fn is_well(client: &Client, manifest: &Value, role: Role) -> bool {
    let (wanted, kind) = match role {
        Role::Plain => return true,
        Role::Gate => ("Available", "gate"),
        Role::Barrier => ("Complete", "job"),
    };
    let request = Request::get(path(manifest).unwrap()).body(Vec::new()).unwrap();
    let Ok(live) = client.request::<Value>(request).await else { return false };
    let condition = |name: &str| {
        let conditions = live["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().find(|it| it["type"] == name).map(|it| it["status"].clone())
    };
    let is_done = condition(wanted) == Some("True".into());
    let is_quiet = kind == "job" || condition("Progressing") == Some("False".into());
    let versions = &manifest["status"]["versions"];
    is_done && is_quiet && (versions.is_null() || live["status"]["versions"] == *versions)
}

/// The address of an object.
fn path(manifest: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (api_version, kind) = (text(&manifest["apiVersion"])?, text(&manifest["kind"])?);
    let prefix = if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    };
    let name = text(&manifest["metadata"]["name"])?;
    let (plural, namespaced) = if let Some(known) = Schema::builtin().kind(&api_version, &kind) {
        (known.plural.to_owned(), known.namespaced)
    } else {
        // Custom kinds of the example release are regular, but for this one.
        let singular = kind.to_lowercase();
        let end = if singular.ends_with('s') { "es" } else { "s" };
        (format!("{singular}{end}"), manifest["metadata"]["namespace"].is_string())
    };
    match text(&manifest["metadata"]["namespace"]).filter(|_| namespaced) {
        Some(namespace) => Some(format!("{prefix}/namespaces/{namespace}/{plural}/{name}")),
        None => Some(format!("{prefix}/{plural}/{name}")),
    }
}

#[test]
fn a_rollout_of_forty_minutes_is_repeatable_by_its_seed() {
    if let Some(file) = std::env::var_os(OUTPUT) {
        std::fs::write(file, roll_out(7).journal).unwrap();
        return;
    }
    let start = Instant::now();
    let first = roll_out(7);
    let wall = start.elapsed();
    println!(
        "{} writes in {} minutes of virtual time took {:.2} s",
        first.journal.lines().count(),
        first.took.as_secs() / 60,
        wall.as_secs_f64()
    );
    assert!(first.took >= Duration::from_mins(40), "only {:?}", first.took);
    assert!(first.journal.lines().count() > 500, "that is no rollout:\n{}", first.journal);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_rollout_of_forty_minutes_is_repeatable_by_its_seed"])
        .env(OUTPUT, &file)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let second = std::fs::read_to_string(&file).unwrap();
    let differing = first.journal.lines().zip(second.lines()).find(|(one, two)| one != two);
    assert_eq!(differing, None, "two processes, one seed");
    assert_eq!(first.journal.len(), second.len());

    assert_ne!(roll_out(8).journal, first.journal, "another seed");
}
