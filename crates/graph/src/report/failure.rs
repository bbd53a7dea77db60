//! What went wrong with one task, in words that tools match on and people understand.

use std::fmt;

use serde::Serialize;

use lockstep_api::names::reason;

use crate::task::{Role, Task};

/// Why a run, or one task of it, is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What it means to the cluster.
    pub effect: Effect,
    /// One word for tools; empty for an error that has none.
    pub reason: &'static str,
    /// How several of the kind are told as one, where that is possible.
    pub plural: Option<Plural>,
    /// One sentence for people.
    pub message: String,
    /// Whom it is about; sorted where there are several.
    pub names: Vec<String>,
    /// The task, where it is one.
    pub task: Option<FailedTask>,
    /// The text of the error underneath, which says more than the message.
    pub cause: Option<String>,
    /// The failures that this one stands for; empty for a failure of its own.
    pub parts: Vec<Failure>,
}

/// What a failure means to the cluster, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Effect {
    /// Worth telling; nothing waits for it.
    Report,
    /// Not a problem yet: the task is still on its way.
    None,
    /// A problem when it lasts.
    FailAfterInterval,
    /// Nobody has said; treated like `Fail`.
    #[default]
    Unset,
    /// A problem.
    Fail,
}

/// How several failures of one reason are told as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Plural {
    /// The reason of several.
    pub reason: &'static str,
    /// The message of several, with `%s` where the names belong.
    pub form: &'static str,
}

/// The task that failed, as far as a report needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedTask {
    /// `kind "namespace/name" (index of total)`.
    pub text: String,
    /// What it is to the order of others.
    pub role: Role,
}

/// How a task, or the walk to it, ended without success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// The run was stopped before a task; nothing is wrong with that task.
    Interrupted {
        /// Tasks done by then.
        done: usize,
        /// All tasks.
        total: usize,
        /// What stopped the run.
        cause: String,
    },
    /// Something is wrong.
    Failed(Failure),
}

/// An error of the API, reduced to what its class depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiError<'a> {
    /// The server answered with a `Status`.
    Status {
        /// The HTTP status code.
        code: u16,
        /// The `reason` of the `Status`; may be empty or unknown.
        reason: &'a str,
    },
    /// The server answered with something that is no answer of the API.
    UnexpectedResponse,
    /// No server serves the kind.
    KindNotServed,
    /// Anything else.
    Other,
}

/// The reasons of a `Status` that say more than its code.
const KNOWN: [&str; 18] = [
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Invalid",
    "ServerTimeout",
    "Timeout",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
    "InternalError",
    "Expired",
    "ServiceUnavailable",
];

/// Reason and cause of an error that the API gave for a task; the first class that fits counts.
pub fn classify(error: ApiError<'_>) -> (&'static str, Option<&'static str>) {
    let is = |names: &[&str]| matches!(error, ApiError::Status { reason, .. } if names.contains(&reason));
    // A code counts only where the reason is none that is known: a 409 can also say AlreadyExists.
    let has = |wanted: u16| matches!(error, ApiError::Status { code, reason } if code == wanted && !KNOWN.contains(&reason));
    let is_too_many = matches!(error, ApiError::Status { code: 429, .. });
    if is(&["NotFound", "AlreadyExists"]) || has(404) {
        (reason::UPDATE_PAYLOAD_RESOURCE_NOT_FOUND, Some("resource may have been deleted"))
    } else if is(&["Conflict"]) || has(409) {
        (reason::UPDATE_PAYLOAD_RESOURCE_CONFLICT, Some("someone else is updating this resource"))
    } else if is(&["Timeout", "ServiceUnavailable"])
        || has(503)
        || has(504)
        || error == ApiError::UnexpectedResponse
    {
        (reason::UPDATE_PAYLOAD_CLUSTER_DOWN, Some("the server is down or not responding"))
    } else if is(&["InternalError"]) || has(500) {
        (reason::UPDATE_PAYLOAD_CLUSTER_ERROR, Some("the server is reporting an internal error"))
    } else if is(&["Invalid"]) || has(422) {
        let cause = "the object is invalid, possibly due to local cluster configuration";
        (reason::UPDATE_PAYLOAD_RESOURCE_INVALID, Some(cause))
    } else if is(&["Unauthorized"]) || has(401) {
        (reason::UPDATE_PAYLOAD_CLUSTER_UNAUTHORIZED, Some("could not authenticate to the server"))
    } else if is(&["Forbidden"]) || has(403) {
        let cause = "the server has forbidden updates to this resource";
        (reason::UPDATE_PAYLOAD_RESOURCE_FORBIDDEN, Some(cause))
    } else if is(&["ServerTimeout", "TooManyRequests"]) || is_too_many {
        let cause = "the server is overloaded and is not accepting updates";
        (reason::UPDATE_PAYLOAD_CLUSTER_OVERLOADED, Some(cause))
    } else if error == ApiError::KindNotServed {
        let cause = "the server does not recognize this resource, check extension API servers";
        (reason::UPDATE_PAYLOAD_RESOURCE_TYPE_MISSING, Some(cause))
    } else {
        (reason::UPDATE_PAYLOAD_FAILED, None)
    }
}

