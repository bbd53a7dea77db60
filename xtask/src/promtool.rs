//! Prometheus' own judge of alert rules, from Debian's package.

use std::process::Command;

use crate::{Error, debian};

/// A `promtool` command.
pub fn promtool() -> Result<Command, Error> {
    debian::find_or_install("promtool", "prometheus").map(Command::new)
}
