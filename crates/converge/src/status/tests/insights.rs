//! Insights: their thresholds, levels, impacts and order.

use super::*;

fn all(input: &Input) -> Vec<(Severity, Impact, String)> {
    let insights = picture(input).unwrap().insights;
    insights.into_iter().map(|it| (it.level, it.impact, it.summary)).collect()
}

/// An update of one operator that is fine, so that only what a test adds speaks.
fn a_quiet_update() -> Input {
    a_cluster(an_update(840), vec![an_operator("dns", "4.20.1")])
}

fn of_operator(kind: &str, status: &str, minutes: i64, seconds: i64) -> (Severity, Impact, String) {
    let mut input = a_quiet_update();
    let operator = input.operators[0].clone();
    input.operators[0] = with(operator, kind, status, &ago(minutes, seconds), "Why", "");
    all(&input).remove(0)
}

#[test]
fn nothing_to_say_is_said() {
    assert_eq!(
        all(&a_quiet_update()),
        [(Severity::Info, Impact::None, "Update is proceeding well".to_owned())]
    );
}

#[test]
fn an_operator_that_is_unwell_for_five_minutes_is_a_warning_and_later_an_error() {
    let down = "Cluster Operator dns is unavailable (Why)".to_owned();
    let sick = "Cluster Operator dns is degraded (Why)".to_owned();
    let api = Impact::ApiAvailability;
    assert_eq!(of_operator("Available", "False", 5, 0).0, Severity::Info);
    assert_eq!(of_operator("Available", "False", 5, 1), (Severity::Warning, api, down.clone()));
    assert_eq!(of_operator("Available", "False", 20, 0).0, Severity::Warning);
    assert_eq!(of_operator("Available", "False", 20, 1), (Severity::Error, api, down));
    assert_eq!(of_operator("Available", "Unknown", 90, 0).0, Severity::Info);
    assert_eq!(of_operator("Degraded", "True", 5, 0).0, Severity::Info);
    assert_eq!(of_operator("Degraded", "True", 5, 1), (Severity::Warning, api, sick.clone()));
    assert_eq!(of_operator("Degraded", "True", 40, 0).0, Severity::Warning);
    assert_eq!(of_operator("Degraded", "True", 40, 1), (Severity::Error, api, sick));
}

#[test]
fn a_version_that_fails_may_fail_or_does_not_say_is_a_warning() {
    let failing = |status: Option<&str>| {
        let mut input = a_quiet_update();
        let conditions = &mut input.version.as_mut().unwrap().status.conditions;
        conditions.remove("Failing");
        if let Some(status) = status {
            let failing =
                serde_json::from_value(condition("Failing", status, &ago(3, 0), "Why", "text")).unwrap();
            conditions.set(failing, now());
        }
        all(&input).remove(0)
    };
    let stalled =
        |text: &str| (Severity::Warning, Impact::UpdateStalled, format!("Cluster Version version {text}"));
    assert_eq!(failing(Some("True")), stalled("is failing to proceed with the update (Why)"));
    assert_eq!(failing(Some("Unknown")), stalled("may be failing to proceed with the update (Why)"));
    assert_eq!(failing(None), stalled("has no Failing condition"));
    assert_eq!(failing(Some("False")).0, Severity::Info);
}

#[test]
fn an_update_that_never_completed_is_remembered() {
    let end = ago(100, 0);
    let history = [
        ("4.20.3", "3", "Partial", &*ago(14, 0), None),
        ("4.20.2", "2", "Partial", &*ago(200, 0), Some(&*end)),
        ("4.20.1", "1", "Completed", &*ago(9000, 0), Some(&*end)),
    ];
    let input = a_cluster(a_version(&history, MESSAGE), vec![an_operator("dns", "4.20.1")]);
    let text = "Previous update to 4.20.2 never completed, last complete update was 4.20.1".to_owned();
    assert_eq!(all(&input), [(Severity::Warning, Impact::None, text)]);
}

