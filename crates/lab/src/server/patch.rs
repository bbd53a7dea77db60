//! Patches: JSON patch, merge patch, server-side apply.

use serde_json::Value;

use super::core::{Call, Core};
use super::go_json;
use super::json_patch;
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
    pub(crate) fn parse(content_type: &str, is_custom: bool) -> Result<Self, Status> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ if is_custom => Err(Status::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(Status {
                details: Some(serde_json::Map::new()),
                ..Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
            }),
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
    let is_checked = options.field_validation != FieldValidation::Ignore;
    let (patched, problems) = if patch_type == PatchType::Json {
        let problems = if is_checked { json_patch_problems(body) } else { Vec::new() };
        (apply_json_patch(live, body, is_checked)?, problems)
    } else {
        let problems = if is_checked { strict_errors(None, body) } else { Vec::new() };
        (json_patch::merge(live, parse_merge_patch(body, is_checked)?), problems)
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
    let refuse =
        |shown: &str, why: &str| Status::invalid(NOTHING, "", &[FieldError::invalid("patch", shown, why)]);
    let shown = go_json::text(&patched);
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

/// The document of a merge patch.
fn parse_merge_patch(body: &[u8], is_checked: bool) -> Result<Value, Status> {
    let bad = || Status::bad_request("Invalid JSON Patch");
    match go_json::parse(body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(Value::Null) => Err(bad()),
        Ok(value @ Value::Array(_)) if !is_checked => Ok(value),
        Ok(value) if is_checked => Err(undecodable(&format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go_json::describe(&value)
        ))),
        Err(why) if is_checked => Err(undecodable(&why)),
        _ => Err(bad()),
    }
}

fn undecodable(why: &str) -> Status {
    Status::bad_request(format!("error decoding patch: {why}"))
}

/// Applies a JSON patch to a document.
pub(crate) fn apply_json_patch(live: Value, body: &[u8], is_checked: bool) -> Result<Value, Status> {
    let raw = go_json::parse(body)
        .and_then(|raw| if is_checked { check_operations(&raw).map(|()| raw) } else { Ok(raw) });
    let raw = raw.map_err(|why| if is_checked { undecodable(&why) } else { Status::bad_request(why) })?;
    let wrong = |value: &Value, into: &str| {
        let found = go_json::describe(value);
        Status::bad_request(format!("json: cannot unmarshal {found} into Go value of type jsonpatch.{into}"))
    };
    let operations = match &raw {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(wrong(other, "Patch")),
    };
    if let Some(other) = operations.iter().find(|it| !it.is_object() && !it.is_null()) {
        return Err(wrong(other, "Operation"));
    }
    if operations.len() > MOST_OPERATIONS {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", message));
    }
    // Which operation does not apply, and why, stays a secret of the real server.
    json_patch::apply(live, operations).map_err(|_| Status {
        details: Some(serde_json::Map::new()),
        ..Status::new(422, "Invalid", "the server rejected our request due to an error in our request")
    })
}

/// What Go's decoder says about operations of a wrong form.
fn check_operations(raw: &Value) -> Result<(), String> {
    let wrong = |value: &Value, into: &str| {
        Err(format!("json: cannot unmarshal {} into Go {into}", go_json::describe(value)))
    };
    let operations = match raw {
        Value::Array(operations) => operations,
        Value::Null => return Ok(()),
        other => return wrong(other, "value of type []handlers.jsonPatchOp"),
    };
    for operation in operations.iter().filter(|operation| !operation.is_null()) {
        if !operation.is_object() {
            return wrong(operation, "value of type handlers.jsonPatchOp");
        }
        for field in ["op", "path", "from"] {
            if let Some(value) = operation.get(field).filter(|it| !it.is_string() && !it.is_null()) {
                return wrong(value, &format!("struct field jsonPatchOp.{field} of type string"));
            }
        }
    }
    Ok(())
}

/// Doubled and unknown fields of operations.
fn json_patch_problems(body: &[u8]) -> Vec<String> {
    let mut problems = strict_errors(None, body);
    let raw = go_json::parse(body).unwrap_or_default();
    for (index, operation) in raw.as_array().into_iter().flatten().enumerate() {
        let fields = operation.as_object().into_iter().flat_map(serde_json::Map::keys);
        let unknown = fields.filter(|field| !["op", "path", "from", "value"].contains(&field.as_str()));
        problems.extend(unknown.map(|field| format!("unknown field {:?}", format!("[{index}].{field}"))));
    }
    problems.iter().map(|problem| format!("json patch {problem}")).collect()
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
    let patch = read_applied(body)?;
    let key = Key::new(&resource.table, &target.namespace, &target.name);
    let old = core.store.get(&key).map(|stored| resource.present(stored));
    if old.is_none() && !target.subresource.is_empty() {
        return Err(Status::not_found(resource.group_name(), &target.name));
    }
    resource.check_applied(&patch)?;
    let manager = Manager { name: &options.field_manager, subresource: &target.subresource };
    let merged =
        resource.apply(old.as_deref(), &patch, manager, options.force.unwrap_or(false), &call.now)?;
    duplicates(call, body, options.field_validation)?;
    let mut object = resource
        .complete_applied(merged)
        .map_err(|why| Status::bare(format!("failed to convert merged object at version: {why}")))?;
    if let Some(old) = &old {
        match_namespace(resource, target, &mut object)?;
        match_name(target, &object)?;
        let object = store_changed(core, call, resource, target, &key, old, object, options, false)?;
        return Ok(Written { is_new: false, object });
    }
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

/// An applied configuration: YAML, of which JSON is a part.
fn read_applied(body: &[u8]) -> Result<Value, Status> {
    // Most clients send JSON, and reading that is ten times as fast.
    if let Ok(mut value) = serde_json::from_slice::<Value>(body)
        && value.is_object()
    {
        go_json::settle_numbers(&mut value);
        return Ok(value);
    }
    let bad = |why: &str| Status::bad_request(format!("error decoding YAML: {why}"));
    let mut documents = lockstep_payload::yaml::documents(body).map_err(|error| bad(&error.to_string()))?;
    let document = documents.pop().map(|document| document.value);
    match document {
        Some(value @ Value::Object(_)) => Ok(value),
        None => Ok(Value::Object(serde_json::Map::new())),
        Some(other) => {
            let found = go_json::describe(&other);
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
    fn a_failing_test_operation_is_refused_without_details() {
        let patch = br#"[{"op": "test", "path": "/a", "value": 2}]"#;
        let error = apply_json_patch(json!({"a": 1}), patch, true).unwrap_err();
        assert_eq!((error.code, error.details), (422, Some(serde_json::Map::new())));
    }

    #[test]
    fn patches_of_a_wrong_form_are_refused_in_the_words_of_go() {
        let refusal = |body: &str| apply_json_patch(json!({}), body.as_bytes(), true).unwrap_err().message;
        assert_eq!(refusal("[{"), "error decoding patch: unexpected end of JSON input");
        assert_eq!(
            refusal("{}"),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        );
        assert_eq!(
            refusal(r#"[{"op": 5}]"#),
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"
        );
        let problems = json_patch_problems(br#"[{"op": "test", "op": "test", "patch": "/a"}]"#);
        assert_eq!(
            problems,
            [r#"json patch duplicate field "[0].op""#, r#"json patch unknown field "[0].patch""#]
        );
    }

    #[test]
    fn a_merge_patch_that_is_no_object_is_refused() {
        let refusal = |body: &str| parse_merge_patch(body.as_bytes(), true).unwrap_err().message;
        assert_eq!(refusal("null"), "Invalid JSON Patch");
        assert!(
            refusal("[]").ends_with("cannot unmarshal array into Go value of type map[string]interface {}")
        );
        assert_eq!(parse_merge_patch(b"{", false).unwrap_err().message, "Invalid JSON Patch");
    }
}
