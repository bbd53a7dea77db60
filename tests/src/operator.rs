//! `lockstep operator` as a process against a server, and everything that its ClusterVersion ever said.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Client;
use lockstep_apply::kinds::Resource;
use lockstep_apply::server::Server;
use lockstep_apply::watch::{Seen, Watched, watch};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cli::{binary, root};
use crate::clients::Call;

/// The address of the ClusterVersion.
pub const VERSION: &str = "/apis/config.openshift.io/v1/clusterversions/version";
/// The address of the Lease.
pub const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/openshift-cluster-version/leases/version";
/// The address of the operator's Deployment.
pub const DEPLOYMENT: &str =
    "/apis/apps/v1/namespaces/openshift-cluster-version/deployments/cluster-version-operator";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The pull spec of the first release of suites, which nobody ever fetches.
pub const FIRST_IMAGE: &str =
    "release.example.com/platform@sha256:1111111111111111111111111111111111111111111111111111111111111111";
/// How often a state is looked at that is waited for.
const PAUSE: Duration = Duration::from_millis(50);

/// How an operator is started.
#[derive(Clone, Debug)]
pub struct Launch {
    arguments: Vec<String>,
    log: PathBuf,
}

/// A running operator; dropping it kills it.
#[derive(Debug)]
pub struct Replica {
    child: Child,
    log: PathBuf,
}

/// Whether somebody does harm while it is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failures {
    /// Nobody.
    None,
    /// What is told of a failure has no numbers that a successor could read, so one that takes over then begins anew.
    Expected,
}

/// Hears everything that an object says.
pub struct Observer {
    heard: Arc<Mutex<Vec<Value>>>,
    task: JoinHandle<()>,
}

// === impl Launch ===

impl Launch {
    /// An operator of a release, with a Lease of five seconds and without metrics. `name` names its log in a folder that
    /// also gets its cache.
    pub fn new(kubeconfig: &Path, image: &str, payload: &Path, folder: &Path, name: &str) -> Self {
        let text = |path: &Path| path.display().to_string();
        let arguments = [
            "operator",
            "--release-image",
            image,
            "--payload-dir",
            &text(payload),
            "--kubeconfig",
            &text(kubeconfig),
            "--cache-dir",
            &text(&folder.join("cache")),
            "--listen=",
            "--lease-duration=5s",
            "--renew-deadline=4s",
            "--retry-period=1s",
            "-v4",
        ];
        Self { arguments: arguments.map(str::to_owned).to_vec(), log: folder.join(format!("{name}.log")) }
    }

    /// The same with more flags; `--name=value` takes the place of one with the same name.
    #[must_use]
    pub fn with(mut self, flags: &[&str]) -> Self {
        for name in
            flags.iter().filter_map(|flag| flag.split_inclusive('=').next().filter(|it| it.ends_with('=')))
        {
            self.arguments.retain(|argument| !argument.starts_with(name));
        }
        self.arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(&self) -> Replica {
        let log = File::options().create(true).append(true).open(&self.log).expect("a log");
        let child = Command::new(binary())
            .args(&self.arguments)
            .current_dir(root())
            .env_remove("CLUSTER_PROFILE")
            .env_remove("RUST_LOG")
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn();
        Replica { child: child.expect("the command was built"), log: self.log.clone() }
    }
}

// === impl Replica ===

impl Replica {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn kill(&mut self) {
        drop(self.child.kill());
        self.child.wait().expect("a child");
    }

    /// Asks it to stop.
    ///
    /// # Panics
    /// When there is no `kill`.
    pub fn terminate(&self) {
        signal(self.pid(), "TERM");
    }

    /// Whether it still runs.
    ///
    /// # Panics
    /// When it cannot be asked.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Waits until it ends by itself; its exit code.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn exit(&mut self, within: Duration) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().unwrap_or(-1);
            }
            assert!(start.elapsed() < within, "it still runs\n{}", self.log());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// What it said, the end of it.
    pub fn log(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

// === impl Observer ===

impl Observer {
    /// Begins to listen to the ClusterVersion.
    pub fn start(server: Server) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let what = Watched {
            resource: Resource::new("config.openshift.io", "v1", "ClusterVersion", "clusterversions", false),
            namespace: None,
            label_selector: None,
            field_selector: None,
            metadata_only: false,
        };
        let (mut events, listener) = (watch(server, what, 7), Arc::clone(&heard));
        let task = tokio::spawn(async move {
            while let Some(seen) = events.next().await {
                if let Seen::Object(object) = seen {
                    listener.lock().unwrap_or_else(PoisonError::into_inner).push(object);
                }
            }
        });
        Self { heard, task }
    }

    /// Everything that was said so far.
    pub fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a condition said, one after the other, each once.
    pub fn messages(&self, kind: &str) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for object in self.heard() {
            let (status, _, message) = condition(&object, kind);
            let text = format!("{status} {message}");
            if told.last() != Some(&text) && !status.is_empty() {
                told.push(text);
            }
        }
        told
    }

