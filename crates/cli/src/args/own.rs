//! Flags of commands about the operator itself: its rights and its image.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{RegistryArgs, Source};

#[derive(Debug, Args)]
pub(crate) struct RbacArgs {
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = RbacOutput::Yaml)]
    pub(crate) output: RbacOutput,
    /// Another release whose rights are needed as well, such as the one to update to (repeatable).
    #[arg(long, value_name = "RELEASE")]
    pub(crate) also: Vec<String>,
    /// The output becomes part of the release: the operator applies its own roles.
    #[arg(long)]
    pub(crate) in_release: bool,
    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacOutput {
    /// Roles and bindings, with the reasons as comments.
    Yaml,
    /// A page for people.
    Text,
    /// Everything, for programs.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct BaseImageArgs {
    /// Where to write it: a pull spec, `oci:DIR[:TAG]`, or an archive `FILE.tar[:TAG]`.
    #[arg(long, value_name = "LOCATION")]
    pub(crate) to: String,
    /// The lockstep binary for the image; without it the one that runs.
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
    /// Image to stand on; needed where the binary is linked dynamically. Without it there is nothing below.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) from: Option<String>,
    /// Architecture of the image; without it the one that the binary is for.
    #[arg(long)]
    pub(crate) arch: Option<String>,
    /// Certificates of authorities (PEM) for registries, as `/etc/ssl/certs/ca-certificates.crt`.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_bundle: Option<PathBuf>,
    /// Folder of files for `manifests/` instead of the ones that lockstep carries.
    #[arg(long, value_name = "DIR")]
    pub(crate) manifests: Option<PathBuf>,
    /// Leave out the service monitor and alerts: for clusters without the kinds of the Prometheus operator.
    #[arg(long, conflicts_with = "manifests")]
    pub(crate) without_monitoring: bool,
    /// Write an image although the binary could not start in it.
    #[arg(long)]
    pub(crate) allow_dynamic: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
