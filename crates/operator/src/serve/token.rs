//! Who may read metrics, told by a bearer token that the API server is asked about.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use lockstep_api::names::{group, kind};
use lockstep_apply::kinds::Resource;
use lockstep_apply::server::{Call, DryRun, Server};

use super::Refused;

/// Asks the API server whose a token is, and remembers the answers for a short time.
pub(super) struct Tokens {
    server: Server,
    /// By the hash of the token, which is itself kept nowhere.
    known: Mutex<BTreeMap<[u8; 32], Known>>,
    /// Somebody who tries many tokens gets our answers slowly, and the API server hardly hears of it.
    turns: Semaphore,
}

struct Known {
    is_user: bool,
    until: Instant,
}

/// A reader comes twice a minute: it costs one question in two minutes.
const GOOD_FOR: Duration = Duration::from_mins(2);
/// Somebody who was refused may have got rights since.
const BAD_FOR: Duration = Duration::from_secs(10);
/// How many answers are remembered.
const MOST_KNOWN: usize = 64;
/// How many questions are asked at a time.
const TURNS: usize = 2;
/// A longer token is none: those of service accounts have some hundred bytes.
const LONGEST_TOKEN: usize = 16 * 1024;

// === impl Tokens ===

impl Tokens {
    pub(super) fn new(server: Server) -> Self {
        Self { server, known: Mutex::default(), turns: Semaphore::new(TURNS) }
    }

    /// Whether the token of a request is one of `user`.
    pub(super) async fn judge(&self, headers: &HeaderMap, user: &str) -> Result<(), Refused> {
        let token = bearer(headers)?;
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let is_user = match self.remembered(&hash) {
            Some(is_user) => is_user,
            None => self.ask(hash, token, user).await?,
        };
        if is_user { Ok(()) } else { Err(unauthorized("failed to authorize")) }
    }

    async fn ask(&self, hash: [u8; 32], token: &str, user: &str) -> Result<bool, Refused> {
        let internal = || {
            let text = "failed to authorize due to an internal error";
            Refused::new(StatusCode::INTERNAL_SERVER_ERROR, text)
        };
        let _turn = self.turns.acquire().await.map_err(|_| internal())?;
        // While this one waited, another request may have asked.
        if let Some(is_user) = self.remembered(&hash) {
            return Ok(is_user);
        }
        let reviews = Resource::new(group::AUTHENTICATION, "v1", kind::TOKEN_REVIEW, "tokenreviews", false);
        let review = json!({"apiVersion": reviews.api_version(), "kind": kind::TOKEN_REVIEW,
            "spec": {"token": token}});
        let call = Call::create(&reviews, None, Bytes::from(review.to_string()), DryRun::No);
        // NB: neither the question nor the answer is told: both hold the token.
        let answer = self.server.send(call).await.map_err(|refusal| {
            tracing::warn!("asking whose token a reader of metrics has: {}", refusal.reason());
            internal()
        })?;
        let status = &answer.object["status"];
        let is_user = status["authenticated"] == true && status["user"]["username"] == user;
        self.remember(hash, is_user);
        Ok(is_user)
    }

    fn remembered(&self, hash: &[u8; 32]) -> Option<bool> {
        let known = self.lock();
        let known = known.get(hash)?;
        (known.until > Instant::now()).then_some(known.is_user)
    }

    fn remember(&self, hash: [u8; 32], is_user: bool) {
        let now = Instant::now();
        let mut known = self.lock();
        known.retain(|_, known| known.until > now);
        if known.len() >= MOST_KNOWN {
            // Those who are refused go first: a flood of them must not cost the reader its place.
            known.retain(|_, known| known.is_user);
        }
        if known.len() < MOST_KNOWN {
            known.insert(hash, Known { is_user, until: now + if is_user { GOOD_FOR } else { BAD_FOR } });
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Refused> {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let value = value.ok_or_else(|| unauthorized("failed to get the Authorization header"))?;
    let token = match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        None if value.eq_ignore_ascii_case("bearer") => "",
        _ => return Err(unauthorized("failed to get the Bearer token")),
    };
    match token.len() {
        0 => Err(unauthorized("empty Bearer token")),
        1..=LONGEST_TOKEN => Ok(token),
        _ => Err(unauthorized("failed to authorize")),
    }
}

fn unauthorized(text: &'static str) -> Refused {
    Refused::new(StatusCode::UNAUTHORIZED, text)
}
