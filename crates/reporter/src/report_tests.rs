//! Reports over live statuses.

use lockstep_api::ConditionStatus::{False, True, Unknown};
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn empty() -> ClusterOperatorStatus {
    ClusterOperatorStatus::default()
}

fn reporting(versions: &[(&str, &str)]) -> ClusterOperatorStatus {
    ClusterOperatorStatus {
        versions: versions.iter().map(|(name, text)| version(*name, *text)).collect(),
        ..empty()
    }
}

fn underway() -> Rollout {
    Rollout::Underway("1 of 2 replicas are new".to_owned())
}

fn parts(list: &[(&str, ConditionStatus)], since: i64) -> Conditions {
    let mut parts = Conditions::default();
    parts.merge(list.iter().map(|(kind, status)| Condition::new(*kind, status.clone())), at(since));
    parts
}

fn statuses(status: &ClusterOperatorStatus) -> Vec<String> {
    status.conditions.iter().map(|condition| format!("{}={}", condition.kind, condition.status)).collect()
}

#[test]
fn operator_version_stays_until_every_operand_has_moved() {
    let live = reporting(&[("operator", "1.0.0"), ("server", "1.0.0"), ("agent", "1.0.0")]);
    let report = |server, agent| {
        let report = Report::new("example", "1.1.0").with_version("operator-image", "new");
        report.operand("server", "1.1.0", server).operand("agent", "1.1.0", agent).over(&live, at(9)).unwrap()
    };
    let versions = |status: &ClusterOperatorStatus| {
        ["operator", "operator-image", "server", "agent"]
            .map(|name| status.version(name).unwrap_or("-").to_owned())
    };
    assert_eq!(versions(&report(underway(), underway())), ["1.0.0", "-", "1.0.0", "1.0.0"]);
    assert_eq!(versions(&report(Rollout::Done, underway())), ["1.0.0", "-", "1.1.0", "1.0.0"]);
    assert_eq!(versions(&report(Rollout::Done, Rollout::Done)), ["1.1.0", "new", "1.1.0", "1.1.0"]);
}

#[test]
fn nothing_is_reported_of_a_first_version_that_is_not_there_yet() {
    let report = Report::new("example", "1.0.0").operand("server", "1.0.0", underway());
    assert!(report.over(&empty(), at(9)).unwrap().versions.is_empty());
}

#[test]
fn an_operand_that_is_not_ready_for_a_moment_neither_goes_back_nor_progresses() {
    let report =
        Report::new("example", "1.1.0").operand("server", "1.1.0", Rollout::Unready("1 of 2".into()));
    let before = reporting(&[("operator", "1.1.0"), ("server", "1.1.0")]);
    let status = report.over(&before, at(9)).unwrap();
    assert_eq!((status.version("operator"), status.version("server")), (Some("1.1.0"), Some("1.1.0")));
    assert!(status.conditions.is_false("Progressing"));
    let first = report.over(&reporting(&[("operator", "1.0.0"), ("server", "1.0.0")]), at(9)).unwrap();
    assert_eq!((first.version("operator"), first.version("server")), (Some("1.0.0"), Some("1.0.0")));
    let progressing = first.conditions.find("Progressing").unwrap();
    assert_eq!((&progressing.status, progressing.reason.as_str()), (&True, "Server_RollingOut"));
    assert_eq!(progressing.message, "ServerProgressing: 1 of 2");
}

#[test]
fn versions_of_others_stay_and_a_repeated_one_of_ours_goes() {
    let live = reporting(&[("operator", "1"), ("stranger", "7"), ("operator", "0")]);
    let status = Report::new("example", "2").over(&live, at(9)).unwrap();
    assert_eq!(status.versions, [version("operator", "2"), version("stranger", "7")]);
}

#[test]
fn core_conditions_are_always_there_and_optional_ones_when_somebody_said_them() {
    let status = Report::new("example", "1").over(&empty(), at(9)).unwrap();
    assert_eq!(statuses(&status), ["Degraded=Unknown", "Progressing=Unknown", "Available=Unknown"]);
    let said = Report::new("example", "1")
        .not_upgradeable("Old", "Move the data first")
        .over(&status, at(10))
        .unwrap();
    assert_eq!(statuses(&said)[3], "Upgradeable=False");
    // A word that is no longer said must not hold the cluster for ever.
    let silent = Report::new("example", "1").over(&said, at(11)).unwrap();
    assert_eq!(statuses(&silent)[3], "Upgradeable=Unknown");
    let fine = Report::new("example", "1").upgradeable().over(&silent, at(12)).unwrap();
    assert_eq!(statuses(&fine)[3], "Upgradeable=True");
}

