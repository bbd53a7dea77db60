//! The forms of names, labels and keys, with the sentences that the real server refuses a wrong one with.
//!
//! Each check gives the sentences of what is wrong; none means that the name is well-formed.

/// The form of the names of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Labels with dots between them: most kinds.
    Subdomain,
    /// One label: namespaces, services, stateful sets.
    Label,
    /// Whatever can stand in an address: RBAC.
    PathSegment,
    /// Not checked here because another rule of the kind decides.
    Free,
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                              character";

// === impl NameRule ===

impl NameRule {
    /// What is wrong with a name, or with the beginning of one when `prefix` is set.
    pub(crate) fn check(self, name: &str, prefix: bool) -> Vec<String> {
        match self {
            Self::Free => Vec::new(),
            Self::PathSegment => path_segment(name, prefix),
            Self::Subdomain if prefix => dns_subdomain(&masked(name)),
            Self::Subdomain => dns_subdomain(name),
            Self::Label if prefix => dns_label(&masked(name)),
            Self::Label => dns_label(name),
        }
    }
}

/// Something will follow the dash at the end, so it does not count. The character before it is dropped with it, as in the real
/// server.
fn masked(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(start) if !start.is_empty() => {
            let mut start = start.to_owned();
            start.pop();
            start + "a"
        }
        _ => name.to_owned(),
    }
}

/// A label of RFC 1123.
pub(crate) fn dns_label(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push(too_long(63));
    }
    if !is_label(value) {
        errors.push(if is_subdomain(value) {
            "must not contain dots".into()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an \
                 alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
            )
        });
    }
    errors
}

/// A subdomain of RFC 1123.
pub(crate) fn dns_subdomain(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 253 {
        errors.push(too_long(253));
    }
    if !is_subdomain(value) {
        errors.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end \
             with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        ));
    }
    errors
}

/// A label of RFC 1035: it begins with a letter.
pub(crate) fn dns_1035_label(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push(too_long(63));
    }
    if !(is_label(value) && value.starts_with(|first: char| first.is_ascii_lowercase())) {
        errors.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and \
             end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
             '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .into(),
        );
    }
    errors
}

/// A subdomain with `*.` before it.
pub(crate) fn wildcard_subdomain(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 253 {
        errors.push(too_long(253));
    }
    if !value.strip_prefix("*.").is_some_and(is_subdomain) {
        errors.push(format!(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case \
             alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for \
             validation is '\\*\\.{SUBDOMAIN}')"
        ));
    }
    errors
}

/// What can stand between two slashes of an address.
pub(crate) fn path_segment(name: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|part| name.contains(**part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// A qualified name: `name` or `example.com/name`, as keys of labels and annotations.
pub(crate) fn qualified_name(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut parts = value.split('/');
    let (first, second, third) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if third.is_some() {
        return vec![format!(
            "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            qualified_rule()
        )];
    }
    let name = match second {
        None => first,
        Some(name) => {
            if first.is_empty() {
                errors.push("prefix part must be non-empty".into());
            } else {
                // Of labels the real server counts bytes, of names characters; it means the same.
                let sentences = dns_subdomain(first).into_iter();
                errors.extend(
                    sentences.map(|it| format!("prefix part {}", it.replace("253 characters", "253 bytes"))),
                );
            }
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes".into());
    }
    if !is_qualified_part(name) {
        errors.push(format!("name part {}", qualified_rule()));
    }
    errors
}

fn qualified_rule() -> String {
    format!(
        "{QUALIFIED_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED}')"
    )
}

/// The value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push("must be no more than 63 bytes".into());
    }
    if !value.is_empty() && !is_qualified_part(value) {
        errors.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
             with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '({QUALIFIED})?')"
        ));
    }
    errors
}

