//! `lockstep upgrade` as a person uses it, against the embedded API server: requests, refusals, pause, abort, waiting.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::process::Command;
use std::thread;

use lockstep_tests::cli::{Run, lockstep_with, root};
use lockstep_tests::lab_up::LabUp;
use serde_json::{Value, json};

const DEFINITION: &str =
    "examples/releases/1.0.0/manifests/0000_00_cluster-version-operator_01_clusterversions.crd.yaml";

fn image(version: &str) -> String {
    format!("registry.example.com/release@sha256:{}", version.replace('.', "").repeat(64)[..64].to_owned())
}

/// A lab with a ClusterVersion that nobody but the test works on.
struct Cluster {
    lab: LabUp,
}

// === impl Cluster ===

impl Cluster {
    fn start() -> Self {
        let cluster = Self { lab: LabUp::start() };
        cluster.kubectl(&["create", "-f", DEFINITION]);
        cluster.kubectl(&["wait", "--for=condition=Established", "crd/clusterversions.config.openshift.io"]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("version.json");
        let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "spec": {"clusterID": "a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3c", "channel": "stable"}});
        std::fs::write(&file, object.to_string()).unwrap();
        cluster.kubectl(&["create", "-f", file.to_str().unwrap()]);
        cluster
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        let kubectl = xtask::kube::assets().unwrap().join("kubectl");
        let output = Command::new(kubectl)
            .args(arguments)
            .current_dir(root())
            .env("KUBECONFIG", self.lab.kubeconfig())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "kubectl {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Plays the operator: reports a history of `C` or `P` and a version, newest first, and conditions.
    fn report(&self, history: &[&str], conditions: &Value) {
        let generation: i64 = self.get()["metadata"]["generation"].as_i64().unwrap();
        let entry = |text: &&str| {
            let state = if text.starts_with('C') { "Completed" } else { "Partial" };
            json!({"state": state, "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z",
                "version": text[1..], "image": image(&text[1..]), "verified": true})
        };
        let entries: Vec<Value> = history.iter().map(entry).collect();
        let desired = &history[0][1..];
        let status = json!({"status": {"desired": {"version": desired, "image": image(desired)}, "history": entries,
            "observedGeneration": generation, "versionHash": "x", "conditions": conditions,
            "availableUpdates": [{"version": "4.1.2", "image": image("4.1.2")}]}});
        let patch = status.to_string();
        self.kubectl(&[
            "patch",
            "clusterversion",
            "version",
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
    }

    fn get(&self) -> Value {
        serde_json::from_str(&self.kubectl(&["get", "clusterversion", "version", "-o", "json"])).unwrap()
    }

    fn upgrade(&self, arguments: &[&str]) -> Run {
        let arguments = [&["upgrade"], arguments].concat();
        lockstep_with(&arguments, &[("KUBECONFIG", self.lab.kubeconfig().to_str().unwrap())])
    }
}

#[track_caller]
fn ended(run: &Run, code: i32, part: &str) {
    let all = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, code, "{all}");
    assert!(all.contains(part), "{part:?} is missing: {all}");
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

#[test]
fn a_person_asks_pauses_waits_and_goes_back() {
    let cluster = Cluster::start();
    ended(&cluster.upgrade(&[]), 0, "no operator has reported yet");
    cluster.report(&["C4.1.1"], &json!([]));
    ended(&cluster.upgrade(&[]), 0, "Cluster version is 4.1.1");
    ended(&cluster.upgrade(&["to", "4.9.9"]), 1, "it knows 4.1.2, 4.1.1");
    ended(&cluster.upgrade(&["to", "registry.example.com/release:4.1.2"]), 1, "by digest");
    assert_eq!(cluster.get()["spec"]["desiredUpdate"], Value::Null, "nothing was asked for yet");
    ended(&cluster.upgrade(&["abort"]), 0, "nothing to abort");

    pauses(&cluster);
    ended(&cluster.upgrade(&["to", "4.1.2"]), 0, "4.1.1 -> 4.1.2");
    assert_eq!(cluster.get()["spec"]["desiredUpdate"], json!({"version": "4.1.2", "image": image("4.1.2")}));
    ended(&cluster.upgrade(&["to", "4.1.2"]), 0, "is asked for already");
    let late = cluster.upgrade(&["to", "4.1.2", "--wait", "--timeout", "1s"]);
    ended(&late, 124, "the operator has not seen the request yet");

    cluster.report(
        &["P4.1.2", "C4.1.1"],
        &json!([condition("Progressing", "True", "", "Working towards 4.1.2: 1 of 2 done")]),
    );
    ended(
        &cluster.upgrade(&[]),
        0,
        "An update is in progress: 4.1.1 -> 4.1.2\nWorking towards 4.1.2: 1 of 2 done",
    );
    let waited = thread::scope(|scope| {
        let waiting = scope.spawn(|| cluster.upgrade(&["to", "4.1.2", "--wait", "--timeout", "1m"]));
        cluster.report(&["C4.1.2", "C4.1.1"], &json!([]));
        waiting.join().unwrap()
    });
    ended(&waited, 0, "the cluster is at 4.1.2");
}

/// Pause and resume can be said twice, and the reason is kept.
fn pauses(cluster: &Cluster) {
    ended(&cluster.upgrade(&["resume"]), 0, "is not paused");
    ended(&cluster.upgrade(&["pause", "--reason", "the fair"]), 0, "The cluster is paused");
    let version = cluster.get()["metadata"]["resourceVersion"].clone();
    ended(&cluster.upgrade(&["pause"]), 0, "already paused");
    assert_eq!(cluster.get()["metadata"]["resourceVersion"], version, "nothing was written");
    ended(&cluster.upgrade(&[]), 0, "Paused (the fair)");
    ended(&cluster.upgrade(&["resume"]), 0, "no longer paused");
    let annotations = cluster.get()["metadata"]["annotations"].to_string();
    assert!(!annotations.contains("lockstep.dev"), "{annotations}");
}

#[test]
fn what_speaks_against_an_update_is_told_and_a_refusal_ends_the_wait() {
    let cluster = Cluster::start();
    cluster.report(
        &["C4.1.1"],
        &json!([condition("Failing", "True", "ClusterOperatorDegraded", "dns is degraded")]),
    );
    ended(&cluster.upgrade(&["to", "4.1.2"]), 1, "dns is degraded");
    ended(&cluster.upgrade(&["to", "4.1.2", "--allow-upgrade-with-warnings"]), 0, "dns is degraded");
    let refused = condition("ReleaseAccepted", "False", "RetrievePayload", "4.1.2 cannot be had\nat all");
    cluster.report(&["C4.1.1"], &json!([refused]));
    let waited = cluster.upgrade(&["to", "4.1.2", "--wait", "--timeout", "1m"]);
    ended(&waited, 1, "the update is refused: RetrievePayload: 4.1.2 cannot be had at all");
    ended(&cluster.upgrade(&["abort"]), 0, "the cluster stays at 4.1.1");
    assert_eq!(cluster.get()["spec"]["desiredUpdate"]["image"], image("4.1.1"));

    cluster.report(&["P4.2.0", "C4.1.1"], &json!([]));
    let back = cluster.upgrade(&["abort"]);
    ended(&back, 1, &format!("lockstep upgrade to {} --force", image("4.1.1")));
    ended(&cluster.upgrade(&["to", &image("4.1.1"), "--force"]), 0, "--force skips");
    assert_eq!(cluster.get()["spec"]["desiredUpdate"]["force"], true);
}

#[test]
fn a_cluster_without_a_cluster_version_is_told_what_to_do() {
    let lab = LabUp::start();
    let run = lockstep_with(&["upgrade"], &[("KUBECONFIG", lab.kubeconfig().to_str().unwrap())]);
    ended(&run, 1, "has no ClusterVersion version");
}
