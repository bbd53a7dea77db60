//! The release image: configuration and manifest on top of a base. Pure.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use lockstep_api::names::{annotation, file, label};

use super::assemble::{Payload, rfc3339};
use crate::digest::Digest;
use crate::image::{Descriptor, ImageManifest, RawManifest, media_type};
use crate::layer::{Layer, LayerWriter};

/// The file that hides what layers below have in its folder.
const OPAQUE: &str = ".wh..wh..opq";
/// Permissions of files in the layer.
const FILE_MODE: u32 = 0o444;
/// Permissions of folders in the layer.
const FOLDER_MODE: u32 = 0o777;

/// Which of the two formats an image has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// That of the OCI.
    Oci,
    /// Docker, schema 2.
    Docker,
}

/// What a release image stands on.
#[derive(Debug, Clone)]
pub struct Foundation {
    /// Its format, which is that of the release image.
    pub format: Format,
    /// Its layers, bottom first, marked with what they hold.
    pub layers: Vec<Descriptor>,
    /// Digests of the uncompressed layers.
    pub diff_ids: Vec<String>,
    /// Its configuration.
    pub config: Value,
    /// Digest of its manifest, which becomes a label.
    pub digest: Option<String>,
}

/// A composed image.
#[derive(Debug, Clone)]
pub struct Composed {
    /// Bytes of the configuration.
    pub config: Bytes,
    /// The manifest.
    pub raw: RawManifest,
    /// The manifest, read.
    pub manifest: ImageManifest,
}

/// Writes the layer with `release-manifests/`; `hides` when a layer below has such a folder too.
pub fn payload_layer(payload: &Payload, hides: bool) -> Layer {
    let folder = file::RELEASE_MANIFESTS;
    let mut layer = LayerWriter::new();
    layer.directory(folder, FOLDER_MODE, payload.newest);
    if hides {
        layer.file(&format!("{folder}/{OPAQUE}"), FILE_MODE, payload.newest, b"");
    }
    let path = |name: &str| format!("{folder}/{name}");
    layer.file(&path(file::IMAGE_REFERENCES), FILE_MODE, payload.newest, &payload.image_references);
    layer.file(&path(file::RELEASE_METADATA), FILE_MODE, payload.newest, &payload.release_metadata);
    for it in &payload.files {
        layer.file(&path(&it.name), FILE_MODE, it.modified, &it.bytes);
    }
    layer.finish()
}

/// Writes a layer with `manifests/`.
pub fn manifests_layer<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>, modified: u64) -> Layer {
    let mut layer = LayerWriter::new();
    layer.directory(file::MANIFESTS, FOLDER_MODE, modified);
    for (name, bytes) in files {
        layer.file(&format!("{}/{name}", file::MANIFESTS), FILE_MODE, modified, bytes);
    }
    layer.finish()
}

/// Puts a layer with the payload on a base.
pub fn compose(base: &Foundation, layer: &Layer, payload: &Payload) -> Composed {
    let (manifest_type, config_type) = base.format.types();
    let mut layers = base.layers.clone();
    layers.push(base.format.layer(layer, file::RELEASE_MANIFESTS));
    let config = serde_json::to_vec(&config(base, layer, payload, &layers)).unwrap_or_default();
    let manifest = ImageManifest {
        schema_version: 2,
        media_type: manifest_type.to_owned(),
        config: Descriptor::new(config_type, Digest::of(&config), config.len() as u64),
        layers,
        annotations: std::collections::BTreeMap::new(),
    };
    Composed { config: config.into(), raw: RawManifest::of(&manifest, manifest_type), manifest }
}

/// The configuration: the base's, with the labels and the history of a release.
fn config(base: &Foundation, layer: &Layer, payload: &Payload, layers: &[Descriptor]) -> Value {
    let mut config = base.config.as_object().cloned().unwrap_or_default();
    let created = rfc3339(payload.created);
    for (key, otherwise) in [("os", "linux"), ("architecture", "amd64")] {
        if config.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() {
            config.insert(key.to_owned(), otherwise.into());
        }
    }
    for key in ["container", "parent", "container_config", "id", "size"] {
        config.remove(key);
    }
    if base.format == Format::Docker {
        let size = layers.iter().map(|layer| layer.size).fold(0, u64::saturating_add);
        config.insert("container_config".to_owned(), json!({}));
        config.insert("id".to_owned(), "".into());
        config.insert("size".to_owned(), size.into());
    }
    let mut labels = Map::new();
    labels.insert(label::IMAGE_RELEASE.to_owned(), payload.name.as_str().into());
    if let Some(digest) = &base.digest {
        labels.insert(label::IMAGE_RELEASE_BASE_DIGEST.to_owned(), digest.as_str().into());
    }
    let inner = config.entry("config").or_insert_with(|| json!({}));
    if !inner.is_object() {
        *inner = json!({});
    }
    inner["Labels"] = labels.into();
    let mut history = vec![json!({"created": created, "comment": "Release image"})];
    history.resize(layers.len().max(1), json!({"created": created}));
    let diff_ids: Vec<&str> =
        base.diff_ids.iter().map(String::as_str).chain([layer.diff_id.as_str()]).collect();
    config.insert("rootfs".to_owned(), json!({"type": "layers", "diff_ids": diff_ids}));
    config.insert("history".to_owned(), history.into());
    config.insert("created".to_owned(), created.into());
    config.into()
}

// === impl Format ===

impl Format {
    /// The format of a manifest.
    pub fn of(media_type: &str) -> Self {
        match media_type {
            media_type::DOCKER_MANIFEST | media_type::DOCKER_LIST => Self::Docker,
            _ => Self::Oci,
        }
    }

