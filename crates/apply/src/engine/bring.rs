//! One object: the requests that make it what its manifest says.

use std::time::Duration;

use bytes::Bytes;
use lockstep_api::names::label;
use lockstep_graph::Treatment;
use serde_json::{Value, json};

use super::plan::Item;
use crate::compare::{Next, PatchOperation, decide, repair};
use crate::kinds::Resource;
use crate::merge;
use crate::progress::Verb;
use crate::refusal::Refusal;
use crate::server::{Call, DryRun, Propagation, Removal, Server};

/// Most requests for one object before we give up until the next event: apply, adopt, apply, clean, apply.
const MOST_STEPS: usize = 8;
/// What a server answers that cannot apply this kind.
const METHOD_NOT_ALLOWED: u16 = 405;
const UNSUPPORTED_MEDIA_TYPE: u16 = 415;
/// First and longest pause between two looks whether a deleted object is gone.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LAST_LOOK: Duration = Duration::from_secs(10);

/// What became of an object.
#[derive(Debug)]
pub(crate) struct Brought {
    /// The object as it is now.
    pub(crate) live: Value,
    /// What was done; `None` when nothing had to be.
    pub(crate) verb: Option<Verb>,
    /// How many writes the server accepted that changed something.
    pub(crate) writes: usize,
    /// Paths that differ although they were applied: something in the server overrides them.
    pub(crate) overridden: Vec<String>,
    /// Paths that were taken away and came back by themselves: defaults of a kind that is not built in.
    pub(crate) returning: Vec<String>,
}

/// Why an object is not what it should be, and how many writes were made on the way.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) refusal: Refusal,
    pub(crate) writes: usize,
}

/// One object and the way to it.
pub(crate) struct Target<'a> {
    pub(crate) server: &'a Server,
    pub(crate) resource: &'a Resource,
    pub(crate) item: &'a Item,
    /// The version that the object had when it was last seen.
    pub(crate) known: Option<String>,
    /// Whether it may be deleted and created again when fields cannot be changed.
    pub(crate) may_recreate: bool,
}

// === impl Target ===

impl Target<'_> {
    /// Makes the object what its manifest says.
    pub(crate) async fn bring(&self) -> Result<Brought, Stopped> {
        let mut work = Work {
            target: self,
            writes: 0,
            version: self.known.clone(),
            is_created: false,
            is_recreated: false,
            returning: Vec::new(),
        };
        let outcome = match self.item.treatment {
            Treatment::CreateOnly => work.create_only().await,
            _ => work.apply().await,
        };
        if outcome.is_ok() && work.is_created {
            work.name_related_objects().await;
        }
        match outcome {
            Ok((live, overridden)) => {
                let (verb, returning) = (work.verb(), std::mem::take(&mut work.returning));
                Ok(Brought { verb, writes: work.writes, live, overridden, returning })
            }
            Err(refusal) => Err(Stopped { refusal, writes: work.writes }),
        }
    }

    /// Asks for the removal of the object; whoever asks waits for the event.
    pub(crate) async fn remove(&self, uid: Option<String>) -> Result<(), Refusal> {
        let removal = Removal { propagation: Some(Propagation::Background), uid, ..Removal::default() };
        let call = Call::delete(self.resource, self.namespace(), &self.item.id.name, &removal);
        match self.server.send(call).await {
            // Stale: somebody put another object in its place, and the event tells.
            Ok(_) | Err(Refusal::NotFound | Refusal::KindNotServed | Refusal::Stale) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    fn namespace(&self) -> Option<&str> {
        self.resource.namespaced.then_some(self.item.id.namespace.as_str())
    }
}

/// The requests for one object, so far.
struct Work<'a> {
    target: &'a Target<'a>,
    writes: usize,
    /// The version of the object after the last request.
    version: Option<String>,
    is_created: bool,
    is_recreated: bool,
    returning: Vec<String>,
}

// === impl Work ===

