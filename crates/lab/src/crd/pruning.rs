//! What a custom resource loses when it is read: undeclared fields, and `null`s that stand for nothing.

use serde_json::{Map, Value};

use super::embedded;
use super::structural::Structural;

/// The fields that every resource has, whatever its schema says.
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// What undeclared fields are dropped, with their paths if somebody asks.
struct Pruner {
    path: String,
    dropped: Vec<String>,
}

// === impl Structural ===

impl Structural {
    /// Brings a custom resource into the form of its schema: undeclared fields go at any depth, `null`s go where the schema
    /// does not allow them and has no default, and metadata (also of embedded resources) keeps only known fields.
    ///
    /// Gives the paths of the dropped fields in the order of the real server; with `fieldValidation=Strict` each becomes
    /// `unknown field "PATH"`.
    ///
    /// # Errors
    /// The sentence of the real server when metadata cannot be read; the answer is 400.
    pub(crate) fn prune(&self, object: &mut Value) -> Result<Vec<String>, String> {
        let Some(root) = object.as_object_mut() else { return Ok(Vec::new()) };
        let mut dropped = match root.get_mut("metadata") {
            Some(metadata) => embedded::coerce_meta(metadata, "metadata")?,
            None => Vec::new(),
        };

        let mut pruner = Pruner::new();
        pruner.object(root, self, true);
        pruner.dropped.sort();
        dropped.append(&mut pruner.dropped);

        drop_nulls(object, Some(self));

        let mut unknown = Vec::new();
        embedded::coerce(object, self, "", &mut unknown)?;
        unknown.sort();
        dropped.append(&mut unknown);
        Ok(dropped)
    }

    /// The paths that pruning a value of this schema drops; `is_resource` when the value is a whole resource.
    pub(crate) fn prune_value(&self, value: &mut Value, is_resource: bool) -> Vec<String> {
        let mut pruner = Pruner::new();
        match value {
            Value::Object(object) => pruner.object(object, self, is_resource || self.embedded),
            other => pruner.value(other, Some(self)),
        }
        pruner.dropped
    }
}

// === impl Pruner ===

impl Pruner {
    fn new() -> Self {
        Self { path: String::new(), dropped: Vec::new() }
    }

