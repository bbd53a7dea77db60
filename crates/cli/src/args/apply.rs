//! Flags of `lockstep apply` and `lockstep diff`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::cluster::{ClusterArgs, duration};
use super::{InstallOrderArg, Source};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep apply ./4.20.0 --kubeconfig ./kubeconfig
  lockstep apply ./4.20.0 --timeout 30m -o jsonl > events.jsonl
  lockstep apply ./4.20.0 --dry-run=server
  lockstep apply ./4.21.0 --prune --yes --record update.jsonl

It waits wherever the order of the release waits: for operators to be well, for Jobs to complete, for kinds and
namespaces to come. It ends when every object is there and well, or when the time is over. Run it again at any time:
it goes on where the cluster is, and writes nothing that is already as it should be.

Exit codes: 0 converged, 1 failed, 2 wrong usage, 124 not converged in time, 130 Ctrl-C. Unless it is 0, the last
lines name what is missing and why.")]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Only show what would change, as `lockstep diff` does, by a dry run on the server.
    #[arg(long, value_enum, value_name = "WHERE", require_equals = true)]
    pub(crate) dry_run: Option<DryRunArg>,
    /// Wait for gates as the order of the release says. It always does; the flag is for scripts that say so.
    #[arg(long)]
    pub(crate) wait: bool,
    /// When to give up: `30m`, `1h`; 0 means never.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// For how long to keep the cluster at the release after it got there, or `forever`.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = Hold::parse)]
    pub(crate) hold: Hold,
    /// Delete objects of this set that no manifest names. Alone it deletes all but those of the kinds
    /// CustomResourceDefinition and Namespace; with a name (repeatable) it deletes that one, whatever it is. The list is shown first.
    #[arg(long, value_name = "KIND/NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) prune: Vec<String>,
    /// Do not ask before --prune deletes.
    #[arg(short, long, requires = "prune")]
    pub(crate) yes: bool,
    /// Delete this object and create it again when fields must change that cannot be changed (repeatable).
    #[arg(long, value_name = "KIND/NAME", value_parser = kind_and_name)]
    pub(crate) recreate: Vec<String>,
    /// Write every event to this file, for `lockstep replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Form of the output: text is a live display on a terminal and lines elsewhere, jsonl is every event.
    #[arg(short, long, value_enum, default_value_t = EventOutput::Text)]
    pub(crate) output: EventOutput,
    /// A line for every step of every object instead of the live display.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep diff ./4.21.0
  lockstep diff ./4.21.0 -o json | jq '.objects[] | select(.change == \"deleted\")'

Every object is asked for and applied as a dry run on the server; nothing is written. Values of Secrets are masked.

Exit codes: 0 no differences, 1 differences, 2 an error, or an object that the server does not tell about.")]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = DiffOutput::Text)]
    pub(crate) output: DiffOutput,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// What is brought to a cluster, for what and in which order.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) source: Source,
    /// What the release is applied for; auto installs where the cluster has nothing of it.
    #[arg(long, value_enum, default_value_t = ApplyMode::Auto)]
    pub(crate) mode: ApplyMode,
    /// Order of an installation: all components side by side, or run level after run level.
    #[arg(long, value_enum, default_value_t = InstallOrderArg::Flat, value_name = "ORDER")]
    pub(crate) install_order: InstallOrderArg,
    /// Name of the set that the objects belong to, the value of their label `lockstep.dev/payload`.
    #[arg(long, value_name = "NAME", default_value = "version", value_parser = label_value)]
    pub(crate) set: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApplyMode {
    Auto,
    Installing,
    Updating,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRunArg {
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventOutput {
    Text,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffOutput {
    Text,
    Json,
}

/// How long the cluster is kept at the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    For(Duration),
    Forever,
}

// === impl Hold ===

impl Hold {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "forever" { Ok(Self::Forever) } else { duration(text).map(Self::For) }
    }
}

fn kind_and_name(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(text.to_owned()),
        _ => Err("write kind and name, such as Deployment/dns-operator".to_owned()),
    }
}

/// A value that Kubernetes takes as a label.
pub(super) fn label_value(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric();
    let is_right = (1..=63).contains(&text.len())
        && text.chars().all(|letter| is_plain(letter) || "-_.".contains(letter))
        && text.starts_with(is_plain)
        && text.ends_with(is_plain);
    if is_right {
        Ok(text.to_owned())
    } else {
        Err("write up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends".into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn parse(arguments: &[&str]) -> Result<ApplyArgs, String> {
        let arguments = ["lockstep", "apply", "r"].iter().chain(arguments);
        match Cli::try_parse_from(arguments).map_err(|error| error.to_string())?.command {
            Command::Apply(args) => Ok(*args),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn prune_stands_alone_or_names_objects() {
        assert!(parse(&[]).unwrap().prune.is_empty());
        assert_eq!(parse(&["--prune"]).unwrap().prune, [""]);
        assert_eq!(parse(&["--prune", "--prune=Namespace/a"]).unwrap().prune, ["", "Namespace/a"]);
        assert!(parse(&["--yes"]).unwrap_err().contains("--prune"));
    }

    #[test]
    fn a_dry_run_says_where() {
        assert_eq!(parse(&["--dry-run=server"]).unwrap().dry_run, Some(DryRunArg::Server));
        assert!(parse(&["--dry-run"]).is_err() && parse(&["--dry-run=client"]).is_err());
    }

    #[test]
    fn times_and_names_are_checked() {
        assert_eq!(parse(&["--hold", "forever"]).unwrap().hold, Hold::Forever);
        assert_eq!(parse(&["--hold", "2m"]).unwrap().hold, Hold::For(Duration::from_mins(2)));
        assert_eq!(parse(&[]).unwrap().timeout, Duration::from_hours(1));
        for wrong in
            [["--set", "a b"], ["--set", "-a"], ["--set", ""], ["--recreate", "Job"], ["--hold", "x"]]
        {
            assert!(parse(&wrong).is_err(), "{wrong:?}");
        }
    }
}
