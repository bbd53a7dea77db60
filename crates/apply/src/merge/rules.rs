//! The rules by which the fields of a live object follow those of a manifest.
//!
//! What a table does not list is [`Rule::Said`]: what the manifest says holds, what it does not say is left alone.

use lockstep_api::names::{group, kind};
use lockstep_api::object;
use serde_json::Value;

use super::kinds;
use super::shape::{Keys, Shape};

/// The rule of one field.
#[derive(Debug)]
pub(super) enum Rule {
    /// Nobody's business: not even read.
    Left,
    /// What the manifest says holds, down to the last field; what it does not say is left alone.
    Said,
    /// As [`Said`](Self::Said), and an empty text says nothing.
    Text,
    /// Exactly as in the manifest; what it leaves out is cleared or gets its default.
    Exact,
    /// As [`Exact`](Self::Exact), with a default that no schema knows.
    Or(fn() -> Value),
    /// As [`Exact`](Self::Exact) for objects without types, where zero and missing are two things.
    Raw,
    /// A struct that is always there: its fields have rules of their own, also when the manifest leaves it out.
    Fields(Fields),
    /// A struct that is cleared when the manifest leaves it out.
    Pointer(Fields),
    /// A struct that is left alone when the manifest leaves it out.
    IfSaid(Fields),
    /// A list whose entries are matched by keys.
    Items(Items),
    /// A list whose order means nothing.
    SameEntries,
}

/// In a table, the name for all fields of the manifest that have no rule of their own.
pub(super) const ANY: &str = "*";

/// The fields of a struct that have a rule of their own.
pub(super) type Fields = &'static [(&'static str, Rule)];

/// A list whose entries are matched by keys.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) keys: Keys,
    /// Whether entries that the manifest does not have go.
    pub(super) exclusive: bool,
    /// Whether the order of the manifest holds.
    pub(super) ordered: bool,
    pub(super) item: &'static Rule,
}

/// The rules for a PUT.
pub(super) fn for_merge(manifest: &Value) -> Fields {
    typed(manifest).unwrap_or(kinds::OTHER)
}

/// The rules for finding what is to be cleared: those of a PUT, and for other kinds the whole of what the manifest has.
///
/// *Compatibility*: the reference copies every top-level field of such a manifest over that of the object, so all that
/// others added below it is lost. Top-level fields that the manifest does not have are never removed.
pub(super) fn for_clear(manifest: &Value) -> Fields {
    typed(manifest).unwrap_or(if Shape::root(manifest).is_typed() {
        kinds::OTHER_BUILT_IN
    } else {
        kinds::OTHER_CUSTOM
    })
}

/// The rules of the kinds that the reference knows, by exact group, version and kind.
fn typed(manifest: &Value) -> Option<Fields> {
    let version = object::version(manifest);
    let found = match (object::group(manifest), object::kind(manifest)) {
        ("", kind::NAMESPACE | kind::CONFIG_MAP) => kinds::OTHER,
        ("", kind::SERVICE_ACCOUNT) => kinds::SERVICE_ACCOUNT,
        ("", kind::SERVICE) => kinds::SERVICE,
        (group::RBAC, kind::ROLE) => kinds::ROLE,
        (group::RBAC, kind::CLUSTER_ROLE) if is_set(manifest, "aggregationRule") => kinds::AGGREGATED_ROLE,
        (group::RBAC, kind::CLUSTER_ROLE) => kinds::CLUSTER_ROLE,
        (group::RBAC, kind::ROLE_BINDING | kind::CLUSTER_ROLE_BINDING) => kinds::BINDING,
        (group::API_EXTENSIONS, kind::CUSTOM_RESOURCE_DEFINITION) => kinds::DEFINITION,
        (group::ADMISSION_REGISTRATION, kind::VALIDATING_WEBHOOK_CONFIGURATION) => kinds::WEBHOOKS,
        (group::SECURITY, kind::SECURITY_CONTEXT_CONSTRAINTS) => kinds::CONSTRAINTS,
        (group::IMAGE, kind::IMAGE_STREAM) => kinds::IMAGE_STREAM,
        (group::OPERATORS, kind::OPERATOR_GROUP) => kinds::OPERATOR_GROUP,
        (group::APPS, kind::DEPLOYMENT) => kinds::DEPLOYMENT,
        (group::APPS, kind::DAEMON_SET) => kinds::DAEMON_SET,
        (group::BATCH, kind::JOB) => kinds::JOB,
        (group::BATCH, kind::CRON_JOB) => kinds::CRON_JOB,
        _ => return None,
    };
    (version == "v1").then_some(found)
}

fn is_set(object: &Value, name: &str) -> bool {
    object.get(name).is_some_and(|value| !value.is_null())
}
