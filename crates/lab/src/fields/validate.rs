//! Whether a value has the form that its type says, with the server's words for what is wrong.

use std::collections::BTreeSet;

use serde_json::Value;

use super::element::PathElement;
use super::types::{List, ListMerge, Map, Scalar, Shape, TypeRef};
use crate::go;

/// Checks a value against its type.
///
/// # Errors
/// One sentence when there is one problem, a list when there are several. An undeclared field hides the problems of its
/// later siblings, as it does on the server.
pub(crate) fn validate(ty: TypeRef<'_>, value: &Value, allow_duplicates: bool) -> Result<(), String> {
    let mut walk = Walk { allow_duplicates, problems: Vec::new() };
    walk.value(ty, value, &Path { parent: None, step: Step::Root });
    match walk.problems.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => Err(format!("errors:\n  {}", several.join("\n  "))),
    }
}

/// Whether a value is no scalar of this sort, in the server's words; null is one of any sort.
fn wrong_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Number(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, other) => {
            Some(format!("expected numeric (int or float), got {}", go::type_name(other)))
        }
        (Scalar::String, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::syntax(other)))
        }
        (Scalar::Boolean, other) => Some(format!("expected boolean, got &{{{}}}", go::plain(other))),
        (Scalar::Untyped, other) => Some(format!("expected any scalar, got &{{{}}}", go::plain(other))),
    }
}

struct Walk {
    allow_duplicates: bool,
    problems: Vec<String>,
}

/// Where the walk is; written out only when there is a problem.
struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

enum Step<'p> {
    Root,
    Field(&'p str),
    Item(&'p PathElement),
    Index(usize),
}

// === impl Walk ===

impl Walk {
    fn value(&mut self, ty: TypeRef<'_>, value: &Value, path: &Path<'_>) {
        match ty.atom().shape(value) {
            Some(Shape::Map(map)) => self.map(ty, map, value, path),
            Some(Shape::List(list)) => self.list(ty, list, value, path),
            Some(Shape::Scalar(scalar)) => {
                if let Some(text) = wrong_scalar(scalar, value) {
                    self.problem(path, &text);
                }
            }
            None => self.problem(path, "schema error: invalid atom: inlined"),
        }
    }

    fn map(&mut self, ty: TypeRef<'_>, map: &Map, value: &Value, path: &Path<'_>) {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return,
            other => return self.problem(path, &format!("expected map, got &{{{}}}", go::plain(other))),
        };
        for (name, value) in fields {
            let path = Path { parent: Some(path), step: Step::Field(name) };
            let Some(ty) = ty.key(map, name) else {
                return self.problem(&path, "field not declared in schema");
            };
            self.value(ty, value, &path);
        }
    }

    fn list(&mut self, ty: TypeRef<'_>, list: &List, value: &Value, path: &Path<'_>) {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return,
            other => return self.problem(path, &format!("expected list, got &{{{}}}", go::plain(other))),
        };
        let element = ty.at(list.element);
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            if list.merge == ListMerge::Atomic {
                self.value(element, item, &Path { parent: Some(path), step: Step::Index(index) });
                continue;
            }
            let key = match PathElement::of_item(ty, list, item) {
                Ok(key) => key,
                // Without a key there is no path to report anything deeper.
                Err(error) => return self.problem(path, &format!("element {index}: {error}")),
            };
            if !self.allow_duplicates && seen.contains(&key) {
                self.problem(path, &format!("duplicate entries for key {key}"));
            }
            self.value(element, item, &Path { parent: Some(path), step: Step::Item(&key) });
            seen.insert(key);
        }
    }

    fn problem(&mut self, path: &Path<'_>, text: &str) {
        let mut prefix = String::new();
        path.write(&mut prefix);
        self.problems.push(if prefix.is_empty() { text.to_owned() } else { format!("{prefix}: {text}") });
    }
}

// === impl Path ===

