//! The floor of an installation: every object of a release, as fast as 16 connections bring them to a server.
//!
//! `kube_flood RELEASE KUBECONFIG` serialises everything, says `ready`, begins when a line comes in, and prints what it
//! took. Three waves and no thought: CRDs and namespaces; discovery, until it has all kinds of the other objects; these.
#![expect(clippy::print_stdout, reason = "the other side reads it")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, StatusCode};
use kube::Client;
use lockstep_api::names::kind;
use lockstep_apply::FIELD_MANAGER;
use lockstep_tests::objects::ReleaseObject;
use lockstep_tests::{clients, objects};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Connections, each with one request at a time.
const CONNECTIONS: usize = 16;
/// How often discovery is asked, and how long to wait before an object is sent again.
const PAUSE: Duration = Duration::from_millis(50);
/// How often an object is sent until its refusal counts: kinds and namespaces may be a moment late.
const ATTEMPTS: u32 = 20;
/// The form of discovery that has everything in one answer.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// An object, ready to be sent.
struct Item {
    path: String,
    address: String,
    body: Vec<u8>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [release, kubeconfig] = &arguments[..] else {
        return Err("usage: kube_flood RELEASE KUBECONFIG".into());
    };
    let objects = objects::of_release(Path::new(release));
    let is_first =
        |it: &ReleaseObject| matches!(&*it.kind, kind::NAMESPACE | kind::CUSTOM_RESOURCE_DEFINITION);
    let (first, rest): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_first);
    let kinds = rest.iter().map(|it| format!("{}/{}", it.api_version, it.plural)).collect();
    let [first, rest] = [first, rest].map(|objects| objects.iter().map(Item::of).collect());
    // One client has one connection, as long as it sends one request at a time.
    let clients = join_all((0..CONNECTIONS).map(|_| clients::of_file(Path::new(kubeconfig)))).await;
    println!("ready");
    std::io::stdin().read_line(&mut String::new())?;

    let start = Instant::now();
    let mut refused = send(&clients, first).await;
    let brought = start.elapsed();
    while !is_served(&clients[0], &kinds).await? {
        tokio::time::sleep(PAUSE).await;
    }
    let served = start.elapsed();
    refused.extend(send(&clients, rest).await);
    let done = start.elapsed();
    let [brought, served, done] = [brought, served, done].map(|time| time.as_secs_f64());
    let waves = [brought, served - brought, done - served];
    println!("{}", json!({"seconds": done, "waves": waves, "refused": refused}));
    Ok(())
}

/// Sends everything, in this order; gives what was refused, and why.
async fn send(clients: &[Client], items: Vec<Item>) -> BTreeMap<String, String> {
    let (items, next) = (Arc::new(items), Arc::new(AtomicUsize::new(0)));
    let mut workers = JoinSet::new();
    for client in clients {
        let (client, items, next) = (client.clone(), Arc::clone(&items), Arc::clone(&next));
        workers.spawn(async move {
            let mut refused = vec![];
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                refused.extend(item.send(&client).await.err().map(|why| (item.path.clone(), why)));
            }
            refused
        });
    }
    workers.join_all().await.into_iter().flatten().collect()
}

// === impl Item ===

impl Item {
    fn of(object: &ReleaseObject) -> Self {
        let path = object.path();
        let address = format!("{path}?fieldManager={FIELD_MANAGER}&force=true");
        Self { path, address, body: object.body.to_string().into_bytes() }
    }

    async fn send(&self, client: &Client) -> Result<(), String> {
        let mut why = String::new();
        for _ in 0..ATTEMPTS {
            match self.send_once(client).await {
                Ok((status, _)) if status.is_success() => return Ok(()),
                Ok((status, bytes)) => why = format!("{status}: {}", String::from_utf8_lossy(&bytes)),
                Err(error) => why = error.to_string(),
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(why)
    }

    async fn send_once(&self, client: &Client) -> kube::Result<(StatusCode, Vec<u8>)> {
        let request = Request::patch(&self.address).header(CONTENT_TYPE, "application/apply-patch+yaml");
        let request = request.body(self.body.clone().into()).map_err(kube::Error::HttpError)?;
        let answer = client.send(request).await?;
        Ok((answer.status(), answer.into_body().collect_bytes().await?.to_vec()))
    }
}

/// Whether discovery has all these kinds.
async fn is_served(client: &Client, kinds: &BTreeSet<String>) -> Result<bool, Box<dyn Error>> {
    let request = Request::get("/apis").header(ACCEPT, AGGREGATED).body(vec![])?;
    let answer: Value = client.request(request).await?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut missing = kinds.clone();
    // Not in this answer, but always served.
    missing.retain(|kind| !kind.starts_with("v1/"));
    for group in list(&answer["items"]) {
        for version in list(&group["versions"]) {
            for resource in list(&version["resources"]) {
                let parts = [&group["metadata"]["name"], &version["version"], &resource["resource"]];
                missing.remove(&parts.map(|part| part.as_str().unwrap_or_default()).join("/"));
            }
        }
    }
    Ok(missing.is_empty())
}
