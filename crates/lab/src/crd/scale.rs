//! The scale subresource of custom resources: an `autoscaling/v1` Scale, read from and written to paths of the object.

use serde_json::{Map, Value, json};

use super::definition::{ScalePaths, Version};
use crate::go;
use crate::status::{FieldError, Status};

/// The Scale of a custom resource, as a GET answers it.
///
/// # Errors
/// 500 when the replicas are not set; an error without a reason when a path leads to something of another type.
pub(crate) fn read(paths: &ScalePaths, object: &Value) -> Result<Value, Status> {
    let (scale, found) = to_scale(paths, object).map_err(Status::bare)?;
    if !found {
        let path = &paths.spec_replicas;
        return Err(Status::internal(&format!("the spec replicas field {path:?} does not exist")));
    }
    Ok(scale)
}

/// The Scale of a custom resource, as a change begins with it: without replicas when they are not set.
///
/// # Errors
/// As [`read`], but missing replicas are fine.
pub(crate) fn before_write(paths: &ScalePaths, object: &Value) -> Result<Value, Status> {
    let (mut scale, found) = to_scale(paths, object).map_err(Status::bare)?;
    if !found && let Some(spec) = scale["spec"].as_object_mut() {
        spec.remove("replicas");
    }
    Ok(scale)
}

/// The custom resource after its Scale was changed: replicas, and the resource version if the client named one.
///
/// A Scale without replicas sets 0, as the zero value of the real server's type.
///
/// # Errors
/// 500 when the path to the replicas leads through something that is no object.
pub(crate) fn write(paths: &ScalePaths, object: &Value, scale: &Value) -> Result<Value, Status> {
    let mut object = object.clone();
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    let steps = steps(&paths.spec_replicas);
    set(&mut object, &steps, replicas.into()).map_err(Status::bare)?;
    if let Some(version) = scale["metadata"]["resourceVersion"].as_str().filter(|version| !version.is_empty())
    {
        object["metadata"]["resourceVersion"] = version.into();
    }
    Ok(object)
}

/// Checks what the Scale would show of the wanted state.
pub(crate) fn check_spec(version: &Version, object: &Value) -> Vec<FieldError> {
    let Some(paths) = &version.scale else { return Vec::new() };
    check_replicas(object, &paths.spec_replicas).into_iter().collect()
}

/// Checks what the Scale would show of the observed state.
pub(crate) fn check_status(version: &Version, object: &Value) -> Vec<FieldError> {
    let Some(paths) = &version.scale else { return Vec::new() };
    let mut errors: Vec<FieldError> = check_replicas(object, &paths.status_replicas).into_iter().collect();
    if let Some(selector) = &paths.label_selector
        && let Err(problem) = label_selector(object, selector)
    {
        errors.push(FieldError::invalid(selector.clone(), "", problem));
    }
    errors
}

fn check_replicas(object: &Value, path: &str) -> Option<FieldError> {
    match replicas(object, path) {
        Err(problem) => Some(FieldError::invalid(path, 0, problem)),
        Ok(Some(count)) if count < 0 => {
            Some(FieldError::invalid(path, count, "should be a non-negative integer"))
        }
        Ok(Some(count)) if count > i64::from(i32::MAX) => {
            Some(FieldError::invalid(path, count, format!("should be less than or equal to {}", i32::MAX)))
        }
        Ok(_) => None,
    }
}

fn to_scale(paths: &ScalePaths, object: &Value) -> Result<(Value, bool), String> {
    let spec = replicas(object, &paths.spec_replicas)?;
    let status = replicas(object, &paths.status_replicas)?.unwrap_or_default();
    let selector =
        paths.label_selector.as_deref().map_or(Ok(String::new()), |path| label_selector(object, path))?;
    let mut metadata = Map::new();
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(key).filter(|value| !value.is_null()) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    let mut scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata,
        "spec": {}, "status": {"replicas": status}});
    if let Some(count) = spec.filter(|count| *count != 0) {
        scale["spec"]["replicas"] = count.into();
    }
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    Ok((scale, spec.is_some()))
}

fn replicas(object: &Value, path: &str) -> Result<Option<i64>, String> {
    let steps = steps(path);
    match find(object, &steps)? {
        None => Ok(None),
        Some(value) => match value.as_i64() {
            Some(count) => Ok(Some(count)),
            None => Err(wrong_type(&steps, value, "int64")),
        },
    }
}

fn label_selector(object: &Value, path: &str) -> Result<String, String> {
    let steps = steps(path);
    match find(object, &steps)? {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Err(wrong_type(&steps, value, "string")),
    }
}

fn steps(path: &str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}

/// The value at a path; a `null` on the way ends it.
fn find<'a>(object: &'a Value, steps: &[&str]) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    for (index, step) in steps.iter().enumerate() {
        value = match value {
            Value::Null => return Ok(None),
            Value::Object(map) => match map.get(*step) {
                Some(value) => value,
                None => return Ok(None),
            },
            other => return Err(wrong_type(&steps[..=index], other, "map[string]interface{}")),
        };
    }
    Ok(Some(value))
}

fn wrong_type(steps: &[&str], value: &Value, wanted: &str) -> String {
    let (shown, found) = (go::plain(value), go::type_name(value));
    format!(".{} accessor error: {shown} is of the type {found}, expected {wanted}", steps.join("."))
}

fn set(object: &mut Value, steps: &[&str], value: Value) -> Result<(), String> {
    let mut place = object;
    for (index, step) in steps.iter().enumerate() {
        let Value::Object(map) = place else {
            let path = steps[..index].join(".");
            return Err(format!("value cannot be set because .{path} is not a map[string]interface{{}}"));
        };
        let is_last = index + 1 == steps.len();
        place = map.entry(*step).or_insert_with(|| if is_last { Value::Null } else { json!({}) });
    }
    *place = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> ScalePaths {
        ScalePaths {
            spec_replicas: ".spec.replicas".to_owned(),
            status_replicas: ".status.replicas".to_owned(),
            label_selector: Some(".status.selector".to_owned()),
        }
    }

    #[test]
    fn a_scale_shows_and_sets_the_replicas() {
        let object = json!({"metadata": {"name": "w", "labels": {"a": "b"}}, "spec": {"replicas": 3},
            "status": {"replicas": 2, "selector": "a=b"}});
        assert_eq!(
            read(&paths(), &object).unwrap(),
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w"}, "spec": {"replicas": 3},
                "status": {"replicas": 2, "selector": "a=b"}})
        );
        let changed = write(&paths(), &json!({"metadata": {}}), &json!({"spec": {"replicas": 5}})).unwrap();
        assert_eq!(changed, json!({"metadata": {}, "spec": {"replicas": 5}}));
    }

    #[test]
    fn missing_replicas_cannot_be_read() {
        let error = read(&paths(), &json!({"spec": {}})).unwrap_err();
        assert_eq!(
            error.message,
            "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist"
        );
    }

    #[test]
    fn a_path_through_a_text_is_an_error() {
        let error = check_replicas(&json!({"spec": "x"}), ".spec.replicas").unwrap();
        assert_eq!(
            error.to_string(),
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected \
             map[string]interface{}"
        );
        let error = check_replicas(&json!({"spec": {"replicas": -1}}), ".spec.replicas").unwrap();
        assert_eq!(error.to_string(), ".spec.replicas: Invalid value: -1: should be a non-negative integer");
    }
}
