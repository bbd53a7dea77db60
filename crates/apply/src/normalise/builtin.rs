//! Objects of built-in kinds, by what is known about their fields.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use lockstep_schema::{Field, FieldType, ListType, MapType, Omit, Schema, Type};
use serde_json::{Map, Value};

use super::{Trail, unique};

/// Reads base64 as the server does: bits that no byte has are not looked at.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);
/// The type of the schemas in a CRD.
const JSON_SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";
/// How the Go types begin that are a schema, or a list of them, or a flag.
const SCHEMA_OR_OTHER: &str = "v1.JSONSchemaPropsOr";
/// The type of every object's metadata.
const OBJECT_META: &str = "meta.v1.ObjectMeta";

impl Trail {
    /// Takes out of a struct what its type does not declare, nulls, and what the server cannot tell from "not there".
    ///
    /// `is_atomic` says that appliers own a surrounding value as a whole. There a zero goes as well. Anywhere else it
    /// stays: the server does not store it, but records that we own the field, so that a foreign value is seen.
    pub(super) fn fields(&mut self, ty: &Type, object: &mut Map<String, Value>, is_atomic: bool) {
        let is_atomic = is_atomic || ty.map == MapType::Atomic;
        object.retain(|name, value| {
            let Some(field) = ty.field(name) else {
                self.drop(name);
                return false;
            };
            if value.is_null() {
                return false;
            }
            let is_atomic = is_atomic || is_owned_as_a_whole(field);
            self.below(name, |trail| trail.field(field, value, is_atomic));
            !(is_absent(&field.ty, value) || is_atomic && is_zero(field, value))
        });
    }

    /// The metadata of any object; its fields are known, whatever its kind is.
    pub(super) fn metadata(&mut self, metadata: &mut Value) {
        if let (Value::Object(metadata), Some(ty)) = (metadata, Schema::builtin().ty(OBJECT_META)) {
            self.fields(ty, metadata, false);
        }
    }

    fn field(&mut self, field: &Field, value: &mut Value, is_atomic: bool) {
        if field.go.is_some_and(|go| go.starts_with(SCHEMA_OR_OTHER)) {
            self.json_schema(value);
            return;
        }
        self.value(&field.ty, value, is_atomic);
        if let (FieldType::List(inner), Value::Array(list)) = (&field.ty, value) {
            match &field.list {
                ListType::Atomic => {}
                ListType::Set => unique::keep_last_members(list),
                ListType::Map(keys) => unique::keep_last(list, &keys_with_defaults(inner, keys)),
            }
        }
    }

    // NB: a value of another type than declared stays as it is; the refusal of the server says it best.
    fn value(&mut self, ty: &FieldType, value: &mut Value, is_atomic: bool) {
        match (ty, value) {
            (FieldType::Struct(name), Value::Object(object)) => {
                if let Some(ty) = Schema::builtin().ty(name) {
                    self.fields(ty, object, is_atomic);
                }
            }
            (FieldType::List(inner), Value::Array(list)) => {
                self.items(list, |trail, item| trail.value(inner, item, is_atomic));
            }
            (FieldType::Map(inner), Value::Object(map)) => map.retain(|key, value| {
                self.below(key, |trail| trail.value(inner, value, is_atomic));
                !value.is_null()
            }),
            (FieldType::Bytes, Value::String(text)) => {
                if let Some(canonical) = canonical_base64(text) {
                    *text = canonical;
                }
            }
            _ => {}
        }
    }

    /// A schema inside a CRD, or a list of them; a flag stays.
    fn json_schema(&mut self, value: &mut Value) {
        match value {
            Value::Object(schema) => {
                if let Some(ty) = Schema::builtin().ty(JSON_SCHEMA) {
                    self.fields(ty, schema, true);
                }
            }
            Value::Array(list) => self.items(list, Self::json_schema),
            _ => {}
        }
    }
}

fn is_owned_as_a_whole(field: &Field) -> bool {
    match field.ty {
        FieldType::List(_) => field.list == ListType::Atomic,
        _ => field.map == MapType::Atomic,
    }
}

/// Whether the server has no way to store a value: it does not tell empty lists and maps from missing ones.
fn is_absent(ty: &FieldType, value: &Value) -> bool {
    match (ty, value) {
        (FieldType::List(_), Value::Array(list)) => list.is_empty(),
        (FieldType::Map(_), Value::Object(map)) => map.is_empty(),
        _ => false,
    }
}

/// Whether a value is a zero that the server does not store.
fn is_zero(field: &Field, value: &Value) -> bool {
    let is_scalar = matches!(
        field.ty,
        FieldType::String | FieldType::Bytes | FieldType::Integer | FieldType::Number | FieldType::Boolean
    );
    let is_zero = match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        _ => false,
    };
    is_scalar && is_zero && !field.pointer && field.omit == Omit::Empty
}

/// The keys that tell items apart; one that an item leaves out has its default.
fn keys_with_defaults<'a>(item: &FieldType, keys: &[&'a str]) -> Vec<(&'a str, Option<&'static Value>)> {
    let ty = item.struct_name().and_then(|name| Schema::builtin().ty(name));
    let default = |key: &str| ty?.field(key)?.default.as_ref();
    keys.iter().map(|key| (*key, default(key))).collect()
}

/// The same bytes as the server writes them: on one line; nothing when the text is no base64.
fn canonical_base64(text: &str) -> Option<String> {
    let joined = text.replace(['\r', '\n'], "");
    Some(STANDARD.encode(LENIENT.decode(joined).ok()?))
}
