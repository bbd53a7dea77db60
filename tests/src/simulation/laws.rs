//! What must hold at every step, checked from what the engine says and sends, never from its own state.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use lockstep_api::names::{annotation, label};
use lockstep_api::object;
use lockstep_apply::progress::{Event, Happening, PlannedTask, Step, Verb, WaitReason};
use serde_json::Value;

use super::place::{Key, Place};
use super::release::Edition;
use super::tally::Tally;

/// The laws of one run, and what was seen of it.
#[derive(Debug, Default)]
pub(crate) struct Laws {
    /// Whether run levels are barriers.
    is_by_level: bool,
    /// Whether gates ask for versions, and definitions are done only when they are established.
    is_update: bool,
    /// The objects of the tasks, in their order.
    keys: Vec<Key>,
    overridden: BTreeSet<Key>,
    create_only: BTreeSet<Key>,
    /// By key of a ClusterOperator: the version that it must report.
    versions: BTreeMap<Key, String>,
    /// The version of the whole store when the run began; `None` when faults may hide what is there.
    start: Option<u64>,
    tasks: Vec<PlannedTask>,
    done: Vec<bool>,
    /// What the engine was told to be well: operators at their version, finished Jobs, established definitions.
    well: BTreeSet<Key>,
    /// Tasks that wait for an object to be well.
    waiting: BTreeSet<usize>,
    /// Since when a task could have gone on, in seconds.
    due: BTreeMap<usize, f64>,
    /// The last accepted write of each object: what was sent, and the version after it.
    last: BTreeMap<Key, (Bytes, String)>,
    /// Writes sent, accepted or not, by object.
    sent: BTreeMap<Key, u64>,
    /// Resources of which a fault said that they are not there.
    denied: BTreeSet<String>,
    /// Requests for single objects, of any sort.
    single: u64,
    /// Accepted writes.
    pub(crate) accepted: usize,
    pub(crate) tally: Tally,
    pub(crate) broken: Vec<String>,
}

/// A request that wants to change an object.
pub(crate) struct Write<'a> {
    pub(crate) key: &'a Key,
    pub(crate) method: &'a str,
    pub(crate) body: &'a Bytes,
}

/// After how many seconds at most a task goes on whose object is well.
const PROMPT: f64 = 5.0;
/// How many writes of one object are sent in a run at most: so many, and so many more for each minute.
const MOST_WRITES: (u64, u64) = (40, 15);

// === impl Laws ===

impl Laws {
    pub(crate) fn new(edition: &Edition, is_by_level: bool, is_update: bool, start: Option<u64>) -> Self {
        let key = |object: &Value| Place::of(object).key;
        let all = || edition.files.iter().map(|file| &file.object);
        let version = |object: &Value| {
            let version = object["status"]["versions"][0]["version"].as_str()?;
            Some((key(object), version.to_owned()))
        };
        Self {
            is_by_level,
            is_update,
            keys: edition.managed().map(key).collect(),
            overridden: all().filter(|object| edition.is_overridden(object)).map(key).collect(),
            create_only: all()
                .filter(|object| object::annotation(object, annotation::CREATE_ONLY).is_some())
                .map(key)
                .collect(),
            versions: all().filter_map(version).collect(),
            start,
            ..Self::default()
        }
    }

    fn breaks(&mut self, sentence: String) {
        self.broken.push(sentence);
    }

    // --- what the engine says ---

    /// The engine says something, at this second. `is_there` tells whether an object is in the store at this moment.
    pub(crate) fn said(&mut self, event: &Event, now: f64, is_there: impl Fn(&Key) -> bool) {
        match &event.what {
            Happening::Began { tasks, .. } => {
                if tasks.len() != self.keys.len() {
                    self.breaks(format!("{} tasks for {} objects", tasks.len(), self.keys.len()));
                }
                self.done = vec![false; tasks.len()];
                self.tasks.clone_from(tasks);
            }
            Happening::Started { task } => self.may_start(*task, "started"),
            Happening::Applied { verb, .. } => self.tally.count(match verb {
                Verb::Created => "verb created",
                Verb::Changed => "verb changed",
                Verb::Deleted => "verb deleted",
                Verb::Recreated => "verb recreated",
            }),
            Happening::Waiting { task, wait } => {
                self.tally.count(format!("wait {}", wait.reason));
                if is_for_health(wait.reason) {
                    self.waiting.insert(*task);
                } else {
                    self.waiting.remove(task);
                }
            }
            Happening::Failed { .. } => self.tally.count("task failed"),
            Happening::Retried { .. } => self.tally.count("task retried"),
            Happening::Repaired { .. } => self.tally.count("drift repaired"),
            Happening::Fighting { .. } => self.tally.count("fight"),
            Happening::Orphan { .. } => self.tally.count("orphan"),
            Happening::Done { task } => {
                self.is_done(*task, is_there);
                self.is_prompt(*task, now);
            }
            _ => {}
        }
    }

