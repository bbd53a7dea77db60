//! The fields by which objects can be selected.

use lockstep_schema::Kind;
use serde_json::Value;

use super::paths::at;

/// A field label and the path of its value.
pub(crate) type Selectable = (&'static str, &'static [&'static str]);

const METADATA: &[Selectable] = &[NAME, NAMESPACE];
const NAME: Selectable = ("metadata.name", &["metadata", "name"]);
const NAMESPACE: Selectable = ("metadata.namespace", &["metadata", "namespace"]);

const POD: &[Selectable] = &[
    NAME,
    NAMESPACE,
    ("spec.nodeName", &["spec", "nodeName"]),
    ("spec.host", &["spec", "nodeName"]),
    ("spec.restartPolicy", &["spec", "restartPolicy"]),
    ("spec.schedulerName", &["spec", "schedulerName"]),
    ("spec.serviceAccountName", &["spec", "serviceAccountName"]),
    ("spec.hostNetwork", &["spec", "hostNetwork"]),
    ("status.phase", &["status", "phase"]),
    ("status.podIP", &["status", "podIP"]),
    ("status.podIPs", &[]),
    ("status.nominatedNodeName", &["status", "nominatedNodeName"]),
];

const EVENT: &[Selectable] = &[
    NAME,
    NAMESPACE,
    ("involvedObject.kind", &["involvedObject", "kind"]),
    ("involvedObject.namespace", &["involvedObject", "namespace"]),
    ("involvedObject.name", &["involvedObject", "name"]),
    ("involvedObject.uid", &["involvedObject", "uid"]),
    ("involvedObject.apiVersion", &["involvedObject", "apiVersion"]),
    ("involvedObject.resourceVersion", &["involvedObject", "resourceVersion"]),
    ("involvedObject.fieldPath", &["involvedObject", "fieldPath"]),
    ("reason", &["reason"]),
    ("reportingComponent", &["reportingComponent"]),
    ("source", &["source", "component"]),
    ("type", &["type"]),
];

/// Events of the newer group are stored as those of the core.
const NEW_EVENT: &[Selectable] = &[
    NAME,
    NAMESPACE,
    ("reason", &["reason"]),
    ("regarding.kind", &["involvedObject", "kind"]),
    ("regarding.namespace", &["involvedObject", "namespace"]),
    ("regarding.name", &["involvedObject", "name"]),
    ("regarding.uid", &["involvedObject", "uid"]),
    ("regarding.apiVersion", &["involvedObject", "apiVersion"]),
    ("regarding.resourceVersion", &["involvedObject", "resourceVersion"]),
    ("regarding.fieldPath", &["involvedObject", "fieldPath"]),
    ("reportingController", &["reportingComponent"]),
    ("type", &["type"]),
];

/// The field labels of a kind, each with the path of its value.
pub(crate) fn field_selectable(kind: &Kind) -> &'static [Selectable] {
    match (kind.group, kind.kind) {
        ("", "Pod") => POD,
        ("", "Event") => EVENT,
        ("events.k8s.io", "Event") => NEW_EVENT,
        ("", "Node") => &[NAME, ("spec.unschedulable", &["spec", "unschedulable"])],
        ("", "Namespace") => &[NAME, ("status.phase", &["status", "phase"])],
        ("", "Secret") => &[NAME, NAMESPACE, ("type", &["type"])],
        ("", "Service") => {
            &[NAME, NAMESPACE, ("spec.clusterIP", &["spec", "clusterIP"]), ("spec.type", &["spec", "type"])]
        }
        ("", "ReplicationController") => &[NAME, NAMESPACE, ("status.replicas", &["status", "replicas"])],
        ("batch", "Job") => &[NAME, NAMESPACE, ("status.successful", &["status", "succeeded"])],
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            &[NAME, ("spec.signerName", &["spec", "signerName"])]
        }
        ("resource.k8s.io", "ResourceSlice") => {
            &[NAME, ("spec.nodeName", &["spec", "nodeName"]), ("spec.driver", &["spec", "driver"])]
        }
        _ => METADATA,
    }
}

/// The value of a field label as text, as a selector compares it.
///
/// # Errors
/// The sentence of the real server for a label that the kind does not have.
pub(crate) fn field_value(kind: &Kind, label: &str, object: &Value) -> Result<String, String> {
    let Some((_, path)) = field_selectable(kind).iter().find(|(known, _)| *known == label) else {
        return Err(unsupported(kind, label));
    };
    let found = if path.is_empty() { None } else { at(object, path) };
    Ok(match found {
        Some(Value::String(text)) if !(text.is_empty() && label == "source") => text.clone(),
        None | Some(Value::String(_)) => match label {
            "spec.hostNetwork" | "spec.unschedulable" => "false".into(),
            "status.replicas" | "status.successful" => "0".into(),
            "source" => object["reportingComponent"].as_str().unwrap_or_default().into(),
            _ => String::new(),
        },
        Some(value) => value.to_string(),
    })
}

/// The sentence about a field label that a kind does not have.
pub(crate) fn unsupported(kind: &Kind, label: &str) -> String {
    match (kind.group, kind.kind) {
        ("batch", "Job") => format!("field label {label:?} not supported for Job"),
        ("resource.k8s.io", "ResourceSlice") => {
            format!("field label not supported for {}, Kind=ResourceSlice: {label}", kind.api_version)
        }
        _ if std::ptr::eq(field_selectable(kind), METADATA) => {
            format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
        _ => format!("field label not supported: {label}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::kind;
    use super::*;

    #[test]
    fn missing_values_have_the_text_of_their_zero() {
        let pod = kind("v1", "Pod");
        assert_eq!(field_value(pod, "spec.hostNetwork", &json!({})), Ok("false".into()));
        assert_eq!(field_value(pod, "spec.nodeName", &json!({"spec": {"nodeName": "n"}})), Ok("n".into()));
        assert_eq!(field_value(kind("batch/v1", "Job"), "status.successful", &json!({})), Ok("0".into()));
        let event = json!({"reportingComponent": "c"});
        assert_eq!(field_value(kind("v1", "Event"), "source", &event), Ok("c".into()));
    }

    #[test]
    fn unknown_labels_are_refused_in_the_words_of_the_kind() {
        assert_eq!(
            field_value(kind("v1", "Pod"), "a", &json!({})),
            Err("field label not supported: a".into())
        );
        assert_eq!(
            field_value(kind("v1", "ConfigMap"), "a", &json!({})),
            Err("\"a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"".into())
        );
        let node = unsupported(kind("v1", "Node"), "metadata.namespace");
        assert_eq!(node, "field label not supported: metadata.namespace");
    }
}
