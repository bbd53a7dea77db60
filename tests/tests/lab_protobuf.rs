//! Bodies in protobuf: what real `kubectl` sends, and what a real server itself encodes, read by the lab.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

#[path = "lab_protobuf/kubectl.rs"]
mod kubectl;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use http::header::{ACCEPT, CONTENT_TYPE};
use kube::Client;
use kube::client::Body;
use lockstep_lab::builtin::{from_protobuf, read};
use lockstep_lab::{Lab, LabOptions};
use lockstep_schema::{Kind, Schema};
use lockstep_tests::clients;
use lockstep_tests::lab_up::LabUp;
use lockstep_tests::normalise::{Normaliser, differences};
use serde_json::{Value, json};
use xtask::kube::{Server, ServerOptions};

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// Objects of nearly all kinds; the file is data of another suite.
const OBJECTS: &str = include_str!("lab_defaults/accepted.json");

static SERVER: LazyLock<Server> =
    LazyLock::new(|| Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}")));

async fn real() -> Client {
    clients::of_file(SERVER.kubeconfig()).await
}

/// One request: code and body of the answer.
async fn send(
    client: &Client,
    method: &str,
    path: &str,
    accept: &str,
    content_type: &str,
    body: &[u8],
) -> (u16, Vec<u8>) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header(ACCEPT, accept)
        .header(CONTENT_TYPE, content_type)
        .body(Body::from(body.to_vec()))
        .unwrap();
    let Ok(response) = client.send(request).await else { return (0, b"null".to_vec()) };
    let code = response.status().as_u16();
    (code, response.into_body().collect_bytes().await.unwrap().to_vec())
}

async fn get(client: &Client, path: &str, accept: &str) -> Vec<u8> {
    let (code, body) = send(client, "GET", path, accept, JSON, b"").await;
    assert_eq!(code, 200, "{path}: {}", String::from_utf8_lossy(&body));
    body
}

fn parse(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(body)))
}

/// Where the objects of a kind are.
fn path(kind: &Kind, namespace: &str) -> String {
    let root = if kind.group.is_empty() { "api" } else { "apis" };
    let place = if namespace.is_empty() { String::new() } else { format!("namespaces/{namespace}/") };
    format!("/{root}/{}/{place}{}", kind.api_version, kind.plural)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn kind_of(object: &Value) -> &'static Kind {
    Schema::builtin().kind(text(object, "/apiVersion"), text(object, "/kind")).expect("a built-in kind")
}

/// Where an object in protobuf differs from the same object in JSON; nothing when the lab reads both alike.
fn difference(name: &str, protobuf: &[u8], expected: &Value) -> Option<String> {
    let found = match from_protobuf(protobuf).and_then(read) {
        Ok(object) => object,
        Err(why) => return Some(format!("{name}: {why}")),
    };
    let (left, right) = (Normaliser::default().value(&found), Normaliser::default().value(expected));
    let lines: Vec<String> = differences(&left, &right).iter().map(|it| format!("\n  {it}")).collect();
    (!lines.is_empty()).then(|| format!("{name} (lab | server):{}", lines.concat()))
}

