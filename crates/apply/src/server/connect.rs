//! A client that shares few connections: HTTP/2 where the server speaks it, with the watches spread over connections of
//! their own.
//!
//! NB: the client's own stack speaks HTTP/1.1 only, where each watch keeps a connection with a handshake and buffers.
//! A server lets a connection carry a hundred streams by default. One more would wait for a watch to end, which is to say
//! for ever, so that watches are counted and never share a connection with requests.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client as HttpClient, Error as HttpError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::{Client, Config};
use tower::{Service, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

/// What any layer may fail with.
type AnyError = Box<dyn StdError + Send + Sync>;
type Connections = HttpClient<HttpsConnector<HttpConnector>, Body>;

/// How many watches share a connection.
const WATCHES: usize = 80;
/// A connection that does not answer a ping is dead, and everything on it begins anew.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(15);
/// How much may be on its way to us: in one answer, and in all of a connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Certificates, keys, headers or the way to log in cannot be used.
    #[error(transparent)]
    Config(#[from] kube::Error),
    /// The kubeconfig says by which name the server is to be known, and it is none.
    #[error("`tls-server-name: {0}` is neither a host name nor an address")]
    ServerName(String),
}

/// A client for a cluster. Nothing is sent yet.
///
/// # Errors
/// When certificates, login or names cannot be used.
pub fn connect(config: Config) -> Result<Client, ConnectError> {
    if config.proxy_url.is_some() {
        // Proxies are rare, of three sorts, and well done there.
        return Ok(Client::try_from(config)?);
    }
    let lanes = Lanes::new(connector(&config)?);
    let compressed =
        DecompressionLayer::new().no_br().no_deflate().no_zstd().gzip(!config.disable_compression);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(compressed)
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(AnyError::from)
        .service(lanes);
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}

fn connector(config: &Config) -> Result<HttpsConnector<HttpConnector>, ConnectError> {
    let mut sockets = HttpConnector::new();
    sockets.enforce_http(false);
    sockets.set_nodelay(true);
    sockets.set_connect_timeout(config.connect_timeout);
    let mut builder =
        HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let known = name.clone().try_into().map_err(|_| ConnectError::ServerName(name.clone()))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(known));
    }
    Ok(builder.enable_all_versions().wrap_connector(sockets))
}

/// Connections: one for requests, and as many as the watches need.
#[derive(Clone)]
struct Lanes {
    connector: HttpsConnector<HttpConnector>,
    requests: Connections,
    /// Whether the server has answered in HTTP/2.
    has_streams: Arc<AtomicBool>,
    watches: Arc<Mutex<Vec<Lane>>>,
}

/// A connection with watches, and how many there are.
struct Lane {
    connections: Connections,
    open: Arc<AtomicUsize>,
}

/// A place in a lane, free again when it is dropped.
struct Place(Arc<AtomicUsize>);

/// An answer that keeps its place while it is read.
struct Held {
    body: Incoming,
    _place: Option<Place>,
}

// === impl Lanes ===

impl Lanes {
    fn new(connector: HttpsConnector<HttpConnector>) -> Self {
        Self {
            requests: connections(&connector, false),
            connector,
            has_streams: Arc::default(),
            watches: Arc::default(),
        }
    }

    /// The connections for a request, with the place that it takes there.
    fn choose(&self, is_watch: bool) -> (Connections, Option<Place>) {
        // Over HTTP/1.1 each request that is under way has a connection anyway.
        if !is_watch || !self.has_streams.load(Ordering::Relaxed) {
            return (self.requests.clone(), None);
        }
        let mut lanes = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let free = lanes.iter().position(|lane| lane.open.load(Ordering::Relaxed) < WATCHES);
        let index = free.unwrap_or_else(|| {
            // Of several requests at once the first one connects and the others wait: it will be HTTP/2.
            lanes.push(Lane { connections: connections(&self.connector, true), open: Arc::default() });
            lanes.len() - 1
        });
        let lane = &lanes[index];
        lane.open.fetch_add(1, Ordering::Relaxed);
        (lane.connections.clone(), Some(Place(Arc::clone(&lane.open))))
    }
}

impl Service<Request<Body>> for Lanes {
    type Response = Response<Held>;
    type Error = HttpError;
    type Future = BoxFuture<'static, Result<Self::Response, HttpError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (connections, place) = self.choose(is_watch(&request));
        let has_streams = Arc::clone(&self.has_streams);
        Box::pin(async move {
            let response = connections.request(request).await?;
            has_streams.store(response.version() == Version::HTTP_2, Ordering::Relaxed);
            Ok(response.map(|body| Held { body, _place: place }))
        })
    }
}

fn is_watch<B>(request: &Request<B>) -> bool {
    request.uri().query().unwrap_or_default().split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

fn connections(connector: &HttpsConnector<HttpConnector>, is_http2: bool) -> Connections {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_only(is_http2)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PONG)
        .http2_keep_alive_while_idle(true)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW);
    builder.build(connector.clone())
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl Held ===

impl HttpBody for Held {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> Lanes {
        // The provider may have been chosen by another test.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let config = Config::new("https://127.0.0.1:1".parse().unwrap());
        Lanes::new(connector(&config).unwrap())
    }

    #[test]
    fn watches_fill_a_connection_before_the_next_and_leave_their_place() {
        let lanes = lanes();
        lanes.has_streams.store(true, Ordering::Relaxed);
        let mut places: Vec<_> = (0..=WATCHES).map(|_| lanes.choose(true).1).collect();
        let open = || {
            let lanes = lanes.watches.lock().unwrap();
            lanes.iter().map(|lane| lane.open.load(Ordering::Relaxed)).collect::<Vec<_>>()
        };
        assert_eq!(open(), [WATCHES, 1]);
        places.truncate(1);
        assert_eq!(open(), [1, 0]);
        assert!(lanes.choose(false).1.is_none(), "a request takes no place");
    }

    #[test]
    fn before_the_server_has_answered_in_http2_there_is_one_pool() {
        let lanes = lanes();
        assert!(lanes.choose(true).1.is_none());
        assert!(lanes.watches.lock().unwrap().is_empty());
    }

    #[test]
    fn a_watch_is_known_by_its_query() {
        for (path, expected) in [
            ("/api/v1/pods?watch=true&limit=1", true),
            ("/api/v1/pods?a=b&watch=1", true),
            ("/x?watch=false", false),
            ("/watch=true", false),
        ] {
            assert_eq!(is_watch(&Request::get(path).body(()).unwrap()), expected, "{path}");
        }
    }

    #[test]
    fn a_server_name_that_is_none_is_named() {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut config = Config::new("https://127.0.0.1:1".parse().unwrap());
        config.tls_server_name = Some("not a name".to_owned());
        let error = connect(config).err().unwrap();
        assert_eq!(error.to_string(), "`tls-server-name: not a name` is neither a host name nor an address");
    }
}
