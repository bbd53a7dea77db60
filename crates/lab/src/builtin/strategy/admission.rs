//! What the admission plugins of a plain API server do to objects of built-in kinds.
//!
//! Not here: `LimitRanger`, `ResourceQuota`, `PodSecurity`, runtime classes and `ServiceAccount`: a cluster without a controller of
//! tokens has no accounts that Pods could have.

use lockstep_schema::Kind;
use serde_json::{Value, json};

use super::paths::{at, copy, put};

/// Gives the objects of a kind, by API version and name of the kind; asked only when a plugin needs them.
pub(crate) type ListObjects<'a> = &'a dyn Fn(&str, &str) -> Vec<Value>;

/// Fills in what admission adds to a new object.
///
/// # Errors
/// Why the object is forbidden.
pub(crate) fn admit_create(kind: &Kind, object: &mut Value, list: ListObjects<'_>) -> Result<(), String> {
    match (kind.group, kind.kind) {
        ("", "Pod") => {
            priority(object, list)?;
            tolerations(object);
        }
        ("", "Node") => not_ready_taint(object),
        ("", "PersistentVolumeClaim") => {
            protect(object, "kubernetes.io/pvc-protection");
            default_storage_class(object, list);
        }
        ("", "PersistentVolume") => protect(object, "kubernetes.io/pv-protection"),
        ("networking.k8s.io", "Ingress") => default_ingress_class(object, list),
        ("scheduling.k8s.io", "PriorityClass") => one_default(object, None, list)?,
        _ => {}
    }
    Ok(())
}

/// Fills in what admission adds to an update of an object itself; subresources are left alone.
///
/// # Errors
/// Why the object is forbidden.
pub(crate) fn admit_update(
    kind: &Kind,
    new: &mut Value,
    old: &Value,
    list: ListObjects<'_>,
) -> Result<(), String> {
    match (kind.group, kind.kind) {
        ("", "Pod") => {
            for name in ["priority", "preemptionPolicy"] {
                if at(new, &["spec", name]).is_none() {
                    copy(new, old, &["spec", name]);
                }
            }
            tolerations(new);
        }
        ("scheduling.k8s.io", "PriorityClass") => one_default(new, Some(old), list)?,
        _ => {}
    }
    Ok(())
}

fn priority(pod: &mut Value, list: ListObjects<'_>) -> Result<(), String> {
    let name = at(pod, &["spec", "priorityClassName"]).and_then(Value::as_str).unwrap_or_default().to_owned();
    let class = if name.is_empty() {
        let classes = list("scheduling.k8s.io/v1", "PriorityClass");
        classes.into_iter().filter(|it| it["globalDefault"] == true).min_by_key(|it| it["value"].as_i64())
    } else {
        Some(
            priority_class(&name, list)
                .ok_or_else(|| format!("no PriorityClass with name {name} was found"))?,
        )
    };
    let value = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or(0);
    let policy = class
        .as_ref()
        .and_then(|class| class["preemptionPolicy"].as_str())
        .unwrap_or("PreemptLowerPriority")
        .to_owned();
    if let Some(sent) = at(pod, &["spec", "priority"]).and_then(Value::as_i64)
        && sent != value
    {
        return Err(format!(
            "the integer value of priority ({sent}) must not be provided in pod spec; priority admission controller computed {value} \
             from the given PriorityClass name"
        ));
    }
    if let Some(sent) = at(pod, &["spec", "preemptionPolicy"]).and_then(Value::as_str)
        && sent != policy
    {
        return Err(format!(
            "the string value of PreemptionPolicy ({sent}) must not be provided in pod spec; priority admission controller computed \
             {policy} from the given PriorityClass name"
        ));
    }
    if name.is_empty()
        && let Some(class) = class
    {
        put(pod, &["spec", "priorityClassName"], class["metadata"]["name"].clone());
    }
    put(pod, &["spec", "priority"], value.into());
    put(pod, &["spec", "preemptionPolicy"], policy.into());
    Ok(())
}

/// A class of the cluster, or one of the two that every real server makes by itself.
fn priority_class(name: &str, list: ListObjects<'_>) -> Option<Value> {
    let stored =
        list("scheduling.k8s.io/v1", "PriorityClass").into_iter().find(|it| it["metadata"]["name"] == name);
    stored.or_else(|| {
        let value = match name {
            "system-cluster-critical" => 2_000_000_000,
            "system-node-critical" => 2_000_001_000,
            _ => return None,
        };
        Some(json!({"value": value}))
    })
}

/// Pods stay five minutes on a node that is not there.
fn tolerations(pod: &mut Value) {
    let present = at(pod, &["spec", "tolerations"]).and_then(Value::as_array).cloned().unwrap_or_default();
    let tolerates = |key: &str| {
        present.iter().any(|it| {
            let is = |name: &str, value: &str| it[name].as_str().unwrap_or_default() == value;
            (is("key", key) || is("key", "")) && (is("effect", "NoExecute") || is("effect", ""))
        })
    };
    let mut all = present.clone();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        if !tolerates(key) {
            all.push(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            );
        }
    }
    if all.len() != present.len() {
        put(pod, &["spec", "tolerations"], all.into());
    }
}

