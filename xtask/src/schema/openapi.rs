//! The `OpenAPI` documents: what the types of the served kinds look like, without their descriptions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::Error;

/// All types by their short name, such as `core.v1.Container`.
pub(super) type Types = BTreeMap<String, Type>;

/// One struct type.
#[derive(Default, Debug, PartialEq)]
pub(super) struct Type {
    /// What goes into the file.
    pub(super) facts: Value,
    /// The kinds that it is the root of, as (group, version, kind).
    pub(super) kinds: Vec<(String, String, String)>,
}

/// What a schema that is no struct is written as.
const INLINED: [(&str, &str); 10] = [
    ("io.k8s.apimachinery.pkg.api.resource.Quantity", "quantity"),
    ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "int-or-string"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "time"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "time"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "object"),
    ("io.k8s.apimachinery.pkg.runtime.RawExtension", "object"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", "any"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray", "any"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool", "any"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray", "any"),
];

/// Attributes of a field: the extension of the schema and our name for it.
const ATTRIBUTES: [(&str, &str); 4] = [
    ("x-kubernetes-list-type", "list"),
    ("x-kubernetes-list-map-keys", "keys"),
    ("x-kubernetes-map-type", "map"),
    ("x-kubernetes-patch-merge-key", "mergeKey"),
];

/// Everything that this generator understands; a word that is not here would silently lose a fact.
const KNOWN: [&str; 18] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "oneOf",
    "properties",
    "required",
    "type",
    "x-kubernetes-group-version-kind",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
];

/// Reads the types of all group versions; `get` answers a GET of the API.
pub(super) fn read(get: impl Fn(&str) -> Result<Value, Error>) -> Result<Types, Error> {
    let mut types = Types::new();
    for (path, entry) in object(&get("/openapi/v3")?["paths"]) {
        // Other documents, such as `version` or the bare groups, have no types of objects.
        if !(path.starts_with("api/") || path.starts_with("apis/")) {
            continue;
        }
        let document = get(entry["serverRelativeURL"].as_str().unwrap_or_default())?;
        for (name, schema) in object(&document["components"]["schemas"]) {
            if inlined(name).is_some() {
                continue;
            }
            let ty = struct_type(name, schema)?;
            let short = short_name(name);
            match types.get(&short) {
                // The list of kinds of a shared type (DeleteOptions) differs from document to document.
                Some(other) if other.facts != ty.facts => {
                    return Err(data(name, "two group versions describe it differently"));
                }
                _ => drop(types.insert(short, ty)),
            }
        }
    }
    Ok(types)
}

