//! An archive: a tar of an OCI layout in one file.

use std::path::{Path, PathBuf};

use super::{Blob, BlobSource, StoreError, Which};
use crate::digest::Digest;
use crate::image::{Descriptor, RawManifest};

/// An archive on disk.
#[derive(Debug, Clone)]
pub struct Archive {
    path: PathBuf,
}

// === impl Archive ===

#[expect(clippy::unused_async, reason = "being written")]
impl Archive {
    /// Opens an archive that is there.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { path: path.to_owned() })
    }

    /// Opens an archive to add to it, and makes it where nothing is.
    pub async fn create(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { path: path.to_owned() })
    }

    /// What to call it in messages.
    pub fn name(&self) -> String {
        format!("oci-archive:{}", self.path.display())
    }

    fn refused<T>(&self) -> Result<T, StoreError> {
        Err(StoreError::Refused(format!("{}: archives cannot be read yet", self.name())))
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
