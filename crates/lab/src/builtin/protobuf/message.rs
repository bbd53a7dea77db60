//! One message as the JSON that a Go client would write of the same struct.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use lockstep_schema::{Message, MessageField, Omit, Schema, Shape, Type, WireType};
use serde_json::{Map, Value};

use super::wire::{Reader, Wire, low_32};

/// How deep a document may be: what is read from it as JSON afterwards may have 128 levels.
///
/// Only the schema of a CRD has no depth of its own, and the real server has no limit for it; no CRD comes near.
const DEEPEST: usize = 120;

/// The message of the schemas inside a CRD.
const JSON_SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";

/// The fields of a whole object.
pub(super) fn object(message: &'static Message, bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let mut object = Map::new();
    fields(message, Schema::builtin().ty(message.name), bytes, &mut object, DEEPEST)?;
    Ok(object)
}

/// Adds the fields of a message to an object; `holder` is the type of that object, which an embedded struct shares.
fn fields(
    message: &'static Message,
    holder: Option<&'static Type>,
    bytes: &[u8],
    object: &mut Map<String, Value>,
    levels: usize,
) -> Result<(), String> {
    let levels = levels.checked_sub(1).ok_or("proto: exceeded max depth")?;
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag(go_struct(message.name))? {
        match message.fields.get(&number) {
            None => reader.skip(wire)?,
            Some(field) => self::field(field, holder, wire, &mut reader, object, levels)?,
        }
    }
    Ok(())
}

/// Adds one occurrence of a field to an object.
fn field(
    field: &'static MessageField,
    holder: Option<&'static Type>,
    wire: Wire,
    reader: &mut Reader<'_>,
    object: &mut Map<String, Value>,
    levels: usize,
) -> Result<(), String> {
    match (field.shape, field.ty) {
        (Shape::One, WireType::Message(name)) => {
            wire.expect(Wire::BYTES, || go_field(field))?;
            let bytes = reader.bytes()?;
            if field.name.is_empty() {
                return fields(inner(name)?, holder, bytes, object, levels);
            }
            // The same message again adds to the first.
            let value = object.entry(field.name).or_insert_with(|| Map::new().into());
            let Value::Object(object) = value else { return Ok(()) };
            fields(inner(name)?, Schema::builtin().ty(name), bytes, object, levels)
        }
        (Shape::One, ty) => {
            let value = value(ty, field, wire, reader, levels)?;
            if is_unset(holder, field, &value) {
                object.remove(field.name);
            } else {
                object.insert(field.name.into(), value);
            }
            Ok(())
        }
        (Shape::List, ty) => {
            let levels = levels.saturating_sub(1);
            let list = object.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
            let Value::Array(list) = list else { return Ok(()) };
            if wire == Wire::BYTES && wire_of(ty) != Wire::BYTES {
                let mut packed = Reader::new(reader.bytes()?);
                while !packed.is_done() {
                    list.push(value(ty, field, wire_of(ty), &mut packed, levels)?);
                }
            } else {
                list.push(value(ty, field, wire, reader, levels)?);
            }
            Ok(())
        }
        (Shape::Map, ty) => {
            wire.expect(Wire::BYTES, || go_field(field))?;
            let (key, value) = entry(ty, field, reader.bytes()?, levels.saturating_sub(1))?;
            let map = object.entry(field.name).or_insert_with(|| Map::new().into());
            if let Value::Object(map) = map {
                map.insert(key, value);
            }
            Ok(())
        }
    }
}

/// Key and value of an entry of a map; what is missing is zero.
fn entry(
    ty: WireType,
    field: &'static MessageField,
    bytes: &[u8],
    levels: usize,
) -> Result<(String, Value), String> {
    let (mut key, mut found) = (String::new(), None);
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag(go_field(field).as_str())? {
        match number {
            1 => {
                wire.expect(Wire::BYTES, || go_field(field))?;
                key = text(reader.bytes()?);
            }
            2 => found = Some(value(ty, field, wire, &mut reader, levels)?),
            _ => reader.skip(wire)?,
        }
    }
    let zero = || value(ty, field, wire_of(ty), &mut Reader::new(&[0; 8]), levels);
    Ok((key, found.map_or_else(zero, Ok)?))
}

/// One value.
fn value(
    ty: WireType,
    field: &'static MessageField,
    wire: Wire,
    reader: &mut Reader<'_>,
    levels: usize,
) -> Result<Value, String> {
    wire.expect(wire_of(ty), || go_field(field))?;
    Ok(match ty {
        WireType::Int32 => low_32(reader.varint()?).into(),
        WireType::Int64 => reader.varint()?.cast_signed().into(),
        WireType::Bool => (reader.varint()? != 0).into(),
        WireType::Double => reader.double()?.into(),
        WireType::String => text(reader.bytes()?).into(),
        WireType::Bytes => STANDARD.encode(reader.bytes()?).into(),
        WireType::Time => time(reader.bytes()?, false)?,
        WireType::MicroTime => time(reader.bytes()?, true)?,
        WireType::Quantity => {
            let [quantity] = texts(reader.bytes()?, "Quantity", [1])?;
            quantity.unwrap_or_else(|| "0".into()).into()
        }
        WireType::IntOrString => int_or_string(reader.bytes()?)?,
        WireType::Raw => raw(reader.bytes()?, field)?,
        WireType::Strings => strings(reader.bytes()?, 1)?,
        WireType::SchemaOrSchemas | WireType::SchemaOrBool | WireType::SchemaOrStrings => {
            alternative(ty, reader.bytes()?, levels)?
        }
        WireType::Message(name) => {
            let mut object = Map::new();
            fields(inner(name)?, Schema::builtin().ty(name), reader.bytes()?, &mut object, levels)?;
            object.into()
        }
    })
}

