//! Bodies in protobuf, the format of `kubectl create` and of typed Go clients, as the JSON of the same object.
//!
//! A body is four bytes, `k8s\0`, and an envelope that names the kind and holds the message of the object. Everything behind this
//! module reads JSON: what comes out here is what the same client would have sent in JSON.

mod message;
mod wire;

use lockstep_schema::{Message, Schema};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::server::go_json;
use crate::status::Status;
use message::texts;
use wire::{Reader, Wire};

/// What every body begins with.
const PREFIX: &[u8] = b"k8s\0";

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{why}")]
pub(crate) struct Unreadable {
    /// The kind and the API version in the envelope, where it could be read.
    named: Option<(String, String)>,
    why: String,
}

/// The object in a body; `default` is the API version and kind of one that does not say them.
///
/// An object of a kind without a message has nothing but its names, which is enough to refuse it by them.
pub(crate) fn to_json(body: &[u8], default: (&str, &str)) -> Result<Value, Unreadable> {
    let (api_version, kind, raw) = envelope(body).map_err(|why| Unreadable { named: None, why })?;
    let or = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
    let (api_version, kind) = (or(api_version, default.0), or(kind, default.1));
    let mut object = match message_of(&api_version, &kind) {
        Some(message) => message::object(message, raw)
            .map_err(|why| Unreadable { named: Some((api_version.clone(), kind.clone())), why })?,
        None => Map::new(),
    };
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(object.into())
}

/// The API version, the kind and the message in a body.
fn envelope(body: &[u8]) -> Result<(String, String, &[u8]), String> {
    if body.is_empty() {
        return Err("empty data".into());
    }
    let Some(envelope) = body.strip_prefix(PREFIX) else {
        let why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
        return Err(why.into());
    };
    if envelope.is_empty() {
        return Err("empty body".into());
    }
    let (mut type_meta, mut raw): (&[u8], &[u8]) = (&[], &[]);
    let mut reader = Reader::new(envelope);
    while let Some((number, wire)) = reader.tag("Unknown")? {
        let (slot, field) = match number {
            1 => (&mut type_meta, "TypeMeta"),
            2 => (&mut raw, "Raw"),
            // How the message is packed: nobody has ever set these.
            _ => {
                reader.skip(wire)?;
                continue;
            }
        };
        wire.expect(Wire::BYTES, || field.into())?;
        *slot = reader.bytes()?;
    }
    let [api_version, kind] = texts(type_meta, "TypeMeta", [1, 2])?;
    Ok((api_version.unwrap_or_default(), kind.unwrap_or_default(), raw))
}

/// The message of a kind, of a subresource with a kind of its own, or of the options of a deletion, which every group has.
fn message_of(api_version: &str, kind: &str) -> Option<&'static Message> {
    if kind == "DeleteOptions" {
        return Message::of("meta.v1.DeleteOptions");
    }
    let schema = Schema::builtin();
    if let Some(kind) = schema.kind(api_version, kind) {
        return Message::of(kind.type_name);
    }
    let mut subresources = schema.kinds().flat_map(|kind| kind.subresources.values());
    let found = subresources
        .find(|sub| sub.kind.as_ref().is_some_and(|it| it.api_version == api_version && it.kind == kind));
    Message::of(found?.type_name?)
}

// === impl Unreadable ===

