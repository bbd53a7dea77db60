//! What an operator is told when it is started.

use std::path::PathBuf;
use std::time::Duration;

use lockstep_graph::InstallOrder;

use crate::lease::Timing;

/// What an operator is told when it is started.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Pull spec of the release image that the operator runs from.
    pub release_image: String,
    /// Where the files of that image are: the folder with `manifests` and `release-manifests`.
    pub payload_dir: PathBuf,
    /// The namespace of the operator: of its Lease and its Deployment.
    pub namespace: String,
    /// The cluster profile.
    pub profile: String,
    /// Objects annotated with this identifier are left out; empty for none.
    pub exclude: String,
    /// Capabilities that are on whatever the ClusterVersion says.
    pub always_enable: Vec<String>,
    /// The order of an installation.
    pub install_order: InstallOrder,
    /// Whether the Deployment of an operator that is not this one is applied.
    pub own_deployment: OwnDeployment,
    /// Whether a release may be used that nobody verified.
    pub accept_unverified: bool,
    /// Whether registries are spoken to without checking who they are.
    pub insecure_registries: bool,
    /// Where fetched releases are kept; `None` for nowhere.
    pub cache_dir: Option<PathBuf>,
    /// How many bytes of them.
    pub cache_limit: u64,
    /// How long fetching a release may take.
    pub retrieve_timeout: Duration,
    /// After how long a wait for something that nothing in the release provides counts as a failure.
    pub unprovided_after: Duration,
    /// Who we are: different for every process.
    pub identity: String,
    /// The times of the Lease.
    pub timing: Timing,
    /// The seed of all pauses.
    pub seed: u64,
}

/// What becomes of a Deployment `cluster-version-operator` in a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnDeployment {
    /// Applied when it runs this operator, left alone when it runs another one: two would fight.
    #[default]
    Auto,
    /// Applied in any case.
    Apply,
}
