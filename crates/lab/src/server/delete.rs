//! Deleting objects: at once, with grace, or when the finalizers let go.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Content};
use super::core::{Call, Core};
use super::page::Page;
use super::request::{Query, Target};
use super::resource::Resource;
use crate::builtin::strategy::deletion::DefaultPropagation;
use crate::crd::lifecycle;
use crate::status::{FieldError, GroupName, Status};
use crate::store::Key;

/// Keeps an object until its dependents are free.
pub(crate) const ORPHAN: &str = "orphan";
/// Keeps an object until its dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// How a deletion is meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    /// How long a Pod may take.
    pub grace_seconds: Option<i64>,
    /// What happens to dependents; the kind decides when it is not said.
    pub propagation: Option<Propagation>,
    /// Only this object, not another one of the same name.
    pub uid: Option<String>,
    /// Only in this version.
    pub resource_version: Option<String>,
    /// Do everything except deleting.
    pub dry_run: bool,
}

/// What happens to dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They stay and lose their owner.
    Orphan,
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
}

/// What became of the object.
pub(crate) enum Deleted {
    /// It is gone; its last state.
    Gone(Arc<Value>),
    /// It stays until something lets go of it.
    Marked(Arc<Value>),
}

// === impl DeleteOptions ===

impl DeleteOptions {
    /// Reads the body of a deletion, or its query when there is no body.
    pub(crate) fn parse(body: &[u8], query: &Query) -> Result<Self, Status> {
        let given: Value = if body.is_empty() {
            from_query(query)?
        } else {
            lockstep_payload::yaml::documents(body)
                .ok()
                .and_then(|mut documents| documents.pop())
                .map(|document| document.value)
                .ok_or_else(|| Status::bad_request("the body is neither JSON nor YAML"))?
        };
        let mut errors = Vec::new();
        let propagation = match given["propagationPolicy"].as_str() {
            None => None,
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                let supported = ["Background", "Foreground", "Orphan"];
                errors.push(FieldError::not_supported("propagationPolicy", other, &supported));
                None
            }
        };
        let orphan = given["orphanDependents"].as_bool();
        if orphan.is_some() && propagation.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid("propagationPolicy", given["propagationPolicy"].clone(), detail));
        }
        let dry_run = given["dryRun"].as_array().map(Vec::as_slice).unwrap_or_default();
        if dry_run.iter().any(|word| word != "All") {
            errors.push(FieldError::not_supported("dryRun", Value::from(dry_run), &["All"]));
        }
        let grace_seconds = given["gracePeriodSeconds"].as_i64();
        if !errors.is_empty() {
            let kind = GroupName { group: "meta.k8s.io", name: "DeleteOptions" };
            return Err(Status::invalid(kind, "", &errors));
        }
        let precondition = |field: &str| given["preconditions"][field].as_str().map(str::to_owned);
        Ok(Self {
            grace_seconds: grace_seconds.map(|seconds| seconds.max(0)),
            propagation: propagation.or(orphan.map(|orphan| {
                if orphan { Propagation::Orphan } else { Propagation::Background }
            })),
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            dry_run: !dry_run.is_empty(),
        })
    }
}

fn from_query(query: &Query) -> Result<Value, Status> {
    let mut given = Map::new();
    for field in ["propagationPolicy"] {
        if !query.get(field).is_empty() {
            given.insert(field.into(), query.get(field).into());
        }
    }
    if !query.get("dryRun").is_empty() {
        given.insert("dryRun".into(), json!([query.get("dryRun")]));
    }
    if !query.get("orphanDependents").is_empty() {
        given.insert("orphanDependents".into(), (query.get("orphanDependents") == "true").into());
    }
    match query.get("gracePeriodSeconds") {
        "" => {}
        text => {
            let seconds: i64 = text.parse().map_err(|_| {
                Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
            })?;
            given.insert("gracePeriodSeconds".into(), seconds.into());
        }
    }
    Ok(Value::Object(given))
}

/// Answers a request to delete one object.
pub(crate) fn delete(
    core: &mut Core,
    call: &Call<'_>,
    resource: &Resource,
    target: &Target,
    options: &DeleteOptions,
) -> Result<Answer, Status> {
    let key = Key::new(&resource.table, &target.namespace, &target.name);
    Ok(match remove(core, &call.now, resource, &key, options)? {
        Deleted::Marked(object) => Answer::object(200, object),
        Deleted::Gone(object) if resource.returns_deleted() => Answer::object(200, object),
        Deleted::Gone(object) => Answer::document(200, success(resource, &object)),
    })
}

/// Answers a request to delete all objects of a page.
pub(crate) fn delete_collection(
    core: &mut Core,
    call: &Call<'_>,
    resource: &Resource,
    page: Page,
    options: &DeleteOptions,
) -> Result<Answer, Status> {
    for item in &page.items {
        let meta = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
        let key = Key::new(&resource.table, meta("namespace"), meta("name"));
        match remove(core, &call.now, resource, &key, options) {
            Err(status) if status.code != 404 => return Err(status),
            _ => {}
        }
    }
    let body = Content::List { metadata: page.metadata, items: page.items };
    Ok(Answer { code: 200, body, warnings: Vec::new() })
}

