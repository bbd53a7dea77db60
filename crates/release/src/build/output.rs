//! A release that is ready: what it is called, and how it is written somewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use lockstep_api::names::file;
use lockstep_payload::{Folder, MemoryFiles};

use super::BuildError;
use super::assemble::{Payload, rfc3339};
use super::base::{Base, Bases};
use super::image::{Composed, compose, payload_layer};
use super::naming::check_name;
use crate::digest::Digest;
use crate::image::{Content, Descriptor, Index, RawManifest};
use crate::layer::Layer;
use crate::open::Image;
use crate::store::{BlobSource, Store, Which};

/// How many blobs are written side by side.
const SIDE_BY_SIDE: usize = 4;

/// A release that only has to be written.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Its files.
    pub payload: Payload,
    /// `manifests/` of its base.
    pub manifests: BTreeMap<String, Bytes>,
    /// The layer with `release-manifests/`.
    pub layer: Layer,
    image: Built,
}

#[derive(Debug, Clone)]
enum Built {
    New { images: Vec<(Base, Composed)>, list: Option<RawManifest> },
    Copy(Box<Image>),
}

// === impl Prepared ===

impl Prepared {
    /// Puts a payload on its bases.
    pub(super) fn build(payload: Payload, bases: Bases) -> Self {
        let hides = bases.all.iter().any(|base| base.foundation.holds(file::RELEASE_MANIFESTS));
        let layer = payload_layer(&payload, hides);
        let images: Vec<(Base, Composed)> = bases
            .all
            .into_iter()
            .map(|base| {
                let composed = compose(&base.foundation, &layer, &payload);
                (base, composed)
            })
            .collect();
        let list = bases.list.map(|format| {
            let entry = |(base, composed): &(Base, Composed)| Descriptor {
                platform: base.platform.clone(),
                ..composed.raw.descriptor()
            };
            let index = Index {
                schema_version: 2,
                media_type: format.list_type().to_owned(),
                manifests: images.iter().map(entry).collect(),
                annotations: BTreeMap::new(),
            };
            RawManifest::of(&index, format.list_type())
        });
        Self { payload, manifests: bases.manifests, layer, image: Built::New { images, list } }
    }

    /// An image that is taken as it is.
    pub(super) fn copy(payload: Payload, image: Image, manifests: BTreeMap<String, Bytes>) -> Self {
        let layer = payload_layer(&payload, false);
        Self { payload, manifests, layer, image: Built::Copy(Box::new(image)) }
    }

    /// The digest of the release image.
    pub fn digest(&self) -> &Digest {
        match &self.image {
            Built::New { list: Some(list), .. } => &list.digest,
            Built::New { images, .. } => images.first().map_or(&self.layer.digest, |(_, it)| &it.raw.digest),
            Built::Copy(image) => image.digest(),
        }
    }

    /// `DIGEST NAME CREATED`, which is what scripts read.
    pub fn line(&self) -> String {
        format!("{} {} {}", self.digest(), self.payload.name, rfc3339(self.payload.created))
    }

    /// The files as a release, to be linted.
    pub fn files(&self) -> MemoryFiles {
        let mut files = MemoryFiles::new(format!("release {}", self.payload.name));
        for (name, bytes) in self.release_manifests() {
            files = files.with(Folder::ReleaseManifests, name, bytes.to_vec());
        }
        for (name, bytes) in &self.manifests {
            files = files.with(Folder::Manifests, name.clone(), bytes.to_vec());
        }
        files
    }

    /// All files of `release-manifests/`.
    fn release_manifests(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        let special = [
            (file::IMAGE_REFERENCES, &self.payload.image_references),
            (file::RELEASE_METADATA, &self.payload.release_metadata),
        ];
        special.into_iter().chain(self.payload.files.iter().map(|it| (it.name.as_str(), &it.bytes)))
    }

    /// Writes the release image under a tag: blobs first, then manifests, the tag last.
    pub async fn write(&self, store: &Store, tag: &str) -> Result<(), BuildError> {
        match &self.image {
            Built::Copy(image) => copy(image, store, tag).await,
            Built::New { images, list } => {
                for (base, composed) in images {
                    let sources = |blob: &Descriptor| self.source(base, composed, blob);
                    write_blobs(store, composed.manifest.blobs(), sources).await?;
                    let tag = list.is_none().then_some(tag);
                    store.write_manifest(tag, &composed.raw).await?;
                }
                if let Some(list) = list {
                    store.write_manifest(Some(tag), list).await?;
                }
                Ok(())
            }
        }
    }

