//! What reading an object of a built-in kind does to it, before defaults: unknown fields go, values take their canonical form.
//!
//! The real server decodes into Go structs, stores them as protobuf (definitions and API services as JSON) and writes them again. What comes
//! out is not what went in: nulls and empty lists are gone, structs that are always there appear, quantities and times have one form.
//! The facts of the structs are in the schema ([`lockstep_schema::Field::omit`] and its neighbours).

mod quantity;
mod registered;
mod scalar;
pub(crate) mod strict;
mod walk;

use lockstep_schema::{Kind, Schema};
use serde_json::Value;
use thiserror::Error;

use crate::status::Status;

pub(crate) use quantity::Quantity;
pub(crate) use registered::is_registered;

/// An object as the server holds it.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// The object without unknown fields, every value in its canonical form.
    pub object: Value,
    /// `unknown field "spec.foo"` per field that was dropped, in the order of the sorted object; see also [`strict::strict_errors`].
    pub unknown: Vec<String>,
}

/// Why an object cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct DecodeError(String);

/// How the server keeps the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    /// An empty list cannot be told from a missing one.
    Protobuf,
    /// An empty list stays an empty list.
    Json,
}

/// Reads an object as the server does; what it writes again is the result, after [`settle`].
pub(crate) fn decode(kind: &Kind, mut object: Value) -> Result<Decoded, DecodeError> {
    let schema = Schema::builtin();
    let Some(root) = schema.root(kind) else { return Ok(Decoded { object, unknown: Vec::new() }) };
    let mut walk = walk::Walk::new(schema, storage_of(kind));
    walk.root(root, &mut object);
    walk.finish().map(|unknown| Decoded { object, unknown })
}

/// What storing takes from an object that was read: an empty list that is always written is null from now on.
///
/// Until then it differs from one that nobody has sent: whoever sent it owns it.
pub(crate) fn settle(kind: &Kind, object: &mut Value) {
    let schema = Schema::builtin();
    let Some(root) = schema.root(kind) else { return };
    // Nearly no object has one, and looking is cheap.
    if storage_of(kind) == Storage::Protobuf && has_empty(object) {
        walk::Walk::new(schema, Storage::Protobuf).settling().root(root, object);
    }
}

fn has_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() || items.iter().any(has_empty),
        Value::Object(fields) => fields.values().any(has_empty),
        _ => false,
    }
}

fn storage_of(kind: &Kind) -> Storage {
    match kind.group {
        "apiextensions.k8s.io" | "apiregistration.k8s.io" => Storage::Json,
        _ => Storage::Protobuf,
    }
}

// === impl DecodeError ===

impl DecodeError {
    /// The answer of the server: 400, with the kind that was sent.
    pub(crate) fn into_status(self, kind: &Kind) -> Status {
        let Kind { kind, version, .. } = kind;
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {self}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(api_version: &str, kind: &str) -> &'static Kind {
        Schema::builtin().kind(api_version, kind).expect("kind")
    }

    fn read(object: Value) -> Decoded {
        let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        decode(kind(&text("apiVersion"), &text("kind")), object).expect("it can be read")
    }

