//! Servers with certificates of their own: one that has expired, and a webhook that rejects everything.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, SanType, date_time_ymd};
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;

/// How long a certificate is good.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Validity {
    Valid,
    Expired,
}

/// A server that says no to everything.
pub(crate) struct Webhook {
    pub(crate) url: String,
    /// Its certificate in base64 of PEM, as webhook configurations want it; or the file for an expired one.
    pub(crate) authority: String,
    _tasks: JoinSet<()>,
    folder: tempfile::TempDir,
}

/// A server whose certificate has expired.
pub(crate) async fn expired() -> Webhook {
    let mut server = Webhook::start(Validity::Expired).await;
    server.authority = server.folder.path().join("authority.pem").display().to_string();
    server
}

// === impl Webhook ===

impl Webhook {
    pub(crate) async fn start(validity: Validity) -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into()));
        if validity == Validity::Expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("TLS")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .expect("a pair");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}", listener.local_addr().expect("an address"));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(acceptor.clone(), stream));
            }
        });
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("authority.pem"), certificate.pem()).expect("a file");
        Self { url, authority: base64(certificate.pem().as_bytes()), _tasks: tasks, folder }
    }
}

/// Answers every request of a connection with a refusal. Enough of HTTP/1.1 for an API server.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut read = Vec::new();
    loop {
        let mut piece = [0; 16_384];
        match stream.read(&mut piece).await {
            Ok(count) if count > 0 => read.extend_from_slice(&piece[..count]),
            _ => return,
        }
        let Some(body) = whole_body(&read) else { continue };
        let review: Value = serde_json::from_slice(body).unwrap_or_default();
        let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {
            "uid": review["request"]["uid"], "allowed": false,
            "status": {"code": 403, "message": "nothing pleases this webhook"}}})
        .to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        if stream.write_all(format!("{head}{answer}").as_bytes()).await.is_err() {
            return;
        }
        read.clear();
    }
}

/// The body of a request, once all of it is there.
fn whole_body(read: &[u8]) -> Option<&[u8]> {
    let head = read.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&read[..head]).to_lowercase();
    let length: usize = text.split("content-length:").nth(1)?.lines().next()?.trim().parse().ok()?;
    read.get(head..head + length)
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place <= chunk.len() {
                text.push(char::from(ALPHABET[(number >> (18 - 6 * place) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}
