//! Traces of the internal types: the server holds objects in another form, and a few fields change on the way there and back.

use lockstep_schema::{FieldType, Kind, Schema, Type};
use serde_json::{Value, json};

use super::{Object, inside, items, part, text, unset};

/// Annotations of releases long gone; they are dropped from Pods and templates.
const OLD_INIT_CONTAINERS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// What older versions of autoscalers keep what they have no field for.
const AUTOSCALING_PREFIX: &str = "autoscaling.alpha.kubernetes.io/";

/// The generation of the template of a `DaemonSet`; the field it stands for exists only inside the server.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Changes what the conversion to the internal type and back changes.
pub(super) fn convert(kind: &Kind, object: &mut Object) {
    match (kind.group, kind.kind) {
        ("", "Pod") => {
            pod_meta(object);
            let spec = inside(object, "spec");
            pod_spec(spec);
            if spec
                .get("terminationGracePeriodSeconds")
                .and_then(Value::as_i64)
                .is_some_and(|seconds| seconds < 0)
            {
                spec.insert("terminationGracePeriodSeconds".into(), 1.into());
            }
            first_of_many(
                inside(object, "status"),
                "podIP",
                "podIPs",
                |ip| json!({"ip": ip}),
                |entry| &entry["ip"],
            );
        }
        ("", "Node") => {
            first_of_many(inside(object, "spec"), "podCIDR", "podCIDRs", Clone::clone, |entry| entry);
        }
        ("apps", "Deployment") => {
            rolling_update(object, "strategy");
            templates(kind, object);
        }
        ("apps", "DaemonSet") => {
            rolling_update(object, "updateStrategy");
            // NB: the strategy sets it to the true number; here it is what an object without one would show.
            unset(inside(inside(object, "metadata"), "annotations"), TEMPLATE_GENERATION, "0");
            templates(kind, object);
        }
        ("apps", "StatefulSet") => {
            for claim in items(inside(object, "spec"), "volumeClaimTemplates") {
                claim.insert("apiVersion".into(), "v1".into());
                claim.insert("kind".into(), "PersistentVolumeClaim".into());
            }
            if let Some(rolling) = part(inside(object, "spec"), "updateStrategy")
                .and_then(|strategy| part(strategy, "rollingUpdate"))
            {
                unset(rolling, "partition", 0);
            }
            templates(kind, object);
        }
        ("autoscaling", "HorizontalPodAutoscaler") => {
            if kind.version == "v1" {
                let metrics = format!("{AUTOSCALING_PREFIX}metrics");
                if part(inside(object, "metadata"), "annotations")
                    .is_none_or(|all| !all.contains_key(&metrics))
                {
                    unset(inside(object, "spec"), "targetCPUUtilizationPercentage", 80);
                }
            } else {
                drop_annotations(inside(object, "metadata"), |name| name.starts_with(AUTOSCALING_PREFIX));
            }
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => conversion_webhook(object),
        _ => templates(kind, object),
    }
}

/// Inside the server these numbers are always there.
fn rolling_update(object: &mut Object, strategy: &str) {
    if let Some(rolling) =
        part(inside(object, "spec"), strategy).and_then(|strategy| part(strategy, "rollingUpdate"))
    {
        unset(rolling, "maxUnavailable", 0);
        unset(rolling, "maxSurge", 0);
    }
}

/// A conversion webhook is held in two parts; without both it is not there.
fn conversion_webhook(object: &mut Object) {
    if let Some(conversion) = part(inside(object, "spec"), "conversion")
        && let Some(webhook) = part(conversion, "webhook")
        && !webhook.contains_key("clientConfig")
        && webhook.get("conversionReviewVersions").is_none_or(Value::is_null)
    {
        conversion.remove("webhook");
    }
}

/// Finds the templates of Pods by their type.
fn templates(kind: &Kind, object: &mut Object) {
    if let ("apps" | "batch", _) | ("", "PodTemplate" | "ReplicationController") = (kind.group, kind.kind)
        && let Some(root) = Schema::builtin().root(kind)
    {
        find_templates(root, object);
    }
}

fn find_templates(ty: &Type, object: &mut Object) {
    if ty.name == "core.v1.PodTemplateSpec" {
        pod_meta(object);
        pod_spec(inside(object, "spec"));
        return;
    }
    // A template is always in one of these, never in a list.
    for name in ["spec", "jobTemplate", "template"] {
        if let (Some(FieldType::Struct(inner)), Some(value)) =
            (ty.field(name).map(|field| &field.ty), part(object, name))
            && let Some(inner) = Schema::builtin().ty(inner)
        {
            find_templates(inner, value);
        }
    }
}

fn pod_meta(object: &mut Object) {
    if let Some(metadata) = part(object, "metadata") {
        drop_annotations(metadata, |name| OLD_INIT_CONTAINERS.contains(&name));
    }
}

fn drop_annotations(metadata: &mut Object, is_old: impl Fn(&str) -> bool) {
    if let Some(annotations) = part(metadata, "annotations") {
        annotations.retain(|name, _| !is_old(name));
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// The service account has two names; the newer one counts.
fn pod_spec(spec: &mut Object) {
    let name = [text(spec, "serviceAccountName"), text(spec, "serviceAccount")]
        .into_iter()
        .find(|name| !name.is_empty())
        .map(str::to_owned);
    if let Some(name) = name {
        spec.insert("serviceAccountName".into(), name.clone().into());
        spec.insert("serviceAccount".into(), name.into());
    }
}

/// A field that became a list: the old field is the first entry, and counts when the two differ.
fn first_of_many(
    object: &mut Object,
    one: &str,
    many: &str,
    entry: impl Fn(&Value) -> Value,
    value: impl Fn(&Value) -> &Value,
) {
    let first = object.get(many).and_then(|many| many.get(0)).map(|entry| value(entry).clone());
    match (object.get(one).cloned(), first) {
        (Some(one), first) if first.as_ref() != Some(&one) => {
            object.insert(many.into(), json!([entry(&one)]));
        }
        (None, Some(first)) if first != "" => {
            object.insert(one.into(), first);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::filled;
    use super::*;

    #[test]
    fn a_service_account_is_written_under_both_names() {
        let spec = |spec: Value| {
            let object = json!({"apiVersion": "batch/v1", "kind": "CronJob",
                "spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}});
            let spec = &filled(object)["spec"]["jobTemplate"]["spec"]["template"]["spec"];
            (spec["serviceAccount"].clone(), spec["serviceAccountName"].clone())
        };
        assert_eq!(spec(json!({"serviceAccountName": "a"})), (json!("a"), json!("a")));
        assert_eq!(spec(json!({"serviceAccount": "b"})), (json!("b"), json!("b")));
        assert_eq!(spec(json!({"serviceAccount": "b", "serviceAccountName": "a"})), (json!("a"), json!("a")));
        assert_eq!(spec(json!({})), (Value::Null, Value::Null));
    }

    #[test]
    fn a_rolling_update_has_its_numbers_whatever_the_strategy_is() {
        let set = filled(json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
            "spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}}}));
        assert_eq!(
            set["spec"]["updateStrategy"]["rollingUpdate"],
            json!({"maxSurge": 0, "maxUnavailable": 0})
        );
    }

    #[test]
    fn one_address_and_the_list_of_addresses_agree() {
        let node =
            |spec: Value| filled(json!({"apiVersion": "v1", "kind": "Node", "spec": spec}))["spec"].clone();
        let both = json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]});
        assert_eq!(node(json!({"podCIDR": "10.0.0.0/24"})), both);
        assert_eq!(node(json!({"podCIDRs": ["10.0.0.0/24"]})), both);
        assert_eq!(node(json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.1.0/24"]})), both);
        assert_eq!(node(json!({})), json!({}));
    }

    #[test]
    fn claims_of_a_stateful_set_say_what_they_are() {
        let set = filled(json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "spec": {"volumeClaimTemplates": [{"metadata": {"name": "a"}}]}}));
        assert_eq!(
            set["spec"]["volumeClaimTemplates"][0],
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"},
                "spec": {"resources": {}, "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}})
        );
    }

    #[test]
    fn an_old_autoscaler_looks_at_the_processor_unless_it_has_other_metrics() {
        let scaler = |annotations: Value| {
            filled(json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
                "metadata": {"annotations": annotations}}))["spec"]["targetCPUUtilizationPercentage"]
                .clone()
        };
        assert_eq!(scaler(json!({})), 80);
        assert_eq!(scaler(json!({"autoscaling.alpha.kubernetes.io/metrics": "[]"})), Value::Null);
    }
}