    fn error(object: Value) -> String {
        let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        decode(kind(&text("apiVersion"), &text("kind")), object).expect_err("it cannot be read").to_string()
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers hand over what they have just written")]
    fn config_map(fields: Value) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        for (name, value) in fields.as_object().cloned().unwrap_or_default() {
            object[name] = value;
        }
        object
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers hand over what they have just written")]
    fn deployment(spec: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec})
    }

    #[test]
    fn nulls_and_empty_maps_are_dropped_but_a_null_in_a_map_is_an_empty_value() {
        let before = config_map(json!({"immutable": null, "data": {"a": null, "b": ""}, "binaryData": {},
                "metadata": {"name": "a", "labels": {}, "creationTimestamp": null, "finalizers": []}}));
        assert_eq!(read(before).object, config_map(json!({"data": {"a": "", "b": ""}})));
        let bytes = config_map(json!({"binaryData": {"c": null, "d": "YQ=\n="}}));
        assert_eq!(read(bytes).object["binaryData"], json!({"c": "", "d": "YQ=="}));
    }

    #[test]
    fn structs_that_are_no_pointers_are_always_written() {
        let after = read(deployment(json!({}))).object;
        assert_eq!(
            after["spec"],
            json!({"selector": null, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": null}}})
        );
        assert_eq!(after["status"], json!({}));
        let event = json!({"apiVersion": "v1", "kind": "Event"});
        assert_eq!(
            read(event).object,
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {}, "involvedObject": {}, "source": {},
                "firstTimestamp": null, "lastTimestamp": null, "eventTime": null, "reportingComponent": "",
                "reportingInstance": ""})
        );
    }

    #[test]
    fn zero_scalars_go_unless_they_are_pointers_or_required() {
        let after = read(deployment(json!({"replicas": 0, "minReadySeconds": 0, "paused": false,
            "template": {"spec": {"hostNetwork": false, "automountServiceAccountToken": false,
                "containers": [{"name": "", "image": "", "env": [{"name": "A", "value": ""}], "ports": []}]}}})));
        assert_eq!(after.object["spec"]["replicas"], 0);
        assert!(after.object["spec"].get("minReadySeconds").is_none());
        assert!(after.object["spec"].get("paused").is_none());
        assert_eq!(
            after.object["spec"]["template"]["spec"],
            json!({"automountServiceAccountToken": false,
                "containers": [{"name": "", "resources": {}, "env": [{"name": "A"}]}]})
        );
    }

    #[test]
    fn an_empty_list_that_is_always_written_is_null_in_protobuf_and_stays_in_json() {
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []});
        let mut role = read(role).object;
        assert_eq!(role["rules"], json!([]), "it was sent");
        settle(kind("rbac.authorization.k8s.io/v1", "ClusterRole"), &mut role);
        assert_eq!(role["rules"], Value::Null);
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"versions": []}});
        assert_eq!(read(crd).object["spec"]["versions"], json!([]));
    }

    #[test]
    fn unknown_fields_are_dropped_and_named_with_their_place() {
        let after = read(deployment(json!({"zz": 1, "Replicas": 2,
            "template": {"spec": {"containers": [{"name": "a", "xx": {"y": 1}}]}}})));
        assert_eq!(
            after.unknown,
            [
                r#"unknown field "spec.Replicas""#,
                r#"unknown field "spec.template.spec.containers[0].xx""#,
                r#"unknown field "spec.zz""#
            ]
        );
        assert!(after.object["spec"].get("Replicas").is_none());
        assert!(!after.object.to_string().contains("xx"));
    }

    #[test]
    fn quantities_ports_and_times_have_one_form() {
        let after = read(deployment(json!({"template": {"spec": {"containers": [{"name": "a",
            "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
            "env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]}]}}})));
        let container = &after.object["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["limits"], json!({"cpu": "500m", "memory": "1Gi"}));
        assert_eq!(container["env"][0]["valueFrom"]["resourceFieldRef"]["divisor"], "0");
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"creationTimestamp": "2024-01-02T03:04:05.9+02:00"},
            "spec": {"renewTime": "2024-01-02T03:04:05.123456+02:00"}});
        let lease = read(lease).object;
        assert_eq!(lease["metadata"]["creationTimestamp"], "2024-01-02T01:04:05Z");
        assert_eq!(lease["spec"]["renewTime"], "2024-01-02T01:04:05.123456Z");
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 1}]}});
        assert_eq!(read(service).object["spec"]["ports"], json!([{"port": 1, "targetPort": 0}]));
    }

    #[test]
    fn wrong_types_give_the_words_of_the_go_decoder() {
        let template = |spec: Value| deployment(json!({"template": {"spec": spec}}));
        let cases = [
            (
                deployment(json!({"replicas": "x"})),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                deployment(json!({"replicas": 3_000_000_000_u64})),
                "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                deployment(json!({"replicas": 1.5})),
                "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                deployment(json!([])),
                "json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec",
            ),
            (
                template(json!({"containers": {"a": 1}})),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
            ),
            (
                template(json!({"containers": ["x"]})),
                "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container",
            ),
            (
                template(json!({"containers": [{"name": 5}]})),
                "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.name of type string",
            ),
            (
                template(json!({"containers": [{"imagePullPolicy": 5}]})),
                "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.imagePullPolicy of type v1.PullPolicy",
            ),
            (
                template(json!({"volumes": [{"configMap": {"name": 5}}]})),
                "json: cannot unmarshal number into Go struct field ConfigMapVolumeSource.spec.template.spec.volumes.VolumeSource.configMap.LocalObjectReference.name of type string",
            ),
            (
                template(json!({"containers": [{"resources": {"limits": {"cpu": "abc"}}}]})),
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
            (
                config_map(json!({"data": {"a": 5}})),
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            ),
            (config_map(json!({"binaryData": {"c": "%%"}})), "illegal base64 data at input byte 0"),
            (
                config_map(json!({"metadata": {"labels": []}})),
                "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
            ),
            (
                config_map(json!({"metadata": {"creationTimestamp": "x"}})),
                r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
            ),
            (
                config_map(json!({"metadata": {"creationTimestamp": 5}})),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
            ),
            (
                json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"targetPort": true}]}}),
                "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
            ),
        ];
        for (object, expected) in cases {
            assert_eq!(error(object.clone()), expected, "{object}");
        }
    }

    #[test]
    fn the_answer_names_kind_and_version() {
        let status = DecodeError("json: x".into()).into_status(kind("apps/v1", "Deployment"));
        assert_eq!(
            (status.code, status.message.as_str()),
            (400, "Deployment in version \"v1\" cannot be handled as a Deployment: json: x")
        );
    }

    #[test]
    fn the_schema_of_a_definition_keeps_its_known_keywords_at_every_depth() {
        let schema = json!({"openAPIV3Schema": {"type": "object", "format": "", "description": "", "properties": {
            "a": {"type": "array", "items": {"type": "object", "optional": ["port"], "nullable": false}},
            "b": {"additionalProperties": {"type": "string", "wrong": 1}, "default": null, "minimum": 1.0},
            "c": {"additionalProperties": false, "default": {"x": null, "y": []}, "enum": [null, "", 1],
                "required": [], "x-kubernetes-preserve-unknown-fields": false},
            "d": {"items": [{"format": ""}, {"wrong": 1}], "dependencies": {"e": ["f"], "g": {"wrong": 1}}},
        }}});
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {
            "preserveUnknownFields": false, "versions": [{"name": "v1", "schema": schema}]}});
        let decoded = read(crd);
        assert_eq!(
            decoded.object["spec"]["versions"][0],
            json!({"name": "v1", "served": false, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "a": {"type": "array", "items": {"type": "object"}},
                "b": {"additionalProperties": {"type": "string"}, "minimum": 1},
                "c": {"additionalProperties": false, "default": {"x": null, "y": []}, "enum": [null, "", 1],
                    "x-kubernetes-preserve-unknown-fields": false},
                "d": {"items": [{}, {}], "dependencies": {"e": ["f"], "g": {}}},
            }}}})
        );
        assert!(decoded.object["spec"].get("preserveUnknownFields").is_none());
        assert_eq!(
            decoded.unknown,
            Vec::<String>::new(),
            "these parts are decoded on their own, never strictly"
        );
    }

    #[test]
    fn managed_fields_are_left_alone() {
        let managed =
            json!([{"manager": "m", "fieldsV1": {"f:data": {".": {}}}, "time": "2024-01-01T00:00:00Z"}]);
        let after = read(config_map(json!({"metadata": {"name": "a", "managedFields": managed.clone()}})));
        assert_eq!(after.object["metadata"]["managedFields"], managed);
    }
}
