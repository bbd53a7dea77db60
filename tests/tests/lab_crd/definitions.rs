//! Definitions that are fine, odd or wrong.

use serde_json::{Value, json};

fn a_definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.lab.example.com"},
        "spec": {"group": "lab.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}}]}})
}

/// A definition with a second version.
fn two_versions() -> Value {
    let mut crd = a_definition();
    let second = json!({"name": "v2", "served": true, "storage": false,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}}});
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    crd
}

/// Definitions by the name of the case.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<(&'static str, Value)> {
    let mut cases = vec![("plain", a_definition()), ("two versions", two_versions())];
    let change = |mut crd: Value, path: &str, value: Value| {
        let (parent, key) = path.rsplit_once('/').unwrap();
        crd.pointer_mut(parent).unwrap_or_else(|| panic!("{parent}"))[key] = value;
        crd
    };
    for (name, path, value) in [
        ("other name", "/metadata/name", json!("others.lab.example.com")),
        ("no group", "/spec/group", json!("")),
        ("group without dot", "/spec/group", json!("lab")),
        ("group in capitals", "/spec/group", json!("Lab.example.com")),
        ("unknown scope", "/spec/scope", json!("Everywhere")),
        ("no kind", "/spec/names/kind", json!("")),
        ("kind with a sign", "/spec/names/kind", json!("Thing_")),
        ("list like kind", "/spec/names/listKind", json!("Thing")),
        ("short names", "/spec/names/shortNames", json!(["ok", "Not_ok"])),
        ("categories", "/spec/names/categories", json!(["all", "1st"])),
        ("no versions", "/spec/versions", json!([])),
        ("preserve unknown", "/spec/preserveUnknownFields", json!(true)),
        ("unknown conversion", "/spec/conversion", json!({"strategy": "Magic"})),
        ("webhook without config", "/spec/conversion", json!({"strategy": "Webhook"})),
        ("webhook without address", "/spec/conversion", json!({"strategy": "Webhook", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v3"]}})),
        ("webhook with address", "/spec/conversion", json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "http://a/b?c#d"}, "conversionReviewVersions": ["v1", "v1"]}})),
        ("webhook with service", "/spec/conversion", json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "n", "namespace": "", "path": "a//b", "port": 70000}}, "conversionReviewVersions": ["v1"]}})),
        ("webhook fine", "/spec/conversion", json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "n", "namespace": "s"}, "caBundle": "Cg=="}, "conversionReviewVersions": ["v1"]}})),
        ("webhook of none", "/spec/conversion", json!({"strategy": "None", "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]}})),
    ] {
        cases.push((name, change(a_definition(), path, value)));
    }
    for (name, key, value) in [
        ("version name", "name", json!("1v")),
        ("no storage", "storage", json!(false)),
        ("no schema", "schema", json!(null)),
        ("warning without deprecation", "deprecationWarning", json!("x")),
        ("column without anything", "additionalPrinterColumns", json!([{"name": "", "type": "x", "format": "y", "jsonPath": "z"}, {"name": "a", "type": "string", "jsonPath": ".spec"}])),
        ("scale without paths", "subresources", json!({"scale": {"specReplicasPath": "", "statusReplicasPath": ""}})),
        ("scale with wrong paths", "subresources", json!({"scale": {"specReplicasPath": "spec.a", "statusReplicasPath": ".spec.a", "labelSelectorPath": ".metadata.x"}})),
        ("selectable metadata", "selectableFields", json!([{"jsonPath": ".metadata.name"}, {"jsonPath": ".spec"}, {"jsonPath": "spec"}, {"jsonPath": ".spec.x"}, {"jsonPath": ".spec['x']"}])),
    ] {
        cases.push((name, change(a_definition(), &format!("/spec/versions/0/{key}"), value)));
    }
    cases.push(("deprecated", change(change(a_definition(), "/spec/versions/0/deprecated", json!(true)), "/spec/versions/0/deprecationWarning", json!("a\nb"))));
    cases.push(("two of one name", change(two_versions(), "/spec/versions/1/name", json!("v1"))));
    cases.push(("two storages", change(two_versions(), "/spec/versions/1/storage", json!(true))));
    cases.push(("second schema wrong", change(two_versions(), "/spec/versions/1/schema/openAPIV3Schema", json!({"properties": {"a": {}}}))));
    cases.push(("second schema missing", change(two_versions(), "/spec/versions/1/schema", json!(null))));
    cases.push(("protected group", change(change(a_definition(), "/spec/group", json!("lab.k8s.io")), "/metadata/name", json!("things.lab.k8s.io"))));
    for (name, annotation) in [("approved", "https://a/b"), ("unapproved", "unapproved, testing"), ("badly approved", "yes")] {
        let crd = change(change(a_definition(), "/spec/group", json!("lab.k8s.io")), "/metadata/name", json!("things.lab.k8s.io"));
        cases.push((name, change(crd, "/metadata/annotations", json!({"api-approved.kubernetes.io": annotation}))));
    }
    for (name, schema) in [
        ("root without type", json!({})),
        ("root of type string", json!({"type": "string"})),
        ("field without type", json!({"type": "object", "properties": {"a": {}, "b": {"type": "array"}, "c": {"type": "array", "items": {}}}})),
        ("unknown type", json!({"type": "object", "properties": {"a": {"type": "text"}}})),
        ("null type", json!({"type": "object", "properties": {"a": {"type": "null"}}})),
        ("additional at the root", json!({"type": "object", "additionalProperties": {"type": "string"}})),
        ("additional and properties", json!({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}, "properties": {"b": {"type": "string"}}}}})),
        ("unique items", json!({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}})),
        ("ref", json!({"type": "object", "properties": {"a": {"$ref": "#/x", "type": "string"}}})),
        ("definitions", json!({"type": "object", "definitions": {"a": {"type": "string"}}})),
        ("pattern properties", json!({"type": "object", "properties": {"a": {"type": "object", "patternProperties": {"a": {"type": "string"}}}}})),
        ("list of schemas", json!({"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "string"}]}}})),
        ("nullable root", json!({"type": "object", "nullable": true})),
        ("bad default", json!({"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}})),
        ("bad default deep inside", json!({"type": "object", "properties": {"a": {"type": "object", "default": {"l": [1, "x"]}, "properties": {"l": {"type": "array", "items": {"type": "string"}}}}}})),
        ("unpruned default", json!({"type": "object", "properties": {"a": {"type": "object", "default": {"x": 1}}}})),
        ("default in metadata", json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}}})),
        ("metadata with labels", json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}})),
        ("metadata with a name", json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^x"}}}}})),
        ("kind of wrong type", json!({"type": "object", "properties": {"kind": {"type": "integer"}}})),
        ("type in any of", json!({"type": "object", "properties": {"a": {"type": "string", "anyOf": [{"type": "string", "description": "x", "default": "y", "nullable": true}]}}})),
        ("undeclared in all of", json!({"type": "object", "allOf": [{"properties": {"a": {"minLength": 1}}}]})),
        ("metadata in one of", json!({"type": "object", "properties": {"metadata": {"type": "object"}}, "oneOf": [{"properties": {"metadata": {"required": ["labels"]}}}]})),
        ("bad pattern", json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(?!x)"}, "b": {"type": "string", "pattern": "[a"}, "c": {"type": "string", "pattern": "a**"}, "d": {"type": "string", "pattern": "\\y"}}})),
        ("more bad patterns", json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(a"}, "b": {"type": "string", "pattern": "a)"}, "c": {"type": "string", "pattern": "*"}, "d": {"type": "string", "pattern": "a{2000}"}, "e": {"type": "string", "pattern": "[z-a]"}, "f": {"type": "string", "pattern": "(?<=a)b"}, "g": {"type": "string", "pattern": "\\p{Nope}"}, "h": {"type": "string", "pattern": "(a)\\1"}}})),
        ("list type of no list", json!({"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-list-type": "set"}, "b": {"x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-list-type": "set"}}})),
        ("unknown list type", json!({"type": "object", "properties": {"a": {"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}}})),
        ("map without keys", json!({"type": "object", "properties": {"a": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "string"}}}})),
        ("map with optional keys", json!({"type": "object", "properties": {"a": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l", "k", "m"], "items": {"type": "object", "nullable": true, "required": ["m"], "properties": {"k": {"type": "string", "nullable": true}, "m": {"type": "object"}}}}}})),
        ("keys without map", json!({"type": "object", "properties": {"a": {"type": "array", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object"}}, "b": {"type": "array", "x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}}})),
        ("set of objects", json!({"type": "object", "properties": {"a": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}, "b": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}})),
        ("map type", json!({"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-map-type": "atomic"}, "b": {"type": "object", "x-kubernetes-map-type": "soft"}}})),
        ("keep unknown false", json!({"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": false}}})),
        ("embedded text", json!({"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-embedded-resource": true}, "b": {"type": "object", "x-kubernetes-embedded-resource": true}}})),
        ("int or string", json!({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}, "b": {"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minLength": 1}]}}})),
        ("rules", json!({"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": " "}, {"rule": "self != ''", "message": " "}, {"rule": "self != ''", "reason": "Because"}]}}})),
        ("unknown formats", json!({"type": "object", "properties": {"a": {"type": "string", "format": "foo"}, "b": {"type": "integer", "format": "int16"}}})),
    ] {
        cases.push((name, change(a_definition(), "/spec/versions/0/schema/openAPIV3Schema", schema)));
    }
    let with_status = change(a_definition(), "/spec/versions/0/subresources", json!({"status": {}}));
    for (name, schema) in [
        ("root of a status", json!({"type": "object", "minProperties": 1, "properties": {"a": {"type": "string", "enum": ["<a>"]}}})),
        ("root of a status, wrong type", json!({"type": "string"})),
    ] {
        cases.push((name, change(with_status.clone(), "/spec/versions/0/schema/openAPIV3Schema", schema)));
    }
    cases
}

