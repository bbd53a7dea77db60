//! Between the engine and the lab: sees every request and every answer, and carries troubles that the lab has not.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode};
use lockstep_apply::progress::Event;
use lockstep_lab::{FAULT_HEADER, Lab};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::ServiceExt as _;

use super::laws::{Laws, Write};
use super::place::{Address, Key, key};
use super::story::{Trouble, TroubleSort};

/// Looks at everything that goes between the engine and the lab; copies are the same.
#[derive(Clone)]
pub(crate) struct Observer(Arc<Inner>);

struct Inner {
    lab: Arc<Lab>,
    world: kube::Client,
    state: Mutex<State>,
    /// Told when the run must be stopped at once.
    stop: Notify,
}

#[derive(Default)]
struct State {
    laws: Laws,
    /// With times of the lab.
    troubles: Vec<Trouble>,
    /// After how many accepted writes the engine is killed.
    crash_after: Option<usize>,
    requests: u64,
}

/// A run that sends more is stopped: it would never end in virtual time.
const MOST_REQUESTS: u64 = 60_000;
/// The largest answer.
const MOST_BYTES: usize = 64 << 20;

// === impl Observer ===

impl Observer {
    pub(crate) fn new(lab: Arc<Lab>) -> Self {
        let world = lab.world_client();
        Self(Arc::new(Inner { lab, world, state: Mutex::default(), stop: Notify::new() }))
    }

