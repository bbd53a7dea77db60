//! Daemon sets: one available Pod of the latest template on every node that should have one.

use lockstep_api::names::reason;
use serde_json::Value;

use crate::facts::{called, count, not_observed, text};
use crate::{Verdict, deletion};

/// A `DaemonSet` is well when every node that should run a Pod has an available one of the latest template.
///
/// With the update strategy `OnDelete` nobody replaces Pods, so only availability counts.
///
/// *Compatibility*: the reference only asks whether it is being deleted.
pub(crate) fn of(set: &Value) -> Verdict {
    deletion::verdict(set).or_else(|| not_observed(set)).or_else(|| rolling_out(set)).unwrap_or(Verdict::Good)
}

fn rolling_out(set: &Value) -> Option<Verdict> {
    let status = &set["status"];
    let (wanted, updated, available) = (
        count(&status["desiredNumberScheduled"]),
        count(&status["updatedNumberScheduled"]),
        count(&status["numberAvailable"]),
    );
    let replaces = text(&set["spec"]["updateStrategy"]["type"]) != "OnDelete";
    let called = called(set);
    let (reason, sentence) = if replaces && updated < wanted {
        (reason::ROLLING_OUT, format!("{called} is rolling out: {updated} of {wanted} nodes updated"))
    } else if available < wanted {
        (reason::WORKLOAD_NOT_AVAILABLE, format!("{called}: available on {available} of {wanted} nodes"))
    } else {
        return None;
    };
    Some(Verdict::not_yet(reason, sentence))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_daemon_set(wanted: i64, updated: i64, available: i64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "d", "namespace": "ns", "generation": 1},
            "status": {"observedGeneration": 1, "desiredNumberScheduled": wanted,
                "updatedNumberScheduled": updated, "numberAvailable": available}})
    }

    #[test]
    fn updated_and_available_everywhere_is_good_also_without_nodes() {
        assert_eq!(of(&a_daemon_set(3, 3, 3)), Verdict::Good);
        assert_eq!(of(&a_daemon_set(0, 0, 0)), Verdict::Good);
    }

    #[test]
    fn counts_tell_what_is_still_to_come() {
        assert_eq!(
            of(&a_daemon_set(3, 1, 2)),
            Verdict::not_yet("RollingOut", "DaemonSet ns/d is rolling out: 1 of 3 nodes updated")
        );
        assert_eq!(
            of(&a_daemon_set(3, 3, 2)),
            Verdict::not_yet("WorkloadNotAvailable", "DaemonSet ns/d: available on 2 of 3 nodes")
        );
    }

    #[test]
    fn old_pods_are_no_fault_when_nobody_replaces_them() {
        let mut set = a_daemon_set(3, 1, 3);
        set["spec"] = json!({"updateStrategy": {"type": "OnDelete"}});
        assert_eq!(of(&set), Verdict::Good);
    }

    #[test]
    fn new_set_without_a_status_is_not_well_although_it_wants_no_node_yet() {
        let mut set = a_daemon_set(0, 0, 0);
        set["status"] = json!({});
        assert_eq!(
            of(&set),
            Verdict::not_yet(
                "NotObserved",
                "DaemonSet ns/d: its controller has not seen generation 1 (it has seen none yet)"
            )
        );
    }
}
