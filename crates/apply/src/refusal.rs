//! Why a request was not answered as wished, told by the structure of the answer.
//!
//! Text is looked at only where the server gives nothing else: inside `500`, where three different problems share one
//! answer without a reason, and for denials, which may come with any code.

mod explain;
mod status;
mod transport;

use std::fmt;
use std::time::Duration;

use lockstep_graph::report::ApiError;
use serde_json::Value;

/// Why a request did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The server does not serve the kind, or not yet.
    KindNotServed,
    /// The namespace is not there.
    NamespaceMissing {
        /// The namespace.
        name: String,
    },
    /// The namespace is just going away; nothing new can be created in it.
    NamespaceTerminating {
        /// The namespace; empty when the server does not say.
        name: String,
    },
    /// The definition of the kind is just going away.
    DefinitionTerminating,
    /// The API is served by another server, and that one does not answer.
    ApiUnavailable,
    /// An admission webhook does not answer.
    WebhookUnavailable {
        /// The webhook, as its configuration names it.
        name: String,
        /// What went wrong.
        message: String,
    },
    /// The webhook that converts between versions of the kind does not answer.
    ConversionWebhookUnavailable {
        /// What went wrong.
        message: String,
    },
    /// The object does not fit the schema that the server knows.
    ///
    /// NB: right after the definition has changed this can be said of fields that the new schema has.
    Undeclared {
        /// What does not fit.
        message: String,
        /// The path of a field that is not declared, as the server writes it (`.spec.x`); `None` when the value is
        /// what does not fit: its type, or an entry that occurs twice.
        field: Option<String>,
    },
    /// The object is larger than the server takes.
    TooLarge {
        /// Which limit.
        message: String,
    },
    /// Fields are missing, and nothing else is wrong.
    Required {
        /// Their paths.
        fields: Vec<String>,
    },
    /// Values are not allowed.
    Invalid {
        /// What is wrong with which field; empty when the server does not say.
        causes: Vec<Cause>,
        /// All of it as the server says it.
        message: String,
    },
    /// Fields would change that cannot be changed.
    Immutable {
        /// The fields, each with what the server says about it.
        causes: Vec<Cause>,
    },
    /// Somebody else owns fields with other values, and the request was not to take them.
    Conflict {
        /// The fields and who owns them.
        owned: Vec<Owned>,
    },
    /// The object is not the one that was read before: it has changed since, or was replaced.
    Stale,
    /// An object with this name is there already.
    AlreadyExists,
    /// The user may not do this.
    Forbidden {
        /// Who may not do what.
        message: String,
    },
    /// The role or binding would give rights that the user does not have.
    Escalation {
        /// Which ones.
        message: String,
    },
    /// An admission policy, plugin or webhook said no.
    Denied {
        /// Who and why.
        message: String,
    },
    /// The server does not know who is asking.
    Unauthorized {
        /// What it says, or what went wrong with the credentials.
        message: String,
    },
    /// The object is not there.
    NotFound,
    /// The server cannot answer now.
    Busy {
        /// How that showed.
        message: String,
        /// When to come again, if the server said so.
        retry_after: Option<Duration>,
    },
    /// Nobody answers at the address.
    Unreachable {
        /// How that showed.
        message: String,
    },
    /// There is no trust: a certificate has expired, or nobody knows who signed it.
    Tls {
        /// What is wrong with it.
        message: String,
    },
    /// The version asked for is forgotten.
    Gone,
    /// Anything else.
    Other {
        /// The HTTP status code; 0 when there was no answer.
        code: u16,
        /// The reason of the answer; may be empty.
        reason: String,
        /// What the server says.
        message: String,
    },
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The sort of problem, such as `FieldValueInvalid`; may be empty.
    pub reason: String,
    /// The path of the field; may be empty.
    pub field: String,
    /// What is wrong.
    pub message: String,
}

/// A field that somebody else owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// Who.
    pub manager: String,
    /// The path, as the server writes it.
    pub field: String,
}

// === impl Refusal ===

impl Refusal {
    /// What an error of the client means.
    pub fn of(error: &kube::Error) -> Self {
        transport::of(error)
    }

