//! Flags of `lockstep wait-for`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::cluster::{ClusterArgs, duration};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep wait-for bootstrap-complete
  lockstep wait-for install-complete --timeout 60m
  lockstep wait-for stable --stable-for 30s --period 5m --record rests.jsonl
  lockstep wait-for operator dns --timeout 10m

Exit codes: 0 there, 2 wrong usage, 5 the API or the bootstrap was not there in time, 6 the cluster (or operator) was not,
7 operators did not come to rest, 8 interrupted. The last lines say what is missing and what to do.")]
pub(crate) struct WaitForArgs {
    #[command(subcommand)]
    pub(crate) goal: WaitForCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WaitForCommand {
    /// Until the API server answers and is ready.
    Api(Box<ApiGoalArgs>),
    /// Until the bootstrap host is done and may be removed.
    BootstrapComplete(Box<BootstrapGoalArgs>),
    /// Until the cluster is installed, and its operators have come to rest.
    InstallComplete(Box<InstallGoalArgs>),
    /// Until every operator has held Progressing=False for long enough.
    Stable(Box<StableGoalArgs>),
    /// Until the whole checklist holds: operators, version, Pods.
    Converged(Box<ClusterGoalArgs>),
    /// Until one operator is available, at rest, not degraded, and at the desired version.
    Operator(Box<OperatorGoalArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct ApiGoalArgs {
    /// When to give up.
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) common: CommonWaitArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BootstrapGoalArgs {
    /// When to give up on the API server.
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = duration)]
    pub(crate) api_timeout: Duration,
    /// When to give up on the bootstrap host, once the API server answers.
    #[arg(long, value_name = "TIME", default_value = "45m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// When to give up on its etcd member, once it is done.
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    pub(crate) etcd_timeout: Duration,
    #[command(flatten)]
    pub(crate) common: CommonWaitArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InstallGoalArgs {
    /// When to give up on the ClusterVersion; the time for coming to rest is not part of it.
    #[arg(long, value_name = "TIME", default_value = "40m", value_parser = duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) stability: StabilityArgs,
    #[command(flatten)]
    pub(crate) common: CommonWaitArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StableGoalArgs {
    #[command(flatten)]
    pub(crate) stability: StabilityArgs,
    #[command(flatten)]
    pub(crate) common: CommonWaitArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterGoalArgs {
    /// When to give up.
    #[arg(long, value_name = "TIME", default_value = "40m", value_parser = duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) common: CommonWaitArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OperatorGoalArgs {
    /// The name of the ClusterOperator.
    pub(crate) name: String,
    /// When to give up.
    #[arg(long, value_name = "TIME", default_value = "40m", value_parser = duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) common: CommonWaitArgs,
}

/// When operators have come to rest.
#[derive(Debug, Args)]
#[command(next_help_heading = "Stability")]
pub(crate) struct StabilityArgs {
    /// How long an operator has to hold Progressing=False.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) stable_for: Duration,
    /// Within how long; then it counts as unstable.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) period: Duration,
    /// All operators at the same time, as the reference's installer asks, not each once.
    #[arg(long)]
    pub(crate) together: bool,
    /// Operators that have to be there, separated by commas (repeatable).
    #[arg(long, value_name = "OPERATOR", value_delimiter = ',')]
    pub(crate) expect: Vec<String>,
    /// Add a line of JSON for every time of rest that came to its end, and for the judgement.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CommonWaitArgs {
    /// Form of the output: text, or every step and state as a line of JSON.
    #[arg(short, long, value_enum, default_value_t = WaitOutput::Text)]
    pub(crate) output: WaitOutput,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitOutput {
    Text,
    Json,
}
