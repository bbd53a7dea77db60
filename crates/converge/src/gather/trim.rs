//! What of an object is kept.

use jiff::Timestamp;
use lockstep_health::why::resource::{self, Resource};
use serde_json::{Map, Value};

/// Annotations that rules read; the others may hold anything.
const ANNOTATIONS: [&str; 9] = [
    "machineconfiguration.openshift.io/",
    "include.release.openshift.io/",
    "exclude.release.openshift.io/",
    "release.openshift.io/",
    "capability.openshift.io/",
    "alpha.installer.openshift.io/",
    "openshift.io/sa.scc.",
    "storageclass.kubernetes.io/",
    "lockstep.dev/",
];
/// Variables whose values are no secret and that rules read.
const OPEN_VARIABLES: [&str; 1] = ["CLUSTER_PROFILE"];
/// `ConfigMap`s whose values are no secret and mean something.
const OPEN_CONFIG_MAPS: [(&str, &str); 1] = [("kube-system", "bootstrap")];

/// An object as it is kept; nothing for one that is too old to matter.
pub(super) fn trimmed(of: &Resource, mut object: Value, now: Timestamp, event_age: i64) -> Option<Value> {
    metadata(&mut object["metadata"]);
    match *of {
        resource::EVENTS => {
            let fields = ["lastTimestamp", "eventTime", "firstTimestamp"];
            let time = fields.iter().find_map(|field| object[*field].as_str());
            let time = time.or_else(|| object["metadata"]["creationTimestamp"].as_str());
            let age = time
                .and_then(|time| time.parse::<Timestamp>().ok())
                .map(|it| now.as_second() - it.as_second());
            return age.is_none_or(|age| age <= event_age).then_some(object);
        }
        resource::SECRETS => {
            let (kind, metadata) = (object["type"].take(), object["metadata"].take());
            object =
                serde_json::json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind});
        }
        resource::CONFIG_MAPS => config_map(&mut object),
        resource::DEFINITIONS => {
            for version in object["spec"]["versions"].as_array_mut().into_iter().flatten() {
                if let Some(version) = version.as_object_mut() {
                    version.remove("schema");
                }
            }
        }
        resource::PODS => pod_spec(&mut object["spec"]),
        resource::DEPLOYMENTS | resource::DAEMON_SETS | resource::JOBS => {
            metadata(&mut object["spec"]["template"]["metadata"]);
            pod_spec(&mut object["spec"]["template"]["spec"]);
        }
        resource::VALIDATING | resource::MUTATING => {
            for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
                if let Some(config) = webhook["clientConfig"].as_object_mut() {
                    config.remove("caBundle");
                }
            }
        }
        resource::REQUESTS => {
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove("request");
            }
        }
        _ => {}
    }
    Some(object)
}

/// Who wrote when stays, what they wrote does not; of annotations those stay that somebody reads.
fn metadata(metadata: &mut Value) {
    let Some(metadata) = metadata.as_object_mut() else { return };
    for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("fieldsV1");
        }
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| ANNOTATIONS.iter().any(|known| name.starts_with(known)));
    }
}

/// The values of variables are nobody's business; arguments can have passwords, too.
fn pod_spec(spec: &mut Value) {
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                container.remove("args");
                container.remove("command");
            }
            for variable in container["env"].as_array_mut().into_iter().flatten() {
                let is_open = OPEN_VARIABLES.iter().any(|name| variable["name"] == *name);
                if !is_open && let Some(variable) = variable.as_object_mut() {
                    variable.remove("value");
                }
            }
        }
    }
}

/// Which keys there are is enough.
fn config_map(object: &mut Value) {
    let place = (
        object["metadata"]["namespace"].as_str().unwrap_or_default(),
        object["metadata"]["name"].as_str().unwrap_or_default(),
    );
    if OPEN_CONFIG_MAPS.contains(&place) {
        return;
    }
    for part in ["data", "binaryData"] {
        if let Some(data) = object[part].as_object_mut() {
            let keys: Map<String, Value> = data.keys().map(|key| (key.clone(), Value::from(""))).collect();
            *data = keys;
        }
    }
    let empty = object.as_object().is_some_and(|it| it.get("binaryData").is_some_and(Value::is_null));
    if empty && let Some(object) = object.as_object_mut() {
        object.remove("binaryData");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CANARY: &str = "canary-7f3a";

    fn kept(of: &Resource, object: Value) -> String {
        trimmed(of, object, Timestamp::UNIX_EPOCH, 3600).unwrap().to_string()
    }

    #[test]
    fn nothing_that_may_be_a_secret_is_kept() {
        let pod = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": CANARY,
            "example.com/x": CANARY}}, "spec": {"containers": [{"name": "c", "args": ["--password", CANARY],
            "env": [{"name": "PASSWORD", "value": CANARY}]}]}});
        let text = kept(&resource::PODS, pod.clone());
        assert!(!text.contains(CANARY) && text.contains("PASSWORD"), "{text}");
        let deployment = json!({"metadata": {}, "spec": {"template": pod}});
        assert!(!kept(&resource::DEPLOYMENTS, deployment).contains(CANARY));
        let secret =
            json!({"metadata": {"name": "s"}, "type": "Opaque", "data": {"x": CANARY}, "stringData": CANARY});
        assert!(!kept(&resource::SECRETS, secret).contains(CANARY));
        let map =
            json!({"metadata": {"namespace": "kube-system", "name": "m"}, "data": {"kubeconfig": CANARY}});
        let text = kept(&resource::CONFIG_MAPS, map);
        assert!(!text.contains(CANARY) && text.contains("kubeconfig"), "{text}");
    }

    #[test]
    fn what_rules_read_stays() {
        let map = json!({"metadata": {"namespace": "kube-system", "name": "bootstrap"}, "data": {"status": "complete"}});
        assert!(kept(&resource::CONFIG_MAPS, map).contains("complete"));
        let node = json!({"metadata": {"annotations": {"machineconfiguration.openshift.io/state": "Done"}}});
        assert!(kept(&resource::NODES, node).contains("Done"));
        let old = json!({"metadata": {}, "lastTimestamp": "1969-12-31T22:00:00Z"});
        assert_eq!(trimmed(&resource::EVENTS, old, Timestamp::UNIX_EPOCH, 3600), None);
    }
}
