//! Whether a text has the form that a field asks for; as lenient and as strict as the reference's libraries.

/// Lower case letters, digits and inner dashes, a letter first, at most 63 of them.
pub(super) fn is_dns_label(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// What Go's URL parser accepts, which is nearly everything; the empty text too.
pub(super) fn is_url(text: &str) -> bool {
    let (before_fragment, fragment) = text.split_once('#').unwrap_or((text, ""));
    let before_query = before_fragment.split('?').next().unwrap_or_default();
    if text.chars().any(|character| character.is_ascii_control()) || !is_escaped(fragment) {
        return false;
    }
    let Some((scheme, rest)) = split_scheme(before_query) else { return false };
    if !scheme.is_empty() && !rest.starts_with('/') {
        // Such as `mailto:`, where anything may follow.
        return true;
    }
    let Some(authority) = rest.strip_prefix("//") else {
        // Without a scheme a colon in the first segment cannot be told from one.
        let first_segment = rest.split('/').next().unwrap_or_default();
        return is_escaped(rest) && !first_segment.contains(':');
    };
    let (authority, path) = authority.find('/').map_or((authority, ""), |slash| authority.split_at(slash));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    is_user(user) && is_host(host) && is_escaped(path)
}

/// The scheme and what follows its colon; no scheme is fine, a misshapen one is not.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|byte: char| !(byte.is_ascii_alphanumeric() || "+-.".contains(byte)));
    match end {
        Some(0) if text.starts_with(':') => None,
        Some(end) if text[end..].starts_with(':') && text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Some((&text[..end], &text[end + 1..]))
        }
        _ => Some(("", text)),
    }
}

fn is_host(host: &str) -> bool {
    let after_address = match host.strip_prefix('[') {
        None => host.split_once(':').map_or("", |(_, port)| port),
        Some(address) => match address.split_once(']') {
            Some((_, "")) => "",
            Some((_, rest)) if rest.starts_with(':') => &rest[1..],
            _ => return false,
        },
    };
    // A host has escapes only for what is beyond ASCII, and for the percent sign before a zone.
    let is_escape =
        |after: &str| after.starts_with("25") || after.starts_with(|c| "89abcdefABCDEF".contains(c));
    after_address.bytes().all(|byte| byte.is_ascii_digit())
        && !host.contains([' ', '\\', '^', '`', '{', '|', '}'])
        && is_escaped(host)
        && host.split('%').skip(1).all(is_escape)
}

fn is_user(user: &str) -> bool {
    user.chars()
        .all(|character| character.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(character))
        && is_escaped(user)
}

/// Every percent sign is followed by two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

/// The version of a UUID of the RFC 4122 variant; nothing for any other text.
///
/// Plain, in braces, as a URN, or without dashes.
pub(super) fn uuid_version(text: &str) -> Option<u32> {
    let plain = match text.len() {
        45 if text.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("urn:uuid:")) => text.get(9..)?,
        38 => text.get(1..37)?,
        _ => text,
    };
    let has_dashes =
        plain.len() == 36 && [8, 13, 18, 23].iter().all(|place| plain.as_bytes()[*place] == b'-');
    let digits = if has_dashes { plain.replace('-', "") } else { plain.to_owned() };
    // NB: the short form has no braces, so it counts only where nothing was taken off.
    let is_complete = digits.len() == 32 && (has_dashes || text.len() == 32);
    if !is_complete || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let digit = |place: usize| digits.chars().nth(place).and_then(|digit| digit.to_digit(16));
    // The two highest bits of this digit are the variant.
    if digit(16)? >> 2 == 0b10 { digit(12) } else { None }
}

/// `major.minor.patch`, optionally `-` and pre-release identifiers and `+` and build identifiers.
pub(super) fn is_semantic_version(text: &str) -> bool {
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
    let is_number = |part: &str| {
        (part == "0" || !part.starts_with('0'))
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse::<u64>().is_ok()
    };
    let is_identifier = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_pre_release = |part: &str| {
        let is_numeric = part.bytes().all(|byte| byte.is_ascii_digit());
        is_identifier(part) && (!is_numeric || is_number(part))
    };
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && pre.is_none_or(|pre| pre.split('.').all(is_pre_release))
        && build.is_none_or(|build| build.split('.').all(is_identifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_refused_only_where_go_refuses_them() {
        for good in [
            "",
            "https://example.com/api/graph?a=%GG#x",
            "http://localhost:8080",
            "http://user:secret@[::1]:80/x",
            "example.com/graph",
            "mailto:a",
            "/a:b",
            "a%20b",
            "https://example.com:",
            "mailto:%zz",
            "http:a:b",
            "http://a/b c",
            "http://a<b>/",
            "http://[fe80::1%25en0]/",
        ] {
            assert!(is_url(good), "{good}");
        }
        for bad in [
            "#%GG",
            ":a",
            "1:2",
            "a%2",
            "http://a b/",
            "http://a:b/",
            "http://[::1",
            "http://[::1]x",
            "a\u{7f}b",
            "https://example.com/%zz",
            "http://a:80:90/",
            "//a:b",
            "http://a%20b/",
            "http://us er@h/",
            "http://ex^ample/",
            "1http://x",
        ] {
            assert!(!is_url(bad), "{bad}");
        }
    }

    #[test]
    fn uuids_are_read_in_all_their_forms() {
        let plain = "a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3c";
        for form in [
            plain.to_owned(),
            plain.to_uppercase(),
            plain.replace('-', ""),
            format!("{{{plain}}}"),
            format!("urn:uuid:{plain}"),
        ] {
            assert_eq!(uuid_version(&form), Some(4), "{form}");
        }
        assert_eq!(uuid_version("a7f1d4c2-1b1e-1f8a-9c55-0d6a3a1f2b3c"), Some(1));
        for bad in [
            "",
            "foo",
            "a7f1d4c2-1b1e-4f8a-cc55-0d6a3a1f2b3c",
            "a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3g",
            "a7f1d4c21b1e-4f8a-9c55-0d6a3a1f2b3c-",
            "{a7f1d4c21b1e4f8a9c550d6a3a1f2b3c}",
            "urn:uuid:{a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3c}",
            "é7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3",
        ] {
            assert_eq!(uuid_version(bad), None, "{bad}");
        }
    }

    #[test]
    fn versions_are_strict() {
        for good in ["0.0.0", "4.20.0", "4.20.0-rc.1", "1.0.0-alpha-2.x", "1.2.3+build.07", "1.2.3-a+b"] {
            assert!(is_semantic_version(good), "{good}");
        }
        for bad in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "v1.2.3",
            "01.2.3",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3-a..b",
            "1.2.3+",
            "1.2.x",
            "1..3",
            "1.2.3-é",
            "1.2.3+a+b",
            "1.2.3-99999999999999999999",
            "99999999999999999999.0.0",
        ] {
            assert!(!is_semantic_version(bad), "{bad}");
        }
    }

    #[test]
    fn labels_are_short_and_lower_case() {
        assert!(is_dns_label("version") && is_dns_label("a-1") && is_dns_label(&"a".repeat(63)));
        assert!(!is_dns_label("") && !is_dns_label("-a") && !is_dns_label("a_b"));
    }
}
