//! URIs and mail addresses, as the real server reads them.

use std::net::Ipv6Addr;

/// An absolute URI or an absolute path, as in the first line of a request.
pub(crate) fn is_request_uri(text: &str) -> bool {
    parse(text).is_some()
}

/// Whether the text is a URI with a scheme and a host.
pub(crate) fn has_scheme_and_host(text: &str) -> bool {
    parse(text).is_some_and(|uri| !uri.scheme.is_empty() && !uri.host.is_empty())
}

/// The parts of a URI that anybody asks for.
pub(crate) struct Uri<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) user: Option<&'a str>,
    pub(crate) host: &'a str,
}

/// Reads a URI as Go's `url.ParseRequestURI` does.
pub(crate) fn parse(text: &str) -> Option<Uri<'_>> {
    if text.is_empty() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return None;
    }
    let (scheme, rest) = split_scheme(text)?;
    let nowhere = Uri { scheme, user: None, host: "" };
    if text == "*" {
        return Some(nowhere);
    }
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        // `mailto:x` is fine, a relative path is not.
        return (!scheme.is_empty()).then_some(nowhere);
    }
    let Some(authority) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) else {
        return has_good_escapes(rest).then_some(nowhere);
    };
    let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let is_user_sign = |sign: char| sign.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(sign);
    let is_good = user.is_none_or(|user| user.chars().all(is_user_sign) && has_good_escapes(user))
        && is_host(host)
        && has_good_escapes(path);
    is_good.then_some(Uri { scheme, user, host })
}

/// The scheme and what follows it; `None` for a text that starts with `:`.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (at, sign) in text.char_indices() {
        match sign {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return None,
            ':' => return Some((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_host(host: &str) -> bool {
    let is_port = |port: &str| {
        port.is_empty()
            || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_sign = |sign: char| {
        !sign.is_ascii() || sign.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(sign)
    };
    let port = if let Some(inside) = host.strip_prefix('[') {
        let Some((address, port)) = inside.rsplit_once(']') else { return false };
        let address = address.split_once("%25").map_or(address, |(address, _)| address);
        if address.parse::<Ipv6Addr>().is_err() {
            return false;
        }
        port
    } else if host.contains('[') {
        return false;
    } else {
        host.rfind(':').map_or("", |colon| &host[colon..])
    };
    // Only what is no ASCII may be escaped in a host.
    let has_ascii_escape =
        host.match_indices('%').any(|(at, _)| host[at + 1..].starts_with(|sign| sign < '8'));
    let is_escaped_well = has_good_escapes(host) && (host.starts_with('[') || !has_ascii_escape);
    is_port(port) && host.chars().all(is_sign) && is_escaped_well
}

/// Every `%` is followed by two hexadecimal digits.
fn has_good_escapes(text: &str) -> bool {
    let mut parts = text.split('%');
    parts.next();
    parts.all(|part| part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

/// A mail address, alone or as `Name <address>`.
pub(crate) fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    match text.strip_suffix('>') {
        Some(named) => {
            let Some((name, address)) = named.rsplit_once('<') else { return false };
            let name = name.trim_matches([' ', '\t']);
            let is_name =
                is_quoted(name) || name.split([' ', '\t']).all(|word| word.is_empty() || is_atom(word, true));
            is_name && is_address(address)
        }
        None => is_address(text),
    }
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let (local, domain) = (local.trim_start_matches([' ', '\t']), domain.trim_start_matches([' ', '\t']));
    let is_literal = domain.starts_with('[') && domain.ends_with(']') && domain.len() > 2;
    (is_quoted(local) || is_atom(local, false)) && (is_literal || is_atom(domain, false))
}

/// Words of letters and the signs that need no quotes, with single dots between them.
fn is_atom(text: &str, loose_dots: bool) -> bool {
    let is_sign =
        |sign: char| !sign.is_ascii() || sign.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(sign);
    text.split('.').all(|word| (loose_dots || !word.is_empty()) && word.chars().all(is_sign))
}

fn is_quoted(text: &str) -> bool {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.is_some_and(|inside| !inside.is_empty() && !inside.replace("\\\"", "").contains(['"', '\n', '\r']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_absolute() {
        for text in [
            "https://example.com/a?b#c",
            "/path",
            "mailto:a@b",
            "http://[::1]:80/",
            "a://",
            "*",
            "http://u:p@h/%20",
        ] {
            assert!(is_request_uri(text), "{text}");
        }
        for text in [
            "",
            "path",
            ":a",
            "http://h:port/",
            "http://h/%zz",
            "http://a b/",
            "http://[::1/",
            "http://[x]/",
            "http://a[b/",
            "http://%20/",
        ] {
            assert!(!is_request_uri(text), "{text}");
        }
        assert!(
            has_scheme_and_host("https://a/b")
                && !has_scheme_and_host("/a")
                && !has_scheme_and_host("mailto:a@b")
        );
    }

    #[test]
    fn addresses_may_have_a_name() {
        for text in ["a@b", "a.b@c.d", "A B <a@b>", "\"a b\"@c"] {
            assert!(is_email(text), "{text}");
        }
        for text in ["", "a", "@b", "a@", "a..b@c", "a b@c", "<a@b"] {
            assert!(!is_email(text), "{text}");
        }
    }
}
