//! Definitions with many features, and objects that are fine, odd or wrong in every way the schema can say.

use serde_json::{Map, Value, json};

pub(crate) const PATH: &str = "/apis/lab.example.com/v1/namespaces/default/widgets";

/// A definition with one version.
fn a_definition(plural: &str, kind: &str, scope: &str, schema: &Value, subresources: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.lab.example.com")},
        "spec": {"group": "lab.example.com", "scope": scope, "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": schema}}]}})
}

/// Nearly everything that a schema can say.
pub(crate) fn widgets() -> Value {
    let formats = [
        "date-time",
        "date",
        "ipv4",
        "ipv6",
        "cidr",
        "uuid",
        "byte",
        "email",
        "hostname",
        "duration",
        "uri",
        "mac",
        "password",
        "hexcolor",
        "unheard-of",
    ];
    let mut spec = json!({
        "s": {"type": "string"}, "n": {"type": "integer"}, "f": {"type": "number"}, "b": {"type": "boolean"},
        "e": {"type": "string", "enum": ["a", "b"]},
        "en": {"type": "string", "nullable": true, "enum": ["a", "b"]},
        "ei": {"type": "integer", "enum": [1, 2]},
        "i32": {"type": "integer", "format": "int32"}, "i64": {"type": "integer", "format": "int64"},
        "fl": {"type": "number", "format": "float"},
        "range": {"type": "integer", "minimum": 1, "maximum": 10},
        "open": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 1.5, "exclusiveMaximum": true},
        "five": {"type": "integer", "multipleOf": 5}, "tenth": {"type": "number", "multipleOf": 0.1},
        "short": {"type": "string", "maxLength": 3}, "one": {"type": "string", "maxLength": 1},
        "long": {"type": "string", "minLength": 2},
        "pattern": {"type": "string", "pattern": r"^[a-z]+\d$"},
        "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer"}},
        "single": {"type": "array", "maxItems": 1, "items": {"type": "integer"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "atomics": {"type": "array", "x-kubernetes-list-type": "set", "items":
            {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items":
            {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
        "pairs": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"},
                "protocol": {"type": "string", "default": "TCP"}}}},
        "object": {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"},
            "c": {"type": "object", "properties": {"d": {"type": "integer"}}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "things": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "integer"},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}}}},
        "anything": {"type": "object", "additionalProperties": true},
        "some": {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "object",
            "properties": {"b": {"type": "string"}}}}},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object",
            "properties": {"a": {"type": "string"}}}}},
        "amount": {"x-kubernetes-int-or-string": true},
        "quantity": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": "^[0-9]+%?$"},
        "null": {"type": "string", "nullable": true}, "nulls": {"type": "array", "items": {"type": "string"}},
        "defaulted": {"type": "string", "default": "x"},
        "defaults": {"type": "object", "default": {}, "properties": {"inner": {"type": "integer", "default": 7}}},
        "absent": {"type": "object", "properties": {"inner": {"type": "integer", "default": 7}}},
        "union": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "either": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "anyOf": [
            {"required": ["a"], "properties": {"a": {"minLength": 3}}}, {"required": ["b"], "properties": {"b": {"minimum": 5}}}]},
        "both": {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "^x"}]},
        "not": {"type": "string", "not": {"enum": ["forbidden"]}},
        "bare": {"type": "object"},
        "replicas": {"type": "integer"},
    });
    for format in formats {
        spec[format] = json!({"type": "string", "format": format});
    }
    let schema = json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}},
        "spec": {"type": "object", "properties": spec},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}},
    }});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector"});
    a_definition("widgets", "Widget", "Namespaced", &schema, &json!({"status": {}, "scale": scale}))
}

/// A definition with a scale and without a status of its own.
pub(crate) fn scaled() -> Value {
    let part = json!({"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {"spec": part, "status": part}});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector"});
    a_definition("scaleds", "Scaled", "Cluster", &schema, &json!({"scale": scale}))
}

/// A definition with a rule.
pub(crate) fn ruled() -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["a"],
        "properties": {"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}}}}});
    a_definition("ruleds", "Ruled", "Cluster", &schema, &Value::Null)
}

