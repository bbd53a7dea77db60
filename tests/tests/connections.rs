//! The client of the engine against a real API server: many watches on few connections, and nothing waits for them.

use std::time::Duration;

use futures::StreamExt as _;
use lockstep_apply::kinds::Resource;
use lockstep_apply::server::{Call, DryRun, Server};
use lockstep_apply::watch::{Seen, Watched, watch};
use lockstep_tests::clients;
use lockstep_tests::process::connections;
use serde_json::json;
use tokio::time::timeout;

/// More than a server takes on one connection, twice.
const WATCHES: usize = 230;
/// One for requests, and one for each eighty watches.
const CONNECTIONS: usize = 4;
const PATIENCE: Duration = Duration::from_mins(2);

fn maps() -> Resource {
    Resource::new("", "v1", "ConfigMap", "configmaps", true)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_watches_share_few_connections_and_hold_nobody_up() {
    let kube = xtask::kube::Server::start(&xtask::kube::ServerOptions::default()).unwrap();
    let server = Server::new(clients::of_engine(kube.kubeconfig()).await);
    server.send(Call::raw("/version")).await.unwrap();

    let mut watches = Vec::new();
    for number in 0..WATCHES {
        let what = Watched {
            resource: maps(),
            namespace: Some("default".to_owned()),
            label_selector: Some("number=one".to_owned()),
            field_selector: None,
            metadata_only: false,
        };
        watches.push(watch(server.clone(), what, number as u64));
    }
    for (number, watch) in watches.iter_mut().enumerate() {
        let synced = async { while !matches!(watch.next().await, Some(Seen::Synced { .. })) {} };
        timeout(PATIENCE, synced).await.unwrap_or_else(|_| panic!("watch {number} gave nothing"));
    }

    // A request does not wait until one of them ends, and each of them sees what it did.
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "one", "namespace": "default", "labels": {"number": "one"}}});
    let body = object.to_string().into();
    let call = Call::apply(&maps(), Some("default"), "one", body, true, DryRun::No);
    timeout(PATIENCE, server.send(call)).await.unwrap().unwrap();
    for (number, watch) in watches.iter_mut().enumerate() {
        let seen = async {
            loop {
                match watch.next().await {
                    Some(Seen::Object(object)) => return object,
                    Some(_) => {}
                    None => panic!("watch {number} ended"),
                }
            }
        };
        let object = timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("watch {number} saw nothing"));
        assert_eq!(object["metadata"]["name"], "one");
    }
    let open = connections(std::process::id()).unwrap();
    assert!((2..=CONNECTIONS).contains(&open), "{open} connections");
}
