//! Whole releases in a world where everything is healthy at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::Request;
use lockstep_lab::{ReleaseFacts, Scenario};
use lockstep_payload::Manifest;
use lockstep_schema::Schema;
use lockstep_tests::corpus::corpus;
use lockstep_tests::releases::{example, load};
use serde_json::Value;
use xtask::kube::{Server, ServerOptions};

use super::stage::{PATIENCE, Stage, condition, is, is_healthy, start};

/// The address of each manifest's collection; kinds of CRDs are those of the release.
fn addresses(manifests: &[&Manifest]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let custom: BTreeMap<(String, String), (String, bool)> = manifests
        .iter()
        .filter(|manifest| manifest.is_crd())
        .map(|manifest| &manifest.object["spec"])
        .map(|spec| {
            let key = (text(&spec["group"]), text(&spec["names"]["kind"]));
            (key, (text(&spec["names"]["plural"]), spec["scope"] == "Namespaced"))
        })
        .collect();
    let address = |manifest: &&Manifest| {
        let builtin = Schema::builtin().kind(&manifest.api_version, &manifest.id.kind);
        let (plural, namespaced) = match builtin {
            Some(kind) => (kind.plural.to_owned(), kind.namespaced),
            None => custom[&(manifest.id.group.clone(), manifest.id.kind.clone())].clone(),
        };
        let root = if manifest.id.group.is_empty() { "api" } else { "apis" };
        let place = if namespaced { format!("/namespaces/{}", manifest.id.namespace) } else { String::new() };
        format!("/{root}/{}{place}/{plural}", manifest.api_version)
    };
    manifests.iter().map(address).collect()
}

#[tokio::test]
async fn the_instant_world_makes_a_release_and_its_update_healthy() {
    let server = start();
    let (first, selection) = example("1.0.0");
    let (second, selection_of_second) = example("1.1.0");
    let facts =
        ReleaseFacts::of(&first, &selection).followed_by(ReleaseFacts::of(&second, &selection_of_second));
    let stage = Stage::open(&server, Scenario::instant(), Some(facts), 1.0).await;

    for (release, selection) in [(&first, &selection), (&second, &selection_of_second)] {
        let manifests: Vec<&Manifest> = release.selected(selection).filter(|it| !it.is_delete()).collect();
        for (manifest, address) in manifests.iter().zip(addresses(&manifests)) {
            stage.apply(manifest, &address).await;
        }
        let (mut deployments, mut operators) = (0, 0);
        for (manifest, address) in manifests.iter().zip(addresses(&manifests)) {
            let path = format!("{address}/{}", manifest.id.name);
            match manifest.id.kind.as_str() {
                "Deployment" => {
                    deployments += 1;
                    let live = stage.until("Available", &path, |live| is(live, "Available", "True")).await;
                    assert_eq!(condition(&live, "Progressing")["reason"], "NewReplicaSetAvailable");
                }
                "Job" => {
                    stage.until("Complete", &path, |live| is(live, "Complete", "True")).await;
                }
                "ClusterOperator" if manifest.is_first_generation() => {
                    operators += 1;
                    let wanted = &manifest.object["status"]["version"];
                    let live =
                        stage.until("version", &path, |live| live["status"]["version"] == *wanted).await;
                    for (kind, status) in
                        [("Available", "True"), ("Progressing", "False"), ("Failing", "False")]
                    {
                        assert!(is(&live, kind, status), "{live:#}");
                    }
                }
                "ClusterOperator" => {
                    operators += 1;
                    let wanted = &manifest.object["status"]["versions"];
                    let live =
                        stage.until("versions", &path, |live| live["status"]["versions"] == *wanted).await;
                    assert!(is_healthy(&live), "{live:#}");
                    assert_eq!(live["status"]["relatedObjects"], manifest.object["status"]["relatedObjects"]);
                }
                _ => {}
            }
        }
        assert!(deployments >= 12 && operators >= 12, "{deployments} {operators}");
    }
    assert!(stage.items("/api/v1/pods").await.is_empty(), "an instant world has no Pods");
    let dns = stage.get("/apis/config.openshift.io/v1/clusteroperators/dns").await;
    let managers = dns["metadata"]["managedFields"].as_array().unwrap();
    assert!(managers.iter().any(|it| it["manager"] == "dns-operator" && it["subresource"] == "status"));
}

#[tokio::test]
async fn the_instant_world_plays_a_real_release_with_one_write_per_object() {
    let Some(corpus) = corpus("the scripted world on a real release") else { return };
    let options = ServerOptions { audit_log: true, ..ServerOptions::default() };
    let server = Server::start(&options).unwrap_or_else(|error| panic!("{error}"));
    let (release, selection) = load(&corpus.join("4.20.0"));
    let facts = ReleaseFacts::of(&release, &selection);
    assert_eq!(facts.count(), 34);
    let stage = Stage::open(&server, Scenario::instant(), Some(facts), 1.0).await;

    // The ClusterOperators are left to their operators.
    let selected: Vec<&Manifest> = release.selected(&selection).filter(|it| !it.is_delete()).collect();
    let is_wanted = |it: &Manifest| match it.id.kind.as_str() {
        "Namespace" | "Deployment" | "DaemonSet" => true,
        _ => it.is_crd() && it.id.name == "clusteroperators.config.openshift.io",
    };
    let mut manifests: Vec<&Manifest> = selected.iter().copied().filter(|it| is_wanted(it)).collect();
    // Some namespaces are brought at a later level than what is in them.
    manifests.sort_by_key(|it| it.id.kind != "Namespace");
    let workloads =
        manifests.iter().filter(|it| matches!(it.id.kind.as_str(), "Deployment" | "DaemonSet")).count();
    for (manifest, address) in manifests.iter().zip(addresses(&manifests)) {
        let start = Instant::now();
        loop {
            let request = Request::post(&address).header("Content-Type", "application/json");
            let request = request.body(manifest.object.to_string().into_bytes()).unwrap();
            match stage.client.request::<Value>(request).await {
                Ok(_) => break,
                Err(kube::Error::Api(status)) if status.code == 409 => break,
                Err(error) => assert!(start.elapsed() < PATIENCE, "{manifest}: {error}\n{}", stage.story()),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    for manifest in selected.iter().filter(|it| it.is_cluster_operator()) {
        let path = format!("/apis/config.openshift.io/v1/clusteroperators/{}", manifest.id.name);
        let wanted = &manifest.object["status"]["versions"];
        stage.until("healthy", &path, |live| is_healthy(live) && live["status"]["versions"] == *wanted).await;
    }
    for name in [
        "",
        "-apiserver",
        "-authentication",
        "-controller-manager",
        "-kube-apiserver",
        "-kube-controller-manager",
        "-kube-scheduler",
        "-oauth-apiserver",
        "-route-controller-manager",
        "-service-ca",
    ] {
        let path = format!("/api/v1/namespaces/openshift{name}");
        stage.until("a namespace of an operator", &path, Value::is_object).await;
    }
    let log = std::fs::read_to_string(server.audit_log().unwrap()).unwrap();
    // Only the world and the server itself name a field manager here.
    let is_ours =
        |line: &&str| line.contains("fieldManager=") && !line.contains("\"userAgent\":\"kube-apiserver/");
    let writes = log.lines().filter(is_ours).count();
    assert!(writes <= workloads + 2 * 34 + 10, "{writes} writes for {workloads} workloads and 34 operators");
}
