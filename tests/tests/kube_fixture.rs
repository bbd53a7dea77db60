//! The private Kubernetes of the suites: it starts, it is real, and nothing of it is left behind.
#![expect(clippy::panic, reason = "a test fails by a panic, also in the functions that tests share")]

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use lockstep_schema::{FieldPath, Schema};
use serde_json::{Value, json};
use xtask::kube::{Server, ServerOptions};

/// One instance for all tests that only ask; that it is never dropped is part of the proof.
static SHARED: LazyLock<Server> = LazyLock::new(|| start(&ServerOptions::default()));

fn start(options: &ServerOptions) -> Server {
    Server::start(options).unwrap_or_else(|error| panic!("{error}"))
}

fn raw(server: &Server, path: &str) -> String {
    server.raw(path).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn server_and_kubectl_are_the_version_that_the_schema_describes() {
    let output = SHARED.kubectl(&["version", "-o", "json"]).output().unwrap();
    let versions: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (minor, _) = Schema::builtin().kubernetes.rsplit_once('.').unwrap();
    for side in ["serverVersion", "clientVersion"] {
        let version = versions[side]["gitVersion"].as_str().unwrap();
        assert!(version.starts_with(&format!("{minor}.")), "{side} {version}");
        assert_eq!(versions[side]["gitTreeState"], "clean");
    }
}

#[test]
fn a_watch_can_start_with_the_objects_that_are_there() {
    let events = raw(
        &SHARED,
        "/api/v1/namespaces?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
         &allowWatchBookmarks=true&timeoutSeconds=1",
    );
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let added = |name: &str| {
        events.iter().any(|event| event["type"] == "ADDED" && event["object"]["metadata"]["name"] == name)
    };
    assert!(added("default") && added("kube-system"), "{events:#?}");
    let end = events.iter().find(|event| event["type"] == "BOOKMARK").expect("a bookmark");
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[test]
fn bytes_given_to_kubectl_become_an_object() {
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "from-input"},
        "data": {"large": "x".repeat(300_000)}});
    let arguments = ["create", "-o", "json", "-f", "-"];
    let output = SHARED.kubectl_stdin(&arguments, manifest.to_string().as_bytes()).unwrap();
    let created: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(created["data"]["large"].as_str().unwrap().len(), 300_000);
}

#[test]
fn a_refused_request_is_an_error_with_the_words_of_the_server() {
    let error = SHARED.raw("/api/v1/namespaces/nowhere").unwrap_err().to_string();
    assert!(
        error.contains("kubectl get --raw /api/v1/namespaces/nowhere") && error.contains("not found"),
        "{error}"
    );
}

#[test]
fn the_schema_and_the_server_name_the_same_undeclared_fields() {
    for object in objects_with_undeclared_fields() {
        let arguments = ["create", "--dry-run=server", "--validate=strict", "-f", "-"];
        let output = SHARED.kubectl_stdin(&arguments, object.to_string().as_bytes()).unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let mut by_server: Vec<&str> =
            text.split("unknown field \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        by_server.sort_unstable();
        let found = Schema::builtin().undeclared_fields(&object);
        let mut by_schema: Vec<&str> = found.iter().map(FieldPath::as_str).collect();
        by_schema.sort_unstable();
        assert_eq!(by_schema, by_server, "{text}");
        assert!(!by_schema.is_empty());
    }
}

fn objects_with_undeclared_fields() -> Vec<Value> {
    let container = json!({"name": "a", "image": "i", "Image": "wrong case", "ports": [{"containerPort": 1, "x": 1}],
        "resources": {"limits": {"cpu": "1", "any.thing/fits": 1}}, "env": [{"name": "A", "valueFrom": {"y": {}}}]});
    let definition = json!({"type": "object", "wrong": 1, "properties": {
        "a": {"type": "string", "wrong": 1, "default": "free", "enum": ["free"]},
        "wrong": {"type": "object", "additionalProperties": {"type": "string", "unseen": 1}},
        "list": {"type": "array", "items": {"type": "string", "unseen": 1}},
    }});
    vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "default", "wrong": {"deep": 1}, "labels": {"free": "text"}},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {
                "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container], "backOffLimit": 1}}}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "a"}, "userNames": ["x"], "subjects": [{"kind": "Group", "name": "g",
                "apiGroup": "rbac.authorization.k8s.io", "system": true}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view", "z": 1}}),
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "as.example.com"}, "spec": {"group": "example.com", "scope": "Cluster",
                "names": {"plural": "as", "kind": "A"}, "versions": [{"name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {"wrong": 1}}, "schema": {"openAPIV3Schema": definition}}]}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"},
            "data": {"free": "eA=="}, "stringdata": {"b": "c"}}),
    ]
}

