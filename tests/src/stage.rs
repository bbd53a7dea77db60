//! A lab in virtual time with operators that say what a test lets them say.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use lockstep_apply::server::Server;
use lockstep_lab::{Clock, Lab, LabOptions};
use serde_json::{Value, json};

use crate::cli::root;
use crate::clients::Call;

/// Where `ClusterOperator`s are.
pub const OPERATORS: &str = "/apis/config.openshift.io/v1/clusteroperators";
/// Where the ClusterVersion is.
pub const VERSIONS: &str = "/apis/config.openshift.io/v1/clusterversions";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The kinds that a stage serves besides those of Kubernetes.
const FILES: [&str; 3] = [
    "0000_00_cluster-version-operator_01_clusteroperators.crd.yaml",
    "0000_00_cluster-version-operator_01_clusterversions.crd.yaml",
    "0000_05_cluster-config-operator_01_infrastructures.crd.yaml",
];

/// A lab and its time.
pub struct Stage {
    /// The lab.
    pub lab: Lab,
    /// Its clock.
    pub clock: Arc<Clock>,
    client: Client,
}

// === impl Stage ===

impl Stage {
    /// A lab that serves `ClusterVersion`s and ClusterOperators and has none. The runtime has to be paused.
    ///
    /// # Panics
    /// When the lab does not take the definitions.
    pub async fn new() -> Self {
        let clock = Arc::new(Clock::simulated());
        let lab = Lab::new(LabOptions { clock: Arc::clone(&clock), ..LabOptions::default() });
        let stage = Self { client: lab.world_client(), lab, clock };
        for file in FILES {
            let path = root().join("examples/releases/1.0.0/manifests").join(file);
            let release = root().join("examples/releases/1.0.0/release-manifests").join(file);
            let bytes = std::fs::read(path).or_else(|_| std::fs::read(release)).expect("a definition");
            let definition = lockstep_payload::yaml::documents(&bytes).expect("a manifest").remove(0).value;
            stage.create(DEFINITIONS, &definition).await;
        }
        // Until the kinds are served.
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage
    }

    /// The server as those see it who are tested.
    pub fn server(&self) -> Server {
        Server::new(self.lab.client())
    }

    /// Creates an object, with its status.
    ///
    /// # Panics
    /// When the lab refuses it.
    pub async fn create(&self, list: &str, object: &Value) {
        let answer = Call::post(list, object).send(&self.client).await.expect("an answer");
        assert_eq!(answer.code, 201, "{}", answer.body);
        if !object["status"].is_null() && list != DEFINITIONS {
            let name = object["metadata"]["name"].as_str().expect("a name");
            self.set_status(&format!("{list}/{name}"), &object["status"]).await;
        }
    }

    /// Replaces the status of an object.
    ///
    /// # Panics
    /// When the lab refuses it.
    pub async fn set_status(&self, path: &str, status: &Value) {
        let mut object = Call::new("GET", path).send(&self.client).await.expect("an answer").body;
        object["status"] = status.clone();
        let call = Call::new("PUT", format!("{path}/status")).body("application/json", object.to_string());
        let answer = call.send(&self.client).await.expect("an answer");
        assert_eq!(answer.code, 200, "{}", answer.body);
    }

    /// Deletes an object.
    ///
    /// # Panics
    /// When the lab refuses it.
    pub async fn delete(&self, path: &str) {
        let answer = Call::new("DELETE", path).send(&self.client).await.expect("an answer");
        assert_eq!(answer.code, 200, "{}", answer.body);
    }

    /// A ClusterOperator that says so from now on; it is created when it is not there.
    ///
    /// # Panics
    /// When the lab refuses it.
    pub async fn say(&self, name: &str, available: &str, progressing: &str, degraded: &str) {
        let path = format!("{OPERATORS}/{name}");
        let before = Call::new("GET", path.clone()).send(&self.client).await.expect("an answer");
        let now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let condition = |kind: &str, status: &str| {
            let same = before.body["status"]["conditions"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|it| it["type"] == kind && it["status"] == status);
            let since = same.map_or(json!(now), |same| same["lastTransitionTime"].clone());
            json!({"type": kind, "status": status, "reason": "AsScripted", "lastTransitionTime": since,
                "message": format!("{kind} is {status}")})
        };
        let status = json!({
            "conditions": [condition("Available", available), condition("Progressing", progressing),
                condition("Degraded", degraded)],
            "versions": [{"name": "operator", "version": "1.0.0"}]});
        if before.code == 404 {
            let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
                "metadata": {"name": name}, "spec": {}, "status": status});
            self.create(OPERATORS, &object).await;
        } else {
            self.set_status(&path, &status).await;
        }
    }

    /// The ClusterVersion says so from now on; it is created when it is not there.
    ///
    /// # Panics
    /// When the lab refuses it.
    pub async fn version(&self, available: &str, progressing: &str, failing: &str) {
        let now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let condition = |kind: &str, status: &str| {
            json!({"type": kind, "status": status, "lastTransitionTime": now, "reason": "AsScripted",
                "message": format!("{kind} is {status}")})
        };
        let state = if progressing == "False" { "Completed" } else { "Partial" };
        let image = "registry.example.com/release@sha256:0";
        let mut entry = json!({"state": state, "startedTime": now, "completionTime": null, "verified": false,
            "version": "1.0.0", "image": image});
        if state == "Completed" {
            entry["completionTime"] = json!(now);
        }
        let status = json!({
            "conditions": [condition("Available", available), condition("Progressing", progressing),
                condition("Failing", failing)],
            "desired": {"version": "1.0.0", "image": image},
            "observedGeneration": 1, "versionHash": "x", "availableUpdates": null, "history": [entry]});
        let path = format!("{VERSIONS}/version");
        let before = Call::new("GET", path.clone()).send(&self.client).await.expect("an answer");
        if before.code == 404 {
            let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
                "metadata": {"name": "version"}, "spec": {"clusterID": "5b0a2e6e-0f4c-4a1b-9a53-2f2f1f1e7a10"},
                "status": status});
            self.create(VERSIONS, &object).await;
        } else {
            self.set_status(&path, &status).await;
        }
    }
}
