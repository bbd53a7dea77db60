//! Small releases for the tests of the rules.

use lockstep_payload::{Folder, LoadOptions, MemoryFiles, Release};
use serde_json::{Value, json};

use super::survey::Survey;
use super::{Finding, Scope, default_selection, lint};

pub(super) const HA: &str = "include.release.openshift.io/self-managed-high-availability";
pub(super) const HYPERSHIFT: &str = "include.release.openshift.io/hypershift";
pub(super) const IMAGE: &str =
    "registry.example.com/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A release in the making: the metadata, one listed image, and the files that a test adds.
pub(super) struct Objects(MemoryFiles);

impl Objects {
    pub(super) fn new() -> Self {
        Self::with_images(&[IMAGE])
    }

    pub(super) fn with_images(images: &[&str]) -> Self {
        let tags: Vec<Value> = images
            .iter()
            .enumerate()
            .map(|(n, image)| json!({"name": format!("image-{n}"), "from": {"kind": "DockerImage", "name": image}}))
            .collect();
        let stream = json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
            "metadata": {"name": "4.1.0"}, "spec": {"tags": tags}});
        let metadata = json!({"kind": "cincinnati-metadata-v0", "version": "4.1.0"});
        Self(
            MemoryFiles::new("release")
                .with(Folder::ReleaseManifests, "image-references", stream.to_string())
                .with(Folder::ReleaseManifests, "release-metadata", metadata.to_string()),
        )
    }

    pub(super) fn file(self, name: &str, objects: &[Value]) -> Self {
        let documents: Vec<String> = objects.iter().map(|object| format!("---\n{object}\n")).collect();
        self.text(Folder::ReleaseManifests, name, &documents.concat())
    }

    pub(super) fn text(self, folder: Folder, name: &str, text: &str) -> Self {
        Self(self.0.with(folder, name, text.to_owned()))
    }

    pub(super) fn release(self) -> Release {
        let options = LoadOptions {
            release_image: "registry.example.com/release:4.1.0".to_owned(),
            profile: "self-managed-high-availability".to_owned(),
        };
        Release::load(&self.0, &options).unwrap()
    }
}

/// An object that the default profile includes; `namespace` may be empty.
pub(super) fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "annotations": {HA: "true"}}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

/// Adds an annotation.
pub(super) fn annotated(mut object: Value, key: &str, value: impl Into<Value>) -> Value {
    object["metadata"]["annotations"][key] = value.into();
    object
}

/// Adds a part of the object.
pub(super) fn with(mut object: Value, part: &str, value: Value) -> Value {
    object[part] = value;
    object
}

pub(super) fn a_namespace(name: &str) -> Value {
    object("v1", "Namespace", "", name)
}

pub(super) fn a_deployment(name: &str) -> Value {
    let spec = json!({"template": {"spec": {"containers": [{"name": "a", "image": IMAGE}]}}});
    with(object("apps/v1", "Deployment", "default", name), "spec", spec)
}

pub(super) fn a_cluster_operator(name: &str) -> Value {
    let status = json!({"versions": [{"name": "operator", "version": "4.1.0"}]});
    with(object("config.openshift.io/v1", "ClusterOperator", "", name), "status", status)
}

pub(super) fn a_crd(group: &str, kind: &str, version: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let spec = json!({"group": group, "names": {"kind": kind, "plural": plural}, "scope": "Cluster",
        "versions": [{"name": version, "served": true, "storage": true}, {"name": "v0", "served": false}]});
    let crd = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", &format!("{plural}.{group}"));
    with(crd, "spec", spec)
}

/// The CRD that every release with a ClusterOperator has.
pub(super) fn cluster_operator_crd() -> Value {
    a_crd("config.openshift.io", "ClusterOperator", "v1")
}

/// The findings in the default cluster.
pub(super) fn found(release: &Release) -> Vec<Finding> {
    lint(release, Scope::Selected(&default_selection(release))).findings
}

/// The findings in all clusters.
pub(super) fn found_anywhere(release: &Release) -> Vec<Finding> {
    lint(release, Scope::AllCombinations).findings
}

/// The rule and the name of the object of each finding.
pub(super) fn ids(findings: &[Finding]) -> Vec<(&'static str, &str)> {
    findings.iter().map(|finding| (finding.rule.id, finding.object.name.as_str())).collect()
}

/// Looks at the default cluster of a release.
pub(super) fn survey<T>(release: &Release, look: impl FnOnce(&Survey<'_>) -> T) -> T {
    look(&Survey::new(release, Scope::Selected(&default_selection(release))))
}
