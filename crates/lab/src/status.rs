//! The error answers of an API server: `Status` objects with the codes, reasons and sentences that clients match on.

use serde_json::{Map, Value, json};

use crate::go;

/// An error answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The word that clients match on; missing in the few answers of the real server that have none.
    pub reason: Option<&'static str>,
    /// What is wrong, for people.
    pub message: String,
    /// Which object and which fields, for programs; `None` where the real server leaves it out.
    pub details: Option<Map<String, Value>>,
    /// Where a list whose version is forgotten can go on all the same.
    pub continue_token: Option<String>,
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The sort of problem.
    pub kind: FieldErrorKind,
    /// The path of the field, such as `spec.template.spec.containers[0].name`.
    pub field: String,
    /// The refused value, where the message shows it.
    pub value: Option<Value>,
    /// The explanation; may be empty.
    pub detail: String,
}

/// The sorts of problems a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// It names something that is not there.
    NotFound,
    /// It is missing.
    Required,
    /// It occurs twice.
    Duplicate,
    /// Its value is not allowed.
    Invalid,
    /// Its value is none of the known ones.
    NotSupported,
    /// It must not be set here.
    Forbidden,
    /// It is longer than allowed.
    TooLong,
    /// It has more entries than allowed.
    TooMany,
    /// It has fewer entries than needed.
    TooFew,
    /// It is shorter than allowed.
    TooShort,
    /// Its value has another type than the schema says.
    TypeInvalid,
    /// The server failed over it.
    Internal,
}

/// Names a resource in messages: `deployments.apps`, `pods`.
#[derive(Clone, Copy, Debug)]
pub struct GroupName<'a> {
    /// The API group; empty for the core.
    pub group: &'a str,
    /// The plural name of the resource, or the name of the kind where the real server says that.
    pub name: &'a str,
}

// === impl Status ===

impl Status {
    /// An error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason: Some(reason), message: message.into(), details: None, continue_token: None }
    }

    /// An internal error without a reason, as the real server answers when a plain Go error gets that far.
    pub fn bare(message: impl Into<String>) -> Self {
        Self { code: 500, reason: None, message: message.into(), details: None, continue_token: None }
    }

    /// 400: the request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 404: there is no such object.
    pub fn not_found(resource: GroupName<'_>, name: &str) -> Self {
        Self::about(404, "NotFound", resource, name, format!("{resource} {name:?} not found"))
    }

    /// 404: a built-in group has no such version or resource.
    pub fn no_such_resource() -> Self {
        Self {
            details: Some(Map::new()),
            ..Self::new(404, "NotFound", "the server could not find the requested resource")
        }
    }

    /// 409: an object of that name is there.
    pub fn already_exists(resource: GroupName<'_>, name: &str) -> Self {
        Self::about(409, "AlreadyExists", resource, name, format!("{resource} {name:?} already exists"))
    }

    /// 409: the object is not what the client thinks it is.
    pub fn conflict(resource: GroupName<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Self::about(409, "Conflict", resource, name, message)
    }

    /// 409: the object has another resource version than the client has seen.
    pub fn modified(resource: GroupName<'_>, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 403: not allowed, and why.
    pub fn forbidden(resource: GroupName<'_>, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} {name:?} is forbidden: {why}")
        };
        Self::about(403, "Forbidden", resource, name, message)
    }

    /// 422: fields of the object are wrong; `kind` names the kind, not the resource.
    pub fn invalid(kind: GroupName<'_>, name: &str, errors: &[FieldError]) -> Self {
        let message = match aggregate(errors) {
            Some(text) => format!("{kind} {name:?} is invalid: {text}"),
            None => format!("{kind} {name:?} is invalid"),
        };
        let causes: Vec<Value> = errors.iter().map(FieldError::cause).collect();
        let mut status = Self::about(422, "Invalid", kind, name, message);
        if let Some(details) = &mut status.details
            && !causes.is_empty()
        {
            details.insert("causes".into(), causes.into());
        }
        status
    }

    /// 405: the resource has no such verb.
    pub fn method_not_supported(resource: GroupName<'_>, action: &str) -> Self {
        let message = format!("{action} is not supported on resources of kind \"{resource}\"");
        Self::about(405, "MethodNotAllowed", resource, "", message)
    }

    /// 405: the address knows no such method.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self { details: Some(Map::new()), ..Self::new(405, "MethodNotAllowed", message) }
    }

    /// 410: the resource version is too old.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 401: no or wrong credentials.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 413: the body is larger than the server takes.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 500: something failed that should not.
    pub fn internal(what: &str) -> Self {
        let details = json!({"causes": [{"message": what}]});
        Self {
            details: details.as_object().cloned(),
            ..Self::new(500, "InternalError", format!("Internal error occurred: {what}"))
        }
    }

    /// The answer as the body of a response, or as the object of an `ERROR` event of a watch.
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if let Some(reason) = self.reason {
            value["reason"] = reason.into();
        }
        if let Some(token) = &self.continue_token {
            value["metadata"]["continue"] = token.as_str().into();
        }
        if let Some(details) = &self.details {
            value["details"] = Value::Object(details.clone());
        }
        value
    }

    fn about(code: u16, reason: &'static str, what: GroupName<'_>, name: &str, message: String) -> Self {
        let mut details = Map::new();
        for (key, value) in [("name", name), ("group", what.group), ("kind", what.name)] {
            if !value.is_empty() {
                details.insert(key.into(), value.into());
            }
        }
        Self { details: Some(details), ..Self::new(code, reason, message) }
    }
}