impl Work<'_> {
    /// Applies until the object is what it should be, or nothing changes any more.
    async fn apply(&mut self) -> Result<(Value, Vec<String>), Refusal> {
        let body = self.target.item.body.text();
        let manifest = self.target.item.body.object();
        let mut live = match self.send_apply(body.clone()).await {
            Ok(live) => live,
            Err(refusal) => {
                let is_put = matches!(
                    refusal,
                    Refusal::Other { code: METHOD_NOT_ALLOWED | UNSUPPORTED_MEDIA_TYPE, .. }
                );
                let live = self.mend(&manifest, &body, refusal).await?;
                if is_put {
                    // Nobody records there who owns what: there is nothing to compare.
                    return Ok((live, Vec::new()));
                }
                live
            }
        };
        let mut overridden = Vec::new();
        for _ in 0..MOST_STEPS {
            let cleared: Vec<PatchOperation> = merge::clear(&manifest, &live)
                .into_iter()
                .map(|field| PatchOperation::remove(field.pointer))
                .collect();
            match decide(&manifest, &live, &cleared) {
                Next::Equal => return Ok((live, Vec::new())),
                Next::Patch { operations, fields, .. } => {
                    let before = self.version.clone();
                    match self.patch(&operations).await {
                        // What was taken away is there again: a default of the server that nobody can take away.
                        Ok(_) if self.version == before => {
                            self.returning = fields;
                            break;
                        }
                        // Stale: it changed under our hands, look again.
                        Ok(_) | Err(Refusal::Stale) => live = self.send_apply(body.clone()).await?,
                        Err(refusal) => return Err(refusal),
                    }
                }
                Next::Apply { drift: fields } | Next::Suspect { fields } => {
                    // It has just been applied. Once more, and if that changes nothing the server wants it so.
                    let before = self.version.clone();
                    live = self.send_apply(body.clone()).await?;
                    if self.version == before {
                        overridden = fields;
                        break;
                    }
                }
            }
        }
        Ok((live, overridden))
    }

    /// A ClusterOperator that has just been created says which objects belong to it, so that they are found even when its
    /// operator never starts. Whether that works is not important: the operator will say it too.
    async fn name_related_objects(&mut self) {
        let Some(expected) = &self.target.item.expected else { return };
        let related = expected.object()["status"]["relatedObjects"].take();
        if related.as_array().is_none_or(Vec::is_empty) {
            return;
        }
        let body = Bytes::from(
            json!([PatchOperation::add("/status", json!({"relatedObjects": related}))]).to_string(),
        );
        let target = self.target;
        let call =
            Call::json_patch(target.resource, target.namespace(), &target.item.id.name, body, DryRun::No);
        if target.server.send(call.subresource("status")).await.is_ok() {
            self.writes += 1;
        }
    }

    /// An apply was refused: finds another way, where there is one.
    async fn mend(&mut self, manifest: &Value, body: &Bytes, refusal: Refusal) -> Result<Value, Refusal> {
        match &refusal {
            Refusal::Immutable { .. } if self.target.may_recreate => self.recreate(body).await,
            Refusal::Immutable { causes } | Refusal::Invalid { causes, .. } => {
                let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
                match self.repair(manifest, body, &fields).await {
                    Some(live) => Ok(live),
                    // The first refusal says what is wrong; that of the repair would only confuse.
                    None => Err(refusal),
                }
            }
            Refusal::Other { code: METHOD_NOT_ALLOWED | UNSUPPORTED_MEDIA_TYPE, .. } => {
                self.put(manifest, body).await
            }
            _ => Err(refusal),
        }
    }

    /// Takes away what somebody left in the way of an apply.
    async fn repair(&mut self, manifest: &Value, body: &Bytes, fields: &[&str]) -> Option<Value> {
        let live = self.read().await.ok()?;
        let operations = repair(manifest, &live, fields)?;
        self.patch(&operations).await.ok()?;
        self.send_apply(body.clone()).await.ok()
    }

    /// Deletes the object, waits until it is gone, and creates it again.
    async fn recreate(&mut self, body: &Bytes) -> Result<Value, Refusal> {
        self.target.remove(None).await?;
        self.writes += 1;
        let mut pause = FIRST_LOOK;
        loop {
            match self.read().await {
                Err(Refusal::NotFound) => break,
                Err(refusal) => return Err(refusal),
                Ok(_) if pause > LAST_LOOK => {
                    let message = format!("{} is deleted but does not go away", self.target.item.title);
                    return Err(Refusal::Busy { message, retry_after: None });
                }
                Ok(_) => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
        self.is_recreated = true;
        self.send_apply(body.clone()).await
    }

    /// For a server that knows no server-side apply of this kind: reads, merges and puts.
    async fn put(&mut self, manifest: &Value, body: &Bytes) -> Result<Value, Refusal> {
        let target = self.target;
        let live = match self.read().await {
            Ok(live) => live,
            Err(Refusal::NotFound) => {
                let call = Call::create(target.resource, target.namespace(), body.clone(), DryRun::No);
                let answer = target.server.send(call).await?;
                self.is_created = true;
                self.note(&answer.object);
                return Ok(answer.object);
            }
            Err(refusal) => return Err(refusal),
        };
        let Some(merged) = merge::merge(manifest, &live) else { return Ok(live) };
        let name = &target.item.id.name;
        let body = Bytes::from(merged.to_string());
        let answer = target
            .server
            .send(Call::replace(target.resource, target.namespace(), name, body, DryRun::No))
            .await?;
        self.note(&answer.object);
        Ok(answer.object)
    }

    async fn read(&self) -> Result<Value, Refusal> {
        let target = self.target;
        let call = Call::get(target.resource, target.namespace(), &target.item.id.name);
        target.server.send(call).await.map(|answer| answer.object)
    }

    /// Creates the object when it is not there; otherwise gives it our label and nothing else.
    async fn create_only(&mut self) -> Result<(Value, Vec<String>), Refusal> {
        let target = self.target;
        let body = target.item.body.text();
        let call = Call::create(target.resource, target.namespace(), body, DryRun::No);
        match target.server.send(call).await {
            Ok(answer) => {
                self.writes += 1;
                self.is_created = true;
                Ok((answer.object, Vec::new()))
            }
            Err(Refusal::AlreadyExists) => {
                let call = Call::get(target.resource, target.namespace(), &target.item.id.name);
                let live = match target.server.send(call).await {
                    Ok(answer) => answer.object,
                    // It went away in between: the next try creates it.
                    Err(Refusal::NotFound) => return Err(Refusal::Stale),
                    Err(refusal) => return Err(refusal),
                };
                let manifest = target.item.body.object();
                if live["metadata"]["labels"][label::PAYLOAD]
                    == manifest["metadata"]["labels"][label::PAYLOAD]
                {
                    return Ok((live, Vec::new()));
                }
                self.version = live["metadata"]["resourceVersion"].as_str().map(str::to_owned);
                let live = self.send_apply(label_only(&manifest, &live["metadata"]["uid"])).await?;
                Ok((live, Vec::new()))
            }
            Err(refusal) => Err(refusal),
        }
    }

    async fn send_apply(&mut self, body: Bytes) -> Result<Value, Refusal> {
        let target = self.target;
        let name = &target.item.id.name;
        let call = Call::apply(target.resource, target.namespace(), name, body, true, DryRun::No);
        let answer = target.server.send(call).await?;
        self.is_created |= answer.code == 201;
        self.note(&answer.object);
        Ok(answer.object)
    }

    async fn patch(&mut self, operations: &[PatchOperation]) -> Result<Value, Refusal> {
        let target = self.target;
        let body = Bytes::from(json!(operations).to_string());
        let call =
            Call::json_patch(target.resource, target.namespace(), &target.item.id.name, body, DryRun::No);
        let answer = target.server.send(call).await?;
        self.note(&answer.object);
        Ok(answer.object)
    }

    /// Counts a write when the version is another one than before.
    fn note(&mut self, live: &Value) {
        let version = live["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        // NB: of an object that nobody has seen, the first answer counts: it got at least our label.
        if version != self.version {
            self.writes += 1;
        }
        self.version = version;
    }

    fn verb(&self) -> Option<Verb> {
        match (self.is_created, self.writes) {
            _ if self.is_recreated => Some(Verb::Recreated),
            (true, _) => Some(Verb::Created),
            (false, 0) => None,
            (false, _) => Some(Verb::Changed),
        }
    }
}

/// The smallest object that gives another one our label. With its uid, so that nothing is created when it is gone.
pub(crate) fn label_only(manifest: &Value, uid: &Value) -> Bytes {
    let metadata = &manifest["metadata"];
    let mut small = json!({
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": {"name": metadata["name"], "uid": uid, "labels": {label::PAYLOAD: metadata["labels"][label::PAYLOAD]}},
    });
    if let Some(namespace) = metadata.get("namespace") {
        small["metadata"]["namespace"] = namespace.clone();
    }
    small.to_string().into()
}
