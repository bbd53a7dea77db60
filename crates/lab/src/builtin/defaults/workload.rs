//! Workloads: what runs Pods, and what scales it.

use serde_json::{Value, json};

use super::{Object, Rule, inside, part, text, unset, zero};

pub(super) fn rule(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "apps.v1.Deployment" => deployment,
        "apps.v1.DaemonSet" => daemon_set,
        "apps.v1.StatefulSet" => stateful_set,
        "apps.v1.ReplicaSet" => |set| unset(inside(set, "spec"), "replicas", 1),
        "core.v1.ReplicationController" => replication_controller,
        "batch.v1.Job" => job,
        "batch.v1.CronJob" => |job| {
            let spec = inside(job, "spec");
            zero(spec, "concurrencyPolicy", "Allow");
            unset(spec, "suspend", false);
            unset(spec, "successfulJobsHistoryLimit", 3);
            unset(spec, "failedJobsHistoryLimit", 1);
        },
        "batch.v1.PodFailurePolicyOnPodConditionsPattern" => |pattern| zero(pattern, "status", "True"),
        "autoscaling.v1.HorizontalPodAutoscaler" => |scaler| unset(inside(scaler, "spec"), "minReplicas", 1),
        "autoscaling.v2.HorizontalPodAutoscaler" => pod_autoscaler,
        _ => return None,
    })
}

fn deployment(deployment: &mut Object) {
    let spec = inside(deployment, "spec");
    unset(spec, "replicas", 1);
    let strategy = inside(spec, "strategy");
    zero(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = inside(strategy, "rollingUpdate");
        unset(rolling, "maxUnavailable", "25%");
        unset(rolling, "maxSurge", "25%");
    }
    unset(spec, "revisionHistoryLimit", 10);
    unset(spec, "progressDeadlineSeconds", 600);
}

fn daemon_set(set: &mut Object) {
    let spec = inside(set, "spec");
    let strategy = inside(spec, "updateStrategy");
    zero(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = inside(strategy, "rollingUpdate");
        unset(rolling, "maxUnavailable", 1);
        unset(rolling, "maxSurge", 0);
    }
    unset(spec, "revisionHistoryLimit", 10);
}

fn stateful_set(set: &mut Object) {
    let spec = inside(set, "spec");
    zero(spec, "podManagementPolicy", "OrderedReady");
    let strategy = inside(spec, "updateStrategy");
    if text(strategy, "type").is_empty() {
        strategy.insert("type".into(), "RollingUpdate".into());
        inside(strategy, "rollingUpdate");
    }
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = part(strategy, "rollingUpdate")
    {
        // A default of `maxUnavailable` is behind a feature gate that is off.
        unset(rolling, "partition", 0);
    }
    let retention = inside(spec, "persistentVolumeClaimRetentionPolicy");
    zero(retention, "whenDeleted", "Retain");
    zero(retention, "whenScaled", "Retain");
    unset(spec, "replicas", 1);
    unset(spec, "revisionHistoryLimit", 10);
}

/// The labels of a template, when it has any.
fn template_labels(object: &Object) -> Option<Value> {
    let labels = object.get("spec")?.get("template")?.get("metadata")?.get("labels")?;
    Some(labels.clone())
}

fn replication_controller(controller: &mut Object) {
    if let Some(labels) = template_labels(controller) {
        zero(inside(controller, "spec"), "selector", labels.clone());
        zero(inside(controller, "metadata"), "labels", labels);
    }
    unset(inside(controller, "spec"), "replicas", 1);
}

fn job(job: &mut Object) {
    if let Some(labels) = template_labels(job) {
        zero(inside(job, "metadata"), "labels", labels);
    }
    let spec = inside(job, "spec");
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        unset(spec, "completions", 1);
    }
    unset(spec, "parallelism", 1);
    let limit = if spec.contains_key("backoffLimitPerIndex") { i32::MAX } else { 6 };
    unset(spec, "backoffLimit", limit);
    unset(spec, "completionMode", "NonIndexed");
    unset(spec, "suspend", false);
    let replacement = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    unset(spec, "podReplacementPolicy", replacement);
    unset(spec, "manualSelector", false);
}

fn pod_autoscaler(scaler: &mut Object) {
    let spec = inside(scaler, "spec");
    unset(spec, "minReplicas", 1);
    zero(
        spec,
        "metrics",
        json!([{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 80}}}]),
    );
    if let Some(behavior) = part(spec, "behavior") {
        let up = inside(behavior, "scaleUp");
        unset(up, "stabilizationWindowSeconds", 0);
        unset(up, "selectPolicy", "Max");
        unset(
            up,
            "policies",
            json!([{"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15}]),
        );
        let down = inside(behavior, "scaleDown");
        unset(down, "selectPolicy", "Max");
        unset(down, "policies", json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::filled;
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "callers hand over what they have just written")]
    fn spec(api_version: &str, kind: &str, spec: Value) -> Value {
        let mut object = filled(json!({"apiVersion": api_version, "kind": kind, "spec": spec}));
        let mut spec = object["spec"].take();
        spec.as_object_mut().unwrap().remove("template");
        spec
    }

    #[test]
    fn a_deployment_rolls_by_quarters_unless_it_recreates() {
        let deployment = spec("apps/v1", "Deployment", json!({"selector": {}}));
        assert_eq!(
            deployment,
            json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "selector": {},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}})
        );
        let recreate = spec("apps/v1", "Deployment", json!({"strategy": {"type": "Recreate"}}));
        assert_eq!(recreate["strategy"], json!({"type": "Recreate"}));
    }

    #[test]
    fn a_stateful_set_rolls_from_partition_zero_unless_its_type_is_given_alone() {
        let set = spec("apps/v1", "StatefulSet", json!({}));
        assert_eq!(set["updateStrategy"]["rollingUpdate"]["partition"], 0);
        let typed = spec("apps/v1", "StatefulSet", json!({"updateStrategy": {"type": "RollingUpdate"}}));
        assert_eq!(typed["updateStrategy"], json!({"type": "RollingUpdate"}));
    }

    #[test]
    fn the_numbers_of_a_job_follow_from_what_is_given() {
        let job = spec("batch/v1", "Job", json!({}));
        assert_eq!(
            (&job["completions"], &job["parallelism"], &job["backoffLimit"]),
            (&json!(1), &json!(1), &json!(6))
        );
        let parallel = spec("batch/v1", "Job", json!({"parallelism": 3, "backoffLimitPerIndex": 1}));
        assert!(parallel.get("completions").is_none());
        assert_eq!(parallel["backoffLimit"], i32::MAX);
    }

    #[test]
    fn jobs_take_the_labels_of_their_template() {
        let job = filled(json!({"apiVersion": "batch/v1", "kind": "Job",
            "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}));
        assert_eq!(job["metadata"]["labels"], json!({"a": "b"}));
    }

    #[test]
    fn an_autoscaler_without_metrics_looks_at_the_processor() {
        let scaler = spec(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"behavior": {"scaleDown": {"selectPolicy": "Min"}}}),
        );
        assert_eq!(scaler["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
        assert_eq!(scaler["behavior"]["scaleUp"]["policies"][0]["value"], 4);
        assert_eq!(scaler["behavior"]["scaleDown"]["selectPolicy"], "Min");
    }
}
