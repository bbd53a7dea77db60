//! Who may read metrics, told by a client certificate.

use std::sync::Arc;

use http::StatusCode;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use lockstep_api::text::visible;

use super::Refused;

/// The certificate authorities that clients may be signed by; made anew when they change.
#[derive(Debug, Clone)]
pub(super) struct Authorities(Option<Arc<dyn ClientCertVerifier>>);

// === impl Authorities ===

impl Authorities {
    /// Reads a bundle of certificates; without one that can be used, no client is known.
    pub(super) fn new(bundle: &[u8], provider: &Arc<CryptoProvider>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok));
        Self(WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build().ok())
    }

    /// Whether the chain that a client showed is of `user`.
    pub(super) fn judge(
        &self,
        chain: &[CertificateDer<'_>],
        user: &str,
        now: UnixTime,
    ) -> Result<(), Refused> {
        let Some((first, others)) = chain.split_first() else {
            return Err(Refused::new(StatusCode::UNAUTHORIZED, "client certificate required"));
        };
        let Some(verifier) = &self.0 else {
            return Err(Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "internal server error"));
        };
        if verifier.verify_client_cert(first, others, now).is_err() {
            return Err(Refused::new(StatusCode::UNAUTHORIZED, "client certificate not trusted"));
        }
        let name = common_name(first);
        if name == user {
            return Ok(());
        }
        Err(Refused::new(StatusCode::FORBIDDEN, format!("unauthorized common name: {}", visible(&name))))
    }
}

/// The common name of a certificate; several are joined, and then equal nobody's.
fn common_name(certificate: &CertificateDer<'_>) -> String {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return String::new() };
    let names = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    names.collect::<Vec<_>>().join(",")
}
