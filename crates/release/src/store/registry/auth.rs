//! What a registry asks for before it answers: a password with each request, or a token that a service gives out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use serde_json::Value;
use tokio::time::Instant;

/// How long a token is good when its service does not say, in seconds.
const USUAL_LIFE: u64 = 60;
/// How long a token is believed to be good at most, in seconds.
const LONGEST_LIFE: u64 = 24 * 3600;
/// A token is renewed this long before its end, or a quarter of its life when that is shorter.
const BEFORE_END: Duration = Duration::from_secs(15);

/// What `WWW-Authenticate` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// Name and password with each request.
    Basic,
    /// A token of this service.
    Bearer {
        /// Address of the service.
        realm: String,
        /// The name of the registry at the service.
        service: Option<String>,
    },
}

/// What a token must allow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    /// The repository.
    pub(super) repository: String,
    /// Whether it is written to.
    pub(super) is_push: bool,
}

/// A token and its end.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) text: String,
    until: Instant,
}

/// Where one token is kept; who renews it holds the lock, so that the others wait instead of asking too.
pub(super) type Slot = Arc<tokio::sync::Mutex<Option<Token>>>;

/// All tokens of one registry, by what they allow.
#[derive(Debug, Default)]
pub(super) struct Tokens(Mutex<HashMap<String, Slot>>);

// === impl Challenge ===

impl Challenge {
    /// Chooses among all challenges of an answer: a token before a password.
    pub(super) fn choose<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut found: Vec<Self> = headers.filter_map(Self::parse).collect();
        let token = found.iter().position(|challenge| matches!(challenge, Self::Bearer { .. }));
        (!found.is_empty()).then(|| found.swap_remove(token.unwrap_or(0)))
    }

    fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => Some(Self::Basic),
            "bearer" => {
                let mut values = parameters(rest);
                Some(Self::Bearer { realm: values.remove("realm")?, service: values.remove("service") })
            }
            _ => None,
        }
    }
}

/// `a="b",c=d` as a map; a quoted value may have commas and escaped quotes.
fn parameters(text: &str) -> HashMap<String, String> {
    let mut values = HashMap::new();
    let mut rest = text;
    while let Some((name, behind)) = rest.split_once('=') {
        let (value, behind) = if let Some(quoted) = behind.trim_start().strip_prefix('"') {
            unquoted(quoted)
        } else {
            let end = behind.find(',').unwrap_or(behind.len());
            (behind[..end].trim().to_owned(), &behind[end..])
        };
        values.insert(name.trim_matches([',', ' ', '\t']).to_ascii_lowercase(), value);
        rest = behind;
    }
    values
}

/// The text up to the closing quote, and what comes behind it.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

// === impl Scope ===

impl Scope {
    pub(super) fn pull(repository: &str) -> Self {
        Self { repository: repository.to_owned(), is_push: false }
    }

    pub(super) fn push(repository: &str) -> Self {
        Self { repository: repository.to_owned(), is_push: true }
    }

    fn text(&self) -> String {
        format!("repository:{}:{}", self.repository, if self.is_push { "pull,push" } else { "pull" })
    }
}

/// What a token is kept under.
pub(super) fn key(scopes: &[Scope]) -> String {
    scopes.iter().map(Scope::text).collect::<Vec<_>>().join(" ")
}

/// The address to fetch a token from.
pub(super) fn token_url(realm: &Url, service: Option<&str>, scopes: &[Scope], user: Option<&str>) -> Url {
    let mut url = realm.clone();
    {
        let mut query = url.query_pairs_mut();
        query.extend_pairs(service.map(|service| ("service", service)));
        query.extend_pairs(scopes.iter().map(|scope| ("scope", scope.text())));
        query.extend_pairs(user.map(|user| ("account", user)));
    }
    url
}

/// The form that exchanges an identity for a token.
pub(super) fn identity_form(identity: &str, service: Option<&str>, scopes: &[Scope]) -> String {
    let mut url = token_url_of_nowhere();
    url.query_pairs_mut()
        .append_pair("grant_type", "refresh_token")
        .append_pair("client_id", "lockstep")
        .append_pair("refresh_token", identity)
        .append_pair("service", service.unwrap_or_default())
        .append_pair("scope", &key(scopes));
    url.query().unwrap_or_default().to_owned()
}

