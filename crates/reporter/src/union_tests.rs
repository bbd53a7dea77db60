//! The vectors of the specification, and what they leave open.

use std::time::Duration;

use jiff::SignedDuration;

use super::ConditionStatus::{False, True, Unknown};
use super::*;

fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).unwrap()
}

/// A part with its age in seconds.
fn part(kind: &str, status: ConditionStatus, age: i64, reason: &str, message: &str) -> Condition {
    let since = now() - SignedDuration::from_secs(age);
    Condition {
        last_transition_time: Some(since.into()),
        ..Condition::new(kind, status).because(reason, message)
    }
}

fn inertia() -> Inertia {
    Inertia::default()
        .exactly("TypeCDegraded", Duration::from_mins(5))
        .exactly("TypeDDegraded", Duration::from_mins(1))
}

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

/// Name, parts, and status, reason and message of the union.
type Vector = (&'static str, Vec<Condition>, (ConditionStatus, &'static str, &'static str));

fn degraded() -> Vec<Vector> {
    let a = |status, age| part("TypeADegraded", status, age, "", "a message");
    let b = |status| part("TypeBDegraded", status, 2, "", "b message\nanother b message");
    let c = |status| part("TypeCDegraded", status, 3 * MINUTE, "", "c message");
    let d = |status, age| part("TypeDDegraded", status, age, "", "d message");
    let quiet = |kind, age| part(kind, False, age, "", "");
    vec![
        ("none", vec![], (Unknown, "NoData", "")),
        ("a young one", vec![a(True, 2)], (False, "AsExpected", "TypeADegraded: a message")),
        ("an old one", vec![a(True, 3 * MINUTE)], (True, "TypeA", "TypeADegraded: a message")),
        (
            "an old one and a good one",
            vec![a(True, 3 * MINUTE), quiet("TypeBDegraded", DAY)],
            (True, "TypeA", "TypeADegraded: a message"),
        ),
        (
            "three that are young for their rules",
            vec![quiet("TypeADegraded", DAY), b(True), c(True), d(True, 2)],
            (
                False,
                "AsExpected",
                "TypeBDegraded: b message\nTypeBDegraded: another b message\nTypeCDegraded: c message\nTypeDDegraded: d message",
            ),
        ),
        (
            "one that is old for its rule takes the young one with it",
            vec![
                quiet("TypeADegraded", DAY),
                b(True),
                quiet("TypeCDegraded", 3 * MINUTE),
                d(True, 3 * MINUTE),
            ],
            (
                True,
                "TypeB::TypeD",
                "TypeBDegraded: b message\nTypeBDegraded: another b message\nTypeDDegraded: d message",
            ),
        ),
        (
            "one that is old for its rule takes two with it",
            vec![quiet("TypeADegraded", DAY), b(True), c(True), d(True, 3 * MINUTE)],
            (
                True,
                "TypeB::TypeC::TypeD",
                "TypeBDegraded: b message\nTypeBDegraded: another b message\nTypeCDegraded: c message\nTypeDDegraded: d message",
            ),
        ),
    ]
}

fn check(kind: &str, good: &ConditionStatus, inertia: Option<&Inertia>, vectors: Vec<Vector>) {
    for (name, parts, (status, reason, message)) in vectors {
        let found = union(kind, good, &parts, inertia, now());
        let found = (&found.status, found.reason.as_str(), found.message.as_str());
        assert_eq!(found, (&status, reason, message), "{kind}: {name}");
    }
}

#[test]
fn degraded_follows_the_vectors_of_the_specification() {
    check("Degraded", &False, Some(&inertia()), degraded());
}

#[test]
fn conditions_without_inertia_follow_the_vectors_of_the_specification() {
    let progressing = vec![(
        "a young one counts",
        vec![part("TypeAProgressing", True, 2, "", "a message")],
        (True, "TypeA", "TypeAProgressing: a message"),
    )];
    check("Progressing", &False, None, progressing);
    let kind = "EvaluationConditionsDetected";
    let detected = vec![(
        "a type without a prefix",
        vec![part(kind, True, 2, "PodSecurityReadinessController", "")],
        (True, "_PodSecurityReadinessController", ""),
    )];
    check(kind, &False, None, detected);
    let a = |status, reason| part("TypeAAvailable", status, 2, reason, "");
    let b = || part("TypeBAvailable", Unknown, 2, "", "");
    let available = vec![
        ("unknown is bad", vec![a(True, ""), b()], (Unknown, "TypeB", "")),
        ("false beats unknown", vec![a(False, "Something"), b()], (False, "TypeA_Something::TypeB", "")),
        ("all good", vec![a(True, "")], (True, "AsExpected", ALL_IS_WELL)),
    ];
    check("Available", &True, None, available);
}

#[test]
fn order_of_the_parts_does_not_matter() {
    for (name, parts, _) in degraded() {
        let back: Vec<Condition> = parts.iter().rev().cloned().collect();
        let of = |parts: &[Condition]| union("Degraded", &False, parts, Some(&inertia()), now());
        assert_eq!(of(&parts), of(&back), "{name}");
    }
}

#[test]
fn a_line_that_stands_twice_in_a_message_is_told_once() {
    let parts = [part("ADegraded", True, 300, "", "x\ny\nx"), part("BDegraded", True, 300, "", "x")];
    let found = union("Degraded", &False, &parts, None, now());
    assert_eq!(found.message, "ADegraded: x\nADegraded: y\nBDegraded: x");
}

#[test]
fn a_part_from_the_future_is_young_and_one_without_a_time_old() {
    let of = |part| union("Degraded", &False, [&part], Some(&inertia()), now()).status;
    assert_eq!(of(part("ADegraded", True, -DAY, "", "")), False);
    assert_eq!(of(Condition::new("ADegraded", True)), True);
}

#[test]
fn a_part_exactly_as_old_as_its_patience_is_still_young() {
    let of = |age| {
        union("Degraded", &False, [&part("ADegraded", True, age, "", "")], Some(&inertia()), now()).status
    };
    assert_eq!((of(2 * MINUTE), of(2 * MINUTE + 1)), (False, True));
}
