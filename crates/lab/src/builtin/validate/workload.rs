//! Deployments and their relatives.

use serde_json::{Value, json};

use crate::meta::{self, Cursor, names};

use super::pod;
use super::scalars::{
    Errors, amount, at_most_100_percent, immutable, not_negative, number_or_percent, optional_name,
};
use super::storage;

/// A Deployment.
pub(super) fn deployment(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    not_negative(&spec.field("replicas"), errors);
    selector_and_template(&spec, "ReplicaSet", errors);
    deployment_strategy(&spec.field("strategy"), errors);
    not_negative(&spec.field("minReadySeconds"), errors);
    not_negative(&spec.field("revisionHistoryLimit"), errors);
    let deadline = spec.field("progressDeadlineSeconds");
    not_negative(&deadline, errors);
    if deadline.number().is_some_and(|it| it <= spec.field("minReadySeconds").number().unwrap_or(0)) {
        errors.push(deadline.invalid("must be greater than minReadySeconds"));
    }
    same_selector(&spec, old, errors);
}

/// A `ReplicaSet`.
pub(super) fn replica_set(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    not_negative(&spec.field("replicas"), errors);
    not_negative(&spec.field("minReadySeconds"), errors);
    selector_and_template(&spec, "ReplicaSet", errors);
    same_selector(&spec, old, errors);
}

/// A `ReplicationController`.
pub(super) fn replication_controller(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    not_negative(&spec.field("minReadySeconds"), errors);
    let selector = spec.field("selector");
    if selector.is_empty() {
        errors.push(selector.required(""));
    }
    not_negative(&spec.field("replicas"), errors);
    let template = spec.field("template");
    if template.is_set() {
        let labels = json!({"matchLabels": selector.value()});
        pod::selected_template(&template, &labels, "ReplicationController", errors);
    } else {
        errors.push(template.required(""));
    }
}

/// A `DaemonSet`.
pub(super) fn daemon_set(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    same_selector(&spec, old, errors);
    let (selector, template) = (spec.field("selector"), spec.field("template"));
    meta::label_selector(&selector, errors);
    let metadata = template.field("metadata");
    let labels = metadata.field("labels");
    if is_selector(&selector) && (!selector.is_set() || !meta::selects(selector.value(), labels.value())) {
        errors.push(labels.invalid_as(labels.value().clone(), "`selector` does not match template `labels`"));
    }
    if selector.is_set() && is_empty_selector(&selector) {
        errors.push(selector.invalid("empty selector is invalid for daemonset"));
    }
    pod::template(&template, errors);
    pod::runs_for_ever(&template.field("spec"), "DaemonSet", errors);
    not_negative(&spec.field("minReadySeconds"), errors);
    let strategy = spec.field("updateStrategy");
    match strategy.field("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = strategy.field("rollingUpdate");
            if rolling.is_set() {
                daemon_set_rolling(&rolling, errors);
            } else {
                errors.push(rolling.required(""));
            }
        }
        _ => errors.push(strategy.not_supported(&["RollingUpdate", "OnDelete"])),
    }
    not_negative(&spec.field("revisionHistoryLimit"), errors);
}

fn daemon_set_rolling(rolling: &Cursor<'_, '_>, errors: &mut Errors) {
    let (unavailable, surge) = (rolling.field("maxUnavailable"), rolling.field("maxSurge"));
    number_or_percent(&unavailable, errors);
    number_or_percent(&surge, errors);
    at_most_100_percent(&unavailable, errors);
    at_most_100_percent(&surge, errors);
    match (amount(&unavailable) != 0, amount(&surge) != 0) {
        (true, true) => errors.push(surge.invalid("may not be set when maxUnavailable is non-zero")),
        (false, false) => errors.push(unavailable.required("cannot be 0 when maxSurge is 0")),
        _ => {}
    }
}

