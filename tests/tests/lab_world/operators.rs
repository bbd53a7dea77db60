//! Operators of both generations, and people.

use std::io::Read as _;
use std::process::{Command, Stdio};

use http::Request;
use lockstep_api::crd::CLUSTER_OPERATOR;
use lockstep_lab::Scenario;
use lockstep_payload::yaml;
use lockstep_tests::cli::{binary, root};
use lockstep_tests::clients;
use serde_json::{Value, json};

use super::stage::{Stage, condition, is, is_healthy, start};

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
    for text in [CLUSTER_OPERATOR, &first] {
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
    let setup = clients::of_file(server.kubeconfig()).await;
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

#[test]
fn the_command_plays_a_release_until_it_is_interrupted() {
    let server = start();
    let mut command = Command::new(binary())
        .args(["lab", "operators", "examples/releases/1.0.0", "--speed", "100", "--kubeconfig"])
        .arg(server.kubeconfig())
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let folder = root().join("examples/releases/1.0.0/release-manifests");
    for file in ["0000_08_dns-operator_00_namespaces.yaml", "0000_08_dns-operator_06_deployment.yaml"] {
        let manifest = std::fs::read(folder.join(file)).unwrap();
        let output = server.kubectl_stdin(&["create", "-f", "-"], &manifest).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let wait = [
        "wait",
        "deployment/dns-operator",
        "-n",
        "openshift-dns-operator",
        "--for=condition=Available",
        "--timeout=60s",
    ];
    assert!(server.kubectl(&wait).status().unwrap().success());
    assert!(Command::new("kill").args(["-INT", &command.id().to_string()]).status().unwrap().success());
    assert_eq!(command.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    command.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(told.contains("Deployment openshift-dns-operator/dns-operator is available"), "{told}");
}
