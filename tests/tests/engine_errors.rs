//! What goes wrong outside of the engine: each time a message names the object and the remedy, and the rest goes on.
#![expect(
    clippy::print_stdout,
    clippy::panic,
    reason = "a suite that says what it did, and fails by a panic"
)]

mod engine_errors {
    pub(crate) mod tls;
}

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use engine_errors::tls::{Validity, Webhook, expired};
use lockstep_apply::engine::{self, Ending, Options};
use lockstep_apply::progress::{Happening, Outcome};
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::Server;
use lockstep_graph::{InstallOrder, Mode};
use lockstep_tests::clients::{self, Call};
use lockstep_tests::real::{Chosen, Real, plan};
use lockstep_tests::releases::load;
use serde_json::{Value, json};

const NAMESPACE: &str = "errors";
const CONFIG_MAPS: &str = "/api/v1/namespaces/errors/configmaps";
const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A release of these objects between a namespace and a last object, each in a component of its own.
fn release(objects: &[Value]) -> Chosen {
    let folder = tempfile::tempdir().expect("a folder");
    let manifests = folder.path().join("9.9.9/release-manifests");
    fs::create_dir_all(&manifests).expect("a folder");
    fs::create_dir_all(folder.path().join("9.9.9/manifests")).expect("a folder");
    let metadata = json!({"kind": "cincinnati-metadata-v0", "version": "9.9.9", "previous": []});
    let images =
        json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "9.9.9"}});
    for (name, value) in [("release-metadata", metadata), ("image-references", images)] {
        fs::write(manifests.join(name), value.to_string()).expect("a file");
    }
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let all = [namespace].into_iter().chain(objects.iter().cloned()).chain([config_map("last", &json!({}))]);
    for (place, mut object) in all.enumerate() {
        object["metadata"]["annotations"]["include.release.openshift.io/self-managed-high-availability"] =
            json!("true");
        let file = format!("0000_{}0_component-{place}_00_object.json", place + 1);
        fs::write(manifests.join(file), object.to_string()).expect("a file");
    }
    load(&folder.path().join("9.9.9"))
}

fn config_map(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "value"},
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}})
}

fn large(name: &str, bytes: usize) -> Value {
    let mut object = config_map(name, &json!({}));
    object["data"]["key"] = "x".repeat(bytes).into();
    object
}

/// Runs a release for a while; gives the ending and every sentence that was told.
async fn run(server: &Server, release: &Chosen, seconds: u64) -> Result<(Ending, Vec<String>), Refusal> {
    let options = Options {
        timeout: Some(Duration::from_secs(seconds)),
        unprovided_after: Duration::from_secs(2),
        ..Options::default()
    };
    let mut sentences = Vec::new();
    let plan = plan(release, Mode::Installing, InstallOrder::Flat);
    let ending = engine::run(server, &plan, &options, |event| match event.what {
        Happening::Failed { sentence, .. } | Happening::Remark { sentence } => sentences.push(sentence),
        Happening::Waiting { wait, .. } => sentences.push(wait.sentence),
        _ => {}
    });
    Ok((ending.await?, sentences))
}

/// One line must have all of these words.
fn assert_line(lines: &[String], words: &[&str]) {
    let is_it = |line: &&String| words.iter().all(|word| line.contains(word));
    let line = lines.iter().find(is_it).unwrap_or_else(|| panic!("no line has {words:?}: {lines:#?}"));
    println!("  {}", line.chars().take(400).collect::<String>());
}

#[tokio::test]
async fn a_cluster_that_nobody_answers_for_is_named_with_what_to_look_at() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("https://{}", free.local_addr().expect("an address"));
    drop(free);
    let server = Server::new(clients::of_text(&kubeconfig(&address, "")).await);
    let refusal = run(&server, &release(&[]), 2).await.expect_err("nobody is there");
    assert!(matches!(refusal, Refusal::Unreachable { .. }), "{refusal:?}");
    assert_line(&[refusal.explain(&address)], &[&address, "refused", "kubectl cluster-info"]);
}

#[tokio::test]
async fn an_expired_certificate_is_named_with_its_date_and_must_be_renewed() {
    let server = expired().await;
    let client = clients::of_text(&kubeconfig(&server.url, &server.authority)).await;
    let refusal = run(&Server::new(client), &release(&[]), 2).await.expect_err("no trust");
    assert!(matches!(refusal, Refusal::Tls { .. }), "{refusal:?}");
    assert_line(&[refusal.explain(&server.url)], &[&server.url, "expired", "must be renewed"]);
}

