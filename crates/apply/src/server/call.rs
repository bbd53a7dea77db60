//! Requests as values.

use std::fmt::Write as _;

use bytes::Bytes;
use http::Method;
use serde_json::json;

use crate::FIELD_MANAGER;
use crate::kinds::Resource;

/// A request.
#[derive(Debug, Clone)]
pub struct Call {
    pub(super) method: Method,
    /// With the query.
    pub(super) path: String,
    pub(super) accept: &'static str,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: Bytes,
    pub(super) is_about_namespaces: bool,
    pub(super) is_stream: bool,
}

/// Whether a write is only tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DryRun {
    /// It is carried out.
    #[default]
    No,
    /// The server does everything but store it.
    Server,
}

/// What becomes of the objects that belong to a deleted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// How an object is removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// What becomes of what belongs to it; `None` leaves it to the kind.
    pub propagation: Option<Propagation>,
    /// Only this object, not another one with its name.
    pub uid: Option<String>,
    /// Only in this state.
    pub resource_version: Option<String>,
    /// Whether it is only tried.
    pub dry_run: DryRun,
}

/// Which part of a list is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPage<'a> {
    /// Which labels.
    pub label_selector: Option<&'a str>,
    /// Which fields.
    pub field_selector: Option<&'a str>,
    /// How many at most; `None` gives all.
    pub limit: Option<u32>,
    /// Where the page before ended.
    pub token: Option<&'a str>,
    /// How old the answer may be: `Some("0")` takes what the server has at hand, `None` asks for the newest.
    pub resource_version: Option<&'a str>,
}

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const JSON_PATCH: &str = "application/json-patch+json";
/// Metadata alone, and the whole from a server that cannot leave the rest out.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

// === impl Call ===

impl Call {
    /// Server-side apply in our name; `body` is the object as JSON, `force` takes fields from others.
    pub fn apply(
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: Bytes,
        force: bool,
        dry_run: DryRun,
    ) -> Self {
        Self::write(Method::PATCH, resource, resource.object_path(namespace, name), APPLY, body, dry_run)
            .with("force", if force { "true" } else { "false" })
    }

    /// Creates an object; `body` is the object as JSON.
    pub fn create(resource: &Resource, namespace: Option<&str>, body: Bytes, dry_run: DryRun) -> Self {
        Self::write(Method::POST, resource, resource.list_path(namespace), JSON, body, dry_run)
    }

    /// Puts an object in the place of the one that is there.
    pub fn replace(
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: Bytes,
        dry_run: DryRun,
    ) -> Self {
        Self::write(Method::PUT, resource, resource.object_path(namespace, name), JSON, body, dry_run)
    }

    /// Changes an object by a list of JSON patch operations.
    pub fn json_patch(
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: Bytes,
        dry_run: DryRun,
    ) -> Self {
        Self::write(Method::PATCH, resource, resource.object_path(namespace, name), JSON_PATCH, body, dry_run)
    }

    /// Reads an object.
    pub fn get(resource: &Resource, namespace: Option<&str>, name: &str) -> Self {
        Self::read(resource, resource.object_path(namespace, name))
    }

    /// Removes an object.
    pub fn delete(resource: &Resource, namespace: Option<&str>, name: &str, removal: &Removal) -> Self {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        if let Some(propagation) = removal.propagation {
            options["propagationPolicy"] = propagation.word().into();
        }
        for (key, value) in [("uid", &removal.uid), ("resourceVersion", &removal.resource_version)] {
            if let Some(value) = value {
                options["preconditions"][key] = value.as_str().into();
            }
        }
        if removal.dry_run == DryRun::Server {
            options["dryRun"] = json!(["All"]);
        }
        Self {
            method: Method::DELETE,
            content_type: Some(JSON),
            body: Bytes::from(options.to_string()),
            ..Self::read(resource, resource.object_path(namespace, name))
        }
    }

    /// One page of a list.
    pub fn list(resource: &Resource, namespace: Option<&str>, page: &ListPage<'_>) -> Self {
        let limit = page.limit.map(|limit| limit.to_string());
        Self::read(resource, resource.list_path(namespace))
            .with_some("labelSelector", page.label_selector)
            .with_some("fieldSelector", page.field_selector)
            .with_some("limit", limit.as_deref())
            .with_some("continue", page.token)
            .with_some("resourceVersion", page.resource_version)
    }

    /// Anything else that can be read, such as `/version`.
    pub fn raw(path: &str) -> Self {
        Self::of_path(path.to_owned())
    }

