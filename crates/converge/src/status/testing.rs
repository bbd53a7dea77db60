//! Objects for tests of pictures, and the adjectives to make them differ.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use lockstep_api::{ClusterOperator, ClusterVersion, Time};

use super::Input;

/// The moment of all tests.
pub(crate) fn now() -> Timestamp {
    "2026-07-01T12:00:00Z".parse().unwrap()
}

/// A moment before it.
pub(crate) fn ago(minutes: i64, seconds: i64) -> String {
    Time::from(now() - SignedDuration::from_secs(minutes * 60 + seconds)).to_string()
}

pub(crate) fn condition(kind: &str, status: &str, since: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
}

/// An operator of the platform at a version, well and idle for an hour.
pub(crate) fn an_operator(name: &str, version: &str) -> ClusterOperator {
    serde_json::from_value(json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": name, "annotations": {"include.release.openshift.io/self-managed-high-availability": "true"}},
        "spec": {},
        "status": {
            "versions": [{"name": "operator", "version": version}],
            "conditions": [
                condition("Available", "True", &ago(60, 0), "AsExpected", ""),
                condition("Progressing", "False", &ago(60, 0), "AsExpected", ""),
                condition("Degraded", "False", &ago(60, 0), "AsExpected", ""),
            ],
        },
    }))
    .unwrap()
}

/// The operator with one condition set.
pub(crate) fn with(
    operator: ClusterOperator,
    kind: &str,
    status: &str,
    since: &str,
    reason: &str,
    message: &str,
) -> ClusterOperator {
    let mut object = serde_json::to_value(operator).unwrap();
    let list = object["status"]["conditions"].as_array_mut().unwrap();
    list.retain(|it| it["type"] != kind);
    list.push(condition(kind, status, since, reason, message));
    serde_json::from_value(object).unwrap()
}

/// Version, image digit, state, start and end of an entry of the history.
pub(crate) type Entry<'a> = (&'a str, &'a str, &'a str, &'a str, Option<&'a str>);

/// A ClusterVersion with this history, newest first, that is at work on it.
pub(crate) fn a_version(history: &[Entry<'_>], message: &str) -> ClusterVersion {
    let entries: Vec<Value> = history
        .iter()
        .map(|(version, image, state, began, ended)| {
            json!({"version": version, "image": format!("registry.example.com/release@sha256:{image}"), "state": state,
                "startedTime": began, "completionTime": ended, "verified": true})
        })
        .collect();
    let desired = entries.first().cloned().unwrap_or_default();
    let text = |key: &str| desired[key].as_str().unwrap_or_default();
    let is_over = history.first().is_some_and(|entry| entry.2 == "Completed");
    serde_json::from_value(json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3c"},
        "status": {
            "desired": {"version": text("version"), "image": text("image")}, "history": entries,
            "observedGeneration": 1, "versionHash": "x", "availableUpdates": null,
            "conditions": [
                condition("Available", "True", &ago(900, 0), "", "Done"),
                condition("Failing", "False", &ago(900, 0), "", ""),
                condition("Progressing", if is_over { "False" } else { "True" }, &ago(14, 0), "", message),
            ],
        },
    }))
    .unwrap()
}

/// A cluster without machines that are configured.
pub(crate) fn a_cluster(version: ClusterVersion, operators: Vec<ClusterOperator>) -> Input {
    Input {
        version: Some(version),
        operators,
        pools: Vec::new(),
        nodes: Vec::new(),
        configs: Vec::new(),
        config_operator: None,
        alerts: None,
        levels: BTreeMap::new(),
        stability: None,
        remarks: Vec::new(),
        now: now(),
    }
}

/// A pool whose nodes have a role and shall have a configuration.
pub(crate) fn a_pool(name: &str, config: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"configuration": {"name": config},
        "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}}}})
}

/// A configuration of a release.
pub(crate) fn a_config(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name,
        "annotations": {"machineconfiguration.openshift.io/release-image-version": version}}})
}

/// A node of a role, ready since long, with a configuration that it has and one that it shall have.
pub(crate) fn a_node(name: &str, role: &str, current: &str, desired: &str, state: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {format!("node-role.kubernetes.io/{role}"): ""}, "annotations": {
            "machineconfiguration.openshift.io/currentConfig": current,
            "machineconfiguration.openshift.io/desiredConfig": desired,
            "machineconfiguration.openshift.io/state": state,
        }},
        "spec": {},
        "status": {"conditions": [
            condition("Ready", "True", &ago(900, 0), "", ""),
            condition("DiskPressure", "False", &ago(900, 0), "", ""),
        ]},
    })
}
