//! Patches: JSON patch, merge patch, server-side apply.

use serde_json::Value;

use super::core::{Call, Core};
use super::request::{FieldValidation, Target, WriteOptions};
use super::resource::{Manager, Resource};
use super::write::{NOTHING, Written, match_name, match_namespace, store_changed, store_new};
use crate::builtin::decode::strict::strict_errors;
use crate::status::{FieldError, GroupName, Status};
use crate::store::Key;

/// The largest number of operations in one JSON patch.
const MOST_OPERATIONS: usize = 10_000;

/// The sorts of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Server-side apply.
    Apply,
}

// === impl PatchType ===

impl PatchType {
    /// Reads a `Content-Type`; the strategic merge patch is not served.
    pub(crate) fn parse(content_type: &str) -> Result<Self, Status> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => {
                let supported =
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
                let message = format!(
                    "the body of the request was in an unknown format - accepted media types include: {supported}"
                );
                Err(Status::new(415, "UnsupportedMediaType", message))
            }
        }
    }
}

/// Patches an object, or one part of it.
pub(crate) fn patch(
    core: &mut Core,
    call: &mut Call<'_>,
    resource: &Resource,
    target: &Target,
    patch_type: PatchType,
    body: &[u8],
    options: &WriteOptions,
) -> Result<Written, Status> {
    if patch_type == PatchType::Apply {
        return apply(core, call, resource, target, body, options);
    }
    if options.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(refused_options(&error));
    }
    let key = Key::new(&resource.table, &target.namespace, &target.name);
    let Some(old) = core.store.get(&key).map(|stored| resource.present(stored)) else {
        return Err(Status::not_found(resource.group_name(), &target.name));
    };
    let live = Value::clone(&old);
    let mut problems = Vec::new();
    let patched = match patch_type {
        PatchType::Json => json_patch(live, body)?,
        _ => {
            let patch: Value = parse_json(body)?;
            if options.field_validation != FieldValidation::Ignore {
                problems = strict_errors(None, body);
            }
            merge_patch(live, &patch)
        }
    };
    let mut object = finish(call, resource, patched, problems, options.field_validation)?;
    match_namespace(resource, target, &mut object)?;
    match_name(target, &object)?;
    let object = store_changed(core, call, resource, target, &key, &old, object, options, true)?;
    Ok(Written { is_new: false, object })
}

/// The patched document as an object of its kind.
fn finish(
    call: &mut Call<'_>,
    resource: &Resource,
    patched: Value,
    mut problems: Vec<String>,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let refuse = |shown: &str, why: &str| {
        Status::invalid(NOTHING, "", &[FieldError::invalid("patch", shown, why)])
    };
    let shown = go_json(&patched);
    let (object, unknown) = resource.complete(patched).map_err(|why| refuse(&shown, &why))?;
    problems.extend(unknown);
    if !problems.is_empty() {
        match validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => call.warnings.extend(problems),
            FieldValidation::Strict => {
                return Err(refuse(&shown, &format!("strict decoding error: {}", problems.join(", "))));
            }
        }
    }
    Ok(object)
}

/// A document as the real server's JSON encoder writes it.
fn go_json(value: &Value) -> String {
    value.to_string()
}

fn parse_json(body: &[u8]) -> Result<Value, Status> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    if value.is_object() {
        return Ok(value);
    }
    let found = match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null | Value::Object(_) => return Ok(Value::Object(serde_json::Map::new())),
    };
    Err(Status::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    )))
}

fn json_patch(mut live: Value, body: &[u8]) -> Result<Value, Status> {
    let raw: Value = serde_json::from_slice(body)
        .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    let operations = raw.as_array().ok_or_else(|| {
        Status::bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        )
    })?;
    if operations.len() > MOST_OPERATIONS {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", message));
    }
    let failed = || Status {
        details: Some(serde_json::Map::new()),
        ..Status::new(422, "Invalid", "the server rejected our request due to an error in our request")
    };
    let patch: json_patch::Patch = serde_json::from_value(raw).map_err(|_| failed())?;
    json_patch::patch(&mut live, &patch).map_err(|_| failed())?;
    Ok(live)
}

