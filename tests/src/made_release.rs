//! A small release with images of random bytes: shared base layers, manifest lists that share an image, two names for one
//! image, signatures.

use std::collections::BTreeMap;

use bytes::Bytes;
use lockstep_api::names::{annotation, file, label};
use lockstep_lab::Rng;
use lockstep_release::image::media_type;
use lockstep_release::layer::LayerWriter;
use lockstep_release::{BlobSource, Descriptor, Digest, RawManifest, Store, StoreError};
use serde_json::{Value, json};

/// The image that is a list; another list has one of its images.
const LIST: u64 = 3;
/// The image that has a second name.
const TWIN: u64 = 4;

/// What kind of release is made; the same recipe gives the same bytes.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Its version.
    pub version: String,
    /// The repository that its pull specs name.
    pub repository: String,
    /// How many images it has.
    pub images: u64,
    /// How many of them differ from those of a release with another version.
    pub own_images: u64,
    /// Least and most bytes of a layer.
    pub layer: (u64, u64),
    /// Layers that several images share.
    pub bases: u64,
    /// The seed of all content.
    pub seed: u64,
}

/// A release that was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its version.
    pub version: String,
    /// Digest of the release image.
    pub release: Digest,
    /// Digests of its images, by name.
    pub images: BTreeMap<String, Digest>,
    /// Tags that are about images.
    pub signatures: Vec<String>,
    /// Sizes of all blobs, each once.
    pub blobs: BTreeMap<Digest, u64>,
}

/// Writes images, and remembers their blobs.
struct Maker<'a> {
    store: &'a Store,
    blobs: BTreeMap<Digest, u64>,
}

// === impl Recipe ===

impl Recipe {
    /// Fourteen images of a few megabytes, and two layers in most; two more names for what is there already.
    pub fn small(version: &str, repository: &str) -> Self {
        Self {
            version: version.to_owned(),
            repository: repository.to_owned(),
            images: 14,
            own_images: 2,
            layer: (200_000, 1_200_000),
            bases: 3,
            seed: 1,
        }
    }

    /// Writes images and release image into a store.
    pub async fn make(&self, store: &Store) -> Result<Made, StoreError> {
        self.make_apart(store, store).await
    }

    /// Writes the images into one store and the release image into another.
    pub async fn make_apart(&self, store: &Store, of_release: &Store) -> Result<Made, StoreError> {
        let mut maker = Maker { store, blobs: BTreeMap::new() };
        let (mut images, mut signatures) = (BTreeMap::new(), Vec::new());
        for number in 0..self.images {
            let name = format!("image-{number:02}");
            let own = if number < self.own_images { self.version.as_str() } else { "" };
            let layers = |part: &str| {
                let base = format!("base-{}", number % self.bases.max(1));
                vec![self.layer_of(&base), self.layer_of(&format!("{name}{part}{own}"))]
            };
            let manifest = if number == LIST {
                let one = maker.image(layers("amd64"), &format!("{name}{own}"), "amd64").await?;
                let two = maker.image(layers("arm64"), &format!("{name}{own}"), "arm64").await?;
                let part = maker.list(&[(one.clone(), "amd64")]).await?;
                images.insert("part-of-list".to_owned(), part.digest);
                maker.list(&[(one, "amd64"), (two, "arm64")]).await?
            } else {
                maker.image(layers(""), &format!("{name}{own}"), "amd64").await?
            };
            if number == 1 || number == LIST {
                signatures.push(maker.signature(&manifest.digest).await?);
            }
            if number == TWIN {
                images.insert("twin".to_owned(), manifest.digest.clone());
            }
            images.insert(name, manifest.digest);
        }
        maker.store = of_release;
        let manifest = maker.release(self, &images).await?;
        of_release.write_manifest(Some(&self.version), &manifest).await?;
        signatures.push(maker.signature(&manifest.digest).await?);
        let Maker { blobs, .. } = maker;
        Ok(Made { version: self.version.clone(), release: manifest.digest, images, signatures, blobs })
    }

    /// Bytes that nobody can compress, the same for the same name.
    fn layer_of(&self, name: &str) -> Bytes {
        let mut rng = Rng::new(self.seed).fork(name);
        let (least, most) = self.layer;
        let length = usize::try_from(least + rng.below((most - least).max(1))).unwrap_or_default();
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&rng.next_u64().to_le_bytes());
        }
        bytes.truncate(length);
        bytes.into()
    }
}

