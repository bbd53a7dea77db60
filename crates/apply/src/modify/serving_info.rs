//! TLS settings inside the text of an operator's configuration, with everything else as its author wrote it.
//!
//! The text is edited by lines, never printed anew: comments, quotes and the order of fields stay. What was edited is read
//! again; only when that does not give the wanted content (anchors, merged keys and the like) the text is written anew.

use std::ops::Range;

use lockstep_payload::yaml;
use serde_json::{Value, json};

use super::flow;
use super::tls::TlsProfile;

/// The field that holds the settings.
const SERVING_INFO: &str = "servingInfo";
/// The settings, in the order in which missing ones are appended.
const CIPHER_SUITES: &str = "cipherSuites";
const MIN_VERSION: &str = "minTLSVersion";
/// The configurations that have these settings.
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("operator.openshift.io/v1alpha1", "GenericOperatorConfig"),
    ("config.openshift.io/v1", "GenericControllerConfig"),
];
/// How far fields of a new block are indented.
const STEP: usize = 2;

/// The lines of a block mapping.
struct Block<'a> {
    lines: Vec<&'a str>,
    end_of_line: &'static str,
}

/// One field of a block mapping.
struct Entry<'a> {
    key: &'a str,
    /// Its lines, without blanks and comments that follow.
    lines: Range<usize>,
    /// Where its colon is in the first line.
    colon: usize,
}

/// The text with the settings of a profile; nothing when it is no configuration, or has them.
pub(super) fn edited(text: &str, profile: &TlsProfile) -> Option<String> {
    let value = only_document(text)?;
    let is = |field: &str, text: &str| value[field] == text;
    if !CONFIGURATIONS.iter().any(|(api_version, kind)| is("apiVersion", api_version) && is("kind", kind)) {
        return None;
    }
    let wanted = with_settings(&value, profile);
    if wanted == value {
        return None;
    }
    let settings = wanted_settings(profile);
    let edited =
        Block::new(text).edit(&value, &settings).or_else(|| flow::edit(text, SERVING_INFO, &settings));
    let is_right = |text: &String| only_document(text).as_ref() == Some(&wanted);
    Some(edited.filter(is_right).unwrap_or_else(|| yaml::write(&wanted)))
}

/// The value of a text with exactly one document.
fn only_document(text: &str) -> Option<Value> {
    let mut documents = yaml::documents(text.as_bytes()).ok()?;
    let document = documents.pop()?;
    documents.is_empty().then_some(document.value)
}

