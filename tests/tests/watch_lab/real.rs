//! The same against a real API server: what its answers mean, and that both ways to everything that exists agree.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use futures::StreamExt as _;
use lockstep_apply::kinds::{Kinds, Resource};
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun, Removal, Server};
use lockstep_apply::watch::{Seen, Watched, watch};
use lockstep_tests::clients;
use serde_json::{Value, json};
use tokio::time::timeout;
use xtask::kube::{Server as Process, ServerOptions};

use crate::front::{self, REFUSED_AS_ANSWER};
use crate::reader::map;
use crate::{NAMESPACE, all_of, maps};

static PROCESS: LazyLock<Process> =
    LazyLock::new(|| Process::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}")));

async fn client() -> kube::Client {
    clients::of_file(PROCESS.kubeconfig()).await
}

fn object(text: &Value) -> bytes::Bytes {
    text.to_string().into()
}

/// Everything that exists, by namespace and name.
async fn all(client: kube::Client, what: &Watched) -> BTreeMap<String, Value> {
    let mut stream = watch(Server::new(client), what.clone(), 1);
    let mut found = BTreeMap::new();
    loop {
        match timeout(Duration::from_mins(1), stream.next()).await.unwrap().unwrap() {
            Seen::Object(object) => {
                let metadata = &object["metadata"];
                found.insert(format!("{}/{}", metadata["namespace"], metadata["name"]), object);
            }
            Seen::Synced { .. } => return found,
            Seen::Restarted => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_and_pages_give_the_same_objects() {
    let client = client().await;
    let server = Server::new(client.clone());
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pages"}});
    let spaces = Resource::new("", "v1", "Namespace", "namespaces", false);
    server.send(Call::create(&spaces, None, object(&space), DryRun::No)).await.unwrap();
    for number in 0..230 {
        let mut map = map(&format!("m{number}"), number);
        map["metadata"] = json!({"name": format!("m{number}"), "labels": {"odd": (number % 2).to_string()}});
        server.send(Call::create(&maps(), Some("pages"), object(&map), DryRun::No)).await.unwrap();
    }
    let kinds = Kinds::discover(&server).await.unwrap();
    let find = |api_version: &str, kind: &str| kinds.find(api_version, kind).unwrap().clone();
    let mut of_maps = all_of(find("v1", "ConfigMap"));
    of_maps.namespace = Some("pages".to_owned());
    let labelled = Watched { label_selector: Some("odd in (1)".to_owned()), ..of_maps.clone() };
    let metadata = Watched { metadata_only: true, ..of_maps.clone() };
    for (what, least) in [
        (of_maps, 230),
        (labelled, 115),
        (metadata, 230),
        (all_of(find("rbac.authorization.k8s.io/v1", "ClusterRole")), 20),
        (all_of(find("apiregistration.k8s.io/v1", "APIService")), 10),
        (all_of(find("v1", "Node")), 0),
    ] {
        let streamed = all(client.clone(), &what).await;
        let paged = all(front::without_streams(client.clone(), REFUSED_AS_ANSWER), &what).await;
        assert!(streamed.len() >= least, "{}: {}", what.resource.plural, streamed.len());
        assert_eq!(streamed, paged, "{}", what.resource.plural);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_forms_of_discovery_give_the_same_kinds() {
    let client = client().await;
    let at_once = Kinds::discover(&Server::new(client.clone())).await.unwrap();
    let piecewise = Kinds::discover(&Server::new(front::without_aggregated_discovery(client))).await.unwrap();
    assert_eq!(at_once, piecewise);
    assert!(at_once.iter().count() > 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_come_in_order_after_what_exists() {
    let server = Server::new(client().await);
    let what = Watched { field_selector: Some("metadata.name=live".to_owned()), ..all_of(maps()) };
    let mut stream = watch(server.clone(), what, 1);
    let mut next = async || timeout(Duration::from_secs(20), stream.next()).await.unwrap().unwrap();
    assert_eq!(next().await, Seen::Restarted);
    assert!(matches!(next().await, Seen::Synced { .. }));
    for number in 0..5 {
        let body = object(&map("live", number));
        server.send(Call::apply(&maps(), NAMESPACE, "live", body, true, DryRun::No)).await.unwrap();
    }
    server.send(Call::delete(&maps(), NAMESPACE, "live", &Removal::default())).await.unwrap();
    for number in 0..5 {
        let Seen::Object(object) = next().await else { panic!("no object") };
        assert_eq!(object["data"]["n"], number.to_string());
    }
    assert!(matches!(next().await, Seen::Gone(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_the_real_server_mean_what_they_should() {
    let server = Server::new(client().await);
    let apply = async |resource: &Resource, namespace, name: &str, body: Value| {
        let call = Call::apply(resource, namespace, name, object(&body), true, DryRun::No);
        server.send(call).await.unwrap_err()
    };
    let widgets = Resource::new("example.com", "v1", "Widget", "widgets", true);
    let nothing = Resource::new("apps", "v1", "Nothing", "nothings", true);
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
    assert_eq!(apply(&widgets, NAMESPACE, "a", widget).await, Refusal::KindNotServed);
    let unknown = json!({"apiVersion": "apps/v1", "kind": "Nothing", "metadata": {"name": "a"}});
    assert_eq!(apply(&nothing, NAMESPACE, "a", unknown).await, Refusal::KindNotServed);

    let mut stray = map("a", 1);
    stray["metadata"]["namespace"] = "nowhere".into();
    let refusal = apply(&maps(), Some("nowhere"), "a", stray).await;
    assert_eq!(refusal, Refusal::NamespaceMissing { name: "nowhere".to_owned() });
    let spaces = Resource::new("", "v1", "Namespace", "namespaces", false);
    let get = async |resource: &Resource, name| server.send(Call::get(resource, NAMESPACE, name)).await;
    assert_eq!(get(&spaces, "nowhere").await.unwrap_err(), Refusal::NotFound);
    assert_eq!(get(&maps(), "nobody").await.unwrap_err(), Refusal::NotFound);

    let mut wrong = map("a", 1);
    wrong["dta"] = json!({});
    let refusal = apply(&maps(), NAMESPACE, "a", wrong).await;
    assert!(
        matches!(&refusal, Refusal::Undeclared { field: Some(field), .. } if field == ".dta"),
        "{refusal:?}"
    );
    for length in [1_100_000, 2_000_000, 4_000_000] {
        let mut large = map("a", 1);
        large["data"]["x"] = "x".repeat(length).into();
        let refusal = apply(&maps(), NAMESPACE, "a", large).await;
        assert!(matches!(refusal, Refusal::TooLarge { .. }), "{length}: {refusal:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_cannot_change_is_named_by_the_real_server() {
    let server = Server::new(client().await);
    let deployments = Resource::new("apps", "v1", "Deployment", "deployments", true);
    let deployment = |label: &str| {
        object(
            &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "fixed"}, "spec": {
            "selector": {"matchLabels": {"app": label}},
            "template": {"metadata": {"labels": {"app": label}},
                "spec": {"containers": [{"name": "a", "image": "i"}]}}}}),
        )
    };
    let apply = async |label| {
        let call = Call::apply(&deployments, NAMESPACE, "fixed", deployment(label), true, DryRun::No);
        server.send(call).await
    };
    assert_eq!(apply("one").await.unwrap().code, 201);
    let refusal = apply("two").await.unwrap_err();
    let Refusal::Immutable { causes } = &refusal else { panic!("{refusal:?}") };
    assert_eq!(causes[0].field, "spec.selector");
    assert!(refusal.explain("Deployment default/fixed").contains("--recreate Deployment/fixed"));
    let again = server.send(Call::create(&deployments, NAMESPACE, deployment("one"), DryRun::No)).await;
    assert_eq!(again.unwrap_err(), Refusal::AlreadyExists);
    let other = Removal { uid: Some("another".to_owned()), ..Removal::default() };
    let removed = server.send(Call::delete(&deployments, NAMESPACE, "fixed", &other)).await;
    assert_eq!(removed.unwrap_err(), Refusal::Stale);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_where_nobody_is_and_a_stranger_are_told_apart() {
    let text = std::fs::read_to_string(PROCESS.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_json::from_str(&text).unwrap();
    let send = async |kubeconfig: &Value| {
        let server = Server::new(clients::of_text(&kubeconfig.to_string()).await);
        server.send(Call::get(&maps(), NAMESPACE, "a")).await.unwrap_err()
    };
    let right = kubeconfig["clusters"][0]["cluster"]["server"].clone();
    kubeconfig["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1".into();
    assert!(matches!(send(&kubeconfig).await, Refusal::Unreachable { .. }));
    kubeconfig["clusters"][0]["cluster"]["server"] = "https://nobody.invalid:6443".into();
    assert!(matches!(send(&kubeconfig).await, Refusal::Unreachable { .. }));
    let plain = right.as_str().unwrap().replace("https://", "http://");
    kubeconfig["clusters"][0]["cluster"]["server"] = plain.into();
    let refusal = send(&kubeconfig).await;
    assert!(matches!(refusal, Refusal::Other { code: 400, .. }), "{refusal:?}");
    kubeconfig["clusters"][0]["cluster"]["server"] = right;
    kubeconfig["users"][0]["user"] = json!({"token": "wrong"});
    assert!(matches!(send(&kubeconfig).await, Refusal::Unauthorized { .. }));
    kubeconfig["clusters"][0]["cluster"].as_object_mut().unwrap().remove("certificate-authority");
    let refusal = send(&kubeconfig).await;
    let Refusal::Tls { message } = &refusal else { panic!("{refusal:?}") };
    assert!(message.contains("UnknownIssuer"), "{message}");
}
