//! From `kubectl apply` on the client to `kubectl apply --server-side`: the annotation with the last applied object.

use serde_json::Value;

use super::compare::compare;
use super::managers::{Id, Manager};
use super::owned::owned_fields;
use super::set::FieldSet;
use super::types::TypeRef;
use super::validate::validate;

/// The only field manager for which the annotation counts.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The conflicts without those over fields that the client itself applied last and that are still as it applied them.
///
/// All conflicts stay when there is no usable annotation.
pub(super) fn without_allowed(
    ty: TypeRef<'_>,
    live: &Value,
    manager: &Manager<'_>,
    conflicts: Vec<(Id, FieldSet)>,
) -> Vec<(Id, FieldSet)> {
    let Some(allowed) = allowed(ty, live, manager) else { return conflicts };
    let rest = conflicts.into_iter().map(|(id, mut set)| {
        set.subtract(&allowed);
        (id, set)
    });
    rest.filter(|(_, set)| !set.is_empty()).collect()
}

fn allowed(ty: TypeRef<'_>, live: &Value, manager: &Manager<'_>) -> Option<FieldSet> {
    let text = annotation(live)?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last.get("apiVersion")? != manager.api_version {
        return None;
    }
    validate(ty, &last, false).ok()?;
    validate(ty, live, false).ok()?;
    let comparison = compare(ty, &last, live);
    let mut set = owned_fields(ty, &last);
    for other in [&comparison.modified, &comparison.added, &comparison.removed] {
        set.subtract(other);
    }
    Some(set)
}

/// Keeps the annotation up to date, where there is one: clients that read it go on working.
pub(super) fn refresh(object: &mut Value, patch: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut patch = patch.clone();
    if let Some(annotations) = patch.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    object["metadata"]["annotations"][ANNOTATION] = format!("{patch}\n").into();
}

fn annotation(object: &Value) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
