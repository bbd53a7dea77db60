//! Pull specs: `[registry[:port]/]repository[:tag][@digest]`.

use std::fmt;

use crate::digest::Digest;

/// The registry that names without one belong to.
pub const HUB: &str = "docker.io";
/// Most characters that a name may have.
const MAX_NAME: usize = 255;
/// Most characters that a tag may have.
const MAX_TAG: usize = 128;

/// A pull spec, read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PullSpec {
    /// Host and port as written; empty for names of the hub.
    pub registry: String,
    /// Path of the repository; empty when only a registry was given.
    pub repository: String,
    /// The tag, if there is one.
    pub tag: Option<String>,
    /// The digest, if there is one; it counts more than the tag.
    pub digest: Option<Digest>,
}

/// Why a text is no pull spec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a valid image reference: {why}")]
pub struct ReferenceError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

// === impl PullSpec ===

impl PullSpec {
    /// Reads a pull spec.
    ///
    /// # Compatibility
    /// The first part is a registry if it has a dot, a colon or is `localhost`; a single word with a dot before any colon is a
    /// registry without a repository.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        Self::read(text).map_err(|why| ReferenceError { text: text.to_owned(), why })
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(format!("a pull spec has no scheme such as {scheme}://"));
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(Digest::parse(digest).map_err(|error| error.to_string())?)),
            None => (text, None),
        };
        let last_slash = name.rfind('/').map_or(0, |at| at + 1);
        let (name, tag) = match name[last_slash..].rfind(':') {
            Some(at) if !is_lone_registry(name) => {
                (&name[..last_slash + at], Some(&name[last_slash + at + 1..]))
            }
            _ => (name, None),
        };
        if name.is_empty() {
            return Err("the name is missing".to_owned());
        }
        if name.len() > MAX_NAME {
            return Err(format!("the name has {} characters, more than {MAX_NAME}", name.len()));
        }
        if let Some(tag) = tag {
            check_tag(tag)?;
        }
        let (registry, repository) = split_registry(name);
        check_registry(registry)?;
        if !repository.is_empty() {
            check_repository(repository)?;
        } else if tag.is_some() || digest.is_some() || name.contains('/') {
            return Err("the repository is missing".to_owned());
        }
        let tag = tag.map(str::to_owned);
        Ok(Self { registry: registry.to_owned(), repository: repository.to_owned(), tag, digest })
    }

    /// Registry and repository, without tag and digest.
    pub fn name(&self) -> String {
        match (self.registry.as_str(), self.repository.as_str()) {
            ("", repository) => repository.to_owned(),
            (registry, "") => registry.to_owned(),
            (registry, repository) => format!("{registry}/{repository}"),
        }
    }

    /// The same repository with nothing chosen in it.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self { tag: None, digest: None, ..self.clone() }
    }

    /// The same repository with another tag.
    #[must_use]
    pub fn with_tag(&self, tag: &str) -> Self {
        Self { tag: Some(tag.to_owned()), digest: None, ..self.clone() }
    }

    /// The same repository with another digest.
    #[must_use]
    pub fn with_digest(&self, digest: &Digest) -> Self {
        Self { tag: None, digest: Some(digest.clone()), ..self.clone() }
    }

    /// Whether it is a name of the hub.
    pub fn is_hub(&self) -> bool {
        matches!(self.registry.as_str(), "" | HUB | "index.docker.io" | "registry-1.docker.io")
    }

    /// The repository as the registry knows it: single names of the hub are in `library`.
    pub fn path(&self) -> String {
        if self.is_hub() && !self.repository.contains('/') {
            return format!("library/{}", self.repository);
        }
        self.repository.clone()
    }
}

impl fmt::Display for PullSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())?;
        match (&self.digest, &self.tag) {
            (Some(digest), _) => write!(formatter, "@{digest}"),
            (None, Some(tag)) => write!(formatter, ":{tag}"),
            (None, None) => Ok(()),
        }
    }
}

/// Whether a text without a slash is a registry: `host.tld`, `localhost:5000`.
fn is_lone_registry(name: &str) -> bool {
    let host = name.split_once(':').map_or(name, |(host, _)| host);
    !name.contains('/') && (host.contains('.') || host == "localhost")
}

fn split_registry(name: &str) -> (&str, &str) {
    if is_lone_registry(name) {
        return (name, "");
    }
    match name.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
        _ => ("", name),
    }
}

/// A host and, behind a colon, a port; an address of IPv6 stands in brackets.
fn check_registry(registry: &str) -> Result<(), String> {
    if registry.is_empty() {
        return Ok(());
    }
    let (host, port) = match registry.rsplit_once(':') {
        Some((host, port)) if !registry.ends_with(']') => (host, Some(port)),
        _ => (registry, None),
    };
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_name =
        host.bytes().all(is_allowed) && host.starts_with(|first: char| first.is_ascii_alphanumeric());
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_host = is_name || address.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok());
    if is_host && port.is_none_or(|port| port.parse::<u16>().is_ok()) {
        return Ok(());
    }
    Err(format!("the registry {registry:?} is not a host and a port"))
}

