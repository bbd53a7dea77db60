//! Parts of a definition as the real server shows them in messages: with the field names and the order of its internal types.

use serde_json::Value;

use super::raw::Raw;
use crate::go;

/// How a field of a schema is shown when it is set, and what stands there when it is not.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Flag,
    Number,
    /// Any value, or `null`.
    Any,
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrFlag,
    Items,
    Rules,
}

/// The fields of a schema in the order of the internal type: name there, name in JSON, shape.
const SCHEMA: [(&str, &str, Shape); 44] = [
    ("ID", "id", Shape::Text),
    ("Schema", "$schema", Shape::Text),
    ("Ref", "$ref", Shape::Any),
    ("Description", "description", Shape::Text),
    ("Type", "type", Shape::Text),
    ("Nullable", "nullable", Shape::Flag),
    ("Format", "format", Shape::Text),
    ("Title", "title", Shape::Text),
    ("Default", "default", Shape::Any),
    ("Maximum", "maximum", Shape::Number),
    ("ExclusiveMaximum", "exclusiveMaximum", Shape::Flag),
    ("Minimum", "minimum", Shape::Number),
    ("ExclusiveMinimum", "exclusiveMinimum", Shape::Flag),
    ("MaxLength", "maxLength", Shape::Number),
    ("MinLength", "minLength", Shape::Number),
    ("Pattern", "pattern", Shape::Text),
    ("MaxItems", "maxItems", Shape::Number),
    ("MinItems", "minItems", Shape::Number),
    ("UniqueItems", "uniqueItems", Shape::Flag),
    ("MultipleOf", "multipleOf", Shape::Number),
    ("Enum", "enum", Shape::Any),
    ("MaxProperties", "maxProperties", Shape::Number),
    ("MinProperties", "minProperties", Shape::Number),
    ("Required", "required", Shape::Any),
    ("Items", "items", Shape::Items),
    ("AllOf", "allOf", Shape::Schemas),
    ("OneOf", "oneOf", Shape::Schemas),
    ("AnyOf", "anyOf", Shape::Schemas),
    ("Not", "not", Shape::Schema),
    ("Properties", "properties", Shape::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Shape::SchemaOrFlag),
    ("PatternProperties", "patternProperties", Shape::SchemaMap),
    ("Dependencies", "dependencies", Shape::Any),
    ("AdditionalItems", "additionalItems", Shape::SchemaOrFlag),
    ("Definitions", "definitions", Shape::SchemaMap),
    ("ExternalDocs", "externalDocs", Shape::Any),
    ("Example", "example", Shape::Any),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Shape::Any),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Shape::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Shape::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Shape::Any),
    ("XListType", "x-kubernetes-list-type", Shape::Any),
    ("XMapType", "x-kubernetes-map-type", Shape::Any),
    ("XValidations", "x-kubernetes-validations", Shape::Rules),
];

/// The fields that the root of a schema may have beside a status subresource.
const ALLOWED_AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// What the root of a schema has that cannot be there beside a status subresource: whether it comes before `type`, and the
/// rule in the server's words.
pub(super) fn forbidden_at_root(schema: Raw<'_>) -> Option<(bool, String)> {
    let is_set = |key: &str| match schema.0.get(key) {
        Some(Value::Number(_) | Value::Object(_) | Value::Array(_)) => true,
        Some(Value::Bool(flag)) => *flag || key.starts_with("x-kubernetes-preserve"),
        _ => !schema.is_empty_at(key),
    };
    let mut fields = SCHEMA.iter().enumerate();
    let (at, _) = fields.find(|(_, (name, key, _))| is_set(key) && !ALLOWED_AT_ROOT.contains(name))?;
    let text = format!(
        "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
        ALLOWED_AT_ROOT.join(" ")
    );
    Some((at < 4, text))
}

