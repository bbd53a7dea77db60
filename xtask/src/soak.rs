//! `cargo xtask soak`: the suites that find more the longer they run.

mod mutants;

use std::io::{BufRead as _, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::Error;
use crate::error::io_error;
use crate::lock::lock;
use crate::test::{read_log, run_cargo};
use crate::workspace::{build_release, commit, target_folder};

/// One long run.
struct Soak {
    name: &'static str,
    what: &'static str,
    /// How much of it, unless somebody says.
    amount: u64,
    /// The variable that sets the seed.
    seed_variable: &'static str,
    action: Action,
}

/// What a long run is.
#[derive(Clone, Copy)]
enum Action {
    /// A file of the `tests` package whose number of rounds a variable sets.
    Suite { file: &'static str, rounds_variable: &'static str },
    /// An example of the `tests` package that takes minutes and seed as arguments and judges itself.
    Program { example: &'static str },
    /// The simulation against engines that are broken on purpose, with so many seeds at most.
    Mutants,
}

const SOAKS: [Soak; 10] = [
    Soak {
        name: "fuzz",
        what: "random and damaged input for everything that reads a release; 10 times what `test` does",
        amount: 1_000_000,
        seed_variable: "LOCKSTEP_FUZZ_SEED",
        action: Action::Suite { file: "fuzz", rounds_variable: "LOCKSTEP_FUZZ_CASES" },
    },
    Soak {
        name: "lab",
        what: "one lab under churn, a thousand watches, faults and hostile requests, for 10 minutes or as many as named",
        amount: 10,
        seed_variable: "LOCKSTEP_SOAK_SEED",
        action: Action::Program { example: "lab_soak" },
    },
    Soak {
        name: "simulation",
        what: "the engine in small worlds with faults, people and crashes; 10 times what `test` does",
        amount: 2000,
        seed_variable: "LOCKSTEP_FIRST_SEED",
        action: Action::Suite { file: "simulation", rounds_variable: "LOCKSTEP_SEEDS" },
    },
    Soak {
        name: "operator-simulation",
        what: "three replicas of the operator in half hours of kills, faults, people and updates; 15 times what `test` does",
        amount: 500,
        seed_variable: "LOCKSTEP_FIRST_SEED",
        action: Action::Suite { file: "operator_simulation", rounds_variable: "LOCKSTEP_OPERATOR_SEEDS" },
    },
    Soak {
        name: "mutants",
        what: "ten engines that are broken on purpose: the simulation must find each of them; prints the first seed",
        amount: 200,
        seed_variable: "LOCKSTEP_FIRST_SEED",
        action: Action::Mutants,
    },
    Soak {
        name: "kill",
        what: "kill -9 at random moments of installations and updates on a real server; 10 times what `test` does",
        amount: 100,
        seed_variable: "LOCKSTEP_SEED",
        action: Action::Suite { file: "engine_kill", rounds_variable: "LOCKSTEP_ROUNDS" },
    },
    Soak {
        name: "mirror",
        what: "mirrors between real registries under harm and kill -9; 10 times what `test` does",
        amount: 50,
        seed_variable: "LOCKSTEP_SEED",
        action: Action::Suite { file: "release_mirror", rounds_variable: "LOCKSTEP_ROUNDS" },
    },
    Soak {
        name: "chaos",
        what: "three operators on a real server that is disturbed for 300 seconds, or as many as named; 5 times what `test` does",
        amount: 300,
        seed_variable: "LOCKSTEP_SEED",
        action: Action::Suite { file: "operator_chaos", rounds_variable: "LOCKSTEP_CHAOS_SECONDS" },
    },
    Soak {
        name: "stability",
        what: "rehearsals with other seeds, healthy and with one operator that flaps: the first all come to rest, the others never",
        amount: 500,
        seed_variable: "LOCKSTEP_FIRST_SEED",
        action: Action::Suite { file: "stability", rounds_variable: "LOCKSTEP_ROUNDS" },
    },
    Soak {
        name: "eta",
        what: "rehearsals with other seeds: how often the true end lay in the interval that was told at half time",
        amount: 100,
        seed_variable: "LOCKSTEP_SEED",
        action: Action::Suite { file: "eta", rounds_variable: "LOCKSTEP_ROUNDS" },
    },
];

/// The names of all long runs with what they do.
pub fn list() -> String {
    SOAKS.map(|soak| format!("{}  {}\n", soak.name, soak.what)).concat()
}

/// Runs one of them; whether nothing failed. Its last lines are meant for `docs/measurements.md`.
///
/// Each run has its own seed, unless the environment sets one: repeating what `test` does would find nothing.
pub fn run(name: &str, amount: Option<u64>, out: &mut dyn Write) -> Result<bool, Error> {
    let soak = SOAKS.iter().find(|soak| soak.name == name).ok_or_else(|| Error::Data {
        from: format!("soak `{name}`"),
        what: "there is no such run; `cargo xtask soak --list` names them".into(),
    })?;
    let seed = std::env::var(soak.seed_variable).unwrap_or_else(|_| seconds_since_1970().to_string());
    match soak.action {
        Action::Suite { file, rounds_variable } => {
            let named =
                amount.map(|amount| amount.to_string()).or_else(|| std::env::var(rounds_variable).ok());
            let rounds = named.unwrap_or_else(|| soak.amount.to_string());
            suite(soak, file, (rounds_variable, &rounds), &seed, out)
        }
        Action::Mutants => mutants::run(amount.unwrap_or(soak.amount), out),
        Action::Program { example } => program(soak, example, amount.unwrap_or(soak.amount), &seed, out),
    }
}

fn suite(
    soak: &Soak,
    file: &str,
    (variable, rounds): (&'static str, &str),
    seed: &str,
    out: &mut dyn Write,
) -> Result<bool, Error> {
    let name = soak.name;
    let arguments =
        ["test", "--package", "lockstep-tests", "--test", file, "--locked", "--", "--show-output"];
    let environment = [(variable, rounds), (soak.seed_variable, seed)];

    let start = Instant::now();
    let target = target_folder()?;
    let _lock = lock(&target.join("xtask.lock"), "tests in the same folder")?;
    let run = run_cargo(&format!("soak-{name}"), &target, &arguments.map(str::to_owned), &environment, out)?;
    let failed: usize = read_log(&run.log).iter().map(|suite| suite.failed).sum();
    let failures = failed.max(usize::from(!run.succeeded));
    // A failed run has shown its log already.
    for line in told(&run.log).filter(|_| run.succeeded) {
        writeln!(out, "{line}").map_err(io_error("writing the report"))?;
    }
    let line = format!(
        "cargo xtask soak {name}: commit {}, {rounds} rounds (seed {seed}), {failures} failures, {} s",
        commit(),
        start.elapsed().as_secs()
    );
    writeln!(out, "{line}").map_err(io_error("writing the report"))?;
    Ok(failures == 0)
}

/// What the tests of a suite said.
fn told(log: &str) -> impl Iterator<Item = &str> {
    let is_head = |line: &str| line.starts_with("---- ") && line.ends_with(" stdout ----");
    log.lines()
        .scan(false, move |is_told, line| {
            *is_told =
                is_head(line) || (*is_told && line != "successes:" && !line.starts_with("test result: "));
            Some((*is_told && !is_head(line) && !line.trim().is_empty()).then_some(line))
        })
        .flatten()
}

fn program(soak: &Soak, example: &str, minutes: u64, seed: &str, out: &mut dyn Write) -> Result<bool, Error> {
    let target = target_folder()?;
    build_release(&target, &["--package", "lockstep-tests", "--example", example])?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let head = format!(
        "cargo xtask soak {}: commit {}, {cores} cores, {minutes} min (seed {seed})",
        soak.name,
        commit()
    );
    writeln!(out, "{head}").map_err(io_error("writing the report"))?;
    let mut child = Command::new(target.join("release/examples").join(example))
        .args([minutes.to_string().as_str(), seed])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io_error(format!("starting `{example}`")))?;
    // Line by line: somebody may watch it.
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines) {
        let line = line.map_err(io_error(format!("reading from `{example}`")))?;
        writeln!(out, "{line}").map_err(io_error("writing the report"))?;
    }
    Ok(child.wait().map_err(io_error(format!("waiting for `{example}`")))?.success())
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_long_run_is_listed() {
        assert!(SOAKS.iter().all(|soak| list().contains(soak.what)));
    }

    #[test]
    fn what_tests_say_is_told_and_what_the_framework_says_is_not() {
        let log = "running 2 tests\ntest a ... ok\n\nsuccesses:\n\n---- a stdout ----\nfirst\nsecond\n\n\n---- b stdout ----\nthird\n\n\nsuccesses:\n    a\n    b\n\ntest result: ok. 2 passed\n";
        assert_eq!(told(log).collect::<Vec<_>>(), ["first", "second", "third"]);
    }

    #[test]
    fn an_unknown_name_is_refused_before_anything_is_built() {
        let error = run("fuz", None, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("`fuz`") && error.contains("soak --list"), "{error}");
    }
}
