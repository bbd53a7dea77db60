//! `kill -9` of `lockstep apply` at random moments of an installation and of an update: a second run ends where an
//! undisturbed one does.
//!
//! A round is one kill. `LOCKSTEP_ROUNDS` says how many (10), `LOCKSTEP_SEED` when they come; from 20 rounds on a tenth
//! of them are with real releases, where these are at hand.
#![expect(clippy::print_stdout, reason = "a suite that says what it did, and fails by a panic")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockstep_api::ResourceId;
use lockstep_apply::FIELD_MANAGER;
use lockstep_lab::Rng;
use lockstep_tests::cli::{binary, root};
use lockstep_tests::corpus::corpus;
use lockstep_tests::normalise::{Normaliser, differences};
use lockstep_tests::real::{Chosen, PATIENCE, Real, SET, Wanted, wanted};
use lockstep_tests::releases::load;
use lockstep_tests::request_order as audit;
use serde_json::{Value, json};

/// How often the audit log is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// A release and the next one.
struct Pair {
    folders: [PathBuf; 2],
    chosen: [Chosen; 2],
    wanted: Vec<Wanted>,
}

/// What an undisturbed run gives.
struct Undisturbed {
    writes: usize,
    objects: BTreeMap<ResourceId, Value>,
}

/// The two runs of a pair.
const MODES: [&str; 2] = ["installing", "updating"];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_killed_run_is_taken_up_by_the_next_one() {
    let number = |name: &str, otherwise| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (rounds, seed): (u64, u64) = (number("LOCKSTEP_ROUNDS", 10), number("LOCKSTEP_SEED", 1));
    println!("{rounds} rounds, seed {seed} (LOCKSTEP_SEED)");
    let mut rng = Rng::new(seed);
    let examples = root().join("examples/releases");
    let mut rounds_with_real = 0;
    if rounds >= 20
        && let Some(corpus) = corpus("kills with real releases")
    {
        rounds_with_real = rounds / 10;
        rounds_of(&Pair::load(&corpus, ["4.20.0", "4.21.0"]), rounds_with_real, &mut rng).await;
    }
    rounds_of(&Pair::load(&examples, ["1.0.0", "1.1.0"]), rounds - rounds_with_real, &mut rng).await;
}

/// Each server gives two rounds: one kill of the installation, one of the update.
async fn rounds_of(pair: &Pair, rounds: u64, rng: &mut Rng) {
    let (real, undisturbed) = undisturbed(pair).await;
    drop(real);
    let mut hits = 0;
    for round in 0..rounds.div_ceil(2) {
        let real = Real::start(false, &pair.chosen.each_ref()).await;
        for (step, expected) in undisturbed.iter().enumerate() {
            let (hit, killed_after) = kill_one(&real, pair, step, expected.writes, rng).await;
            hits += u64::from(hit);
            let time = Instant::now();
            finish(&real, pair, step).await;
            let objects = snapshot(&real, pair).await;
            assert_same(
                &expected.objects,
                &objects,
                &format!("round {round} {} after {killed_after}", MODES[step]),
            );
            println!(
                "round {round} {}: killed after {killed_after} of {} writes ({}), taken up in {} ms",
                MODES[step],
                expected.writes,
                if hit { "hit" } else { "it had ended" },
                time.elapsed().as_millis()
            );
        }
    }
    println!("{hits} kills hit a running process");
    assert!(hits * 2 > rounds, "most kills must hit: {hits} of {rounds}");
}

async fn undisturbed(pair: &Pair) -> (Real, Vec<Undisturbed>) {
    let real = Real::start(false, &pair.chosen.each_ref()).await;
    let mut runs = Vec::new();
    for step in 0..2 {
        let log = real.kube.audit_log().expect("a log");
        let (_, mark) = audit::read(log, 0);
        finish(&real, pair, step).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let writes = writes(&audit::read(log, mark).0);
        runs.push(Undisturbed { writes, objects: snapshot(&real, pair).await });
    }
    assert!(runs.iter().all(|run| run.writes > 20 && run.objects.len() > 100), "nothing was done");
    (real, runs)
}

fn writes(requests: &[audit::Request]) -> usize {
    requests.iter().filter(|it| it.is_ours() && it.is_write()).count()
}

