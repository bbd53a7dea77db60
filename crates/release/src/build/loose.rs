//! Fields of documents that people write by hand: keys are found whatever their case.

use serde_json::Value;

/// A field; the exact spelling comes first, then any other case.
///
/// # Compatibility
/// Go's JSON decoder does the same, and operators rely on it: published examples write `Name:` for `name:`.
pub(super) fn get<'a>(value: &'a Value, key: &str) -> &'a Value {
    const NOTHING: &Value = &Value::Null;
    let Some(fields) = value.as_object() else { return NOTHING };
    fields
        .get(key)
        .or_else(|| fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value))
        .unwrap_or(NOTHING)
}

/// A field below fields.
pub(super) fn path<'a>(value: &'a Value, keys: &[&str]) -> &'a Value {
    keys.iter().fold(value, |value, key| get(value, key))
}

/// A text, or nothing.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    get(value, key).as_str().unwrap_or_default()
}

/// The line, from 1, of a position in a file.
pub(super) fn line_at(bytes: &[u8], at: usize) -> usize {
    bytes.iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The first line, at or behind `from`, that has a text; `from` where none has.
pub(super) fn line_of(bytes: &[u8], text: &str, from: usize) -> usize {
    let all = String::from_utf8_lossy(bytes);
    let found = all.lines().enumerate().skip(from.saturating_sub(1)).find(|(_, line)| line.contains(text));
    found.map_or(from, |(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_exact_key_comes_before_another_case() {
        let value = json!({"Name": "other", "name": "exact", "FROM": {"KIND": "x"}});
        assert_eq!(text(&value, "name"), "exact");
        assert_eq!(path(&value, &["from", "kind"]), "x");
        assert!(path(&value, &["from", "gone", "deeper"]).is_null());
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!((line_at(b"a\nb", 0), line_at(b"a\nb", 2)), (1, 2));
        assert_eq!(line_of(b"x\ny\nx", "x", 2), 3);
        assert_eq!(line_of(b"x\ny\nx", "z", 2), 2);
    }
}
