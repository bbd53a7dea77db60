//! The answers of a server in trouble, in the words of the real one.

use axum::body::Body;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Map, Value, json};

use super::request::{Asked, Verb};
use super::span::Span;
use crate::User;
use crate::status::{GroupName, Status};

/// The refusal with this code.
pub(super) fn refusal(asked: &Asked, user: &User, code: u16, retry_after: Option<Span>) -> Response<Body> {
    let resource = GroupName { group: &asked.group, name: &asked.resource };
    let name = asked.name.as_str();
    let seconds = retry_after.map(whole_seconds);
    let status = match code {
        401 => Status::unauthorized(),
        403 => forbidden(asked, user),
        404 if name.is_empty() => Status::no_such_resource(),
        404 => Status::not_found(resource, name),
        409 if asked.verb == Some(Verb::Create) => Status::already_exists(resource, name),
        409 => Status::modified(resource, name),
        429 => return too_many(seconds.unwrap_or(1)),
        503 => Status {
            details: seconds
                .map(|seconds| Map::from_iter([("retryAfterSeconds".to_owned(), seconds.into())])),
            ..Status::new(503, "ServiceUnavailable", "the server is currently unable to handle the request")
        },
        // What a client sees most often when etcd is in trouble.
        _ => Status::bare("etcdserver: request timed out"),
    };
    let mut response = status_answer(&status);
    if let (503, Some(seconds)) = (code, seconds) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// 504: too late, and nobody knows what became of it.
pub(super) fn timeout() -> Response<Body> {
    let message = "Timeout: request did not complete within the allotted timeout";
    status_answer(&Status { details: Some(Map::new()), ..Status::new(504, "Timeout", message) })
}

/// 410: to a list as the answer, to a watch as its only event, as the real server does.
pub(super) fn expired(asked: &Asked) -> Response<Body> {
    let version = &asked.version;
    if asked.verb == Some(Verb::Watch) {
        let newer =
            version.parse::<u64>().map_or_else(|_| version.clone(), |it| it.saturating_add(1).to_string());
        let status = Status::expired(format!("too old resource version: {version} ({newer})"));
        return json_answer(200, &json!({"type": "ERROR", "object": status.to_value()}));
    }
    let message = if version.is_empty() {
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter."
    } else {
        "The resourceVersion for the provided list is too old."
    };
    status_answer(&Status::expired(message))
}

/// What a load balancer says when nobody is behind it.
pub(super) fn outage() -> Response<Body> {
    plain(503, "Service Unavailable\n")
}

fn too_many(seconds: u64) -> Response<Body> {
    let mut response = plain(429, "Too many requests, please try again later.\n");
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// 403 in the words of the authoriser.
fn forbidden(asked: &Asked, user: &User) -> Status {
    let Some(verb) = asked.verb else {
        let message =
            format!("forbidden: User {:?} cannot {} path {:?}", user.name, asked.method, asked.path);
        return Status { details: Some(Map::new()), ..Status::new(403, "Forbidden", message) };
    };
    let whole = match asked.subresource.as_str() {
        "" => asked.resource.clone(),
        subresource => format!("{}/{subresource}", asked.resource),
    };
    let place = match asked.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let why = format!(
        "User {:?} cannot {} resource {whole:?} in API group {:?} {place}",
        user.name,
        verb.word(),
        asked.group
    );
    Status::forbidden(GroupName { group: &asked.group, name: &asked.resource }, &asked.name, &why)
}

/// Up to the next second: clients shall not come too early.
fn whole_seconds(span: Span) -> u64 {
    u64::try_from(std::time::Duration::from(span).as_millis().div_ceil(1000)).unwrap_or(u64::MAX)
}

fn status_answer(status: &Status) -> Response<Body> {
    json_answer(status.code, &status.to_value())
}

fn json_answer(code: u16, value: &Value) -> Response<Body> {
    answer(code, "application/json", format!("{value}\n"))
}

fn plain(code: u16, text: &str) -> Response<Body> {
    answer(code, "text/plain; charset=utf-8", text.to_owned())
}

fn answer(code: u16, content_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::asked;
    use super::*;

    #[test]
    fn a_forbidden_request_is_told_what_it_may_not_do() {
        let told = |line| forbidden(&asked(line), &User::default()).message;
        assert_eq!(
            told("GET /api/v1/pods"),
            "pods is forbidden: User \"admin\" cannot list resource \"pods\" in API group \"\" at the cluster scope"
        );
        assert_eq!(
            told("PATCH /apis/apps/v1/namespaces/x/deployments/y/scale"),
            "deployments.apps \"y\" is forbidden: User \"admin\" cannot patch resource \"deployments/scale\" in API \
             group \"apps\" in the namespace \"x\""
        );
        assert_eq!(told("GET /version"), "forbidden: User \"admin\" cannot get path \"/version\"");
    }

    #[test]
    fn a_rest_of_a_second_counts_as_one() {
        for (text, seconds) in [("1s", 1), ("1500ms", 2), ("0s", 0), ("1m", 60)] {
            assert_eq!(whole_seconds(text.parse().unwrap()), seconds, "{text}");
        }
    }
}
