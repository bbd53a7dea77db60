//! Flags of `lockstep conformance`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::cluster::{ClusterArgs, duration};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep conformance --manifests examples/operator/manifests
  lockstep conformance dns --for 10m
  lockstep conformance dns --for 30m -o json > dns.json      while the operator is updated: most rules need something to happen

Exit codes: 0 no rule is broken, 1 one is, 2 nothing could be checked, 130 Ctrl-C.")]
pub(crate) struct ConformanceArgs {
    /// The ClusterOperator of a running operator.
    #[arg(value_name = "NAME", required_unless_present = "manifests", conflicts_with = "manifests")]
    pub(crate) name: Option<String>,
    /// Judge the manifests of this folder instead of a running operator.
    #[arg(long, value_name = "DIR")]
    pub(crate) manifests: Option<PathBuf>,
    /// How long the operator is watched.
    #[arg(long = "for", value_name = "TIME", default_value = "2m", value_parser = duration, conflicts_with = "manifests")]
    pub(crate) limit: Duration,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = ConformanceOutput::Text)]
    pub(crate) output: ConformanceOutput,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConformanceOutput {
    Text,
    Json,
}
