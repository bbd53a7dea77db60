//! The structural schema of a custom resource: only what decides which fields of an object stay and which are added.
//!
//! The schemas of a release are megabytes of descriptions and rules; what is kept here is a small part of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One node of a schema.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Structure {
    /// Declared fields.
    pub(super) properties: BTreeMap<Box<str>, Structure>,
    /// What keys besides them may hold.
    pub(super) additional: Additional,
    /// What the items of a list are.
    pub(super) items: Option<Box<Structure>>,
    /// What tells the items of a list apart.
    pub(super) unique: Unique,
    /// Fields that must be there.
    required: Vec<Box<str>>,
    /// What becomes of an object that lacks this field although it is required.
    missing: Missing,
    /// Whether it may be null.
    pub(super) is_nullable: bool,
    /// Whether undeclared fields stay.
    pub(super) keeps_unknown: bool,
    /// Whether it is a whole object, with `apiVersion`, `kind` and `metadata`.
    pub(super) is_embedded: bool,
}

/// The values of keys that are not declared by name.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Additional {
    /// There may be none.
    #[default]
    None,
    /// Any scalar; NB: what is inside of an object there is dropped.
    Any,
    /// Values of this form.
    Of(Box<Structure>),
}

/// What tells the items of a list apart.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Unique {
    /// Nothing.
    #[default]
    No,
    /// Each scalar is there once.
    Members,
    /// These fields, each with its default.
    Keys(Vec<(Box<str>, Option<Value>)>),
}

/// What stands for a required field that is missing.
#[derive(Debug, Default, PartialEq)]
enum Missing {
    /// The server has a default.
    Defaulted,
    /// This value, which is null or the zero of its type.
    Zero(Value),
    /// An object with what is required in it.
    Object,
    /// Nothing: the schema would not take a zero.
    #[default]
    Refused,
}

// === impl Structure ===

impl Structure {
    /// The structure of whole objects.
    pub(super) fn of_resource(schema: &Value) -> Self {
        Self { is_embedded: true, ..Self::of(schema) }
    }

    fn of(schema: &Value) -> Self {
        let flag = |name: &str| schema[name] == true;
        let properties = schema["properties"].as_object();
        let properties: BTreeMap<Box<str>, Self> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str().into(), Self::of(schema)))
            .collect();
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let items = &schema["items"];
        Self {
            required: required.filter(|name| properties.contains_key(*name)).map(Into::into).collect(),
            properties,
            additional: Additional::of(&schema["additionalProperties"]),
            items: items.is_object().then(|| Box::new(Self::of(items))),
            unique: Unique::of(schema),
            missing: Missing::of(schema),
            is_nullable: flag("nullable"),
            keeps_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            is_embedded: flag("x-kubernetes-embedded-resource"),
        }
    }

    /// Whether an explicit null of this field means something.
    pub(super) fn keeps_null(&self, name: &str) -> bool {
        self.properties.get(name).is_some_and(|property| property.is_nullable)
            && self.required.iter().any(|required| **required == *name)
    }

    /// Adds the zero values of required fields that an object lacks.
    pub(super) fn add_required(&self, object: &mut Map<String, Value>) {
        for name in &self.required {
            if !object.contains_key(&**name)
                && let Some(zero) = self.properties.get(name).and_then(Self::zero)
            {
                object.insert(name.to_string(), zero);
            }
        }
    }

    /// What stands for it when it is required but missing; nothing when the server has a default or would refuse.
    fn zero(&self) -> Option<Value> {
        match &self.missing {
            Missing::Defaulted | Missing::Refused => None,
            Missing::Zero(value) => Some(value.clone()),
            Missing::Object => {
                let mut object = Map::new();
                self.add_required(&mut object);
                let is_there = |name: &str| {
                    object.contains_key(name)
                        || self.properties.get(name).is_some_and(|it| it.missing == Missing::Defaulted)
                };
                self.required.iter().all(|name| is_there(name)).then_some(Value::Object(object))
            }
        }
    }
}

// === impl Additional ===