// === impl Failure ===

impl Failure {
    /// A failure with a reason and a message and nothing else.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            effect: Effect::default(),
            reason,
            plural: None,
            message: message.into(),
            names: Vec::new(),
            task: None,
            cause: None,
            parts: Vec::new(),
        }
    }

    /// What the API's refusal of a task becomes; `text` is the error as the API gave it.
    pub fn of_api_error(task: &Task, error: ApiError<'_>, text: impl Into<String>) -> Self {
        let (reason, cause) = classify(error);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        Self {
            task: Some(FailedTask::of(task)),
            cause: Some(text.into()),
            names: vec![task.id.name.clone()],
            ..Self::new(reason, format!("Could not update {task}{cause}"))
        }
    }

    /// Sets what it means to the cluster.
    #[must_use]
    pub fn with_effect(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }

    /// Sets whom it is about.
    #[must_use]
    pub fn about(self, name: impl Into<String>) -> Self {
        Self { names: vec![name.into()], ..self }
    }

    /// Sets how several of the kind are told as one.
    #[must_use]
    pub fn with_plural(self, reason: &'static str, form: &'static str) -> Self {
        Self { plural: Some(Plural { reason, form }), ..self }
    }

    /// Sets the task.
    #[must_use]
    pub fn of_task(self, task: &Task) -> Self {
        Self { task: Some(FailedTask::of(task)), ..self }
    }

    /// Sets the text of the error underneath.
    #[must_use]
    pub fn because(self, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// Whom it is about, as one text; empty for nobody in particular.
    pub fn name(&self) -> String {
        self.names.join(", ")
    }

    /// The failure to name first: the strongest of those that this one stands for, of equal ones the first.
    pub fn first_cause(&self) -> &Self {
        let strongest = self.parts.iter().map(|part| part.effect).max();
        self.parts.iter().find(|part| Some(part.effect) == strongest).map_or(self, Self::first_cause)
    }

    /// Whether it is about a ClusterOperator that the run waits for.
    pub fn is_of_gate(&self) -> bool {
        self.task.as_ref().is_some_and(|task| task.role == Role::Gate)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

// === impl FailedTask ===

impl FailedTask {
    /// What a report needs of a task.
    pub fn of(task: &Task) -> Self {
        Self { text: task.to_string(), role: task.role }
    }
}

// === impl RunError ===

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted { done, total, cause } => write!(f, "update {cause} at {done} of {total}"),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::fixture::a_task;

    fn status(code: u16, reason: &str) -> ApiError<'_> {
        ApiError::Status { code, reason }
    }

    #[test]
    fn classes_of_the_specification() {
        let rows = [
            (status(404, "NotFound"), "UpdatePayloadResourceNotFound", "resource may have been deleted"),
            (status(409, "AlreadyExists"), "UpdatePayloadResourceNotFound", "resource may have been deleted"),
            (
                status(409, "Conflict"),
                "UpdatePayloadResourceConflict",
                "someone else is updating this resource",
            ),
            (status(504, "Timeout"), "UpdatePayloadClusterDown", "the server is down or not responding"),
            (
                status(503, "ServiceUnavailable"),
                "UpdatePayloadClusterDown",
                "the server is down or not responding",
            ),
            (
                ApiError::UnexpectedResponse,
                "UpdatePayloadClusterDown",
                "the server is down or not responding",
            ),
            (
                status(500, "InternalError"),
                "UpdatePayloadClusterError",
                "the server is reporting an internal error",
            ),
            (
                status(422, "Invalid"),
                "UpdatePayloadResourceInvalid",
                "the object is invalid, possibly due to local cluster configuration",
            ),
            (
                status(401, "Unauthorized"),
                "UpdatePayloadClusterUnauthorized",
                "could not authenticate to the server",
            ),
            (
                status(403, "Forbidden"),
                "UpdatePayloadResourceForbidden",
                "the server has forbidden updates to this resource",
            ),
            (
                status(500, "ServerTimeout"),
                "UpdatePayloadClusterOverloaded",
                "the server is overloaded and is not accepting updates",
            ),
            (
                status(429, "TooManyRequests"),
                "UpdatePayloadClusterOverloaded",
                "the server is overloaded and is not accepting updates",
            ),
            (
                ApiError::KindNotServed,
                "UpdatePayloadResourceTypeMissing",
                "the server does not recognize this resource, check extension API servers",
            ),
        ];
        for (error, reason, cause) in rows {
            assert_eq!(classify(error), (reason, Some(cause)), "{error:?}");
        }
        for error in [ApiError::Other, status(410, "Gone"), status(400, "BadRequest"), status(418, "")] {
            assert_eq!(classify(error), ("UpdatePayloadFailed", None), "{error:?}");
        }
    }

    #[test]
    fn a_code_counts_where_the_reason_says_nothing() {
        assert_eq!(classify(status(404, "")).0, "UpdatePayloadResourceNotFound");
        assert_eq!(classify(status(503, "Strange")).0, "UpdatePayloadClusterDown");
        assert_eq!(classify(status(504, "")).0, "UpdatePayloadClusterDown");
        assert_eq!(classify(status(429, "BadRequest")).0, "UpdatePayloadClusterOverloaded");
        assert_eq!(
            classify(status(404, "Gone")).0,
            "UpdatePayloadFailed",
            "a known reason outweighs the code"
        );
    }

    #[test]
    fn a_refused_task_is_named_with_the_cause_where_there_is_one() {
        let task = Task { index: 3, total: 3, ..a_task("file-yml") };
        let plain = Failure::of_api_error(&task, ApiError::Other, "boom");
        assert_eq!(plain.message, "Could not update pod \"file-yml\" (3 of 3)");
        assert_eq!((plain.effect, plain.cause.as_deref()), (Effect::Unset, Some("boom")));
        let conflict = Failure::of_api_error(&task, status(409, "Conflict"), "boom");
        assert_eq!(
            conflict.to_string(),
            "Could not update pod \"file-yml\" (3 of 3): someone else is updating this resource"
        );
    }

    #[test]
    fn the_strongest_effect_is_fail_and_the_weakest_report() {
        let by_strength =
            [Effect::Report, Effect::None, Effect::FailAfterInterval, Effect::Unset, Effect::Fail];
        assert!(by_strength.is_sorted());
    }

    #[test]
    fn the_first_cause_is_the_strongest_and_of_equal_ones_the_first() {
        let part = |message: &str, effect| Failure::new("R", message).with_effect(effect);
        let parts = vec![part("a", Effect::None), part("b", Effect::Fail), part("c", Effect::Fail)];
        let many = Failure { parts, ..Failure::new("MultipleErrors", "all") };
        assert_eq!(many.first_cause().message, "b");
        assert_eq!(part("own", Effect::None).first_cause().message, "own");
    }

    #[test]
    fn an_interruption_says_how_far_the_run_came() {
        let error = RunError::Interrupted { done: 1, total: 3, cause: "context canceled".to_owned() };
        assert_eq!(error.to_string(), "update context canceled at 1 of 3");
    }
}
