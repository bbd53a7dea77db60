//! JSON patch (RFC 6902) with the liberties that the real server takes.
//!
//! - A replaced or tested key of an object need not be there: replacing adds it, an absent one equals `null`.
//! - Copying what is not there copies `null`; adding without a value adds `null`.
//! - Indexes of lists may be negative and then count from the end.
//! - What stands before the first slash of a path is ignored.

use serde_json::{Map, Value};

/// Applies the operations of a patch one after the other; fails with the first that does not apply.
pub(crate) fn apply(mut document: Value, operations: &[Value]) -> Result<Value, String> {
    let mut copied = 0;
    for operation in operations {
        document = step(document, operation, &mut copied)?;
    }
    Ok(document)
}

/// How many bytes one patch may copy, as on the real server.
const MOST_COPIED: usize = 3 << 20;
/// How deep a patch may build; deeper documents cannot be read again.
const DEEPEST: usize = 120;

/// Refuses a value that would reach too deep at a path.
fn check_depth(path: &str, value: &Value) -> Result<(), String> {
    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }
    if path.split('/').count() + depth(value) > DEEPEST {
        return Err(format!("the document would be more than {DEEPEST} levels deep"));
    }
    Ok(())
}

fn step(mut document: Value, operation: &Value, copied: &mut usize) -> Result<Value, String> {
    let text = |key: &str| {
        operation.get(key).and_then(Value::as_str).ok_or_else(|| format!("operation missing {key} field"))
    };
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    let kind = text("op").unwrap_or("unknown");
    match kind {
        "add" => {
            let value = value();
            check_depth(text("path")?, &value)?;
            let (holder, key) = find(&mut document, text("path")?)?;
            add(holder, &key, value)?;
        }
        "remove" => {
            let (holder, key) = find(&mut document, text("path")?)?;
            remove(holder, &key)?;
        }
        "replace" => {
            let path = text("path")?;
            if path.is_empty() {
                let value = value();
                let is_document = value.is_object() || value.is_array();
                return if is_document { Ok(value) } else { Err("value must be object or array".to_owned()) };
            }
            let value = value();
            check_depth(path, &value)?;
            let (holder, key) = find(&mut document, path)?;
            get(holder, &key)?;
            set(holder, key, value);
        }
        "move" => {
            let (holder, key) = find(&mut document, text("from")?)?;
            let value = get(holder, &key)?;
            remove(holder, &key)?;
            check_depth(text("path")?, &value)?;
            let (holder, key) = find(&mut document, text("path")?)?;
            add(holder, &key, value)?;
        }
        "copy" => {
            let (holder, key) = find(&mut document, text("from")?)?;
            let value = get(holder, &key)?;
            check_depth(text("path")?, &value)?;
            *copied += value.to_string().len();
            if *copied > MOST_COPIED {
                return Err(format!("the operations copy more than {MOST_COPIED} bytes"));
            }
            let (holder, key) = find(&mut document, text("path")?)?;
            add(holder, &key, value)?;
        }
        "test" => {
            let path = text("path")?;
            let found = if path.is_empty() {
                document.clone()
            } else {
                let (holder, key) = find(&mut document, path)?;
                get(holder, &key)?
            };
            if found != value() {
                return Err(format!("testing value {path} failed: test failed"));
            }
        }
        other => return Err(format!("Unexpected kind: {other}")),
    }
    Ok(document)
}

/// The object or list that holds what a path names, and its key there.
fn find<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), String> {
    let missing = || format!("doc is missing path: {path:?}");
    let (_, path) = path.split_once('/').ok_or_else(missing)?;
    let (parents, key) = path.rsplit_once('/').map_or((None, path), |(parents, key)| (Some(parents), key));
    let mut holder = document;
    for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
        let part = unescape(part);
        holder = match holder {
            Value::Object(fields) => fields.get_mut(&part),
            Value::Array(items) => index(&part, items.len()).and_then(|at| items.get_mut(at)),
            _ => None,
        }
        .ok_or_else(missing)?;
    }
    if holder.is_object() || holder.is_array() { Ok((holder, unescape(key))) } else { Err(missing()) }
}

