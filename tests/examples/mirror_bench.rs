//! Mirrors the same images with `lockstep release mirror` and with `skopeo copy`, in turns, between real registries.
//!
//! Arguments: the program, and how many pairs. Prints one line of JSON for what is mirrored and one for each run;
//! `cargo xtask bench mirror` makes a report of them.
#![expect(clippy::print_stdout, reason = "a program that tells what it measured")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use lockstep_release::store::{Access, Registries};
use lockstep_release::{PullSpec, Store};
use lockstep_tests::made_release::{Made, Recipe};
use serde_json::json;
use xtask::registry::{Options, Registry, skopeo};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// How many things `lockstep` moves at a time, and how many `skopeo` in the run that is only told.
const PARALLEL: usize = 6;

/// Who mirrors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Lockstep,
    /// One process after the other.
    Skopeo,
    /// As many processes at a time as `lockstep` moves things.
    SkopeoAtOnce,
}

/// What is mirrored, and with what.
struct Bench {
    program: String,
    folder: tempfile::TempDir,
    source: String,
    made: Made,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("the program is missing")?;
    let pairs: u64 = arguments.next().ok_or("the number of pairs is missing")?.parse()?;
    // It fails where somebody chose before, and nobody does.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let registry = Registry::start(&Options::default())?;
    let source = format!("{}/ocp/release", registry.address());
    let made = make(&source)?;
    let bench = Bench { program, folder: tempfile::tempdir()?, source, made };
    println!(
        "{}",
        json!({
            "images": bench.images().len(), "blobs": bench.made.blobs.len(), "bytes": bench.made.bytes(), "parallel": PARALLEL,
        })
    );
    // Once unmeasured: programs and content come into the cache.
    bench.run(Side::Lockstep)?;
    for pair in 1..=pairs {
        let mut sides = [("lockstep", Side::Lockstep), ("skopeo", Side::Skopeo)];
        // Whoever comes second finds a warmer machine; so they take turns.
        if pair % 2 == 0 {
            sides.reverse();
        }
        for (name, side) in sides {
            println!("{}", json!({"pair": pair, "side": name, "seconds": bench.run(side)?}));
        }
    }
    println!("{}", json!({"side": "skopeoAtOnce", "seconds": bench.run(Side::SkopeoAtOnce)?}));
    Ok(())
}

fn make(source: &str) -> Outcome<Made> {
    let recipe = Recipe {
        images: 20,
        own_images: 0,
        layer: (8_000_000, 24_000_000),
        bases: 4,
        ..Recipe::small("4.20.0", source)
    };
    let access = Access { plain_http: true, per_registry: PARALLEL, ..Access::default() };
    let registries = Registries::new(access)?;
    let store = Store::Registry(registries.repository(&PullSpec::parse(source)?)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(recipe.make(&store))?)
}

// === impl Bench ===

impl Bench {
    /// Every image with its tag at the destination.
    fn images(&self) -> Vec<(String, String)> {
        let prefix = format!("{}-x86_64", self.made.version);
        let mut images: Vec<(String, String)> = self
            .made
            .images
            .iter()
            .map(|(name, digest)| (format!("@{digest}"), format!("{prefix}-{name}")))
            .collect();
        images.extend(self.made.signatures.iter().map(|tag| (format!(":{tag}"), tag.clone())));
        images.push((format!("@{}", self.made.release), prefix));
        images
    }

    /// Mirrors everything into a registry that has nothing; the seconds that it took.
    fn run(&self, side: Side) -> Outcome<f64> {
        let registry = Registry::start(&Options::default())?;
        let to = format!("{}/mirror/release", registry.address());
        let start = Instant::now();
        match side {
            Side::Lockstep => {
                let from = format!("{}:{}", self.source, self.made.version);
                let mut command = Command::new(Path::new(&self.program));
                command.args(["release", "mirror", "--plain-http", &from, "--to", &to]);
                command.args(["--max-per-registry", &PARALLEL.to_string()]);
                succeed(command.env("HOME", self.folder.path()))?;
            }
            Side::Skopeo => self.images().iter().try_for_each(|image| self.copy(image, &to))?,
            Side::SkopeoAtOnce => self.copy_at_once(&to)?,
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn copy(&self, (which, tag): &(String, String), to: &str) -> Outcome<()> {
        let mut command = skopeo(self.folder.path())?;
        command.args(["copy", "--all", "--preserve-digests", "--quiet"]);
        command.args(["--src-tls-verify=false", "--dest-tls-verify=false"]);
        command.args([format!("docker://{}{which}", self.source), format!("docker://{to}:{tag}")]);
        succeed(&mut command)
    }

    fn copy_at_once(&self, to: &str) -> Outcome<()> {
        let left = Mutex::new(self.images());
        let work = || {
            while let Some(image) = left.lock().ok().and_then(|mut left| left.pop()) {
                self.copy(&image, to).map_err(|error| error.to_string())?;
            }
            Ok::<(), String>(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..PARALLEL).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread".into())))
        })?;
        Ok(())
    }
}

fn succeed(command: &mut Command) -> Outcome<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}
