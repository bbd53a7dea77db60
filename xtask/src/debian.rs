//! Programs of Debian's packages that the suites need beside Cargo.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, io_error};

/// Finds a program on `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|place| place.is_file())
}

/// A program, from `PATH` or from the package that has it.
pub(crate) fn find_or_install(program: &str, package: &str) -> Result<PathBuf, Error> {
    if let Some(found) = on_path(program) {
        return Ok(found);
    }
    install(program, &[package], &format!("install Debian's `{package}`"))?;
    let missing =
        || Error::Data { from: program.to_owned(), what: "apt-get installed no such program".into() };
    on_path(program).ok_or_else(missing)
}

/// Installs packages when this is root on Debian; otherwise the error says what to do by hand.
pub(crate) fn install(what: &str, packages: &[&str], by_hand: &str) -> Result<(), Error> {
    let missing = |why: String| Error::Data { from: what.to_owned(), what: why };
    let is_debian = Path::new("/etc/debian_version").exists() && Path::new("/usr/bin/apt-get").exists();
    if !is_debian || !is_root() {
        return Err(missing(format!("not on PATH; {by_hand}")));
    }
    let install = [&["install", "-y", "--no-install-recommends"][..], packages].concat();
    for arguments in [&["update"][..], &install[..]] {
        // The reader sees what changes the system; a lost line is no reason to stop.
        let _ = writeln!(io::stderr(), "no {what} found, running: apt-get {}", arguments.join(" "));
        let output =
            Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").output();
        let output = output.map_err(io_error("running apt-get"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(missing(format!("`apt-get {}` failed ({said}); {by_hand}", arguments.join(" "))));
        }
    }
    Ok(())
}

/// Whether this process may install packages: the effective user of `/proc/self/status` is 0.
fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.and_then(|users| users.split_whitespace().nth(1)) == Some("0")
}
