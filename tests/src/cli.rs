//! Running the `lockstep` command as a user does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What a run of the command left behind.
#[derive(Debug)]
pub struct Run {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code; -1 when a signal ended it.
    pub code: i32,
}

/// Folder of the workspace.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// Path of the command, built on the first call beside the suite itself, with the same profile.
///
/// # Panics
/// When it cannot be built: nothing else in the suite makes sense then.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        // This suite lies in <target>/debug/deps, the command in <target>/debug.
        let suite = std::env::current_exe().unwrap_or_default();
        let profile = suite.ancestors().nth(2).unwrap_or(&suite);
        let target = profile.parent().unwrap_or(profile);
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--locked", "--package", "lockstep", "--target-dir"])
            .arg(target)
            .args(profile.ends_with("release").then_some("--release"))
            .current_dir(root())
            .stdin(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "building the command failed");
        profile.join("lockstep")
    })
}

/// Runs the command in the folder of the workspace, without a terminal and without settings of the environment.
///
/// # Panics
/// When it cannot be started.
pub fn lockstep<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Run {
    lockstep_with(arguments, &[])
}

/// The same with some variables of the environment set.
///
/// # Panics
/// When it cannot be started.
pub fn lockstep_with<S: AsRef<std::ffi::OsStr>>(arguments: &[S], environment: &[(&str, &str)]) -> Run {
    let output = Command::new(binary())
        .args(arguments)
        .current_dir(root())
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("CLUSTER_PROFILE")
        .env("COLUMNS", "100")
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { unreachable!("{} was built and must start", binary().display()) };
    Run {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}
