//! What can be typed: commands, flags and their help. Nothing is decided here.

mod access;
mod adopt;
mod apply;
mod cluster;
mod conformance;
mod entry_point;
mod extract;
mod info_images;
mod lab;
mod logging;
mod mirror;
mod new;
mod operator;
mod own;
mod rehearse;
mod release_diff;
mod selection;
mod status;
mod upgrade;
mod wait_for;
mod why;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use access::{RegistryArgs, location};
pub(crate) use adopt::AdoptArgs;
pub(crate) use apply::{ApplyArgs, ApplyMode, DiffArgs, DiffOutput, EventOutput, Hold, PlanArgs};
pub(crate) use cluster::ClusterArgs;
pub(crate) use conformance::{ConformanceArgs, ConformanceOutput};
pub(crate) use entry_point::{ImageArgs, RenderArgs};
pub(crate) use extract::ExtractArgs;
pub(crate) use info_images::InfoImageArgs;
pub(crate) use lab::{LabArgs, LabCommand, UpArgs};
pub(crate) use logging::{LogFormat, LoggingArgs};
pub(crate) use mirror::{InstructionsArg, MirrorArgs, MirrorOutput};
pub(crate) use new::{LintMode, NewArgs, ReferenceModeArg};
pub(crate) use operator::{OperatorArgs, OwnDeploymentArg};
pub(crate) use own::{BaseImageArgs, RbacArgs, RbacOutput};
pub(crate) use rehearse::{RehearseArgs, RehearseOutput, ReplayArgs};
pub(crate) use release_diff::{OnlyArg, ReleaseDiffArgs, ReleaseDiffOutput};
pub(crate) use selection::SelectionArgs;
pub(crate) use status::{DetailsArg, KnownRelease, ReportArgs, StatusArgs, StatusOutput, TopArgs};
pub(crate) use upgrade::{UpgradeArgs, UpgradeCommand, UpgradePauseArgs, UpgradeToArgs, WaitArgs};
pub(crate) use wait_for::{CommonWaitArgs, StabilityArgs, WaitForArgs, WaitForCommand, WaitOutput};
pub(crate) use why::{GatherArgs, WhyArgs, WhyOutput};

/// Reads, lints, rehearses and applies releases of a Kubernetes platform.
///
/// A release is one image, or one folder, that holds every manifest of a platform. Lockstep shows the order in which a cluster is
/// brought to it, finds what is wrong with it, rehearses it, and brings clusters to it.
#[derive(Debug, Parser)]
#[command(name = "lockstep", version, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to use colour: auto follows the terminal, `NO_COLOR` and `CLICOLOR_FORCE`.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  lockstep rehearse                                  install the bundled example release in an embedded cluster
  lockstep diff ./4.20.0                             what would change in a cluster
  lockstep apply ./4.20.0                            bring the cluster to the release
  lockstep release info ./4.20.0                     version, counts, run levels, operators
  lockstep release graph ./4.20.0 -o html > order.html
  lockstep release lint ./4.20.0 --all-combinations  find deadlocks before a cluster does
  lockstep lab up                                    a small Kubernetes API server on this machine";

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look at a release: what is in it, in which order it runs, what is wrong with it.
    Release(Box<ReleaseArgs>),
    /// Bring a cluster to a release, in order, and say what is waited for and why.
    Apply(Box<ApplyArgs>),
    /// Show what applying a release would change in a cluster, field by field.
    Diff(Box<DiffArgs>),
    /// Show a cluster on one screen: version, what happens, how long it takes, operators, what is wrong.
    Status(Box<StatusArgs>),
    /// Look at a cluster while it moves: a full screen with operators, run levels and events.
    Top(Box<TopArgs>),
    /// Write a page about an installation or update: times, critical path, waits, repairs.
    Report(Box<ReportArgs>),
    /// Ask the operator of a cluster for another release, pause it, or see how its update goes.
    Upgrade(Box<UpgradeArgs>),
    /// Say why the cluster, an operator or an object is not well: the cause first, its evidence, what would mend it.
    Why(Box<WhyArgs>),
    /// Write what `why` reads into a folder, without secrets.
    Gather(Box<GatherArgs>),
    /// Stay until a cluster, or one operator, is there; say what is missing; end with a code of its own.
    WaitFor(Box<WaitForArgs>),
    /// Take over a cluster that another operator of the same releases runs, or give it back.
    Adopt(Box<AdoptArgs>),
    /// Write the manifests that a bootstrap machine needs, from the root of a release image.
    Render(RenderArgs),
    /// Print the pull spec of an image of the release that this runs in.
    Image(ImageArgs),
    /// Bring a release to an embedded cluster in virtual time, and sum up what took how long and why.
    Rehearse(Box<RehearseArgs>),
    /// Show a recorded run again.
    Replay(ReplayArgs),
    /// Check whether an operator, or its manifests, keep to the protocol: a verdict per rule.
    Conformance(Box<ConformanceArgs>),
    /// Run inside a cluster: bring it to the release that its ClusterVersion asks for, keep it there, and report.
    #[command(visible_alias = "start")]
    Operator(Box<OperatorArgs>),
    /// Play a cluster: an embedded API server, scripted workloads and operators.
    Lab(LabArgs),
    /// Print the version of this command.
    Version(VersionArgs),
    /// Print a completion script for a shell.
    Completion(CompletionArgs),
    /// Print a manual page.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    #[command(subcommand)]
    pub(crate) command: ReleaseCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Build a release from operators' manifests and images.
    #[command(after_help = "Examples:
  lockstep release new --from-dir ./operators --mapping-file images.json --name 5.0.0 --base none --to ./5.0.0
  lockstep release new --from-image-stream-file stream.yaml --name 5.0.0 --to registry.example.com/release:5.0.0
  lockstep release new --from-release registry.example.com/release:5.0.0 dns=registry.example.com/dns:fix --name 5.0.1 --to oci:./out
  lockstep release new --from-release ./4.20.0 --to release.tar:4.20.0

