//! A server with a running world, and questions to it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::Request;
use kube::Client;
use lockstep_lab::{Clock, LogLine, ReleaseFacts, Scenario, World};
use lockstep_payload::Manifest;
use lockstep_tests::clients;
use serde_json::Value;
use tokio::task::JoinSet;
use xtask::kube::{Server, ServerOptions};

/// How long anything may take; nothing is measured here, so it is generous.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);

pub(super) fn start() -> Server {
    Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A running world; dropping it ends it.
pub(super) struct Stage {
    pub(super) client: Client,
    log: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Stage {
    pub(super) async fn open(
        server: &Server,
        scenario: Scenario,
        facts: Option<ReleaseFacts>,
        speed: f64,
    ) -> Self {
        let client = clients::of_file(server.kubeconfig()).await;
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        let world = World::new(client.clone(), scenario, facts, Arc::new(Clock::real(speed)), 1)
            .with_log(move |line: LogLine| lines.lock().unwrap().push(line.to_string()));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { panic!("the world ended: {}", world.run().await) });
        Self { client, log, _tasks: tasks }
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let request = Request::get(path).body(Vec::new()).unwrap();
        self.client.request(request).await.unwrap_or(Value::Null)
    }

    pub(super) async fn items(&self, path: &str) -> Vec<Value> {
        self.get(path).await["items"].as_array().cloned().unwrap_or_default()
    }

    pub(super) async fn post(&self, path: &str, object: Value) {
        let request = Request::post(path).header("Content-Type", "application/json");
        let request = request.body(object.to_string().into_bytes()).unwrap();
        self.client.request::<Value>(request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    pub(super) async fn patch(&self, path: &str, body: Value) -> Result<Value, kube::Error> {
        let request = Request::patch(path).header("Content-Type", "application/merge-patch+json");
        self.client.request(request.body(body.to_string().into_bytes()).unwrap()).await
    }

    /// Applies a manifest; what is missing (a kind, a namespace) is waited for.
    pub(super) async fn apply(&self, manifest: &Manifest, resource: &str) {
        let path = format!("{resource}/{}?fieldManager=suite&force=true", manifest.id.name);
        let start = Instant::now();
        loop {
            let request = Request::patch(&path).header("Content-Type", "application/apply-patch+yaml");
            let request = request.body(manifest.object.to_string().into_bytes()).unwrap();
            match self.client.request::<Value>(request).await {
                Ok(_) => return,
                Err(error) if start.elapsed() > PATIENCE => panic!("{manifest}: {error}\n{}", self.story()),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Waits until something holds of the answer to a GET.
    pub(super) async fn until(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let found = self.get(path).await;
            if holds(&found) {
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "{what}: {found:#}\n{}", self.story());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub(super) fn story(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }
}

pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|it| it["type"] == kind).unwrap_or(&Value::Null)
}

pub(super) fn is(object: &Value, kind: &str, status: &str) -> bool {
    condition(object, kind)["status"] == status
}

pub(super) fn is_healthy(operator: &Value) -> bool {
    is(operator, "Available", "True")
        && is(operator, "Progressing", "False")
        && is(operator, "Degraded", "False")
}
