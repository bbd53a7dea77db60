//! TLS: which versions and ciphers, and a certificate that is read again when its files change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme, SupportedProtocolVersion,
};
use tokio::time::Instant;

/// Which TLS is spoken.
#[derive(Debug, Clone)]
pub struct TlsSettings {
    provider: Arc<CryptoProvider>,
    versions: &'static [&'static SupportedProtocolVersion],
}

/// Why settings of TLS cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsSettingsError {
    /// A version that is not spoken.
    #[error("the TLS version `{0}` is not known; use VersionTLS12 or VersionTLS13")]
    Version(String),
    /// A cipher suite that is not spoken.
    #[error("the cipher suite `{name}` is not known; use some of {known}")]
    Suite {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// No suite is left for the lowest version.
    #[error(
        "none of the cipher suites {0} is of TLS 1.2; add one, or set the lowest version to VersionTLS13"
    )]
    NoSuite(String),
}

/// Why the certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateError {
    #[error("reading `{0}`")]
    Read(PathBuf, #[source] io::Error),
    #[error("`{0}` holds no certificate")]
    NoCertificate(PathBuf),
    #[error("`{0}` holds no private key")]
    NoKey(PathBuf),
    #[error("the certificate and its key do not fit")]
    Tls(#[from] rustls::Error),
}

/// The certificate of the server, as it is in its files.
#[derive(Debug)]
pub(super) struct Certificate {
    settings: TlsSettings,
    chain: PathBuf,
    key: PathBuf,
    check_every: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    checked: Option<Instant>,
    /// What was in the files.
    files: (Vec<u8>, Vec<u8>),
    config: Option<Arc<ServerConfig>>,
}

/// Takes any certificate whose key the client has: who signed it is judged with each request, where the answer can
/// say what is wrong with it.
#[derive(Debug)]
struct AnyClient(WebPkiSupportedAlgorithms);

const TLS13_ONLY: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

// === impl TlsSettings ===

impl TlsSettings {
    /// TLS 1.2 and 1.3 with ECDHE and AES-GCM or `ChaCha20`.
    pub fn new() -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        Self { provider, versions: rustls::ALL_VERSIONS }
    }

    /// Reads flags: the lowest version by Go's name, and cipher suites by their IANA or Go names; empty is the default.
    ///
    /// *Compatibility*: those of TLS 1.3 cannot be chosen, as in the reference; naming them does no harm.
    pub fn parse(lowest: &str, suites: &[String]) -> Result<Self, TlsSettingsError> {
        let mut settings = Self::new();
        match lowest {
            "" | "VersionTLS12" => {}
            "VersionTLS13" => settings.versions = TLS13_ONLY,
            other => return Err(TlsSettingsError::Version(other.to_owned())),
        }
        if suites.is_empty() {
            return Ok(settings);
        }
        let mut provider = (*settings.provider).clone();
        let names: Vec<String> = provider.cipher_suites.iter().map(|suite| iana(suite.suite())).collect();
        let known = |name: &String| names.iter().any(|known| is_same_suite(known, name));
        if let Some(name) = suites.iter().find(|name| !known(name)) {
            return Err(TlsSettingsError::Suite { name: name.clone(), known: names.join(", ") });
        }
        provider.cipher_suites.retain(|suite| {
            let name = iana(suite.suite());
            suite.tls13().is_some() || suites.iter().any(|chosen| is_same_suite(&name, chosen))
        });
        let has_tls12 = provider.cipher_suites.iter().any(|suite| suite.tls13().is_none());
        if !has_tls12 && settings.versions.len() > 1 {
            return Err(TlsSettingsError::NoSuite(suites.join(", ")));
        }
        settings.provider = Arc::new(provider);
        Ok(settings)
    }

    pub(super) fn provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    fn server_config(
        &self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<ServerConfig, rustls::Error> {
        let clients = AnyClient(self.provider.signature_verification_algorithms);
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(self.versions)?
            .with_client_cert_verifier(Arc::new(clients))
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Readers come twice a minute: what a resumed session saves is not worth a certificate that outlives its files.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// The name of a suite as IANA has it: the library marks those of TLS 1.3.
fn iana(suite: rustls::CipherSuite) -> String {
    suite.as_str().unwrap_or_default().replacen("TLS13_", "TLS_", 1)
}

/// Whether a name means the suite; Go also knows two suites by names without their hash.
fn is_same_suite(known: &str, name: &str) -> bool {
    known == name || known.strip_suffix("_SHA256") == Some(name) && name.ends_with("CHACHA20_POLY1305")
}

// === impl Certificate ===

impl Certificate {
    pub(super) fn new(settings: TlsSettings, chain: PathBuf, key: PathBuf, check_every: Duration) -> Self {
        Self { settings, chain, key, check_every, state: Mutex::default() }
    }

    /// What the next handshake uses; `None` while there is no certificate that works.
    ///
    /// The files are read at most every few seconds. A pair that does not work, such as one that is half written, is
    /// told and leaves the one before in use.
    pub(super) fn current(&self) -> Option<Arc<ServerConfig>> {
        // NB: nothing waits while this is held; two small files are read.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.checked.is_some_and(|checked| checked.elapsed() < self.check_every) {
            return state.config.clone();
        }
        state.checked = Some(Instant::now());
        match self.read(&state.files) {
            Ok(None) => {}
            Ok(Some((files, config))) => {
                tracing::info!(file = %self.chain.display(), "the serving certificate is in use");
                state.files = files;
                state.config = Some(Arc::new(config));
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                tracing::warn!("the serving certificate is not used: {error}{}", cause.unwrap_or_default());
            }
        }
        state.config.clone()
    }

    /// Reads the files; `None` when they are what they were.
    #[expect(clippy::type_complexity, reason = "two files and what they make, used in one place")]
    fn read(
        &self,
        known: &(Vec<u8>, Vec<u8>),
    ) -> Result<Option<((Vec<u8>, Vec<u8>), ServerConfig)>, CertificateError> {
        let files = (read(&self.chain)?, read(&self.key)?);
        if files == *known {
            return Ok(None);
        }
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(&files.0).filter_map(Result::ok).collect();
        if chain.is_empty() {
            return Err(CertificateError::NoCertificate(self.chain.clone()));
        }
        let key =
            PrivateKeyDer::from_pem_slice(&files.1).map_err(|_| CertificateError::NoKey(self.key.clone()))?;
        let config = self.settings.server_config(chain, key)?;
        Ok(Some((files, config)))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(path).map_err(|error| CertificateError::Read(path.to_owned(), error))
}

// === impl AnyClient ===

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lowest: &str, suites: &[&str]) -> Result<TlsSettings, TlsSettingsError> {
        TlsSettings::parse(lowest, &suites.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    fn names(settings: &TlsSettings) -> Vec<String> {
        let suites = settings.provider.cipher_suites.iter();
        suites.filter(|suite| suite.tls13().is_none()).map(|suite| iana(suite.suite())).collect()
    }

    #[test]
    fn without_flags_there_are_two_versions_and_only_suites_with_forward_secrecy() {
        let settings = parse("", &[]).unwrap();
        assert_eq!(settings.versions.len(), 2);
        assert_eq!(names(&settings).len(), 6);
        assert!(names(&settings).iter().all(
            |name| name.starts_with("TLS_ECDHE_") && (name.contains("GCM") || name.contains("CHACHA20"))
        ));
    }

    #[test]
    fn chosen_suites_are_those_of_tls_1_2_and_both_spellings_are_known() {
        let chosen = ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_AES_128_GCM_SHA256"];
        assert_eq!(
            names(&parse("VersionTLS12", &chosen).unwrap()),
            ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"]
        );
        assert_eq!(parse("VersionTLS13", &["TLS_AES_128_GCM_SHA256"]).unwrap().versions.len(), 1);
    }

    #[test]
    fn settings_that_nobody_could_speak_are_refused_with_what_there_is() {
        let refused = |lowest: &str, suites: &[&str]| parse(lowest, suites).unwrap_err().to_string();
        assert!(refused("VersionTLS11", &[]).contains("VersionTLS12"));
        assert!(
            refused("", &["TLS_RSA_WITH_RC4_128_SHA"]).contains("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")
        );
        assert!(refused("", &["TLS_AES_128_GCM_SHA256"]).contains("VersionTLS13"));
    }
}
