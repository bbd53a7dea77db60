//! The `scale` of workloads as an object of its own.

use lockstep_schema::Kind;
use serde_json::{Map, Value, json};

use crate::meta::Cursor;
use crate::status::FieldError;

use super::paths::{at, put, remove};

/// The `Scale` of a workload, or nothing for a kind that has none.
pub(crate) fn to_scale(kind: &Kind, object: &Value) -> Option<Value> {
    kind.subresource("scale")?;
    let mut metadata = Map::new();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = at(object, &["metadata", name]) {
            metadata.insert(name.into(), value.clone());
        }
    }
    let replicas = at(object, &["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0);
    let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
    let mut status =
        json!({"replicas": at(object, &["status", "replicas"]).and_then(Value::as_i64).unwrap_or(0)});
    let selector = at(object, &["spec", "selector"]).unwrap_or(&Value::Null);
    let selector =
        if kind.kind == "ReplicationController" { labels_text(selector) } else { selector_text(selector) };
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    Some(
        json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}),
    )
}

/// Takes over what a `Scale` says: the number of replicas and, when it names one, the resource version.
///
/// # Errors
/// The problems of the `Scale`, to be reported as those of a `Scale.autoscaling`.
pub(crate) fn apply_scale(object: &mut Value, scale: &Value) -> Result<(), Vec<FieldError>> {
    let root = Cursor::root(scale);
    let spec = root.field("spec");
    let replicas = spec.field("replicas");
    let count = replicas.number().unwrap_or(0);
    if count < 0 {
        return Err(vec![replicas.invalid("must be greater than or equal to 0")]);
    }
    put(object, &["spec", "replicas"], count.into());
    match at(scale, &["metadata", "resourceVersion"]) {
        Some(version) if version != "" => put(object, &["metadata", "resourceVersion"], version.clone()),
        _ => remove(object, &["metadata", "resourceVersion"]),
    }
    Ok(())
}

/// A selector of labels as text: `app=web,tier in (a,b),!old`, sorted by key.
pub(crate) fn selector_text(selector: &Value) -> String {
    let root = Cursor::root(selector);
    let mut parts: Vec<(&str, String)> = root
        .field("matchLabels")
        .entries()
        .map(|(key, value)| (key, format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in root.field("matchExpressions").items() {
        let key = expression.field("key").text();
        let mut values: Vec<&str> =
            expression.field("values").list().iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push((
            key,
            match expression.field("operator").text() {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "Exists" => key.to_owned(),
                _ => format!("!{key}"),
            },
        ));
    }
    parts.sort_by_key(|(key, _)| *key);
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

fn labels_text(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::super::tests::kind;
    use super::*;

    #[test]
    fn a_scale_shows_replicas_and_the_selector_as_text() {
        let object = json!({
            "metadata": {"name": "web", "namespace": "a", "uid": "u", "labels": {"x": "y"}},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"b": "2", "a": "1"},
                "matchExpressions": [{"key": "aa", "operator": "In", "values": ["y", "x"]}]}},
            "status": {"replicas": 2},
        });
        let scale = to_scale(kind("apps/v1", "Deployment"), &object).unwrap();
        assert_eq!(scale["metadata"], json!({"name": "web", "namespace": "a", "uid": "u"}));
        assert_eq!(scale["spec"], json!({"replicas": 3}));
        assert_eq!(scale["status"], json!({"replicas": 2, "selector": "a=1,aa in (x,y),b=2"}));
        assert_eq!(to_scale(kind("v1", "ConfigMap"), &object), None);
    }

    #[test]
    fn a_negative_scale_is_refused() {
        let mut object = json!({"spec": {"replicas": 3}});
        let errors = apply_scale(&mut object, &json!({"spec": {"replicas": -1}})).unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
        apply_scale(&mut object, &json!({"spec": {}})).unwrap();
        assert_eq!(object["spec"]["replicas"], 0);
    }
}
