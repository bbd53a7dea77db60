//! The rim: carries commands of a run to the server and what happens back to the run.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{AbortHandle, FuturesUnordered, SelectAll, Stream as _, StreamExt as _, abortable};
use lockstep_api::names::label;
use lockstep_health as health;
use serde_json::Value;
use std::collections::BTreeMap;
use tokio::sync::watch;
use tokio::time::Instant;

use super::bring::Target;
use super::plan::Plan;
use super::run::{Command, Input, Run, Watching};
use super::{Ending, Options, Orphan};
use crate::kinds::{Kinds, Resource};
use crate::progress::Event;
use crate::record;
use crate::refusal::Refusal;
use crate::server::{Call, ListPage, Propagation, Removal, Server};
use crate::watch::{Backoff, Watched, watch as watch_kind};

/// Runs a plan to its end. Every event is given to `tell` as it happens; dropping the future stops everything.
///
/// # Errors
/// When the server cannot be asked what it serves, for a reason that time does not mend.
pub async fn run(
    server: &Server,
    plan: &Plan,
    options: &Options,
    mut tell: impl FnMut(Event),
) -> Result<Ending, Refusal> {
    let kinds = discover(server, options).await?;
    let mut run = Run::new(plan, options, kinds, Instant::now());
    let mut rim = Rim::new(server, plan, options);
    loop {
        for event in run.take_events() {
            tell(event);
        }
        if let Some(ending) = run.ending() {
            return Ok(ending.clone());
        }
        for command in run.take_commands() {
            rim.carry_out(command);
        }
        let input = rim.next(run.wake_at()).await;
        if let Input::Paused(_, pause) = &input {
            rim.listen(pause.clone());
        }
        run.on(input, Instant::now());
    }
}

/// Removes objects that the release does not name; gives what could not be removed, and why.
pub async fn prune(server: &Server, orphans: &[Orphan]) -> Vec<(String, Refusal)> {
    let mut refused = Vec::new();
    for orphan in orphans {
        let removal = Removal {
            propagation: Some(Propagation::Background),
            uid: orphan.uid.clone(),
            ..Removal::default()
        };
        let call = Call::delete(&orphan.resource, orphan.namespace.as_deref(), &orphan.name, &removal);
        match server.send(call).await {
            Ok(_) | Err(Refusal::NotFound | Refusal::KindNotServed) => {}
            Err(refusal) => refused.push((orphan.title.clone(), refusal)),
        }
    }
    refused
}