    fn may_start(&mut self, task: usize, what: &str) {
        let Some(held) = (0..task).find(|earlier| !self.done[*earlier] && self.comes_before(*earlier, task))
        else {
            return;
        };
        let sentence = format!(
            "{} ({}) was {what} before {} ({}) was done",
            self.tasks[task].object, self.tasks[task].file, self.tasks[held].object, self.tasks[held].file
        );
        self.breaks(sentence);
    }

    /// Whether an earlier task must be done before a later one starts.
    fn comes_before(&self, earlier: usize, later: usize) -> bool {
        let (one, two) = (&self.tasks[earlier], &self.tasks[later]);
        let is_job = one.step == Step::Job || two.step == Step::Job;
        let is_same_component = one.level == two.level && one.component == two.component;
        let holds = |task: &PlannedTask| matches!(task.step, Step::Gate | Step::Delete);
        let by_level = self.is_by_level && (one.level < two.level || is_same_component);
        is_job || by_level || (is_same_component && (holds(one) || holds(two)))
    }

    fn is_done(&mut self, task: usize, is_there: impl Fn(&Key) -> bool) {
        // Another number of tasks than of objects has been complained about before.
        let Some(key) = self.keys.get(task).cloned() else { return };
        let (step, title) = (self.tasks[task].step, self.tasks[task].object.clone());
        let is_definition = self.is_update && key.starts_with("customresourcedefinitions");
        match step {
            Step::Delete if is_there(&key) && !self.was_denied(&key) => {
                self.breaks(format!("{title} counts as removed and is still there"));
            }
            Step::Gate if !self.well.contains(&key) => {
                self.breaks(format!(
                    "the gate {title} opened although the operator never reported to be well"
                ));
            }
            Step::Job if !self.well.contains(&key) => {
                self.breaks(format!("{title} counts as done and has not ended"));
            }
            Step::Apply if is_definition && !self.well.contains(&key) => {
                self.breaks(format!("{title} counts as done and is not established"));
            }
            _ => {}
        }
        self.done[task] = true;
    }

    /// Whoever waited for an object goes on as soon as it is told that the object is well.
    fn is_prompt(&mut self, task: usize, now: f64) {
        self.waiting.remove(&task);
        if let Some(since) = self.due.remove(&task).filter(|since| now - since > PROMPT) {
            let title = &self.tasks[task].object;
            self.breaks(format!("{title} was well for {:.0} s before the engine went on", now - since));
        }
    }

    // --- what the engine is told ---

    /// The engine gets to see an object, at this second.
    pub(crate) fn shown(&mut self, key: &Key, live: &Value, now: f64) {
        let conditions = live["status"]["conditions"].as_array();
        let is = |kind: &str, status: &str| {
            conditions.is_some_and(|all| all.iter().any(|it| it["type"] == kind && it["status"] == status))
        };
        let holds = |kind: &str| is(kind, "True");
        let is_well = match key.split(['.', ' ']).next() {
            Some("clusteroperators") => {
                let reported = live["status"]["versions"].as_array();
                let wanted = self.versions.get(key).map(String::as_str);
                let is_it =
                    |entry: &Value| entry["name"] == "operator" && entry["version"].as_str() == wanted;
                // An installation asks for no version, and takes a degraded operator.
                let is_updated = is("Degraded", "False") && reported.is_some_and(|all| all.iter().any(is_it));
                holds("Available") && (!self.is_update || is_updated)
            }
            Some("jobs") => holds("Complete"),
            Some("customresourcedefinitions") => holds("Established"),
            _ => false,
        };
        if !is_well {
            return;
        }
        self.well.insert(key.clone());
        let task = self.keys.iter().position(|known| known == key);
        if let Some(task) = task.filter(|task| self.waiting.contains(task)) {
            self.due.entry(task).or_insert(now);
        }
    }

