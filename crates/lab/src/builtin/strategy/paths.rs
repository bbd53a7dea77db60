//! Values of an object by their path.

use serde_json::{Value, json};

/// The value at a path; nothing when it is missing or null.
pub(super) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name)).filter(|value| !value.is_null())
}

/// Sets the value at a path, and makes the maps on the way.
pub(super) fn put(object: &mut Value, path: &[&str], value: Value) {
    let mut place = object;
    for name in path {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[*name];
    }
    *place = value;
}

/// Sets the value at a path where there is none.
pub(super) fn put_new(object: &mut Value, path: &[&str], value: &Value) {
    if at(object, path).is_none() {
        put(object, path, value.clone());
    }
}

/// Sets or removes the value at a path.
pub(super) fn put_or_remove(object: &mut Value, path: &[&str], value: Option<Value>) {
    match value {
        Some(value) => put(object, path, value),
        None => remove(object, path),
    }
}

/// Removes the value at a path; what is around it stays.
pub(super) fn remove(object: &mut Value, path: &[&str]) {
    let Some((last, way)) = path.split_last() else { return };
    let place = way.iter().try_fold(object, |value, name| value.get_mut(name));
    if let Some(map) = place.and_then(Value::as_object_mut) {
        map.remove(*last);
    }
}

/// Makes the value at a path what it was.
pub(super) fn copy(new: &mut Value, old: &Value, path: &[&str]) {
    if at(new, path) != at(old, path) {
        put_or_remove(new, path, at(old, path).cloned());
    }
}

/// Whether two values mean the same: missing is as good as empty.
pub(super) fn is_equal(one: Option<&Value>, other: Option<&Value>) -> bool {
    let empty = |value: &Value| match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    match (one, other) {
        (None, Some(value)) | (Some(value), None) => empty(value),
        (one, other) => one == other,
    }
}