fn kubeconfig(server: &str, authority: &str) -> String {
    let authority_file = if authority.is_empty() { Value::Null } else { json!(authority) };
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": server, "certificate-authority": authority_file}}],
        "users": [{"name": "x", "user": {"token": "x"}}],
    })
    .to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_real_server_refuses_stops_only_the_object_it_refuses() {
    let real = Real::start(false, &[]).await;
    refused_objects(&real).await;
    missing_right(&real).await;
}

/// Webhooks that reject and that are down, objects that are too large, a kind that nobody knows: all in one release.
async fn refused_objects(real: &Real) {
    let webhook = Webhook::start(Validity::Valid).await;
    for (name, url, authority) in [
        ("rejects", webhook.url.clone(), webhook.authority.clone()),
        ("down", "https://127.0.0.1:1/".to_owned(), webhook.authority.clone()),
    ] {
        let hook = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name}, "webhooks": [{"name": format!("{name}.example.com"), "failurePolicy": "Fail",
                "clientConfig": {"url": url, "caBundle": authority}, "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
                "objectSelector": {"matchLabels": {"guarded-by": name}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]}]});
        let answer = Call::post(HOOKS, &hook).send(&real.client).await.expect("an answer");
        assert_eq!(answer.code, 201, "{}", answer.body);
    }
    until_active(real).await;
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": NAMESPACE}});
    let release = release(&[
        config_map("rejected", &json!({"guarded-by": "rejects"})),
        config_map("unheard", &json!({"guarded-by": "down"})),
        large("over-the-limit-of-its-kind", 1_200_000),
        large("over-the-limit-of-a-request", 4_000_000),
        widget,
    ]);
    let (ending, sentences) = run(&real.server(), &release, 15).await.expect("a run");
    assert_eq!(ending.outcome, Outcome::Failed, "{ending:#?}");
    let lines = &ending.missing;
    assert_line(
        lines,
        &["ConfigMap errors/rejected", "nothing pleases this webhook", "rejects.example.com", "kubectl get"],
    );
    assert_line(lines, &["ConfigMap errors/unheard", "down.example.com", "does not answer", "must run"]);
    assert_line(lines, &["ConfigMap errors/over-the-limit-of-its-kind", "make the object smaller"]);
    assert_line(lines, &["ConfigMap errors/over-the-limit-of-a-request", "make the object smaller"]);
    assert_line(
        lines,
        &["Widget errors/w", "example.com/v1", "nothing in the release provides it", "take it out"],
    );
    assert_line(&sentences, &["Widget errors/w", "for more than 2 s"]);
    assert_eq!(lines.len(), 5, "{lines:#?}");
    let last = real.get(&format!("{CONFIG_MAPS}/last")).await;
    assert_eq!(last["data"]["key"], "value", "the rest must go on");
}

/// A new webhook is called some time after it was stored.
async fn until_active(real: &Real) {
    let object = config_map("probe", &json!({"guarded-by": "down"}));
    for _ in 0..200 {
        let call = Call::post("/api/v1/namespaces/default/configmaps?dryRun=All", &{
            let mut object = object.clone();
            object["metadata"]["namespace"] = json!("default");
            object
        });
        // A webhook with side effects could not be asked in a dry run; ours have none.
        if call.send(&real.client).await.is_some_and(|answer| answer.code >= 400) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the webhooks are not asked");
}

/// A user who may do everything with every kind but one.
async fn missing_right(real: &Real) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "limited"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["*"]}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "limited"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "limited"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}]});
    for (path, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let answer =
            Call::post(format!("{rbac}/{path}"), &object).send(&real.client).await.expect("an answer");
        assert_eq!(answer.code, 201, "{}", answer.body);
    }
    let text = fs::read_to_string(real.kube.kubeconfig()).expect("a kubeconfig");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["users"][0]["user"]["as"] = json!("limited");
    let server = Server::new(clients::of_text(&config.to_string()).await);
    let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": {"podSelector": {}},
        "metadata": {"name": "deny-all", "namespace": NAMESPACE}});
    let mut after = config_map("after-the-policy", &json!({}));
    after["data"]["key"] = json!("other");
    let (ending, sentences) = run(&server, &release(&[policy, after]), 8).await.expect("a run");
    assert_eq!(ending.outcome, Outcome::Failed, "{ending:#?}");
    let words = [
        "NetworkPolicy errors/deny-all",
        "kubectl auth can-i",
        "networkpolicies.networking.k8s.io",
        "--as limited",
    ];
    assert_line(&ending.missing, &words);
    assert_line(&sentences, &["watching networkpolicies.networking.k8s.io", "cannot watch"]);
    assert_eq!(ending.missing.len(), 1, "{:#?}", ending.missing);
    let after = real.get(&format!("{CONFIG_MAPS}/after-the-policy")).await;
    assert_eq!(after["data"]["key"], "other", "the rest must go on");
}
