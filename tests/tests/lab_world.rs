//! The scripted world against a real API server without controllers: workloads, operators and people as objects.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lockstep_api::names::profile;
use lockstep_lab::{Clock, LogLine, ReleaseFacts, Scenario, World};
use lockstep_payload::{Capabilities, DiskFiles, LoadOptions, Manifest, Release, Selection, yaml};
use lockstep_schema::Schema;
use lockstep_tests::cli::root;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use xtask::kube::{Server, ServerOptions};

/// How long anything may take; nothing is measured here, so it is generous.
const PATIENCE: Duration = Duration::from_secs(90);

/// A server for the tests that use names of their own.
static SHARED: LazyLock<Server> = LazyLock::new(start);

fn start() -> Server {
    Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

async fn client(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// A running world; dropping it ends it.
struct Stage {
    client: Client,
    log: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Stage {
    async fn open(server: &Server, scenario: Scenario, facts: Option<ReleaseFacts>, speed: f64) -> Self {
        let client = client(server).await;
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        let world = World::new(client.clone(), scenario, facts, Arc::new(Clock::real(speed)), 1)
            .with_log(move |line: LogLine| lines.lock().unwrap().push(line.to_string()));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { panic!("the world ended: {}", world.run().await) });
        Self { client, log, _tasks: tasks }
    }

    async fn get(&self, path: &str) -> Value {
        let request = Request::get(path).body(Vec::new()).unwrap();
        self.client.request(request).await.unwrap_or(Value::Null)
    }

    async fn items(&self, path: &str) -> Vec<Value> {
        self.get(path).await["items"].as_array().cloned().unwrap_or_default()
    }

    async fn post(&self, path: &str, object: Value) {
        let request = Request::post(path).header("Content-Type", "application/json");
        let request = request.body(object.to_string().into_bytes()).unwrap();
        self.client.request::<Value>(request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    async fn patch(&self, path: &str, body: Value) -> Result<Value, kube::Error> {
        let request = Request::patch(path).header("Content-Type", "application/merge-patch+json");
        self.client.request(request.body(body.to_string().into_bytes()).unwrap()).await
    }

    /// Applies a manifest; what is missing (a kind, a namespace) is waited for.
    async fn apply(&self, manifest: &Manifest, resource: &str) {
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
    async fn until(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
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

    fn story(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }
}

/// An example release as the default cluster sees it.
fn example(version: &str) -> (Release, Selection) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/releases").join(version);
    let profile = profile::SELF_MANAGED_HIGH_AVAILABILITY.to_owned();
    let options =
        LoadOptions { release_image: format!("quay.io/example/release:{version}"), profile: profile.clone() };
    let release = Release::load(&DiskFiles::open(&folder).unwrap(), &options).unwrap();
    let selection = Selection {
        exclude: Some(String::new()),
        feature_set: Some(String::new()),
        feature_gates: Some(BTreeSet::new()),
        major_version: Some(release.major_version()),
        profile: Some(profile),
        capabilities: Some(Capabilities::all(&BTreeSet::new()).filter()),
        ..Selection::default()
    };
    (release, selection)
}

/// The address of each manifest's collection; kinds of CRDs are those of the release.
fn addresses(manifests: &[&Manifest]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let custom: BTreeMap<(String, String), (String, bool)> = manifests
        .iter()
        .filter(|manifest| manifest.is_crd())
        .map(|manifest| &manifest.object["spec"])
        .map(|spec| {
            let key = (text(&spec["group"]), text(&spec["names"]["kind"]));
            (key, (text(&spec["names"]["plural"]), spec["scope"] == "Namespaced"))
        })
        .collect();
    let address = |manifest: &&Manifest| {
        let builtin = Schema::builtin().kind(&manifest.api_version, &manifest.id.kind);
        let (plural, namespaced) = match builtin {
            Some(kind) => (kind.plural.to_owned(), kind.namespaced),
            None => custom[&(manifest.id.group.clone(), manifest.id.kind.clone())].clone(),
        };
        let root = if manifest.id.group.is_empty() { "api" } else { "apis" };
        let place = if namespaced { format!("/namespaces/{}", manifest.id.namespace) } else { String::new() };
        format!("/{root}/{}{place}/{plural}", manifest.api_version)
    };
    manifests.iter().map(address).collect()
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|it| it["type"] == kind).unwrap_or(&Value::Null)
}

fn is(object: &Value, kind: &str, status: &str) -> bool {
    condition(object, kind)["status"] == status
}

fn is_healthy(operator: &Value) -> bool {
    is(operator, "Available", "True")
        && is(operator, "Progressing", "False")
        && is(operator, "Degraded", "False")
}

#[tokio::test]
async fn the_instant_world_makes_a_release_and_its_update_healthy() {
    let server = start();
    let (first, selection) = example("1.0.0");
    let (second, selection_of_second) = example("1.1.0");
    let facts =
        ReleaseFacts::of(&first, &selection).followed_by(ReleaseFacts::of(&second, &selection_of_second));
    let stage = Stage::open(&server, Scenario::instant(), Some(facts), 1.0).await;

    for (release, selection) in [(&first, &selection), (&second, &selection_of_second)] {
        let manifests: Vec<&Manifest> = release.selected(selection).filter(|it| !it.is_delete()).collect();
        for (manifest, address) in manifests.iter().zip(addresses(&manifests)) {
            stage.apply(manifest, &address).await;
        }
        let (mut deployments, mut operators) = (0, 0);
        for (manifest, address) in manifests.iter().zip(addresses(&manifests)) {
            let path = format!("{address}/{}", manifest.id.name);
            match manifest.id.kind.as_str() {
                "Deployment" => {
                    deployments += 1;
                    let live = stage.until("Available", &path, |live| is(live, "Available", "True")).await;
                    assert_eq!(condition(&live, "Progressing")["reason"], "NewReplicaSetAvailable");
                }
                "Job" => {
                    stage.until("Complete", &path, |live| is(live, "Complete", "True")).await;
                }
                "ClusterOperator" if manifest.is_first_generation() => {
                    operators += 1;
                    let wanted = &manifest.object["status"]["version"];
                    let live =
                        stage.until("version", &path, |live| live["status"]["version"] == *wanted).await;
                    for (kind, status) in
                        [("Available", "True"), ("Progressing", "False"), ("Failing", "False")]
                    {
                        assert!(is(&live, kind, status), "{live:#}");
                    }
                }
                "ClusterOperator" => {
                    operators += 1;
                    let wanted = &manifest.object["status"]["versions"];
                    let live =
                        stage.until("versions", &path, |live| live["status"]["versions"] == *wanted).await;
                    assert!(is_healthy(&live), "{live:#}");
                    assert_eq!(live["status"]["relatedObjects"], manifest.object["status"]["relatedObjects"]);
                }
                _ => {}
            }
        }
        assert!(deployments >= 12 && operators >= 12, "{deployments} {operators}");
    }
    assert!(stage.items("/api/v1/pods").await.is_empty(), "an instant world has no Pods");
    let dns = stage.get("/apis/config.openshift.io/v1/clusteroperators/dns").await;
    let managers = dns["metadata"]["managedFields"].as_array().unwrap();
    assert!(managers.iter().any(|it| it["manager"] == "dns-operator" && it["subresource"] == "status"));
}

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
    let stage = Stage::open(&SHARED, scenario, None, 20.0).await;
    stage
        .post(
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "workloads"}}),
        )
        .await;
    let deployments = "/apis/apps/v1/namespaces/workloads/deployments";
    for name in ["web", "crashes", "no-image", "no-room", "recovers"] {
        stage.post(deployments, deployment(name, if name == "web" { 2 } else { 1 }, "main:1")).await;
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

    // Healthy: two Pods of one ReplicaSet, with the Events of a real cluster.
    let web = stage
        .until("web is complete", &format!("{deployments}/web"), |live| {
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
    assert!(reasons(&stage, &web).await.contains("ScalingReplicaSet"));
    let live = pods(&stage, "workloads", "web").await;
    assert_eq!(live.len(), 2);
    assert_eq!(live[0]["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet");
    assert!(is(&live[0], "Ready", "True") && live[0]["status"]["podIP"].is_string());
    let seen = reasons(&stage, &live[0]).await;
    for reason in ["Scheduled", "Pulling", "Pulled", "Created", "Started"] {
        assert!(seen.contains(reason), "{reason}: {seen:?}");
    }

    // In trouble.
    let crashed =
        until_pod(&stage, "crashes", "CrashLoopBackOff", |pod| waits_for(pod, "CrashLoopBackOff")).await;
    let main = &crashed["status"]["containerStatuses"][0];
    assert_eq!(
        (&main["lastState"]["terminated"]["exitCode"], &main["lastState"]["terminated"]["message"]),
        (&json!(7), &json!("no config"))
    );
    assert!(
        main["restartCount"].as_u64().unwrap() >= 1 && reasons(&stage, &crashed).await.contains("BackOff")
    );
    until_pod(&stage, "no-image", "ErrImagePull", |pod| waits_for(pod, "ErrImagePull")).await;
    until_pod(&stage, "no-image", "ImagePullBackOff", |pod| waits_for(pod, "ImagePullBackOff")).await;
    let waiting = until_pod(&stage, "no-room", "Unschedulable", |pod| {
        condition(pod, "PodScheduled")["reason"] == "Unschedulable"
    })
    .await;
    assert!(
        condition(&waiting, "PodScheduled")["message"]
            .as_str()
            .unwrap()
            .starts_with("0/2 nodes are available")
    );
    assert!(reasons(&stage, &waiting).await.contains("FailedScheduling"));
    let late = stage
        .until("the deadline", &format!("{deployments}/crashes"), |live| {
            condition(live, "Progressing")["reason"] == "ProgressDeadlineExceeded"
        })
        .await;
    assert_eq!(condition(&late, "Available")["reason"], "MinimumReplicasUnavailable");
    stage
        .until("it recovers", &format!("{deployments}/recovers"), |live| is(live, "Available", "True"))
        .await;

    // The other kinds.
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

    // A new template, fewer Pods, the end.
    stage
        .patch(
            &format!("{deployments}/web"),
            json!({"spec": {"template": {"metadata": {"annotations": {"new": "yes"}}}}}),
        )
        .await
        .unwrap();
    stage
        .until("the rollout", &format!("{deployments}/web"), |live| {
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
    stage.patch(&format!("{deployments}/web"), json!({"spec": {"replicas": 1}})).await.unwrap();
    let web_pods = "/api/v1/namespaces/workloads/pods?labelSelector=app%3Dweb";
    let number = |list: &Value| list["items"].as_array().map(Vec::len);
    stage.until("one is left", web_pods, |list| number(list) == Some(1)).await;
    let request = Request::delete(format!("{deployments}/web")).body(Vec::new()).unwrap();
    stage.client.request::<Value>(request).await.unwrap();
    stage.until("none is left", web_pods, |list| number(list) == Some(0)).await;
    let sets = stage.items("/apis/apps/v1/namespaces/workloads/replicasets?labelSelector=app%3Dweb").await;
    assert!(sets.is_empty(), "{sets:#?}");
}

const OPERATORS: &str = "
apiVersion: lab.lockstep.dev/v1
kind: Scenario
base: instant
operators:
- {name: broken, versions: {operator: 2.0.0}, behaviour: {degraded: {reason: NoDisk, message: The disk is full}}}
- {name: restless, versions: {operator: 2.0.0}, behaviour: {oscillate: {period: 10s}}}
- {name: lagging, versions: {operator: 2.0.0}, behaviour: {oldVersion: {version: 1.9.9}}}
- {name: stuck, versions: {operator: 2.0.0}, behaviour: hang}
- {name: quiet, behaviour: silent}
- name: scripted
  steps:
  - {after: 0s, conditions: [{type: Available, status: Unknown, reason: Starting}]}
  - {after: 5s, conditions: [{type: Available, status: 'True'}, {type: Upgradeable, status: 'False', message: Not now}], versions: {operator: '3', operand: '4'}}
- {name: old, versions: {operator: 2.0.0}, behaviour: degraded}
- {name: maker, versions: {operator: 2.0.0}, creates: [{namespace: made}, {after: 2s, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: made, namespace: made}}}]}
people:
- {name: alice, at: 1s, object: {apiVersion: v1, kind: ConfigMap, namespace: people, name: patched}, do: {patch: {merge: {data: {a: alice}}}}}
- {name: bob, at: 1s, object: {apiVersion: v1, kind: ConfigMap, namespace: people, name: deleted}, do: delete}
- {name: carol, at: 1s, object: {apiVersion: v1, kind: ConfigMap, namespace: people, name: labelled}, do: {label: {set: {by: carol}, remove: [old]}}}
- {name: dave, at: 1s, object: {apiVersion: v1, kind: ConfigMap, namespace: people, name: applied}, do: {apply: {fields: {data: {d: dave}}}}}
- {name: eve, at: 1s, object: {apiVersion: v1, kind: ConfigMap, namespace: people, name: fought}, do: {fight: {field: /data/f, value: eve, every: 5s}}}
";

/// Makes the kinds of both generations.
async fn define_operators(stage: &Stage) {
    let file = root().join("examples/releases/1.0.0/release-manifests/0000_70_cluster-monitoring-operator_01_clusteroperators.operatorstatus.crd.yaml");
    let first = std::fs::read_to_string(file).unwrap();
    for text in [lockstep_api::crd::CLUSTER_OPERATOR, &first] {
        let crd = yaml::documents(text.as_bytes()).unwrap().remove(0).value;
        let name = crd["metadata"]["name"].as_str().unwrap().to_owned();
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        stage.post(path, crd).await;
        stage.until("it is served", &format!("{path}/{name}"), |live| is(live, "Established", "True")).await;
    }
}

#[tokio::test]
async fn operators_report_their_script_and_people_edit() {
    let server = start();
    let setup = client(&server).await;
    let post = async |path: &str, object: Value| {
        let request = Request::post(path).header("Content-Type", "application/json");
        setup.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
    };
    post(
        "/api/v1/namespaces",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "people"}}),
    )
    .await;
    for name in ["patched", "deleted", "labelled", "applied", "fought"] {
        post(
            "/api/v1/namespaces/people/configmaps",
            json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"old": "yes"}}, "data": {"f": "mine"}}),
        )
        .await;
    }
    let scenario = Scenario::read("suite", OPERATORS.as_bytes()).unwrap();
    let stage = Stage::open(&server, scenario, None, 10.0).await;

    // The kinds come later than the world, as in an installation.
    define_operators(&stage).await;
    let operators = "/apis/config.openshift.io/v1/clusteroperators";
    for name in ["well", "broken", "restless", "lagging", "stuck", "quiet", "scripted", "maker"] {
        stage
            .post(
                operators,
                json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
            "metadata": {"name": name}, "spec": {}}),
            )
            .await;
    }
    let first = "/apis/operatorstatus.openshift.io/v1/namespaces/people/clusteroperators";
    stage
        .post(
            first,
            json!({"apiVersion": "operatorstatus.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "old", "namespace": "people"}}),
        )
        .await;
    let operator = |name: &str| format!("{operators}/{name}");

    stage.until("well", &operator("well"), is_healthy).await;
    let broken = stage.until("broken", &operator("broken"), |live| is(live, "Degraded", "True")).await;
    assert_eq!(
        (&condition(&broken, "Degraded")["reason"], &condition(&broken, "Degraded")["message"]),
        (&json!("NoDisk"), &json!("The disk is full"))
    );
    assert_eq!(broken["status"]["versions"], json!([{"name": "operator", "version": "2.0.0"}]));
    for status in ["True", "False", "True"] {
        stage.until("restless", &operator("restless"), |live| is(live, "Progressing", status)).await;
    }
    let lagging = stage.until("lagging", &operator("lagging"), is_healthy).await;
    assert_eq!(lagging["status"]["versions"][0]["version"], "1.9.9");
    let stuck = stage.until("stuck", &operator("stuck"), |live| is(live, "Available", "True")).await;
    assert!(is(&stuck, "Progressing", "True") && stuck["status"]["versions"].is_null());
    let scripted = stage.until("scripted", &operator("scripted"), |live| is(live, "Available", "True")).await;
    assert_eq!(condition(&scripted, "Upgradeable")["message"], "Not now");
    assert_eq!(scripted["status"]["versions"][0], json!({"name": "operand", "version": "4"}));
    let old = stage
        .until("the first generation", &format!("{first}/old"), |live| is(live, "Failing", "True"))
        .await;
    assert!(old["status"]["version"] == "2.0.0" && condition(&old, "Degraded").is_null());
    stage.until("its own object", "/api/v1/namespaces/made/configmaps/made", Value::is_object).await;
    assert!(stage.get(&operator("quiet")).await["status"].is_null());

    let people = "/api/v1/namespaces/people/configmaps";
    stage.until("alice", &format!("{people}/patched"), |live| live["data"]["a"] == "alice").await;
    stage.until("bob", &format!("{people}/deleted"), Value::is_null).await;
    stage
        .until("carol", &format!("{people}/labelled"), |live| {
            live["metadata"]["labels"] == json!({"by": "carol"})
        })
        .await;
    let applied = stage.until("dave", &format!("{people}/applied"), |live| live["data"]["d"] == "dave").await;
    let managers = applied["metadata"]["managedFields"].as_array().unwrap();
    assert!(managers.iter().any(|it| it["manager"] == "dave" && it["operation"] == "Apply"));
    for _ in 0..2 {
        stage.until("eve", &format!("{people}/fought"), |live| live["data"]["f"] == "eve").await;
        stage.patch(&format!("{people}/fought"), json!({"data": {"f": "mine"}})).await.unwrap();
    }
    assert!(stage.story().contains("eve sets /data/f of ConfigMap people/fought back"), "{}", stage.story());
}
