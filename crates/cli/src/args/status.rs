//! Flags of `lockstep status`, `lockstep top` and `lockstep report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ClusterArgs, RegistryArgs};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep status
  lockstep status -w
  lockstep status --release ./4.20.3 -o wide
  lockstep status --details health
  lockstep status -o json | jq .summary.now

Exit codes: 0 told, whatever it is; 1 there is nothing to tell, 2 wrong usage, 130 Ctrl-C ended -w.")]
pub(crate) struct StatusArgs {
    /// Go on and tell what changes: a screen on a terminal, lines elsewhere.
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = StatusOutput::Text)]
    pub(crate) output: StatusOutput,
    /// What is told at length.
    #[arg(long, value_enum, default_value_t = DetailsArg::None, value_name = "WHAT")]
    pub(crate) details: DetailsArg,
    #[command(flatten)]
    pub(crate) release: KnownRelease,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// The release that a cluster has or goes to, where it shall be looked at.
#[derive(Debug, Args)]
pub(crate) struct KnownRelease {
    /// The release of the cluster (a folder, `oci:DIR[:TAG]`, an archive or a pull spec): then it is known which operators
    /// belong to it, at which run levels, and what each blocks.
    #[arg(long = "release", value_name = "RELEASE")]
    pub(crate) location: Option<String>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusOutput {
    Text,
    Wide,
    Json,
    Yaml,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DetailsArg {
    None,
    All,
    Nodes,
    Health,
    Operators,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Keys: j, k and arrows move; g and G go to the ends; / filters; Enter shows why an operator is as it is; Esc
goes back; Tab, 1, 2, 3 and `:operators`, `:levels`, `:events` change the view; ? helps; q and Ctrl-C quit.
Nothing is written to the cluster."
)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) release: KnownRelease,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Fail in the middle, so that a test can see what is left of the terminal.
    #[cfg(debug_assertions)]
    #[arg(long, hide = true)]
    pub(crate) panic: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep report update.html
  lockstep report update.html --release ./4.20.3
  lockstep report rehearsal.html --recording run.jsonl

Without --recording it is made from what the cluster still knows: the history of its ClusterVersion, the last changes of its
ClusterOperators and the Events of its operator.")]
pub(crate) struct ReportArgs {
    /// The page to write: one self-contained HTML file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What `--record` of `lockstep apply` or `lockstep rehearse` wrote, instead of a cluster.
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) release: KnownRelease,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command, UpgradeCommand};

    fn parse(arguments: &[&str]) -> Result<Command, String> {
        let arguments = ["lockstep"].iter().chain(arguments);
        Cli::try_parse_from(arguments).map(|cli| cli.command).map_err(|error| error.to_string())
    }

    #[test]
    fn upgrade_status_is_status() {
        let Ok(Command::Upgrade(args)) = parse(&["upgrade", "status", "-w", "-o", "json"]) else {
            panic!("another command")
        };
        let Some(UpgradeCommand::Status(args)) = args.command else { panic!("another command") };
        assert!(args.watch && args.output == StatusOutput::Json);
    }

    #[test]
    fn details_are_those_of_the_reference() {
        for details in ["none", "all", "nodes", "health", "operators"] {
            assert!(parse(&["status", &format!("--details={details}")]).is_ok(), "{details}");
        }
        let error = parse(&["status", "--details=x"]).unwrap_err();
        assert!(error.contains("[possible values: none, all, nodes, health, operators]"), "{error}");
    }
}
