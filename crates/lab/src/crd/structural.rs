//! A structural schema: what a version of a CRD says about its objects, read once and shared.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::formats::Format;
use super::pattern::Pattern;

/// One node of a schema. The nodes below `allOf`, `anyOf`, `oneOf` and `not` have the same form.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the schema")]
pub(crate) struct Structural {
    /// `type`; `None` where the schema leaves it out, as with `x-kubernetes-int-or-string`.
    pub(crate) type_name: Option<Box<str>>,
    /// `x-kubernetes-int-or-string`.
    pub(crate) int_or_string: bool,
    /// `nullable`.
    pub(crate) nullable: bool,
    /// `format`, as written.
    pub(crate) format: Option<Box<str>>,
    /// The check behind `format`; `None` where the server ignores the format for this type.
    pub(crate) checked_format: Option<Format>,
    /// `properties`.
    pub(crate) properties: BTreeMap<Box<str>, Structural>,
    /// `additionalProperties`.
    pub(crate) additional: Option<Additional>,
    /// `items`.
    pub(crate) items: Option<Box<Structural>>,
    /// `required`.
    pub(crate) required: Vec<Box<str>>,
    /// `default`; a `null` counts as none.
    pub(crate) default: Option<Value>,
    /// `enum`.
    pub(crate) allowed: Vec<Value>,
    /// Limits of numbers, texts, lists and objects; most nodes have none.
    pub(crate) limits: Option<Box<Limits>>,
    /// `allOf`, `anyOf`, `oneOf` and `not`; most nodes have none.
    pub(crate) junctors: Option<Box<Junctors>>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub(crate) preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub(crate) embedded: bool,
    /// `x-kubernetes-list-type`.
    pub(crate) list_type: Option<Box<str>>,
    /// `x-kubernetes-list-map-keys`.
    pub(crate) list_map_keys: Vec<Box<str>>,
    /// `x-kubernetes-validations`: rules in the CEL language, kept as they are and not evaluated.
    pub(crate) rules: Vec<Value>,
    /// Whether this node or one below it (outside the junctors) has rules.
    pub(crate) has_rules: bool,
}

/// The values that `additionalProperties` can have.
#[derive(Debug)]
pub(crate) enum Additional {
    /// Any value, or none.
    Any(bool),
    /// Values of this schema.
    Of(Box<Structural>),
}

/// The limits that a schema can set.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
}

/// Schemas that a value must meet besides its own.
#[derive(Debug, Default)]
pub(crate) struct Junctors {
    pub(crate) all_of: Vec<Structural>,
    pub(crate) any_of: Vec<Structural>,
    pub(crate) one_of: Vec<Structural>,
    pub(crate) not: Option<Structural>,
}

// === impl Structural ===

impl Structural {
    /// Reads an `openAPIV3Schema`. What is not understood is left out: a CRD with it is refused before this matters.
    pub(crate) fn parse(schema: &Value) -> Self {
        let empty = Map::new();
        let schema = schema.as_object().unwrap_or(&empty);
        let text = |key: &str| schema.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let flag = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or_default();
        let mut node = Self {
            type_name: text("type").map(Box::from),
            int_or_string: flag("x-kubernetes-int-or-string"),
            nullable: flag("nullable"),
            format: text("format").map(Box::from),
            checked_format: None,
            properties: schema
                .get("properties")
                .and_then(Value::as_object)
                .map(|map| {
                    map.iter().map(|(name, schema)| (name.as_str().into(), Self::parse(schema))).collect()
                })
                .unwrap_or_default(),
            additional: schema.get("additionalProperties").and_then(Additional::parse),
            items: schema
                .get("items")
                .filter(|items| items.is_object())
                .map(|items| Box::new(Self::parse(items))),
            required: texts(schema.get("required")),
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            allowed: schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            limits: Limits::parse(schema),
            junctors: Junctors::parse(schema),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            list_type: text("x-kubernetes-list-type").map(Box::from),
            list_map_keys: texts(schema.get("x-kubernetes-list-map-keys")),
            rules: schema
                .get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            has_rules: false,
        };
        node.checked_format = node
            .format
            .as_deref()
            .and_then(|format| Format::of(format, node.type_name.as_deref(), node.int_or_string));
        node.has_rules = !node.rules.is_empty()
            || node.properties.values().any(|property| property.has_rules)
            || node.items.as_ref().is_some_and(|items| items.has_rules)
            || node.additional_schema().is_some_and(|schema| schema.has_rules);
        node
    }

