//! Creating and replacing objects.

use std::sync::Arc;

use serde_json::Value;

use super::core::{Call, Core};
use super::request::{FieldValidation, Target, WriteOptions};
use super::resource::{Manager, Resource};
use crate::go;
use crate::status::{GroupName, Status};
use crate::store::{Key, TableName};

/// The largest object that etcd takes in its standard configuration.
const LARGEST_OBJECT: usize = 1_572_864;

/// How often a name is made up again when it is taken.
const NAME_ATTEMPTS: usize = 8;

/// What became of an object.
#[derive(Debug)]
pub(crate) struct Written {
    /// Whether it is new.
    pub is_new: bool,
    /// Its state.
    pub object: Arc<Value>,
}

/// Creates an object from the body of a request.
pub(crate) fn create(
    core: &mut Core,
    call: &mut Call<'_>,
    resource: &Resource,
    target: &Target,
    body: &[u8],
    options: &WriteOptions,
) -> Result<Written, Status> {
    let mut object = read(call, resource, body, options.field_validation)?;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            metadata.remove(field);
        }
    }
    match_namespace(resource, target, &mut object)?;
    if !object["metadata"]["resourceVersion"].as_str().unwrap_or_default().is_empty()
        && object["metadata"]["resourceVersion"] != "0"
    {
        return Err(Status::bare("resourceVersion should not be set on objects to be created"));
    }
    remove_meta(&mut object, "resourceVersion");
    name_it(core, &resource.table, &mut object);
    store_new(core, call, resource, object, options, true)
}

/// Replaces an object, or one part of it, by the body of a request.
pub(crate) fn update(
    core: &mut Core,
    call: &mut Call<'_>,
    resource: &Resource,
    target: &Target,
    body: &[u8],
    options: &WriteOptions,
) -> Result<Written, Status> {
    let mut object = read(call, resource, body, options.field_validation)?;
    match_namespace(resource, target, &mut object)?;
    match_name(target, &object)?;
    let key = Key::new(&resource.table, &target.namespace, &target.name);
    let Some(old) = core.store.get(&key).map(|stored| resource.present(stored)) else {
        if target.subresource.is_empty() && resource.creates_on_update() {
            let named = !object["metadata"]["resourceVersion"].as_str().unwrap_or_default().is_empty();
            if named {
                return Err(Status::not_found(resource.group_name(), &target.name));
            }
            return store_new(core, call, resource, object, options, true);
        }
        return Err(Status::not_found(resource.group_name(), &target.name));
    };
    check_uid(resource, target, &object, &old)?;
    let object = store_changed(core, call, resource, target, &key, &old, object, options, true)?;
    Ok(Written { is_new: false, object })
}

/// Stores a new object; everything about it is decided except what only the server knows.
pub(crate) fn store_new(
    core: &mut Core,
    call: &mut Call<'_>,
    resource: &Resource,
    mut object: Value,
    options: &WriteOptions,
    track: bool,
) -> Result<Written, Status> {
    let meta =
        |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (meta(&object, "namespace"), meta(&object, "name"));
    dedup_owners(call, &mut object);
    if track {
        let manager = Manager { name: &options.field_manager, subresource: "" };
        resource.track(None, &mut object, manager, &call.now);
    }
    core.check_namespace(resource.group_name(), &namespace, &name)?;
    object["metadata"]["uid"] = core.uids.uid().into();
    object["metadata"]["creationTimestamp"] = call.now.as_str().into();
    resource.admit_create(core, &mut object)?;
    core.services.begin(options.dry_run);
    resource.prepare_create(core, call, &mut object)?;
    let errors = resource.validate_create(&object);
    if !errors.is_empty() {
        return Err(Status::invalid(resource.kind_of(&object), &name, &errors));
    }
    call.warnings.extend(resource.warnings(&object, None));
    let key = Key::new(&resource.table, &namespace, &name);
    if let Some(there) = core.store.get(&key) {
        let mut status = Status::already_exists(resource.group_name(), &name);
        if there["metadata"].get("deletionTimestamp").is_some() {
            status.message = format!("object is being deleted: {}", status.message);
        }
        return Err(status);
    }
    check_size(&object)?;
    resource.settle(&mut object);
    resource.to_storage(&mut object);
    if options.dry_run {
        core.services.rollback();
        return Ok(Written { is_new: true, object: Arc::new(object) });
    }
    core.services.commit();
    let object = core.put(&key, object);
    Ok(Written { is_new: true, object })
}

