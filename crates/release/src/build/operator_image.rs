//! The operator's own image, on which releases stand: its program, certificates and manifests on a base or on nothing.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use lockstep_api::names::file;

use super::BuildError;
use super::base::{Base, Bases};
use super::image::{Composed, Foundation, manifests_layer};
use super::output::write_blobs;
use super::program::Program;
use crate::digest::Digest;
use crate::image::{Descriptor, ImageManifest, RawManifest};
use crate::layer::{Layer, LayerWriter};
use crate::store::{BlobSource, Store};

/// The user of the process: nobody in particular, and not root.
pub const USER: &str = "65532:65532";
/// The program, and the name under which the reference's image has it.
const PROGRAM: &str = "usr/bin/lockstep";
const KNOWN_AS: &str = "usr/bin/cluster-version-operator";
/// Where programs look for certificates of authorities.
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
/// Nothing of the moment gets in, so the image is of the first second there was.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// What goes into the image.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The program.
    pub program: Bytes,
    /// Files of `manifests/`.
    pub manifests: BTreeMap<String, Bytes>,
    /// Files of `bootstrap/`.
    pub bootstrap: BTreeMap<String, Bytes>,
    /// Certificates of authorities.
    pub certificates: Option<Bytes>,
    /// Its architecture; `None` for that of the program.
    pub architecture: Option<String>,
    /// Whether a program that could not start in the image is accepted.
    pub allow_dynamic: bool,
}

/// An image that only has to be written.
#[derive(Debug, Clone)]
pub struct OperatorImage {
    composed: Composed,
    own: Vec<Layer>,
    below: Option<Store>,
}

// === impl OperatorImage ===

impl OperatorImage {
    /// Puts the parts on a base, or on nothing.
    ///
    /// # Errors
    /// When the program could not start in the image.
    pub fn build(parts: &Parts, bases: Option<Bases>) -> Result<Self, BuildError> {
        let base = bases.and_then(|bases| bases.all.into_iter().next());
        let architecture = check(parts, base.as_ref())?;
        let own = vec![program_layer(parts), manifests(parts)];
        let (foundation, below) = match base {
            Some(base) => (base.foundation, base.store),
            None => (Foundation::nothing(), None),
        };
        Ok(Self { composed: compose(&foundation, &own, &architecture), own, below })
    }

    /// The digest of the image.
    pub fn digest(&self) -> &Digest {
        &self.composed.raw.digest
    }

    /// Writes the image under a tag.
    pub async fn write(&self, store: &Store, tag: &str) -> Result<(), BuildError> {
        let source = |blob: &Descriptor| {
            if blob.digest == self.composed.manifest.config.digest {
                return Some(BlobSource::memory(self.composed.config.clone()));
            }
            let own = self.own.iter().find(|layer| layer.digest == blob.digest);
            own.map(|layer| BlobSource::memory(layer.bytes.clone()))
                .or_else(|| self.below.clone().map(BlobSource::store))
        };
        write_blobs(store, self.composed.manifest.blobs(), source).await?;
        Ok(store.write_manifest(Some(tag), &self.composed.raw).await?)
    }
}

/// Whether the program can start in the image; for which architecture the image is.
fn check(parts: &Parts, base: Option<&Base>) -> Result<String, BuildError> {
    let program = Program::read(&parts.program).map_err(BuildError::Refused)?;
    let architecture = parts.architecture.clone().unwrap_or_else(|| program.architecture.to_owned());
    if architecture != program.architecture {
        let why = format!("the program is for {}, the image for {architecture}", program.architecture);
        return Err(BuildError::Refused(why));
    }
    match base {
        Some(base) => {
            let below = base.foundation.config["architecture"].as_str().unwrap_or_default();
            if !below.is_empty() && below != architecture {
                let why = format!("the base image is for {below}, the program for {architecture}");
                return Err(BuildError::Refused(why));
            }
        }
        None => {
            if let Some(loader) = program.loader.filter(|_| !parts.allow_dynamic) {
                let why = format!(
                    "the program is linked dynamically: without `{loader}` and its libraries it cannot start. Give an image \
                     that has them (--from), or a binary that is linked statically (--binary)"
                );
                return Err(BuildError::Refused(why));
            }
        }
    }
    Ok(architecture)
}

fn program_layer(parts: &Parts) -> Layer {
    let mut layer = LayerWriter::new();
    if !parts.bootstrap.is_empty() {
        layer.directory(file::BOOTSTRAP, 0o755, 0);
    }
    for (name, bytes) in &parts.bootstrap {
        layer.file(&format!("{}/{name}", file::BOOTSTRAP), 0o444, 0, bytes);
    }
    if let Some(certificates) = &parts.certificates {
        for folder in ["etc", "etc/ssl", "etc/ssl/certs"] {
            layer.directory(folder, 0o755, 0);
        }
        layer.file(CERTIFICATES, 0o444, 0, certificates);
    }
    for folder in ["usr", "usr/bin"] {
        layer.directory(folder, 0o755, 0);
    }
    layer.link(KNOWN_AS, "lockstep", 0);
    layer.file(PROGRAM, 0o555, 0, &parts.program);
    layer.finish()
}

