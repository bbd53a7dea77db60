//! Readers over a real socket: with the right certificate, the wrong one, none, with tokens, and after a change of files.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{
    BasicConstraints, Certificate as Signed, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::*;

const READER: &str = object::METRICS_READER;

/// An authority of its own for clients.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// What a client shows.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "clients.example.com");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    fn client(&self, name: &str) -> Identity {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
    }
}

/// A server that answers, and what it was made of.
struct Fixture {
    folder: TempDir,
    address: SocketAddr,
    metrics: Metrics,
    health: Health,
    authority: Authority,
    bundle: watch::Sender<Bytes>,
    reviews: Arc<AtomicUsize>,
    stop: oneshot::Sender<()>,
    tasks: JoinSet<()>,
}

/// Writes a new certificate for the server, and gives it.
fn write_certificate(folder: &TempDir) -> Signed {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    fs::write(folder.path().join("tls.crt"), certificate.pem()).unwrap();
    fs::write(folder.path().join("tls.key"), key.serialize_pem()).unwrap();
    certificate
}

/// An API server that knows the token `good` of the reader and `other` of somebody else, and fails for `broken`.
fn token_reviews(asked: Arc<AtomicUsize>) -> Server {
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        asked.fetch_add(1, Ordering::SeqCst);
        async move {
            assert!(request.uri().path().ends_with("/apis/authentication.k8s.io/v1/tokenreviews"));
            let body = request.into_body().collect_bytes().await.unwrap();
            let review: Value = serde_json::from_slice(&body).unwrap();
            let (code, status) = match review["spec"]["token"].as_str().unwrap() {
                "good" => (201, json!({"authenticated": true, "user": {"username": READER}})),
                "other" => (201, json!({"authenticated": true, "user": {"username": "system:anonymous"}})),
                "broken" => (500, json!({})),
                _ => (201, json!({"authenticated": false})),
            };
            let answer = json!({"kind": "TokenReview", "status": status}).to_string().into_bytes();
            let answer = kube::client::Body::from(answer);
            Ok::<_, std::convert::Infallible>(Response::builder().status(code).body(answer).unwrap())
        }
    });
    Server::new(kube::Client::new(service, "default"))
}

impl Fixture {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut ServeOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_certificate(&folder);
        let authority = Authority::new();
        let (bundle, authorities) = watch::channel(Bytes::from(authority.pem.clone()));
        let path = |name: &str| folder.path().join(name);
        let clock = Arc::new(|| "2026-07-01T00:00:00Z".parse().unwrap());
        let mut options =
            ServeOptions::new("127.0.0.1:0", path("tls.crt"), path("tls.key"), authorities, clock);
        options.check_every = Duration::ZERO;
        change(&mut options);
        let (metrics, health) = (Metrics::new(), Health::new(Duration::from_mins(1)));
        let reviews = Arc::new(AtomicUsize::new(0));
        let server = token_reviews(Arc::clone(&reviews));
        let listening = bind(options, metrics.clone(), health.clone(), server).await.unwrap();
        let address = listening.address();
        let (stop, stopped) = oneshot::channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(listening.run(async {
            let _ = stopped.await;
        }));
        Self { folder, address, metrics, health, authority, bundle, reviews, stop, tasks }
    }

    /// Opens a connection; gives also the server's certificate.
    async fn connect(
        &self,
        identity: Option<Identity>,
    ) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer));
        let config = match identity {
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).unwrap(),
            None => builder.with_no_client_auth(),
        };
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// Sends one request; gives the code and the body.
    async fn ask(&self, head: &str, identity: Option<Identity>) -> (u16, String) {
        let mut stream = self.connect(identity).await.unwrap();
        let request = format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.trim_end().to_owned())
    }

    async fn metrics(&self, identity: Option<Identity>) -> (u16, String) {
        self.ask("GET /metrics HTTP/1.1", identity).await
    }

    async fn metrics_with(&self, authorization: &str) -> (u16, String) {
        self.ask(&format!("GET /metrics HTTP/1.1\r\nAuthorization: {authorization}"), None).await
    }
}

#[tokio::test]
async fn reader_with_its_certificate_gets_the_metrics() {
    let fixture = Fixture::new().await;
    fixture.metrics.fights(7);
    let (code, body) = fixture.metrics(Some(fixture.authority.client(READER))).await;
    assert_eq!(code, 200);
    assert!(body.contains("lockstep_fights 7") && body.ends_with("# EOF"), "{body}");
    assert_eq!(fixture.reviews.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn no_certificate_another_name_and_another_authority_are_told_apart() {
    let fixture = Fixture::new().await;
    let refused = |code: u16, text: &str| (code, text.to_owned());
    assert_eq!(fixture.metrics(None).await, refused(401, "client certificate required"));
    let other = fixture.authority.client("system:admin");
    assert_eq!(fixture.metrics(Some(other)).await, refused(403, "unauthorized common name: system:admin"));
    let stranger = Authority::new().client(READER);
    assert_eq!(fixture.metrics(Some(stranger)).await, refused(401, "client certificate not trusted"));
}

#[tokio::test]
async fn authorities_that_change_count_for_the_next_request() {
    let fixture = Fixture::new().await;
    let other = Authority::new();
    fixture.bundle.send_replace(Bytes::from(other.pem.clone()));
    assert_eq!(fixture.metrics(Some(other.client(READER))).await.0, 200);
    assert_eq!(fixture.metrics(Some(fixture.authority.client(READER))).await.0, 401);
    fixture.bundle.send_replace(Bytes::from_static(b"no certificate"));
    assert_eq!(
        fixture.metrics(Some(other.client(READER))).await,
        (500, "internal server error".to_owned()),
        "a bundle that cannot be used is our problem, not the client's"
    );
}

#[tokio::test]
async fn tokens_are_judged_by_the_api_server_and_every_fault_has_its_text() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.metrics_with("Bearer good").await.0, 200);
    for (authorization, code, text) in [
        ("Bearer wrong", 401, "failed to authorize"),
        ("Bearer other", 401, "failed to authorize"),
        ("Bearer ", 401, "empty Bearer token"),
        ("Bearer", 401, "empty Bearer token"),
        ("Basic good", 401, "failed to get the Bearer token"),
        ("Bearer broken", 500, "failed to authorize due to an internal error"),
    ] {
        assert_eq!(fixture.metrics_with(authorization).await, (code, text.to_owned()), "{authorization}");
    }
}

