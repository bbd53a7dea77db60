//! Deployments: rolled out, rolling out, or stuck.

use lockstep_api::names::{condition, reason};
use serde_json::Value;

use crate::facts::{Condition, called, count, count_or, not_observed};
use crate::{Verdict, deletion};

/// A Deployment is well when every replica is of the latest template and available, and no old one is left.
///
/// *Order*: being deleted; status of an older generation; Pods that cannot be created; neither available nor
/// progressing; over its deadline; then the counts.
///
/// *Compatibility*: the reference looks at the three conditions only, and does not wait for a rollout. The two reasons
/// that stop an update are its own.
pub(crate) fn of(deployment: &Value) -> Verdict {
    deletion::verdict(deployment)
        .or_else(|| not_observed(deployment))
        .or_else(|| stuck(deployment))
        .or_else(|| rolling_out(deployment))
        .unwrap_or(Verdict::Good)
}

/// What the Deployment's own conditions give up on.
fn stuck(deployment: &Value) -> Option<Verdict> {
    let called = called(deployment);
    if let Some(failure) = Condition::find(deployment, condition::REPLICA_FAILURE).filter(Condition::is_true)
    {
        let unavailable = count(&deployment["status"]["unavailableReplicas"]);
        let sentence =
            format!("{called} cannot create its Pods, {unavailable} unavailable: {}", failure.told());
        return Some(Verdict::bad(reason::WORKLOAD_NOT_PROGRESSING, sentence));
    }
    let progressing = Condition::find(deployment, condition::PROGRESSING).filter(Condition::is_false)?;
    let available = Condition::find(deployment, condition::AVAILABLE).filter(Condition::is_false);
    if let Some(available) = available {
        let sentence = format!(
            "{called} is neither available nor progressing: {}; {}",
            available.told(),
            progressing.told()
        );
        return Some(Verdict::bad(reason::WORKLOAD_NOT_AVAILABLE, sentence));
    }
    (progressing.reason == reason::PROGRESS_DEADLINE_EXCEEDED).then(|| {
        let sentence = format!("{called} does not get on: {}", progressing.told());
        Verdict::bad(reason::WORKLOAD_NOT_PROGRESSING, sentence)
    })
}

