//! The live value with an applied one laid over it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::element::PathElement;
use super::types::{List, ListMerge, Shape, TypeRef};

/// Merges two values that were validated against the type: what `over` names wins, what it does not name stays.
///
/// An item that `live` has twice is replaced by the one of `over`. A null over a list or map that merges key by key
/// changes nothing; over everything else it wins.
pub(crate) fn merge(ty: TypeRef<'_>, live: &Value, over: &Value) -> Value {
    match ty.atom().shape(over) {
        Some(Shape::Map(map)) if !map.atomic => {
            let (old, new) = (live.as_object(), over.as_object());
            let is_empty = |map: Option<&serde_json::Map<_, _>>| map.is_none_or(serde_json::Map::is_empty);
            if is_empty(old) && is_empty(new) {
                return over.clone();
            }
            let mut out = serde_json::Map::new();
            for (name, value) in old.into_iter().flatten() {
                let value = match new.and_then(|new| new.get(name)) {
                    Some(over) => ty.key(map, name).map_or_else(|| over.clone(), |ty| merge(ty, value, over)),
                    None => value.clone(),
                };
                out.insert(name.clone(), value);
            }
            for (name, value) in new.into_iter().flatten() {
                if !out.contains_key(name) {
                    out.insert(name.clone(), value.clone());
                }
            }
            Value::Object(out)
        }
        Some(Shape::List(list)) if list.merge != ListMerge::Atomic => {
            let items = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
            if items(live) && items(over) { over.clone() } else { merge_lists(ty, list, live, over) }
        }
        _ => over.clone(),
    }
}

/// The items of a list with what identifies them.
type Items<'v> = Vec<(PathElement, &'v Value)>;

/// Items of both lists in the order of the applied one; items of the live one stay behind the item they followed.
fn merge_lists(ty: TypeRef<'_>, list: &List, live: &Value, over: &Value) -> Value {
    let element = ty.at(list.element);
    let (left, right) = (items(ty, list, live), items(ty, list, over));
    let mut left_by_key: BTreeMap<&PathElement, &Value> = BTreeMap::new();
    for (key, value) in &left {
        // Nothing of an item that is there twice is merged.
        left_by_key.entry(key).and_modify(|it| *it = &Value::Null).or_insert(value);
    }
    let right_by_key: BTreeMap<&PathElement, &Value> =
        right.iter().map(|(key, value)| (key, *value)).collect();
    let merged = |key: &PathElement| match (left_by_key.get(key), right_by_key.get(key)) {
        (Some(live), Some(over)) => merge(element, live, over),
        (_, over) => over.map_or(Value::Null, |over| (*over).clone()),
    };

    let mut shared = right.iter().map(|(key, _)| key).filter(|key| left_by_key.contains_key(key));
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((key, _)), Some((right_key, _))) = (left.get(l), right.get(r)) {
            if key == right_key {
                done.insert(key);
                out.push(merged(key));
                (l, r) = (l + 1, r + 1);
                next_shared = shared.next();
                continue;
            }
            if right_by_key.contains_key(key) && next_shared.is_some_and(|next| next != key) {
                // It is in both lists, but its turn comes later.
                l += 1;
                continue;
            }
        }
        if let Some((key, value)) = left.get(l) {
            if !right_by_key.contains_key(key) {
                out.push((*value).clone());
                l += 1;
                continue;
            } else if done.contains(key) {
                l += 1;
            }
        }
        if let Some((key, _)) = right.get(r) {
            done.insert(key);
            out.push(merged(key));
            r += 1;
            if next_shared == Some(key) {
                next_shared = shared.next();
            }
        }
    }
    Value::Array(out)
}

fn items<'v>(ty: TypeRef<'_>, list: &List, value: &'v Value) -> Items<'v> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| Some((PathElement::of_item(ty, list, item).ok()?, item))).collect()
}

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;
    use serde_json::json;

    use super::*;
    use crate::fields::types::{builtin_type, custom_types};

    fn of(api_version: &str, kind: &str, live: &Value, over: &Value) -> Value {
        merge(builtin_type(Schema::builtin().kind(api_version, kind).unwrap()), live, over)
    }

    fn order(live: &str, over: &str) -> String {
        let object = |text: &str| {
            let items: Vec<_> = text.chars().map(String::from).collect();
            json!({"metadata": {"finalizers": items}})
        };
        let merged = of("v1", "Secret", &object(live), &object(over));
        merged["metadata"]["finalizers"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
    }

    #[test]
    fn items_take_the_order_of_the_applier_and_the_others_keep_their_place() {
        let cases = [
            ("abc", "abc", "abc"),
            ("abc", "cba", "cba"),
            ("abc", "b", "abc"),
            ("abc", "d", "abcd"),
            ("abcd", "db", "acdb"),
            ("ab", "xaby", "xaby"),
            ("", "ab", "ab"),
        ];
        for (live, over, expected) in cases {
            assert_eq!(order(live, over), expected, "{live} {over}");
        }
    }

    #[test]
    fn fields_that_the_applier_does_not_name_stay() {
        let live =
            json!({"spec": {"type": "ClusterIP", "ports": [{"port": 1, "name": "a", "targetPort": 2}]}});
        let over = json!({"spec": {"ports": [{"port": 1, "protocol": "TCP", "name": "b"}]}});
        assert_eq!(
            of("v1", "Service", &live, &over),
            json!({"spec": {"type": "ClusterIP",
                "ports": [{"port": 1, "protocol": "TCP", "name": "b", "targetPort": 2}]}})
        );
    }

    #[test]
    fn atomic_values_are_replaced() {
        let live = json!({"spec": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a"}]}});
        let over = json!({"spec": {"nodeSelector": {"c": "d"}, "tolerations": [{"key": "b"}]}});
        assert_eq!(of("v1", "Pod", &live, &over), over);
    }

    #[test]
    fn null_replaces_scalars_but_not_maps_and_lists_that_merge() {
        let live = json!({"spec": {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 1}}}});
        let over = json!({"spec": {"replicas": null, "strategy": {"rollingUpdate": null}}});
        assert_eq!(
            of("apps/v1", "Deployment", &live, &over),
            json!({"spec": {"replicas": null, "strategy": {"rollingUpdate": {"maxSurge": 1}}}})
        );
    }

    #[test]
    fn an_untyped_value_may_become_something_else() {
        let types = custom_types(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
        let live = json!({"a": {"b": 1}, "c": [1], "d": 1, "e": {}});
        let over = json!({"a": 1, "c": {"x": 1}, "d": null, "e": []});
        assert_eq!(merge(types.root(), &live, &over), over);
    }

    #[test]
    fn the_item_of_the_applier_replaces_one_that_is_there_twice() {
        let live = json!({"spec": {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}});
        let over = json!({"spec": {"ports": [{"port": 1, "nodePort": 9}]}});
        assert_eq!(of("v1", "Service", &live, &over), over);
    }
}
