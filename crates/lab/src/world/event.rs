//! Events as controllers, scheduler and kubelet write them; repeated ones are counted.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::Rng;

use super::api::{Actor, Patch, Place, Resource};
use super::cache::{text, uid};
use super::shared::{Shared, lock};

/// What an Event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) is_warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// Who says it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) actor: &'a Actor,
    pub(crate) component: &'a str,
    /// The machine, for agents of machines.
    pub(crate) host: &'a str,
}

/// Remembers which Events exist, to count instead of repeating.
#[derive(Debug)]
pub(crate) struct Recorder {
    known: Mutex<BTreeMap<Topic, (String, u64)>>,
    rng: Mutex<Rng>,
}

/// What repeated Events have in common: the uid of the object, the reason and the message.
type Topic = (String, String, String);

/// More are forgotten, the first by name first; then a repeated one is a new Event, as after an hour in a real cluster.
const MEMORY: usize = 4096;

static EVENTS: Resource = Resource::known("", "events", "Event");

// === impl Note ===

impl Note {
    pub(crate) fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { is_warning: false, reason, message: message.into() }
    }

    pub(crate) fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self { is_warning: true, reason, message: message.into() }
    }
}

// === impl Recorder ===

impl Recorder {
    pub(crate) fn new(rng: &Rng) -> Self {
        Self { known: Mutex::default(), rng: Mutex::new(rng.fork("events")) }
    }

    /// The name of the Event, and how often it was seen with this time.
    fn count(&self, object: &Value, note: &Note) -> (String, u64) {
        let key = (uid(object).to_owned(), note.reason.to_owned(), note.message.clone());
        let mut known = lock(&self.known);
        if known.len() >= MEMORY && !known.contains_key(&key) {
            known.pop_first();
        }
        let entry = known.entry(key).or_insert_with(|| {
            let name = format!("{}.{:016x}", text(&object["metadata"]["name"]), lock(&self.rng).next_u64());
            (name, 0)
        });
        entry.1 += 1;
        entry.clone()
    }
}

/// Writes an Event about an object; nobody waits for it and nothing depends on it, so a refusal is ignored.
pub(crate) async fn record(
    world: &Shared,
    source: Source<'_>,
    resource: &Resource,
    object: &Value,
    note: &Note,
) {
    let (name, count) = world.events.count(object, note);
    let namespace = match text(&object["metadata"]["namespace"]) {
        "" => "default",
        namespace => namespace,
    };
    let stamp = world.clock.stamp();
    if count > 1 {
        let body = json!({"count": count, "lastTimestamp": stamp});
        let place = Place::object(&EVENTS, namespace, &name);
        drop(world.api.patch(source.actor, place, Patch::Merge, &body).await);
        return;
    }
    let event = build(resource, object, note, source, &json!({"name": name, "namespace": namespace}), &stamp);
    drop(world.api.create(source.actor, Place::collection(&EVENTS, namespace), &event).await);
}

fn build(
    resource: &Resource,
    object: &Value,
    note: &Note,
    source: Source<'_>,
    metadata: &Value,
    stamp: &str,
) -> Value {
    let mut from = json!({"component": source.component});
    if !source.host.is_empty() {
        from["host"] = source.host.into();
    }
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": {
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "namespace": object["metadata"]["namespace"],
            "name": object["metadata"]["name"],
            "uid": uid(object),
            "resourceVersion": object["metadata"]["resourceVersion"],
        },
        "reason": note.reason,
        "message": note.message,
        "source": from,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
        "type": if note.is_warning { "Warning" } else { "Normal" },
        "reportingComponent": source.component,
        "reportingInstance": source.host,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_event_is_counted_and_another_has_its_own_name() {
        let recorder = Recorder::new(&Rng::new(1));
        let pod = json!({"metadata": {"name": "p", "uid": "u"}});
        let (name, count) = recorder.count(&pod, &Note::warning("BackOff", "x"));
        assert!(name.starts_with("p.") && name.len() == 18 && count == 1);
        assert_eq!(recorder.count(&pod, &Note::warning("BackOff", "x")), (name.clone(), 2));
        assert_ne!(recorder.count(&pod, &Note::warning("BackOff", "y")).0, name);
    }
}
