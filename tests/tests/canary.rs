//! A secret that is put where secrets do not belong is in nothing that we write: folders, diagnoses, screens, pages.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::fs;
use std::path::Path;

use lockstep_tests::cli::{lockstep_with, root};
use lockstep_tests::clients::{Call, of_file};
use lockstep_tests::lab_up::LabUp;
use serde_json::{Value, json};

const CANARY: &str = "canary-9b1f77e2c4";
/// The same as Secrets and kubeconfigs have it.
const ENCODED: &str = "Y2FuYXJ5LTliMWY3N2UyYzQ=";

async fn create(client: &kube::Client, list: &str, object: Value) {
    let answer = Call::post(list, &object).send(client).await.unwrap();
    assert_eq!(answer.code, 201, "{}", answer.body);
    if !object["status"].is_null() {
        let path = format!("{list}/{}/status", object["metadata"]["name"].as_str().unwrap());
        let status = json!({"status": object["status"]}).to_string();
        let answer = Call::new("PATCH", path).body("application/merge-patch+json", status).send(client).await;
        assert_eq!(answer.unwrap().code, 200);
    }
}

/// A cluster with the canary in a Secret, a variable, an annotation, a kubeconfig, the last words of a container and a log line.
async fn stage(kubeconfig: &Path) {
    let client = of_file(kubeconfig).await;
    for kind in ["clusterversions", "clusteroperators"] {
        let file =
            format!("examples/releases/1.0.0/manifests/0000_00_cluster-version-operator_01_{kind}.crd.yaml");
        let bytes = fs::read(root().join(file)).unwrap();
        let definition = lockstep_payload::yaml::documents(&bytes).unwrap().remove(0).value;
        create(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", strip_status(definition))
            .await;
    }
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "kube-system"},
        "data": {"password": ENCODED}});
    create(&client, "/api/v1/namespaces/kube-system/secrets", secret).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "kube-system"},
        "data": {"kubeconfig": format!("users:\n- user:\n    token: {CANARY}\n"), "plain": CANARY}});
    create(&client, "/api/v1/namespaces/kube-system/configmaps", map).await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "kube-system",
            "annotations": {"example.com/password": CANARY, "lab.lockstep.dev/log":
                format!("starting\nerror: login with {CANARY} refused\nfatal: password={CANARY}\n")}},
        "spec": {"containers": [{"name": "c", "image": "registry.example.com/x", "args": [CANARY],
            "env": [{"name": "PASSWORD", "value": CANARY}]}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "image": "x", "imageID": "", "ready": false,
            "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
            "lastState": {"terminated": {"exitCode": 1, "message": format!("error: {CANARY}")}}}]}});
    create(&client, "/api/v1/namespaces/kube-system/pods", pod).await;
    let conditions = json!([{"type": "Available", "status": "False", "reason": "Down",
        "message": "cannot log in", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let operator = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "dns"},
        "spec": {}, "status": {"conditions": conditions,
            "relatedObjects": [{"group": "", "resource": "namespaces", "name": "kube-system"}]}});
    for _ in 0..200 {
        let served = Call::new("GET", "/apis/config.openshift.io/v1/clusteroperators").send(&client).await;
        if served.is_some_and(|answer| answer.code == 200) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    create(&client, "/apis/config.openshift.io/v1/clusteroperators", operator).await;
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "5b0a2e6e-0f4c-4a1b-9a53-2f2f1f1e7a10"}, "status": {
            "desired": {"version": "1.0.0", "image": "registry.example.com/release@sha256:0"}, "observedGeneration": 1,
            "versionHash": "x", "availableUpdates": [], "history": [{"state": "Completed", "version": "1.0.0",
                "image": "registry.example.com/release@sha256:0", "startedTime": "2026-01-01T00:00:00Z", "verified": false,
                "completionTime": "2026-01-01T00:10:00Z"}],
            "conditions": [{"type": "Progressing", "status": "False", "lastTransitionTime": "2026-01-01T00:10:00Z"}]}});
    create(&client, "/apis/config.openshift.io/v1/clusterversions", version).await;
}

fn strip_status(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("status");
    object
}

fn assert_clean(what: &str, text: &str) {
    for secret in [CANARY, ENCODED, ENCODED.trim_end_matches('=')] {
        assert!(!text.contains(secret), "{what} has the secret: {text}");
    }
}

fn all_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(all_files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn a_secret_is_in_nothing_that_is_written() {
    let lab = LabUp::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(stage(lab.kubeconfig()));
    let kubeconfig = lab.kubeconfig().display().to_string();
    let environment = [("KUBECONFIG", kubeconfig.as_str())];
    let folder = tempfile::tempdir().unwrap();
    let gathered = folder.path().join("gathered").display().to_string();
    let page = folder.path().join("report.html").display().to_string();
    let run = lockstep_with(&["gather", &gathered], &environment);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let files = all_files(Path::new(&gathered));
    assert!(files.len() > 5, "{files:?}");
    let mut has_log = false;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert_clean(&file.display().to_string(), &text);
        has_log |= text.contains("refused");
    }
    assert!(has_log, "the log line itself is of interest and is kept");
    for arguments in [
        &["why"][..],
        &["why", "-o", "json"],
        &["why", "--from", &gathered],
        &["why", "dns"],
        &["wait-for", "operator", "dns", "--timeout", "1s"],
        &["wait-for", "stable", "--stable-for", "1s", "--period", "2s", "-o", "json"],
    ] {
        let run = lockstep_with(arguments, &environment);
        assert_ne!(run.code, 0, "{arguments:?}: the operator is down");
        assert!(run.stdout.contains("dns"), "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert_clean(&format!("{arguments:?}"), &format!("{}{}", run.stdout, run.stderr));
    }
    let release = ["--release-image", "registry.example.com/release:1.0.0"];
    for arguments in [&["report", &page][..], &[&["diff", "examples/releases/1.0.0"][..], &release].concat()]
    {
        let run = lockstep_with(arguments, &environment);
        assert_clean(&format!("{arguments:?}"), &format!("{}{}", run.stdout, run.stderr));
    }
    assert_clean("the page", &fs::read_to_string(&page).unwrap());
}
