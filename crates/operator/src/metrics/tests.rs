//! Every row of the reference, with the labels that alerts and telemetry expect.

#![expect(clippy::needless_pass_by_value, reason = "a literal reads better than a reference to one")]

use serde_json::{Value, json};

use super::*;

const CREATED: i64 = 1_767_225_600; // 2026-01-01T00:00:00Z

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// An hour of the first day, as the API writes it.
fn at(hour: i64) -> String {
    format!("2026-01-01T{hour:02}:00:00Z")
}

fn a_version(spec: Value, status: Value) -> Version {
    Version::Found(object(json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version", "creationTimestamp": at(0)}, "spec": spec, "status": status})))
}

fn an_operator(name: &str, status: Value) -> lockstep_api::ClusterOperator {
    object(
        json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name},
        "status": status}),
    )
}

fn an_entry(state: &str, version: &str, from: i64, to: Option<i64>) -> Value {
    json!({"state": state, "version": version, "image": format!("r:{version}"), "startedTime": at(from),
        "completionTime": to.map(at)})
}

fn a_condition(kind: &str, status: &str, reason: &str, hour: i64) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": at(hour)})
}

/// A cluster at 5.0.1 whose ClusterVersion has this spec and status.
fn facts(spec: Value, status: Value) -> Facts {
    let current = object(json!({"version": "5.0.1", "image": "r:5.0.1"}));
    Facts { version: a_version(spec, status), current, ..Facts::default() }
}

/// The rows of one metric.
fn rows(metrics: &Metrics, name: &str) -> Vec<String> {
    let text = metrics.encode();
    let is_row = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']));
    text.lines().filter(is_row).map(str::to_owned).collect()
}

fn rows_of(facts: Facts, name: &str) -> Vec<String> {
    let metrics = Metrics::new();
    metrics.set(|it| *it = facts);
    rows(&metrics, name)
}

