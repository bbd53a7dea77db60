//! The walk over an object beside its type: every value is put into its canonical form where it is.

use std::fmt::Write as _;

use lockstep_schema::{Field, FieldType, Omit, Schema, Type};
use serde_json::{Map, Value};

use super::{DecodeError, Storage, scalar};

/// The type of the recursive schemas inside a definition.
const JSON_SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";

/// The state of one walk.
pub(super) struct Walk<'a> {
    schema: &'a Schema,
    storage: Storage,
    /// Whether the object is about to be stored.
    is_settling: bool,
    /// The place in the object as strict decoding writes it, with the indexes of lists and the keys of maps.
    place: String,
    /// The same as type errors write it: names of fields and of embedded structs only.
    fields: Vec<&'static str>,
    /// The struct whose field is looked at.
    holder: &'static str,
    /// Above zero inside values that the server decodes on their own: there it does not look for unknown fields.
    lenient: usize,
    unknown: Vec<String>,
    /// The first value of a wrong type; the Go decoder goes on after it.
    saved: Option<String>,
    /// The first problem of a type with a decoder of its own; the Go decoder stops there, so it hides what was saved.
    fatal: Option<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(schema: &'a Schema, storage: Storage) -> Self {
        Self {
            schema,
            storage,
            is_settling: false,
            place: String::new(),
            fields: Vec::new(),
            holder: "",
            lenient: 0,
            unknown: Vec::new(),
            saved: None,
            fatal: None,
        }
    }

    /// The walk before an object is stored.
    pub(super) fn settling(self) -> Self {
        Self { is_settling: true, ..self }
    }

    /// Walks a whole object.
    pub(super) fn root(&mut self, ty: &Type, object: &mut Value) {
        match object {
            Value::Object(map) => self.object(ty, map),
            other => self.mismatch(describe(other), &FieldType::Struct(ty.name).go_name()),
        }
    }

    /// The unknown fields, or what was wrong.
    pub(super) fn finish(self) -> Result<Vec<String>, DecodeError> {
        self.fatal.or(self.saved).map_or(Ok(self.unknown), |error| Err(DecodeError(error)))
    }

    fn object(&mut self, ty: &Type, map: &mut Map<String, Value>) {
        let holder = std::mem::replace(&mut self.holder, go_struct(ty.name));
        let (place, depth) = (self.place.len(), self.fields.len());
        map.retain(|name, value| {
            if !self.place.is_empty() {
                self.place.push('.');
            }
            self.place.push_str(name);
            let keep = if let Some((&name, field)) = ty.fields.get_key_value(name.as_str()) {
                self.fields.extend(field.via);
                self.fields.push(name);
                self.field(ty, name, field, value)
            } else {
                if self.lenient == 0 {
                    self.unknown.push(format!("unknown field {:?}", self.place));
                }
                false
            };
            self.place.truncate(place);
            self.fields.truncate(depth);
            keep
        });
        self.holder = holder;
        for (&name, field) in &ty.fields {
            if let Some(zero) = self.absent(field)
                && !map.contains_key(name)
            {
                map.insert(name.into(), zero);
            }
        }
    }

    /// Puts the value of a field into its form; false when the field is not written.
    fn field(&mut self, ty: &Type, name: &str, field: &Field, value: &mut Value) -> bool {
        // Whoever wrote these entries has checked them, and nobody else reads them; an empty list says to forget them.
        if name == "managedFields" && ty.name == "meta.v1.ObjectMeta" {
            return value.as_array().is_some_and(|entries| !self.is_settling || !entries.is_empty());
        }
        if value.is_null() {
            return self.absent(field).inspect(|zero| *value = zero.clone()).is_some();
        }
        self.value(&field.ty, field.go, value);
        if field.pointer {
            // The zero time is written as null; where it is read again from there, it is no time.
            return !(value.is_null() && self.storage == Storage::Json);
        }
        match &field.ty {
            FieldType::List(_) | FieldType::Map(_) if is_empty(value) => {
                if field.omit == Omit::Never && self.is_settling {
                    *value = Value::Null;
                }
                field.omit == Omit::Never
            }
            FieldType::Struct(_) | FieldType::Time => field.omit != Omit::Zero || !is_zero(value),
            FieldType::String
            | FieldType::Bytes
            | FieldType::Integer
            | FieldType::Number
            | FieldType::Boolean => field.omit == Omit::Never || !is_zero(value),
            _ => true,
        }
    }

    /// What is written for a field that is missing.
    pub(super) fn absent(&self, field: &Field) -> Option<Value> {
        let null = || (field.omit == Omit::Never).then_some(Value::Null);
        if field.pointer {
            return null();
        }
        match &field.ty {
            FieldType::List(_) | FieldType::Map(_) | FieldType::Bytes => null(),
            FieldType::String | FieldType::Integer | FieldType::Number | FieldType::Boolean => {
                (field.omit == Omit::Never).then(|| self.zero(&field.ty))
            }
            _ if field.omit == Omit::Zero => None,
            other => Some(self.zero(other)),
        }
    }

    /// The zero value of a type, as it is written.
    fn zero(&self, ty: &FieldType) -> Value {
        match ty {
            FieldType::String | FieldType::Bytes => Value::String(String::new()),
            FieldType::Integer | FieldType::Number | FieldType::IntOrString => Value::from(0),
            FieldType::Boolean => Value::Bool(false),
            FieldType::Quantity => Value::from("0"),
            FieldType::Struct(name) => {
                let fields = self.schema.ty(name).into_iter().flat_map(|ty| &ty.fields);
                fields
                    .filter_map(|(&name, field)| Some((name.to_owned(), self.absent(field)?)))
                    .collect::<Map<_, _>>()
                    .into()
            }
            FieldType::Time | FieldType::Object | FieldType::Any | FieldType::List(_) | FieldType::Map(_) => {
                Value::Null
            }
        }
    }

    /// Puts a value that is not null into its form; `go` is the name of its type where it does not follow from the type.
    fn value(&mut self, ty: &FieldType, go: Option<&str>, value: &mut Value) {
        match ty {
            FieldType::Struct(name) => match (self.schema.ty(name), &mut *value) {
                (Some(ty), Value::Object(map)) => self.object(ty, map),
                (None, _) => {}
                (Some(_), other) => self.mismatch(describe(other), &ty.go_name()),
            },
            FieldType::List(inner) => match value {
                Value::Array(items) => self.items(inner, go, items),
                other => self.mismatch(describe(other), &named(ty, go)),
            },
            FieldType::Map(inner) => match value {
                Value::Object(entries) => self.entries(inner, go, entries),
                other => self.mismatch(describe(other), &named(ty, go)),
            },
            FieldType::Any => self.any(go, value),
            FieldType::Object => {}
            scalar => {
                let text = match scalar::canonical(scalar, go, value) {
                    Ok(()) => return,
                    Err(scalar::Problem::Type(go)) => self.mismatch_text(describe(value), &go),
                    Err(scalar::Problem::Number(go)) => self.mismatch_text(&format!("number {value}"), &go),
                    Err(scalar::Problem::Text(text)) => text,
                };
                let own = matches!(scalar, FieldType::Quantity | FieldType::Time | FieldType::IntOrString);
                self.fail(text, own);
            }
        }
    }

    fn items(&mut self, inner: &FieldType, go: Option<&str>, items: &mut [Value]) {
        let go = go.and_then(|go| go.strip_prefix("[]"));
        // Scalars never name their place, and there can be many.
        let named = !is_scalar(inner);
        let place = self.place.len();
        for (index, item) in items.iter_mut().enumerate() {
            if named {
                // Writing to a string cannot fail.
                let _ = write!(self.place, "[{index}]");
            }
            self.element(inner, go, item);
            self.place.truncate(place);
        }
    }

    fn entries(&mut self, inner: &FieldType, go: Option<&str>, entries: &mut Map<String, Value>) {
        let go = match go {
            Some("v1.JSONSchemaDependencies") => Some("v1.JSONSchemaPropsOrStringArray"),
            Some(go) => go.strip_prefix("map[").and_then(|rest| Some(rest.split_once(']')?.1)),
            None => None,
        };
        let named = !is_scalar(inner);
        let place = self.place.len();
        for (key, value) in entries {
            if named {
                self.place.push('.');
                self.place.push_str(key);
            }
            self.element(inner, go, value);
            self.place.truncate(place);
        }
    }

    /// An element of a list or a map: a null is the zero value of its type.
    fn element(&mut self, ty: &FieldType, go: Option<&str>, value: &mut Value) {
        if value.is_null() {
            *value = match ty {
                FieldType::List(_) => Value::Array(Vec::new()),
                other => self.zero(other),
            };
        } else {
            self.value(ty, go, value);
        }
    }

    /// The parts of a schema that are more than one thing; anything else of this type is taken as it is.
    ///
    /// The server decodes each of them on its own, and not strictly.
    fn any(&mut self, go: Option<&str>, value: &mut Value) {
        let Some(schema) = self.schema.ty(JSON_SCHEMA) else { return };
        match go {
            Some("v1.JSONSchemaPropsOrArray") => {
                self.lenient += 1;
                match value {
                    Value::Object(map) => self.object(schema, map),
                    Value::Array(items) if !items.is_empty() => {
                        self.items(&FieldType::Struct(JSON_SCHEMA), None, items);
                    }
                    other => *other = Value::Null,
                }
                self.lenient -= 1;
            }
            Some("v1.JSONSchemaPropsOrBool") => {
                self.lenient += 1;
                match value {
                    Value::Object(map) => self.object(schema, map),
                    Value::Bool(_) => {}
                    _ => self.fail("boolean or JSON schema expected".into(), true),
                }
                self.lenient -= 1;
            }
            Some("v1.JSONSchemaPropsOrStringArray") => {
                self.lenient += 1;
                match value {
                    Value::Object(map) => self.object(schema, map),
                    Value::Array(items) if !items.is_empty() => self.items(&FieldType::String, None, items),
                    other => *other = Value::Null,
                }
                self.lenient -= 1;
            }
            Some("v1.JSON") => crate::server::go_json::settle_numbers(value),
            _ => {}
        }
    }

    fn mismatch(&mut self, what: &str, go: &str) {
        let text = self.mismatch_text(what, go);
        self.fail(text, false);
    }

    fn mismatch_text(&self, what: &str, go: &str) -> String {
        if self.fields.is_empty() {
            format!("json: cannot unmarshal {what} into Go value of type {go}")
        } else {
            let path = self.fields.join(".");
            format!("json: cannot unmarshal {what} into Go struct field {}.{path} of type {go}", self.holder)
        }
    }

    /// Notes a problem; `own` when a decoder of its own found it.
    fn fail(&mut self, text: String, own: bool) {
        let slot = if own || self.lenient > 0 { &mut self.fatal } else { &mut self.saved };
        slot.get_or_insert(text);
    }
}

/// The Go name of a struct without its package.
fn go_struct(type_name: &'static str) -> &'static str {
    type_name.rsplit_once('.').map_or(type_name, |(_, name)| name)
}

fn named(ty: &FieldType, go: Option<&str>) -> String {
    go.map_or_else(|| ty.go_name(), str::to_owned)
}

/// The word of the Go decoder for a JSON value.
fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_scalar(ty: &FieldType) -> bool {
    !matches!(ty, FieldType::Struct(_) | FieldType::List(_) | FieldType::Map(_) | FieldType::Any)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}
