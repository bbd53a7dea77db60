//! What has to change in a live object, one change at a time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use super::PathStep;
use super::shape::{Keys, Shape};

/// One change; every path is a path in the live object as it was read.
#[derive(Debug)]
pub(super) enum Edit<'a> {
    /// The value becomes that of the manifest.
    Set(Vec<PathStep>, &'a Value),
    /// The manifest has no such field: it goes, or gets the value that a missing one stands for.
    Clear(Vec<PathStep>, Option<Value>),
    /// The list gets one more entry.
    Append(Vec<PathStep>, &'a Value),
    /// The entry of a list goes.
    RemoveItem(Vec<PathStep>),
    /// The entries of a list come into the order of the manifest.
    Arrange(Vec<PathStep>, Order),
}

/// The order that the entries of a list must have.
#[derive(Debug)]
pub(super) struct Order {
    /// What tells entries apart.
    pub(super) keys: Keys,
    /// What the entries are.
    pub(super) item: Shape,
    /// The entries in order, by their keys; others come last.
    pub(super) sequence: Vec<String>,
}

/// Makes all changes.
pub(super) fn apply(object: &mut Value, edits: Vec<Edit<'_>>) {
    let (mut shifting, steady): (Vec<_>, Vec<_>) =
        edits.into_iter().partition(|edit| matches!(edit, Edit::RemoveItem(_) | Edit::Arrange(..)));
    for edit in steady {
        make(object, edit);
    }
    // These move entries, so they come last, the end of an object first: no path that is still to come is touched by it.
    shifting.sort_by_cached_key(|edit| Reverse(edit.path().to_vec()));
    for edit in shifting {
        make(object, edit);
    }
}

fn make(object: &mut Value, edit: Edit<'_>) {
    match edit {
        Edit::Set(path, value) => put(object, &path, value.clone()),
        Edit::Clear(path, Some(value)) => put(object, &path, value),
        Edit::Clear(path, None) | Edit::RemoveItem(path) => remove(object, &path),
        Edit::Append(path, value) => {
            if let Some(Value::Array(items)) = find(object, &path) {
                items.push(value.clone());
            }
        }
        Edit::Arrange(path, order) => {
            if let Some(Value::Array(items)) = find(object, &path) {
                order.arrange(items);
            }
        }
    }
}

fn find<'a>(object: &'a mut Value, path: &[PathStep]) -> Option<&'a mut Value> {
    path.iter().try_fold(object, |value, step| match step {
        PathStep::Field(name) => value.get_mut(name),
        PathStep::Item(index) => value.get_mut(index),
    })
}

fn put(object: &mut Value, path: &[PathStep], value: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    match (find(object, parents), last) {
        (Some(Value::Object(fields)), PathStep::Field(name)) => drop(fields.insert(name.clone(), value)),
        (Some(Value::Array(items)), PathStep::Item(index)) => {
            if let Some(item) = items.get_mut(*index) {
                *item = value;
            }
        }
        _ => {}
    }
}

fn remove(object: &mut Value, path: &[PathStep]) {
    let Some((last, parents)) = path.split_last() else { return };
    match (find(object, parents), last) {
        (Some(Value::Object(fields)), PathStep::Field(name)) => drop(fields.remove(name)),
        (Some(Value::Array(items)), PathStep::Item(index)) if *index < items.len() => {
            items.remove(*index);
        }
        _ => {}
    }
}

// === impl Edit ===

impl Edit<'_> {
    fn path(&self) -> &[PathStep] {
        match self {
            Self::Set(path, _)
            | Self::Clear(path, _)
            | Self::Append(path, _)
            | Self::RemoveItem(path)
            | Self::Arrange(path, _) => path,
        }
    }
}

// === impl Order ===

impl Order {
    fn arrange(&self, items: &mut [Value]) {
        let places: BTreeMap<&str, usize> =
            self.sequence.iter().enumerate().map(|(place, key)| (key.as_str(), place)).collect();
        items.sort_by_cached_key(|item| {
            self.item
                .key(self.keys, item)
                .and_then(|key| places.get(key.as_str()).copied())
                .unwrap_or(usize::MAX)
        });
    }
}