    /// The laws that hold whatever happens: the history loses no entry, and the share of a release that is done never
    /// becomes smaller on its way, unless it was told that the run failed.
    ///
    /// # Panics
    /// When one was broken.
    pub fn assert_laws(&self) {
        let broken = self.broken_laws(Failures::None);
        assert!(broken.is_empty(), "{broken:#?}");
    }

    /// The same as sentences.
    pub fn broken_laws(&self, failures: Failures) -> Vec<String> {
        let mut broken = Vec::new();
        let mut before: Vec<(String, String)> = Vec::new();
        let mut shares: std::collections::BTreeMap<(String, String), f64> = std::collections::BTreeMap::new();
        for object in self.heard() {
            let entry = |entry: &Value| (text(&entry["startedTime"]), text(&entry["image"]));
            let history = object["status"]["history"].as_array();
            let entries: Vec<(String, String)> = history.into_iter().flatten().map(entry).collect();
            let kept = entries.len().checked_sub(before.len()).map(|new| &entries[new..]);
            if kept != Some(&*before) {
                broken.push(format!("the history lost something: {entries:?} after {before:?}"));
            }
            let (progressing, _, message) = condition(&object, "Progressing");
            // What comes after a rest begins anew.
            let has_failed = failures == Failures::Expected && message.starts_with("Unable to apply");
            if progressing == "False" || has_failed {
                shares.clear();
            }
            if let (Some(share), Some(newest)) = (share(&message), entries.first()) {
                let most = shares.entry(newest.clone()).or_default();
                if share < *most {
                    broken.push(format!("{message} after {most}"));
                }
                *most = share;
            }
            before = entries;
        }
        broken
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Brings the definition of `ClusterVersion`s and the one object of it: what an installer leaves behind.
///
/// # Panics
/// When the server refuses one of them.
pub async fn bring_version(client: &Client) {
    let file =
        "examples/releases/1.0.0/manifests/0000_00_cluster-version-operator_01_clusterversions.crd.yaml";
    let bytes = std::fs::read(root().join(file)).expect("a file");
    let definition = lockstep_payload::yaml::documents(&bytes).expect("a manifest").remove(0).value;
    let answer = Call::post(DEFINITIONS, &definition).send(client).await.expect("an answer");
    assert_eq!(answer.code, 201, "{}", answer.body);
    let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version"}, "spec": {"clusterID": "5b0a2e6e-0f4c-4a1b-9a53-2f2f1f1e7a10"}});
    let list = VERSION.rsplit_once('/').expect("a path").0;
    let start = Instant::now();
    loop {
        let answer = Call::post(list, &object).send(client).await;
        match answer {
            Some(answer) if answer.code == 201 => return,
            answer => assert!(start.elapsed() < Duration::from_mins(1), "{answer:?}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Changes the ClusterVersion as an administrator does.
///
/// # Panics
/// When the server refuses it.
pub async fn patch(client: &Client, path: &str, change: &Value) -> Value {
    let call = Call::new("PATCH", path).body("application/merge-patch+json", change.to_string());
    let answer = call.send(client).await.expect("an answer");
    assert_eq!(answer.code, 200, "{}", answer.body);
    answer.body
}

/// Waits until the ClusterVersion is as wanted.
///
/// # Panics
/// When that does not come in time: then with all that it says, and what the operator said.
pub async fn until(
    client: &Client,
    what: &str,
    within: Duration,
    replica: Option<&Replica>,
    is_wanted: impl Fn(&Value) -> bool,
) -> Value {
    let start = Instant::now();
    loop {
        let answer = Call::new("GET", VERSION).send(client).await;
        let last = answer.map(|answer| answer.body).unwrap_or_default();
        if is_wanted(&last) {
            return last;
        }
        let log = || replica.map(Replica::log).unwrap_or_default();
        assert!(start.elapsed() < within, "{what} did not come: {:#}\n{}", last["status"], log());
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether the newest entry of the history is this version, completed, and the cluster says so.
pub fn is_at(object: &Value, version: &str) -> bool {
    let newest = &object["status"]["history"][0];
    newest["version"] == version
        && newest["state"] == "Completed"
        && condition(object, "Progressing").0 == "False"
}

/// Status, reason and message of a condition; empty when it is not there.
pub fn condition(object: &Value, kind: &str) -> (String, String, String) {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|it| it["type"] == kind);
    let part = |name: &str| found.map(|it| text(&it[name])).unwrap_or_default();
    (part("status"), part("reason"), part("message"))
}

/// Sends a signal to a process.
///
/// # Panics
/// When there is no `kill`.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    sent.expect("the command kill");
}

/// The part that is done, of a message with `N of M done`.
fn share(message: &str) -> Option<f64> {
    let (before, after) = message.split_once(" of ")?;
    let done: f64 = before.rsplit(' ').next()?.parse().ok()?;
    let total: f64 = after.split_once(" done")?.0.parse().ok()?;
    Some(done / total)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
