//! Workloads, their Pods and their Events.

use std::collections::BTreeSet;

use http::Request;
use lockstep_lab::Scenario;
use serde_json::{Value, json};

use super::stage::{Stage, condition, is, start};

const WORKLOADS: &str = "
apiVersion: lab.lockstep.dev/v1
kind: Scenario
nodes: [{count: 2, roles: [worker], readyAfter: 1s}]
workloads:
- {name: crashes, readyAfter: 2s, behaviour: {crashLoop: {exitCode: 7, message: no config}}}
- {name: no-image, readyAfter: 2s, behaviour: imagePullFailure}
- {name: no-room, behaviour: pending}
- {name: recovers, readyAfter: 2s, behaviour: crashLoop, recoversAfter: 20s}
- {kind: Job, name: fails, readyAfter: 1s, behaviour: fails}
- {readyAfter: {from: 1s, to: 3s}}
";

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/workloads/deployments";

fn deployment(name: &str, replicas: u64, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": replicas, "progressDeadlineSeconds": 60, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [
            {"name": "main", "image": image}, {"name": "side", "image": "side:1"}]}}}})
}

/// The Pods of an application.
async fn pods(stage: &Stage, namespace: &str, app: &str) -> Vec<Value> {
    stage.items(&format!("/api/v1/namespaces/{namespace}/pods?labelSelector=app%3D{app}")).await
}

async fn until_pod(stage: &Stage, app: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/api/v1/namespaces/workloads/pods?labelSelector=app%3D{app}");
    let found = stage
        .until(what, &path, |list| list["items"].as_array().is_some_and(|pods| pods.iter().any(&holds)))
        .await;
    found["items"].as_array().unwrap().iter().find(|pod| holds(pod)).unwrap().clone()
}

fn waits_for(pod: &Value, reason: &str) -> bool {
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == reason
}

async fn reasons(stage: &Stage, object: &Value) -> BTreeSet<String> {
    let name = object["metadata"]["name"].as_str().unwrap();
    let namespace = object["metadata"]["namespace"].as_str().unwrap();
    let path = format!("/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.name%3D{name}");
    stage.items(&path).await.iter().map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn workloads_live_their_script_with_pods_events_and_conditions() {
    let scenario = Scenario::read("suite", WORKLOADS.as_bytes()).unwrap();
    let server = start();
    let stage = Stage::open(&server, scenario, None, 20.0).await;
    stage
        .post(
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "workloads"}}),
        )
        .await;
    for name in ["web", "crashes", "no-image", "no-room", "recovers"] {
        stage.post(DEPLOYMENTS, deployment(name, if name == "web" { 2 } else { 1 }, "main:1")).await;
    }
    let set = deployment("agent", 1, "main:1")["spec"].clone();
    let (selector, template) = (&set["selector"], &set["template"]);
    stage
        .post(
            "/apis/apps/v1/namespaces/workloads/daemonsets",
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent"}, "spec": {"selector": selector, "template": template}}),
        )
        .await;
    stage.post("/apis/apps/v1/namespaces/workloads/statefulsets", json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db"}, "spec": {"replicas": 2, "serviceName": "db", "selector": selector, "template": template}})).await;
    for name in ["works", "fails"] {
        stage.post("/apis/batch/v1/namespaces/workloads/jobs", json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name}, "spec": {"backoffLimit": 1, "template": {"spec": {"restartPolicy": "Never",
                "containers": [{"name": "main", "image": "main:1"}]}}}})).await;
    }
    becomes_healthy(&stage).await;
    gets_into_trouble(&stage).await;
    other_kinds_do_the_same(&stage).await;
    rolls_out_shrinks_and_ends(&stage).await;
}

