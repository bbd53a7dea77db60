//! A terminal without a person, from Debian's package.

use std::process::Command;

use crate::{Error, debian};

/// A `tmux` command.
pub fn tmux() -> Result<Command, Error> {
    debian::find_or_install("tmux", "tmux").map(Command::new)
}
