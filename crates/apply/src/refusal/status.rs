//! Error answers of the server, by their structure.

use std::time::Duration;

use serde_json::Value;

use super::{Cause, Owned, Refusal};

/// What a server says where an API exists and its resource does not.
const NO_SUCH_PATH: &str = "404 page not found";
/// What the API server says for a server behind it that does not answer.
const NO_BACKEND: [&str; 2] = ["service unavailable", "error trying to reach service"];
/// How a schema refuses an object.
const NOT_IN_SCHEMA: &str = "failed to create typed patch object (";
/// How a field is told that the schema does not have.
const UNDECLARED: &str = ": field not declared in schema";
/// What fields say that cannot change; each kind has words of its own and there is no reason for it.
const IMMUTABLE: [&str; 6] = [
    "field is immutable",
    "is immutable",
    "may not change once set",
    "may not be changed",
    "cannot change roleRef",
    "updates to ",
];

/// What a `Status` means.
pub(super) fn of_status(code: u16, status: &Value, retry_after: Option<Duration>) -> Refusal {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (reason, message) = (text(&status["reason"]), text(&status["message"]));
    let details = &status["details"];
    let retry_after = retry_after
        .or_else(|| details["retryAfterSeconds"].as_u64().filter(|it| *it > 0).map(Duration::from_secs));
    // A denial may come with any code: the webhook chooses it.
    if is_denial(&message) {
        return Refusal::Denied { message };
    }
    match code {
        401 => Refusal::Unauthorized { message },
        403 => forbidden(details, message),
        404 => missing(details),
        409 => conflict(&reason, details),
        410 => Refusal::Gone,
        413 => Refusal::TooLarge { message },
        422 => invalid(details, message),
        429 | 503 | 504 => Refusal::Busy { message, retry_after },
        500 => internal(&reason, message, retry_after),
        _ => Refusal::Other { code, reason, message },
    }
}

/// What an answer means that is no `Status`.
pub(super) fn of_plain(code: u16, text: &str, retry_after: Option<Duration>) -> Refusal {
    let message = if text.is_empty() { format!("an empty answer with code {code}") } else { shortened(text) };
    match code {
        401 => Refusal::Unauthorized { message },
        403 => Refusal::Forbidden { message },
        404 if text == NO_SUCH_PATH => Refusal::KindNotServed,
        410 => Refusal::Gone,
        413 => Refusal::TooLarge { message },
        503 if NO_BACKEND.iter().any(|begin| text.starts_with(begin)) => Refusal::ApiUnavailable,
        // 502 is what a load balancer says while the server behind it restarts.
        429 | 502 | 503 | 504 => Refusal::Busy { message, retry_after },
        _ => Refusal::Other { code, reason: String::new(), message },
    }
}

fn is_denial(message: &str) -> bool {
    let by_webhook = message.contains("admission webhook \"") && message.contains("\" denied the request");
    by_webhook || (message.contains("ValidatingAdmissionPolicy '") && message.contains(" denied request"))
}

fn forbidden(details: &Value, message: String) -> Refusal {
    let is_terminating = causes(details).iter().any(|cause| cause.reason == "NamespaceTerminating");
    if is_terminating {
        // The object is what the details name; the namespace is in the sentence of the server only.
        let name = message.split("in namespace ").nth(1).and_then(|rest| rest.split([' ', '.']).next());
        let name = name.unwrap_or_default().trim_matches('"').to_owned();
        Refusal::NamespaceTerminating { name }
    } else if message.contains("custom resource definition is terminating") {
        Refusal::DefinitionTerminating
    } else if message.contains("is attempting to grant RBAC permissions not currently held") {
        Refusal::Escalation { message }
    } else if message.contains("User \"") && message.contains("\" cannot ") {
        Refusal::Forbidden { message }
    } else {
        // Not the authoriser: its sentence is always the same. So it was admission: a quota, a pod security level.
        Refusal::Denied { message }
    }
}

