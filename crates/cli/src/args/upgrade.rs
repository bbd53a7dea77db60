//! Flags of `lockstep upgrade`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::StatusArgs;
use super::cluster::{ClusterArgs, duration};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  lockstep upgrade                                      where the cluster is, what is wrong, which updates are known
  lockstep upgrade to 4.20.3 --wait
  lockstep upgrade to registry.example.com/release@sha256:… --wait --timeout 2h
  lockstep upgrade pause --reason 'until Monday'
  lockstep upgrade abort

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 124 not there within --timeout, 130 Ctrl-C (the update goes on)."
)]
pub(crate) struct UpgradeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<UpgradeCommand>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UpgradeCommand {
    /// Show a cluster on one screen; the same as `lockstep status`.
    Status(Box<StatusArgs>),
    /// Ask the operator of the cluster to go to a release.
    To(Box<UpgradeToArgs>),
    /// Let nothing new start; what was begun stays as it is, and drift is still repaired.
    Pause(Box<UpgradePauseArgs>),
    /// Go on after a pause.
    Resume(Box<UpgradeResumeArgs>),
    /// Go back to the release that was complete last, while an update is on its way.
    Abort(Box<UpgradeAbortArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct UpgradeToArgs {
    /// A version that the cluster knows, or the pull spec of a release by digest.
    #[arg(value_name = "VERSION|PULLSPEC")]
    pub(crate) target: String,
    /// Insist: the operator skips the verification of the release and every precondition. It is recorded in the history.
    #[arg(long)]
    pub(crate) force: bool,
    /// Ask for it although the cluster is failing, is already being updated, or the release has known risks.
    #[arg(long)]
    pub(crate) allow_upgrade_with_warnings: bool,
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpgradePauseArgs {
    /// Why, for others who look at the cluster.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpgradeResumeArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpgradeAbortArgs {
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Whether the end is waited for.
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// Stay until the cluster is there, or the request is refused; tell what happens meanwhile.
    #[arg(long)]
    pub(crate) wait: bool,
    /// With --wait, when to give up: `30m`, `2h`; 0 means never.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration, requires = "wait")]
    pub(crate) timeout: Duration,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn parse(arguments: &[&str]) -> Result<UpgradeArgs, String> {
        let arguments = ["lockstep", "upgrade"].iter().chain(arguments);
        match Cli::try_parse_from(arguments).map_err(|error| error.to_string())?.command {
            Command::Upgrade(args) => Ok(*args),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_timeout_needs_somebody_who_waits() {
        assert!(parse(&["to", "1.0.0", "--timeout", "1m"]).unwrap_err().contains("--wait"));
        let Some(UpgradeCommand::To(args)) =
            parse(&["to", "1.0.0", "--wait", "--timeout", "1m"]).unwrap().command
        else {
            panic!("another command")
        };
        assert_eq!(args.wait.timeout, Duration::from_mins(1));
    }

    #[test]
    fn alone_it_tells_how_things_are() {
        assert!(parse(&[]).unwrap().command.is_none());
        assert!(parse(&["to"]).is_err(), "a target is needed");
    }
}
