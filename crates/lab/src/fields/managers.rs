//! The entries of `metadata.managedFields`: who has written which fields, how and when.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::compare::{Comparison, is_equal};
use super::set::FieldSet;
use super::types::TypeRef;
use crate::builtin::decode::is_registered;

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manager<'a> {
    /// The name of the field manager; the server calls a nameless one `unknown`.
    pub(crate) name: &'a str,
    /// The version of the object in the request, such as `apps/v1`.
    pub(crate) api_version: &'a str,
    /// The subresource of the request; empty for the object itself.
    pub(crate) subresource: &'a str,
}

/// All entries of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Managers {
    pub(super) entries: BTreeMap<Id, Entry>,
}

/// What tells two entries apart. The order is that of the server's messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) manager: String,
    pub(super) operation: Operation,
    /// Empty for an applier: it is the same one in every version.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

/// How a manager has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// What one manager owns.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) set: FieldSet,
    pub(super) api_version: String,
    pub(super) time: Option<String>,
}

/// More entries of updates than this are merged, the oldest first.
const MAX_UPDATERS: usize = 10;
/// The manager that has what was merged.
const ANCIENT: &str = "ancient-changes";

/// What nobody owns, because the server writes it.
static NEVER_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let mut set = FieldSet::of_names(&[&["apiVersion"], &["kind"], &["metadata"]]);
    for name in metadata {
        set.add(&FieldSet::of_names(&[&["metadata", name]]));
    }
    set
});

/// Takes fields that nobody owns out of a set.
pub(super) fn strip(set: &mut FieldSet) {
    set.subtract(&NEVER_OWNED);
}

/// Gives the entries of a new object their old times back when nothing else is new, so that equal objects are equal.
///
/// To be called last, when defaults and normal forms are in place: only then can one say that nothing has changed.
pub(crate) fn keep_times(live: &Value, new: &mut Value) {
    let (Some(old), Some(entries)) = (entries_of(live), entries_of(new)) else { return };
    let is_same = old.len() == entries.len()
        && old != entries
        && old.iter().zip(entries).all(|(old, new)| is_equal_without(old, new, &["time"]))
        && is_equal_without(live, new, &["metadata", "managedFields"]);
    if is_same {
        let old = Value::Array(old.clone());
        set_entries(new, Some(old));
    }
}

/// Whether two objects are equal, whatever is at this path.
fn is_equal_without(one: &Value, other: &Value, path: &[&str]) -> bool {
    let (Some(one), Some(other), [first, rest @ ..]) = (one.as_object(), other.as_object(), path) else {
        return true;
    };
    let at_path = |map: &Map<String, Value>| map.get(*first).cloned().unwrap_or_default();
    let mut others = other.iter().filter(|(name, _)| name != first);
    one.iter()
        .filter(|(name, _)| name != first)
        .all(|(name, value)| others.next().is_some_and(|other| name == other.0 && is_equal(value, other.1)))
        && others.next().is_none()
        && (rest.is_empty() || is_equal_without(&at_path(one), &at_path(other), rest))
}

/// The list of entries of an object.
pub(super) fn entries_of(object: &Value) -> Option<&Vec<Value>> {
    object.get("metadata")?.get("managedFields")?.as_array()
}

/// Writes the list of entries of an object, or takes it out.
pub(super) fn set_entries(object: &mut Value, entries: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    if entries.is_some() && !object.get("metadata").is_some_and(Value::is_object) {
        object.insert("metadata".into(), json!({}));
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        match entries {
            Some(entries) => metadata.insert("managedFields".into(), entries),
            None => metadata.remove("managedFields"),
        };
    }
}

// === impl Managers ===

impl Managers {
    /// Drops the entries of versions that the server does not know: what they own cannot be compared with anything.
    pub(super) fn drop_unknown(&mut self, ty: TypeRef<'_>, object: &Value) {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("kind");
        // What is not even known itself, such as a part of an object, has versions that nobody lists.
        if ty.is_builtin() && is_registered(text("apiVersion"), kind) {
            self.entries.retain(|_, entry| is_registered(&entry.api_version, kind));
        }
    }

