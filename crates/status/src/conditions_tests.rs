//! The conditions of the specification: its table of failures, and its scenarios.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use lockstep_api::Release;
use lockstep_graph::report::{Effect, RunError, condense, one_of, shown};

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn minutes_ago(minutes: i64) -> Timestamp {
    NOW - SignedDuration::from_mins(minutes)
}

/// Operators are named after what becomes of them; `machine-config` started `minutes` ago.
fn times(minutes: i64) -> StartTimes {
    let operators = [
        ("co-timeout", 60),
        ("co-bar-timeout", 60),
        ("co-not-timeout", 10),
        ("co-bar-not-timeout", 10),
        ("co-foo-not-timeout", 10),
        ("machine-config", minutes),
    ];
    operators.into_iter().map(|(name, minutes)| (name, minutes_ago(minutes))).collect()
}

fn report(failure: Option<Failure>) -> Report {
    Report {
        actual: Release { version: "1.2.3".to_owned(), ..Release::default() },
        run: Run { failure, ..Run::default() },
        ..Report::default()
    }
}

/// `status reason: message`, as far as there are such.
fn text(condition: &Condition) -> String {
    let Condition { status, reason, message, .. } = condition;
    let parts = [status.to_string(), reason.clone(), message.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" | ")
}

fn texts(report: &Report, has_history: bool, times: &StartTimes) -> [String; 3] {
    let before = Before { conditions: &Conditions::default(), has_history };
    conditions(report, before, Asked::default(), times, NOW).map(|condition| text(&condition))
}

/// Failing and Progressing on the way to a release.
fn on_the_way(failure: Option<Failure>, times: &StartTimes) -> (String, String) {
    let [_, failing, progressing] = texts(&report(failure), true, times);
    (failing, progressing)
}

fn updating(names: &[&str]) -> Failure {
    let (reason, message) = match names {
        [name] => {
            (reason::CLUSTER_OPERATOR_UPDATING, format!("Cluster operator {name} is updating versions"))
        }
        _ => (
            reason::CLUSTER_OPERATORS_UPDATING,
            format!("Cluster operators {} are updating versions", names.join(", ")),
        ),
    };
    let names = names.iter().map(|&name| name.to_owned()).collect();
    Failure { names, ..Failure::new(reason, message).with_effect(Effect::None) }
}

fn not_available(operator: &str) -> Failure {
    let message = format!("Cluster operator {operator} is not available");
    Failure::new(reason::CLUSTER_OPERATOR_NOT_AVAILABLE, message).about(operator).with_effect(Effect::Fail)
}

fn degraded(operator: &str) -> Failure {
    let message = format!("Cluster operator {operator} is degraded");
    Failure::new(reason::CLUSTER_OPERATOR_DEGRADED, message)
        .about(operator)
        .with_effect(Effect::FailAfterInterval)
}

fn both_not_available() -> Failure {
    let names = ["A", "B"].map(str::to_owned).to_vec();
    let message = "Cluster operators A, B are not available";
    let failure = Failure::new(reason::CLUSTER_OPERATORS_NOT_AVAILABLE, message).with_effect(Effect::Fail);
    Failure { names, parts: vec![not_available("A"), not_available("B")], ..failure }
}

fn several(parts: Vec<Failure>) -> Failure {
    one_of(condense(parts)).unwrap()
}

