//! `cargo xtask soak`: the suites that find more the longer they run.

use std::io::Write;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::Error;
use crate::error::io_error;
use crate::lock::lock;
use crate::test::{read_log, run_cargo};
use crate::workspace::{commit, target_folder};

/// One long run.
struct Soak {
    name: &'static str,
    what: &'static str,
    /// The file of the `tests` package.
    suite: &'static str,
    /// The variable that sets the number of rounds.
    rounds_variable: &'static str,
    rounds: u64,
    /// The variable that sets the seed.
    seed_variable: &'static str,
}

const SOAKS: [Soak; 1] = [Soak {
    name: "fuzz",
    what: "random and damaged input for everything that reads a release; 10 times what `test` does",
    suite: "fuzz",
    rounds_variable: "LOCKSTEP_FUZZ_CASES",
    rounds: 1_000_000,
    seed_variable: "LOCKSTEP_FUZZ_SEED",
}];

/// The names of all long runs with what they do.
pub fn list() -> String {
    SOAKS.map(|soak| format!("{}  {}\n", soak.name, soak.what)).concat()
}

/// Runs one of them; whether nothing failed. Its last line is meant for `docs/measurements.md`.
///
/// Each run has its own seed, unless the environment sets one: repeating what `test` does would find nothing.
pub fn run(name: &str, out: &mut dyn Write) -> Result<bool, Error> {
    let soak = SOAKS.iter().find(|soak| soak.name == name).ok_or_else(|| Error::Data {
        from: format!("soak `{name}`"),
        what: "there is no such run; `cargo xtask soak --list` names them".into(),
    })?;
    let rounds = std::env::var(soak.rounds_variable).unwrap_or_else(|_| soak.rounds.to_string());
    let seed = std::env::var(soak.seed_variable).unwrap_or_else(|_| seconds_since_1970().to_string());
    let arguments = ["test", "--package", "lockstep-tests", "--test", soak.suite, "--locked"];
    let environment = [(soak.rounds_variable, rounds.as_str()), (soak.seed_variable, seed.as_str())];

    let start = Instant::now();
    let target = target_folder()?;
    let _lock = lock(&target.join("xtask.lock"), "tests in the same folder")?;
    let run = run_cargo(&format!("soak-{name}"), &target, &arguments.map(str::to_owned), &environment, out)?;
    let failed: usize = read_log(&run.log).iter().map(|suite| suite.failed).sum();
    let failures = failed.max(usize::from(!run.succeeded));
    let line = format!(
        "cargo xtask soak {name}: commit {}, {rounds} rounds (seed {seed}), {failures} failures, {} s",
        commit(),
        start.elapsed().as_secs()
    );
    writeln!(out, "{line}").map_err(io_error("writing the report"))?;
    Ok(failures == 0)
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
    fn an_unknown_name_is_refused_before_anything_is_built() {
        let error = run("fuz", &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("`fuz`") && error.contains("soak --list"), "{error}");
    }
}