#[tokio::test]
async fn every_object_that_the_server_has_is_read_from_its_protobuf() {
    let client = real().await;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for kind in Schema::builtin().kinds().filter(|kind| kind.verbs.contains(&"list")) {
        let list = parse(&get(&client, &path(kind, ""), JSON).await);
        for item in list["items"].as_array().into_iter().flatten() {
            let mut expected = item.clone();
            expected["apiVersion"] = kind.api_version.into();
            expected["kind"] = kind.kind.into();
            let name = text(item, "/metadata/name");
            let path = format!("{}/{name}", path(kind, text(item, "/metadata/namespace")));
            let protobuf = get(&client, &path, PROTOBUF).await;
            // Written between the two reads: the leases and statuses of the server itself.
            let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
            if from_protobuf(&protobuf).is_ok_and(|it| version(&it) != version(&expected)) {
                expected = parse(&get(&client, &path, JSON).await);
            }
            wrong.extend(difference(&format!("{} {name}", kind.kind), &protobuf, &expected));
            *counts.entry(kind.kind).or_default() += 1;
        }
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(counts.len() >= 12 && counts.values().sum::<usize>() >= 150, "{counts:?}");
}

#[tokio::test]
async fn objects_of_nearly_all_kinds_are_read_from_the_protobuf_of_the_server() {
    let client = real().await;
    let world = Lab::new(LabOptions::default());
    let lab = world.client();
    let (mut compared, mut created, mut wrong) = (0, 0, Vec::new());
    for object in serde_json::from_str::<Vec<Value>>(OBJECTS).unwrap() {
        let kind = kind_of(&object);
        let name = format!("{} {}", kind.kind, text(&object, "/metadata/name"));
        let namespace = match text(&object, "/metadata/namespace") {
            _ if !kind.namespaced => "",
            "" => "default",
            namespace => namespace,
        };
        let path = format!("{}?dryRun=All", path(kind, namespace));
        let body = object.to_string();
        let (code, protobuf) = send(&client, "POST", &path, PROTOBUF, JSON, body.as_bytes()).await;
        if code != 201 {
            println!("{name}: refused by an admission plugin");
            continue;
        }
        let (_, expected) = send(&client, "POST", &path, JSON, JSON, body.as_bytes()).await;
        let expected = parse(&expected);
        wrong.extend(difference(&name, &protobuf, &expected));
        truncated(&protobuf);

        // And the other way: the lab makes the same of both bodies.
        let (code, left) = send(&lab, "POST", &path, JSON, PROTOBUF, &protobuf).await;
        created += usize::from(code == 201);
        let (other, right) = send(&lab, "POST", &path, JSON, JSON, expected.to_string().as_bytes()).await;
        let normal = |body: &[u8]| Normaliser::default().value(&parse(body));
        let (left, right) = (normal(&left), normal(&right));
        if code != other || left != right {
            let lines = differences(&left, &right);
            wrong.push(format!("{name} (protobuf | JSON), code {code}: {lines:#?}"));
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    // Addresses and labels that the server chose make some of its own objects unfit for another.
    assert!(compared >= 85 && created >= 80, "{created} of {compared}");
}

/// A body that ends early or has a wrong byte is read or refused, in up to 500 places.
fn truncated(body: &[u8]) {
    for length in (0..body.len()).step_by(body.len() / 500 + 1) {
        let _ = from_protobuf(&body[..length]);
        let mut flipped = body.to_vec();
        flipped[length] ^= 0x15;
        let _ = from_protobuf(&flipped);
    }
}

// === Requests by hand ===

/// A field that says its length.
fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(value.len()).unwrap()], value].concat()
}

fn body(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), bytes(1, &meta), bytes(2, message)].concat()
}

fn metadata(name: &str) -> Vec<u8> {
    bytes(1, &bytes(1, name.as_bytes()))
}

