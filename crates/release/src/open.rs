//! Opens images, and releases wherever they are.

mod files;
pub mod image;
pub mod release;

pub use image::{Image, LayerFile, Layers};
pub use release::{OpenRelease, Wanted, release};

use lockstep_payload::FilesError;

use crate::image::{Descriptor, ManifestFormatError};
use crate::platform::PlatformError;
use crate::store::StoreError;

/// Why an image or a release could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store could not give it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder is none of a release.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A layer that is not what a layer should be.
    #[error("{store}: the layer {digest} is refused: {why}")]
    Layer {
        /// The store.
        store: String,
        /// The layer.
        digest: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something that is refused whatever is tried.
    #[error("{0}")]
    Refused(String),
}

// === impl ReadError ===

impl ReadError {
    /// Names the layer that something is wrong with.
    pub(crate) fn in_layer(self, store: &str, layer: &Descriptor) -> Self {
        match self {
            Self::Refused(why) => {
                Self::Layer { store: store.to_owned(), digest: layer.digest.to_string(), why }
            }
            other => other,
        }
    }
}

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<ManifestFormatError> for ReadError {
    fn from(error: ManifestFormatError) -> Self {
        Self::Store(error.into())
    }
}

impl From<PlatformError> for ReadError {
    fn from(error: PlatformError) -> Self {
        Self::Store(error.into())
    }
}
