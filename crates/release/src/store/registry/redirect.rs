//! Where a registry may send a client, and where credentials may go.
//!
//! Redirects are followed by hand: nothing that was meant for one server reaches another, and what began encrypted stays so.

use reqwest::Url;

/// Most redirects that one request follows.
pub(super) const MOST_REDIRECTS: u32 = 5;

/// The address that an answer points to, if it may be followed.
pub(super) fn next(from: &Url, location: &str) -> Result<Url, String> {
    let to = from.join(location).map_err(|error| format!("it points to {location:?}: {error}"))?;
    match (from.scheme(), to.scheme()) {
        ("https", "http") => {
            Err(format!("refused: {} sends the request to {} without encryption", place(from), place(&to)))
        }
        (_, "http" | "https") => Ok(to),
        (_, scheme) => Err(format!("refused: {} sends the request to a {scheme}: address", place(from))),
    }
}

/// The address where an upload goes on: only at the same server, because bytes and credentials go there.
pub(super) fn upload(from: &Url, location: &str) -> Result<Url, String> {
    let to = next(from, location)?;
    if has_same_origin(from, &to) {
        return Ok(to);
    }
    Err(format!("refused: {} sends an upload with its credentials to {}", place(from), place(&to)))
}

/// Whether credentials for one address may go to the other.
pub(super) fn has_same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Checks that a token service may be told the credentials for a registry.
///
/// Another host is usual, but only encrypted; without encryption only the host that would see them anyway.
pub(super) fn check_realm(registry: &Url, realm: &Url) -> Result<(), String> {
    let is_same_host = registry.host_str() == realm.host_str();
    match (registry.scheme(), realm.scheme()) {
        (_, "https") => Ok(()),
        ("http", "http") if is_same_host => Ok(()),
        _ => Err(format!(
            "refused: {} asks to send its credentials to {} without encryption",
            place(registry),
            place(realm)
        )),
    }
}

/// A server as people write it.
pub(super) fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn encryption_is_never_given_up_on_the_way() {
        let from = url("https://a.example.com/v2/x/blobs/1");
        assert_eq!(next(&from, "/other").unwrap().as_str(), "https://a.example.com/other");
        assert!(next(&from, "https://cdn.example.com/x?y=z").is_ok());
        let error = next(&from, "http://cdn.example.com/x").unwrap_err();
        assert!(
            error.contains("https://a.example.com") && error.contains("http://cdn.example.com"),
            "{error}"
        );
        assert!(next(&from, "file:///etc/passwd").is_err());
        assert!(next(&url("http://a.example.com/"), "http://b.example.com/").is_ok());
    }

    #[test]
    fn credentials_stay_with_scheme_host_and_port() {
        let from = url("https://a.example.com/v2/");
        assert!(has_same_origin(&from, &url("https://a.example.com:443/x")));
        for other in ["http://a.example.com/", "https://a.example.com:8443/", "https://b.example.com/"] {
            assert!(!has_same_origin(&from, &url(other)), "{other}");
        }
    }

    #[test]
    fn an_upload_stays_at_its_server() {
        let from = url("http://a.example.com:5000/v2/x/blobs/uploads/");
        assert!(upload(&from, "/v2/x/blobs/uploads/1?_state=a").is_ok());
        let error = upload(&from, "http://b.example.com/v2/x").unwrap_err();
        assert!(error.contains("a.example.com:5000") && error.contains("b.example.com"), "{error}");
    }

    #[test]
    fn a_token_service_elsewhere_must_be_encrypted() {
        let (https, http) = (url("https://a.example.com/v2/"), url("http://a.example.com:5000/v2/"));
        assert!(check_realm(&https, &url("https://auth.example.com/token")).is_ok());
        assert!(check_realm(&http, &url("https://auth.example.com/token")).is_ok());
        assert!(check_realm(&http, &url("http://a.example.com:5001/token")).is_ok());
        let error = check_realm(&http, &url("http://evil.example.com/token")).unwrap_err();
        assert!(error.contains("a.example.com:5000") && error.contains("evil.example.com"), "{error}");
        assert!(check_realm(&https, &url("http://a.example.com/token")).is_err());
    }
}
