//! Lockstep's installation beside a bare flood of the same objects, then what it costs to stay installed.
//!
//! Prints one JSON line per result; `cargo xtask bench kube` makes a report of them. Each part has real API servers of
//! its own, with `lockstep lab operators` as the operators.
#![expect(clippy::print_stdout, reason = "the other side reads it")]

mod child;
mod drift;
mod pairs;
mod stage;
mod steady;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lockstep_tests::corpus::corpus;
use lockstep_tests::multiply::multiply;
use lockstep_tests::{cli, objects};
use serde_json::json;
use tokio::runtime::Runtime;

use stage::Subject;
use steady::Plan;

const USAGE: &str = "usage: kube_bench [--only pairs|flood|steady|large]... [--pairs N] [--minutes N] \
                     [--changes N] [--seed N]";
/// How many times the objects the large release has.
const TIMES: usize = 10;

/// What is measured.
struct Arguments {
    only: Vec<String>,
    pairs: u64,
    minutes: u64,
    changes: u64,
    seed: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let Arguments { pairs, minutes, changes, seed, .. } = arguments;
    let real = corpus("a real release").map(|folder| folder.join("4.20.0"));
    let is_real = real.is_some();
    let folder = real.unwrap_or_else(|| cli::root().join("examples/releases/1.1.0"));
    let subject = Subject::load(&folder);
    println!(
        "{}",
        json!({"part": "head", "release": name(&folder), "isReal": is_real, "objects": subject.objects.len(),
            "operators": subject.judge.len(), "minutes": minutes, "seed": seed})
    );
    let runtime = Runtime::new()?;
    for pair in 1..=pairs {
        // In turns, so that a machine that gets slower or faster favours nobody.
        let mut sides = ["flood", "lockstep"];
        if pair % 2 == 0 {
            sides.reverse();
        }
        for side in sides.into_iter().filter(|side| arguments.wants(side)) {
            let result = runtime.block_on(pairs::run(&subject, side))?;
            println!("{}", json!({"part": "pair", "pair": pair, "side": side, "result": result}));
        }
    }
    let plan = Plan { time: Duration::from_mins(minutes), changes, seed };
    if arguments.wants("steady") {
        runtime.block_on(steady::run(&subject, &plan, |part, result| tell(1, part, &result)))?;
    }
    if arguments.wants("large") {
        let temporary = tempfile::tempdir()?;
        let large = temporary.path().join(name(&folder));
        multiply(&folder, TIMES, &large)?;
        let subject = Subject::load(&large);
        tell(TIMES, "head", &json!({"objects": subject.objects.len()}));
        runtime.block_on(steady::run(&subject, &plan, |part, result| tell(TIMES, part, &result)))?;
    }
    Ok(())
}

fn tell(scale: usize, part: &str, result: &serde_json::Value) {
    println!("{}", json!({"part": part, "scale": scale, "result": result}));
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

// === impl Subject ===

impl Subject {
    fn load(folder: &Path) -> Self {
        let objects = objects::of_release(folder);
        let judge = lockstep_tests::judge::Judge::of(&objects);
        Self { folder: PathBuf::from(folder), objects, judge }
    }
}

// === impl Arguments ===

impl Arguments {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut read = Self { only: vec![], pairs: 5, minutes: 10, changes: 200, seed: 1 };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or(USAGE)?;
            match flag.as_str() {
                "--only" if ["pairs", "flood", "steady", "large"].contains(&value.as_str()) => {
                    read.only.push(value);
                }
                "--pairs" => read.pairs = value.parse()?,
                "--minutes" => read.minutes = value.parse()?,
                "--changes" => read.changes = value.parse()?,
                "--seed" => read.seed = value.parse()?,
                _ => return Err(format!("`{flag} {value}`: {USAGE}").into()),
            }
        }
        Ok(read)
    }

    fn wants(&self, part: &str) -> bool {
        let is_named = |name: &str| self.only.iter().any(|only| only == name);
        self.only.is_empty() || is_named(part) || (is_named("pairs") && ["flood", "lockstep"].contains(&part))
    }
}
