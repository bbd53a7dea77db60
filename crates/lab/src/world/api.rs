//! Requests of the world: dynamic objects, each with the user agent and field manager of whoever acts.

use std::borrow::Cow;
use std::fmt::Write as _;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::{Method, Request, header};
use kube::Client;
use kube::core::WatchEvent;
use serde_json::{Value, json};

/// A resource by the parts of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: Cow<'static, str>,
    pub(crate) version: Cow<'static, str>,
    pub(crate) plural: Cow<'static, str>,
    pub(crate) kind: Cow<'static, str>,
}

/// Who acts: the user agent of the request and the manager of the fields it writes.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    pub(crate) agent: Cow<'static, str>,
    pub(crate) manager: Cow<'static, str>,
}

/// The part of an API server that the world uses.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
}

/// How a patch is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patch {
    Merge,
    Json,
    Apply,
}

/// Where a request goes: an object, or with an empty name a collection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) subresource: &'a str,
}

/// Who plays the workload controllers.
pub(crate) const CONTROLLERS: Actor = Actor::known("kube-controller-manager");
/// Who plays the agents of the machines.
pub(crate) const KUBELET: Actor = Actor::known("kubelet");
/// Who plays the scheduler.
pub(crate) const SCHEDULER: Actor = Actor::known("kube-scheduler");

// === impl Resource ===

impl Resource {
    pub(crate) const fn known(group: &'static str, plural: &'static str, kind: &'static str) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed("v1"),
            plural: Cow::Borrowed(plural),
            kind: Cow::Borrowed(kind),
        }
    }

    pub(crate) fn api_version(&self) -> String {
        lockstep_api::object::join_api_version(&self.group, &self.version)
    }
}

// === impl Actor ===

impl Actor {
    const fn known(name: &'static str) -> Self {
        Self { agent: Cow::Borrowed(name), manager: Cow::Borrowed(name) }
    }

    /// Somebody under one name.
    pub(crate) fn named(name: &str) -> Self {
        Self { agent: Cow::Owned(name.to_owned()), manager: Cow::Owned(name.to_owned()) }
    }
}

// === impl Place ===

impl<'a> Place<'a> {
    pub(crate) fn object(resource: &'a Resource, namespace: &'a str, name: &'a str) -> Self {
        Self { resource, namespace, name, subresource: "" }
    }

    pub(crate) fn collection(resource: &'a Resource, namespace: &'a str) -> Self {
        Self { resource, namespace, name: "", subresource: "" }
    }

    pub(crate) fn sub(self, subresource: &'a str) -> Self {
        Self { subresource, ..self }
    }

    fn path(&self) -> String {
        let Resource { group, version, plural, .. } = self.resource;
        let mut path =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if !self.namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(self.namespace);
        }
        for part in [plural.as_ref(), self.name, self.subresource] {
            if !part.is_empty() {
                path.push('/');
                path.push_str(part);
            }
        }
        path
    }
}

// === impl Api ===

impl Api {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// One object.
    pub(crate) async fn get(&self, who: &Actor, place: Place<'_>) -> Result<Value, kube::Error> {
        self.client.request(build(Method::GET, &place.path(), who, None, Vec::new())?).await
    }

    /// Any document by its path, such as discovery.
    pub(crate) async fn get_path(&self, who: &Actor, path: &str) -> Result<Value, kube::Error> {
        self.client.request(build(Method::GET, path, who, None, Vec::new())?).await
    }

    /// Makes an object; for a subresource such as `binding` the place names the object.
    pub(crate) async fn create(
        &self,
        who: &Actor,
        place: Place<'_>,
        object: &Value,
    ) -> Result<Value, kube::Error> {
        let path = format!("{}?fieldManager={}", place.path(), escaped(&who.manager));
        let request = build(Method::POST, &path, who, Some("application/json"), object.to_string().into())?;
        self.client.request(request).await
    }

    /// Changes an object.
    pub(crate) async fn patch(
        &self,
        who: &Actor,
        place: Place<'_>,
        kind: Patch,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let (content, force) = match kind {
            Patch::Merge => ("application/merge-patch+json", ""),
            Patch::Json => ("application/json-patch+json", ""),
            Patch::Apply => ("application/apply-patch+yaml", "&force=true"),
        };
        let path = format!("{}?fieldManager={}{force}", place.path(), escaped(&who.manager));
        self.client.request(build(Method::PATCH, &path, who, Some(content), body.to_string().into())?).await
    }

    /// Deletes an object; with a uid only that very one.
    pub(crate) async fn delete(
        &self,
        who: &Actor,
        place: Place<'_>,
        uid: &str,
        grace: Option<u32>,
    ) -> Result<Value, kube::Error> {
        let mut options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        if !uid.is_empty() {
            options["preconditions"] = json!({"uid": uid});
        }
        if let Some(grace) = grace {
            options["gracePeriodSeconds"] = grace.into();
        }
        let body = options.to_string().into();
        self.client.request(build(Method::DELETE, &place.path(), who, Some("application/json"), body)?).await
    }

    /// All objects of a resource, and the version from which to watch.
    pub(crate) async fn list(
        &self,
        who: &Actor,
        place: Place<'_>,
    ) -> Result<(Vec<Value>, String), kube::Error> {
        let mut list: Value =
            self.client.request(build(Method::GET, &place.path(), who, None, Vec::new())?).await?;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        let items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        Ok((items, version))
    }

    /// The events of a resource since a version.
    pub(crate) async fn watch(
        &self,
        who: &Actor,
        place: Place<'_>,
        query: &str,
    ) -> Result<BoxStream<'static, Result<WatchEvent<Value>, kube::Error>>, kube::Error> {
        let path = format!("{}?watch=true&allowWatchBookmarks=true&{query}", place.path());
        let stream =
            self.client.request_events::<Value>(build(Method::GET, &path, who, None, Vec::new())?).await?;
        Ok(stream.boxed())
    }
}

/// A value as a query takes it: whatever could end or change it is percent-encoded.
fn escaped(value: &str) -> String {
    value.bytes().fold(String::with_capacity(value.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

fn build(
    method: Method,
    path: &str,
    who: &Actor,
    content: Option<&str>,
    body: Vec<u8>,
) -> Result<Request<Vec<u8>>, kube::Error> {
    let mut request =
        Request::builder().method(method).uri(path).header(header::USER_AGENT, who.agent.as_ref());
    if let Some(content) = content {
        request = request.header(header::CONTENT_TYPE, content);
    }
    request.body(body).map_err(kube::Error::HttpError)
}

/// The HTTP code of an error answer; 0 when there was no answer.
pub(crate) fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_become_another_parameter() {
        assert_eq!(escaped("kube-controller-manager"), "kube-controller-manager");
        assert_eq!(escaped("alice & bob/é"), "alice%20%26%20bob%2F%C3%A9");
    }
}