    /// A fault told the engine that something is not there: nobody can know better.
    pub(crate) fn denies(&mut self, resource: &str) {
        self.denied.insert(resource.to_owned());
    }

    fn was_denied(&self, key: &Key) -> bool {
        key.split(' ').next().is_some_and(|resource| self.denied.contains(resource))
    }

    // --- what the engine sends ---

    pub(crate) fn read(&mut self) {
        self.single += 1;
    }

    /// The engine wants to write.
    pub(crate) fn sends(&mut self, write: &Write<'_>) {
        let key = write.key;
        *self.sent.entry(key.clone()).or_default() += 1;
        if self.overridden.contains(key) {
            self.breaks(format!("{key} is overridden and was written ({})", write.method));
        }
        if self.create_only.contains(key) && write.method != "POST" && !is_label_only(write.body) {
            self.breaks(format!("{key} is create-only and was written ({})", write.method));
        }
        match self.keys.iter().position(|known| known == key) {
            Some(task) => self.may_start(task, "written"),
            None if self.overridden.contains(key) => {}
            None => self.breaks(format!("{key} is not of the release and was written ({})", write.method)),
        }
    }

    /// The server accepted a write. `before` is the version that the object had.
    pub(crate) fn accepted(&mut self, write: &Write<'_>, before: Option<&str>, live: &Value) {
        self.accepted += 1;
        let version = live["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let is_same = before == Some(version) && write.method != "DELETE";
        if is_same {
            self.tally.count("write that changed nothing");
            let is_repeated =
                self.last.get(write.key).is_some_and(|(body, known)| body == write.body && known == version);
            let is_old =
                self.start.is_some_and(|start| version.parse::<u64>().is_ok_and(|version| version <= start));
            if is_repeated || is_old {
                self.breaks(format!("{} was equal and was written once more ({})", write.key, write.method));
            }
        }
        self.last.insert(write.key.clone(), (write.body.clone(), version.to_owned()));
    }

    // --- the end ---

    /// What must hold of a whole run.
    pub(crate) fn ended(&mut self, lasted: Duration) {
        let most = MOST_WRITES.0 + MOST_WRITES.1 * (lasted.as_secs() / 60);
        let worst =
            self.sent.iter().max_by_key(|(_, count)| **count).map(|(key, count)| (key.clone(), *count));
        if let Some((key, count)) = worst.filter(|(_, count)| *count > most) {
            self.breaks(format!("{key} was written {count} times in {} s", lasted.as_secs()));
        }
    }

    /// What must hold of a run over a cluster that is at the release already.
    ///
    /// While an operator is unwell for long, its workloads are looked at: that is no reading of what is known.
    pub(crate) fn changed_nothing(&mut self, lasted: Duration) {
        let sent: u64 = self.sent.values().sum();
        if sent > 0 || (self.single > 0 && lasted < Duration::from_secs(5)) {
            let first = self.sent.keys().next().cloned().unwrap_or_default();
            let sentence = format!(
                "a second run over a converged cluster sent {sent} writes (such as {first}) and {} reads of single objects",
                self.single
            );
            self.breaks(sentence);
        }
    }
}

/// Whether a wait ends when an object is well.
fn is_for_health(reason: WaitReason) -> bool {
    matches!(
        reason,
        WaitReason::OperatorNotAvailable
            | WaitReason::OperatorDegraded
            | WaitReason::OperatorUpdating
            | WaitReason::JobRunning
            | WaitReason::NotEstablished
    )
}

/// Whether a body names an object and nothing but our label.
fn is_label_only(body: &Bytes) -> bool {
    let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(body) else { return false };
    let identity = ["apiVersion", "kind", "metadata"];
    let metadata_keys = ["name", "namespace", "labels", "uid", "resourceVersion"];
    let metadata = body.get("metadata").and_then(Value::as_object);
    let labels = metadata.and_then(|metadata| metadata.get("labels")).and_then(Value::as_object);
    body.keys().all(|key| identity.contains(&key.as_str()))
        && metadata.is_some_and(|metadata| metadata.keys().all(|key| metadata_keys.contains(&key.as_str())))
        && labels.is_some_and(|labels| labels.keys().all(|key| key == label::PAYLOAD))
}
