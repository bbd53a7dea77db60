//! `cargo xtask bench operator`: what `lockstep operator` costs to begin, to stay, to begin again and to be replaced.
//!
//! All of it on a real API server with a controller manager and scripted operators; times are those of the audit log. The
//! program that does it is an example of the `tests` package; here its results become a report.

use std::fmt;
use std::io::Write;
use std::thread;

use serde_json::Value;

use super::example::{failed, follow, program};
use super::figures::{Verdict, percentile};
use super::measure::median;
use crate::Error;
use crate::error::io_error;
use crate::workspace::{build_release, commit, target_folder};

/// From the start of the process to the first object that it applies, in seconds.
const MAX_START: f64 = 1.0;
/// What the process may have in the steady state, in megabytes.
const MAX_MEMORY: f64 = 40.0;
/// How much longer than the Lease is good for it may take until another replica has it, in seconds.
const MAX_BEYOND: f64 = 1.0;
/// The same when the holder gives it back.
const MAX_GIVEN_BACK: f64 = 2.0;

/// The block for `docs/measurements.md`.
#[derive(Default)]
struct Report {
    head: Value,
    starts: Vec<f64>,
    install: Value,
    steady: Value,
    process: Value,
    restarts: Vec<Value>,
    kills: Vec<Value>,
    farewells: Vec<Value>,
}

