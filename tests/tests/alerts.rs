//! The alerts load in Prometheus, fire when they should and only then, have a page each, and use metrics that exist.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use lockstep_payload::yaml;
use lockstep_tests::cli::root;
use serde_json::Value;

/// Every metric that alerts and dashboard may use.
const METRICS: [&str; 22] = [
    "cluster_installer",
    "cluster_operator_condition_transitions",
    "cluster_operator_conditions",
    "cluster_operator_payload_errors",
    "cluster_operator_up",
    "cluster_version",
    "cluster_version_available_updates",
    "cluster_version_capability",
    "cluster_version_conditional_update_condition_seconds",
    "cluster_version_operator_update_retrieval_timestamp_seconds",
    "cluster_version_payload",
    "cluster_version_risk_conditions",
    "lockstep_cluster_operator_unstable",
    "lockstep_drift_repair_seconds",
    "lockstep_drift_repairs_total",
    "lockstep_fights",
    "lockstep_leader",
    "lockstep_release_load_failures_total",
    "lockstep_requests_total",
    "lockstep_task_duration_seconds",
    "lockstep_waits",
    "process_resident_memory_bytes",
];

/// The names that are known from the reference, with their severities.
const KNOWN: [(&str, &str); 10] = [
    ("CannotEvaluateConditionalUpdates", "warning"),
    ("CannotRetrieveUpdates", "warning"),
    ("ClusterNotUpgradeable", "info"),
    ("ClusterOperatorDegraded", "warning"),
    ("ClusterOperatorDown", "critical"),
    ("ClusterOperatorFlapping", "warning"),
    ("ClusterReleaseNotAccepted", "warning"),
    ("ClusterVersionOperatorDown", "critical"),
    ("OpenShiftUpdateRiskMightApply", "warning"),
    ("UpdateAvailable", "info"),
];

fn folder() -> PathBuf {
    root().join("deploy/monitoring")
}

fn read(name: &str) -> Value {
    let bytes = fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut documents = yaml::documents(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    documents.remove(0).value
}

fn rules() -> Vec<Value> {
    let groups = read("alerts.yaml")["groups"].as_array().cloned().unwrap_or_default();
    groups.iter().flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn promtool(arguments: &[&str]) {
    let mut command = xtask::promtool::promtool().unwrap_or_else(|error| panic!("{error}"));
    let output = command.args(arguments).current_dir(folder()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "promtool {arguments:?}\n{}", String::from_utf8_lossy(&said));
}

/// Words of an expression that can be metrics.
fn metrics_of(expression: &str) -> BTreeSet<String> {
    let prefixes = ["cluster_", "lockstep_", "process_"];
    let word = |part: &&str| prefixes.iter().any(|prefix| part.starts_with(prefix));
    let parts = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    parts.filter(word).map(|part| part.trim_end_matches("_bucket").to_owned()).collect()
}

#[test]
fn prometheus_accepts_the_alerts() {
    promtool(&["check", "rules", "alerts.yaml"]);
}

#[test]
fn each_alert_fires_in_its_case_and_is_silent_in_the_other() {
    promtool(&["test", "rules", "alerts.test.yaml"]);
}

#[test]
fn each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() {
    let tests = read("alerts.test.yaml")["tests"].as_array().cloned().unwrap_or_default();
    let (mut fires, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for case in tests.iter().flat_map(|test| test["alert_rule_test"].as_array().cloned().unwrap_or_default())
    {
        let is_silent = case["exp_alerts"].as_array().is_none_or(Vec::is_empty);
        if is_silent { &mut silent } else { &mut fires }.insert(text(&case["alertname"]).to_owned());
    }
    let all: BTreeSet<String> = rules().iter().map(|rule| text(&rule["alert"]).to_owned()).collect();
    assert_eq!(fires, all);
    assert_eq!(silent, all);
}

#[test]
fn known_names_keep_their_severity_and_each_alert_has_a_page_that_says_what_to_do() {
    let rules = rules();
    for (name, severity) in KNOWN {
        let rule = rules.iter().find(|rule| rule["alert"] == name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(rule["labels"]["severity"], severity, "{name}");
    }
    for rule in &rules {
        let (name, page) = (text(&rule["alert"]), text(&rule["annotations"]["runbook_url"]));
        assert_eq!(page, format!("docs/runbooks/{name}.md"));
        let page = fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for heading in ["## What it means", "## What to look at", "## What to do"] {
            assert!(page.contains(heading), "{name} lacks {heading}");
        }
        assert!(
            !text(&rule["annotations"]["description"]).is_empty()
                && !text(&rule["annotations"]["summary"]).is_empty()
        );
    }
    let pages = fs::read_dir(root().join("docs/runbooks")).unwrap().count();
    assert_eq!(pages, rules.len(), "a page of an alert that is gone");
}

#[test]
fn alerts_and_dashboard_use_metrics_that_the_operator_has() {
    let dashboard: Value =
        serde_json::from_slice(&fs::read(folder().join("dashboard.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let shown: Vec<String> = targets.map(|target| text(&target["expr"]).to_owned()).collect();
    let rules = rules();
    let expressions = rules.iter().map(|rule| text(&rule["expr"]).to_owned()).chain(shown.clone());
    let used: BTreeSet<String> = expressions.flat_map(|it| metrics_of(&it)).collect();
    let known: BTreeSet<String> = METRICS.iter().map(|&name| name.to_owned()).collect();
    let unknown: Vec<&String> = used.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for name in METRICS.iter().filter(|name| name.starts_with("lockstep_")) {
        let is_shown = shown.iter().any(|expression| metrics_of(expression).contains(*name));
        assert!(is_shown, "no panel shows {name}");
    }
}
