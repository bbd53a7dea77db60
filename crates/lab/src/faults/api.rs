//! `/lab/v1/faults`: rules over HTTP.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::routing::{delete, get};
use http::{HeaderValue, Response, StatusCode, header};
use serde::Deserialize as _;
use serde_json::{Value, json};

use lockstep_payload::yaml;

use super::{Faults, Rule, RuleError};
use crate::status::{GroupName, Status};

/// The largest rule in bytes; a real one has some hundred.
const MAX_BODY: usize = 64 * 1024;
const FAULTS: GroupName<'_> = GroupName { group: "lab.lockstep.dev", name: "faults" };

/// The routes.
pub(super) fn router(faults: Faults) -> Router {
    Router::new()
        .route("/lab/v1/faults", get(list).post(create).delete(clear))
        .route("/lab/v1/faults/{name}", delete(remove))
        .with_state(faults)
}

async fn list(State(faults): State<Faults>) -> Response<Body> {
    answer(200, &json!({"apiVersion": "lockstep.dev/v1", "kind": "FaultList", "items": faults.list()}))
}

async fn create(State(faults): State<Faults>, request: Request) -> Response<Body> {
    let added = match to_bytes(request.into_body(), MAX_BODY).await {
        Ok(bytes) => add(&faults, &bytes),
        Err(_) => Err(Status::too_large(MAX_BODY)),
    };
    match added {
        Ok(rule) => answer(201, &rule),
        Err(status) => answer(status.code, &status.to_value()),
    }
}

async fn remove(State(faults): State<Faults>, Path(name): Path<String>) -> Response<Body> {
    if let Some(rule) = faults.remove(&name) {
        return answer(200, &json!(rule));
    }
    let status = Status::not_found(FAULTS, &name);
    answer(status.code, &status.to_value())
}

async fn clear(State(faults): State<Faults>) -> Response<Body> {
    faults.clear();
    list(State(faults)).await
}

/// Reads a rule, as YAML or JSON, and adds it.
fn add(faults: &Faults, bytes: &[u8]) -> Result<Value, Status> {
    let documents =
        yaml::documents(bytes).map_err(|error| Status::bad_request(format!("reading the rule: {error}")))?;
    let [document] = documents.as_slice() else {
        return Err(Status::bad_request(format!(
            "one rule is needed, and there are {} documents",
            documents.len()
        )));
    };
    let rule = Rule::deserialize(&document.value)
        .map_err(|error| Status::bad_request(format!("reading the rule: {error}")))?;
    let (name, told) = (rule.name.clone(), json!(rule));
    match faults.add(rule) {
        Ok(_) => Ok(told),
        Err(RuleError::Exists(_)) => Err(Status::already_exists(FAULTS, &name)),
        Err(error) => Err(Status::bad_request(format!("the rule {name:?}: {error}"))),
    }
}

fn answer(code: u16, value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{value:#}\n")));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
