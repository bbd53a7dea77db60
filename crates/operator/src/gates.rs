//! ClusterOperators that are waited for, as failures of a run.

use lockstep_api::names::{group, reason};
use lockstep_api::object;
use lockstep_apply::progress::WaitReason;
use lockstep_graph::Role;
use lockstep_graph::report::{Effect, FailedTask, Failure};
use lockstep_health::{self as health, Gate, Mode, Verdict};
use serde_json::Value;

/// One gate of a plan.
#[derive(Debug, Clone)]
pub(crate) struct GateTask {
    /// `clusteroperator "dns" (5 of 90)`.
    pub(crate) text: String,
    /// The name of the operator.
    pub(crate) name: String,
    /// Its manifest: what it shall report.
    pub(crate) expected: Value,
}

// === impl GateTask ===

impl GateTask {
    pub(crate) fn new(text: String, expected: Value) -> Self {
        Self { text, name: object::name(&expected).to_owned(), expected }
    }

    /// Whether the operator reports in the form of the first generation, which only the engine watches.
    pub(crate) fn is_first_generation(&self) -> bool {
        object::split_api_version(object::api_version(&self.expected)).0 == group::OPERATOR_STATUS
    }

    /// The failure that the wait for an operator of the first generation is.
    pub(crate) fn first_generation_failure(&self, wait: WaitReason, sentence: &str) -> Failure {
        let (reason, effect) = match wait {
            WaitReason::OperatorUpdating => (reason::CLUSTER_OPERATOR_UPDATING, Effect::None),
            WaitReason::OperatorDegraded => (reason::CLUSTER_OPERATOR_DEGRADED, Effect::FailAfterInterval),
            _ => (reason::CLUSTER_OPERATOR_NOT_AVAILABLE, Effect::Fail),
        };
        let task = FailedTask { text: self.text.clone(), role: Role::Gate };
        let failure = Failure { task: Some(task), ..Failure::new(reason, sentence) };
        failure.about(&self.name).with_effect(effect)
    }

    /// What is wrong with the operator, if anything is.
    pub(crate) fn failure(&self, live: Option<&Value>, mode: Mode) -> Option<Failure> {
        let gate = health::gate(&self.expected, live, mode);
        let why = match (&gate.verdict, &gate.remark) {
            (Verdict::NotYet(why) | Verdict::Bad(why), _) | (Verdict::Good, Some(why)) => why,
            (Verdict::Good, None) => return None,
        };
        let failure = match health::form(&why.reason) {
            Some(form) => Failure::new(form.reason, form.one.replace("%s", &self.name))
                .with_plural(form.plural, form.several),
            None => Failure::new(reason::UPDATE_PAYLOAD_RESOURCE_NOT_FOUND, why.sentence.clone()),
        };
        let task = FailedTask { text: self.text.clone(), role: Role::Gate };
        let failure = Failure { task: Some(task), ..failure };
        Some(failure.about(&self.name).with_effect(effect(&gate)).because(&why.sentence))
    }
}

fn effect(gate: &Gate) -> Effect {
    match gate.effect {
        Some(health::Effect::Report) => Effect::Report,
        Some(health::Effect::None) => Effect::None,
        Some(health::Effect::Fail) => Effect::Fail,
        Some(health::Effect::FailAfterInterval) => Effect::FailAfterInterval,
        None => Effect::Unset,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gate() -> GateTask {
        let expected = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "dns"},
            "status": {"versions": [{"name": "operator", "version": "2"}]}});
        GateTask::new("clusteroperator \"dns\" (3 of 9)".to_owned(), expected)
    }

    fn live(available: &str, degraded: &str, version: &str) -> Value {
        json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "dns"}, "status": {
            "conditions": [{"type": "Available", "status": available}, {"type": "Degraded", "status": degraded}],
            "versions": [{"name": "operator", "version": version}]}})
    }

    /// The decision table of the reference: state of the operator, mode, reason and effect.
    #[test]
    fn the_state_of_an_operator_decides_reason_and_effect_per_mode() {
        let fail = Effect::Fail;
        let rows = [
            (live("False", "False", "2"), [("ClusterOperatorNotAvailable", fail); 3].map(Some)),
            (
                live("True", "True", "2"),
                [
                    Some(("ClusterOperatorDegraded", Effect::Report)),
                    Some(("ClusterOperatorDegraded", Effect::FailAfterInterval)),
                    Some(("ClusterOperatorDegraded", Effect::FailAfterInterval)),
                ],
            ),
            (
                live("True", "False", "1"),
                [
                    None,
                    Some(("ClusterOperatorUpdating", Effect::None)),
                    Some(("ClusterOperatorUpdating", Effect::None)),
                ],
            ),
            (live("True", "False", "2"), [None; 3]),
        ];
        for (live, expected) in rows {
            let found = [Mode::Installing, Mode::Updating, Mode::Reconciling].map(|mode| {
                gate().failure(Some(&live), mode).map(|failure| (failure.reason, failure.effect))
            });
            assert_eq!(found, expected, "{live}");
        }
    }

    #[test]
    fn an_operator_that_does_not_exist_is_told_in_words() {
        let failure = gate().failure(None, Mode::Updating).unwrap();
        assert_eq!((failure.reason, failure.effect), ("UpdatePayloadResourceNotFound", Effect::Unset));
        assert!(failure.message.contains("dns") && failure.is_of_gate(), "{failure}");
    }
}