/// The key of an entry of a `ConfigMap` or `Secret`.
pub(crate) fn config_key(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 253 {
        errors.push(too_long(253));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if value.is_empty() || !value.bytes().all(allowed) {
        errors.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or \
             'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .into(),
        );
    }
    match value {
        "." => errors.push("must not be '.'".into()),
        ".." => errors.push("must not be '..'".into()),
        _ if value.starts_with("..") => errors.push("must not start with '..'".into()),
        _ => {}
    }
    errors
}

/// The name of a variable of the environment.
pub(crate) fn env_name(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.is_empty() {
        errors.push("environment variable name must be non-empty".into());
    }
    if value.chars().any(|it| !(' '..='~').contains(&it) || it == '=') {
        errors.push("a valid environment variable name must consist only of printable ASCII characters other than '='".into());
    }
    errors
}

/// The name of a port.
pub(crate) fn port_name(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 15 {
        errors.push(too_long(15));
    }
    if value.is_empty()
        || !value.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
    {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !value.bytes().any(|it| it.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".into());
    }
    if value.contains("--") {
        errors.push("must not contain consecutive hyphens".into());
    }
    if value.starts_with('-') || value.ends_with('-') {
        errors.push("must not begin or end with a hyphen".into());
    }
    errors
}

/// The number of a port.
pub(crate) fn port_number(value: i64) -> Vec<String> {
    in_range(value, 1, 65535)
}

/// A number between two others.
pub(crate) fn in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&value) {
        Vec::new()
    } else {
        vec![format!("must be between {low} and {high}, inclusive")]
    }
}

/// A percentage such as `25%`.
pub(crate) fn percent(value: &str) -> Vec<String> {
    if value.strip_suffix('%').is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit())) {
        return Vec::new();
    }
    vec![
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation \
         is '[0-9]+%')"
            .into(),
    ]
}

/// The name of a header of HTTP.
pub(crate) fn header_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-') {
        return Vec::new();
    }
    vec![
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is \
         '[-A-Za-z0-9]+')"
            .into(),
    ]
}

fn too_long(characters: usize) -> String {
    format!("must be no more than {characters} characters")
}

fn is_label(value: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = value.as_bytes();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}

/// Whether it is a subdomain of RFC 1123, whatever its length.
pub(crate) fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_qualified_part(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_subdomains_differ_in_dots() {
        assert!(dns_label("a-1").is_empty() && dns_subdomain("a-1.b").is_empty());
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        assert!(dns_subdomain("A")[0].starts_with("a lowercase RFC 1123 subdomain must consist of"));
        assert!(
            !dns_subdomain("a..b").is_empty()
                && !dns_subdomain("-a").is_empty()
                && !dns_subdomain("").is_empty()
        );
        assert_eq!(dns_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        assert!(!dns_1035_label("1a").is_empty() && dns_1035_label("a1").is_empty());
    }

    #[test]
    fn a_dash_at_the_end_of_a_prefix_does_not_count() {
        assert!(NameRule::Subdomain.check("web-", true).is_empty());
        assert!(!NameRule::Subdomain.check("web-", false).is_empty());
    }

    #[test]
    fn keys_may_have_one_prefix() {
        assert!(qualified_name("example.com/My_name.x").is_empty());
        assert_eq!(qualified_name("/x"), ["prefix part must be non-empty"]);
        assert_eq!(qualified_name("a/b/c").len(), 1);
        assert!(qualified_name("a/")[0].starts_with("name part must be non-empty"));
        assert!(label_value("").is_empty() && !label_value("a b").is_empty());
    }

    #[test]
    fn ports_and_keys_have_their_own_forms() {
        assert!(port_name("https").is_empty());
        assert_eq!(port_name("8080"), ["must contain at least one letter (a-z)"]);
        assert_eq!(config_key(".."), ["must not be '..'"]);
        assert_eq!(path_segment("a/b%", false), ["may not contain '/'", "may not contain '%'"]);
        assert!(percent("25%").is_empty() && !percent("%").is_empty());
    }
}
