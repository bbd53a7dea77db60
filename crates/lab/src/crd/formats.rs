//! The formats of schemas that the server checks, each as exactly (or loosely) as the real server does.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use jiff::civil::Date;
use regex::Regex;

use super::uri;

/// A format whose values are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    /// The number fits 32 bits.
    Int32,
    /// The number fits 64 bits.
    Int64,
    /// The number fits a float of 32 bits.
    Float,
    /// Any float.
    Double,
    /// A text with this check.
    Text(fn(&str) -> bool),
}

// === impl Format ===

impl Format {
    /// The check of a format for values of this type; `None` when the server ignores it there.
    pub(crate) fn of(format: &str, type_name: Option<&str>, int_or_string: bool) -> Option<Self> {
        // `x-kubernetes-int-or-string` takes the place of any type.
        match type_name.filter(|_| !int_or_string) {
            None | Some("string") => text_check(format).map(Self::Text),
            Some("integer") => match format {
                "int32" => Some(Self::Int32),
                "int64" => Some(Self::Int64),
                _ => None,
            },
            Some("number") => match format {
                "float" => Some(Self::Float),
                "double" => Some(Self::Double),
                _ => None,
            },
            Some(_) => None,
        }
    }
}

/// The check of a text format; dashes in its name do not count.
fn text_check(format: &str) -> Option<fn(&str) -> bool> {
    Some(match format.replace('-', "").as_str() {
        "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "uri" => uri::is_request_uri,
        "email" => uri::is_email,
        "hostname" => is_hostname,
        "ipv4" => |text| text.contains('.') && is_ip(text, true),
        "ipv6" => |text| text.contains(':') && is_ip(text, false),
        "cidr" => is_cidr,
        "mac" => is_mac,
        "uuid" => |text| is_uuid(text, None, false),
        "uuid3" => |text| is_uuid(text, Some(b'3'), false),
        "uuid4" => |text| is_uuid(text, Some(b'4'), true),
        "uuid5" => |text| is_uuid(text, Some(b'5'), true),
        "isbn" => |text| is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10,
        "isbn13" => is_isbn13,
        "creditcard" => is_credit_card,
        "ssn" => |text| text.len() == 11 && SSN.is_match(text),
        "hexcolor" => |text| {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        },
        "rgbcolor" => |text| RGB_COLOR.is_match(text),
        "byte" => |text| BASE64.is_match(text),
        "password" => |_| true,
        "date" => is_date,
        "duration" => is_duration,
        "datetime" => is_date_time,
        "k8sshortname" => |text| text.len() <= 63 && SHORT_NAME.is_match(text),
        "k8slongname" => |text| text.len() <= 253 && LONG_NAME.is_match(text),
        _ => return None,
    })
}

