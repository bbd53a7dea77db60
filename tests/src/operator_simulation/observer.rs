//! Between the replicas and the lab: sees every request, knows who holds the Lease, and kills after a write.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, Response};
use lockstep_lab::Lab;
use serde_json::Value;
use tokio::sync::Notify;
use tower::ServiceExt as _;

use crate::operator::LEASE;
use crate::simulation::Tally;
use crate::simulation::place::Address;

/// Looks at everything that goes between replicas and the lab; copies are the same.
#[derive(Clone)]
pub(crate) struct Observer(Arc<Inner>);

struct Inner {
    lab: Arc<Lab>,
    world: kube::Client,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: Vec<String>,
    broken: BTreeSet<String>,
    tally: Tally,
    /// Writes of all replicas so far, and those after which the sender dies.
    writes: u64,
    killing_writes: BTreeSet<u64>,
    /// By identity: told when it must die.
    doomed: BTreeMap<String, Arc<Notify>>,
    /// Who was last seen to hold the Lease.
    holder: String,
    /// From when on nothing may be asked any more.
    quiet_from: Option<Duration>,
}

/// What a request is about, as far as laws tell requests apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// The Lease, or an Event: whoever it is may write them.
    Anybody,
    /// Everything else: one writer.
    Holder,
}

// === impl Observer ===

impl Observer {
    pub(crate) fn new(lab: Arc<Lab>, killing_writes: &[u64]) -> Self {
        let state = State { killing_writes: killing_writes.iter().copied().collect(), ..State::default() };
        let world = lab.world_client();
        Self(Arc::new(Inner { lab, world, state: Mutex::new(state) }))
    }

    /// A client for the process with this identity.
    pub(crate) fn client(&self, identity: &str) -> kube::Client {
        let (observer, router, identity) = (self.clone(), self.0.lab.router(), identity.to_owned());
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (observer, router, identity) = (observer.clone(), router.clone(), identity.clone());
            async move { Ok::<_, Infallible>(observer.pass(router, &identity, request).await) }
        });
        kube::Client::new(service, "default")
    }

    /// Waits until a process must die because of what it wrote.
    pub(crate) async fn doom(&self, identity: &str) {
        let doom = self.doom_of(identity);
        doom.notified().await;
    }

    /// A law was broken.
    pub(crate) fn breaks(&self, sentence: String) {
        self.say(&format!("BROKEN {sentence}"));
        self.state().broken.insert(sentence);
    }

    pub(crate) fn count(&self, what: impl Into<String>) {
        self.state().tally.count(what);
    }

    /// From now on nothing happens: nobody may ask for anything.
    pub(crate) fn quiet(&self) {
        self.state().quiet_from = Some(self.0.lab.clock().elapsed());
    }

    /// A line about what happens.
    pub(crate) fn say(&self, line: &str) {
        let at = self.0.lab.clock().elapsed().as_secs_f64();
        self.state().lines.push(format!("{at:>9.3} {line}"));
    }

    /// All that was seen: lines, broken laws, counts.
    pub(crate) fn end(&self) -> (Vec<String>, Vec<String>, Tally) {
        let state = std::mem::take(&mut *self.state());
        (state.lines, state.broken.into_iter().collect(), state.tally)
    }

    fn doom_of(&self, identity: &str) -> Arc<Notify> {
        Arc::clone(self.state().doomed.entry(identity.to_owned()).or_default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass(
        &self,
        router: Router,
        identity: &str,
        request: Request<kube::client::Body>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap_or_default();
        let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let is_write = method != Method::GET && !query.contains("dryRun");
        let address = Address::parse(&path);
        let about = about(&method, address.as_ref(), &body);
        let is_watch = query.contains("watch=1") || query.contains("watch=true");
        self.say(&format!(
            "{identity} {method} {path}{}{}",
            if is_watch { " watch" } else { "" },
            told(&path, &body)
        ));
        self.is_quiet(identity, &method, &path, is_watch);
        let is_judged = is_write && about == About::Holder;
        if is_judged {
            self.judge(identity, "sent", &method, &path).await;
        }
        let forward = Request::from_parts(parts, Body::from(body));
        let response = answer(router, forward).await;
        if !response.status().is_success() {
            self.say(&format!("{identity} {method} {path} -> {}", response.status().as_u16()));
            return response;
        }
        if is_judged {
            self.judge(identity, "committed", &method, &path).await;
            self.kill_if_due(identity).await;
        }
        response
    }

    /// Only who holds the Lease writes.
    async fn judge(&self, identity: &str, what: &str, method: &Method, path: &str) {
        let holder = self.holder().await;
        if holder != identity {
            self.breaks(format!("{identity} {what} {method} {path} while the lease was held by {holder:?}"));
        }
        let mut state = self.state();
        if state.holder != holder {
            if !state.holder.is_empty() {
                state.tally.count("lease taken over");
            }
            state.holder = holder;
        }
    }

    /// Who holds the Lease, by the last write that the server took.
    async fn holder(&self) -> String {
        let Ok(request) = Request::get(LEASE).body(Vec::new()) else { return String::new() };
        let lease: Value = self.0.world.request(request).await.unwrap_or_default();
        lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }

    /// Dies without an answer, when it is time.
    async fn kill_if_due(&self, identity: &str) {
        let is_due = {
            let mut state = self.state();
            state.writes += 1;
            let writes = state.writes;
            state.killing_writes.remove(&writes)
        };
        if is_due {
            self.count("replica killed after a write");
            self.doom_of(identity).notify_one();
            std::future::pending::<()>().await;
        }
    }

    fn is_quiet(&self, identity: &str, method: &Method, path: &str, is_watch: bool) {
        let is_over = self.state().quiet_from.is_some();
        if is_over && !is_watch && path != LEASE {
            self.breaks(format!("in the end {identity} still asked: {method} {path}"));
        }
    }
}

/// Who may send a write.
fn about(method: &Method, address: Option<&Address>, body: &Bytes) -> About {
    let Some(address) = address else { return About::Holder };
    match address.resource.as_str() {
        "leases.coordination.k8s.io" | "events" => About::Anybody,
        // On a new cluster even the place of the Lease is missing.
        "namespaces" if method == Method::POST && is_operators_namespace(body) => About::Anybody,
        _ => About::Holder,
    }
}

fn is_operators_namespace(body: &Bytes) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["metadata"]["name"] == "openshift-cluster-version"
}

/// What an event says, for whoever reads the lines.
fn told(path: &str, body: &Bytes) -> String {
    if !path.ends_with("/events") {
        return String::new();
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let part = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    format!(" {}: {}", part("reason"), part("message"))
}

async fn answer(router: Router, request: Request<Body>) -> Response<Body> {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
