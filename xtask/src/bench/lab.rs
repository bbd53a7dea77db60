//! `cargo xtask bench lab`: how fast the lab takes a whole release, beside a real API server.
//!
//! Both get the same requests from the same client, in turns and in one run, so that the ratio says something on any
//! machine. The program that does it is an example of the `tests` package; here its runs become a report.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::thread;

use serde_json::Value;

use super::example::{failed, follow, program};
use super::measure::median;
use crate::Error;
use crate::error::io_error;
use crate::workspace::{build_release, commit, target_folder};

/// How often both are measured.
const PAIRS: usize = 5;
/// How many times as fast as the real server the lab has to be.
const LEAST_RATIO: f64 = 10.0;

/// The block for `docs/measurements.md`.
struct Report {
    release: String,
    is_real: bool,
    objects: u64,
    concurrency: u64,
    pairs: Vec<Pair>,
}

/// The lab and the real server, one after the other.
#[derive(Clone, Default)]
struct Pair {
    lab: Run,
    real: Run,
}

/// One installation.
#[derive(Clone, Default)]
struct Run {
    seconds: f64,
    /// The objects that were refused, and why.
    refused: BTreeMap<String, String>,
}

/// Measures and prints; whether the limit holds.
pub fn lab(out: &mut dyn Write) -> Result<bool, Error> {
    let target = target_folder()?;
    build_release(&target, &["--package", "lockstep-tests", "--example", "lab_bench"])?;
    let program = program(&target, "lab_bench");
    let mut report: Option<Report> = None;
    let status = follow(&program, &[PAIRS.to_string()], |value| {
        let Some(report) = &mut report else {
            report = Some(Report::begin(&value));
            return Ok(());
        };
        writeln!(out, "{}", report.add(&value)).map_err(io_error("writing the report"))
    })?;
    let report = report.filter(|report| status.success() && !report.pairs.is_empty());
    let report = report.ok_or_else(|| failed(&program, format!("it did not measure anything ({status})")))?;
    write!(out, "{report}").map_err(io_error("writing the report"))?;
    Ok(!report.is_real || report.is_within_limit())
}

// === impl Report ===

impl Report {
    fn begin(head: &Value) -> Self {
        Self {
            release: head["release"].as_str().unwrap_or_default().to_owned(),
            is_real: head["isReal"] == true,
            objects: head["objects"].as_u64().unwrap_or_default(),
            concurrency: head["concurrency"].as_u64().unwrap_or_default(),
            pairs: Vec::new(),
        }
    }

    /// Takes one run in, and says it.
    fn add(&mut self, line: &Value) -> String {
        let number =
            line["pair"].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(1).max(1);
        self.pairs.resize(self.pairs.len().max(number), Pair::default());
        let entries = line["refused"].as_object().into_iter().flatten();
        let refused =
            entries.map(|(object, why)| (object.clone(), why.as_str().unwrap_or_default().to_owned()));
        let run = Run { seconds: line["seconds"].as_f64().unwrap_or_default(), refused: refused.collect() };
        let told = format!("pair {number}: {} {run}", line["side"].as_str().unwrap_or_default());
        let pair = &mut self.pairs[number - 1];
        *(if line["side"] == "lab" { &mut pair.lab } else { &mut pair.real }) = run;
        told
    }

    fn ratio(&self) -> f64 {
        median(&self.pairs.iter().map(Pair::ratio).collect::<Vec<_>>())
    }

    fn is_within_limit(&self) -> bool {
        self.ratio() >= LEAST_RATIO
    }

    /// Objects that only one of the two refused, or for another reason.
    fn disagreements(&self) -> BTreeMap<&str, String> {
        let none = String::from("taken");
        let mut all = BTreeMap::new();
        for Pair { lab, real } in &self.pairs {
            for object in lab.refused.keys().chain(real.refused.keys()) {
                let (ours, theirs) =
                    (lab.refused.get(object).unwrap_or(&none), real.refused.get(object).unwrap_or(&none));
                if ours != theirs {
                    all.insert(object.as_str(), format!("lab {ours}, real {theirs}"));
                }
            }
        }
        all
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { release, is_real, objects, concurrency, pairs } = self;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let judged = if *is_real { "" } else { "; no real release is here, so the limit is not judged" };
        writeln!(f, "cargo xtask bench lab: commit {}, {cores} cores", commit())?;
        writeln!(
            f,
            "release      {release}, {objects} objects by server-side apply, {concurrency} at a time{judged}"
        )?;
        for (number, pair) in (1..).zip(pairs) {
            let Pair { lab, real } = pair;
            writeln!(f, "pair {number}       lab {lab}; real {real}; ratio {:.1}", pair.ratio())?;
        }
        for (object, what) in self.disagreements() {
            writeln!(f, "different    {object}: {what}")?;
        }
        let verdict = if self.is_within_limit() { "holds" } else { "DOES NOT HOLD" };
        writeln!(
            f,
            "ratio        median {:.1} × as fast as the real server (limit: at least {LEAST_RATIO:.0} ×, {verdict})",
            self.ratio()
        )
    }
}

// === impl Pair ===

impl Pair {
    fn ratio(&self) -> f64 {
        self.real.seconds / self.lab.seconds
    }
}

// === impl Run ===

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s, {} refused", self.seconds, self.refused.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_report(times: &[(f64, f64)]) -> Report {
        let mut report =
            Report::begin(&json!({"release": "4.20.0", "isReal": true, "objects": 951, "concurrency": 16}));
        for (number, (lab, real)) in (1..).zip(times) {
            report.add(
                &json!({"pair": number, "side": "real", "seconds": real, "refused": {"A a": "422 Invalid"}}),
            );
            report.add(&json!({"pair": number, "side": "lab", "seconds": lab, "refused": {}}));
        }
        report
    }

    #[test]
    fn the_median_of_the_pairs_decides() {
        assert!(a_report(&[(1.0, 9.0), (1.0, 10.0), (1.0, 30.0)]).is_within_limit());
        assert!(!a_report(&[(1.0, 9.0), (1.0, 9.9), (1.0, 30.0)]).is_within_limit());
    }

    #[test]
    fn a_verdict_that_differs_is_named() {
        let text = a_report(&[(0.5, 6.0)]).to_string();
        assert!(text.contains("A a: lab taken, real 422 Invalid"), "{text}");
        assert!(text.contains("lab 0.500 s, 0 refused; real 6.000 s, 1 refused; ratio 12.0"), "{text}");
    }
}