/// Stores the new state of an object; `track` is false when its managed fields are decided already.
#[allow(clippy::too_many_arguments, reason = "a request is that many things")]
pub(crate) fn store_changed(
    core: &mut Core,
    call: &mut Call<'_>,
    resource: &Resource,
    target: &Target,
    key: &Key,
    old: &Arc<Value>,
    mut object: Value,
    options: &WriteOptions,
    track: bool,
) -> Result<Arc<Value>, Status> {
    let name = target.name.as_str();
    dedup_owners(call, &mut object);
    if track {
        let manager = Manager { name: &options.field_manager, subresource: &target.subresource };
        resource.track(Some(old), &mut object, manager, &call.now);
    }
    let old_version = &old["metadata"]["resourceVersion"];
    match object["metadata"]["resourceVersion"].as_str().unwrap_or_default() {
        "" | "0" => {
            if resource.needs_version() {
                let error = crate::status::FieldError::invalid(
                    "metadata.resourceVersion",
                    0,
                    "must be specified for an update",
                );
                return Err(Status::invalid(resource.group_name(), name, &[error]));
            }
            object["metadata"]["resourceVersion"] = old_version.clone();
        }
        given => {
            // The real server comes across a version that is no number only when it is about to store.
            go::parse_uint(given).map_err(Status::bare)?;
            if old_version != given {
                return Err(Status::modified(resource.group_name(), name));
            }
        }
    }
    resource.admit_update(core, &mut object, old)?;
    core.services.begin(options.dry_run);
    resource.prepare_update(core, call, &target.subresource, &mut object, old)?;
    let errors = resource.validate_update(&target.subresource, &object, old);
    if !errors.is_empty() {
        return Err(Status::invalid(resource.kind_of(&object), name, &errors));
    }
    if target.subresource.is_empty() {
        call.warnings.extend(resource.warnings(&object, Some(old)));
    }
    check_size(&object)?;
    resource.settle(&mut object);
    resource.to_storage(&mut object);
    crate::fields::keep_times(old, &mut object);
    // What is stored may have another form than what this version shows of it.
    if core.store.get(key).is_some_and(|stored| object == **stored) {
        core.services.rollback();
        return Ok(Arc::clone(old));
    }
    if options.dry_run {
        core.services.rollback();
        return Ok(Arc::new(object));
    }
    core.services.commit();
    if is_finished(resource, &object, old) {
        core.remove(key);
        return Ok(Arc::new(object));
    }
    Ok(core.put(key, object))
}

/// Whether an update takes the last thing away that kept a deleted object.
fn is_finished(resource: &Resource, new: &Value, old: &Value) -> bool {
    let finalizers = new["metadata"]["finalizers"].as_array();
    let is_held = finalizers.is_some_and(|list| !list.is_empty()) || resource.is_held(new);
    let metadata = &old["metadata"];
    metadata.get("deletionTimestamp").is_some()
        && metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && !is_held
}

/// The object in a body, read, filled with defaults, and with its unknown fields dealt with.
pub(crate) fn read(
    call: &mut Call<'_>,
    resource: &Resource,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Value, Status> {
    let (object, problems) = resource.read(body)?;
    if !problems.is_empty() {
        match validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => call.warnings.extend(problems),
            FieldValidation::Strict => {
                let problems = problems.join(", ");
                return Err(resource.unreadable(&object, &format!("strict decoding error: {problems}")));
            }
        }
    }
    Ok(object)
}

