//! The example operator as a process, the release that it is part of, and a stage to run both on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use kube::Client;
use lockstep_api::crd;
use lockstep_lab::{
    Clock, Lab, LabOptions, Login, ReleaseFacts, Scenario, ServeOptions, Serving, World, serve,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::cli::{lockstep, root};
use crate::clients::{self, Call};
use crate::operator::signal;
use crate::releases::example;

/// The ClusterOperator that it reports.
pub const REPORT: &str = "/apis/config.openshift.io/v1/clusteroperators/example";
/// Its operand.
pub const GREETER: &str = "/apis/apps/v1/namespaces/openshift-example/deployments/greeter";
/// What its users say.
pub const CONFIG: &str = "/api/v1/namespaces/openshift-example-operator/configmaps/config";
const OPERATORS: &str = "/apis/config.openshift.io/v1/clusteroperators";
/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(50);

/// The running example; dropping it kills it.
#[derive(Debug)]
pub struct Example {
    child: Child,
    log: PathBuf,
}

/// A lab on a socket in which workloads are played, but not the example.
pub struct Stage {
    // Fields are dropped in this order: who asks before who answers.
    _world: JoinSet<()>,
    /// The administrator.
    pub client: Client,
    /// The file that leads there.
    pub kubeconfig: PathBuf,
    /// For logs.
    pub folder: TempDir,
    _serving: Serving,
    _lab: Lab,
}

/// Path of the example, built on the first call beside the suite itself.
///
/// # Panics
/// When it cannot be built.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        // This suite lies in <target>/debug/deps, the operator in <target>/debug.
        let suite = std::env::current_exe().unwrap_or_default();
        let profile = suite.ancestors().nth(2).unwrap_or(&suite);
        let target = profile.parent().unwrap_or(profile);
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--locked", "--package", "example-operator", "--target-dir"])
            .arg(target)
            .args(profile.ends_with("release").then_some("--release"))
            .current_dir(root())
            .stdin(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "building the example failed");
        profile.join("example-operator")
    })
}

/// Builds a release of the example alone, with the definition that it needs, as its readme says.
///
/// # Panics
/// When it cannot be built.
pub fn build_release(version: &str, to: &Path) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |component: &str, name: &str, bytes: &[u8]| {
        let place = folder.path().join("components").join(component);
        fs::create_dir_all(&place).expect("a folder");
        fs::write(place.join(name), bytes).expect("a file");
    };
    for entry in fs::read_dir(root().join("examples/operator/manifests")).expect("the example") {
        let path = entry.expect("a file").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        put("example-operator", &name, &fs::read(&path).expect("a file"));
    }
    let images = ["example-operator", "greeter"].map(|name| {
        let digest = digest(&format!("{name}:{version}"));
        (name.to_owned(), json!(format!("registry.example.com/lockstep/{name}@sha256:{digest}")))
    });
    let mapping = folder.path().join("images.json");
    let images = json!({"images": images.into_iter().collect::<serde_json::Map<_, _>>()});
    fs::write(&mapping, images.to_string()).expect("a file");
    let text = |path: &Path| path.display().to_string();
    let run = lockstep(&[
        "release",
        "new",
        "--from-dir",
        &text(&folder.path().join("components")),
        "--mapping-file",
        &text(&mapping),
        "--name",
        version,
        "--base",
        "none",
        "--created",
        "2026-03-02T09:00:00Z",
        "--to",
        &text(to),
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // That half of a release comes from its base, and there is none.
    let definition = to.join("manifests/0000_00_cluster-version-operator_01_clusteroperators.crd.yaml");
    fs::write(definition, crd::CLUSTER_OPERATOR).expect("a file");
}

/// The image of the greeter in a release.
pub fn greeter_image(version: &str) -> String {
    format!("registry.example.com/lockstep/greeter@sha256:{}", digest(&format!("greeter:{version}")))
}

fn digest(text: &str) -> String {
    lockstep_release::digest::Digest::of(text.as_bytes()).hex().to_owned()
}

// === impl Example ===

impl Example {
    /// Starts it at a version; `after` is the operator that it waits for.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(kubeconfig: &Path, folder: &Path, version: &str, after: &str) -> Self {
        let log = folder.join(format!("example-{version}.log"));
        let file = File::options().create(true).append(true).open(&log).expect("a log");
        let child = Command::new(binary())
            .env("KUBECONFIG", kubeconfig)
            .env("NO_PROXY", "127.0.0.1")
            .env("OPERATOR_IMAGE_VERSION", version)
            .env(
                "IMAGE",
                format!(
                    "registry.example.com/lockstep/example-operator@sha256:{}",
                    digest(&format!("example-operator:{version}"))
                ),
            )
            .env("OPERAND_IMAGE", greeter_image(version))
            .env("AFTER", after)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn();
        Self { child: child.expect("it was built"), log }
    }

    /// Asks it to stop and waits; its exit code.
    ///
    /// # Panics
    /// When it does not end.
    pub fn stop(mut self) -> i32 {
        signal(self.child.id(), "TERM");
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().unwrap_or(-1);
            }
            assert!(start.elapsed() < PATIENCE, "it does not end\n{}", self.log());
            std::thread::sleep(PAUSE);
        }
    }

    /// What it said.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

