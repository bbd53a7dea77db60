//! Flags of `lockstep release new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::RegistryArgs;

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Images by name: each adds a component or replaces its image. Without another source they are all there is.
    #[arg(value_name = "SRC=DST")]
    pub(crate) mappings: Vec<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) content: ContentArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// Where manifests and images come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Source")]
pub(crate) struct SourceArgs {
    /// Folder with one folder of manifests for each operator, and `image-references` if it has one; no image is looked at.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["from_image_stream_file", "from_release"])]
    pub(crate) from_dir: Option<PathBuf>,
    /// Image stream, YAML or JSON; `-` is standard input. Manifests come from the images.
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "from_release")]
    pub(crate) from_image_stream_file: Option<PathBuf>,
    /// A release that exists. With nothing to change it is repackaged as it is; where images, names or versions change, its
    /// manifests are taken anew from the component images.
    #[arg(long, value_name = "RELEASE")]
    pub(crate) from_release: Option<String>,
    /// File of mappings: lines of SRC=DST with `#` comments, or JSON `{"images": {"NAME": "PULLSPEC"}, "version": "…"}`.
    #[arg(long, value_name = "FILE", alias = "mapping")]
    pub(crate) mapping_file: Vec<PathBuf>,
    /// Layout or archive that holds the component images, asked instead of registries: by digest, by the
    /// whole pull spec, or by the name SRC.
    #[arg(long, value_name = "LOCATION")]
    pub(crate) images_from: Option<String>,
    /// Which pull specs of an image stream are recorded.
    #[arg(long, value_enum, default_value_t = ReferenceModeArg::Public, value_name = "MODE")]
    pub(crate) reference_mode: ReferenceModeArg,
    /// Names to leave out of every input.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) exclude: Vec<String>,
    /// Tags to keep although no operator names them.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) include: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceModeArg {
    /// The public repository of the stream.
    Public,
    /// Where the image came from.
    Source,
}

/// What is in the release.
#[derive(Debug, Args)]
#[command(next_help_heading = "Content")]
pub(crate) struct ContentArgs {
    /// Version of the release; without it that of the mapping file, the release or the stream, or one made from --created.
    #[arg(long, value_name = "VERSION")]
    pub(crate) name: Option<String>,
    /// Versions from which it can be reached.
    #[arg(long, value_delimiter = ',', value_name = "VERSION,…")]
    pub(crate) previous: Option<Vec<String>>,
    /// Versions that can be reached from it.
    #[arg(long, value_delimiter = ',', value_name = "VERSION,…")]
    pub(crate) next: Option<Vec<String>>,
    /// More metadata: a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<String>,
    /// Where people read about the release.
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// Channels of the release.
    #[arg(long, value_delimiter = ',', value_name = "CHANNEL,…")]
    pub(crate) channels: Vec<String>,
    /// Versions of components that no image declares: `kubernetes=1.36.2,…`.
    #[arg(long, value_name = "KEY=VERSION,…", default_value = "", hide_default_value = true)]
    pub(crate) component_versions: String,
    /// Their display names.
    #[arg(long, value_name = "KEY=NAME,…", default_value = "", hide_default_value = true)]
    pub(crate) component_versions_display_names: String,
    /// What comes before component and file name of manifests whose name does not begin with `0000_`; such as 99.
    #[arg(long, default_value = "0000_50")]
    pub(crate) prefix: String,
    /// When the release was made: a time as in 2024-09-20T14:45:10Z, or seconds since 1970.
    #[arg(long, value_name = "TIME", env = "SOURCE_DATE_EPOCH", hide_env_values = true)]
    pub(crate) created: Option<String>,
    /// Let operators name images that the input does not have.
    #[arg(long)]
    pub(crate) allow_missing_images: bool,
    /// Let manifests run images that are none of the release: they are missing from every mirror of it.
    #[arg(long)]
    pub(crate) allow_undeclared_images: bool,
    /// Do not check that manifests are objects with kind, version and name.
    #[arg(long)]
    pub(crate) skip_manifest_check: bool,
    /// What lint finds: is not looked for, is shown, or fails the build from this severity on.
    #[arg(long, value_enum, default_value_t = LintMode::Show, value_name = "MODE")]
    pub(crate) lint: LintMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintMode {
    /// Do not lint.
    Off,
    /// Show errors and warnings; the build goes on.
    Show,
    /// Errors fail the build.
    Error,
    /// Warnings and errors fail the build.
    Warning,
}

/// Where the release goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetArgs {
    /// Where to write it: a pull spec, `oci:DIR[:TAG]`, an archive `FILE.tar[:TAG]`, or a folder (`./…`, `/…`).
    #[arg(long, value_name = "LOCATION", alias = "to-image", conflicts_with_all = ["to_dir", "to_file"])]
    pub(crate) to: Option<String>,
    /// Write the files of `release-manifests/` into this folder, and no image.
    #[arg(long, value_name = "DIR", conflicts_with = "to_file")]
    pub(crate) to_dir: Option<PathBuf>,
    /// Write the layer with `release-manifests/` as a compressed tar, and no image.
    #[arg(long, value_name = "FILE")]
    pub(crate) to_file: Option<PathBuf>,
    /// What the release image stands on: a pull spec, `oci:DIR:TAG`, an archive, a tag of the input, or `none`; without it the
    /// tag cluster-version-operator.
    #[arg(long, value_name = "IMAGE", aliases = ["to-image-base", "to-image-base-tag"])]
    pub(crate) base: Option<String>,
    /// Make a release for all platforms of its base, and record the lists of its images.
    #[arg(long)]
    pub(crate) keep_manifest_list: bool,
    /// Write nothing; only say what would come out.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print `image-references` instead, and write nothing.
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<NewOutput>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewOutput {
    Json,
}
