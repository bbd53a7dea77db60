//! ClusterOperators of the first generation: one version, perhaps a namespace, and `Failing` instead of `Degraded`.

use lockstep_api::names::{condition, group, reason};
use lockstep_api::object;
use serde_json::Value;

use crate::Verdict;
use crate::cluster_operator::{Effect, Gate};
use crate::facts::{Condition, called, one_line, text};

/// Whether a ClusterOperator is of the first generation, by its group.
///
/// The literal group without a version, as documents write it, counts as well.
pub(crate) fn is(operator: &Value) -> bool {
    object::group(operator) == group::OPERATOR_STATUS
        || object::api_version(operator) == group::OPERATOR_STATUS
}

/// Whether a run may go past it, in every mode alike.
///
/// *Order*: the manifest must name a version; the object must exist and report that version, because only then are its
/// conditions about this release; then it must be available, not failing, not progressing. What is missing is not met.
pub(crate) fn gate(expected: &Value, live: Option<&Value>) -> Gate {
    let wanted = text(&expected["status"]["version"]);
    if wanted.is_empty() {
        return Gate::no_versions(
            expected,
            "its manifest must say in status.version, as text in quotes, what the operator will report",
        );
    }
    let Some(live) = live else { return Gate::missing(expected) };
    match text(&live["status"]["version"]) {
        reported if reported == wanted => judge(expected, live),
        "" => updating(expected, &format!("it reports no version yet, expected is {}", one_line(wanted))),
        reported => updating(
            expected,
            &format!("it reports version {}, expected is {}", one_line(reported), one_line(wanted)),
        ),
    }
}

/// Whether it is well, when nothing is known of the version that it should report.
pub(crate) fn of(live: &Value) -> Verdict {
    judge(live, live).verdict
}

/// `named` is whichever object says what it is called.
fn judge(named: &Value, live: &Value) -> Gate {
    let checks = [
        (condition::AVAILABLE, "True", "not available", reason::CLUSTER_OPERATOR_NOT_AVAILABLE, Effect::Fail),
        (
            condition::FAILING,
            "False",
            "failing",
            reason::CLUSTER_OPERATOR_DEGRADED,
            Effect::FailAfterInterval,
        ),
        (condition::PROGRESSING, "False", "progressing", reason::CLUSTER_OPERATOR_UPDATING, Effect::None),
    ];
    for (kind, wanted, what, reason, effect) in checks {
        let sentence = match Condition::find(live, kind) {
            Some(found) if found.status == wanted => continue,
            Some(found) if found.is_true() || found.is_false() => {
                format!("{} is {what}: {}", called(named), found.told())
            }
            Some(found) => format!("{} counts as {what}: {}", called(named), found.told()),
            None => {
                format!("{} counts as {what}: it does not report the condition {kind}", called(named))
            }
        };
        return Gate::waits(effect, reason, sentence, None);
    }
    Gate::good()
}

