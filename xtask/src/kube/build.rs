//! Building the binaries with Go into the cache.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::recipe::{BINARIES, Binary, GO_ENVIRONMENT, Recipe};
use super::{go_module, missing_in};
use crate::Error;
use crate::error::io_error;
use crate::lock::lock;

/// How often a long build says that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// Builds all binaries into `cache/KEY`; the folder appears complete or not at all.
pub(super) fn into(cache: &Path, recipe: &Recipe) -> Result<(), Error> {
    let folder = cache.join(&recipe.key);
    fs::create_dir_all(cache).map_err(io_error(format!("creating `{}`", cache.display())))?;

    // 1. One build at a time; whoever waited finds the other's result.
    let _lock = lock(&cache.join(format!("{}.lock", recipe.key)), "builds the same binaries")?;
    if missing_in(&folder).is_empty() {
        return Ok(());
    }
    if !go_is_there() {
        return Err(Error::NoGo { wanted: BINARIES.iter().map(|binary| binary.name).collect() });
    }

    // 2. Into a sibling folder; what is there is the rest of an interrupted build.
    let partial = cache.join(format!("{}.partial", recipe.key));
    remove_folder(&partial)?;
    fs::create_dir(&partial).map_err(io_error(format!("creating `{}`", partial.display())))?;
    let start = Instant::now();
    for (position, binary) in (1..).zip(&BINARIES) {
        progress(&format!("building {} ({position} of {}) …", binary.name, BINARIES.len()), start);
        build(&go_module(), binary, &partial, &recipe.linker_flags(), start)?;
    }

    // 3. Under the final name in one step.
    remove_folder(&folder)?;
    fs::rename(&partial, &folder).map_err(io_error(format!("renaming `{}`", partial.display())))?;
    progress(&format!("built Kubernetes {}", recipe.kubernetes), start);
    Ok(())
}

/// The folder in which Go keeps the sources of a module that `go.mod` names; downloads it when it is not there.
pub(crate) fn module_sources(module: &str) -> Result<PathBuf, Error> {
    let doing = format!("downloading the sources of {module}");
    if !go_is_there() {
        return Err(Error::Go { doing, log: "no `go` on PATH".into() });
    }
    let module_folder = |sum_database_off: bool| {
        let mut command = go(&go_module(), sum_database_off);
        command.args(["mod", "download", "-json", module]);
        command.output().map_err(io_error("running `go mod download`"))
    };
    let mut output = module_folder(false)?;
    if !output.status.success() && is_sum_database_unreachable(&String::from_utf8_lossy(&output.stdout)) {
        output = module_folder(true)?;
    }
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(folder) if output.status.success() => Ok(folder.into()),
        _ => Err(Error::Go {
            doing,
            log: answer["Error"]
                .as_str()
                .map_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned(), str::to_owned),
        }),
    }
}

/// Builds one binary of a Go module into a folder.
pub(crate) fn build(
    module: &Path,
    binary: &Binary,
    into: &Path,
    linker_flags: &str,
    start: Instant,
) -> Result<(), Error> {
    let mut log = run_build(module, binary, into, linker_flags, start, false)?;
    // The sums of all modules are committed, so every download is verified in either case.
    if log.as_deref().is_some_and(is_sum_database_unreachable) && std::env::var_os("GOSUMDB").is_none() {
        progress("no checksum database can be reached; going on with go.sum alone", start);
        log = run_build(module, binary, into, linker_flags, start, true)?;
    }
    match log {
        None => Ok(()),
        Some(log) => Err(Error::Go {
            doing: format!("building {} from {}", binary.name, binary.package),
            log: tail(&log),
        }),
    }
}

/// Runs one `go build`; the result is what it wrote when it failed.
fn run_build(
    module: &Path,
    binary: &Binary,
    into: &Path,
    linker_flags: &str,
    start: Instant,
    sum_database_off: bool,
) -> Result<Option<String>, Error> {
    let log_file = into.join("go.log");
    let log = File::create(&log_file).map_err(io_error(format!("creating `{}`", log_file.display())))?;
    let mut child = go(module, sum_database_off)
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags", linker_flags, "-o"])
        .arg(into.join(binary.name))
        .arg(binary.package)
        .stderr(log)
        .stdin(Stdio::null())
        .spawn()
        .map_err(io_error("starting `go build`"))?;

    let mut said = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io_error("waiting for `go build`"))? {
            break status;
        }
        if said.elapsed() >= SIGN_OF_LIFE {
            progress(&format!("still building {} …", binary.name), start);
            said = Instant::now();
        }
        thread::sleep(Duration::from_millis(200));
    };
    let log = fs::read_to_string(&log_file).unwrap_or_default();
    fs::remove_file(&log_file).map_err(io_error(format!("removing `{}`", log_file.display())))?;
    Ok((!status.success()).then_some(log))
}

fn go(module: &Path, sum_database_off: bool) -> Command {
    let mut command = Command::new("go");
    command.current_dir(module).envs(GO_ENVIRONMENT).env_remove("GOOS").env_remove("GOARCH");
    if sum_database_off {
        command.env("GOSUMDB", "off");
    }
    command
}

pub(crate) fn go_is_there() -> bool {
    Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Whether Go failed because it could not ask the checksum database; a sum that differs is never excused.
fn is_sum_database_unreachable(log: &str) -> bool {
    let asked = ["/lookup/", "/latest", "/tile/", "/supported"].iter().any(|part| log.contains(part));
    log.contains("verifying ")
        && asked
        && !log.contains("SECURITY ERROR")
        && !log.contains("checksum mismatch")
}

fn remove_folder(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error(format!("removing `{}`", folder.display()))(error))
        }
        _ => Ok(()),
    }
}

/// The end of a build log; its beginning is downloads.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// A progress line; that nobody can read it is no reason to stop.
fn progress(text: &str, start: Instant) {
    drop(writeln!(io::stderr(), "{text} [{} s]", start.elapsed().as_secs()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_checksum_database_is_recognised() {
        let log = "go: k8s.io/api@v0.36.3: verifying module: k8s.io/api@v0.36.3: \
                   Get \"https://sums.example/lookup/k8s.io/api@v0.36.3\": dial tcp: no such host";
        assert!(is_sum_database_unreachable(log));
    }

    #[test]
    fn a_wrong_sum_or_a_failed_download_is_no_reason_to_go_without_the_database() {
        assert!(!is_sum_database_unreachable(
            "verifying module: checksum mismatch\n\tdownloaded: h1:a\n\t/lookup/\nSECURITY ERROR"
        ));
        assert!(!is_sum_database_unreachable(
            "Get \"https://proxy.example/k8s.io/api/@v/v0.36.3.zip\": dial tcp"
        ));
    }

    #[test]
    fn the_end_of_a_long_log_is_kept() {
        let log: String = (1..=50).flat_map(|line: u32| [line.to_string(), "\n".into()]).collect();
        assert!(tail(&log).starts_with("31\n") && tail(&log).ends_with("50"));
        assert_eq!(tail("one\n"), "one");
    }
}
