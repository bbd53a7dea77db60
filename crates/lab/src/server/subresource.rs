//! Parts of objects that are no plain parts: the scale, the binding and the log of a Pod.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::Shared;
use super::answer::Answer;
use super::core::{Call, Core};
use super::go_json;
use super::json_patch;
use super::patch::{PatchType, apply_json_patch};
use super::request::{Query, Target, WriteOptions};
use super::resource::Resource;
use super::verbs::{Head, check_content_type, wake};
use super::write::store_changed;
use crate::builtin::strategy::scale;
use crate::crd::scale as custom_scale;
use crate::fields::{self, FieldSet, Types};
use crate::status::{FieldError, GroupName, Status};
use crate::store::Key;

/// How the values of a `Scale` merge.
static SCALE: LazyLock<Types> = LazyLock::new(|| {
    fields::custom_types(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        "status": {"type": "object", "properties": {
            "replicas": {"type": "integer"},
            "selector": {"type": "string"},
        }},
    }}))
});

/// What the containers of a Pod say, for whoever stages a cluster.
const LOG: &str = "lab.lockstep.dev/log";

/// Answers a request about a part of an object.
pub(super) fn answer(
    shared: &Arc<Shared>,
    resource: &Arc<Resource>,
    head: &Head,
    body: &[u8],
) -> Result<Answer, Status> {
    let target = &head.target;
    let verb = match head.method.as_str() {
        "GET" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "POST" => "create",
        _ => return Err(Status::method_not_allowed()),
    };
    let Some(part) = resource.names.subresources.iter().find(|sub| sub.name == target.subresource) else {
        return Err(resource.no_such_part(&target.name));
    };
    if !part.verbs.iter().any(|it| it == verb) {
        return Err(Status::method_not_allowed());
    }
    if verb == "patch" {
        PatchType::parse(&head.content_type, resource.names.is_custom)?;
    }
    let mut call = Call { now: shared.clock.stamp(), user: &head.user, warnings: Vec::new() };
    let mut core = shared.core();
    let key = Key::new(&resource.table, &target.namespace, &target.name);
    let binding = if part.name == "binding" { Some(read_binding(target, body)?) } else { None };
    let Some(old) = core.store.get(&key).map(|stored| resource.present(stored)) else {
        return Err(Status::not_found(resource.group_name(), &target.name));
    };
    let answer = match (target.subresource.as_str(), verb) {
        ("scale", "get") => Ok(Answer::document(200, scale_of(resource, &old)?)),
        ("scale", _) => rescale(&mut core, &mut call, resource, head, &key, &old, body),
        ("binding", "create") => {
            let options = head.query.write_options("CreateOptions", &head.user_agent)?;
            let binding = binding.unwrap_or_default();
            bind(&mut core, &key, &old, target, &call.now, &binding, options.dry_run)
        }
        ("log", "get") => Ok(Answer::text(log_of(&old, &head.query))),
        (part, _) => Err(Status::new(
            501,
            "NotImplemented",
            format!("the lab does not serve the subresource {part:?} of {}", resource.group_name()),
        )),
    };
    wake(shared, &core);
    answer
}

/// The last words of a container, as its status has them; an annotation can give it more to say.
fn log_of(pod: &Value, query: &Query) -> String {
    if let Some(text) = pod["metadata"]["annotations"][LOG].as_str() {
        return text.to_owned();
    }
    let container = query.get("container");
    let lists = ["initContainerStatuses", "containerStatuses"];
    let mut statuses = lists.iter().flat_map(|list| pod["status"][*list].as_array().into_iter().flatten());
    let status = statuses.find(|status| container.is_empty() || status["name"] == container);
    let ended = |state: &str| status.and_then(|it| it[state]["terminated"]["message"].as_str());
    ended("state").or_else(|| ended("lastState")).map(|text| format!("{text}\n")).unwrap_or_default()
}

/// The path of the number of replicas.
fn replicas_path(resource: &Resource) -> Vec<String> {
    match resource.version() {
        Some(version) => {
            let path = version.scale.as_ref().map_or("", |paths| paths.spec_replicas.as_str());
            path.trim_start_matches('.').split('.').map(str::to_owned).collect()
        }
        None => vec!["spec".into(), "replicas".into()],
    }
}

fn scale_of(resource: &Resource, object: &Value) -> Result<Value, Status> {
    let scale = match (resource.kind(), resource.version()) {
        (Some(kind), _) => scale::to_scale(kind, object),
        (None, version) => match version.and_then(|version| version.scale.as_ref()) {
            Some(paths) => Some(custom_scale::read(paths, object)?),
            None => None,
        },
    };
    scale.ok_or_else(Status::no_such_resource)
}