#[test]
fn an_operator_that_is_updating_is_a_wait_and_slow_after_its_window() {
    // Names; minutes of machine-config; Failing; what Progressing waits for.
    let slow = "Unknown | SlowClusterOperator | ";
    let rows: [(&[&str], i64, bool, &str); 9] = [
        (&["co-not-timeout"], 0, false, "waiting on co-not-timeout"),
        (&["co-timeout"], 0, true, "waiting on co-timeout over 30 minutes which is longer than expected"),
        (&["machine-config"], 60, false, "waiting on machine-config"),
        (
            &["machine-config"],
            120,
            true,
            "waiting on machine-config over 90 minutes which is longer than expected",
        ),
        (
            &["co-not-timeout", "co-bar-not-timeout", "co-foo-not-timeout"],
            0,
            false,
            "waiting on co-not-timeout, co-bar-not-timeout, co-foo-not-timeout",
        ),
        (
            &["co-timeout", "co-bar-not-timeout", "co-foo-not-timeout"],
            0,
            true,
            "waiting on co-timeout over 30 minutes which is longer than expected",
        ),
        (
            &["co-timeout", "co-bar-timeout", "co-foo-not-timeout"],
            0,
            true,
            "waiting on co-timeout, co-bar-timeout over 30 minutes which is longer than expected",
        ),
        (
            &["co-timeout", "co-bar-timeout", "machine-config"],
            60,
            true,
            "waiting on co-timeout, co-bar-timeout over 30 minutes which is longer than expected",
        ),
        (
            &["co-timeout", "co-bar-timeout", "machine-config"],
            120,
            true,
            "waiting on co-timeout, co-bar-timeout over 30 minutes and machine-config over 90 minutes which is longer \
             than expected",
        ),
    ];
    for (names, minutes, is_slow, wait) in rows {
        let failing = if is_slow { format!("{slow}{wait}") } else { "False".to_owned() };
        let word = if names.len() == 1 { "Operator" } else { "Operators" };
        let progressing = format!("True | Cluster{word}Updating | Working towards 1.2.3: {wait}");
        assert_eq!(on_the_way(Some(updating(names)), &times(minutes)), (failing, progressing), "{names:?}");
    }
}

#[test]
fn failures_of_the_table_that_are_no_wait() {
    let of_a = "ClusterOperatorNotAvailable | Cluster operator A is not available";
    let list = "MultipleErrors | Multiple errors are preventing progress:\n* Cluster operator A is not available\n* ";
    let rows = [
        (None, "False".to_owned(), "True | Working towards 1.2.3"),
        (
            Some(both_not_available()),
            "True | ClusterOperatorsNotAvailable | Cluster operators A, B are not available".to_owned(),
            "True | ClusterOperatorsNotAvailable | Unable to apply 1.2.3: some cluster operators are not available",
        ),
        (
            Some(not_available("A")),
            format!("True | {of_a}"),
            "True | ClusterOperatorNotAvailable | Unable to apply 1.2.3: the cluster operator A is not available",
        ),
        (
            Some(degraded("A").with_effect(Effect::Report)),
            "True | ClusterOperatorDegraded | Cluster operator A is degraded".to_owned(),
            "True | ClusterOperatorDegraded | Unable to apply 1.2.3: Cluster operator A is degraded",
        ),
        (
            Some(degraded("co-timeout")),
            "True | ClusterOperatorDegraded | Cluster operator co-timeout is degraded".to_owned(),
            "True | ClusterOperatorDegraded | Unable to apply 1.2.3: wait has exceeded 40 minutes for these operators: \
             co-timeout",
        ),
        (
            Some(degraded("co-not-timeout")),
            "False".to_owned(),
            "True | ClusterOperatorDegraded | Working towards 1.2.3: waiting up to 40 minutes on co-not-timeout",
        ),
        (
            Some(several(vec![not_available("A"), degraded("B")])),
            format!("True | {list}Cluster operator B is degraded"),
            "True | MultipleErrors | Unable to apply 1.2.3: Cluster operator A is not available (and 1 more)",
        ),
        (
            Some(several(vec![not_available("A"), updating(&["B"])])),
            format!("True | {of_a}"),
            "True | MultipleErrors | Unable to apply 1.2.3: Cluster operator A is not available (and 1 more)",
        ),
        (
            Some(several(vec![not_available("A"), updating(&["B"]), degraded("C")])),
            format!("True | {list}Cluster operator C is degraded"),
            "True | MultipleErrors | Unable to apply 1.2.3: Cluster operator A is not available (and 2 more)",
        ),
    ];
    let reference = "an unknown error has occurred: MultipleErrors";
    for (failure, failing, progressing) in rows {
        let found = on_the_way(failure, &times(0));
        assert!(!found.1.contains(reference), "{}", found.1);
        assert_eq!(found, (failing, progressing.to_owned()));
    }
}

#[test]
fn a_plain_error_fails_with_its_message_and_is_told() {
    let (failing, progressing) = on_the_way(Some(Failure::new("", "error has happened")), &times(0));
    assert_eq!(failing, "True | error has happened");
    let reference = "True | Unable to apply 1.2.3: an error occurred";
    assert_ne!(progressing, reference);
    assert_eq!(progressing, "True | Unable to apply 1.2.3: error has happened");
}