/// A schema in the internal form.
pub(super) fn show_schema(schema: Raw<'_>) -> String {
    let fields =
        SCHEMA.iter().map(|(name, key, shape)| format!("\"{name}\":{}", shape.show(schema.0.get(*key))));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// The versions of a definition in the internal form. `hoisted` are the fields that all versions share: they are not shown.
pub(super) fn versions(versions: &[Value], hoisted: impl Fn(&str) -> bool) -> String {
    let shown = versions.iter().map(|version| {
        let get = |key: &str| version.get(key).filter(|value| !value.is_null() && !hoisted(key));
        let flag = |key: &str| version[key] == true;
        let schema = get("schema").map_or("null".to_owned(), |validation| {
            let inside = Raw::of(validation.get("openAPIV3Schema")).map_or("null".to_owned(), show_schema);
            format!("{{\"OpenAPIV3Schema\":{inside}}}")
        });
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{schema},\
             \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            text(version["name"].as_str().unwrap_or_default()),
            flag("served"),
            flag("storage"),
            flag("deprecated"),
            get("deprecationWarning").map_or("null".to_owned(), json),
            get("subresources").map_or("null".to_owned(), subresources),
            get("additionalPrinterColumns").map_or("null".to_owned(), |columns| list(columns, column)),
            get("selectableFields").map_or("null".to_owned(), |fields| {
                list(fields, |field| {
                    format!("{{\"JSONPath\":{}}}", text(field["jsonPath"].as_str().unwrap_or_default()))
                })
            }),
        )
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(","))
}

fn subresources(value: &Value) -> String {
    let status = if value["status"].is_object() { "{}" } else { "null" };
    let scale = &value["scale"];
    let scale = if scale.is_object() {
        format!(
            "{{\"SpecReplicasPath\":{},\"StatusReplicasPath\":{},\"LabelSelectorPath\":{}}}",
            text(scale["specReplicasPath"].as_str().unwrap_or_default()),
            text(scale["statusReplicasPath"].as_str().unwrap_or_default()),
            json(&scale["labelSelectorPath"]),
        )
    } else {
        "null".to_owned()
    };
    format!("{{\"Status\":{status},\"Scale\":{scale}}}")
}

fn column(column: &Value) -> String {
    let get = |key: &str| text(column[key].as_str().unwrap_or_default());
    format!(
        "{{\"Name\":{},\"Type\":{},\"Format\":{},\"Description\":{},\"Priority\":{},\"JSONPath\":{}}}",
        get("name"),
        get("type"),
        get("format"),
        get("description"),
        column["priority"].as_i64().unwrap_or_default(),
        get("jsonPath"),
    )
}

fn rule(rule: &Value) -> String {
    let get = |key: &str| text(rule[key].as_str().unwrap_or_default());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        get("rule"),
        get("message"),
        get("messageExpression"),
        json(&rule["reason"]),
        get("fieldPath"),
        json(&rule["optionalOldSelf"]),
    )
}

// === impl Shape ===

impl Shape {
    fn show(self, value: Option<&Value>) -> String {
        let null = || "null".to_owned();
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return match self {
                Self::Text => "\"\"".to_owned(),
                Self::Flag => "false".to_owned(),
                _ => null(),
            };
        };
        let one = |value: &Value| Raw::of(Some(value)).map_or_else(null, show_schema);
        match self {
            Self::Text | Self::Flag | Self::Any => json(value),
            Self::Number => value.as_f64().map_or_else(null, go::float),
            Self::Schema => one(value),
            Self::Schemas => list(value, one),
            Self::Rules => list(value, rule),
            Self::SchemaMap => {
                let fields = value.as_object().into_iter().flatten();
                let fields: Vec<String> =
                    fields.map(|(key, value)| format!("{}:{}", text(key), one(value))).collect();
                format!("{{{}}}", fields.join(","))
            }
            Self::SchemaOrFlag => match value {
                Value::Bool(flag) => format!("{{\"Allows\":{flag},\"Schema\":null}}"),
                value => format!("{{\"Allows\":true,\"Schema\":{}}}", one(value)),
            },
            Self::Items => match value {
                Value::Array(_) => format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(value, one)),
                value => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", one(value)),
            },
        }
    }
}

fn list(value: &Value, show: impl Fn(&Value) -> String) -> String {
    let values: Vec<String> = value.as_array().into_iter().flatten().map(show).collect();
    format!("[{}]", values.join(","))
}

fn text(text: &str) -> String {
    json(&Value::from(text))
}

/// JSON as Go writes it.
fn json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shared_fields_are_not_shown_in_versions() {
        let list = [json!({"name": "v1", "served": true, "schema": {}})];
        assert_eq!(
            versions(&list, |key| key == "schema"),
            r#"[{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]"#
        );
    }
}
