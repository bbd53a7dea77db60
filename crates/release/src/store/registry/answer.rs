//! An answer of a registry: its status, its headers, its body within bounds.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, stream};
use reqwest::StatusCode;
use serde_json::Value;

use super::failure::chain;
use super::gate::Permit;
use crate::store::{Blob, StoreError};

/// How long a body may bring no byte.
const STILLNESS: Duration = Duration::from_secs(30);

/// Bounds of answers that say no.
pub(super) mod refusal {
    /// Most bytes that are read of a refusal.
    pub(in super::super) const MAX_BYTES: u64 = 64 * 1024;
    /// Most characters that are shown of one that is not JSON.
    pub(super) const MAX_SHOWN: usize = 200;
}

/// An answer; its place at the gate is given back with it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) response: reqwest::Response,
    /// Whether it comes from another server than was asked.
    pub(super) is_elsewhere: bool,
    pub(super) _permit: Permit,
}

// === impl Answer ===

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    }

    /// The header that says how long the content is; for an answer to HEAD there is nothing else.
    pub(super) fn length(&self) -> Option<u64> {
        self.header("content-length").and_then(|value| value.parse().ok())
    }

    /// The whole body, unless it is larger than it may be.
    pub(super) async fn bytes(self, limit: u64, what: &str) -> Result<Bytes, StoreError> {
        let refused = || StoreError::Refused(format!("{what}: the answer has more than {limit} bytes"));
        // NB: not the header, which an answer to HEAD has without a body.
        if self.response.content_length().is_some_and(|length| length > limit) {
            return Err(refused());
        }
        let mut body = self.stream(what.to_owned());
        let mut all = BytesMut::new();
        while let Some(piece) = body.next().await {
            all.extend_from_slice(&piece?);
            if all.len() as u64 > limit {
                return Err(refused());
            }
        }
        Ok(all.freeze())
    }

    /// The body, piece by piece; stillness is an error.
    pub(super) fn stream(self, what: String) -> Blob {
        stream::unfold(Some((self, what)), |state| async move {
            let (mut answer, what) = state?;
            let network = |why: String| StoreError::Network { what: what.clone(), why };
            match tokio::time::timeout(STILLNESS, answer.response.chunk()).await {
                Ok(Ok(Some(piece))) => Some((Ok(piece), Some((answer, what)))),
                Ok(Ok(None)) => None,
                Ok(Err(error)) => Some((Err(network(chain(&error.without_url()))), None)),
                Err(_) => Some((Err(network(format!("no byte for {} s", STILLNESS.as_secs()))), None)),
            }
        })
        .boxed()
    }

    /// What the body of a refusal says.
    pub(super) async fn said(self) -> String {
        said(&self.bytes(refusal::MAX_BYTES, "").await.unwrap_or_default())
    }

    /// The error for an answer that was not wanted.
    pub(super) async fn failed(self, what: &str) -> StoreError {
        let status = self.status();
        let said = self.said().await;
        let reason = status.canonical_reason().unwrap_or_default();
        let why = if said.is_empty() { reason.to_owned() } else { format!("{reason}: {said}") };
        StoreError::Answer { what: what.to_owned(), status: status.as_u16(), why }
    }
}

/// The first error code of a refusal.
pub(super) fn code(bytes: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    value["errors"][0]["code"].as_str().map(str::to_owned)
}

/// What a refusal says, on one line.
pub(super) fn said(bytes: &[u8]) -> String {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let errors = value["errors"].as_array().into_iter().flatten();
    let one = |error: &Value| {
        let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
        let detail = match &error["detail"] {
            Value::Null => String::new(),
            Value::String(text) => format!(" ({text})"),
            other => format!(" ({other})"),
        };
        format!("{} {}{detail}", text("code"), text("message"))
    };
    let said: Vec<String> = errors.map(one).collect();
    if said.is_empty() {
        let text = String::from_utf8_lossy(bytes);
        return printable(text.trim());
    }
    printable(&said.join("; "))
}

/// Text of others, short and without control characters.
fn printable(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(refusal::MAX_SHOWN)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_on_one_line_whatever_it_is() {
        let errors =
            br#"{"errors":[{"code":"DENIED","message":"no","detail":{"a":1}},{"code":"X","message":"y"}]}"#;
        assert_eq!(said(errors), r#"DENIED no ({"a":1}); X y"#);
        assert_eq!(code(errors).as_deref(), Some("DENIED"));
        assert_eq!(said(b"<html>\x1b[31m\nno</html>\n"), "<html> [31m no</html>");
        assert_eq!(said(b""), "");
        assert_eq!(said("x".repeat(1000).as_bytes()).len(), 200);
        assert_eq!(code(b"no"), None);
    }
}