/// A row of `cluster_version`, its hour counted from the first day.
fn version_row(sort: &str, version: &str, from: &str, hour: i64) -> String {
    let image = if version.is_empty() { String::new() } else { format!("r:{version}") };
    let value = CREATED + hour * 3600;
    format!(
        "cluster_version{{type=\"{sort}\",version=\"{version}\",image=\"{image}\",from_version=\"{from}\"}} {value}"
    )
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

#[test]
fn fresh_cluster_has_the_types_current_initial_and_cluster() {
    let mut facts = facts(json!({}), json!({}));
    facts.payload_created = Some("2026-01-01T05:00:00Z".parse().unwrap());
    let expected = vec![
        version_row("cluster", "5.0.1", "", 0),
        version_row("current", "5.0.1", "", 5),
        version_row("initial", "", "", 0),
    ];
    assert_eq!(sorted(rows_of(facts, "cluster_version")), expected);
}

#[test]
fn running_update_shows_where_the_cluster_comes_from() {
    let history = json!([
        an_entry("Partial", "5.0.2", 8, None),
        an_entry("Completed", "5.0.1", 4, Some(5)),
        an_entry("Partial", "5.0.0-x", 3, Some(4)),
        an_entry("Completed", "5.0.0", 1, Some(2))
    ]);
    let failing = json!([a_condition("Failing", "True", "R", 9), a_condition("Available", "True", "", 2)]);
    let spec = json!({"desiredUpdate": {"version": "5.0.2", "image": "r:5.0.2"}});
    let facts = facts(spec, json!({"history": history, "conditions": failing}));
    let expected = vec![
        version_row("cluster", "5.0.1", "5.0.0", 0),
        version_row("completed", "5.0.1", "5.0.0", 5),
        version_row("current", "5.0.1", "5.0.1", 0).replace(&CREATED.to_string(), "0"),
        version_row("desired", "5.0.2", "5.0.1", 9),
        version_row("failure", "5.0.2", "5.0.1", 9),
        version_row("initial", "5.0.0", "", 0),
        version_row("updating", "5.0.2", "5.0.1", 8),
    ];
    assert_eq!(sorted(rows_of(facts, "cluster_version")), expected);
}

#[test]
fn desired_is_shown_for_a_version_alone_but_not_for_the_current_image() {
    let has_desired = |update: Value| {
        let rows = rows_of(facts(json!({"desiredUpdate": update}), json!({})), "cluster_version");
        rows.iter().any(|row| row.contains("type=\"desired\""))
    };
    assert!(has_desired(json!({"version": "5.0.1"})));
    assert!(!has_desired(json!({"version": "5.0.1", "image": "r:5.0.1"})));
}

#[test]
fn failure_while_reconciling_names_the_current_release() {
    let status = json!({"conditions": [a_condition("Failing", "True", "R", 3)]});
    let rows = rows_of(facts(json!({}), status), "cluster_version");
    assert!(rows.contains(&version_row("failure", "5.0.1", "", 3)), "{rows:?}");
}

#[test]
fn available_updates_are_counted_once_somebody_was_asked() {
    let name = "cluster_version_available_updates";
    assert!(rows_of(facts(json!({"channel": "stable"}), json!({})), name).is_empty());
    let retrieved = json!({"conditions": [a_condition("RetrievedUpdates", "True", "", 1)]});
    assert_eq!(
        rows_of(facts(json!({}), retrieved), name),
        ["cluster_version_available_updates{upstream=\"<default>\",channel=\"\"} 0"]
    );
    let two = json!({"availableUpdates": [{"version": "5.0.2"}, {"version": "5.0.3"}]});
    let spec = json!({"channel": "stable", "upstream": "https://updates.example.com"});
    assert_eq!(
        rows_of(facts(spec, two), name),
        ["cluster_version_available_updates{upstream=\"https://updates.example.com\",channel=\"stable\"} 2"]
    );
}

#[test]
fn capabilities_are_1_when_enabled_and_0_when_only_known() {
    let status = json!({"capabilities": {"enabledCapabilities": ["Console"], "knownCapabilities": ["Build", "Console"]}});
    assert_eq!(
        rows_of(facts(json!({}), status), "cluster_version_capability"),
        ["cluster_version_capability{name=\"Build\"} 0", "cluster_version_capability{name=\"Console\"} 1"]
    );
}

#[test]
fn operator_without_conditions_is_down_for_that_reason() {
    let mut facts = facts(
        json!({}),
        json!({"history": [an_entry("Completed", "5.0.1", 1, Some(2))],
        "conditions": [a_condition("Available", "True", "Done", 2)]}),
    );
    facts.operators = vec![
        an_operator("test", json!({"versions": [{"name": "operator", "version": "10.1.5-1"}]})),
        an_operator("bare", json!({"conditions": [a_condition("Available", "True", "", 1)]})),
    ];
    assert_eq!(
        sorted(rows_of(facts, "cluster_operator_up")),
        [
            "cluster_operator_up{name=\"bare\",version=\"\",reason=\"\"} 1",
            "cluster_operator_up{name=\"test\",version=\"10.1.5-1\",reason=\"NoAvailableCondition\"} 0",
            "cluster_operator_up{name=\"version\",version=\"5.0.1\",reason=\"Done\"} 1",
        ]
    );
}

#[test]
fn conditions_are_1_or_0_and_unknown_ones_are_left_out() {
    let mut facts = facts(json!({}), json!({"conditions": [a_condition("Failing", "False", "", 2)]}));
    let conditions = json!([
        a_condition("Available", "True", "", 1),
        a_condition("Custom", "False", "CustomReason", 1),
        a_condition("Unknown", "Unknown", "", 1)
    ]);
    facts.operators = vec![an_operator("test", json!({"conditions": conditions}))];
    assert_eq!(
        rows_of(facts, "cluster_operator_conditions"),
        [
            "cluster_operator_conditions{name=\"test\",condition=\"Available\",reason=\"\"} 1",
            "cluster_operator_conditions{name=\"test\",condition=\"Custom\",reason=\"CustomReason\"} 0",
            "cluster_operator_conditions{name=\"version\",condition=\"Failing\",reason=\"\"} 0",
        ]
    );
}

#[test]
fn missing_cluster_version_is_down_and_not_available() {
    let metrics = Metrics::new();
    metrics.set(|facts| facts.version = Version::Missing);
    assert_eq!(
        rows(&metrics, "cluster_operator_up"),
        ["cluster_operator_up{name=\"version\",version=\"\",reason=\"ClusterVersionNotFound\"} 0"]
    );
    assert_eq!(
        rows(&metrics, "cluster_operator_conditions"),
        [
            "cluster_operator_conditions{name=\"version\",condition=\"Available\",reason=\"ClusterVersionNotFound\"} 0"
        ]
    );
    assert_eq!(rows(&metrics, "cluster_version").len(), 1, "the current release is always shown");
}

#[test]
fn transitions_count_changes_arrivals_and_departures_but_not_the_first_look() {
    let metrics = Metrics::new();
    let look = |conditions: Value| {
        metrics.set(|facts| {
            facts.version = Version::Missing;
            facts.operators = vec![an_operator("dns", json!({"conditions": conditions}))];
        });
    };
    look(json!([a_condition("Available", "False", "", 1)]));
    look(json!([a_condition("Available", "False", "Other", 1)]));
    assert!(rows(&metrics, "cluster_operator_condition_transitions").is_empty());
    look(json!([a_condition("Available", "True", "", 1), a_condition("Degraded", "False", "", 1)]));
    look(json!([a_condition("Available", "True", "", 1)]));
    assert_eq!(
        rows(&metrics, "cluster_operator_condition_transitions"),
        [
            "cluster_operator_condition_transitions{name=\"dns\",condition=\"Available\"} 1",
            "cluster_operator_condition_transitions{name=\"dns\",condition=\"Degraded\"} 2",
        ]
    );
}

#[test]
fn what_changed_while_another_replica_worked_is_not_counted() {
    let metrics = Metrics::new();
    let look = |status: &str| {
        let status = json!({"conditions": [a_condition("Available", status, "", 1)]});
        metrics.set(|facts| {
            facts.version = Version::Missing;
            facts.operators = vec![an_operator("dns", status)];
        });
    };
    look("True");
    metrics.leading(false);
    look("False");
    assert!(rows(&metrics, "cluster_operator_condition_transitions").is_empty());
}

#[test]
fn risks_are_shown_only_behind_their_feature_gate() {
    let risk = |name: &str, status: &str| {
        json!({"name": name, "url": "u", "message": "m",
        "conditions": [a_condition("Applies", status, "Why", 1)]})
    };
    let risks = json!([risk("A", "True"), risk("B", "False"), risk("C", "Unknown")]);
    let mut facts = facts(json!({}), json!({"conditionalUpdateRisks": risks}));
    assert!(rows_of(facts.clone(), "cluster_version_risk_conditions").is_empty());
    facts.has_risks = true;
    assert_eq!(
        rows_of(facts, "cluster_version_risk_conditions"),
        [
            "cluster_version_risk_conditions{condition=\"Applies\",risk=\"A\",reason=\"Why\"} 1",
            "cluster_version_risk_conditions{condition=\"Applies\",risk=\"B\",reason=\"Why\"} 0",
            "cluster_version_risk_conditions{condition=\"Applies\",risk=\"C\",reason=\"Why\"} -1",
        ]
    );
}

#[test]
fn installer_is_the_one_that_ran_then_the_one_that_only_made_manifests() {
    let data = |entries: &[(&str, &str)]| -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let (ran, made) = (data(&[("version", "v0.1"), ("invoker", "jane")]), data(&[("invoker", "tool")]));
    let row =
        |installer| rows_of(Facts { installer, ..facts(json!({}), json!({})) }, "cluster_installer").concat();
    assert_eq!(
        row(Some(Installer::of(Some(&ran), Some(&made)))),
        "cluster_installer{type=\"openshift-install\",version=\"v0.1\",invoker=\"jane\"} 1"
    );
    assert_eq!(
        row(Some(Installer::of(None, Some(&made)))),
        "cluster_installer{type=\"other\",version=\"<missing>\",invoker=\"tool\"} 1"
    );
    assert_eq!(
        row(Some(Installer::of(None, None))),
        "cluster_installer{type=\"\",version=\"\",invoker=\"\"} 1"
    );
    assert_eq!(row(None), "");
}

#[test]
fn conditional_updates_show_since_when_they_are_recommended() {
    let update = json!({"release": {"version": "5.0.2", "image": "i"}, "risks": [],
        "conditions": [a_condition("Recommended", "False", "Risky", 6)]});
    let mut facts = facts(json!({}), json!({"conditionalUpdates": [update]}));
    facts.updates_retrieved = Some("2026-01-01T07:00:00.9Z".parse().unwrap());
    assert_eq!(
        rows_of(facts.clone(), "cluster_version_conditional_update_condition_seconds"),
        [format!(
            "cluster_version_conditional_update_condition_seconds{{version=\"5.0.2\",condition=\"Recommended\",\
             status=\"False\",reason=\"Risky\"}} {}",
            CREATED + 6 * 3600
        )]
    );
    assert_eq!(
        rows_of(facts, "cluster_version_operator_update_retrieval_timestamp_seconds"),
        [format!(
            "cluster_version_operator_update_retrieval_timestamp_seconds{{name=\"\"}} {}",
            CREATED + 7 * 3600
        )]
    );
}

#[test]
fn manifests_are_pending_or_applied_and_errors_are_counted_by_version() {
    let metrics = Metrics::new();
    metrics.set(|it| {
        *it = facts(json!({}), json!({}));
        it.pass = Some(Pass { version: "5.0.2".into(), done: 10, total: 25 });
    });
    metrics.payload_error("5.0.2");
    metrics.payload_error("5.0.2");
    assert_eq!(
        rows(&metrics, "cluster_version_payload"),
        [
            "cluster_version_payload{version=\"5.0.2\",type=\"applied\"} 10",
            "cluster_version_payload{version=\"5.0.2\",type=\"pending\"} 15",
        ]
    );
    assert_eq!(
        rows(&metrics, "cluster_operator_payload_errors"),
        ["cluster_operator_payload_errors{version=\"5.0.2\"} 2"]
    );
}

#[test]
fn replica_that_stands_by_tells_nothing_of_the_cluster() {
    let metrics = Metrics::new();
    metrics.set(|it| *it = facts(json!({}), json!({})));
    metrics.payload_error("5.0.1");
    metrics.leading(true);
    assert_eq!(rows(&metrics, "lockstep_leader"), ["lockstep_leader 1"]);
    metrics.leading(false);
    assert_eq!(rows(&metrics, "lockstep_leader"), ["lockstep_leader 0"]);
    assert!(!metrics.encode().contains("cluster_"), "{}", metrics.encode());
}

#[test]
fn our_own_metrics_have_their_names_and_labels() {
    let metrics = Metrics::new();
    metrics.task_done("Deployment", 0.02);
    metrics.waits(BTreeMap::from([("ClusterOperatorNotAvailable".to_owned(), 3)]));
    metrics.waits(BTreeMap::from([("NamespaceMissing".to_owned(), 1)]));
    metrics.drift_repaired(0.03);
    metrics.fights(2);
    metrics.request("apply", 200);
    metrics.request("apply", 200);
    metrics.load_failed("RetrievePayload");
    metrics.event_dropped();
    for (name, expected) in [
        ("lockstep_task_duration_seconds_count", "{kind=\"Deployment\"} 1"),
        ("lockstep_waits", "{cause=\"NamespaceMissing\"} 1"),
        ("lockstep_drift_repairs_total", " 1"),
        ("lockstep_drift_repair_seconds_count", " 1"),
        ("lockstep_fights", " 2"),
        ("lockstep_requests_total", "{verb=\"apply\",code=\"200\"} 2"),
        ("lockstep_release_load_failures_total", "{step=\"RetrievePayload\"} 1"),
        ("lockstep_events_dropped_total", " 1"),
    ] {
        assert_eq!(rows(&metrics, name), [format!("{name}{expected}")]);
    }
}

#[test]
fn text_is_of_the_format_that_its_media_type_names() {
    let metrics = Metrics::new();
    let mut facts = facts(json!({}), json!({}));
    facts.operators = vec![an_operator("a\"b\\c\nd", json!({}))];
    metrics.set(|it| *it = facts);
    let text = metrics.encode();
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("name=\"a\\\"b\\\\c\\nd\""), "{text}");
    let types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    let unique: BTreeSet<&&str> = types.iter().collect();
    assert_eq!(types.len(), unique.len(), "each family stands once");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(!rows(&metrics, "process_resident_memory_bytes").is_empty(), "{text}");
}
