//! What applying a release would change, asked of the server without changing anything.

use futures::stream::{self, StreamExt as _};
use lockstep_api::names::label;
use lockstep_graph::{TaskId, Treatment};
use lockstep_payload::changes::{FieldChange, changes, text};
use serde::Serialize;
use serde_json::Value;

use crate::compare::patch::in_safe_order;
use crate::compare::{Next, PatchOperation, PatchVerb, decide, foreign};
use crate::engine::{Item, Plan, label_only};
use crate::kinds::{Kinds, Resource};
use crate::merge;
use crate::progress::ObjectText;
use crate::refusal::Refusal;
use crate::server::{Call, DryRun, Server};

/// How many objects are looked at side by side.
const SIDE_BY_SIDE: usize = 16;

/// What would become of one object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The object, for people.
    pub object: ObjectText,
    /// The file of the manifest.
    pub file: String,
    /// What would become of it.
    #[serde(flatten)]
    pub change: Change,
}

/// What would become of an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "change")]
pub enum Change {
    /// It is not there and would be created.
    New {
        /// What the server could not be asked yet, and why.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Fields would change.
    Changed {
        /// Which ones; values of Secrets are masked.
        fields: Vec<FieldChange>,
        /// What the server could not be asked yet, and why.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Nothing would change.
    Same,
    /// It is there and would be deleted.
    Deleted,
    /// The server does not tell, or would refuse it.
    Unknown {
        /// Why.
        why: String,
    },
}

/// Looks at every object of a plan, in the order of the release.
///
/// # Errors
/// When the server cannot be asked what it serves.
pub async fn preview(server: &Server, plan: &Plan) -> Result<Vec<Preview>, Refusal> {
    let kinds = Kinds::discover(server).await?;
    let kinds = &kinds;
    let tasks = (0..plan.items.len()).filter(|task| !plan.items[*task].is_superseded);
    let looks = tasks.map(|task| async move {
        let item = &plan.items[task];
        let change = Look { server, plan, kinds, item }.change().await;
        Preview { object: item.title.clone(), file: file(plan, task), change }
    });
    // In order, whoever is answered first: two looks at one cluster print the same.
    Ok(stream::iter(looks).buffered(SIDE_BY_SIDE).collect().await)
}

fn file(plan: &Plan, task: TaskId) -> String {
    plan.graph.tasks[task].file.to_string()
}

/// One object and whom to ask about it.
struct Look<'a> {
    server: &'a Server,
    plan: &'a Plan,
    kinds: &'a Kinds,
    item: &'a Item,
}

// === impl Look ===

impl Look<'_> {
    async fn change(&self) -> Change {
        let item = self.item;
        if let Some(flaw) = &item.flaw {
            return Change::Unknown { why: flaw.clone() };
        }
        let Some(resource) = self.kinds.find(&item.api_version, &item.id.kind) else {
            return self.without_kind();
        };
        let live = match self.server.send(Call::get(resource, self.namespace(resource), &item.id.name)).await
        {
            Ok(answer) => Some(answer.object),
            Err(Refusal::NotFound | Refusal::NamespaceMissing { .. }) => None,
            Err(refusal) => return self.refused(&refusal),
        };
        match (item.treatment, live) {
            (Treatment::Delete, Some(_)) => Change::Deleted,
            (Treatment::Delete, None) => Change::Same,
            (_, None) => self.as_new(resource).await,
            (Treatment::CreateOnly, Some(live)) => {
                self.apply(resource, &live, &label_only(&item.body.object(), &live["metadata"]["uid"]), None)
                    .await
            }
            (_, Some(live)) => {
                let manifest = item.body.object();
                if decide(&manifest, &live, &cleared(&manifest, &live)) == Next::Equal {
                    return Change::Same;
                }
                self.apply(resource, &live, &item.body.text(), Some(&manifest)).await
            }
        }
    }

    fn without_kind(&self) -> Change {
        match self.definition() {
            _ if self.item.treatment == Treatment::Delete => Change::Same,
            Some(file) => Change::New {
                note: Some(format!("its kind comes with {file}; the server cannot check it yet")),
            },
            None => self.refused(&Refusal::KindNotServed),
        }
    }

    async fn as_new(&self, resource: &Resource) -> Change {
        let body = self.item.body.text();
        let call = Call::create(resource, self.namespace(resource), body, DryRun::Server);
        match self.server.send(call).await {
            Ok(_) | Err(Refusal::AlreadyExists) => Change::New { note: None },
            Err(Refusal::NamespaceMissing { name }) => match self.plan.namespaces.get(&name) {
                Some(task) => {
                    let file = file(self.plan, *task);
                    let note = format!("its namespace comes with {file}; the server cannot check it yet");
                    Change::New { note: Some(note) }
                }
                None => Change::New {
                    note: Some(format!(
                        "nothing in the release brings its namespace {name}; an operator may create it"
                    )),
                },
            },
            Err(refusal) => match self.of_next_definition(&refusal) {
                Some(note) => Change::New { note: Some(note) },
                None => self.refused(&refusal),
            },
        }
    }

    /// The file that brings the kind of the object, if the release does.
    fn definition(&self) -> Option<String> {
        let id = &self.item.id;
        let task = self.plan.definitions.get(&(id.group.clone(), id.kind.clone()))?;
        Some(file(self.plan, *task))
    }

    /// A note, where the object does not fit the definition that is there and the release brings another one.
    fn of_next_definition(&self, refusal: &Refusal) -> Option<String> {
        let is_misfit = matches!(
            refusal,
            Refusal::Undeclared { .. } | Refusal::Required { .. } | Refusal::Invalid { .. }
        );
        let file = self.definition().filter(|_| is_misfit)?;
        Some(format!(
            "it does not fit its kind as it is, only as {file} brings it; the server cannot check it yet"
        ))
    }

