//! Old sets after the schema has changed: what became atomic has one owner.

use super::element::PathElement;
use super::set::FieldSet;
use super::types::{Atom, ListMerge, TypeRef};

/// Makes a set fit its type: below an atomic value there are no members, the value itself is one.
///
/// The other way round nothing is to be done; nothing is known about fields that the type does not declare.
pub(crate) fn reconcile(ty: TypeRef<'_>, set: &mut FieldSet) {
    let atom = ty.atom();
    for (element, node) in &mut set.nodes {
        let Some(ty) = child(ty, atom, element) else { continue };
        if !node.below.is_empty() && is_atomic(ty.atom()) {
            node.member = true;
            node.below = FieldSet::default();
        } else {
            reconcile(ty, &mut node.below);
        }
    }
}

/// The type below an element; none below values of which nothing is known.
fn child<'t>(ty: TypeRef<'t>, atom: &Atom, element: &PathElement) -> Option<TypeRef<'t>> {
    match (&atom.map, element) {
        (Some(map), _) if map.is_deduced() => None,
        (Some(map), PathElement::Field(name)) => ty.key(map, name),
        (Some(map), _) => map.element.map(|id| ty.at(id)),
        (None, _) if atom.scalar.is_some() => None,
        (None, _) => atom.list.as_ref().map(|list| ty.at(list.element)),
    }
}

fn is_atomic(atom: &Atom) -> bool {
    match &atom.map {
        Some(map) => map.atomic && !map.is_deduced(),
        None if atom.scalar.is_some() => false,
        None => atom.list.as_ref().is_some_and(|list| list.merge == ListMerge::Atomic),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fields::types::custom_types;

    fn reconciled(schema: &Value, fields: &Value) -> Value {
        let types = custom_types(&json!({"type": "object", "properties": {"spec": schema}}));
        let mut set = FieldSet::decode(fields).unwrap();
        reconcile(types.root(), &mut set);
        set.encode()
    }

    #[test]
    fn the_owner_of_an_item_owns_the_list_that_became_atomic() {
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "map": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
        }});
        let fields = json!({"f:spec": {"f:list": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}, "f:map": {"f:a": {}}}});
        assert_eq!(reconciled(&schema, &fields), json!({"f:spec": {"f:list": {}, "f:map": {}}}));
    }

    #[test]
    fn granular_and_untyped_fields_stay_as_they_are() {
        let schema = json!({"type": "object", "properties": {"map": {"type": "object", "properties": {
            "a": {"type": "string"}}}, "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
        let fields =
            json!({"f:spec": {"f:map": {"f:a": {}, "f:gone": {"f:x": {}}}, "f:any": {"f:b": {"f:c": {}}}}});
        assert_eq!(reconciled(&schema, &fields), fields);
    }
}
