//! One YAML document to one JSON value, through the events of the parser.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::{Map, Number, Value};

use super::YamlError;
use super::relax::{MAX_READ_AGAIN, indent_quoted};
use super::scalar::{CoreTag, Scalar, resolve_plain, resolve_tagged};
use crate::gojson;
use crate::limits::{MAX_ALIAS_BYTES, MAX_DEPTH};

/// Handle of the core-schema tags after resolution (`!!str` is this plus `str`).
const CORE_HANDLE: &str = "tag:yaml.org,2002:";

/// What the parser says of quoted text that the Go reader accepts.
const BADLY_INDENTED_QUOTE: &str = "invalid indentation in quoted scalar";

/// Reads the first document of `text`; an empty or comment-only text is `null`.
///
/// `first_line` is the line of the file on which `text` starts, so that errors name the right one.
///
/// `aliased` counts the bytes that anchors and aliases have cost so far, over all documents of a file.
pub(super) fn read(text: &str, first_line: usize, aliased: &mut usize) -> Result<Value, YamlError> {
    let mut text = Cow::Borrowed(text);
    let mut read_again = 0;
    while read_again <= MAX_READ_AGAIN {
        let refused = match read_once(&text, first_line, aliased) {
            Ok(value) => return Ok(value),
            Err(Refusal::Content(error)) => return Err(error),
            Err(Refusal::Syntax(error)) => error,
        };
        let (line, column) = (refused.marker().line(), refused.marker().col());
        let mended =
            (refused.info() == BADLY_INDENTED_QUOTE).then(|| indent_quoted(&text, line, column)).flatten();
        match mended {
            Some(mended) => {
                read_again += mended.len();
                text = Cow::Owned(mended);
            }
            None => return Err(YamlError::new(first_line + line.max(1) - 1, refused.info().to_owned())),
        }
    }
    Err(YamlError::new(first_line, "too many badly indented quoted scalars".to_owned()))
}

/// Why a document was refused: by the parser, or by what it says.
enum Refusal {
    Syntax(ScanError),
    Content(YamlError),
}

fn read_once(text: &str, first_line: usize, aliased: &mut usize) -> Result<Value, Refusal> {
    let mut builder = Builder::new(aliased);
    let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(Refusal::Syntax)?;
        match builder.take(event) {
            Ok(None) => {}
            Ok(Some(value)) => return Ok(value),
            Err(message) => {
                return Err(Refusal::Content(YamlError::new(line_of(&span, first_line), message)));
            }
        }
    }
    Ok(Value::Null)
}

fn line_of(span: &Span, first_line: usize) -> usize {
    first_line + span.start.line().max(1) - 1
}

/// A collection that is still open.
enum Frame {
    Sequence { items: Vec<Value>, anchor: usize },
    Mapping { map: Map<String, Value>, key: Option<Key>, anchor: usize },
}

/// The key whose value comes next.
enum Key {
    Text(String),
    /// `<<`: the value's entries are taken into this mapping.
    Merge,
}

/// What an anchor stands for, with its weight, so that its expansion can be refused before it is copied.
struct Anchored {
    value: Value,
    nodes: usize,
    bytes: usize,
    depth: usize,
}

struct Builder<'a> {
    stack: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    nodes: usize,
    alias_nodes: usize,
    alias_bytes: &'a mut usize,
}

// === impl Builder ===

impl<'a> Builder<'a> {
    fn new(alias_bytes: &'a mut usize) -> Self {
        Self { stack: Vec::new(), anchors: HashMap::new(), nodes: 0, alias_nodes: 0, alias_bytes }
    }

