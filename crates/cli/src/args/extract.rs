//! Flags of `lockstep release extract`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use lockstep_release::extract::Provider;

use super::{ClusterArgs, Source};

#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Args)]
pub(crate) struct ExtractArgs {
    /// Where to write, a folder that is empty or not there; `-` is standard output, for manifests.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) to: PathBuf,
    /// Write into a folder that has something in it.
    #[arg(long)]
    pub(crate) confirm: bool,
    /// Print this one file of the release.
    #[arg(long, value_name = "NAME", group = "mode", conflicts_with_all = ["to", "included"])]
    pub(crate) file: Option<String>,
    /// Only requests for credentials.
    #[arg(long, group = "mode")]
    pub(crate) credentials_requests: bool,
    /// Only requests for credentials of this cloud.
    #[arg(long, value_parser = PossibleValuesParser::new(Provider::names()))]
    pub(crate) cloud: Option<String>,
    /// Only what a cluster would get: that of the flags below, of --install-config or of --from-cluster.
    #[arg(long)]
    pub(crate) included: bool,
    /// The cluster that this file would install.
    #[arg(long, value_name = "FILE", requires = "included", conflicts_with = "from_cluster")]
    pub(crate) install_config: Option<PathBuf>,
    /// The cluster that is connected to.
    #[arg(long, requires = "included")]
    pub(crate) from_cluster: bool,
    /// Archives of all programs for people, and their checksums.
    #[arg(long, group = "mode", conflicts_with = "included")]
    pub(crate) tools: bool,
    /// One program, such as oc or openshift-install.
    #[arg(long, value_name = "NAME", group = "mode", conflicts_with = "included")]
    pub(crate) command: Option<String>,
    /// For which system the program is: OS[/ARCH], or `*` for archives of all.
    #[arg(long, value_name = "OS[/ARCH]", requires = "command")]
    pub(crate) command_os: Option<String>,
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
