//! YAML and JSON streams as Kubernetes reads them.
//!
//! The stream is cut into documents *before* it is parsed, the format is guessed from the content and not from the
//! file name, and scalars follow YAML 1.1. Each of these differs from what a YAML 1.2 library does by itself, and
//! each is visible in real releases.

mod reader;
mod relax;
mod scalar;
mod writer;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::gojson;

pub use writer::write;

/// How far into the stream the guess between JSON and YAML looks, in bytes.
const SNIFF_BYTES: usize = 1024;

/// One document of a stream; `null` documents are left out of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The content.
    pub value: Value,
    /// How many separators come before it: a stream that starts with `---` has its first document at 1.
    pub index: usize,
    /// Line of the file on which the document starts, from 1.
    pub line: usize,
    /// The bytes as written, when the document was read as JSON; the hash is taken over these.
    pub json: Option<Box<str>>,
}

/// Why a stream could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// Reads all documents of a file.
///
/// # Errors
/// The first document that cannot be read, with its line.
pub fn documents(bytes: &[u8]) -> Result<Vec<Document>, YamlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = line_at(bytes, error.valid_up_to());
        YamlError::new(line, "not UTF-8 text (is this a binary file?)".to_owned())
    })?;
    if looks_like_json(text) {
        return json_documents(text);
    }
    // NB: only now. A byte-order mark hides from the guess that the rest is JSON, and so decides about the hash.
    yaml_documents(text.strip_prefix('\u{feff}').unwrap_or(text), 1, 0, Vec::new())
}

// === impl YamlError ===

impl YamlError {
    pub(crate) fn new(line: usize, message: String) -> Self {
        Self { line, message }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for YamlError {}

// === JSON ===

fn looks_like_json(text: &str) -> bool {
    let head = &text.as_bytes()[..text.len().min(SNIFF_BYTES)];
    head.trim_ascii_start().starts_with(b"{")
}

/// A concatenation of JSON values; until two of them were good, a failure means that the rest is YAML.
fn json_documents(text: &str) -> Result<Vec<Document>, YamlError> {
    let mut found = Vec::new();
    let (mut start, mut index, mut line_of_start) = (0, 0, 1);
    loop {
        let rest = &text[start..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            None => return Ok(found),
            Some(Ok(mut value)) => {
                let end = start + stream.byte_offset();
                if !value.is_null() {
                    gojson::settle_numbers(&mut value);
                    let raw = text[start..end].trim();
                    let blank = text[start..end].len() - text[start..end].trim_start().len();
                    let line = line_of_start + line_at(&text.as_bytes()[start..], blank) - 1;
                    found.push(Document { value, index, line, json: Some(raw.into()) });
                }
                // NB: from value to value; counting from the start each time would be quadratic.
                line_of_start += line_at(&text.as_bytes()[start..], end - start) - 1;
                start = end;
                index += 1;
            }
            Some(Err(error)) if index > 1 => {
                return Err(json_error(line_of_start + error.line().max(1) - 1, &error));
            }
            Some(Err(error)) => {
                let line = line_of_start + error.line().max(1) - 1;
                // Blanks up to the end of the line belong to the JSON value before them.
                let (rest, first_line) = skip_blank_line(rest, line_of_start);
                return match yaml_documents(rest, first_line, index, found) {
                    // Neither format fits; the JSON message is the one that the author expects.
                    Err(_) if index == 0 => Err(json_error(line, &error)),
                    outcome => outcome,
                };
            }
        }
    }
}

fn json_error(line: usize, error: &serde_json::Error) -> YamlError {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    YamlError::new(line, format!("JSON: {message}"))
}

fn skip_blank_line(text: &str, line: usize) -> (&str, usize) {
    let trimmed = text.trim_start_matches([' ', '\t', '\r']);
    match trimmed.strip_prefix('\n') {
        Some(rest) => (rest, line + 1),
        None => (trimmed, line),
    }
}

// === YAML ===

fn yaml_documents(
    text: &str,
    first_line: usize,
    first_index: usize,
    mut found: Vec<Document>,
) -> Result<Vec<Document>, YamlError> {
    let text = normalise_line_ends(text);
    refuse_control_characters(&text, first_line)?;
    let mut aliased = 0;
    for part in split(&text, first_line) {
        let Part { text: chunk, line, separators } = part?;
        let index = first_index + separators;
        let value = reader::read(chunk, line, &mut aliased)?;
        if !value.is_null() {
            let line = line + leading_lines(chunk);
            found.push(Document { value, index, line, json: None });
        }
    }
    Ok(found)
}

/// Every line ends with one newline, the last one too (this decides what a final `|+` block holds).
fn normalise_line_ends(text: &str) -> Cow<'_, str> {
    let crlf = text.contains("\r\n");
    if !crlf && (text.ends_with('\n') || text.is_empty()) {
        return Cow::Borrowed(text);
    }
    let mut owned = if crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
    if !owned.ends_with('\n') {
        owned.push('\n');
    }
    Cow::Owned(owned)
}

/// Control characters make a document unreadable for the Go reader; the parser here would let them pass.
fn refuse_control_characters(text: &str, first_line: usize) -> Result<(), YamlError> {
    let bytes = text.as_bytes();
    let is_suspect =
        |byte: &u8| (*byte < 0x20 && !matches!(*byte, b'\t' | b'\n' | b'\r')) || matches!(*byte, 0x7F | 0xC2);
    // Nearly every text has none; asking that first, in blocks, is several times faster than finding the place.
    if !bytes.chunks(256).any(|block| block.iter().fold(false, |found, byte| found | is_suspect(byte))) {
        return Ok(());
    }
    let bad = bytes.iter().enumerate().find(|(index, byte)| match byte {
        // C1 controls are C2 80 … C2 9F; U+0085 is a line break and allowed.
        0xC2 => matches!(bytes.get(index + 1), Some(0x80..=0x84 | 0x86..=0x9F)),
        byte => is_suspect(byte),
    });
    match bad {
        None => Ok(()),
        Some((index, _)) => Err(YamlError::new(
            first_line + line_at(bytes, index) - 1,
            "control characters are not allowed".to_owned(),
        )),
    }
}

/// One part of a stream between separators.
struct Part<'a> {
    text: &'a str,
    /// Line of the file on which the part starts.
    line: usize,
    /// Separators before its content.
    separators: usize,
}

