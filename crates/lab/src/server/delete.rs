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
        let given: Value = if body.is_empty() { from_query(query)? } else { read_options(body)? };
        let mut errors = Vec::new();
        let propagation = match given["propagationPolicy"].as_str() {
            None => None,
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
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
            // NB: a negative time counts as one second.
            grace_seconds: grace_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds }),
            propagation: propagation
                .or(orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background })),
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            dry_run: !dry_run.is_empty(),
        })
    }
}

/// The options in a body.
fn read_options(body: &[u8]) -> Result<Value, Status> {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let given = parsed.or_else(|| {
        let mut documents = lockstep_payload::yaml::documents(body).ok()?;
        documents.pop().map(|document| document.value)
    });
    let Some(given) = given.filter(Value::is_object) else {
        let why = "couldn't get version/kind; json parse error: unexpected end of JSON input";
        return Err(Status::bad_request(why));
    };
    let text = |field: &str| given[field].as_str().unwrap_or_default();
    if !matches!(text("kind"), "" | "DeleteOptions") {
        let (kind, version) = (text("kind"), text("apiVersion"));
        return Err(Status::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    Ok(given)
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

    let grace = match grace_of(resource, &old, options, now) {
        Grace::None => None,
        Grace::Pending => return Ok(Deleted::Marked(old)),
        Grace::Until(at, seconds) => {
            new["metadata"]["deletionTimestamp"] = at.into();
            new["metadata"]["deletionGracePeriodSeconds"] = seconds.into();
            if let Some(generation) = metadata["generation"].as_i64().filter(|_| !is_marked) {
                new["metadata"]["generation"] = generation.saturating_add(1).into();
            }
            Some(seconds)
        }
    };
    let finalizers = finalizers_after(resource, &old, options);
    set_finalizers(&mut new, &finalizers);
    let holds = !finalizers.is_empty() || resource.is_held(&old);
    if holds && grace.is_none() {
        mark(&mut new, now);
        resource.mark_deleted(&mut new);
    }
    let is_staying = holds || grace.is_some_and(|seconds| seconds > 0);
    if !is_staying && grace.is_none() {
        if options.dry_run {
            return Ok(Deleted::Gone(old));
        }
        return Ok(Deleted::Gone(core.remove(key).unwrap_or(old)));
    }
    let state = if new == *old {
        old
    } else if options.dry_run {
        Arc::new(new)
    } else {
        core.put(key, new)
    };
    if is_staying {
        return Ok(Deleted::Marked(state));
    }
    // No grace at all: watchers see the mark, then the end.
    if options.dry_run {
        return Ok(Deleted::Gone(state));
    }
    Ok(Deleted::Gone(core.remove(key).unwrap_or(state)))
}

/// What the grace of a kind makes of a deletion.
enum Grace {
    /// The kind knows none, or it is used up.
    None,
    /// The object is leaving already, and not slower than asked for.
    Pending,
    /// The object leaves at this time, after this many seconds.
    Until(String, i64),
}

fn grace_of(resource: &Resource, old: &Value, options: &DeleteOptions, now: &str) -> Grace {
    let metadata = &old["metadata"];
    let Some(leaving) = metadata["deletionTimestamp"].as_str() else {
        return match resource.grace(old, options.grace_seconds) {
            Some(seconds) => Grace::Until(later(now, seconds), seconds),
            None => Grace::None,
        };
    };
    let left = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    if left == 0 || !resource.is_graceful() {
        return Grace::None;
    }
    // Whoever leaves already only gets less time, never more.
    match options.grace_seconds {
        None => Grace::Pending,
        Some(seconds) if seconds >= left => Grace::Pending,
        Some(seconds) => {
            let at = later(leaving, seconds - left);
            if at.as_str() < now {
                Grace::Until(now.to_owned(), seconds.min(1))
            } else {
                Grace::Until(at, seconds)
            }
        }
    }
}

fn check_preconditions(
    resource: &Resource,
    name: &str,
    old: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let live = |field: &str| old["metadata"][field].as_str().unwrap_or_default().to_owned();
    for (what, given, live, hint) in [
        ("UID", &options.uid, live("uid"), "deleted and then recreated"),
        ("ResourceVersion", &options.resource_version, live("resourceVersion"), "modified"),
    ] {
        if let Some(given) = given
            && *given != live
        {
            let why = format!(
                "the {what} in the precondition ({given}) does not match the {what} in record ({live}). The object \
                 might have been {hint}"
            );
            return Err(Status::conflict(resource.group_kind(), name, &why));
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
            metadata["generation"] = generation.saturating_add(1).into();
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
