//! `cargo xtask bench`: how fast it is, and in how much memory.
//!
//! `payload`: reading a release. The whole process is measured, because that is what a person waits for: `lockstep release info` on a real release, with
//! the files in the page cache. Beside it, in the same run, the floor: reading the same files and parsing the same objects
//! as JSON, without YAML and without any rule.

mod example;
mod figures;
mod kube;
mod lab;
mod measure;
mod mirror;
mod operator;
mod why;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::Error;
use crate::error::io_error;
use crate::kube::variable;
use crate::workspace::{build_release, commit, root, target_folder};
pub use kube::kube;
pub use lab::lab;
use measure::{Sample, median, peak_memory, phases};
pub use mirror::mirror;
pub use operator::operator;
pub use why::why;

/// Runs whose time counts; one more before them warms the cache.
const RUNS: usize = 10;
/// Runs whose memory counts; they are watched, so their time does not.
const WATCHED_RUNS: usize = 3;
/// What the best run of the real release may take, in milliseconds on two cores.
const MAX_MILLISECONDS: f64 = 200.0;
/// How many times its own size reading a real release may take in memory.
const MAX_MEMORY: f64 = 8.0;

/// The release that is read.
struct Subject {
    folder: PathBuf,
    /// Whether it is the real one that the limits are about.
    is_real: bool,
    bytes: u64,
}

/// Measures and prints; whether the limits hold.
pub fn payload(out: &mut dyn Write) -> Result<bool, Error> {
    let subject = Subject::find()?;
    let target = target_folder()?;
    build_release(&target, &["--package", "lockstep"])?;
    build_release(&target, &["--package", "lockstep-tests", "--example", "payload_floor"])?;
    let program = target.join("release/lockstep");
    let info = || {
        let mut command = Command::new(&program);
        command.args(["release", "info", "--timings"]).arg(&subject.folder);
        command
    };

    measure::sample(info())?;
    let samples: Vec<Sample> = (0..RUNS).map(|_| measure::sample(info())).collect::<Result<_, _>>()?;
    let memory = (0..WATCHED_RUNS).map(|_| peak_memory(info())).collect::<Result<Vec<u64>, _>>()?;
    let floor = floor(&target, &subject.folder)?;

    let report = Report::new(&subject, &samples, &memory, &floor);
    write!(out, "{report}").map_err(io_error("writing the report"))?;
    Ok(!subject.is_real || report.is_within_limits())
}

/// What the floor takes, as the example program of the `tests` package says.
fn floor(target: &Path, folder: &Path) -> Result<Value, Error> {
    let program = target.join("release/examples/payload_floor");
    let output = Command::new(&program).arg(folder).output().map_err(io_error("running `payload_floor`"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| Error::Data {
        from: program.display().to_string(),
        what: format!("{error}: {}", String::from_utf8_lossy(&output.stderr)),
    })
}

// === impl Subject ===

impl Subject {
    /// The real release where there is one (`LOCKSTEP_CORPUS`, or `shared/payloads` beside the checkout), else our example.
    fn find() -> Result<Self, Error> {
        let beside = root().join("../shared/payloads");
        let real = variable("LOCKSTEP_CORPUS").unwrap_or(beside).join("4.20.0");
        let is_real = real.join("release-manifests").is_dir();
        let folder = if is_real { real } else { root().join("examples/releases/1.1.0") };
        let bytes = size(&folder.join("manifests"))? + size(&folder.join("release-manifests"))?;
        Ok(Self { folder, is_real, bytes })
    }
}

fn size(folder: &Path) -> Result<u64, Error> {
    let reading = || io_error(format!("reading `{}`", folder.display()));
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(reading())? {
        bytes += entry.and_then(|entry| entry.metadata()).map_err(reading())?.len();
    }
    Ok(bytes)
}

/// The block for `docs/measurements.md`.
struct Report {
    release: String,
    megabytes: f64,
    best: f64,
    median: f64,
    memory: f64,
    floor_read: f64,
    floor_parse: f64,
    phases: Vec<(String, f64)>,
}

// === impl Report ===

impl Report {
    #[expect(clippy::cast_precision_loss, reason = "sizes of releases are far below 2^52 bytes")]
    fn new(subject: &Subject, samples: &[Sample], memory: &[u64], floor: &Value) -> Self {
        let times: Vec<f64> = samples.iter().map(|sample| sample.milliseconds).collect();
        let name = subject.folder.file_name().unwrap_or_default().to_string_lossy();
        let release = if subject.is_real {
            format!("{name} (real)")
        } else {
            format!("{name} of examples/releases; no real release is here, so the limits are not judged")
        };
        Self {
            release,
            megabytes: subject.bytes as f64 / 1e6,
            best: times.iter().copied().fold(f64::INFINITY, f64::min),
            median: median(&times),
            memory: memory.iter().copied().max().unwrap_or_default() as f64 / 1e6,
            floor_read: floor["readMs"].as_f64().unwrap_or_default(),
            floor_parse: floor["parseMs"].as_f64().unwrap_or_default(),
            phases: phases(samples),
        }
    }

    fn memory_ratio(&self) -> f64 {
        self.memory / self.megabytes
    }

    fn is_within_limits(&self) -> bool {
        self.best <= MAX_MILLISECONDS && self.memory_ratio() < MAX_MEMORY
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { release, megabytes, best, median, memory, floor_read, floor_parse, phases } = self;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let floor = floor_read + floor_parse;
        writeln!(f, "cargo xtask bench payload: commit {}, {cores} cores", commit())?;
        writeln!(f, "release      {release}, {megabytes:.1} MB")?;
        writeln!(
            f,
            "time         best {best:.0} ms, median {median:.0} ms of {RUNS} whole processes, warm cache"
        )?;
        writeln!(f, "             (limit: best at most {MAX_MILLISECONDS:.0} ms)")?;
        writeln!(f, "speed        {:.0} MB/s at best", megabytes / best * 1000.0)?;
        let phases: Vec<String> = phases.iter().map(|(name, time)| format!("{name} {time:.1} ms")).collect();
        writeln!(f, "phases       {} (median)", phases.join(", "))?;
        writeln!(
            f,
            "memory       peak {memory:.1} MB, {:.1} × the release (limit: below {MAX_MEMORY:.0} ×)",
            self.memory_ratio()
        )?;
        writeln!(
            f,
            "floor        read {floor_read:.0} ms + parse the same objects as JSON {floor_parse:.0} ms, one thread"
        )?;
        writeln!(f, "ratio        best is {:.1} × the floor", best / floor)?;
        writeln!(f, "limits       {}", if self.is_within_limits() { "hold" } else { "DO NOT HOLD" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_report(best: f64, memory: f64) -> Report {
        Report {
            release: "x".into(),
            megabytes: 16.0,
            best,
            median: best,
            memory,
            floor_read: 10.0,
            floor_parse: 90.0,
            phases: vec![("load".into(), 1.0)],
        }
    }

    #[test]
    fn either_limit_can_be_broken() {
        assert!(a_report(200.0, 127.0).is_within_limits());
        assert!(!a_report(200.1, 127.0).is_within_limits());
        assert!(!a_report(200.0, 128.0).is_within_limits());
    }

    #[test]
    fn the_block_names_speed_and_ratio() {
        let text = a_report(100.0, 32.0).to_string();
        assert!(text.contains("160 MB/s") && text.contains("2.0 × the release"), "{text}");
        assert!(text.contains("1.0 × the floor") && text.contains("load 1.0 ms"), "{text}");
    }
}
