//! This checkout: where it is, which commit it is at, and the `cargo` that builds it.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::error::io_error;
use crate::kube::{cache_root, variable};

/// Says which checkout has built in a folder last.
const OWNER: &str = "checkout";
/// How the names of our own crates begin.
const OUR_CRATES: [&str; 3] = ["lockstep", "xtask", "example-operator"];

/// The root folder of the checkout.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The folder that everything is built in: `CARGO_TARGET_DIR` if it is set, else one in the user's cache.
///
/// Outside the clone, so that a second clone and a thrown-away one need not compile the dependencies again. The key is
/// the lockfile and the compiler: with either of them nothing in the folder would fit any more.
pub(crate) fn target_folder() -> Result<PathBuf, Error> {
    if let Some(folder) = variable("CARGO_TARGET_DIR") {
        return std::path::absolute(&folder).map_err(io_error(format!("looking for `{}`", folder.display())));
    }
    let lockfile = root().join("Cargo.lock");
    let lock =
        fs::read_to_string(&lockfile).map_err(io_error(format!("reading `{}`", lockfile.display())))?;
    let compiler = output("rustc", &["-vV"])?;
    let cache = cache_root(variable("XDG_CACHE_HOME"), variable("HOME"))?;
    let folder = cache.join("lockstep").join("target").join(key(&lock, &compiler));
    take_over(&folder, &root())?;
    Ok(folder)
}

/// Makes a folder that another checkout has built in ready for this one.
///
/// `cargo` takes what it has built from there for this checkout as well when its files are newer, and paths of the other
/// checkout, which may be gone, are compiled into it. So our own crates are built again; dependencies are not.
fn take_over(folder: &Path, root: &Path) -> Result<(), Error> {
    let mark = folder.join(OWNER);
    let owner = root.display().to_string();
    if fs::read_to_string(&mark).is_ok_and(|before| before == owner) {
        return Ok(());
    }
    for profile in ["debug", "release"] {
        let Ok(prints) = fs::read_dir(folder.join(profile).join(".fingerprint")) else { continue };
        for print in prints.flatten() {
            let is_ours = OUR_CRATES.iter().any(|name| print.file_name().to_string_lossy().starts_with(name));
            if is_ours {
                let path = print.path();
                fs::remove_dir_all(&path).map_err(io_error(format!("removing `{}`", path.display())))?;
            }
        }
    }
    fs::create_dir_all(folder).map_err(io_error(format!("making `{}`", folder.display())))?;
    fs::write(&mark, owner).map_err(io_error(format!("writing `{}`", mark.display())))
}

/// A `cargo` command in the root of the checkout that builds into the given folder.
pub(crate) fn cargo<S: AsRef<OsStr>>(target: &Path, arguments: &[S]) -> Command {
    let mut command = Command::new(variable("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root()).env("CARGO_TARGET_DIR", target);
    // The log is read by a program as well as by people.
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
    command
}

/// Builds something for a measurement.
pub(crate) fn build_release(target: &Path, what: &[&str]) -> Result<(), Error> {
    let arguments = [&["build", "--release", "--locked"], what].concat();
    let output = cargo(target, &arguments).output().map_err(io_error("running `cargo build`"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Command {
        command: format!("cargo {}", arguments.join(" ")),
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The commit of the checkout, with `+` when files differ from it; `unknown` outside a repository.
pub(crate) fn commit() -> String {
    let folder = root().display().to_string();
    let git = |arguments: &[&str]| output("git", &[&["-C", &folder], arguments].concat());
    let Ok(commit) = git(&["rev-parse", "--short=10", "HEAD"]) else { return "unknown".into() };
    let is_clean = git(&["status", "--porcelain"]).is_ok_and(|changes| changes.is_empty());
    format!("{}{}", commit.trim(), if is_clean { "" } else { "+" })
}

/// What a command prints; a failure carries what it wrote to its error stream.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String, Error> {
    let output =
        Command::new(program).args(arguments).output().map_err(io_error(format!("running `{program}`")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Error::Command {
            command: format!("{program} {}", arguments.join(" ")),
            log: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// The hasher of the standard library may change with the compiler, which is part of the key in any case.
fn key(lock: &str, compiler: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (lock, compiler).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_checkout_builds_our_crates_again_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("lockstep-checkout-{}", std::process::id()));
        let prints = folder.join("debug/.fingerprint");
        let names = ["lockstep-api-1", "xtask-2", "serde-3"];
        let make = || names.iter().for_each(|name| fs::create_dir_all(prints.join(name)).unwrap());
        let left = || names.iter().filter(|name| prints.join(name).exists()).count();
        make();
        take_over(&folder, Path::new("/one")).unwrap();
        assert_eq!(left(), 1);
        make();
        take_over(&folder, Path::new("/one")).unwrap();
        assert_eq!(left(), 3, "the same checkout keeps everything");
        take_over(&folder, Path::new("/two")).unwrap();
        assert!(left() == 1 && prints.join("serde-3").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn another_lockfile_or_compiler_is_another_folder() {
        assert_eq!(key("lock", "rustc 1"), key("lock", "rustc 1"));
        assert_ne!(key("lock", "rustc 1"), key("lock", "rustc 2"));
        assert_ne!(key("lock", "rustc 1"), key("lock2", "rustc 1"));
    }

    #[test]
    fn the_root_holds_the_lockfile() {
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn a_failed_command_is_an_error_with_its_words() {
        let error = output("sh", &["-c", "echo no such thing >&2; exit 3"]).unwrap_err().to_string();
        assert!(error.contains("no such thing") && error.contains("`sh -c"), "{error}");
    }
}