/// An address whose query is used as a form.
fn token_url_of_nowhere() -> Url {
    Url::parse("form:///").expect("invariant: a constant address")
}

// === impl Token ===

impl Token {
    /// Reads the answer of a token service.
    pub(super) fn read(bytes: &[u8], now: Instant) -> Result<Self, String> {
        // NB: the answer is secret and never part of a message.
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|_| "the answer of the token service is no JSON".to_owned())?;
        let text = value["token"].as_str().filter(|text| !text.is_empty());
        let text = text.or_else(|| value["access_token"].as_str().filter(|text| !text.is_empty()));
        let text = text.ok_or("the answer of the token service has no token")?;
        let life = value["expires_in"].as_u64().unwrap_or(USUAL_LIFE).clamp(1, LONGEST_LIFE);
        let life = Duration::from_secs(life);
        Ok(Self { text: text.to_owned(), until: now + life - BEFORE_END.min(life / 4) })
    }

    /// Whether it is good for a while.
    pub(super) fn is_good(&self, now: Instant) -> bool {
        now < self.until
    }
}

// === impl Tokens ===

impl Tokens {
    /// Where the token for this is kept.
    pub(super) fn slot(&self, key: &str) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_whatever_their_order_quotes_and_commas() {
        let read = |text: &str| Challenge::parse(text).unwrap();
        let wanted = Challenge::Bearer {
            realm: "https://auth.example.com/token".to_owned(),
            service: Some("r, \"1\"".to_owned()),
        };
        let text = r#"Bearer realm="https://auth.example.com/token",service="r, \"1\"",scope="repository:a:pull,push""#;
        assert_eq!(read(text), wanted);
        let text = r#"bearer  scope="repository:a:pull,push" , SERVICE="r, \"1\"", realm=https://auth.example.com/token"#;
        assert_eq!(read(text), wanted);
        assert_eq!(read(r#"Basic realm="x""#), Challenge::Basic);
        assert_eq!(Challenge::parse("Bearer service=x"), None, "without a realm there is nobody to ask");
        assert_eq!(Challenge::parse("Negotiate"), None);
    }

    #[test]
    fn a_token_comes_before_a_password() {
        let chosen = Challenge::choose(["Basic realm=x", "Bearer realm=\"https://a/\""].into_iter());
        assert!(matches!(chosen, Some(Challenge::Bearer { .. })));
        assert_eq!(Challenge::choose(["Negotiate", "Basic realm=x"].into_iter()), Some(Challenge::Basic));
        assert_eq!(Challenge::choose(std::iter::empty()), None);
    }

    #[test]
    fn a_token_is_asked_for_with_service_and_scopes() {
        let realm = Url::parse("https://auth.example.com/token?x=1").unwrap();
        let scopes = [Scope::push("a/b"), Scope::pull("c")];
        let url = token_url(&realm, Some("r 1"), &scopes, None);
        assert_eq!(
            url.query(),
            Some("x=1&service=r+1&scope=repository%3Aa%2Fb%3Apull%2Cpush&scope=repository%3Ac%3Apull")
        );
        let form = identity_form("s&t", Some("r"), &scopes[1..]);
        assert!(
            form.contains("refresh_token=s%26t") && form.ends_with("&scope=repository%3Ac%3Apull"),
            "{form}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_renewed_before_its_end() {
        let now = Instant::now();
        let token = Token::read(br#"{"access_token":"t","expires_in":300}"#, now).unwrap();
        assert!(
            token.is_good(now + Duration::from_secs(284)) && !token.is_good(now + Duration::from_secs(286))
        );
        let usual = Token::read(br#"{"token":"t"}"#, now).unwrap();
        assert!(
            usual.is_good(now + Duration::from_secs(44)) && !usual.is_good(now + Duration::from_secs(46))
        );
        assert!(Token::read(br#"{"token":""}"#, now).unwrap_err().contains("no token"));
    }
}