impl Additional {
    fn of(schema: &Value) -> Self {
        match schema {
            Value::Bool(true) => Self::Any,
            Value::Object(_) => Self::Of(Box::new(Structure::of(schema))),
            _ => Self::None,
        }
    }
}

// === impl Unique ===

impl Unique {
    fn of(schema: &Value) -> Self {
        let key = |key: &Value| {
            let key = key.as_str()?;
            Some((key.into(), schema["items"]["properties"][key].get("default").cloned()))
        };
        match schema["x-kubernetes-list-type"].as_str() {
            Some("set") => Self::Members,
            Some("map") => {
                let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
                Self::Keys(keys.filter_map(key).collect())
            }
            _ => Self::No,
        }
    }
}

// === impl Missing ===

impl Missing {
    fn of(schema: &Value) -> Self {
        if schema.get("default").is_some() {
            return Self::Defaulted;
        }
        if schema["nullable"] == true {
            return Self::Zero(Value::Null);
        }
        let asks_for_some = |name: &str| schema[name].as_f64().is_some_and(|least| least > 0.0);
        let zero = match schema["type"].as_str() {
            Some("boolean") => Value::Bool(false),
            Some("integer" | "number") if !asks_for_some("minimum") => 0.into(),
            Some("string") if !asks_for_some("minLength") && !has_text(schema, &["pattern", "format"]) => {
                "".into()
            }
            Some("array") if !asks_for_some("minItems") => Value::Array(Vec::new()),
            Some("object") if !asks_for_some("minProperties") => return Self::Object,
            _ => return Self::Refused,
        };
        match schema["enum"].as_array() {
            Some(allowed) if !allowed.contains(&zero) => Self::Refused,
            _ => Self::Zero(zero),
        }
    }
}

fn has_text(schema: &Value, names: &[&str]) -> bool {
    names.iter().any(|name| schema[*name].as_str().is_some_and(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(property: &Value) -> Value {
        let schema = json!({"type": "object", "required": ["x"], "properties": {"x": property}});
        let mut object = Map::new();
        Structure::of(&schema).add_required(&mut object);
        Value::Object(object)
    }

    #[test]
    fn a_missing_required_field_gets_the_zero_of_its_type() {
        let cases = [
            (json!({"type": "string", "nullable": true}), json!(null)),
            (json!({"type": "boolean"}), json!(false)),
            (json!({"type": "object"}), json!({})),
            (json!({"type": "array"}), json!([])),
            (json!({"type": "integer"}), json!(0)),
            (json!({"type": "integer", "minimum": 0}), json!(0)),
            (json!({"type": "number"}), json!(0)),
            (json!({"type": "string"}), json!("")),
            (json!({"type": "string", "enum": ["", "a"]}), json!("")),
            (
                json!({"type": "object", "required": ["a", "b"], "properties":
                {"a": {"type": "boolean"}, "b": {"type": "string", "default": "c"}, "d": {"type": "boolean"}}}),
                json!({"a": false}),
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(filled(&schema), json!({"x": expected}), "{schema}");
        }
    }

    #[test]
    fn a_zero_that_the_schema_refuses_is_not_added_nor_one_that_the_server_adds() {
        for schema in [
            json!({"type": "string", "default": "a"}),
            json!({"type": "string", "minLength": 1}),
            json!({"type": "string", "pattern": "^a+$"}),
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "enum": ["a"]}),
            json!({"type": "integer", "minimum": 1}),
            json!({"type": "array", "minItems": 1}),
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 2}}}),
            json!({"x-kubernetes-int-or-string": true}),
        ] {
            assert_eq!(filled(&schema), json!({}), "{schema}");
        }
    }

    #[test]
    fn only_null_of_a_required_nullable_field_means_something() {
        let schema = json!({"required": ["a", "c"], "properties": {"a": {"nullable": true},
            "b": {"nullable": true}, "c": {"type": "string"}}});
        let structure = Structure::of(&schema);
        assert_eq!(["a", "b", "c", "d"].map(|name| structure.keeps_null(name)), [true, false, false, false]);
    }
}
