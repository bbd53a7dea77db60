//! One registry: where it is, what it asks for, and requests to it that are tried again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::answer::Answer;
use super::auth::{Challenge, Scope, Tokens};
use super::credentials::Credentials;
use super::failure::Failure;
use super::gate::{Gate, Permit};
use super::patience::{MOST_FIRST_TRIES, MOST_TRIES, Patience, retry_after};
use super::redirect;
use super::wire::{Request, USUAL_PATIENCE, follow};
use crate::reference::PullSpec;
use crate::store::{Access, StoreError};

/// Requests at a time for each registry when a command has no default of its own.
const USUAL_LIMIT: usize = 6;
/// How long it may take to put an upload in its place: some copy all of it then.
pub(super) const LONG_PATIENCE: Duration = Duration::from_mins(5);

/// How long a registry that never answered is not asked again: one mirror that is off must not cost every request its patience.
const GIVEN_UP: Duration = Duration::from_secs(20);

/// One registry; shared by all its repositories.
#[derive(Debug)]
pub(super) struct Host {
    /// Host and port where it listens.
    pub(super) authority: String,
    pub(super) client: reqwest::Client,
    pub(super) credentials: Arc<Credentials>,
    /// Certificates are not checked, and plain HTTP is tried where HTTPS is not spoken.
    pub(super) is_insecure: bool,
    /// Plain HTTP from the start.
    pub(super) is_plain: bool,
    /// NB: two gates. An upload holds a place while it reads its source, which may be the same registry.
    pub(super) reads: Arc<Gate>,
    pub(super) writes: Arc<Gate>,
    /// The address of `/v2/`, once somebody answered there.
    base: OnceCell<Url>,
    /// What the registry asked for last.
    pub(super) challenge: Mutex<Option<Challenge>>,
    pub(super) tokens: Tokens,
    pub(super) patience: Patience,
    has_answered: AtomicBool,
    /// When nobody answered although it was tried often enough, and what happened.
    given_up: Mutex<Option<(Instant, String)>>,
}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) target: Target,
    /// What is asked for, for messages.
    pub(super) what: String,
    /// What the token must allow; the first names the repository whose credentials are used.
    pub(super) scopes: Vec<Scope>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) patience: Duration,
}

/// Where a request goes.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// Behind `/v2/` of the registry.
    Path(String),
    /// An address that the registry gave us.
    Url(Url),
}

// === impl Ask ===

impl Ask {
    pub(super) fn new(method: Method, target: Target, scope: Scope, what: impl Into<String>) -> Self {
        Self {
            method,
            target,
            what: what.into(),
            scopes: vec![scope],
            headers: HeaderMap::new(),
            body: Bytes::new(),
            patience: USUAL_PATIENCE,
        }
    }

    #[must_use]
    pub(super) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(name, value);
        }
        self
    }
}

// === impl Host ===

impl Host {
    pub(super) fn new(
        authority: String,
        client: reqwest::Client,
        credentials: Arc<Credentials>,
        access: &Access,
    ) -> Self {
        let limit = if access.per_registry == 0 { USUAL_LIMIT } else { access.per_registry };
        Self {
            authority,
            client,
            credentials,
            is_insecure: access.insecure,
            is_plain: access.plain_http,
            reads: Gate::new(limit),
            writes: Gate::new(limit),
            base: OnceCell::new(),
            challenge: Mutex::default(),
            tokens: Tokens::default(),
            patience: Patience::new(access.patience, access.on_retry.clone()),
            has_answered: AtomicBool::new(false),
            given_up: Mutex::default(),
        }
    }

    /// Asks until there is an answer that will not change by asking again.
    ///
    /// # Errors
    /// Network errors and refusals for want of credentials; all other answers are the caller's to read.
    pub(super) async fn ask(&self, ask: &Ask, spec: &PullSpec) -> Result<Answer, StoreError> {
        let mut tries = self.patience.tries();
        if ask.patience > USUAL_PATIENCE {
            tries = tries.of(ask.patience);
        }
        let mut is_renewed = false;
        loop {
            let gate = self.gate(&ask.method);
            let permit = gate.enter().await;
            // Each time: others may have found out while this one waited.
            self.check_given_up(&ask.what)?;
            let begun = Instant::now();
            let outcome = self.once(ask, spec, permit).await;
            let (error, asked) = match outcome {
                Ok(answer)
                    if answer.status() == StatusCode::UNAUTHORIZED && !is_renewed && !answer.is_elsewhere =>
                {
                    // The token may have ended early or may not allow this; one more is asked for.
                    is_renewed = true;
                    self.learn(answer.response.headers());
                    self.forget(&ask.scopes).await;
                    continue;
                }
                Ok(answer) if matches!(answer.status().as_u16(), 401 | 403) => {
                    return Err(self.denied(ask, spec, answer).await);
                }
                Ok(answer) if is_passing(answer.status()) => {
                    if answer.status() == StatusCode::TOO_MANY_REQUESTS {
                        gate.slow_down();
                    }
                    let asked = answer.header("retry-after");
                    let asked = asked.and_then(|value| retry_after(&value, Timestamp::now()));
                    (answer.failed(&ask.what).await, asked)
                }
                Ok(answer) => return Ok(answer),
                Err(Failure::Passing(error)) => (error, None),
                Err(failure) => return Err(failure.into_error()),
            };
            if !tries.again(&error, asked, self.most_tries(), begun.elapsed()).await {
                self.give_up(&error);
                return Err(error);
            }
        }
    }

