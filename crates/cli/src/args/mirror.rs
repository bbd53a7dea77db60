//! `lockstep release mirror`: flags and help.

use clap::{Args, ValueEnum};

use super::RegistryArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "A LOCATION is a repository (mirror.example.com/ocp/release), oci:DIR or FILE.tar. A RELEASE is a pull spec,
oci:DIR[:TAG] or FILE.tar[:TAG].

Examples:
  lockstep release mirror registry.example.com/ocp/release:4.20.0-x86_64 --to mirror.example.com/ocp/release
  lockstep release mirror registry.example.com/ocp/release:4.20.0-x86_64 --to 4.20.tar
  lockstep release mirror 4.20.tar --to mirror.example.com/ocp/release
  lockstep release mirror 4.20.tar --to mirror.example.com/ocp/release --dry-run -o json | jq .totals

A run that was ended, by whatever, is taken up by the same command; what is there is not fetched again.

Exit codes: 0 everything is there and verified, 1 something is not, 2 wrong usage, 130 ended by Ctrl-C."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct MirrorArgs {
    /// The release.
    #[arg(value_name = "RELEASE")]
    pub(crate) release: Vec<String>,
    /// The release, as a flag.
    #[arg(long, value_name = "RELEASE")]
    pub(crate) from: Option<String>,
    /// Where everything goes.
    #[arg(long, value_name = "LOCATION")]
    pub(crate) to: Option<String>,
    /// Where the release image goes, if elsewhere.
    #[arg(long, value_name = "REFERENCE")]
    pub(crate) to_release_image: Option<String>,
    /// Leave the release image out.
    #[arg(long)]
    pub(crate) skip_release_image: bool,
    /// Copy the release image alone, without the images that it names.
    #[arg(long, conflicts_with = "skip_release_image")]
    pub(crate) only_release_image: bool,
    /// Leave signatures (`.sig` tags, and `.att` and `.sbom` of signed images) out.
    #[arg(long)]
    pub(crate) skip_signatures: bool,
    /// Only say what would be copied, and what is there already.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Begin other images although one has failed.
    #[arg(long)]
    pub(crate) continue_on_error: bool,
    /// Do not look first whether the disk has room.
    #[arg(long)]
    pub(crate) skip_space_check: bool,
    /// Which mirror set is printed at the end.
    #[arg(long, value_enum, default_value_t = InstructionsArg::Idms, value_name = "KIND")]
    pub(crate) print_mirror_instructions: InstructionsArg,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = MirrorOutput::Text)]
    pub(crate) output: MirrorOutput,
    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstructionsArg {
    /// An `ImageDigestMirrorSet`.
    Idms,
    /// An `ImageContentSourcePolicy`.
    Icsp,
    /// None.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MirrorOutput {
    Text,
    Json,
}
