//! The protobuf messages that stand for the types.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The form of `protobuf.json` that this code reads.
const FORMAT: u32 = 1;

/// How a type is written in protobuf.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// The name of the type, such as `core.v1.Container`, or of an embedded struct, such as `core.v1.VolumeSource`.
    pub name: &'static str,
    /// Its fields by number.
    pub fields: BTreeMap<u32, MessageField>,
}

/// One field of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct MessageField {
    /// The name in JSON; empty where the fields of the message lie flat in its holder.
    pub name: &'static str,
    /// How many values it has.
    pub shape: Shape,
    /// What each value is.
    pub ty: WireType,
}

/// How many values a field of a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One.
    One,
    /// A list of them.
    List,
    /// A map from texts to them.
    Map,
}

/// What a value of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireType {
    /// Text.
    String,
    /// Bytes, written as base64 in JSON.
    Bytes,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// True or false.
    Bool,
    /// A number.
    Double,
    /// A message of seconds (and parts that are not looked at) since 1970.
    Time,
    /// A message of seconds and nanoseconds since 1970.
    MicroTime,
    /// A message of one text, such as `100m`.
    Quantity,
    /// A message that says which one it is, then both.
    IntOrString,
    /// A message of bytes, which are JSON.
    Raw,
    /// A message of texts, which is a list in JSON.
    Strings,
    /// A message of a schema or a list of schemas.
    SchemaOrSchemas,
    /// A message of true or false, or a schema.
    SchemaOrBool,
    /// A message of a schema or a list of texts.
    SchemaOrStrings,
    /// Another message, see [`Message::of`].
    Message(&'static str),
}

#[derive(Deserialize)]
struct RawFile {
    format: u32,
    #[serde(borrow)]
    messages: BTreeMap<&'static str, &'static str>,
}

static MESSAGES: LazyLock<BTreeMap<&'static str, Message>> = LazyLock::new(|| {
    parse(include_str!("../data/protobuf.json"))
        .expect("invariant: the data files of this crate are well-formed, a test reads them")
});

// === impl Message ===

impl Message {
    /// The message of a type of the built-in kinds, an embedded struct or `meta.v1.DeleteOptions`.
    pub fn of(type_name: &str) -> Option<&'static Self> {
        MESSAGES.get(type_name)
    }
}

fn parse(text: &'static str) -> Result<BTreeMap<&'static str, Message>, String> {
    let file: RawFile = serde_json::from_str(text).map_err(|error| format!("protobuf.json: {error}"))?;
    if file.format != FORMAT {
        return Err(format!("protobuf.json: format {} where {FORMAT} is read", file.format));
    }
    let mut messages = BTreeMap::new();
    for (name, line) in file.messages {
        let mut fields = BTreeMap::new();
        for word in line.split_whitespace() {
            let (number, field) = field(word).ok_or_else(|| format!("protobuf.json: {name}: `{word}`"))?;
            fields.insert(number, field);
        }
        messages.insert(name, Message { name, fields });
    }
    Ok(messages)
}

/// A word such as `3:command:[]string`.
fn field(word: &'static str) -> Option<(u32, MessageField)> {
    let (number, rest) = word.split_once(':')?;
    let (name, ty) = rest.split_once(':')?;
    let (shape, ty) = if let Some(inner) = ty.strip_prefix("[]") {
        (Shape::List, inner)
    } else if let Some(inner) = ty.strip_prefix("{}") {
        (Shape::Map, inner)
    } else {
        (Shape::One, ty)
    };
    Some((number.parse().ok()?, MessageField { name, shape, ty: wire_type(ty)? }))
}

fn wire_type(word: &'static str) -> Option<WireType> {
    Some(match word {
        "string" => WireType::String,
        "bytes" => WireType::Bytes,
        "int32" => WireType::Int32,
        "int64" => WireType::Int64,
        "bool" => WireType::Bool,
        "double" => WireType::Double,
        "time" => WireType::Time,
        "micro-time" => WireType::MicroTime,
        "quantity" => WireType::Quantity,
        "int-or-string" => WireType::IntOrString,
        "raw" => WireType::Raw,
        "strings" => WireType::Strings,
        "schema-or-schemas" => WireType::SchemaOrSchemas,
        "schema-or-bool" => WireType::SchemaOrBool,
        "schema-or-strings" => WireType::SchemaOrStrings,
        name if name.contains('.') => WireType::Message(name),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;

    fn found(message: &str, number: u32) -> (&'static str, Shape, WireType) {
        let field = &Message::of(message).expect("message").fields[&number];
        (field.name, field.shape, field.ty)
    }

    #[test]
    fn fields_have_the_names_of_json_and_embedded_structs_have_none() {
        assert_eq!(found("core.v1.Container", 3), ("command", Shape::List, WireType::String));
        assert_eq!(found("core.v1.Volume", 2), ("", Shape::One, WireType::Message("core.v1.VolumeSource")));
        assert_eq!(found("core.v1.Secret", 2), ("data", Shape::Map, WireType::Bytes));
        assert_eq!(found("apiextensions.v1.JSONSchemaProps", 3), ("$ref", Shape::One, WireType::String));
        assert_eq!(found("authorization.v1.SubjectAccessReviewSpec", 5).2, WireType::Strings);
        assert_eq!(found("coordination.v1.LeaseSpec", 3).2, WireType::MicroTime);
        assert_eq!(found("meta.v1.DeleteOptions", 1), ("gracePeriodSeconds", Shape::One, WireType::Int64));
    }

    #[test]
    fn every_kind_has_a_message_and_every_message_that_is_named_exists() {
        for kind in Schema::builtin().kinds() {
            assert!(Message::of(kind.type_name).is_some(), "{}", kind.type_name);
        }
        for message in MESSAGES.values() {
            for field in message.fields.values() {
                if let WireType::Message(name) = field.ty {
                    assert!(Message::of(name).is_some(), "{}.{}: {name}", message.name, field.name);
                }
            }
        }
    }

    /// The fields of a message as they lie in JSON.
    fn flat(message: &Message) -> Vec<&'static str> {
        let mut names = Vec::new();
        for field in message.fields.values() {
            match field.ty {
                WireType::Message(inner) if field.name.is_empty() => {
                    names.extend(Message::of(inner).into_iter().flat_map(flat));
                }
                _ => names.push(field.name),
            }
        }
        names.sort_unstable();
        names
    }

    #[test]
    fn messages_and_types_have_the_same_fields() {
        let mut count = 0;
        for message in MESSAGES.values() {
            let Some(ty) = Schema::builtin().ty(message.name) else { continue };
            // An object says its kind and version outside of its message.
            let mut names: Vec<&str> = ty.fields.keys().copied().collect();
            let flat = flat(message);
            names.retain(|name| flat.contains(name) || !matches!(*name, "apiVersion" | "kind"));
            assert_eq!(flat, names, "{}", message.name);
            count += 1;
        }
        assert!(count > 400, "{count}");
    }

    #[test]
    fn another_format_or_an_unknown_word_is_refused() {
        let error = parse(r#"{"format":2,"messages":{}}"#).unwrap_err();
        assert!(error.contains("format 2"), "{error}");
        let error = parse(r#"{"format":1,"messages":{"a.v1.A":"1:a:string 2:b:float"}}"#).unwrap_err();
        assert_eq!(error, "protobuf.json: a.v1.A: `2:b:float`");
    }
}
