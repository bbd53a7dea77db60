//! The sources of the specification, and the condition that they make.

use lockstep_api::Override;
use serde_json::json;

use super::*;

fn at(version: &str) -> ClusterVersion {
    let mut object = ClusterVersion::new("version");
    object.status.desired.version = version.to_owned();
    object
}

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn operator(name: &str, status: &str, reason: &str, message: &str) -> ClusterOperator {
    let mut operator = ClusterOperator::new(name);
    let list = json!([{"type": "Upgradeable", "status": status, "reason": reason, "message": message}]);
    operator.status.conditions = serde_json::from_value(list).unwrap();
    operator
}

fn nothing(version: &ClusterVersion) -> Facts<'_> {
    Facts { version, is_updating: false, operators: &[], gates: None, acks: None, deletions: &[] }
}

/// Name, reason and message of each.
fn told(facts: &Facts<'_>) -> Vec<(String, String, String)> {
    risks(facts).into_iter().map(|Risk { name, reason, message }| (name, reason, message)).collect()
}

fn row(name: &str, reason: &str, message: &str) -> (String, String, String) {
    (name.to_owned(), reason.to_owned(), message.to_owned())
}

/// The names of the risks that gates make at a version.
fn gated(version: &str, gates: &[(&str, &str)], acks: Option<&[(&str, &str)]>) -> Vec<(String, String)> {
    let (object, gates, acks) = (at(version), map(gates), acks.map(map));
    let facts = Facts { gates: Some(&gates), acks: acks.as_ref(), ..nothing(&object) };
    risks(&facts).into_iter().map(|risk| (risk.name, risk.reason)).collect()
}

#[test]
fn without_a_risk_there_is_no_condition() {
    let object = at("4.21.0");
    assert_eq!(risks(&nothing(&object)), []);
    assert_eq!(condition(&[]), None);
}

#[test]
fn sources_come_in_their_order_and_tell_their_texts() {
    let mut object = at("4.21.0");
    object.spec.overrides.push(Override { unmanaged: true, ..Override::default() });
    let gates = map(&[("ack-4.21-test", "Description.")]);
    let operators = [operator("b", "False", "Reason", "of b"), operator("a", "False", "", "of a")];
    let deletions = ["Service \"ns/b\"".to_owned(), "ClusterRole \"a\"".to_owned()];
    let facts = Facts {
        is_updating: true,
        operators: &operators,
        gates: Some(&gates),
        deletions: &deletions,
        ..nothing(&object)
    };
    let expected = [
        row(
            "ClusterVersionUpdating",
            "ClusterVersionUpdating",
            "An update is already in progress and the details are in the Progressing condition.",
        ),
        row(
            "ClusterVersionOverrides",
            "ClusterVersionOverrides",
            "Disabling ownership via cluster version overrides prevents updates between minor or major versions. Please \
             remove overrides before requesting a minor or major version update.",
        ),
        row(
            "ResourceDeletionInProgress",
            "ResourceDeletionInProgress",
            "Cluster minor or major version upgrades are not allowed while resource deletions are in progress; \
             resources=ClusterRole \"a\",Service \"ns/b\"",
        ),
        row("AdminAck-ack-4.21-test", "AdminAckRequired", "Description."),
        row(
            "ClusterOperatorUpgradeable-a",
            "ClusterOperatorsNotUpgradeable",
            "Cluster operator a should not be upgraded between minor or major versions: of a",
        ),
        row(
            "ClusterOperatorUpgradeable-b",
            "Reason",
            "Cluster operator b should not be upgraded between minor or major versions: of b",
        ),
    ];
    assert_eq!(told(&facts), expected);
}

#[test]
fn an_override_that_is_off_is_no_risk() {
    let mut object = at("4.21.0");
    object.spec.overrides.push(Override::default());
    assert_eq!(risks(&nothing(&object)), []);
}

#[test]
fn gates_of_the_specification() {
    let required = |gate: &str| vec![(format!("AdminAck-{gate}"), "AdminAckRequired".to_owned())];
    assert_eq!(gated("4.21.0", &[("ack-4.8-test", "Description.")], Some(&[])), []);
    assert_eq!(
        gated("4.21.0", &[("ack-4.21-test", "")], Some(&[])),
        [("AdminAck-ack-4.21-test".to_owned(), "AdminAckConfigMapGateValueError".to_owned())]
    );
    let gate = "ack-4.21-test";
    assert_eq!(gated("4.21.0", &[(gate, "Description.")], Some(&[])), required(gate));
    assert_eq!(gated("4.21.0", &[(gate, "Description.")], Some(&[(gate, "true")])), []);
    for value in ["True", "yes", "", "false"] {
        assert_eq!(gated("4.21.0", &[(gate, "Description.")], Some(&[(gate, value)])), required(gate));
    }
    let three = [("ack-4.21-a", "a"), ("ack-4.21-b", "b"), ("ack-4.21-c", "c")];
    let acks = [("ack-4.21-a", "true"), ("ack-4.21-c", "true"), ("ack-4.21-unknown", "true")];
    assert_eq!(gated("4.21.0", &three, Some(&acks)), required("ack-4.21-b"));
    let none: [(&str, &str); 0] = [];
    assert_eq!(gated("4.21.0", &none, Some(&[])), []);
}

