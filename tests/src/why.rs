//! Situations for the diagnosis: files in words, put on stage in the lab and read back through its API.
//!
//! A file names a world (`steady`, `installing`, `updating`, `bootstrapping`, `nothing`) and what differs in it. Times are
//! written `ago 20m` and `in 10m`; conditions as `[status, since, reason, message]`. Several files can be laid over each
//! other. `almost` says in words what only looks alike, and `set` makes it so.
#![expect(clippy::panic, reason = "a suite fails by a panic")]

mod lab;
mod world;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use lockstep_api::object;
use lockstep_health::why::{Snapshot, VERSION};
use serde_json::{Map, Value, json};

pub use lab::through_the_lab;

/// The moment at which every situation is looked at: two days into the lab's virtual time.
pub const NOW: Timestamp = Timestamp::constant(1_767_225_600 + 2 * 86_400, 0);

/// A situation as its file has it.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The name of its file, without the ending.
    pub name: String,
    /// What it says.
    pub file: Value,
}

/// What is put on stage.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Objects with their ages in `age`, in seconds, and `deleted` where they are being deleted.
    pub objects: Vec<Value>,
    /// Everything besides objects.
    pub rest: Snapshot,
}

// === impl Situation ===

impl Situation {
    /// Reads every situation of a folder, by name.
    ///
    /// # Panics
    /// When a file cannot be read.
    pub fn all(folder: &str) -> Vec<Self> {
        let mut found: Vec<PathBuf> = std::fs::read_dir(data().join(folder))
            .expect("a folder of situations")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|it| it == "yaml"))
            .collect();
        found.sort();
        found.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).expect("a file");
        let documents = lockstep_payload::yaml::documents(&bytes);
        let documents = documents.unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
        let file = documents.into_iter().next().map(|it| it.value).unwrap_or_default();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, file }
    }

    /// The situation that only looks alike, where the file has one.
    ///
    /// # Panics
    /// When it sets something that is not there.
    pub fn almost(&self) -> Option<Self> {
        let changes = self.file["almost"]["set"].as_object()?;
        let mut file = self.file.clone();
        for (pointer, value) in changes {
            if let Some(place) = file.pointer_mut(pointer) {
                *place = value.clone();
                continue;
            }
            let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
            let parent = file.pointer_mut(parent).unwrap_or_else(|| panic!("{}: {pointer}", self.name));
            parent[key] = value.clone();
        }
        Some(Self { name: format!("almost {}", self.name), file })
    }
}

/// The folder of all situations.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/why")
}

/// The world of the first situation with all of them in it.
///
/// # Panics
/// When a file has parts that no snapshot has.
pub fn stage(situations: &[&Situation]) -> Stage {
    let first = situations.first().map_or(&Value::Null, |it| &it.file);
    let world = first["world"].as_str().unwrap_or("steady");
    let mut objects = if world == "nothing" { Vec::new() } else { world::objects(world) };
    let mut rest = Map::new();
    for situation in situations {
        let file = dated(situation.file.clone());
        for gone in file["without"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            objects.retain(|it| !is_called(it, gone));
        }
        for changed in changes(&file) {
            // A node that is not there has no conditions either.
            let is_lost = object::kind(&changed) == "Node"
                && changed.get("spec").is_none()
                && !objects
                    .iter()
                    .any(|it| object::kind(it) == "Node" && object::name(it) == object::name(&changed));
            if !is_lost {
                lay_over(&mut objects, changed);
            }
        }
        for (key, value) in file.as_object().into_iter().flatten() {
            let known = [
                "probes",
                "services",
                "logs",
                "alerts",
                "pullSecret",
                "payload",
                "observed",
                "skewSeconds",
                "apiError",
            ];
            if known.contains(&key.as_str()) {
                merge(rest.entry(key.clone()).or_insert(Value::Null), value.clone());
            }
        }
    }
    if world == "nothing" {
        objects.clear();
    }
    let mut rest: Snapshot = serde_json::from_value(rest.into()).expect("parts of a snapshot");
    (rest.version, rest.now) = (VERSION, NOW);
    let skew = SignedDuration::from_secs(rest.skew_seconds);
    rest.now = NOW.checked_add(skew).unwrap_or(NOW);
    Stage { objects, rest }
}

/// A snapshot of the stage without a lab: for situations that only look alike.
pub fn at_once(stage: Stage) -> Snapshot {
    let mut snapshot = stage.rest;
    if !stage.objects.is_empty() {
        for known in lockstep_health::why::resource::ALL {
            snapshot.objects.insert(known.key.to_owned(), Vec::new());
        }
    }
    for mut it in stage.objects {
        let (age, deleted) = (take_seconds(&mut it, "age"), take_seconds(&mut it, "deleted"));
        it["metadata"]["creationTimestamp"] = ago(age.unwrap_or(world::AGE)).into();
        if let Some(deleted) = deleted {
            it["metadata"]["deletionTimestamp"] = ago(deleted).into();
        }
        let place = world::place(&it);
        snapshot.objects.entry(place.key).or_default().push(it);
    }
    snapshot
}