/// Parts of lower-case letters and digits, joined inside by `.`, `_`, `__` or dashes.
fn check_repository(repository: &str) -> Result<(), String> {
    for part in repository.split('/') {
        if part.is_empty() {
            return Err("a part of the repository is empty".to_owned());
        }
        if part.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err("the repository must be lower case".to_owned());
        }
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_allowed = |byte: u8| is_word(byte) || b"._-".contains(&byte);
        let ends_well = |byte: Option<&u8>| byte.is_some_and(|byte| is_word(*byte));
        let bytes = part.as_bytes();
        if !bytes.iter().all(|byte| is_allowed(*byte))
            || !ends_well(bytes.first())
            || !ends_well(bytes.last())
        {
            return Err(format!("{part:?} is no part of a repository name"));
        }
    }
    Ok(())
}

/// Checks what can be a tag: a word character, then up to 127 of words, dots and dashes.
pub fn check_tag(tag: &str) -> Result<(), String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let starts_well = tag.bytes().next().is_some_and(is_word);
    let is_well = tag.bytes().all(|byte| is_word(byte) || b".-".contains(&byte));
    if starts_well && is_well && tag.len() <= MAX_TAG {
        return Ok(());
    }
    Err(format!("{tag:?} is no tag: a letter, digit or `_`, then up to 127 of these, `.` and `-`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn parts(text: &str) -> (String, String, String, bool) {
        let spec = PullSpec::parse(text).unwrap();
        (
            spec.registry.clone(),
            spec.repository.clone(),
            spec.tag.clone().unwrap_or_default(),
            spec.digest.is_some(),
        )
    }

    #[test]
    fn rows_of_the_specification() {
        let row = |registry: &str, repository: &str, tag: &str, digest| {
            (registry.to_owned(), repository.to_owned(), tag.to_owned(), digest)
        };
        assert_eq!(parts("foo"), row("", "foo", "", false));
        assert_eq!(parts("foo:tag"), row("", "foo", "tag", false));
        assert_eq!(parts(&format!("sha256:{HEX}")), row("", "sha256", HEX, false));
        assert_eq!(parts("bar/foo/baz"), row("", "bar/foo/baz", "", false));
        assert_eq!(parts("bar:5000/foo/baz"), row("bar:5000", "foo/baz", "", false));
        assert_eq!(parts("localhost/bar"), row("localhost", "bar", "", false));
        assert_eq!(parts("localhost:5000"), row("localhost:5000", "", "", false));
        assert_eq!(parts("host.tld"), row("host.tld", "", "", false));
        assert_eq!(parts("[::1]:5000/a"), row("[::1]:5000", "a", "", false));
        assert_eq!(parts("wildfly:15.0"), row("", "wildfly", "15.0", false));
        let both = format!("host.tld/a/b:tag@sha256:{HEX}");
        assert_eq!(parts(&both), row("host.tld", "a/b", "tag", true));
        assert_eq!(PullSpec::parse(&both).unwrap().to_string(), format!("host.tld/a/b@sha256:{HEX}"));
    }

    #[test]
    fn what_is_no_pull_spec_is_refused() {
        let long = format!("host.tld/{}", "a".repeat(250));
        for text in [
            "",
            ":tag",
            "bar//baz",
            "ftp://host/a",
            "https://host.tld/a",
            "host/foo/bar/:Tag",
            "Upper/case",
            "foo@sha256:abcd",
            &format!("@sha256:{HEX}"),
            &long,
            "foo:",
            "host.tld/a:b c",
            "host.tld/../etc",
            "host.tld/-a",
            "a b.c/d",
            ":/",
            "host.tld/",
            "host.tld:port/a",
            ":5000/a",
        ] {
            let error = PullSpec::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("\"{text}\" is not a valid image reference: ")), "{error}");
        }
    }

    #[test]
    fn names_of_the_hub_have_a_library() {
        for text in ["debian", "docker.io/debian"] {
            assert_eq!(PullSpec::parse(text).unwrap().path(), "library/debian");
        }
        assert_eq!(PullSpec::parse("a/b").unwrap().path(), "a/b");
        assert_eq!(PullSpec::parse("host.tld/b").unwrap().path(), "b");
    }

    proptest::proptest! {
        #[test]
        fn what_is_printed_is_read_again(text in "[a-z.:/@A-Z0-9_-]{0,40}") {
            if let Ok(spec) = PullSpec::parse(&text) {
                let again = PullSpec::parse(&spec.to_string()).unwrap();
                proptest::prop_assert_eq!(again.to_string(), spec.to_string());
            }
        }
    }
}
