//! The few requests that a reporter makes.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use lockstep_api::ClusterOperator;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Where the objects are.
pub(crate) const CLUSTER_OPERATORS: &str = "/apis/config.openshift.io/v1/clusteroperators";
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a request brought nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Refused(Box<kube::Error>),
    #[error("no answer within 30 s")]
    TooLate,
    #[error("the request cannot be made")]
    Request(#[from] http::Error),
    #[error("the object cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}

impl CallError {
    /// The code of the server's answer; 0 when there was none.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::Refused(error) => match &**error {
                kube::Error::Api(status) => status.code,
                _ => 0,
            },
            _ => 0,
        }
    }
}

/// Sends a request and reads the object that is answered.
pub(crate) async fn call<T: DeserializeOwned>(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&ClusterOperator>,
) -> Result<T, CallError> {
    let request =
        Request::builder().method(method).uri(path).header(http::header::CONTENT_TYPE, "application/json");
    let body = body.map(serde_json::to_vec).transpose()?.unwrap_or_default();
    let answer = tokio::time::timeout(PATIENCE, client.request(request.body(body)?)).await;
    answer.map_err(|_| CallError::TooLate)?.map_err(|error| CallError::Refused(Box::new(error)))
}

/// A list and its version.
pub(crate) async fn list(client: &Client) -> Result<(Vec<ClusterOperator>, String), CallError> {
    let mut list: Value = call(client, Method::GET, CLUSTER_OPERATORS, None).await?;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    let items = list["items"].take().as_array_mut().map(std::mem::take).unwrap_or_default();
    let read = |mut item: Value| {
        // Items of a list do not say what they are.
        let fresh = ClusterOperator::new("");
        item["apiVersion"] = fresh.api_version.into();
        item["kind"] = fresh.kind.into();
        serde_json::from_value(item)
    };
    Ok((items.into_iter().map(read).collect::<Result<_, _>>()?, version))
}
