//! Clients that give the answer of the server as it is.

use std::path::Path;

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::Value;

/// One request, as bytes: also one that no library would make.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The `Content-Type`; none when it is empty.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
    /// The `User-Agent`, by which rules for faults can tell clients apart.
    pub agent: &'static str,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The body: JSON as a value, anything else as a string.
    pub body: Value,
}

/// A client of the server that a kubeconfig file names.
///
/// # Panics
/// When the file cannot be used.
pub async fn of_file(kubeconfig: &Path) -> Client {
    of(Kubeconfig::read_from(kubeconfig).expect("a kubeconfig that this process wrote")).await
}

/// A client of the server that the text of a kubeconfig names.
///
/// # Panics
/// When the text cannot be used.
pub async fn of_text(kubeconfig: &str) -> Client {
    of(Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig that this process wrote")).await
}

/// A client as the engine connects to the server that a kubeconfig file names.
///
/// # Panics
/// When the file cannot be used.
pub async fn of_engine(kubeconfig: &Path) -> Client {
    let config =
        config(Kubeconfig::read_from(kubeconfig).expect("a kubeconfig that this process wrote")).await;
    lockstep_apply::server::connect(config).expect("a kubeconfig that this process wrote")
}

async fn of(kubeconfig: Kubeconfig) -> Client {
    Client::try_from(config(kubeconfig).await).expect("a kubeconfig that this process wrote")
}

async fn config(kubeconfig: Kubeconfig) -> Config {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.expect("a kubeconfig that this process wrote");
    // The answer of the server is wanted, also when it says "later".
    config.default_retry = false;
    // Packing answers for loopback would only cost time, on both ends.
    config.disable_compression = true;
    config
}

// === impl Call ===

impl Call {
    /// A request without a body.
    pub fn new(method: &str, path: impl Into<String>) -> Self {
        let (content_type, body, agent) = (String::new(), Vec::new(), "lockstep-tests");
        Self { method: method.into(), path: path.into(), content_type, body, agent }
    }

    /// The same with a body of this type.
    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        content_type.clone_into(&mut self.content_type);
        self.body = body.into();
        self
    }

    /// The same by another client.
    #[must_use]
    pub fn by(mut self, agent: &'static str) -> Self {
        self.agent = agent;
        self
    }

    /// A JSON object to be created.
    pub fn post(path: impl Into<String>, object: &Value) -> Self {
        Self::new("POST", path).body("application/json", object.to_string())
    }

    /// A server-side apply by this manager, with force.
    pub fn apply(path: &str, manager: &str, object: &Value) -> Self {
        Self::new("PATCH", format!("{path}?fieldManager={manager}&force=true"))
            .body("application/apply-patch+yaml", object.to_string())
    }

    /// The request, unless method, path or type cannot be sent at all.
    pub fn request<B: From<Vec<u8>>>(&self) -> Option<http::Request<B>> {
        let mut builder = http::Request::builder().method(self.method.as_str()).uri(&self.path);
        builder = builder.header(http::header::USER_AGENT, self.agent);
        if !self.content_type.is_empty() {
            builder = builder.header(http::header::CONTENT_TYPE, &self.content_type);
        }
        builder.body(B::from(self.body.clone())).ok()
    }

    /// Sends it; nothing when it cannot be sent or no whole answer comes.
    pub async fn send(&self, client: &Client) -> Option<Answer> {
        let response = client.send(self.request()?).await.ok()?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await.ok()?;
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        Some(Answer { code, body: serde_json::from_slice(&bytes).unwrap_or_else(|_| text()) })
    }
}

// === impl Answer ===

impl Answer {
    /// The code and the reason, which is empty where there is none.
    pub fn verdict(&self) -> (u16, &str) {
        (self.code, self.body["reason"].as_str().unwrap_or_default())
    }
}
