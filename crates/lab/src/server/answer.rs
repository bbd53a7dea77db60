//! Answers: which form a client asked for, and the bytes of it.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use serde_json::{Value, json};

use super::resource::{Names, Resource};
use crate::status::Status;

/// The form of objects that a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Whole objects.
    Whole,
    /// `PartialObjectMetadata` of this API version: nothing but the metadata.
    Metadata(&'static str),
    /// `PartialObjectMetadataList`: the same, for lists.
    MetadataList(&'static str),
}

/// The encoding that a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// What a client asked for in its `Accept` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Which part of the objects.
    pub form: Form,
    /// How they are written.
    pub encoding: Encoding,
}

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// What is said.
    pub body: Content,
    /// Sentences for `Warning` headers.
    pub warnings: Vec<String>,
}

/// What an answer says.
#[derive(Debug)]
pub(crate) enum Content {
    /// A document.
    Document(Value),
    /// One stored object.
    Object(Arc<Value>),
    /// A list.
    List {
        /// The metadata of the list.
        metadata: Value,
        /// The objects.
        items: Vec<Arc<Value>>,
    },
    /// Plain text.
    Text(Cow<'static, str>),
    /// A stream of events.
    Stream(Body),
}

const SUPPORTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

// === impl Wanted ===

impl Wanted {
    /// Reads an `Accept` header; the first form that can be served wins.
    ///
    /// Tables and protobuf are not served: a client that also accepts JSON, as all known ones do, gets that.
    pub(crate) fn parse(accept: &str, is_custom: bool) -> Result<Self, Status> {
        if accept.trim().is_empty() {
            return Ok(Self { form: Form::Whole, encoding: Encoding::Json });
        }
        let mut is_known = false;
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let encoding = match parts.next().unwrap_or_default() {
                "application/json" | "application/*" | "*/*" => Encoding::Json,
                "application/yaml" => Encoding::Yaml,
                other => {
                    is_known |= other == "application/vnd.kubernetes.protobuf";
                    continue;
                }
            };
            is_known = true;
            let (mut wanted_as, mut api_version) = (None, "meta.k8s.io/v1");
            for part in parts {
                match part.split_once('=') {
                    Some(("as", form)) => wanted_as = Some(form),
                    Some(("v", "v1beta1")) => api_version = "meta.k8s.io/v1beta1",
                    _ => {}
                }
            }
            let form = match wanted_as {
                None => Form::Whole,
                Some("PartialObjectMetadata") => Form::Metadata(api_version),
                Some("PartialObjectMetadataList") => Form::MetadataList(api_version),
                Some(_) => continue,
            };
            return Ok(Self { form, encoding });
        }
        // Whoever asks for a form of something known gets as far as the negotiation of forms.
        if is_custom || is_known {
            let message = format!("only the following media types are accepted: {SUPPORTED}");
            return Err(Status::new(406, "NotAcceptable", message));
        }
        let message = format!("406: Not Acceptable\n\nAvailable representations: {SUPPORTED}");
        Err(Status { details: Some(serde_json::Map::new()), ..Status::new(406, "NotAcceptable", message) })
    }
}

// === impl Answer ===

impl Answer {
    /// An answer with one object.
    pub(crate) fn object(code: u16, object: Arc<Value>) -> Self {
        Self { code, body: Content::Object(object), warnings: Vec::new() }
    }

    /// An answer with a document that is no stored object.
    pub(crate) fn document(code: u16, document: Value) -> Self {
        Self { code, body: Content::Document(document), warnings: Vec::new() }
    }

    /// An answer with text.
    pub(crate) fn text(text: String) -> Self {
        Self { code: 200, body: Content::Text(text.into()), warnings: Vec::new() }
    }

    /// Shows stored objects as a version of their resource does.
    pub(crate) fn present(&mut self, resource: &Resource) {
        match &mut self.body {
            Content::Object(object) => *object = resource.present(object),
            Content::List { items, .. } => items.iter_mut().for_each(|item| *item = resource.present(item)),
            Content::Document(_) | Content::Text(_) | Content::Stream(_) => {}
        }
    }

    /// Puts a warning before all others.
    pub(crate) fn warn_first(&mut self, warning: Option<&str>) {
        self.warnings.splice(0..0, warning.map(str::to_owned));
    }

    /// What the real server says where nothing is served.
    pub(crate) fn page_not_found() -> Self {
        Self { code: 404, body: Content::Text("404 page not found\n".into()), warnings: Vec::new() }
    }