impl Unreadable {
    /// The answer of the server: 400, with the kind that was sent or the beginning of the body.
    pub(crate) fn into_status(self, expected: &str, body: &[u8]) -> Status {
        let why = self.why;
        if expected == "DeleteOptions" {
            return Status::bad_request(why);
        }
        Status::bad_request(match self.named {
            Some((api_version, kind)) => {
                let version =
                    api_version.rsplit_once('/').map_or(api_version.as_str(), |(_, version)| version);
                format!("{kind} in version {version:?} cannot be handled as a {expected}: {why}")
            }
            None => format!(
                "the object provided is unrecognized (must be of type {expected}): {why} ({})",
                go_json::summary(body)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use lockstep_schema::{MessageField, Shape, WireType};
    use serde_json::json;

    use super::*;
    use crate::rng::Rng;

    /// A field that says its length.
    fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
        let length = u8::try_from(value.len()).expect("short enough for two bytes");
        let mut out = vec![number << 3 | 2];
        if length > 0x7f {
            out.extend([length, 1]);
        } else {
            out.push(length);
        }
        out.extend(value);
        out
    }

    fn number(number: u8, value: u8) -> Vec<u8> {
        vec![number << 3, value]
    }

    fn body(api_version: &str, kind: &str, message: &[Vec<u8>]) -> Vec<u8> {
        let meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [PREFIX.to_vec(), bytes(1, &meta), bytes(2, &message.concat()), bytes(3, b""), bytes(4, b"")].concat()
    }

    fn read(body: &[u8]) -> Value {
        to_json(body, ("v1", "ConfigMap")).expect("it can be read")
    }

    fn refused(body: &[u8]) -> String {
        to_json(body, ("v1", "ConfigMap"))
            .expect_err("it cannot be read")
            .into_status("ConfigMap", body)
            .message
    }

    fn name(name: &str) -> Vec<u8> {
        bytes(1, &[bytes(1, name.as_bytes()), bytes(2, b""), bytes(8, b""), number(7, 0)].concat())
    }

    #[test]
    fn an_object_is_what_a_go_client_would_send_in_json() {
        let entry = |key: &str, value: &[u8]| [bytes(1, key.as_bytes()), bytes(2, value)].concat();
        let config_map =
            [name("a"), bytes(2, &entry("k", b"v")), bytes(3, &entry("b", &[0xff])), number(4, 0)];
        assert_eq!(
            read(&body("v1", "ConfigMap", &config_map)),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "creationTimestamp": null},
                "data": {"k": "v"}, "binaryData": {"b": "/w=="}, "immutable": false}),
            "a pointer to a zero is set, another zero is not"
        );
    }

    #[test]
    fn embedded_structs_lie_flat_and_special_messages_are_scalars() {
        let secret = bytes(6, &bytes(1, b"s"));
        let volume = bytes(1, &[bytes(1, b"v"), bytes(2, &secret)].concat());
        let limit = bytes(1, &[bytes(1, b"cpu"), bytes(2, &bytes(1, b"100m"))].concat());
        let port = |value: Vec<u8>| bytes(2, &bytes(2, &value));
        let probe = |value| bytes(10, &bytes(1, &port(value)));
        let by_name = [number(1, 1), number(2, 0), bytes(3, b"http")].concat();
        let container = bytes(2, &[bytes(1, b"c"), bytes(8, &limit), probe(by_name)].concat());
        let pod = [name("p"), bytes(2, &[volume, container].concat())];
        let spec = &read(&body("v1", "Pod", &pod))["spec"];
        assert_eq!(spec["volumes"], json!([{"name": "v", "secret": {"secretName": "s"}}]));
        assert_eq!(
            spec["containers"],
            json!([{"name": "c", "resources": {"limits": {"cpu": "100m"}},
                "livenessProbe": {"httpGet": {"port": "http"}}}])
        );
    }

