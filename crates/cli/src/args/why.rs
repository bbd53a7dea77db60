//! Flags of `lockstep why` and `lockstep gather`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::cluster::ClusterArgs;
use super::status::KnownRelease;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep why                               the root cause of what is wrong in the cluster, and what would mend it
  lockstep why dns                           what keeps this operator
  lockstep why pod/openshift-dns/dns-4x7zq   what keeps this object
  lockstep why --from ./gathered             the same from a folder of `lockstep gather` or a log bundle

Exit codes: 0 nothing is wrong, 1 a cause was found (or something is wrong and nobody knows why), 2 nothing could be looked at.")]
pub(crate) struct WhyArgs {
    /// An operator by name, or an object: KIND/NAME or KIND/NAMESPACE/NAME; without it the whole cluster.
    #[arg(value_name = "OPERATOR|OBJECT")]
    pub(crate) about: Option<String>,
    /// Read this folder instead of a cluster.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = WhyOutput::Text)]
    pub(crate) output: WhyOutput,
    #[command(flatten)]
    pub(crate) release: KnownRelease,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhyOutput {
    Text,
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep gather ./gathered
  lockstep why --from ./gathered

Values of Secrets and ConfigMaps, variables of containers and most annotations are left out; texts that have the value of a
Secret in them lose that part.

Exit codes: 0 written, 1 the cluster cannot be read, 2 wrong usage.")]
pub(crate) struct GatherArgs {
    /// The folder to write; it must not have such files yet.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) release: KnownRelease,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
