//! The preconditions of the specification, one by one, and what becomes of them together.

use serde_json::{Value, json};

use super::*;

/// A cluster at a version, with a status besides.
fn at(current: &str, status: &Value) -> ClusterVersion {
    let mut object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version"}, "spec": {"clusterID": ""},
        "status": {"desired": {"version": current, "image": current}}});
    for (key, value) in status.as_object().unwrap() {
        object["status"][key] = value.clone();
    }
    serde_json::from_value(object).unwrap()
}

/// `C` or `P` and a version, newest first; the image is the version, unless one follows after `=`.
fn history(entries: &[&str]) -> Value {
    let entry = |text: &&str| {
        let (state, rest) = text.split_at(1);
        let (version, image) = rest.split_once('=').unwrap_or((rest, rest));
        let state = if state == "C" { "Completed" } else { "Partial" };
        json!({"state": state, "startedTime": "2026-01-01T00:00:00Z", "version": version, "image": image})
    };
    json!(entries.iter().map(entry).collect::<Vec<_>>())
}

fn conditions(list: &[(&str, &str, &str, &str)]) -> Value {
    let one = |(kind, status, reason, message): &(&str, &str, &str, &str)| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    json!(list.iter().map(one).collect::<Vec<_>>())
}

/// `blocks reason: message` or `warns …`, of one precondition.
fn found(name: &str, version: &ClusterVersion, target: &str) -> Option<String> {
    let finding = check(version, target).into_iter().find(|finding| finding.name == name)?;
    let word = if finding.is_blocking { "blocks" } else { "warns" };
    Some(format!("{word} {}: {}", finding.reason, finding.message))
}

#[test]
fn an_older_release_is_reached_only_as_the_one_before_and_within_its_minor() {
    let rollback = |current: &str, entries: &[&str], target: &str| {
        let status = json!({"history": history(entries)});
        found("ClusterVersionRollback", &at(current, &status), target)
    };
    assert_eq!(rollback("1.0.1", &["C1.0.1", "C1.0.0"], "1.0.0"), None);
    assert_eq!(rollback("1.0.0", &["C1.0.0"], "1.0.1"), None);
    assert_eq!(rollback("1.0.0", &["C1.0.0"], "1.0.0"), None);
    let blocks = |text: &str| Some(format!("blocks LowDesiredVersion: {text}"));
    assert_eq!(
        rollback("1.0.1", &[], "1.0.0"),
        blocks(
            "1.0.0 is less than the current target 1.0.1, and the cluster has no previous Semantic Version"
        )
    );
    assert_eq!(
        rollback("1.0.1", &["C1.0.1", "Cnot-semantic"], "1.0.0"),
        blocks(
            "1.0.0 is less than the current target 1.0.1, and the cluster has no previous Semantic Version"
        )
    );
    assert_eq!(
        rollback("1.0.2", &["P1.0.2", "P1.0.1", "C1.0.0"], "1.0.0"),
        blocks(
            "1.0.0 is less than the current target 1.0.2, and the only supported rollback is to the cluster's previous \
             version 1.0.1 (1.0.1)"
        )
    );
    assert_eq!(
        rollback("1.0.1", &["C1.0.1", "C1.0.1=single", "C1.0.0"], "1.0.0"),
        blocks(
            "1.0.0 is less than the current target 1.0.1, and the only supported rollback is to the cluster's previous \
             version 1.0.1 (single)"
        )
    );
    let other_minor = "and matches the cluster's previous version, but rollbacks that change major or minor versions are \
                       not recommended";
    for (from, to) in [("2.0.0", "1.0.0"), ("1.1.0", "1.0.0")] {
        let expected = blocks(&format!("{to} is less than the current target {from} {other_minor}"));
        assert_eq!(rollback(from, &[&format!("C{from}"), &format!("C{to}")], to), expected);
    }
}

#[test]
fn a_hop_is_one_minor_version_at_most() {
    let hop = |from: &str, to: &str| found("ClusterVersionGiantHop", &at(from, &json!({})), to);
    for (from, to) in [
        ("1.0.0", "1.0.1"),
        ("1.0.0", "1.0.0"),
        ("1.0.0", "1.1.0"),
        ("4.0.0", "5.0.0"),
        ("4.18.0", "5.0.3"),
        ("5.0.0", "4.20.0"),
    ] {
        assert_eq!(hop(from, to), None, "{from} {to}");
    }
    assert_eq!(
        hop("1.0.0", "2.0.0").unwrap(),
        "blocks MajorVersionUpdate: 2.0.0 has a larger major version than the current target 1.0.0 (2 > 1), and only \
         updates within the current major version are supported."
    );
    assert_eq!(
        hop("4.0.0", "5.1.0").unwrap(),
        "blocks MajorVersionUpdate: 5.1.0 has a larger major version than the current target 4.0.0 (5 > 4), and only \
         updates within the current major version or to 5.0 are supported."
    );
    assert_eq!(
        hop("4.0.0", "4.2.0").unwrap(),
        "blocks MultipleMinorVersionsUpdate: 4.2.0 is more than one minor version beyond the current target 4.0.0 \
         (4.2 > 4.(0+1)), and only updates within the current minor version or to the next minor version are supported."
    );
}