    /// What an answer with an error code means; `retry_after` is what its header says.
    pub fn of_response(code: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) if value["kind"] == "Status" => status::of_status(code, &value, retry_after),
            _ => status::of_plain(code, String::from_utf8_lossy(body).trim(), retry_after),
        }
    }

    /// What a `Status` means that did not come as an answer, such as the one in an `ERROR` event of a watch.
    pub fn of_status(value: &Value) -> Self {
        let code = value["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or_default();
        status::of_status(code, value, None)
    }

    /// Whether the same request can succeed later without anybody changing anything about it.
    ///
    /// What waits for a namespace, a kind or a webhook is not transient: that is a wait with a name of its own.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Unreachable { .. } | Self::Stale | Self::Gone => true,
            Self::Other { code, .. } => *code >= 500,
            _ => false,
        }
    }

    /// Whether something that others bring is missing: the request works once it is there.
    pub fn is_missing_prerequisite(&self) -> bool {
        matches!(
            self,
            Self::KindNotServed
                | Self::NamespaceMissing { .. }
                | Self::NamespaceTerminating { .. }
                | Self::DefinitionTerminating
                | Self::ApiUnavailable
                | Self::WebhookUnavailable { .. }
                | Self::ConversionWebhookUnavailable { .. }
        )
    }

    /// When the server wants to be asked again, if it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// One word for machines.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::KindNotServed => "KindNotServed",
            Self::NamespaceMissing { .. } => "NamespaceMissing",
            Self::NamespaceTerminating { .. } => "NamespaceTerminating",
            Self::DefinitionTerminating => "DefinitionTerminating",
            Self::ApiUnavailable => "ApiUnavailable",
            Self::WebhookUnavailable { .. } => "WebhookUnavailable",
            Self::ConversionWebhookUnavailable { .. } => "ConversionWebhookUnavailable",
            Self::Undeclared { .. } => "FieldNotDeclared",
            Self::TooLarge { .. } => "ObjectTooLarge",
            Self::Required { .. } => "FieldRequired",
            Self::Invalid { .. } => "ObjectInvalid",
            Self::Immutable { .. } => "FieldImmutable",
            Self::Conflict { .. } => "FieldConflict",
            Self::Stale => "ObjectChanged",
            Self::AlreadyExists => "AlreadyExists",
            Self::Forbidden { .. } => "Forbidden",
            Self::Escalation { .. } => "RightsEscalation",
            Self::Denied { .. } => "AdmissionDenied",
            Self::Unauthorized { .. } => "Unauthorized",
            Self::NotFound => "NotFound",
            Self::Busy { .. } => "ServerBusy",
            Self::Unreachable { .. } => "ServerUnreachable",
            Self::Tls { .. } => "CertificateNotTrusted",
            Self::Gone => "VersionGone",
            Self::Other { .. } => "RequestFailed",
        }
    }

    /// The class that the reports of a run know.
    pub fn api_error(&self) -> ApiError<'_> {
        let (code, reason) = match self {
            Self::KindNotServed => return ApiError::KindNotServed,
            Self::Unreachable { .. } | Self::Tls { .. } => return ApiError::UnexpectedResponse,
            Self::NamespaceMissing { .. } | Self::NotFound => (404, "NotFound"),
            Self::NamespaceTerminating { .. }
            | Self::DefinitionTerminating
            | Self::Forbidden { .. }
            | Self::Escalation { .. }
            | Self::Denied { .. } => (403, "Forbidden"),
            Self::ApiUnavailable => (503, "ServiceUnavailable"),
            Self::WebhookUnavailable { .. } => (500, "InternalError"),
            Self::ConversionWebhookUnavailable { .. } | Self::Undeclared { .. } => (500, ""),
            // Whatever the code: the object is what has to change.
            Self::TooLarge { .. } | Self::Required { .. } | Self::Invalid { .. } | Self::Immutable { .. } => {
                (422, "Invalid")
            }
            Self::Conflict { .. } | Self::Stale => (409, "Conflict"),
            Self::AlreadyExists => (409, "AlreadyExists"),
            Self::Unauthorized { .. } => (401, "Unauthorized"),
            Self::Busy { retry_after: Some(_), .. } => (429, "TooManyRequests"),
            Self::Busy { retry_after: None, .. } => (504, "Timeout"),
            Self::Gone => (410, "Gone"),
            Self::Other { code: 0, .. } => return ApiError::Other,
            Self::Other { code, reason, .. } => (*code, reason.as_str()),
        };
        ApiError::Status { code, reason }
    }

    /// One message that names the object, what is wrong and what to do.
    ///
    /// `object` is the object for people, its kind first: `Deployment openshift-dns/dns-operator`.
    pub fn explain(&self, object: &str) -> String {
        explain::explain(self, object)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        explain::brief(self, f)
    }
}

impl std::error::Error for Refusal {}

// === impl Cause ===

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}
