//! Flags of `lockstep adopt`.

use std::time::Duration;

use clap::Args;

use super::apply::label_value;
use super::cluster::{ClusterArgs, duration};
use super::{RegistryArgs, SelectionArgs};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep adopt registry.example.com/release@sha256:…        show what would happen, ask, take over
  lockstep adopt ./4.20.0 --release-image PULLSPEC --yes
  lockstep adopt --revert                                     give the cluster back

Give the release that the cluster is at. No value of any object is changed: the other operator is scaled to 0, and its
entries in metadata.managedFields become ours, so that a later release that drops a field removes it. What is needed to
go back is kept in ConfigMaps of openshift-cluster-version. Run it again after an interruption: it goes on.

Exit codes: 0 done, 1 something is left or failed, 2 wrong usage, 130 Ctrl-C.")]
pub(crate) struct AdoptArgs {
    /// The release that the cluster is at: a folder, `oci:DIR[:TAG]`, an archive `FILE[:TAG]`, or a pull spec.
    #[arg(value_name = "RELEASE", required_unless_present = "revert")]
    pub(crate) release: Option<String>,
    /// Give the cluster back: restore the former owner entries, take our label away, start the other operator again.
    #[arg(long)]
    pub(crate) revert: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Only show what would happen.
    #[arg(long, conflicts_with_all = ["yes", "revert"])]
    pub(crate) dry_run: bool,
    /// How long to wait until the other operator has stopped.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Name of the set that the objects belong to.
    #[arg(long, value_name = "NAME", default_value = "version", value_parser = label_value)]
    pub(crate) set: String,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::args::Cli;

    #[test]
    fn a_release_is_needed_unless_the_cluster_is_given_back() {
        let parses =
            |arguments: &[&str]| Cli::try_parse_from(["lockstep", "adopt"].iter().chain(arguments)).is_ok();
        assert!(parses(&["./r"]) && parses(&["--revert"]) && parses(&["./r", "--dry-run"]));
        assert!(!parses(&[]) && !parses(&["./r", "--dry-run", "--yes"]));
    }
}