/// Deletes an object, or marks it as deleted when something still holds it.
pub(crate) fn remove(
    core: &mut Core,
    now: &str,
    resource: &Resource,
    key: &Key,
    options: &DeleteOptions,
) -> Result<Deleted, Status> {
    let Some(old) = core.store.get(key).cloned() else {
        return Err(Status::not_found(resource.group_name(), key.name()));
    };
    check_preconditions(resource, key.name(), &old, options)?;
    resource.check_delete(key)?;
    let metadata = &old["metadata"];
    let is_marked = metadata.get("deletionTimestamp").is_some();
    let mut new = Value::clone(&old);
    if resource.is_definition() && !is_marked {
        lifecycle::begin_deletion(&mut new, now);
        return Ok(Deleted::Marked(if options.dry_run { Arc::new(new) } else { core.put(key, new) }));
    }

    // A Pod that is already leaving only gets less time, never more.
    let grace = resource.grace(&old, options.grace_seconds);
    if let Some(seconds) = grace.filter(|&seconds| seconds > 0) {
        if is_marked && metadata["deletionGracePeriodSeconds"].as_i64().is_some_and(|left| seconds >= left) {
            return Ok(Deleted::Marked(old));
        }
        let bump = !is_marked && metadata["generation"].as_i64().unwrap_or(0) > 0;
        new["metadata"]["deletionTimestamp"] = later(now, seconds).into();
        new["metadata"]["deletionGracePeriodSeconds"] = seconds.into();
        if bump {
            new["metadata"]["generation"] = (metadata["generation"].as_i64().unwrap_or(0) + 1).into();
        }
    }

    let finalizers = finalizers_after(resource, &old, options);
    set_finalizers(&mut new, &finalizers);
    let holds = !finalizers.is_empty() || resource.is_held(&old);
    let is_graceful = grace.is_some_and(|seconds| seconds > 0);
    if holds && !is_graceful {
        mark(&mut new, now);
        resource.mark_deleted(&mut new);
    }
    if !holds && !is_graceful {
        if options.dry_run {
            return Ok(Deleted::Gone(old));
        }
        return Ok(Deleted::Gone(core.remove(key).unwrap_or(old)));
    }
    if new == *old {
        return Ok(Deleted::Marked(old));
    }
    Ok(Deleted::Marked(if options.dry_run { Arc::new(new) } else { core.put(key, new) }))
}

fn check_preconditions(
    resource: &Resource,
    name: &str,
    old: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let live = |field: &str| old["metadata"][field].as_str().unwrap_or_default().to_owned();
    for (what, given, live) in [
        ("UID", &options.uid, live("uid")),
        ("ResourceVersion", &options.resource_version, live("resourceVersion")),
    ] {
        if let Some(given) = given
            && *given != live
        {
            let why = format!(
                "Precondition failed: {what} in precondition: {given}, {what} in object meta: {live}"
            );
            // NB: the object is named by its storage key on the real server, too.
            return Err(Status::conflict(resource.group_name(), name, &why));
        }
    }
    Ok(())
}

/// The finalizers after the garbage collector's have been set as the options say.
fn finalizers_after(resource: &Resource, old: &Value, options: &DeleteOptions) -> Vec<String> {
    let listed = old["metadata"]["finalizers"].as_array().into_iter().flatten();
    let listed: Vec<String> = listed.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    if old["metadata"].get("deletionTimestamp").is_some() && options.propagation.is_none() {
        return listed;
    }
    let has = |name: &str| listed.iter().any(|finalizer| finalizer == name);
    let propagation = match (resource.default_propagation(), options.propagation) {
        (DefaultPropagation::Unsupported, _) => Propagation::Background,
        (_, Some(given)) => given,
        (_, None) if has(ORPHAN) => Propagation::Orphan,
        (_, None) if has(FOREGROUND) => Propagation::Foreground,
        (DefaultPropagation::Orphan, None) => Propagation::Orphan,
        (DefaultPropagation::Background, None) => Propagation::Background,
    };
    let mut finalizers: Vec<String> =
        listed.into_iter().filter(|name| name != ORPHAN && name != FOREGROUND).collect();
    match propagation {
        Propagation::Orphan => finalizers.push(ORPHAN.into()),
        Propagation::Foreground => finalizers.push(FOREGROUND.into()),
        Propagation::Background => {}
    }
    finalizers
}

pub(crate) fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), json!(finalizers));
    }
}

/// Writes into an object that it is deleted as soon as its finalizers let go.
fn mark(object: &mut Value, now: &str) {
    let metadata = &mut object["metadata"];
    if metadata.get("deletionTimestamp").is_none() {
        if let Some(generation) = metadata["generation"].as_i64().filter(|&generation| generation > 0) {
            metadata["generation"] = (generation + 1).into();
        }
        metadata["deletionTimestamp"] = now.into();
    } else if metadata["deletionTimestamp"].as_str().is_some_and(|at| at > now) {
        metadata["deletionTimestamp"] = now.into();
    }
    metadata["deletionGracePeriodSeconds"] = 0.into();
}

fn later(now: &str, seconds: i64) -> String {
    let parsed: Result<jiff::Timestamp, _> = now.parse();
    let moved = parsed.ok().and_then(|now| now.checked_add(jiff::SignedDuration::from_secs(seconds)).ok());
    moved.map_or_else(|| now.to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn success(resource: &Resource, object: &Value) -> Value {
    let mut details = json!({
        "name": object["metadata"]["name"],
        "kind": resource.names.plural,
        "uid": object["metadata"]["uid"],
    });
    if !resource.names.group.is_empty() {
        details["group"] = resource.names.group.as_str().into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
