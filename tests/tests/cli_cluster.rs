//! The commands that talk to a cluster, and rehearsals, as a user sees them: output, errors, exit codes.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use lockstep_tests::cli::{Run, binary, lockstep, lockstep_with, root};
use lockstep_tests::lab_up::LabUp;
use serde_json::Value;

const FIRST: &str = "examples/releases/1.0.0";
const SECOND: &str = "examples/releases/1.1.0";
/// What the operator's own Deployment runs from.
const IMAGE: [&str; 2] = ["--release-image", "registry.example.com/release:1.0.0"];

/// A lab and, where it is wanted, the operators of the first release.
struct Cluster {
    operators: Option<Child>,
    lab: LabUp,
}

// === impl Cluster ===

impl Cluster {
    fn without_operators() -> Self {
        Self { lab: LabUp::start(), operators: None }
    }

    fn with_operators() -> Self {
        let lab = LabUp::start();
        let operators = Command::new(binary())
            .args(["lab", "operators", FIRST, "--quiet", "--then", SECOND, "--kubeconfig"])
            .arg(lab.kubeconfig())
            .current_dir(root())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { operators: Some(operators), lab }
    }

    /// Runs the command with the kubeconfig of the lab.
    fn lockstep(&self, arguments: &[&str]) -> Run {
        let arguments = [arguments, &IMAGE].concat();
        lockstep_with(&arguments, &[("KUBECONFIG", self.lab.kubeconfig().to_str().unwrap())])
    }

    /// Runs `kubectl` with a document on its input; gives its output.
    fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let kubectl = xtask::kube::assets().unwrap().join("kubectl");
        let mut child = Command::new(kubectl)
            .args(arguments)
            .env("KUBECONFIG", self.lab.kubeconfig())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "kubectl {arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut operators) = self.operators.take() {
            let _ = operators.kill();
            let _ = operators.wait();
        }
    }
}

/// A run with this exit code; its output otherwise.
#[track_caller]
fn ended(run: Run, code: i32) -> String {
    assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
    run.stdout
}

fn last_line(text: &str) -> &str {
    text.lines().next_back().unwrap_or_default()
}

#[test]
fn a_release_is_applied_compared_changed_pruned_and_updated() {
    let cluster = Cluster::with_operators();
    let before = ended(cluster.lockstep(&["diff", FIRST]), 1);
    assert!(
        before.contains("+ Namespace openshift-dns") && before.contains("its namespace comes with"),
        "{before}"
    );

    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("run.jsonl").display().to_string();
    let applied = ended(cluster.lockstep(&["apply", FIRST, "--timeout", "3m", "--record", &recording]), 0);
    assert!(applied.starts_with("00:00 installing 1.0.0: "), "{applied}");
    assert!(last_line(&applied).contains("Cluster version is 1.0.0"), "{applied}");
    let replayed = ended(lockstep(&["replay", &recording, "--speed", "100000"]), 0);
    assert_eq!(last_line(&replayed), last_line(&applied));

    let remembered = ["get", "configmap", "-n", "kube-system", "lockstep-version", "-o", "jsonpath={.data}"];
    assert_eq!(cluster.kubectl(&remembered, ""), r#"{"completed":"1.0.0","set":"version"}"#);
    let again = ended(cluster.lockstep(&["apply", FIRST, "--timeout", "3m"]), 0);
    assert!(again.starts_with("00:00 updating 1.0.0: "), "{again}");
    assert!(
        again.contains(" equal, 0 different, 0 missing") && last_line(&again).ends_with("and 0 writes"),
        "{again}"
    );
    let same = ended(cluster.lockstep(&["diff", FIRST]), 0);
    assert!(same.starts_with("0 new, 0 changed, 0 deleted, "), "{same}");

    drift(&cluster);
    orphans(&cluster);

    let next = ended(cluster.lockstep(&["diff", SECOND]), 1);
    assert!(next.contains("the server cannot check it yet") && next.contains(" deleted, "), "{next}");
    let updated = ended(cluster.lockstep(&["apply", SECOND, "--timeout", "3m", "-o", "jsonl"]), 0);
    let events: Vec<Value> = updated.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["mode"], "updating");
    assert_eq!(events.last().unwrap()["outcome"], "converged");
}

/// What somebody changed is a difference, a dry run leaves it, an apply repairs it.
fn drift(cluster: &Cluster) {
    let change = [
        "annotate",
        "namespace",
        "openshift-dns-operator",
        "--overwrite",
        "openshift.io/node-selector=changed",
    ];
    cluster.kubectl(&change, "");
    let text = ended(cluster.lockstep(&["diff", FIRST]), 1);
    assert!(text.contains("~ Namespace openshift-dns-operator") && text.contains("changed"), "{text}");
    let json = ended(cluster.lockstep(&["diff", FIRST, "-o", "json"]), 1);
    let json: Value = serde_json::from_str(&json).unwrap();
    let changed: Vec<&Value> =
        json["objects"].as_array().unwrap().iter().filter(|object| object["change"] == "changed").collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(changed[0]["object"], "Namespace openshift-dns-operator");
    assert_eq!(ended(cluster.lockstep(&["apply", FIRST, "--dry-run=server"]), 0), text);
    let repaired = ended(cluster.lockstep(&["apply", FIRST, "--timeout", "3m"]), 0);
    assert!(repaired.contains(", 1 different, 0 missing"), "{repaired}");
}

