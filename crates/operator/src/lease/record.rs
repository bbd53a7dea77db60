//! What a Lease says, and what we write into it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

/// What matters of a Lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Who holds it; empty for nobody.
    pub(super) holder: String,
    /// How long it is good for after it was renewed, by the word of its holder.
    pub(super) duration: Option<Duration>,
    /// When its holder got it.
    pub(super) acquired: Option<String>,
    /// How often it changed hands.
    pub(super) transitions: i64,
}

// === impl Record ===

impl Record {
    pub(super) fn of(lease: &Value) -> Self {
        let spec = &lease["spec"];
        let seconds = spec["leaseDurationSeconds"].as_u64();
        Self {
            holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
            duration: seconds.map(Duration::from_secs),
            acquired: spec["acquireTime"].as_str().map(str::to_owned),
            transitions: spec["leaseTransitions"].as_i64().unwrap_or_default(),
        }
    }
}

/// The Lease as its new holder writes it. `before` is what is there: its version must still be the same then.
pub(super) fn held(
    name: &str,
    namespace: &str,
    identity: &str,
    duration: Duration,
    before: Option<&Value>,
    now: Timestamp,
) -> Value {
    let old = before.map(Record::of).unwrap_or_default();
    let is_ours = old.holder == identity;
    let acquired = old.acquired.filter(|_| is_ours).unwrap_or_else(|| micro(now));
    let transitions = if is_ours || before.is_none() { old.transitions } else { old.transitions + 1 };
    let mut lease = frame(name, namespace, before);
    lease["spec"] = json!({
        "holderIdentity": identity,
        "leaseDurationSeconds": seconds(duration),
        "acquireTime": acquired,
        "renewTime": micro(now),
        "leaseTransitions": transitions,
    });
    lease
}

/// The Lease as who gives it back writes it: held by nobody, and soon over for who does not look at that.
pub(super) fn given_back(name: &str, namespace: &str, before: &Value, now: Timestamp) -> Value {
    let mut lease = frame(name, namespace, Some(before));
    lease["spec"] = json!({
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": micro(now),
        "renewTime": micro(now),
        "leaseTransitions": Record::of(before).transitions,
    });
    lease
}

fn frame(name: &str, namespace: &str, before: Option<&Value>) -> Value {
    let mut lease = before.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
        })
    });
    if let Some(metadata) = lease["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    lease
}

/// Whole seconds, at least one: the API has no others.
fn seconds(duration: Duration) -> u64 {
    duration.as_secs().max(1)
}

/// A moment as the API wants it here: with six digits behind the seconds.
fn micro(now: Timestamp) -> String {
    format!("{now:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    const TEN: Duration = Duration::from_secs(10);

    #[test]
    fn a_lease_that_changes_hands_counts_it_and_one_that_is_renewed_does_not() {
        let first = held("version", "ns", "a", TEN, None, at(0));
        assert_eq!(first["spec"]["leaseTransitions"], 0);
        assert_eq!(first["spec"]["renewTime"], "2023-11-14T22:13:20.000000Z");
        let renewed = held("version", "ns", "a", TEN, Some(&first), at(5));
        assert_eq!(renewed["spec"]["acquireTime"], first["spec"]["acquireTime"]);
        assert_ne!(renewed["spec"]["renewTime"], first["spec"]["renewTime"]);
        assert_eq!(renewed["spec"]["leaseTransitions"], 0);
        let taken = held("version", "ns", "b", TEN, Some(&renewed), at(20));
        assert_eq!(taken["spec"]["leaseTransitions"], 1);
        assert_eq!(taken["spec"]["acquireTime"], taken["spec"]["renewTime"]);
    }

    #[test]
    fn one_that_is_given_back_belongs_to_nobody_and_keeps_its_count() {
        let mut lease = held("version", "ns", "a", TEN, None, at(0));
        lease["spec"]["leaseTransitions"] = json!(7);
        lease["metadata"]["resourceVersion"] = json!("12");
        let free = given_back("version", "ns", &lease, at(1));
        assert_eq!(Record::of(&free).holder, "");
        assert_eq!(Record::of(&free).transitions, 7);
        assert_eq!(free["metadata"]["resourceVersion"], "12", "only the one that was seen is given back");
    }

    #[test]
    fn what_is_missing_in_a_lease_is_nothing() {
        assert_eq!(Record::of(&Value::Null), Record::default());
    }
}
