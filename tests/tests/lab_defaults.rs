//! How the lab reads and fills objects of built-in kinds, beside a real API server.
//!
//! The server runs without the admission plugins that change objects, so what is left to take away before the comparison is what the
//! strategies of the registries fill in: that list is [`comparable`].
#![expect(clippy::panic, reason = "a test fails by a panic, also in the functions that tests share")]
#![expect(clippy::unwrap_used, reason = "what the tests of a suite share is test code too")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use futures::stream::{self, StreamExt as _};
use kube::Client;
use lockstep_lab::builtin::read;
use lockstep_payload::{DiskFiles, LoadOptions, Release, Selection};
use lockstep_schema::Schema;
use lockstep_tests::clients;
use lockstep_tests::corpus::corpus;
use serde_json::{Value, json};
use xtask::kube::{Server, ServerOptions};

/// Objects that both must read to the same result; the file is data, one object per line.
const ACCEPTED: &str = include_str!("lab_defaults/accepted.json");
/// Objects that both must refuse with the same sentence.
const REFUSED: &str = include_str!("lab_defaults/refused.json");

/// Plugins that change or refuse objects for reasons outside of them.
const NO_ADMISSION: &str = "--disable-admission-plugins=NamespaceLifecycle,ServiceAccount,DefaultTolerationSeconds,Priority,\
    TaintNodesByCondition,StorageObjectInUseProtection,DefaultStorageClass,DefaultIngressClass,RuntimeClass,LimitRanger,\
    CertificateSubjectRestriction";

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let options = ServerOptions { api_server_flags: vec![NO_ADMISSION.into()], ..ServerOptions::default() };
    Server::start(&options).unwrap_or_else(|error| panic!("{error}"))
});

/// What the server answers to the creation of an object that it then does not keep.
async fn create(client: &Client, object: &Value) -> Result<Value, String> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let kind = Schema::builtin().kind(text("apiVersion"), text("kind")).expect("a built-in kind");
    let root = if kind.group.is_empty() { "api" } else { "apis" };
    let namespace = match object["metadata"]["namespace"].as_str().unwrap_or("default") {
        name if kind.namespaced => format!("namespaces/{name}/"),
        _ => String::new(),
    };
    let path =
        format!("/{root}/{}/{namespace}{}?dryRun=All&fieldValidation=Ignore", kind.api_version, kind.plural);
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())
        .unwrap();
    match client.request::<Value>(request).await {
        Ok(object) => Ok(object),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}