    /// Takes one event; gives the document when it is complete.
    fn take(&mut self, event: Event<'_>) -> Result<Option<Value>, String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => Ok(None),
            // Reached only by an empty document or stream: a value returns before its end is seen.
            Event::StreamEnd | Event::DocumentEnd => Ok(Some(Value::Null)),
            Event::Scalar(text, style, anchor, tag) => {
                self.count()?;
                if self.wants_key() {
                    return self.take_key(&text, style, anchor, tag.as_deref()).map(|()| None);
                }
                let value = to_value(resolve(&text, style, tag.as_deref())?)?;
                self.finish_node(value, anchor)
            }
            Event::Alias(anchor) => {
                let value = self.expand(anchor)?;
                self.place(value)
            }
            Event::SequenceStart(anchor, _) => {
                self.open(Frame::Sequence { items: Vec::new(), anchor })?;
                Ok(None)
            }
            Event::MappingStart(anchor, _) => {
                self.open(Frame::Mapping { map: Map::new(), key: None, anchor })?;
                Ok(None)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.stack.pop() {
                Some(Frame::Sequence { items, anchor }) => self.finish_node(Value::Array(items), anchor),
                Some(Frame::Mapping { map, anchor, .. }) => self.finish_node(Value::Object(map), anchor),
                None => Err("end of a collection that was not opened".to_owned()),
            },
        }
    }

    fn open(&mut self, frame: Frame) -> Result<(), String> {
        self.count()?;
        if self.wants_key() {
            return Err("invalid map key: a mapping or sequence cannot be a key".to_owned());
        }
        if self.stack.len() >= MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} levels deep"));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn wants_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame::Mapping { key: None, .. }))
    }

    fn take_key(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), String> {
        let is_merge = text == "<<" && style == ScalarStyle::Plain && tag.is_none();
        let next = if is_merge {
            Key::Merge
        } else {
            let scalar = resolve(text, style, tag)?;
            if anchor > 0 {
                let value = to_value(scalar.clone())?;
                self.remember(anchor, &value)?;
            }
            Key::Text(key_text(scalar)?)
        };
        if let Some(Frame::Mapping { key, .. }) = self.stack.last_mut() {
            *key = Some(next);
        }
        Ok(())
    }

    /// A node is complete: remember it if it is anchored, then put it where it belongs.
    fn finish_node(&mut self, value: Value, anchor: usize) -> Result<Option<Value>, String> {
        if anchor > 0 {
            self.remember(anchor, &value)?;
        }
        self.place(value)
    }

    fn place(&mut self, value: Value) -> Result<Option<Value>, String> {
        match self.stack.last_mut() {
            None => return Ok(Some(value)),
            Some(Frame::Sequence { items, .. }) => items.push(value),
            Some(Frame::Mapping { map, key, .. }) => match key.take() {
                // The last of two equal keys wins, without an error, as in the Go reader.
                Some(Key::Text(name)) => {
                    map.insert(name, value);
                }
                Some(Key::Merge) => merge(map, value)?,
                // Only an alias can come here: every other event asks `wants_key` first.
                None => {
                    let scalar = match value {
                        Value::String(text) => text,
                        Value::Number(number) => number.to_string(),
                        Value::Bool(truth) => truth.to_string(),
                        _ => return Err("invalid map key: the alias is not a scalar".to_owned()),
                    };
                    *key = Some(Key::Text(scalar));
                }
            },
        }
        Ok(None)
    }

    /// Keeps a copy of an anchored node. It counts as much as an alias: anchors inside anchors multiply too.
    fn remember(&mut self, anchor: usize, value: &Value) -> Result<(), String> {
        let (nodes, bytes, depth) = weigh(value);
        self.charge(bytes)?;
        self.anchors.insert(anchor, Anchored { value: value.clone(), nodes, bytes, depth });
        Ok(())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), String> {
        *self.alias_bytes += bytes;
        if *self.alias_bytes > MAX_ALIAS_BYTES {
            return Err("document contains excessive aliasing".to_owned());
        }
        Ok(())
    }

    fn expand(&mut self, anchor: usize) -> Result<Value, String> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err("anchor value contains itself".to_owned());
        };
        self.nodes += 1 + anchored.nodes;
        self.alias_nodes += anchored.nodes;
        if is_excessive(self.alias_nodes, self.nodes) {
            return Err("document contains excessive aliasing".to_owned());
        }
        if self.stack.len() + anchored.depth > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} levels deep"));
        }
        let bytes = anchored.bytes;
        self.charge(bytes)?;
        self.anchors.get(&anchor).map(|anchored| anchored.value.clone()).ok_or_else(String::new)
    }

    fn count(&mut self) -> Result<(), String> {
        self.nodes += 1;
        if is_excessive(self.alias_nodes, self.nodes) {
            return Err("document contains excessive aliasing".to_owned());
        }
        Ok(())
    }
}

