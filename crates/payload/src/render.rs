//! What a bootstrap machine needs of a release image before there is a cluster.
//!
//! Three folders of the image become two: the operator's own manifests and the image policies of the release, and the
//! templates of the bootstrap machine itself.

use std::sync::Arc;

use lockstep_api::names::{file, group, kind};
use lockstep_api::{ClusterVersion, Override};
use serde_json::Value;

use crate::feature_gates::{AmbiguousGates, FeatureGates};
use crate::file_name::is_manifest;
use crate::manifest::{Folder, Manifest, ManifestError, read_file};
use crate::selection::Selection;
use crate::template::{TemplateData, TemplateError, render};
use crate::yaml::{self, YamlError};

/// Files of the operator that need a monitoring stack, which comes much later.
const SKIPPED: [&str; 3] = [
    "0000_90_cluster-version-operator_00_prometheusrole.yaml",
    "0000_90_cluster-version-operator_01_prometheusrolebinding.yaml",
    "0000_90_cluster-version-operator_02_servicemonitor.yaml",
];

/// A folder of the release image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `manifests`: the operator's own, which are templates.
    Manifests,
    /// `release-manifests`, of which only image policies are wanted.
    ReleaseManifests,
    /// `bootstrap`: templates for the machine itself.
    Bootstrap,
}

/// A file that is read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its base name.
    pub name: String,
    /// What is in it.
    pub content: Vec<u8>,
}

/// Why something could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A template cannot be rendered.
    #[error("render template {file} from {folder}: {cause}")]
    Template {
        /// Its base name.
        file: String,
        /// The folder.
        folder: &'static str,
        /// What is wrong.
        cause: TemplateError,
    },
    /// A file holds no manifests.
    #[error("parse manifest {file} from {folder}: {cause}")]
    Manifest {
        /// Its base name.
        file: String,
        /// The folder.
        folder: &'static str,
        /// What is wrong.
        cause: Box<ManifestError>,
    },
    /// A manifest on the command line is neither YAML nor JSON.
    #[error("loading {kind} manifest {file}: {cause}")]
    Syntax {
        /// What it should be.
        kind: &'static str,
        /// The file.
        file: String,
        /// What is wrong.
        cause: YamlError,
    },
    /// A manifest on the command line holds more or less than one object.
    #[error("{kind} manifest {file} contains {count} manifests, but expected only one")]
    Count {
        /// What it should be.
        kind: &'static str,
        /// The file.
        file: String,
        /// How many.
        count: usize,
    },
    /// A manifest on the command line is something else.
    #[error(
        "{kind} manifest {file} GroupVersionKind {found}, but expected {}/v1, Kind={kind}",
        group::CONFIG
    )]
    Kind {
        /// What it should be.
        kind: &'static str,
        /// The file.
        file: String,
        /// What it is.
        found: String,
    },
    /// A ClusterVersion that does not look like one.
    #[error("reading ClusterVersion manifest {file}")]
    Version {
        /// The file.
        file: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A FeatureGate for several versions.
    #[error(transparent)]
    Gates(#[from] AmbiguousGates),
}

// === impl Source ===

impl Source {
    /// All of them, in the order in which they are rendered.
    pub const ALL: [Self; 3] = [Self::Manifests, Self::ReleaseManifests, Self::Bootstrap];

    /// The name of the folder in the image.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Manifests => file::MANIFESTS,
            Self::ReleaseManifests => file::RELEASE_MANIFESTS,
            Self::Bootstrap => file::BOOTSTRAP,
        }
    }

    /// The name of the folder that is written.
    pub fn target(self) -> &'static str {
        match self {
            Self::Manifests | Self::ReleaseManifests => file::MANIFESTS,
            Self::Bootstrap => file::BOOTSTRAP,
        }
    }

    fn is_wanted(self, manifest: &Manifest) -> bool {
        let id = &manifest.id;
        let is_policy = [kind::CLUSTER_IMAGE_POLICY, kind::IMAGE_POLICY].contains(&id.kind.as_str());
        self != Self::ReleaseManifests || (id.group == group::CONFIG && is_policy)
    }
}

/// What is written for a file of the image; nothing when it is no manifest or nothing in it is wanted.
///
/// *Compatibility*: the same name, and each object as one line of JSON with `---` between them.
///
/// # Errors
/// When the file cannot be understood. Here a template for a newer operator is an error: there is no older one to wait for.
pub fn file(
    source: Source,
    input: &File,
    data: &TemplateData,
    selection: &Selection,
) -> Result<Option<File>, RenderError> {
    if !is_manifest(&input.name) || (source == Source::Manifests && SKIPPED.contains(&input.name.as_str())) {
        return Ok(None);
    }
    let (name, folder) = (&input.name, source.folder());
    let rendered = match std::str::from_utf8(&input.content) {
        Ok(text) if source != Source::ReleaseManifests => render(text, data)
            .map_err(|cause| RenderError::Template { file: name.clone(), folder, cause })?
            .into_bytes(),
        // Not text: the YAML reader has the better message.
        _ => input.content.clone(),
    };
    let manifests = read_file(Folder::Manifests, &Arc::from(name.as_str()), &rendered)
        .map_err(|cause| RenderError::Manifest { file: name.clone(), folder, cause: Box::new(cause) })?;
    let mut content = Vec::new();
    for manifest in manifests.iter().filter(|manifest| source.is_wanted(manifest)) {
        if selection.check(manifest).is_err() {
            continue;
        }
        if !content.is_empty() {
            content.extend_from_slice(b"\n---\n");
        }
        // Writing into memory cannot fail.
        let _ = manifest.write_raw(&mut content);
    }
    Ok((!content.is_empty()).then(|| File { name: name.clone(), content }))
}

/// What a ClusterVersion manifest wants to be left alone.
///
/// # Errors
/// When it is not one ClusterVersion.
pub fn overrides(path: &str, bytes: &[u8]) -> Result<Vec<Override>, RenderError> {
    let object = one(kind::CLUSTER_VERSION, path, bytes)?;
    let version: ClusterVersion = serde_json::from_value(object)
        .map_err(|source| RenderError::Version { file: path.to_owned(), source })?;
    Ok(version.spec.overrides)
}

/// Feature set and gates of a FeatureGate manifest.
///
/// # Errors
/// When it is not one FeatureGate for one version.
pub fn feature_gates(path: &str, bytes: &[u8]) -> Result<FeatureGates, RenderError> {
    Ok(FeatureGates::of_manifest(path, &one(kind::FEATURE_GATE, path, bytes)?)?)
}

/// The one object of a file, of a kind of the cluster's configuration.
fn one(kind: &'static str, path: &str, bytes: &[u8]) -> Result<Value, RenderError> {
    let file = path.to_owned();
    let documents =
        yaml::documents(bytes).map_err(|cause| RenderError::Syntax { kind, file: file.clone(), cause })?;
    let count = documents.len();
    let Ok([document]) = <[_; 1]>::try_from(documents) else {
        return Err(RenderError::Count { kind, file, count });
    };
    let object = document.value;
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    if text("apiVersion") != format!("{}/v1", group::CONFIG) || text("kind") != kind {
        let found = format!("{}, Kind={}", text("apiVersion"), text("kind"));
        return Err(RenderError::Kind { kind, file, found });
    }
    Ok(object)
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
