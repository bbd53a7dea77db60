//! The objects of one resource in order, and views of them now and earlier.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::ring::{Change, Event, Forgotten, Ring, Window};

/// A resource by group and plural name; its versions share one table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TableName {
    /// The API group; empty for the core.
    pub group: Arc<str>,
    /// The plural name.
    pub plural: Arc<str>,
}

/// The objects and recent events of one resource.
#[derive(Debug)]
pub(super) struct Table {
    objects: BTreeMap<String, Arc<Value>>,
    ring: Ring,
    wake: watch::Sender<u64>,
    is_closed: bool,
}

/// A table at one moment.
pub(crate) struct Snapshot<'a> {
    table: Option<&'a Table>,
    /// What was different then: the object, or nothing when it was not there.
    then: BTreeMap<&'a str, Option<&'a Arc<Value>>>,
}

// === impl TableName ===

impl TableName {
    /// The table of a resource.
    pub(crate) fn new(group: &str, plural: &str) -> Self {
        Self { group: group.into(), plural: plural.into() }
    }
}

/// The place of an object in its table.
///
/// Lists come in the byte order of this text, as from etcd: `a-b/x` stands before `a/x`.
pub(crate) fn path_of(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

// === impl Table ===

impl Default for Table {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            ring: Ring::default(),
            wake: watch::Sender::new(0),
            is_closed: false,
        }
    }
}

impl Table {
    /// An empty table that knows nothing from before a version.
    pub(super) fn starting_at(revision: u64) -> Self {
        Self { ring: Ring::starting_at(revision), ..Self::default() }
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(super) fn reopen(&mut self) {
        self.is_closed = false;
    }

    /// Whether nothing is left that anybody could ask for.
    pub(super) fn is_over(&self, compacted: u64) -> bool {
        self.is_closed && self.objects.is_empty() && self.ring.last() <= compacted
    }

    pub(super) fn get(&self, path: &str) -> Option<&Arc<Value>> {
        self.objects.get(path)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) fn remembered(&self) -> usize {
        self.ring.len()
    }

    pub(super) fn put(
        &mut self,
        path: &str,
        object: Arc<Value>,
        revision: u64,
        window: Window,
    ) -> Option<Arc<Value>> {
        let previous = self.objects.insert(path.to_owned(), Arc::clone(&object));
        let change = if previous.is_some() { Change::Modified } else { Change::Added };
        self.ring.push(revision, change, path, object, previous.clone(), window);
        self.wake.send_replace(revision);
        previous
    }

    pub(super) fn remove(
        &mut self,
        path: &str,
        last: Arc<Value>,
        revision: u64,
        window: Window,
    ) -> Option<Arc<Value>> {
        let previous = self.objects.remove(path)?;
        self.ring.push(revision, Change::Deleted, path, last, Some(Arc::clone(&previous)), window);
        self.wake.send_replace(revision);
        Some(previous)
    }

    pub(super) fn events_after(&self, revision: u64, limit: usize) -> Result<Vec<Arc<Event>>, Forgotten> {
        Ok(self.ring.after(revision)?.take(limit).map(Arc::clone).collect())
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.wake.subscribe()
    }

    /// The objects of a namespace (empty: of all) after a path (empty: from the start).
    pub(super) fn range(
        &self,
        namespace: &str,
        after: &str,
    ) -> impl Iterator<Item = (&String, &Arc<Value>)> + use<'_> {
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let start = if after > prefix.as_str() {
            Bound::Excluded(after.to_owned())
        } else {
            Bound::Included(prefix.clone())
        };
        self.objects
            .range::<String, _>((start, Bound::Unbounded))
            .take_while(move |(path, _)| path.starts_with(&prefix))
    }
}

// === impl Snapshot ===

impl<'a> Snapshot<'a> {
    pub(super) fn now(table: Option<&'a Table>) -> Self {
        Self { table, then: BTreeMap::new() }
    }

    pub(super) fn at(table: Option<&'a Table>, revision: u64) -> Result<Self, Forgotten> {
        let mut then = BTreeMap::new();
        if let Some(table) = table {
            for event in table.ring.after(revision)? {
                // The oldest event after that version says what was there before it.
                then.entry(event.path.as_str()).or_insert(event.previous.as_ref());
            }
        }
        Ok(Self { table, then })
    }

    /// The objects of a namespace (empty: of all) after a path (empty: from the start), in order.
    pub(crate) fn range(&self, namespace: &str, after: &str) -> Vec<(&'a str, &'a Arc<Value>)> {
        let Some(table) = self.table else { return Vec::new() };
        let now = table.range(namespace, after).map(|(path, object)| (path.as_str(), object));
        if self.then.is_empty() {
            return now.collect();
        }
        let mut objects: BTreeMap<&str, &Arc<Value>> = now.collect();
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        for (&path, then) in &self.then {
            if path > after && path.starts_with(&prefix) {
                match then {
                    Some(object) => objects.insert(path, object),
                    None => objects.remove(path),
                };
            }
        }
        objects.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(paths: &[&str]) -> Table {
        let mut table = Table::default();
        for (revision, path) in (2..).zip(paths) {
            table.put(path, Arc::new(json!({"at": revision})), revision, Window::default());
        }
        table
    }

    fn paths(objects: &[(&str, &Arc<Value>)]) -> Vec<String> {
        objects.iter().map(|(path, object)| format!("{path}@{}", object["at"])).collect()
    }

    #[test]
    fn the_order_is_that_of_bytes_and_a_namespace_is_a_prefix() {
        let table = filled(&["a/x", "a-b/x", "b/y", "a/a"]);
        let all = Snapshot::now(Some(&table));
        assert_eq!(paths(&all.range("", "")), ["a-b/x@3", "a/a@5", "a/x@2", "b/y@4"]);
        assert_eq!(paths(&all.range("a", "")), ["a/a@5", "a/x@2"]);
        assert_eq!(paths(&all.range("a", "a/a")), ["a/x@2"]);
        assert_eq!(paths(&all.range("", "a/x")), ["b/y@4"]);
    }

    #[test]
    fn an_earlier_version_has_what_was_there_then() {
        let mut table = filled(&["a/x", "a/y"]);
        table.put("a/x", Arc::new(json!({"at": 4})), 4, Window::default());
        table.remove("a/y", Arc::new(json!({"at": 5})), 5, Window::default());
        table.put("a/z", Arc::new(json!({"at": 6})), 6, Window::default());
        let then = |revision| paths(&Snapshot::at(Some(&table), revision).unwrap().range("", ""));
        assert_eq!(then(3), ["a/x@2", "a/y@3"]);
        assert_eq!(then(4), ["a/x@4", "a/y@3"]);
        assert_eq!(then(5), ["a/x@4"]);
        assert_eq!(then(6), ["a/x@4", "a/z@6"]);
        assert_eq!(paths(&Snapshot::at(Some(&table), 3).unwrap().range("a", "a/x")), ["a/y@3"]);
    }
}
