use serde_json::json;

use super::*;

fn conditions(of: &[(&str, &str)]) -> Value {
    let entry = |(kind, status): &(&str, &str)| {
        json!({"type": kind, "status": status, "reason": "R", "message": format!("says {kind}"),
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    of.iter().map(entry).collect()
}

fn version(of: &[(&str, &str)]) -> Value {
    json!({"metadata": {"name": "version"}, "status": {"conditions": conditions(of), "desired": {"version": "2"},
        "history": [{"state": "Completed", "version": "2"}]}})
}

fn operator(name: &str, of: &[(&str, &str)]) -> Value {
    json!({"metadata": {"name": name}, "status": {"conditions": conditions(of),
        "versions": [{"name": "operator", "version": "1"}]}})
}

const WELL: [(&str, &str); 3] = [("Available", "True"), ("Progressing", "False"), ("Degraded", "False")];

#[test]
fn a_cluster_is_initialised_when_all_three_conditions_are_there_and_right() {
    let right = [("Available", "True"), ("Failing", "False"), ("Progressing", "False")];
    assert_eq!(initialized(Some(&version(&right))), Ok(()));
    for missing in 0..3 {
        let some: Vec<_> = (0..3).filter(|index| *index != missing).map(|index| right[index]).collect();
        let why = initialized(Some(&version(&some))).unwrap_err();
        assert!(why.contains(&format!("no condition {}", right[missing].0)), "{why}");
    }
    let failing = [("Available", "False"), ("Failing", "True"), ("Progressing", "True")];
    assert!(initialized(Some(&version(&failing))).unwrap_err().contains("Failing=True"));
    let slow = [("Available", "True"), ("Failing", "Unknown"), ("Progressing", "False")];
    assert!(initialized(Some(&version(&slow))).unwrap_err().contains("Failing=Unknown"));
    let moving = [("Available", "False"), ("Failing", "False"), ("Progressing", "True")];
    assert!(initialized(Some(&version(&moving))).unwrap_err().contains("says Progressing"));
    assert!(initialized(None).unwrap_err().contains("no ClusterVersion"));
}

#[test]
fn bootstrapping_is_complete_when_the_config_map_says_exactly_that() {
    let said = |status: &str| bootstrapped(Some(&json!({"data": {"status": status}})));
    assert_eq!(said("complete"), Ok(()));
    assert!(said("progressing").unwrap_err().contains("status is progressing"));
    assert!(said("").unwrap_err().contains("no status"));
    assert!(bootstrapped(None).unwrap_err().contains("kube-system/bootstrap"));
}

#[test]
fn the_member_of_the_bootstrap_host_is_gone_when_the_condition_is_true() {
    let said = |status| {
        bootstrap_member_removed(Some(&json!({"status": {"conditions":
            conditions(&[("EtcdBootstrapMemberRemoved", status)])}})))
    };
    assert_eq!(said("True"), Ok(()));
    assert!(said("False").unwrap_err().contains("EtcdBootstrapMemberRemoved=False"));
    assert!(bootstrap_member_removed(Some(&json!({}))).unwrap_err().contains("no condition"));
    assert!(bootstrap_member_removed(None).is_err());
}

#[test]
fn an_operator_is_settled_when_it_is_well_and_reports_the_version() {
    assert_eq!(operator_settled("dns", Some(&operator("dns", &WELL)), Some("1")), Ok(()));
    assert_eq!(operator_settled("dns", Some(&operator("dns", &WELL)), None), Ok(()));
    let why = operator_settled("dns", Some(&operator("dns", &WELL)), Some("2")).unwrap_err();
    assert_eq!(why, "ClusterOperator dns reports version 1, not yet 2");
    let bad = operator("dns", &[("Available", "False"), ("Progressing", "True")]);
    let why = operator_settled("dns", Some(&bad), None).unwrap_err();
    assert!(
        why.starts_with("ClusterOperator dns is unavailable and progressing and without Degraded:"),
        "{why}"
    );
    assert!(operator_settled("dns", None, None).unwrap_err().contains("dns"));
}

#[test]
fn every_line_of_the_checklist_is_ticked_or_explained() {
    let right = [("Available", "True"), ("Failing", "False"), ("Progressing", "False")];
    let well = [operator("dns", &WELL), operator("etcd", &WELL)];
    let pod = |phase: &str, ready: &str| {
        json!({"metadata": {"name": "p", "namespace": "ns"},
            "status": {"phase": phase, "conditions": conditions(&[("Ready", ready)])}})
    };
    let fine = [pod("Running", "True"), pod("Succeeded", "False")];
    let checks = checklist(Some(&version(&right)), &[&well[0], &well[1]], fine.iter());
    assert!(checks.iter().all(|check| check.holds), "{checks:?}");
    assert_eq!(checks[0].told(3), "✓ all operators are Available (2 of 2)\n");

    let sick = [operator("dns", &[("Available", "False"), ("Degraded", "True")]), operator("etcd", &[])];
    let pods = [pod("Running", "False"), pod("Pending", "False"), pod("Failed", "False")];
    let checks = checklist(None, &[&sick[0], &sick[1]], pods.iter());
    assert!(checks.iter().all(|check| !check.holds), "{checks:?}");
    assert!(checks[0].told(1).contains("dns: Available=False") && checks[0].told(1).contains("and 1 more"));
    assert!(checks[1].lines[1].contains("etcd reports no condition Degraded"));
    assert_eq!(checks[4].lines.len(), 3, "a Pod that runs and is not ready is not well");

    let nobody = checklist(Some(&version(&right)), &[], [].iter());
    assert!(!nobody[0].holds && !nobody[1].holds && nobody[4].holds);
    let mut partial = version(&right);
    partial["status"]["history"][0]["state"] = "Partial".into();
    assert!(!checklist(Some(&partial), &[&well[0]], fine.iter())[3].holds);
}
