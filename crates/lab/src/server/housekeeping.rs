//! The controllers that a cluster always has: garbage collection, the end of namespaces, and CRDs coming into force.
//!
//! They run beside the requests, a moment after the write that concerns them, so that clients see the same order of events
//! as on a real cluster: a CRD is stored first and established a little later.

mod definitions;
mod flow_schemas;
mod garbage;
mod namespaces;

use std::collections::BTreeSet;

use serde_json::Value;

use super::core::{Core, definitions_table, namespaces_table};
use crate::store::{Key, Store};

/// What has to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Work {
    keys: BTreeSet<Key>,
}

// === impl Work ===

impl Work {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Notes what follows from a write.
    pub(crate) fn after_put(&mut self, store: &Store, key: &Key, previous: Option<&Value>, object: &Value) {
        for owner in owners(previous.unwrap_or(&Value::Null)) {
            // It may have waited for a reference that is gone now.
            if let Some(owner) = store.with_uid(owner).cloned() {
                self.note_if_deleted(store, owner);
            }
        }
        let metadata = &object["metadata"];
        let is_deleted = metadata.get("deletionTimestamp").is_some();
        let concerns = key.table == definitions_table()
            || key.table.group.as_ref() == flow_schemas::GROUP
            || is_deleted
            || metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
        if concerns {
            self.keys.insert(key.clone());
        }
    }

    /// Notes what follows from a removal.
    pub(crate) fn after_remove(&mut self, store: &Store, key: &Key, last: &Value) {
        let metadata = &last["metadata"];
        if let Some(uid) = metadata["uid"].as_str() {
            self.keys.extend(store.dependents(uid).cloned());
        }
        // Its owners may have waited for it.
        self.keys.extend(owners(last).filter_map(|uid| store.with_uid(uid)).cloned());
        if !key.namespace().is_empty() {
            self.note_if_deleted(store, Key::new(&namespaces_table(), "", key.namespace()));
        }
        let definition = format!("{}.{}", key.table.plural, key.table.group);
        self.note_if_deleted(store, Key::new(&definitions_table(), "", &definition));
        if key.table == definitions_table() {
            self.keys.insert(key.clone());
        }
    }

    /// Nothing more has to be looked at there.
    pub(super) fn forget(&mut self, key: &Key) {
        self.keys.remove(key);
    }

    /// Notes that an object has to be looked at.
    pub(super) fn note(&mut self, key: Key) {
        self.keys.insert(key);
    }

    fn note_if_deleted(&mut self, store: &Store, key: Key) {
        if store.get(&key).is_some_and(|object| object["metadata"].get("deletionTimestamp").is_some()) {
            self.keys.insert(key);
        }
    }
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str())
}

/// Does what has to be done now; what follows from that waits for the next round.
///
/// CRDs come into force in the server itself; the rest is the work of a controller manager, which may be missing.
pub(crate) fn round(core: &mut Core, now: &str, has_controllers: bool) {
    let keys = std::mem::take(&mut core.work.keys);
    // Definitions last: while a kind is served it is known what became of its objects.
    let (definitions, others): (Vec<Key>, Vec<Key>) =
        keys.into_iter().partition(|key| key.table == definitions_table());
    for key in others.into_iter().chain(definitions) {
        if key.table == definitions_table() {
            definitions::settle(core, &key, now);
        }
        if key.table.group.as_ref() == flow_schemas::GROUP {
            flow_schemas::settle(core, &key, now);
        }
        if !has_controllers {
            continue;
        }
        if key.table == namespaces_table() {
            namespaces::settle(core, &key, now);
        }
        garbage::settle(core, &key, now);
    }
}
