//! Metadata as the server reads it: in the resource itself and in resources embedded in it.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::names;
use super::structural::Structural;
use crate::status::FieldError;

/// How a caller checks the metadata of an embedded resource: the object, and the path of its metadata.
pub(crate) type MetaCheck = fn(&Value, &str) -> Vec<FieldError>;

/// What a field of metadata can hold.
enum Kind {
    Text,
    Whole,
    Flag,
    Time,
    Texts,
    TextMap,
    /// Anything, kept as it is.
    Raw,
    /// A list of structs: the name of the struct in Go, and its fields.
    List(&'static str, &'static [Field]),
}

/// A field of metadata: its name, what it holds, and whether it is written even when empty.
struct Field(&'static str, Kind, bool);

const OWNER_REFERENCE: [Field; 6] = [
    Field("apiVersion", Kind::Text, true),
    Field("kind", Kind::Text, true),
    Field("name", Kind::Text, true),
    Field("uid", Kind::Text, true),
    Field("controller", Kind::Flag, false),
    Field("blockOwnerDeletion", Kind::Flag, false),
];

const MANAGED_FIELDS: [Field; 7] = [
    Field("manager", Kind::Text, false),
    Field("operation", Kind::Text, false),
    Field("apiVersion", Kind::Text, false),
    Field("time", Kind::Time, false),
    Field("fieldsType", Kind::Text, false),
    Field("fieldsV1", Kind::Raw, false),
    Field("subresource", Kind::Text, false),
];

const OBJECT_META: [Field; 15] = [
    Field("name", Kind::Text, false),
    Field("generateName", Kind::Text, false),
    Field("namespace", Kind::Text, false),
    Field("selfLink", Kind::Text, false),
    Field("uid", Kind::Text, false),
    Field("resourceVersion", Kind::Text, false),
    Field("generation", Kind::Whole, false),
    Field("creationTimestamp", Kind::Time, false),
    Field("deletionTimestamp", Kind::Time, false),
    Field("deletionGracePeriodSeconds", Kind::Raw, false),
    Field("labels", Kind::TextMap, false),
    Field("annotations", Kind::TextMap, false),
    Field("ownerReferences", Kind::List("OwnerReference", &OWNER_REFERENCE), false),
    Field("finalizers", Kind::Texts, false),
    Field("managedFields", Kind::List("ManagedFieldsEntry", &MANAGED_FIELDS), false),
];

/// Brings metadata into its known form. Gives the paths of unknown fields, or Go's sentence about a field of another type.
pub(crate) fn coerce_meta(metadata: &mut Value, path: &str) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    match metadata {
        Value::Object(object) => coerce_struct(object, ("ObjectMeta", &OBJECT_META), "", path, &mut unknown)?,
        Value::Null => *metadata = Value::Object(Map::new()),
        other => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                json_kind(other)
            ));
        }
    }
    Ok(unknown)
}

