//! Every object of the real releases, as a server completes it, is what its manifest says: nothing is written, nothing cleared.
//!
//! The objects are made by somebody else, so that all the server's defaults look as if a stranger had written them.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeMap;

use http::Request;
use lockstep_api::object;
use lockstep_apply::merge::{clear, merge};
use lockstep_lab::{Lab, LabOptions};
use lockstep_payload::{DiskFiles, LoadOptions, Release};
use lockstep_schema::Schema;
use lockstep_tests::corpus::corpus;
use serde_json::{Value, json};

/// The built-in objects of a release, each identity once.
fn objects(folder: &std::path::Path) -> Vec<Value> {
    let options = LoadOptions {
        release_image: "registry.example.com/release:1".to_owned(),
        profile: "self-managed-high-availability".to_owned(),
    };
    let release = Release::load(&DiskFiles::open(folder).unwrap(), &options).unwrap();
    let mut found = BTreeMap::new();
    for manifest in release.manifests.iter().filter(|manifest| !manifest.is_delete()) {
        let object = manifest.object.clone();
        if Schema::builtin().kind(object::api_version(&object), object::kind(&object)).is_some() {
            found.insert(object::ResourceId::of(&object), object);
        }
    }
    found.into_values().collect()
}

/// The address of the objects of a kind.
fn address(object: &Value) -> String {
    let api_version = object::api_version(object);
    let kind = Schema::builtin().kind(api_version, object::kind(object)).unwrap();
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let place =
        if kind.namespaced { format!("namespaces/{}/", object::namespace(object)) } else { String::new() };
    format!("/{root}/{api_version}/{place}{}", kind.plural)
}

#[tokio::test]
async fn objects_that_a_stranger_made_of_our_manifests_are_left_alone() {
    let Some(corpus) = corpus("apply_merge") else { return };
    for version in ["4.20.0", "4.21.0"] {
        let lab = Lab::new(LabOptions::default());
        let client = lab.client();
        let create = async |object: &Value| -> Result<Value, kube::Error> {
            let request = Request::post(format!("{}?fieldManager=stranger", address(object)))
                .header("content-type", "application/json")
                .body(object.to_string().into_bytes());
            client.request(request.unwrap()).await
        };
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut wrong = Vec::new();
        for manifest in objects(&corpus.join(version)) {
            let namespace = object::namespace(&manifest);
            if !namespace.is_empty() {
                let namespace =
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
                // It may be there already.
                drop(create(&namespace).await);
            }
            let Ok(live) = create(&manifest).await else { continue };
            *seen.entry(object::kind(&manifest).to_owned()).or_default() += 1;
            let name = object::ResourceId::of(&manifest);
            let cleared: Vec<String> =
                clear(&manifest, &live).into_iter().map(|field| field.pointer).collect();
            if !cleared.is_empty() {
                wrong.push(format!("{name} cleared {cleared:?}"));
            }
            if let Some(merged) = merge(&manifest, &live) {
                let part = |object: &Value| {
                    let mut object = object.clone();
                    object["metadata"]["managedFields"] = Value::Null;
                    object.to_string()
                };
                wrong.push(format!("{name} written\n  {}\n  {}", part(&live), part(&merged)));
            }
        }
        assert!(wrong.is_empty(), "{version}: {} of {seen:?}\n{}", wrong.len(), wrong.join("\n"));
        assert!(seen.len() > 15 && seen.values().sum::<usize>() > 500, "{version}: {seen:?}");
    }
}
