//! What the server says about itself: groups, versions, resources, health, version and a minimal `OpenAPI`.
//!
//! Everything is a function from the served names and one question to one answer. An address of objects is no
//! question for this module; every other address is, and gets the plain 404 when nothing is there.

mod accept;
mod aggregated;
mod groups;
mod health;
mod openapi;
mod plain;

use std::fmt::Write as _;

use axum::body::Body;
use http::{HeaderValue, Request, Response, header};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use super::resource::Names;
use crate::status::Status;
use accept::Form;
use lockstep_schema::Schema;

/// A request, as far as discovery looks at it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Question<'a> {
    /// The method; empty means GET.
    pub method: &'a str,
    /// The path of the address.
    pub path: &'a str,
    /// The query of the address without the question mark; may be empty.
    pub query: &'a str,
    /// The `Accept` header; empty when there is none.
    pub accept: &'a str,
    /// The `If-None-Match` header; empty when there is none.
    pub if_none_match: &'a str,
    /// The `Host` header, which the real server answers with its own address for; empty when there is none.
    pub host: &'a str,
}

/// An answer that is complete and small enough to be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The `Content-Type`; empty for an answer without a body.
    pub content_type: &'static str,
    /// More headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

/// The address of an answer about the API.
enum Place<'a> {
    /// `/`
    Root,
    /// `/api`
    Core,
    /// `/api/V`
    CoreVersion(&'a str),
    /// `/apis`
    Groups,
    /// `/apis/G`
    Group(&'a str),
    /// `/apis/G/V`
    GroupVersion(&'a str, &'a str),
    /// `/version`
    Version,
    /// `/openapi/v2`
    OpenApi2,
    /// `/openapi/v3`
    OpenApi3,
    /// `/openapi/v3/…`
    OpenApi3Of(&'a str),
    /// `/healthz`, `/livez` or `/readyz`, perhaps with the name of one check.
    Health(&'a str, &'a str),
    /// An address of objects, or of the lab itself.
    Elsewhere,
    /// Nothing.
    Nowhere,
}

const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
/// The form in which `/api` and `/apis` tell everything at once.
pub(crate) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The answer to a question about the API; `None` when the address is one of objects.
pub(crate) fn answer(served: &[Names], question: &Question<'_>) -> Option<Answer> {
    let place = Place::of(question.path);
    let is_get = matches!(question.method, "" | "GET");
    let is_get_only = match place {
        Place::Core | Place::CoreVersion(_) | Place::Version => true,
        Place::GroupVersion(group, _) => is_builtin_group(group),
        _ => false,
    };
    if is_get_only && !is_get {
        return Some(Answer::status(&Status::method_not_allowed()));
    }
    Some(match place {
        Place::Elsewhere => return None,
        Place::Nowhere => Answer::not_found(),
        Place::Root => Answer::text(200, JSON, pretty(&plain::root(served))),
        Place::Core => index(question, || plain::core(question.host), || aggregated::core(served)),
        Place::Groups => index(question, || plain::group_list(served), || aggregated::groups(served)),
        Place::Group(group) => match plain::group(served, group) {
            Some(document) => document_answer(question, &document),
            None => Answer::not_found(),
        },
        Place::CoreVersion(version) => resources(served, question, "", version),
        Place::GroupVersion(group, version) => resources(served, question, group, version),
        Place::Version => Answer::text(200, JSON, pretty(&version())),
        Place::Health(endpoint, check) => health::answer(endpoint, check, question.query),
        Place::OpenApi2 => openapi::v2(served, question),
        Place::OpenApi3 => openapi::index(served),
        Place::OpenApi3Of(name) => openapi::v3(served, question, name),
    })
}

/// `/api` and `/apis`: in the old form or, where the client wants it, with everything at once.
fn index(question: &Question<'_>, plain: impl Fn() -> Value, aggregated: impl Fn() -> Value) -> Answer {
    match accept::form(question.accept, true) {
        Ok(Form::Aggregated) => {
            let body = line(&aggregated());
            let tag = format!("\"{}\"", etag(&body));
            let headers =
                vec![("etag", tag.clone()), ("vary", "Accept".into()), ("cache-control", "public".into())];
            if question.if_none_match == tag {
                return Answer { code: 304, content_type: "", headers, body: String::new() };
            }
            Answer { code: 200, content_type: AGGREGATED, headers, body }
        }
        Ok(Form::Json) => Answer::text(200, JSON, line(&plain())),
        Ok(Form::Yaml) => Answer::text(200, YAML, lockstep_payload::yaml::write(&plain())),
        Err(status) => Answer::status(&status),
    }
}

fn document_answer(question: &Question<'_>, document: &Value) -> Answer {
    match accept::form(question.accept, false) {
        Ok(Form::Yaml) => Answer::text(200, YAML, lockstep_payload::yaml::write(document)),
        Ok(_) => Answer::text(200, JSON, line(document)),
        Err(status) => Answer::status(&status),
    }
}

/// `/api/V` and `/apis/G/V`.
fn resources(served: &[Names], question: &Question<'_>, group: &str, version: &str) -> Answer {
    match plain::resource_list(served, group, version) {
        Some(document) => document_answer(question, &document),
        None if is_builtin_group(group) => Answer::status(&Status::no_such_resource()),
        None => Answer::not_found(),
    }
}

/// `/version`: the keys of the real server; the lab was not built by Go and has no commit of Kubernetes.
fn version() -> Value {
    let version = Schema::builtin().kubernetes;
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let before =
        minor.parse::<u32>().map_or_else(|_| minor.to_owned(), |it| it.saturating_sub(1).to_string());
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": before,
        "gitVersion": version,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{architecture}", std::env::consts::OS),
    })
}

