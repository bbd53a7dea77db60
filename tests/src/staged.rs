//! A cluster in the middle of an update, staged object by object: nobody works in it but the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use lockstep_api::Time;
use serde_json::{Value, json};

use crate::cli::{Run, lockstep_with, root};

/// Definitions of the two kinds that everything here is about.
const DEFINITIONS: [&str; 2] = ["clusterversions", "clusteroperators"];

/// The way to a staged cluster.
pub struct Staged {
    kubeconfig: PathBuf,
}

/// How an operator is: name, version, Available, Progressing, Degraded, and what it says.
pub type Reported<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str);

/// The update that the suites look at: the network is there, dns works and is degraded, the others wait.
pub const UPDATE: [Reported<'_>; 4] = [
    ("network", "1.1.0", "True", "False", "False", ""),
    ("dns", "1.0.0", "True", "True", "True", "Pods of DaemonSet openshift-dns/dns-default are not ready"),
    ("kube-apiserver", "1.0.0", "True", "False", "False", ""),
    ("ingress", "1.0.0", "True", "False", "False", ""),
];

/// What the operator of the cluster says of it.
pub const MESSAGE: &str = "Working towards 1.1.0: 30 of 96 done (31% complete), waiting on dns";

// === impl Staged ===

impl Staged {
    /// Makes the kinds known to a server that has nothing yet.
    pub fn new(kubeconfig: &Path) -> Self {
        let staged = Self { kubeconfig: kubeconfig.to_owned() };
        let folder = "examples/releases/1.0.0/manifests";
        for name in DEFINITIONS {
            let file = format!("{folder}/0000_00_cluster-version-operator_01_{name}.crd.yaml");
            staged.kubectl(&["create", "-f", &file], None);
            let definition = format!("crd/{name}.config.openshift.io");
            staged.kubectl(&["wait", "--for=condition=Established", &definition, "--timeout=60s"], None);
        }
        staged
    }

    /// Stages the update of [`UPDATE`], which began fourteen minutes ago.
    pub fn update(&self) {
        self.version(MESSAGE, &["P1.1.0", "C1.0.0"]);
        for operator in UPDATE {
            self.operator(operator);
        }
    }

    /// Stages the ClusterVersion: a history of `C` or `P` and a version, newest first.
    pub fn version(&self, message: &str, history: &[&str]) {
        let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": {"name": "version"}, "spec": {"clusterID": "a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3c"}});
        let entry = |text: &&str| {
            let is_complete = text.starts_with('C');
            json!({"state": if is_complete { "Completed" } else { "Partial" }, "startedTime": ago(14),
                "completionTime": if is_complete { json!(ago(1)) } else { Value::Null }, "version": text[1..],
                "image": format!("registry.example.com/release:{}", &text[1..]), "verified": true})
        };
        let entries: Vec<Value> = history.iter().map(entry).collect();
        let version = history.first().map_or("", |text| &text[1..]);
        let is_moving = history.first().is_some_and(|text| text.starts_with('P'));
        let status = json!({"desired": {"version": version, "image": format!("registry.example.com/release:{version}")},
            "history": entries, "observedGeneration": 1, "versionHash": "x", "availableUpdates": [],
            "conditions": [condition("Available", "True", ""), condition("Failing", "False", ""),
                condition("Progressing", if is_moving { "True" } else { "False" }, message)]});
        self.put("clusterversion", "version", &object, &status);
    }

    /// Stages a ClusterOperator.
    pub fn operator(&self, (name, version, available, progressing, degraded, message): Reported<'_>) {
        let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
            "metadata": {"name": name}, "spec": {}});
        let status = json!({"versions": [{"name": "operator", "version": version}], "conditions": [
            condition("Available", available, message), condition("Progressing", progressing, message),
            condition("Degraded", degraded, message)]});
        self.put("clusteroperator", name, &object, &status);
    }

    fn put(&self, kind: &str, name: &str, object: &Value, status: &Value) {
        self.kubectl(&["apply", "-f", "-"], Some(&object.to_string()));
        // Not a merge, which would drop the null that an open entry of the history must have.
        let patch = json!([{"op": "add", "path": "/status", "value": status}]).to_string();
        self.kubectl(&["patch", kind, name, "--subresource=status", "--type=json", "-p", &patch], None);
    }

    /// Runs `kubectl` on it.
    ///
    /// # Panics
    /// When that fails.
    pub fn kubectl(&self, arguments: &[&str], input: Option<&str>) -> String {
        let kubectl = xtask::kube::assets().expect("the files of a Kubernetes").join("kubectl");
        let mut child = Command::new(kubectl)
            .args(arguments)
            .current_dir(root())
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a kubectl that starts");
        if let Some(mut stdin) = child.stdin.take() {
            std::io::Write::write_all(&mut stdin, input.unwrap_or_default().as_bytes()).expect("a reader");
        }
        let output = child.wait_with_output().expect("a kubectl that ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs `lockstep` on it.
    pub fn lockstep(&self, arguments: &[&str]) -> Run {
        lockstep_with(arguments, &[("KUBECONFIG", &self.kubeconfig.display().to_string())])
    }

    /// The file that leads to it.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Staged", "message": message, "lastTransitionTime": ago(7)})
}

/// So many minutes ago.
fn ago(minutes: i64) -> String {
    Time::from(Timestamp::now() - SignedDuration::from_mins(minutes)).to_string()
}
