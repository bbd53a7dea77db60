//! How objects of a kind go away.

use lockstep_schema::Kind;
use serde_json::Value;

use super::paths::at;

/// What happens to the dependents of an object when the request does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultPropagation {
    /// The garbage collector deletes them later.
    Background,
    /// They stay, without this owner.
    Orphan,
    /// Garbage collection knows nothing of the kind.
    Unsupported,
}

/// The seconds that an object gets to end by itself, or nothing when its kind has no graceful end; 0 means that it is gone at once.
pub(crate) fn graceful_deletion(kind: &Kind, object: &Value, asked: Option<i64>) -> Option<i64> {
    if (kind.group, kind.kind) != ("", "Pod") {
        return None;
    }
    let own = at(object, &["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    let is_scheduled = at(object, &["spec", "nodeName"]).is_some_and(|node| node != "");
    let is_over =
        matches!(at(object, &["status", "phase"]).and_then(Value::as_str), Some("Failed" | "Succeeded"));
    if !is_scheduled || is_over {
        return Some(0);
    }
    let seconds = asked.or(own).unwrap_or(0);
    // A negative period is a user's mistake of the past; the real server reads it as the shortest one.
    Some(if seconds < 0 { 1 } else { seconds })
}

/// What happens to dependents by default.
pub(crate) fn default_propagation(kind: &Kind) -> DefaultPropagation {
    match (kind.group, kind.kind) {
        ("batch", "Job") | ("", "ReplicationController") => DefaultPropagation::Orphan,
        ("" | "events.k8s.io", "Event") => DefaultPropagation::Unsupported,
        _ => DefaultPropagation::Background,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::kind;
    use super::*;

    #[test]
    fn a_running_pod_gets_its_own_period_unless_the_request_says_another() {
        let pod = json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}, "status": {"phase": "Running"}});
        let kind = kind("v1", "Pod");
        assert_eq!(graceful_deletion(kind, &pod, None), Some(30));
        assert_eq!(graceful_deletion(kind, &pod, Some(5)), Some(5));
        assert_eq!(graceful_deletion(kind, &pod, Some(-1)), Some(1));
        let pending = json!({"spec": {"terminationGracePeriodSeconds": 30}});
        assert_eq!(graceful_deletion(kind, &pending, None), Some(0));
        let over = json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}, "status": {"phase": "Failed"}});
        assert_eq!(graceful_deletion(kind, &over, Some(9)), Some(0));
    }

    #[test]
    fn jobs_orphan_their_pods() {
        assert_eq!(default_propagation(kind("batch/v1", "Job")), DefaultPropagation::Orphan);
        assert_eq!(default_propagation(kind("apps/v1", "Deployment")), DefaultPropagation::Background);
        assert_eq!(graceful_deletion(kind("v1", "ConfigMap"), &json!({}), Some(3)), None);
    }
}
