//! Flags of `lockstep operator`, which as the entry point of an image is also called `start`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use lockstep_api::capability::KNOWN;

use super::cluster::{ClusterArgs, duration};
use super::{InstallOrderArg, LoggingArgs};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep operator --release-image registry.example.com/release@sha256:… --listen ''
  lockstep operator --release-image ./1.0.0 --payload-dir ./1.0.0 --listen '' --kubeconfig ./kubeconfig

It waits for the Lease `version`, then for ClusterVersion `version`, brings the cluster to the release that is asked for
and keeps it there. It ends when it is asked to (SIGTERM), or when its successor of another release is deployed.

Exit codes: 0 stopped or replaced, 1 it cannot work, 2 wrong usage.")]
pub(crate) struct OperatorArgs {
    /// Pull spec of the release image that this operator runs from.
    #[arg(long, value_name = "PULLSPEC")]
    pub(crate) release_image: String,
    /// Where the files of that image are: the folder with `manifests` and `release-manifests`.
    #[arg(long, value_name = "DIR", env = "PAYLOAD_OVERRIDE", default_value = "/")]
    pub(crate) payload_dir: PathBuf,
    /// Cluster profile; empty is self-managed-high-availability.
    #[arg(long, env = "CLUSTER_PROFILE", default_value = "", hide_default_value = true)]
    pub(crate) profile: String,
    /// Leave out objects that are annotated with this exclude identifier.
    #[arg(long, value_name = "ID", env = "EXCLUDE_MANIFESTS", default_value = "", hide_default_value = true)]
    pub(crate) exclude: String,
    /// Capabilities that are on whatever the ClusterVersion says, separated by commas (repeatable).
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',', value_parser = PossibleValuesParser::new(KNOWN), hide_possible_values = true)]
    pub(crate) always_enable_capabilities: Vec<String>,
    /// Order of an installation: all components side by side, or run level after run level.
    #[arg(long, value_enum, default_value_t = InstallOrderArg::Flat, value_name = "ORDER")]
    pub(crate) install_order: InstallOrderArg,
    /// What becomes of a Deployment `cluster-version-operator` in a release that runs another operator.
    #[arg(long, value_enum, default_value_t = OwnDeploymentArg::Auto, value_name = "WHAT")]
    pub(crate) own_deployment: OwnDeploymentArg,
    /// Use releases that nobody verified, also where the ClusterVersion does not force it.
    #[arg(long)]
    pub(crate) accept_unverified: bool,
    /// Do not check certificates of registries, and speak plain HTTP where HTTPS is not spoken.
    #[arg(long)]
    pub(crate) insecure_registries: bool,
    /// Where fetched releases are kept; empty for nowhere.
    #[arg(long, value_name = "DIR", default_value = "/var/cache/lockstep")]
    pub(crate) cache_dir: PathBuf,
    /// How many MiB of them.
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub(crate) cache_limit: u64,
    /// How long fetching a release may take.
    #[arg(long, value_name = "TIME", default_value = "4m", value_parser = duration)]
    pub(crate) retrieve_timeout: Duration,
    /// After how long a wait for something that nothing in the release provides counts as a failure.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) unprovided_after: Duration,
    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    #[command(flatten)]
    pub(crate) logging: LoggingArgs,
    #[command(flatten)]
    pub(crate) reference: ReferenceArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OwnDeploymentArg {
    /// Applied when it runs this operator, left alone when it runs another one.
    Auto,
    /// Applied in any case.
    Apply,
}

/// The Lease.
#[derive(Debug, Args)]
#[command(next_help_heading = "Lease")]
pub(crate) struct LeaseArgs {
    /// How long others wait after the last renewal that they saw; without it 137s, or 270s on a cluster of one node.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) lease_duration: Option<Duration>,
    /// After how long without a renewal this one stops; 107s or 240s.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) renew_deadline: Option<Duration>,
    /// How often the Lease is renewed; 26s or 60s.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) retry_period: Option<Duration>,
    /// The namespace of the Lease, of Events and of the operator's Deployment.
    #[arg(long, value_name = "NAME", env = "CVO_NAMESPACE", default_value = "openshift-cluster-version")]
    pub(crate) operator_namespace: String,
}

/// Metrics and probes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Metrics")]
pub(crate) struct ListenArgs {
    /// Address of metrics and probes, over TLS; empty for none.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9099")]
    pub(crate) listen: String,
    /// Certificate of that address; read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub(crate) serving_cert_file: Option<PathBuf>,
    /// Its key.
    #[arg(long, value_name = "FILE")]
    pub(crate) serving_key_file: Option<PathBuf>,
    /// The lowest version of TLS that is spoken there: `VersionTLS12` or `VersionTLS13`.
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub(crate) tls_min_version: String,
    /// Cipher suites of TLS 1.2 that are spoken there, separated by commas; without it all that are safe.
    #[arg(long, value_name = "SUITE", value_delimiter = ',')]
    pub(crate) tls_cipher_suites: Vec<String>,
}

/// Flags of the reference that mean nothing here; they are taken so that its manifests work unchanged.
#[derive(Debug, Args)]
#[command(next_help_heading = "Taken and not used")]
pub(crate) struct ReferenceArgs {
    #[arg(long, env = "NODE_NAME", hide = true)]
    node_name: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) enable_auto_update: Option<bool>,
    #[arg(long, hide = true)]
    metrics_ca_bundle_file: Option<PathBuf>,
    #[arg(long, hide = true)]
    metrics_token_file: Option<PathBuf>,
    #[arg(long, hide = true)]
    metrics_namespace: Option<String>,
    #[arg(long, hide = true)]
    metrics_service: Option<String>,
    #[arg(long, hide = true)]
    metrics_url: Option<String>,
    #[arg(long, hide = true)]
    update_service: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    use_dns_for_services: Option<bool>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    hypershift: Option<bool>,
}
