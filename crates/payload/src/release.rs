//! A loaded release: everything in it, before any selection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use lockstep_api::names::file;
use lockstep_api::object;

use crate::file_name::is_manifest;
use crate::files::{Files, FilesError};
use crate::hash::VersionHash;
use crate::images::{self, ImageReferences, ImagesError};
use crate::limits::MAX_RELEASE_BYTES;
use crate::manifest::{Folder, Manifest, ManifestError, read_file};
use crate::metadata::{self, MetadataError, ReleaseMetadata};
use crate::selection::{Exclusion, Selection};
use crate::template::{TemplateData, TemplateError, render};

/// A loaded release.
#[derive(Debug, Clone)]
pub struct Release {
    /// `release-metadata`.
    pub metadata: ReleaseMetadata,
    /// `image-references`.
    pub images: ImageReferences,
    /// All objects in load order: one byte-wise sort over the files of both folders.
    pub manifests: Vec<Manifest>,
    /// Files that were left out because they are templates for a newer operator.
    pub skipped: Vec<SkippedTemplate>,
}

/// A file of `manifests/` that could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTemplate {
    /// Base name of the file.
    pub file: String,
    /// Why.
    pub error: TemplateError,
}

/// What the templates of a release are rendered with.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Pull spec of the release image.
    pub release_image: String,
    /// The cluster profile.
    pub profile: String,
}

/// Why a release could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A folder or one of the two special files cannot be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// `release-metadata` is unusable.
    #[error("{release}: {}/{}: {cause}", file::RELEASE_MANIFESTS, file::RELEASE_METADATA)]
    Metadata {
        /// The release.
        release: String,
        /// What is wrong.
        cause: MetadataError,
    },
    /// `image-references` is unusable.
    #[error("{release}: {}/{}: {cause}", file::RELEASE_MANIFESTS, file::IMAGE_REFERENCES)]
    Images {
        /// The release.
        release: String,
        /// What is wrong.
        cause: ImagesError,
    },
    /// Some files hold no usable manifests; all of them are listed.
    #[error("Error loading manifests from {release}: {}", aggregate(.errors))]
    Manifests {
        /// The release.
        release: String,
        /// One entry per bad file, in file order.
        errors: Vec<FileError>,
    },
}

/// Why one file of a release could not be used. A cause is part of the text, so it is not a source of the chain.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] FilesError),
    /// It cannot be understood.
    #[error("parse {}/{file}: {cause}", .folder.as_str())]
    Parse {
        /// Folder of the file.
        folder: Folder,
        /// Base name of the file.
        file: String,
        /// What is wrong.
        cause: ManifestError,
    },
    /// It is a template that cannot be rendered by any operator.
    #[error("{}/{file}: {cause}", .folder.as_str())]
    Template {
        /// Folder of the file.
        folder: Folder,
        /// Base name of the file.
        file: String,
        /// What is wrong.
        cause: TemplateError,
    },
    /// All files together are more than a release may have.
    #[error("the files of the release have more than {MAX_RELEASE_BYTES} bytes together")]
    ReleaseTooLarge,
}

