//! What is told of a run at which moment.

use lockstep_apply::progress::Wait;
use serde_json::json;

use super::*;

fn tracker() -> Tracker {
    let expected = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "dns"},
        "status": {"versions": [{"name": "operator", "version": "2"}]}});
    let texts = ["configmap \"a/b\" (1 of 2)", "clusteroperator \"dns\" (2 of 2)"].map(str::to_owned);
    let gate = GateTask::new(texts[1].clone(), expected);
    Tracker::new(texts.to_vec(), BTreeMap::from([(1, gate)]))
}

fn tell(tracker: &mut Tracker, what: Happening, now: Instant) {
    tracker.on(&Event { at: 0.0, what }, now);
}

fn waits(task: TaskId, reason: WaitReason) -> Happening {
    let sentence = "it waits".to_owned();
    Happening::Waiting { task, wait: Wait { reason, sentence, provider: None } }
}

fn dns(available: &str, version: &str) -> Value {
    json!({"kind": "ClusterOperator", "metadata": {"name": "dns"}, "status": {
        "conditions": [{"type": "Available", "status": available}, {"type": "Degraded", "status": "False"}],
        "versions": [{"name": "operator", "version": version}]}})
}

fn told(tracker: &Tracker, mode: Mode, operator: &Value, now: Instant) -> Option<&'static str> {
    tracker.failure(mode, |_| Some(operator), now).map(|failure| failure.reason)
}

#[test]
fn who_needs_time_is_told_at_once_and_a_problem_only_when_it_lasts() {
    let (mut tracker, start) = (tracker(), Instant::now());
    tell(&mut tracker, waits(1, WaitReason::OperatorUpdating), start);
    assert_eq!(told(&tracker, Mode::Updating, &dns("True", "1"), start), Some("ClusterOperatorUpdating"));
    assert_eq!(told(&tracker, Mode::Updating, &dns("False", "1"), start), None);
    let later = start + PATIENCE;
    assert_eq!(tracker.next_look(start), Some(later));
    assert_eq!(
        told(&tracker, Mode::Updating, &dns("False", "1"), later),
        Some("ClusterOperatorNotAvailable")
    );
    assert_eq!(tracker.waited_operators(), ["dns"]);
}

#[test]
fn a_failed_task_is_told_until_it_is_done() {
    let (mut tracker, start) = (tracker(), Instant::now());
    let failed = |retry_at| Happening::Failed {
        task: 0,
        reason: "UpdatePayloadResourceInvalid".to_owned(),
        sentence: "spec.x is wrong".to_owned(),
        retry_at,
    };
    tell(&mut tracker, failed(Some(1.0)), start);
    tell(&mut tracker, Happening::Retried { task: 0, failures: 1 }, start + PATIENCE);
    tell(&mut tracker, failed(None), start + PATIENCE);
    let failure = tracker.failure(Mode::Updating, |_| None, start + PATIENCE).unwrap();
    assert_eq!(failure.reason, "UpdatePayloadResourceInvalid");
    assert_eq!(failure.message, "Could not update configmap \"a/b\" (1 of 2): spec.x is wrong");
    tell(&mut tracker, Happening::Done { task: 0 }, start + PATIENCE);
    assert_eq!(told(&tracker, Mode::Updating, &dns("True", "2"), start + PATIENCE * 2), None);
    assert_eq!((tracker.done(), tracker.total(), tracker.is_complete()), (1, 2, false));
}

#[test]
fn a_release_that_is_kept_has_all_its_operators_looked_at() {
    let (mut tracker, start) = (tracker(), Instant::now());
    for task in 0..2 {
        tell(&mut tracker, Happening::Done { task }, start);
    }
    assert!(tracker.is_complete());
    let (well, away) = (dns("True", "2"), dns("False", "2"));
    tracker.look(Mode::Reconciling, |_| Some(&well), start);
    assert_eq!(told(&tracker, Mode::Reconciling, &well, start), None);
    tracker.look(Mode::Reconciling, |_| Some(&away), start);
    assert_eq!(told(&tracker, Mode::Reconciling, &away, start), None, "it may be back in a moment");
    let later = start + PATIENCE;
    assert_eq!(tracker.next_look(start), Some(later));
    tracker.look(Mode::Reconciling, |_| Some(&away), later);
    assert_eq!(told(&tracker, Mode::Reconciling, &away, later), Some("ClusterOperatorNotAvailable"));
    tracker.look(Mode::Reconciling, |_| Some(&well), later);
    assert_eq!(told(&tracker, Mode::Reconciling, &well, later), None);
}

#[test]
fn a_drift_that_stays_is_a_problem() {
    let (mut tracker, start) = (tracker(), Instant::now());
    let drifted =
        Happening::Drifted { object: "ConfigMap a/b".to_owned(), fields: Vec::new(), managers: Vec::new() };
    tell(&mut tracker, drifted, start);
    let later = start + LONG_PATIENCE;
    let failure = tracker.failure(Mode::Reconciling, |_| None, later).unwrap();
    assert!(failure.message.starts_with("ConfigMap a/b was changed"), "{failure}");
    tell(&mut tracker, Happening::Repaired { object: "ConfigMap a/b".to_owned(), seconds: 1.0 }, later);
    assert!(tracker.failure(Mode::Reconciling, |_| None, later).is_none());
}

#[test]
fn deletions_that_hang_are_named() {
    let (mut tracker, start) = (tracker(), Instant::now());
    tell(&mut tracker, waits(0, WaitReason::Deletion), start);
    assert_eq!(tracker.deletions(), ["configmap \"a/b\" (1 of 2)"]);
    assert_eq!(tracker.waits(), BTreeMap::from([("deletion".to_owned(), 1)]));
}

#[test]
fn a_reason_that_nobody_knows_is_a_plain_failure() {
    assert_eq!(known("PrerequisiteMissing"), "UpdatePayloadFailed");
    assert_eq!(known("WorkloadNotAvailable"), "WorkloadNotAvailable");
}
