//! What the lab says about itself is what a real API server says.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kube::Client;
use lockstep_lab::{Lab, LabOptions};
use lockstep_tests::clients;
use serde_json::Value;
use xtask::kube::{Server, ServerOptions};

/// One real server for all tests; it ends with the process.
static REAL: LazyLock<Server> = LazyLock::new(|| Server::start(&ServerOptions::default()).unwrap());

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Differences that are meant, by the key that is left out of the comparison.
const DIFFERENCES: [(&str, &str); 2] = [
    ("storageVersionHash", "a hash of how etcd stores a kind; there is no etcd, and clients do not use it"),
    ("serverAddress", "the address of the server itself"),
];

/// Keys of `/version` that tell how a binary was built.
const BUILD_KEYS: [&str; 5] = ["gitCommit", "goVersion", "compiler", "platform", "buildDate"];

/// Both servers as clients in the same form.
struct Both {
    runtime: tokio::runtime::Runtime,
    lab: Client,
    real: Client,
    /// Lives as long as its client.
    _server: Lab,
}

impl Both {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (server, lab, real) = runtime.block_on(async {
            let server = Lab::new(LabOptions::default());
            let lab = server.client();
            (server, lab, clients::of_file(REAL.kubeconfig()).await)
        });
        Self { runtime, lab, real, _server: server }
    }

    /// Code, content type and body of both answers.
    fn ask(&self, method: &str, path: &str, accept: &str) -> [(u16, String, String); 2] {
        [&self.lab, &self.real].map(|client| {
            self.runtime.block_on(async {
                let request = http::Request::builder().method(method).uri(path).header("accept", accept);
                let response = client.send(request.body(kube::client::Body::empty()).unwrap()).await.unwrap();
                let code = response.status().as_u16();
                let content_type = response.headers().get("content-type");
                let content_type = content_type.map_or("", |value| value.to_str().unwrap()).to_owned();
                let bytes = response.into_body().collect_bytes().await.unwrap();
                (code, content_type, String::from_utf8_lossy(&bytes).into_owned())
            })
        })
    }

    /// Both answers as JSON, without what is meant to differ; their codes and content types must be equal.
    fn documents(&self, path: &str, accept: &str) -> [Value; 2] {
        let [lab, real] = self.ask("GET", path, accept);
        assert_eq!((lab.0, &lab.1), (real.0, &real.1), "{path}");
        [lab.2, real.2].map(|body| {
            let mut document = serde_json::from_str(&body).unwrap();
            without_differences(&mut document);
            document
        })
    }

    fn assert_equal(&self, path: &str, accept: &str) -> Value {
        let [lab, real] = self.documents(path, accept);
        let found = differences(&lab, &real, path);
        assert!(found.is_empty(), "{}", found.join("\n"));
        lab
    }
}

fn without_differences(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !DIFFERENCES.iter().any(|(name, _)| name == key));
            fields.values_mut().for_each(without_differences);
        }
        Value::Array(items) => items.iter_mut().for_each(without_differences),
        _ => {}
    }
}

/// Every place where two documents differ.
fn differences(lab: &Value, real: &Value, place: &str) -> Vec<String> {
    match (lab, real) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let null = Value::Null;
            keys.iter()
                .flat_map(|key| {
                    let (a, b) = (a.get(*key).unwrap_or(&null), b.get(*key).unwrap_or(&null));
                    differences(a, b, &format!("{place}.{key}"))
                })
                .collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .flat_map(|(index, (a, b))| differences(a, b, &format!("{place}[{index}]")))
            .collect(),
        (a, b) if a == b => Vec::new(),
        (a, b) => vec![format!("{place}: the lab has {a}, the real server {b}")],
    }
}

fn texts<'a>(values: &'a Value, key: &str) -> Vec<&'a str> {
    values.as_array().unwrap().iter().filter_map(|value| value[key].as_str()).collect()
}