    /// The schema of `additionalProperties`, when it is one.
    pub(crate) fn additional_schema(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Of(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The schema of a field: that of its property, or of additional ones.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// Whether a `null` here stands for "not set".
    pub(crate) fn refuses_null(&self) -> bool {
        !self.nullable
    }
}

// === impl Additional ===

impl Additional {
    fn parse(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(allowed) => Some(Self::Any(*allowed)),
            Value::Object(_) => Some(Self::Of(Box::new(Structural::parse(value)))),
            _ => None,
        }
    }
}

// === impl Limits ===

impl Limits {
    fn parse(schema: &Map<String, Value>) -> Option<Box<Self>> {
        const KEYS: [&str; 11] = [
            "maximum",
            "minimum",
            "multipleOf",
            "maxLength",
            "minLength",
            "pattern",
            "maxItems",
            "minItems",
            "uniqueItems",
            "maxProperties",
            "minProperties",
        ];
        if !KEYS.iter().any(|key| schema.contains_key(*key)) {
            return None;
        }
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let count = |key: &str| schema.get(key).and_then(Value::as_i64);
        let flag = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or_default();
        let pattern = schema.get("pattern").and_then(Value::as_str).filter(|pattern| !pattern.is_empty());
        Some(Box::new(Self {
            maximum: number("maximum"),
            exclusive_maximum: flag("exclusiveMaximum"),
            minimum: number("minimum"),
            exclusive_minimum: flag("exclusiveMinimum"),
            multiple_of: number("multipleOf"),
            max_length: count("maxLength"),
            min_length: count("minLength"),
            pattern: pattern.map(Pattern::new),
            max_items: count("maxItems"),
            min_items: count("minItems"),
            unique_items: flag("uniqueItems"),
            max_properties: count("maxProperties"),
            min_properties: count("minProperties"),
        }))
    }
}

// === impl Junctors ===

impl Junctors {
    fn parse(schema: &Map<String, Value>) -> Option<Box<Self>> {
        let list = |key: &str| -> Vec<Structural> {
            let list = schema.get(key).and_then(Value::as_array);
            list.map(|list| list.iter().map(Structural::parse).collect()).unwrap_or_default()
        };
        let junctors = Self {
            all_of: list("allOf"),
            any_of: list("anyOf"),
            one_of: list("oneOf"),
            not: schema.get("not").filter(|not| not.is_object()).map(Structural::parse),
        };
        let Self { all_of, any_of, one_of, not } = &junctors;
        let is_empty = all_of.is_empty() && any_of.is_empty() && one_of.is_empty() && not.is_none();
        (!is_empty).then(|| Box::new(junctors))
    }
}

/// The texts of a list.
fn texts(list: Option<&Value>) -> Vec<Box<str>> {
    let list = list.and_then(Value::as_array);
    list.map(|list| list.iter().filter_map(Value::as_str).map(Box::from).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_null_default_and_an_empty_type_count_as_none() {
        let node = Structural::parse(&json!({"type": "", "default": null}));
        assert!(node.type_name.is_none() && node.default.is_none());
    }

    #[test]
    fn rules_deep_below_are_known_at_the_root() {
        let deep = json!({"properties": {"a": {"items": {"x-kubernetes-validations": [{"rule": "true"}]}}}});
        assert!(Structural::parse(&deep).has_rules);
        assert!(!Structural::parse(&json!({"properties": {"a": {}}})).has_rules);
    }
}
