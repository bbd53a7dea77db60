//! Definitions of kinds: served or not.

use lockstep_api::names::{condition, reason};
use serde_json::Value;

use crate::facts::{Condition, called};
use crate::{Verdict, deletion};

/// A definition is well when it is established, and bad when its names belong to another definition.
pub(crate) fn of(crd: &Value) -> Verdict {
    if let Some(deleted) = deletion::verdict(crd) {
        return deleted;
    }
    let names = Condition::find(crd, condition::NAMES_ACCEPTED).filter(Condition::is_false);
    if let Some(names) = names {
        let sentence = format!("{} cannot have its names: {}", called(crd), names.told());
        return Verdict::bad(reason::NAMES_NOT_ACCEPTED, sentence);
    }
    let sentence = match Condition::find(crd, condition::ESTABLISHED) {
        Some(established) if established.is_true() => return Verdict::Good,
        Some(established) => format!("{} is not served: {}", called(crd), established.told()),
        None => {
            format!("{} is not served: the server has not set the condition Established yet", called(crd))
        }
    };
    Verdict::not_yet(reason::NOT_ESTABLISHED, sentence)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(conditions: &[(&str, &str)]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status, "reason": "R", "message": "m"}))
            .collect();
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "as.x.io"}, "status": {"conditions": conditions}})
    }

    #[test]
    fn established_definition_is_good() {
        assert_eq!(of(&with(&[("NamesAccepted", "True"), ("Established", "True")])), Verdict::Good);
    }

    #[test]
    fn definition_is_waited_for_until_it_is_established() {
        let name = "CustomResourceDefinition as.x.io is not served:";
        assert_eq!(
            of(&with(&[])),
            Verdict::not_yet(
                "NotEstablished",
                format!("{name} the server has not set the condition Established yet")
            )
        );
        assert_eq!(
            of(&with(&[("NamesAccepted", "True"), ("Established", "False")])),
            Verdict::not_yet("NotEstablished", format!("{name} Established=False, reason R: m"))
        );
        assert!(!of(&with(&[("Established", "Unknown")])).is_good());
    }

    #[test]
    fn names_that_are_taken_are_bad_even_while_the_old_ones_are_served() {
        for established in ["True", "False"] {
            assert_eq!(
                of(&with(&[("Established", established), ("NamesAccepted", "False")])),
                Verdict::bad(
                    "NamesNotAccepted",
                    "CustomResourceDefinition as.x.io cannot have its names: NamesAccepted=False, reason R: m"
                )
            );
        }
    }

    #[test]
    fn definition_that_is_being_deleted_is_not_well() {
        let mut crd = with(&[("Established", "True")]);
        crd["metadata"]["deletionTimestamp"] = json!("T");
        assert_eq!(of(&crd).why().unwrap().reason, "BeingDeleted");
    }
}