fn updating(named: &Value, versions: &str) -> Gate {
    let sentence = format!("{} is updating versions: {versions}", called(named));
    Gate::waits(Effect::None, reason::CLUSTER_OPERATOR_UPDATING, sentence, None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Mode;
    use crate::cluster_operator::gate;

    /// The manifest that the documents give as example, with its group as they write it.
    fn example() -> Value {
        json!({
            "apiVersion": "operatorstatus.openshift.io",
            "kind": "ClusterOperator",
            "metadata": {"namespace": "my-cluster-operator-namespace", "name": "my-cluster-operator"},
            "status": {"version": "1.0.0"},
        })
    }

    fn live(version: Value, conditions: &[(&str, &str)]) -> Value {
        let mut live = example();
        live["apiVersion"] = json!("operatorstatus.openshift.io/v1");
        live["status"]["version"] = version;
        live["status"]["conditions"] = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status, "message": "so it is"}))
            .collect();
        live
    }

    const WELL: [(&str, &str); 3] = [("Available", "True"), ("Progressing", "False"), ("Failing", "False")];

    fn answer(live: &Value) -> Gate {
        gate(&example(), Some(live), Mode::Updating)
    }

    #[test]
    fn example_is_met_when_version_and_conditions_are_in_every_mode() {
        for mode in [Mode::Installing, Mode::Updating, Mode::Reconciling] {
            assert_eq!(gate(&example(), Some(&live(json!("1.0.0"), &WELL)), mode), Gate::good());
        }
    }

    #[test]
    fn example_is_recognised_with_and_without_an_api_version() {
        assert!(is(&example()));
        assert!(is(&live(json!("1"), &[])));
        assert!(!is(&json!({"apiVersion": "config.openshift.io/v1"})));
    }

    #[test]
    fn any_other_version_is_not_met_however_well_it_is() {
        for (version, told) in [
            (json!("0.9.0"), "it reports version 0.9.0, expected is 1.0.0"),
            (Value::Null, "it reports no version yet, expected is 1.0.0"),
            (json!(1), "it reports no version yet, expected is 1.0.0"),
        ] {
            let gate = answer(&live(version, &WELL));
            assert_eq!(gate.effect, Some(Effect::None));
            assert_eq!(
                gate.verdict,
                Verdict::not_yet(
                    reason::CLUSTER_OPERATOR_UPDATING,
                    format!(
                        "ClusterOperator my-cluster-operator-namespace/my-cluster-operator is updating versions: {told}"
                    )
                )
            );
        }
    }

    #[test]
    fn each_condition_that_is_wrong_unknown_or_missing_is_not_met() {
        let reasons = [
            reason::CLUSTER_OPERATOR_NOT_AVAILABLE,
            reason::CLUSTER_OPERATOR_UPDATING,
            reason::CLUSTER_OPERATOR_DEGRADED,
        ];
        for (at, expected) in reasons.into_iter().enumerate() {
            let opposite = if WELL[at].1 == "True" { "False" } else { "True" };
            for status in [Some(opposite), Some("Unknown"), Some("Perhaps"), None] {
                let mut conditions = WELL.to_vec();
                match status {
                    Some(status) => conditions[at].1 = status,
                    None => drop(conditions.remove(at)),
                }
                let gate = answer(&live(json!("1.0.0"), &conditions));
                assert!(matches!(gate.verdict, Verdict::NotYet(_)), "{conditions:?}");
                assert_eq!(gate.verdict.why().unwrap().reason, expected, "{conditions:?}");
            }
        }
    }

    #[test]
    fn sentence_tells_the_condition_or_that_it_is_missing() {
        let sentence = |conditions: &[(&str, &str)]| {
            answer(&live(json!("1.0.0"), conditions)).verdict.why().unwrap().sentence.clone()
        };
        let name = "ClusterOperator my-cluster-operator-namespace/my-cluster-operator";
        assert_eq!(
            sentence(&[("Available", "True"), ("Failing", "True")]),
            format!("{name} is failing: Failing=True: so it is")
        );
        assert_eq!(
            sentence(&[("Available", "True")]),
            format!("{name} counts as failing: it does not report the condition Failing")
        );
    }

    #[test]
    fn missing_object_is_waited_for_and_a_manifest_without_version_is_bad() {
        let gate = gate(&example(), None, Mode::Installing);
        assert_eq!(gate.verdict.why().unwrap().reason, reason::UPDATE_PAYLOAD_RESOURCE_NOT_FOUND);
        assert!(matches!(gate.verdict, Verdict::NotYet(_)));
        let mut manifest = example();
        manifest["status"]["version"] = json!(1.5);
        let gate = crate::gate(&manifest, Some(&live(json!("1.0.0"), &WELL)), Mode::Updating);
        assert!(matches!(gate.verdict, Verdict::Bad(_)));
        assert_eq!(gate.effect, Some(Effect::Fail));
    }

    #[test]
    fn verdict_without_an_expected_version_looks_at_the_conditions_only() {
        assert_eq!(of(&live(json!("any"), &WELL)), Verdict::Good);
        assert!(!of(&live(json!("any"), &WELL[..2])).is_good());
    }
}
