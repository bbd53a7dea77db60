//! Requests that got no answer: what the chain of errors below the client tells.

use std::error::Error;
use std::io;

use super::{Refusal, status};

/// The reason that the client puts into a `Status` of its own when the answer was none.
const NO_STATUS: &str = "Failed to parse error data";
/// What the TLS library says when two ends do not come together.
const TLS: [&str; 5] = [
    "invalid peer certificate",
    "peer sent no certificates",
    "received fatal alert",
    "received corrupt message",
    "peer is incompatible",
];

pub(super) fn of(error: &kube::Error) -> Refusal {
    match error {
        kube::Error::Api(answer) if answer.reason == NO_STATUS => {
            status::of_plain(answer.code, answer.message.trim(), None)
        }
        kube::Error::Api(answer) => {
            let value = serde_json::to_value(answer.as_ref()).unwrap_or_default();
            status::of_status(answer.code, &value, None)
        }
        kube::Error::Auth(cause) => Refusal::Unauthorized { message: chain(cause) },
        kube::Error::SerdeError(cause) => Refusal::Other {
            code: 200,
            reason: String::new(),
            message: format!("the answer cannot be read: {cause}"),
        },
        kube::Error::RustlsTls(cause) => Refusal::Tls { message: chain(cause) },
        kube::Error::Service(cause) => of_chain(cause.as_ref()),
        kube::Error::HyperError(cause) => of_chain(cause),
        kube::Error::ReadEvents(cause) => of_chain(cause),
        other => Refusal::Other { code: 0, reason: String::new(), message: chain(other) },
    }
}

/// What a failed connection means.
pub(super) fn of_chain(error: &(dyn Error + 'static)) -> Refusal {
    let message = chain(error);
    let links = || std::iter::successors(Some(error), |link| source(*link));
    if links().any(<dyn Error>::is::<kube::client::AuthError>) {
        return Refusal::Unauthorized { message };
    }
    // NB: this crate does not know the type of the TLS library, so its words are matched; they are pinned by a test.
    let words = links().map(ToString::to_string).find(|text| TLS.iter().any(|words| text.contains(words)));
    if let Some(words) = words {
        return Refusal::Tls { message: with_dates(&words) };
    }
    let kind = links().filter_map(|link| link.downcast_ref::<io::Error>()).map(io::Error::kind).last();
    let is_connecting = links().any(|link| link.to_string().contains("client error (Connect)"));
    match kind {
        Some(
            io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NotFound
            | io::ErrorKind::AddrNotAvailable,
        ) => Refusal::Unreachable { message },
        // It was there and went away: a restart, or a balancer that closes what is idle.
        _ if !is_connecting => Refusal::Busy { message, retry_after: None },
        _ => Refusal::Unreachable { message },
    }
}

/// What is below an error. An `io::Error` hides the error that it wraps: its source is the one below that.
fn source<'a>(link: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match link.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => link.source(),
    }
}

/// All of a chain in one line; what a link repeats of the next is left out.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for link in std::iter::successors(Some(error), |link| source(*link)) {
        let link = link.to_string();
        if text.is_empty() {
            text = link;
        } else if !text.contains(&link) {
            text.push_str(": ");
            text.push_str(&link);
        }
    }
    text
}

/// Puts dates in the place of the seconds that the TLS library counts.
fn with_dates(text: &str) -> String {
    let date = |word: &str| {
        let is_time = word.len() >= 9 && word.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = is_time.then(|| word.parse().ok()).flatten()?;
        Some(jiff::Timestamp::from_second(seconds).ok()?.to_string())
    };
    let words: Vec<String> =
        text.split(' ').map(|word| date(word).unwrap_or_else(|| word.to_owned())).collect();
    words.join(" ").replace(" (UNIX)", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(&'static str, io::Error);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.1)
        }
    }

    fn of_io(outer: &'static str, inner: io::Error) -> Refusal {
        of(&kube::Error::Service(Box::new(Outer(outer, inner))))
    }

    #[test]
    fn a_refused_connection_is_a_server_that_cannot_be_reached() {
        let inner = io::Error::new(io::ErrorKind::ConnectionRefused, "tcp connect error");
        let refusal = of_io("client error (Connect)", inner);
        assert_eq!(
            refusal,
            Refusal::Unreachable { message: "client error (Connect): tcp connect error".to_owned() }
        );
        assert!(refusal.is_transient());
    }

    #[test]
    fn a_name_that_nobody_knows_is_a_server_that_cannot_be_reached() {
        let refusal = of_io("client error (Connect)", io::Error::other("dns error: no such host"));
        assert!(matches!(refusal, Refusal::Unreachable { .. }), "{refusal:?}");
    }

    #[test]
    fn a_connection_that_breaks_is_a_server_that_is_busy() {
        let inner = io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer");
        let refusal = of_io("client error (SendRequest)", inner);
        assert!(matches!(&refusal, Refusal::Busy { message, .. } if message.contains("reset by peer")));
    }

    #[test]
    fn an_expired_certificate_is_told_with_its_dates() {
        let words = "invalid peer certificate: certificate expired: verification time 1700000000 (UNIX), but \
                     certificate is not valid after 1600000000 (100000000 seconds ago)";
        let refusal = of_io("client error (Connect)", io::Error::new(io::ErrorKind::InvalidData, words));
        let Refusal::Tls { message } = refusal else { panic!("{refusal:?}") };
        assert!(
            message.contains("2023-11-14T22:13:20Z") && message.contains("2020-09-13T12:26:40Z"),
            "{message}"
        );
        assert!(message.contains("(100000000 seconds ago)"), "{message}");
    }

    #[test]
    fn an_answer_that_the_client_could_not_read_keeps_its_meaning() {
        let answer = |code: u16, text: &str| {
            let status = kube::core::Status::failure(text, NO_STATUS).with_code(code);
            of(&kube::Error::Api(status.boxed()))
        };
        assert_eq!(answer(404, "404 page not found"), Refusal::KindNotServed);
        assert_eq!(answer(503, "service unavailable"), Refusal::ApiUnavailable);
        let status =
            serde_json::json!({"code": 404, "reason": "NotFound", "details": {"name": "a", "kind": "pods"}});
        let status: kube::core::Status = serde_json::from_value(status).unwrap();
        assert_eq!(of(&kube::Error::Api(status.boxed())), Refusal::NotFound);
    }
}
