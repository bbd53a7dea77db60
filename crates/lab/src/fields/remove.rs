//! Taking fields out of a value.

use serde_json::Value;

use super::element::PathElement;
use super::set::FieldSet;
use super::types::{List, ListMerge, Map, Shape, TypeRef};

/// Takes the members of a set out of a value.
///
/// A map or list that loses everything becomes null, and so does an atomic one that would lose anything. The server does
/// so as well: an applier that empties an object it owns gets a null, which a custom resource then refuses.
pub(crate) fn remove_fields(ty: TypeRef<'_>, value: &mut Value, fields: &FieldSet) {
    if fields.is_empty() {
        return;
    }
    let is_left = match ty.atom().shape(value) {
        Some(Shape::Map(map)) => !map.atomic && remove_keys(ty, map, value, fields),
        Some(Shape::List(list)) => list.merge != ListMerge::Atomic && remove_items(ty, list, value, fields),
        Some(Shape::Scalar(_)) | None => true,
    };
    if !is_left {
        *value = Value::Null;
    }
}

fn remove_keys(ty: TypeRef<'_>, map: &Map, value: &mut Value, fields: &FieldSet) -> bool {
    let Value::Object(object) = value else { return false };
    object.retain(|name, value| {
        let Some(node) = fields.nodes.get(&PathElement::field(name)) else { return true };
        if !node.member
            && let Some(ty) = ty.key(map, name)
        {
            remove_fields(ty, value, &node.below);
        }
        !node.member
    });
    !object.is_empty()
}

fn remove_items(ty: TypeRef<'_>, list: &List, value: &mut Value, fields: &FieldSet) -> bool {
    let Value::Array(items) = value else { return false };
    items.retain_mut(|item| {
        let Ok(key) = PathElement::of_item(ty, list, item) else { return true };
        let Some(node) = fields.nodes.get(&key) else { return true };
        if !node.member {
            remove_fields(ty.at(list.element), item, &node.below);
        }
        !node.member
    });
    !items.is_empty()
}

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;
    use serde_json::json;

    use super::*;
    use crate::fields::types::builtin_type;

    fn without(value: &Value, fields: &Value) -> Value {
        let ty = builtin_type(Schema::builtin().kind("apps/v1", "Deployment").unwrap());
        let mut value = value.clone();
        remove_fields(ty, &mut value, &FieldSet::decode(fields).unwrap());
        value
    }

    #[test]
    fn items_and_fields_of_items_are_taken_out() {
        let value = json!({"spec": {"template": {"spec": {"containers": [
            {"name": "a", "image": "x"}, {"name": "b", "image": "y", "tty": true},
        ]}}}});
        let fields = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
            "k:{\"name\":\"a\"}": {}, "k:{\"name\":\"b\"}": {"f:tty": {}},
        }}}}});
        assert_eq!(
            without(&value, &fields),
            json!({"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "y"}]}}}})
        );
    }

    #[test]
    fn what_loses_everything_becomes_null() {
        let value =
            json!({"kind": "Deployment", "metadata": {"labels": {"a": "b"}}, "spec": {"paused": true}});
        let fields = json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:paused": {}}});
        assert_eq!(
            without(&value, &fields),
            json!({"kind": "Deployment", "metadata": {"labels": null}, "spec": null})
        );
    }

    #[test]
    fn an_atomic_value_is_lost_as_a_whole() {
        let value = json!({"spec": {"paused": true, "selector": {"matchLabels": {"a": "b", "c": "d"}}}});
        let fields = json!({"f:spec": {"f:selector": {"f:matchLabels": {"f:a": {}}}}});
        assert_eq!(without(&value, &fields), json!({"spec": {"paused": true, "selector": null}}));
    }
}