#[test]
fn a_cluster_that_is_not_upgradeable_stays_at_its_minor_version() {
    let not = || conditions(&[("Upgradeable", "False", "Why", "because")]);
    let check = |from: &str, to: &str| {
        found("ClusterVersionUpgradeable", &at(from, &json!({"conditions": not()})), to)
    };
    for (from, to) in [("4.1.1", "4.2.1"), ("4.16.1", "4.18.3"), ("4.20.1", "5.0.0")] {
        assert_eq!(check(from, to).as_deref(), Some("blocks Why: because"), "{from} {to}");
    }
    for (from, to) in [
        ("4.1.3", "4.1.4"),
        ("4.16.3", "4.16.1"),
        ("4.16.1", "4.15.3"),
        ("4.17.0-0.test-2024-10-07-173400-ci-ln-pwn9ngk-latest", "4.17.0-rc.6"),
    ] {
        assert_eq!(check(from, to), None, "{from} {to}");
    }
    assert!(check("4.1", "4.2.1").unwrap().starts_with("warns InvalidCurrentVersion: "));
    assert!(check("4.1.1", "4.2").unwrap().starts_with("blocks InvalidDesiredVersion: "));
}

#[test]
fn only_false_is_not_upgradeable() {
    for status in ["True", "Unknown", ""] {
        let list = [("Upgradeable", status, "", "")];
        let list = if status.is_empty() { json!([]) } else { conditions(&list) };
        for (from, to) in [("4.1.1", "4.2.1"), ("4.1", "4.2")] {
            let version = at(from, &json!({"conditions": list.clone()}));
            assert_eq!(found("ClusterVersionUpgradeable", &version, to), None, "{status} {from}");
        }
    }
}

#[test]
fn a_patch_update_is_not_blocked_by_overrides_but_remembers_them() {
    let list = conditions(&[("Upgradeable", "False", "ClusterVersionOverrides", "…")]);
    let mut version = at("4.1.3", &json!({"conditions": list}));
    version.spec.overrides.push(lockstep_api::Override::default());
    assert_eq!(found("ClusterVersionUpgradeable", &version, "4.1.4"), None, "an override that is off");
    version.spec.overrides[0].unmanaged = true;
    assert_eq!(
        found("ClusterVersionUpgradeable", &version, "4.1.4").unwrap(),
        "warns ClusterVersionOverridesSet: Retarget from 4.1.3 to 4.1.4 is not blocked by ClusterVersionOverridesSet. But \
         the cluster-version operator is not managing these resources; they are currently the responsibility of the agent \
         that set the overrides: Disabling ownership via cluster version overrides prevents upgrades between minor or \
         major versions. Please remove overrides before requesting a minor or major version update."
    );
}

#[test]
fn a_patch_update_in_the_middle_of_a_larger_one_is_remembered() {
    let list = conditions(&[
        ("Upgradeable", "False", "ClusterVersionUpdating", "…"),
        ("Progressing", "True", "", "Working towards it"),
    ]);
    for (completed, current, target, reason, kind) in [
        ("4.1.1", "4.2.1", "4.2.3", "MinorVersionClusterUpdateInProgress", "minor"),
        ("4.1.1", "5.0.1", "5.0.3", "MajorVersionClusterUpdateInProgress", "major"),
    ] {
        let entries = history(&[&format!("P{current}"), &format!("C{completed}")]);
        let version = at(current, &json!({"conditions": list.clone(), "history": entries}));
        let text = format!(
            "Retarget to {target} while a {kind} version update from {completed} to {current} is in progress"
        );
        assert_eq!(
            found("ClusterVersionUpgradeable", &version, target).unwrap(),
            format!("warns {reason}: {text}")
        );
    }
    let entries = history(&["P4.2.1", "C4.1.1"]);
    let version = at("4.2.1", &json!({"conditions": list.clone(), "history": entries}));
    assert_eq!(found("ClusterVersionUpgradeable", &version, "4.1.1"), None, "the way back is no retarget");
    let entries = history(&["P4.1.2", "C4.1.1"]);
    let version = at("4.1.2", &json!({"conditions": list, "history": entries}));
    assert_eq!(
        found("ClusterVersionUpgradeable", &version, "4.1.3"),
        None,
        "a patch update is no larger one"
    );
}

