//! One request and the redirects behind it.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, Url};

use super::failure::{Failure, failure};
use super::redirect::{self, MOST_REDIRECTS};
use crate::store::StoreError;

/// How long a server may take to begin its answer.
pub(super) const USUAL_PATIENCE: Duration = Duration::from_secs(30);

/// What goes over the wire, beside the address.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) authorization: Option<HeaderValue>,
    pub(super) patience: Duration,
}

// === impl Request ===

impl Request {
    pub(super) fn get() -> Self {
        Self {
            method: Method::GET,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            authorization: None,
            patience: USUAL_PATIENCE,
        }
    }

    /// Sends it; the answer must begin in time.
    async fn send(
        &self,
        client: &reqwest::Client,
        url: Url,
        is_elsewhere: bool,
        what: &str,
    ) -> Result<reqwest::Response, Failure> {
        let mut request = client.request(self.method.clone(), url).headers(self.headers.clone());
        if let Some(value) = self.authorization.as_ref().filter(|_| !is_elsewhere) {
            request = request.header(header::AUTHORIZATION, value);
        }
        if !self.is_read() {
            request = request.body(self.body.clone());
        }
        match tokio::time::timeout(self.patience, request.send()).await {
            Ok(outcome) => outcome.map_err(|error| failure(what, error)),
            Err(_) => Err(Failure::Passing(StoreError::Network {
                what: what.to_owned(),
                why: format!("no answer within {} s", self.patience.as_secs()),
            })),
        }
    }

    fn is_read(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }
}

/// Sends a request, and goes where the answers point; says whether that was another server.
///
/// Only what has no content is sent again, and only the first server gets the credentials.
pub(super) async fn follow(
    client: &reqwest::Client,
    request: &Request,
    url: Url,
    what: &str,
) -> Result<(reqwest::Response, bool), Failure> {
    let refused = |why: String| Failure::Fatal(StoreError::Refused(format!("{what}: {why}")));
    let first = url.clone();
    let (mut at, mut is_elsewhere) = (url, false);
    for _ in 0..=MOST_REDIRECTS {
        let response = request.send(client, at.clone(), is_elsewhere, what).await?;
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let (301 | 302 | 303 | 307 | 308, Some(location)) = (response.status().as_u16(), location) else {
            return Ok((response, is_elsewhere));
        };
        let to = redirect::next(&at, location).map_err(refused)?;
        if !request.is_read() {
            let (from, to) = (redirect::place(&at), redirect::place(&to));
            return Err(refused(format!("refused: {from} sends a request with its credentials to {to}")));
        }
        // NB: once elsewhere, a way back does not bring the credentials back.
        is_elsewhere = is_elsewhere || !redirect::has_same_origin(&first, &to);
        at = to;
    }
    Err(refused(format!("more than {MOST_REDIRECTS} redirects")))
}
