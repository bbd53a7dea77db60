//! `cargo xtask bench kube`: Lockstep's installation beside a bare flood on a real API server, and what it costs to stay.
//!
//! Both sides have the same objects, the same operators and the same judge, in turns and on fresh servers, so that the
//! ratio says something on any machine. The program that does it is an example of the `tests` package; here its results
//! become a report.

use std::fmt;
use std::io::Write;
use std::thread;

use serde_json::Value;

use super::example::{failed, follow, program};
use super::figures::{Verdict, percentile, spread};
use super::measure::median;
use crate::Error;
use crate::error::io_error;
use crate::workspace::{build_release, commit, target_folder};

/// How many times as long as the flood Lockstep may take.
const MAX_RATIO: f64 = 1.0;
/// How far the times of one side may lie apart, as a part of their median; beyond, the machine decides and not we.
const MAX_SPREAD: f64 = 0.3;
/// What a second run may take, in seconds.
const MAX_RESTART: f64 = 2.0;
/// Below what the repair of all but one in a hundred changes has to be, in milliseconds.
const MAX_REPAIR: f64 = 1000.0;
/// What the process that installed may have in the steady state, and at most, in megabytes.
const MAX_MEMORY: f64 = 40.0;
const MAX_PEAK: f64 = 120.0;

/// The block for `docs/measurements.md`.
#[derive(Default)]
struct Report {
    head: Value,
    /// Seconds of the flood and of Lockstep, with everything else that is known about them.
    pairs: Vec<[Value; 2]>,
    /// The release itself, and one with several times the objects.
    stays: Vec<Stay>,
}

/// What it costs to stay installed, for one size of a release.
#[derive(Default)]
struct Stay {
    scale: u64,
    head: Value,
    install: Value,
    restarts: Vec<Value>,
    drift: Value,
    steady: Value,
    process: Value,
}

/// Measures and prints; whether every limit that was measured holds. The arguments choose parts, see the program.
pub fn kube(arguments: &[&str], out: &mut dyn Write) -> Result<bool, Error> {
    let target = target_folder()?;
    build_release(&target, &["--package", "lockstep"])?;
    build_release(
        &target,
        &["--package", "lockstep-tests", "--example", "kube_flood", "--example", "kube_bench"],
    )?;
    let program = program(&target, "kube_bench");
    let mut report = Report::default();
    let status = follow(&program, arguments, |value| {
        writeln!(out, "{}", report.add(value)).map_err(io_error("writing the report"))
    })?;
    write!(out, "{report}").map_err(io_error("writing the report"))?;
    if status.success() {
        return Ok(report.holds());
    }
    let what = format!("it did not come to its end ({status}); above is what it measured until then");
    Err(failed(&program, what))
}

// === impl Report ===

impl Report {
    /// Takes one result in, and says it.
    fn add(&mut self, mut line: Value) -> String {
        let result = line["result"].take();
        let part = line["part"].as_str().unwrap_or_default().to_owned();
        if let Some(number) = line["pair"].as_u64().and_then(|number| usize::try_from(number).ok()) {
            self.pairs.resize(self.pairs.len().max(number), [Value::Null, Value::Null]);
            let told = format!("pair {number}: {} {}", text(&line["side"]), describe_side(&result));
            let side = usize::from(line["side"] == "lockstep");
            if let Some(pair) = number.checked_sub(1).and_then(|index| self.pairs.get_mut(index)) {
                pair[side] = result;
            }
            return told;
        }
        let Some(scale) = line["scale"].as_u64() else {
            let told = format!("{}: {} objects", text(&line["release"]), line["objects"]);
            self.head = line;
            return told;
        };
        if self.stays.last().is_none_or(|stay| stay.scale != scale) {
            self.stays.push(Stay { scale, ..Stay::default() });
        }
        let told = format!("{scale} × {part}: {}", shortened(&result));
        if let Some(stay) = self.stays.last_mut() {
            match part.as_str() {
                "head" => stay.head = result,
                "install" => stay.install = result,
                "restart" => stay.restarts.push(result),
                "drift" => stay.drift = result,
                "steady" => stay.steady = result,
                _ => stay.process = result,
            }
        }
        told
    }

