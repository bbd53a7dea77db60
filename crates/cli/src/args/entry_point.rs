//! Flags of the commands that a release image answers besides the operator itself.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  lockstep render --output-dir /assets --release-image registry.example.com/release@sha256:…

Reads manifests, release-manifests and bootstrap of the release image that it runs in; the cluster profile is that of
CLUSTER_PROFILE. Exit codes: 0 written, 1 something cannot be rendered, 2 wrong usage.")]
pub(crate) struct RenderArgs {
    /// The folder that gets `manifests` and `bootstrap`.
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: PathBuf,
    /// Pull spec of the release image.
    #[arg(long, value_name = "PULLSPEC")]
    pub(crate) release_image: String,
    /// A ClusterVersion; what it overrides is left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_version_manifest_path: Option<PathBuf>,
    /// A FeatureGate; without it the default feature set, and no gate.
    #[arg(long, value_name = "FILE")]
    pub(crate) feature_gate_manifest_path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) root: RootArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImageArgs {
    /// The short name of the image in the release, such as `cli`.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) root: RootArgs,
}

/// Where the files of the release image are.
#[derive(Debug, Args)]
pub(crate) struct RootArgs {
    /// The root of the release image.
    #[arg(long, value_name = "DIR", env = "PAYLOAD_OVERRIDE", default_value = "/")]
    pub(crate) payload_dir: PathBuf,
}
