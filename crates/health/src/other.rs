//! Any other object, by the conventions that controllers keep to.

use lockstep_api::names::{condition, reason};
use serde_json::Value;

use crate::facts::{Condition, called, count, not_observed};
use crate::{Verdict, deletion};

/// An object is well unless it says otherwise.
///
/// *Order*: being deleted; a status of an older generation; Stalled, which is bad; Reconciling; Ready. An object that
/// has none of these is well as soon as it is there.
pub(crate) fn of(object: &Value) -> Verdict {
    if let Some(deleted) = deletion::verdict(object) {
        return deleted;
    }
    if object["status"]["observedGeneration"].is_i64()
        && let Some(older) = not_observed(object)
    {
        return older;
    }
    let current = |kind| Condition::find(object, kind).filter(|found| !is_older(found, object));
    if let Some(stalled) = current(condition::STALLED).filter(Condition::is_true) {
        return Verdict::bad(
            condition::STALLED,
            format!("{} cannot go on: {}", called(object), stalled.told()),
        );
    }
    if let Some(busy) = current(condition::RECONCILING).filter(Condition::is_true) {
        return Verdict::not_yet(
            condition::RECONCILING,
            format!("{} is being worked on: {}", called(object), busy.told()),
        );
    }
    match Condition::find(object, condition::READY) {
        Some(ready) if is_older(&ready, object) => Verdict::not_yet(
            reason::NOT_OBSERVED,
            format!(
                "{}: its condition Ready is about generation {}, not {}",
                called(object),
                ready.observed_generation.unwrap_or_default(),
                count(&object["metadata"]["generation"])
            ),
        ),
        Some(ready) if !ready.is_true() => {
            Verdict::not_yet(reason::NOT_READY, format!("{} is not ready: {}", called(object), ready.told()))
        }
        _ => Verdict::Good,
    }
}

/// Whether a condition says that it is about an older generation of its object.
fn is_older(condition: &Condition<'_>, object: &Value) -> bool {
    condition.observed_generation.is_some_and(|seen| seen < count(&object["metadata"]["generation"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(conditions: &Value) -> Value {
        let mut object =
            json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t", "generation": 2}});
        object["status"] = json!({"conditions": conditions});
        object
    }

    fn is(kind: &str, status: &str) -> Value {
        json!({"type": kind, "status": status, "reason": "R"})
    }

    #[test]
    fn object_that_says_nothing_is_good() {
        assert_eq!(
            of(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})),
            Verdict::Good
        );
        assert_eq!(of(&with(&json!([is("Available", "False")]))), Verdict::Good);
    }

    #[test]
    fn ready_decides_when_nothing_else_is_said() {
        assert_eq!(of(&with(&json!([is("Ready", "True")]))), Verdict::Good);
        for status in ["False", "Unknown", "Perhaps"] {
            assert_eq!(
                of(&with(&json!([is("Ready", status)]))),
                Verdict::not_yet("NotReady", format!("Thing t is not ready: Ready={status}, reason R"))
            );
        }
    }

    #[test]
    fn stalled_is_bad_before_reconciling_before_ready() {
        let all = with(&json!([is("Ready", "False"), is("Reconciling", "True"), is("Stalled", "True")]));
        assert_eq!(of(&all), Verdict::bad("Stalled", "Thing t cannot go on: Stalled=True, reason R"));
        let busy = with(&json!([is("Ready", "True"), is("Reconciling", "True"), is("Stalled", "False")]));
        assert_eq!(
            of(&busy),
            Verdict::not_yet("Reconciling", "Thing t is being worked on: Reconciling=True, reason R")
        );
    }

    #[test]
    fn status_of_an_older_generation_is_not_believed() {
        let mut object = with(&json!([is("Ready", "True")]));
        object["status"]["observedGeneration"] = json!(1);
        assert_eq!(of(&object).why().unwrap().reason, "NotObserved");
        object["status"]["observedGeneration"] = json!(2);
        assert_eq!(of(&object), Verdict::Good);
    }

    #[test]
    fn conditions_of_an_older_generation_are_not_believed() {
        let mut object = with(&json!([is("Ready", "True"), is("Stalled", "True")]));
        object["status"]["conditions"][1]["observedGeneration"] = json!(1);
        assert_eq!(of(&object), Verdict::Good);
        object["status"]["conditions"][0]["observedGeneration"] = json!(1);
        assert_eq!(
            of(&object),
            Verdict::not_yet("NotObserved", "Thing t: its condition Ready is about generation 1, not 2")
        );
    }
}