    fn source(&self, base: &Base, composed: &Composed, blob: &Descriptor) -> Option<BlobSource> {
        if blob.digest == composed.manifest.config.digest {
            return Some(BlobSource::memory(composed.config.clone()));
        }
        let ours = base.own.iter().chain([&self.layer]).find(|layer| layer.digest == blob.digest);
        ours.map(|layer| BlobSource::memory(layer.bytes.clone()))
            .or_else(|| base.store.clone().map(BlobSource::store))
    }

    /// Writes a release folder: `release-manifests/` and `manifests/`.
    pub fn write_folder(&self, root: &Path) -> Result<(), BuildError> {
        make_empty(root)?;
        self.write_files(&root.join(file::RELEASE_MANIFESTS))?;
        let own = root.join(file::MANIFESTS);
        fs::create_dir_all(&own).map_err(|error| failed(&own, &error))?;
        for (name, bytes) in &self.manifests {
            write_file(&own, name, bytes, self.payload.created)?;
        }
        Ok(())
    }

    /// Writes the files of `release-manifests/` into a folder.
    pub fn write_files(&self, folder: &Path) -> Result<(), BuildError> {
        make_empty(folder)?;
        let modified: BTreeMap<&str, u64> =
            self.payload.files.iter().map(|it| (it.name.as_str(), it.modified)).collect();
        for (name, bytes) in self.release_manifests() {
            let modified = modified.get(name).copied().unwrap_or(self.payload.newest);
            write_file(folder, name, bytes, modified)?;
        }
        Ok(())
    }
}

/// Writes the blobs of an image, each from whoever has it.
pub(super) async fn write_blobs<'a>(
    store: &Store,
    blobs: impl Iterator<Item = &'a Descriptor>,
    source: impl Fn(&Descriptor) -> Option<BlobSource>,
) -> Result<(), BuildError> {
    let blobs: Vec<(Descriptor, BlobSource)> = blobs
        .map(|blob| {
            let lost = || BuildError::Refused(format!("nobody has the blob {}", blob.digest));
            Ok((blob.clone(), source(blob).ok_or_else(lost)?))
        })
        .collect::<Result<_, BuildError>>()?;
    stream::iter(blobs)
        .map(|(blob, source)| async move { store.write_blob(&blob, &source).await })
        .buffer_unordered(SIDE_BY_SIDE)
        .try_collect::<Vec<bool>>()
        .await?;
    Ok(())
}

/// Copies an image, or a list with everything in it.
async fn copy(image: &Image, store: &Store, tag: &str) -> Result<(), BuildError> {
    let root = image.list.as_ref().unwrap_or(&image.raw);
    let mut manifests = Vec::new();
    match root.content().map_err(crate::store::StoreError::from)? {
        Content::Image(manifest) => manifests.push((root.clone(), manifest)),
        Content::Index(index) => {
            for entry in &index.manifests {
                let raw = image.store.manifest(&Which::Digest(entry.digest.clone())).await?;
                match raw.content().map_err(crate::store::StoreError::from)? {
                    Content::Image(manifest) => manifests.push((raw, manifest)),
                    Content::Index(_) => {
                        let why = format!("{}: a list in a list cannot be copied", raw.digest);
                        return Err(BuildError::Refused(why));
                    }
                }
            }
        }
    }
    for (raw, manifest) in &manifests {
        let source = |_: &Descriptor| Some(BlobSource::store(image.store.clone()));
        write_blobs(store, manifest.blobs(), source).await?;
        if raw.digest != root.digest {
            store.write_manifest(None, raw).await?;
        }
    }
    Ok(store.write_manifest(Some(tag), root).await?)
}

/// Makes a folder; one with something in it is left alone.
fn make_empty(folder: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    if entries.next().is_some() {
        let why = format!("{} is not empty; nothing was written", folder.display());
        return Err(BuildError::Refused(why));
    }
    Ok(())
}

fn write_file(folder: &Path, name: &str, bytes: &[u8], modified: u64) -> Result<(), BuildError> {
    check_name(name).map_err(BuildError::Refused)?;
    let path = folder.join(name);
    fs::write(&path, bytes).map_err(|error| failed(&path, &error))?;
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(modified);
    let file = fs::File::options().write(true).open(&path).map_err(|error| failed(&path, &error))?;
    file.set_modified(time).map_err(|error| failed(&path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> BuildError {
    BuildError::Refused(format!("{}: {error}", path.display()))
}
