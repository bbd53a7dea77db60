//! Who we are at a registry: passwords and tokens for its requests, and what to say when they do not suffice.

use std::sync::{Arc, PoisonError};

use reqwest::header::{self, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use tokio::time::Instant;

use super::answer::{Answer, code, refusal, said};
use super::auth::{self, Challenge, Scope, Token};
use super::credentials::{Found, Secret};
use super::failure::Failure;
use super::gate::Gate;
use super::host::{Ask, Host, is_passing};
use super::redirect;
use super::wire::{Request, follow};
use crate::reference::PullSpec;
use crate::store::StoreError;

/// The format of a form.
const FORM: &str = "application/x-www-form-urlencoded";
/// Largest answer of a token service, in bytes.
const MAX_TOKEN_BYTES: u64 = 1024 * 1024;

// === impl Host ===

impl Host {
    /// The header that a request needs, as far as the registry asked for one.
    pub(super) async fn authorization(
        &self,
        base: &Url,
        scopes: &[Scope],
        spec: &PullSpec,
    ) -> Result<Option<HeaderValue>, Failure> {
        let challenge = self.challenge.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(challenge) = challenge else { return Ok(None) };
        let text = match &challenge {
            Challenge::Basic => match self.secret(spec).await?.map(|found| found.secret) {
                Some(Secret::Basic { user, password }) => basic(&user, &password),
                Some(Secret::Token(token) | Secret::Identity(token)) => format!("Bearer {token}"),
                None => return Ok(None),
            },
            Challenge::Bearer { .. } => {
                let slot = self.tokens.slot(&auth::key(scopes));
                let mut kept = slot.lock().await;
                match &*kept {
                    Some(token) if token.is_good(Instant::now()) => format!("Bearer {}", token.text),
                    _ => {
                        let token = self.token(base, &challenge, scopes, spec).await?;
                        let text = format!("Bearer {}", token.text);
                        *kept = Some(token);
                        text
                    }
                }
            }
        };
        let invalid = |_| {
            Failure::Fatal(StoreError::Refused(format!("{}: credentials with line breaks", self.authority)))
        };
        let mut value = HeaderValue::from_str(&text).map_err(invalid)?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Gives up a token.
    pub(super) async fn forget(&self, scopes: &[Scope]) {
        *self.tokens.slot(&auth::key(scopes)).lock().await = None;
    }

    /// Asks the token service once.
    async fn token(
        &self,
        base: &Url,
        challenge: &Challenge,
        scopes: &[Scope],
        spec: &PullSpec,
    ) -> Result<Token, Failure> {
        let Challenge::Bearer { realm, service } = challenge else {
            return Err(Failure::Fatal(StoreError::Refused("no token service".to_owned())));
        };
        let what = format!("{spec}: the token service {realm}");
        let refused = |why: String| Failure::Fatal(StoreError::Refused(format!("{what}: {why}")));
        let realm = base.join(realm).map_err(|error| refused(error.to_string()))?;
        let found = self.secret(spec).await?;
        if found.is_some() {
            redirect::check_realm(base, &realm).map_err(refused)?;
        }
        let (service, mut request) = (service.as_deref(), Request::get());
        let url = match found.as_ref().map(|found| &found.secret) {
            Some(Secret::Token(token)) => {
                let answer = serde_json::json!({ "token": token }).to_string();
                return Token::read(answer.as_bytes(), Instant::now()).map_err(refused);
            }
            Some(Secret::Identity(identity)) => {
                request.method = Method::POST;
                request.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(FORM));
                request.body = auth::identity_form(identity, service, scopes).into();
                realm
            }
            Some(Secret::Basic { user, password }) => {
                request.authorization = HeaderValue::from_str(&basic(user, password)).ok();
                auth::token_url(&realm, service, scopes, Some(user))
            }
            None => auth::token_url(&realm, service, scopes, None),
        };
        let (response, is_elsewhere) = follow(&self.client, &request, url, &what).await?;
        let status = response.status();
        let answer = Answer { response, is_elsewhere, _permit: Gate::new(1).enter().await };
        if status.is_success() {
            let bytes = answer.bytes(MAX_TOKEN_BYTES, &what).await.map_err(Failure::Passing)?;
            return Token::read(&bytes, Instant::now()).map_err(refused);
        }
        if matches!(status.as_u16(), 400 | 401 | 403) {
            let said = answer.said().await;
            let why = format!("{status} {said}; {}", self.explained(found.as_ref(), spec));
            return Err(Failure::Fatal(StoreError::Denied { what, why }));
        }
        let error = answer.failed(&what).await;
        Err(if is_passing(status) { Failure::Passing(error) } else { Failure::Fatal(error) })
    }

    /// The credentials for a repository; a helper is a program, so this waits aside.
    async fn secret(&self, spec: &PullSpec) -> Result<Option<Found>, Failure> {
        let (credentials, spec) = (Arc::clone(&self.credentials), spec.clone());
        let found = tokio::task::spawn_blocking(move || credentials.find(&spec)).await;
        found.unwrap_or_else(|error| Err(StoreError::Refused(error.to_string()))).map_err(Failure::Fatal)
    }

    fn explained(&self, found: Option<&Found>, spec: &PullSpec) -> String {
        match found {
            Some(found) => format!("the credentials are {}", found.origin),
            None => self.credentials.nothing_found(spec),
        }
    }

    /// The error for an answer that wants other credentials.
    pub(super) async fn denied(&self, ask: &Ask, spec: &PullSpec, answer: Answer) -> StoreError {
        let status = answer.status();
        let elsewhere = answer.is_elsewhere.then(|| redirect::place(answer.response.url()));
        let bytes = answer.bytes(refusal::MAX_BYTES, &ask.what).await.unwrap_or_default();
        let text = said(&bytes);
        let why = if let Some(place) = elsewhere {
            format!(
                "{status} {text}; {} sends the request to {place}, which does not get the credentials for {}",
                self.authority, self.authority
            )
        } else {
            let found = self.secret(spec).await.ok().flatten();
            let hint = match (code(&bytes).as_deref(), status) {
                (Some("DENIED"), _) | (_, StatusCode::FORBIDDEN) => {
                    "it does not exist or you have no permission; "
                }
                _ => "",
            };
            format!("{status} {text}; {hint}{}", self.explained(found.as_ref(), spec))
        };
        StoreError::Denied { what: ask.what.clone(), why }
    }
}

fn basic(user: &str, password: &str) -> String {
    use base64::Engine as _;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}")))
}
