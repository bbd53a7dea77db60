//! Flags of `lockstep release diff`.

use clap::{Args, ValueEnum};

use super::{RegistryArgs, SelectionArgs};

#[derive(Debug, Args)]
pub(crate) struct ReleaseDiffArgs {
    /// The release that is left: a folder, `oci:DIR[:TAG]`, an archive `FILE[:TAG]`, or the pull spec of its image.
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// The release that is gone to.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = ReleaseDiffOutput::Text)]
    pub(crate) output: ReleaseDiffOutput,
    /// Show only these objects.
    #[arg(long, value_enum, value_name = "CHANGE")]
    pub(crate) only: Option<OnlyArg>,
    /// Show only this object, whatever its namespace is.
    #[arg(long, value_name = "KIND/NAME")]
    pub(crate) object: Option<String>,
    /// Compare only objects that the cluster below would get.
    #[arg(long)]
    pub(crate) selected: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReleaseDiffOutput {
    Text,
    Json,
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnlyArg {
    Added,
    Removed,
    Changed,
    Incompatible,
}
