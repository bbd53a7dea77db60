//! Connections: accepted within limits, each in a task of its own, all of them ended when the server stops.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{Either, select};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::Site;
use super::tls::Certificate;

/// A socket, and what it is answered with.
pub(super) struct Acceptor {
    listener: TcpListener,
    certificate: Arc<Certificate>,
    site: Arc<Site>,
}

/// Runs the requests of one HTTP/2 connection; when the connection is gone, so are they.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<JoinSet<()>>>);

/// Some readers and probes; more wait in the queue of the system.
const CONNECTIONS: usize = 64;
/// Requests at the same time on one HTTP/2 connection.
const STREAMS: u32 = 16;
/// Time for the TLS handshake, and for the headers of a request.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A connection that lasts longer is ended after the request that it is in, so that a certificate that was replaced
/// leaves the wire, too.
const LONGEST: Duration = Duration::from_mins(15);
/// How long requests get to finish when the server stops.
const GRACE: Duration = Duration::from_secs(1);
/// The pause after a failed accept: usually there are no file descriptors left, and asking again would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

// === impl Acceptor ===

impl Acceptor {
    pub(super) fn new(listener: TcpListener, certificate: Certificate, site: Site) -> Self {
        Self { listener, certificate: Arc::new(certificate), site: Arc::new(site) }
    }

    /// Accepts until `stop`, then waits a moment for what runs.
    pub(super) async fn run(self, stop: impl Future<Output = ()>) {
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        let (ending, ended) = watch::channel(());
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            let next = async {
                let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
                Some((self.listener.accept().await, permit))
            };
            let Either::Right((next, _)) = select(stop.as_mut(), pin!(next)).await else { break };
            match next {
                Some((Ok((stream, _)), permit)) => {
                    let (certificate, site) = (Arc::clone(&self.certificate), Arc::clone(&self.site));
                    connections.spawn(connection(stream, certificate, site, ended.clone(), permit));
                }
                Some((Err(_), _)) => tokio::time::sleep(ACCEPT_PAUSE).await,
                None => break,
            }
            while connections.try_join_next().is_some() {}
        }
        drop((self.listener, ending));
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(GRACE, all).await;
        connections.shutdown().await;
    }
}

/// One connection from handshake to end; its errors concern nobody but the client.
async fn connection(
    stream: TcpStream,
    certificate: Arc<Certificate>,
    site: Arc<Site>,
    mut ended: watch::Receiver<()>,
    permit: OwnedSemaphorePermit,
) {
    let Some(tls) = certificate.current() else { return };
    let Ok(Ok(stream)) = timeout(HANDSHAKE, TlsAcceptor::from(tls).accept(stream)).await else { return };
    let chain: Arc<[CertificateDer<'static>]> =
        stream.get_ref().1.peer_certificates().unwrap_or_default().into();

    let requests = Requests::default();
    let mut builder = auto::Builder::new(requests.clone());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(Duration::from_secs(30));
    let service = service_fn(move |request| {
        let (site, chain) = (Arc::clone(&site), Arc::clone(&chain));
        async move { Ok::<_, Infallible>(site.answer(request, &chain).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Nothing is ever sent: the end of the sender is what is waited for.
    let end = timeout(LONGEST, ended.changed());
    if let Either::Right(_) = select(connection.as_mut(), pin!(end)).await {
        connection.as_mut().graceful_shutdown();
        let _ = timeout(HANDSHAKE, connection).await;
    }
    drop((requests, permit));
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