/// Starts a run and kills it after a random number of writes; whether it was still running.
async fn kill_one(real: &Real, pair: &Pair, step: usize, all: usize, rng: &mut Rng) -> (bool, usize) {
    let log = real.kube.audit_log().expect("a log");
    let (_, mut mark) = audit::read(log, 0);
    let after = usize::try_from(rng.below(all as u64)).expect("small");
    let moment = Duration::from_millis(rng.below(200));
    let mut child = pair.start(real, step);
    let (start, mut seen) = (Instant::now(), 0);
    let mut is_running = true;
    while is_running && seen < after {
        assert!(start.elapsed() < PATIENCE, "{seen} of {after} writes");
        tokio::time::sleep(PAUSE).await;
        let (requests, end) = audit::read(log, mark);
        mark = end;
        seen += writes(&requests);
        is_running = child.try_wait().expect("a child").is_none();
    }
    if after == 0 {
        // Somewhere in the look at what is there.
        tokio::time::sleep(moment).await;
    }
    is_running = child.try_wait().expect("a child").is_none();
    // This is `SIGKILL`.
    child.kill().expect("a child");
    child.wait().expect("a child");
    (is_running, after)
}

/// Runs to the end.
async fn finish(real: &Real, pair: &Pair, step: usize) {
    let child = pair.start(real, step);
    let output =
        tokio::task::spawn_blocking(|| child.wait_with_output()).await.expect("no panic").expect("a child");
    assert!(
        output.status.success(),
        "{} {}: {}",
        MODES[step],
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// All objects of the set, without what servers make up and without what others own: who of an operator and us creates
/// its ClusterOperator is a race that nobody promises the end of.
async fn snapshot(real: &Real, pair: &Pair) -> BTreeMap<ResourceId, Value> {
    let start = Instant::now();
    let live = loop {
        let live = real.live(&pair.wanted).await;
        // The server takes its time with definitions that nothing of the release waits for.
        if live.values().all(is_established) {
            break live;
        }
        assert!(start.elapsed() < PATIENCE, "there are definitions that are never established");
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    let mut normaliser = Normaliser::default();
    let mut ours = |mut object: Value| {
        if let Some(entries) = object["metadata"]["managedFields"].as_array_mut() {
            entries.retain(|entry| entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply");
        }
        // An operator that was faster writes an empty one.
        if object["spec"] == json!({}) {
            object["spec"] = Value::Null;
        }
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        normaliser.value(&object)
    };
    live.into_iter().map(|(id, object)| (id, ours(object))).collect()
}

fn is_established(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    object["kind"] != "CustomResourceDefinition"
        || conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

fn assert_same(expected: &BTreeMap<ResourceId, Value>, found: &BTreeMap<ResourceId, Value>, when: &str) {
    let names = |objects: &BTreeMap<ResourceId, Value>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(expected), names(found), "{when}: other objects");
    let mut wrong = Vec::new();
    for (id, object) in expected {
        let of_one = differences(object, &found[id]);
        wrong
            .extend(of_one.iter().take(3).map(|it| format!("{} {}/{} {it}", id.kind, id.namespace, id.name)));
    }
    assert!(wrong.is_empty(), "{when}: {} differences: {:#?}", wrong.len(), &wrong[..wrong.len().min(30)]);
}

// === impl Pair ===

impl Pair {
    fn load(folder: &Path, versions: [&str; 2]) -> Self {
        let folders = versions.map(|version| folder.join(version));
        let chosen = folders.each_ref().map(|folder| load(folder));
        let wanted = chosen.iter().flat_map(wanted).collect();
        Self { folders, chosen, wanted }
    }

    /// Starts a process that does one of the two runs.
    fn start(&self, real: &Real, step: usize) -> Child {
        let version = self.folders[step].file_name().unwrap_or_default().to_string_lossy();
        Command::new(binary())
            .arg("apply")
            .arg(&self.folders[step])
            .arg("--kubeconfig")
            .arg(real.kube.kubeconfig())
            .args(["--release-image", &format!("registry.example.com/release:{version}")])
            .args(["--mode", MODES[step], "--install-order", "flat", "--set", SET, "--timeout", "10m"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a command that was built")
    }
}
