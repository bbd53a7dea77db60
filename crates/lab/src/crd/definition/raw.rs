//! Reading a schema as it stands in a definition.

use serde_json::{Map, Value};

/// A schema, with the reading habits of Go: an empty text, a `null` and a missing field are the same.
#[derive(Clone, Copy)]
pub(super) struct Raw<'a>(pub(super) &'a Map<String, Value>);

// === impl Raw ===

impl<'a> Raw<'a> {
    /// A schema; `None` for anything that is no object.
    pub(super) fn of(value: Option<&'a Value>) -> Option<Self> {
        value?.as_object().map(Self)
    }

    pub(super) fn text(self, key: &str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A text that may be empty but is there.
    pub(super) fn pointer(self, key: &str) -> Option<&'a str> {
        self.0.get(key).and_then(Value::as_str)
    }

    pub(super) fn flag(self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| !value.is_null())
    }

    pub(super) fn value(self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn type_name(self) -> &'a str {
        self.text("type")
    }

    pub(super) fn properties(self) -> impl Iterator<Item = (&'a str, Self)> {
        self.map("properties")
    }

    pub(super) fn property(self, name: &str) -> Option<Self> {
        Self::of(self.0.get("properties")?.get(name))
    }

    pub(super) fn map(self, key: &str) -> impl Iterator<Item = (&'a str, Self)> {
        let map = self.0.get(key).and_then(Value::as_object).into_iter().flatten();
        map.filter_map(|(name, schema)| Some((name.as_str(), Self::of(Some(schema))?)))
    }

    pub(super) fn list(self, key: &str) -> impl Iterator<Item = (usize, Self)> {
        let list = self.0.get(key).and_then(Value::as_array).into_iter().flatten();
        list.enumerate().filter_map(|(index, schema)| Some((index, Self::of(Some(schema))?)))
    }

    pub(super) fn texts(self, key: &str) -> Vec<&'a str> {
        self.0.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    pub(super) fn is_empty_at(self, key: &str) -> bool {
        match self.0.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Bool(true) | Value::Number(_)) => false,
        }
    }

    pub(super) fn items(self) -> Option<Self> {
        Self::of(self.0.get("items"))
    }

    pub(super) fn additional(self) -> Option<Self> {
        Self::of(self.0.get("additionalProperties"))
    }

    /// The pattern that stands for "integer or string" in `anyOf`.
    pub(super) fn is_int_or_string_any_of(self) -> bool {
        let Some(list) = self.0.get("anyOf").and_then(Value::as_array) else { return false };
        let is_type = |schema: &'a Value, name: &str| {
            Self::of(Some(schema)).is_some_and(|schema| {
                schema.type_name() == name
                    && schema.0.keys().all(|key| key == "type" || schema.is_empty_at(key))
            })
        };
        matches!(list.as_slice(), [first, second] if is_type(first, "integer") && is_type(second, "string"))
    }

    /// The same pattern inside the first schema of `allOf`.
    pub(super) fn is_int_or_string_all_of(self) -> bool {
        self.list("allOf").next().is_some_and(|(_, first)| first.is_int_or_string_any_of())
    }
}
