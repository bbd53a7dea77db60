//! Strict decoding: the unknown and doubled fields of a body, in its own order.

use std::collections::BTreeSet;
use std::fmt;

use lockstep_schema::{FieldType, Kind, Schema, Type};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The server stops collecting here.
const MOST: usize = 100;

/// `unknown field "a.b"` and `duplicate field "a.b"` for a JSON body, in the order and the words of the server.
///
/// Without a kind (custom resources) every field is known and only doubled ones are found. A body that is no JSON has none:
/// that is another error.
pub(crate) fn strict_errors(kind: Option<&Kind>, body: &[u8]) -> Vec<String> {
    let root = kind.and_then(|kind| Schema::builtin().root(kind));
    let shape = match (kind, root) {
        (Some(_), Some(root)) => Shape::Struct(root),
        (Some(_), None) => Shape::Opaque,
        (None, _) => Shape::Free,
    };
    let mut found = Found::default();
    let mut reader = serde_json::Deserializer::from_slice(body);
    // What is wrong with the JSON itself is said by whoever reads the object.
    drop(Node { shape, found: &mut found }.deserialize(&mut reader));
    found.errors
}

#[derive(Default)]
struct Found {
    place: String,
    errors: Vec<String>,
    seen: BTreeSet<String>,
}

/// What is known about a value.
#[derive(Clone, Copy)]
enum Shape<'a> {
    Struct(&'a Type),
    List(&'a FieldType),
    Map(&'a FieldType),
    /// Any value; objects in it are looked at for doubled keys.
    Free,
    /// Read by a decoder of its own: not looked into.
    Opaque,
}

struct Node<'a, 'f> {
    shape: Shape<'a>,
    found: &'f mut Found,
}

// === impl Found ===

impl Found {
    fn report(&mut self, what: &str, key: &str) {
        let dot = if self.place.is_empty() { "" } else { "." };
        let error = format!("{what} field {:?}", format!("{}{dot}{key}", self.place));
        if self.errors.len() < MOST && self.seen.insert(error.clone()) {
            self.errors.push(error);
        }
    }

    fn inside(&mut self, dot: &str, step: &str) -> usize {
        let before = self.place.len();
        if before > 0 {
            self.place.push_str(dot);
        }
        self.place.push_str(step);
        before
    }
}

// === impl Shape ===

impl<'a> Shape<'a> {
    fn of(ty: &'a FieldType) -> Self {
        match ty {
            FieldType::Struct(name) => Schema::builtin().ty(name).map_or(Self::Opaque, Shape::Struct),
            FieldType::List(inner) => Self::List(inner),
            FieldType::Map(inner) => Self::Map(inner),
            _ => Self::Opaque,
        }
    }
}

// === impl Node ===

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        match self.shape {
            Shape::Opaque => reader.deserialize_ignored_any(IgnoredAny).map(drop),
            _ => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { shape, found } = self;
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let inner = match shape {
                Shape::Struct(ty) => ty.field(&key).map(|field| Shape::of(&field.ty)),
                Shape::Map(inner) => Some(Shape::of(inner)),
                Shape::Free => Some(Shape::Free),
                Shape::List(_) | Shape::Opaque => Some(Shape::Opaque),
            };
            let Some(inner) = inner else {
                found.report("unknown", &key);
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if !seen.insert(key.clone()) {
                found.report("duplicate", &key);
            }
            let before = found.inside(".", &key);
            map.next_value_seed(Node { shape: inner, found })?;
            found.place.truncate(before);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { shape, found } = self;
        let inner = match shape {
            Shape::List(inner) => Shape::of(inner),
            Shape::Free => Shape::Free,
            _ => Shape::Opaque,
        };
        for index in 0_usize.. {
            let before = found.inside("", &format!("[{index}]"));
            let item = list.next_element_seed(Node { shape: inner, found })?;
            found.place.truncate(before);
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_in_the_order_of_the_body_each_once() {
        let body = br#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","name":"b"},"spec":{"zz":1,"aa":2,"aa":3,
            "replicas":1,"replicas":2,"template":{"spec":{"containers":[{"name":"a","name":"b","xx":1}]}},
            "selector":{"matchLabels":{"a":"1","a":"2"}}}}"#;
        let kind = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
        assert_eq!(
            strict_errors(Some(kind), body),
            [
                r#"duplicate field "metadata.name""#,
                r#"unknown field "spec.zz""#,
                r#"unknown field "spec.aa""#,
                r#"duplicate field "spec.replicas""#,
                r#"duplicate field "spec.template.spec.containers[0].name""#,
                r#"unknown field "spec.template.spec.containers[0].xx""#,
                r#"duplicate field "spec.selector.matchLabels.a""#,
            ]
        );
    }

    #[test]
    fn without_a_kind_only_doubled_fields_are_found_at_any_depth() {
        let body = br#"{"spec":{"a":[{"b":1,"b":2}],"c":null},"spec":1.5}"#;
        assert_eq!(
            strict_errors(None, body),
            [r#"duplicate field "spec.a[0].b""#, r#"duplicate field "spec""#]
        );
        assert!(strict_errors(None, b"{").is_empty());
    }

    #[test]
    fn free_parts_of_a_kind_and_wrong_types_are_not_looked_into() {
        let kind = Schema::builtin().kind("apps/v1", "ControllerRevision").unwrap();
        assert!(strict_errors(Some(kind), br#"{"data":{"a":1,"a":2},"metadata":"x"}"#).is_empty());
    }
}