    fn of_path(path: String) -> Self {
        Self {
            method: Method::GET,
            path,
            accept: JSON,
            content_type: None,
            body: Bytes::new(),
            is_about_namespaces: false,
            is_stream: false,
        }
    }

    /// A watch on a collection: `query` says from where.
    pub(crate) fn watch(resource: &Resource, namespace: Option<&str>) -> Self {
        Self { is_stream: true, ..Self::read(resource, resource.list_path(namespace)).with("watch", "true") }
    }

    /// What is asked, in the words that roles and audit logs use, but for `list`, which counts as `get`.
    pub(super) fn verb(&self) -> &'static str {
        match (self.is_stream, &self.method) {
            (true, _) => "watch",
            (_, &Method::POST) => "create",
            (_, &Method::PUT) => "update",
            (_, &Method::PATCH) if self.content_type == Some(APPLY) => "apply",
            (_, &Method::PATCH) => "patch",
            (_, &Method::DELETE) => "delete",
            _ => "get",
        }
    }

    /// Goes to a part of the object, such as `status`.
    #[must_use]
    pub fn subresource(mut self, name: &str) -> Self {
        let end = self.path.find('?').unwrap_or(self.path.len());
        self.path.insert_str(end, &format!("/{name}"));
        self
    }

    /// Asks for the metadata of one object only.
    #[must_use]
    pub fn metadata_only(self) -> Self {
        Self { accept: METADATA, ..self }
    }

    /// Asks for the metadata of the objects of a list only.
    #[must_use]
    pub fn metadata_only_list(self) -> Self {
        Self { accept: METADATA_LIST, ..self }
    }

    /// Asks for an answer in one of these forms, the first that the server knows.
    #[must_use]
    pub fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        self.path.push_str(key);
        self.path.push('=');
        escape_into(&mut self.path, value);
        self
    }

    /// Adds a parameter if it has a value.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    fn read(resource: &Resource, path: String) -> Self {
        Self { is_about_namespaces: resource.is_namespaces(), ..Self::of_path(path) }
    }

    fn write(
        method: Method,
        resource: &Resource,
        path: String,
        content_type: &'static str,
        body: Bytes,
        dry_run: DryRun,
    ) -> Self {
        let call = Self { method, content_type: Some(content_type), body, ..Self::read(resource, path) };
        let call = call.with("fieldManager", FIELD_MANAGER);
        if dry_run == DryRun::Server { call.with("dryRun", "All") } else { call }
    }
}

// === impl Propagation ===

impl Propagation {
    fn word(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// Appends a text so that it stays one value or one step of a path.
pub(crate) fn escape_into(path: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Always succeeds: it is a text.
            let _ = write!(path, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployments() -> Resource {
        Resource::new("apps", "v1", "Deployment", "deployments", true)
    }

    #[test]
    fn an_apply_names_us_and_says_whether_it_forces() {
        let call =
            Call::apply(&deployments(), Some("x"), "a", Bytes::from_static(b"{}"), true, DryRun::Server);
        assert_eq!(
            call.path,
            "/apis/apps/v1/namespaces/x/deployments/a?fieldManager=lockstep&dryRun=All&force=true"
        );
        assert_eq!((call.method, call.content_type), (Method::PATCH, Some(APPLY)));
    }

    #[test]
    fn a_subresource_goes_before_the_query() {
        let call =
            Call::replace(&deployments(), Some("x"), "a", Bytes::new(), DryRun::No).subresource("status");
        assert_eq!(call.path, "/apis/apps/v1/namespaces/x/deployments/a/status?fieldManager=lockstep");
    }

    #[test]
    fn a_selector_is_escaped() {
        let page = ListPage { label_selector: Some("a/b=c,d in (e)"), limit: Some(5), ..ListPage::default() };
        let call = Call::list(&deployments(), None, &page);
        assert_eq!(call.path, "/apis/apps/v1/deployments?labelSelector=a%2Fb%3Dc%2Cd%20in%20%28e%29&limit=5");
    }

    #[test]
    fn a_removal_carries_its_conditions() {
        let removal = Removal {
            propagation: Some(Propagation::Foreground),
            uid: Some("u".to_owned()),
            ..Removal::default()
        };
        let call = Call::delete(&deployments(), Some("x"), "a", &removal);
        let body: serde_json::Value = serde_json::from_slice(&call.body).unwrap();
        assert_eq!(body["propagationPolicy"], "Foreground");
        assert_eq!(body["preconditions"], json!({"uid": "u"}));
    }
}
