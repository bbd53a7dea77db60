//! JSON exactly as Go's encoder writes it: the manifest hash is taken over these bytes.

use std::io::{self, Write};

use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Number, Serializer, Value};

/// Writes `value` compactly, with sorted keys and with `<`, `>`, `&`, U+2028 and U+2029 escaped.
pub fn write(value: &Value, out: &mut impl Write) -> io::Result<()> {
    use serde::Serialize as _;
    value.serialize(&mut Serializer::with_formatter(out, GoFormatter)).map_err(io::Error::from)
}

/// Writes `value` compactly with sorted keys and nothing escaped beyond what JSON demands.
pub fn write_plain(value: &Value, out: &mut impl Write) -> io::Result<()> {
    use serde::Serialize as _;
    value.serialize(&mut Serializer::with_formatter(out, PlainFormatter)).map_err(io::Error::from)
}

/// Go's text of a floating-point number in JSON.
pub fn float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        return signed_exponent(&format!("{number:e}"));
    }
    format!("{number}")
}

/// A finite number as it comes out of Go's JSON: a whole one is written without a point, and so read as an integer.
pub(crate) fn number(float: f64) -> Option<Number> {
    self::float(float).parse::<i64>().ok().map(Number::from).or_else(|| Number::from_f64(float))
}

/// Makes the whole floats of a JSON document integers, as a way through Go does.
pub(crate) fn settle_numbers(value: &mut Value) {
    match value {
        Value::Number(found) if found.is_f64() => {
            if let Some(settled) = found.as_f64().and_then(number) {
                *found = settled;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle_numbers),
        Value::Object(map) => map.values_mut().for_each(settle_numbers),
        _ => {}
    }
}

/// The text of a floating-point mapping key: 32 bits of precision, an exponent from 10^6 on and below 10^-4.
pub(crate) fn float_key(number: f64) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "the Go converter formats keys with 32 bits")]
    let short = number as f32;
    let size = short.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        let text = signed_exponent(&format!("{short:e}"));
        // Go writes at least two exponent digits in this form.
        return match text.split_once('e') {
            Some((digits, exponent)) if exponent.len() == 2 => {
                format!("{digits}e{}0{}", &exponent[..1], &exponent[1..])
            }
            _ => text,
        };
    }
    format!("{short}")
}

/// Go writes `1e+21` where Rust writes `1e21`.
fn signed_exponent(text: &str) -> String {
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text.to_owned(),
    }
}

/// Escapes as Go does for HTML.
struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let bytes = fragment.as_bytes();
        // Most texts need nothing; asking for all bytes at once is several times faster than looking at each.
        let needs_escape = |byte: &u8| matches!(*byte, b'<' | b'>' | b'&' | 0xE2);
        if !bytes.iter().fold(false, |found, byte| found | needs_escape(byte)) {
            return writer.write_all(bytes);
        }
        let mut start = 0;
        for (index, byte) in bytes.iter().enumerate() {
            let escaped: &[u8] = match byte {
                b'<' => br"\u003c",
                b'>' => br"\u003e",
                b'&' => br"\u0026",
                // NB: U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
                0xE2 if bytes[index..].starts_with(b"\xE2\x80\xA8") => br"\u2028",
                0xE2 if bytes[index..].starts_with(b"\xE2\x80\xA9") => br"\u2029",
                _ => continue,
            };
            writer.write_all(&bytes[start..index])?;
            writer.write_all(escaped)?;
            start = index + if *byte == 0xE2 { 3 } else { 1 };
        }
        writer.write_all(&bytes[start..])
    }
}

/// Differs from the compact default only in how floats are written.
struct PlainFormatter;

impl Formatter for PlainFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        CompactFormatter.write_string_fragment(writer, fragment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn go(value: &Value) -> String {
        let mut out = Vec::new();
        write(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn html_characters_and_line_separators_are_escaped() {
        let value = json!({"b": "<a href=\"x\">&</a>\u{2028}\u{2029}ä", "a": "\u{1}\n\t\u{7f}"});
        assert_eq!(
            go(&value),
            "{\"a\":\"\\u0001\\n\\t\u{7f}\",\"b\":\"\\u003ca href=\\\"x\\\"\\u003e\\u0026\\u003c/a\\u003e\\u2028\\u2029ä\"}"
        );
    }

    #[test]
    fn floats_look_as_go_writes_them() {
        let cases = [
            (1.5, "1.5"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (-2.5e-9, "-2.5e-9"),
            (18_446_744_073_709_551_616.0, "18446744073709552000"),
        ];
        for (number, text) in cases {
            assert_eq!(float(number), text);
            assert_eq!(go(&json!(number)), text);
        }
    }

    #[test]
    fn whole_floats_settle_as_integers() {
        let mut value = json!({"a": [1.0, 1.5, 1e3, 1e19], "b": {"c": -2.0}, "d": 7});
        settle_numbers(&mut value);
        assert_eq!(value, json!({"a": [1, 1.5, 1000, 1e19], "b": {"c": -2}, "d": 7}));
    }

    #[test]
    fn float_keys_are_short() {
        assert_eq!(float_key(1.5), "1.5");
        assert_eq!(float_key(0.1), "0.1");
        assert_eq!(float_key(1e-5), "1e-05");
        assert_eq!(float_key(1_234_567.5), "1.2345675e+06");
        assert_eq!(float_key(1e22), "1e+22");
        assert_eq!(float_key(f64::INFINITY), ".inf");
    }
}
