//! How registries are reached: what the flags of a command say.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

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
    /// How long one request is tried again and again; 0 means three minutes.
    pub patience: Duration,
    /// Who is told of requests that are tried again and again.
    pub on_retry: Option<OnRetry>,
    /// What a cluster says, for who runs inside one: then no file and no variable is looked at.
    pub cluster: Option<ClusterAccess>,
}

/// What a cluster says about registries.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClusterAccess {
    /// The content of its pull secret.
    pub pull_secret: Option<Vec<u8>>,
    /// Certificates that are trusted beside those of the system.
    pub certificates: Option<Vec<u8>>,
    /// Its mirror sets, as objects.
    pub mirror_sets: Vec<Value>,
    /// The proxy for addresses with `http:`.
    pub http_proxy: Option<String>,
    /// The proxy for addresses with `https:`.
    pub https_proxy: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas.
    pub no_proxy: Option<String>,
}

// === impl ClusterAccess ===

impl fmt::Debug for ClusterAccess {
    /// Without the secret: proxies have passwords in them, too.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClusterAccess").finish_non_exhaustive()
    }
}

/// Somebody who is told of requests that are tried again and again.
#[derive(Clone)]
pub struct OnRetry(Arc<dyn Fn(&str) + Send + Sync>);

// === impl OnRetry ===

impl OnRetry {
    /// Calls a function with one line of text for each try.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(super) fn tell(&self, text: &str) {
        (self.0)(text);
    }
}

impl fmt::Debug for OnRetry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OnRetry")
    }
}
