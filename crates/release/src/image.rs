//! What an image is made of: descriptors, manifests, indexes and configurations, OCI and Docker schema 2.
//!
//! What comes from elsewhere is never written back from these types: [`RawManifest`] keeps the bytes.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::platform::Platform;

/// Names of formats.
pub mod media_type {
    /// An image manifest of the OCI.
    pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    /// An index of the OCI: one image for each platform.
    pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
    /// An image manifest of Docker, schema 2.
    pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
    /// A manifest list of Docker: one image for each platform.
    pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
    /// A configuration of the OCI.
    pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
    /// A configuration of Docker.
    pub const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
    /// A layer of the OCI, compressed.
    pub const OCI_LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
    /// A layer of Docker, compressed.
    pub const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";
    /// What a client can read, in the order in which the reference asks for it.
    pub const MANIFESTS: [&str; 4] = [DOCKER_LIST, OCI_INDEX, DOCKER_MANIFEST, OCI_MANIFEST];
}

/// Largest manifest that is read, in bytes; registries accept no more than 4 MiB.
pub const MAX_MANIFEST_BYTES: u64 = 4 * 1024 * 1024;
/// Largest configuration that is read, in bytes.
pub const MAX_CONFIG_BYTES: u64 = 8 * 1024 * 1024;

/// A pointer to content: what it is, its digest and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Format of the content.
    #[serde(default)]
    pub media_type: String,
    /// Size in bytes.
    pub size: u64,
    /// Digest of the content.
    pub digest: Digest,
    /// In an index: for which platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Notes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Other places where the content is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
}

/// A manifest or index exactly as it was received or made, with the digest of these bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawManifest {
    /// Its format.
    pub media_type: String,
    /// Digest of the bytes.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Bytes,
}

/// A manifest of one image, read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    /// Always 2.
    #[serde(default)]
    pub schema_version: u32,
    /// Its format, when it says so itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// The configuration.
    pub config: Descriptor,
    /// The layers, bottom first.
    #[serde(default)]
    pub layers: Vec<Descriptor>,
    /// Notes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A list of images, one for each platform, read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Always 2.
    #[serde(default)]
    pub schema_version: u32,
    /// Its format, when it says so itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// The images.
    #[serde(default)]
    pub manifests: Vec<Descriptor>,
    /// Notes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What a [`RawManifest`] holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// One image.
    Image(ImageManifest),
    /// Several, one for each platform.
    Index(Index),
}

/// The configuration of an image; only what is read, the rest stays in `raw`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImageConfig {
    /// When it was made, as written.
    pub created: Option<String>,
    /// For which system and processor.
    pub platform: Platform,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Digests of the uncompressed layers.
    pub diff_ids: Vec<String>,
    /// All of it.
    pub raw: Value,
}

/// Why bytes are no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestFormatError {
    /// Not JSON of the right shape.
    #[error("the manifest {digest} cannot be read: {why}")]
    Json {
        /// Its digest.
        digest: Digest,
        /// What is wrong.
        why: String,
    },
    /// A format that is not supported.
    #[error("the manifest {digest} has the format {media_type:?}; OCI and Docker schema 2 can be read")]
    Unsupported {
        /// Its digest.
        digest: Digest,
        /// Its format.
        media_type: String,
    },
}

// === impl RawManifest ===

impl RawManifest {
    /// Takes bytes as they are; the format is what the bytes say themselves, or else what their bringer says.
    pub fn new(bytes: impl Into<Bytes>, said: &str) -> Self {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let own = value["mediaType"].as_str().filter(|own| media_type::MANIFESTS.contains(own));
        let said = said.split(';').next().unwrap_or_default().trim();
        let media_type = match own {
            Some(own) => own,
            None if media_type::MANIFESTS.contains(&said) => said,
            None if value["manifests"].is_array() => media_type::OCI_INDEX,
            None if value["layers"].is_array() => media_type::OCI_MANIFEST,
            None => said,
        };
        Self { media_type: media_type.to_owned(), digest, bytes }
    }

    /// A manifest of our own, from a value.
    pub fn of(value: &impl Serialize, media_type: &str) -> Self {
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        Self { media_type: media_type.to_owned(), digest: Digest::of(&bytes), bytes: bytes.into() }
    }

    /// Reads it.
    pub fn content(&self) -> Result<Content, ManifestFormatError> {
        let json = |error: serde_json::Error| ManifestFormatError::Json {
            digest: self.digest.clone(),
            why: error.to_string(),
        };
        match self.media_type.as_str() {
            media_type::OCI_INDEX | media_type::DOCKER_LIST => {
                Ok(Content::Index(serde_json::from_slice(&self.bytes).map_err(json)?))
            }
            media_type::OCI_MANIFEST | media_type::DOCKER_MANIFEST => {
                Ok(Content::Image(serde_json::from_slice(&self.bytes).map_err(json)?))
            }
            other => Err(ManifestFormatError::Unsupported {
                digest: self.digest.clone(),
                media_type: other.to_owned(),
            }),
        }
    }

