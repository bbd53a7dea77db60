//! From the data files to the model.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::Schema;
use crate::model::{
    ApiKind, Field, FieldType, Kind, ListType, MapType, Omit, PatchStrategy, Removed, Subresource, Type,
    Union,
};

/// The form of `kinds.json` that this code reads.
const FORMAT: u32 = 1;

#[derive(Deserialize)]
struct RawFile {
    format: u32,
    kubernetes: &'static str,
    kinds: Vec<RawKind>,
    #[serde(borrow)]
    types: BTreeMap<&'static str, RawType>,
    removed: Vec<RawRemoved>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    #[serde(default, borrow)]
    short: Vec<&'static str>,
    #[serde(default, borrow)]
    categories: Vec<&'static str>,
    namespaced: bool,
    #[serde(borrow)]
    verbs: Vec<&'static str>,
    #[serde(default, borrow)]
    subresources: BTreeMap<&'static str, RawSubresource>,
    #[serde(rename = "type")]
    type_name: &'static str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawSubresource {
    #[serde(borrow)]
    verbs: Vec<&'static str>,
    kind: Option<&'static str>,
    api_version: Option<&'static str>,
    #[serde(rename = "type")]
    type_name: Option<&'static str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawType {
    #[serde(borrow)]
    fields: BTreeMap<&'static str, RawField>,
    #[serde(default, borrow)]
    required: Vec<&'static str>,
    map: Option<&'static str>,
    #[serde(default)]
    unions: Vec<Union>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawField {
    #[serde(rename = "type")]
    ty: &'static str,
    list: Option<&'static str>,
    #[serde(default, borrow)]
    keys: Vec<&'static str>,
    map: Option<&'static str>,
    #[serde(default)]
    patch: Vec<PatchStrategy>,
    merge_key: Option<&'static str>,
    default: Option<Value>,
    omit: Option<&'static str>,
    #[serde(default)]
    pointer: bool,
    go: Option<&'static str>,
    via: Option<&'static str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawRemoved {
    api_version: &'static str,
    kind: &'static str,
    #[serde(rename = "in")]
    in_version: &'static str,
    replacement: Option<ApiKind>,
}

/// Reads both data files; entries of the hand-written one win.
pub(crate) fn parse(kinds: &'static str, removed: &'static str) -> Result<Schema, String> {
    let file: RawFile = serde_json::from_str(kinds).map_err(|error| format!("kinds.json: {error}"))?;
    if file.format != FORMAT {
        return Err(format!("kinds.json: format {} where {FORMAT} is read", file.format));
    }
    let by_hand: Vec<RawRemoved> =
        serde_json::from_str(removed).map_err(|error| format!("removed.json: {error}"))?;

    let mut schema = Schema { kubernetes: file.kubernetes, ..Schema::default() };
    for (name, raw) in file.types {
        schema.types.insert(name, ty(name, raw)?);
    }
    for kind in file.kinds.into_iter().map(kind) {
        schema.kinds.entry(kind.api_version).or_default().insert(kind.kind, kind);
    }
    for RawRemoved { api_version, kind, in_version, replacement } in file.removed.into_iter().chain(by_hand) {
        schema.removed.entry(api_version).or_default().insert(kind, Removed { in_version, replacement });
    }
    Ok(schema)
}

fn kind(raw: RawKind) -> Kind {
    // The file keeps group and version apart, as the API does in addresses. The joined name is made once per process
    // and lives as long as the schema does: for ever.
    let api_version = match raw.group {
        "" => raw.version,
        group => format!("{group}/{}", raw.version).leak(),
    };
    let subresource = |raw: RawSubresource| Subresource {
        verbs: raw.verbs,
        kind: raw.kind.map(|kind| ApiKind { api_version: raw.api_version.unwrap_or(api_version), kind }),
        type_name: raw.type_name,
    };
    Kind {
        api_version,
        group: raw.group,
        version: raw.version,
        kind: raw.kind,
        plural: raw.plural,
        singular: raw.singular,
        short_names: raw.short,
        categories: raw.categories,
        namespaced: raw.namespaced,
        verbs: raw.verbs,
        subresources: raw.subresources.into_iter().map(|(name, raw)| (name, subresource(raw))).collect(),
        type_name: raw.type_name,
    }
}

fn ty(name: &'static str, raw: RawType) -> Result<Type, String> {
    let mut fields = BTreeMap::new();
    for (field_name, raw_field) in raw.fields {
        let required = raw.required.contains(&field_name);
        let field =
            field(raw_field, required).map_err(|what| format!("kinds.json: {name}.{field_name}: {what}"))?;
        fields.insert(field_name, field);
    }
    let map = map_type(raw.map).map_err(|what| format!("kinds.json: {name}: {what}"))?;
    Ok(Type { name, fields, map, unions: raw.unions })
}

fn field(raw: RawField, required: bool) -> Result<Field, String> {
    Ok(Field {
        ty: field_type(raw.ty)?,
        list: match raw.list {
            None | Some("atomic") => ListType::Atomic,
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(raw.keys),
            Some(other) => return Err(format!("list type `{other}`")),
        },
        map: map_type(raw.map)?,
        patch: raw.patch,
        merge_key: raw.merge_key,
        default: raw.default,
        required,
        omit: match raw.omit {
            None => Omit::Empty,
            Some("zero") => Omit::Zero,
            Some("never") => Omit::Never,
            Some(other) => return Err(format!("omit `{other}`")),
        },
        pointer: raw.pointer,
        go: raw.go,
        via: raw.via,
    })
}

fn map_type(word: Option<&str>) -> Result<MapType, String> {
    match word {
        None | Some("granular") => Ok(MapType::Granular),
        Some("atomic") => Ok(MapType::Atomic),
        Some(other) => Err(format!("map type `{other}`")),
    }
}

fn field_type(word: &'static str) -> Result<FieldType, String> {
    if let Some(inner) = word.strip_prefix("[]") {
        return Ok(FieldType::List(Box::new(field_type(inner)?)));
    }
    if let Some(inner) = word.strip_prefix("{}") {
        return Ok(FieldType::Map(Box::new(field_type(inner)?)));
    }
    Ok(match word {
        "string" => FieldType::String,
        "bytes" => FieldType::Bytes,
        "time" => FieldType::Time,
        "integer" => FieldType::Integer,
        "number" => FieldType::Number,
        "boolean" => FieldType::Boolean,
        "quantity" => FieldType::Quantity,
        "int-or-string" => FieldType::IntOrString,
        "object" => FieldType::Object,
        "any" => FieldType::Any,
        name if name.contains('.') => FieldType::Struct(name),
        other => return Err(format!("type `{other}`")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_words_nest() {
        let map = FieldType::Map(Box::new(FieldType::List(Box::new(FieldType::Struct("a.v1.B")))));
        assert_eq!(field_type("{}[]a.v1.B"), Ok(map));
        assert_eq!(field_type("wat"), Err("type `wat`".into()));
    }

    #[test]
    fn another_format_is_refused() {
        let error =
            parse(r#"{"format":2,"kubernetes":"v1","kinds":[],"types":{},"removed":[]}"#, "[]").unwrap_err();
        assert!(error.contains("format 2"), "{error}");
    }

    #[test]
    fn the_hand_written_removal_wins() {
        let generated = r#"{"format":1,"kubernetes":"v1","kinds":[],"types":{},"removed":[
            {"apiVersion":"a/v1","kind":"K","in":"1.1","replacement":null}]}"#;
        let by_hand =
            r#"[{"apiVersion":"a/v1","kind":"K","in":"1.2","replacement":{"apiVersion":"b/v1","kind":"L"}}]"#;
        let schema = parse(generated, by_hand).unwrap();
        assert_eq!(schema.removed("a/v1", "K").unwrap().in_version, "1.2");
    }
}