/// RFC 7386: objects are merged, null removes, everything else replaces.
pub(crate) fn merge_patch(live: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut fields = match live {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    for (key, value) in patch {
        if value.is_null() {
            fields.remove(key);
        } else {
            let before = fields.remove(key).unwrap_or(Value::Null);
            fields.insert(key.clone(), merge_patch(before, value));
        }
    }
    Value::Object(fields)
}

fn refused_options(error: &FieldError) -> Status {
    let kind = GroupName { group: "meta.k8s.io", name: "PatchOptions" };
    Status::invalid(kind, "", std::slice::from_ref(error))
}

/// Server-side apply.
fn apply(
    core: &mut Core,
    call: &mut Call<'_>,
    resource: &Resource,
    target: &Target,
    body: &[u8],
    options: &WriteOptions,
) -> Result<Written, Status> {
    if !options.has_field_manager {
        let error = FieldError::required("fieldManager", "is required for apply patch");
        return Err(refused_options(&error));
    }
    let mut patch = read_applied(body)?;
    let key = Key::new(&resource.table, &target.namespace, &target.name);
    let old = core.store.get(&key).map(|stored| resource.present(stored));
    if old.is_none() && !target.subresource.is_empty() {
        return Err(Status::not_found(resource.group_name(), &target.name));
    }
    resource.check_applied(&patch)?;
    let manager = Manager { name: &options.field_manager, subresource: &target.subresource };
    let merged = resource.apply(
        old.as_deref(),
        &mut patch,
        manager,
        options.force.unwrap_or(false),
        &call.now,
    )?;
    duplicates(call, body, options.field_validation)?;
    let mut object = resource
        .complete_applied(merged)
        .map_err(|why| Status::bare(format!("failed to convert merged object at version: {why}")))?;
    match &old {
        Some(old) => {
            match_namespace(resource, target, &mut object)?;
            match_name(target, &object)?;
            let object = store_changed(core, call, resource, target, &key, old, object, options, false)?;
            Ok(Written { is_new: false, object })
        }
        None => {
            if let Some(uid) = object["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()) {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Status::conflict(resource.group_name(), &target.name, &why));
            }
            match_namespace(resource, target, &mut object)?;
            match_name(target, &object)?;
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("resourceVersion");
            }
            store_new(core, call, resource, object, options, false)
        }
    }
}

/// An applied configuration: YAML, of which JSON is a part.
fn read_applied(body: &[u8]) -> Result<Value, Status> {
    // Most clients send JSON, and reading that is ten times as fast.
    if let Ok(value) = serde_json::from_slice::<Value>(body)
        && value.is_object()
    {
        return Ok(value);
    }
    let bad = |why: &str| Status::bad_request(format!("error decoding YAML: {why}"));
    let mut documents =
        lockstep_payload::yaml::documents(body).map_err(|error| bad(&error.to_string()))?;
    let document = documents.pop().map(|document| document.value);
    match document {
        Some(value @ Value::Object(_)) => Ok(value),
        None => Ok(Value::Object(serde_json::Map::new())),
        Some(other) => {
            let found = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            Err(bad(&format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type \
                 map[string]interface {{}}"
            )))
        }
    }
}

/// Keys that occur twice in an applied configuration.
fn duplicates(call: &mut Call<'_>, body: &[u8], validation: FieldValidation) -> Result<(), Status> {
    if validation == FieldValidation::Ignore {
        return Ok(());
    }
    let doubled = strict_errors(None, body);
    if doubled.is_empty() {
        return Ok(());
    }
    if validation == FieldValidation::Warn {
        call.warnings.extend(doubled);
        return Ok(());
    }
    Err(Status::bad_request(format!("error strict decoding YAML: {}", doubled.join(", "))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_removes_with_null_and_replaces_lists() {
        let live = json!({"a": {"b": 1, "c": [1, 2]}, "d": 1});
        let patch = json!({"a": {"b": null, "c": [3], "e": {"f": null, "g": 1}}});
        assert_eq!(merge_patch(live, &patch), json!({"a": {"c": [3], "e": {"g": 1}}, "d": 1}));
    }

    #[test]
    fn a_failing_test_operation_is_refused_without_details() {
        let patch = br#"[{"op": "test", "path": "/a", "value": 2}]"#;
        let error = json_patch(json!({"a": 1}), patch).unwrap_err();
        assert_eq!((error.code, error.details), (422, Some(serde_json::Map::new())));
    }
}
