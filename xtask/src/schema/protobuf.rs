//! The protobuf messages of the built-in kinds: `generated.proto` says numbers and types, the Go structs say names.
//!
//! A field has the name that it has in JSON. That is not always the one in `generated.proto` (`ref` is `$ref`), and an embedded
//! struct, whose fields lie flat in JSON, is a message of its own here: such a field has no name.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::gofields::Sources;
use super::openapi::Types;
use crate::Error;
use crate::error::io_error;

/// The version of the file format; `lockstep-schema` reads this one only.
const FORMAT: u32 = 1;

/// Messages besides those of the served kinds: the body of a deletion.
const MORE: [&str; 1] = ["meta.v1.DeleteOptions"];

/// Messages that are no object in JSON, and the word for each.
const WORDS: [(&str, &str); 10] = [
    ("api.resource.Quantity", "quantity"),
    ("util.intstr.IntOrString", "int-or-string"),
    ("meta.v1.Time", "time"),
    ("meta.v1.MicroTime", "micro-time"),
    ("meta.v1.FieldsV1", "raw"),
    ("pkg.runtime.RawExtension", "raw"),
    ("apiextensions.v1.JSON", "raw"),
    ("apiextensions.v1.JSONSchemaPropsOrArray", "schema-or-schemas"),
    ("apiextensions.v1.JSONSchemaPropsOrBool", "schema-or-bool"),
    ("apiextensions.v1.JSONSchemaPropsOrStringArray", "schema-or-strings"),
];

/// Types that are no message.
const SCALARS: [&str; 6] = ["string", "bytes", "int32", "int64", "bool", "double"];

/// The fields of all messages, by names such as `core.v1.Container`.
type Messages = BTreeMap<String, Vec<Field>>;

/// One field as its line says it.
#[derive(Debug, PartialEq)]
struct Field {
    number: u32,
    /// The name in `generated.proto`.
    name: String,
    /// `[]` for a list, `{}` for a map from texts, nothing for one value.
    shape: &'static str,
    /// A scalar or the name of a message.
    ty: String,
}

/// The data file: one line per message that a served kind leads to.
pub(super) fn render(version: &str, types: &Types, sources: &Sources) -> Result<String, Error> {
    let mut messages = Messages::new();
    for (package, folder) in sources.folders() {
        let path = folder.join("generated.proto");
        let text = fs::read_to_string(&path).map_err(io_error(format!("reading `{}`", path.display())))?;
        messages.extend(parse(package, &text).map_err(|what| data(&path.display().to_string(), &what))?);
    }
    let roots = types.keys().map(String::as_str).chain(MORE);
    let lines = lines(roots, &messages, |message, number| sources.json_name(message, number))?;
    let lines: Vec<String> = lines
        .iter()
        .map(|(name, line)| format!("{}:{}", Value::from(*name), Value::from(line.as_str())))
        .collect();
    Ok(format!(
        "{{\"format\":{FORMAT},\"kubernetes\":{},\n\"messages\":{{\n{}\n}}}}\n",
        Value::from(version),
        lines.join(",\n")
    ))
}

/// The fields of the roots and of all that they lead to, each message in one line.
fn lines<'a>(
    roots: impl Iterator<Item = &'a str>,
    messages: &'a Messages,
    json_name: impl Fn(&str, u32) -> Option<&'a str>,
) -> Result<BTreeMap<&'a str, String>, Error> {
    let mut done = BTreeMap::new();
    let mut open: Vec<&str> = roots.collect();
    while let Some(message) = open.pop() {
        if done.contains_key(message) {
            continue;
        }
        let fields = messages.get(message).ok_or_else(|| data(message, "it has no protobuf message"))?;
        let mut words = Vec::new();
        for field in fields {
            let name = json_name(message, field.number)
                .ok_or_else(|| data(message, &format!("no Go field has the number of `{}`", field.name)))?;
            let ty = match word(&field.ty) {
                Some(word) => word,
                None if SCALARS.contains(&field.ty.as_str()) => &field.ty,
                None if is_list_of_texts(messages.get(&field.ty)) => "strings",
                None => {
                    open.push(&field.ty);
                    &field.ty
                }
            };
            words.push(format!("{}:{name}:{}{ty}", field.number, field.shape));
        }
        done.insert(message, words.join(" "));
    }
    Ok(done)
}

fn word(message: &str) -> Option<&'static str> {
    WORDS.iter().find(|(name, _)| *name == message).map(|(_, word)| *word)
}

