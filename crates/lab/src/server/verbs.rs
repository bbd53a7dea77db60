//! From a request to the verb it means, and back to a response.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Response, header};
use http_body_util::BodyExt as _;

use super::Shared;
use super::answer::{Answer, Content, Encoding, Form, Wanted};
use super::core::Call;
use super::delete::{self, DeleteOptions};
use super::discovery;
use super::page;
use super::patch::{self, PatchType};
use super::registry::Missing;
use super::request::{Query, Target};
use super::resource::Resource;
use super::review;
use super::select::Selection;
use super::subresource;
use super::watch;
use super::write;
use crate::builtin::protobuf;
use crate::builtin::strategy::User;
use crate::status::Status;
use crate::store::Key;

/// The largest body that the server reads.
const LARGEST_BODY: usize = 3 << 20;
/// How much of a larger one it takes in before it gives up on the connection.
const MOST_DISCARDED: usize = 16 << 20;

/// The binary format of `kubectl create` and of typed clients.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Everything about a request except its body.
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) query: Query,
    pub(super) content_type: String,
    pub(super) user_agent: String,
    pub(super) user: User,
}

/// Answers one request.
pub(super) async fn answer(shared: &Arc<Shared>, request: Request) -> Response<Body> {
    let names = shared.core().registry.names();
    if let Some(found) = discovery::answer(&names, &discovery::Question::of(&request)) {
        return found.into_response();
    }
    let (parts, body) = request.into_parts();
    let accept = text(&parts.headers, header::ACCEPT);
    let plain = Wanted { form: Form::Whole, encoding: Encoding::Json };
    let Some(target) = Target::parse(parts.uri.path()) else {
        return Answer::page_not_found().into_response(plain, None);
    };
    let found = shared.core().registry.find(&target.group, &target.version, &target.plural).cloned();
    let resource = match found {
        Ok(resource) => resource,
        Err(Missing::Group) => return Answer::page_not_found().into_response(plain, None),
        Err(Missing::InBuiltinGroup) => {
            return Answer::from(Status::no_such_resource()).into_response(plain, None);
        }
    };
    let user = parts.extensions.get::<crate::serve::User>().cloned().unwrap_or_default();
    let mut query = Query::parse(parts.uri.query().unwrap_or_default());
    if target.is_old_watch {
        query.set("watch", "true");
    }
    let mut head = Head {
        method: parts.method,
        target,
        query,
        content_type: text(&parts.headers, header::CONTENT_TYPE).to_owned(),
        user_agent: text(&parts.headers, header::USER_AGENT).to_owned(),
        user: User { uid: user.name.clone(), name: user.name, groups: user.groups, ..User::default() },
    };
    let wanted = match Wanted::parse(accept, resource.names.is_custom) {
        Ok(wanted) => wanted,
        Err(status) => return Answer::from(status).into_response(plain, None),
    };
    let outcome = match read_body(body).await {
        Ok(body) => without_protobuf(&resource, &mut head, body)
            .and_then(|body| dispatch(shared, &resource, &head, &body, wanted)),
        Err(status) => Err(status),
    };
    match outcome {
        Ok(mut answer) => {
            answer.present(&resource);
            answer.warn_first(resource.deprecation());
            let is_object = matches!(answer.body, Content::Object(_) | Content::List { .. });
            answer.into_response(wanted, is_object.then_some(&resource.names))
        }
        Err(status) => {
            let mut answer = Answer::from(status);
            answer.warn_first(resource.deprecation());
            answer.into_response(plain, None)
        }
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The body of a request, as far as it may go.
///
/// What is too much is still taken in, up to a second limit: a client that is cut off while it sends never reads why.
async fn read_body(mut body: Body) -> Result<Bytes, Status> {
    let mut taken = BytesMut::new();
    let mut length = 0;
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length <= LARGEST_BODY {
            taken.extend_from_slice(&data);
        } else if length > MOST_DISCARDED {
            break;
        }
    }
    if length > LARGEST_BODY { Err(Status::too_large(LARGEST_BODY)) } else { Ok(taken.freeze()) }
}

/// A body in protobuf as the same body in JSON, with the content type of that; any other as it is.
///
/// Objects that a CRD defines have no messages: their bodies stay, and are refused for what they are.
fn without_protobuf(resource: &Resource, head: &mut Head, body: Bytes) -> Result<Bytes, Status> {
    let media_type = head.content_type.split(';').next().unwrap_or_default().trim();
    let names = &resource.names;
    let part = names.subresources.iter().find(|sub| sub.name == head.target.subresource);
    let (api_version, kind) = match (&head.method, part) {
        _ if media_type != PROTOBUF || body.is_empty() => return Ok(body),
        (&Method::DELETE, _) => (names.api_version(), "DeleteOptions"),
        (&Method::POST | &Method::PUT, Some(part)) if !names.is_custom || part.kind == "Scale" => {
            let group = if part.group.is_empty() { String::new() } else { format!("{}/", part.group) };
            (format!("{group}{}", part.version), part.kind.as_str())
        }
        (&Method::POST | &Method::PUT, None) if !names.is_custom => {
            (names.api_version(), names.kind.as_str())
        }
        _ => return Ok(body),
    };
    let object =
        protobuf::to_json(&body, (&api_version, kind)).map_err(|error| error.into_status(kind, &body))?;
    head.content_type = "application/json".into();
    Ok(Bytes::from(object.to_string()))
}

/// Runs the verb of a request.
fn dispatch(
    shared: &Arc<Shared>,
    resource: &Arc<Resource>,
    head: &Head,
    body: &[u8],
    wanted: Wanted,
) -> Result<Answer, Status> {
    let target = &head.target;
    check_query(&head.query)?;
    if !is_in_scope(resource, target) {
        return if resource.names.is_custom {
            Ok(Answer::page_not_found())
        } else {
            Err(Status::no_such_resource())
        };
    }
    if !matches!(target.subresource.as_str(), "" | "status" | "finalize" | "approval") {
        return subresource::answer(shared, resource, head, body);
    }
    let verb = verb_of(head, resource.names.is_custom)?;
    check_verb(resource, target, verb)?;
    match verb {
        "get" => get(shared, resource, head),
        "list" => list(shared, resource, head),
        "watch" => open_watch(shared, resource, head, wanted.form),
        _ => change(shared, resource, head, verb, body),
    }
}

/// Runs a verb that changes something, then wakes the controllers.
fn change(
    shared: &Arc<Shared>,
    resource: &Arc<Resource>,
    head: &Head,
    verb: &str,
    body: &[u8],
) -> Result<Answer, Status> {
    let target = &head.target;
    let mut call = Call { now: shared.clock.stamp(), user: &head.user, warnings: Vec::new() };
    let options = |kind: &str| head.query.write_options(kind, &head.user_agent);
    let mut guard = shared.core();
    let core = &mut *guard;
    let written = match verb {
        "create" => {
            check_content_type(head)?;
            let options = options("CreateOptions")?;
            if matches!(resource.names.group.as_str(), "authorization.k8s.io" | "authentication.k8s.io") {
                let question = write::read(&mut call, resource, body, options.field_validation)?;
                if let Some(answer) = review::answer(resource, &call, &question) {
                    return Ok(Answer { warnings: call.warnings, ..Answer::document(201, answer) });
                }
            }
            write::create(core, &mut call, resource, target, body, &options)
        }
        "update" => {
            check_content_type(head)?;
            let options = options("UpdateOptions")?;
            write::update(core, &mut call, resource, target, body, &options)
        }
        "patch" => {
            let patch_type = PatchType::parse(&head.content_type, resource.names.is_custom)?;
            let options = options("PatchOptions")?;
            patch::patch(core, &mut call, resource, target, patch_type, body, &options)
        }
        "delete" => {
            let options = DeleteOptions::parse(body, &head.query)?;
            let answer = delete::delete(core, &call, resource, target, &options);
            wake(shared, core);
            return answer;
        }
        _ => {
            let options = DeleteOptions::parse(body, &head.query)?;
            let list_options = head.query.list_options()?;
            let selection = Selection::of(resource, target, &list_options)?;
            let page = page::list(
                &core.store,
                &resource.table,
                &target.namespace,
                &list_options,
                selection.is_everything(),
                |object| selection.matches(object),
            )?;
            let answer = delete::delete_collection(core, &call, resource, page, &options);
            wake(shared, core);
            return answer;
        }
    };
    wake(shared, core);
    // A refused wish about addresses and ports of a Service is given back.
    core.services.rollback();
    let written = written?;
    let status_code = if written.is_new { 201 } else { 200 };
    Ok(Answer { warnings: call.warnings, ..Answer::object(status_code, written.object) })
}

pub(super) fn wake(shared: &Shared, core: &super::core::Core) {
    if !core.work.is_empty() {
        shared.wake.notify_one();
    }
}

fn get(shared: &Shared, resource: &Resource, head: &Head) -> Result<Answer, Status> {
    let target = &head.target;
    // Any version that is not of the future will do: there is only the newest.
    let asked = page::parse_version(head.query.get("resourceVersion"))?;
    let current = shared.core().store.revision();
    if asked > current {
        return Err(page::too_large(asked, current));
    }
    let key = Key::new(&resource.table, &target.namespace, &target.name);
    match shared.core().store.get(&key) {
        Some(object) => Ok(Answer::object(200, Arc::clone(object))),
        None => Err(Status::not_found(resource.group_name(), &target.name)),
    }
}

fn list(shared: &Shared, resource: &Arc<Resource>, head: &Head) -> Result<Answer, Status> {
    let options = head.query.list_options()?;
    let selection = Selection::of(resource, &head.target, &options)?;
    let core = shared.core();
    let page = page::list(
        &core.store,
        &resource.table,
        &head.target.namespace,
        &options,
        selection.is_everything(),
        |object| selection.matches(object),
    )?;
    let body = Content::List { metadata: page.metadata, items: page.items };
    Ok(Answer { code: 200, body, warnings: Vec::new() })
}

fn open_watch(
    shared: &Arc<Shared>,
    resource: &Arc<Resource>,
    head: &Head,
    form: Form,
) -> Result<Answer, Status> {
    let options = head.query.list_options()?;
    let selection = Selection::of(resource, &head.target, &options)?;
    let body = watch::open(shared, resource, selection, &options, form)?;
    Ok(Answer { code: 200, body: Content::Stream(body), warnings: Vec::new() })
}

/// The verb of a request by its method and address.
fn verb_of(head: &Head, is_custom: bool) -> Result<&'static str, Status> {
    let has_name = !head.target.name.is_empty();
    let is_watch = matches!(head.query.get("watch"), "true" | "1" | "True");
    Ok(match (head.method.as_str(), has_name) {
        ("GET", _) if is_watch && head.target.subresource.is_empty() => "watch",
        ("GET", true) => "get",
        ("GET", false) => "list",
        ("POST", false) => "create",
        ("PUT", true) => "update",
        ("PATCH", true) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        // The server of custom resources looks at the method alone.
        ("POST", true) if is_custom => "create",
        ("PUT" | "PATCH", false) if is_custom => return Err(Status::bad_request("name must be provided")),
        _ => return Err(Status::method_not_allowed()),
    })
}