/// A `StatefulSet`.
pub(super) fn stateful_set(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    let policy = spec.field("podManagementPolicy");
    match policy.text() {
        "OrderedReady" | "Parallel" => {}
        "" => errors.push(policy.required("")),
        _ => errors.push(policy.invalid("must be 'OrderedReady' or 'Parallel'")),
    }
    stateful_set_strategy(&spec.field("updateStrategy"), errors);
    let retention = spec.field("persistentVolumeClaimRetentionPolicy");
    for name in ["whenDeleted", "whenScaled"] {
        let value = retention.field(name);
        if retention.is_set() && !["Retain", "Delete"].contains(&value.text()) {
            errors.push(value.not_supported(&["Retain", "Delete"]));
        }
    }
    if old.is_none() {
        for claim in spec.field("volumeClaimTemplates").items() {
            storage::claim_spec(&claim.field("spec"), errors);
        }
    }
    not_negative(&spec.field("replicas"), errors);
    not_negative(&spec.field("minReadySeconds"), errors);
    not_negative(&spec.field("ordinals").field("start"), errors);
    if old.is_none() {
        optional_name(&spec.field("serviceName"), names::dns_label, errors);
    }
    let selector = spec.field("selector");
    if selector.is_set() {
        meta::label_selector(&selector, errors);
        if is_empty_selector(&selector) {
            errors.push(selector.invalid("empty selector is invalid for statefulset"));
        }
    } else {
        errors.push(selector.required(""));
    }
    let template = spec.field("template");
    if is_selector(&selector) {
        stateful_set_template(&spec, selector.value(), errors);
    } else {
        errors.push(selector.invalid(""));
    }
    pod::runs_for_ever(&template.field("spec"), "StatefulSet", errors);
    if let Some(old) = old {
        stateful_set_change(&spec, &old.field("spec"), errors);
    }
}

fn stateful_set_strategy(strategy: &Cursor<'_, '_>, errors: &mut Errors) {
    let rolling = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "" => errors.push(strategy.required("")),
        "OnDelete" => {
            if rolling.is_set() {
                errors.push(rolling.invalid("only allowed for updateStrategy 'RollingUpdate'"));
            }
        }
        "RollingUpdate" => {
            not_negative(&rolling.field("partition"), errors);
            let unavailable = rolling.field("maxUnavailable");
            if unavailable.is_set() {
                number_or_percent(&unavailable, errors);
                if amount(&unavailable) == 0 {
                    errors.push(unavailable.invalid("cannot be 0"));
                }
                at_most_100_percent(&unavailable, errors);
            }
        }
        _ => errors.push(strategy.invalid("must be 'RollingUpdate' or 'OnDelete'")),
    }
}

/// The template of a stateful set has its claims as volumes, and names of pods that the controller sets.
fn stateful_set_template(spec: &Cursor<'_, '_>, selector: &Value, errors: &mut Errors) {
    let mut template = spec.field("template").value().clone();
    if let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) {
        pod.remove("subdomain");
        pod.remove("hostname");
        let claims = spec.field("volumeClaimTemplates");
        let name = |claim: &Value| claim["metadata"]["name"].clone();
        let mut volumes: Vec<Value> = Vec::new();
        for claim in claims.list() {
            volumes.push(json!({"name": name(claim), "persistentVolumeClaim": {"claimName": name(claim)}}));
        }
        if !volumes.is_empty() {
            let own = pod.get("volumes").and_then(Value::as_array).cloned().unwrap_or_default();
            volumes.extend(
                own.into_iter()
                    .filter(|volume| !claims.list().iter().any(|claim| name(claim) == volume["name"])),
            );
            pod.insert("volumes".into(), volumes.into());
        }
    }
    let root = json!({});
    let at = Cursor::at("spec", &root);
    let at = at.field_with("template", &template);
    let metadata = at.field("metadata");
    let labels = metadata.field("labels");
    let is_empty = selector.is_object() && is_empty_selector(&Cursor::root(selector));
    if !is_empty && (selector.is_null() || !meta::selects(selector, labels.value())) {
        errors.push(labels.invalid_as(labels.value().clone(), "`selector` does not match template `labels`"));
    }
    pod::template(&at, errors);
    // The real server looks at these a second time.
    meta::labels(&at.field_with("labels", labels.value()), errors);
    meta::annotations(&at.field_with("annotations", metadata.field("annotations").value()), errors);
}