/// Whether a message stands for a Go list of texts, such as `authentication.v1.ExtraValue`: a list in a map must be wrapped.
fn is_list_of_texts(fields: Option<&Vec<Field>>) -> bool {
    let Some([only]) = fields.map(Vec::as_slice) else { return false };
    (only.number, only.name.as_str(), only.shape, only.ty.as_str()) == (1, "items", "[]", "string")
}

/// All messages of a file: one field per line.
fn parse(package: &str, text: &str) -> Result<Messages, String> {
    let mut messages = Messages::new();
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("message ").and_then(|rest| rest.strip_suffix(" {")) {
            let name = format!("{package}.{name}");
            messages.insert(name.clone(), Vec::new());
            open = Some(name);
        } else if line == "}" {
            open = None;
        } else if let Some(message) = open.as_ref().filter(|_| !line.is_empty() && !line.starts_with("//")) {
            let field =
                Field::parse(package, line).ok_or_else(|| format!("a line of a new form: `{line}`"))?;
            messages.entry(message.clone()).or_default().push(field);
        }
    }
    Ok(messages)
}

fn data(from: &str, what: &str) -> Error {
    Error::Data { from: from.into(), what: format!("{what}; teach the generator") }
}

// === impl Field ===

impl Field {
    /// A line such as `optional string name = 1;`.
    fn parse(package: &str, line: &str) -> Option<Self> {
        let (declared, number) = line.strip_suffix(';')?.split_once(" = ")?;
        let (ty, name) = declared.rsplit_once(' ')?;
        let (shape, ty) = if let Some(ty) = ty.strip_prefix("optional ") {
            ("", ty)
        } else if let Some(ty) = ty.strip_prefix("repeated ") {
            ("[]", ty)
        } else {
            ("{}", ty.strip_prefix("map<string, ")?.strip_suffix('>')?)
        };
        Some(Self { number: number.parse().ok()?, name: name.to_owned(), shape, ty: full_name(package, ty) })
    }
}

/// A message with its package: the last three parts of its full name.
fn full_name(package: &str, ty: &str) -> String {
    let parts: Vec<&str> = ty.split('.').collect();
    match parts.len() {
        1 if SCALARS.contains(&ty) => ty.to_owned(),
        1 => format!("{package}.{ty}"),
        count => parts[count.saturating_sub(3)..].join("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "package k8s.io.api.a.v1;\n\n// About it.\nmessage Outer {\n  // About `optional string x = 9;`\n  \
        optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;\n\n  optional Inner inner = 2;\n  \
        map<string, Extra> extra = 3;\n  repeated int64 ports = 4;\n  map<string, .k8s.io.apimachinery.pkg.api.resource.Quantity> sizes = 5;\n}\n\
        message Inner {\n  optional string ref = 1;\n}\nmessage Extra {\n  repeated string items = 1;\n}\nmessage Unused {\n}\n";

    #[test]
    fn a_message_is_one_line_with_the_names_of_json() {
        let mut messages = parse("a.v1", SOURCE).unwrap();
        messages.insert("meta.v1.ObjectMeta".into(), Vec::new());
        let names = |message: &str, number| match (message, number) {
            ("a.v1.Outer", 1) => Some("metadata"),
            // Embedded.
            ("a.v1.Outer", 2) => Some(""),
            ("a.v1.Inner", 1) => Some("$ref"),
            ("a.v1.Outer", _) => Some("other"),
            _ => None,
        };
        let found = lines(["a.v1.Outer"].into_iter(), &messages, names).unwrap();
        assert_eq!(
            found["a.v1.Outer"],
            "1:metadata:meta.v1.ObjectMeta 2::a.v1.Inner 3:other:{}strings 4:other:[]int64 5:other:{}quantity"
        );
        assert_eq!(found["a.v1.Inner"], "1:$ref:string");
        assert_eq!(
            found.keys().copied().collect::<Vec<_>>(),
            ["a.v1.Inner", "a.v1.Outer", "meta.v1.ObjectMeta"]
        );
    }

    #[test]
    fn a_line_of_a_new_form_stops_the_generation() {
        let error = parse("a.v1", "message A {\n  oneof x {\n").unwrap_err();
        assert_eq!(error, "a line of a new form: `oneof x {`");
        let messages = parse("a.v1", "message A {\n  optional string x = 1;\n}\n").unwrap();
        let error = lines(["a.v1.A"].into_iter(), &messages, |_, _| None).unwrap_err().to_string();
        assert!(error.contains("no Go field has the number of `x`"), "{error}");
    }
}
