//! `cargo xtask bench why`: how long a person waits for the cause in a large cluster.
//!
//! Whole processes of `lockstep why` on a real API server with thousands of Pods. The program that does it is an example of
//! the `tests` package; here its runs become a report.

use std::io::Write;
use std::thread;

use super::example::{failed, follow, program};
use super::measure::median;
use crate::Error;
use crate::error::io_error;
use crate::workspace::{build_release, commit, target_folder};

/// How many Pods the cluster has.
const PODS: usize = 5000;
/// How often it is measured.
const RUNS: usize = 10;
/// What the usual run may take, in seconds.
const MAX_SECONDS: f64 = 1.0;

/// Measures and prints; whether the limit holds.
pub fn why(out: &mut dyn Write) -> Result<bool, Error> {
    let target = target_folder()?;
    build_release(&target, &["--package", "lockstep"])?;
    build_release(&target, &["--package", "lockstep-tests", "--example", "why_bench"])?;
    let program = program(&target, "why_bench");
    let lockstep = target.join("release/lockstep").display().to_string();
    let (mut seconds, mut causes): (Vec<f64>, String) = (Vec::new(), String::new());
    let status = follow(&program, &[lockstep, PODS.to_string(), RUNS.to_string()], |line| {
        if let Some(taken) = line["seconds"].as_f64() {
            seconds.push(taken);
            causes = line["causes"].to_string();
            return writeln!(out, "{line}").map_err(io_error("writing the report"));
        }
        Ok(())
    })?;
    if !status.success() || seconds.is_empty() {
        return Err(failed(&program, format!("it did not measure anything ({status})")));
    }
    let (usual, worst) = (median(&seconds), seconds.iter().copied().fold(0.0, f64::max));
    let holds = usual < MAX_SECONDS;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
    let report = format!(
        "cargo xtask bench why: commit {}, {cores} cores\n\
         cluster      a real API server with {PODS} Pods and half as many Events\n\
         why          {usual:.2} s (median of {RUNS} whole processes), {worst:.2} s at worst; causes {causes}\n             \
         (limit: below {MAX_SECONDS:.0} s, {verdict})\n",
        commit()
    );
    out.write_all(report.as_bytes()).map_err(io_error("writing the report"))?;
    Ok(holds)
}