/// Whether an address has a namespace where its resource needs one, and none where not.
fn is_in_scope(resource: &Resource, target: &Target) -> bool {
    let has_namespace = !target.namespace.is_empty();
    if resource.names.namespaced { has_namespace || target.name.is_empty() } else { !has_namespace }
}

/// Refuses parameters that every request can have and that make no sense.
fn check_query(query: &Query) -> Result<(), Status> {
    let timeout = query.get("timeout");
    if !timeout.is_empty() && timeout.parse::<crate::faults::Span>().is_err() {
        return Err(Status::bad_request(format!(
            "invalid timeout specified in the request URL - time: invalid duration {timeout:?}"
        )));
    }
    if query.get("export") == "true" {
        let message = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Status::bad_request(message));
    }
    Ok(())
}

fn check_verb(resource: &Resource, target: &Target, verb: &str) -> Result<(), Status> {
    let names = &resource.names;
    let verbs = if target.subresource.is_empty() {
        &names.verbs
    } else {
        match names.subresources.iter().find(|sub| sub.name == target.subresource) {
            Some(found) => &found.verbs,
            None => return Err(resource.no_such_part(&target.name)),
        }
    };
    // Namespaced objects are created, and deleted by the dozen, in one namespace.
    let is_homeless =
        matches!(verb, "create" | "deletecollection") && names.namespaced && target.namespace.is_empty();
    if !is_homeless && verbs.iter().any(|it| it == verb) {
        return Ok(());
    }
    Err(Status::method_not_allowed())
}

/// Refuses bodies in a format that is not read.
pub(super) fn check_content_type(head: &Head) -> Result<(), Status> {
    match head.content_type.split(';').next().unwrap_or_default().trim() {
        "" | "application/json" | "application/yaml" => Ok(()),
        _ => {
            let supported = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
            let message = format!(
                "the body of the request was in an unknown format - accepted media types include: {supported}"
            );
            Err(Status::new(415, "UnsupportedMediaType", message))
        }
    }
}
