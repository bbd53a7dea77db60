//! Built-in kinds: read, filled with defaults, checked and prepared as the real server does.

pub(crate) mod decode;
pub(crate) mod defaults;
pub(crate) mod protobuf;
pub(crate) mod strategy;
pub(crate) mod validate;

use lockstep_schema::Schema;
use serde_json::Value;

use crate::status::{GroupName, Status};

/// Reads an object of a built-in kind and fills in its defaults, as the server does before it looks at what is wanted.
///
/// This is the part of every write that suites compare with a real server; an error is the sentence of its answer.
pub fn read(object: Value) -> Result<Value, String> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = Schema::builtin()
        .kind(text("apiVersion"), text("kind"))
        .ok_or_else(|| format!("`{}` `{}` is not a built-in kind", text("apiVersion"), text("kind")))?;
    let mut object = decode::decode(kind, object).map_err(|error| error.into_status(kind).message)?.object;
    defaults::default(kind, &mut object);
    decode::settle(kind, &mut object);
    Ok(object)
}

/// The object in a body of the type `application/vnd.kubernetes.protobuf`, as the JSON that the same client would have sent.
///
/// What [`read`] makes of it is what a real server reads; suites compare that with the JSON of the same object.
///
/// # Errors
/// The sentence about what is wrong with the bytes.
pub fn from_protobuf(body: &[u8]) -> Result<Value, String> {
    protobuf::to_json(body, ("", "")).map_err(|error| error.to_string())
}

/// What the lab answers to a write of an object of a built-in kind that is decoded and has its defaults: the object as it
/// is stored. `old` is there for updates; `subresource` is empty for the object itself.
///
/// For suites that compare this step alone with the dry runs of a real server: there are no other objects, and time stands still.
///
/// # Errors
/// The `Status`, when the write is refused.
pub fn check_builtin(
    api_version: &str,
    kind: &str,
    subresource: &str,
    new: &Value,
    old: Option<&Value>,
) -> Result<Value, Value> {
    let Some(kind) = Schema::builtin().kind(api_version, kind) else {
        return Err(Status::no_such_resource().to_value());
    };
    let mut object = new.clone();
    let mut services = strategy::ServiceNetwork::new();
    services.begin(true);
    let groups = ["system:masters", "system:authenticated"].map(str::to_owned).to_vec();
    let user =
        strategy::User { name: "admin".into(), uid: "admin".into(), groups, ..strategy::User::default() };
    let mut context = strategy::Context { now: "2020-01-01T00:00:00Z", user: &user, services: &mut services };
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let admitted = match old {
        None => strategy::admission::admit_create(kind, &mut object, &|_, _| Vec::new()),
        Some(old) if subresource.is_empty() => {
            strategy::admission::admit_update(kind, &mut object, old, &|_, _| Vec::new())
        }
        Some(_) => Ok(()),
    };
    if let Err(why) = admitted {
        let resource = GroupName { group: kind.group, name: kind.plural };
        return Err(Status::forbidden(resource, &name, &why).to_value());
    }
    let prepared = match old {
        None => strategy::prepare_create(kind, &mut object, &mut context),
        Some(old) => strategy::prepare_update(kind, subresource, &mut object, old, &mut context),
    };
    let errors = match (prepared, old) {
        (Err(errors), _) => errors,
        (Ok(()), None) => validate::validate_create(kind, &object),
        (Ok(()), Some(old)) => validate::validate_update(kind, subresource, &object, old),
    };
    let kind = GroupName { group: kind.group, name: kind.kind };
    if errors.is_empty() { Ok(object) } else { Err(Status::invalid(kind, &name, &errors).to_value()) }
}
