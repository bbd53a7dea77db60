//! What must never be shown: the data of Secrets, tokens, passwords, private keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_api::names::kind;
use lockstep_api::object;
use serde_json::{Map, Value};

use crate::path::{Path, Step};

/// The start of what is shown in the place of a secret.
pub(super) const SHOWN_AS: &str = "(secret, ";

/// Where `kubectl apply` keeps a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Ends of names that only say where a secret is.
const PLACES: [&str; 8] = ["file", "path", "name", "ref", "url", "audience", "audiences", "type"];

/// Knows what to mask in one object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask {
    is_secret: bool,
}

// === impl Mask ===

impl Mask {
    pub(super) fn of(object: &Value) -> Self {
        Self { is_secret: object::kind(object) == kind::SECRET && object::group(object).is_empty() }
    }

    /// The value as it may be shown.
    pub(super) fn value(self, value: &Value, path: &Path<'_>, changed: bool) -> Value {
        match self.all_below(path) {
            Some(encoding) => hide_all(value, encoding, changed),
            None => show(value, last_name(path), is_env(path, value), changed),
        }
    }

    /// Whether everything at a path is secret, and how it is written.
    fn all_below(self, path: &Path<'_>) -> Option<Encoding> {
        if !self.is_secret {
            return None;
        }
        match path.steps().as_slice() {
            [Step::Field("data"), ..] => Some(Encoding::Base64),
            [Step::Field("stringData"), ..]
            | [Step::Field("metadata"), Step::Field("annotations"), Step::Field(LAST_APPLIED)] => {
                Some(Encoding::Text)
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Encoding {
    Base64,
    Text,
}

fn hide_all(value: &Value, encoding: Encoding, changed: bool) -> Value {
    match value {
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), hide_all(value, encoding, changed))).collect()
        }
        Value::String(text) => {
            let decoded = match encoding {
                Encoding::Base64 => STANDARD.decode(text).ok().map(|bytes| bytes.len()),
                Encoding::Text => None,
            };
            hidden(decoded.unwrap_or(text.len()), changed)
        }
        Value::Null => Value::Null,
        other => hidden(other.to_string().len(), changed),
    }
}

fn hidden(bytes: usize, changed: bool) -> Value {
    let unit = if bytes == 1 { "byte" } else { "bytes" };
    Value::String(format!("{SHOWN_AS}{bytes} {unit}{})", if changed { ", changed" } else { "" }))
}

/// A value under this name, with what is secret inside hidden.
fn show(value: &Value, name: &str, is_env: bool, changed: bool) -> Value {
    match value {
        Value::String(text) if sounds_secret(name) || is_env || looks_secret(text) => {
            hidden(text.len(), changed)
        }
        Value::Array(items) => items.iter().map(|item| show(item, name, false, changed)).collect(),
        Value::Object(map) => {
            let env = is_secret_env(map);
            let shown = |(name, value): (&String, &Value)| {
                (name.clone(), show(value, name, env && name == "value", changed))
            };
            map.iter().map(shown).collect()
        }
        other => other.clone(),
    }
}

/// Whether this is the `value` of an environment variable whose name sounds secret.
fn is_env(path: &Path<'_>, value: &Value) -> bool {
    let steps = path.steps();
    let [.., Step::Key(key, _), Step::Field("value")] = steps.as_slice() else { return false };
    value.is_string() && key.get("name").and_then(Value::as_str).is_some_and(sounds_secret)
}

fn is_secret_env(item: &Map<String, Value>) -> bool {
    item.get("name").and_then(Value::as_str).is_some_and(sounds_secret)
}

/// The name of the field that a path ends in, past places in lists.
fn last_name<'a>(path: &Path<'a>) -> &'a str {
    let field = |step: &Step<'a>| match step {
        Step::Field(name) => Some(*name),
        _ => None,
    };
    path.steps().iter().rev().find_map(field).unwrap_or_default()
}

fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    (name.contains("token") || name.contains("password")) && !PLACES.iter().any(|end| name.ends_with(end))
}

fn looks_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----") || text.starts_with("eyJ") && text.split('.').count() == 3
}