#[tokio::test]
async fn requests_by_hand_are_answered_alike() {
    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
    const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
    const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
    let uid = |uid: &str| bytes(2, &bytes(1, uid.as_bytes()));
    let scale = [metadata("d"), bytes(2, &[8, 3])].concat();
    let cases: Vec<(&str, String, Vec<u8>)> = vec![
        ("POST", CONFIG_MAPS.into(), body("v1", "ConfigMap", &metadata("a"))),
        ("POST", CONFIG_MAPS.into(), body("v1", "ConfigMap", &metadata("a"))),
        ("POST", CONFIG_MAPS.into(), body("", "", &metadata("no-kind"))),
        ("POST", CONFIG_MAPS.into(), body("v1", "ConfigMap", &metadata("Bad_Name"))),
        (
            "POST",
            format!("{CONFIG_MAPS}?fieldValidation=Strict"),
            body("v1", "ConfigMap", &[metadata("b"), bytes(9, b"x")].concat()),
        ),
        (
            "PUT",
            format!("{CONFIG_MAPS}/a"),
            body(
                "v1",
                "ConfigMap",
                &[metadata("a"), bytes(2, &[bytes(1, b"k"), bytes(2, b"v")].concat())].concat(),
            ),
        ),
        ("PUT", format!("{CONFIG_MAPS}/a"), body("v1", "ConfigMap", &metadata("other"))),
        // What cannot be read.
        ("POST", CONFIG_MAPS.into(), b"{}".to_vec()),
        ("POST", CONFIG_MAPS.into(), b"k8s\0".to_vec()),
        ("POST", CONFIG_MAPS.into(), b"k8s\0\x0a".to_vec()),
        ("POST", CONFIG_MAPS.into(), vec![b'x'; 100]),
        ("POST", CONFIG_MAPS.into(), body("v1", "ConfigMap", &[0x0a, 9, 1])),
        ("POST", CONFIG_MAPS.into(), body("v1", "ConfigMap", &[0x08, 1])),
        ("POST", CONFIG_MAPS.into(), body("v1", "ConfigMap", &[0x0c])),
        ("POST", CONFIG_MAPS.into(), body("v1", "ConfigMap", &[0x4f])),
        ("POST", CONFIG_MAPS.into(), body("v1", "ConfigMap", &bytes(1, &[0x2a, 0xff, 0xff]))),
        ("POST", CONFIG_MAPS.into(), body("v2", "ConfigMap", &metadata("a"))),
        ("POST", CONFIG_MAPS.into(), body("v1", "Nothing", &metadata("a"))),
        // Other content, other verbs.
        ("PATCH", format!("{CONFIG_MAPS}/a"), body("v1", "ConfigMap", &metadata("a"))),
        (
            "DELETE",
            format!("{CONFIG_MAPS}/a"),
            body("v1", "DeleteOptions", &uid("00000000-0000-0000-0000-000000000000")),
        ),
        ("DELETE", format!("{CONFIG_MAPS}/a"), body("v1", "DeleteOptions", &bytes(4, b"Nonsense"))),
        ("DELETE", format!("{CONFIG_MAPS}/a"), body("v1", "DeleteOptions", &[0x0a])),
        ("DELETE", format!("{CONFIG_MAPS}/a"), body("meta.k8s.io/v1", "DeleteOptions", &[8, 0])),
        ("DELETE", format!("{CONFIG_MAPS}/b"), body("v1", "DeleteOptions", &bytes(4, b"Background"))),
        ("PUT", format!("{DEPLOYMENTS}/d/scale"), body("autoscaling/v1", "Scale", &scale)),
        ("GET", format!("{DEPLOYMENTS}/d"), Vec::new()),
        ("DELETE", format!("{DEPLOYMENTS}/d"), body("apps/v1", "DeleteOptions", &bytes(4, b"Foreground"))),
        // Custom resources.
        (
            "DELETE",
            format!("{WIDGETS}/w"),
            body("example.com/v1", "DeleteOptions", &uid("00000000-0000-0000-0000-000000000000")),
        ),
        ("DELETE", format!("{WIDGETS}/w"), body("example.com/v1", "DeleteOptions", &bytes(4, b"Background"))),
    ];
    let world = Lab::new(LabOptions::default());
    let (real, lab) = (real().await, world.client());
    prepare(&real, WIDGETS).await;
    prepare(&lab, WIDGETS).await;
    let (mut one, mut two) = (Normaliser::default(), Normaliser::default());
    let mut wrong = Vec::new();
    for (position, (method, path, body)) in cases.iter().enumerate() {
        let content_type = if *method == "GET" { JSON } else { PROTOBUF };
        let (code, answer) = send(&real, method, path, JSON, content_type, body).await;
        let left = json!({"code": code, "answer": one.value(&parse(&answer))});
        let (code, answer) = send(&lab, method, path, JSON, content_type, body).await;
        let right = json!({"code": code, "answer": two.value(&parse(&answer))});
        println!("{position} {method} {path}: {}", left["answer"]["message"]);
        for it in differences(&left, &right) {
            wrong.push(format!("{position} {method} {path} (server | lab): {it}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // NB: the real server breaks the connection at this; no client can mean it.
    let widget = body("example.com/v1", "Widget", &metadata("x"));
    assert_eq!(send(&lab, "POST", WIDGETS, JSON, PROTOBUF, &widget).await.0, 415);
}

/// A Deployment, a kind of widgets and a widget.
async fn prepare(client: &Client, widgets: &str) {
    let container = json!({"name": "c", "image": "c"});
    let labels = json!({"app": "d"});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"}, "versions": [{"name": "v1", "served": true,
                "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
    for (path, object) in [
        ("/apis/apps/v1/namespaces/default/deployments", deployment),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition),
        (widgets, widget),
    ] {
        let mut code = 0;
        // A new kind is served after a moment.
        for _ in 0..100 {
            code = send(client, "POST", path, JSON, JSON, object.to_string().as_bytes()).await.0;
            if code == 201 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert_eq!(code, 201, "{path}");
    }
}

// === kubectl ===

#[test]
fn kubectl_create_stores_the_same_objects_on_both_servers() {
    let lab = LabUp::start();
    let (mut one, mut two) = (Normaliser::default(), Normaliser::default());
    let (mut wrong, mut in_protobuf) = (Vec::new(), 0);
    for (command, object) in kubectl::COMMANDS {
        let real = kubectl::run(SERVER.kubeconfig(), command);
        let ours = kubectl::run(lab.kubeconfig(), &format!("-v=8 {command}"));
        in_protobuf += usize::from(ours.stderr.contains(PROTOBUF));
        if !real.ok || !ours.ok {
            let log: Vec<&str> = ours.stderr.lines().filter(|line| !line.starts_with('I')).collect();
            wrong.push(format!("{command}: {} | {}", real.stderr, log.join("\n")));
            continue;
        }
        let show = format!("get {object} -o json --show-managed-fields");
        let [real, ours] = [SERVER.kubeconfig(), lab.kubeconfig()].map(|it| kubectl::run(it, &show).stdout);
        let (left, right) = (one.value(&parse(real.as_bytes())), two.value(&parse(ours.as_bytes())));
        for it in differences(&left, &right) {
            wrong.push(format!("{command} (server | lab): {it}"));
        }
    }
    println!("{} commands, {in_protobuf} of them speak protobuf", kubectl::COMMANDS.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(in_protobuf, kubectl::COMMANDS.len());
}
