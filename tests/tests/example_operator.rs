//! The example operator in the lab and on a real API server: from nothing to Available, an update that keeps the old version
//! until the operand has moved, no write at rest, and its release.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use kube::Client;
use lockstep_apply::server::Server;
use lockstep_converge::conformance::watch;
use lockstep_health::conformance::{Finding, Outcome, running};
use lockstep_lab::Clock;
use lockstep_tests::cli::{lockstep, root};
use lockstep_tests::clients::Call;
use lockstep_tests::example_operator::{
    CONFIG, Example, GREETER, REPORT, Stage, bring_manifests, build_release, condition, get, greeter_image,
    is_at, report, until, version,
};
use lockstep_tests::real::Real;
use lockstep_tests::releases::{self, example};
use serde_json::{Value, json};

/// From nothing to the first version, to rest, to the second version.
async fn story(client: &Client, kubeconfig: &Path, folder: &Path) {
    bring_manifests(client).await;
    let first = Example::start(kubeconfig, folder, "1.0.0", "dns");
    let waiting = until(client, "a first report", REPORT, |it| {
        condition(it, "Progressing").1.contains("clusteroperator/dns")
    })
    .await;
    assert_eq!(condition(&waiting, "Progressing").0, "True");
    assert_eq!((condition(&waiting, "Available").0, version(&waiting)), ("False", ""));
    assert_eq!(get(client, GREETER).await, Value::Null, "it acts before its prerequisite is there");

    report(client, "dns", "1.0.0").await;
    let there = until(client, "the first version", REPORT, |it| is_at(it, "1.0.0")).await;
    assert_eq!(condition(&there, "Degraded").0, "False", "{}", first.log());
    assert_eq!(condition(&there, "Upgradeable").0, "True");
    assert_eq!(there["status"]["relatedObjects"].as_array().unwrap().len(), 4);
    nothing_is_written_at_rest(client).await;
    assert_eq!(first.stop(), 0);

    update(client, kubeconfig, folder).await;
}

/// Whatever wakes the operator, nothing is written while everything is as it should be.
async fn nothing_is_written_at_rest(client: &Client) {
    let versions = async || {
        let mut versions = BTreeMap::new();
        for path in [REPORT, GREETER, "/api/v1/namespaces/openshift-example/configmaps/greeter"] {
            // The world may still write the status of the workload; what the operator owns is the spec.
            let live = get(client, path).await;
            let field = if path == GREETER { "generation" } else { "resourceVersion" };
            versions.insert(path, live["metadata"][field].clone());
        }
        versions
    };
    let before = versions().await;
    for round in 0..3 {
        let note = json!({"metadata": {"annotations": {"example.lockstep.dev/round": round.to_string()}}});
        let call = Call::new("PATCH", CONFIG).body("application/merge-patch+json", note.to_string());
        assert_eq!(call.send(client).await.unwrap().code, 200);
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    assert_eq!(versions().await, before);
}

/// The update, seen by the rules of the protocol.
async fn update(client: &Client, kubeconfig: &Path, folder: &Path) {
    let server = Server::new(client.clone());
    let clock = Clock::real(1.0);
    let watched = tokio::spawn(async move {
        watch(&server, "example", Duration::from_secs(25), 1, move || clock.now()).await
    });
    let second = Example::start(kubeconfig, folder, "1.1.0", "dns");
    let waiting =
        until(client, "the second operator", REPORT, |it| condition(it, "Progressing").0 == "True").await;
    assert_eq!((version(&waiting), condition(&waiting, "Available").0), ("1.0.0", "True"));
    report(client, "dns", "1.1.0").await;
    until(client, "the new image", GREETER, |it| {
        it["spec"]["template"]["spec"]["containers"][0]["image"] == greeter_image("1.1.0").as_str()
    })
    .await;
    until(client, "the second version", REPORT, |it| is_at(it, "1.1.0")).await;
    let findings = running(&watched.await.unwrap().unwrap());
    let outcome = |id: &str| &findings.iter().find(|finding| finding.rule.id == id).unwrap().outcome;
    let broken: Vec<&Finding> = findings.iter().filter(|finding| finding.outcome.is_fail()).collect();
    assert!(broken.is_empty(), "{broken:#?}\n{}", second.log());
    let seen = [
        "core-conditions",
        "version-after-operands",
        "version-when-available",
        "progressing-while-moving",
        "transition-time-moves",
        "transition-time-stays",
        "related-objects-exist",
    ];
    for id in seen {
        assert_eq!(outcome(id), &Outcome::Pass, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_reports_as_it_should_in_the_lab() {
    let stage = Stage::start().await;
    story(&stage.client, &stage.kubeconfig, stage.folder.path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_reports_as_it_should_on_a_real_server() {
    // With the facts of another release the world plays workloads, and no ClusterOperator of this one.
    let real = Real::start(true, &[&example("1.0.0")]).await;
    let folder = tempfile::tempdir().unwrap();
    story(&real.client, real.kube.kubeconfig(), folder.path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn config_that_cannot_be_is_told_and_the_greeter_goes_on() {
    let stage = Stage::start().await;
    let client = &stage.client;
    bring_manifests(client).await;
    let running = Example::start(&stage.kubeconfig, stage.folder.path(), "1.0.0", "");
    until(client, "the first version", REPORT, |it| is_at(it, "1.0.0")).await;
    let change = async |replicas: &str| {
        let data = json!({"data": {"replicas": replicas}});
        let call = Call::new("PATCH", CONFIG).body("application/merge-patch+json", data.to_string());
        assert_eq!(call.send(client).await.unwrap().code, 200);
    };
    change("many").await;
    // For two minutes that is no lower quality of service; the message says it at once.
    let told =
        until(client, "a word about it", REPORT, |it| condition(it, "Degraded").1.contains("many")).await;
    assert_eq!(condition(&told, "Degraded").0, "False", "{}", running.log());
    assert!(condition(&told, "Degraded").1.contains("write a number from 1 to 100"));
    change("3").await;
    until(client, "three replicas", GREETER, |it| it["spec"]["replicas"] == 3).await;
    until(client, "the rest", REPORT, |it| {
        is_at(it, "1.0.0") && !condition(it, "Degraded").1.contains("many")
    })
    .await;
}

/// Name and content of every file of a folder and its folders.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_release_of_the_example_is_what_its_manifests_build_and_can_be_rehearsed() {
    let place = root().join("examples/releases/operator-example");
    let folder = tempfile::tempdir().unwrap();
    let built = folder.path().join("release");
    build_release("1.0.0", &built);
    if std::env::var_os("LOCKSTEP_BLESS").is_some() {
        fs::remove_dir_all(&place).unwrap_or_default();
        build_release("1.0.0", &place);
    }
    let (wanted, found) = (files(&built), files(&place));
    assert!(
        wanted == found,
        "examples/releases/operator-example is out of date; LOCKSTEP_BLESS=1 writes it anew"
    );
    let (release, selection) = releases::load(&place);
    assert!(release.selected(&selection).count() > 10);
    let text = place.display().to_string();
    for arguments in [&["release", "lint", &text][..], &["rehearse", &text]] {
        let run = lockstep(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}{}", run.stdout, run.stderr);
    }
}
