//! Exit codes of all commands; `docs/reference/exit-codes.md` is this table in words.

use std::process::ExitCode;

/// The outcome of a command that could do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing to complain about: 0.
    Clean,
    /// The work was done and found what the reader must know: findings, differences, a run that failed: 1.
    Findings,
    /// What was asked cannot be answered: 2.
    Unknown,
    /// The time was over: 124.
    TimedOut,
    /// A code of its own: those of the reference's installer.
    Code(u8),
    /// Ctrl-C: 130, as shells count it.
    Interrupted,
}

/// A mistake in how the command was called that the argument parser cannot see, or input that cannot be judged: 2.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Prints the error, if there is one, and gives the exit code.
pub(crate) fn code(outcome: anyhow::Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Ok(Outcome::Unknown) => ExitCode::from(2),
        Ok(Outcome::Code(code)) => ExitCode::from(code),
        Ok(Outcome::TimedOut) => ExitCode::from(124),
        Ok(Outcome::Interrupted) => ExitCode::from(130),
        Err(error) => {
            crate::output::error(&error);
            ExitCode::from(if error.is::<UsageError>() { 2 } else { 1 })
        }
    }
}