/// Whether `Kind name` or `Kind namespace/name` means an object.
fn is_called(it: &Value, words: &str) -> bool {
    let path = match object::namespace(it) {
        "" => object::name(it).to_owned(),
        namespace => format!("{namespace}/{}", object::name(it)),
    };
    words == format!("{} {path}", object::kind(it))
        || words == format!("{} {path}", it["apiVersion"].as_str().unwrap_or_default())
}

/// Everything that a file changes, as objects; `patch: true` on those that are laid over.
fn changes(file: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let conditions = |of: &Value| -> Vec<Value> {
        let entries = of.as_object().into_iter().flatten();
        entries
            .map(|(kind, it)| {
                json!({"type": kind, "status": it[0], "lastTransitionTime": it[1], "reason": it[2], "message": it[3]})
            })
            .collect()
    };
    for (name, of) in file["operators"].as_object().into_iter().flatten() {
        let mut operator = world::operator(name, of["version"].as_str().unwrap_or(""));
        operator["status"]["conditions"] = conditions(&without(of, &["version", "bare", "lacks"])).into();
        operator["bare"] = of["bare"].clone();
        operator["lacks"] = of["lacks"].clone();
        found.push(operator);
    }
    if file["version"].is_object() {
        found.push(json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "status": {"conditions": conditions(&file["version"])}}));
    }
    for (name, of) in file["nodes"].as_object().into_iter().flatten() {
        found.push(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"conditions": conditions(of)}}));
    }
    found.extend(file["pods"].as_array().into_iter().flatten().map(world::pod));
    for (at, event) in file["events"].as_array().into_iter().flatten().enumerate() {
        found.push(world::event(at, event));
    }
    found.extend(file["objects"].as_array().into_iter().flatten().cloned());
    found
}

fn without(of: &Value, keys: &[&str]) -> Value {
    let kept = of.as_object().into_iter().flatten().filter(|(key, _)| !keys.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into()
}

/// Lays an object over the one of its name, or adds it.
fn lay_over(objects: &mut Vec<Value>, mut new: Value) {
    let is_bare = new["bare"].take() == true;
    let lacks = new["lacks"].take();
    if let Some(fields) = new.as_object_mut() {
        fields.remove("bare");
        fields.remove("lacks");
    }
    let key =
        |it: &Value| (world::place(it).key, object::namespace(it).to_owned(), object::name(it).to_owned());
    let at = objects.iter().position(|it| key(it) == key(&new)).unwrap_or_else(|| {
        objects
            .push(json!({"apiVersion": new["apiVersion"], "kind": new["kind"], "metadata": new["metadata"]}));
        objects.len() - 1
    });
    merge(&mut objects[at], new);
    if is_bare {
        objects[at]["status"]["conditions"] = json!([]);
    }
    if let (Some(lacks), Some(conditions)) =
        (lacks.as_str(), objects[at]["status"]["conditions"].as_array_mut())
    {
        conditions.retain(|it| it["type"] != lacks);
    }
}

/// Lays a value over another: maps by key, conditions by type, lists of a snapshot one after the other, all else anew.
fn merge(old: &mut Value, new: Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                if key == "conditions" && old.get(&key).is_some_and(Value::is_array) {
                    let list = old.get_mut(&key).and_then(Value::as_array_mut).expect("a list");
                    for condition in value.as_array().into_iter().flatten() {
                        list.retain(|it| it["type"] != condition["type"]);
                        list.push(condition.clone());
                    }
                } else {
                    merge(old.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.iter().any(|it| it.get("probe").is_some()) => {
            old.extend(new);
        }
        (old, new) => *old = new,
    }
}

fn take_seconds(it: &mut Value, key: &str) -> Option<i64> {
    let taken = it.as_object_mut()?.remove(key)?;
    taken.as_i64().or_else(|| seconds(taken.as_str()?))
}

/// `90`, `90s`, `20m`, `3h`, `2d`.
fn seconds(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86400,
        _ => return text.parse().ok(),
    };
    Some(text[..text.len() - 1].parse::<i64>().ok()? * unit)
}

/// A time so many seconds before the moment at which everything is looked at.
fn ago(seconds: i64) -> String {
    let time = NOW.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(NOW);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The same value with real times for `ago 20m` and `in 10m`.
fn dated(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let past = text.strip_prefix("ago ").and_then(seconds).map(ago);
            let future = text.strip_prefix("in ").and_then(seconds).map(|it| ago(-it));
            past.or(future).unwrap_or(text).into()
        }
        Value::Array(list) => list.into_iter().map(dated).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (key, dated(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

/// Lists by resource; empty ones for kinds that are served and have no object.
type Lists = BTreeMap<String, Vec<Value>>;