    /// Lockstep's time in parts of the flood's, pair by pair.
    fn ratios(&self) -> Vec<f64> {
        let whole = self.pairs.iter().filter_map(|[flood, ours]| {
            Some(ours["seconds"].as_f64()? / flood["seconds"].as_f64().filter(|seconds| *seconds > 0.0)?)
        });
        whole.collect()
    }

    /// How far the times of the flood and those of Lockstep lie apart.
    fn spreads(&self) -> [f64; 2] {
        [0, 1].map(|side| {
            let times = self.pairs.iter().filter_map(|pair| pair[side]["seconds"].as_f64());
            spread(&times.collect::<Vec<_>>())
        })
    }

    fn ratio(&self) -> Verdict {
        if self.spreads().iter().any(|spread| *spread > MAX_SPREAD) {
            Verdict::TooNoisy
        } else {
            Verdict::of(median(&self.ratios()) <= MAX_RATIO)
        }
    }

    fn is_real(&self) -> bool {
        self.head["isReal"] == true
    }

    /// Whether no limit is broken. Those of the larger release are for comparison: they are about the real one.
    fn holds(&self) -> bool {
        let mut verdicts = Vec::new();
        if !self.ratios().is_empty() {
            verdicts.push(self.ratio());
        }
        for stay in self.stays.iter().filter(|stay| stay.scale == 1) {
            verdicts.extend(stay.verdicts());
        }
        !self.is_real() || verdicts.iter().all(|verdict| *verdict == Verdict::Holds)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (release, objects) = (text(&self.head["release"]), &self.head["objects"]);
        let judged = if self.is_real() { "" } else { "; no real release is here, so no limit is judged" };
        writeln!(
            f,
            "cargo xtask bench kube: commit {}, {cores} cores, seed {}",
            commit(),
            self.head["seed"]
        )?;
        let operators = &self.head["operators"];
        writeln!(f, "release      {release}, {objects} objects, {operators} ClusterOperators{judged}")?;
        for (number, [flood, ours]) in (1..).zip(&self.pairs) {
            write!(f, "pair {number}       flood {}", describe_side(flood))?;
            if ours.is_object() {
                let ratio = number_of(&ours["seconds"]) / number_of(&flood["seconds"]);
                write!(f, "; lockstep {}; ratio {ratio:.2}", describe_side(ours))?;
            }
            writeln!(f)?;
        }
        if !self.pairs.is_empty() {
            let [flood, ours] = self.spreads().map(|spread| spread * 100.0);
            let limit = MAX_SPREAD * 100.0;
            writeln!(
                f,
                "spread       flood {flood:.0} %, lockstep {ours:.0} % (limit: at most {limit:.0} %)"
            )?;
        }
        if !self.ratios().is_empty() {
            let (middle, pairs, verdict) = (median(&self.ratios()), self.pairs.len(), self.ratio());
            writeln!(
                f,
                "ratio        median {middle:.2} of {pairs} pairs (limit: at most {MAX_RATIO:.1}, {verdict})"
            )?;
        }
        for stay in &self.stays {
            write!(f, "{stay}")?;
        }
        writeln!(f, "limits       {}", if self.holds() { "hold" } else { "DO NOT HOLD" })
    }
}

// === impl Stay ===

impl Stay {
    fn restart_seconds(&self) -> Vec<f64> {
        self.restarts.iter().map(|restart| number_of(&restart["seconds"])).collect()
    }

    /// The most of the runs.
    fn of_restarts(&self, name: &str) -> u64 {
        self.restarts.iter().filter_map(|restart| restart[name].as_u64()).max().unwrap_or_default()
    }

    fn restart(&self) -> Verdict {
        let is_free = self.of_restarts("writes") == 0 && self.of_restarts("objectReads") == 0;
        Verdict::of(is_free && median(&self.restart_seconds()) <= MAX_RESTART)
    }

    fn repairs(&self) -> Vec<f64> {
        let of = |name: &str| list(&self.drift[name]).iter().map(number_of).collect::<Vec<f64>>();
        [of("deletions"), of("edits")].concat()
    }

    /// A change that nobody repaired counts as one that takes for ever.
    fn drift(&self) -> Verdict {
        let mut repairs = self.repairs();
        repairs.extend(list(&self.drift["lost"]).iter().map(|_| f64::INFINITY));
        Verdict::of(!repairs.is_empty() && percentile(&repairs, 99) < MAX_REPAIR)
    }