    /// A pointer to it.
    pub fn descriptor(&self) -> Descriptor {
        Descriptor::new(&self.media_type, self.digest.clone(), self.bytes.len() as u64)
    }

    /// Whether it lists images instead of being one.
    pub fn is_index(&self) -> bool {
        matches!(self.media_type.as_str(), media_type::OCI_INDEX | media_type::DOCKER_LIST)
    }
}

// === impl Descriptor ===

impl Descriptor {
    /// A pointer without notes.
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            size,
            digest,
            platform: None,
            annotations: BTreeMap::new(),
            urls: Vec::new(),
        }
    }
}

// === impl ImageManifest ===

impl ImageManifest {
    /// All content that the image needs beside its manifest: configuration first, then the layers, bottom first.
    pub fn blobs(&self) -> impl Iterator<Item = &Descriptor> {
        std::iter::once(&self.config).chain(&self.layers)
    }
}

// === impl ImageConfig ===

impl ImageConfig {
    /// Reads a configuration; a key that is missing is empty.
    pub fn read(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let raw: Value = serde_json::from_slice(bytes)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = raw["config"]["Labels"].as_object().into_iter().flatten();
        let labels =
            labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
        let diff_ids = raw["rootfs"]["diff_ids"].as_array().into_iter().flatten();
        Ok(Self {
            created: raw["created"].as_str().map(str::to_owned),
            platform: Platform {
                os: text(&raw["os"]),
                architecture: text(&raw["architecture"]),
                variant: text(&raw["variant"]),
            },
            labels,
            diff_ids: diff_ids.map(text).collect(),
            raw,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYER: &str = r#"{"mediaType":"x","size":3,"digest":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}"#;

    #[test]
    fn the_format_is_what_the_bytes_say_then_what_the_bringer_says_then_what_they_look_like() {
        let own = format!(r#"{{"mediaType":"{}","layers":[]}}"#, media_type::DOCKER_MANIFEST);
        assert_eq!(RawManifest::new(own, media_type::OCI_INDEX).media_type, media_type::DOCKER_MANIFEST);
        let said = RawManifest::new("{}", "application/vnd.oci.image.index.v1+json; charset=utf-8");
        assert!(said.is_index());
        assert_eq!(RawManifest::new(r#"{"layers":[]}"#, "text/plain").media_type, media_type::OCI_MANIFEST);
        assert!(RawManifest::new(r#"{"manifests":[]}"#, "").is_index());
    }

    #[test]
    fn an_image_and_an_index_are_read_and_the_rest_is_refused() {
        let image = format!(r#"{{"schemaVersion":2,"config":{LAYER},"layers":[{LAYER}],"extra":1}}"#);
        let Content::Image(image) = RawManifest::new(image, "").content().unwrap() else { unreachable!() };
        assert_eq!(image.blobs().count(), 2);
        let list = format!(
            r#"{{"manifests":[{}]}}"#,
            LAYER.replace(r#""size":3"#, r#""size":3,"platform":{"os":"linux","architecture":"arm64"}"#)
        );
        let Content::Index(list) = RawManifest::new(list, "").content().unwrap() else { unreachable!() };
        assert_eq!(list.manifests[0].platform.as_ref().unwrap().to_string(), "linux/arm64");
        let error = RawManifest::new("{}", "application/vnd.docker.distribution.manifest.v1+prettyjws");
        assert!(error.content().unwrap_err().to_string().contains("OCI and Docker schema 2"));
        let wrong = RawManifest::new(r#"{"layers":[],"config":{"size":-1}}"#, "");
        assert!(wrong.content().unwrap_err().to_string().contains("cannot be read"), "a size below zero");
    }

    #[test]
    fn labels_and_platform_come_from_the_configuration() {
        let config = ImageConfig::read(
            br#"{"os":"linux","architecture":"amd64","created":"2024-01-01T00:00:00Z","config":{"Labels":{"a":"b","n":1}},"rootfs":{"diff_ids":["sha256:x"]}}"#,
        )
        .unwrap();
        assert_eq!(config.platform.to_string(), "linux/amd64");
        assert_eq!(config.labels, BTreeMap::from([("a".to_owned(), "b".to_owned())]));
        assert_eq!(config.diff_ids, ["sha256:x"]);
        assert!(ImageConfig::read(br#"{"config":{"Labels":null}}"#).unwrap().labels.is_empty());
    }
}