static SSN: LazyLock<Regex> = LazyLock::new(|| regex(r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static RGB_COLOR: LazyLock<Regex> = LazyLock::new(|| {
    let part = r"[\t\n\x0C\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0C\r ]*";
    regex(&format!(r"^rgb\({part},{part},{part}\)$"))
});
static BASE64: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$")
});
static CREDIT_CARD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|\
         3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
});
static TIME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"));
static LOOSE_DURATION: LazyLock<Regex> = LazyLock::new(|| regex(r"([0-9]+)[\t\n\x0C\r ]*([A-Za-zµ]+)"));
static SHORT_NAME: LazyLock<Regex> = LazyLock::new(|| regex("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"));
static LONG_NAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"));
static LETTER: LazyLock<Regex> = LazyLock::new(|| regex(r"^\p{L}$"));
static SYMBOL: LazyLock<Regex> = LazyLock::new(|| regex(r"^\p{S}$"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("invariant: the patterns of this file are well-formed")
}

/// One label of up to two dash-separated runs, or a domain whose last part has letters only.
///
/// NB: `my-host` is none, as on the real server: a dash is allowed only after the first sign, or before a dot.
fn is_hostname(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_sized = text.len() <= 255 && parts.iter().all(|part| part.len() <= 63);
    let fits = match parts.as_slice() {
        [single] => {
            let mut signs = single.chars();
            signs.next().is_some_and(is_host_sign) && {
                let rest = signs.as_str().strip_prefix('-').unwrap_or(signs.as_str());
                rest.chars().count() <= 62 && rest.chars().all(is_host_sign)
            }
        }
        [labels @ .., top] => {
            (2..=63).contains(&top.chars().count())
                && top.chars().all(is_letter)
                && labels.iter().all(|label| {
                    let signs: Vec<char> = label.chars().collect();
                    signs.len() <= 63
                        && signs.first().is_some_and(|sign| is_host_sign(*sign))
                        && signs.last().is_some_and(|sign| is_host_sign(*sign))
                        && signs.iter().all(|sign| *sign == '-' || is_host_sign(*sign))
                })
        }
        [] => false,
    };
    is_sized && fits
}

fn is_host_sign(sign: char) -> bool {
    sign.is_ascii_digit() || is_letter(sign) || SYMBOL.is_match(sign.encode_utf8(&mut [0; 4]))
}

fn is_letter(sign: char) -> bool {
    sign.is_ascii_alphabetic() || (!sign.is_ascii() && LETTER.is_match(sign.encode_utf8(&mut [0; 4])))
}

/// An address of either family; `sloppy` takes leading zeros in its decimal parts.
fn is_ip(text: &str, sloppy: bool) -> bool {
    if !sloppy {
        return text.parse::<Ipv4Addr>().is_ok() || text.parse::<Ipv6Addr>().is_ok();
    }
    let (head, decimal) = text.rfind(':').map_or(("", text), |colon| text.split_at(colon + 1));
    let without_zeros: Vec<&str> = decimal
        .split('.')
        .map(|part| if part.len() > 1 { part.trim_start_matches('0') } else { part })
        .map(|part| if part.is_empty() { "0" } else { part })
        .collect();
    let has_empty = decimal.split('.').any(str::is_empty);
    let is_v4 = |text: &str| text.parse::<Ipv4Addr>().is_ok();
    let is_v6 = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    if decimal.contains('.') {
        let cleaned = without_zeros.join(".");
        return !has_empty
            && if head.is_empty() { is_v4(&cleaned) } else { is_v6(&format!("{head}{cleaned}")) };
    }
    is_v6(text)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = if address.contains(':') { 128 } else { 32 };
    is_ip(address, true)
        && !length.is_empty()
        && length.bytes().all(|byte| byte.is_ascii_digit())
        && length.parse::<u32>().is_ok_and(|length| length <= most)
}

/// 6, 8 or 20 bytes, in pairs with `:` or `-`, or in fours with `.`.
fn is_mac(text: &str) -> bool {
    let of = |separator: char, width: usize, counts: [usize; 3]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len())
            && parts
                .iter()
                .all(|part| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    of(':', 2, [6, 8, 20]) || of('-', 2, [6, 8, 20]) || of('.', 4, [3, 4, 10])
}

/// Groups of 8, 4, 4, 4 and 12 hexadecimal digits; each dash may be missing.
fn is_uuid(text: &str, version: Option<u8>, variant: bool) -> bool {
    let mut rest = text.as_bytes();
    for (index, width) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 && rest.first() == Some(&b'-') {
            rest = &rest[1..];
        }
        let Some((group, after)) = rest.split_at_checked(width) else { return false };
        let first = group[0].to_ascii_lowercase();
        let fits = group.iter().all(u8::is_ascii_hexdigit)
            && (index != 2 || version.is_none_or(|version| first == version))
            && (index != 3 || !variant || matches!(first, b'8' | b'9' | b'a' | b'b'));
        if !fits {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn isbn_digits(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = isbn_digits(text);
    if digits.len() != 10 || !digits[..9].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let last = match digits[9] {
        b'X' => 10,
        digit if digit.is_ascii_digit() => u32::from(digit - b'0'),
        _ => return false,
    };
    let sum: u32 = (1..).zip(&digits[..9]).map(|(factor, digit)| factor * u32::from(digit - b'0')).sum();
    (sum + 10 * last).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = isbn_digits(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 =
        [1, 3].into_iter().cycle().zip(&digits[..12]).map(|(f, digit)| f * u32::from(digit - b'0')).sum();
    u32::from(digits[12] - b'0') == (10 - sum % 10) % 10
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(index, digit)| {
            let value = u32::from(digit - b'0') * if index % 2 == 1 { 2 } else { 1 };
            if value >= 10 { value % 10 + 1 } else { value }
        })
        .sum();
    CREDIT_CARD.is_match(&digits) && sum.is_multiple_of(10)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && Date::strptime("%Y-%m-%d", text).is_ok_and(|date| date.to_string() == text)
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(time) = TIME.captures(time) else { return false };
    text.len() >= 4 && is_date(date) && &time[1] <= "23" && &time[2] <= "59" && &time[3] <= "59"
}

/// A duration of Go (`1h30m`), or anything that has a number with a unit in it (`3 days`).
fn is_duration(text: &str) -> bool {
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    if is_go_duration(text) {
        return true;
    }
    let mut found = false;
    for part in LOOSE_DURATION.captures_iter(text) {
        if part[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = part[2].to_lowercase();
        found |= UNITS.iter().any(|names| {
            names.last().is_some_and(|longest| unit.starts_with(longest)) || names.contains(&unit.as_str())
        });
    }
    found
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        let unit = after.find(|sign: char| sign.is_ascii_digit() || sign == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let has_digits = digits.bytes().any(|byte| byte.is_ascii_digit());
        let is_unit = matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h");
        if !has_digits || digits.matches('.').count() > 1 || !is_unit {
            return false;
        }
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_takes_and_refuses_what_the_server_does() {
        for (format, good, bad) in [
            (
                "date-time",
                &["2024-02-29T23:59:59Z", "2024-02-29t23:59:59.5+01:00"][..],
                &["2024-02-30T00:00:00Z", "x"][..],
            ),
            ("date", &["2024-02-29"], &["2023-02-29", "2024-2-9", "20240229"]),
            ("ipv4", &["1.2.3.4", "01.02.03.04", "::ffff:1.2.3.4"], &["1.2.3", "1.2.3.256", "::1"]),
            ("ipv6", &["::1", "fe80::1"], &["1.2.3.4", "fe80::1%eth0"]),
            ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33", "::/129"]),
            (
                "uuid",
                &["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
                &["123e4567"],
            ),
            ("byte", &["YWJj", "YWI="], &["", "YWJ", "YW!j"]),
            ("hostname", &["example.com", "host", "a-b"], &["my-host", "a..b", "a.b1", "-a"]),
            ("duration", &["1h30m", "-1.5s", "0", "3 days", "22 ns"], &["", "1x", "h"]),
            ("mac", &["01:23:45:67:89:ab", "0123.4567.89ab"], &["01:23:45", "01:23:45:67:89:zz"]),
            ("hexcolor", &["#fff", "A0b1C2"], &["#ffff", "red"]),
            ("rgbcolor", &["rgb(1, 2,255)"], &["rgb(1,2)", "rgb(256,0,0)"]),
            ("isbn", &["0321751043", "978-0321751041"], &["0321751044"]),
            ("creditcard", &["4111 1111 1111 1111"], &["4111111111111112"]),
            ("ssn", &["111-11-1111"], &["111111111"]),
            ("k8s-short-name", &["a-b"], &["a.b", "A"]),
            ("k8s-long-name", &["a-b.c"], &["a_b"]),
        ] {
            let check = text_check(format).expect(format);
            assert!(good.iter().all(|text| check(text)), "{format} takes {good:?}");
            assert!(bad.iter().all(|text| !check(text)), "{format} refuses {bad:?}");
        }
    }

    #[test]
    fn a_format_counts_only_for_its_type() {
        assert!(matches!(Format::of("int32", Some("integer"), false), Some(Format::Int32)));
        assert!(Format::of("int32", Some("string"), false).is_none());
        assert!(Format::of("date", Some("string"), false).is_some());
        assert!(Format::of("date", Some("integer"), false).is_none());
        assert!(Format::of("date", Some("integer"), true).is_some());
    }
}
