//! Against real registries behind a proxy that does harm: dropped connections, refusals, truncated and wrong content, kill -9.
//!
//! A round is one mirror. `LOCKSTEP_ROUNDS` says how many of each test (5), `LOCKSTEP_SEED` what harm comes when.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockstep_lab::Rng;
use lockstep_release::store::{Access, Archive, Layout, Registries};
use lockstep_release::{Digest, PullSpec, Store};
use lockstep_tests::cli::{Run, binary};
use lockstep_tests::fault_proxy::{Fault, FaultProxy, Kind, Plan, When};
use lockstep_tests::made_release::{Made, Recipe};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use xtask::registry::{Options, Registry};

use crate::content::{assert_complete, assert_whole_or_untagged};

/// The printed parallelism.
const PARALLEL: usize = 6;
/// What reading the release itself may take in each run: its configuration and the layer with its manifests.
const READING: u64 = 64 * 1024;

/// Two registries, a proxy before each, and a release in the first.
struct World {
    folder: tempfile::TempDir,
    registries: Registries,
    _source: Registry,
    destination: Registry,
    before_source: FaultProxy,
    before_destination: FaultProxy,
    made: Made,
}

/// Where a mirror goes in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Registry,
    Layout,
    Archive,
}

// === impl World ===

impl World {
    async fn start() -> Self {
        // It fails where somebody chose before: that is as good.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let access = Access { plain_http: true, per_registry: PARALLEL, ..Access::default() };
        let registries = Registries::new(access).expect("no file is read");
        let source = Registry::start(&Options::default()).expect("a registry");
        let destination = Registry::start(&Options::default()).expect("a registry");
        let before_source = FaultProxy::start(source.address(), Plan::seeded(0)).await.expect("a proxy");
        let before_destination =
            FaultProxy::start(destination.address(), Plan::seeded(0)).await.expect("a proxy");
        let folder = tempfile::tempdir().expect("a folder");
        let repository = format!("{}/ocp/art-dev", before_source.address);
        let store = |path: &str| repository_of(&registries, &format!("{}/{path}", source.address()));
        let (images, release) = (store("ocp/art-dev"), store("ocp/release"));
        let recipe = Recipe::small("4.20.0", &repository);
        let made = recipe.make_apart(&images, &release).await.expect("a release");
        Self { folder, registries, _source: source, destination, before_source, before_destination, made }
    }

    fn release(&self) -> String {
        format!("{}/ocp/release:4.20.0", self.before_source.address)
    }

    /// What the command is told, and where the content can be looked at without the proxy.
    fn target(&self, target: Target, round: u64) -> (String, PathBuf) {
        let path = self.folder.path().join(format!("round-{round}"));
        match target {
            Target::Registry => (format!("{}/mirror/round-{round}", self.before_destination.address), path),
            Target::Layout => (format!("oci:{}", path.display()), path),
            Target::Archive => {
                let path = path.with_extension("tar");
                (path.display().to_string(), path)
            }
        }
    }

    async fn store(&self, target: Target, round: u64) -> Store {
        self.try_store(target, round).await.expect("a store")
    }

    /// The destination, when it was begun.
    async fn try_store(&self, target: Target, round: u64) -> Option<Store> {
        let (_, path) = self.target(target, round);
        match target {
            Target::Registry => {
                let name = format!("{}/mirror/round-{round}", self.destination.address());
                Some(repository_of(&self.registries, &name))
            }
            Target::Layout => Layout::open(&path).await.ok().map(Store::Layout),
            Target::Archive => Archive::open(&path).await.ok().map(Store::Archive),
        }
    }