fn unescape(key: &str) -> String {
    if key.contains('~') { key.replace("~1", "/").replace("~0", "~") } else { key.to_owned() }
}

/// The place that an index means in a list of some length; it may be right behind the end.
fn index(key: &str, length: usize) -> Option<usize> {
    let number: i64 = key.parse().ok()?;
    let from_end = usize::try_from(number.unsigned_abs()).ok()?;
    let at = if number < 0 { length.checked_sub(from_end)? } else { from_end };
    (at <= length).then_some(at)
}

fn invalid(key: &str) -> String {
    format!("Unable to access invalid index: {key}")
}

/// What is there; an absent key of an object is null.
fn get(holder: &Value, key: &str) -> Result<Value, String> {
    match holder {
        Value::Array(items) => {
            let found = index(key, items.len()).and_then(|at| items.get(at));
            found.cloned().ok_or_else(|| invalid(key))
        }
        holder => Ok(holder.get(key).cloned().unwrap_or(Value::Null)),
    }
}

/// Puts a value where [`get`] has found one.
fn set(holder: &mut Value, key: String, value: Value) {
    match holder {
        Value::Array(items) => {
            if let Some(place) = index(&key, items.len()).and_then(|at| items.get_mut(at)) {
                *place = value;
            }
        }
        Value::Object(fields) => drop(fields.insert(key, value)),
        _ => {}
    }
}

fn add(holder: &mut Value, key: &str, value: Value) -> Result<(), String> {
    match holder {
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            // From the end means from behind the last one here.
            let places = items.len() + 1;
            let at = index(key, places).filter(|at| *at < places).ok_or_else(|| invalid(key))?;
            items.insert(at, value);
        }
        holder => set(holder, key.to_owned(), value),
    }
    Ok(())
}

fn remove(holder: &mut Value, key: &str) -> Result<(), String> {
    match holder {
        Value::Array(items) => {
            let at = index(key, items.len()).filter(|at| *at < items.len()).ok_or_else(|| invalid(key))?;
            items.remove(at);
            Ok(())
        }
        holder => {
            let removed = holder.as_object_mut().and_then(|fields| fields.remove(key));
            removed.map(drop).ok_or_else(|| format!("Unable to remove nonexistent key: {key}"))
        }
    }
}

/// Merge patch (RFC 7386) as the real server does it: a list that takes the place of an object keeps the nulls inside.
pub(crate) fn merge(live: Value, patch: Value) -> Value {
    match (live, patch) {
        (Value::Object(mut fields), Value::Object(patch)) => {
            merge_fields(&mut fields, patch);
            Value::Object(fields)
        }
        (Value::Object(_), patch) => patch,
        (_, patch) => without_nulls(patch),
    }
}

fn merge_fields(fields: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, value) in patch {
        if value.is_null() {
            fields.remove(&key);
            continue;
        }
        let merged = match fields.remove(&key) {
            None | Some(Value::Null) => without_nulls(value),
            Some(before) => merge(before, value),
        };
        fields.insert(key, merged);
    }
}

