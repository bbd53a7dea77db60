//! Releases as a default cluster sees them, and what they expect from others.

use std::collections::BTreeSet;
use std::path::Path;

use lockstep_api::names::profile::SELF_MANAGED_HIGH_AVAILABILITY;
use lockstep_payload::{Capabilities, DiskFiles, LoadOptions, Release, Selection};
use serde_json::{Value, json};

use crate::cli::root;

/// Namespaces that operators create at run time, and that objects of a real release live in.
const RUN_TIME_NAMESPACES: [&str; 9] = [
    "openshift",
    "openshift-apiserver",
    "openshift-authentication",
    "openshift-controller-manager",
    "openshift-kube-apiserver",
    "openshift-kube-controller-manager",
    "openshift-kube-scheduler",
    "openshift-oauth-apiserver",
    "openshift-route-controller-manager",
];
/// Kinds of an aggregated API server, which is not there: group, kind, plural.
const AGGREGATED: [(&str, &str, &str); 2] =
    [("image.openshift.io", "ImageStream", "imagestreams"), ("route.openshift.io", "Route", "routes")];

/// The release in a folder that has the name of its version, and what a default cluster selects of it.
///
/// # Panics
/// When it cannot be read.
pub fn load(folder: &Path) -> (Release, Selection) {
    let files = DiskFiles::open(folder).expect("the folder of a release");
    let options = LoadOptions {
        profile: SELF_MANAGED_HIGH_AVAILABILITY.to_owned(),
        release_image: release_image(folder),
    };
    let release = Release::load(&files, &options).expect("a release that can be read");
    let selection = selection(&release);
    (release, selection)
}

/// The pull spec that stands for the image of the release in a folder.
pub fn release_image(folder: &Path) -> String {
    let version = folder.file_name().unwrap_or_default().to_string_lossy();
    format!("registry.example.com/release:{version}")
}

/// An example release of ours, and what a default cluster selects of it.
///
/// # Panics
/// When it cannot be read.
pub fn example(version: &str) -> (Release, Selection) {
    load(&root().join("examples/releases").join(version))
}

/// The default profile and feature set, no gates, all capabilities.
fn selection(release: &Release) -> Selection {
    Selection {
        exclude: Some(String::new()),
        feature_set: Some(String::new()),
        feature_gates: Some(BTreeSet::new()),
        major_version: Some(release.major_version()),
        profile: Some(SELF_MANAGED_HIGH_AVAILABILITY.to_owned()),
        capabilities: Some(Capabilities::all(&BTreeSet::new()).filter()),
        ..Selection::default()
    }
}

/// Namespaces that a real release does not bring, but that its objects live in.
pub fn run_time_namespaces() -> impl Iterator<Item = Value> {
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    RUN_TIME_NAMESPACES.into_iter().map(namespace)
}

/// CRDs that stand for the aggregated API server of a real release.
pub fn aggregated_kinds() -> impl Iterator<Item = Value> {
    AGGREGATED.into_iter().map(|(group, kind, plural)| stub(group, kind, plural))
}

/// A CRD that takes everything.
pub fn stub(group: &str, kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                "singular": kind.to_lowercase()},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}