/// Writes the name of its type into every kind and every subresource that has one.
pub(super) fn attach_types(kinds: &mut [Value], types: &Types) {
    let mut roots = BTreeMap::new();
    for (name, ty) in types {
        roots.extend(ty.kinds.iter().map(|kind| (kind.clone(), name.clone())));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for kind in kinds {
        let (group, version) = (text(&kind["group"]), text(&kind["version"]));
        if let Some(root) = roots.get(&(group.clone(), version.clone(), text(&kind["kind"]))) {
            kind["type"] = root.as_str().into();
        }
        let Some(subresources) = kind.get_mut("subresources").and_then(Value::as_object_mut) else {
            continue;
        };
        for sub in subresources.values_mut().filter(|sub| sub.get("kind").is_some()) {
            let (group, version) = match sub["apiVersion"].as_str().and_then(|text| text.split_once('/')) {
                Some((group, version)) => (group.to_owned(), version.to_owned()),
                None => (group.clone(), version.clone()),
            };
            if let Some(root) = roots.get(&(group, version, text(&sub["kind"]))) {
                sub["type"] = root.as_str().into();
            }
        }
    }
}

/// Drops what no kind leads to: lists, options of requests.
pub(super) fn keep_reachable(types: &mut Types, kinds: &[Value]) {
    let mut reached = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for kind in kinds {
        let subresources =
            kind.get("subresources").and_then(Value::as_object).into_iter().flat_map(Map::values);
        open.extend(
            subresources.chain([kind]).filter_map(|holder| Some(holder.get("type")?.as_str()?.to_owned())),
        );
    }
    while let Some(name) = open.pop() {
        if reached.contains(&name) {
            continue;
        }
        if let Some(ty) = types.get(&name) {
            open.extend(object(&ty.facts["fields"]).filter_map(|(_, field)| {
                Some(field["type"].as_str()?.trim_start_matches(['[', ']', '{', '}']).to_owned())
            }));
        }
        reached.insert(name);
    }
    types.retain(|name, _| reached.contains(name));
}

fn struct_type(name: &str, schema: &Value) -> Result<Type, Error> {
    check_words(name, schema)?;
    if schema["type"] != "object" || schema.get("additionalProperties").is_some() {
        return Err(data(
            name,
            "neither a struct nor one of the inlined types; teach the generator about it",
        ));
    }
    let mut fields = Map::new();
    for (field, schema) in object(&schema["properties"]) {
        fields.insert(field.clone(), field_facts(&format!("{name}.{field}"), schema)?);
    }
    let mut facts = json!({"fields": fields});
    for (extension, word) in
        [("required", "required"), ("x-kubernetes-map-type", "map"), ("x-kubernetes-unions", "unions")]
    {
        if let Some(value) = schema.get(extension) {
            facts[word] = value.clone();
        }
    }
    let kinds = schema["x-kubernetes-group-version-kind"].as_array().map_or(&[][..], Vec::as_slice);
    let part = |kind: &Value, name: &str| kind[name].as_str().unwrap_or_default().to_owned();
    let kinds = kinds.iter().map(|kind| (part(kind, "group"), part(kind, "version"), part(kind, "kind")));
    Ok(Type { facts, kinds: kinds.collect() })
}

fn field_facts(place: &str, schema: &Value) -> Result<Value, Error> {
    let mut facts = json!({"type": type_expression(place, schema)?});
    for (extension, word) in ATTRIBUTES {
        if let Some(value) = schema.get(extension) {
            facts[word] = value.clone();
        }
    }
    if let Some(strategies) = schema["x-kubernetes-patch-strategy"].as_str() {
        facts["patch"] = strategies.split(',').map(Value::from).collect();
    }
    if let Some(default) = schema.get("default") {
        facts["default"] = default.clone();
    }
    Ok(facts)
}

/// A type in one word: `[]` and `{}` before it make a list and a map of it.
fn type_expression(place: &str, schema: &Value) -> Result<String, Error> {
    check_words(place, schema)?;
    if let Some(reference) = reference(schema) {
        return Ok(inlined(reference).map_or_else(|| short_name(reference), str::to_owned));
    }
    let word = match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("string"), None) => "string",
        (Some("string"), Some("byte")) => "bytes",
        (Some("integer"), _) => "integer",
        (Some("number"), _) => "number",
        (Some("boolean"), None) => "boolean",
        (Some("array"), None) => return Ok(format!("[]{}", type_expression(place, &schema["items"])?)),
        (Some("object"), None) if schema.get("additionalProperties").is_some() => {
            return Ok(format!("{{}}{}", type_expression(place, &schema["additionalProperties"])?));
        }
        _ => return Err(data(place, "a form of type that the generator does not know; teach it")),
    };
    Ok(word.into())
}