#[test]
fn every_group_version_and_resource_is_that_of_the_real_server() {
    let both = Both::new();
    both.assert_equal("/api", "application/json");
    let mut resources =
        both.assert_equal("/api/v1", "application/json")["resources"].as_array().unwrap().len();
    let groups = both.assert_equal("/apis", "application/json");
    for group in groups["groups"].as_array().unwrap() {
        let name = group["name"].as_str().unwrap();
        both.assert_equal(&format!("/apis/{name}"), "application/json");
        for version in texts(&group["versions"], "version") {
            let list = both.assert_equal(&format!("/apis/{name}/{version}"), "application/json");
            resources += list["resources"].as_array().unwrap().len();
        }
    }
    assert!(resources > 90, "{resources}");
    println!("{resources} resources and subresources are equal; left out of the comparison:");
    for (key, reason) in DIFFERENCES {
        println!("  {key}: {reason}");
    }
}

#[test]
fn discovery_at_once_is_that_of_the_real_server() {
    let both = Both::new();
    for path in ["/api", "/apis"] {
        let document = both.assert_equal(path, AGGREGATED);
        assert_eq!(document["kind"], "APIGroupDiscoveryList");
        both.assert_equal(path, &format!("{AGGREGATED},application/json;q=0.9"));
    }
}

#[test]
fn answers_to_what_is_not_there_are_those_of_the_real_server() {
    let both = Both::new();
    for (method, path) in [
        ("GET", "/nope"),
        ("GET", "/apis/nope.example.com"),
        ("GET", "/apis/nope.example.com/v1"),
        ("GET", "/apis/apps/v9"),
        ("GET", "/api/v2"),
        ("GET", "/readyz/nope"),
        ("GET", "/readyz/ping"),
        ("GET", "/healthz"),
        ("GET", "/livez/etcd"),
        ("POST", "/api"),
        ("POST", "/version"),
        ("PUT", "/apis/apps/v1"),
        ("GET", "/openapi/v3/apis/nope.example.com/v1"),
    ] {
        let [lab, real] = both.ask(method, path, "application/json");
        // The real server writes JSON in its own order of keys.
        let value = |body: &str| serde_json::from_str(body).unwrap_or_else(|_| Value::from(body));
        assert_eq!((lab.0, lab.1, value(&lab.2)), (real.0, real.1, value(&real.2)), "{method} {path}");
    }
}

#[test]
fn the_version_is_that_of_the_real_server_but_for_how_it_was_built() {
    let both = Both::new();
    let [lab, real] = both.documents("/version", "application/json").map(|mut version| {
        let fields = version.as_object_mut().unwrap();
        for key in BUILD_KEYS {
            assert!(fields.remove(key).is_some(), "{key}");
        }
        version
    });
    assert_eq!(lab, real);
}

#[test]
fn every_address_that_the_lab_lists_is_one_of_the_real_server() {
    let both = Both::new();
    let [lab, real] = both.documents("/", "application/json").map(|root| {
        let paths = root["paths"].as_array().unwrap();
        paths.iter().map(|path| path.as_str().unwrap().to_owned()).collect::<BTreeSet<String>>()
    });
    let more: Vec<&String> = lab.difference(&real).collect();
    assert!(more.is_empty(), "{more:?}");
    // What the lab does not have: metrics, tokens for others, the hooks of the real server's start.
    let without = ["/metrics", "/.well-known/", "/openid/", "/flagz", "/statusz", "/debug/", "/logs"];
    let is_known = |path: &&&String| {
        without.iter().any(|prefix| path.starts_with(prefix))
            || ["/healthz/", "/livez/", "/readyz/"].iter().any(|prefix| path.starts_with(prefix))
    };
    let less: Vec<&String> = real.difference(&lab).collect();
    let unexplained: Vec<_> = less.iter().filter(|path| !is_known(path)).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
}

#[test]
fn the_comparison_sees_a_difference() {
    let real = serde_json::json!({"a": [{"b": 1}], "storageVersionHash": "x"});
    let mut lab = serde_json::json!({"a": [{"b": 2}], "c": true});
    without_differences(&mut lab);
    let found = differences(&lab, &real, "");
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], ".a[0].b: the lab has 2, the real server 1");
}