    /// Reads the entries of an object.
    ///
    /// # Errors
    /// When an entry is malformed; the server then forgets all of them, or takes those of the stored object.
    pub(super) fn decode(entries: &[Value]) -> Result<Self, String> {
        let mut managers = Self::default();
        for (place, entry) in entries.iter().enumerate() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err("operation must be `Apply` or `Update`".into()),
            };
            if text("apiVersion").is_empty() {
                return Err("apiVersion must not be empty".into());
            }
            match text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {place}")),
                other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {place}")),
            }
            let id = Id::new(text("manager"), operation, text("apiVersion"), text("subresource"));
            let set = entry.get("fieldsV1").map_or_else(|| Ok(FieldSet::default()), FieldSet::decode)?;
            let time = entry.get("time").and_then(Value::as_str).map(in_utc);
            managers.entries.insert(id, Entry { set, api_version: text("apiVersion").into(), time });
        }
        Ok(managers)
    }

    /// The entries as the server lists them: appliers first, older ones before newer ones; nothing when there are none.
    pub(super) fn encode(&self) -> Option<Value> {
        if self.entries.is_empty() {
            return None;
        }
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(id, entry)| {
            (id.operation, &entry.time, &id.manager, &entry.api_version, &id.subresource)
        });
        Some(entries.into_iter().map(|(id, entry)| entry.encode(id)).collect())
    }

    /// Writes the entries into an object.
    pub(super) fn write(&self, object: &mut Value) {
        set_entries(object, self.encode());
    }

    /// Takes what has changed away from all managers but one; who has nothing left is gone.
    ///
    /// # Errors
    /// Who owns what has changed, unless it is taken by force.
    pub(super) fn settle(
        &mut self,
        comparison: &Comparison,
        except: Option<&Id>,
        force: bool,
    ) -> Result<(), Vec<(Id, FieldSet)>> {
        let mut changed = comparison.modified.clone();
        changed.add(&comparison.added);
        if !force {
            let others = self.entries.iter().filter(|(id, _)| Some(*id) != except);
            let conflicts = others.map(|(id, entry)| (id.clone(), entry.set.intersection(&changed)));
            let conflicts: Vec<_> = conflicts.filter(|(_, set)| !set.is_empty()).collect();
            if !conflicts.is_empty() {
                return Err(conflicts);
            }
        }
        for (_, entry) in self.entries.iter_mut().filter(|(id, _)| Some(*id) != except) {
            entry.set.subtract(&changed);
            entry.set.subtract(&comparison.removed);
        }
        self.entries.retain(|_, entry| !entry.set.is_empty());
        Ok(())
    }

    /// Merges the oldest entries of updates, by version, until there are few enough.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<Id> =
            self.entries.keys().filter(|id| id.operation == Operation::Update).cloned().collect();
        let mut left = updaters.len();
        if left <= MAX_UPDATERS {
            return;
        }
        updaters.sort_by_cached_key(|id| (self.entries[id].time.clone(), id.clone()));
        let mut first_of_version: BTreeMap<String, Id> = BTreeMap::new();
        for id in updaters {
            if left <= MAX_UPDATERS {
                break;
            }
            let version = self.entries[&id].api_version.clone();
            let Some(first) = first_of_version.get(&version) else {
                first_of_version.insert(version, id);
                continue;
            };
            let bucket = Id::new(ANCIENT, Operation::Update, &version, "");
            if !self.entries.contains_key(&bucket)
                && let Some(entry) = self.entries.remove(first)
            {
                self.entries.insert(bucket.clone(), entry);
            }
            if let Some(entry) = self.entries.remove(&id)
                && let Some(ancient) = self.entries.get_mut(&bucket)
            {
                ancient.set.add(&entry.set);
                // The newer of the two: the entries come oldest first.
                ancient.time = entry.time;
                left -= 1;
            }
        }
    }
}

// === impl Id ===

impl Id {
    pub(super) fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        let (manager, api_version, subresource) = (manager.into(), api_version.into(), subresource.into());
        Self { manager, operation, api_version, subresource }
    }

    /// The entry that a request writes.
    pub(super) fn of(manager: &Manager<'_>, operation: Operation) -> Self {
        let name = if manager.name.is_empty() { "unknown" } else { manager.name };
        Self::new(name, operation, manager.api_version, manager.subresource)
    }
}

// === impl Entry ===