Standard output is one line: DIGEST NAME CREATED. The same input gives the same digest.
Exit codes: 0 built, 1 problems in manifests or images or findings of lint that fail the build, 2 wrong usage.")]
    New(Box<NewArgs>),
    /// Show version, counts, kinds, run levels, operators and images of a release.
    #[command(after_help = "Examples:
  lockstep release info ./4.20.0
  lockstep release info ./4.20.0 -o json | jq .selected
  lockstep release info ./4.20.0 --profile single-node-developer --feature-set TechPreviewNoUpgrade
  lockstep release info registry.example.com/release:4.20.0 --pullspecs
  lockstep release info oci:mirror:4.20.0 --verify
  lockstep release info ./4.21.0 --changes-from ./4.20.0 --changelog ~/sources")]
    Info(InfoArgs),
    /// List every object of a release in load order, with the SHA-256 of its content.
    #[command(after_help = "Examples:
  lockstep release objects ./4.20.0 --selected
  lockstep release objects ./4.20.0 --folder release-manifests -o tsv > objects.tsv")]
    Objects(ObjectsArgs),
    /// Show the order in which a release is applied: levels, components side by side, gates.
    #[command(after_help = "Examples:
  lockstep release graph ./4.20.0
  lockstep release graph ./4.20.0 --mode installing --install-order run-level
  lockstep release graph ./4.20.0 -o html > order.html
  lockstep release graph ./4.20.0 -o dot | dot -Tsvg > order.svg")]
    Graph(GraphArgs),
    /// Find what is wrong with a release before a cluster does.
    #[command(after_help = "Examples:
  lockstep release lint ./4.20.0
  lockstep release lint ./4.20.0 --all-combinations --fail-on warning
  lockstep release lint ./4.20.0 -o sarif > lint.sarif

Exit codes: 0 clean, 1 findings at or above --fail-on, 2 wrong usage or nothing that could be checked.")]
    Lint(LintArgs),
    /// Compare two releases: objects field by field, images, capabilities, run levels, what is incompatible.
    #[command(after_help = "Examples:
  lockstep release diff ./4.20.0 ./4.21.0
  lockstep release diff ./4.20.0 ./4.21.0 --only incompatible
  lockstep release diff ./4.20.0 ./4.21.0 --object Deployment/console-operator
  lockstep release diff ./4.20.0 ./4.21.0 -o html > changes.html

