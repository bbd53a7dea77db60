//! What the server's schema says about a place in an object, as far as merging needs it.

use lockstep_api::object;
use lockstep_schema::{Field, FieldType, ListType, MapType, Schema, Type};
use serde_json::{Map, Value};

use super::default;
use super::equal::is_zero;

/// The fields that tell the entries of a list apart.
pub(super) type Keys = &'static [&'static str];

/// What is known about a value by its place; nothing at all in objects of kinds that are not built in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    ty: Option<&'static FieldType>,
    /// The type of the fields, when it is a struct.
    fields: Option<&'static Type>,
    field: Option<&'static Field>,
}

/// The type of a schema in a definition.
const SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";
/// The fields of a schema that are a schema or something else, which the published types call anything.
const OR_SCHEMA: [&str; 3] = ["additionalItems", "additionalProperties", "items"];

/// How two lists are compared.
pub(super) enum ListShape {
    /// As a whole, entry by entry.
    Whole,
    /// As a set of scalars.
    Set,
    /// Entry by entry, matched by keys.
    ByKeys(Keys),
}

// === impl Shape ===

impl Shape {
    /// A whole object.
    pub(super) fn root(manifest: &Value) -> Self {
        let schema = Schema::builtin();
        let kind = schema.kind(object::api_version(manifest), object::kind(manifest));
        Self { fields: kind.and_then(|kind| schema.root(kind)), ..Self::default() }
    }

    /// The metadata of any object.
    pub(super) fn metadata() -> Self {
        Self { fields: Schema::builtin().ty("meta.v1.ObjectMeta"), ..Self::default() }
    }

    /// What is below a name: the field of a struct or the value of a map.
    pub(super) fn below(self, name: &str) -> Self {
        if let Some((ty, field)) = self.fields.and_then(|ty| Some((ty, ty.field(name)?))) {
            let shape = Self { field: Some(field), ..Self::of(&field.ty) };
            let is_schema = ty.name == SCHEMA && OR_SCHEMA.contains(&name);
            return if is_schema { Self { fields: Some(ty), ..shape } } else { shape };
        }
        match self.ty {
            Some(FieldType::Map(inner)) => Self::of(inner),
            _ => Self::default(),
        }
    }

    /// An entry of the list.
    pub(super) fn item(self) -> Self {
        match self.ty {
            Some(FieldType::List(inner)) => Self::of(inner),
            _ => Self::default(),
        }
    }

    fn of(ty: &'static FieldType) -> Self {
        let fields = ty.struct_name().and_then(|name| Schema::builtin().ty(name));
        Self { ty: Some(ty), fields, field: None }
    }

    pub(super) fn ty(self) -> Option<&'static FieldType> {
        self.ty
    }

    pub(super) fn is_typed(self) -> bool {
        self.ty.is_some() || self.fields.is_some()
    }

    /// Whether the server may store a field of this name here.
    pub(super) fn declares(self, name: &str) -> bool {
        self.fields.is_none_or(|ty| ty.field(name).is_some())
    }

    /// Whether it is a map with any keys.
    pub(super) fn is_map(self) -> bool {
        matches!(self.ty, Some(FieldType::Map(_)))
    }

    /// Whether server-side apply replaces this struct or map as a whole.
    pub(super) fn is_atomic(self) -> bool {
        self.field.is_some_and(|field| field.map == MapType::Atomic)
            || self.fields.is_some_and(|ty| ty.map == MapType::Atomic)
    }

    pub(super) fn list(self) -> ListShape {
        match self.field.map(|field| &field.list) {
            Some(ListType::Map(keys)) => ListShape::ByKeys(keys),
            Some(ListType::Set) => ListShape::Set,
            _ => ListShape::Whole,
        }
    }

    /// Whether a value reads the same as no value at all.
    ///
    /// Lists and maps without entries do, and zero values that the server's types cannot tell from missing ones. Where no
    /// type is known an empty object stays one: it may choose a member of a union.
    pub(super) fn is_nothing(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => {
                fields.is_empty() && (self.is_map() || self.field.is_some_and(|field| !field.pointer))
            }
            // NB: a value of a map and an entry of a list are there, whatever they are: only fields can be missing.
            scalar => is_zero(scalar) && self.field.map_or(self.ty.is_none(), |field| !field.pointer),
        }
    }

    /// What the server fills in for a field of this struct that is missing, given the struct's other fields.
    pub(super) fn default_of(self, name: &str, beside: &Map<String, Value>) -> Option<Value> {
        self.fields.and_then(|ty| default::of(ty, name, beside))
    }

    /// Whether a field of this struct follows from others in a way that only the server knows.
    pub(super) fn is_derived(self, name: &str) -> bool {
        self.fields.is_some_and(|ty| default::is_derived(ty.name, name))
    }

    /// What tells an entry of this type from others; nothing when it is no object.
    pub(super) fn key(self, keys: Keys, item: &Value) -> Option<String> {
        let fields = item.as_object()?;
        let values = keys.iter().map(|key| match fields.get(*key).filter(|value| !is_zero(value)) {
            Some(value) => value.clone(),
            None => self.default_of(key, fields).unwrap_or_default(),
        });
        Some(Value::Array(values.collect()).to_string())
    }
}
