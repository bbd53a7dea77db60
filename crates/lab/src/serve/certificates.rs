//! Certificates of one run: an authority, a server, an administrator. Nothing of them outlives the process.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};

use super::credentials::{ADMIN, MASTERS};

/// What one lab shows and takes.
#[derive(Debug)]
pub(super) struct Certificates {
    authority: String,
    server: CertificateDer<'static>,
    server_key: Vec<u8>,
    admin: Certificate,
    admin_key: String,
}

/// Takes every client certificate whose key the client has; who may come in is decided per request.
///
/// The real server does the same: a certificate of another authority is a 401, not a broken connection.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

// === impl Certificates ===

impl Certificates {
    /// Makes fresh keys and certificates; the server is `localhost` and listens at this address.
    pub(super) fn make(listen: IpAddr) -> Result<Self, rcgen::Error> {
        let mut params = named("lockstep-lab", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let authority = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);

        let mut params = named("lockstep-lab-server", None);
        let addresses = BTreeSet::from([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), listen]);
        params.subject_alt_names = addresses.into_iter().map(SanType::IpAddress).collect();
        params.subject_alt_names.push(SanType::DnsName("localhost".try_into()?));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server_key = KeyPair::generate()?;
        let server = params.signed_by(&server_key, &issuer)?;

        let mut params = named(ADMIN, Some(MASTERS));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let admin_key = KeyPair::generate()?;
        let admin = params.signed_by(&admin_key, &issuer)?;
        Ok(Self {
            authority,
            server: server.der().clone(),
            server_key: server_key.serialize_der(),
            admin,
            admin_key: admin_key.serialize_pem(),
        })
    }

    /// The authority as PEM.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// The certificate and the key of the administrator as PEM.
    pub(super) fn admin(&self) -> (String, &str) {
        (self.admin.pem(), &self.admin_key)
    }

    /// The certificate of the administrator as it comes over the wire.
    pub(super) fn admin_der(&self) -> &CertificateDer<'static> {
        self.admin.der()
    }

    /// The settings of the server side of TLS.
    pub(super) fn server_config(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<ServerConfig>, rustls::Error> {
        let key = PrivateKeyDer::Pkcs8(self.server_key.clone().into());
        let mut config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AnyCertificate(provider.clone())))
            .with_single_cert(vec![self.server.clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// NB: the validity is rcgen's default, 1975 to 4096: a lab whose clock jumps keeps its certificates.
fn named(common_name: &str, organisation: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organisation) = organisation {
        params.distinguished_name.push(DnType::OrganizationName, organisation);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    params
}

// === impl AnyCertificate ===

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
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
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
