//! What differs between two values of one type.

use std::collections::BTreeMap;

use serde_json::Value;

use super::element::PathElement;
use super::set::FieldSet;
use super::types::{Kinds, List, ListMerge, Map, Shape, TypeRef};

/// The fields in which two values differ.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

/// How a value itself differs, apart from what is below it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Added,
    Modified,
    Removed,
}

/// Compares two values that were validated against the type.
pub(crate) fn compare(ty: TypeRef<'_>, old: &Value, new: &Value) -> Comparison {
    let mut out = Comparison::default();
    node(ty, Some(old), Some(new), &mut out);
    out
}

/// Whether two values are equal; numbers are compared by value.
pub(crate) fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| one.0 == other.0 && is_equal(one.1, other.1))
        }
        _ => one == other,
    }
}

// === impl Comparison ===

impl Comparison {
    /// Takes some trees of fields out of the comparison.
    pub(crate) fn exclude(&mut self, trees: &FieldSet) {
        for set in [&mut self.added, &mut self.modified, &mut self.removed] {
            set.subtract_trees(trees);
        }
    }

    fn child(
        &mut self,
        ty: TypeRef<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        at: impl FnOnce() -> PathElement,
    ) {
        let mut below = Self::default();
        let mark = node(ty, old, new, &mut below);
        if mark != Mark::Same || below != Self::default() {
            let at = at();
            self.added.put(at.clone(), mark == Mark::Added, below.added);
            self.modified.put(at.clone(), mark == Mark::Modified, below.modified);
            self.removed.put(at, mark == Mark::Removed, below.removed);
        }
    }
}

fn node(ty: TypeRef<'_>, old: Option<&Value>, new: Option<&Value>, out: &mut Comparison) -> Mark {
    let atom = ty.atom();
    let kinds = |value: Option<&Value>| value.map(|value| atom.kinds(value));
    match (kinds(old), kinds(new)) {
        (None, None) => Mark::Same,
        (Some(kinds), None) => {
            as_kinds(ty, kinds, old, new, out);
            Mark::Removed
        }
        (None, Some(kinds)) => {
            as_kinds(ty, kinds, old, new, out);
            Mark::Added
        }
        (Some(one), Some(other)) if one == other => as_kinds(ty, one, old, new, out),
        // The value became something else: what was below it is gone, what is below it is new.
        (Some(one), Some(other)) => {
            let before = as_kinds(ty, one, old, new, out);
            let after = as_kinds(ty, other, old, new, out);
            if before == Mark::Same { after } else { before }
        }
    }
}

fn as_kinds(
    ty: TypeRef<'_>,
    kinds: Kinds,
    old: Option<&Value>,
    new: Option<&Value>,
    out: &mut Comparison,
) -> Mark {
    match ty.atom().pick(kinds) {
        Some(Shape::Map(map)) => {
            let (one, other) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
            let is_empty = |map: Option<&serde_json::Map<_, _>>| map.is_none_or(serde_json::Map::is_empty);
            if map.atomic || is_empty(one) && is_empty(other) {
                return leaf(old, new);
            }
            maps(ty, map, one, other, out);
        }
        Some(Shape::List(list)) => {
            let (one, other) = (items(old), items(new));
            if list.merge == ListMerge::Atomic || one.is_empty() && other.is_empty() {
                return leaf(old, new);
            }
            lists(ty, list, one, other, out);
        }
        Some(Shape::Scalar(_)) => return leaf(old, new),
        None => {}
    }
    Mark::Same
}

/// A value that is not looked into.
fn leaf(old: Option<&Value>, new: Option<&Value>) -> Mark {
    match (old, new) {
        (None, None) => Mark::Same,
        (None, Some(_)) => Mark::Added,
        (Some(_), None) => Mark::Removed,
        (Some(old), Some(new)) if is_equal(old, new) => Mark::Same,
        (Some(_), Some(_)) => Mark::Modified,
    }
}

type Object = serde_json::Map<String, Value>;