#[tokio::test]
async fn answers_about_tokens_are_remembered_but_not_failures() {
    let fixture = Fixture::new().await;
    for _ in 0..3 {
        fixture.metrics_with("Bearer good").await;
        fixture.metrics_with("Bearer wrong").await;
    }
    assert_eq!(fixture.reviews.load(Ordering::SeqCst), 2);
    fixture.metrics_with("Bearer broken").await;
    fixture.metrics_with("Bearer broken").await;
    assert_eq!(fixture.reviews.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn token_suffices_where_the_certificate_does_not() {
    let fixture = Fixture::new().await;
    let stranger = Some(Authority::new().client(READER));
    let head = "GET /metrics HTTP/1.1\r\nAuthorization: Bearer good";
    assert_eq!(fixture.ask(head, stranger).await.0, 200);
}

#[tokio::test]
async fn without_a_reader_everybody_may_read() {
    let fixture = Fixture::with(|options| options.reader = None).await;
    assert_eq!(fixture.metrics(None).await.0, 200);
}

#[tokio::test]
async fn probes_need_no_credentials_and_say_why() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.ask("GET /livez HTTP/1.1", None).await, (200, "all loops answer".to_owned()));
    assert_eq!(fixture.ask("GET /readyz HTTP/1.1", None).await, (503, "starting".to_owned()));
    fixture.health.ready("standing by: `a` is at work");
    assert_eq!(
        fixture.ask("GET /readyz HTTP/1.1", None).await,
        (200, "standing by: `a` is at work".to_owned())
    );
    assert_eq!(fixture.ask("GET / HTTP/1.1", None).await.0, 404);
    assert_eq!(fixture.ask("POST /livez HTTP/1.1", None).await.0, 405);
}

#[tokio::test]
async fn certificate_that_changes_is_used_by_the_next_connection() {
    let fixture = Fixture::new().await;
    let shown = async || {
        let stream = fixture.connect(None).await.unwrap();
        stream.get_ref().1.peer_certificates().unwrap()[0].clone()
    };
    let first = shown().await;
    let second = write_certificate(&fixture.folder);
    assert_ne!(first, *second.der());
    assert_eq!(shown().await, *second.der());
    fs::write(fixture.folder.path().join("tls.crt"), "half written").unwrap();
    assert_eq!(shown().await, *second.der(), "a file that cannot be used leaves the last one in use");
}

#[tokio::test]
async fn certificate_that_comes_later_is_used_when_it_is_there() {
    let fixture = Fixture::with(|options| {
        fs::remove_file(&options.certificate).unwrap();
    })
    .await;
    assert!(fixture.connect(None).await.is_err());
    write_certificate(&fixture.folder);
    assert!(fixture.connect(None).await.is_ok());
}

#[tokio::test]
async fn server_that_is_told_to_stop_ends_idle_connections() {
    let mut fixture = Fixture::new().await;
    let mut idle = fixture.connect(None).await.unwrap();
    let (stop, _) = oneshot::channel();
    std::mem::replace(&mut fixture.stop, stop).send(()).unwrap();
    while fixture.tasks.join_next().await.is_some() {}
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    assert!(TcpStream::connect(fixture.address).await.is_err());
}

#[tokio::test]
async fn address_in_use_is_named_and_an_empty_one_is_nothing_to_do() {
    let fixture = Fixture::new().await;
    let (_, authorities) = watch::channel(Bytes::new());
    let clock: Arc<dyn Fn() -> Timestamp + Send + Sync> = Arc::new(|| Timestamp::UNIX_EPOCH);
    let serve_on = |listen: String| {
        let options =
            ServeOptions::new(listen, "tls.crt", "tls.key", authorities.clone(), Arc::clone(&clock));
        let server = token_reviews(Arc::default());
        serve(options, Metrics::new(), Health::new(Duration::from_secs(1)), server, std::future::ready(()))
    };
    let error = serve_on(fixture.address.to_string()).await.unwrap_err().to_string();
    assert!(error.contains(&fixture.address.to_string()) && error.contains("--listen"), "{error}");
    serve_on(String::new()).await.unwrap();
}

/// Takes any server: the tests look at its certificate themselves.
#[derive(Debug)]
struct AnyServer;

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
