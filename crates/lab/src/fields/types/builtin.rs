//! The types of the built-in kinds, from the schema of Kubernetes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lockstep_schema::{self as schema, FieldType, ListType, MapType, Omit, Schema};
use serde_json::Value;

use super::{Atom, DEDUCED, Field, List, ListMerge, Map, Scalar, TypeId, TypeRef, Types, UNTYPED};

/// All built-in types: one arena, and the struct types in it by name.
struct Builtin {
    types: Types,
    by_name: BTreeMap<&'static str, TypeId>,
}

static BUILTIN: LazyLock<Builtin> = LazyLock::new(|| {
    let mut types = Types::new(true);
    let mut structs = Structs::default();
    for kind in Schema::builtin().kinds() {
        structs.id(&mut types, kind.type_name, None);
        for name in kind.subresources.values().filter_map(|it| it.type_name) {
            structs.id(&mut types, name, None);
        }
    }
    Builtin { types, by_name: structs.by_name }
});

/// The type of whole objects of a built-in kind.
pub(crate) fn builtin_type(kind: &schema::Kind) -> TypeRef<'static> {
    builtin_type_named(kind.type_name).expect("invariant: the types of all kinds are built")
}

/// The built-in type of this name, such as `autoscaling.v1.Scale` for a subresource.
pub(crate) fn builtin_type_named(name: &str) -> Option<TypeRef<'static>> {
    let builtin: &'static Builtin = &BUILTIN;
    builtin.by_name.get(name).map(|id| TypeRef { types: &builtin.types, id: *id })
}

/// The struct types that an arena has so far.
#[derive(Default)]
pub(super) struct Structs {
    by_name: BTreeMap<&'static str, TypeId>,
    /// The same struct where a field says another rule than the struct itself.
    overridden: BTreeMap<(&'static str, bool), TypeId>,
}

/// The one field that takes an atomic struct apart again: `x-kubernetes-map-type: granular` on the reference.
const GRANULAR_AGAIN: (&str, &str) = ("core.v1.PersistentVolumeSpec", "claimRef");

impl Structs {
    /// The struct of this name, built when it is first asked for.
    pub(super) fn id(&mut self, types: &mut Types, name: &'static str, atomic: Option<bool>) -> TypeId {
        let known = match atomic {
            None => self.by_name.get(name),
            Some(atomic) => self.overridden.get(&(name, atomic)),
        };
        if let Some(id) = known {
            return *id;
        }
        let Some(ty) = Schema::builtin().ty(name) else { return DEDUCED };
        let id = types.reserve();
        match atomic {
            None => self.by_name.insert(name, id),
            Some(atomic) => self.overridden.insert((name, atomic), id),
        };
        let fields =
            ty.fields.iter().map(|(field, it)| ((*field).into(), self.field(types, (name, field), it)));
        let map = Map {
            fields: fields.collect(),
            element: None,
            atomic: atomic.unwrap_or(ty.map == MapType::Atomic),
        };
        types.atoms[id.0] = Atom { map: Some(map), ..Atom::default() };
        id
    }

    fn field(&mut self, types: &mut Types, path: (&str, &str), field: &schema::Field) -> Field {
        let atomic = match field.map {
            MapType::Atomic => Some(true),
            MapType::Granular if path == GRANULAR_AGAIN => Some(false),
            MapType::Granular => None,
        };
        // Go writes a struct inside a struct always, a scalar when it is not `omitempty`: both publish an empty default.
        let is_zero = match &field.default {
            None => field.omit == Omit::Never,
            Some(Value::Object(default)) => default.is_empty(),
            Some(Value::String(default)) => default.is_empty(),
            Some(default) => *default == 0 || *default == false,
        };
        Field {
            ty: self.field_type(types, &field.ty, &field.list, atomic),
            default: field.default.clone(),
            written: is_zero,
        }
    }

    fn field_type(
        &mut self,
        types: &mut Types,
        ty: &FieldType,
        list: &ListType,
        atomic: Option<bool>,
    ) -> TypeId {
        match ty {
            FieldType::String | FieldType::Bytes => types.scalar(Scalar::String),
            FieldType::Time | FieldType::Quantity => types.scalar(Scalar::Untyped),
            FieldType::Integer | FieldType::Number => types.scalar(Scalar::Numeric),
            FieldType::Boolean => types.scalar(Scalar::Boolean),
            // Published without a type, so that the server's own type check takes anything.
            FieldType::IntOrString | FieldType::Any => DEDUCED,
            FieldType::Object => UNTYPED,
            FieldType::Struct(name) => self.id(types, name, atomic),
            FieldType::List(element) => {
                let element = self.field_type(types, element, &ListType::Atomic, None);
                let merge = match list {
                    ListType::Atomic => ListMerge::Atomic,
                    ListType::Set => ListMerge::Set,
                    ListType::Map(keys) => ListMerge::Keyed(keys.iter().map(|key| (*key).into()).collect()),
                };
                types.add(Atom { list: Some(List { element, merge }), ..Atom::default() })
            }
            FieldType::Map(element) => {
                let element = Some(self.field_type(types, element, &ListType::Atomic, None));
                let map = Map { fields: BTreeMap::new(), element, atomic: atomic == Some(true) };
                types.add(Atom { map: Some(map), ..Atom::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(api_version: &str, kind: &str) -> TypeRef<'static> {
        builtin_type(Schema::builtin().kind(api_version, kind).unwrap())
    }

    #[test]
    fn the_empty_deployment_has_its_inner_structs_and_the_fields_that_are_never_left_out() {
        let zero = of("apps/v1", "Deployment").zero();
        assert_eq!(zero["metadata"], json!({}));
        assert_eq!(zero["spec"]["strategy"], json!({}));
        assert_eq!(zero["spec"]["template"]["spec"], json!({"containers": null}));
        assert_eq!(zero["spec"]["selector"], Value::Null);
        assert_eq!(zero["spec"].get("replicas"), None);
    }

    #[test]
    fn an_atomic_struct_is_granular_where_the_field_says_so() {
        let volume = of("v1", "PersistentVolume");
        let spec = volume.key(volume.atom().map.as_ref().unwrap(), "spec").unwrap();
        let claim = spec.key(spec.atom().map.as_ref().unwrap(), "claimRef").unwrap();
        assert!(!claim.atom().map.as_ref().unwrap().atomic);
        let event = of("v1", "Event");
        let object = event.key(event.atom().map.as_ref().unwrap(), "involvedObject").unwrap();
        assert!(object.atom().map.as_ref().unwrap().atomic);
    }

    #[test]
    fn every_built_in_kind_has_a_type_with_metadata() {
        for kind in Schema::builtin().kinds() {
            let ty = builtin_type(kind);
            assert!(
                ty.atom().map.as_ref().is_some_and(|map| map.fields.contains_key("kind")),
                "{}",
                kind.kind
            );
        }
    }
}
