//! Places that hold images by digest and by tag: an OCI layout, an archive of one, a repository of a registry.
//!
//! A [`Store`] answers single questions and tries once where the place is on disk; a registry asks again by itself. Content is
//! moved with [`BlobSource`], which goes on where a connection broke, and is believed when size and digest are right.

pub mod access;
mod alone;
pub mod archive;
pub mod layout;
pub mod registry;
pub mod source;

use std::fmt;
use std::path::Path;

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use futures::stream::BoxStream;

use crate::digest::Digest;
use crate::image::{Descriptor, ManifestFormatError, RawManifest};
use crate::location::Location;
use crate::platform::PlatformError;

pub use access::{Access, ClusterAccess, OnRetry};
pub use archive::Archive;
pub use layout::Layout;
pub use registry::{Registries, Repository};
pub use source::{BlobSource, Meter};

/// Content, piece by piece.
pub type Blob = BoxStream<'static, Result<Bytes, StoreError>>;

/// One place that holds images: for a registry, one repository.
#[derive(Debug, Clone)]
pub enum Store {
    /// A folder.
    Layout(Layout),
    /// A file.
    Archive(Archive),
    /// A repository.
    Registry(Repository),
}

/// Which image of a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// The one that a tag points to now.
    Tag(String),
    /// Exactly this one.
    Digest(Digest),
}

/// Why a store could not do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It is not there.
    #[error("{what} not found in {store}")]
    NotFound {
        /// The image or blob.
        what: String,
        /// The store.
        store: String,
    },
    /// The place wants other credentials; the text says which were used and where they came from.
    #[error("{what}: {why}")]
    Denied {
        /// What was asked for.
        what: String,
        /// What the place said, and what to do.
        why: String,
    },
    /// The place cannot be reached or broke off.
    #[error("{what}: {why}")]
    Network {
        /// What was asked for.
        what: String,
        /// What happened.
        why: String,
    },
    /// The place answered something else than was asked for.
    #[error("{what}: {status} {why}")]
    Answer {
        /// What was asked for.
        what: String,
        /// The status.
        status: u16,
        /// What the answer says.
        why: String,
    },
    /// The content is not what its digest or size says.
    #[error("content integrity error: {what} from {store}: {why}")]
    Mismatch {
        /// The manifest or blob.
        what: String,
        /// The store.
        store: String,
        /// What differs.
        why: String,
    },
    /// A file or folder.
    #[error("{path}: {cause}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// A manifest that cannot be read.
    #[error(transparent)]
    Format(#[from] ManifestFormatError),
    /// No image for the wanted platform.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// Something that is refused whatever is tried.
    #[error("{0}")]
    Refused(String),
}

// === impl Store ===

impl Store {
    /// What to call it in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Layout(layout) => layout.name(),
            Self::Archive(archive) => archive.name(),
            Self::Registry(repository) => repository.name(),
        }
    }

    /// A manifest or index, checked against the digest when one was asked for.
    pub async fn manifest(&self, which: &Which) -> Result<RawManifest, StoreError> {
        match self {
            Self::Layout(layout) => layout.manifest(which).await,
            Self::Archive(archive) => archive.manifest(which).await,
            Self::Registry(repository) => {
                let found = repository.manifest(which).await?;
                match which {
                    Which::Digest(wanted) => checked_manifest(found, wanted, &self.name()),
                    Which::Tag(_) => Ok(found),
                }
            }
        }
    }

    /// The digest of a manifest that is there, without fetching it.
    pub async fn find(&self, which: &Which) -> Result<Option<Digest>, StoreError> {
        match self {
            Self::Layout(layout) => layout.find(which).await,
            Self::Archive(archive) => Ok(archive.find(which)),
            Self::Registry(repository) => repository.find(which).await,
        }
    }

    /// All tags, sorted.
    pub async fn tags(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Layout(layout) => layout.tags().await,
            Self::Archive(archive) => Ok(archive.tags()),
            Self::Registry(repository) => repository.tags().await,
        }
    }

    /// The size of a blob that is there.
    pub async fn blob_size(&self, digest: &Digest) -> Result<Option<u64>, StoreError> {
        match self {
            Self::Layout(layout) => layout.blob_size(digest).await,
            Self::Archive(archive) => Ok(archive.blob_size(digest)),
            Self::Registry(repository) => repository.blob_size(digest).await,
        }
    }

    /// The bytes of a blob from a position on, as they come: nobody has checked them yet.
    pub async fn read_blob(&self, blob: &Descriptor, from: u64) -> Result<Blob, StoreError> {
        match self {
            Self::Layout(layout) => layout.read_blob(blob, from).await,
            Self::Archive(archive) => archive.read_blob(blob, from).await,
            Self::Registry(repository) => repository.read_blob(blob, from).await,
        }
    }

    /// Writes a blob, unless it is there; it is there only when all of it is, and checked. Says whether bytes were moved.
    pub async fn write_blob(&self, blob: &Descriptor, source: &BlobSource) -> Result<bool, StoreError> {
        match self {
            Self::Layout(layout) => layout.write_blob(blob, source).await,
            Self::Archive(archive) => archive.write_blob(blob, source).await,
            Self::Registry(repository) => repository.write_blob(blob, source).await,
        }
    }

    /// Gives up content that turned out wrong, so that it is written anew; a registry keeps what it has.
    pub async fn forget(&self, digest: &Digest) -> Result<(), StoreError> {
        match self {
            Self::Layout(layout) => layout.forget(digest).await,
            Self::Archive(archive) => {
                archive.forget(digest);
                Ok(())
            }
            Self::Registry(_) => Ok(()),
        }
    }

    /// Writes a manifest whose content is there already, under a tag or only under its digest.
    pub async fn write_manifest(&self, tag: Option<&str>, manifest: &RawManifest) -> Result<(), StoreError> {
        match self {
            Self::Layout(layout) => layout.write_manifest(tag, manifest).await,
            Self::Archive(archive) => archive.write_manifest(tag, manifest).await,
            Self::Registry(repository) => repository.write_manifest(tag, manifest).await,
        }
    }

    /// Ends a series of writes: an archive gets its list of images and its end; the others have theirs.
    pub async fn finish(&self) -> Result<(), StoreError> {
        match self {
            Self::Archive(archive) => archive.finish().await,
            Self::Layout(_) | Self::Registry(_) => Ok(()),
        }
    }

    /// Keeps a note beside a tag; a registry has no place for it.
    pub async fn note(&self, tag: &str, key: &str, value: &str) -> Result<(), StoreError> {
        match self {
            Self::Layout(layout) => layout.note(tag, key, value).await,
            Self::Archive(archive) => {
                archive.note(tag, key, value);
                Ok(())
            }
            Self::Registry(_) => Ok(()),
        }
    }

    /// A note beside any tag of an image.
    pub async fn noted(&self, digest: &Digest, key: &str) -> Result<Option<String>, StoreError> {
        match self {
            Self::Layout(layout) => Ok(layout::noted(&layout.index().await?, digest, key)),
            Self::Archive(archive) => Ok(layout::noted(&archive.index(), digest, key)),
            Self::Registry(_) => Ok(None),
        }
    }

    /// A whole blob in memory, checked; for configurations and the like.
    pub async fn read_small(&self, blob: &Descriptor, limit: u64) -> Result<Bytes, StoreError> {
        let refused = |bytes: u64| {
            StoreError::Refused(format!(
                "{}: {} has {bytes} bytes, more than {limit}",
                self.name(),
                blob.digest
            ))
        };
        if blob.size > limit {
            return Err(refused(blob.size));
        }
        let mut stream = BlobSource::store(self.clone()).checked(blob);
        let mut all = BytesMut::new();
        while let Some(piece) = stream.next().await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.freeze())
    }
}

