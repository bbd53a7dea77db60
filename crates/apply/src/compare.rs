//! Whether a live object is as its manifest says, and what to send when it is not.
//!
//! Three things are walked together: the manifest, the live object, and the fields that the server has recorded as ours.
//! Values alone miss real drift, recorded ownership alone misses what admission changes and what was only reordered.

pub mod adopt;
pub mod decide;
pub(crate) mod fields;
pub mod foreign;
pub mod patch;
mod quantity;
pub mod repair;
mod stored;

use std::fmt::Write as _;

use serde_json::{Map, Value};

pub use adopt::{adoption, former, restoration};
pub use decide::{Next, decide, fingerprint, managers_of};
pub use foreign::foreign;
pub use patch::{PatchOperation, PatchVerb};
pub use repair::repair;

pub(crate) use lockstep_payload::path;

use fields::{Fields, Node, keys, members};
use path::{Path, Step};
use stored::Stored;

/// How a live object differs from its manifest. Without any path it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that somebody else wrote or that are missing, which an apply brings back, and fields that we applied and
    /// that the manifest no longer has, which an apply takes away.
    pub drift: Vec<String>,
    /// Lists with items that the manifest does not have: an apply leaves them.
    pub extra: Vec<String>,
    /// Fields that are ours and have another value all the same: the server or admission changed what we sent.
    pub suspect: Vec<String>,
    /// Whether we have applied the object before.
    pub is_ours: bool,
}

/// Compares a manifest, as it is sent, with the live object.
pub fn compare(manifest: &Value, live: &Value) -> Comparison {
    let ours = fields::ours(live);
    let found = Comparison { is_ours: ours.is_some(), ..Comparison::default() };
    let mut walk = Walk { stored: Stored::of(manifest), found };
    let Some(wanted) = manifest.as_object() else { return walk.found };
    let mut fields = Fields::of(ours);
    for (name, value) in wanted {
        let path = Path::ROOT.then(Step::Field(name));
        match (name.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("metadata", Value::Object(metadata)) => {
                walk.metadata(metadata, &live["metadata"], fields.next(name), &path);
            }
            _ => walk.value(value, live.get(name), fields.next(name), &path),
        }
    }
    walk.left_over(fields, &Path::ROOT);
    walk.found
}

struct Walk<'a> {
    stored: Stored<'a>,
    found: Comparison,
}

// === impl Walk ===

