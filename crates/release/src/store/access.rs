//! How registries are reached: what the flags of a command say.

use std::path::PathBuf;

/// What a command was told about registries.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The file with credentials; without it the usual places are looked at.
    pub registry_config: Option<PathBuf>,
    /// Certificates that are trusted beside those of the system.
    pub certificate_authority: Option<PathBuf>,
    /// Whether certificates are not checked, and plain HTTP is tried where HTTPS is not spoken.
    pub insecure: bool,
    /// Whether plain HTTP is spoken from the start.
    pub plain_http: bool,
    /// Most requests at a time for each registry; 0 means the default of the command.
    pub per_registry: usize,
    /// File with `ImageDigestMirrorSet`s (or one `ImageContentSourcePolicy`): where else images by digest are.
    pub mirror_sets: Option<PathBuf>,
}