/// Definitions that are created one after the other, by the name of the case.
pub(crate) fn lives() -> Vec<(&'static str, Value)> {
    let named = |group: &str, names: Value| {
        let mut crd = a_definition();
        crd["metadata"]["name"] = format!("{}.{group}", names["plural"].as_str().unwrap()).into();
        crd["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "https://example.com/1"});
        crd["spec"]["group"] = group.into();
        crd["spec"]["names"] = names;
        crd
    };
    vec![
        (
            "first",
            named(
                "life.example.com",
                json!({"plural": "firsts", "kind": "First", "shortNames": ["f"], "categories": ["all"]}),
            ),
        ),
        (
            "same kind",
            named("life.example.com", json!({"plural": "seconds", "kind": "First", "singular": "second"})),
        ),
        (
            "same short name",
            named("life.example.com", json!({"plural": "thirds", "kind": "Third", "shortNames": ["t", "f"]})),
        ),
        (
            "same singular",
            named("life.example.com", json!({"plural": "fourths", "kind": "Fourth", "singular": "first"})),
        ),
        (
            "other group",
            named("other.example.com", json!({"plural": "firsts", "kind": "First", "shortNames": ["f"]})),
        ),
        ("protected group", named("life.k8s.io", json!({"plural": "firsts", "kind": "First"}))),
        ("bad certificates", {
            let mut crd = named("bad.example.com", json!({"plural": "firsts", "kind": "First"}));
            crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
                "clientConfig": {"url": "https://example.com", "caBundle": "Cg=="}}});
            crd
        }),
    ]
}