fn wanted_settings(profile: &TlsProfile) -> [(&'static str, Option<Value>); 2] {
    [
        (CIPHER_SUITES, profile.cipher_suites.as_ref().map(|suites| json!(suites))),
        (MIN_VERSION, profile.min_version.as_ref().map(|version| json!(version))),
    ]
}

fn with_settings(value: &Value, profile: &TlsProfile) -> Value {
    let mut wanted = value.clone();
    let info = &mut wanted[SERVING_INFO];
    if !info.is_object() {
        *info = json!({});
    }
    for (name, setting) in wanted_settings(profile) {
        match (setting, info.as_object_mut()) {
            (Some(setting), _) => info[name] = setting,
            (None, Some(info)) => {
                info.remove(name);
            }
            (None, None) => {}
        }
    }
    wanted
}

// === impl Block ===

impl<'a> Block<'a> {
    fn new(text: &'a str) -> Self {
        let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { lines: text.split_inclusive('\n').collect(), end_of_line }
    }

    /// The edited text; nothing when it is not written in blocks down to the settings.
    fn edit(&self, value: &Value, settings: &[(&str, Option<Value>)]) -> Option<String> {
        let is_start = |line: &&&str| is_content(line) && !line.starts_with("---") && !line.starts_with('%');
        let first = self.lines.iter().find(is_start)?;
        if content(first).starts_with(['{', '[']) {
            return None;
        }
        let root = indent(first);
        let entries = self.entries(0..self.lines.len(), root);
        let Some(info) = entries.iter().find(|entry| entry.key == SERVING_INFO) else {
            return Some(self.append_block(root, settings));
        };
        let line = self.lines[info.lines.start];
        match value_of(line, info.colon) {
            "" => self.edit_fields(info, &value[SERVING_INFO], root, settings),
            "{}" | "null" | "~" => {
                let block = self.block(root, &line[..=info.colon], settings);
                Some(self.replaced(info.lines.clone(), &block))
            }
            flow if flow.starts_with('{') => {
                let before: usize = self.lines[..info.lines.start].iter().map(|line| line.len()).sum();
                let open = before + line.find('{')?;
                flow::edit_map(self.lines.concat(), open, settings)
            }
            _ => None,
        }
    }

    /// Sets, adds and removes fields of a block.
    fn edit_fields(
        &self,
        info: &Entry<'_>,
        value: &Value,
        root: usize,
        settings: &[(&str, Option<Value>)],
    ) -> Option<String> {
        let inside = info.lines.start + 1..info.lines.end;
        let first = self.lines[inside.clone()].iter().find(|line| is_content(line));
        let indentation = first.map_or(root + STEP, |line| indent(line));
        let entries = self.entries(inside, indentation);

        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let (mut added, mut left) = (String::new(), entries.len());
        for (name, setting) in settings {
            let entry = entries.iter().find(|entry| entry.key == *name);
            match (entry, setting) {
                (Some(entry), None) => {
                    left -= 1;
                    edits.push((entry.lines.clone(), String::new()));
                }
                (Some(entry), Some(setting)) if value[*name] != *setting => {
                    edits.push((entry.lines.clone(), self.changed(entry, setting)?));
                }
                (None, Some(setting)) => added += &self.field(indentation, name, setting),
                _ => {}
            }
        }
        if left == 0 && added.is_empty() {
            let key = &self.lines[info.lines.start][..=info.colon];
            return Some(self.replaced(info.lines.clone(), &format!("{key} {{}}{}", self.end_of_line)));
        }
        edits.push((info.lines.end..info.lines.end, added));
        edits.sort_by_key(|(lines, _)| lines.start);
        Some(self.with_edits(&edits))
    }

    /// The fields at this indentation within some lines.
    fn entries(&self, within: Range<usize>, indentation: usize) -> Vec<Entry<'a>> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for index in within {
            let line = self.lines[index];
            if !is_content(line) {
                continue;
            }
            // NB: items of a list may be indented no deeper than its key.
            let is_field =
                indent(line) == indentation && !content(line).starts_with("- ") && content(line) != "-";
            match key_of(line).filter(|_| is_field) {
                Some((key, colon)) => entries.push(Entry { key, lines: index..index + 1, colon }),
                None => {
                    if let Some(last) = entries.last_mut() {
                        last.lines.end = index + 1;
                    }
                }
            }
        }
        entries
    }

    /// A field with another value, in the style that it has.
    fn changed(&self, entry: &Entry<'_>, setting: &Value) -> Option<String> {
        let line = self.lines[entry.lines.start];
        let (key, old) = (&line[..=entry.colon], value_of(line, entry.colon));
        let end_of_line = self.end_of_line;
        let Value::Array(items) = setting else {
            let new = scalar(setting.as_str()?, quote_of(old));
            // A comment behind the value stays.
            let is_one_line = entry.lines.len() == 1 && !old.is_empty();
            return Some(if is_one_line {
                format!("{key}{}", line[entry.colon + 1..].replacen(old, &new, 1))
            } else {
                format!("{key} {new}{end_of_line}")
            });
        };
        let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        if old.starts_with('[') && old != "[]" && !items.is_empty() {
            let quote = quote_of(old[1..].trim_start());
            let items: Vec<String> = items.iter().map(|item| scalar(item, quote)).collect();
            return Some(format!("{key} [{}]{end_of_line}", items.join(", ")));
        }
        let first = self.lines[entry.lines.clone()].iter().find(|line| content(line).starts_with("- "));
        let quote = first.and_then(|line| quote_of(content(line)[1..].trim_start()));
        let indentation = first.map_or(indent(line), |line| indent(line));
        // A comment behind the key of a block stays.
        let head = if old.is_empty() && !items.is_empty() { line } else { key };
        Some(list(head.trim_end(), indentation, &items, quote, end_of_line))
    }

    /// A field that was not there.
    fn field(&self, indentation: usize, name: &str, setting: &Value) -> String {
        let key = format!("{:indentation$}{name}:", "");
        match setting {
            Value::Array(items) => {
                let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                list(&key, indentation, &items, None, self.end_of_line)
            }
            other => {
                format!("{key} {}{}", scalar(other.as_str().unwrap_or_default(), None), self.end_of_line)
            }
        }
    }

    /// A block with the settings below this key, or an empty one.
    fn block(&self, root: usize, key: &str, settings: &[(&str, Option<Value>)]) -> String {
        let set = settings.iter().filter_map(|(name, setting)| Some((name, setting.as_ref()?)));
        let fields: String = set.map(|(name, setting)| self.field(root + STEP, name, setting)).collect();
        let empty = if fields.is_empty() { " {}" } else { "" };
        format!("{key}{empty}{}{fields}", self.end_of_line)
    }

    fn append_block(&self, root: usize, settings: &[(&str, Option<Value>)]) -> String {
        let mut text = self.lines.concat();
        let has_last_end = text.ends_with('\n');
        if !has_last_end {
            text += self.end_of_line;
        }
        text += &self.block(root, &format!("{:root$}{SERVING_INFO}:", ""), settings);
        if !has_last_end {
            text.truncate(text.len() - self.end_of_line.len());
        }
        text
    }

    fn replaced(&self, lines: Range<usize>, text: &str) -> String {
        self.with_edits(&[(lines, text.to_owned())])
    }

    /// The text with lines replaced; the edits come in order.
    fn with_edits(&self, edits: &[(Range<usize>, String)]) -> String {
        let mut text = String::new();
        let mut next = 0;
        for (lines, new) in edits {
            text += &self.lines[next..lines.start].concat();
            // The line before may be the last one of a text that does not end with one.
            if !new.is_empty() && !text.is_empty() && !text.ends_with('\n') {
                text += self.end_of_line;
            }
            text += new;
            next = lines.end;
        }
        text + &self.lines[next..].concat()
    }
}

