//! Objects in order, their versions, and the recent events.
//!
//! One counter numbers every write, as etcd does. Each resource has a table: its objects in the byte order of
//! `namespace/name` and a ring of its last events, bounded in number and in weight. From the ring come watches, lists at an
//! earlier version and the pages of one consistent list; what it has forgotten is answered with `410 Gone`.

mod ring;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

pub(crate) use ring::{Change, Event, Forgotten, Window};
pub(crate) use table::{Snapshot, TableName, path_of};

use table::Table;

/// The address of one stored object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Its resource.
    pub table: TableName,
    /// Its place in the table: `namespace/name`, or the name alone when it has no namespace.
    pub path: String,
}

/// All objects of the lab.
#[derive(Debug)]
pub(crate) struct Store {
    revision: u64,
    window: Window,
    /// Lists of versions before this one are forgotten, however few events there were.
    compacted: u64,
    tables: BTreeMap<TableName, Table>,
    by_uid: BTreeMap<String, Key>,
    dependents: BTreeMap<String, BTreeSet<Key>>,
}

// === impl Key ===

impl Key {
    /// The address of an object; an empty namespace stands for none.
    pub(crate) fn new(table: &TableName, namespace: &str, name: &str) -> Self {
        Self { table: table.clone(), path: path_of(namespace, name) }
    }

    /// Its namespace; empty for an object without.
    pub(crate) fn namespace(&self) -> &str {
        self.path.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.path.split_once('/').map_or(&self.path, |(_, name)| name)
    }
}

// === impl Store ===

impl Store {
    /// An empty store that remembers this much of the past.
    pub(crate) fn new(window: Window) -> Self {
        Self {
            // NB: clients take 0 for "any version", so the first write must not get it.
            revision: 1,
            window,
            compacted: 0,
            tables: BTreeMap::new(),
            by_uid: BTreeMap::new(),
            dependents: BTreeMap::new(),
        }
    }

