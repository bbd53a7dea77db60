//! What a YAML scalar means to Kubernetes: the YAML 1.1 rules of the Go reader, not those of YAML 1.2.

use crate::limits::MAX_NUMBER_BYTES;

/// A resolved scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    /// `null`, `~` or nothing at all.
    Null,
    /// One of the many spellings of true and false.
    Bool(bool),
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// An integer that needs the 64th bit.
    UInt(u64),
    /// A floating-point number; may be infinite or not a number (`.inf`, `.nan`).
    Float(f64),
    /// Everything else.
    Text(String),
}

/// The tags of the YAML core schema that change how a scalar is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CoreTag {
    /// `!!str`
    Str,
    /// `!!bool`
    Bool,
    /// `!!int`
    Int,
    /// `!!float`
    Float,
    /// `!!null`
    Null,
    /// `!!timestamp`
    Timestamp,
    /// `!!binary`
    Binary,
}

impl CoreTag {
    /// Reads the part of a core-schema tag after `!!`; an unknown one leaves the scalar a string.
    pub(super) fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "str" => Self::Str,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "float" => Self::Float,
            "null" => Self::Null,
            "timestamp" => Self::Timestamp,
            "binary" => Self::Binary,
            _ => return None,
        })
    }

    fn short(self) -> &'static str {
        match self {
            Self::Str => "!!str",
            Self::Bool => "!!bool",
            Self::Int => "!!int",
            Self::Float => "!!float",
            Self::Null => "!!null",
            Self::Timestamp => "!!timestamp",
            Self::Binary => "!!binary",
        }
    }
}

/// Resolves a plain scalar without a tag; `None` when it is just text, as most are.
pub(super) fn resolve_plain(text: &str) -> Option<Scalar> {
    // The first byte is enough to see that most scalars are words, and words are strings.
    match text.as_bytes().first() {
        None => Some(Scalar::Null),
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            resolve_word(text)
        }
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => resolve_number(text),
        Some(_) => None,
    }
}

/// Resolves a scalar that carries a core-schema tag, whatever its quotes.
///
/// # Errors
/// When the text does not have the form that the tag claims.
pub(super) fn resolve_tagged(tag: CoreTag, text: &str) -> Result<Scalar, String> {
    if tag == CoreTag::Str {
        return Ok(Scalar::Text(text.to_owned()));
    }
    if tag == CoreTag::Binary {
        return resolve_binary(text);
    }
    let plain = resolve_plain(text).unwrap_or_else(|| Scalar::Text(text.to_owned()));
    let (found, ok) = match (&plain, tag) {
        (Scalar::Null, _) => ("!!null", tag == CoreTag::Null),
        (Scalar::Bool(_), _) => ("!!bool", tag == CoreTag::Bool),
        #[expect(clippy::cast_precision_loss, reason = "the Go reader converts with the same loss")]
        (Scalar::Int(number), CoreTag::Float) => return Ok(Scalar::Float(*number as f64)),
        (Scalar::Int(_) | Scalar::UInt(_), _) => ("!!int", tag == CoreTag::Int),
        (Scalar::Float(_), _) => ("!!float", tag == CoreTag::Float),
        (Scalar::Text(_), _) => ("!!str", tag == CoreTag::Timestamp),
    };
    if ok { Ok(plain) } else { Err(format!("cannot decode {found} `{text}` as a {}", tag.short())) }
}

fn resolve_word(text: &str) -> Option<Scalar> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => return None,
    })
}

