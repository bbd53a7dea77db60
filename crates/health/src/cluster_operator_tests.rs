use serde_json::json;

use super::*;

type Versions<'a> = &'a [(&'a str, &'a str)];

const BOTH: Versions<'static> = &[("operator", "v1"), ("operand-1", "v1")];
const SUMMARY: &str = "cluster operator test-co: available=false, progressing=true, degraded=true, undone=";

fn operator(versions: Versions<'_>, conditions: &[Value]) -> Value {
    let versions: Vec<Value> =
        versions.iter().map(|(name, version)| json!({"name": name, "version": version})).collect();
    json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "test-co"},
        "status": {"versions": versions, "conditions": conditions}})
}

fn is(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status})
}

fn broken() -> Value {
    json!({"type": "Degraded", "status": "True", "reason": "RandomReason", "message": "random error"})
}

/// Reason (of the verdict, else of the remark), effect and log text; what a row of the reference's table says.
fn answer(gate: &Gate) -> (Option<&str>, Option<Effect>, Option<&str>) {
    let why = gate.verdict.why().or(gate.remark.as_ref());
    (why.map(|why| why.reason.as_str()), gate.effect, gate.nested.as_deref())
}

#[test]
fn vectors_of_the_reference_give_its_reasons_effects_and_texts() {
    use Mode::{Installing, Updating};
    let all = &[("operator", "v1"), ("operand-1", "v1"), ("operand-2", "v1")][..];
    let updating = (
        Some(reason::CLUSTER_OPERATOR_UPDATING),
        Some(Effect::None),
        Some(
            "cluster operator test-co is available and not degraded but has not finished updating to target version",
        ),
    );
    let unavailable = (Some(reason::CLUSTER_OPERATOR_NOT_AVAILABLE), Some(Effect::Fail), Some(SUMMARY));
    let degraded = |effect| {
        let nested = "cluster operator test-co is Degraded=True: RandomReason, random error";
        (Some(reason::CLUSTER_OPERATOR_DEGRADED), Some(effect), Some(nested))
    };
    let silent = (
        Some(reason::CLUSTER_OPERATOR_DEGRADED),
        Some(Effect::FailAfterInterval),
        Some("cluster operator test-co: available=true, progressing=true, degraded=true, undone="),
    );
    let well = (None, None, None);
    let fine = || vec![is("Available", "True"), is("Degraded", "False")];
    let bad = || vec![is("Available", "True"), broken()];
    let busy_and_bad = || vec![is("Available", "True"), is("Progressing", "True"), broken()];

    let table: Vec<(Versions<'_>, Vec<Value>, Versions<'_>, Mode, _)> = vec![
        (&[], fine(), BOTH, Updating, updating),
        (&[], fine(), &BOTH[..1], Updating, updating),
        (&[("operator", "v0")], fine(), BOTH, Updating, updating),
        (&[("operator", "v0"), ("operand-1", "v0")], fine(), BOTH, Updating, updating),
        (&[("operator", "v0"), ("operand-1", "v1")], fine(), BOTH, Updating, updating),
        (&[("operator", "v1"), ("operand-1", "v0"), ("operand-2", "v0")], fine(), all, Updating, updating),
        (&[("operator", "v1"), ("operand-1", "v1"), ("operand-2", "v0")], fine(), all, Updating, updating),
        (BOTH, vec![], BOTH, Updating, unavailable),
        (BOTH, vec![is("Progressing", "True")], BOTH, Updating, unavailable),
        (BOTH, vec![is("Available", "False"), is("Degraded", "True")], BOTH, Updating, unavailable),
        (
            BOTH,
            vec![is("Available", "True"), is("Degraded", "False"), is("Progressing", "True")],
            BOTH,
            Updating,
            well,
        ),
        (BOTH, bad(), BOTH, Updating, degraded(Effect::FailAfterInterval)),
        (BOTH, bad(), BOTH, Installing, degraded(Effect::Report)),
        (BOTH, busy_and_bad(), BOTH, Updating, degraded(Effect::FailAfterInterval)),
        (BOTH, busy_and_bad(), BOTH, Installing, degraded(Effect::Report)),
        (BOTH, vec![is("Available", "True")], BOTH, Updating, silent),
        (
            BOTH,
            vec![is("Available", "True"), is("Progressing", "False"), is("Degraded", "False")],
            BOTH,
            Updating,
            well,
        ),
    ];
    for (row, (reported, conditions, expected, mode, result)) in table.into_iter().enumerate() {
        let gate = gate(&operator(expected, &[]), Some(&operator(reported, &conditions)), mode);
        assert_eq!(answer(&gate), result, "row {row}");
        let passes = result.0.is_none() || result.1 == Some(Effect::Report);
        assert_eq!(gate.verdict.is_good(), passes, "row {row}");
        assert!(!matches!(gate.verdict, Verdict::Bad(_)), "row {row}");
    }
}

