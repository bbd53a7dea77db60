//! A registry of its own for each test, and images to write to it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::StreamExt as _;
use lockstep_release::image::{ImageManifest, media_type};
use lockstep_release::layer::LayerWriter;
use lockstep_release::store::{Blob, Registries};
use lockstep_release::{Access, BlobSource, Descriptor, Digest, PullSpec, RawManifest, Store, StoreError};
use serde_json::json;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use xtask::registry::{Options, Registry};

/// A registry, and a folder with credentials.
pub(crate) struct Stage {
    pub(crate) registry: Registry,
    pub(crate) folder: tempfile::TempDir,
    /// Plain HTTP, without credentials; one for all stores, or nothing could be mounted.
    shared: Registries,
}

/// An image that can be written.
pub(crate) struct Image {
    pub(crate) manifest: RawManifest,
    pub(crate) blobs: Vec<(Descriptor, Bytes)>,
}

// === impl Stage ===

impl Stage {
    pub(crate) fn start() -> Self {
        Self::with(&Options::default())
    }

    pub(crate) fn with(options: &Options) -> Self {
        let folder = tempfile::tempdir().expect("the stage is set");
        // No credentials of whoever runs the suite.
        std::fs::write(folder.path().join("auth.json"), "{}").expect("the stage is set");
        let shared = registries(folder.path(), |_| {});
        Self { registry: Registry::start(options).expect("the stage is set"), folder, shared }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.registry.address()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Registries over plain HTTP, without credentials.
    pub(crate) fn registries(&self) -> Registries {
        self.registries_with(|_| {})
    }

    pub(crate) fn registries_with(&self, change: impl FnOnce(&mut Access)) -> Registries {
        registries(self.folder.path(), change)
    }

    pub(crate) fn store(&self, name: &str) -> Store {
        self.store_at(self.address(), name)
    }

    pub(crate) fn store_at(&self, address: SocketAddr, name: &str) -> Store {
        repository(&self.shared, address, name)
    }
}

/// Registries over plain HTTP with the credentials of `auth.json` in a folder.
pub(crate) fn registries(folder: &Path, change: impl FnOnce(&mut Access)) -> Registries {
    let _ = default_provider().install_default();
    let mut access =
        Access { registry_config: Some(folder.join("auth.json")), plain_http: true, ..Access::default() };
    change(&mut access);
    Registries::new(access).expect("the stage is set")
}

pub(crate) fn repository(registries: &Registries, address: SocketAddr, name: &str) -> Store {
    repository_of(registries, &format!("{address}/{name}"))
}

pub(crate) fn repository_of(registries: &Registries, spec: &str) -> Store {
    Store::Registry(
        registries.repository(&PullSpec::parse(spec).expect("the stage is set")).expect("the stage is set"),
    )
}

// === impl Image ===

impl Image {
    /// Writes all of it and says how many blobs were moved.
    pub(crate) async fn write(&self, store: &Store, tag: &str) -> usize {
        let mut moved = 0;
        for (descriptor, bytes) in &self.blobs {
            let source = BlobSource::memory(bytes.clone());
            moved += usize::from(store.write_blob(descriptor, &source).await.expect("the stage is set"));
        }
        store.write_manifest(Some(tag), &self.manifest).await.expect("the stage is set");
        store.finish().await.expect("the stage is set");
        moved
    }

    /// Reads all of it back.
    pub(crate) async fn check(&self, store: &Store) {
        for (descriptor, bytes) in &self.blobs {
            assert_eq!(
                store.blob_size(&descriptor.digest).await.expect("the stage is set"),
                Some(bytes.len() as u64)
            );
            let read =
                all(BlobSource::store(store.clone()).checked(descriptor)).await.expect("the stage is set");
            assert!(read == *bytes, "{}", descriptor.digest);
            let from = bytes.len() - 3;
            let end = all(store.read_blob(descriptor, from as u64).await.expect("the stage is set"))
                .await
                .expect("the stage is set");
            assert_eq!(end, bytes[from..]);
        }
    }
}

/// A configuration of few bytes, a layer of some and one of three megabytes; what is in them depends on the seed.
pub(crate) fn an_image(seed: u64) -> Image {
    let layers = [(1, 50_000), (2, 3_000_000)].map(|(number, length)| {
        let mut layer = LayerWriter::new();
        layer.file(&format!("file-{number}"), 0o644, 0, &content(seed * 10 + number, length));
        layer.finish()
    });
    let config = json!({
        "os": "linux", "architecture": "amd64", "created": "2024-01-01T00:00:00Z",
        "config": {"Labels": {"seed": seed.to_string()}},
        "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| &layer.diff_id).collect::<Vec<_>>()},
    });
    let config = Bytes::from(config.to_string());
    let described =
        |format: &str, bytes: &Bytes| Descriptor::new(format, Digest::of(bytes), bytes.len() as u64);
    let config = (described(media_type::OCI_CONFIG, &config), config);
    let layers: Vec<_> =
        layers.map(|layer| (described(media_type::OCI_LAYER, &layer.bytes), layer.bytes)).into();
    let manifest = ImageManifest {
        schema_version: 2,
        media_type: media_type::OCI_MANIFEST.to_owned(),
        config: config.0.clone(),
        layers: layers.iter().map(|(descriptor, _)| descriptor.clone()).collect(),
        annotations: std::collections::BTreeMap::new(),
    };
    let manifest = RawManifest::of(&manifest, media_type::OCI_MANIFEST);
    Image { manifest, blobs: [vec![config], layers].concat() }
}

/// Bytes that cannot be compressed.
pub(crate) fn content(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(length).collect()
}

pub(crate) fn blob(bytes: &[u8]) -> Descriptor {
    Descriptor::new("x", Digest::of(bytes), bytes.len() as u64)
}

pub(crate) async fn all(mut stream: Blob) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}
