//! `cargo xtask bench mirror`: how long a mirror takes, beside `skopeo copy` of the same images.
//!
//! Both go from one real registry to another that is empty, in turns and in one run, so that the ratio says something on any
//! machine. The program that does it is an example of the `tests` package; here its runs become a report.

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
/// What part of the time of `skopeo copy` a mirror may take.
const MOST_RATIO: f64 = 1.0;

/// The block for `docs/measurements.md`.
#[derive(Default)]
struct Report {
    images: u64,
    blobs: u64,
    megabytes: f64,
    parallel: u64,
    pairs: Vec<Pair>,
    /// Seconds of `skopeo` with as many processes at a time as we move things; only told.
    at_once: Option<f64>,
}

/// Seconds of both, one after the other.
#[derive(Clone, Copy, Default)]
struct Pair {
    lockstep: f64,
    skopeo: f64,
}

/// Measures and prints; whether the limit holds.
pub fn mirror(out: &mut dyn Write) -> Result<bool, Error> {
    let target = target_folder()?;
    build_release(&target, &["--package", "lockstep"])?;
    build_release(&target, &["--package", "lockstep-tests", "--example", "mirror_bench"])?;
    let program = program(&target, "mirror_bench");
    let arguments = [target.join("release/lockstep").into_os_string(), PAIRS.to_string().into()];
    let mut report: Option<Report> = None;
    let status = follow(&program, &arguments, |value| {
        let Some(report) = &mut report else {
            report = Some(Report::begin(&value));
            return Ok(());
        };
        writeln!(out, "{}", report.add(&value)).map_err(io_error("writing the report"))
    })?;
    let report = report.filter(|report| status.success() && report.pairs.len() == PAIRS);
    let report =
        report.ok_or_else(|| failed(&program, format!("it did not measure everything ({status})")))?;
    write!(out, "{report}").map_err(io_error("writing the report"))?;
    Ok(report.is_within_limit())
}

// === impl Report ===

impl Report {
    fn begin(head: &Value) -> Self {
        let number = |key: &str| head[key].as_u64().unwrap_or_default();
        Self {
            images: number("images"),
            blobs: number("blobs"),
            megabytes: head["bytes"].as_f64().unwrap_or_default() / 1e6,
            parallel: number("parallel"),
            ..Self::default()
        }
    }

    /// Takes one run in, and says it.
    fn add(&mut self, line: &Value) -> String {
        let (side, seconds) =
            (line["side"].as_str().unwrap_or_default(), line["seconds"].as_f64().unwrap_or_default());
        let Some(number) = line["pair"].as_u64().and_then(|number| usize::try_from(number).ok()) else {
            self.at_once = Some(seconds);
            return format!("{} skopeo at a time: {seconds:.2} s", self.parallel);
        };
        self.pairs.resize(self.pairs.len().max(number), Pair::default());
        if let Some(pair) = self.pairs.get_mut(number.saturating_sub(1)) {
            *(if side == "lockstep" { &mut pair.lockstep } else { &mut pair.skopeo }) = seconds;
        }
        format!("pair {number}: {side} {seconds:.2} s")
    }

    fn ratio(&self) -> f64 {
        median(&self.pairs.iter().map(Pair::ratio).collect::<Vec<_>>())
    }

    fn is_within_limit(&self) -> bool {
        self.ratio() <= MOST_RATIO
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { images, blobs, megabytes, parallel, pairs, at_once } = self;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        writeln!(f, "cargo xtask bench mirror: commit {}, {cores} cores", commit())?;
        writeln!(
            f,
            "images       {images} with {blobs} blobs, {megabytes:.0} MB, registry to empty registry on loopback"
        )?;
        for (number, pair) in (1..).zip(pairs) {
            writeln!(
                f,
                "pair {number}       lockstep {:.2} s (parallel {parallel}), skopeo copy {:.2} s; ratio {:.2}",
                pair.lockstep,
                pair.skopeo,
                pair.ratio()
            )?;
        }
        if let Some(seconds) = at_once {
            writeln!(f, "beside       {parallel} skopeo at a time: {seconds:.2} s (told, not judged)")?;
        }
        let verdict = if self.is_within_limit() { "holds" } else { "MISSED" };
        writeln!(
            f,
            "ratio        median {:.2} of the time of skopeo copy (limit: at most {MOST_RATIO:.0}, {verdict})",
            self.ratio()
        )
    }
}

// === impl Pair ===

impl Pair {
    fn ratio(&self) -> f64 {
        self.lockstep / self.skopeo
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_report(times: &[(f64, f64)]) -> Report {
        let mut report =
            Report::begin(&json!({"images": 24, "blobs": 70, "bytes": 400_000_000, "parallel": 6}));
        for (number, (lockstep, skopeo)) in (1..).zip(times) {
            report.add(&json!({"pair": number, "side": "skopeo", "seconds": skopeo}));
            report.add(&json!({"pair": number, "side": "lockstep", "seconds": lockstep}));
        }
        report
    }

    #[test]
    fn the_median_of_the_pairs_decides() {
        assert!(a_report(&[(1.0, 2.0), (2.0, 2.0), (9.0, 2.0)]).is_within_limit());
        assert!(!a_report(&[(1.0, 2.0), (2.1, 2.0), (9.0, 2.0)]).is_within_limit());
    }

    #[test]
    fn the_block_names_every_ratio_and_a_miss() {
        let mut report = a_report(&[(3.0, 2.0)]);
        report.add(&json!({"side": "skopeoAtOnce", "seconds": 1.5}));
        let text = report.to_string();
        assert!(text.contains("ratio 1.50") && text.contains("MISSED"), "{text}");
        assert!(text.contains("400 MB") && text.contains("6 skopeo at a time: 1.50 s"), "{text}");
    }
}
