//! Which parts of an object did not change, as the server sees it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::crd::structural::Structural;

/// The items of a list before the change, found by their keys.
pub(super) struct OldItems<'a> {
    keys: &'a [Box<str>],
    items: BTreeMap<Vec<String>, &'a Value>,
}

// === impl OldItems ===

impl<'a> OldItems<'a> {
    /// Only lists of the type `map` have items that can be matched.
    pub(super) fn of(node: &'a Structural, old: &'a Value) -> Option<Self> {
        let list = old.as_array()?;
        if node.list_type.as_deref() != Some("map") || node.type_name.as_deref() != Some("array") {
            return None;
        }
        let keys = node.list_map_keys.as_slice();
        let mut items = BTreeMap::new();
        for item in list {
            if let Some(key) = key_of(keys, item) {
                items.entry(key).or_insert(item);
            }
        }
        Some(Self { keys, items })
    }

    /// The old item with the same keys.
    pub(super) fn matching(&self, item: &Value) -> Option<&'a Value> {
        self.items.get(&key_of(self.keys, item)?).copied()
    }
}

/// The values of the keys; `None` unless all of them are there and scalar.
fn key_of(keys: &[Box<str>], item: &Value) -> Option<Vec<String>> {
    if keys.is_empty() {
        return None;
    }
    let scalar = |value: &Value| {
        (!value.is_null() && !value.is_array() && !value.is_object()).then(|| value.to_string())
    };
    keys.iter().map(|key| item.get(&**key).and_then(scalar)).collect()
}

/// Whether a value counts as unchanged. A field that the schema does not know makes its object count as changed.
pub(super) fn is_same(node: &Structural, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new_list), Value::Array(old_list)) => {
            if new_list.len() != old_list.len() {
                return false;
            }
            match (OldItems::of(node, old), &node.items) {
                (Some(before), Some(items)) => new_list
                    .iter()
                    .all(|item| before.matching(item).is_some_and(|old| is_same(items, item, old))),
                _ => new == old,
            }
        }
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(key, value)| match (node.field(key), old.get(key)) {
                    (Some(schema), Some(old)) => is_same(schema, value, old),
                    _ => false,
                })
        }
        _ => new == old,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keyed_items_does_not_count() {
        let node = Structural::parse(&json!({"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"], "items": {"properties": {"k": {}}}}));
        let (one, other) = (json!([{"k": 1}, {"k": 2}]), json!([{"k": 2}, {"k": 1}]));
        assert!(is_same(&node, &one, &other));
        assert!(!is_same(&Structural::parse(&json!({"type": "array", "items": {}})), &one, &other));
    }

    #[test]
    fn a_field_without_schema_makes_its_object_different() {
        let node = Structural::parse(&json!({"x-kubernetes-preserve-unknown-fields": true}));
        assert!(!is_same(&node, &json!({"a": 1}), &json!({"a": 1})));
    }
}
