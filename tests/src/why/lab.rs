//! A stage in the lab: objects are created at their times, get their status, and are listed again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use lockstep_api::object;
use lockstep_apply::server::Server;
use lockstep_converge::gather::Camera;
use lockstep_health::why::{Snapshot, resource};
use lockstep_lab::{Clock, Lab, LabOptions};
use serde_json::{Value, json};

use super::world::{self, place};
use super::{Lists, NOW, Stage, take_seconds};

/// Puts a stage into a lab of its own, in virtual time, and reads everything back through the API.
///
/// # Panics
/// When the lab refuses an object.
pub fn through_the_lab(stage: Stage) -> Snapshot {
    if stage.objects.is_empty() {
        return stage.rest;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.expect("a runtime with paused time");
    let mut snapshot = stage.rest;
    snapshot.objects = runtime.block_on(play(stage.objects));
    snapshot
}

async fn play(objects: Vec<Value>) -> Lists {
    let clock = Arc::new(Clock::simulated());
    let lab = Lab::new(LabOptions { clock: Arc::clone(&clock), controllers: false, ..LabOptions::default() });
    let client = lab.client();
    let mut timed: Vec<(i64, i64, Value)> = objects
        .into_iter()
        .map(|mut it| {
            if object::kind(&it) == "CertificateSigningRequest" {
                it["spec"]["request"] = world::REQUEST.into();
            }
            let age = take_seconds(&mut it, "age").unwrap_or(world::AGE);
            (age, take_seconds(&mut it, "deleted").unwrap_or(-1), it)
        })
        .collect();
    timed.sort_by_key(|(age, ..)| std::cmp::Reverse(*age));
    let spaces: BTreeSet<String> = timed.iter().map(|(.., it)| object::namespace(it).to_owned()).collect();
    let staged: BTreeSet<String> = timed
        .iter()
        .filter(|(.., it)| object::kind(it) == "Namespace")
        .map(|(.., it)| object::name(it).to_owned())
        .collect();
    until(&clock, world::AGE + 3600).await;
    definitions(&client).await;
    for space in spaces.iter().filter(|it| !it.is_empty() && !staged.contains(*it)) {
        let it = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
        let _ = send(&client, "POST", "/api/v1/namespaces", &it).await;
    }
    for (age, _, it) in &timed {
        until(&clock, *age).await;
        put(&client, it).await;
    }
    for (_, deleted, it) in timed.iter().filter(|(_, deleted, _)| *deleted >= 0) {
        // NB: after the others; a situation with a deletion has nothing younger.
        until(&clock, *deleted).await;
        let place = place(it);
        send(&client, "DELETE", &format!("{}/{}", place.collection, object::name(it)), &Value::Null)
            .await
            .expect("a deletion");
    }
    until(&clock, 0).await;
    let server = Server::new(client);
    Camera { server: &server, address: "", now: NOW }.picture().await.objects
}

/// Waits until it is so many seconds before the end.
async fn until(clock: &Clock, before: i64) {
    let left = NOW.as_second() - before - clock.now().as_second();
    if left > 0 {
        tokio::time::sleep(Duration::from_secs(left.unsigned_abs())).await;
    }
}

async fn put(client: &kube::Client, it: &Value) {
    let collection = place(it).collection;
    let path = format!("{collection}/{}", object::name(it));
    let mut created = send(client, "POST", &collection, it).await;
    if created.as_ref().is_err_and(|error| error.contains("AlreadyExists")) {
        created = send(client, "GET", &path, &Value::Null).await;
    }
    created.unwrap_or_else(|error| panic!("{path}: {error}"));
    let Some(status) = it.get("status") else { return };
    let change = json!({"status": status});
    // A request is approved at an address of its own.
    let approved = send(client, "PATCH", &format!("{path}/approval"), &change).await.is_ok();
    for path in [format!("{path}/status"), path] {
        if send(client, "PATCH", &path, &change).await.is_ok() || approved {
            return;
        }
    }
    panic!("{collection}/{}: the lab does not take its status", object::name(it));
}

async fn send(client: &kube::Client, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", kind).body(bytes);
    client.request(request.map_err(|error| error.to_string())?).await.map_err(|error| format!("{error:?}"))
}

/// Definitions for every kind of the platform that rules ask for; any field goes.
async fn definitions(client: &kube::Client) {
    for known in
        resource::ALL.iter().filter(|it| it.group().ends_with("openshift.io") || it.group() == "metal3.io")
    {
        let version = if known.group() == "machine.openshift.io" { "v1beta1" } else { "v1" };
        let version = if known.group() == "metal3.io" { "v1alpha1" } else { version };
        let scope = if world::is_namespaced(known.kind) { "Namespaced" } else { "Cluster" };
        let it = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": known.key},
            "spec": {"group": known.group(), "scope": scope,
                "names": {"kind": known.kind, "listKind": format!("{}List", known.kind), "plural": known.plural(), "singular": known.kind.to_lowercase()},
                "versions": [{"name": version, "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
        let made = send(client, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &it).await;
        made.unwrap_or_else(|error| panic!("{}: {error}", known.key));
    }
    tokio::time::sleep(Duration::from_mins(1)).await;
}
