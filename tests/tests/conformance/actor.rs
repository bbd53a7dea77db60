//! An operator that is played step by step in the lab, in virtual time, and watched meanwhile.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join};
use kube::Client;
use lockstep_apply::server::Server;
use lockstep_converge::conformance::watch;
use lockstep_health::conformance::{Finding, running};
use lockstep_lab::{Clock, Lab, LabOptions};
use lockstep_tests::clients::Call;
use lockstep_tests::example_operator::bring_manifests;
use serde_json::{Value, json};

const OPERATORS: &str = "/apis/config.openshift.io/v1/clusteroperators";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/openshift-example/deployments";
/// How long an operator is watched.
const SPAN: Duration = Duration::from_mins(45);

/// What an operator does.
pub(crate) type Script = for<'a> fn(&'a mut Actor) -> BoxFuture<'a, ()>;

/// An operator on the stage.
pub(crate) struct Actor {
    client: Client,
    clock: Arc<Clock>,
    name: &'static str,
    /// The status that it reports; a script changes what it wants.
    pub(crate) status: Value,
}

/// Plays a script, watches it, and judges what was seen.
pub(crate) fn play(script: Script) -> Vec<Finding> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let clock = Arc::new(Clock::simulated());
        let lab = Lab::new(LabOptions { clock: Arc::clone(&clock), ..LabOptions::default() });
        let client = lab.client();
        bring_manifests(&client).await;
        let mut actor =
            Actor { client: client.clone(), clock: Arc::clone(&clock), name: "actor", status: json!({}) };
        actor.begin().await;
        let server = Server::new(client);
        let watched = watch(&server, "actor", SPAN, 1, || clock.now());
        let (history, ()) = join(watched, async {
            actor.wait(30).await;
            script(&mut actor).await;
        })
        .await;
        running(&history.unwrap())
    })
}

// === impl Actor ===

impl Actor {
    /// The first version runs, is reported and at rest.
    async fn begin(&mut self) {
        let labels = json!({"app": "actor"});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "actor", "namespace": "openshift-example"},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "actor", "image": "actor:1"}]}}}});
        self.send(Call::post(DEPLOYMENTS, &deployment)).await;
        self.workload(1, 2, 2, 2).await;
        let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
            "metadata": {"name": self.name}, "spec": {}});
        self.send(Call::post(OPERATORS, &object)).await;
        self.status = json!({
            "conditions": [],
            "versions": [{"name": "operator", "version": "1"}],
            "relatedObjects": [{"group": "", "resource": "namespaces", "name": "openshift-example"},
                {"group": "apps", "resource": "deployments", "namespace": "openshift-example", "name": "actor"}],
        });
        self.set("Available", "True", "AsExpected", "All is well");
        self.set("Progressing", "False", "AsExpected", "All is well");
        self.set("Degraded", "False", "AsExpected", "All is well");
        self.report().await;
    }

    /// Lets time pass.
    pub(crate) async fn wait(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    async fn send(&self, call: Call) {
        let answer = call.send(&self.client).await.unwrap();
        assert!(answer.code < 300, "{}", answer.body);
    }

    async fn patch(&self, path: &str, change: &Value) {
        self.send(Call::new("PATCH", path).body("application/merge-patch+json", change.to_string())).await;
    }

    /// Asks for another image.
    pub(crate) async fn roll_out(&self, image: &str) {
        let change =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "actor", "image": image}]}}}});
        self.patch(&format!("{DEPLOYMENTS}/actor"), &change).await;
    }

    /// What the controller of workloads says.
    pub(crate) async fn workload(&self, generation: i64, updated: i64, replicas: i64, available: i64) {
        let status = json!({"status": {"observedGeneration": generation, "replicas": replicas, "updatedReplicas": updated,
            "readyReplicas": available, "availableReplicas": available}});
        self.patch(&format!("{DEPLOYMENTS}/actor/status"), &status).await;
    }

    /// Sets a condition as it should be: its time moves with its status.
    pub(crate) fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let now = self.clock.stamp();
        let conditions = self.status["conditions"].as_array_mut().unwrap();
        let before = conditions.iter().position(|condition| condition["type"] == kind);
        let since = match before {
            Some(at) if conditions[at]["status"] == status => conditions[at]["lastTransitionTime"].clone(),
            _ => json!(now),
        };
        let new = json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since});
        match before {
            Some(at) => conditions[at] = new,
            None => conditions.push(new),
        }
    }

    /// A condition, to be spoilt.
    pub(crate) fn condition(&mut self, kind: &str) -> &mut Value {
        let conditions = self.status["conditions"].as_array_mut().unwrap();
        conditions.iter_mut().find(|condition| condition["type"] == kind).unwrap()
    }

    /// Sets the version of the operator.
    pub(crate) fn version(&mut self, version: &str) {
        self.status["versions"] = json!([{"name": "operator", "version": version}]);
    }

    /// The time that some seconds from now will be.
    pub(crate) fn in_seconds(&self, seconds: u64) -> Value {
        let later = self.clock.now() + Duration::from_secs(seconds);
        json!(later.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
    }

    /// Writes the status.
    pub(crate) async fn report(&self) {
        self.patch(&format!("{OPERATORS}/{}/status", self.name), &json!({"status": self.status})).await;
    }
}

/// An update, a failure that lasts, and rest.
pub(crate) fn well_behaved(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Progressing", "True", "RollingOut", "Moving to 2");
        actor.report().await;
        actor.roll_out("actor:2").await;
        actor.workload(2, 1, 3, 2).await;
        actor.wait(60).await;
        actor.workload(2, 2, 2, 2).await;
        actor.wait(5).await;
        actor.version("2");
        actor.set("Progressing", "False", "AsExpected", "All is well");
        actor.report().await;
        actor.wait(300).await;
        actor.set("Degraded", "True", "Broken", "A part is broken; mend it");
        actor.report().await;
        actor.wait(300).await;
        actor.set("Degraded", "False", "AsExpected", "All is well");
        actor.report().await;
        actor.wait(300).await;
        actor.set("Available", "True", "AsExpected", "All is very well");
        actor.report().await;
    })
}
