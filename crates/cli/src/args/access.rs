//! Flags that say how registries are reached.

use std::path::PathBuf;

use clap::Args;

use lockstep_release::store::{Access, OnRetry, Registries};
use lockstep_release::{Location, PlatformFilter};

use crate::exit::UsageError;
use crate::output;

/// How registries are reached.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RegistryArgs {
    /// File with credentials; without it `REGISTRY_AUTH_FILE` and the files of podman and docker.
    #[arg(short = 'a', long, value_name = "FILE")]
    registry_config: Option<PathBuf>,
    /// File with certificates that are trusted beside those of the system.
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
    /// Do not check certificates, and speak plain HTTP where HTTPS is not spoken.
    #[arg(long)]
    insecure: bool,
    /// Speak plain HTTP.
    #[arg(long)]
    plain_http: bool,
    /// Most requests at a time for each registry.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=64))]
    max_per_registry: Option<u16>,
    /// Which image of a manifest list: a regular expression over `os/arch[/variant]`; without it linux on this processor.
    #[arg(long, value_name = "EXPRESSION")]
    filter_by_os: Option<String>,
    /// File with `ImageDigestMirrorSet`s: where else images by digest are.
    #[arg(long, value_name = "FILE", alias = "icsp-file")]
    idms_file: Option<PathBuf>,
}

// === impl RegistryArgs ===

impl RegistryArgs {
    /// Everything that is needed to reach registries; nothing is connected yet.
    pub(crate) fn registries(&self, default_parallel: usize) -> anyhow::Result<Registries> {
        Ok(Registries::new(Access {
            registry_config: self.registry_config.clone(),
            certificate_authority: self.certificate_authority.clone(),
            insecure: self.insecure,
            plain_http: self.plain_http,
            per_registry: self.parallel(default_parallel),
            mirror_sets: self.idms_file.clone(),
            on_retry: Some(OnRetry::new(output::note)),
            ..Access::default()
        })?)
    }

    /// How many requests at a time for each registry.
    pub(crate) fn parallel(&self, default: usize) -> usize {
        self.max_per_registry.map_or(default, usize::from)
    }

    /// Which image of a list is meant.
    pub(crate) fn filter(&self) -> anyhow::Result<PlatformFilter> {
        match &self.filter_by_os {
            None => Ok(PlatformFilter::Host),
            Some(text) => PlatformFilter::parse(text).map_err(|error| UsageError(error.to_string()).into()),
        }
    }
}

/// Reads where a release is.
pub(crate) fn location(text: &str) -> anyhow::Result<Location> {
    Ok(Location::parse(text)?)
}
