//! The types of a custom resource, from the `openAPIV3Schema` of one version of its definition.

use std::collections::BTreeMap;

use serde_json::Value;

use super::builtin::Structs;
use super::{Atom, DEDUCED, Field, List, ListMerge, Map, Scalar, TypeId, Types, UNTYPED};

/// The types of one version of a custom resource.
pub(crate) fn custom_types(schema: &Value) -> Types {
    let mut builder = Builder { types: Types::new(false), structs: Structs::default() };
    let root = builder.atom(schema, false, true);
    builder.types.root = builder.types.add(root);
    builder.types
}

struct Builder {
    types: Types,
    structs: Structs,
}

impl Builder {
    /// The type of a schema; `preserve` when it or one above it keeps unknown fields.
    fn id(&mut self, schema: &Value, preserve: bool) -> TypeId {
        let atom = self.atom(schema, preserve, false);
        self.types.add(atom)
    }

    fn atom(&mut self, schema: &Value, preserve: bool, is_root: bool) -> Atom {
        let preserve = preserve || is_true(schema, "x-kubernetes-preserve-unknown-fields");
        match schema.get("type").and_then(Value::as_str).unwrap_or("") {
            // Without a type it is anything: the schema of a root that keeps everything, a port by name or number.
            "" if !is_root => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(self.list(schema, preserve)),
                map: Some(self.map(schema, preserve, false)),
            },
            "" | "object" => Atom { map: Some(self.map(schema, preserve, is_root)), ..Atom::default() },
            "array" => Atom { list: Some(self.list(schema, preserve)), ..Atom::default() },
            word => Atom { scalar: Some(scalar(word, schema)), ..Atom::default() },
        }
    }

    fn map(&mut self, schema: &Value, preserve: bool, is_root: bool) -> Map {
        let mut fields = BTreeMap::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let ty = self.id(property, preserve);
            fields.insert(name.as_str().into(), field(ty, property.get("default")));
        }
        if is_root || is_true(schema, "x-kubernetes-embedded-resource") {
            for name in ["apiVersion", "kind"] {
                fields.insert(name.into(), field(self.types.scalar(Scalar::String), None));
            }
            let metadata = self.structs.id(&mut self.types, "meta.v1.ObjectMeta", None);
            fields.insert("metadata".into(), field(metadata, None));
        }
        let element = match schema.get("additionalProperties") {
            // Nothing declared and nothing forbidden means: anything.
            None | Some(Value::Null) => (preserve || fields.is_empty()).then_some(DEDUCED),
            Some(Value::Bool(any)) => any.then_some(DEDUCED),
            Some(schema) => Some(self.id(schema, preserve)),
        };
        let atomic = schema.get("x-kubernetes-map-type").is_some_and(|word| word == "atomic");
        Map { fields, element, atomic }
    }

    fn list(&mut self, schema: &Value, preserve: bool) -> List {
        let merge = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => ListMerge::Set,
            Some("map") => {
                let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                ListMerge::Keyed(
                    keys.into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect(),
                )
            }
            _ => ListMerge::Atomic,
        };
        let element = match schema.get("items") {
            Some(items @ Value::Object(_)) => self.id(items, preserve),
            _ => UNTYPED,
        };
        List { element, merge }
    }
}

fn field(ty: TypeId, default: Option<&Value>) -> Field {
    Field { ty, default: default.cloned(), written: false }
}

fn scalar(word: &str, schema: &Value) -> Scalar {
    match word {
        "integer" | "number" => Scalar::Numeric,
        "boolean" => Scalar::Boolean,
        "string" => match schema.get("format").and_then(Value::as_str).unwrap_or("") {
            "" | "byte" => Scalar::String,
            _ => Scalar::Untyped,
        },
        _ => Scalar::Untyped,
    }
}

fn is_true(schema: &Value, name: &str) -> bool {
    schema.get(name).is_some_and(|value| *value == true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::validate::validate;

    fn problem(schema: &Value, object: &Value) -> String {
        validate(custom_types(schema).root(), object, false).err().unwrap_or_default()
    }

    #[test]
    fn declared_fields_exclude_others_and_a_bare_object_takes_anything() {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "integer"}}},
            "bare": {"type": "object"},
        }});
        assert_eq!(problem(&schema, &json!({"spec": {"a": 1}, "bare": {"x": {"y": [1]}}})), "");
        assert_eq!(problem(&schema, &json!({"spec": {"b": 1}})), ".spec.b: field not declared in schema");
    }

    #[test]
    fn a_root_that_keeps_unknown_fields_still_has_typed_metadata() {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(problem(&schema, &json!({"tags": [{"a": null}], "metadata": {"labels": {"a": "b"}}})), "");
        assert_eq!(
            problem(&schema, &json!({"metadata": {"lables": {}}})),
            ".metadata.lables: field not declared in schema"
        );
    }

    #[test]
    fn preserve_unknown_fields_goes_down_the_tree() {
        let schema = json!({"type": "object", "properties": {"spec": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"inner": {"type": "object", "properties": {"a": {"type": "string"}}}},
        }}});
        assert_eq!(problem(&schema, &json!({"spec": {"inner": {"b": 1}, "c": true}})), "");
    }

    #[test]
    fn an_embedded_resource_has_names_and_metadata() {
        let schema = json!({"type": "object", "properties": {"template": {
            "type": "object", "x-kubernetes-embedded-resource": true,
            "properties": {"spec": {"type": "object"}},
        }}});
        let good =
            json!({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}});
        assert_eq!(problem(&schema, &good), "");
        assert_eq!(
            problem(&schema, &json!({"template": {"data": {}}})),
            ".template.data: field not declared in schema"
        );
    }

    #[test]
    fn a_value_without_type_takes_numbers_and_text() {
        let schema = json!({"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": true}}});
        assert_eq!(problem(&schema, &json!({"port": 1})), "");
        assert_eq!(problem(&schema, &json!({"port": "https"})), "");
    }
}