/// Refuses a body that names another namespace than the address; a missing one is filled in.
pub(crate) fn match_namespace(
    resource: &Resource,
    target: &Target,
    object: &mut Value,
) -> Result<(), Status> {
    let named = object["metadata"]["namespace"].as_str().unwrap_or_default();
    if !resource.names.namespaced {
        remove_meta(object, "namespace");
        return Ok(());
    }
    if named.is_empty() {
        object["metadata"]["namespace"] = target.namespace.as_str().into();
        return Ok(());
    }
    if named == target.namespace {
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// Refuses a body that names another object than the address.
pub(crate) fn match_name(target: &Target, object: &Value) -> Result<(), Status> {
    let (name, wanted) = (object["metadata"]["name"].as_str().unwrap_or_default(), &target.name);
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )));
    }
    if name != wanted {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

/// Refuses a body that means another object of the same name.
fn check_uid(resource: &Resource, target: &Target, object: &Value, old: &Value) -> Result<(), Status> {
    let (given, uid) = (object["metadata"]["uid"].as_str().unwrap_or_default(), &old["metadata"]["uid"]);
    if given.is_empty() || uid == given {
        return Ok(());
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
         precondition: {given}, UID in object meta: {}",
        storage_key(resource, target),
        uid.as_str().unwrap_or_default()
    );
    Err(Status::conflict(resource.group_name(), &target.name, &why))
}

/// Where the real server has an object in etcd; its messages say so.
fn storage_key(resource: &Resource, target: &Target) -> String {
    let names = &resource.names;
    let is_apart = ["apiextensions.k8s.io", "apiregistration.k8s.io"].contains(&names.group.as_str());
    let place = match (names.group.as_str(), names.plural.as_str()) {
        (group, plural) if names.is_custom || is_apart => format!("{group}/{plural}"),
        // Names that were given up elsewhere.
        ("", "services") => "services/specs".to_owned(),
        ("", "endpoints") => "services/endpoints".to_owned(),
        ("", "nodes") => "minions".to_owned(),
        ("", "replicationcontrollers") => "controllers".to_owned(),
        ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
        (_, plural) => plural.to_owned(),
    };
    let namespace = if names.namespaced { format!("/{}", target.namespace) } else { String::new() };
    format!("/registry/{place}{namespace}/{}", target.name)
}

/// Makes up a name from `generateName`.
fn name_it(core: &mut Core, table: &TableName, object: &mut Value) {
    let metadata = &object["metadata"];
    let prefix = metadata["generateName"].as_str().unwrap_or_default();
    if prefix.is_empty() || !metadata["name"].as_str().unwrap_or_default().is_empty() {
        return;
    }
    // Names of 63 letters fit everywhere.
    let prefix: String = prefix.chars().take(58).collect();
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    let mut name = String::new();
    for _ in 0..NAME_ATTEMPTS {
        name = format!("{prefix}{}", core.names.name_suffix());
        if core.store.get(&Key::new(table, namespace, &name)).is_none() {
            break;
        }
    }
    object["metadata"]["name"] = name.into();
}

/// Drops owner references that occur twice, with a warning.
fn dedup_owners(call: &mut Call<'_>, object: &mut Value) {
    let Some(Value::Array(owners)) = object.pointer_mut("/metadata/ownerReferences") else { return };
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    let mut doubled = Vec::new();
    for owner in owners.drain(..) {
        if kept.contains(&owner) {
            doubled.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        } else {
            kept.push(owner);
        }
    }
    *owners = kept;
    if !doubled.is_empty() {
        call.warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and \
             may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            doubled.join(", ")
        ));
    }
}

fn remove_meta(object: &mut Value, field: &str) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove(field);
    }
}

/// Refuses an object that etcd would refuse.
fn check_size(object: &Value) -> Result<(), Status> {
    /// Counts bytes and keeps none.
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    if serde_json::to_writer(&mut counter, object).is_ok() && counter.0 > LARGEST_OBJECT {
        return Err(Status::bare("etcdserver: request is too large"));
    }
    Ok(())
}

/// A resource in messages about fields of the request itself.
pub(crate) const NOTHING: GroupName<'_> = GroupName { group: "", name: "" };
