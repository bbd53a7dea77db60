//! APIs that another server serves.

use lockstep_api::names::{condition, reason};
use lockstep_api::text::visible;
use serde_json::Value;

use crate::facts::{Condition, called, text};
use crate::{Verdict, deletion};

/// An `APIService` is well when it is available; the sentence names the Service that should answer.
pub(crate) fn of(service: &Value) -> Verdict {
    if let Some(deleted) = deletion::verdict(service) {
        return deleted;
    }
    let told = match Condition::find(service, condition::AVAILABLE) {
        Some(available) if available.is_true() => return Verdict::Good,
        Some(available) => available.told(),
        None => "the server has not set the condition Available yet".to_owned(),
    };
    let behind = &service["spec"]["service"];
    let by = match (text(&behind["namespace"]), text(&behind["name"])) {
        ("", "") => String::new(),
        (namespace, name) => format!(" by Service {}/{}", visible(namespace), visible(name)),
    };
    Verdict::not_yet(reason::API_NOT_AVAILABLE, format!("{} is not answered{by}: {told}", called(service)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(conditions: &Value) -> Value {
        let mut service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1.x.io"}, "spec": {"service": {"namespace": "ns", "name": "api"}}});
        service["status"] = json!({"conditions": conditions});
        service
    }

    #[test]
    fn available_api_is_good() {
        assert_eq!(
            of(&with(&json!([{"type": "Available", "status": "True", "reason": "Passed"}]))),
            Verdict::Good
        );
    }

    #[test]
    fn api_that_does_not_answer_is_waited_for_and_names_its_service() {
        let down = json!([{"type": "Available", "status": "False", "reason": "MissingEndpoints", "message": "none"}]);
        assert_eq!(
            of(&with(&down)),
            Verdict::not_yet(
                "APINotAvailable",
                "APIService v1.x.io is not answered by Service ns/api: Available=False, reason MissingEndpoints: none"
            )
        );
    }

    #[test]
    fn api_without_a_condition_is_not_well() {
        let mut service = with(&json!([]));
        service["spec"] = json!({});
        assert_eq!(
            of(&service).why().unwrap().sentence,
            "APIService v1.x.io is not answered: the server has not set the condition Available yet"
        );
    }
}