    /// The types of manifest and configuration in this format.
    pub fn types(self) -> (&'static str, &'static str) {
        match self {
            Self::Oci => (media_type::OCI_MANIFEST, media_type::OCI_CONFIG),
            Self::Docker => (media_type::DOCKER_MANIFEST, media_type::DOCKER_CONFIG),
        }
    }

    /// The format of a list in this format.
    pub fn list_type(self) -> &'static str {
        match self {
            Self::Oci => media_type::OCI_INDEX,
            Self::Docker => media_type::DOCKER_LIST,
        }
    }

    /// The descriptor of a layer of ours, marked with what it holds.
    pub fn layer(self, layer: &Layer, holds: &str) -> Descriptor {
        let media_type = match self {
            Self::Oci => media_type::OCI_LAYER,
            Self::Docker => media_type::DOCKER_LAYER,
        };
        let mut descriptor = Descriptor::new(media_type, layer.digest.clone(), layer.bytes.len() as u64);
        descriptor.annotations.insert(annotation::HOLDS.to_owned(), holds.to_owned());
        descriptor
    }
}

// === impl Foundation ===

impl Foundation {
    /// Nothing below.
    pub fn nothing() -> Self {
        Self {
            format: Format::Oci,
            layers: Vec::new(),
            diff_ids: Vec::new(),
            config: json!({}),
            digest: None,
        }
    }

    /// Puts a layer of ours on it.
    #[must_use]
    pub fn with_layer(mut self, layer: &Layer, holds: &str) -> Self {
        self.layers.push(self.format.layer(layer, holds));
        self.diff_ids.push(layer.diff_id.to_string());
        self
    }

    /// Whether a layer holds a folder.
    pub fn holds(&self, folder: &str) -> bool {
        let of = |layer: &Descriptor| layer.annotations.get(annotation::HOLDS).cloned().unwrap_or_default();
        self.layers.iter().any(|layer| of(layer).split(',').any(|name| name == folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ImageConfig;

    fn payload() -> Payload {
        let file = super::super::assemble::PayloadFile {
            name: "0000_50_a.yaml".into(),
            bytes: "a: 1\n".into(),
            modified: 9,
        };
        Payload {
            name: "1.2.3".to_owned(),
            created: 60,
            image_references: "{}".into(),
            release_metadata: "{}".into(),
            files: vec![file],
            newest: 9,
            ..Payload::default()
        }
    }

    fn docker_base() -> Foundation {
        let config = json!({"os": "linux", "architecture": "arm64", "parent": "x", "container": "y", "size": 1,
            "config": {"Entrypoint": ["/cvo"], "Labels": {"old": "1"}}, "history": [1, 2, 3], "author": "a"});
        let layer = Descriptor::new("strange/layer", Digest::of(b"base"), 4);
        Foundation {
            format: Format::Docker,
            layers: vec![layer],
            diff_ids: vec!["sha256:base".to_owned()],
            config,
            digest: Some("sha256:manifest".to_owned()),
        }
    }

    #[test]
    fn the_configuration_is_the_bases_with_new_labels_history_and_time() {
        let payload = payload();
        let layer = payload_layer(&payload, false);
        let composed = compose(&docker_base(), &layer, &payload);
        let config: Value = serde_json::from_slice(&composed.config).unwrap();
        assert_eq!(config["config"]["Entrypoint"], json!(["/cvo"]));
        let labels = json!({"io.openshift.release": "1.2.3", "io.openshift.release.base-image-digest": "sha256:manifest"});
        assert_eq!(config["config"]["Labels"], labels);
        assert_eq!(config["architecture"], "arm64");
        assert_eq!(config["created"], "1970-01-01T00:01:00Z");
        assert_eq!(config["history"].as_array().unwrap().len(), 2);
        assert_eq!((&config["container_config"], &config["id"]), (&json!({}), &json!("")));
        assert_eq!(config["size"], 4 + layer.bytes.len());
        assert!(config.get("parent").is_none() && config.get("container").is_none());
        let read = ImageConfig::read(&composed.config).unwrap();
        assert_eq!(read.diff_ids, ["sha256:base", layer.diff_id.as_str()]);
        assert_eq!(composed.raw.media_type, media_type::DOCKER_MANIFEST);
        assert_eq!(composed.manifest.layers[0].media_type, "strange/layer");
        assert_eq!(composed.manifest.layers[1].media_type, media_type::DOCKER_LAYER);
        assert_eq!(composed.manifest.layers[1].annotations[annotation::HOLDS], "release-manifests");
    }

    #[test]
    fn without_a_base_it_is_an_oci_image_for_linux_of_one_layer() {
        let payload = payload();
        let layer = payload_layer(&payload, false);
        let one = compose(&Foundation::nothing(), &layer, &payload);
        assert_eq!(one.raw, compose(&Foundation::nothing(), &layer, &payload).raw);
        let config: Value = serde_json::from_slice(&one.config).unwrap();
        assert_eq!((&config["os"], &config["architecture"]), (&json!("linux"), &json!("amd64")));
        assert_eq!(config["config"]["Labels"], json!({"io.openshift.release": "1.2.3"}));
        assert!(config.get("container_config").is_none());
        assert_eq!(one.raw.media_type, media_type::OCI_MANIFEST);
        assert_eq!(one.manifest.layers.len(), 1);
    }

    #[test]
    fn a_layer_on_another_payload_hides_it() {
        let payload = payload();
        let plain = payload_layer(&payload, false);
        let hiding = payload_layer(&payload, true);
        assert_ne!(plain.digest, hiding.digest);
        let below = Foundation::nothing().with_layer(&plain, file::RELEASE_MANIFESTS);
        assert!(below.holds(file::RELEASE_MANIFESTS) && !below.holds(file::MANIFESTS));
    }
}