fn not_ready_taint(node: &mut Value) {
    const KEY: &str = "node.kubernetes.io/not-ready";
    let mut taints = at(node, &["spec", "taints"]).and_then(Value::as_array).cloned().unwrap_or_default();
    if !taints.iter().any(|taint| taint["key"] == KEY && taint["effect"] == "NoSchedule") {
        taints.push(json!({"key": KEY, "effect": "NoSchedule"}));
        put(node, &["spec", "taints"], taints.into());
    }
}

fn protect(object: &mut Value, finalizer: &str) {
    let mut all =
        at(object, &["metadata", "finalizers"]).and_then(Value::as_array).cloned().unwrap_or_default();
    if !all.iter().any(|it| it == finalizer) {
        all.push(finalizer.into());
        put(object, &["metadata", "finalizers"], all.into());
    }
}

fn default_storage_class(claim: &mut Value, list: ListObjects<'_>) {
    let by_annotation = at(claim, &["metadata", "annotations", "volume.beta.kubernetes.io/storage-class"]);
    if by_annotation.is_none() && at(claim, &["spec", "storageClassName"]).is_none() {
        let keys = [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ];
        if let Some(name) = newest_default(list("storage.k8s.io/v1", "StorageClass"), &keys) {
            put(claim, &["spec", "storageClassName"], name);
        }
    }
}

fn default_ingress_class(ingress: &mut Value, list: ListObjects<'_>) {
    let by_annotation = at(ingress, &["metadata", "annotations", "kubernetes.io/ingress.class"]);
    if by_annotation.is_none() && at(ingress, &["spec", "ingressClassName"]).is_none() {
        let keys = ["ingressclass.kubernetes.io/is-default-class"];
        if let Some(name) = newest_default(list("networking.k8s.io/v1", "IngressClass"), &keys) {
            put(ingress, &["spec", "ingressClassName"], name);
        }
    }
}

/// The name of the newest object with one of these annotations; by name among equally new ones.
fn newest_default(objects: Vec<Value>, keys: &[&str]) -> Option<Value> {
    let is_default = |it: &Value| keys.iter().any(|key| it["metadata"]["annotations"][key] == "true");
    let time = |it: &Value| it["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
    let name = |it: &Value| it["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut defaults: Vec<Value> = objects.into_iter().filter(is_default).collect();
    defaults.sort_by(|one, other| time(other).cmp(&time(one)).then_with(|| name(one).cmp(&name(other))));
    defaults.first().map(|it| it["metadata"]["name"].clone())
}

/// There is one default class of priorities.
fn one_default(class: &Value, old: Option<&Value>, list: ListObjects<'_>) -> Result<(), String> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    let present =
        list("scheduling.k8s.io/v1", "PriorityClass").into_iter().find(|it| it["globalDefault"] == true);
    match present {
        Some(it) if old.is_none() || it["metadata"]["name"] != class["metadata"]["name"] => Err(format!(
            "PriorityClass {} is already marked as default. Only one default can exist",
            it["metadata"]["name"].as_str().unwrap_or_default()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::kind;
    use super::*;

    fn none(_: &str, _: &str) -> Vec<Value> {
        Vec::new()
    }

    #[test]
    fn a_plain_pod_gets_priority_and_tolerations() {
        let mut pod = json!({"metadata": {"name": "x"}, "spec": {}});
        admit_create(kind("v1", "Pod"), &mut pod, &none).unwrap();
        assert_eq!(pod["spec"]["priority"], 0);
        assert_eq!(pod["spec"]["preemptionPolicy"], "PreemptLowerPriority");
        assert_eq!(pod["spec"]["tolerations"].as_array().unwrap().len(), 2);
        let again = pod.clone();
        admit_create(kind("v1", "Pod"), &mut pod, &none).unwrap();
        assert_eq!(pod, again);
    }

    #[test]
    fn an_unknown_priority_class_is_forbidden_and_the_systems_own_are_known() {
        let mut pod = json!({"spec": {"priorityClassName": "nope"}});
        let why = admit_create(kind("v1", "Pod"), &mut pod, &none).unwrap_err();
        assert_eq!(why, "no PriorityClass with name nope was found");
        let mut pod = json!({"spec": {"priorityClassName": "system-node-critical"}});
        admit_create(kind("v1", "Pod"), &mut pod, &none).unwrap();
        assert_eq!(pod["spec"]["priority"], 2_000_001_000);
    }

    #[test]
    fn a_claim_gets_the_newest_default_class() {
        let class = |name: &str, time: &str| {
            json!({"metadata": {"name": name, "creationTimestamp": time,
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})
        };
        let list =
            |_: &str, _: &str| vec![class("a", "2020-01-01T00:00:00Z"), class("b", "2021-01-01T00:00:00Z")];
        let mut claim = json!({"spec": {}});
        admit_create(kind("v1", "PersistentVolumeClaim"), &mut claim, &list).unwrap();
        assert_eq!(claim["spec"]["storageClassName"], "b");
        assert_eq!(claim["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    }
}