fn resolve_number(text: &str) -> Option<Scalar> {
    match text {
        ".nan" | ".NaN" | ".NAN" => return Some(Scalar::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(Scalar::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => return Some(Scalar::Float(f64::NEG_INFINITY)),
        _ => {}
    }
    if text.len() > MAX_NUMBER_BYTES {
        return None;
    }
    if text.starts_with('.') {
        return finite_float(text);
    }
    let digits: std::borrow::Cow<'_, str> =
        if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    parse_integer(&digits).or_else(|| if is_yaml_float(&digits) { finite_float(&digits) } else { None })
}

/// A float that does not overflow: an overflowing one stays the text that was written.
fn finite_float(text: &str) -> Option<Scalar> {
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Scalar::Float)
}

/// Go's base-0 integers: `0x`, `0b`, `0o` and the bare leading zero of octal numbers.
fn parse_integer(text: &str) -> Option<Scalar> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &unsigned[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &unsigned[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &unsigned[2..]),
        [b'0'] => return Some(Scalar::Int(0)),
        [b'0', ..] => (8, &unsigned[1..]),
        _ => (10, unsigned),
    };
    // NB: Rust's parser takes a second sign, Go's does not.
    if digits.is_empty() || !digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0_i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    match i64::try_from(magnitude) {
        Ok(number) => Some(Scalar::Int(number)),
        // Go reads large numbers a second time as unsigned, and that reader takes no sign.
        Err(_) if !text.starts_with('+') => Some(Scalar::UInt(magnitude)),
        Err(_) => None,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_yaml_float(text: &str) -> bool {
    let mut rest = text.as_bytes();
    if let [b'-' | b'+', tail @ ..] = rest {
        rest = tail;
    }
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(rest);
    rest = &rest[whole..];
    if let [b'.', tail @ ..] = rest {
        let fraction = digits(tail);
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = &tail[fraction..];
    } else if whole == 0 {
        return false;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        let tail = if let [b'-' | b'+', more @ ..] = tail { more } else { tail };
        let exponent = digits(tail);
        return exponent > 0 && exponent == tail.len();
    }
    rest.is_empty()
}

fn resolve_binary(text: &str) -> Result<Scalar, String> {
    use base64::Engine as _;
    let compact: String = text.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
    base64::engine::general_purpose::STANDARD
        .decode(compact)
        .map(|bytes| Scalar::Text(String::from_utf8_lossy(&bytes).into_owned()))
        .map_err(|_| "!!binary value contains invalid base64 data".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Scalar {
        Scalar::Text(value.to_owned())
    }

    fn resolve_plain(value: &str) -> Scalar {
        super::resolve_plain(value).unwrap_or_else(|| text(value))
    }

    #[test]
    fn booleans_have_twenty_two_spellings() {
        for word in ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"] {
            assert_eq!(resolve_plain(word), Scalar::Bool(true), "{word}");
        }
        for word in ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"] {
            assert_eq!(resolve_plain(word), Scalar::Bool(false), "{word}");
        }
        for word in ["yEs", "tRUE", "oN", "nO", "yes ", "truee"] {
            assert_eq!(resolve_plain(word), text(word));
        }
    }

    #[test]
    fn nulls_are_empty_tilde_and_three_words() {
        for word in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(resolve_plain(word), Scalar::Null, "{word:?}");
        }
        assert_eq!(resolve_plain("nUll"), text("nUll"));
    }

    #[test]
    fn integers_follow_go_base_zero() {
        let cases = [
            ("0", 0),
            ("0644", 420),
            ("0o644", 420),
            ("0x1F", 31),
            ("0b101", 5),
            ("+12", 12),
            ("-12", -12),
            ("1_000", 1000),
            ("-0x10", -16),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ];
        for (written, number) in cases {
            assert_eq!(resolve_plain(written), Scalar::Int(number), "{written}");
        }
        assert_eq!(resolve_plain("18446744073709551615"), Scalar::UInt(u64::MAX));
        assert_eq!(resolve_plain("18446744073709551616"), Scalar::Float(18_446_744_073_709_551_616.0));
        assert_eq!(resolve_plain("0999"), Scalar::Float(999.0), "not octal: falls through to float");
        for word in ["--5", "+-5", "0x", "0xg", "1__", "12a"] {
            let expected = if word == "1__" { Scalar::Int(1) } else { text(word) };
            assert_eq!(resolve_plain(word), expected, "{word}");
        }
    }

    #[test]
    fn floats_follow_the_yaml_form_and_overflow_stays_text() {
        let cases = [
            ("1e3", 1000.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("12e03", 12000.0),
            ("1.10", 1.1),
            ("-1.5E-3", -0.0015),
            ("+.5", 0.5),
        ];
        for (written, number) in cases {
            assert_eq!(resolve_plain(written), Scalar::Float(number), "{written}");
        }
        for word in
            ["1234e567", "1:30", "4.18.0", "2001-12-14", "1e", "e5", ".", "..", "-", "+", "._5", "1.2.3e4"]
        {
            assert_eq!(resolve_plain(word), text(word), "{word}");
        }
        assert_eq!(resolve_plain(".inf"), Scalar::Float(f64::INFINITY));
        assert!(matches!(resolve_plain(".nan"), Scalar::Float(number) if number.is_nan()));
    }

    #[test]
    fn tags_decide_over_quotes() {
        assert_eq!(resolve_tagged(CoreTag::Str, "12"), Ok(text("12")));
        assert_eq!(resolve_tagged(CoreTag::Int, "12"), Ok(Scalar::Int(12)));
        assert_eq!(resolve_tagged(CoreTag::Float, "12"), Ok(Scalar::Float(12.0)));
        assert_eq!(resolve_tagged(CoreTag::Binary, "aGk="), Ok(text("hi")));
        let error = resolve_tagged(CoreTag::Int, "twelve").unwrap_err();
        assert_eq!(error, "cannot decode !!str `twelve` as a !!int");
        assert!(resolve_tagged(CoreTag::Binary, "%%%").is_err());
    }
}
