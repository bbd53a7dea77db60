//! Releases in OCI layouts, made by a suite.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use lockstep_release::extract::patch::{RELEASE_ARCHITECTURE, RELEASE_IMAGE, RELEASE_VERSION, Replacement};
use lockstep_release::image::{ImageManifest, media_type};
use lockstep_release::layer::LayerWriter;
use lockstep_release::store::Layout;
use lockstep_release::{BlobSource, Descriptor, Digest, RawManifest, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::root;

/// The release that is in the layout.
pub const EXAMPLE: &str = "examples/releases/1.0.0";
/// The tag that it has there.
pub const TAG: &str = "1.0.0";

/// All files of a folder with their content.
///
/// # Panics
/// When they cannot be read.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap())).collect()
}

/// Files of an image, by path.
pub type Content = BTreeMap<String, Vec<u8>>;

/// Writes a blob and gives the pointer to it.
///
/// # Panics
/// When it cannot be written.
pub async fn write_blob(store: &Store, media_type: &str, bytes: impl Into<Bytes>) -> Descriptor {
    let bytes = bytes.into();
    let blob = Descriptor::new(media_type, Digest::of(&bytes), bytes.len() as u64);
    store.write_blob(&blob, &BlobSource::memory(bytes)).await.unwrap();
    blob
}

/// Writes an image with one layer for each content, bottom first, and gives its digest.
///
/// # Panics
/// When it cannot be written.
pub async fn write_image(store: &Store, tag: Option<&str>, layers: &[Content], labels: &Value) -> Digest {
    let mut descriptors = Vec::new();
    let mut diff_ids = Vec::new();
    for content in layers {
        let mut writer = LayerWriter::new();
        for (path, bytes) in content {
            writer.file(path, 0o755, 7, bytes);
        }
        let layer = writer.finish();
        descriptors.push(write_blob(store, media_type::OCI_LAYER, layer.bytes).await);
        diff_ids.push(layer.diff_id);
    }
    write_image_of(store, tag, descriptors, &diff_ids, labels).await
}

/// Writes an image of layers that are there, bottom first, and gives its digest.
///
/// # Panics
/// When it cannot be written.
pub async fn write_image_of(
    store: &Store,
    tag: Option<&str>,
    layers: Vec<Descriptor>,
    diff_ids: &[Digest],
    labels: &Value,
) -> Digest {
    let config = json!({"os": "linux", "architecture": "amd64", "created": "2024-01-02T03:04:05Z",
        "config": {"Labels": labels}, "rootfs": {"type": "layers", "diff_ids": diff_ids}});
    let config = write_blob(store, media_type::OCI_CONFIG, config.to_string()).await;
    let manifest = ImageManifest {
        schema_version: 2,
        media_type: media_type::OCI_MANIFEST.to_owned(),
        config,
        layers,
        annotations: BTreeMap::new(),
    };
    let raw = RawManifest::of(&manifest, media_type::OCI_MANIFEST);
    store.write_manifest(tag, &raw).await.unwrap();
    raw.digest
}

/// Programs that can be told about their release, by path.
pub fn programs(paths: &[&str]) -> Content {
    let program = |name: &str| {
        let markers = [RELEASE_IMAGE, RELEASE_VERSION, RELEASE_ARCHITECTURE];
        let mut bytes = name.as_bytes().to_vec();
        bytes.extend(markers.iter().flat_map(|marker| Replacement::of(*marker, "").marker));
        bytes
    };
    paths.iter().map(|path| ((*path).to_owned(), program(path))).collect()
}

/// Writes the example release, with its tag, and images of some of its components, whose tags are added.
///
/// # Panics
/// When it cannot be written.
pub async fn write_release(store: &Store, repository: &str, images: &[(&str, Vec<Content>)]) {
    let mut tags = Vec::new();
    for (name, layers) in images {
        let digest = write_image(store, None, layers, &json!({})).await;
        let spec = format!("{repository}@{digest}");
        tags.push(json!({"name": name, "from": {"kind": "DockerImage", "name": spec}}));
    }
    let mut content = Content::new();
    for (name, bytes) in files(&root().join(EXAMPLE).join("release-manifests")) {
        content.insert(format!("release-manifests/{name}"), bytes);
    }
    let mut references: Value =
        serde_json::from_slice(&content["release-manifests/image-references"]).unwrap();
    let own = |tag: &Value| tags.iter().any(|other| other["name"] == tag["name"]);
    let mut all: Vec<Value> =
        references["spec"]["tags"].as_array().unwrap().iter().filter(|tag| !own(tag)).cloned().collect();
    all.extend(tags.iter().cloned());
    references["spec"]["tags"] = Value::Array(all);
    content.insert("release-manifests/image-references".to_owned(), references.to_string().into_bytes());
    let base = Content::from([("etc/base".to_owned(), vec![1; 4096])]);
    write_image(store, Some(TAG), &[base, content], &json!({"io.openshift.release": TAG})).await;
}

/// A layout with the example release and images of some of its components.
///
/// # Panics
/// When it cannot be written.
pub fn a_layout_of(images: &[(&str, Vec<Content>)]) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::Layout(Layout::create(&path).await.unwrap());
        write_release(&store, "registry.example.com/images", images).await;
    });
    let location = format!("oci:{}:{TAG}", path.display());
    (folder, location)
}

/// The same with the images of three components.
pub fn a_layout() -> (TempDir, String) {
    let artifacts = [
        "usr/share/openshift/mac/oc",
        "usr/share/openshift/mac_arm64/oc",
        "usr/share/openshift/linux_arm64/oc",
        "usr/share/openshift/linux_ppc64le/oc",
        "usr/share/openshift/linux_amd64/oc.rhel9",
        "usr/share/openshift/windows/oc.exe",
    ];
    a_layout_of(&[
        ("cli", vec![programs(&["usr/bin/oc"])]),
        ("cli-artifacts", vec![programs(&artifacts)]),
        ("installer", vec![programs(&["usr/bin/openshift-install"])]),
    ])
}