/// What the counts say is still to come.
fn rolling_out(deployment: &Value) -> Option<Verdict> {
    let wanted = count_or(&deployment["spec"]["replicas"], 1);
    let status = &deployment["status"];
    let (all, updated, available) =
        (count(&status["replicas"]), count(&status["updatedReplicas"]), count(&status["availableReplicas"]));
    let paused = if deployment["spec"]["paused"] == true { " (spec.paused is true)" } else { "" };
    let called = called(deployment);
    let (reason, sentence) = if updated < wanted {
        (
            reason::ROLLING_OUT,
            format!("{called} is rolling out{paused}: {updated} of {wanted} replicas updated"),
        )
    } else if all > updated {
        let old = all.saturating_sub(updated);
        (reason::ROLLING_OUT, format!("{called} is rolling out{paused}: {old} old replicas are still there"))
    } else if available < wanted {
        (reason::WORKLOAD_NOT_AVAILABLE, format!("{called}: {available} of {wanted} replicas available"))
    } else {
        return None;
    };
    Some(Verdict::not_yet(reason, sentence))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "ns", "generation": 2},
            "spec": {"replicas": 2},
            "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
                "conditions": [
                    {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
                    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}})
    }

    fn with(path: &str, value: Value) -> Value {
        let mut deployment = a_deployment();
        *deployment.pointer_mut(path).unwrap() = value;
        deployment
    }

    #[track_caller]
    fn expect(deployment: &Value, verdict: &Verdict) {
        assert_eq!(&of(deployment), verdict);
    }

    #[test]
    fn rolled_out_deployment_is_good() {
        expect(&a_deployment(), &Verdict::Good);
    }

    #[test]
    fn deployment_scaled_to_zero_is_good_when_nothing_is_left() {
        let mut deployment = with("/spec/replicas", json!(0));
        deployment["status"] = json!({"observedGeneration": 2});
        expect(&deployment, &Verdict::Good);
        deployment["status"]["replicas"] = json!(1);
        assert!(!of(&deployment).is_good());
    }

    #[test]
    fn replicas_default_to_one() {
        let mut deployment = a_deployment();
        deployment["spec"] = json!({});
        deployment["status"] = json!({"observedGeneration": 2});
        expect(
            &deployment,
            &Verdict::not_yet("RollingOut", "Deployment ns/d is rolling out: 0 of 1 replicas updated"),
        );
    }

    #[test]
    fn counts_tell_what_is_still_to_come() {
        expect(
            &with("/status/updatedReplicas", json!(1)),
            &Verdict::not_yet("RollingOut", "Deployment ns/d is rolling out: 1 of 2 replicas updated"),
        );
        expect(
            &with("/status/replicas", json!(3)),
            &Verdict::not_yet("RollingOut", "Deployment ns/d is rolling out: 1 old replicas are still there"),
        );
        expect(
            &with("/status/availableReplicas", json!(1)),
            &Verdict::not_yet("WorkloadNotAvailable", "Deployment ns/d: 1 of 2 replicas available"),
        );
    }

    #[test]
    fn paused_rollout_says_so() {
        let mut deployment = with("/status/updatedReplicas", json!(0));
        deployment["spec"]["paused"] = json!(true);
        assert_eq!(
            of(&deployment).why().unwrap().sentence,
            "Deployment ns/d is rolling out (spec.paused is true): 0 of 2 replicas updated"
        );
    }

    #[test]
    fn failures_of_an_older_generation_are_not_believed() {
        let mut deployment = with("/metadata/generation", json!(3));
        deployment["status"]["conditions"] = json!([{"type": "ReplicaFailure", "status": "True"}]);
        expect(
            &deployment,
            &Verdict::not_yet(
                "NotObserved",
                "Deployment ns/d: its controller has not seen generation 3 (it has seen generation 2)",
            ),
        );
    }

    #[test]
    fn replica_failure_is_bad_even_when_available() {
        let mut deployment = a_deployment();
        deployment["status"]["unavailableReplicas"] = json!(1);
        deployment["status"]["conditions"].as_array_mut().unwrap().push(
            json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}),
        );
        expect(
            &deployment,
            &Verdict::bad(
                "WorkloadNotProgressing",
                "Deployment ns/d cannot create its Pods, 1 unavailable: ReplicaFailure=True, reason FailedCreate: quota",
            ),
        );
    }

    #[test]
    fn neither_available_nor_progressing_is_bad() {
        let mut deployment = with("/status/conditions/0/status", json!("False"));
        deployment["status"]["conditions"][1]["status"] = json!("False");
        deployment["status"]["conditions"][1]["reason"] = json!("ProgressDeadlineExceeded");
        expect(
            &deployment,
            &Verdict::bad(
                "WorkloadNotAvailable",
                "Deployment ns/d is neither available nor progressing: Available=False, reason \
                 MinimumReplicasAvailable; Progressing=False, reason ProgressDeadlineExceeded",
            ),
        );
    }

    #[test]
    fn only_the_deadline_makes_a_halted_rollout_bad() {
        let mut deployment = with("/status/conditions/1/status", json!("False"));
        expect(&deployment, &Verdict::Good);
        deployment["status"]["conditions"][1] = json!({"type": "Progressing", "status": "False",
            "reason": "ProgressDeadlineExceeded", "message": "timed out", "lastTransitionTime": "T"});
        expect(
            &deployment,
            &Verdict::bad(
                "WorkloadNotProgressing",
                "Deployment ns/d does not get on: Progressing=False since T, reason ProgressDeadlineExceeded: timed out",
            ),
        );
    }

    #[test]
    fn deployment_that_is_being_deleted_is_not_well() {
        let mut deployment = a_deployment();
        deployment["metadata"]["deletionTimestamp"] = json!("T");
        assert_eq!(of(&deployment).why().unwrap().reason, "BeingDeleted");
    }
}
