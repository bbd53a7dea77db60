//! One way to the server: a request as a value, its answer or the reason why there is none.
//!
//! NB: the client's own functions lose parts of an answer that we need (warnings, when to come again, bodies that are
//! no `Status`), so requests go out raw.

mod call;
mod connect;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Request, Response, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::client::Body;
use serde_json::Value;

pub(crate) use call::escape_into;
pub use call::{Call, DryRun, ListPage, Propagation, Removal};
pub use connect::{ConnectError, connect};

use crate::refusal::Refusal;

/// How long a request may take unless somebody says otherwise.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a server is asked that asks for time, and how long it gets each time.
const TRIES: usize = 5;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How requests name their sender.
const USER_AGENT: &str = concat!("lockstep/", env!("CARGO_PKG_VERSION"));

/// The server of a cluster, or the lab.
#[derive(Clone)]
pub struct Server {
    client: kube::Client,
    timeout: Duration,
    count: Option<Count>,
}

/// Told of each request: its verb in the API's words, and the HTTP status code of its answer, 0 when there was none.
pub type Count = Arc<dyn Fn(&'static str, u16) + Send + Sync>;

/// What the server answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status code: 201 when the object was created.
    pub code: u16,
    /// The object, or whatever was asked for; a text when the answer is no JSON.
    pub object: Value,
    /// What the server warns about.
    pub warnings: Vec<String>,
    /// The time of the server, where it says so.
    pub date: Option<Timestamp>,
}

// === impl Server ===

impl Server {
    /// The server behind a client.
    ///
    /// NB: the client must not try again by itself (`Config::default_retry`): back-off is ours and has a seed.
    pub fn new(client: kube::Client) -> Self {
        Self { client, timeout: REQUEST_TIMEOUT, count: None }
    }

    /// Sets how long a request may take; watches are not concerned.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Has every request of this server, and of those that are made from it from now on, told to `count`.
    #[must_use]
    pub fn counting(self, count: Count) -> Self {
        Self { count: Some(count), ..self }
    }

    /// Sends a request and reads its answer.
    pub async fn send(&self, call: Call) -> Result<Answer, Refusal> {
        let is_about_namespaces = call.is_about_namespaces;
        let exchange = async {
            let response = self.exchange(call).await?;
            let (code, warnings) = (response.status().as_u16(), warnings(response.headers()));
            let date = date(response.headers());
            let body = collect(response).await?;
            let object = match serde_json::from_slice(&body) {
                Ok(object) => object,
                Err(_) => Value::String(String::from_utf8_lossy(&body).into_owned()),
            };
            Ok(Answer { code, object, warnings, date })
        };
        let outcome = tokio::time::timeout(self.timeout, exchange).await;
        let outcome = outcome.unwrap_or_else(|_| Err(self.too_late()));
        match outcome {
            // The answer looks the same whether the namespace is the object or its place.
            Err(Refusal::NamespaceMissing { .. }) if is_about_namespaces => Err(Refusal::NotFound),
            outcome => outcome,
        }
    }

    /// Sends a request, and again when the server says when to come back: one that has just started, or has just got a
    /// kind, asks for a second.
    pub(crate) async fn send_patiently(&self, call: &Call) -> Result<Answer, Refusal> {
        for _ in 1..TRIES {
            match self.send(call.clone()).await {
                Err(refusal) if let Some(pause) = refusal.retry_after() => {
                    tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
                }
                outcome => return outcome,
            }
        }
        self.send(call.clone()).await
    }

    /// Sends a request and leaves its body to be read piece by piece; only the head of the answer has a limit of time.
    pub(crate) async fn open(&self, call: Call) -> Result<Body, Refusal> {
        let response = tokio::time::timeout(self.timeout, self.exchange(call)).await;
        response.unwrap_or_else(|_| Err(self.too_late())).map(Response::into_body)
    }

    fn too_late(&self) -> Refusal {
        let message = format!("no answer within {} s", self.timeout.as_secs_f64());
        Refusal::Busy { message, retry_after: None }
    }

    /// One request; an answer with an error code is read and judged.
    async fn exchange(&self, call: Call) -> Result<Response<Body>, Refusal> {
        let verb = call.verb();
        let mut request = Request::builder()
            .method(call.method)
            .uri(call.path)
            .header(header::ACCEPT, call.accept)
            .header(header::USER_AGENT, USER_AGENT);
        if let Some(content_type) = call.content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        if call.is_stream || !call.body.is_empty() {
            // A server that compresses each event by itself cannot be read through the client's decompression. And what
            // was sent uncompressed may come back so: the server has better things to do while it is written to.
            request = request.header(header::ACCEPT_ENCODING, "identity");
        }
        let request = request.body(Body::from(call.body)).map_err(|error| Refusal::Other {
            code: 0,
            reason: String::new(),
            message: format!("the request cannot be made: {error}"),
        })?;
        let response = self.client.send(request).await;
        if let Some(count) = &self.count {
            count(verb, response.as_ref().map_or(0, |response| response.status().as_u16()));
        }
        let response = response.map_err(|error| Refusal::of(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (code, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
        let body = collect(response).await?;
        if response_is_redirect(code) {
            let message = format!("the server answers with code {code} and sends us elsewhere");
            return Err(Refusal::Other { code, reason: String::new(), message });
        }
        Err(Refusal::of_response(code, &body, retry_after))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

fn response_is_redirect(code: u16) -> bool {
    StatusCode::from_u16(code).is_ok_and(|code| code.is_redirection())
}

async fn collect(response: Response<Body>) -> Result<Bytes, Refusal> {
    response.into_body().collect_bytes().await.map_err(|error| Refusal::of(&error))
}

/// `Retry-After` in whole seconds; the server never sends the form with a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// When the server answered, by its own clock.
fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(header::DATE)?.to_str().ok()?;
    Some(rfc2822::parse(text).ok()?.timestamp())
}

/// The texts of `Warning: 299 - "text"`.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    let texts = headers.get_all(header::WARNING).iter().filter_map(|value| value.to_str().ok());
    texts.filter_map(warning).collect()
}

fn warning(value: &str) -> Option<String> {
    let (_, rest) = value.split_once('"')?;
    let (text, _) = rest.rsplit_once('"')?;
    Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn warnings_are_read_with_their_quotes() {
        let mut headers = HeaderMap::new();
        headers.append(header::WARNING, HeaderValue::from_static("299 - \"unknown field \\\"spec.x\\\"\""));
        headers.append(header::WARNING, HeaderValue::from_static("299 - \"old\" \"Mon, 01 Jan 2024\""));
        headers.append(header::WARNING, HeaderValue::from_static("nonsense"));
        assert_eq!(warnings(&headers)[0], "unknown field \"spec.x\"");
        assert_eq!(warnings(&headers).len(), 2);
    }

    #[test]
    fn the_time_to_come_back_is_whole_seconds() {
        let mut headers = HeaderMap::new();
        assert_eq!(retry_after(&headers), None);
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("12"));
        assert_eq!(retry_after(&headers), Some(Duration::from_secs(12)));
    }
}