    /// Remembers that nobody is there, so that others do not wait for the same.
    fn give_up(&self, error: &StoreError) {
        if !self.has_answered.load(Ordering::Relaxed) {
            let mut given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
            *given_up = Some((Instant::now(), error.to_string()));
        }
    }

    fn check_given_up(&self, what: &str) -> Result<(), StoreError> {
        if self.has_answered.load(Ordering::Relaxed) {
            return Ok(());
        }
        match &*self.given_up.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((when, why)) if when.elapsed() < GIVEN_UP => {
                Err(StoreError::Network { what: what.to_owned(), why: why.clone() })
            }
            _ => Ok(()),
        }
    }

    /// One try, with credentials as far as the registry asked for them.
    pub(super) async fn once(&self, ask: &Ask, spec: &PullSpec, permit: Permit) -> Result<Answer, Failure> {
        let base = self.base().await?;
        let url = match &ask.target {
            Target::Path(path) => base.join(path).map_err(|error| {
                Failure::Fatal(StoreError::Refused(format!("{}: {path:?} is no address: {error}", ask.what)))
            })?,
            Target::Url(url) if redirect::has_same_origin(base, url) => url.clone(),
            // A page that came from elsewhere may point there; the credentials are not for that place.
            Target::Url(url) => {
                let (from, to) = (redirect::place(base), redirect::place(url));
                let why = format!("refused: {from} sends a request with its credentials to {to}");
                return Err(Failure::Fatal(StoreError::Refused(format!("{}: {why}", ask.what))));
            }
        };
        let authorization = self.authorization(base, &ask.scopes, spec).await?;
        let request = Request {
            method: ask.method.clone(),
            headers: ask.headers.clone(),
            body: ask.body.clone(),
            authorization,
            patience: ask.patience,
        };
        let (response, is_elsewhere) = follow(&self.client, &request, url, &ask.what).await?;
        self.has_answered.store(true, Ordering::Relaxed);
        Ok(Answer { response, is_elsewhere, _permit: permit })
    }

    /// The header that a request with bytes needs, asked for until there is an answer.
    pub(super) async fn authorize(
        &self,
        scopes: &[Scope],
        spec: &PullSpec,
    ) -> Result<Option<HeaderValue>, StoreError> {
        let mut tries = self.patience.tries();
        loop {
            let begun = Instant::now();
            let outcome = match self.base().await {
                Ok(base) => self.authorization(base, scopes, spec).await,
                Err(failure) => Err(failure),
            };
            match outcome {
                Err(Failure::Passing(error)) => {
                    if !tries.again(&error, None, self.most_tries(), begun.elapsed()).await {
                        return Err(error);
                    }
                }
                outcome => return outcome.map_err(Failure::into_error),
            }
        }
    }

    pub(super) fn gate(&self, method: &Method) -> &Arc<Gate> {
        if matches!(*method, Method::GET | Method::HEAD) { &self.reads } else { &self.writes }
    }

    fn most_tries(&self) -> u32 {
        if self.has_answered.load(Ordering::Relaxed) { MOST_TRIES } else { MOST_FIRST_TRIES }
    }

    async fn base(&self) -> Result<&Url, Failure> {
        self.base.get_or_try_init(|| self.connect()).await
    }

    /// Keeps what an answer asks for.
    fn learn(&self, headers: &HeaderMap) {
        let headers = headers.get_all(header::WWW_AUTHENTICATE).iter();
        if let Some(challenge) = Challenge::choose(headers.filter_map(|value| value.to_str().ok())) {
            *self.challenge.lock().unwrap_or_else(PoisonError::into_inner) = Some(challenge);
        }
    }

    /// Finds out whether a registry listens, how, and what it asks for.
    async fn connect(&self) -> Result<Url, Failure> {
        let schemes: &[&str] = match (self.is_plain, self.is_insecure) {
            (true, _) => &["http"],
            (false, true) => &["https", "http"],
            (false, false) => &["https"],
        };
        let mut last = None;
        for scheme in schemes {
            match self.ping(scheme).await {
                Err(Failure::NotTls(error)) => last = Some(error),
                outcome => return outcome,
            }
        }
        let error = last.unwrap_or_else(|| StoreError::Refused(self.authority.clone()));
        Err(Failure::Fatal(error))
    }

    async fn ping(&self, scheme: &str) -> Result<Url, Failure> {
        let address = format!("{scheme}://{}/v2/", self.authority);
        let base = Url::parse(&address).map_err(|error| {
            Failure::Fatal(StoreError::Refused(format!("{:?} is no registry: {error}", self.authority)))
        })?;
        let what = format!("unable to connect to {address}");
        let (response, is_elsewhere) = follow(&self.client, &Request::get(), base.clone(), &what).await?;
        self.has_answered.store(true, Ordering::Relaxed);
        let status = response.status();
        // Whoever is elsewhere may ask for what he wants, the credentials are not for him.
        if status == StatusCode::UNAUTHORIZED && !is_elsewhere {
            self.learn(response.headers());
        }
        match status.as_u16() {
            200..=299 | 401 | 403 => Ok(base),
            _ => {
                let why = format!("endpoint \"{address}\" does not support v2 API (got {status})");
                let error = StoreError::Answer { what, status: status.as_u16(), why };
                Err(if is_passing(status) { Failure::Passing(error) } else { Failure::Fatal(error) })
            }
        }
    }
}

/// Whether an answer may be another one a little later.
pub(super) fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502..=504 | 520..=524)
}