    /// The number of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The object at an address.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.tables.get(&key.table)?.get(&key.path)
    }

    /// The address of the object with this uid.
    pub(crate) fn with_uid(&self, uid: &str) -> Option<&Key> {
        self.by_uid.get(uid)
    }

    /// The objects that name this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// All tables that hold something, in order.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableName> {
        self.tables.iter().filter(|(_, table)| !table.is_empty()).map(|(name, _)| name)
    }

    /// The objects of a table, or of one namespace in it, in order.
    pub(crate) fn objects(&self, table: &TableName, namespace: &str) -> Vec<(String, Arc<Value>)> {
        let Some(table) = self.tables.get(table) else { return Vec::new() };
        table.range(namespace, "").map(|(path, object)| (path.clone(), Arc::clone(object))).collect()
    }

    /// How many objects and remembered events there are, for measurements.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.tables
            .values()
            .fold((0, 0), |(objects, events), table| (objects + table.len(), events + table.remembered()))
    }

    /// Stores an object under a new version; `resourceVersion` in it is set here.
    pub(crate) fn put(&mut self, key: &Key, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let object = Arc::new(object);
        let window = self.window;
        let table = self.tables.entry(key.table.clone()).or_default();
        let previous = table.put(&key.path, Arc::clone(&object), self.revision, window);
        if let Some(previous) = &previous {
            self.forget_relations(key, previous);
        }
        self.note_relations(key, &object);
        object
    }

    /// Removes an object; the answer is its last state with the version of the removal.
    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let table = self.tables.get_mut(&key.table)?;
        let previous = table.get(&key.path)?;
        let mut last = Value::clone(previous);
        self.revision += 1;
        last["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let last = Arc::new(last);
        let previous = table.remove(&key.path, Arc::clone(&last), self.revision, self.window)?;
        self.forget_relations(key, &previous);
        Some(last)
    }

    /// A table as it is now.
    pub(crate) fn now(&self, table: &TableName) -> Snapshot<'_> {
        Snapshot::now(self.tables.get(table))
    }

    /// A table as it was at an earlier version.
    pub(crate) fn at(&self, table: &TableName, revision: u64) -> Result<Snapshot<'_>, Forgotten> {
        if revision < self.compacted {
            return Err(Forgotten { oldest: self.compacted });
        }
        Snapshot::at(self.tables.get(table), revision)
    }

    /// Forgets how lists looked before a version; watches still know their events.
    pub(crate) fn compact(&mut self, revision: u64) {
        self.compacted = self.compacted.max(revision);
        let compacted = self.compacted;
        self.tables.retain(|_, table| !table.is_over(compacted));
    }

    /// Marks a table whose resource is gone; it vanishes when nobody can ask for its events any more.
    pub(crate) fn close(&mut self, table: &TableName) {
        if let Some(table) = self.tables.get_mut(table) {
            table.close();
        }
    }

    /// Makes a table whose history begins now; nothing happens when it is there.
    pub(crate) fn open(&mut self, table: &TableName) {
        let revision = self.revision;
        self.tables.entry(table.clone()).or_insert_with(|| Table::starting_at(revision)).reopen();
    }

    /// The events of a table after a version, oldest first, at most `limit` of them.
    pub(crate) fn events_after(
        &self,
        table: &TableName,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Event>>, Forgotten> {
        self.tables.get(table).map_or(Ok(Vec::new()), |table| table.events_after(revision, limit))
    }

    /// A receiver that wakes at every event of a table.
    pub(crate) fn subscribe(&mut self, table: &TableName) -> watch::Receiver<u64> {
        self.tables.entry(table.clone()).or_default().subscribe()
    }

    fn note_relations(&mut self, key: &Key, object: &Value) {
        if let Some(uid) = object["metadata"]["uid"].as_str() {
            self.by_uid.insert(uid.to_owned(), key.clone());
        }
        for owner in owner_uids(object) {
            self.dependents.entry(owner.to_owned()).or_default().insert(key.clone());
        }
    }

    fn forget_relations(&mut self, key: &Key, object: &Value) {
        if let Some(uid) = object["metadata"]["uid"].as_str() {
            self.by_uid.remove(uid);
        }
        for owner in owner_uids(object) {
            if let Some(keys) = self.dependents.get_mut(owner) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }
}

fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table() -> TableName {
        TableName::new("", "configmaps")
    }

    fn object(name: &str, uid: &str, owner: &str) -> Value {
        json!({"metadata": {"name": name, "uid": uid, "ownerReferences": [{"uid": owner}]}})
    }

    #[test]
    fn every_write_gets_a_higher_version_and_the_object_carries_it() {
        let mut store = Store::new(Window::default());
        let key = Key::new(&table(), "a", "x");
        let first = store.put(&key, object("x", "1", "0"));
        let second = store.put(&key, object("x", "1", "0"));
        assert_eq!(first["metadata"]["resourceVersion"], "2");
        assert_eq!(second["metadata"]["resourceVersion"], "3");
        assert_eq!(store.remove(&key).unwrap()["metadata"]["resourceVersion"], "4");
        assert_eq!(store.get(&key), None);
        assert_eq!(store.remove(&key), None);
    }

    #[test]
    fn dependents_follow_the_owner_references() {
        let mut store = Store::new(Window::default());
        let key = Key::new(&table(), "a", "x");
        store.put(&key, object("x", "1", "owner"));
        assert_eq!(store.dependents("owner").count(), 1);
        store.put(&key, object("x", "1", "other"));
        assert_eq!(store.dependents("owner").count(), 0);
        assert_eq!(store.with_uid("1"), Some(&key));
        store.remove(&key);
        assert_eq!(store.dependents("other").count(), 0);
        assert_eq!(store.with_uid("1"), None);
    }

    #[test]
    fn the_parts_of_an_address_come_back() {
        let key = Key::new(&table(), "ns", "name");
        assert_eq!((key.namespace(), key.name()), ("ns", "name"));
        let key = Key::new(&table(), "", "name");
        assert_eq!((key.namespace(), key.name()), ("", "name"));
    }
}
