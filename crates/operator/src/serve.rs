//! The operator on a socket: `/metrics` for those who may read them, `/livez` and `/readyz` for everybody.

mod client;
mod connections;
mod health;
mod tls;
mod token;

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use jiff::Timestamp;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::net::TcpListener;
use tokio::sync::watch;

use lockstep_api::names::object;
use lockstep_apply::server::Server;

pub use health::{Answer, Health};
pub use tls::{TlsSettings, TlsSettingsError};

use crate::metrics::{CONTENT_TYPE, Metrics};
use client::Authorities;
use connections::Acceptor;
use tls::Certificate;
use token::Tokens;

/// How the operator is put on a socket.
#[derive(Clone)]
pub struct ServeOptions {
    /// Where, such as `0.0.0.0:9099`; a host that is left out is every address.
    pub listen: String,
    /// The file with the certificate, and with those between it and its authority.
    pub certificate: PathBuf,
    /// The file with its key.
    pub key: PathBuf,
    /// Which TLS is spoken.
    pub tls: TlsSettings,
    /// The user who may read metrics; `None` lets everybody.
    pub reader: Option<String>,
    /// The certificate authorities of clients as PEM; empty while nobody knows them.
    pub authorities: watch::Receiver<Bytes>,
    /// How often the files of the certificate are looked at, at most.
    pub check_every: Duration,
    /// The time of day, for certificates.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// Why the operator cannot be put on a socket.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("listening on `{0}`; choose another address with --listen, or none with --listen=\"\"")]
    Listen(String, #[source] io::Error),
}

/// A socket that is open; [`run`](Self::run) answers on it.
pub struct Listening {
    address: SocketAddr,
    acceptor: Acceptor,
}

/// Answers requests; each connection has a copy.
struct Site {
    metrics: Metrics,
    health: Health,
    reader: Option<String>,
    tokens: Tokens,
    trust: Mutex<Trust>,
    provider: Arc<CryptoProvider>,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// Who may sign the certificates of clients: the bundle as it comes, and what was last read from it.
struct Trust {
    bundle: watch::Receiver<Bytes>,
    authorities: Authorities,
}

/// A request that is not answered, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    code: StatusCode,
    text: Cow<'static, str>,
}

// === impl ServeOptions ===

impl ServeOptions {
    /// Usual settings; the certificates of clients are signed by what comes through `authorities`.
    pub fn new(
        listen: impl Into<String>,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
        authorities: watch::Receiver<Bytes>,
        clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> Self {
        Self {
            listen: listen.into(),
            certificate: certificate.into(),
            key: key.into(),
            tls: TlsSettings::new(),
            reader: Some(object::METRICS_READER.to_owned()),
            authorities,
            check_every: Duration::from_secs(5),
            clock,
        }
    }
}

/// Answers on a socket until `stop`; without an address there is nothing to do but to wait for it.
pub async fn serve(
    options: ServeOptions,
    metrics: Metrics,
    health: Health,
    server: Server,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    if options.listen.is_empty() {
        stop.await;
        return Ok(());
    }
    bind(options, metrics, health, server).await?.run(stop).await;
    Ok(())
}

/// Opens the socket.
pub async fn bind(
    options: ServeOptions,
    metrics: Metrics,
    health: Health,
    server: Server,
) -> Result<Listening, ServeError> {
    let failed = |error| ServeError::Listen(options.listen.clone(), error);
    let listener = if options.listen.starts_with(':') {
        TcpListener::bind(format!("[::]{}", options.listen)).await
    } else {
        TcpListener::bind(&options.listen).await
    };
    let listener = listener.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let provider = Arc::clone(options.tls.provider());
    let mut bundle = options.authorities;
    let authorities = Authorities::new(&bundle.borrow_and_update(), &provider);
    let site = Site {
        metrics,
        health,
        reader: options.reader,
        tokens: Tokens::new(server),
        trust: Mutex::new(Trust { bundle, authorities }),
        provider,
        clock: options.clock,
    };
    let certificate = Certificate::new(options.tls, options.certificate, options.key, options.check_every);
    // Whoever starts us sees at once when the files are not there.
    certificate.current();
    Ok(Listening { address, acceptor: Acceptor::new(listener, certificate, site) })
}

// === impl Listening ===

impl Listening {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop`, and lets requests that have begun finish for a moment.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        self.acceptor.run(stop).await;
    }
}

// === impl Site ===

impl Site {
    async fn answer<B>(
        &self,
        request: Request<B>,
        chain: &[CertificateDer<'static>],
    ) -> Response<Full<Bytes>> {
        let (path, is_read) = (request.uri().path(), matches!(*request.method(), Method::GET | Method::HEAD));
        match path {
            "/metrics" | "/livez" | "/readyz" if !is_read => {
                let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
                response
            }
            "/metrics" => match self.admit(&request, chain).await {
                Ok(()) => {
                    let mut response = Response::new(Full::new(Bytes::from(self.metrics.encode())));
                    let kind = HeaderValue::from_static(CONTENT_TYPE);
                    response.headers_mut().insert(header::CONTENT_TYPE, kind);
                    response
                }
                Err(refused) => text(refused.code, &refused.text),
            },
            "/livez" => probe(&self.health.is_live()),
            "/readyz" => probe(&self.health.is_ready()),
            _ => text(StatusCode::NOT_FOUND, "not found"),
        }
    }

    /// Whether a request may see metrics: one of certificate and token suffices.
    ///
    /// *Order*: the certificate is looked at first because it costs no request. When both fail the answer is about the
    /// token, which is what somebody with both expected to be used.
    async fn admit<B>(&self, request: &Request<B>, chain: &[CertificateDer<'_>]) -> Result<(), Refused> {
        let Some(reader) = &self.reader else { return Ok(()) };
        let by_certificate = self.authorities().judge(chain, reader, self.now());
        if by_certificate.is_ok() || !request.headers().contains_key(header::AUTHORIZATION) {
            return by_certificate;
        }
        self.tokens.judge(request.headers(), reader).await
    }

    /// The authorities as they are now, read anew when somebody has sent others.
    fn authorities(&self) -> Authorities {
        let mut trust = self.trust.lock().unwrap_or_else(PoisonError::into_inner);
        if trust.bundle.has_changed().unwrap_or(false) {
            let bundle = trust.bundle.borrow_and_update().clone();
            trust.authorities = Authorities::new(&bundle, &self.provider);
        }
        trust.authorities.clone()
    }

    fn now(&self) -> UnixTime {
        let seconds = u64::try_from((self.clock)().as_second()).unwrap_or_default();
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }
}

fn probe(answer: &Answer) -> Response<Full<Bytes>> {
    let code = if answer.is_good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    text(code, &answer.sentence)
}

fn text(code: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{text}\n"))));
    *response.status_mut() = code;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

// === impl Refused ===

impl Refused {
    fn new(code: StatusCode, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into() }
    }
}

#[cfg(test)]
mod tests;
