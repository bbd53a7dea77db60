//! Why a request had no answer, and whether it is worth another try.

use std::error::Error;

use crate::store::StoreError;

/// A request without an answer that can be read.
#[derive(Debug)]
pub(super) enum Failure {
    /// It may go better a little later.
    Passing(StoreError),
    /// It will not.
    Fatal(StoreError),
    /// Whoever listens there does not speak TLS.
    NotTls(StoreError),
}

// === impl Failure ===

impl Failure {
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Passing(error) | Self::Fatal(error) | Self::NotTls(error) => error,
        }
    }
}

/// Reads what the HTTP client says.
pub(super) fn failure(what: &str, error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let refused = |why: String| StoreError::Refused(format!("{what}: {why}"));
    match tls_error(&error) {
        Some(rustls::Error::InvalidCertificate(why)) => {
            let hint = "name its authority with --certificate-authority, or pass --insecure";
            return Failure::Fatal(refused(format!("the certificate is not trusted ({why}); {hint}")));
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            let why = "it does not speak TLS; pass --plain-http if that is meant".to_owned();
            return Failure::NotTls(refused(why));
        }
        _ => {}
    }
    if error.is_builder() {
        return Failure::Fatal(refused(chain(&error)));
    }
    Failure::Passing(StoreError::Network { what: what.to_owned(), why: chain(&error) })
}

/// What TLS complained about, however deep it is.
fn tls_error(error: &reqwest::Error) -> Option<rustls::Error> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found.clone());
        }
        // NB: the source of an `io::Error` is the source of what is inside it, not the inside itself.
        next = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inside) => Some(inside),
            None => error.source(),
        };
    }
    None
}

/// An error with all its causes, each once.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    text
}
