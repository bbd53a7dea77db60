//! Servers that can do less: a front before a real one or the lab.

use http::{Request, Response, header};
use kube::Client;
use kube::client::Body;
use serde_json::json;

/// As a server says it that does not know the parameters.
pub(crate) const REFUSED_AS_ANSWER: u16 = 422;
/// As a server says it whose storage is too old.
pub(crate) const REFUSED_AS_EVENT: u16 = 200;

/// A server that does not give everything that exists as a stream.
pub(crate) fn without_streams(client: Client, refusal_code: u16) -> Client {
    Client::new(
        tower::service_fn(move |request: Request<Body>| {
            let client = client.clone();
            async move {
                if !request.uri().query().is_some_and(|query| query.contains("sendInitialEvents")) {
                    return client.send(request).await;
                }
                Ok(Response::builder().status(refusal_code).body(Body::from(refusal(refusal_code))).unwrap())
            }
        }),
        "default",
    )
}

/// A server that tells what it serves only piece by piece.
pub(crate) fn without_aggregated_discovery(client: Client) -> Client {
    Client::new(
        tower::service_fn(move |mut request: Request<Body>| {
            let client = client.clone();
            request.headers_mut().insert(header::ACCEPT, "application/json".parse().unwrap());
            async move { client.send(request).await }
        }),
        "default",
    )
}

fn refusal(code: u16) -> Vec<u8> {
    if code == REFUSED_AS_EVENT {
        let message = "a watch stream was requested by the client but the required storage feature \
                       RequestWatchProgress is disabled";
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500,
            "reason": "InternalError", "message": message});
        format!("{}\n", json!({"type": "ERROR", "object": status})).into_bytes()
    } else {
        let cause =
            json!({"reason": "FieldValueForbidden", "field": "sendInitialEvents", "message": "Forbidden"});
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "Invalid",
            "message": "ListOptions is invalid", "details": {"kind": "ListOptions", "causes": [cause]}})
        .to_string()
        .into_bytes()
    }
}