#[test]
fn a_release_that_nobody_recommends_is_remembered_and_never_blocked() {
    let name = "ClusterVersionRecommendedUpdate";
    let with = |status: Value, channel: &str| {
        let mut version = at("1.0.0", &status);
        version.spec.channel = channel.to_owned();
        found(name, &version, "1.0.1")
    };
    let conditional = |list: Value| {
        let release = json!({"version": "1.0.1", "image": "i"});
        json!({"conditionalUpdates": [{"release": release, "risks": [], "conditions": list}]})
    };
    let retrieved =
        |status: &str| json!({"conditions": conditions(&[("RetrievedUpdates", status, "Because", "…")])});
    assert_eq!(with(json!({"availableUpdates": [{"version": "1.0.1", "image": "i"}]}), ""), None);
    assert_eq!(with(conditional(conditions(&[("Recommended", "True", "", "")])), ""), None);
    let rows = [
        (
            conditional(conditions(&[("Recommended", "False", "R", "M")])),
            "R: Update from 1.0.0 to 1.0.1 is not recommended:\n\nM",
        ),
        (
            conditional(conditions(&[("Recommended", "Unknown", "R", "M")])),
            "R: Update from 1.0.0 to 1.0.1 is Recommended=Unknown: R: M",
        ),
        (
            conditional(json!([])),
            "UnknownConditionType: Update from 1.0.0 to 1.0.1 has a status.conditionalUpdates entry, but no Recommended \
             condition.",
        ),
        (
            json!({}),
            "UnknownUpdate: No RetrievedUpdates, so the recommended status of updating from 1.0.0 to 1.0.1 is unknown.",
        ),
        (
            retrieved("True"),
            "UnknownUpdate: RetrievedUpdates=True (Because), so the update from 1.0.0 to 1.0.1 is probably neither \
             recommended nor supported.",
        ),
        (
            retrieved("False"),
            "UnknownUpdate: RetrievedUpdates=False (Because), so the recommended status of updating from 1.0.0 to 1.0.1 \
             is unknown.",
        ),
    ];
    for (status, expected) in rows {
        assert_eq!(with(status, "stable").unwrap(), format!("warns {expected}"));
    }
    assert_eq!(
        with(json!({}), "").unwrap(),
        "warns NoChannel: Configured channel is unset, so the recommended status of updating from 1.0.0 to 1.0.1 is \
         unknown."
    );
}

#[test]
fn versions_that_are_none_are_found_by_each_comparison() {
    let reasons = |current: &str, target: &str| -> Vec<(&str, String, bool)> {
        let findings = check(&at(current, &json!({})), target);
        findings.into_iter().map(|it| (it.name, it.reason, it.is_blocking)).collect()
    };
    let row = |name, reason: &str, blocks| (name, reason.to_owned(), blocks);
    assert_eq!(
        reasons("4.1", "4.2.0"),
        [
            row("ClusterVersionRollback", "InvalidCurrentVersion", false),
            row("ClusterVersionGiantHop", "InvalidCurrentVersion", false),
            row("ClusterVersionRecommendedUpdate", "NoChannel", false),
        ]
    );
    assert_eq!(
        reasons("4.1.0", "4.2"),
        [
            row("ClusterVersionRollback", "InvalidDesiredVersion", true),
            row("ClusterVersionGiantHop", "InvalidDesiredVersion", true),
            row("ClusterVersionRecommendedUpdate", "NoChannel", false),
        ]
    );
}

#[test]
fn one_that_blocks_blocks_all_unless_forced() {
    let finding = |name, is_blocking| Finding {
        name,
        reason: "CheckFailure".to_owned(),
        message: format!("{name} will always fail."),
        is_blocking,
    };
    let (one, two) = (finding("PreCondition1", true), finding("PreCondition2", true));
    let text =
        "Precondition \"PreCondition1\" failed because of \"CheckFailure\": PreCondition1 will always fail.";
    let both = format!(
        "Multiple precondition checks failed:\n* {text}\n* Precondition \"PreCondition2\" failed because of \
         \"CheckFailure\": PreCondition2 will always fail."
    );
    let accepted = |risks: &str| Decision::Accepted { risks: risks.to_owned() };
    let blocking = [one.clone(), two];
    assert_eq!(decide(&[], false), accepted(""));
    assert_eq!(decide(&[], true), accepted(""));
    assert_eq!(decide(std::slice::from_ref(&one), false), Decision::Refused(text.to_owned()));
    assert_eq!(decide(&blocking, false), Decision::Refused(both.clone()));
    assert_eq!(decide(&blocking, true), accepted(&format!("Forced through blocking failures: {both}")));
    let warnings = [finding("PreCondition1", false)];
    assert_eq!(decide(&warnings, false), accepted(text));
    assert_eq!(decide(&warnings, true), accepted(text), "nothing had to be forced");
    assert_eq!(decide(&[one, finding("PreCondition2", false)], false), Decision::Refused(both));
}