    /// A client for the engine.
    pub(crate) fn client(&self) -> kube::Client {
        let (observer, router) = (self.clone(), self.0.lab.router());
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (observer, router) = (observer.clone(), router.clone());
            async move { Ok::<_, Infallible>(observer.pass(router, request).await) }
        });
        kube::Client::new(service, "default")
    }

    /// A run begins.
    pub(crate) fn begin(&self, laws: Laws, crash_after: Option<usize>) {
        let mut state = self.state();
        state.laws = laws;
        state.crash_after = crash_after;
        state.requests = 0;
    }

    /// A run ended; gives what was seen of it.
    pub(crate) fn end(&self) -> Laws {
        std::mem::take(&mut self.state().laws)
    }

    pub(crate) fn set_troubles(&self, troubles: Vec<Trouble>) {
        self.state().troubles = troubles;
    }

    /// Waits until the run must be stopped: killed on purpose, or out of hand.
    pub(crate) async fn stopped(&self) {
        self.0.stop.notified().await;
    }

    pub(crate) fn on_event(&self, event: &Event) {
        let lab = &self.0.lab;
        self.state().laws.said(event, self.now(), |key| is_there(&lab.journal(), key));
    }

    /// Seconds since the lab began.
    fn now(&self) -> f64 {
        self.0.lab.clock().elapsed().as_secs_f64()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass(&self, router: Router, request: Request<kube::client::Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap_or_default();
        let address = Address::parse(parts.uri.path());
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let is_write = parts.method != Method::GET && !query.contains("dryRun");
        let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
        self.count();
        let forward = Request::from_parts(parts, Body::from(body.clone()));
        let Some(address) = address else { return answer(router, forward).await };
        if !is_write {
            if !address.name.is_empty() {
                self.state().laws.read();
            }
            return self
                .watch(
                    &address,
                    query.contains("watch=1") || query.contains("watch=true"),
                    answer(router, forward).await,
                )
                .await;
        }
        let (key, path) = object_of(&address, &path, &body);
        let write = Write { key: &key, method: &method, body: &body };
        self.state().laws.sends(&write);
        if let Some(trouble) = self.trouble(&address) {
            return trouble;
        }
        let before = self.version(&path).await;
        let response = answer(router, forward).await;
        if !response.status().is_success() || response.headers().contains_key(FAULT_HEADER) {
            return response;
        }
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, MOST_BYTES).await.unwrap_or_default();
        let live: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        self.accepted(&write, before.as_deref(), &live);
        Response::from_parts(parts, Body::from(bytes))
    }

    fn count(&self) {
        let mut state = self.state();
        state.requests += 1;
        if state.requests == MOST_REQUESTS {
            state.laws.broken.push(format!("more than {MOST_REQUESTS} requests in one run"));
            self.0.stop.notify_one();
        }
    }

    fn accepted(&self, write: &Write<'_>, before: Option<&str>, live: &Value) {
        let mut state = self.state();
        state.laws.accepted(write, before, live);
        state.laws.shown(write.key, live, self.now());
        if state.crash_after == Some(state.laws.accepted) {
            state.laws.tally.count("crash after a write");
            self.0.stop.notify_one();
        }
    }

    /// The version that an object has; without faults and unseen by the engine.
    async fn version(&self, path: &str) -> Option<String> {
        let request = Request::get(path).body(Vec::new()).ok()?;
        let live: Value = self.0.world.request(request).await.ok()?;
        live["metadata"]["resourceVersion"].as_str().map(str::to_owned)
    }

    /// Reads along in an answer to a list or a watch.
    async fn watch(&self, address: &Address, is_watch: bool, response: Response<Body>) -> Response<Body> {
        let (observer, resource) = (self.clone(), address.resource.clone());
        if response.status() == StatusCode::NOT_FOUND && response.headers().contains_key(FAULT_HEADER) {
            self.state().laws.denies(&resource);
        }
        let (parts, body) = response.into_parts();
        if is_watch {
            let mut rest = Vec::new();
            let stream = body.into_data_stream().inspect(move |chunk| {
                if let Ok(chunk) = chunk {
                    observer.lines(&resource, &mut rest, chunk);
                }
            });
            return Response::from_parts(parts, Body::from_stream(stream));
        }
        let bytes = to_bytes(body, MOST_BYTES).await.unwrap_or_default();
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match value["items"].as_array() {
            Some(items) => items.iter().for_each(|item| self.shown(&resource, item)),
            None => self.shown(&resource, &value),
        }
        Response::from_parts(parts, Body::from(bytes))
    }

    /// Takes in whole lines of a watch; `rest` is what is left of the last one.
    fn lines(&self, resource: &str, rest: &mut Vec<u8>, chunk: &Bytes) {
        rest.extend_from_slice(chunk);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
            if event["type"] == "ADDED" || event["type"] == "MODIFIED" {
                self.shown(resource, &event["object"]);
            }
        }
    }

    fn shown(&self, resource: &str, live: &Value) {
        let text = |field: &str| live["metadata"][field].as_str().unwrap_or_default();
        self.state().laws.shown(&key(resource, text("namespace"), text("name")), live, self.now());
    }

    /// The answer of something behind the server that is down.
    fn trouble(&self, address: &Address) -> Option<Response<Body>> {
        let now = self.0.lab.clock().elapsed();
        let mut state = self.state();
        let is_met = |trouble: &&Trouble| {
            trouble.resource == address.resource && trouble.from <= now && now < trouble.until
        };
        let sort = state.troubles.iter().find(is_met)?.sort;
        let (code, name, body) = match sort {
            TroubleSort::Webhook => (500, "fault webhook down", webhook_down()),
            TroubleSort::AggregatedApi => {
                (503, "fault aggregated API down", "service unavailable\n".to_owned())
            }
        };
        state.laws.tally.count(name);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
        Some(response)
    }
}

async fn answer(router: Router, request: Request<Body>) -> Response<Body> {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The object that a write is about, and its address.
fn object_of(address: &Address, path: &str, body: &Bytes) -> (Key, String) {
    if !address.name.is_empty() {
        return (key(&address.resource, &address.namespace, &address.name), path.to_owned());
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    (key(&address.resource, &address.namespace, name), format!("{path}/{name}"))
}

/// Whether an object is in the store, by the journal of all writes.
fn is_there(journal: &str, key: &Key) -> bool {
    let needle = format!(" {key} ");
    let last = journal.lines().rev().find(|line| line.contains(&needle));
    last.is_some_and(|line| line.split(' ').nth(1) != Some("DELETED"))
}

fn webhook_down() -> String {
    let message = "Internal error occurred: failed calling webhook \"sim.example.com\": failed to call webhook: Post \
                   \"https://sim.default.svc:443/\": no endpoints available for service \"sim\"";
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": "InternalError", "code": 500})
    .to_string()
}
