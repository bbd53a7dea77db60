//! The state of the server, and the few ways to change it.

use std::sync::Arc;

use serde_json::Value;

use super::housekeeping::Work;
use super::journal::Journal;
use super::registry::Registry;
use crate::builtin::strategy::{ServiceNetwork, User};
use crate::rng::Rng;
use crate::status::Status;
use crate::store::{Key, Store, TableName, Window};

/// Everything that requests read and change; one at a time.
pub(crate) struct Core {
    /// All objects.
    pub store: Store,
    /// What is served.
    pub registry: Registry,
    /// Addresses and ports of Services.
    pub services: ServiceNetwork,
    /// What the controllers of the server have to look at.
    pub work: Work,
    /// Every write since the start, when somebody wants to read them.
    pub journal: Option<Journal>,
    /// Where uids come from.
    pub uids: Rng,
    /// Where generated names come from.
    pub names: Rng,
    /// Where the lives of watches come from.
    pub jitter: Rng,
}

/// One request, besides its address and its body.
pub(crate) struct Call<'a> {
    /// The time as objects carry it.
    pub now: String,
    /// Who asks.
    pub user: &'a User,
    /// Sentences for `Warning` headers.
    pub warnings: Vec<String>,
}

// === impl Core ===

impl Core {
    /// An empty server.
    pub(crate) fn new(seed: &Rng, window: Window, journal: Option<Journal>) -> Self {
        Self {
            store: Store::new(window),
            registry: Registry::builtin(),
            services: ServiceNetwork::default(),
            work: Work::default(),
            journal,
            uids: seed.fork("uids"),
            names: seed.fork("names"),
            jitter: seed.fork("watches"),
        }
    }

    /// Stores an object and notes what follows from it.
    pub(crate) fn put(&mut self, key: &Key, mut object: Value) -> Arc<Value> {
        if let Some(resource) = self.registry.of_table(&key.table) {
            resource.renew(&mut object);
        }
        let previous = self.store.get(key).cloned();
        let object = self.store.put(key, object);
        if let Some(journal) = &mut self.journal {
            journal.note(if previous.is_some() { "MODIFIED" } else { "ADDED" }, key, &object);
        }
        self.work.after_put(&self.store, key, previous.as_deref(), &object);
        object
    }

    /// Removes an object and notes what follows from it.
    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let last = self.store.remove(key)?;
        if let Some(journal) = &mut self.journal {
            journal.note("DELETED", key, &last);
        }
        if (&*key.table.group, &*key.table.plural) == ("", "services") {
            self.services.release(&last);
        }
        self.work.after_remove(&self.store, key, &last);
        Some(last)
    }

    /// Refuses a new object in a namespace that is not there, or on its way out.
    pub(crate) fn check_namespace(
        &self,
        resource: crate::status::GroupName<'_>,
        namespace: &str,
        name: &str,
    ) -> Result<(), Status> {
        if namespace.is_empty() {
            return Ok(());
        }
        let namespaces = crate::status::GroupName { group: "", name: "namespaces" };
        let Some(found) = self.store.get(&Key::new(&namespaces_table(), "", namespace)) else {
            return Err(Status::not_found(namespaces, namespace));
        };
        if found["metadata"].get("deletionTimestamp").is_none() {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut status = Status::forbidden(resource, name, &why);
        if let Some(details) = &mut status.details {
            details.insert(
                "causes".into(),
                serde_json::json!([{
                    "reason": "NamespaceTerminating",
                    "message": format!("namespace {namespace} is being terminated"),
                    "field": "metadata.namespace",
                }]),
            );
        }
        Err(status)
    }
}

/// The table of namespaces.
pub(crate) fn namespaces_table() -> TableName {
    TableName::new("", "namespaces")
}

/// The table of CRDs.
pub(crate) fn definitions_table() -> TableName {
    TableName::new("apiextensions.k8s.io", "customresourcedefinitions")
}