/// One error as it is; several in brackets, without repeats.
fn aggregate(errors: &[FileError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// What became of one file.
enum Parsed {
    Manifests(Vec<Manifest>),
    Skipped(TemplateError),
    Bad(FileError),
}

// === impl Release ===

impl Release {
    /// Loads a release; files are read and parsed side by side, the result does not depend on it.
    ///
    /// # Errors
    /// All bad files together, never only the first.
    pub fn load(files: &dyn Files, options: &LoadOptions) -> Result<Self, LoadError> {
        let release = files.name();
        let metadata = metadata::read(&files.read(Folder::ReleaseManifests, file::RELEASE_METADATA)?)
            .map_err(|cause| LoadError::Metadata { release: release.clone(), cause })?;
        let images = images::read(&files.read(Folder::ReleaseManifests, file::IMAGE_REFERENCES)?)
            .and_then(|images| images.require_version(&metadata.version).map(|()| images))
            .map_err(|cause| LoadError::Images { release: release.clone(), cause })?;
        let data = TemplateData {
            release_image: options.release_image.clone(),
            cluster_profile: options.profile.clone(),
            images: images.pull_specs(),
        };
        let names = file_order(files)?;
        let (mut manifests, mut skipped, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for ((_, file), parsed) in names.iter().zip(parse_all(files, &names, &data)) {
            match parsed {
                Parsed::Manifests(found) => manifests.extend(found),
                Parsed::Skipped(error) => skipped.push(SkippedTemplate { file: file.to_string(), error }),
                Parsed::Bad(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(Self { metadata, images, manifests, skipped })
        } else {
            Err(LoadError::Manifests { release, errors })
        }
    }

    /// Major version of the release, by which some objects are selected.
    pub fn major_version(&self) -> u64 {
        self.metadata.version.major
    }

    /// What a filter says about each manifest, in load order.
    pub fn decide<'a>(
        &'a self,
        selection: &'a Selection,
    ) -> impl Iterator<Item = (&'a Manifest, Result<(), Exclusion>)> {
        self.manifests.iter().map(|manifest| (manifest, selection.check(manifest)))
    }

    /// The manifests that a filter lets pass, in load order.
    pub fn selected<'a>(&'a self, selection: &'a Selection) -> impl Iterator<Item = &'a Manifest> {
        self.manifests.iter().filter(|manifest| selection.check(manifest).is_ok())
    }

    /// The hash that a ClusterVersion publishes for this selection.
    ///
    /// *Compatibility*: taken in the reference's order (all of `manifests/`, then all of `release-manifests/`) and
    /// over what its load-time filters let pass, so that the two can be compared: an object without annotations, such as
    /// a ClusterOperator of the first generation, does not count.
    pub fn version_hash(&self, selection: &Selection) -> String {
        let at_load = selection.at_load();
        let counts = |manifest: &&Manifest| object::annotations(&manifest.object).is_some();
        let mut hash = VersionHash::new();
        for folder in [Folder::Manifests, Folder::ReleaseManifests] {
            let of_folder = |manifest: &&Manifest| manifest.folder == folder;
            for manifest in self.selected(&at_load).filter(of_folder).filter(counts) {
                // Writing into a hash cannot fail.
                let _ = manifest.write_raw(&mut hash);
            }
        }
        hash.finish()
    }
}

/// All manifest files of both folders in load order.
///
/// *Compatibility*: the reference loads one folder after the other, so its own `0000_90_` files come before
/// everybody's `0000_03_`; here one sort decides.
fn file_order(files: &dyn Files) -> Result<Vec<(Folder, Arc<str>)>, FilesError> {
    let mut names = Vec::new();
    for folder in [Folder::Manifests, Folder::ReleaseManifests] {
        let listed = files.list(folder)?;
        names.extend(
            listed.into_iter().filter(|name| is_manifest(name)).map(|name| (folder, Arc::from(name))),
        );
    }
    names.sort_by(|(folder, name): &(Folder, Arc<str>), (other_folder, other)| {
        name.as_bytes().cmp(other.as_bytes()).then(folder.cmp(other_folder))
    });
    Ok(names)
}

/// Parses all files on all cores; the results stand in the order of `names`.
fn parse_all(files: &dyn Files, names: &[(Folder, Arc<str>)], data: &TemplateData) -> Vec<Parsed> {
    let next = AtomicUsize::new(0);
    let read = AtomicU64::new(0);
    let take = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        names.get(index).map(|(folder, name)| (index, parse(files, *folder, name, data, &read)))
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(names.len().max(1));
    let mut parsed: Vec<(usize, Parsed)> = thread::scope(|scope| {
        let others: Vec<_> =
            (1..workers).map(|_| scope.spawn(|| std::iter::from_fn(take).collect::<Vec<_>>())).collect();
        let mut all: Vec<_> = std::iter::from_fn(take).collect();
        for other in others {
            // A panic in a worker is a bug; it goes on in this thread, where it would have happened otherwise.
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    parsed.sort_unstable_by_key(|(index, _)| *index);
    parsed.into_iter().map(|(_, parsed)| parsed).collect()
}

/// Reads and parses one file; `read` counts the bytes of all files so far.
fn parse(
    files: &dyn Files,
    folder: Folder,
    name: &Arc<str>,
    data: &TemplateData,
    read: &AtomicU64,
) -> Parsed {
    let bytes = match files.read(folder, name) {
        Ok(bytes) => bytes,
        Err(error) => return Parsed::Bad(FileError::Read(error)),
    };
    if read.fetch_add(bytes.len() as u64, Ordering::Relaxed) > MAX_RELEASE_BYTES {
        return Parsed::Bad(FileError::ReleaseTooLarge);
    }
    let bytes = match folder {
        Folder::ReleaseManifests => bytes,
        Folder::Manifests => match std::str::from_utf8(&bytes) {
            // Not text: the YAML reader has the better message.
            Err(_) => bytes,
            Ok(text) => match render(text, data) {
                Ok(text) => text.into_bytes(),
                Err(cause @ TemplateError::TooLarge) => {
                    return Parsed::Bad(FileError::Template { folder, file: name.to_string(), cause });
                }
                Err(error) => return Parsed::Skipped(error),
            },
        },
    };
    match read_file(folder, name, &bytes) {
        Ok(manifests) => Parsed::Manifests(manifests),
        Err(cause) => Parsed::Bad(FileError::Parse { folder, file: name.to_string(), cause }),
    }
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