#[test]
fn a_list_of_waits_does_not_fail_and_is_progress() {
    let waits = several(vec![updating(&["A"]), updating(&["B"])]);
    assert_eq!(waits.reason, "MultipleErrors");
    let (failing, progressing) = on_the_way(Some(waits), &times(0));
    assert_eq!(failing, "False");
    let reference =
        "True | MultipleErrors | Unable to apply 1.2.3: an unknown error has occurred: MultipleErrors";
    assert_ne!(progressing, reference);
    assert_eq!(progressing, "True | MultipleErrors | Working towards 1.2.3: waiting on A, B");
}

#[test]
fn nothing_is_left_out_or_given_time_when_a_release_is_kept_or_nothing_is_recorded() {
    let failures = [
        Failure::new("", "error has happened"),
        updating(&["co-not-timeout"]),
        updating(&["co-timeout", "machine-config"]),
        both_not_available(),
        degraded("co-not-timeout"),
        several(vec![not_available("A"), updating(&["B"])]),
        several(vec![updating(&["A"]), updating(&["B"])]),
    ];
    let mut seen = BTreeSet::new();
    for failure in failures {
        let whole =
            Condition::new("Failing", ConditionStatus::True).because(failure.reason, &failure.message);
        for (reconciling, has_history) in [(true, true), (true, false), (false, false)] {
            let report = Report { reconciling, ..report(Some(failure.clone())) };
            let [_, failing, progressing] = texts(&report, has_history, &times(120));
            assert_eq!(failing, text(&whole), "{reconciling} {has_history}");
            let start = progressing.split(" | ").last().unwrap().split(": ").next().unwrap().to_owned();
            seen.insert((reconciling, progressing.split(" | ").next().unwrap().to_owned(), start));
        }
    }
    let own = |reconciling, status: &str, start: &str| (reconciling, status.to_owned(), start.to_owned());
    let expected =
        [own(false, "True", "Unable to apply 1.2.3"), own(true, "False", "Error while reconciling 1.2.3")];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn progress_is_counted_in_whole_percent_and_the_wait_stands_behind_it() {
    let with = |failure, done, total| {
        let report = report(failure);
        let [_, _, progressing] =
            texts(&Report { run: Run { done, total, ..report.run }, ..report }, true, &times(0));
        progressing
    };
    assert_eq!(with(None, 0, 1000), "True | Working towards 1.2.3");
    assert_eq!(with(None, 334, 1000), "True | Working towards 1.2.3: 334 of 1000 done (33% complete)");
    assert_eq!(
        with(Some(updating(&["dns"])), 334, 1000),
        "True | ClusterOperatorUpdating | Working towards 1.2.3: 334 of 1000 done (33% complete), waiting on dns"
    );
}

#[test]
fn a_completed_release_is_available_and_stays_so_on_the_way_to_the_next() {
    let mut done = Report { reconciling: true, ..report(None) };
    done.run.completed = 1;
    let times = StartTimes::default();
    let expected = ["True | Done applying 1.2.3", "False", "False | Cluster version is 1.2.3"];
    assert_eq!(texts(&done, true, &times), expected);

    let mut known = Conditions::default();
    let before = Before { conditions: &Conditions::default(), has_history: true };
    known.merge(conditions(&done, before, Asked::default(), &times, NOW), NOW);
    let next =
        Report { actual: Release { version: "1.2.4".to_owned(), ..Release::default() }, ..report(None) };
    let before = Before { conditions: &known, has_history: true };
    let [available, _, progressing] = conditions(&next, before, Asked::default(), &times, NOW);
    assert_eq!(text(&available), "True | Done applying 1.2.3");
    assert_eq!(text(&progressing), "True | Working towards 1.2.4");
    assert_eq!(texts(&next, true, &times)[0], "False", "where nothing was ever completed");
}

#[test]
fn a_release_without_a_version_is_named_by_its_image() {
    let named = |image: &str| {
        let actual = Release { image: image.to_owned(), ..Release::default() };
        texts(&Report { actual, ..report(None) }, true, &StartTimes::default())[2].clone()
    };
    assert_eq!(named("quay.io/a@sha256:1"), "True | Working towards quay.io/a@sha256:1");
    assert_eq!(named(""), "True | Working towards <unknown>");
}

#[test]
fn scenario_of_an_installation_in_which_two_files_fail() {
    let fails = |name: &str, effect| {
        let failure = Failure::new("", format!("Failed to reconcile {name} resource"));
        RunError::Failed(failure.with_effect(effect))
    };
    let failure = shown([fails("10-a-file", Effect::None), fails("20-b-file", Effect::Fail)]);
    let report = Report {
        actual: Release { version: "1.0.0-abc".to_owned(), ..Release::default() },
        run: Run { failure, done: 1, total: 3, initial: true, ..Run::default() },
        ..Report::default()
    };
    let [available, failing, progressing] = texts(&report, true, &StartTimes::default());
    assert_eq!(available, "False");
    assert_eq!(failing, "True | Failed to reconcile 20-b-file resource");
    let reference =
        "True | MultipleErrors | Unable to apply 1.0.0-abc: an unknown error has occurred: MultipleErrors";
    assert_ne!(progressing, reference);
    assert_eq!(
        progressing,
        "True | MultipleErrors | Unable to apply 1.0.0-abc: Failed to reconcile 20-b-file resource (and 1 more)"
    );
}

#[test]
fn scenario_of_a_kept_release_whose_third_manifest_fails() {
    let message = "Could not update test \"file-yml\" (3 of 3)";
    let report = Report {
        actual: Release { version: "1.0.0-abc".to_owned(), ..Release::default() },
        reconciling: true,
        run: Run {
            failure: Some(Failure::new(reason::UPDATE_PAYLOAD_FAILED, message)),
            done: 2,
            total: 3,
            ..Run::default()
        },
        ..Report::default()
    };
    let mut known = Conditions::default();
    known.set(Condition::new(condition::AVAILABLE, ConditionStatus::True).because("", "Done"), NOW);
    let before = Before { conditions: &known, has_history: true };
    assert_eq!(
        conditions(&report, before, Asked::default(), &StartTimes::default(), NOW)
            .map(|condition| text(&condition)),
        [
            "True | Done",
            "True | UpdatePayloadFailed | Could not update test \"file-yml\" (3 of 3)",
            "False | UpdatePayloadFailed | Error while reconciling 1.0.0-abc: the update could not be applied",
        ]
    );
}

#[test]
fn a_spec_that_cannot_be_used_stops_what_does_not_fail() {
    let invalid = Asked { is_invalid: true, ..Asked::default() };
    let told = |report: &Report| {
        let before = Before { conditions: &Conditions::default(), has_history: true };
        let [_, _, progressing] = conditions(report, before, invalid, &StartTimes::default(), NOW);
        text(&progressing)
    };
    let kept = |failure| Report { reconciling: true, ..report(failure) };
    let of_spec = "InvalidClusterVersion | ";
    assert_eq!(
        told(&kept(None)),
        format!("False | {of_spec}Stopped at 1.2.3: the cluster version is invalid")
    );
    let way = format!("True | {of_spec}Reconciling 1.2.3: the cluster version is invalid");
    assert_eq!(told(&report(None)), way);
    assert_eq!(told(&report(Some(updating(&["dns"])))), way, "a wait is not a failure");
    let fails =
        "ClusterOperatorNotAvailable | Unable to apply 1.2.3: the cluster operator A is not available";
    assert_eq!(told(&report(Some(not_available("A")))), format!("True | {fails}"));
    let fails = "ClusterOperatorNotAvailable | Error while reconciling 1.2.3: the cluster operator A is not available";
    assert_eq!(told(&kept(Some(not_available("A")))), format!("False | {fails}"));
}

#[test]
fn a_pause_is_told_behind_whatever_is_said() {
    let paused = Asked { is_paused: true, ..Asked::default() };
    let told = |report: &Report| {
        let before = Before { conditions: &Conditions::default(), has_history: true };
        let [_, failing, progressing] = conditions(report, before, paused, &StartTimes::default(), NOW);
        assert_eq!(text(&failing), "False", "a pause is no failure");
        text(&progressing)
    };
    let pause = "; paused: nothing new starts until the annotation lockstep.dev/paused is gone";
    assert_eq!(told(&report(None)), format!("True | Working towards 1.2.3{pause}"));
    let kept = Report { reconciling: true, ..report(None) };
    assert_eq!(told(&kept), format!("False | Cluster version is 1.2.3{pause}"));
}

#[test]
fn completed_runs_of_another_release_do_not_complete_this_one() {
    let mut next = report(None);
    next.run.completed = 2;
    let [available, _, progressing] = texts(&next, true, &StartTimes::default());
    assert_eq!((available.as_str(), progressing.as_str()), ("False", "True | Working towards 1.2.3"));
}
