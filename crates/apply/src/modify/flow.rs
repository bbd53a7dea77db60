//! Maps in braces, as JSON and YAML write them, edited without touching what is around the change.

use std::ops::Range;

use serde_json::Value;

/// A map in braces.
struct Map {
    entries: Vec<Entry>,
    /// Where the closing brace is.
    close: usize,
}

/// One field of it.
struct Entry {
    key: String,
    /// From the beginning of the key on.
    start: usize,
    is_quoted: bool,
    value: Range<usize>,
}

/// Sets fields of the map that is the field `name` of a text's outermost map; it is made when it is not there.
///
/// Nothing when the text is no such map.
pub(super) fn edit(text: &str, name: &str, fields: &[(&str, Option<Value>)]) -> Option<String> {
    let open = text.find('{')?;
    let map = Map::read(text, open)?;
    let is_map = |entry: &Entry| text[entry.value.clone()].starts_with('{');
    let text = match map.entries.iter().find(|entry| entry.key == name) {
        Some(entry) if is_map(entry) => return edit_map(text.to_owned(), entry.value.start, fields),
        _ => set(text, open, name, Some("{}"))?,
    };
    let map = Map::read(&text, open)?;
    let place = map.entries.iter().find(|entry| entry.key == name)?.value.start;
    edit_map(text, place, fields)
}

/// Sets fields of the map that opens here, removes those that are to have no value.
pub(super) fn edit_map(text: String, open: usize, fields: &[(&str, Option<Value>)]) -> Option<String> {
    fields.iter().try_fold(text, |text, (name, value)| {
        let value = value.as_ref().map(Value::to_string);
        set(&text, open, name, value.as_deref())
    })
}

fn set(text: &str, open: usize, name: &str, value: Option<&str>) -> Option<String> {
    let Map { entries, close } = Map::read(text, open)?;
    let at = entries.iter().position(|entry| entry.key == name);
    let (range, new) = match (at, value) {
        (None, None) => return Some(text.to_owned()),
        (Some(at), Some(value)) => (entries[at].value.clone(), value.to_owned()),
        (Some(at), None) => (around(&entries, at), String::new()),
        (None, Some(value)) => match entries.last() {
            None => (open + 1..close, format!("\"{name}\": {value}")),
            Some(last) => {
                // Each field on its own line, if that is how the last one is written.
                let before = &text[..last.start];
                let blank = &before[before.trim_end().len()..];
                let blank = if blank.is_empty() { " " } else { blank };
                let key = if last.is_quoted { format!("\"{name}\"") } else { name.to_owned() };
                (last.value.end..last.value.end, format!(",{blank}{key}: {value}"))
            }
        },
    };
    Some(format!("{}{new}{}", &text[..range.start], &text[range.end..]))
}

/// A field with one of the commas beside it.
fn around(entries: &[Entry], at: usize) -> Range<usize> {
    let entry = &entries[at];
    match (at.checked_sub(1).and_then(|before| entries.get(before)), entries.get(at + 1)) {
        (Some(before), _) => before.value.end..entry.value.end,
        (None, Some(next)) => entry.start..next.start,
        (None, None) => entry.start..entry.value.end,
    }
}

// === impl Map ===

impl Map {
    /// Reads the map that opens here.
    fn read(text: &str, open: usize) -> Option<Self> {
        let mut entries = Vec::new();
        let mut at = open + 1;
        loop {
            at = skip_blank(text, at);
            if text[at..].starts_with('}') {
                return Some(Self { entries, close: at });
            }
            let start = at;
            let key_end = end_of_item(text, at, &[':'])?;
            let key = text[start..key_end].trim();
            let is_quoted = key.starts_with(['"', '\'']);
            let value_start = skip_blank(text, key_end + 1);
            let value_end = end_of_item(text, value_start, &[',', '}'])?;
            let value = value_start..value_start + text[value_start..value_end].trim_end().len();
            entries.push(Entry { key: key.trim_matches(['"', '\'']).to_owned(), start, is_quoted, value });
            at = if text[value_end..].starts_with(',') { value_end + 1 } else { value_end };
        }
    }
}

/// The next place that is neither blank nor in a comment.
fn skip_blank(text: &str, mut at: usize) -> usize {
    loop {
        at = text.len() - text[at..].trim_start().len();
        if !text[at..].starts_with('#') {
            return at;
        }
        at = text[at..].find('\n').map_or(text.len(), |end| at + end);
    }
}

/// Where one of these characters is outside of quotes and brackets.
fn end_of_item(text: &str, start: usize, ends: &[char]) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (offset, character) in text[start..].char_indices() {
        match (quote, character) {
            (Some('"'), _) if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), _) if open == character => quote = None,
            (None, end) if depth == 0 && ends.contains(&end) => return Some(start + offset),
            (None, '"' | '\'') => quote = Some(character),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edited(text: &str, fields: &[(&str, Option<Value>)]) -> String {
        edit(text, "s", fields).unwrap()
    }

    #[test]
    fn fields_are_set_where_they_are_and_appended_where_they_are_not() {
        let fields = [("a", Some(json!(["x"]))), ("b", Some(json!("y")))];
        for (text, expected) in [
            (
                r#"{"k": 1, "s": {"b": "old", "c": "}"}}"#,
                r#"{"k": 1, "s": {"b": "y", "c": "}", "a": ["x"]}}"#,
            ),
            (r#"{"s":{}}"#, r#"{"s":{"a": ["x"], "b": "y"}}"#),
            (r"{k: 'v'}", r#"{k: 'v', s: {"a": ["x"], "b": "y"}}"#),
            (r#"{"s": null}"#, r#"{"s": {"a": ["x"], "b": "y"}}"#),
            (
                "{\n  \"s\": {\n    \"c\": 1\n  }\n}\n",
                "{\n  \"s\": {\n    \"c\": 1,\n    \"a\": [\"x\"],\n    \"b\": \"y\"\n  }\n}\n",
            ),
        ] {
            assert_eq!(edited(text, &fields), expected);
        }
    }

    #[test]
    fn fields_without_a_value_go_with_their_comma() {
        let fields = [("a", None), ("b", None)];
        for (text, expected) in [
            (r#"{"s": {"a": [1, {"b": 2}], "b": 1, "c": 3}}"#, r#"{"s": {"c": 3}}"#),
            (r#"{"s": {"c": 3, "a": "\"}", "b": 1}}"#, r#"{"s": {"c": 3}}"#),
            (r#"{"s": {"b": 1}}"#, r#"{"s": {}}"#),
            (r#"{"k": 1}"#, r#"{"k": 1, "s": {}}"#),
        ] {
            assert_eq!(edited(text, &fields), expected);
        }
    }

    #[test]
    fn a_text_that_is_no_map_is_not_edited() {
        for text in ["", "[1]", "{", "{\"a\"", "{\"a\": [1}", "{\"a\": \"b}"] {
            assert_eq!(edit(text, "s", &[("a", Some(json!(1)))]), None, "{text}");
        }
    }
}