    /// Asks what an apply would make of the object, and takes away what would be removed after it.
    async fn apply(
        &self,
        resource: &Resource,
        live: &Value,
        body: &bytes::Bytes,
        manifest: Option<&Value>,
    ) -> Change {
        let (namespace, name) = (self.namespace(resource), &self.item.id.name);
        let call = Call::apply(resource, namespace, name, body.clone(), true, DryRun::Server);
        let mut after = match self.server.send(call).await {
            Ok(answer) => answer.object,
            Err(refusal) => {
                let (Some(note), Some(manifest)) = (self.of_next_definition(&refusal), manifest) else {
                    return self.refused(&refusal);
                };
                let mut after = live.clone();
                overlay(&mut after, manifest);
                return Change::Changed { fields: changes(Some(live), &after), note: Some(note) };
            }
        };
        if let Some(manifest) = manifest {
            let mut operations = foreign(manifest, &after);
            operations.extend(cleared(manifest, &after));
            for operation in in_safe_order(operations) {
                carry_out(&mut after, &operation);
            }
        }
        let fields = changes(Some(live), &after);
        if fields.is_empty() { Change::Same } else { Change::Changed { fields, note: None } }
    }

    fn refused(&self, refusal: &Refusal) -> Change {
        Change::Unknown { why: refusal.explain(&self.item.title) }
    }

    fn namespace(&self, resource: &Resource) -> Option<&str> {
        resource.namespaced.then_some(self.item.id.namespace.as_str())
    }
}

fn cleared(manifest: &Value, live: &Value) -> Vec<PatchOperation> {
    merge::clear(manifest, live).into_iter().map(|field| PatchOperation::remove(field.pointer)).collect()
}

/// Lays the fields of a manifest over an object: all that can be said without a server that knows the kind.
fn overlay(object: &mut Value, manifest: &Value) {
    match (object, manifest) {
        (Value::Object(object), Value::Object(manifest)) => {
            for (name, value) in manifest {
                overlay(object.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (object, manifest) => object.clone_from(manifest),
    }
}

/// Carries out an operation that the server would be sent after the apply; it cannot try two writes in a row.
fn carry_out(object: &mut Value, operation: &PatchOperation) {
    let Some((parent, last)) = operation.path.rsplit_once('/') else { return };
    let last = last.replace("~1", "/").replace("~0", "~");
    match (object.pointer_mut(parent), operation.op, &operation.value) {
        (Some(Value::Object(map)), PatchVerb::Remove, _) => drop(map.remove(&last)),
        (Some(Value::Object(map)), _, Some(value)) => drop(map.insert(last, value.clone())),
        (Some(Value::Array(items)), verb, value) => {
            let Some(place) = last.parse().ok().filter(|place: &usize| *place < items.len()) else { return };
            match (verb, value) {
                (PatchVerb::Remove, _) => drop(items.remove(place)),
                (PatchVerb::Replace, Some(value)) => items[place] = value.clone(),
                (PatchVerb::Add, Some(value)) => items.insert(place, value.clone()),
                (_, None) => {}
            }
        }
        _ => {}
    }
}

// === impl Preview ===

impl Preview {
    /// Whether something would change.
    pub fn is_difference(&self) -> bool {
        matches!(self.change, Change::New { .. } | Change::Changed { .. } | Change::Deleted)
    }

    /// The same, were the label of the set there already: what is left are changes that somebody can notice.
    #[must_use]
    pub fn without_label(mut self) -> Self {
        if let Change::Changed { fields, .. } = &mut self.change {
            fields.retain(|field| !field.path.contains(label::PAYLOAD));
            if fields.is_empty() {
                self.change = Change::Same;
            }
        }
        self
    }

    /// Whether nobody knows.
    pub fn is_unknown(&self) -> bool {
        matches!(self.change, Change::Unknown { .. })
    }

    /// The lines for people, each ended: `+` is new, `~` changes, `-` goes, `?` is not known; nothing when it stays.
    pub fn text(&self) -> String {
        let Self { object, file, change } = self;
        match change {
            Change::Same => String::new(),
            Change::New { note: None } => format!("+ {object} ({file})\n"),
            Change::New { note: Some(note) } => format!("+ {object} ({file}): {note}\n"),
            Change::Deleted => format!("- {object} ({file})\n"),
            Change::Unknown { why } if why.starts_with(object.as_str()) => format!("? {why} ({file})\n"),
            Change::Unknown { why } => format!("? {object} ({file}): {why}\n"),
            Change::Changed { fields, note } => {
                let note = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
                let lines = text(fields);
                let indented = lines.lines().map(|line| format!("    {line}\n"));
                std::iter::once(format!("~ {object} ({file}){note}\n")).chain(indented).collect()
            }
        }
    }
}

/// How many objects would be new, changed, deleted, unknown and the same, as a line.
pub fn count(previews: &[Preview]) -> String {
    let number = |is: fn(&Change) -> bool| previews.iter().filter(|preview| is(&preview.change)).count();
    let mut parts = vec![
        format!("{} new", number(|change| matches!(change, Change::New { .. }))),
        format!("{} changed", number(|change| matches!(change, Change::Changed { .. }))),
        format!("{} deleted", number(|change| matches!(change, Change::Deleted))),
        format!("{} the same", number(|change| matches!(change, Change::Same))),
    ];
    let unknown = number(|change| matches!(change, Change::Unknown { .. }));
    if unknown > 0 {
        parts.push(format!("{unknown} unknown"));
    }
    parts.join(", ")
}

#[cfg(test)]
#[path = "preview_tests.rs"]
mod tests;