/// The Go reader's rule: small documents may be nearly all aliases, large ones only to a tenth.
fn is_excessive(alias_nodes: usize, nodes: usize) -> bool {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    if alias_nodes <= 100 || nodes <= 1000 {
        return false;
    }
    #[expect(clippy::cast_precision_loss, reason = "node counts stay far below 2^52")]
    let (aliases, all) = (alias_nodes as f64, nodes as f64);
    let allowed = 0.99 - 0.89 * ((all - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    aliases / all > allowed
}

/// Takes the entries of a merged mapping (or of several, the first of which wins) into `map`.
///
/// Compatibility: the Go reader works in written order, so a merge *after* a key overrides it.
fn merge(map: &mut Map<String, Value>, value: Value) -> Result<(), String> {
    const WANTED: &str = "map merge requires map or sequence of maps as the value";
    match value {
        Value::Object(entries) => map.extend(entries),
        Value::Array(items) => {
            for item in items.into_iter().rev() {
                let Value::Object(entries) = item else { return Err(WANTED.to_owned()) };
                map.extend(entries);
            }
        }
        _ => return Err(WANTED.to_owned()),
    }
    Ok(())
}

fn resolve(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Scalar, String> {
    let resolved = match tag {
        Some(tag) if tag.handle == CORE_HANDLE => {
            CoreTag::parse(&tag.suffix).map(|core| resolve_tagged(core, text)).transpose()?
        }
        None if style == ScalarStyle::Plain => resolve_plain(text),
        _ => None,
    };
    // NB: a copy of the right size: the parser's own text has room to grow, which a release has to pay for as a whole.
    Ok(resolved.unwrap_or_else(|| Scalar::Text(text.to_owned())))
}

/// JSON has only text keys; numbers and booleans become their text, `null` cannot.
fn key_text(scalar: Scalar) -> Result<String, String> {
    match scalar {
        Scalar::Text(text) => Ok(text),
        Scalar::Bool(truth) => Ok(truth.to_string()),
        Scalar::Int(number) => Ok(number.to_string()),
        Scalar::Float(number) => Ok(gojson::float_key(number)),
        Scalar::Null => Err("unsupported map key of type: null".to_owned()),
        Scalar::UInt(number) => Err(format!("unsupported map key of type: uint64, key: {number}")),
    }
}

fn to_value(scalar: Scalar) -> Result<Value, String> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(truth) => Value::Bool(truth),
        Scalar::Int(number) => Value::from(number),
        Scalar::UInt(number) => Value::from(number),
        Scalar::Text(text) => Value::String(text),
        Scalar::Float(number) if number.is_finite() => Value::Number(float_number(number)?),
        Scalar::Float(number) => return Err(format!("unsupported value: {number}: JSON has no such number")),
    })
}

fn float_number(number: f64) -> Result<Number, String> {
    gojson::number(number).ok_or_else(|| format!("unsupported value: {number}"))
}

/// What a node takes in memory beside its text, in bytes; about right is enough.
const NODE_BYTES: usize = 48;

