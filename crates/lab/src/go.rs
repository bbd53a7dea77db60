//! How the real server, written in Go, prints values inside its messages.

use std::fmt::{Arguments, Write as _};

use serde_json::{Number, Value};

/// A number as Go's `%v` prints it: integers as such, others in the shortest form, with an exponent from 1e21 on.
pub(crate) fn number(value: &Number) -> String {
    match (value.as_i64(), value.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => self::float(float),
        (None, None) => value.to_string(),
    }
}

/// A float as Go's `%v` prints it.
pub(crate) fn float(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e21).contains(&magnitude) {
        // Rust writes `1e-7`, Go `1e-07`.
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{value}")
}

/// A text as Go's `%q` prints it.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            control if control < ' ' || control == '\u{7f}' => {
                write(&mut quoted, format_args!("\\x{:02x}", u32::from(control)));
            }
            other if is_unprintable(other) => match u32::from(other) {
                code @ 0..=0xffff => write(&mut quoted, format_args!("\\u{code:04x}")),
                code => write(&mut quoted, format_args!("\\U{code:08x}")),
            },
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A value as Go's `%v` prints it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => number(value),
        Value::String(value) => value.clone(),
        Value::Array(list) => format!("[{}]", list.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}:{}", plain(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// A value as Go's `%#v` prints it.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => number(value),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<_> =
                map.iter().map(|(key, value)| format!("{}:{}", quote(key), syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// The name of a value's type, as Go's `%T` prints it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(value) if value.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A whole number as Go reads it, or what Go says of the text.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
    use std::num::IntErrorKind;
    // Go knows no sign here.
    let parsed = if text.starts_with('+') { "+".parse() } else { text.parse::<u64>() };
    parsed.map_err(|error| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.ParseUint: parsing {}: {why}", quote(text))
    })
}

fn write(out: &mut String, text: Arguments<'_>) {
    out.write_fmt(text).expect("invariant: writing to a string does not fail");
}

/// What Go escapes although it is no ASCII control character; Rust's own escaping tells.
fn is_unprintable(character: char) -> bool {
    !character.is_ascii() && character.escape_debug().len() > 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_get_an_exponent_only_when_they_are_very_large_or_small() {
        for (value, text) in
            [(0.0, "0"), (1.5, "1.5"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (0.000_01, "1e-05")]
        {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn quoting_uses_the_escapes_of_go() {
        assert_eq!(quote("a\"b\\c\n\u{1}é\u{200b}"), r#""a\"b\\c\n\x01é\u200b""#);
    }

    #[test]
    fn values_look_like_in_go() {
        let value = json!({"a": [1, "x", true, null], "b": 1.5});
        assert_eq!(plain(&value), "map[a:[1 x true <nil>] b:1.5]");
        assert_eq!(
            syntax(&value),
            r#"map[string]interface {}{"a":[]interface {}{1, "x", true, interface {}(nil)}, "b":1.5}"#
        );
        assert_eq!(type_name(&value["a"][0]), "int64");
    }

    #[test]
    fn a_number_has_no_sign_and_64_bits() {
        assert_eq!(parse_uint("17"), Ok(17));
        assert_eq!(parse_uint("+1"), Err(r#"strconv.ParseUint: parsing "+1": invalid syntax"#.into()));
        assert_eq!(
            parse_uint("99999999999999999999"),
            Err(r#"strconv.ParseUint: parsing "99999999999999999999": value out of range"#.into())
        );
    }
}