    fn command(&self, from: &str, to: &str) -> Command {
        let mut command = Command::new(binary());
        command
            .args(["release", "mirror", "--plain-http", "-o", "json", from, "--to", to])
            .env("HOME", self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env_remove("REGISTRY_AUTH_FILE")
            .stdin(Stdio::null());
        command
    }

    async fn run(&self, from: &str, to: &str) -> Run {
        let mut command = self.command(from, to);
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("a thread");
        let output = output.expect("the command starts");
        Run {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Both proxies follow new plans and count from zero.
    fn follow(&self, source: Plan, destination: Plan) {
        self.before_source.follow(source);
        self.before_destination.follow(destination);
    }

    /// Starts a command and kills it when so many bytes have come and a moment later; whether it was still running.
    async fn kill(&self, command: &mut Command, bytes: u64, jitter: Duration) -> bool {
        let mut child: Child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command starts");
        let is_running = |child: &mut Child| child.try_wait().expect("a child").is_none();
        while is_running(&mut child) && self.before_source.counters().blob_bytes_down < bytes {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(jitter).await;
        let is_hit = is_running(&mut child);
        let _ = child.kill();
        let _ = child.wait();
        is_hit
    }

    /// The blobs of the release that are not at a destination.
    async fn missing(&self, store: &Store) -> BTreeMap<Digest, u64> {
        let mut missing = BTreeMap::new();
        for (digest, size) in &self.made.blobs {
            if store.blob_size(digest).await.expect("an answer") != Some(*size) {
                missing.insert(digest.clone(), *size);
            }
        }
        missing
    }

    /// The bytes of as many of the largest blobs as go at a time.
    fn most_in_flight(&self) -> u64 {
        let mut sizes: Vec<u64> = self.made.blobs.values().copied().collect();
        sizes.sort_unstable();
        sizes.iter().rev().take(PARALLEL).sum()
    }
}

fn repository_of(registries: &Registries, name: &str) -> Store {
    let spec = PullSpec::parse(name).expect("a pull spec");
    Store::Registry(registries.repository(&spec).expect("a repository"))
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn rounds_and_seed() -> (u64, u64) {
    let (rounds, seed) = (number("LOCKSTEP_ROUNDS", 5), number("LOCKSTEP_SEED", 1));
    println!("{rounds} rounds, seed {seed} (LOCKSTEP_SEED)");
    (rounds, seed)
}

/// Harm to reading: a tenth of the blobs break off, are cut short or wrong; some answers are refusals.
fn harm_to_reading(rng: &mut Rng) -> Plan {
    let position = |rng: &mut Rng| rng.below(1_000_000);
    Plan::seeded(rng.next_u64())
        .with(Kind::BlobGet, When::Share(60), Fault::DropAfter(position(rng)))
        .with(Kind::BlobGet, When::Share(40), Fault::Truncate(position(rng)))
        .with(Kind::BlobGet, When::Share(40), Fault::Flip(position(rng)))
        .with(Kind::BlobGet, When::Share(40), Fault::RetryAfter(429, 0))
        .with(Kind::BlobGet, When::Share(40), Fault::Status(500))
        .with(Kind::BlobGet, When::Share(40), Fault::IgnoreRange)
        .with(Kind::ManifestGet, When::Share(40), Fault::Status(500))
        .with(Kind::ManifestGet, When::Share(40), Fault::HangUp)
        .with(Kind::ManifestGet, When::Share(40), Fault::Flip(rng.below(300)))
        .with(Kind::ManifestGet, When::Share(40), Fault::RetryAfter(429, 0))
}

/// Harm to writing: uploads break off, are refused or forgotten.
fn harm_to_writing(rng: &mut Rng) -> Plan {
    Plan::seeded(rng.next_u64())
        .with(Kind::UploadPatch, When::Share(60), Fault::DropUpload(rng.below(1_000_000)))
        .with(Kind::UploadPatch, When::Share(40), Fault::Status(500))
        .with(Kind::UploadPatch, When::Share(30), Fault::Status(404))
        .with(Kind::UploadPatch, When::Share(40), Fault::HangUp)
        .with(Kind::UploadStart, When::Share(60), Fault::RetryAfter(429, 0))
        .with(Kind::UploadPut, When::Share(60), Fault::Status(503))
        .with(Kind::ManifestPut, When::Share(80), Fault::Status(500))
        .with(Kind::ManifestPut, When::Share(60), Fault::HangUp)
        .with(Kind::BlobHead, When::Share(40), Fault::Status(502))
        .with(Kind::ManifestGet, When::Share(40), Fault::HangUp)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_every_kind_of_harm_it_ends_complete_and_right() {
    let (rounds, seed) = rounds_and_seed();
    let world = World::start().await;
    let mut rng = Rng::new(seed).fork("harm");
    for round in 0..rounds {
        let target =
            [Target::Registry, Target::Archive, Target::Layout][usize::try_from(round % 3).unwrap_or(0)];
        world.follow(harm_to_reading(&mut rng), harm_to_writing(&mut rng));
        let (to, _) = world.target(target, round);
        let time = Instant::now();
        let run = world.run(&world.release(), &to).await;
        assert_eq!(run.code, 0, "round {round} to {target:?}: {}", run.stderr);
        assert_complete(&world.store(target, round).await, &world.made).await;
        let (down, up) = (world.before_source.counters(), world.before_destination.counters());
        println!(
            "round {round} to {target:?}: {} faults of {} requests, {} ms",
            down.faults + up.faults,
            down.requests.values().chain(up.requests.values()).sum::<u64>(),
            time.elapsed().as_millis()
        );
        assert!(down.faults > 0, "no harm was done to reading");
        assert!(target != Target::Registry || up.faults > 0, "no harm was done to writing");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_killed_mirror_is_taken_up_and_brings_again_at_most_what_was_in_flight() {
    let (rounds, seed) = rounds_and_seed();
    let world = World::start().await;
    let mut rng = Rng::new(seed).fork("kill");
    // Late answers, so that there is time to kill it.
    let late =
        || Plan::seeded(0).with(Kind::BlobGet, When::Share(1000), Fault::Delay(Duration::from_millis(60)));
    let whole = world.made.bytes();
    let mut hits = 0;
    for round in 0..rounds {
        let target =
            [Target::Registry, Target::Archive, Target::Layout][usize::try_from(round % 3).unwrap_or(0)];
        world.follow(late(), Plan::seeded(0));
        let (to, _) = world.target(target, round);
        let (moment, jitter) = (whole * rng.below(1000) / 1000, Duration::from_millis(rng.below(30)));
        let is_hit = world.kill(&mut world.command(&world.release(), &to), moment, jitter).await;
        hits += u64::from(is_hit);
        let first = (
            world.before_source.counters().blob_bytes_down,
            world.before_destination.counters().blob_bytes_up,
        );
        let missing: u64 = match world.try_store(target, round).await {
            Some(store) => {
                assert_whole_or_untagged(&store).await;
                world.missing(&store).await.values().sum()
            }
            None => whole,
        };

        world.follow(late(), Plan::seeded(0));
        let run = world.run(&world.release(), &to).await;
        assert_eq!(run.code, 0, "round {round} to {target:?}: {}", run.stderr);
        assert_complete(&world.store(target, round).await, &world.made).await;
        let second = (
            world.before_source.counters().blob_bytes_down,
            world.before_destination.counters().blob_bytes_up,
        );
        let again = (first.0 + second.0).saturating_sub(whole);
        println!(
            "round {round} to {target:?}: killed after {moment} bytes ({}), {missing} of {whole} bytes were missing, {} came, {again} of them again",
            if is_hit { "hit" } else { "it had ended" },
            second.0,
        );
        assert!(second.0 <= missing + READING, "what was there came again: {} of {missing}", second.0);
        assert!(again <= world.most_in_flight() + 2 * READING, "{again} bytes came again");
        if target == Target::Registry {
            assert!(second.1 <= missing, "what was there went again: {} of {missing}", second.1);
        }
    }
    println!("{hits} kills hit a running process");
    assert!(hits * 2 >= rounds, "most kills must hit: {hits} of {rounds}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_registry_that_stays_wrong_is_never_believed() {
    let world = World::start().await;
    // Every large blob is wrong at the same place, always.
    let plan = Plan::seeded(0).with(Kind::BlobGet, When::Share(1000), Fault::Flip(100_000));
    world.follow(plan, Plan::seeded(0));
    for (round, target) in [Target::Registry, Target::Layout, Target::Archive].into_iter().enumerate() {
        let round = round as u64;
        let run = world.run(&world.release(), &world.target(target, round).0).await;
        assert_eq!(run.code, 1, "{target:?}: {}", run.stderr);
        // The bytes of an upload are checked where they come from and where they go to; either may be first to say it.
        let is_told = ["content integrity error", "DIGEST_INVALID"].iter().any(|it| run.stderr.contains(it));
        assert!(is_told, "{target:?}: {}", run.stderr);
        let store = world.store(target, round).await;
        let large = world.made.blobs.iter().filter(|(_, size)| **size > 100_000);
        for (digest, _) in large {
            assert_eq!(store.blob_size(digest).await.expect("an answer"), None, "{target:?}: {digest}");
        }
        assert_whole_or_untagged(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_blob_that_a_registry_lost_behind_its_manifest_is_brought_again() {
    let world = World::start().await;
    let (to, _) = world.target(Target::Registry, 0);
    assert_eq!(world.run(&world.release(), &to).await.code, 0);
    let store = world.store(Target::Registry, 0).await;
    let (digest, size) = world.made.blobs.iter().max_by_key(|(_, size)| **size).expect("a blob");
    let host = world.destination.address().to_string();
    let mut connection = TcpStream::connect(&host).await.expect("a connection");
    let request = format!(
        "DELETE /v2/mirror/round-0/blobs/{digest} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    assert_eq!(store.blob_size(digest).await.expect("an answer"), None, "it is lost");

    world.follow(Plan::seeded(0), Plan::seeded(0));
    let run = world.run(&world.release(), &to).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    let expected =
        format!("{}/mirror/round-0: the blob {digest} is missing", world.before_destination.address);
    assert_eq!((&report["complete"], &report["mended"]), (&json!(true), &json!([expected])));
    assert!(
        world.before_source.counters().blob_bytes_down <= size + READING,
        "only what was lost comes again"
    );
    assert_complete(&store, &world.made).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_releases_travel_in_one_archive_to_another_registry() {
    let world = World::start().await;
    let [images, releases] =
        ["art-dev", "release"].map(|name| format!("{}/ocp/{name}", world.before_source.address));
    let store = |name: &str| repository_of(&world.registries, name);
    let recipe = Recipe::small("4.20.1", &images);
    let second = recipe.make_apart(&store(&images), &store(&releases)).await.expect("a release");
    let (archive, path) = world.target(Target::Archive, 0);
    world.follow(Plan::seeded(0), Plan::seeded(0));
    assert_eq!(world.run(&world.release(), &archive).await.code, 0);
    let run = world.run(&format!("{releases}:4.20.1"), &archive).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    let new: u64 =
        second.blobs.iter().filter(|(it, _)| !world.made.blobs.contains_key(*it)).map(|(_, size)| size).sum();
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    assert_eq!(report["totals"]["movedBytes"].as_u64(), Some(new), "exactly the bytes that are new");
    let in_archive = Store::Archive(Archive::open(&path).await.expect("an archive"));
    for release in [&world.made, &second] {
        assert_complete(&in_archive, release).await;
    }

    world.follow(Plan::seeded(0), Plan::seeded(0));
    let (to, _) = world.target(Target::Registry, 0);
    for release in [&world.made, &second] {
        let from = format!("oci-archive:{}:{}-x86_64", path.display(), release.version);
        let run = world.run(&from, &to).await;
        assert_eq!(run.code, 0, "{}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).expect("a report");
        let sources = report["mirrorRules"].as_array().expect("rules").iter().map(|rule| &rule["source"]);
        assert_eq!(sources.collect::<Vec<_>>(), [&images, &releases], "where it came from first is known");
        assert_complete(&world.store(Target::Registry, 0).await, release).await;
    }
    assert_eq!(world.before_source.counters().requests.values().sum::<u64>(), 0, "the source was not asked");

    // From there on it is found beside the release, without asking the first registry.
    let onwards = Path::new("onwards");
    let to = format!("oci:{}", world.folder.path().join(onwards).display());
    let from = format!("{}/mirror/round-0:4.20.1-x86_64", world.before_destination.address);
    let run = world.run(&from, &to).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(world.before_source.counters().requests.values().sum::<u64>(), 0, "the source was not asked");
}