impl Walk<'_> {
    /// The metadata without what addresses the object.
    fn metadata(&mut self, wanted: &Map<String, Value>, live: &Value, node: Option<&Node>, path: &Path<'_>) {
        let mut fields = Fields::of(node);
        for (name, value) in wanted {
            if name != "name" && name != "namespace" {
                self.value(value, live.get(name), fields.next(name), &path.then(Step::Field(name)));
            }
        }
        self.left_over(fields, path);
    }

    fn value(&mut self, wanted: &Value, live: Option<&Value>, node: Option<&Node>, path: &Path<'_>) {
        match wanted {
            Value::Object(wanted) => self.map(wanted, live, node, path),
            Value::Array(wanted) => self.list(wanted, live, node, path),
            Value::Null if live.is_none_or(Value::is_null) => {}
            _ if node.is_none() => self.drift(path),
            _ if self.stored.same_scalar(wanted, live, path) => {}
            _ => self.suspect(path),
        }
    }

    fn map(
        &mut self,
        wanted: &Map<String, Value>,
        live: Option<&Value>,
        node: Option<&Node>,
        path: &Path<'_>,
    ) {
        let live_map = live.and_then(Value::as_object);
        let Some(node) = node else { return self.map_of_others(wanted, live_map, path) };
        if wanted.is_empty() && node.is_empty() {
            return;
        }
        if node.is_empty() {
            // Owned as a whole, or children of an untyped map that somebody took over: the values decide.
            let same = live_map.is_some_and(|live| {
                let same = |(name, value): (&String, &Value)| {
                    self.stored.same(value, live.get(name), &path.then(Step::Field(name)))
                };
                wanted.iter().all(same)
            });
            if !same {
                self.suspect(path);
            }
            return;
        }
        let mut fields = Fields::of(Some(node));
        for (name, value) in wanted {
            let live = live_map.and_then(|live| live.get(name));
            self.value(value, live, fields.next(name), &path.then(Step::Field(name)));
        }
        self.left_over(fields, path);
    }

    /// Fields that we applied and that the manifest does not have.
    fn left_over(&mut self, fields: Fields<'_>, path: &Path<'_>) {
        for name in fields.left_over() {
            self.drift(&path.then(Step::Field(name)));
        }
    }

    /// A map in which nothing is ours: names the values that differ, or else the map.
    fn map_of_others(
        &mut self,
        wanted: &Map<String, Value>,
        live: Option<&Map<String, Value>>,
        path: &Path<'_>,
    ) {
        let Some(live) = live else { return self.drift(path) };
        let before = self.found.drift.len();
        for (name, value) in wanted {
            let (live, path) = (live.get(name), path.then(Step::Field(name)));
            match value {
                _ if self.stored.same(value, live, &path) => {}
                Value::Object(value) => self.map_of_others(value, live.and_then(Value::as_object), &path),
                _ => self.drift(&path),
            }
        }
        if self.found.drift.len() == before && wanted.values().any(is_sent) {
            self.drift(path);
        }
    }

    fn list(&mut self, wanted: &[Value], live: Option<&Value>, node: Option<&Node>, path: &Path<'_>) {
        let live_items = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if wanted.is_empty() {
            // Nobody is recorded as the owner of an empty list; who is was so for what is in it.
            return match node {
                _ if live_items.is_empty() => {}
                Some(_) => self.drift(path),
                None => self.extra(path),
            };
        }
        match node {
            None => self.drift(path),
            Some(node) if node.is_empty() => {
                let same = |(place, (wanted, live)): (usize, (&Value, &Value))| {
                    self.stored.same(wanted, Some(live), &path.then(Step::Index(place)))
                };
                if wanted.len() != live_items.len() || !wanted.iter().zip(live_items).enumerate().all(same) {
                    self.suspect(path);
                }
            }
            Some(node) if node.keys().any(|key| key.starts_with("v:")) => {
                self.set(wanted, live_items, node, path);
            }
            Some(node) => self.keyed(wanted, live_items, node, path),
        }
    }

    fn set(&mut self, wanted: &[Value], live: &[Value], node: &Node, path: &Path<'_>) {
        let mut places = Places::new(live.len());
        for (place, member) in wanted.iter().enumerate() {
            let owned =
                node.contains_key(&format!("v:{member}")) || members(node).any(|(value, _)| value == *member);
            let found = places.take(|place| live[place] == *member);
            if !owned || found.is_none() {
                self.drift(&path.then(Step::Member(member, place)));
            }
        }
        if node.len() > wanted.len() {
            for (member, _) in members(node).filter(|(member, _)| !wanted.contains(member)) {
                self.drift(&path.then(Step::Member(&member, 0)));
            }
        }
        self.places(&places, path);
    }

    fn keyed(&mut self, wanted: &[Value], live: &[Value], node: &Node, path: &Path<'_>) {
        let names: Vec<String> = keys(node)
            .next()
            .map(|(key, _)| key.into_iter().map(|(name, _)| name).collect())
            .unwrap_or_default();
        let mut places = Places::new(live.len());
        for (place, item) in wanted.iter().enumerate() {
            let Some((key, child)) = find(node, &names, item) else {
                self.drift(&path.then(Step::Index(place)));
                continue;
            };
            let is_it = |place: usize| match &key {
                None => names.iter().all(|name| live[place].get(name) == item.get(name)),
                Some(key) => path::has_key(&live[place], key),
            };
            match places.take(is_it) {
                Some(place) => {
                    let path = path.then(Step::Named(&names, &live[place], place));
                    self.value(item, Some(&live[place]), Some(child), &path);
                }
                None => match &key {
                    Some(key) => self.drift(&path.then(Step::Key(key, place))),
                    None => self.drift(&path.then(Step::Named(&names, item, place))),
                },
            }
        }
        if node.len() > wanted.len() {
            for (key, _) in keys(node).filter(|(key, _)| !wanted.iter().any(|item| fits(item, key))) {
                self.drift(&path.then(Step::Key(&key, 0)));
            }
        }
        self.places(&places, path);
    }

    fn places(&mut self, places: &Places, path: &Path<'_>) {
        if places.taken.contains(&false) {
            self.extra(path);
        }
        if !places.in_order {
            self.drift(path);
        }
    }

    fn drift(&mut self, path: &Path<'_>) {
        self.found.drift.push(path.to_string());
    }

    fn suspect(&mut self, path: &Path<'_>) {
        self.found.suspect.push(path.to_string());
    }

    fn extra(&mut self, path: &Path<'_>) {
        // Finalizers and owner references belong to everybody.
        if !matches!(path.steps().first(), Some(Step::Field("metadata"))) {
            self.found.extra.push(path.to_string());
        }
    }
}

/// The node of a list item. The key is given where it is not made of the item's own values alone.
fn find<'a>(
    node: &'a Node,
    names: &[String],
    item: &Value,
) -> Option<(Option<Map<String, Value>>, &'a Node)> {
    // In almost all cases the key can be written down as the server writes it.
    let mut text = String::from("k:{");
    let mut complete = !names.is_empty();
    for (place, name) in names.iter().enumerate() {
        match item.get(name) {
            Some(value) => {
                let comma = if place == 0 { "" } else { "," };
                let _ = write!(text, "{comma}\"{name}\":{value}");
            }
            None => complete = false,
        }
    }
    text.push('}');
    if complete && let Some(child) = node.get(&text) {
        return Some((None, child.as_object()?));
    }
    let (key, child) = keys(node).find(|(key, _)| fits(item, key))?;
    Some((Some(key), child.as_object()?))
}

/// Whether an item of a manifest has this key: a field of it that the item leaves out has its default, which the key
/// shows.
fn fits(item: &Value, key: &Map<String, Value>) -> bool {
    key.iter().all(|(name, value)| match item.get(name) {
        Some(own) => own == value,
        None => name != "protocol" || value == "TCP",
    })
}

/// Whether a server that gets this value records somebody as its owner.
fn is_sent(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(map) => map.values().any(is_sent),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Which items of a live list have been found.
struct Places {
    taken: Vec<bool>,
    /// Where the next one is expected.
    next: usize,
    last: Option<usize>,
    in_order: bool,
}

// === impl Places ===

impl Places {
    fn new(len: usize) -> Self {
        Self { taken: vec![false; len], next: 0, last: None, in_order: true }
    }

    /// Takes the next item that is the one; lists mostly have the same order, so that the first try is right.
    fn take(&mut self, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let len = self.taken.len();
        let place = (self.next..len)
            .chain(0..self.next.min(len))
            .find(|place| !self.taken[*place] && is_it(*place))?;
        self.in_order &= self.last.is_none_or(|last| last < place);
        self.taken[place] = true;
        self.next = place + 1;
        self.last = Some(place);
        Some(place)
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