/// A definition before and after its rules got stricter.
pub(crate) fn ratchets(strict: bool) -> Value {
    let text = if strict { json!({"type": "string", "maxLength": 2}) } else { json!({"type": "string"}) };
    let mut spec = json!({"type": "object", "properties": {
        "a": text, "b": text,
        "object": {"type": "object", "properties": {"a": text, "b": text}},
        "atomic": {"type": "array", "items": text},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items":
            {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": text}}},
        "set": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": text},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    if strict {
        spec["required"] = json!(["new"]);
        spec["properties"]["new"] = json!({"type": "string"});
        spec["properties"]["set"]["x-kubernetes-list-type"] = json!("set");
        spec["properties"]["free"]["maxProperties"] = json!(0);
        spec["properties"]["object"]["allOf"] = json!([{"properties": {"b": {"pattern": "^x"}}}]);
    }
    let status = json!({"type": "object", "properties": {"a": text, "b": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    a_definition("ratchets", "Ratchet", "Cluster", &schema, &json!({"status": {}}))
}

/// An object that is fine before and wrong everywhere after.
pub(crate) fn wrong_ratchet() -> Value {
    json!({"apiVersion": "lab.example.com/v1", "kind": "Ratchet", "metadata": {"name": "x"}, "spec": {
        "a": "long", "b": "long", "object": {"a": "long", "b": "long"}, "atomic": ["long"],
        "map": [{"k": "x", "v": "long"}, {"k": "y", "v": "long"}], "set": ["a", "a"], "labels": {"a": "long"},
        "free": {"x": 1}}})
}

/// Changes of that object: a name, the object, and whether it is written to the status.
pub(crate) fn changes(stored: &Value) -> Vec<(&'static str, Value, bool)> {
    let change = |path: &str, value: Value| {
        let mut object = stored.clone();
        *object.pointer_mut(path).unwrap() = value;
        object
    };
    let set = |key: &str, value: Value| {
        let mut object = stored.clone();
        object["spec"][key] = value;
        object
    };
    let mut status = stored.clone();
    status["status"] = json!({"a": "long", "b": "x"});
    let mut fine_status = stored.clone();
    fine_status["status"] = json!({"a": "ok", "b": 1});
    vec![
        ("nothing", stored.clone(), false),
        (
            "a label",
            change("/metadata", {
                let mut metadata = stored["metadata"].clone();
                metadata["labels"] = json!({"a": "b"});
                metadata
            }),
            false,
        ),
        ("a text to another wrong one", change("/spec/a", json!("other")), false),
        ("a text to a right one", change("/spec/a", json!("ok")), false),
        ("the new field", set("new", json!("x")), false),
        ("one field of an object", change("/spec/object/a", json!("ok")), false),
        ("one field of an object, wrong", change("/spec/object/a", json!("other")), false),
        ("an atomic list", change("/spec/atomic", json!(["long", "x"])), false),
        (
            "another item of a map",
            change("/spec/map", json!([{"k": "x", "v": "long"}, {"k": "z", "v": "ok"}])),
            false,
        ),
        ("a wrong item of a map", change("/spec/map", json!([{"k": "x", "v": "other"}])), false),
        (
            "the order of a map",
            change("/spec/map", json!([{"k": "y", "v": "long"}, {"k": "x", "v": "long"}])),
            false,
        ),
        ("another label, wrong", change("/spec/labels", json!({"a": "long", "b": "long"})), false),
        ("duplicates that were there", change("/spec/set", json!(["a", "a", "b"])), false),
        ("an object with unknown fields", change("/spec/free", json!({"x": 1, "y": 2})), false),
        ("status in the main object", status.clone(), false),
        ("a wrong status", status, true),
        ("a fine status", fine_status, true),
    ]
}

/// Objects by the name of the case.
#[rustfmt::skip]
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn cases() -> Vec<(&'static str, Value)> {
    let mut cases: Vec<(&'static str, Value)> = Vec::new();
    let spec = |fields: Value| json!({"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": fields});
    for (name, fields) in [
        ("empty", json!({})),
        ("text for integer", json!({"n": "1"})),
        ("integer for text", json!({"s": 1})),
        ("float for integer", json!({"n": 1.5})),
        ("integer for number", json!({"f": 1})),
        ("text for boolean", json!({"b": "true"})),
        ("object for text", json!({"s": {}})),
        ("list for text", json!({"s": []})),
        ("list for object", json!({"object": []})),
        ("text for list", json!({"list": "x"})),
        ("two wrong types", json!({"n": "1", "s": 1})),
        ("enum", json!({"e": "c"})),
        ("enum integer", json!({"ei": 3})),
        ("enum fine", json!({"e": "a", "ei": 2})),
        ("nullable enum", json!({"en": null})),
        ("int32 too large", json!({"i32": 2_147_483_648_i64})),
        ("int32 negative", json!({"i32": -2_147_483_648_i64})),
        ("int64 too large", json!({"i64": 9_223_372_036_854_775_808_u64})),
        ("float too large", json!({"fl": 1e39})),
        ("below range", json!({"range": 0})),
        ("above range", json!({"range": 11})),
        ("range fine", json!({"range": 10})),
        ("open lower", json!({"open": 0})),
        ("open upper", json!({"open": 1.5})),
        ("open fine", json!({"open": 1.25})),
        ("no multiple", json!({"five": 7})),
        ("multiple", json!({"five": 10, "tenth": 0.3})),
        ("no multiple of a tenth", json!({"tenth": 0.25})),
        ("too long", json!({"short": "abcd"})),
        ("too long by one", json!({"one": "ab"})),
        ("long in bytes only", json!({"short": "äöü"})),
        ("too short", json!({"long": "a"})),
        ("pattern", json!({"pattern": "ABC"})),
        ("pattern with foreign digit", json!({"pattern": "a١"})),
        ("pattern fine", json!({"pattern": "abc1"})),
        ("too few items", json!({"list": []})),
        ("too many items", json!({"list": [1, 2, 3, 4]})),
        ("too many for one", json!({"single": [1, 2]})),
        ("wrong item", json!({"list": [1, "2", 3]})),
        ("set twice", json!({"set": ["a", "b", "a", "a"]})),
        ("atomic twice", json!({"atomics": [{"a": "x"}, {"a": "x"}]})),
        ("map twice", json!({"map": [{"k": "a"}, {"k": "b"}, {"k": "a", "v": 1}]})),
        ("map without key", json!({"map": [{"v": 1}, {"v": 2}]})),
        ("map of text", json!({"map": ["a"]})),
        ("pairs twice by default", json!({"pairs": [{"port": 1}, {"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}]})),
        ("required", json!({"object": {}})),
        ("required one", json!({"object": {"a": "x"}})),
        ("unknown fields", json!({"zz": 1, "object": {"a": "x", "b": "y", "yy": {"x": 1}, "c": {"d": 1, "e": 2}}})),
        ("unknown in list", json!({"map": [{"k": "a", "zz": 1}]})),
        ("unknown in bare object", json!({"bare": {"a": 1, "b": {"c": 1}}})),
        ("additional of wrong type", json!({"labels": {"a": 1, "b": "x"}})),
        ("additional null", json!({"labels": {"a": null}})),
        ("additional objects", json!({"things": {"k": {"x": 1, "y": 2}, "l": {"x": "1"}}})),
        ("set inside additional", json!({"things": {"k": {"set": [1, 1]}}})),
        ("anything", json!({"anything": {"a": 1, "b": {"c": 1}, "d": [{"e": 1}]}})),
        ("too few properties", json!({"some": {}})),
        ("too many properties", json!({"some": {"a": "1", "b": "2", "c": "3"}})),
        ("free", json!({"free": {"x": {"y": [1, null]}, "a": {"b": "c", "d": 1}}, "any": [1, {"a": null}]})),
        ("embedded fine", json!({"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "creationTimestamp": null}, "spec": {"x": 1}}})),
        ("embedded without kind", json!({"embedded": {"metadata": {"name": "p"}}})),
        ("embedded with empty kind", json!({"embedded": {"apiVersion": "", "kind": "A_b"}})),
        ("embedded with bad version", json!({"embedded": {"apiVersion": "a/b/c", "kind": "K"}})),
        ("embedded with unknown metadata", json!({"template": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "foo": 1}, "spec": {"a": "b", "c": 1}, "zz": 1}})),
        ("embedded with wrong label", json!({"embedded": {"apiVersion": "v1", "kind": "K", "metadata": {"labels": {"a": 1}}}})),
        ("embedded with number as kind", json!({"embedded": {"apiVersion": "v1", "kind": 5}})),
        ("int or string", json!({"amount": 5, "quantity": "50%"})),
        ("int or string boolean", json!({"amount": true})),
        ("int or string float", json!({"amount": 1.5})),
        ("int or string pattern", json!({"quantity": "x"})),
        ("nulls", json!({"s": null, "null": null, "defaulted": null, "defaults": null, "object": null, "list": null})),
        ("nulls in list", json!({"nulls": ["a", null]})),
        ("defaults in given object", json!({"absent": {}, "defaults": {"inner": 1}})),
        ("union none", json!({"union": {}})),
        ("union both", json!({"union": {"a": "x", "b": "y"}})),
        ("union one", json!({"union": {"a": "x"}})),
        ("either none", json!({"either": {}})),
        ("either wrong", json!({"either": {"a": "x", "b": 1}})),
        ("either fine", json!({"either": {"a": "xxx"}})),
        ("both none", json!({"both": "a"})),
        ("both one", json!({"both": "ab"})),
        ("both fine", json!({"both": "xb"})),
        ("not", json!({"not": "forbidden"})),
        ("negative replicas", json!({"replicas": -1})),
        ("too many replicas", json!({"replicas": 3_000_000_000_i64})),
        ("format wrong", json!({"date-time": "x", "date": "2024-13-01", "ipv4": "1.2.3", "ipv6": "1.2.3.4", "cidr": "1.2.3.4"})),
        ("more formats wrong", json!({"uuid": "x", "byte": "x", "email": "x", "hostname": "my-host", "duration": "x", "uri": "x", "mac": "x", "hexcolor": "x"})),
        ("formats fine", json!({"date-time": "2024-02-29T12:00:00.5+01:00", "date": "2024-02-29", "ipv4": "01.2.3.4", "ipv6": "::1", "cidr": "10.0.0.0/8",
            "uuid": "123e4567-e89b-12d3-a456-426614174000", "byte": "YWJj", "email": "A <a@b.c>", "hostname": "example.com", "duration": "3 days",
            "uri": "https://a/b", "mac": "01:23:45:67:89:ab", "password": "x", "hexcolor": "#fff", "unheard-of": "anything"})),
        ("format of wrong type", json!({"date": 5, "ipv4": true, "cidr": {}})),
        ("format of a list", json!({"date": [1]})),
        ("empty texts for formats", json!({"date": "", "byte": "", "uri": "", "email": "", "hostname": ""})),
    ] {
        cases.push((name, spec(fields)));
    }
    let whole = |fields: Value| {
        let mut object = spec(json!({}));
        let fields: Map<String, Value> = fields.as_object().unwrap().clone();
        object.as_object_mut().unwrap().extend(fields);
        object
    };
    for (name, fields) in [
        ("status is dropped", json!({"status": {"replicas": 5}})),
        ("status of wrong type", json!({"status": "x"})),
        ("unknown at the root", json!({"zz": 1, "yy": {"a": 1}})),
        ("spec of wrong type", json!({"spec": "x"})),
        ("spec null", json!({"spec": null})),
        ("unknown metadata", json!({"metadata": {"name": "w", "foo": 1, "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "zz": 1}]}})),
        ("metadata is tidied", json!({"metadata": {"name": "w", "labels": {}, "annotations": {"a": ""}, "finalizers": [], "generation": 7}})),
        ("name too long for the schema", json!({"metadata": {"name": "much-too-long"}})),
        ("labels of wrong type", json!({"metadata": {"name": "w", "labels": {"a": 1}}})),
        ("labels as list", json!({"metadata": {"name": "w", "labels": ["a"]}})),
        ("finalizers as text", json!({"metadata": {"name": "w", "finalizers": "a"}})),
        ("owner of wrong type", json!({"metadata": {"name": "w", "ownerReferences": [{"name": 5}]}})),
    ] {
        cases.push((name, whole(fields)));
    }
    for (_, object) in &mut cases {
        object["metadata"]["namespace"] = "default".into();
    }
    cases
}
