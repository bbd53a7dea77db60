//! Connections: accepted within limits, each in a task of its own, all of them ended when the server stops.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use futures::future::{Either, select};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use super::credentials::Gate;
use crate::status::Status;

/// How much clients may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at the same time; more of them wait in the queue of the system.
    pub connections: usize,
    /// Requests at the same time on one HTTP/2 connection, watches included.
    pub streams: u32,
    /// Time for the TLS handshake.
    pub handshake: Duration,
    /// Time for the headers of a request over HTTP/1.1.
    pub headers: Duration,
    /// Silence after which an HTTP/2 client is asked whether it is still there; as long again for its answer.
    pub keep_alive: Duration,
}

/// Everything that a listening lab consists of.
pub(super) struct Acceptor {
    pub(super) listener: TcpListener,
    pub(super) tls: Arc<ServerConfig>,
    pub(super) gate: Gate,
    pub(super) router: Router,
    pub(super) limits: Limits,
    pub(super) grace: Duration,
    pub(super) stopped: watch::Receiver<bool>,
}

/// What each connection has a copy of.
#[derive(Clone)]
struct Shared {
    tls: TlsAcceptor,
    gate: Arc<Gate>,
    router: Router,
    limits: Arc<Limits>,
    stopped: watch::Receiver<bool>,
}

/// Runs the requests of one HTTP/2 connection; when the connection is gone, so are they.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<JoinSet<()>>>);

/// A body that ends when the server stops: a watch would otherwise hold its connection for ever.
struct UntilStopped {
    body: Body,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_over: bool,
}

/// The pause after a failed accept: usually there are no file descriptors left, and asking again would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

// === impl Limits ===

impl Default for Limits {
    /// Room for some thousands of watches; the time for headers is that of the real server.
    fn default() -> Self {
        Self {
            connections: 4096,
            streams: 2000,
            handshake: Duration::from_secs(10),
            headers: Duration::from_secs(32),
            keep_alive: Duration::from_secs(30),
        }
    }
}

// === impl Acceptor ===

impl Acceptor {
    /// Accepts until the server stops, then waits for what runs.
    pub(super) async fn run(self) {
        let shared = Shared {
            tls: TlsAcceptor::from(self.tls),
            gate: Arc::new(self.gate),
            router: self.router,
            stopped: self.stopped.clone(),
            limits: Arc::new(self.limits),
        };
        let permits = Arc::new(Semaphore::new(shared.limits.connections));
        let mut connections = JoinSet::new();
        let mut stopped = self.stopped;
        loop {
            let next = async {
                let permit = permits.clone().acquire_owned().await.ok()?;
                Some((self.listener.accept().await, permit))
            };
            // NB: the first of the two is always asked first.
            let Either::Right((next, _)) = select(pin!(until(&mut stopped)), pin!(next)).await else {
                break;
            };
            match next {
                Some((Ok((stream, _)), permit)) => {
                    connections.spawn(shared.clone().connection(stream, permit));
                }
                Some((Err(_), _)) => tokio::time::sleep(ACCEPT_PAUSE).await,
                None => break,
            }
            while connections.try_join_next().is_some() {}
        }
        drop(self.listener);
        // What does not end by itself is aborted when the set is dropped.
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(self.grace, all).await;
        connections.shutdown().await;
    }
}

// === impl Shared ===

impl Shared {
    /// One connection from handshake to end; its errors concern nobody but the client.
    async fn connection(self, stream: TcpStream, permit: OwnedSemaphorePermit) {
        // Small answers, such as events, shall not wait for the next ones.
        let _ = stream.set_nodelay(true);
        let Ok(Ok(stream)) = timeout(self.limits.handshake, self.tls.accept(stream)).await else {
            return;
        };
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let is_certified = self.gate.knows(certificate);
        let mut stopped = self.stopped.clone();

        let requests = Requests::default();
        let mut builder = auto::Builder::new(requests.clone());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(self.limits.headers);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(self.limits.streams)
            .keep_alive_interval(self.limits.keep_alive)
            .keep_alive_timeout(self.limits.keep_alive);
        let service = service_fn(move |request| self.clone().request(request, is_certified));
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        if let Either::Right(_) = select(connection.as_mut(), pin!(until(&mut stopped))).await {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
        drop((requests, permit));
    }

    async fn request(
        self,
        mut request: Request<Incoming>,
        is_certified: bool,
    ) -> Result<Response<Body>, Infallible> {
        let user = self.gate.user(is_certified, request.uri().path(), request.headers());
        let Some(user) = user else {
            return Ok(unauthorized());
        };
        request.extensions_mut().insert(user);
        let response = self.router.oneshot(request.map(Body::new)).await?;
        if response.body().size_hint().exact().is_some() {
            return Ok(response);
        }
        let mut stopped = self.stopped;
        let stopped = Box::pin(async move { until(&mut stopped).await });
        Ok(response.map(|body| Body::new(UntilStopped { body, stopped, is_over: false })))
    }
}

/// Waits for the end of the server.
async fn until(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
}

/// 401 as the real server says it.
fn unauthorized() -> Response<Body> {
    let body = format!("{}\n", Status::unauthorized().to_value());
    let mut response = Response::new(Body::new(Full::new(Bytes::from(body))));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

// === impl Requests ===

impl<F> hyper::rt::Executor<F> for Requests
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while requests.try_join_next().is_some() {}
        requests.spawn(future);
    }
}

// === impl UntilStopped ===

impl HttpBody for UntilStopped {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        // What is there goes out first.
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        if self.stopped.as_mut().poll(context).is_ready() {
            self.is_over = true;
            return Poll::Ready(None);
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