/// Brings embedded resources below an object into their known form.
pub(crate) fn coerce(
    value: &mut Value,
    schema: &Structural,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    match value {
        Value::Object(object) => {
            if schema.embedded {
                coerce_resource(object, path, unknown)?;
            }
            for (key, value) in object.iter_mut().filter(|(_, value)| value.is_object() || value.is_array()) {
                if let Some(property) = schema.properties.get(key.as_str()) {
                    coerce(value, property, &child(path, key), unknown)?;
                } else if let Some(additional) = schema.additional_schema() {
                    coerce(value, additional, &format!("{path}[{key}]"), unknown)?;
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = &schema.items {
                for (index, value) in list.iter_mut().enumerate() {
                    coerce(value, items, &format!("{path}[{index}]"), unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn coerce_resource(
    object: &mut Map<String, Value>,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    for key in ["apiVersion", "kind"] {
        if let Some(value) = object.get(key).filter(|value| !value.is_string()) {
            let error = FieldError::invalid(child(path, key), value.clone(), "must be a string");
            return Err(error.to_string());
        }
    }
    let Some(metadata) = object.get_mut("metadata") else { return Ok(()) };
    let path = child(path, "metadata");
    match coerce_meta(metadata, &path) {
        Ok(fields) => unknown.extend(fields),
        Err(error) => return Err(FieldError::invalid(path, metadata.clone(), error).to_string()),
    }
    Ok(())
}

/// Checks the `apiVersion`, `kind` and metadata of embedded resources below an object.
pub(crate) fn check(
    value: &Value,
    schema: &Structural,
    path: &str,
    meta: MetaCheck,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(object) => {
            if schema.embedded {
                check_resource(value, path, meta, errors);
            }
            for (key, value) in object.iter().filter(|(_, value)| value.is_object() || value.is_array()) {
                if let Some(property) = schema.properties.get(key.as_str()) {
                    check(value, property, &child(path, key), meta, errors);
                } else if let Some(additional) = schema.additional_schema() {
                    check(value, additional, &format!("{path}[{key}]"), meta, errors);
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = &schema.items {
                for (index, value) in list.iter().enumerate() {
                    check(value, items, &format!("{path}[{index}]"), meta, errors);
                }
            }
        }
        _ => {}
    }
}

/// Checks one embedded resource.
pub(crate) fn check_resource(resource: &Value, path: &str, meta: MetaCheck, errors: &mut Vec<FieldError>) {
    let (api_version, kind) = (resource.get("apiVersion"), resource.get("kind"));
    for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
        if value.is_none() {
            errors.push(FieldError::required(child(path, key), ""));
        }
    }
    for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
        let Some(value) = value else { continue };
        let problem = match value.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(version) if key == "apiVersion" => (version.matches('/').count() > 1)
                .then(|| format!("unexpected GroupVersion string: {version}")),
            Some(kind) => names::mixed_case_label(kind),
        };
        if let Some(problem) = problem {
            errors.push(FieldError::invalid(child(path, key), value.clone(), problem));
        }
    }
    if resource.get("metadata").is_some() {
        errors.extend(meta(resource, &child(path, "metadata")));
    }
}

/// The path of a field.
pub(crate) fn child(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn coerce_struct(
    object: &mut Map<String, Value>,
    (name, fields): (&str, &[Field]),
    stack: &str,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let mut failure = None;
    object.retain(|key, value| {
        let Some(Field(_, kind, always)) = fields.iter().find(|Field(field, ..)| field == key) else {
            unknown.push(format!("{path}.{key}"));
            return false;
        };
        let stack = child(stack, key);
        match coerce_field(value, kind, (name, &stack), &child(path, key), unknown) {
            Ok(is_set) => is_set || *always,
            Err(error) => {
                failure.get_or_insert(error);
                true
            }
        }
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    for Field(field, ..) in fields.iter().filter(|Field(.., always)| *always) {
        if object.get(*field).is_none_or(Value::is_null) {
            object.insert((*field).to_owned(), "".into());
        }
    }
    Ok(())
}

/// Brings a field into its known form; whether it is set to more than its zero value.
fn coerce_field(
    value: &mut Value,
    kind: &Kind,
    context: (&str, &str),
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<bool, String> {
    match (kind, value) {
        (_, Value::Null) => Ok(false),
        (Kind::Text, Value::String(text)) => Ok(!text.is_empty()),
        (Kind::Flag, Value::Bool(_)) | (Kind::Raw, _) => Ok(true),
        (Kind::Whole, Value::Number(number)) if number.is_i64() => Ok(number.as_i64() != Some(0)),
        (Kind::Whole, Value::Number(number)) => Err(wrong(&format!("number {number}"), context, "int64")),
        (Kind::Time, Value::String(text)) => {
            let Ok(time) = text.parse::<Timestamp>() else {
                let quoted = crate::go::quote(text);
                return Err(format!(
                    "parsing time {quoted} as \"2006-01-02T15:04:05Z07:00\": cannot parse {quoted} as \"2006\""
                ));
            };
            *text = format!("{}", time.strftime("%Y-%m-%dT%H:%M:%SZ"));
            Ok(true)
        }
        (Kind::Texts, Value::Array(list)) => {
            if let Some(other) = list.iter().find(|value| !value.is_string()) {
                return Err(wrong(json_kind(other), context, "string"));
            }
            Ok(!list.is_empty())
        }
        (Kind::TextMap, Value::Object(map)) => {
            for value in map.values_mut() {
                match value {
                    Value::String(_) => {}
                    Value::Null => *value = "".into(),
                    other => return Err(wrong(json_kind(other), context, "string")),
                }
            }
            Ok(!map.is_empty())
        }
        (Kind::List(name, fields), Value::Array(list)) => {
            for (index, item) in list.iter_mut().enumerate() {
                match item {
                    Value::Object(object) => {
                        let path = format!("{path}[{index}]");
                        coerce_struct(object, (name, fields), context.1, &path, unknown)?;
                    }
                    other => return Err(wrong(json_kind(other), context, &format!("v1.{name}"))),
                }
            }
            Ok(!list.is_empty())
        }
        (kind, value) => Err(wrong(json_kind(value), context, &kind.go_type())),
    }
}

// === impl Kind ===

impl Kind {
    fn go_type(&self) -> String {
        match self {
            Self::Text => "string".to_owned(),
            Self::Whole | Self::Raw => "int64".to_owned(),
            Self::Flag => "bool".to_owned(),
            Self::Time => "v1.Time".to_owned(),
            Self::Texts => "[]string".to_owned(),
            Self::TextMap => "map[string]string".to_owned(),
            Self::List(name, _) => format!("[]v1.{name}"),
        }
    }
}

fn wrong(found: &str, (name, stack): (&str, &str), wanted: &str) -> String {
    format!("json: cannot unmarshal {found} into Go struct field {name}.{stack} of type {wanted}")
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn no_meta(_: &Value, _: &str) -> Vec<FieldError> {
        Vec::new()
    }

    #[test]
    fn metadata_keeps_known_fields_that_are_not_empty() {
        let mut metadata = json!({"name": "n", "labels": {}, "annotations": {"a": "b"}, "creationTimestamp": null,
            "foo": 1, "ownerReferences": [{"kind": "K", "bar": 1}], "generation": 0,
            "deletionTimestamp": "2024-01-01T01:00:00.5+01:00"});
        let unknown = coerce_meta(&mut metadata, "metadata").unwrap();
        assert_eq!(
            metadata,
            json!({"name": "n", "annotations": {"a": "b"}, "deletionTimestamp": "2024-01-01T00:00:00Z",
                "ownerReferences": [{"apiVersion": "", "kind": "K", "name": "", "uid": ""}]})
        );
        assert_eq!(unknown, ["metadata.foo", "metadata.ownerReferences[0].bar"]);
    }

    #[test]
    fn a_label_that_is_no_text_is_an_error() {
        let error = coerce_meta(&mut json!({"labels": {"a": 1}}), "metadata").unwrap_err();
        assert_eq!(
            error,
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
        );
    }

    #[test]
    fn an_embedded_resource_needs_a_kind_and_a_version() {
        let schema =
            Structural::parse(&json!({"properties": {"t": {"x-kubernetes-embedded-resource": true}}}));
        let mut errors = Vec::new();
        check(&json!({"t": {"kind": "A_b"}}), &schema, "", no_meta, &mut errors);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 2);
        assert_eq!(errors[0], "t.apiVersion: Required value");
        assert!(
            errors[1].starts_with("t.kind: Invalid value: \"A_b\": may have mixed case"),
            "{}",
            errors[1]
        );
    }
}