/// Two Pods of one `ReplicaSet`, with the Events of a real cluster.
async fn becomes_healthy(stage: &Stage) {
    let web = stage
        .until("web is complete", &format!("{DEPLOYMENTS}/web"), |live| {
            condition(live, "Progressing")["reason"] == "NewReplicaSetAvailable"
        })
        .await;
    assert_eq!(
        (
            &web["status"]["readyReplicas"],
            &web["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
        ),
        (&json!(2), &json!("1"))
    );
    assert!(reasons(stage, &web).await.contains("ScalingReplicaSet"));
    let live = pods(stage, "workloads", "web").await;
    assert_eq!(live.len(), 2);
    assert_eq!(live[0]["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet");
    assert!(is(&live[0], "Ready", "True") && live[0]["status"]["podIP"].is_string());
    let seen = reasons(stage, &live[0]).await;
    for reason in ["Scheduled", "Pulling", "Pulled", "Created", "Started"] {
        assert!(seen.contains(reason), "{reason}: {seen:?}");
    }
}

async fn gets_into_trouble(stage: &Stage) {
    let crashed =
        until_pod(stage, "crashes", "CrashLoopBackOff", |pod| waits_for(pod, "CrashLoopBackOff")).await;
    let main = &crashed["status"]["containerStatuses"][0];
    assert_eq!(
        (&main["lastState"]["terminated"]["exitCode"], &main["lastState"]["terminated"]["message"]),
        (&json!(7), &json!("no config"))
    );
    assert!(
        main["restartCount"].as_u64().unwrap() >= 1 && reasons(stage, &crashed).await.contains("BackOff")
    );
    until_pod(stage, "no-image", "ErrImagePull", |pod| waits_for(pod, "ErrImagePull")).await;
    until_pod(stage, "no-image", "ImagePullBackOff", |pod| waits_for(pod, "ImagePullBackOff")).await;
    let waiting = until_pod(stage, "no-room", "Unschedulable", |pod| {
        condition(pod, "PodScheduled")["reason"] == "Unschedulable"
    })
    .await;
    assert!(
        condition(&waiting, "PodScheduled")["message"]
            .as_str()
            .unwrap()
            .starts_with("0/2 nodes are available")
    );
    assert!(reasons(stage, &waiting).await.contains("FailedScheduling"));
    let late = stage
        .until("the deadline", &format!("{DEPLOYMENTS}/crashes"), |live| {
            condition(live, "Progressing")["reason"] == "ProgressDeadlineExceeded"
        })
        .await;
    assert_eq!(condition(&late, "Available")["reason"], "MinimumReplicasUnavailable");
    stage
        .until("it recovers", &format!("{DEPLOYMENTS}/recovers"), |live| is(live, "Available", "True"))
        .await;
}

async fn other_kinds_do_the_same(stage: &Stage) {
    stage
        .until("one Pod per node", "/apis/apps/v1/namespaces/workloads/daemonsets/agent", |live| {
            live["status"]["numberAvailable"] == 2
        })
        .await;
    stage
        .until("both ordinals", "/apis/apps/v1/namespaces/workloads/statefulsets/db", |live| {
            live["status"]["readyReplicas"] == 2
        })
        .await;
    assert_eq!(stage.get("/api/v1/namespaces/workloads/pods/db-1").await["status"]["phase"], "Running");
    stage
        .until("a good end", "/apis/batch/v1/namespaces/workloads/jobs/works", |live| {
            is(live, "Complete", "True")
        })
        .await;
    let failed = stage
        .until("a bad end", "/apis/batch/v1/namespaces/workloads/jobs/fails", |live| {
            is(live, "Failed", "True")
        })
        .await;
    assert_eq!(
        (&condition(&failed, "Failed")["reason"], &failed["status"]["failed"]),
        (&json!("BackoffLimitExceeded"), &json!(2))
    );
}

async fn rolls_out_shrinks_and_ends(stage: &Stage) {
    stage
        .patch(
            &format!("{DEPLOYMENTS}/web"),
            json!({"spec": {"template": {"metadata": {"annotations": {"new": "yes"}}}}}),
        )
        .await
        .unwrap();
    stage
        .until("the rollout", &format!("{DEPLOYMENTS}/web"), |live| {
            live["status"]["observedGeneration"] == live["metadata"]["generation"]
                && live["status"]["updatedReplicas"] == 2
                && live["status"]["replicas"] == 2
                && condition(live, "Progressing")["reason"] == "NewReplicaSetAvailable"
        })
        .await;
    let sets = stage.items("/apis/apps/v1/namespaces/workloads/replicasets?labelSelector=app%3Dweb").await;
    let mut sizes: Vec<u64> = sets.iter().map(|set| set["spec"]["replicas"].as_u64().unwrap()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 2]);
    stage.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"replicas": 1}})).await.unwrap();
    let web_pods = "/api/v1/namespaces/workloads/pods?labelSelector=app%3Dweb";
    let number = |list: &Value| list["items"].as_array().map(Vec::len);
    stage.until("one is left", web_pods, |list| number(list) == Some(1)).await;
    let request = Request::delete(format!("{DEPLOYMENTS}/web")).body(Vec::new()).unwrap();
    stage.client.request::<Value>(request).await.unwrap();
    stage.until("none is left", web_pods, |list| number(list) == Some(0)).await;
    let sets = stage.items("/apis/apps/v1/namespaces/workloads/replicasets?labelSelector=app%3Dweb").await;
    assert!(sets.is_empty(), "{sets:#?}");
}