/// Whether a group is one of Kubernetes' own that this server serves.
fn is_builtin_group(group: &str) -> bool {
    group.is_empty() || groups::builtin_rank(group).is_some()
}

/// The hash that the real server makes of its documents, in the same letters.
fn etag(body: &str) -> String {
    let mut text = String::with_capacity(128);
    for byte in Sha512::digest(body.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

fn line(document: &Value) -> String {
    format!("{document}\n")
}

fn pretty(document: &Value) -> String {
    format!("{document:#}")
}

// === impl Question ===

impl<'a> Question<'a> {
    /// What a request asks.
    pub(crate) fn of<B>(request: &'a Request<B>) -> Self {
        let header =
            |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let uri = request.uri();
        Self {
            method: request.method().as_str(),
            path: uri.path(),
            query: uri.query().unwrap_or_default(),
            accept: header(header::ACCEPT),
            if_none_match: header(header::IF_NONE_MATCH),
            // HTTP/2 has no such header; what stands there is part of the address.
            host: uri.authority().map_or_else(|| header(header::HOST), |authority| authority.as_str()),
        }
    }
}

// === impl Place ===

impl<'a> Place<'a> {
    fn of(path: &'a str) -> Self {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        // One slash at the end changes nothing.
        let parts = match parts.as_slice() {
            [rest @ .., ""] if !rest.is_empty() => rest,
            all => all,
        };
        match parts {
            [] | [""] => Self::Root,
            ["api"] => Self::Core,
            ["api", version] => Self::CoreVersion(version),
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group(group),
            ["apis", group, version] => Self::GroupVersion(group, version),
            ["api" | "apis" | "lab", ..] => Self::Elsewhere,
            ["version"] => Self::Version,
            ["openapi", "v2"] => Self::OpenApi2,
            ["openapi", "v3"] => Self::OpenApi3,
            ["openapi", "v3", ..] => Self::OpenApi3Of(path["/openapi/v3/".len()..].trim_end_matches('/')),
            [endpoint @ ("healthz" | "livez" | "readyz"), rest @ ..] => {
                let check = match rest {
                    [] => "",
                    _ => path[endpoint.len() + 2..].trim_end_matches('/'),
                };
                Self::Health(endpoint, check)
            }
            _ => Self::Nowhere,
        }
    }
}

// === impl Answer ===

impl Answer {
    /// The answer of the real server for an address that leads nowhere.
    pub(crate) fn not_found() -> Self {
        let headers = vec![("x-content-type-options", "nosniff".into())];
        Self { code: 404, content_type: PLAIN, headers, body: "404 page not found\n".into() }
    }

    fn text(code: u16, content_type: &'static str, body: String) -> Self {
        Self { code, content_type, headers: Vec::new(), body }
    }

    fn status(status: &Status) -> Self {
        Self::text(status.code, JSON, line(&status.to_value()))
    }

    /// An answer without a body.
    fn empty(code: u16) -> Self {
        Self { code, content_type: "", headers: Vec::new(), body: String::new() }
    }

    /// The answer as the server sends it.
    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = http::StatusCode::from_u16(self.code).unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        if !self.content_type.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Answer {
        answer(&Names::builtin(), &Question { path, ..Question::default() }).expect("an answer")
    }

    #[test]
    fn addresses_of_objects_are_left_to_others() {
        for path in
            ["/api/v1/pods", "/apis/apps/v1/deployments", "/api/v1/namespaces/x/pods/y", "/lab/v1/faults"]
        {
            assert_eq!(answer(&[], &Question { path, ..Question::default() }), None, "{path}");
        }
    }

    #[test]
    fn an_address_that_leads_nowhere_is_a_plain_404() {
        for path in ["/nope", "/apis/nope", "/apis/nope/v1", "/openapi", "/readyz/nope", "/versions"] {
            let answer = get(path);
            assert_eq!((answer.code, answer.body.as_str()), (404, "404 page not found\n"), "{path}");
            assert_eq!(answer.content_type, PLAIN);
        }
    }

    #[test]
    fn an_unknown_version_of_a_builtin_group_is_a_status() {
        for path in ["/api/v2", "/apis/apps/v9"] {
            let answer = get(path);
            assert_eq!((answer.code, answer.content_type), (404, JSON), "{path}");
            assert!(answer.body.contains("the server could not find the requested resource"), "{path}");
        }
    }

    #[test]
    fn a_slash_at_the_end_changes_nothing() {
        for path in ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/readyz"] {
            assert_eq!(get(path), get(&format!("{path}/")), "{path}");
        }
    }

    #[test]
    fn only_what_the_real_server_routes_by_method_refuses_other_methods() {
        let post = |path| {
            let question = Question { method: "POST", path, ..Question::default() };
            answer(&Names::builtin(), &question).expect("an answer").code
        };
        assert_eq!([post("/api"), post("/api/v1"), post("/version"), post("/apis/apps/v1")], [405; 4]);
        assert_eq!([post("/apis"), post("/apis/apps"), post("/readyz"), post("/")], [200; 4]);
    }

    #[test]
    fn the_version_has_the_keys_of_the_real_server() {
        let version: Value = serde_json::from_str(&get("/version").body).unwrap();
        assert_eq!(version["gitVersion"], Schema::builtin().kubernetes);
        assert_eq!((&version["major"], &version["minor"]), (&json!("1"), &json!("36")));
        assert_eq!(version["minCompatibilityMinor"], "35");
    }

    #[test]
    fn an_unchanged_document_is_not_sent_twice() {
        let names = Names::builtin();
        let question = Question { path: "/apis", accept: AGGREGATED, ..Question::default() };
        let first = answer(&names, &question).unwrap();
        assert_eq!((first.code, first.content_type), (200, AGGREGATED));
        let tag = first.headers.iter().find(|(name, _)| *name == "etag").unwrap().1.clone();
        let second = answer(&names, &Question { if_none_match: &tag, ..question }).unwrap();
        assert_eq!((second.code, second.body.as_str()), (304, ""));
        let others: Vec<Names> = names.iter().filter(|names| !names.group.is_empty()).cloned().collect();
        let other = answer(&others, &Question { if_none_match: &tag, ..question }).unwrap();
        assert_eq!(other.code, 304, "the core group is no part of it");
        let other = answer(&others[1..], &Question { if_none_match: &tag, ..question }).unwrap();
        assert_eq!(other.code, 200);
    }

    #[test]
    fn a_response_carries_the_headers_of_its_answer() {
        let response = Answer::not_found().into_response();
        assert_eq!(response.headers()["cache-control"], "no-cache, private");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert_eq!(response.status(), 404);
    }
}