/// An object with our label that no manifest names is told, and deleted on request; a namespace only by its name.
fn orphans(cluster: &Cluster) {
    let labels = "labels: {lockstep.dev/payload: version}";
    let document = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: old, {labels}}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: old, namespace: old, {labels}}}\n"
    );
    cluster.kubectl(&["create", "-f", "-"], &document);
    let told = cluster.lockstep(&["apply", FIRST, "--timeout", "3m"]);
    assert!(told.stderr.contains("Namespace old") && told.stderr.contains("--prune"), "{}", told.stderr);
    let unasked = cluster.lockstep(&["apply", FIRST, "--prune"]);
    assert_eq!(unasked.code, 2);
    assert!(unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    let pruned = ended(cluster.lockstep(&["apply", FIRST, "--timeout", "3m", "--prune", "--yes"]), 0);
    assert!(pruned.contains("  ConfigMap old/old\n") && !pruned.contains("  Namespace old\n"), "{pruned}");
    assert_eq!(cluster.kubectl(&["get", "configmap", "old", "-n", "old", "--ignore-not-found"], ""), "");
    let named = ["apply", FIRST, "--timeout", "3m", "--prune=Namespace/old", "--yes"];
    assert!(ended(cluster.lockstep(&named), 0).contains("  Namespace old\n"));
}

#[test]
fn a_release_whose_operators_never_report_ends_with_124_and_their_names() {
    let cluster = Cluster::without_operators();
    let text = ended(cluster.lockstep(&["apply", FIRST, "--timeout", "8s"]), 124);
    assert!(last_line(&text).contains("not converged in time"), "{text}");
    let missing: Vec<&str> = text.lines().filter(|line| line.contains(" missing: ")).collect();
    assert!(missing.iter().any(|line| line.contains("ClusterOperator")), "{text}");
    let again = ended(cluster.lockstep(&["apply", FIRST, "--timeout", "1s"]), 124);
    assert!(again.starts_with("00:00 installing 1.0.0: "), "it was never complete: {again}");
    let wrong = cluster.lockstep(&["apply", FIRST, "--token", "wrong"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("log in again"), "{}", wrong.stderr);
}

#[test]
fn a_cluster_that_cannot_be_reached_is_named_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let home = [("HOME", home.path().to_str().unwrap()), ("KUBECONFIG", "")];
    let nobody = ["--server", "https://127.0.0.1:1", "--token", "t"];
    for (command, code) in [("apply", 1), ("diff", 2)] {
        let run = lockstep_with(&[&[command, FIRST][..], &nobody, &IMAGE].concat(), &home);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(
            run.stderr.contains("https://127.0.0.1:1/") && run.stderr.contains("is the cluster up"),
            "{}",
            run.stderr
        );
    }
    let none = lockstep_with(&[&["apply", FIRST][..], &IMAGE].concat(), &home);
    assert!(none.code == 2 && none.stderr.contains("give --kubeconfig FILE"), "{}", none.stderr);
    let missing = lockstep(&[&["diff", FIRST, "--kubeconfig", "nowhere"][..], &IMAGE].concat());
    assert!(missing.code == 2 && missing.stderr.contains("no kubeconfig at nowhere"), "{}", missing.stderr);
}

/// A scenario file with this content.
fn a_scenario(folder: &Path, content: &str) -> String {
    let file = folder.join("scenario.yaml");
    std::fs::write(&file, format!("apiVersion: lab.lockstep.dev/v1\nkind: Scenario\n{content}")).unwrap();
    file.display().to_string()
}

#[test]
fn a_rehearsal_converges_sums_up_and_is_the_same_for_the_same_seed() {
    let text = ended(lockstep(&["rehearse"]), 0);
    for part in ["installing 1.0.0: converged after ", "CRITICAL PATH", "OPERATOR", "with seed 0"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(ended(lockstep(&["rehearse"]), 0), text);
    assert_ne!(ended(lockstep(&["rehearse", "--seed", "1"]), 0), text);
    let update = ended(lockstep(&["rehearse", SECOND, "--from", FIRST, "-o", "json"]), 0);
    let update: Value = serde_json::from_str(&update).unwrap();
    assert_eq!((&update["kind"], &update["converged"]), (&"Rehearsal".into(), &true.into()));
    let modes: Vec<&Value> = update["acts"].as_array().unwrap().iter().map(|act| &act["mode"]).collect();
    assert_eq!(modes, ["installing", "updating"]);
}

#[test]
fn a_rehearsal_leaves_a_report_and_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (report, recording) = (path("report.html"), path("run.jsonl"));
    let events = ended(
        lockstep(&[
            "rehearse", SECOND, "--from", FIRST, "--report", &report, "--record", &recording, "-o", "jsonl",
        ]),
        0,
    );
    // Long words may break anywhere.
    let page = std::fs::read_to_string(report).unwrap().replace("<wbr>", "");
    assert!(page.starts_with("<!doctype html>") && page.contains("Converged to 1.1.0"), "{}", &page[..500]);
    assert!(page.contains("installing 1.0.0") && page.contains("updating 1.1.0") && page.contains("<svg"));
    for outside in ["<script", "<link", "src=\"http", "@import"] {
        assert!(!page.contains(outside), "the page is alone: {outside}");
    }
    let replayed = ended(lockstep(&["replay", &recording, "--speed", "100000", "-o", "jsonl"]), 0);
    assert_eq!(replayed, events);
}

#[test]
fn a_rehearsal_that_cannot_get_there_ends_with_1_and_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = a_scenario(folder.path(), "operators:\n- {name: dns, behaviour: silent}\n");
    let text = ended(lockstep(&["rehearse", "--scenario", &scenario, "--timeout", "1h"]), 1);
    assert!(
        text.lines().any(|line| line.contains("missing: ") && line.contains("ClusterOperator dns")),
        "{text}"
    );
}