fn stateful_set_change(new: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    const FREE: &[&str] = &[
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    let fixed = |spec: &Cursor<'_, '_>| -> Vec<(String, Value)> {
        let fixed = spec.entries().filter(|(name, value)| !FREE.contains(name) && !value.is_null());
        fixed.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    };
    if fixed(new) != fixed(old) {
        errors.push(new.forbidden(
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
             'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ));
    }
}

/// A selector that must be there and select the labels of the template.
fn selector_and_template(spec: &Cursor<'_, '_>, owner: &str, errors: &mut Errors) {
    let selector = spec.field("selector");
    if selector.is_set() {
        meta::label_selector(&selector, errors);
        if is_empty_selector(&selector) {
            errors.push(selector.invalid("empty selector is invalid for deployment"));
        }
    } else {
        errors.push(selector.required(""));
    }
    if is_selector(&selector) {
        pod::selected_template(&spec.field("template"), selector.value(), owner, errors);
    } else {
        errors.push(selector.invalid("invalid label selector"));
    }
}

/// Whether a selector selects everything.
fn is_empty_selector(selector: &Cursor<'_, '_>) -> bool {
    selector.field("matchLabels").is_empty() && selector.field("matchExpressions").is_empty()
}

/// Whether a selector can be read at all.
fn is_selector(selector: &Cursor<'_, '_>) -> bool {
    let mut errors = Vec::new();
    meta::label_selector(selector, &mut errors);
    errors.is_empty()
}

fn same_selector(spec: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    if let Some(old) = old {
        immutable(&spec.field("selector"), &old.field("spec").field("selector"), errors);
    }
}

fn deployment_strategy(strategy: &Cursor<'_, '_>, errors: &mut Errors) {
    let rolling = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "Recreate" => {
            if rolling.is_set() {
                errors.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
            }
        }
        "RollingUpdate" => {
            if !rolling.is_set() {
                errors.push(rolling.required("this should be defaulted and never be nil"));
                return;
            }
            let (unavailable, surge) = (rolling.field("maxUnavailable"), rolling.field("maxSurge"));
            number_or_percent(&unavailable, errors);
            number_or_percent(&surge, errors);
            if amount(&unavailable) == 0 && amount(&surge) == 0 {
                let shown = if unavailable.is_set() { unavailable.value().clone() } else { 0.into() };
                errors.push(unavailable.invalid_as(shown, "may not be 0 when `maxSurge` is 0"));
            }
            at_most_100_percent(&unavailable, errors);
        }
        _ => errors.push(strategy.not_supported(&["Recreate", "RollingUpdate"])),
    }
}

/// The numbers of a status: none below 0, parts not above the whole.
pub(super) fn status(kind: &str, new: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    const WHOLE: &str = "cannot be greater than status.replicas";
    let (numbers, parts, ready): (&[&str], &[&str], &str) = match kind {
        "Deployment" => (
            &[
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "terminatingReplicas",
                "collisionCount",
            ],
            &["updatedReplicas", "readyReplicas", "availableReplicas"],
            "cannot be greater than readyReplicas",
        ),
        "StatefulSet" => (
            &[
                "replicas",
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
                "observedGeneration",
                "collisionCount",
            ],
            &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
            "cannot be greater than status.readyReplicas",
        ),
        "DaemonSet" => (
            &[
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
                "observedGeneration",
                "updatedNumberScheduled",
                "numberAvailable",
                "numberUnavailable",
                "collisionCount",
            ],
            &[],
            "",
        ),
        _ => (
            &[
                "replicas",
                "fullyLabeledReplicas",
                "readyReplicas",
                "availableReplicas",
                "observedGeneration",
                "terminatingReplicas",
            ],
            &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
            "cannot be greater than readyReplicas",
        ),
    };
    for name in numbers {
        not_negative(&new.field(name), errors);
    }
    let number = |name: &str| new.field(name).number().unwrap_or(0);
    for name in parts {
        if number(name) > number("replicas") {
            errors.push(new.field(name).invalid_as(number(name), WHOLE));
        }
    }
    if !ready.is_empty() && number("availableReplicas") > number("readyReplicas") {
        errors.push(new.field("availableReplicas").invalid_as(number("availableReplicas"), ready));
    }
    if let Some(before) = old.field("collisionCount").number()
        && number("collisionCount") < before
    {
        errors
            .push(new.field("collisionCount").invalid_as(number("collisionCount"), "cannot be decremented"));
    }
}