#[test]
fn names_of_gates_of_the_specification() {
    for bad in [
        "ack-4>8-foo",
        "ack-4..8-foo",
        "ck-4.8-foo",
        "ack-4.x-foo",
        "ack-4.8.1-foo",
        "ack-4.x--foo",
        "ack-4.x-",
        "ack-4.8-",
        "ack-4.8--foo",
    ] {
        let expected = (format!("AdminAck-{bad}"), "AdminAckConfigMapGateNameError".to_owned());
        assert_eq!(gated("4.8.1", &[(bad, "text")], Some(&[])), [expected]);
    }
    for (gate, version, counts) in [
        ("ack-4.8-foo", "4.8.1", true),
        ("ack-4.8-foo", "4.9.1", false),
        ("ack-4.8-foo", "4.80.1", false),
        ("ack-4.80-foo", "4.8.1", false),
        ("ack-4.123456-foo", "4.123456.0", true),
        ("ack-5.0-foo", "5.0.0-rc.1", true),
        ("ack-1.1-foo", "1.1.0", true),
    ] {
        assert_eq!(gated(version, &[(gate, "text")], None).len(), usize::from(counts), "{gate} {version}");
    }
}

#[test]
fn a_gate_whose_name_cannot_be_read_is_told_word_for_word() {
    let (object, gates) = (at("4.8.1"), map(&[("ack-x.8-foo", "text")]));
    let facts = Facts { gates: Some(&gates), ..nothing(&object) };
    assert_eq!(
        risks(&facts)[0].message,
        "admin-gates configmap gate \"ack-x.8-foo\" is invalid: admin-gates configmap gate name ack-x.8-foo has invalid \
         format; must comply with \"^ack-([0-9]{1,}[.][0-9]{1,})-[^-]\""
    );
    let gates = map(&[("ack-4.8-foo", "")]);
    let facts = Facts { gates: Some(&gates), ..nothing(&object) };
    assert_eq!(
        risks(&facts)[0].message,
        "admin-gates configmap gate ack-4.8-foo must contain a non-empty value."
    );
}

#[test]
fn missing_lists_are_empty_ones() {
    let gate = [("ack-4.21-test", "Description.")];
    let reference = [("AdminAckUnknown".to_owned(), "EvaluationFailed".to_owned())];
    let found = gated("4.21.0", &gate, None);
    assert_ne!(found, reference);
    assert_eq!(found, [("AdminAck-ack-4.21-test".to_owned(), "AdminAckRequired".to_owned())]);
    let object = at("4.21.0");
    let acks = map(&gate);
    assert_eq!(risks(&Facts { acks: Some(&acks), ..nothing(&object) }), []);
}

#[test]
fn gates_wait_for_a_version_and_cannot_be_judged_by_one_that_is_none() {
    let gate = [("ack-4.21-test", "Description.")];
    assert_eq!(gated("", &gate, None), [], "nothing is loaded yet");
    assert_eq!(gated("4.21", &gate, None)[0].0, "AdminAckUnknown");
}

#[test]
fn only_an_operator_that_says_no_is_a_risk() {
    let object = at("4.21.0");
    let operators = [
        operator("a", "True", "", ""),
        operator("b", "Unknown", "", ""),
        ClusterOperator::new("c"),
        operator("d", "False", "not a word", "M"),
    ];
    let found = risks(&Facts { operators: &operators, ..nothing(&object) });
    assert_eq!(found.len(), 1);
    let reference = ("RiskNameNotCompatibleWithReasonProperty", "M");
    let only = condition(&found).unwrap();
    assert_ne!((only.reason.as_str(), only.message.as_str()), reference);
    assert_eq!(
        (only.reason.as_str(), only.message.as_str()),
        (
            "ClusterOperatorsNotUpgradeable",
            "Cluster operator d should not be upgraded between minor or major versions: M"
        )
    );
}

#[test]
fn one_risk_gives_its_reason_and_several_a_list() {
    let risk = |name: &str| Risk {
        name: format!("Risk{name}"),
        reason: format!("Risk{name}"),
        message: format!("Message{name}"),
    };
    let told = |risks: &[Risk]| {
        let Condition { kind, status, reason, message, .. } = condition(risks).unwrap();
        assert_eq!((kind.as_str(), status), ("Upgradeable", ConditionStatus::False));
        (reason, message)
    };
    assert_eq!(told(&[risk("A")]), ("RiskA".to_owned(), "MessageA".to_owned()));
    let text = "Cluster should not be upgraded between minor or major versions for multiple reasons:\n* MessageA\n* MessageB";
    assert_eq!(told(&[risk("A"), risk("B")]), ("MultipleReasons".to_owned(), text.to_owned()));
}

#[test]
fn a_reason_is_one_word_as_the_api_wants_it() {
    for (text, expected) in [
        ("A", true),
        ("A_b", true),
        ("A:B,c", true),
        ("A-b", false),
        ("1", false),
        ("", false),
        ("A:", false),
    ] {
        assert_eq!(is_reason(text), expected, "{text:?}");
    }
}
