//! Runs one `cargo` command with its output in a log file.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::say;
use crate::Error;
use crate::error::io_error;
use crate::workspace::cargo;

/// How often a long step says that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);
/// How many lines of a failed step are shown; the rest is in its log file.
const SHOWN: usize = 300;

/// A command that is over.
pub(crate) struct Run {
    /// Whether it ended with 0.
    pub(crate) succeeded: bool,
    /// Everything that it wrote, both streams in their order.
    pub(crate) log: String,
}

/// Runs a command to its end; shows its output only when it fails.
pub(crate) fn run_cargo(
    name: &str,
    target: &Path,
    arguments: &[String],
    environment: &[(&str, &str)],
    out: &mut dyn Write,
) -> Result<Run, Error> {
    let folder = target.join("xtask-test");
    fs::create_dir_all(&folder).map_err(io_error(format!("creating `{}`", folder.display())))?;
    let path = folder.join(format!("{name}.log"));
    let writing = || io_error(format!("writing `{}`", path.display()));
    let file = File::create(&path).map_err(writing())?;
    // One file for both streams keeps their lines in order; the last one to write is always at its end.
    let mut child = cargo(target, arguments)
        .envs(environment.iter().copied())
        // A snapshot that differs is a failure, not a new file.
        .env("INSTA_UPDATE", "no")
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(writing())?)
        .stderr(file)
        .spawn()
        .map_err(io_error("starting `cargo`"))?;

    let start = Instant::now();
    let mut said = start;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io_error("waiting for `cargo`"))? {
            break status;
        }
        if said.elapsed() >= SIGN_OF_LIFE {
            let log = fs::read(&path).map_err(io_error(format!("reading `{}`", path.display())))?;
            let last = last_line(&String::from_utf8_lossy(&log));
            say(out, &format!("    {name}: {} s: {last}", start.elapsed().as_secs()))?;
            said = Instant::now();
        }
        thread::sleep(Duration::from_millis(50));
    };
    let log = fs::read(&path).map_err(io_error(format!("reading `{}`", path.display())))?;
    let log = String::from_utf8_lossy(&log).into_owned();
    if !status.success() {
        say(out, &format!("{}\n(the whole output is in {})", tail(&log, SHOWN), path.display()))?;
    }
    Ok(Run { succeeded: status.success(), log })
}

/// The last line with something in it, cut to the width of a terminal.
fn last_line(log: &str) -> String {
    log.lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .chars()
        .take(80)
        .collect()
}

fn tail(log: &str, lines: usize) -> String {
    let all: Vec<&str> = log.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_of_life_is_the_last_line_that_says_something() {
        assert_eq!(last_line("one\n  Compiling two\n\n"), "Compiling two");
        assert_eq!(last_line(""), "");
        assert_eq!(last_line(&"ä".repeat(200)).chars().count(), 80);
    }

    #[test]
    fn of_a_long_log_the_end_is_shown() {
        assert_eq!(tail("1\n2\n3\n", 2), "2\n3");
        assert_eq!(tail("1\n", 2), "1");
    }
}