    fn value(&mut self, value: &mut Value, schema: Option<&Structural>) {
        match (value, schema) {
            (Value::Object(object), Some(schema)) => self.object(object, schema, schema.embedded),
            (Value::Object(object), None) => {
                for key in std::mem::take(object).into_iter().map(|(key, _)| key) {
                    self.drop(&key);
                }
            }
            (Value::Array(list), Some(schema)) if schema.preserve_unknown => self.kept_list(list, schema),
            (Value::Array(list), schema) => {
                let items = schema.and_then(|schema| schema.items.as_deref());
                for (index, value) in list.iter_mut().enumerate() {
                    self.below(&format!("[{index}]"), |pruner| pruner.value(value, items));
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>, schema: &Structural, is_resource: bool) {
        let is_root = self.path.is_empty();
        object.retain(|key, value| {
            let is_meta = META_FIELDS.contains(&key.as_str());
            if is_resource && is_meta {
                return true;
            }
            let below = match schema.properties.get(key.as_str()) {
                Some(property) => Some(property),
                None if schema.additional.is_some() => schema.additional_schema(),
                None if schema.preserve_unknown => return true,
                None => {
                    if !is_meta || !is_root {
                        self.drop(key);
                    }
                    return false;
                }
            };
            // Scalars have nothing to lose; most values are scalars.
            if value.is_object() || value.is_array() {
                let step = if self.path.is_empty() { key.clone() } else { format!(".{key}") };
                self.below(&step, |pruner| pruner.value(value, below));
            }
            true
        });
    }

    /// A list whose items keep unknown fields because the list does.
    fn kept_list(&mut self, list: &mut [Value], schema: &Structural) {
        let Some(items) = schema.items.as_deref() else { return };
        for (index, value) in list.iter_mut().enumerate() {
            self.below(&format!("[{index}]"), |pruner| match value {
                Value::Object(object) => pruner.kept_object(object, items),
                Value::Array(list) => pruner.kept_list(list, items),
                _ => {}
            });
        }
    }

    fn kept_object(&mut self, object: &mut Map<String, Value>, schema: &Structural) {
        for (key, value) in object.iter_mut() {
            if schema.embedded && META_FIELDS.contains(&key.as_str()) {
                continue;
            }
            let below = schema.properties.get(key.as_str());
            if below.is_some() || schema.additional.is_some() {
                let below = below.or_else(|| schema.additional_schema());
                self.below(&format!(".{key}"), |pruner| pruner.value(value, below));
            }
        }
    }

    fn below(&mut self, step: &str, work: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        work(self);
        self.path.truncate(length);
    }

    fn drop(&mut self, key: &str) {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.dropped.push(format!("{}{dot}{key}", self.path));
    }
}

/// Drops the fields that are `null` although their schema does not allow it and has no default to put there.
fn drop_nulls(value: &mut Value, schema: Option<&Structural>) {
    match value {
        Value::Object(object) => object.retain(|key, value| {
            let schema = schema.and_then(|schema| schema.field(key));
            if value.is_null() {
                return !schema.is_some_and(|schema| schema.refuses_null() && schema.default.is_none());
            }
            if schema.is_some() {
                drop_nulls(value, schema);
            }
            true
        }),
        Value::Array(list) => {
            if let Some(items) = schema.and_then(|schema| schema.items.as_deref()) {
                for value in list {
                    drop_nulls(value, Some(items));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pruned(schema: &Value, object: Value) -> (Value, Vec<String>) {
        let mut object = object;
        let dropped = Structural::parse(schema).prune(&mut object).unwrap();
        (object, dropped)
    }

    #[test]
    fn undeclared_fields_go_at_any_depth_and_are_named() {
        let schema = json!({"properties": {"spec": {"properties": {
            "a": {"type": "integer"},
            "list": {"items": {"properties": {"b": {}}}},
            "map": {"additionalProperties": {"properties": {"c": {}}}},
            "bare": {"type": "object"},
        }}}});
        let (object, dropped) = pruned(
            &schema,
            json!({"apiVersion": "g/v1", "kind": "K", "x": 1, "spec": {"a": 1, "z": {"y": 1}, "list": [{"b": 1, "q": 2}],
                "map": {"k": {"c": 1, "d": 2}}, "bare": {"any": 1}}}),
        );
        assert_eq!(
            object,
            json!({"apiVersion": "g/v1", "kind": "K",
                "spec": {"a": 1, "list": [{"b": 1}], "map": {"k": {"c": 1}}, "bare": {}}})
        );
        assert_eq!(dropped, ["spec.bare.any", "spec.list[0].q", "spec.map.k.d", "spec.z", "x"]);
    }

    #[test]
    fn preserved_objects_are_still_pruned_where_they_declare_something() {
        let schema = json!({"properties": {"spec": {"x-kubernetes-preserve-unknown-fields": true,
            "properties": {"a": {"properties": {"b": {}}}}}}});
        let (object, dropped) = pruned(&schema, json!({"spec": {"free": {"x": 1}, "a": {"b": 1, "c": 2}}}));
        assert_eq!(object, json!({"spec": {"free": {"x": 1}, "a": {"b": 1}}}));
        assert_eq!(dropped, ["spec.a.c"]);
    }

    #[test]
    fn nulls_go_unless_they_are_allowed_or_will_be_defaulted() {
        let schema = json!({"properties": {"spec": {"properties": {
            "plain": {"type": "string"}, "nullable": {"type": "string", "nullable": true},
            "defaulted": {"type": "string", "default": "x"}, "list": {"items": {"type": "string"}}}}}});
        let (object, _) = pruned(
            &schema,
            json!({"spec": {"plain": null, "nullable": null, "defaulted": null, "list": [null]}}),
        );
        assert_eq!(object, json!({"spec": {"nullable": null, "defaulted": null, "list": [null]}}));
    }

    #[test]
    fn a_resource_without_schema_keeps_only_its_metadata() {
        let (object, dropped) =
            pruned(&json!({}), json!({"kind": "K", "metadata": {"name": "n"}, "spec": {}}));
        assert_eq!(object, json!({"kind": "K", "metadata": {"name": "n"}}));
        assert_eq!(dropped, ["spec"]);
    }
}
