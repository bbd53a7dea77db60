//! JSON as the real server reads it: what is wrong with a text in the words of Go's decoder, and what becomes of numbers.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use crate::go;

/// Go's decoder gives up at this depth.
const DEEPEST: usize = 10_000;

const END: &str = "unexpected end of JSON input";

/// Reads a document.
///
/// # Errors
/// The sentence of Go's decoder.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(error) => match problem(bytes) {
            Some(problem) => Err(problem),
            // Go puts U+FFFD in the place of what is no UTF-8.
            None => serde_json::from_str(&String::from_utf8_lossy(bytes)).map_err(|_| error.to_string()),
        },
    }
}

/// What Go's decoder says about a text that is no JSON; nothing when it is.
pub(crate) fn problem(bytes: &[u8]) -> Option<String> {
    let mut scanner = Scanner { bytes, at: 0 };
    let checked = scanner.value(0).and_then(|()| match scanner.peek() {
        None => Ok(()),
        Some(_) => scanner.wrong("after top-level value"),
    });
    checked.err()
}

/// The word of Go's decoder for a value of the wrong type.
pub(crate) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Numbers as they are after the real server has written and read them again: whole ones are integers.
pub(crate) fn settle_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if !number.is_i64() => {
            if let Some(whole) = settled(number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle_numbers),
        Value::Object(fields) => fields.values_mut().for_each(settle_numbers),
        _ => {}
    }
}

fn settled(number: &Number) -> Option<Number> {
    let float = number.as_f64()?;
    // From here on Go writes an exponent.
    if float.fract() != 0.0 || float.abs() >= 1e21 {
        return None;
    }
    let text = format!("{float}");
    text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok()
}

/// How much of a body is shown in an error.
const SHOWN_BYTES: usize = 30;

/// The beginning of a body for an error: as text when it could be JSON.
pub(crate) fn summary(body: &[u8]) -> String {
    let start = &body[..body.len().min(SHOWN_BYTES)];
    let dots = if body.len() > SHOWN_BYTES { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{dots}", String::from_utf8_lossy(start)),
        Some(_) => start.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")) + dots,
    }
}

/// A document as Go's encoder writes it, which hides what HTML could take for markup.
pub(crate) fn text(value: &Value) -> String {
    let plain = value.to_string();
    if !plain.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return plain;
    }
    let mut escaped = String::with_capacity(plain.len() + 16);
    for character in plain.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{:04x}", u32::from(character));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// Reads JSON only to find the first thing that is wrong.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Checked = Result<(), String>;

// === impl Scanner ===

impl Scanner<'_> {
    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn next_is(&self, test: impl Fn(u8) -> bool) -> bool {
        self.bytes.get(self.at).is_some_and(|byte| test(*byte))
    }

    /// The byte here does not fit.
    fn wrong(&self, context: &str) -> Checked {
        let Some(byte) = self.bytes.get(self.at) else { return Err(END.to_owned()) };
        let shown = match byte {
            b'\'' => r"'\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            byte => format!("'{}'", go::quote(&char::from(*byte).to_string()).trim_matches('"')),
        };
        Err(format!("invalid character {shown} {context}"))
    }

    fn value(&mut self, depth: usize) -> Checked {
        if depth > DEEPEST {
            return Err("exceeded max depth".to_owned());
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.wrong("looking for beginning of value"),
        }
    }

    fn object(&mut self, depth: usize) -> Checked {
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            match self.peek() {
                Some(b'"') => self.string()?,
                _ => return self.wrong("looking for beginning of object key string"),
            }
            match self.peek() {
                Some(b':') => self.at += 1,
                _ => return self.wrong("after object key"),
            }
            self.value(depth + 1)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.wrong("after object key:value pair"),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Checked {
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.wrong("after array element"),
            }
        }
    }

    fn string(&mut self) -> Checked {
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0x20..) => self.at += 1,
                _ => return self.wrong("in string literal"),
            }
        }
    }

    fn escape(&mut self) -> Checked {
        self.at += 1;
        match self.bytes.get(self.at) {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.next_is(|byte| byte.is_ascii_hexdigit()) {
                        return self.wrong("in \\u hexadecimal character escape");
                    }
                    self.at += 1;
                }
            }
            _ => return self.wrong("in string escape code"),
        }
        Ok(())
    }

    fn number(&mut self) -> Checked {
        if self.next_is(|byte| byte == b'-') {
            self.at += 1;
        }
        if self.next_is(|byte| byte == b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.next_is(|byte| byte == b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if self.next_is(|byte| byte == b'e' || byte == b'E') {
            self.at += 1;
            if self.next_is(|byte| byte == b'+' || byte == b'-') {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digits(&mut self, context: &str) -> Checked {
        if !self.next_is(|byte| byte.is_ascii_digit()) {
            return self.wrong(context);
        }
        while self.next_is(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &str) -> Checked {
        self.at += 1;
        for letter in word.bytes().skip(1) {
            if !self.next_is(|byte| byte == letter) {
                return self.wrong(&format!("in literal {word} (expecting '{}')", char::from(letter)));
            }
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn broken_json_is_described_as_go_does() {
        for (text, expected) in [
            ("", END),
            ("  ", END),
            ("{\"a\": 1, ", END),
            ("[1", END),
            ("tru", END),
            ("-", END),
            ("{\"a\": 1,}", "invalid character '}' looking for beginning of object key string"),
            ("{} {}", "invalid character '{' after top-level value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\": 1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("apiVersion: v1", "invalid character 'a' looking for beginning of value"),
            ("nope", "invalid character 'o' in literal null (expecting 'u')"),
            ("01", "invalid character '1' after top-level value"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("\"a\n\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("'a'", "invalid character '\\'' looking for beginning of value"),
        ] {
            assert_eq!(problem(text.as_bytes()).as_deref(), Some(expected), "{text}");
        }
        for text in ["{}", " [1, -0.5e+3, \"\\u00e9\", true, false, null, {\"a\": {}}] \n", "0"] {
            assert_eq!(problem(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(parse(b"{\"a\": \"x\xff\"}"), Ok(json!({"a": "x\u{fffd}"})));
    }

    #[test]
    fn whole_floats_become_integers() {
        let mut value =
            json!({"a": [1.0, -0.0, 1.5e10, 0.5], "b": 1e21, "c": 12_345_678_901_234_567_890_u64});
        settle_numbers(&mut value);
        let expected =
            json!({"a": [1, 0, 15_000_000_000_i64, 0.5], "b": 1e21, "c": 12_345_678_901_234_567_000_u64});
        assert_eq!(value, expected);
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(text(&json!({"a": "<b> & \u{2028}"})), "{\"a\":\"\\u003cb\\u003e \\u0026 \\u2028\"}");
    }
}
