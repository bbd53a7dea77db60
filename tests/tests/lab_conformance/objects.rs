//! Objects that many cases use, as small as the server takes them.

use serde_json::{Value, json};

/// A `ConfigMap` with some data.
pub(crate) fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// An empty `ConfigMap` with labels.
pub(crate) fn labelled(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}})
}

/// A Pod with one container; nothing schedules or runs it.
pub(crate) fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}})
}

/// A Deployment with one container.
pub(crate) fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": pods_of(name)})
}

/// Selector and template of a workload.
pub(crate) fn pods_of(name: &str) -> Value {
    json!({"selector": {"matchLabels": {"app": name}}, "template": template(name)})
}

/// A Pod template with one container.
pub(crate) fn template(name: &str) -> Value {
    json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}})
}

/// A Service with one port.
pub(crate) fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}})
}

/// A Namespace.
pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// An object of the shared kind with the rich schema.
pub(crate) fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "{shared}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

/// An object of the shared kind with one property per keyword.
pub(crate) fn check(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "{shared}/v1", "kind": "Check", "metadata": {"name": name}, "spec": spec})
}

/// An object of the shared kind without subresources.
pub(crate) fn plain(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "{shared}/v1", "kind": "Plain", "metadata": {"name": name}, "spec": spec})
}

/// An object of the shared kind with two served versions.
pub(crate) fn pair(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("{{shared}}/{version}"), "kind": "Pair", "metadata": {"name": name}, "spec": spec})
}

/// A reference to an owner, with the uid of its answer.
pub(crate) fn owner(kind: &str, name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid})
}

/// A definition of a namespaced kind with one version `v1`.
pub(crate) fn definition(group: &str, kind: &str, schema: Value) -> Value {
    let singular = kind.to_lowercase();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{singular}s.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": format!("{singular}s"), "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

/// A schema whose `spec` has these properties.
pub(crate) fn schema(spec: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": spec},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"},
            "selector": {"type": "string"}}}}})
}

/// The definitions that all cases share: rich lists and maps, every keyword, no subresources, two versions.
pub(crate) fn shared_definitions() -> Vec<Value> {
    let mut widget = definition("{shared}", "Widget", schema(widget_spec()));
    widget["spec"]["versions"][0]["subresources"] = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector"}});
    widget["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
    let check = definition("{shared}", "Check", schema(check_spec()));
    let plain = definition("{shared}", "Plain", schema(json!({"a": {"type": "string"}})));
    let mut pair = definition("{shared}", "Pair", schema(json!({"a": {"type": "string"}})));
    let version = |name: &str, served: bool, storage: bool| {
        json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema":
            schema(json!({"a": {"type": "string"}, name: {"type": "string", "default": name}}))}})
    };
    pair["spec"]["versions"] =
        json!([version("v1", true, true), version("v2", true, false), version("v1alpha1", false, false)]);
    vec![widget, check, plain, pair]
}

fn widget_spec() -> Value {
    let port = json!({"type": "object", "required": ["port"], "properties": {
        "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "note": {"type": "string"},
        "hosts": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}});
    json!({
        "size": {"type": "integer"},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "replicas": {"type": "integer"},
        "color": {"type": "string", "default": "blue"},
        "maybe": {"type": "string", "nullable": true},
        "text": {"type": "string"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": port},
        "groups": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"},
                "members": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"},
                        "role": {"type": "string"}}}}}}},
        "steps": {"type": "array", "items": {"type": "string"}},
        "stages": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "properties": {
            "name": {"type": "string"}, "wait": {"type": "integer", "default": 3}}}},
        "conf": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"},
            "b": {"type": "string"}}},
        "limits": {"type": "object", "additionalProperties": {"type": "string"}},
        "bare": {"type": "object"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "either": {"x-kubernetes-int-or-string": true},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "nested": {"type": "object", "properties": {"deep": {"type": "object", "properties": {
            "value": {"type": "string"}, "filled": {"type": "string", "default": "yes"}}}, "other": {"type": "string"}}},
        "defaulted": {"type": "object", "default": {}, "properties": {"level": {"type": "integer", "default": 5}}}
    })
}

fn check_spec() -> Value {
    let text = |keyword: &str, value: Value| json!({"type": "string", keyword: value});
    let number = |keyword: &str, value: Value| json!({"type": "number", keyword: value});
    json!({
        "string": {"type": "string"}, "integer": {"type": "integer"}, "number": {"type": "number"},
        "boolean": {"type": "boolean"},
        "object": {"type": "object", "properties": {"a": {"type": "string"}}},
        "array": {"type": "array", "items": {"type": "string"}},
        "minLength": text("minLength", json!(3)), "maxLength": text("maxLength", json!(3)),
        "pattern": text("pattern", json!("^a+$")), "enum": text("enum", json!(["a", "b"])),
        "minimum": number("minimum", json!(3)), "maximum": number("maximum", json!(3)),
        "exclusiveMinimum": {"type": "number", "minimum": 3, "exclusiveMinimum": true},
        "exclusiveMaximum": {"type": "number", "maximum": 3, "exclusiveMaximum": true},
        "multipleOf": number("multipleOf", json!(3)),
        "minItems": {"type": "array", "minItems": 2, "items": {"type": "string"}},
        "maxItems": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "minProperties": {"type": "object", "minProperties": 2, "additionalProperties": {"type": "string"}},
        "maxProperties": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "string"}},
        "required": {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"},
            "b": {"type": "string"}}},
        "dateTime": text("format", json!("date-time")), "date": text("format", json!("date")),
        "ipv4": text("format", json!("ipv4")), "ipv6": text("format", json!("ipv6")),
        "cidr": text("format", json!("cidr")), "uuid": text("format", json!("uuid")),
        "email": text("format", json!("email")), "uri": text("format", json!("uri")),
        "hostname": text("format", json!("hostname")), "byte": text("format", json!("byte")),
        "duration": text("format", json!("duration")), "unknownFormat": text("format", json!("colour")),
        "int32": {"type": "integer", "format": "int32"}, "int64": {"type": "integer", "format": "int64"},
        "oneOf": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "anyOf": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "allOf": {"type": "string", "allOf": [{"minLength": 2}, {"maxLength": 4}]},
        "not": {"type": "string", "not": {"enum": ["no"]}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
        "either": {"x-kubernetes-int-or-string": true},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true,
            "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "nullable": {"type": "string", "nullable": true},
        "immutable": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf",
            "message": "may not change"}]},
        "ranged": {"type": "object", "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "!has(self.low) || !has(self.high) || self.low <= self.high"}]}
    })
}
