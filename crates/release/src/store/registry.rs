//! Repositories of registries.

use super::{Access, Blob, BlobSource, StoreError, Which};
use crate::digest::Digest;
use crate::image::{Descriptor, RawManifest};
use crate::reference::PullSpec;

/// All registries, reached in one way; connections, credentials and tokens are shared.
#[derive(Debug, Clone)]
pub struct Registries {
    _access: Access,
}

/// One repository of a registry.
#[derive(Debug, Clone)]
pub struct Repository {
    spec: PullSpec,
}

// === impl Registries ===

impl Registries {
    /// Reads credentials and certificates; nothing is connected yet.
    pub fn new(access: Access) -> Result<Self, StoreError> {
        Ok(Self { _access: access })
    }

    /// A repository.
    pub fn repository(&self, spec: &PullSpec) -> Result<Repository, StoreError> {
        Ok(Repository { spec: spec.bare() })
    }
}

// === impl Repository ===

#[expect(clippy::unused_async, reason = "being written")]
impl Repository {
    /// What to call it in messages.
    pub fn name(&self) -> String {
        self.spec.to_string()
    }

    fn refused<T>(&self) -> Result<T, StoreError> {
        Err(StoreError::Refused(format!("{}: registries cannot be reached yet", self.name())))
    }

    pub(super) async fn manifest(&self, _which: &Which) -> Result<RawManifest, StoreError> {
        self.refused()
    }

    pub(super) async fn find(&self, _which: &Which) -> Result<Option<Digest>, StoreError> {
        self.refused()
    }

    pub(super) async fn tags(&self) -> Result<Vec<String>, StoreError> {
        self.refused()
    }

    pub(super) async fn blob_size(&self, _digest: &Digest) -> Result<Option<u64>, StoreError> {
        self.refused()
    }

    pub(super) async fn read_blob(&self, _blob: &Descriptor, _from: u64) -> Result<Blob, StoreError> {
        self.refused()
    }

    pub(super) async fn write_blob(
        &self,
        _blob: &Descriptor,
        _source: &BlobSource,
    ) -> Result<bool, StoreError> {
        self.refused()
    }

    pub(super) async fn write_manifest(
        &self,
        _tag: Option<&str>,
        _manifest: &RawManifest,
    ) -> Result<(), StoreError> {
        self.refused()
    }
}