/// Changes the number of replicas through the scale.
fn rescale(
    core: &mut Core,
    call: &mut Call<'_>,
    resource: &Resource,
    head: &Head,
    key: &Key,
    old: &Arc<Value>,
    body: &[u8],
) -> Result<Answer, Status> {
    let target = &head.target;
    let custom_paths = resource.version().and_then(|version| version.scale.as_ref());
    let mut before = match custom_paths {
        Some(paths) => custom_scale::before_write(paths, old)?,
        None => scale_of(resource, old)?,
    };
    let path = replicas_path(resource);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let entries =
        |object: &Value| object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let malformed = |why: String| Status::internal(&why);
    if let Some(mapped) = fields::parent_to_scale(&entries(old), &path).map_err(malformed)? {
        before["metadata"]["managedFields"] = mapped;
    }
    let (after, options) = wanted_scale(resource, head, &before, body, &call.now)?;
    if after["metadata"]["name"] != before["metadata"]["name"] {
        let name = after["metadata"]["name"].as_str().unwrap_or_default();
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        )));
    }
    if custom_paths.is_none() {
        check_replicas(&target.name, &after)?;
    }

    let mut new = Value::clone(old);
    match custom_paths {
        Some(paths) => new = custom_scale::write(paths, &new, &after)?,
        None => scale::apply_scale(&mut new, &after).map_err(|errors| {
            let kind = GroupName { group: "autoscaling", name: "Scale" };
            Status::invalid(kind, &target.name, &errors)
        })?,
    }
    let api_version = resource.names.api_version();
    let mapped =
        fields::scale_to_parent(&entries(old), &entries(&after), &api_version, &path).map_err(malformed)?;
    match mapped {
        Some(mapped) => new["metadata"]["managedFields"] = mapped,
        None => {
            if let Some(metadata) = new["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
        }
    }
    let whole = Target { subresource: String::new(), ..target.clone() };
    let object = store_changed(core, call, resource, &whole, key, old, new, &options, false)?;
    let mut answer = Answer::document(200, scale_of(resource, &object)?);
    answer.warnings = std::mem::take(&mut call.warnings);
    Ok(answer)
}

/// The scale that a request wants, with its managed fields.
fn wanted_scale(
    resource: &Resource,
    head: &Head,
    before: &Value,
    body: &[u8],
    now: &str,
) -> Result<(Value, WriteOptions), Status> {
    let unreadable = |why: String| Status::bad_request(why);
    let by = |options: &WriteOptions| options.field_manager.clone();
    let parse = |body: &[u8]| -> Result<Value, Status> { go_json::parse(body).map_err(unreadable) };
    if head.method == http::Method::PUT {
        check_content_type(head)?;
        let options = head.query.write_options("UpdateOptions", &head.user_agent)?;
        let mut after = parse(body)?;
        let name = by(&options);
        let by = fields::Manager { name: &name, api_version: "autoscaling/v1", subresource: "scale" };
        fields::update(SCALE.root(), Some(before), &mut after, &by, now, &FieldSet::default());
        return Ok((after, options));
    }
    let options = head.query.write_options("PatchOptions", &head.user_agent)?;
    let name = by(&options);
    let by = fields::Manager { name: &name, api_version: "autoscaling/v1", subresource: "scale" };
    let after = match PatchType::parse(&head.content_type, resource.names.is_custom)? {
        PatchType::Apply => {
            let patch = lockstep_payload::yaml::documents(body)
                .ok()
                .and_then(|mut documents| documents.pop())
                .map(|document| document.value)
                .ok_or_else(|| Status::bad_request("error decoding YAML"))?;
            let force = options.force.unwrap_or(false);
            fields::apply(SCALE.root(), Some(before), &patch, &by, force, now, &FieldSet::default())?
        }
        PatchType::Merge => {
            let mut after = json_patch::merge(before.clone(), parse(body)?);
            fields::update(SCALE.root(), Some(before), &mut after, &by, now, &FieldSet::default());
            after
        }
        PatchType::Json => {
            let mut after = apply_json_patch(before.clone(), body, true)?;
            fields::update(SCALE.root(), Some(before), &mut after, &by, now, &FieldSet::default());
            after
        }
    };
    Ok((after, options))
}

fn check_replicas(name: &str, scale: &Value) -> Result<(), Status> {
    match scale["spec"]["replicas"].as_i64() {
        Some(replicas) if replicas < 0 => {
            let detail = "must be greater than or equal to 0";
            let error = FieldError::invalid("spec.replicas", replicas, detail);
            Err(Status::invalid(GroupName { group: "autoscaling", name: "Scale" }, name, &[error]))
        }
        _ => Ok(()),
    }
}

/// The wish to put a Pod on a node; it is checked before anybody looks for the Pod.
fn read_binding(target: &Target, body: &[u8]) -> Result<Value, Status> {
    let binding: Value =
        serde_json::from_slice(body).map_err(|error| Status::bad_request(error.to_string()))?;
    if binding["metadata"]["name"].as_str().unwrap_or_default() != target.name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    let kind = binding["target"]["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        let error = FieldError::not_supported("target.kind", kind, &["Node", "<empty>"]);
        return Err(Status::bare(error.to_string()));
    }
    if binding["target"]["name"].as_str().unwrap_or_default().is_empty() {
        return Err(Status::bare(FieldError::required("target.name", "").to_string()));
    }
    Ok(binding)
}

/// Puts a Pod on a node.
fn bind(
    core: &mut Core,
    key: &Key,
    old: &Arc<Value>,
    target: &Target,
    now: &str,
    binding: &Value,
    is_dry_run: bool,
) -> Result<Answer, Status> {
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    let pods = GroupName { group: "", name: "pods/binding" };
    if let Some(bound) = old["spec"]["nodeName"].as_str().filter(|name| !name.is_empty()) {
        let why = format!("pod {} is already assigned to node {bound:?}", target.name);
        return Err(Status::conflict(pods, &target.name, &why));
    }
    if old["metadata"].get("deletionTimestamp").is_some() {
        let why = format!("pod {} is being deleted, cannot be assigned to a host", target.name);
        return Err(Status::conflict(pods, &target.name, &why));
    }
    let mut new = Value::clone(old);
    new["spec"]["nodeName"] = node.into();
    let condition = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
        "observedGeneration": old["metadata"]["generation"],
    });
    match new.pointer_mut("/status/conditions") {
        Some(Value::Array(conditions)) => {
            conditions.retain(|it| it["type"] != "PodScheduled");
            conditions.push(condition);
        }
        _ => new["status"]["conditions"] = json!([condition]),
    }
    if !is_dry_run {
        core.put(key, new);
    }
    let done =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Answer::document(201, done))
}