/// An object without what the strategies of the registries fill in or take away.
fn comparable(mut object: Value) -> Value {
    remove(
        &mut object,
        "/metadata",
        &["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace"],
    );
    match object["kind"].as_str().unwrap_or_default() {
        // Their statuses begin with more than the zero value.
        "Pod" | "CustomResourceDefinition" | "APIService" => remove(&mut object, "", &["status"]),
        "CertificateSigningRequest" => remove(&mut object, "/spec", &["username", "uid", "groups", "extra"]),
        "Service" => {
            let names = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"];
            remove(&mut object, "/spec", &names);
            for port in object["spec"]["ports"].as_array_mut().into_iter().flatten() {
                remove(port, "", &["nodePort"]);
            }
        }
        "PersistentVolume" => remove(&mut object, "/status", &["lastPhaseTransitionTime"]),
        "Namespace" => remove(&mut object, "/spec", &["finalizers"]),
        // The number is the strategy's; that the annotation is there is not.
        "DaemonSet" => {
            object["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "".into();
        }
        "Job" if object["spec"]["manualSelector"] != true => {
            remove(&mut object, "/spec", &["selector"]);
            let labels = [
                "controller-uid",
                "job-name",
                "batch.kubernetes.io/controller-uid",
                "batch.kubernetes.io/job-name",
            ];
            // The server writes them into one map that both places share when the labels came from the template.
            for parent in ["/metadata", "/spec/template/metadata"] {
                remove(&mut object, &format!("{parent}/labels"), &labels);
                if object.pointer(&format!("{parent}/labels")) == Some(&json!({})) {
                    remove(&mut object, parent, &["labels"]);
                }
            }
        }
        _ => {}
    }
    object
}

fn remove(object: &mut Value, parent: &str, names: &[&str]) {
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// Where two values differ: path, the lab's value, the server's value.
fn differences(path: &str, lab: &Value, server: &Value, found: &mut Vec<String>) {
    match (lab, server) {
        (Value::Object(one), Value::Object(two)) => {
            let mut names: Vec<&String> = one.keys().chain(two.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let path = format!("{path}.{name}");
                match (one.get(name), two.get(name)) {
                    (Some(lab), Some(server)) => differences(&path, lab, server, found),
                    (Some(lab), None) => found.push(format!("{path}: lab {lab}, server nothing")),
                    (None, Some(server)) => found.push(format!("{path}: lab nothing, server {server}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (lab, server)) in one.iter().zip(two).enumerate() {
                differences(&format!("{path}[{index}]"), lab, server, found);
            }
        }
        (lab, server) if lab == server => {}
        (lab, server) => found.push(format!("{path}: lab {lab}, server {server}")),
    }
}

fn name_of(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// What is wrong with one object; nothing when both agree.
async fn disagreement(client: &Client, mut object: Value) -> Option<String> {
    let name = name_of(&object);
    // Nobody creates an object with a status: the strategies start with an empty one.
    object.as_object_mut().unwrap().remove("status");
    let server = match create(client, &object).await {
        Ok(server) => comparable(server),
        Err(refusal) => return Some(format!("{name}: the server refuses it: {refusal}")),
    };
    match read(object) {
        Err(refusal) => Some(format!("{name}: the lab refuses it: {refusal}")),
        Ok(lab) => {
            let mut found = Vec::new();
            differences("", &comparable(lab), &server, &mut found);
            (!found.is_empty()).then(|| format!("{name}:\n  {}", found.join("\n  ")))
        }
    }
}

/// Compares many objects, some at a time, and fails with all differences.
async fn compare(objects: Vec<Value>) {
    let client = clients::of_file(SERVER.kubeconfig()).await;
    let total = objects.len();
    let wrong: Vec<String> = stream::iter(objects)
        .map(|object| disagreement(&client, object))
        .buffered(8)
        .filter_map(|problem| async { problem })
        .collect()
        .await;
    assert!(wrong.is_empty(), "{} of {total} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn the_lab_reads_and_fills_every_object_of_the_table_as_the_server_does() {
    let objects: Vec<Value> = serde_json::from_str(ACCEPTED).unwrap();
    let mut kinds: Vec<&str> = objects.iter().filter_map(|object| object["kind"].as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    println!("{} objects of {} kinds", objects.len(), kinds.len());
    assert!(kinds.len() >= 50, "{kinds:?}");
    compare(objects).await;
}

#[tokio::test]
async fn the_lab_refuses_wrong_types_with_the_sentences_of_the_server() {
    let client = clients::of_file(SERVER.kubeconfig()).await;
    let objects: Vec<Value> = serde_json::from_str(REFUSED).unwrap();
    println!("{} objects", objects.len());
    let mut wrong = Vec::new();
    for object in objects {
        let server = create(&client, &object).await.expect_err("the server refuses it");
        let lab = read(object.clone()).expect_err("the lab refuses it");
        if lab != server {
            wrong.push(format!("{object}\n  lab    {lab}\n  server {server}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_lab_reads_and_fills_the_objects_of_real_releases_as_the_server_does() {
    let Some(corpus) = corpus("defaults of real releases") else { return };
    for version in ["4.20.0", "4.21.0"] {
        let files = DiskFiles::open(&corpus.join(version)).unwrap();
        let options = LoadOptions {
            release_image: "registry.example.com/release:latest".to_owned(),
            profile: "self-managed-high-availability".to_owned(),
        };
        let release = Release::load(&files, &options).unwrap();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut objects = Vec::new();
        for manifest in release.selected(&Selection::default()) {
            if Schema::builtin().kind(&manifest.api_version, &manifest.id.kind).is_some()
                && !manifest.is_delete()
            {
                *counts.entry(manifest.id.kind.clone()).or_default() += 1;
                objects.push(manifest.object.clone());
            }
        }
        println!("{version}: {} objects of built-in kinds: {counts:?}", objects.len());
        assert!(objects.len() > 500, "{}", objects.len());
        compare(objects).await;
    }
}

#[test]
fn what_is_taken_away_before_the_comparison_is_only_what_strategies_fill() {
    let object = json!({"kind": "Service", "metadata": {"name": "a", "uid": "u", "labels": {"a": "b"}},
        "spec": {"clusterIP": "1.2.3.4", "type": "NodePort", "ports": [{"port": 1, "nodePort": 2}]}, "status": {}});
    assert_eq!(
        comparable(object),
        json!({"kind": "Service", "metadata": {"name": "a", "labels": {"a": "b"}},
            "spec": {"type": "NodePort", "ports": [{"port": 1}]}, "status": {}})
    );
}