/// The type that a schema stands for: a reference that has a default is wrapped into `allOf`.
fn reference(schema: &Value) -> Option<&str> {
    let holder = match schema["allOf"].as_array().map(Vec::as_slice) {
        Some([only]) => only,
        _ => schema,
    };
    holder["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

fn inlined(name: &str) -> Option<&'static str> {
    INLINED.iter().find(|(long, _)| *long == name).map(|(_, short)| *short)
}

/// `io.k8s.api.core.v1.Pod` is `core.v1.Pod`: the last three parts are unique among the built-in types.
fn short_name(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    parts[parts.len().saturating_sub(3)..].join(".")
}

fn check_words(place: &str, schema: &Value) -> Result<(), Error> {
    match object(schema).find(|(word, _)| !KNOWN.contains(&word.as_str()) && *word != "x-kubernetes-unions") {
        None => Ok(()),
        Some((word, _)) => Err(data(place, &format!("`{word}` is new; teach the generator about it"))),
    }
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn data(from: &str, what: &str) -> Error {
    Error::Data { from: from.into(), what: what.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference_to(name: &str) -> Value {
        json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}], "default": {}})
    }

    fn fields(schema: &Value) -> Value {
        struct_type("io.k8s.api.core.v1.X", schema).unwrap().facts["fields"].clone()
    }

    #[test]
    fn a_list_map_keeps_its_keys_and_its_patch_rules() {
        let facts = fields(&json!({"type": "object", "properties": {"ports": {
            "type": "array", "description": "long text", "items": reference_to("io.k8s.api.core.v1.ContainerPort"),
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
            "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "containerPort",
        }}}));
        assert_eq!(
            facts["ports"],
            json!({"type": "[]core.v1.ContainerPort", "list": "map", "keys": ["containerPort", "protocol"],
                "patch": ["merge", "retainKeys"], "mergeKey": "containerPort"})
        );
    }

    #[test]
    fn special_types_are_one_word() {
        let quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
        let facts = fields(&json!({"type": "object", "properties": {
            "limits": {"type": "object", "additionalProperties": reference_to(quantity)},
            "data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
            "port": reference_to("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        }}));
        assert_eq!(facts["limits"]["type"], "{}quantity");
        assert_eq!(facts["data"]["type"], "{}bytes");
        assert_eq!(facts["port"]["type"], "int-or-string");
    }

    #[test]
    fn a_new_word_stops_the_generation_instead_of_losing_a_fact() {
        let schema =
            json!({"type": "object", "properties": {"x": {"type": "string", "x-kubernetes-new": 1}}});
        let error = struct_type("io.k8s.api.core.v1.X", &schema).unwrap_err().to_string();
        assert!(error.contains("core.v1.X.x: `x-kubernetes-new`"), "{error}");
    }

    #[test]
    fn only_types_that_a_kind_leads_to_are_kept() {
        let mut types = Types::new();
        for (name, field) in
            [("a.v1.Root", "{}[]a.v1.Leaf"), ("a.v1.Leaf", "string"), ("a.v1.Other", "string")]
        {
            let facts = json!({"fields": {"f": {"type": field}}});
            types.insert(name.into(), Type { facts, ..Type::default() });
        }
        keep_reachable(&mut types, &[json!({"type": "a.v1.Root"})]);
        assert_eq!(types.keys().collect::<Vec<_>>(), ["a.v1.Leaf", "a.v1.Root"]);
    }

    #[test]
    fn kinds_and_their_subresources_get_the_type_of_their_own_group_and_version() {
        let ty = |group: &str, kind: &str| Type {
            facts: json!({}),
            kinds: vec![(group.into(), "v1".into(), kind.into())],
        };
        let types = Types::from([
            ("apps.v1.Deployment".into(), ty("apps", "Deployment")),
            ("autoscaling.v1.Scale".into(), ty("autoscaling", "Scale")),
        ]);
        let mut kinds = [json!({"group": "apps", "version": "v1", "kind": "Deployment",
            "subresources": {"scale": {"kind": "Scale", "apiVersion": "autoscaling/v1"}, "status": {}}})];
        attach_types(&mut kinds, &types);
        assert_eq!(kinds[0]["type"], "apps.v1.Deployment");
        assert_eq!(kinds[0]["subresources"]["scale"]["type"], "autoscaling.v1.Scale");
        assert_eq!(kinds[0]["subresources"]["status"], json!({}));
    }
}
