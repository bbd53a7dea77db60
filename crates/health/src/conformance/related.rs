//! The objects that a report names.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Check, History, Outcome, Rule};
use crate::facts::{list, text};

pub(super) const CHECKS: &[Check<History>] = &[
    Check {
        rule: Rule {
            id: "related-objects",
            says: "At least one namespace and one other object are named",
            remedy: "report relatedObjects: namespaces, configuration and operands",
        },
        judge: related_objects,
    },
    Check {
        rule: Rule {
            id: "related-objects-exist",
            says: "Every object that is named is there",
            remedy: "name the plural of the resource, and only objects that exist; keep the list reconciled",
        },
        judge: related_objects_exist,
    },
    Check {
        rule: Rule {
            id: "related-namespaces",
            says: "The namespace of every object that is named is named itself",
            remedy: "add an entry with the resource namespaces, or what happens there is not gathered",
        },
        judge: related_namespaces,
    },
];

const NAMESPACES: &str = "namespaces";
/// Namespaces that belong to all.
const COMMON: [&str; 4] = ["openshift-config", "openshift-config-managed", "kube-system", "default"];

fn entries(operator: &Value) -> &[Value] {
    list(&operator["status"]["relatedObjects"])
}

fn is_namespace(entry: &Value) -> bool {
    text(&entry["resource"]) == NAMESPACES && text(&entry["group"]).is_empty()
}

/// What the list of a ClusterOperator, shipped or reported, lacks.
pub(super) fn missing(operator: &Value) -> Option<&'static str> {
    let all = entries(operator);
    if all.is_empty() {
        return Some("there are no related objects");
    }
    if !all.iter().any(is_namespace) {
        return Some("no namespace is among the related objects");
    }
    all.iter().all(is_namespace).then_some("only namespaces are among the related objects")
}

fn related_objects(history: &History) -> Outcome {
    match history.last() {
        None => Outcome::not_seen("the ClusterOperator never was there"),
        Some(report) => Outcome::of(missing(report).map(str::to_owned).into_iter().collect()),
    }
}

fn related_objects_exist(history: &History) -> Outcome {
    if history.related.is_empty() {
        return Outcome::not_applicable("there are no related objects; see related-objects");
    }
    let gone = history.related.iter().filter(|object| object.exists == Some(false));
    let gone: Vec<String> = gone.map(|object| format!("{} is not there", object.called)).collect();
    let unknown: Vec<&str> = history
        .related
        .iter()
        .filter(|object| object.exists.is_none())
        .map(|object| object.called.as_str())
        .collect();
    if gone.is_empty() && !unknown.is_empty() {
        return Outcome::not_seen(format!("{} could not be looked for", unknown.join(", ")));
    }
    Outcome::of(gone)
}

fn related_namespaces(history: &History) -> Outcome {
    let Some(report) = history.last() else {
        return Outcome::not_seen("the ClusterOperator never was there");
    };
    let used: BTreeSet<&str> = entries(report)
        .iter()
        .map(|entry| text(&entry["namespace"]))
        .filter(|name| !name.is_empty())
        .collect();
    let named: BTreeSet<&str> = entries(report)
        .iter()
        .filter(|entry| is_namespace(entry))
        .map(|entry| text(&entry["name"]))
        .collect();
    if used.is_empty() {
        return Outcome::not_applicable("no related object is in a namespace");
    }
    // An entry without a name stands for all.
    if named.contains("") {
        return Outcome::Pass;
    }
    let strangers = used.into_iter().filter(|name| !named.contains(name) && !COMMON.contains(name));
    Outcome::of(
        strangers
            .map(|name| format!("namespace {name} is used, but is not among the related objects"))
            .collect(),
    )
}
