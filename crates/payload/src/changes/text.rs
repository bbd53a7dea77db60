//! Changes as lines for people.

use std::fmt::Write as _;

use serde_json::Value;

use super::FieldChange;
use super::mask::SHOWN_AS;

/// The longest value that is shown in full, in characters.
const LONGEST: usize = 100;
/// How much of what two long values have in common is shown before their first difference.
const LEAD: usize = 20;

/// One line for each change: `path: before → after`. Long values are shortened to where they differ.
pub fn text(changes: &[FieldChange]) -> String {
    let mut lines = String::new();
    for FieldChange { path, before, after } in changes {
        let (before, after) = (shown(before.as_ref()), shown(after.as_ref()));
        let common = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).count();
        let _ = writeln!(lines, "{path}: {} → {}", shorten(&before, common), shorten(&after, common));
    }
    lines
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "(none)".to_owned(),
        Some(Value::String(text)) if text.starts_with(SHOWN_AS) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// The part of a text around its first difference.
fn shorten(text: &str, common: usize) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return text.to_owned();
    }
    let start = if common <= LEAD { 0 } else { (common - LEAD).min(length - LONGEST) };
    let part: String = text.chars().skip(start).take(LONGEST).collect();
    let (before, after) = (if start > 0 { "…" } else { "" }, if start + LONGEST < length { "…" } else { "" });
    format!("{before}{part}{after} ({length} characters)")
}
