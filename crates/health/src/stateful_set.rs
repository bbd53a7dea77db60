//! Stateful sets: replicas that are replaced one by one, down to the partition.

use lockstep_api::names::reason;
use serde_json::Value;

use crate::facts::{called, count, count_or, not_observed, text};
use crate::{Verdict, deletion};

/// A `StatefulSet` is well when all replicas are available and those from its partition on are of the latest template.
///
/// With the update strategy `OnDelete` nobody replaces Pods, so only availability counts.
pub(crate) fn of(set: &Value) -> Verdict {
    deletion::verdict(set).or_else(|| not_observed(set)).or_else(|| rolling_out(set)).unwrap_or(Verdict::Good)
}

fn rolling_out(set: &Value) -> Option<Verdict> {
    let (status, strategy) = (&set["status"], &set["spec"]["updateStrategy"]);
    let wanted = count_or(&set["spec"]["replicas"], 1);
    // Servers before 1.22 do not count availability.
    let available = count_or(&status["availableReplicas"], count(&status["readyReplicas"]));
    let to_replace = match text(&strategy["type"]) {
        "OnDelete" => 0,
        _ => wanted.saturating_sub(count(&strategy["rollingUpdate"]["partition"])).max(0),
    };
    // Where the latest template is also the current one, either count is about it, and not everybody writes both.
    let is_current = text(&status["currentRevision"]) == text(&status["updateRevision"]);
    let current = if is_current { count(&status["currentReplicas"]) } else { 0 };
    let updated = count(&status["updatedReplicas"]).max(current);
    let called = called(set);
    let (reason, sentence) = if updated < to_replace {
        (reason::ROLLING_OUT, format!("{called} is rolling out: {updated} of {to_replace} replicas updated"))
    } else if available < wanted {
        (reason::WORKLOAD_NOT_AVAILABLE, format!("{called}: {available} of {wanted} replicas available"))
    } else if count(&status["replicas"]) > wanted {
        let more = count(&status["replicas"]).saturating_sub(wanted);
        (reason::ROLLING_OUT, format!("{called} is scaling down: {more} replicas too many"))
    } else {
        return None;
    };
    Some(Verdict::not_yet(reason, sentence))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_stateful_set() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "s", "namespace": "ns", "generation": 1},
            "spec": {"replicas": 3},
            "status": {"observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3,
                "currentReplicas": 3, "updatedReplicas": 3, "currentRevision": "a", "updateRevision": "a"}})
    }

    fn with(changes: &[(&str, Value)]) -> Value {
        let mut set = a_stateful_set();
        for (field, value) in changes {
            set["status"][field] = value.clone();
        }
        set
    }

    #[test]
    fn rolled_out_set_is_good() {
        assert_eq!(of(&a_stateful_set()), Verdict::Good);
    }

    #[test]
    fn new_revision_is_waited_for_replica_by_replica() {
        let set = with(&[("updateRevision", json!("b")), ("updatedReplicas", json!(1))]);
        assert_eq!(
            of(&set),
            Verdict::not_yet("RollingOut", "StatefulSet ns/s is rolling out: 1 of 3 replicas updated")
        );
    }

    #[test]
    fn replicas_below_the_partition_keep_their_revision() {
        let mut set = with(&[("updateRevision", json!("b")), ("updatedReplicas", json!(1))]);
        set["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
        assert_eq!(of(&set), Verdict::Good);
        set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(1);
        assert!(!of(&set).is_good());
    }

    #[test]
    fn old_pods_are_no_fault_when_nobody_replaces_them() {
        let mut set = with(&[("updateRevision", json!("b")), ("updatedReplicas", json!(0))]);
        set["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
        assert_eq!(of(&set), Verdict::Good);
    }

    #[test]
    fn unavailable_replicas_are_waited_for_also_where_only_readiness_is_counted() {
        let verdict = Verdict::not_yet("WorkloadNotAvailable", "StatefulSet ns/s: 2 of 3 replicas available");
        assert_eq!(of(&with(&[("availableReplicas", json!(2))])), verdict);
        let old = with(&[("availableReplicas", Value::Null), ("readyReplicas", json!(2))]);
        assert_eq!(of(&old), verdict);
    }

    #[test]
    fn replicas_too_many_are_waited_for() {
        assert_eq!(
            of(&with(&[("replicas", json!(4))])),
            Verdict::not_yet("RollingOut", "StatefulSet ns/s is scaling down: 1 replicas too many")
        );
    }

    #[test]
    fn set_without_a_status_is_not_well() {
        let mut set = a_stateful_set();
        set["status"] = Value::Null;
        assert_eq!(of(&set).why().unwrap().reason, "NotObserved");
    }
}