Exit codes: 0 nothing differs, 1 something does, 2 wrong usage or nothing that could be compared.")]
    Diff(Box<ReleaseDiffArgs>),
    /// Copy a release with all its images to another registry, a layout or an archive.
    Mirror(Box<MirrorArgs>),
    /// Take manifests or programs out of a release.
    #[command(after_help = "Examples:
  lockstep release extract ./4.20.0 --to manifests
  lockstep release extract registry.example.com/release:4.20.0 --file image-references
  lockstep release extract oci:mirror:4.20.0 --credentials-requests --included --install-config install-config.yaml --to requests
  lockstep release extract registry.example.com/release:4.20.0 --command oc --command-os mac/arm64 --to bin")]
    Extract(Box<ExtractArgs>),
    /// Compile the rights that the operator needs for a release: roles with the reason of every rule.
    #[command(after_help = "Examples:
  lockstep release rbac ./4.20.0 > rbac.yaml
  lockstep release rbac ./4.20.0 --also ./4.21.0 -o text
  lockstep release rbac ./operators --in-release > operators/0000_00_cluster-version-operator_02_rbac.yaml")]
    Rbac(RbacArgs),
    /// Write the operator's own image, on which releases stand, without a container engine.
    #[command(after_help = "Examples:
  lockstep release base-image --to oci:./base:latest
  lockstep release base-image --from registry.example.com/debian:trixie-slim --to registry.example.com/lockstep:latest
  lockstep release new --from-dir ./operators --base oci:./base:latest --name 5.0.0 --to registry.example.com/release:5.0.0

Standard output is the digest. The same binary and files give the same digest.")]
    BaseImage(BaseImageArgs),
}

/// A release, wherever it is.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The release: a folder, `oci:DIR[:TAG]`, an archive `FILE[:TAG]`, or the pull spec of its image.
    #[arg(value_name = "RELEASE")]
    pub(crate) release: String,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = InfoOutput::Text)]
    pub(crate) output: InfoOutput,
    /// Print how long each phase took to standard error.
    #[arg(long, hide = true)]
    pub(crate) timings: bool,
    #[command(flatten)]
    pub(crate) images: InfoImageArgs,
    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InfoOutput {
    Text,
    Json,
    Yaml,
}

#[derive(Debug, Args)]
pub(crate) struct ObjectsArgs {
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = ObjectsOutput::Tsv)]
    pub(crate) output: ObjectsOutput,
    /// Only objects that the selection lets pass.
    #[arg(long)]
    pub(crate) selected: bool,
    /// Which folder of the release.
    #[arg(long, value_enum, default_value_t = FolderArg::All)]
    pub(crate) folder: FolderArg,
    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectsOutput {
    Tsv,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FolderArg {
    ReleaseManifests,
    Manifests,
    All,
}

/// For what, and in which order, a release is applied.
#[derive(Debug, Args)]
pub(crate) struct OrderArgs {
    /// What the release is applied for.
    #[arg(long, value_enum, default_value_t = ModeArg::Updating)]
    pub(crate) mode: ModeArg,
    /// Order of an installation: all components side by side, or run level after run level.
    #[arg(long, value_enum, default_value_t = InstallOrderArg::Flat, value_name = "ORDER")]
    pub(crate) install_order: InstallOrderArg,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) order: OrderArgs,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = GraphOutput::Text)]
    pub(crate) output: GraphOutput,
    /// In the text form, list every file.
    #[arg(long)]
    pub(crate) files: bool,
    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    Updating,
    Installing,
    Reconciling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallOrderArg {
    Flat,
    RunLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphOutput {
    Text,
    Dot,
    Json,
    Svg,
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Look at every combination of profile, feature set, feature gates and capabilities (exact, not sampled).
    #[arg(long, conflicts_with_all = ["profile", "feature_set", "feature_gate", "capability_set", "capability", "without_capability", "exclude"])]
    pub(crate) all_combinations: bool,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = LintOutput::Text)]
    pub(crate) output: LintOutput,
    /// Lowest severity that makes the exit code 1.
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,
    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintOutput {
    Text,
    Json,
    Sarif,
    Junit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
    Info,
}

#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = VersionOutput::Text)]
    pub(crate) output: VersionOutput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VersionOutput {
    Text,
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  lockstep completion bash > /etc/bash_completion.d/lockstep")]
pub(crate) struct CompletionArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lockstep man | man -l -
  lockstep man release graph | man -l -")]
pub(crate) struct ManArgs {
    /// The command, such as `release graph`; without it the page of `lockstep` itself.
    pub(crate) command: Vec<String>,
}
