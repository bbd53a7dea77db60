//! The objects of a release as Lockstep applies them: normalised, labelled, with their addresses.

use std::path::Path;

use lockstep_api::names::{label, object};
use lockstep_api::object as read;
use lockstep_apply::normalise::Rules;
use lockstep_payload::Manifest;
use serde_json::{Value, json};

use crate::releases::{aggregated_kinds, load};

/// An object of a release, and where it goes.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseObject {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The kind in addresses.
    pub plural: String,
    /// The namespace; empty for an object of the whole cluster.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// Whether it is created and never changed again.
    pub is_create_only: bool,
    /// The object, in the form that the server stores.
    pub body: Value,
    /// The status that the manifest had: for a ClusterOperator, what it is expected to report.
    pub status: Value,
}

/// The objects of the release in a folder, for a default cluster and without deletions, in the order of the release.
///
/// # Panics
/// When the release cannot be read, or has a kind that neither Kubernetes nor one of its CRDs nor a stub defines.
pub fn of_release(folder: &Path) -> Vec<ReleaseObject> {
    let (release, selection) = load(folder);
    let manifests: Vec<&Manifest> = release.selected(&selection).filter(|it| !it.is_delete()).collect();
    let bodies = || manifests.iter().map(|manifest| &manifest.object);
    let stubs: Vec<Value> = aggregated_kinds().collect();
    // Lockstep knows nothing about the stubs, so they have no say about the form of an object.
    let (rules, places) = (Rules::of_release(bodies()), Rules::of_release(bodies().chain(&stubs)));
    manifests.iter().map(|manifest| ReleaseObject::new(manifest, &rules, &places)).collect()
}

// === impl ReleaseObject ===

impl ReleaseObject {
    #[expect(clippy::expect_used, reason = "a suite fails by a panic")]
    fn new(manifest: &Manifest, rules: &Rules, places: &Rules) -> Self {
        let body = labelled(rules.normalise(&manifest.object).object);
        let (api_version, kind) = (read::api_version(&body), read::kind(&body));
        let plural = places.plural(api_version, kind);
        let plural = plural.expect("a kind that Kubernetes, a CRD of the release or a stub defines");
        let is_namespaced = places.is_namespaced(api_version, kind) == Some(true);
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespace: if is_namespaced { read::namespace(&body).to_owned() } else { String::new() },
            name: read::name(&body).to_owned(),
            is_create_only: manifest.is_create_only(),
            status: manifest.object["status"].clone(),
            body,
        }
    }

    /// The address of the objects of its kind and namespace.
    pub fn collection(&self) -> String {
        let Self { api_version, plural, namespace, .. } = self;
        let api = if api_version.contains('/') { "apis" } else { "api" };
        if namespace.is_empty() {
            format!("/{api}/{api_version}/{plural}")
        } else {
            format!("/{api}/{api_version}/namespaces/{namespace}/{plural}")
        }
    }

    /// Its own address.
    pub fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.name)
    }
}

/// The same object as a member of the set `version`.
fn labelled(mut body: Value) -> Value {
    let metadata = &mut body["metadata"];
    if !metadata["labels"].is_object() {
        metadata["labels"] = json!({});
    }
    metadata["labels"][label::PAYLOAD] = object::VERSION.into();
    body
}

#[cfg(test)]
mod tests {
    use crate::cli::root;

    use super::*;

    #[test]
    fn every_object_has_its_label_and_an_address_of_its_own() {
        let objects = of_release(&root().join("examples/releases/1.1.0"));
        assert!(objects.len() > 5);
        let mut paths: Vec<String> = objects.iter().map(ReleaseObject::path).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), objects.len());
        for object in &objects {
            assert_eq!(object.body["metadata"]["labels"][label::PAYLOAD], "version", "{}", object.path());
            assert!(object.body.get("status").is_none(), "{}", object.path());
        }
        let operator = objects.iter().find(|object| object.kind == "ClusterOperator").unwrap();
        assert_eq!(operator.collection(), "/apis/config.openshift.io/v1/clusteroperators");
        assert!(operator.status["versions"].is_array());
    }
}