#[test]
fn two_servers_at_once_do_not_meet() {
    let (one, two) = thread::scope(|scope| {
        let other = scope.spawn(|| start(&ServerOptions::default()));
        (start(&ServerOptions::default()), other.join().unwrap())
    });
    assert!(one.kubectl(&["create", "namespace", "only-here"]).output().unwrap().status.success());
    assert!(one.raw("/api/v1/namespaces/only-here").is_ok());
    assert!(two.raw("/api/v1/namespaces/only-here").is_err());
}

#[test]
fn the_controller_manager_and_the_audit_log_come_on_request() {
    assert_eq!(SHARED.audit_log(), None);
    let options = ServerOptions { controller_manager: true, audit_log: true, ..ServerOptions::default() };
    let server = start(&options);
    raw(&server, "/api/v1/namespaces/default/serviceaccounts/default");
    let log = std::fs::read_to_string(server.audit_log().expect("a log")).unwrap();
    let uri = "/api/v1/namespaces/default/serviceaccounts/default";
    let asked = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).any(|event| {
        event["requestURI"] == uri && event["user"]["username"] == "admin" && event["verb"] == "get"
    });
    assert!(asked, "{log}");
}

#[test]
fn a_component_that_cannot_start_is_named_with_the_end_of_its_log() {
    let options =
        ServerOptions { api_server_flags: vec!["--no-such-flag".into()], ..ServerOptions::default() };
    let error = Server::start(&options).err().expect("a failure").to_string();
    assert!(error.starts_with("kube-apiserver ended early"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}

#[test]
fn a_port_that_is_taken_is_tried_again_and_then_given_up_with_the_reason() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let options =
        ServerOptions { api_server_flags: vec![format!("--secure-port={port}")], ..ServerOptions::default() };
    let error = Server::start(&options).err().expect("a failure").to_string();
    assert!(error.contains("at attempt 5, each with other ports"), "{error}");
    assert!(error.contains("address already in use"), "{error}");
}

#[test]
fn a_dropped_server_leaves_no_process_and_no_folder() {
    let server = start(&ServerOptions::default());
    let (pids, folder) = (server.pids(), server.folder().to_owned());
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| is_running(*pid)) && folder.exists());
    drop(server);
    assert!(!pids.iter().any(|pid| is_running(*pid)), "{pids:?}");
    assert!(!folder.exists());
}

#[test]
fn a_panic_leaves_no_process_and_no_folder() {
    let mut seen = (Vec::new(), PathBuf::new());
    let result = catch_unwind(AssertUnwindSafe(|| {
        let server = start(&ServerOptions::default());
        seen = (server.pids(), server.folder().to_owned());
        panic!("as a failing test would");
    }));
    assert!(result.is_err());
    let (pids, folder) = seen;
    assert_eq!(pids.len(), 2);
    assert!(!pids.iter().any(|pid| is_running(*pid)), "{pids:?}");
    assert!(!folder.exists());
}

#[test]
fn a_killed_owner_leaves_no_process_and_no_folder() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_server_owner")).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line =
        lines.find_map(|line| line.split_once("started ").map(|(_, rest)| rest.to_owned())).expect("a line");
    let mut words = line.split(' ');
    let folder = PathBuf::from(words.next().unwrap());
    let pids: Vec<u32> = words.map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| is_running(*pid)) && folder.exists());

    owner.kill().unwrap();
    owner.wait().unwrap();
    let start = Instant::now();
    while pids.iter().any(|pid| is_running(*pid)) || folder.exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "{pids:?} {}", folder.display());
        thread::sleep(Duration::from_millis(50));
    }
}

/// Whether a process runs; one that has ended and that nobody has reaped does not.
fn is_running(pid: u32) -> bool {
    let stat =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}