impl Entry {
    fn encode(&self, id: &Id) -> Value {
        let operation = if id.operation == Operation::Apply { "Apply" } else { "Update" };
        let mut entry = Map::new();
        for (name, value) in [
            ("manager", id.manager.as_str()),
            ("operation", operation),
            ("apiVersion", &self.api_version),
            ("time", self.time.as_deref().unwrap_or_default()),
            ("subresource", &id.subresource),
            ("fieldsType", "FieldsV1"),
        ] {
            if !value.is_empty() {
                entry.insert(name.into(), value.into());
            }
        }
        entry.insert("fieldsV1".into(), self.set.encode());
        Value::Object(entry)
    }
}

/// A time in the one form in which the server writes times, so that they compare as text.
fn in_utc(time: &str) -> String {
    const FORM: usize = "2006-01-02T15:04:05Z".len();
    if time.len() == FORM && time.ends_with('Z') {
        return time.to_owned();
    }
    match time.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, time: &str) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {format!("f:{manager}"): {}}}})
    }

    fn names(managers: &Managers) -> Vec<String> {
        let entries = managers.encode().unwrap();
        entries.as_array().unwrap().iter().map(|it| it["manager"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn appliers_come_first_then_older_entries_then_names() {
        let (early, late) = ("2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z");
        let entries = [
            entry("c", "Update", early),
            entry("b", "Apply", late),
            entry("a", "Apply", late),
            entry("z", "Apply", early),
        ];
        assert_eq!(names(&Managers::decode(&entries).unwrap()), ["z", "a", "b", "c"]);
    }

    #[test]
    fn an_entry_is_written_as_it_was_read() {
        let mut with_all = entry("a", "Update", "2024-01-01T00:00:00Z");
        with_all["subresource"] = "status".into();
        let entries = [with_all];
        assert_eq!(Managers::decode(&entries).unwrap().encode(), Some(json!(entries)));
        let in_zone = [entry("a", "Apply", "2024-01-01T02:00:00+02:00")];
        assert_eq!(Managers::decode(&in_zone).unwrap().encode().unwrap()[0]["time"], "2024-01-01T00:00:00Z");
    }

    #[test]
    fn malformed_entries_are_refused() {
        let good = entry("a", "Apply", "2024-01-01T00:00:00Z");
        for (name, value) in
            [("operation", "Patch"), ("apiVersion", ""), ("fieldsType", ""), ("fieldsType", "V2")]
        {
            let mut bad = good.clone();
            bad[name] = value.into();
            assert!(Managers::decode(&[bad]).is_err(), "{name}={value}");
        }
        assert!(Managers::decode(&[good]).is_ok());
    }

    #[test]
    fn more_than_ten_updaters_merge_the_oldest_and_no_applier_is_merged() {
        let mut entries: Vec<_> = (0..12)
            .map(|it| entry(&format!("m{it:02}"), "Update", &format!("2024-01-01T00:00:{it:02}Z")))
            .collect();
        entries.push(entry("old", "Apply", "2023-01-01T00:00:00Z"));
        let mut managers = Managers::decode(&entries).unwrap();
        managers.cap();
        let names = names(&managers);
        assert_eq!(names.len(), 11);
        assert_eq!(names[..3], ["old", "ancient-changes", "m03"]);
        let ancient = &managers.encode().unwrap()[1];
        assert_eq!(ancient["fieldsV1"], json!({"f:data": {"f:m00": {}, "f:m01": {}, "f:m02": {}}}));
        assert_eq!(ancient["time"], "2024-01-01T00:00:02Z");
    }

    #[test]
    fn times_stay_only_when_nothing_else_is_new() {
        let object = |time: &str, data: &str| json!({"metadata": {"name": "a", "managedFields": [entry("a", "Apply", time)]}, "data": {"a": data}});
        let (early, late) = ("2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z");
        let mut same = object(late, "1");
        keep_times(&object(early, "1"), &mut same);
        assert_eq!(same, object(early, "1"));
        let mut other = object(late, "2");
        keep_times(&object(early, "1"), &mut other);
        assert_eq!(other, object(late, "2"));
        let mut more = object(late, "1");
        more["metadata"]["labels"] = json!({"a": "b"});
        let expected = more.clone();
        keep_times(&object(early, "1"), &mut more);
        assert_eq!(more, expected);
    }
}