/// Every live state in every mode: the decision table.
#[test]
fn first_matching_row_of_the_decision_table_wins_in_every_mode() {
    use Effect::{Fail, FailAfterInterval, Report};
    use Mode::{Installing, Reconciling, Updating};
    let none = (None, None);
    let unavailable = (Some(reason::CLUSTER_OPERATOR_NOT_AVAILABLE), Some(Fail));
    let degraded = |effect| (Some(reason::CLUSTER_OPERATOR_DEGRADED), Some(effect));
    let updating = (Some(reason::CLUSTER_OPERATOR_UPDATING), Some(Effect::None));
    for available in [None, Some("False"), Some("Unknown"), Some("Perhaps"), Some("True")] {
        for bad in [None, Some("True"), Some("Unknown"), Some("Perhaps"), Some("False")] {
            for progressing in [None, Some("True"), Some("False")] {
                for reached in [false, true] {
                    let conditions: Vec<Value> =
                        [("Available", available), ("Degraded", bad), ("Progressing", progressing)]
                            .into_iter()
                            .filter_map(|(kind, status)| Some(is(kind, status?)))
                            .collect();
                    let live = operator(if reached { BOTH } else { &[("operator", "v0")] }, &conditions);
                    for mode in [Installing, Updating, Reconciling] {
                        let gate = gate(&operator(BOTH, &[]), Some(&live), mode);
                        let (reason, effect, _) = answer(&gate);
                        let expected = match (available, bad, reached, mode) {
                            (Some("True"), Some("False"), true, _)
                            | (Some("True"), Some("False"), _, Installing) => none,
                            (Some("True"), Some("False"), false, _) => updating,
                            (Some("True"), _, _, Installing) => degraded(Report),
                            (Some("True"), ..) => degraded(FailAfterInterval),
                            _ => unavailable,
                        };
                        assert_eq!((reason, effect), expected, "{live} {mode:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn manifest_without_versions_is_bad_whatever_is_live() {
    let live = operator(BOTH, &[is("Available", "True"), is("Degraded", "False")]);
    for mode in [Mode::Installing, Mode::Updating, Mode::Reconciling] {
        for live in [None, Some(&live)] {
            let gate = gate(&operator(&[], &[]), live, mode);
            assert!(matches!(&gate.verdict, Verdict::Bad(why) if why.reason == "ClusterOperatorNoVersions"));
            assert_eq!((gate.effect, gate.nested), (Some(Effect::Fail), None));
        }
    }
}

#[test]
fn missing_object_is_waited_for_without_an_effect() {
    for mode in [Mode::Installing, Mode::Updating, Mode::Reconciling] {
        let gate = gate(&operator(BOTH, &[]), None, mode);
        assert_eq!(answer(&gate), (Some(reason::UPDATE_PAYLOAD_RESOURCE_NOT_FOUND), None, None));
        assert_eq!(
            gate.verdict.why().unwrap().sentence,
            "ClusterOperator test-co does not exist; its operator has to report it"
        );
        assert!(matches!(gate.verdict, Verdict::NotYet(_)));
    }
}

#[test]
fn degraded_operator_does_not_hold_an_install_up_but_is_remarked_on() {
    let live = operator(BOTH, &[is("Available", "True"), broken()]);
    let gate = gate(&operator(BOTH, &[]), Some(&live), Mode::Installing);
    assert_eq!(gate.verdict, Verdict::Good);
    assert_eq!(
        gate.remark.unwrap().sentence,
        "ClusterOperator test-co is degraded: Degraded=True, reason RandomReason: random error"
    );
}

#[test]
fn log_text_of_an_unavailable_operator_quotes_its_message() {
    let down = json!({"type": "Available", "status": "False", "reason": "Down", "message": "no endpoint"});
    let gate = gate(&operator(BOTH, &[]), Some(&operator(BOTH, &[down])), Mode::Updating);
    assert_eq!(gate.nested.unwrap(), "cluster operator test-co is Available=False: Down: no endpoint");
}

#[test]
fn undone_versions_are_sorted_in_the_log_text() {
    let expected = operator(&[("operator", "v1"), ("operand-1", "v1")], &[]);
    let gate = gate(&expected, Some(&operator(&[("operator", "v0")], &[])), Mode::Updating);
    assert_eq!(gate.nested.unwrap(), format!("{SUMMARY}operand-1 to v1, operator from v0 to v1"));
}

#[test]
fn first_of_two_versions_with_one_name_counts() {
    let fine = [is("Available", "True"), is("Degraded", "False")];
    let at = |versions: Versions<'_>| {
        gate(&operator(&BOTH[..1], &[]), Some(&operator(versions, &fine)), Mode::Updating).verdict.is_good()
    };
    assert!(at(&[("operator", "v1"), ("operator", "v0")]));
    assert!(!at(&[("operator", "v0"), ("operator", "v1")]));
}

#[test]
fn sentences_tell_since_when_and_why() {
    let since = "2026-07-01T10:31:02Z";
    let told = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "X", "message": "it hurts", "lastTransitionTime": since});
    let sentence = |versions: Versions<'_>, conditions: &[Value]| {
        let gate = gate(&operator(BOTH, &[]), Some(&operator(versions, conditions)), Mode::Updating);
        gate.verdict.why().unwrap().sentence.clone()
    };
    let name = "ClusterOperator test-co";
    let end = "since 2026-07-01T10:31:02Z, reason X: it hurts";
    assert_eq!(
        sentence(BOTH, &[told("Available", "False")]),
        format!("{name} is not available: Available=False {end}")
    );
    assert_eq!(
        sentence(BOTH, &[is("Available", "Unknown"), told("Degraded", "True")]),
        format!("{name} is not available: Available=Unknown; also Degraded=True {end}")
    );
    assert_eq!(
        sentence(BOTH, &[]),
        format!("{name} is not available: it has reported no conditions yet, so its operator may not run")
    );
    assert_eq!(
        sentence(BOTH, &[is("Degraded", "False")]),
        format!("{name} is not available: it does not report the condition Available")
    );
    assert_eq!(
        sentence(BOTH, &[is("Available", "True")]),
        format!("{name} counts as degraded: it does not report the condition Degraded")
    );
    assert_eq!(
        sentence(BOTH, &[is("Available", "True"), told("Degraded", "Unknown")]),
        format!("{name} counts as degraded: Degraded=Unknown {end}")
    );
    let fine = [is("Available", "True"), is("Degraded", "False"), told("Progressing", "True")];
    assert_eq!(
        sentence(&[("operator", "v0")], &fine),
        format!(
            "{name} is updating versions: operand-1 to v1, operator from v0 to v1; Progressing=True {end}"
        )
    );
}

#[test]
fn reference_messages_are_those_that_tools_match_on() {
    for (reason, plural, one, several) in [
        (
            "ClusterOperatorNoVersions",
            "ClusterOperatorsNoVersions",
            "Cluster operator a does not declare expected versions",
            "Cluster operators a, b do not declare expected versions",
        ),
        (
            "ClusterOperatorNotAvailable",
            "ClusterOperatorsNotAvailable",
            "Cluster operator a is not available",
            "Cluster operators a, b are not available",
        ),
        (
            "ClusterOperatorDegraded",
            "ClusterOperatorsDegraded",
            "Cluster operator a is degraded",
            "Cluster operators a, b are degraded",
        ),
        (
            "ClusterOperatorUpdating",
            "ClusterOperatorsUpdating",
            "Cluster operator a is updating versions",
            "Cluster operators a, b are updating versions",
        ),
    ] {
        let form = form(reason).unwrap();
        assert_eq!((form.reason, form.plural), (reason, plural));
        assert_eq!(form.one.replace("%s", "a"), one);
        assert_eq!(form.several.replace("%s", "a, b"), several);
    }
    assert_eq!(form("Other"), None);
    assert_eq!(form("ClusterOperatorsDegraded"), None);
}

#[test]
fn verdict_without_a_manifest_looks_at_the_conditions_only() {
    assert_eq!(of(&operator(&[], &[is("Available", "True"), is("Degraded", "False")])), Verdict::Good);
    assert!(!of(&operator(&[], &[is("Available", "True"), is("Degraded", "True")])).is_good());
    assert!(!of(&operator(&[], &[is("Available", "False"), is("Degraded", "False")])).is_good());
}
