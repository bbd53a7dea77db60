//! Who may come in.

use http::{HeaderMap, header};
use rustls_pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};

/// The name of the administrator.
pub(super) const ADMIN: &str = "admin";
/// The group of those who may do everything.
pub(super) const MASTERS: &str = "system:masters";

/// Who sends a request.
///
/// The default is the administrator: whoever holds the router itself needs no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name, such as `admin`.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
}

/// What a request must show.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    /// Hashed, so that comparing takes the same time however much is right.
    token: [u8; 32],
    certificate: CertificateDer<'static>,
}

// === impl User ===

impl User {
    fn new(name: &str, groups: &[&str]) -> Self {
        Self { name: name.into(), groups: groups.iter().map(|&group| group.into()).collect() }
    }

    /// Somebody without credentials.
    pub fn anonymous() -> Self {
        Self::new("system:anonymous", &["system:unauthenticated"])
    }
}

impl Default for User {
    fn default() -> Self {
        Self::new(ADMIN, &[MASTERS, "system:authenticated"])
    }
}

// === impl Gate ===

impl Gate {
    pub(super) fn new(token: &str, certificate: CertificateDer<'static>) -> Self {
        Self { token: hash(token), certificate }
    }

    /// Whether a client certificate is that of the administrator.
    pub(super) fn knows(&self, certificate: Option<&CertificateDer<'_>>) -> bool {
        certificate.is_some_and(|it| it.as_ref() == self.certificate.as_ref())
    }

    /// Who sends a request; `None` is a 401.
    ///
    /// # Order
    /// A known certificate, then a token, then nothing at all where that is enough. A wrong token is refused
    /// everywhere, as on the real server.
    pub(super) fn user(&self, is_certified: bool, path: &str, headers: &HeaderMap) -> Option<User> {
        if is_certified {
            return Some(User::default());
        }
        match bearer(headers) {
            Some(token) => (hash(token) == self.token).then(User::default),
            None => is_open(path).then(User::anonymous),
        }
    }
}

/// Whether anybody may ask: health and version, as the role `system:public-info-viewer` of the real server says.
fn is_open(path: &str) -> bool {
    matches!(path.split('/').nth(1), Some("healthz" | "livez" | "readyz" | "version"))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(is_certified: bool, path: &str, authorization: &str) -> Option<String> {
        let gate = Gate::new("secret", CertificateDer::from(vec![1, 2, 3]));
        let mut headers = HeaderMap::new();
        if !authorization.is_empty() {
            headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
        }
        gate.user(is_certified, path, &headers).map(|user| user.name)
    }

    #[test]
    fn the_token_or_the_certificate_lets_the_administrator_in() {
        for (is_certified, authorization) in
            [(false, "Bearer secret"), (false, "bearer  secret"), (true, ""), (true, "Bearer x")]
        {
            assert_eq!(
                user(is_certified, "/api", authorization).as_deref(),
                Some("admin"),
                "{authorization}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for authorization in ["", "Bearer wrong", "Bearer secret2", "Basic secret", "secret"] {
            assert_eq!(user(false, "/api", authorization), None, "{authorization}");
        }
    }

    #[test]
    fn health_and_version_are_open_but_not_for_a_wrong_token() {
        for path in ["/healthz", "/livez/ping", "/readyz", "/version", "/version/"] {
            assert_eq!(user(false, path, "").as_deref(), Some("system:anonymous"), "{path}");
            assert_eq!(user(false, path, "Bearer wrong"), None, "{path}");
        }
        for path in ["/", "/healthzz", "/versions", "/api/version", "/lab/v1/faults"] {
            assert_eq!(user(false, path, ""), None, "{path}");
        }
    }

    #[test]
    fn only_the_own_certificate_is_known() {
        let gate = Gate::new("secret", CertificateDer::from(vec![1, 2, 3]));
        assert!(gate.knows(Some(&CertificateDer::from(vec![1, 2, 3]))));
        assert!(!gate.knows(Some(&CertificateDer::from(vec![1, 2]))));
        assert!(!gate.knows(None));
    }
}