/// Cuts a stream at lines that start with `---`.
///
/// A separator at the very start of a document stays in its text, where it opens the document.
fn split(text: &str, first_line: usize) -> impl Iterator<Item = Result<Part<'_>, YamlError>> {
    let (mut line, mut separators, mut rest) = (first_line, 0, text);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (start_line, remaining) = (line, rest);
        let (mut length, mut own_separators) = (0, separators);
        for part in remaining.split_inclusive('\n') {
            if let Some(after) = part.strip_prefix("---") {
                let after = after.trim();
                if !after.is_empty() && !after.starts_with('#') {
                    rest = "";
                    return Some(Err(YamlError::new(
                        line,
                        format!("invalid Yaml document separator: {after}"),
                    )));
                }
                separators += 1;
                if length > 0 {
                    line += 1;
                    rest = &remaining[length + part.len()..];
                    let text = &remaining[..length];
                    return Some(Ok(Part { text, line: start_line, separators: own_separators }));
                }
                own_separators = separators;
            }
            length += part.len();
            line += 1;
        }
        rest = "";
        Some(Ok(Part { text: remaining, line: start_line, separators: own_separators }))
    })
}

/// How many lines of blanks, comments and separators come before the content.
fn leading_lines(chunk: &str) -> usize {
    let blank = chunk.lines().take_while(|line| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with('#') || line.starts_with("---")
    });
    // Content may look like one of these; the last line is content in any case.
    blank.count().min(chunk.lines().count().saturating_sub(1))
}