impl Path<'_> {
    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            Step::Root => {}
            Step::Field(name) => out.extend([".", name]),
            Step::Item(key) => out.push_str(&key.to_string()),
            Step::Index(index) => out.extend(["[", &index.to_string(), "]"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;
    use serde_json::json;

    use super::*;
    use crate::fields::types::{builtin_type, custom_types};

    fn problem(api_version: &str, kind: &str, value: &Value) -> String {
        let ty = builtin_type(Schema::builtin().kind(api_version, kind).unwrap());
        validate(ty, value, false).err().unwrap_or_default()
    }

    fn in_pod_template(container: &Value) -> String {
        let value = json!({"spec": {"template": {"spec": {"containers": [container]}}}});
        problem("apps/v1", "Deployment", &value)
    }

    #[test]
    fn problems_have_the_words_of_the_server() {
        let cases = [
            (
                "apps/v1",
                "Deployment",
                json!({"spec": {"replicas": "3"}}),
                ".spec.replicas: expected numeric (int or float), got string",
            ),
            (
                "v1",
                "ConfigMap",
                json!({"data": {"b": 5}}),
                ".data.b: expected string, got &value.valueUnstructured{Value:5}",
            ),
            ("v1", "ConfigMap", json!({"immutable": "yes"}), ".immutable: expected boolean, got &{yes}"),
            ("v1", "ConfigMap", json!({"data": []}), ".data: expected map, got &{[]}"),
            (
                "v1",
                "ConfigMap",
                json!({"metadata": {"finalizers": "x"}}),
                ".metadata.finalizers: expected list, got &{x}",
            ),
            (
                "rbac.authorization.k8s.io/v1",
                "ClusterRoleBinding",
                json!({"userNames": ["a"]}),
                ".userNames: field not declared in schema",
            ),
            (
                "v1",
                "Service",
                json!({"spec": {"ports": [{"port": 1}, {"protocol": "UDP", "port": 1}, {"port": 1, "protocol": "TCP"}]}}),
                ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]",
            ),
            (
                "v1",
                "ConfigMap",
                json!({"metadata": {"finalizers": ["x", "x"]}}),
                ".metadata.finalizers: duplicate entries for key [=\"x\"]",
            ),
            ("v1", "ConfigMap", json!({"a": 1, "b": 1}), ".a: field not declared in schema"),
        ];
        for (api_version, kind, value, expected) in cases {
            assert_eq!(problem(api_version, kind, &value), expected);
        }
        assert_eq!(
            in_pod_template(&json!({"name": "c", "env": [{"name": "E"}, {"name": "E"}]})),
            ".spec.template.spec.containers[name=\"c\"].env: duplicate entries for key [name=\"E\"]"
        );
        // The name of a container has a published default, the empty text.
        assert_eq!(
            in_pod_template(&json!({"tty": 1})),
            ".spec.template.spec.containers[name=\"\"].tty: expected boolean, got &{1}"
        );
    }

    #[test]
    fn an_item_without_any_key_is_named_by_its_place() {
        let types = custom_types(&json!({"type": "object", "properties": {"list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        }}}));
        assert_eq!(
            validate(types.root(), &json!({"list": [{"b": "x"}, {}]}), false).unwrap_err(),
            ".list: element 1: associative list with keys has an element that omits all key fields [\"a\" \"b\"] (and \
             doesn't have default values for any key fields)"
        );
    }

    #[test]
    fn several_problems_are_listed() {
        assert_eq!(
            in_pod_template(&json!({"name": "c", "stdin": 1, "tty": "no"})),
            "errors:\n  .spec.template.spec.containers[name=\"c\"].stdin: expected boolean, got &{1}\n  \
             .spec.template.spec.containers[name=\"c\"].tty: expected boolean, got &{no}"
        );
    }

    #[test]
    fn null_is_a_value_of_every_type() {
        let value =
            json!({"metadata": null, "spec": {"replicas": null, "template": {"spec": {"containers": null}}}});
        assert_eq!(problem("apps/v1", "Deployment", &value), "");
    }

    #[test]
    fn the_walk_goes_into_atomic_lists() {
        let value = json!({"rules": [{"verbs": ["get"], "verb": []}]});
        assert_eq!(
            problem("rbac.authorization.k8s.io/v1", "ClusterRole", &value),
            ".rules[0].verb: field not declared in schema"
        );
    }
}
