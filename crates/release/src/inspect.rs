//! What is in a release image, what it weighs, and whether all of it is there.

pub mod changelog;
pub mod git;
mod text;
pub mod versions;
pub mod weigh;

use serde::Serialize;

use lockstep_api::names::file;
use lockstep_payload::file_name::is_manifest;
use lockstep_payload::images::ImageReferences;
use lockstep_payload::metadata::ReleaseMetadata;
use lockstep_payload::{Folder, images, metadata};

use crate::open::{OpenRelease, ReadError};

pub use text::{Columns, commit_url};
pub use versions::ComponentVersions;
pub use weigh::{ImageWeight, Mismatch};

/// A release as its image shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// Name of the release.
    pub name: String,
    /// Digest of its image, or of the list that it is in; a folder has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When the image was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// `linux/amd64`, or `multi (linux/amd64)` for one of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Pull spec by digest, for a release in a registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_spec: Option<String>,
    /// How many files of `release-manifests/` are manifests.
    pub manifests: usize,
    /// How many other files there are.
    pub metadata_files: usize,
    /// `release-metadata`.
    pub metadata: ReleaseMetadata,
    /// Versions of components, by key.
    pub versions: ComponentVersions,
    /// `image-references`.
    pub references: ImageReferences,
    /// What is strange.
    pub warnings: Vec<String>,
}

// === impl Details ===

impl Details {
    /// Looks at an opened release.
    ///
    /// # Errors
    /// When one of its two special files is missing or cannot be understood.
    pub fn of(release: &OpenRelease) -> Result<Self, ReadError> {
        let read = |name: &str| release.files.read(Folder::ReleaseManifests, name);
        let refused = |name: &str, why: &dyn std::fmt::Display| {
            ReadError::Refused(format!("{}: {}/{name}: {why}", release.name, file::RELEASE_MANIFESTS))
        };
        let metadata = metadata::read(&read(file::RELEASE_METADATA)?)
            .map_err(|error| refused(file::RELEASE_METADATA, &error))?;
        let references = images::read(&read(file::IMAGE_REFERENCES)?)
            .map_err(|error| refused(file::IMAGE_REFERENCES, &error))?;
        let names = release.files.list(Folder::ReleaseManifests)?;
        let special = [file::RELEASE_METADATA, file::IMAGE_REFERENCES];
        let manifests = names.iter().filter(|name| is_manifest(name)).count();
        let (versions, mut warnings) = versions::of(&references);
        warnings.extend(metadata.warnings.iter().cloned());
        warnings.sort();
        let image = release.image.as_ref();
        let platform = image.map(|image| {
            let own = image.config.platform.to_string();
            if image.list.is_some() { format!("multi ({own})") } else { own }
        });
        Ok(Self {
            name: metadata.version.to_string(),
            digest: image.map(|image| image.digest().to_string()),
            created: image
                .and_then(|image| image.config.created.clone())
                .or_else(|| references.creation_timestamp.clone()),
            platform,
            pull_spec: release.pull_spec().map(|spec| spec.to_string()),
            manifests,
            metadata_files: names.len()
                - manifests
                - names.iter().filter(|name| special.contains(&name.as_str())).count(),
            metadata,
            versions,
            references,
            warnings,
        })
    }
}