/// Nodes, bytes and depth of a value; its depth is bounded, so the recursion is too.
fn weigh(value: &Value) -> (usize, usize, usize) {
    let children: Box<dyn Iterator<Item = (usize, &Value)>> = match value {
        Value::String(text) => return (1, NODE_BYTES + text.len(), 0),
        Value::Array(items) => Box::new(items.iter().map(|item| (0, item))),
        Value::Object(map) => Box::new(map.iter().map(|(key, item)| (key.len(), item))),
        _ => return (1, NODE_BYTES, 0),
    };
    let (mut nodes, mut bytes, mut depth) = (1, NODE_BYTES, 0);
    for (key_bytes, child) in children {
        let (child_nodes, child_bytes, child_depth) = weigh(child);
        nodes += child_nodes + usize::from(key_bytes > 0);
        bytes += child_bytes + key_bytes;
        depth = depth.max(child_depth);
    }
    (nodes, bytes, depth + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(text: &str) -> Value {
        read(text, 1, &mut 0).unwrap()
    }

    fn error(text: &str) -> String {
        read(text, 1, &mut 0).unwrap_err().to_string()
    }

    #[test]
    fn keys_that_look_like_other_types_become_text() {
        assert_eq!(
            value("y: 1\nno: 2\n12: 3\n0x10: 4\n1.5: 5\n"),
            json!({"true": 1, "false": 2, "12": 3, "16": 4, "1.5": 5})
        );
        assert!(error("~: 1\n").contains("unsupported map key"));
        assert!(error("[a, b]: 1\n").contains("invalid map key"));
    }

    #[test]
    fn last_of_two_equal_keys_wins() {
        assert_eq!(value("a: 1\nb: 2\na: 3\n"), json!({"a": 3, "b": 2}));
    }

    #[test]
    fn merges_work_in_written_order() {
        let anchors = "base: &b {x: 1, y_: 2}\nother: &o {x: 9, z: 3}\n";
        let first = value(&format!("{anchors}m:\n  <<: *b\n  x: 5\n"));
        assert_eq!(first["m"], json!({"x": 5, "y_": 2}));
        let after = value(&format!("{anchors}m:\n  x: 5\n  <<: *b\n"));
        assert_eq!(after["m"], json!({"x": 1, "y_": 2}), "the Go reader overrides what came before");
        let list = value(&format!("{anchors}m:\n  <<: [*b, *o]\n"));
        assert_eq!(list["m"], json!({"x": 1, "y_": 2, "z": 3}), "the first of a list wins");
        let quoted = value("m:\n  \"<<\": 1\n");
        assert_eq!(quoted, json!({"m": {"<<": 1}}), "a quoted merge key is an ordinary key");
        assert!(error("m:\n  <<: 1\n").contains("map merge requires map"));
    }

    #[test]
    fn whole_floats_come_out_as_integers() {
        assert_eq!(
            value("a: 1e3\nb: 1.10\nc: 12e03\nd: 0999\n"),
            json!({"a": 1000, "b": 1.1, "c": 12000, "d": 999})
        );
        assert!(error("a: .inf\n").contains("unsupported value"));
    }

    #[test]
    fn quotes_and_blocks_are_always_text() {
        assert_eq!(
            value("a: \"yes\"\nb: '12'\nc: |\n  yes\nd: >-\n  1\n  2\n"),
            json!({"a": "yes", "b": "12", "c": "yes\n", "d": "1 2"})
        );
    }

    #[test]
    fn tags_change_the_type_and_unknown_ones_leave_text() {
        assert_eq!(
            value("a: !!str 12\nb: !!int \"12\"\nc: !mine 12\n"),
            json!({"a": "12", "b": 12, "c": "12"})
        );
    }

    #[test]
    fn an_error_names_its_line_in_the_file() {
        assert_eq!(read("a: 1\nb: [\n", 10, &mut 0).unwrap_err().line, 12);
        assert_eq!(read("a: 1\n\nb: .nan\n", 10, &mut 0).unwrap_err().line, 12);
        assert!(error("a:\n\t- b\n").starts_with("line 2"), "tabs do not indent");
    }

    #[test]
    fn too_deep_nesting_is_refused_in_both_styles() {
        let flow = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert!(
            error(&flow).contains("levels deep") || error(&flow).contains("ecursion"),
            "{}",
            error(&flow)
        );
        let mut block = String::new();
        for level in 0..1000 {
            block.push_str(&" ".repeat(level));
            block.push_str("a:\n");
        }
        assert!(error(&block).contains("levels deep"));
    }

    #[test]
    fn aliases_cannot_explode() {
        let mut laughs = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..12 {
            let previous = level - 1;
            let list = vec![format!("*a{previous}"); 10].join(",");
            laughs = format!("{laughs}a{level}: &a{level} [{list}]\n");
        }
        assert!(error(&laughs).contains("excessive aliasing"));
        let wide = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 99].join(","));
        assert!(error(&wide).contains("excessive aliasing"), "text counts too");
        assert!(error("a: &a [*a]\n").contains("contains itself"));
        let open = (0..100).fold(String::new(), |open, level| open + &format!("&a{level} ["));
        let nested = format!("{open}{}{}", "x,".repeat(20_000), "]".repeat(100));
        assert!(error(&nested).contains("excessive aliasing"), "anchors inside anchors are copies too");
    }
}