    #[test]
    fn a_schema_has_the_names_and_alternatives_of_json() {
        // Tags of numbers above 15 take two bytes.
        let two = |number: u16, wire: u16, rest: &[u8]| {
            let tag = number << 3 | wire;
            let [low, high] = [tag & 0x7f | 0x80, tag >> 7].map(|part| u8::try_from(part).unwrap_or(0));
            [&[low, high], rest].concat()
        };
        let value = bytes(8, &bytes(1, br#"{"a":[1]}"#));
        let not_allowed = two(30, 2, &[2, 0x08, 0]);
        let preserved = two(38, 0, &[1]);
        let items = two(24, 2, &bytes(0, &bytes(1, &bytes(5, b"string")))[1..]);
        let schema = [bytes(3, b"#/x"), value, items, not_allowed, preserved].concat();
        let version = [bytes(1, b"v1"), bytes(4, &bytes(1, &schema))].concat();
        let spec = bytes(2, &bytes(7, &version));
        let crd = read(&body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &[name("x"), spec]));
        assert_eq!(
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
            json!({"default": {"a": [1]}, "additionalProperties": false, "x-kubernetes-preserve-unknown-fields": true,
                "$ref": "#/x", "items": {"type": "string"}})
        );
    }

    #[test]
    fn unknown_fields_are_skipped_and_the_same_message_again_adds_to_the_first() {
        let more = bytes(1, &bytes(3, b"n"));
        let map = read(&body("v1", "ConfigMap", &[name("a"), bytes(9, b"?"), number(10, 1), more]));
        assert_eq!(map["metadata"], json!({"name": "a", "namespace": "n", "creationTimestamp": null}));
        assert_eq!(map.as_object().map(Map::len), Some(3));
    }

    #[test]
    fn names_that_are_missing_are_those_of_the_address() {
        let empty = [PREFIX.to_vec(), bytes(2, &name("a"))].concat();
        assert_eq!(read(&empty)["kind"], "ConfigMap");
        assert_eq!(read(&empty)["metadata"]["name"], "a");
        let other = read(&body("v9", "Nothing", &[name("a")]));
        assert_eq!(other, json!({"apiVersion": "v9", "kind": "Nothing"}));
    }

    #[test]
    fn subresources_and_deletions_are_read_under_the_names_of_their_group() {
        let scale = read(&body("autoscaling/v1", "Scale", &[name("a"), bytes(2, &number(1, 5))]));
        assert_eq!(scale["spec"], json!({"replicas": 5}));
        let options = [number(1, 0), bytes(4, b"Background"), bytes(2, &bytes(1, b"u"))];
        for api_version in ["v1", "apps/v1", "meta.k8s.io/v1"] {
            assert_eq!(
                read(&body(api_version, "DeleteOptions", &options)),
                json!({"apiVersion": api_version, "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                    "propagationPolicy": "Background", "preconditions": {"uid": "u"}})
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_the_words_of_the_server() {
        assert_eq!(
            refused(b"{\"kind\":\"ConfigMap\"}"),
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a \
             protobuf message, expected prefix [107 56 115 0] ({\"kind\":\"ConfigMap\"})"
        );
        assert!(refused(PREFIX).ends_with(": empty body (6b387300)"));
        assert_eq!(
            refused(&body("v1", "ConfigMap", &[vec![0x0a, 5]])),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: unexpected EOF"
        );
        assert_eq!(
            refused(&body("v1", "ConfigMap", &[number(1, 1)])),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field ObjectMeta"
        );
    }

    #[test]
    fn a_schema_in_a_schema_without_end_is_refused() {
        let mut schema: Vec<u8> = Vec::new();
        let wrap = |tag: &[u8], inner: &[u8]| {
            let mut out = tag.to_vec();
            let mut length = inner.len();
            while length > 0x7f {
                out.push(u8::try_from(length & 0x7f).unwrap_or(0) | 0x80);
                length >>= 7;
            }
            out.push(u8::try_from(length).unwrap_or(0));
            out.extend(inner);
            out
        };
        // 28, `not`.
        let mut deep = |levels: usize| {
            schema.clear();
            for _ in 0..levels {
                schema = wrap(&[0xe2, 0x01], &schema);
            }
            let version = wrap(&[0x3a], &wrap(&[0x22], &wrap(&[0x0a], &schema)));
            let meta = [bytes(1, b"apiextensions.k8s.io/v1"), bytes(2, b"CustomResourceDefinition")].concat();
            let spec = wrap(&[0x12], &version);
            to_json(&[PREFIX.to_vec(), bytes(1, &meta), wrap(&[0x12], &spec)].concat(), ("", ""))
        };
        let read = deep(100).expect("deeper than any").to_string();
        serde_json::from_str::<Value>(&read).expect("it can be read as JSON again");
        assert_eq!(deep(5000).unwrap_err().to_string(), "proto: exceeded max depth");
    }

    /// A message of a type with every field set once, to a depth.
    fn full(message: &Message, depth: usize) -> Vec<u8> {
        let long = |number: u32, wire: u32, value: &[u8]| {
            let mut out = Vec::new();
            varint(&mut out, number << 3 | wire);
            if wire == 2 {
                varint(&mut out, u32::try_from(value.len()).unwrap_or(0));
            }
            out.extend(value);
            out
        };
        let one = |field: &MessageField, number: u32| match field.ty {
            WireType::Int32 | WireType::Int64 | WireType::Bool => long(number, 0, &[1]),
            WireType::Double => long(number, 1, &[1; 8]),
            WireType::String | WireType::Bytes => long(number, 2, b"x"),
            WireType::Message(name) => {
                let inner = Message::of(name).filter(|_| depth > 0);
                long(number, 2, &inner.map(|message| full(message, depth - 1)).unwrap_or_default())
            }
            WireType::Time | WireType::MicroTime | WireType::IntOrString | WireType::SchemaOrBool => {
                long(number, 2, &[8, 1])
            }
            WireType::SchemaOrSchemas | WireType::SchemaOrStrings => long(number, 2, &[0x0a, 0]),
            _ => long(number, 2, &[0x0a, 1, b'1']),
        };
        let mut out = Vec::new();
        for (&number, field) in &message.fields {
            if field.shape == Shape::Map {
                out.extend(long(number, 2, &[long(1, 2, b"k"), one(field, 2)].concat()));
            } else {
                out.extend(one(field, number));
            }
        }
        out
    }

    fn varint(out: &mut Vec<u8>, mut value: u32) {
        while value > 0x7f {
            out.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
            value >>= 7;
        }
        out.push(u8::try_from(value).unwrap_or(0));
    }

    #[test]
    fn every_field_of_every_kind_can_be_read() {
        for kind in Schema::builtin().kinds() {
            let message = Message::of(kind.type_name).expect("every kind has a message");
            let object = message::object(message, &full(message, 6)).expect(kind.kind);
            let mut whole = Value::Object(object);
            whole["apiVersion"] = kind.api_version.into();
            whole["kind"] = kind.kind.into();
            let unknown = crate::builtin::decode::decode(kind, whole).map(|decoded| decoded.unknown);
            assert!(unknown.is_ok_and(|unknown| unknown.is_empty()), "{}", kind.kind);
        }
    }

    #[test]
    fn random_and_truncated_bytes_are_read_or_refused() {
        let kinds: Vec<_> = Schema::builtin().kinds().collect();
        let seeds: Vec<Vec<u8>> = kinds
            .iter()
            .map(|kind| Message::of(kind.type_name).map(|message| full(message, 3)).unwrap_or_default())
            .collect();
        let mut rng = Rng::new(7);
        let mut below = |bound: usize| usize::try_from(rng.below(bound.max(1) as u64)).unwrap_or(0);
        let (mut read, mut refused) = (0, 0);
        for round in 0..100_000_u32 {
            let place = below(kinds.len());
            let (kind, seed) = (kinds[place], &seeds[place]);
            // A part of a message that ends where something else begins or nowhere.
            let start = below(seed.len());
            let length = below(seed.len().min(400));
            let mut raw: Vec<u8> =
                seed.iter().skip(if round % 2 == 0 { 0 } else { start }).take(length).copied().collect();
            for _ in 0..below(4) {
                let place = below(raw.len().max(1));
                if let Some(byte) = raw.get_mut(place) {
                    *byte = u8::try_from(below(256)).unwrap_or(0);
                }
            }
            let mut whole = PREFIX.to_vec();
            let meta = [bytes(1, kind.api_version.as_bytes()), bytes(2, kind.kind.as_bytes())].concat();
            whole.extend(bytes(1, &meta));
            whole.push(0x12);
            varint(&mut whole, u32::try_from(raw.len()).unwrap_or(0));
            whole.extend(&raw);
            if round % 5 == 0 {
                whole.truncate(below(whole.len()));
            }
            match to_json(&whole, ("v1", "Pod")) {
                Ok(object) => {
                    let size = object.to_string().len();
                    assert!(size < 1000 + 40 * whole.len(), "round {round}: {size} of {}", whole.len());
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
        assert!(read > 1000 && refused > 5000, "{read} read, {refused} refused");
    }
}
