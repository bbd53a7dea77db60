//! The fields that a value names: what an applier owns.

use std::collections::BTreeMap;

use serde_json::Value;

use super::element::PathElement;
use super::set::FieldSet;
use super::types::{List, ListMerge, Map, Shape, TypeRef};

/// Every leaf, item and undeclared key of a value.
pub(crate) fn owned_fields(ty: TypeRef<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    walk(ty, value, &mut set);
    set
}

/// Puts what is below a value into `set` and says whether the value itself is a leaf.
fn walk(ty: TypeRef<'_>, value: &Value, set: &mut FieldSet) -> bool {
    match ty.atom().shape(value) {
        Some(Shape::Scalar(_)) => true,
        Some(Shape::Map(map)) if map.atomic => true,
        Some(Shape::List(list)) if list.merge == ListMerge::Atomic => true,
        Some(Shape::Map(map)) => {
            walk_map(ty, map, value, set);
            false
        }
        Some(Shape::List(list)) => {
            walk_list(ty, list, value, set);
            false
        }
        None => false,
    }
}

fn walk_map(ty: TypeRef<'_>, map: &Map, value: &Value, set: &mut FieldSet) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let Some(ty) = ty.key(map, name) else { continue };
        let mut below = FieldSet::default();
        let is_leaf = walk(ty, value, &mut below);
        let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        set.put(
            PathElement::field(name),
            is_leaf || is_empty || !map.fields.contains_key(name.as_str()),
            below,
        );
    }
}

fn walk_list(ty: TypeRef<'_>, list: &List, value: &Value, set: &mut FieldSet) {
    let mut items: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
    for item in value.as_array().into_iter().flatten() {
        if let Ok(key) = PathElement::of_item(ty, list, item) {
            items.entry(key).or_default().push(item);
        }
    }
    for (key, items) in items {
        let mut below = FieldSet::default();
        // Of items that occur twice only the item is owned, not its fields.
        if let [item] = items.as_slice() {
            walk(ty.at(list.element), item, &mut below);
        }
        set.put(key, true, below);
    }
}

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;
    use serde_json::json;

    use super::*;
    use crate::fields::types::{builtin_type, custom_types};

    fn fields(api_version: &str, kind: &str, value: &Value) -> Value {
        owned_fields(builtin_type(Schema::builtin().kind(api_version, kind).unwrap()), value).encode()
    }

    #[test]
    fn items_and_keys_of_maps_are_owned_and_structs_are_not() {
        let value = json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"nodeSelector": {"x": "y"}, "volumes": [], "containers": [
                {"name": "c", "args": ["1", "2"], "resources": {}, "ports": [{"containerPort": 80}]},
            ]},
        }}});
        assert_eq!(
            fields("apps/v1", "Deployment", &value),
            json!({"f:spec": {"f:selector": {}, "f:template": {
                "f:metadata": {"f:labels": {"f:a": {}}},
                "f:spec": {"f:nodeSelector": {}, "f:containers": {"k:{\"name\":\"c\"}": {
                    ".": {}, "f:name": {}, "f:args": {}, "f:resources": {},
                    "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                }}},
            }}})
        );
    }

    #[test]
    fn empty_lists_are_owned_only_when_they_are_atomic() {
        let value = json!({"metadata": {"finalizers": [], "labels": {}}, "secrets": null});
        assert_eq!(
            fields("v1", "ServiceAccount", &value),
            json!({"f:metadata": {"f:labels": {}}, "f:secrets": {}})
        );
        assert_eq!(
            fields("rbac.authorization.k8s.io/v1", "ClusterRole", &json!({"rules": []})),
            json!({"f:rules": {}})
        );
    }

    #[test]
    fn untyped_maps_own_every_key_on_the_way() {
        let types = custom_types(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
        let set = owned_fields(types.root(), &json!({"spec": {"a": {"b": 1, "c": [{"d": 1}]}}}));
        assert_eq!(set.encode(), json!({"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}, "f:c": {}}}}));
    }

    #[test]
    fn an_item_that_occurs_twice_is_owned_without_its_fields() {
        let value = json!({"spec": {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}});
        assert_eq!(
            fields("v1", "Service", &value),
            json!({"f:spec": {"f:ports": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {}}}})
        );
    }
}