#[test]
fn time_moves_with_the_status_alone() {
    let report = |message: &str, status| {
        Report::new("example", "1").say(Condition::new("Available", status).because("Why", message))
    };
    let first = report("a", True).over(&empty(), at(10)).unwrap();
    let other_words = report("b", True).over(&first, at(20)).unwrap();
    let since = |status: &ClusterOperatorStatus| {
        status.conditions.find("Available").unwrap().last_transition_time.unwrap().timestamp().as_second()
    };
    assert_eq!((since(&first), since(&other_words)), (10, 10));
    assert_eq!(since(&report("c", False).over(&other_words, at(30)).unwrap()), 30);
}

#[test]
fn the_same_report_later_is_the_same_status() {
    let parts = parts(&[("ServerAvailable", True), ("ServerDegraded", False)], 1);
    let report = Report::new("example", "1")
        .parts(&parts)
        .operand("server", "1", Rollout::Done)
        .related("", "pods", "a", "");
    let first = report.over(&empty(), at(10)).unwrap();
    assert_eq!(report.over(&first, at(1000)).unwrap(), first);
    let read_back = serde_json::from_value(serde_json::to_value(&first).unwrap()).unwrap();
    assert_eq!(report.over(&read_back, at(2000)).unwrap(), read_back);
}

#[test]
fn conditions_and_fields_of_others_stay() {
    let live: ClusterOperatorStatus = serde_json::from_value(json!({
        "conditions": [{"type": "RecentBackup", "status": "True", "lastTransitionTime": "1970-01-01T00:00:01Z", "x": 1}],
        "relatedObjects": [{"group": "", "resource": "pods", "namespace": "a", "name": "", "y": 2}],
        "extension": {"z": 3}, "future": 4,
    }))
    .unwrap();
    let status = Report::new("example", "1").related("", "pods", "a", "").over(&live, at(9)).unwrap();
    let written = serde_json::to_value(&status).unwrap();
    assert_eq!(
        written["conditions"][0],
        json!({"type": "RecentBackup", "status": "True",
        "lastTransitionTime": "1970-01-01T00:00:01Z", "x": 1})
    );
    assert_eq!(written["relatedObjects"][0]["y"], json!(2));
    assert_eq!((&written["extension"], &written["future"]), (&json!({"z": 3}), &json!(4)));
}

#[test]
fn list_of_related_objects_is_kept_when_nothing_is_known_and_replaced_when_something_is() {
    let live = Report::new("example", "1").related("", "pods", "a", "").over(&empty(), at(9)).unwrap();
    let silent = Report::new("example", "1").over(&live, at(10)).unwrap();
    assert_eq!(silent.related_objects, live.related_objects);
    let other = Report::new("example", "1").related("", "nodes", "", "").over(&live, at(10)).unwrap();
    assert_eq!(other.related_objects.len(), 1);
    assert_eq!(other.related_objects[0].resource, "nodes");
}

#[test]
fn degraded_waits_for_the_inertia_but_does_not_go_back_because_the_operator_restarted() {
    let bad = Report::new("example", "1").parts(&parts(&[("NodeDegraded", True)], 0));
    let young = bad.over(&empty(), at(60)).unwrap();
    assert!(young.conditions.is_false("Degraded"));
    let old = bad.over(&young, at(121)).unwrap();
    assert!(old.conditions.is_true("Degraded"));
    // After a restart the part is young again.
    let restarted = Report::new("example", "1").parts(&parts(&[("NodeDegraded", True)], 200));
    assert_eq!(restarted.over(&old, at(201)).unwrap(), old);
}

#[test]
fn unmanaged_operator_knows_nothing_and_keeps_its_versions() {
    let live = Report::new("example", "1").upgradeable().over(&empty(), at(1)).unwrap();
    let status = Report::new("example", "2").unmanaged().over(&live, at(9)).unwrap();
    assert!(status.conditions.iter().all(|found| found.status == Unknown && found.reason == "Unmanaged"));
    assert_eq!((status.conditions.len(), status.version("operator")), (4, Some("1")));
}

#[test]
fn report_that_is_not_valid_gives_no_status() {
    let word = |kind: &str, status, reason: &str, message: &str| {
        Report::new("example", "1").say(Condition::new(kind, status).because(reason, message))
    };
    let wrong = [
        (Report::new("", "1"), "`` is no name"),
        (Report::new("Example", "1"), "`Example` is no name"),
        (Report::new("example", ""), "the version `operator` is ``"),
        (Report::new("example", "1").operand("operator", "1", Rollout::Done), "`operator` is given twice"),
        (Report::new("example", "1").related("apps", "", "a", "b"), "group `apps` named `b` has no resource"),
        (word("Available", False, "", "Down"), "Available=False has no reason"),
        (word("Degraded", True, "Broken", ""), "Degraded=True has no message"),
        (word("Progressing", False, "two words", "x"), "no single word"),
    ];
    for (report, text) in wrong {
        let error = report.over(&empty(), at(1)).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}