#[test]
fn nodes_and_pools_speak_too() {
    let mut input = a_quiet_update();
    input.pools = vec![a_pool("worker", "new"), a_pool("infra", "new")];
    input.pools[1]["spec"]["paused"] = json!(true);
    input.configs = vec![a_config("new", "4.20.3"), a_config("old", "4.20.1")];
    input.nodes = vec![
        a_node("worker-a-1", "worker", "old", "old", "Done"),
        a_node("worker-a-2", "worker", "old", "old", "Degraded"),
        a_node("infra-a-1", "infra", "old", "old", "Done"),
    ];
    input.nodes[0]["status"]["conditions"][0] = condition("Ready", "False", &ago(6, 0), "", "gone");
    let stalled = Impact::UpdateStalled;
    assert_eq!(
        all(&input),
        [
            (Severity::Error, stalled, "Node worker-a-2 is degraded".to_owned()),
            (
                Severity::Warning,
                stalled,
                "Outdated nodes in a paused pool 'infra' will not be updated".to_owned()
            ),
            (Severity::Warning, Impact::UpdateSpeed, "Node worker-a-1 is not ready".to_owned()),
        ]
    );
}

fn an_alert(name: &str, severity: &str, state: &str, since: &str) -> Value {
    json!({"state": state, "activeAt": since, "labels": {"alertname": name, "severity": severity, "namespace": "ns"},
            "annotations": {"summary": format!("{name} happened."), "description": "More.",
                "runbook_url": "https://example.com/runbook"}})
}

#[test]
fn alerts_that_came_with_the_update_and_those_that_hold_up_drains_are_told() {
    let mut input = a_quiet_update();
    let (before, after) = (ago(300, 0), ago(3, 0));
    let mut bare = an_alert("NoRunbook", "critical", "firing", &after);
    bare["annotations"]["runbook_url"] = json!("");
    let mut unnamed = an_alert("NoSummary", "warning", "firing", &ago(4, 0));
    unnamed["annotations"]["summary"] = json!("");
    input.alerts = Some(vec![
        an_alert("Old", "critical", "firing", &before),
        an_alert("Pending", "critical", "pending", &after),
        an_alert("Small", "info", "firing", &after),
        an_alert("PodDisruptionBudgetAtLimit", "warning", "firing", &before),
        an_alert("PodDisruptionBudgetLimit", "critical", "firing", &before),
        an_alert("New", "warning", "firing", &after),
        bare,
        unnamed,
    ]);
    let told = |level, name: &str| (level, Impact::Unknown, format!("Alert is firing: {name}"));
    assert_eq!(
        all(&input),
        [
            told(Severity::Critical, "PodDisruptionBudgetLimit happened."),
            told(Severity::Warning, "New happened."),
            told(Severity::Warning, "NoSummary"),
            told(Severity::Warning, "PodDisruptionBudgetAtLimit happened."),
        ]
    );
}

#[test]
fn at_length_every_insight_has_its_block() {
    let mut input = the_example();
    input.operators[3] = with(input.operators[3].clone(), "Available", "False", &ago(30, 0), "Gone", "");
    let text = text(&picture(&input).unwrap(), Details { health: true, ..Details::default() });
    has(
        &text,
        "= Update Health =
Message: Cluster Operator operator-00 is unavailable (Gone)
  Since:       30m
  Level:       Error
  Impact:      API Availability
  Reference:   docs/runbooks/ClusterOperatorDown.md
  Resources:
    clusteroperators.config.openshift.io: operator-00
  Description: <no message>

Message: Cluster Operator dns is degraded (DNSDegraded)
",
    );
    lacks(&text, "Run with --details=health");
}

#[test]
fn what_an_operator_says_of_its_secrets_is_not_shown() {
    let mut input = a_quiet_update();
    let message = "cannot log in to https://user:canary@example.com";
    input.operators[0] = with(input.operators[0].clone(), "Degraded", "True", &ago(9, 0), "Login", message);
    let picture = picture(&input).unwrap();
    let details = Details { nodes: true, health: true, operators: true, wide: true };
    lacks(&text(&picture, details), "canary");
    lacks(&serde_json::to_string(&picture).unwrap(), "canary");
}
