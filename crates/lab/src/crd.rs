//! Custom resources: definitions, schemas, pruning, defaults, validation.
//!
//! A definition is checked by `definition::validate`, lives by `lifecycle` and is read for serving as a
//! `definition::Definition`. A custom resource that comes in is pruned and defaulted by the schema of its version
//! (`Structural::prune`, then `Structural::default`), prepared and checked by `custom`.

mod approval;
pub(crate) mod custom;
mod defaulting;
pub(crate) mod definition;
pub(crate) mod embedded;
mod formats;
pub(crate) mod lifecycle;
mod list_type;
mod names;
mod pattern;
mod pruning;
pub(crate) mod scale;
pub(crate) mod structural;
mod uri;
mod validation;

use serde_json::Value;

use crate::status::{GroupName, Status};

/// What the lab makes of a new definition: the object as it would be stored and the warnings, or the error answer.
///
/// For comparisons with a real server; the rules that metadata has everywhere are left out.
pub fn check_definition(crd: &Value) -> Result<(Value, Vec<String>), Value> {
    let mut crd = crd.clone();
    lifecycle::default(&mut crd);
    lifecycle::prepare_create(&mut crd);
    let errors = definition::validate(&crd, None);
    if errors.is_empty() {
        let warnings = definition::warnings(&crd, None);
        return Ok((crd, warnings));
    }
    let kind = GroupName { group: "apiextensions.k8s.io", name: "CustomResourceDefinition" };
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    Err(Status::invalid(kind, name, &errors).to_value())
}

/// What the lab makes of a custom resource of this definition: the object as it would be stored and the fields that were
/// dropped, or the error answer. With an old object it is an update, of the status alone if `status` says so.
///
/// For comparisons with a real server; the rules that metadata has everywhere are left out.
pub fn check_resource(
    crd: &Value,
    object: &Value,
    old: Option<&Value>,
    status: bool,
) -> Result<(Value, Vec<String>), Value> {
    let bad_request = |message: String| Status::bad_request(message).to_value();
    let definition = definition::Definition::parse(crd).map_err(bad_request)?;
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let version = definition.versions.iter().find(|version| version.api_version == api_version);
    let version = version.ok_or_else(|| bad_request(format!("no version {api_version}")))?;
    let mut object = object.clone();
    let dropped = version.schema.prune(&mut object).map_err(|error| {
        let (kind, version) = (&version.kind, &version.name);
        bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"))
    })?;
    version.schema.default(&mut object);
    let part = if status { custom::Part::Status } else { custom::Part::Main };
    match old {
        Some(old) => custom::prepare_update(version, part, &mut object, old),
        None => custom::prepare_create(version, &mut object),
    }
    let errors = custom::validate(version, part, &object, old, |_, _| Vec::new(), Vec::new());
    if errors.is_empty() {
        return Ok((object, dropped));
    }
    let kind = GroupName { group: &definition.group, name: &version.kind };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Err(Status::invalid(kind, name, &errors).to_value())
}

/// What the lab's controllers make of a definition beside others: the definition with its new status.
///
/// For comparisons with a real server.
pub fn establish(crd: &Value, others: &[Value], now: &str) -> Value {
    let accepted = |crd: &Value| definition::Names::parse(&crd["status"]["acceptedNames"]);
    let others: Vec<definition::Names> =
        others.iter().filter(|other| other["spec"]["group"] == crd["spec"]["group"]).map(accepted).collect();
    let mut crd = crd.clone();
    lifecycle::reconcile(&mut crd, &others, now);
    crd
}

/// The Scale that the lab shows of a custom resource, or the error answer.
///
/// For comparisons with a real server.
pub fn scale_of(crd: &Value, object: &Value) -> Result<Value, Value> {
    let definition =
        definition::Definition::parse(crd).map_err(|error| Status::bad_request(error).to_value())?;
    let paths = definition.storage().and_then(|version| version.scale.clone());
    let paths = paths.ok_or_else(|| Status::no_such_resource().to_value())?;
    scale::read(&paths, object).map_err(|status| status.to_value())
}