    fn steady(&self) -> Verdict {
        Verdict::of(self.steady["requests"] == 0)
    }

    fn memory(&self) -> Verdict {
        let [now, peak] = ["memory", "peak"].map(|name| megabytes(&self.process[name]));
        Verdict::of(now > 0.0 && now <= MAX_MEMORY && peak <= MAX_PEAK)
    }

    fn verdicts(&self) -> [Verdict; 4] {
        [self.restart(), self.drift(), self.steady(), self.memory()]
    }
}

impl fmt::Display for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scale, head, install, drift, steady, process, .. } = self;
        if *scale > 1 {
            writeln!(f, "{scale} × the objects: {} of them; the limits are for comparison", head["objects"])?;
        }
        let (healthy, settled) = (number_of(&install["seconds"]), number_of(&install["settled"]));
        writeln!(
            f,
            "install      {healthy:.3} s until healthy, {settled:.3} s until the last request, audit log on"
        )?;

        let seconds = self.restart_seconds();
        let all: Vec<String> = seconds.iter().map(|seconds| format!("{seconds:.2}")).collect();
        let [requests, writes, reads] =
            ["requests", "writes", "objectReads"].map(|name| self.of_restarts(name));
        writeln!(
            f,
            "restart      {} s, median {:.2} s; {requests} requests, {writes} writes, {reads} reads of one object",
            all.join(", "),
            median(&seconds)
        )?;
        writeln!(
            f,
            "             (limits: at most {MAX_RESTART:.0} s, no write, no such read; {})",
            self.restart()
        )?;
        for name in self.restarts.iter().flat_map(|restart| list(&restart["named"])) {
            writeln!(f, "             unwanted: {}", text(name))?;
        }
        for name in self.restarts.first().into_iter().flat_map(|restart| list(&restart["otherReads"])) {
            writeln!(f, "             also read: {}", text(name))?;
        }

        let (repairs, lost) = (self.repairs(), list(&drift["lost"]));
        let [deletions, edits] = ["deletions", "edits"].map(|name| list(&drift[name]).len());
        writeln!(
            f,
            "drift        {deletions} deletions and {edits} edits: p50 {:.0} ms, p99 {:.0} ms, most {:.0} ms, {} not repaired",
            percentile(&repairs, 50),
            percentile(&repairs, 99),
            percentile(&repairs, 100),
            lost.len()
        )?;
        writeln!(f, "             (limit: p99 below {MAX_REPAIR:.0} ms, {})", self.drift())?;
        for change in lost {
            writeln!(f, "             not repaired: {}", text(change))?;
        }

        let (requests, minutes) = (&steady["requests"], number_of(&steady["minutes"]));
        writeln!(
            f,
            "steady       {:.1} requests a minute, {requests} in {minutes:.1} min, besides {} watches that were opened",
            number_of(requests) / minutes,
            steady["watches"]
        )?;
        writeln!(f, "             (limit: none, {})", self.steady())?;
        for name in list(&steady["named"]) {
            writeln!(f, "             unwanted: {}", text(name))?;
        }

        let [now, peak] = ["memory", "peak"].map(|name| megabytes(&process[name]));
        let minutes = number_of(&process["minutes"]);
        writeln!(f, "memory       {now:.1} MB {minutes:.1} min after convergence, peak {peak:.1} MB")?;
        writeln!(
            f,
            "             (limits: at most {MAX_MEMORY:.0} MB and {MAX_PEAK:.0} MB, {})",
            self.memory()
        )?;
        writeln!(f, "connections  {} open", process["connections"])
    }
}

/// One installation in words.
fn describe_side(side: &Value) -> String {
    let waves: Vec<String> =
        list(&side["waves"]).iter().map(|time| format!("{:.1}", number_of(time))).collect();
    let seconds = format!("{:.3} s", number_of(&side["seconds"]));
    match side["refused"].as_object() {
        Some(refused) => format!("{seconds} (waves {}, {} refused)", waves.join(" + "), refused.len()),
        None => seconds,
    }
}

/// A result in one line of a sensible length.
fn shortened(value: &Value) -> String {
    const LONGEST: usize = 300;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number_of(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn megabytes(bytes: &Value) -> f64 {
    number_of(bytes) / 1e6
}

#[cfg(test)]
#[path = "kube_tests.rs"]
mod tests;