fn maps(ty: TypeRef<'_>, map: &Map, old: Option<&Object>, new: Option<&Object>, out: &mut Comparison) {
    for (name, value) in old.into_iter().flatten() {
        if let Some(ty) = ty.key(map, name) {
            out.child(ty, Some(value), new.and_then(|new| new.get(name)), || PathElement::field(name));
        }
    }
    for (name, value) in new.into_iter().flatten() {
        if old.is_none_or(|old| !old.contains_key(name))
            && let Some(ty) = ty.key(map, name)
        {
            out.child(ty, None, Some(value), || PathElement::field(name));
        }
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn lists(ty: TypeRef<'_>, list: &List, old: &[Value], new: &[Value], out: &mut Comparison) {
    let mut items: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for item in old {
        if let Ok(key) = PathElement::of_item(ty, list, item) {
            items.entry(key).or_default().0.push(item);
        }
    }
    for item in new {
        if let Ok(key) = PathElement::of_item(ty, list, item) {
            items.entry(key).or_default().1.push(item);
        }
    }
    let element = ty.at(list.element);
    for (key, (old, new)) in items {
        let (first_old, first_new) = (old.first().copied(), new.first().copied());
        match (old.len(), new.len()) {
            (0 | 1, 0 | 1) => out.child(element, first_old, first_new, || key),
            // Items that occur twice have no fields that could be compared; they are one value together.
            (2.., 2..) => {
                let same =
                    old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| is_equal(old, new));
                out.modified.put(key, !same, FieldSet::default());
            }
            (2.., _) => {
                out.child(element, None, first_new, || key.clone());
                out.removed.put(key, true, FieldSet::default());
            }
            (_, _) => {
                out.child(element, first_old, None, || key.clone());
                out.added.put(key, true, FieldSet::default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;
    use serde_json::json;

    use super::*;
    use crate::fields::types::{builtin_type, custom_types};

    fn paths(comparison: &Comparison) -> [Vec<String>; 3] {
        [comparison.added.paths(), comparison.modified.paths(), comparison.removed.paths()]
    }

    fn of(api_version: &str, kind: &str, old: &Value, new: &Value) -> [Vec<String>; 3] {
        paths(&compare(builtin_type(Schema::builtin().kind(api_version, kind).unwrap()), old, new))
    }

    fn untyped(old: &Value, new: &Value) -> [Vec<String>; 3] {
        let types = custom_types(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
        paths(&compare(types.root(), old, new))
    }

    fn texts(paths: [&[&str]; 3]) -> [Vec<String>; 3] {
        paths.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn keys_of_maps_are_added_changed_and_removed() {
        let old = json!({"data": {"a": "1", "b": "1", "c": "1"}});
        let new = json!({"data": {"b": "2", "c": "1", "d": "1"}});
        assert_eq!(of("v1", "ConfigMap", &old, &new), texts([&[".data.d"], &[".data.b"], &[".data.a"]]));
    }

    #[test]
    fn items_are_found_by_their_keys_whatever_their_order() {
        let old = json!({"spec": {"ports": [{"port": 1}, {"port": 2, "name": "x"}]}});
        let new = json!({"spec": {"ports": [{"port": 3}, {"port": 2, "protocol": "TCP"}]}});
        assert_eq!(
            of("v1", "Service", &old, &new),
            texts([
                &[
                    ".spec.ports[port=3,protocol=\"TCP\"]",
                    ".spec.ports[port=2,protocol=\"TCP\"].protocol",
                    ".spec.ports[port=3,protocol=\"TCP\"].port",
                ],
                &[],
                &[
                    ".spec.ports[port=1,protocol=\"TCP\"]",
                    ".spec.ports[port=1,protocol=\"TCP\"].port",
                    ".spec.ports[port=2,protocol=\"TCP\"].name",
                ],
            ])
        );
    }

    #[test]
    fn reordering_is_no_difference_except_in_atomic_lists() {
        let service = |one: u16, other: u16| json!({"spec": {"ports": [{"port": one}, {"port": other}]}});
        assert_eq!(of("v1", "Service", &service(1, 2), &service(2, 1)), texts([&[], &[], &[]]));
        let role = |one: &str, other: &str| json!({"rules": [{"verbs": [one, other]}]});
        let rbac = "rbac.authorization.k8s.io/v1";
        assert_eq!(of(rbac, "Role", &role("a", "b"), &role("b", "a")), texts([&[], &[".rules"], &[]]));
    }

    #[test]
    fn a_value_that_becomes_something_else_is_changed_and_loses_what_was_below() {
        assert_eq!(untyped(&json!({"a": {"b": 1}}), &json!({"a": 5})), texts([&[], &[".a"], &[".a.b"]]));
        assert_eq!(untyped(&json!({"a": 5}), &json!({"a": {"b": 1}})), texts([&[".a.b"], &[".a"], &[]]));
    }

    #[test]
    fn empty_and_null_are_told_apart() {
        assert_eq!(untyped(&json!({"a": {}}), &json!({"a": null})), texts([&[], &[".a"], &[]]));
        assert_eq!(untyped(&json!({"a": 1}), &json!({"a": 1.0})), texts([&[], &[], &[]]));
    }

    #[test]
    fn duplicates_are_one_value() {
        let set = |items: &[&str]| json!({"metadata": {"finalizers": items}});
        let at = ".metadata.finalizers[=\"a\"]";
        assert_eq!(of("v1", "Secret", &set(&["a", "a"]), &set(&["a", "a", "a"])), texts([&[], &[at], &[]]));
        assert_eq!(of("v1", "Secret", &set(&["a", "a"]), &set(&["a"])), texts([&[at], &[], &[at]]));
        assert_eq!(of("v1", "Secret", &set(&["a"]), &set(&["a", "a"])), texts([&[at], &[], &[at]]));
    }
}