    /// The answer as an HTTP response.
    pub(crate) fn into_response(self, wanted: Wanted, names: Option<&Names>) -> Response<Body> {
        if let Some(status) = names.and_then(|names| misfit(&self.body, wanted.form, names)) {
            let plain = Wanted { form: Form::Whole, encoding: wanted.encoding };
            return Self::from(status).into_response(plain, None);
        }
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (content_type, body) = match self.body {
            Content::Text(text) => ("text/plain; charset=utf-8", Body::from(text.into_owned())),
            Content::Stream(body) => (content_type(wanted.encoding), body),
            Content::Document(document) => written(wanted.encoding, &document),
            Content::Object(object) => match (wanted.form, names) {
                (Form::Metadata(api_version) | Form::MetadataList(api_version), _) => {
                    written(wanted.encoding, &partial(&object, api_version))
                }
                (Form::Whole, _) => written(wanted.encoding, &*object),
            },
            Content::List { metadata, items } => {
                let list = list_document(wanted.form, names, metadata, &items);
                written(wanted.encoding, &list)
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        let mut told = std::collections::BTreeSet::new();
        // The same sentence once is enough.
        for warning in self.warnings.iter().filter(|warning| told.insert(warning.as_str())) {
            let text = format!("299 - {}", quoted(warning));
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.append(header::WARNING, value);
            }
        }
        response
    }
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        Self::document(status.code, status.to_value())
    }
}

/// The answer to whoever asked for a list where there is an object, or the other way round.
fn misfit(content: &Content, form: Form, names: &Names) -> Option<Status> {
    let message = match (content, form) {
        (Content::Object(_), Form::MetadataList(_)) => format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
            go_type(names, "")
        ),
        (Content::List { .. }, Form::Metadata(_)) => format!(
            "you requested PartialObjectMetadata, but the requested object is a list ({})",
            go_type(names, "List")
        ),
        _ => return None,
    };
    Some(Status::new(406, "NotAcceptable", message))
}

/// What the real server calls the type of an object.
fn go_type(names: &Names, suffix: &str) -> String {
    if names.is_custom {
        return format!("*unstructured.Unstructured{suffix}");
    }
    let package = names.group.split('.').next().unwrap_or_default();
    let package = if package.is_empty() { "core" } else { package };
    format!("*{package}.{}{suffix}", names.kind)
}

/// A list as a client gets it.
fn list_document(form: Form, names: Option<&Names>, metadata: Value, items: &[Arc<Value>]) -> Value {
    let mut metadata = metadata;
    if names.is_some_and(|names| names.is_custom) && form == Form::Whole && metadata.get("continue").is_none()
    {
        metadata["continue"] = "".into();
    }
    let mut list = json!({"metadata": metadata});
    let items: Vec<Value> = match (form, names) {
        (Form::Metadata(api_version) | Form::MetadataList(api_version), _) => {
            list["kind"] = "PartialObjectMetadataList".into();
            list["apiVersion"] = api_version.into();
            items.iter().map(|item| partial(item, api_version)).collect()
        }
        (Form::Whole, Some(names)) => {
            list["kind"] = names.list_kind.as_str().into();
            list["apiVersion"] = names.api_version().into();
            items.iter().map(|item| list_item(item, names)).collect()
        }
        (Form::Whole, None) => items.iter().map(|item| Value::clone(item)).collect(),
    };
    // NB: the one list that is written as Go writes an empty one.
    let is_null = form != Form::Whole && items.is_empty();
    list["items"] = if is_null { Value::Null } else { items.into() };
    list
}

/// An object inside a list: those of built-in kinds do not repeat kind and version there.
fn list_item(object: &Arc<Value>, names: &Names) -> Value {
    let mut item = Value::clone(object);
    if let Some(fields) = item.as_object_mut() {
        if names.is_custom {
            fields.insert("apiVersion".into(), names.api_version().into());
        } else {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
    }
    item
}

/// An object without everything but its metadata.
pub(crate) fn partial(object: &Value, api_version: &str) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": object["metadata"]})
}

fn content_type(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Json => "application/json",
        Encoding::Yaml => "application/yaml",
    }
}

fn written<T: Serialize>(encoding: Encoding, document: &T) -> (&'static str, Body) {
    let bytes = match encoding {
        Encoding::Json => {
            let mut bytes = serde_json::to_vec(document).unwrap_or_default();
            bytes.push(b'\n');
            bytes
        }
        Encoding::Yaml => {
            let value = serde_json::to_value(document).unwrap_or_default();
            lockstep_payload::yaml::write(&value).into_bytes()
        }
    };
    (content_type(encoding), Body::from(Bytes::from(bytes)))
}

/// Text in quotes for a header.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accept: &str) -> Option<(Form, Encoding)> {
        Wanted::parse(accept, false).ok().map(|wanted| (wanted.form, wanted.encoding))
    }

    #[test]
    fn the_first_form_that_is_served_wins() {
        assert_eq!(wanted(""), Some((Form::Whole, Encoding::Json)));
        assert_eq!(wanted("application/yaml"), Some((Form::Whole, Encoding::Yaml)));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(wanted(table), Some((Form::Whole, Encoding::Json)));
        let metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        assert_eq!(wanted(metadata), Some((Form::MetadataList("meta.k8s.io/v1"), Encoding::Json)));
        assert_eq!(wanted("application/vnd.kubernetes.protobuf"), None);
        assert_eq!(wanted("text/html"), None);
    }
}