// === impl Maker ===

impl Maker<'_> {
    async fn blob(&mut self, media_type: &str, bytes: Bytes) -> Result<Descriptor, StoreError> {
        let descriptor = Descriptor::new(media_type, Digest::of(&bytes), bytes.len() as u64);
        self.store.write_blob(&descriptor, &BlobSource::memory(bytes)).await?;
        self.blobs.insert(descriptor.digest.clone(), descriptor.size);
        Ok(descriptor)
    }

    async fn image(&mut self, layers: Vec<Bytes>, name: &str, arch: &str) -> Result<RawManifest, StoreError> {
        let config = json!({"os": "linux", "architecture": arch, "config": {"Labels": {"name": name}}});
        self.manifest(&config, layers.into_iter().map(|bytes| (bytes, None)).collect()).await
    }

    async fn manifest(
        &mut self,
        config: &Value,
        layers: Vec<(Bytes, Option<&str>)>,
    ) -> Result<RawManifest, StoreError> {
        let config = self.blob(media_type::OCI_CONFIG, config.to_string().into()).await?;
        let mut descriptors = Vec::new();
        for (bytes, holds) in layers {
            let mut layer = self.blob(media_type::OCI_LAYER, bytes).await?;
            layer.annotations.extend(holds.map(|it| (annotation::HOLDS.to_owned(), it.to_owned())));
            descriptors.push(layer);
        }
        let value = json!({
            "schemaVersion": 2, "mediaType": media_type::OCI_MANIFEST, "config": config, "layers": descriptors,
        });
        let manifest = RawManifest::of(&value, media_type::OCI_MANIFEST);
        self.store.write_manifest(None, &manifest).await?;
        Ok(manifest)
    }

    async fn list(&mut self, children: &[(RawManifest, &str)]) -> Result<RawManifest, StoreError> {
        let entries: Vec<Value> = children
            .iter()
            .map(|(child, arch)| {
                let mut entry = json!(child.descriptor());
                entry["platform"] = json!({"os": "linux", "architecture": arch});
                entry
            })
            .collect();
        let value = json!({"schemaVersion": 2, "mediaType": media_type::OCI_INDEX, "manifests": entries});
        let manifest = RawManifest::of(&value, media_type::OCI_INDEX);
        self.store.write_manifest(None, &manifest).await?;
        Ok(manifest)
    }

    async fn signature(&mut self, of: &Digest) -> Result<String, StoreError> {
        let layer = Bytes::from(json!({"critical": {"image": {"docker-manifest-digest": of}}}).to_string());
        let manifest = self.manifest(&json!({"rootfs": {}}), vec![(layer, None)]).await?;
        let tag = format!("{}.sig", of.dashed());
        self.store.write_manifest(Some(&tag), &manifest).await?;
        Ok(tag)
    }

    async fn release(
        &mut self,
        recipe: &Recipe,
        images: &BTreeMap<String, Digest>,
    ) -> Result<RawManifest, StoreError> {
        let tags: Vec<Value> = images
            .iter()
            .map(|(name, digest)| {
                let pull_spec = format!("{}@{digest}", recipe.repository);
                json!({"name": name, "from": {"kind": "DockerImage", "name": pull_spec}})
            })
            .collect();
        let references = json!({
            "kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
            "metadata": {"name": recipe.version}, "spec": {"tags": tags},
        });
        let metadata = json!({"kind": "cincinnati-metadata-v0", "version": recipe.version});
        let mut layer = LayerWriter::new();
        let path = |name: &str| format!("{}/{name}", file::RELEASE_MANIFESTS);
        layer.directory(file::RELEASE_MANIFESTS, 0o755, 0);
        layer.file(&path(file::IMAGE_REFERENCES), 0o644, 0, references.to_string().as_bytes());
        layer.file(&path(file::RELEASE_METADATA), 0o644, 0, metadata.to_string().as_bytes());
        let config = json!({
            "os": "linux", "architecture": "amd64",
            "config": {"Labels": {label::IMAGE_RELEASE: recipe.version}},
        });
        let base = recipe.layer_of("base-0");
        self.manifest(&config, vec![(base, None), (layer.finish().bytes, Some(file::RELEASE_MANIFESTS))])
            .await
    }
}

// === impl Made ===

impl Made {
    /// Bytes of all blobs.
    pub fn bytes(&self) -> u64 {
        self.blobs.values().sum()
    }
}