fn line_at(bytes: &[u8], offset: usize) -> usize {
    1 + bytes[..offset.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(text: &str) -> Vec<Value> {
        documents(text.as_bytes()).unwrap().into_iter().map(|document| document.value).collect()
    }

    fn lines(text: &str) -> Vec<usize> {
        documents(text.as_bytes()).unwrap().into_iter().map(|document| document.line).collect()
    }

    fn error(text: &str) -> String {
        documents(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn empty_comment_only_and_null_documents_are_left_out() {
        assert_eq!(values(""), Vec::<Value>::new());
        assert_eq!(values("# nothing\n---\n\n---\nnull\n---\na: 1\n---\n"), vec![json!({"a": 1})]);
        assert_eq!(values("---\n---\na: 1\n---   # end\nb: 2\n---"), vec![json!({"a": 1}), json!({"b": 2})]);
    }

    #[test]
    fn a_document_knows_its_line() {
        assert_eq!(lines("# head\n---\n\na: 1\n---\nb: 2\n"), vec![4, 6]);
        assert_eq!(lines("{\"a\":1}\n{\"b\":2}\n"), vec![1, 2]);
    }

    #[test]
    fn only_blanks_and_comments_may_follow_a_separator() {
        assert_eq!(error("a: 1\n--- b: 2\n"), "line 2: invalid Yaml document separator: b: 2");
        assert_eq!(
            error("a: |\n-----BEGIN X-----\n"),
            "line 2: invalid Yaml document separator: --BEGIN X-----"
        );
    }

    #[test]
    fn json_is_recognised_by_content_and_keeps_its_bytes() {
        let found = documents(b"  {\n  \"b\": 1,\n  \"a\": 2\n}\n{\"c\":3}").unwrap();
        assert_eq!(found[0].json.as_deref(), Some("{\n  \"b\": 1,\n  \"a\": 2\n}"));
        assert_eq!(found[1].value, json!({"c": 3}));
        assert_eq!(values("# {\n{a: 1}\n"), vec![json!({"a": 1})], "a comment first makes it YAML");
    }

    #[test]
    fn json_falls_back_to_yaml_until_two_values_were_good() {
        assert_eq!(values("{a: 1}\n"), vec![json!({"a": 1})], "a flow mapping is no JSON");
        assert_eq!(values("{\"a\":1}\n---\nb: 2\n"), vec![json!({"a": 1}), json!({"b": 2})]);
        assert_eq!(values("{\"a\":1}  \n---\n{\"b\":2}\n"), vec![json!({"a": 1}), json!({"b": 2})]);
        assert!(error("{\"a\":1}{\"b\":2}\nc: 3\n").contains("line 2: JSON"), "unambiguous JSON by then");
        assert!(error("{\"a\": \n").contains("JSON: EOF"), "{}", error("{\"a\": \n"));
    }

    #[test]
    fn line_ends_are_normalised_before_parsing() {
        assert_eq!(values("a: |+\n  x\n\n"), vec![json!({"a": "x\n\n"})]);
        assert_eq!(values("a: |+\n  x"), vec![json!({"a": "x\n"})], "a final newline is supplied");
        assert_eq!(values("a: |\r\n  x\r\n  y\r\n"), vec![json!({"a": "x\ny\n"})]);
    }

    #[test]
    fn a_byte_order_mark_is_no_content() {
        assert_eq!(values("\u{feff}a: 1\n"), vec![json!({"a": 1})]);
        let json = documents("\u{feff}{\"a\": 1}".as_bytes()).unwrap();
        assert_eq!(
            (&json[0].value, &json[0].json),
            (&json!({"a": 1}), &None),
            "read as YAML, without bytes of its own"
        );
    }

    #[test]
    fn a_yaml_directive_is_an_error_because_the_stream_is_split_first() {
        assert!(documents(b"%YAML 1.1\n---\na: 1\n").is_err());
    }

    #[test]
    fn binary_input_is_named_as_such() {
        assert_eq!(documents(b"a: 1\nb: \xff\xfe").unwrap_err().line, 2);
        assert!(error("a: 1\nb: \u{1}\n").contains("line 2: control characters"));
        assert!(error("a: \u{80}\n").contains("control characters"));
        assert_eq!(values("a: x\u{a0}ä→\n"), vec![json!({"a": "x\u{a0}ä→"})]);
    }
}