// === impl FieldError ===

impl FieldError {
    /// A field error with the value that is wrong.
    pub fn new(
        kind: FieldErrorKind,
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, field: field.into(), value: Some(value.into()), detail: detail.into() }
    }

    /// A value that is not allowed.
    pub fn invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, field, value, detail)
    }

    /// A value that is missing.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::Required, field: field.into(), value: None, detail: detail.into() }
    }

    /// A value that must not be set.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::Forbidden, field: field.into(), value: None, detail: detail.into() }
    }

    /// A value that occurs twice.
    pub fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, field, value, "")
    }

    /// A value that is none of the supported ones; they are listed in this order.
    pub fn not_supported(field: impl Into<String>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|word| format!("{word:?}")).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(FieldErrorKind::NotSupported, field, value, detail)
    }

    /// The problem without the field, as in `causes[].message`.
    pub fn body(&self) -> String {
        use FieldErrorKind::{Forbidden, Internal, Required, TooLong, TooShort};
        let mut text = self.kind.words().to_owned();
        let shows_value = !matches!(self.kind, Required | Forbidden | TooLong | TooShort | Internal);
        if let (true, Some(value)) = (shows_value, &self.value) {
            text.push_str(": ");
            match value {
                // Go quotes texts in its own way; everything else is shown as JSON.
                Value::String(value) => text.push_str(&go::quote(value)),
                value => text.push_str(&value.to_string()),
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    fn cause(&self) -> Value {
        json!({"reason": self.kind.reason(), "message": self.body(), "field": self.field})
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

// === impl FieldErrorKind ===

impl FieldErrorKind {
    /// The word in `causes[].reason`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TooShort => "FieldValueTooShort",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    /// The words that a message begins with.
    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::TooShort => "Too short",
            Self::Internal => "Internal error",
        }
    }
}

// === impl GroupName ===

impl std::fmt::Display for GroupName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() { f.write_str(self.name) } else { write!(f, "{}.{}", self.name, self.group) }
    }
}

/// Several problems in one sentence: one as it is, more of them in brackets, equal ones once.
fn aggregate(errors: &[FieldError]) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.len() {
        0 => None,
        1 => texts.pop(),
        _ => Some(format!("[{}]", texts.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPLOYMENTS: GroupName<'_> = GroupName { group: "apps", name: "deployments" };

    #[test]
    fn a_missing_object_is_named_with_its_group() {
        let status = Status::not_found(DEPLOYMENTS, "web").to_value();
        assert_eq!(status["message"], "deployments.apps \"web\" not found");
        assert_eq!(status["details"], json!({"name": "web", "group": "apps", "kind": "deployments"}));
        assert_eq!(status["code"], 404);
    }

    #[test]
    fn several_wrong_fields_stand_in_brackets_and_each_is_a_cause() {
        let errors = [
            FieldError::required("spec.selector", ""),
            FieldError::invalid("spec.replicas", -1, "must be greater than or equal to 0"),
            FieldError::not_supported("spec.strategy.type", "Fast", &["Recreate", "RollingUpdate"]),
        ];
        let kind = GroupName { group: "apps", name: "Deployment" };
        let status = Status::invalid(kind, "web", &errors);
        assert_eq!(
            status.message,
            "Deployment.apps \"web\" is invalid: [spec.selector: Required value, spec.replicas: Invalid value: -1: \
             must be greater than or equal to 0, spec.strategy.type: Unsupported value: \"Fast\": supported values: \
             \"Recreate\", \"RollingUpdate\"]"
        );
        assert_eq!(status.to_value()["details"]["causes"][0]["reason"], "FieldValueRequired");
    }

    #[test]
    fn an_error_without_reason_has_no_such_key() {
        assert_eq!(Status::bare("x").to_value().get("reason"), None);
    }
}
