//! An example of the `tests` package that measures: each of its lines is a result as JSON.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::Error;
use crate::error::io_error;

/// Where an example lies that was built for a measurement.
pub(super) fn program(target: &Path, name: &str) -> PathBuf {
    target.join("release/examples").join(name)
}

/// Runs a program and hands on each result as soon as it is there; how the program ended.
pub(super) fn follow<S: AsRef<OsStr>>(
    program: &Path,
    arguments: &[S],
    mut each: impl FnMut(Value) -> Result<(), Error>,
) -> Result<ExitStatus, Error> {
    let doing = |what: &str| io_error(format!("{what} `{}`", program.display()));
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(doing("starting"))?;
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines) {
        let line = line.map_err(doing("reading from"))?;
        each(serde_json::from_str(&line).map_err(|error| failed(program, error.to_string()))?)?;
    }
    child.wait().map_err(doing("waiting for"))
}

/// A program that did not do what it was started for.
pub(super) fn failed(program: &Path, what: String) -> Error {
    Error::Data { from: program.display().to_string(), what }
}