/// Asks what is served, for as long as the server may come back.
async fn discover(server: &Server, options: &Options) -> Result<Kinds, Refusal> {
    let mut backoff = Backoff::new(options.seed, "discovery");
    let deadline = options.timeout.map(|timeout| Instant::now() + timeout.min(Duration::from_mins(1)));
    let deadline = deadline.unwrap_or_else(|| Instant::now() + Duration::from_mins(1));
    loop {
        match Kinds::discover(server).await {
            Ok(kinds) => return Ok(kinds),
            Err(refusal) => {
                let pause = refusal.retry_after().unwrap_or_else(|| backoff.next());
                if !refusal.is_transient() || Instant::now() + pause > deadline {
                    return Err(refusal);
                }
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// Requests under way and watches.
struct Rim<'a> {
    server: &'a Server,
    plan: &'a Plan,
    options: &'a Options,
    requests: FuturesUnordered<BoxFuture<'a, Input>>,
    watches: SelectAll<futures::stream::BoxStream<'static, Input>>,
    open: BTreeMap<Watching, AbortHandle>,
}

// === impl Rim ===

impl<'a> Rim<'a> {
    fn new(server: &'a Server, plan: &'a Plan, options: &'a Options) -> Self {
        let (requests, watches) = (FuturesUnordered::new(), SelectAll::new());
        let rim = Self { server, plan, options, requests, watches, open: BTreeMap::new() };
        if let Some(pause) = options.pause.clone() {
            rim.listen(pause);
        }
        rim
    }

    /// Waits for the next word of who can pause the run; after the last one there is nothing to wait for.
    fn listen(&self, mut pause: watch::Receiver<bool>) {
        self.requests.push(Box::pin(async move {
            if pause.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let is_paused = *pause.borrow_and_update();
            Input::Paused(is_paused, pause)
        }));
    }

    fn carry_out(&mut self, command: Command) {
        let (server, plan, options) = (self.server, self.plan, self.options);
        match command {
            Command::Bring(task, resource, known) => {
                let item = &plan.items[task];
                let may_recreate = options.recreate.contains(&format!("{}/{}", item.id.kind, item.id.name));
                self.requests.push(Box::pin(async move {
                    let target = Target { server, resource: &resource, item, known, may_recreate };
                    Input::Brought(task, target.bring().await)
                }));
            }
            Command::Remove(task, resource, uid) => {
                let item = &plan.items[task];
                self.requests.push(Box::pin(async move {
                    let target =
                        Target { server, resource: &resource, item, known: None, may_recreate: false };
                    Input::Removed(task, target.remove(uid).await)
                }));
            }
            Command::Diagnose(task, resource) => {
                let item = &plan.items[task];
                self.requests.push(Box::pin(async move {
                    let why = diagnose(server, &resource, &item.id.namespace, &item.id.name).await;
                    Input::Diagnosed(task, why)
                }));
            }
            Command::Look(task, resource) => {
                let id = &plan.items[task].id;
                self.requests.push(Box::pin(async move {
                    let namespace = resource.namespaced.then_some(id.namespace.as_str());
                    let answer = server.send(Call::get(&resource, namespace, &id.name)).await;
                    Input::Looked(task, answer.map(|answer| answer.object))
                }));
            }
            Command::Discover => {
                self.requests.push(Box::pin(async move { Input::Discovered(Kinds::discover(server).await) }));
            }
            Command::Record => self.requests.push(Box::pin(async move {
                Input::Recorded(record::write(server, &plan.set, &plan.version, options.seed).await)
            })),
            Command::Watch(watching) => self.watch(watching),
            Command::Unwatch(watching) => {
                if let Some(handle) = self.open.remove(&watching) {
                    handle.abort();
                }
            }
        }
    }

    fn watch(&mut self, watching: Watching) {
        let selector = || Some(format!("{}={}", label::PAYLOAD, self.plan.set));
        let nothing = |resource: &Resource| Watched {
            resource: resource.clone(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            metadata_only: false,
        };
        let watched = match &watching {
            Watching::Ours(resource) => Watched { label_selector: selector(), ..nothing(resource) },
            Watching::All(resource) => nothing(resource),
            Watching::Names(resource) => Watched { metadata_only: true, ..nothing(resource) },
            Watching::One(task, resource) => {
                let id = &self.plan.items[*task].id;
                Watched {
                    namespace: resource.namespaced.then(|| id.namespace.clone()),
                    field_selector: Some(format!("metadata.name={}", id.name)),
                    metadata_only: true,
                    ..nothing(resource)
                }
            }
        };
        let (stream, handle) = abortable(watch_kind(self.server.clone(), watched, self.options.seed));
        self.open.insert(watching.clone(), handle);
        self.watches.push(stream.map(move |seen| Input::Seen(watching.clone(), seen)).boxed());
    }

    /// The next thing that happens. Always asked in the same order, so that a run can be repeated.
    async fn next(&mut self, wake_at: Option<Instant>) -> Input {
        let far = Instant::now() + Duration::from_hours(1);
        let mut sleep = pin!(tokio::time::sleep_until(wake_at.unwrap_or(far)));
        poll_fn(|context| {
            if let Poll::Ready(Some(input)) = self.requests.poll_next_unpin(context) {
                return Poll::Ready(input);
            }
            if let Poll::Ready(Some(input)) = std::pin::Pin::new(&mut self.watches).poll_next(context) {
                return Poll::Ready(input);
            }
            sleep.as_mut().poll(context).map(|()| Input::Tick)
        })
        .await
    }
}

/// Looks at the Pods and Events around a workload.
async fn diagnose(server: &Server, resource: &Resource, namespace: &str, name: &str) -> Option<health::Why> {
    let owner = server.send(Call::get(resource, Some(namespace), name)).await.ok()?.object;
    let list = async |kind: &str, plural: &str| {
        let resource = Resource::new("", "v1", kind, plural, true);
        let page = ListPage { limit: Some(500), ..ListPage::default() };
        let answer = server.send(Call::list(&resource, Some(namespace), &page)).await.ok();
        let items = answer.and_then(|mut answer| match answer.object["items"].take() {
            Value::Array(items) => Some(items),
            _ => None,
        });
        items.unwrap_or_default()
    };
    let (pods, events) = (list("Pod", "pods").await, list("Event", "events").await);
    health::workload(&owner, &pods, &events)
}