/// A new value: what it says to remove is not there.
fn without_nulls(mut value: Value) -> Value {
    drop_nulls(&mut value);
    value
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "callers hand over what they have just written")]
    fn patched(document: Value, operations: Value) -> Option<Value> {
        apply(document, operations.as_array().unwrap()).ok()
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers hand over what they have just written")]
    fn one(document: Value, op: &str, path: &str, value: Value) -> Option<Value> {
        patched(document, json!([{"op": op, "path": path, "value": value}]))
    }

    #[test]
    fn the_six_operations_do_what_they_say() {
        let after = patched(
            json!({"a": 1, "b": {"c": [1, 2]}}),
            json!([
                {"op": "test", "path": "/a", "value": 1},
                {"op": "add", "path": "/b/c/0", "value": 0},
                {"op": "add", "path": "/b/c/-", "value": 3},
                {"op": "replace", "path": "/a", "value": 2},
                {"op": "copy", "from": "/b/c", "path": "/d"},
                {"op": "move", "from": "/b", "path": "/e"},
                {"op": "remove", "path": "/d/1"},
            ]),
        );
        assert_eq!(after, Some(json!({"a": 2, "d": [0, 2, 3], "e": {"c": [0, 1, 2, 3]}})));
    }

    #[test]
    fn absent_keys_of_objects_are_null() {
        assert_eq!(one(json!({}), "replace", "/a", json!(1)), Some(json!({"a": 1})));
        assert_eq!(one(json!({}), "test", "/a", json!(null)), Some(json!({})));
        assert_eq!(one(json!({}), "test", "/a", json!(1)), None);
        assert_eq!(
            patched(json!({}), json!([{"op": "copy", "from": "/a", "path": "/b"}])),
            Some(json!({"b": null}))
        );
        assert_eq!(patched(json!({}), json!([{"op": "add", "path": "/b"}])), Some(json!({"b": null})));
        assert_eq!(patched(json!({}), json!([{"op": "remove", "path": "/b"}])), None);
        assert_eq!(one(json!({}), "add", "/a/b", json!(1)), None);
        assert_eq!(one(json!({"a": "x"}), "add", "/a/b", json!(1)), None);
    }

    #[test]
    fn negative_indexes_count_from_the_end() {
        let list = || json!({"l": ["a", "b"]});
        assert_eq!(one(list(), "replace", "/l/-1", json!("x")), Some(json!({"l": ["a", "x"]})));
        assert_eq!(one(list(), "add", "/l/-1", json!("x")), Some(json!({"l": ["a", "b", "x"]})));
        assert_eq!(one(list(), "add", "/l/-3", json!("x")), Some(json!({"l": ["x", "a", "b"]})));
        assert_eq!(one(list(), "add", "/l/2", json!("x")), Some(json!({"l": ["a", "b", "x"]})));
        assert_eq!(one(list(), "remove", "/l/-2", json!(null)), Some(json!({"l": ["b"]})));
        for (op, path) in
            [("add", "/l/3"), ("add", "/l/-4"), ("remove", "/l/2"), ("replace", "/l/2"), ("test", "/l/x")]
        {
            assert_eq!(one(list(), op, path, json!(null)), None, "{op} {path}");
        }
    }

    #[test]
    fn what_stands_before_the_first_slash_is_ignored() {
        assert_eq!(one(json!({}), "add", "a/b", json!(1)), Some(json!({"b": 1})));
        assert_eq!(one(json!({}), "add", "ab", json!(1)), None);
        assert_eq!(one(json!({}), "add", "/a~1b~0c", json!(1)), Some(json!({"a/b~c": 1})));
    }

    #[test]
    fn operations_that_are_none_are_refused() {
        assert_eq!(one(json!({}), "spin", "/a", json!(1)), None);
        assert_eq!(patched(json!({}), json!([null])), None);
        assert_eq!(patched(json!({}), json!([{"op": "add", "value": 1}])), None);
    }

    #[test]
    fn a_merge_patch_removes_with_null_and_replaces_lists() {
        let live = json!({"a": {"b": 1, "c": [1, 2]}, "d": 1});
        let patch = json!({"a": {"b": null, "c": [3], "e": {"f": null, "g": 1}}});
        assert_eq!(merge(live, patch), json!({"a": {"c": [3], "e": {"g": 1}}, "d": 1}));
    }

    #[test]
    fn nulls_inside_lists_of_a_merge_patch_go_unless_the_list_replaces_an_object() {
        let patch = || json!({"l": [{"a": null}, null]});
        assert_eq!(merge(json!({"l": [1]}), patch()), json!({"l": [{}, null]}));
        assert_eq!(merge(json!({}), patch()), json!({"l": [{}, null]}));
        assert_eq!(merge(json!({"l": {"x": 1}}), patch()), json!({"l": [{"a": null}, null]}));
    }
}