// === lines ===

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn content(line: &str) -> &str {
    line.trim()
}

/// Whether a line is neither blank nor a comment.
fn is_content(line: &str) -> bool {
    !content(line).is_empty() && !content(line).starts_with('#')
}

/// The key of a line that starts a field, and where its colon is.
fn key_of(line: &str) -> Option<(&str, usize)> {
    let start = indent(line);
    let text = &line[start..];
    let (key, colon) = if let Some(quote) = quote_of(text) {
        let end = 1 + text[1..].find(quote)?;
        (&text[1..end], end + 1 + text[end + 1..].find(':')?)
    } else {
        let is_colon = |(at, _): &(usize, &str)| {
            text[at + 1..].starts_with([' ', '\t', '\r', '\n']) || text.len() == at + 1
        };
        let colon = text.match_indices(':').find(is_colon)?.0;
        (text[..colon].trim_end(), colon)
    };
    Some((key, start + colon))
}

/// What is behind a colon on the same line, without a comment.
fn value_of(line: &str, colon: usize) -> &str {
    let rest = line[colon + 1..].trim();
    if rest.starts_with('#') {
        return "";
    }
    if let Some(quote) = quote_of(rest)
        && let Some(end) = rest[1..].find(quote)
    {
        return &rest[..end + 2];
    }
    rest.split_once(" #").map_or(rest, |(value, _)| value.trim_end())
}

fn quote_of(value: &str) -> Option<char> {
    value.chars().next().filter(|first| matches!(first, '"' | '\''))
}

// === values ===

fn list(key: &str, indentation: usize, items: &[&str], quote: Option<char>, end_of_line: &str) -> String {
    if items.is_empty() {
        return format!("{key} []{end_of_line}");
    }
    let items = items.iter().map(|item| format!("{:indentation$}- {}{end_of_line}", "", scalar(item, quote)));
    format!("{key}{end_of_line}{}", items.collect::<String>())
}

/// A text in these quotes; without any only where it cannot be taken for something else.
fn scalar(text: &str, quote: Option<char>) -> String {
    let is_word = text.len() > "false".len()
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match quote {
        Some('\'') if is_word => format!("'{text}'"),
        None if is_word => text.to_owned(),
        _ => json!(text).to_string(),
    }
}

#[cfg(test)]
#[path = "serving_info_tests.rs"]
mod tests;
