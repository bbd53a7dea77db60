//! Namespaces: there, or on the way out.

use serde_json::Value;

use crate::facts::{Condition, list};
use crate::{Verdict, deletion};

/// A Namespace is well unless it is terminating; then the sentence says what keeps it.
pub(crate) fn of(namespace: &Value) -> Verdict {
    deletion::verdict(namespace).unwrap_or(Verdict::Good)
}

/// What the namespace controller says is left or cannot be removed; every one of its conditions is bad news when True.
pub(crate) fn what_is_left(namespace: &Value) -> Vec<String> {
    list(&namespace["status"]["conditions"])
        .iter()
        .map(Condition::read)
        .filter(Condition::is_true)
        .map(|condition| condition.told())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn active_namespace_is_good() {
        let active = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
        assert_eq!(of(&active), Verdict::Good);
    }

    #[test]
    fn terminating_namespace_names_finalizers_and_what_is_left_in_it() {
        let terminating = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "a", "deletionTimestamp": "2026-07-01T10:00:00Z"},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Terminating", "conditions": [
                {"type": "NamespaceDeletionDiscoveryFailure", "status": "False", "message": "all well"},
                {"type": "NamespaceFinalizersRemaining", "status": "True", "reason": "SomeFinalizersRemain",
                    "message": "Some content has finalizers remaining: x.io/keep in 2 resource instances",
                    "lastTransitionTime": "2026-07-01T10:00:05Z"}]}});
        let verdict = of(&terminating);
        assert!(matches!(verdict, Verdict::NotYet(_)));
        assert_eq!(
            verdict.why().unwrap().sentence,
            "Namespace a is being deleted since 2026-07-01T10:00:00Z and waits for its finalizer kubernetes; \
             NamespaceFinalizersRemaining=True since 2026-07-01T10:00:05Z, reason SomeFinalizersRemain: \
             Some content has finalizers remaining: x.io/keep in 2 resource instances"
        );
    }
}
