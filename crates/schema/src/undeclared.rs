//! Fields of a manifest that its kind does not declare.

use std::fmt;

use serde_json::Value;

use crate::Schema;
use crate::model::{FieldType, Type};

/// The place of a field in an object, as the API server writes it: `spec.template.spec.containers[0].image`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(String);

impl Schema {
    /// The fields of an object of a built-in kind that the kind does not declare, in the order of the object.
    ///
    /// They are what the server's strict decoding calls unknown: names are case-sensitive; free-form parts (labels,
    /// defaults and enumerations in the schema of a CRD, embedded objects) are not looked into; of an unknown field only
    /// the outermost is named. A kind that is not built in has none: its CRD decides.
    pub fn undeclared_fields(&self, object: &Value) -> Vec<FieldPath> {
        let mut found = Vec::new();
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let root = self.kind(text("apiVersion"), text("kind")).and_then(|kind| self.root(kind));
        if let Some(root) = root {
            self.walk_struct(root, object, &mut String::new(), &mut found);
        }
        found
    }

    fn walk_struct(&self, ty: &Type, value: &Value, path: &mut String, found: &mut Vec<FieldPath>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            let length = path.len();
            push_name(path, name);
            match ty.field(name) {
                Some(field) => self.walk(&field.ty, value, path, found),
                None => found.push(FieldPath(path.clone())),
            }
            path.truncate(length);
        }
    }

    /// NB: a value of another type than declared is not walked; that it is wrong is another finding.
    fn walk(&self, ty: &FieldType, value: &Value, path: &mut String, found: &mut Vec<FieldPath>) {
        match ty {
            FieldType::Struct(name) => {
                if let Some(ty) = self.ty(name) {
                    self.walk_struct(ty, value, path, found);
                }
            }
            FieldType::List(inner) if inner.element().struct_name().is_some() => {
                for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                    let length = path.len();
                    path.extend(["[", &index.to_string(), "]"]);
                    self.walk(inner, value, path, found);
                    path.truncate(length);
                }
            }
            FieldType::Map(inner) if inner.element().struct_name().is_some() => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    let length = path.len();
                    push_name(path, key);
                    self.walk(inner, value, path, found);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

// === impl FieldPath ===

impl FieldPath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn undeclared(object: &Value) -> Vec<String> {
        Schema::builtin().undeclared_fields(object).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_clean_deployment_has_no_undeclared_field() {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "labels": {"any.thing/goes": "x"}, "annotations": {"b": "c"}},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 1}],
                    "resources": {"requests": {"cpu": "10m", "example.com/gpu": 1}}}]}}},
        });
        assert_eq!(undeclared(&object), Vec::<String>::new());
    }

    #[test]
    fn an_undeclared_field_is_named_with_its_place_and_only_once() {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "userNames": ["x"],
            "spec": {"template": {"spec": {"containers": [
                {"name": "a"}, {"name": "b", "foo": {"bar": 1}, "ports": [{"containerport": 1}]},
            ]}}},
        });
        assert_eq!(
            undeclared(&object),
            [
                "spec.template.spec.containers[1].foo",
                "spec.template.spec.containers[1].ports[0].containerport",
                "userNames",
            ]
        );
    }

    #[test]
    fn the_recursive_schema_of_a_crd_is_walked_but_not_its_free_parts() {
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {"type": "object", "properties": {
                        "deep": {"type": "string", "wrong": 1, "default": {"any": "thing"}},
                        "wrong": {"type": "string", "x-kubernetes-preserve-unknown-fields": true},
                    }},
                    "list": {"type": "array", "items": {"type": "string", "unseen": 1}},
                },
            }}}]},
        });
        assert_eq!(
            undeclared(&object),
            ["spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.deep.wrong"]
        );
    }

    #[test]
    fn another_kind_or_no_object_has_nothing_undeclared() {
        assert!(undeclared(&json!({"apiVersion": "example.com/v1", "kind": "Any", "x": 1})).is_empty());
        assert!(undeclared(&json!("text")).is_empty());
        assert!(undeclared(&json!({"apiVersion": "v1", "kind": "Pod", "spec": "text"})).is_empty());
    }
}
