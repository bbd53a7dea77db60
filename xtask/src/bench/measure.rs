//! One process: how long it runs, what it says about its phases, how much memory it takes.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::Error;
use crate::error::io_error;

/// How often the memory of a process is looked at; the kernel keeps the peak, so only the last moment can be missed.
const LOOK: Duration = Duration::from_micros(500);

/// One run.
pub(super) struct Sample {
    /// From its start to its end.
    pub(super) milliseconds: f64,
    /// Milliseconds by phase, as the program says.
    pub(super) phases: Map<String, Value>,
}

/// Runs a command to its end.
pub(super) fn sample(mut command: Command) -> Result<Sample, Error> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let output = command.output().map_err(io_error(format!("running {command:?}")))?;
    let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(Error::Command { command: format!("{command:?}"), log: errors });
    }
    Ok(Sample { milliseconds, phases: timings(&errors) })
}

/// The most memory that a command has at any time, in bytes.
pub(super) fn peak_memory(mut command: Command) -> Result<u64, Error> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(io_error(format!("starting {command:?}")))?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().map_err(io_error(format!("waiting for {command:?}")))?.is_none() {
        peak = peak.max(high_water_mark(&fs::read_to_string(&status).unwrap_or_default()));
        thread::sleep(LOOK);
    }
    Ok(peak)
}

/// The line `note: timings: {…}` of an error stream; its keys are phases with the unit, such as `loadMs`.
fn timings(errors: &str) -> Map<String, Value> {
    let line = errors.lines().find_map(|line| Some(line.split_once("timings: ")?.1));
    match line.and_then(|json| serde_json::from_str(json).ok()) {
        Some(Value::Object(phases)) => {
            phases.into_iter().map(|(name, time)| (name.trim_end_matches("Ms").to_owned(), time)).collect()
        }
        _ => Map::new(),
    }
}

/// `VmHWM` of a `/proc/PID/status`, in bytes.
fn high_water_mark(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

/// The middle of a list, or of its two middle numbers the smaller one.
pub(super) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// The median of each phase, the longest first.
pub(super) fn phases(samples: &[Sample]) -> Vec<(String, f64)> {
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, time) in samples.iter().flat_map(|sample| &sample.phases) {
        times.entry(name).or_default().extend(time.as_f64());
    }
    let mut medians: Vec<_> =
        times.into_iter().map(|(name, times)| (name.to_owned(), median(&times))).collect();
    medians.sort_by(|one, two| two.1.total_cmp(&one.1));
    medians
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_odd_and_an_even_number_of_samples() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.0).abs() < 1e-9);
        assert!(median(&[]).abs() < 1e-9);
    }

    #[test]
    fn the_peak_is_read_from_the_kernels_own_line() {
        assert_eq!(high_water_mark("VmPeak:\t  900 kB\nVmHWM:\t   123 kB\nVmRSS:\t 1 kB\n"), 123 * 1024);
        assert_eq!(high_water_mark("State:\tZ (zombie)\n"), 0);
    }

    #[test]
    fn phases_are_ordered_by_their_median() {
        let run = |load: f64, print: f64| Sample {
            milliseconds: 1.0,
            phases: timings(&format!("a\nnote: timings: {{\"loadMs\": {load}, \"printMs\": {print}}}\n")),
        };
        let found = phases(&[run(1.0, 2.5), run(9.0, 2.5), run(1.5, 0.5)]);
        assert_eq!(found, [("print".to_owned(), 2.5), ("load".to_owned(), 1.5)]);
    }

    #[test]
    fn memory_and_time_of_a_real_process_are_more_than_nothing() {
        let mut command = Command::new("sleep");
        command.arg("0.05");
        assert!(peak_memory(command).unwrap() > 10_000);
        let mut command = Command::new("sleep");
        command.arg("0.05");
        assert!(sample(command).unwrap().milliseconds >= 50.0);
    }
}
