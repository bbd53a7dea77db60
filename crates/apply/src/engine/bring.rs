//! One object: the requests that make it what its manifest says.

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
    /// Whether it may be deleted and created again when fields cannot be changed.
    pub(crate) may_recreate: bool,
}

// === impl Target ===

impl Target<'_> {
    /// Makes the object what its manifest says.
    pub(crate) async fn bring(&self) -> Result<Brought, Stopped> {
        let mut work = Work { target: self, writes: 0, version: None, is_created: false };
        let outcome = match self.item.treatment {
            Treatment::CreateOnly => work.create_only().await,
            _ => work.apply().await,
        };
        match outcome {
            Ok((live, overridden)) => {
                Ok(Brought { verb: work.verb(), writes: work.writes, live, overridden })
            }
            Err(refusal) => Err(Stopped { refusal, writes: work.writes }),
        }
    }

    /// Asks for the removal of the object; whoever asks waits for the event.
    pub(crate) async fn remove(&self, uid: Option<String>) -> Result<(), Refusal> {
        let removal = Removal { propagation: Some(Propagation::Background), uid, ..Removal::default() };
        let call = Call::delete(self.resource, self.namespace(), &self.item.id.name, &removal);
        match self.server.send(call).await {
            Ok(_) | Err(Refusal::NotFound | Refusal::KindNotServed) => Ok(()),
            // Somebody put another object in its place: the event tells.
            Err(Refusal::Stale) => Ok(()),
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
}

// === impl Work ===

impl Work<'_> {
    /// Applies until the object is what it should be, or nothing changes any more.
    async fn apply(&mut self) -> Result<(Value, Vec<String>), Refusal> {
        let body = self.target.item.body.text();
        let manifest = self.target.item.body.object();
        let mut live = match self.send_apply(body.clone()).await {
            Ok(live) => live,
            Err(refusal) => self.mend(&manifest, &body, refusal).await?,
        };
        let mut overridden = Vec::new();
        for _ in 0..MOST_STEPS {
            let cleared: Vec<PatchOperation> = merge::clear(&manifest, &live)
                .into_iter()
                .map(|field| PatchOperation::remove(field.pointer))
                .collect();
            match decide(&manifest, &live, &cleared) {
                Next::Equal => return Ok((live, Vec::new())),
                Next::Patch { operations, .. } => match self.patch(&operations).await {
                    Ok(_) => live = self.send_apply(body.clone()).await?,
                    // It changed under our hands: look again.
                    Err(Refusal::Stale) => live = self.send_apply(body.clone()).await?,
                    Err(refusal) => return Err(refusal),
                },
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

    /// An apply was refused: repairs what somebody left in its way, where that can be.
    async fn mend(&mut self, manifest: &Value, body: &Bytes, refusal: Refusal) -> Result<Value, Refusal> {
        let fields: Vec<String> = match &refusal {
            Refusal::Invalid { causes, .. } => causes.iter().map(|cause| cause.field.clone()).collect(),
            Refusal::Immutable { causes } if !self.target.may_recreate => {
                causes.iter().map(|cause| cause.field.clone()).collect()
            }
            Refusal::Immutable { .. } => {
                self.target.remove(None).await?;
                // What deletes in the background leaves the name free at once, unless there are finalizers.
                return self.send_apply(body.clone()).await;
            }
            _ => return Err(refusal),
        };
        let item = self.target.item;
        let call = Call::get(self.target.resource, self.target.namespace(), &item.id.name);
        let Ok(answer) = self.target.server.send(call).await else { return Err(refusal) };
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let Some(operations) = repair(manifest, &answer.object, &fields) else { return Err(refusal) };
        match self.patch(&operations).await {
            Ok(_) => self.send_apply(body.clone()).await,
            // The first refusal says what is wrong; that of the repair would only confuse.
            Err(_) => Err(refusal),
        }
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
                let live = self.send_apply(label_only(&target.item.body.object())).await?;
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
        // NB: of the first answer nobody knows whether it changed something; the caller applies only what differs.
        if version != self.version {
            self.writes += 1;
        }
        self.version = version;
    }

    fn verb(&self) -> Option<Verb> {
        match (self.is_created, self.writes) {
            (true, _) => Some(Verb::Created),
            (false, 0) => None,
            (false, _) => Some(Verb::Changed),
        }
    }
}

/// The smallest object that gives another one our label.
fn label_only(manifest: &Value) -> Bytes {
    let metadata = &manifest["metadata"];
    let mut small = json!({
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": {"name": metadata["name"], "labels": {label::PAYLOAD: metadata["labels"][label::PAYLOAD]}},
    });
    if let Some(namespace) = metadata.get("namespace") {
        small["metadata"]["namespace"] = namespace.clone();
    }
    small.to_string().into()
}
