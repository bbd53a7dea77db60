//! Objects with every field that there is, each level also with one that nobody knows, called `future`.

use serde_json::{Value, json};

/// A ClusterVersion in which every field has a value.
pub(crate) fn a_full_cluster_version() -> Value {
    let release = json!({"version": "1.1.0", "image": "r@sha256:1", "url": "https://example.com/1.1.0",
        "channels": ["stable-1"], "architecture": "Multi", "future": 1});
    let condition = json!({"type": "Applies", "status": "False", "reason": "NotMatch", "message": "",
        "lastTransitionTime": "2026-07-01T10:20:30Z", "observedGeneration": 4, "future": 2});
    let risk = json!({"url": "https://example.com/risk", "name": "Risk", "message": "Some text.",
        "matchingRules": [{"type": "PromQL", "promql": {"promql": "up", "future": 3}, "future": 4},
            {"type": "Always"}],
        "conditions": [condition], "future": 5});
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version", "future": 6},
        "spec": {
            "clusterID": "5c2e1f0e-7d2b-4bb5-9a0e-2f7f6f6a2a11",
            "channel": "stable-1",
            "upstream": "https://example.com/graph",
            "desiredUpdate": {"architecture": "Multi", "version": "1.1.0", "image": "r@sha256:1",
                "force": true, "mode": "Preflight", "acceptRisks": [{"name": "Risk", "future": 7}], "future": 8},
            "capabilities": {"baselineCapabilitySet": "v4.11",
                "additionalEnabledCapabilities": ["Console"], "future": 9},
            "overrides": [{"group": "apps", "kind": "Deployment", "namespace": "", "name": "a",
                "unmanaged": false, "future": 10}],
            "signatureStores": [{"url": "https://example.com", "ca": {"name": "a", "future": 11}, "future": 12}],
            "future": 13,
        },
        "status": {
            "desired": release,
            "history": [
                {"state": "Partial", "startedTime": "2026-07-01T10:20:30Z", "completionTime": null,
                    "version": "1.1.0", "image": "r@sha256:1", "verified": false, "future": 14},
                {"state": "Completed", "startedTime": "2026-06-01T10:20:30Z",
                    "completionTime": "2026-06-01T11:20:30Z", "version": "1.0.0", "image": "r@sha256:0",
                    "verified": true, "acceptedRisks": "Forced."},
            ],
            "observedGeneration": 2,
            "versionHash": "DL-FFQ2Uem8=",
            "capabilities": {"enabledCapabilities": ["Console"], "knownCapabilities": ["Build", "Console"],
                "future": 15},
            "conditions": [{"type": "Available", "status": "True", "reason": "AsExpected", "message": "Done",
                "lastTransitionTime": "2026-07-01T10:20:30Z", "future": 16}],
            "availableUpdates": [release],
            "conditionalUpdates": [{"release": release, "risks": [risk], "riskNames": ["Risk"],
                "conditions": [condition], "future": 17}],
            "conditionalUpdateRisks": [risk],
            "future": 18,
        },
        "future": 19,
    })
}

/// A ClusterOperator in which every field has a value.
pub(crate) fn a_full_cluster_operator() -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": {
            "name": "dns", "uid": "u", "generation": 3, "resourceVersion": "17",
            "creationTimestamp": "2026-07-01T10:20:30Z",
            "labels": {"a": "b"}, "annotations": {"c": "d"},
            "managedFields": [{"manager": "m"}],
            "ownerReferences": [{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
                "name": "version", "uid": "v", "controller": true, "future": 1}],
            "future": 2,
        },
        "spec": {"future": 3},
        "status": {
            "conditions": [{"type": "Available", "status": "True", "reason": "AsExpected",
                "message": "All is well", "lastTransitionTime": "2026-07-01T10:20:30Z", "future": 4}],
            "versions": [{"name": "operator", "version": "1.0.0", "future": 5}],
            "relatedObjects": [{"group": "", "resource": "namespaces", "name": "dns", "future": 6},
                {"group": "", "resource": "pods", "namespace": "dns", "name": ""}],
            "extension": {"any": ["thing", null]},
            "future": 7,
        },
        "future": 8,
    })
}