// === impl Stage ===

impl Stage {
    /// A lab on a socket of its own, ten times as fast as the wall, with everything that the example ships.
    ///
    /// # Panics
    /// When something of it cannot start.
    pub async fn start() -> Self {
        let clock = Arc::new(Clock::real(10.0));
        let lab = Lab::new(LabOptions { clock: Arc::clone(&clock), ..LabOptions::default() });
        let listen = "127.0.0.1:0".parse().expect("an address");
        let serving = serve(lab.router(), ServeOptions::new(listen)).await.expect("a lab on a socket");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let kubeconfig = folder.path().join("kubeconfig");
        fs::write(&kubeconfig, serving.kubeconfig(Login::Token)).expect("a kubeconfig");
        // With the facts of another release the world plays no ClusterOperator of this one.
        let (release, selection) = example("1.0.0");
        let facts = ReleaseFacts::of(&release, &selection);
        let world = World::new(lab.world_client(), Scenario::default(), Some(facts), clock, 1);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(world.run().await) });
        let client = clients::of_file(&kubeconfig).await;
        Self { _world: tasks, client, kubeconfig, folder, _serving: serving, _lab: lab }
    }
}

/// Creates what the example ships, but for its Deployment and its ClusterOperator, and the definition.
///
/// # Panics
/// When something is refused.
pub async fn bring_manifests(client: &Client) {
    let definition =
        lockstep_payload::yaml::documents(crd::CLUSTER_OPERATOR.as_bytes()).expect("a definition").remove(0);
    let mut objects =
        vec![("/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(), definition.value)];
    for (file, collection) in [("00_namespaces.yaml", "namespaces"), ("02_config.yaml", "configmaps")] {
        let bytes = fs::read(root().join("examples/operator/manifests").join(file)).expect("a file");
        for document in lockstep_payload::yaml::documents(&bytes).expect("manifests") {
            let place = match document.value["metadata"]["namespace"].as_str() {
                Some(namespace) => format!("/api/v1/namespaces/{namespace}/{collection}"),
                None => format!("/api/v1/{collection}"),
            };
            objects.push((place, document.value));
        }
    }
    for (place, object) in objects {
        let answer = Call::post(place, &object).send(client).await.expect("an answer");
        assert_eq!(answer.code, 201, "{}", answer.body);
    }
    until(client, "the kind ClusterOperator", OPERATORS, |list| list["items"].is_array()).await;
}

/// Has somebody else report a ClusterOperator at a version.
///
/// # Panics
/// When it is refused.
pub async fn report(client: &Client, name: &str, version: &str) {
    let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "spec": {}});
    // It may be there already.
    Call::post(OPERATORS, &object).send(client).await.expect("an answer");
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "AsExpected", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {"versions": [{"name": "operator", "version": version}],
        "conditions": [condition("Available", "True"), condition("Progressing", "False"), condition("Degraded", "False")]}});
    let path = format!("{OPERATORS}/{name}/status");
    let call = Call::new("PATCH", path).body("application/merge-patch+json", status.to_string());
    let answer = call.send(client).await.expect("an answer");
    assert_eq!(answer.code, 200, "{}", answer.body);
}

/// The object at an address; `Null` when there is none.
pub async fn get(client: &Client, path: &str) -> Value {
    match Call::new("GET", path).send(client).await {
        Some(answer) if answer.code == 200 => answer.body,
        _ => Value::Null,
    }
}

/// Waits until the object at an address is as wanted.
///
/// # Panics
/// When that does not come.
pub async fn until(client: &Client, what: &str, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let live = get(client, path).await;
        if is_wanted(&live) {
            return live;
        }
        assert!(start.elapsed() < PATIENCE, "waiting for {what}: {live:#}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Status and message of a condition.
pub fn condition<'a>(report: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let conditions = report["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null);
    (found["status"].as_str().unwrap_or_default(), found["message"].as_str().unwrap_or_default())
}

/// The reported version of the operator.
pub fn version(report: &Value) -> &str {
    let versions = report["status"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = versions.iter().find(|entry| entry["name"] == "operator").unwrap_or(&Value::Null);
    own["version"].as_str().unwrap_or_default()
}

/// Whether it is available at a version and at rest.
pub fn is_at(report: &Value, wanted: &str) -> bool {
    version(report) == wanted
        && condition(report, "Available").0 == "True"
        && condition(report, "Progressing").0 == "False"
}