fn wire_of(ty: WireType) -> Wire {
    match ty {
        WireType::Int32 | WireType::Int64 | WireType::Bool => Wire::VARINT,
        WireType::Double => Wire::FIXED64,
        _ => Wire::BYTES,
    }
}

fn inner(name: &str) -> Result<&'static Message, String> {
    // A test of the schema crate holds that every message that is named is there.
    Message::of(name).ok_or_else(|| format!("proto: {name} is not described"))
}

/// Whether a value says nothing: Go writes all scalars that are no pointers, also those that nobody has set.
fn is_unset(holder: Option<&Type>, field: &MessageField, value: &Value) -> bool {
    let is_zero = match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        // The texts of quantities, times and so on are never empty.
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    is_zero
        && !matches!(field.ty, WireType::Raw | WireType::IntOrString)
        && holder
            .and_then(|ty| ty.field(field.name))
            .is_some_and(|field| !field.pointer && field.omit != Omit::Never)
}

// === Messages that are no object ===

/// Bytes that are not text are replaced, as they are when the server writes them.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The numbers of a message of numbers.
fn numbers<const N: usize>(bytes: &[u8], message: &str, wanted: [u32; N]) -> Result<[u64; N], String> {
    let mut found = [0; N];
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag(message)? {
        match wanted.iter().position(|it| *it == number) {
            Some(place) => {
                wire.expect(Wire::VARINT, || message.into())?;
                found[place] = reader.varint()?;
            }
            None => reader.skip(wire)?,
        }
    }
    Ok(found)
}

/// The texts of a message of texts.
pub(super) fn texts<const N: usize>(
    bytes: &[u8],
    message: &str,
    wanted: [u32; N],
) -> Result<[Option<String>; N], String> {
    let mut found = [const { None }; N];
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag(message)? {
        match wanted.iter().position(|it| *it == number) {
            Some(place) => {
                wire.expect(Wire::BYTES, || message.into())?;
                found[place] = Some(text(reader.bytes()?));
            }
            None => reader.skip(wire)?,
        }
    }
    Ok(found)
}

fn strings(bytes: &[u8], wanted: u32) -> Result<Value, String> {
    let mut list: Vec<Value> = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag("Items")? {
        if number == wanted && wire == Wire::BYTES {
            list.push(text(reader.bytes()?).into());
        } else {
            reader.skip(wire)?;
        }
    }
    Ok(list.into())
}

/// A time of 1970 and later or before; nothing at all is no time.
fn time(bytes: &[u8], has_parts: bool) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let [seconds, nanos] = numbers(bytes, "Timestamp", [1, 2])?;
    let out_of_range = |error: jiff::Error| error.to_string();
    let seconds = Timestamp::from_second(seconds.cast_signed()).map_err(out_of_range)?;
    if !has_parts {
        return Ok(seconds.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into());
    }
    let micros = i64::from(low_32(nanos) / 1000);
    let time = seconds.checked_add(jiff::SignedDuration::from_micros(micros)).map_err(out_of_range)?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let [sort, number] = numbers(bytes, "IntOrString", [1, 2])?;
    let [text] = texts(bytes, "IntOrString", [3])?;
    match sort {
        0 => Ok(low_32(number).into()),
        1 => Ok(text.unwrap_or_default().into()),
        _ => Err("impossible IntOrString.Type".into()),
    }
}

/// The JSON inside a message; nothing at all is null.
fn raw(bytes: &[u8], field: &MessageField) -> Result<Value, String> {
    let mut found: &[u8] = &[];
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag("RawExtension")? {
        if number == 1 && wire == Wire::BYTES {
            found = reader.bytes()?;
        } else {
            reader.skip(wire)?;
        }
    }
    if found.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(found).map_err(|error| format!("`{}` is not JSON: {error}", field.name))
}

/// The parts of a schema that are more than one thing.
fn alternative(ty: WireType, bytes: &[u8], levels: usize) -> Result<Value, String> {
    let is_bool = ty == WireType::SchemaOrBool;
    let schema_number = if is_bool { 2 } else { 1 };
    let schema_of = |bytes: &[u8], levels| -> Result<Value, String> {
        let mut object = Map::new();
        fields(inner(JSON_SCHEMA)?, Schema::builtin().ty(JSON_SCHEMA), bytes, &mut object, levels)?;
        Ok(object.into())
    };
    let (mut schema, mut allows, mut list) = (None, false, Vec::<Value>::new());
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag("JSONSchemaProps")? {
        match (number, wire) {
            (_, Wire::BYTES) if number == schema_number => schema = Some(schema_of(reader.bytes()?, levels)?),
            (1, Wire::VARINT) if is_bool => allows = reader.varint()? != 0,
            (2, Wire::BYTES) if ty == WireType::SchemaOrStrings => list.push(text(reader.bytes()?).into()),
            (2, Wire::BYTES) => list.push(schema_of(reader.bytes()?, levels.saturating_sub(1))?),
            _ => reader.skip(wire)?,
        }
    }
    Ok(match (list.is_empty(), schema) {
        (false, _) => list.into(),
        (true, Some(schema)) => schema,
        (true, None) if is_bool => allows.into(),
        (true, None) => Value::Null,
    })
}

// === Names in error messages ===

/// The Go name of a struct without its package.
fn go_struct(name: &'static str) -> &'static str {
    name.rsplit_once('.').map_or(name, |(_, name)| name)
}

/// The Go name of a field: nearly always that in JSON with a capital.
fn go_field(field: &MessageField) -> String {
    match (field.name, field.ty) {
        ("" | "metadata", WireType::Message(name)) => go_struct(name).into(),
        (name, _) => {
            let mut letters = name.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
        }
    }
}