/// Measures and prints; whether every limit holds.
pub fn operator(out: &mut dyn Write) -> Result<bool, Error> {
    let target = target_folder()?;
    build_release(&target, &["--package", "lockstep"])?;
    build_release(&target, &["--package", "lockstep-tests", "--example", "operator_bench"])?;
    let program = program(&target, "operator_bench");
    let mut report = Report::default();
    let status = follow::<&str>(&program, &[], |value| {
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
        let part = line["part"].as_str().unwrap_or_default();
        let told = format!("{part}: {result}");
        match part {
            "head" => self.head = result,
            "start" => self.starts.push(number(&result["seconds"])),
            "install" => self.install = result,
            "steady" => self.steady = result,
            "process" => self.process = result,
            "restart" => self.restarts.push(result),
            "kill" => self.kills.push(result),
            _ => self.farewells.push(result),
        }
        told
    }

    fn is_real(&self) -> bool {
        self.head["isReal"] == true
    }

    fn start(&self) -> Verdict {
        Verdict::of(!self.starts.is_empty() && most(&self.starts) <= MAX_START)
    }

    fn steady(&self) -> Verdict {
        Verdict::of(self.steady["requests"] == 0)
    }

    fn memory(&self) -> Verdict {
        let now = megabytes(&self.process["memory"]);
        Verdict::of(now > 0.0 && now <= MAX_MEMORY)
    }

    fn restart(&self) -> Verdict {
        let is_free = |restart: &Value| restart["writes"] == 0;
        Verdict::of(!self.restarts.is_empty() && self.restarts.iter().all(is_free))
    }

    fn max_kill(&self) -> f64 {
        number(&self.head["leaseSeconds"]) + MAX_BEYOND
    }

    fn kill(&self) -> Verdict {
        let times = of(&self.kills, "seconds");
        Verdict::of(!times.is_empty() && most(&times) <= self.max_kill())
    }

    /// Who ends otherwise than it should has not given anything back, however soon the next one came.
    fn farewell(&self) -> Verdict {
        let times = of(&self.farewells, "seconds");
        let is_orderly = self.farewells.iter().all(|farewell| farewell["code"] == 0);
        Verdict::of(!times.is_empty() && is_orderly && most(&times) <= MAX_GIVEN_BACK)
    }

    fn holds(&self) -> bool {
        let verdicts =
            [self.start(), self.steady(), self.memory(), self.restart(), self.kill(), self.farewell()];
        !self.is_real() || verdicts.iter().all(|verdict| *verdict == Verdict::Holds)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { head, install, steady, process, .. } = self;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let judged = if self.is_real() { "" } else { "; no real release is here, so no limit is judged" };
        writeln!(f, "cargo xtask bench operator: commit {}, {cores} cores", commit())?;
        let release = text(&head["release"]);
        writeln!(f, "release      {release}, {} objects, audit log on{judged}", head["objects"])?;

        writeln!(f, "start        {} s until the first object is applied", all(&self.starts))?;
        writeln!(f, "             (limit: each at most {MAX_START:.0} s, {})", self.start())?;
        let [seconds, settled] = ["seconds", "settled"].map(|name| number(&install[name]));
        writeln!(f, "install      {seconds:.1} s until Completed, {settled:.1} s until the last request")?;

        let (requests, minutes) = (&steady["requests"], number(&steady["minutes"]));
        writeln!(
            f,
            "steady       {requests} requests in {minutes:.1} min, besides {} watches that were opened and {} about the Lease",
            steady["watches"], steady["ofLease"]
        )?;
        writeln!(f, "             (limit: none, {})", self.steady())?;
        unwanted(f, "unwanted", &steady["named"])?;
        unwanted(f, "news", &steady["news"])?;
        let [now, peak] = ["memory", "peak"].map(|name| megabytes(&process[name]));
        let minutes = number(&process["minutes"]);
        writeln!(f, "memory       {now:.1} MB {minutes:.1} min after Completed, peak {peak:.1} MB")?;
        writeln!(f, "             (limit: at most {MAX_MEMORY:.0} MB, {})", self.memory())?;
        writeln!(f, "connections  {} open", process["connections"])?;

        let seconds = of(&self.restarts, "seconds");
        let [requests, watches, writes] =
            ["requests", "watches", "writes"].map(|name| most(&of(&self.restarts, name)));
        writeln!(
            f,
            "restart      {} s until all is compared; {requests:.0} requests and {watches:.0} watches, {writes:.0} writes of release objects",
            all(&seconds)
        )?;
        writeln!(f, "             (limit: no such write, {})", self.restart())?;
        for restart in self.restarts.iter().take(1) {
            unwanted(f, "unwanted", &restart["named"])?;
            unwanted(f, "other writes", &restart["otherWrites"])?;
        }

        let (lease, limit) = (&head["leaseSeconds"], self.max_kill());
        writeln!(f, "kill -9      Lease of {lease} s {}", describe(&self.kills))?;
        writeln!(f, "             (limit: at most {limit:.0} s, {})", self.kill())?;
        let beyond = most(&of(&self.kills, "beyond"));
        let usual = number(&head["usualSeconds"]);
        writeln!(
            f,
            "             at most {:.0} ms after it was over: with the usual Lease of {usual:.0} s taken within {:.2} s",
            beyond * 1000.0,
            usual + beyond
        )?;
        writeln!(f, "SIGTERM      Lease {}", describe(&self.farewells))?;
        writeln!(f, "             (limit: at most {MAX_GIVEN_BACK:.0} s, {})", self.farewell())?;
        writeln!(f, "limits       {}", if self.holds() { "hold" } else { "DO NOT HOLD" })
    }
}

/// Rounds of one sort in words.
fn describe(rounds: &[Value]) -> String {
    let [taken, compared] = ["seconds", "compared"].map(|name| of(rounds, name));
    format!(
        "taken after {:.2} s (median of {}), {:.2} s at worst; all compared after {:.2} s, {:.2} s at worst",
        median(&taken),
        rounds.len(),
        most(&taken),
        median(&compared),
        most(&compared)
    )
}

fn unwanted(f: &mut fmt::Formatter<'_>, title: &str, names: &Value) -> fmt::Result {
    for name in names.as_array().into_iter().flatten() {
        writeln!(f, "             {title}: {}", text(name))?;
    }
    Ok(())
}

/// One number of each result.
fn of(results: &[Value], name: &str) -> Vec<f64> {
    results.iter().map(|result| number(&result[name])).collect()
}

fn most(numbers: &[f64]) -> f64 {
    percentile(numbers, 100)
}

fn all(numbers: &[f64]) -> String {
    numbers.iter().map(|number| format!("{number:.2}")).collect::<Vec<_>>().join(", ")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn megabytes(bytes: &Value) -> f64 {
    number(bytes) / 1e6
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A report in which every limit holds, with one result replaced.
    fn a_report(part: &str, result: &Value) -> Report {
        let lines = [
            (
                "head",
                json!({"release": "4.20.0", "isReal": true, "objects": 951, "leaseSeconds": 5, "usualSeconds": 137}),
            ),
            ("start", json!({"seconds": 0.7})),
            ("install", json!({"seconds": 12.0, "settled": 13.0})),
            ("steady", json!({"minutes": 10.0, "requests": 0, "watches": 80, "ofLease": 600, "named": []})),
            ("process", json!({"minutes": 10.1, "memory": 31_000_000, "peak": 80_000_000, "connections": 1})),
            (
                "restart",
                json!({"seconds": 1.5, "requests": 90, "watches": 80, "writes": 0, "named": [], "otherWrites": []}),
            ),
            ("kill", json!({"seconds": 4.6, "beyond": 0.1, "compared": 5.5, "code": null, "writes": 0})),
            ("terminate", json!({"seconds": 0.3, "beyond": -4.0, "compared": 1.5, "code": 0, "writes": 0})),
        ];
        let mut report = Report::default();
        for (name, usual) in lines {
            let result = if name == part { result.clone() } else { usual };
            report.add(json!({"part": name, "result": result}));
        }
        report
    }

    #[test]
    fn a_broken_limit_breaks_the_whole() {
        assert!(a_report("", &Value::Null).holds());
        let broken = [
            ("start", json!({"seconds": 1.01})),
            ("steady", json!({"minutes": 10.0, "requests": 1, "watches": 80, "named": ["1 × get /x"]})),
            ("process", json!({"minutes": 10.1, "memory": 40_100_000, "peak": 80_000_000})),
            ("process", Value::Null),
            ("restart", json!({"seconds": 1.5, "requests": 90, "watches": 80, "writes": 1})),
            ("kill", json!({"seconds": 6.01, "beyond": 1.5, "compared": 7.0})),
            ("terminate", json!({"seconds": 2.01, "code": 0})),
            ("terminate", json!({"seconds": 0.1, "code": 1})),
        ];
        for (part, result) in broken {
            let report = a_report(part, &result);
            assert!(!report.holds(), "{part}: {result}");
            assert!(report.to_string().contains("DOES NOT HOLD"), "{report}");
        }
    }

    #[test]
    fn what_was_not_measured_does_not_hold() {
        let mut report = Report::default();
        report.add(json!({"part": "head", "result": {"isReal": true}}));
        assert!(!report.holds());
    }

    #[test]
    fn without_a_real_release_no_limit_is_judged() {
        let report = a_report("head", &json!({"release": "1.1.0", "isReal": false, "objects": 9}));
        assert!(report.holds() && report.to_string().contains("no limit is judged"), "{report}");
    }

    #[test]
    fn the_worst_round_decides_and_tells_what_the_usual_lease_would_take() {
        let mut report = a_report("", &Value::Null);
        report.add(json!({"part": "kill", "result": {"seconds": 5.2, "beyond": 0.25, "compared": 6.0}}));
        let text = report.to_string();
        assert!(text.contains("taken after 4.60 s (median of 2), 5.20 s at worst"), "{text}");
        assert!(text.contains("within 137.25 s"), "{text}");
    }
}
