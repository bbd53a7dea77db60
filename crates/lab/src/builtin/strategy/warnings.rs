//! What is allowed, but not wise: sentences for `Warning` headers.
//!
//! Not here: seccomp and `AppArmor` annotations, labels of nodes that have newer names, fractions of bytes, and what is said about
//! single fields of Services, volumes and claims.

use std::collections::BTreeSet;

use lockstep_schema::Kind;
use serde_json::Value;

use crate::meta::Cursor;

/// What every answer about a kind that is on its way out says.
pub(crate) fn deprecation(kind: &Kind) -> Option<&'static str> {
    match (kind.group, kind.kind) {
        ("", "Endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        ("", "ComponentStatus") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

/// What is said about a new object, or a changed one whose generation counts the change.
pub(crate) fn warnings(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<String> {
    let path: &[&str] = match (kind.group, kind.kind) {
        ("", "Pod") => &[],
        ("", "PodTemplate") => &["template"],
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet")
        | ("batch", "Job") => &["spec", "template"],
        ("batch", "CronJob") => &["spec", "jobTemplate", "spec", "template"],
        _ => return Vec::new(),
    };
    // Pods cannot change what is looked at here; of the others only a change of the wanted state counts.
    let generation = |object: &Value| object["metadata"]["generation"].as_i64();
    if old.is_some_and(|old| kind.kind == "Pod" || generation(old) == generation(new)) {
        return Vec::new();
    }
    let template = path.iter().try_fold(new, |value, step| value.get(step));
    let mut warnings = Vec::new();
    if let Some(template) = template {
        pod(&Cursor::at(&path.join("."), template), &mut warnings);
    }
    warnings
}

/// Labels of nodes that are on their way out.
const NODE_LABELS: [(&str, &str); 8] = [
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
];

fn pod(pod: &Cursor<'_, '_>, warnings: &mut Vec<String>) {
    let spec = pod.field("spec");
    for (label, _) in spec.field("nodeSelector").entries() {
        if let Some((_, why)) = NODE_LABELS.iter().find(|(known, _)| *known == label) {
            warnings.push(format!("{}: {why}", spec.field("nodeSelector").key(label).path()));
        }
    }
    for constraint in spec.field("topologySpreadConstraints").items() {
        let selector = constraint.field("labelSelector");
        if !selector.is_set() {
            warnings.push(format!("{}: a null labelSelector results in matching no pod", selector.path()));
        }
    }
    for volume in spec.field("volumes").items() {
        for (name, why) in VOLUMES {
            if volume.field(name).is_set() {
                // NB: one message does not name the field as the API does.
                let name = if name == "storageos" { "storageOS" } else { name };
                warnings.push(format!("{}: {why}", volume.field(name).path()));
            }
        }
    }
    repeated(&spec.field("hostAliases"), "ip", warnings);
    repeated(&spec.field("imagePullSecrets"), "name", warnings);
    for secret in spec.field("imagePullSecrets").items() {
        if secret.field("name").is_empty() {
            warnings.push(format!("{}: invalid empty name \"\"", secret.field("name").path()));
        }
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.field(list).items() {
            variables(&container.field("env"), warnings);
        }
    }
}

/// Sources of volumes that are not there any more, and since when.
const VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

fn repeated(list: &Cursor<'_, '_>, key: &str, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for item in list.items() {
        let field = item.field(key);
        if !seen.insert(field.text()) {
            warnings.push(format!("{}: duplicate {key} {:?}", field.path(), field.text()));
        }
    }
}

/// A variable may be there twice when the second builds on the first.
fn variables(list: &Cursor<'_, '_>, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for variable in list.items() {
        let (name, value) = (variable.field("name").text(), variable.field("value").text());
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let hides = variable.field("valueFrom").is_set() || value == reference || !value.contains(&reference);
        if hides {
            let path = variable.path();
            warnings.push(format!(
                "{path}: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::kind;
    use super::*;

    fn a_deployment(env: &Value) -> Value {
        json!({"metadata": {"generation": 1}, "spec": {"template": {"spec": {"containers": [{"name": "c", "env": env}]}}}})
    }

    #[test]
    fn a_variable_that_hides_another_is_warned_of() {
        let deployment = kind("apps/v1", "Deployment");
        let hidden = a_deployment(&json!([{"name": "E", "value": "1"}, {"name": "E", "value": "2"}]));
        assert_eq!(
            warnings(deployment, &hidden, None),
            [
                "spec.template.spec.containers[0].env[1]: hides previous definition of \"E\", which may be dropped when using apply"
            ]
        );
        let built_on = a_deployment(&json!([{"name": "E", "value": "1"}, {"name": "E", "value": "$(E)2"}]));
        assert!(warnings(deployment, &built_on, None).is_empty());
    }

    #[test]
    fn an_update_warns_only_when_it_changes_the_wanted_state() {
        let deployment = kind("apps/v1", "Deployment");
        let old = a_deployment(&json!([{"name": "E"}, {"name": "E"}]));
        let mut new = old.clone();
        assert!(warnings(deployment, &new, Some(&old)).is_empty());
        new["metadata"]["generation"] = 2.into();
        assert_eq!(warnings(deployment, &new, Some(&old)).len(), 1);
    }
}