fn manifests(parts: &Parts) -> Layer {
    manifests_layer(parts.manifests.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])), 0)
}

fn compose(base: &Foundation, own: &[Layer], architecture: &str) -> Composed {
    let mut foundation = base.clone();
    for (layer, holds) in own.iter().zip([None, Some(file::MANIFESTS)]) {
        foundation = foundation.with_layer(layer, holds.unwrap_or_default());
        if holds.is_none()
            && let Some(last) = foundation.layers.last_mut()
        {
            last.annotations.clear();
        }
    }
    let (manifest_type, config_type) = foundation.format.types();
    let config = serde_json::to_vec(&config(&foundation, architecture)).unwrap_or_default();
    let manifest = ImageManifest {
        schema_version: 2,
        media_type: manifest_type.to_owned(),
        config: Descriptor::new(config_type, Digest::of(&config), config.len() as u64),
        layers: foundation.layers,
        annotations: BTreeMap::new(),
    };
    Composed { config: config.into(), raw: RawManifest::of(&manifest, manifest_type), manifest }
}

fn config(foundation: &Foundation, architecture: &str) -> Value {
    let environment = foundation.config["config"]["Env"]
        .as_array()
        .cloned()
        .unwrap_or_else(|| vec!["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()]);
    let history: Vec<Value> = foundation
        .layers
        .iter()
        .map(|_| json!({"created": CREATED, "created_by": "lockstep release base-image"}))
        .collect();
    json!({
        "architecture": architecture,
        "os": "linux",
        "created": CREATED,
        "config": {
            "User": USER,
            "Env": environment,
            "Entrypoint": [format!("/{KNOWN_AS}")],
            "WorkingDir": "/",
            "Labels": {
                "io.k8s.display-name": "Lockstep",
                "io.k8s.description": "Brings a Kubernetes cluster to a release and keeps it there.",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": foundation.diff_ids},
        "history": history,
    })
}

#[cfg(test)]
mod tests {
    use lockstep_api::names::annotation;

    use super::super::program::tests::a_program;
    use super::*;
    use crate::image::{ImageConfig, media_type};

    fn parts(loader: Option<&str>) -> Parts {
        Parts {
            program: a_program(loader).into(),
            manifests: BTreeMap::from([("0000_00_a.yaml".to_owned(), Bytes::from("a: 1\n"))]),
            bootstrap: BTreeMap::from([("pod.yaml".to_owned(), Bytes::from("b: 1\n"))]),
            certificates: Some("PEM".into()),
            architecture: None,
            allow_dynamic: false,
        }
    }

    #[test]
    fn the_same_parts_give_the_same_image_that_runs_as_nobody_and_marks_its_manifests() {
        let image = OperatorImage::build(&parts(None), None).unwrap();
        assert_eq!(image.digest(), OperatorImage::build(&parts(None), None).unwrap().digest());
        let config = ImageConfig::read(&image.composed.config).unwrap();
        assert_eq!(config.raw["config"]["User"], "65532:65532");
        assert_eq!(config.raw["config"]["Entrypoint"], json!(["/usr/bin/cluster-version-operator"]));
        assert_eq!(config.raw["architecture"], "amd64");
        assert_eq!(config.diff_ids.len(), 2);
        let layers = &image.composed.manifest.layers;
        assert!(layers[0].annotations.is_empty());
        assert_eq!(layers[1].annotations[annotation::HOLDS], "manifests");
        assert_eq!(layers[0].media_type, media_type::OCI_LAYER);
    }

    #[test]
    fn a_dynamic_program_on_nothing_is_refused_with_what_to_do() {
        let dynamic = parts(Some("/lib64/ld-linux-x86-64.so.2"));
        let error = OperatorImage::build(&dynamic, None).unwrap_err().to_string();
        assert!(error.contains("ld-linux-x86-64") && error.contains("--from"), "{error}");
        let accepted = Parts { allow_dynamic: true, ..dynamic.clone() };
        assert!(OperatorImage::build(&accepted, None).is_ok());
        assert!(OperatorImage::build(&dynamic, Some(Bases::none())).is_ok(), "a base may have the loader");
    }

    #[test]
    fn a_program_for_another_architecture_is_refused() {
        let wrong = Parts { architecture: Some("arm64".to_owned()), ..parts(None) };
        let error = OperatorImage::build(&wrong, None).unwrap_err().to_string();
        assert_eq!(error, "the program is for amd64, the image for arm64");
    }
}
