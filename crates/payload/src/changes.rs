//! What differs between two states of an object, field by field, with secrets masked.

mod mask;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::path::{Path, Step, key_of, key_values};
use mask::Mask;

pub use text::text;

/// One changed field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Where, with list items by name: `spec.template.spec.containers[name="web"].image`.
    pub path: String,
    /// What was there; none when nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there now; none when it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Metadata that the server writes.
const OF_THE_SERVER: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// The changes from one state of an object to another; from nothing, when it is new.
///
/// What the server itself writes is left out: status, and the metadata that changes with every write. What was added or
/// removed is named field by field in maps and item by item in lists.
pub fn changes(before: Option<&Value>, after: &Value) -> Vec<FieldChange> {
    let mut walk = Walk { mask: Mask::of(after), found: Vec::new() };
    let (nothing, none) = (Map::new(), Map::new());
    let before = before.and_then(Value::as_object).unwrap_or(&nothing);
    let after = after.as_object().unwrap_or(&none);
    for (name, before, after) in pairs(before, after) {
        let path = Path::ROOT.then(Step::Field(name));
        match name {
            "status" => {}
            "metadata" => walk.metadata(before, after, &path),
            _ => walk.value(before, after, &path),
        }
    }
    walk.found
}

/// The changes from one manifest to another: nothing is left out, for no server has written any of it.
pub fn all_changes(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut walk = Walk { mask: Mask::of(after), found: Vec::new() };
    walk.value(Some(before), Some(after), &Path::ROOT);
    walk.found
}

struct Walk {
    mask: Mask,
    found: Vec<FieldChange>,
}

// === impl Walk ===

impl Walk {
    fn metadata(&mut self, before: Option<&Value>, after: Option<&Value>, path: &Path<'_>) {
        let nothing = Map::new();
        let map = |value: Option<&'_ Value>| value.and_then(Value::as_object).cloned();
        let (before, after) = (map(before), map(after));
        let (before, after) = (before.as_ref().unwrap_or(&nothing), after.as_ref().unwrap_or(&nothing));
        for (name, before, after) in pairs(before, after) {
            if !OF_THE_SERVER.contains(&name) {
                self.value(before, after, &path.then(Step::Field(name)));
            }
        }
    }

    fn value(&mut self, before: Option<&Value>, after: Option<&Value>, path: &Path<'_>) {
        if before == after {
            return;
        }
        let nothing = Map::new();
        match (before, after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => self.map(before, after, path),
            (Some(Value::Object(before)), None) if !before.is_empty() => self.map(before, &nothing, path),
            (None, Some(Value::Object(after))) if !after.is_empty() => self.map(&nothing, after, path),
            (Some(Value::Array(before)), Some(Value::Array(after))) => self.list(before, after, path),
            _ => self.change(before, after, path),
        }
    }

    fn map(&mut self, before: &Map<String, Value>, after: &Map<String, Value>, path: &Path<'_>) {
        for (name, before, after) in pairs(before, after) {
            self.value(before, after, &path.then(Step::Field(name)));
        }
    }

    fn list(&mut self, before: &[Value], after: &[Value], path: &Path<'_>) {
        if !before.iter().chain(after).all(Value::is_object) || before.is_empty() || after.is_empty() {
            // Plain values say most side by side.
            let whole = |items: &[Value]| Value::Array(items.to_vec());
            return self.change(Some(&whole(before)), Some(&whole(after)), path);
        }
        match key_of(&[before, after]) {
            Some(names) => self.keyed(before, after, names, path),
            None => self.by_place(before, after, path),
        }
    }

    fn keyed(&mut self, before: &[Value], after: &[Value], names: &[&str], path: &Path<'_>) {
        let key = |item: &Value| key_values(item, names).unwrap_or_default();
        let text = |key: &Map<String, Value>| Value::Object(key.clone()).to_string();
        let mut old: BTreeMap<String, &Value> = before.iter().map(|item| (text(&key(item)), item)).collect();
        let mut kept = Vec::new();
        for (place, item) in after.iter().enumerate() {
            let key = key(item);
            let before = old.remove(&text(&key));
            if before.is_some() {
                kept.push(text(&key));
            }
            self.value_of_item(before, Some(item), &path.then(Step::Key(&key, place)));
        }
        for (place, item) in before.iter().enumerate() {
            let key = key(item);
            if old.contains_key(&text(&key)) {
                self.value_of_item(Some(item), None, &path.then(Step::Key(&key, place)));
            }
        }
        let was: Vec<String> =
            before.iter().map(|item| text(&key(item))).filter(|key| !old.contains_key(key)).collect();
        if was != kept {
            // Only the order: the names tell enough.
            let order = |items: &[Value]| items.iter().map(|item| item[names[0]].clone()).collect::<Value>();
            self.change(Some(&order(before)), Some(&order(after)), path);
        }
    }

    /// An item that is new or gone is one change: nobody wants to read a container as forty.
    fn value_of_item(&mut self, before: Option<&Value>, after: Option<&Value>, path: &Path<'_>) {
        if before.is_some() && after.is_some() {
            self.value(before, after, path);
        } else {
            self.change(before, after, path);
        }
    }

    /// Items that only their place tells apart: what both lists have at the start and at the end is the same.
    fn by_place(&mut self, before: &[Value], after: &[Value], path: &Path<'_>) {
        let start = before.iter().zip(after).take_while(|(before, after)| before == after).count();
        let (before, after) = (&before[start..], &after[start..]);
        let end =
            before.iter().rev().zip(after.iter().rev()).take_while(|(before, after)| before == after).count();
        let (before, after) = (&before[..before.len() - end], &after[..after.len() - end]);
        for place in 0..before.len().max(after.len()) {
            let path = path.then(Step::Index(start + place));
            self.value_of_item(before.get(place), after.get(place), &path);
        }
    }

    fn change(&mut self, before: Option<&Value>, after: Option<&Value>, path: &Path<'_>) {
        let is_change = before.is_some() && after.is_some();
        self.found.push(FieldChange {
            path: path.to_string(),
            before: before.map(|value| self.mask.value(value, path, false)),
            after: after.map(|value| self.mask.value(value, path, is_change)),
        });
    }
}

/// The fields of two maps in the order of their names.
fn pairs<'a>(
    before: &'a Map<String, Value>,
    after: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a str, Option<&'a Value>, Option<&'a Value>)> {
    let mut all: BTreeMap<&str, (Option<&Value>, Option<&Value>)> = BTreeMap::new();
    for (name, value) in before {
        all.entry(name).or_default().0 = Some(value);
    }
    for (name, value) in after {
        all.entry(name).or_default().1 = Some(value);
    }
    all.into_iter().map(|(name, (before, after))| (name, before, after))
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