/// Opens the store of a location, and says which image of it is meant. A folder is none.
pub async fn open(
    location: &Location,
    registries: &Registries,
) -> Result<(Store, Option<Which>), StoreError> {
    let tagged = |tag: &Option<String>| tag.clone().map(Which::Tag);
    match location {
        Location::Folder(path) => {
            Err(StoreError::Refused(format!("{} is a folder of manifests, not of images", path.display())))
        }
        Location::Layout { path, tag } => Ok((Store::Layout(Layout::open(path).await?), tagged(tag))),
        Location::Archive { path, tag } => Ok((Store::Archive(Archive::open(path).await?), tagged(tag))),
        Location::Registry(spec) => {
            let which = match (&spec.digest, &spec.tag) {
                (Some(digest), _) => Some(Which::Digest(digest.clone())),
                (None, Some(tag)) => Some(Which::Tag(tag.clone())),
                (None, None) => None,
            };
            Ok((Store::Registry(registries.repository(spec)?), which))
        }
    }
}

/// Opens the store of a location to write to it; what is missing on disk is made. Mirrors of a repository are not asked.
pub async fn create(
    location: &Location,
    registries: &Registries,
) -> Result<(Store, Option<String>), StoreError> {
    match location {
        Location::Folder(path) => {
            Err(StoreError::Refused(format!("{} is a folder of manifests, not of images", path.display())))
        }
        Location::Layout { path, tag } => Ok((Store::Layout(Layout::create(path).await?), tag.clone())),
        Location::Archive { path, tag } => Ok((Store::Archive(Archive::create(path).await?), tag.clone())),
        Location::Registry(spec) => {
            if spec.digest.is_some() {
                let text = format!("{spec}: an image is written to a repository or a tag, not to a digest");
                return Err(StoreError::Refused(text));
            }
            Ok((Store::Registry(registries.own_repository(spec)?), spec.tag.clone()))
        }
    }
}

/// A manifest that was looked for by its digest, if it is the one; it keeps that digest, whatever the algorithm.
fn checked_manifest(found: RawManifest, wanted: &Digest, store: &str) -> Result<RawManifest, StoreError> {
    if wanted.is_of(&found.bytes) {
        return Ok(RawManifest { digest: wanted.clone(), ..found });
    }
    Err(StoreError::Mismatch {
        what: format!("the manifest {wanted}"),
        store: store.to_owned(),
        why: format!("the digest calculated from the content is {}", found.digest),
    })
}

/// Makes an error of a file's error.
pub(crate) fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.display().to_string();
    move |cause| StoreError::Io { path, cause }
}

// === impl StoreError ===

impl StoreError {
    /// Whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Network { .. } => true,
            Self::Answer { status, .. } => matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// Whether what was asked for is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

// === impl Which ===

impl fmt::Display for Which {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(formatter, "the tag {tag}"),
            Self::Digest(digest) => write!(formatter, "{digest}"),
        }
    }
}
