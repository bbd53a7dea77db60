//! Raw requests: exact codes, bodies and warnings, whatever the server makes of them.

use std::fmt::Write as _;
use std::pin::Pin;
use std::time::Duration;

use futures::io::AsyncBufReadExt as _;
use futures::{Stream, StreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT, WARNING};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// Becomes the default field manager.
const AGENT: &str = "conformance/1.0";
/// How long an answer may take; anything but a watch answers at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// "Too many requests", and what it says when the storage of a new kind is not ready. Any other such answer is compared.
const LATER: u16 = 429;
const NOT_READY: &str = "storage is (re)initializing";
/// How often such a request is sent again, and after which time.
const RETRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(250);

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) accept: String,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) content_type: String,
    pub(crate) warnings: Vec<String>,
    /// JSON as a value, anything else as a string.
    pub(crate) body: Value,
}

/// The lines of a watch.
pub(crate) type Lines = Pin<Box<dyn Stream<Item = std::io::Result<String>> + Send>>;

// === impl Call ===

impl Call {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        let accept = "application/json".to_owned();
        Self { method, path: path.into(), accept, content_type: None, body: Vec::new() }
    }

    pub(crate) fn body(self, body: &Value) -> Self {
        self.bytes("application/json", body.to_string().into_bytes())
    }

    pub(crate) fn bytes(mut self, content_type: &str, body: Vec<u8>) -> Self {
        self.content_type = Some(content_type.to_owned());
        self.body = body;
        self
    }

    pub(crate) fn accept(mut self, accept: &str) -> Self {
        accept.clone_into(&mut self.accept);
        self
    }

    fn request<B: From<Vec<u8>>>(&self) -> http::Request<B> {
        let mut builder = http::Request::builder()
            .method(self.method)
            .uri(encoded(&self.path))
            .header(ACCEPT, &self.accept)
            .header(USER_AGENT, AGENT);
        if let Some(content_type) = &self.content_type {
            builder = builder.header(CONTENT_TYPE, content_type);
        }
        builder.body(B::from(self.body.clone())).expect("the path of a case is a URI")
    }

    /// Sends it; a broken connection is an answer with the code 0.
    ///
    /// A server that is not ready for a new kind yet says "later"; then it is asked again.
    pub(crate) async fn send(&self, client: &Client) -> Answer {
        let mut answer = self.send_once(client).await;
        for _ in 0..RETRIES {
            if !is_not_ready(answer.code, answer.body["message"].as_str().unwrap_or_default()) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            answer = self.send_once(client).await;
        }
        answer
    }

    async fn send_once(&self, client: &Client) -> Answer {
        let exchange = async {
            let response = client.send(self.request::<Body>()).await?;
            let (head, body) = response.into_parts();
            Ok::<_, kube::Error>((head, body.collect_bytes().await?))
        };
        match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(Ok((head, body))) => Answer::new(&head, &body),
            Ok(Err(error)) => Answer::broken(&error.to_string()),
            Err(_) => Answer::broken("no answer in time"),
        }
    }

    /// Starts a watch; a refusal comes back as the answer to the same request.
    pub(crate) async fn watch(&self, client: &Client) -> Result<Lines, Answer> {
        for _ in 0..RETRIES {
            match client.request_stream(self.request::<Vec<u8>>()).await {
                Ok(stream) => return Ok(Box::pin(stream.lines())),
                Err(kube::Error::Api(status)) if is_not_ready(status.code, &status.message) => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(_) => break,
            }
        }
        Err(self.send(client).await)
    }
}

/// Whether an answer says that a new kind is not served yet.
pub(crate) fn is_not_ready(code: u16, message: &str) -> bool {
    code == LATER && message.contains(NOT_READY)
}

/// Next event of a watch; `None` at its end or when nothing comes for this long.
pub(crate) async fn next_event(lines: &mut Lines, patience: Duration) -> Option<Value> {
    let line = tokio::time::timeout(patience, lines.next()).await.ok()??.ok()?;
    Some(serde_json::from_str(&line).unwrap_or(Value::String(line)))
}

/// Selectors are written as people write them; a URI has no blanks or quotes.
fn encoded(path: &str) -> String {
    let mut result = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            result.push(char::from(byte));
        } else {
            // Writing into a text cannot fail.
            let _ = write!(result, "%{byte:02X}");
        }
    }
    result
}

// === impl Answer ===

impl Answer {
    fn new(head: &http::response::Parts, body: &[u8]) -> Self {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let body = serde_json::from_slice(body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()));
        Self {
            code: head.status.as_u16(),
            content_type: head.headers.get(CONTENT_TYPE).map(text).unwrap_or_default(),
            warnings: head.headers.get_all(WARNING).iter().map(text).collect(),
            body,
        }
    }

    fn broken(why: &str) -> Self {
        Self { code: 0, content_type: String::new(), warnings: Vec::new(), body: why.into() }
    }

    /// What is compared: code, body, warnings, and the content type where it is not plain JSON.
    pub(crate) fn outcome(&self) -> Value {
        let mut outcome = json!({"code": self.code, "body": self.body});
        if !self.warnings.is_empty() {
            outcome["warnings"] = json!(self.warnings);
        }
        if self.content_type != "application/json" {
            outcome["contentType"] = json!(self.content_type);
        }
        outcome
    }

    /// A field of `metadata` as text.
    pub(crate) fn meta(&self, field: &str) -> String {
        match &self.body["metadata"][field] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}