fn missing(details: &Value) -> Refusal {
    let text = |key: &str| details[key].as_str().unwrap_or_default();
    match (text("kind"), text("name")) {
        ("", "") => Refusal::KindNotServed,
        ("namespaces", name) if text("group").is_empty() => {
            Refusal::NamespaceMissing { name: name.to_owned() }
        }
        _ => Refusal::NotFound,
    }
}

fn conflict(reason: &str, details: &Value) -> Refusal {
    if reason == "AlreadyExists" {
        return Refusal::AlreadyExists;
    }
    let owned: Vec<Owned> = causes(details)
        .into_iter()
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| Owned { manager: first_quoted(&cause.message).to_owned(), field: cause.field })
        .collect();
    if owned.is_empty() { Refusal::Stale } else { Refusal::Conflict { owned } }
}

fn invalid(details: &Value, message: String) -> Refusal {
    let causes = causes(details);
    let is = |cause: &Cause, reasons: &[&str]| reasons.contains(&cause.reason.as_str());
    if causes.is_empty() && message == "the server rejected our request due to an error in our request" {
        // A JSON patch whose `test` failed or whose path is not there: the object is another one by now.
        return Refusal::Stale;
    }
    if causes.iter().any(|cause| cause.field == "metadata.uid") {
        return Refusal::Stale;
    }
    if !causes.is_empty() && causes.iter().all(|cause| is(cause, &["FieldValueRequired"])) {
        return Refusal::Required { fields: causes.into_iter().map(|cause| cause.field).collect() };
    }
    let is_whole = |cause: &Cause| ["", "[]", "data", "metadata.annotations"].contains(&cause.field.as_str());
    if causes.iter().any(|cause| is(cause, &["FieldValueTooLong"]) && is_whole(cause)) {
        return Refusal::TooLarge { message };
    }
    let is_immutable = |cause: &Cause| {
        is(cause, &["FieldValueInvalid", "FieldValueForbidden"])
            && IMMUTABLE.iter().any(|words| cause.message.contains(words))
    };
    if causes.iter().any(is_immutable) {
        return Refusal::Immutable { causes: causes.into_iter().filter(is_immutable).collect() };
    }
    Refusal::Invalid { causes, message }
}

fn internal(reason: &str, message: String, retry_after: Option<Duration>) -> Refusal {
    if message.contains("failed calling webhook \"") {
        let name = message.split("failed calling webhook ").nth(1).map(first_quoted).unwrap_or_default();
        Refusal::WebhookUnavailable { name: name.to_owned(), message }
    } else if message.contains("conversion webhook for ") {
        Refusal::ConversionWebhookUnavailable { message }
    } else if let Some(rest) = message.strip_prefix(NOT_IN_SCHEMA) {
        let field =
            rest.split("): ").nth(1).and_then(|rest| rest.split_once(UNDECLARED)).map(|(path, _)| path);
        Refusal::Undeclared { field: field.map(str::to_owned), message }
    } else if message.starts_with("etcdserver: request is too large") {
        Refusal::TooLarge { message }
    } else if reason == "ServerTimeout" || message.starts_with("etcdserver: ") {
        // A leader that is being elected, a request that took too long, a space that is being made.
        Refusal::Busy { message, retry_after }
    } else {
        Refusal::Other { code: 500, reason: reason.to_owned(), message }
    }
}

fn causes(details: &Value) -> Vec<Cause> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cause = |value: &Value| Cause {
        reason: text(&value["reason"]),
        field: text(&value["field"]),
        message: text(&value["message"]),
    };
    details["causes"].as_array().into_iter().flatten().map(cause).collect()
}

fn first_quoted(text: &str) -> &str {
    text.split('"').nth(1).unwrap_or_default()
}

/// The first line, and not more than a person reads: a proxy may answer with a whole page.
fn shortened(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(300).collect()
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
