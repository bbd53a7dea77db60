//! A folder for one test, component images in a layout, and the command in both.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lockstep_release::image::media_type;
use lockstep_release::layer::LayerWriter;
use lockstep_release::open::{self, OpenRelease, Wanted};
use lockstep_release::store::{Access, Layout, Registries};
use lockstep_release::{BlobSource, Descriptor, Digest, Location, PlatformFilter, RawManifest, Store};
use lockstep_tests::cli::{Run, lockstep};
use serde_json::{Value, json};

pub(crate) const MANIFEST: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\n";

/// A folder that vanishes.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
}

/// An image for a layout.
pub(crate) struct Image<'a> {
    pub(crate) labels: Value,
    /// Layers, bottom first: paths and contents.
    pub(crate) layers: Vec<Vec<(&'a str, &'a str)>>,
    pub(crate) is_docker: bool,
    pub(crate) architecture: &'a str,
}

// === impl Stage ===

impl Stage {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.root().join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// The names in a compressed tar.
    pub(crate) fn tar_names(&self, name: &str) -> Vec<String> {
        let output =
            std::process::Command::new("tar").arg("-tzf").arg(self.root().join(name)).output().unwrap();
        assert!(output.status.success());
        let names = String::from_utf8(output.stdout).unwrap();
        names.lines().map(|name| name.trim_end_matches('/').to_owned()).collect()
    }

    /// Puts an image into the layout `images` under a tag; gives its digest.
    pub(crate) async fn image(&self, tag: Option<&str>, image: &Image<'_>) -> Descriptor {
        let store = Store::Layout(Layout::create(&self.root().join("images")).await.unwrap());
        let (manifest_type, config_type, layer_type) = if image.is_docker {
            (media_type::DOCKER_MANIFEST, media_type::DOCKER_CONFIG, media_type::DOCKER_LAYER)
        } else {
            (media_type::OCI_MANIFEST, media_type::OCI_CONFIG, media_type::OCI_LAYER)
        };
        let (mut layers, mut diff_ids) = (Vec::new(), Vec::new());
        for files in &image.layers {
            let mut writer = LayerWriter::new();
            for (path, content) in files {
                writer.file(path, 0o644, 1_700_000_000, content.as_bytes());
            }
            let layer = writer.finish();
            let descriptor = Descriptor::new(layer_type, layer.digest.clone(), layer.bytes.len() as u64);
            store.write_blob(&descriptor, &BlobSource::memory(layer.bytes)).await.unwrap();
            layers.push(descriptor);
            diff_ids.push(layer.diff_id);
        }
        let config = json!({"os": "linux", "architecture": image.architecture, "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "config": {"Entrypoint": ["/usr/bin/run"], "Labels": image.labels}});
        let config = serde_json::to_vec(&config).unwrap();
        let descriptor = Descriptor::new(config_type, Digest::of(&config), config.len() as u64);
        store.write_blob(&descriptor, &BlobSource::memory(config)).await.unwrap();
        let manifest =
            json!({"schemaVersion": 2, "mediaType": manifest_type, "config": descriptor, "layers": layers});
        let raw = RawManifest::of(&manifest, manifest_type);
        store.write_manifest(tag, &raw).await.unwrap();
        raw.descriptor()
    }

    /// Puts a list of images into the layout `images`.
    pub(crate) async fn list(&self, tag: &str, images: &[(Descriptor, &str)]) -> Digest {
        let store = Store::Layout(Layout::open(&self.root().join("images")).await.unwrap());
        let entry = |(image, architecture): &(Descriptor, &str)| {
            let mut entry = json!(image);
            entry["platform"] = json!({"os": "linux", "architecture": architecture});
            entry
        };
        let entries: Vec<Value> = images.iter().map(entry).collect();
        let list = json!({"schemaVersion": 2, "mediaType": media_type::DOCKER_LIST, "manifests": entries});
        let raw = RawManifest::of(&list, media_type::DOCKER_LIST);
        store.write_manifest(Some(tag), &raw).await.unwrap();
        raw.digest
    }

    /// Opens a release that was written.
    pub(crate) async fn open(&self, location: &str) -> OpenRelease {
        let registries = Registries::new(Access::default()).unwrap();
        let location = Location::parse(location).unwrap();
        let any = PlatformFilter::parse("").unwrap();
        open::release(&location, &registries, &any, Wanted::Everything).await.unwrap()
    }
}

/// Runs `release new`.
pub(crate) fn new_release(arguments: &[&str]) -> Run {
    lockstep(&[&["release", "new"], arguments].concat())
}

/// Builds the four operators of the corpus.
pub(crate) fn operators(corpus: &Path, more: &[&str]) -> Run {
    let (folder, images) = (corpus.join("operators"), corpus.join("operators-expected/images.json"));
    let (folder, images) = (folder.display().to_string(), images.display().to_string());
    let arguments =
        ["--from-dir", &folder, "--mapping-file", &images, "--component-versions", "kubernetes=1.36.2"];
    new_release(&[&arguments[..], &["--base", "none", "--lint", "off"], more].concat())
}

/// An image that brings manifests.
pub(crate) fn operator<'a>(files: &[(&'a str, &'a str)]) -> Image<'a> {
    Image {
        labels: json!({"io.openshift.release.operator": "true", "io.openshift.build.commit.id": "abc"}),
        layers: vec![vec![("usr/bin/run", "#!/bin/sh")], files.to_vec()],
        is_docker: false,
        architecture: "amd64",
    }
}

/// `image-references` with these tags and images.
pub(crate) fn references(tags: &[(&str, String)]) -> String {
    let tag = |(name, image): &(&str, String)| {
        format!("  - name: {name}\n    from:\n      kind: DockerImage\n      Name: {image}\n")
    };
    let tags: String = tags.iter().map(tag).collect();
    format!("kind: ImageStream\napiVersion: image.openshift.io/v1\nspec:\n  tags:\n{tags}")
}

/// All files of a folder and of the folders in it, by relative path.
pub(crate) fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let relative = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(relative);
            } else {
                found.insert(relative.display().to_string(), fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}
