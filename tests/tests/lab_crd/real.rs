//! The real server, and its answers in a form that can be compared.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use lockstep_tests::clients;
use serde_json::{Value, json};
use xtask::kube::{Server, ServerOptions};

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long a definition may take until it works; usually it is some milliseconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// One instance for all tests of this process.
static SERVER: LazyLock<Server> =
    LazyLock::new(|| Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}")));

/// A client of the real server.
pub(crate) struct Real(Client);

/// An answer, without what differs from run to run.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: u64,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.code, self.body, self.warnings)
    }
}

impl Real {
    pub(crate) async fn connect() -> Self {
        Self(clients::of_file(SERVER.kubeconfig()).await)
    }

    /// Creates a definition and waits until its objects are served. Gives the stored definition.
    pub(crate) async fn define(&self, crd: &Value) -> Value {
        let created = self.create(DEFINITIONS, crd).await;
        assert_eq!(created.code, 201, "{created}");
        let spec = &crd["spec"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (group, version) = (text(&spec["group"]), text(&spec["versions"][0]["name"]));
        let path = format!("/apis/{group}/{version}/{}", text(&spec["names"]["plural"]));
        self.until(|| async { self.get(&path).await.code == 200 }).await;
        let name = text(&crd["metadata"]["name"]);
        self.send(Method::GET, &format!("{DEFINITIONS}/{name}"), None, false).await.1
    }

    /// Waits until the controllers have said all they say about a definition.
    pub(crate) async fn settle(&self, crd: &Value) -> Value {
        let address = format!("{DEFINITIONS}/{}", crd["metadata"]["name"].as_str().unwrap());
        let reason_of = |crd: &Value, wanted: &str| {
            let mut conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
            conditions
                .find(|entry| entry["type"] == wanted)
                .map_or("null", |entry| entry["reason"].as_str().unwrap())
                .to_owned()
        };
        self.until(|| async {
            let live = self.get(&address).await.body;
            let is_named =
                ["Installing", "null"].iter().all(|reason| reason_of(&live, "Established") != *reason);
            let is_protected = live["spec"]["group"].as_str().unwrap().ends_with("k8s.io");
            is_named && (!is_protected || reason_of(&live, "KubernetesAPIApprovalPolicyConformant") != "null")
        })
        .await;
        self.get(&address).await.body
    }

    /// Replaces a definition and waits until an object is refused that was fine before. Gives the stored definition.
    pub(crate) async fn redefine(&self, crd: &Value, path: &str, refused: &Value) -> Value {
        let address = format!("{DEFINITIONS}/{}", crd["metadata"]["name"].as_str().unwrap());
        let mut crd = crd.clone();
        let live = self.send(Method::GET, &address, None, false).await.1;
        crd["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        let (code, body, _) = self.send(Method::PUT, &address, Some(&crd), false).await;
        assert_eq!(code, 200, "{body}");
        let mut other = refused.clone();
        other["metadata"]["name"] = "other".into();
        self.until(|| async { self.create_dry(path, &other).await.code == 422 }).await;
        body
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Answer {
        answer(self.send(Method::POST, path, Some(object), false).await)
    }

    pub(crate) async fn create_dry(&self, path: &str, object: &Value) -> Answer {
        answer(self.send(Method::POST, path, Some(object), true).await)
    }

    pub(crate) async fn replace_dry(&self, path: &str, object: &Value) -> Answer {
        answer(self.send(Method::PUT, path, Some(object), true).await)
    }

    /// The object as it is, with its resource version.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        let (code, body, warnings) = self.send(Method::GET, path, None, false).await;
        Answer { code, body, warnings }
    }

    async fn until<F: Future<Output = bool>>(&self, mut is_so: impl FnMut() -> F) {
        tokio::time::timeout(PATIENCE, async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await
        .expect("the definition is in effect");
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        dry: bool,
    ) -> (u64, Value, Vec<String>) {
        let query = if dry { "?dryRun=All&fieldValidation=Warn" } else { "" };
        let body = body.map(Value::to_string).unwrap_or_default().into_bytes();
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}{query}"))
            .header("content-type", "application/json")
            .body(kube::client::Body::from(body))
            .unwrap();
        let response = self.0.send(request).await.unwrap();
        let code = u64::from(response.status().as_u16());
        let warnings = response
            .headers()
            .get_all("warning")
            .iter()
            .map(|value| warning(&String::from_utf8_lossy(value.as_bytes())))
            .collect();
        let bytes = response.into_body().collect_bytes().await.unwrap();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null), warnings)
    }
}

/// The text of a `Warning` header: `299 - "text"`.
fn warning(header: &str) -> String {
    let text = header.split_once('"').map_or(header, |(_, text)| text);
    text.strip_suffix('"').unwrap_or(text).replace("\\\"", "\"").replace("\\\\", "\\")
}

fn answer((code, body, warnings): (u64, Value, Vec<String>)) -> Answer {
    let warnings = if code >= 400 { Vec::new() } else { warnings };
    Answer { code, body: normal(body), warnings }
}

/// Removes what differs from run to run. The causes of an error are sorted: the real server reports the fields of an object
/// in the random order of its maps.
pub(crate) fn normal(mut body: Value) -> Value {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.remove(key);
        }
    }
    if body["kind"] == "Status" {
        let Some(causes) = body["details"]["causes"].as_array_mut() else { return body };
        causes.sort_by_key(Value::to_string);
        if causes.len() > 1 {
            body["message"] = json!("several");
        }
    }
    body
}

/// A status of a definition without times; its conditions are sorted, because the controllers race.
pub(crate) fn normal_status(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(conditions) = status["conditions"].as_array_mut() {
        for entry in conditions.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("lastTransitionTime");
        }
        conditions.sort_by_key(|entry| entry["type"].to_string());
    }
    status
}
