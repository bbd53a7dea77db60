//! The greeter, as it shall be.

use serde_json::{Value, json};

use crate::settings::{Config, Settings};

pub(crate) const OPERATOR_NAMESPACE: &str = "openshift-example-operator";
pub(crate) const NAMESPACE: &str = "openshift-example";
pub(crate) const NAME: &str = "greeter";

/// The `ConfigMap` of the greeter.
pub(crate) fn config_map(config: &Config) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": {"greeting": config.greeting}})
}

/// The Deployment of the greeter. It names the greeting, so that another one rolls out.
pub(crate) fn deployment(config: &Config, settings: &Settings) -> Value {
    let labels = json!({"app": NAME});
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
    "spec": {
        "replicas": config.replicas,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "template": {
            "metadata": {"labels": labels, "annotations": {"example.lockstep.dev/greeting": config.greeting}},
            "spec": {
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": NAME,
                    "image": settings.operand_image,
                    "envFrom": [{"configMapRef": {"name": NAME}}],
                    "resources": {"requests": {"cpu": "5m", "memory": "10Mi"}},
                    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]}},
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                }],
            },
        },
    }})
}

/// Whether everything that is wanted stands in the live object, whatever else does.
pub(crate) fn is_within(wanted: &Value, live: &Value) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            wanted.iter().all(|(key, wanted)| live.get(key).is_some_and(|live| is_within(wanted, live)))
        }
        (Value::Array(wanted), Value::Array(live)) => {
            wanted.len() == live.len()
                && wanted.iter().zip(live).all(|(wanted, live)| is_within(wanted, live))
        }
        (wanted, live) => wanted == live,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_the_server_are_no_difference_and_another_value_is() {
        let wanted = json!({"spec": {"list": [{"a": 1}]}});
        assert!(is_within(&wanted, &json!({"spec": {"list": [{"a": 1, "b": 2}], "c": 3}, "status": {}})));
        assert!(!is_within(&wanted, &json!({"spec": {"list": [{"a": 2}]}})));
        assert!(!is_within(&wanted, &json!({"spec": {"list": [{"a": 1}, {"a": 2}]}})));
        assert!(!is_within(&wanted, &json!({"spec": {}})));
    }
}
