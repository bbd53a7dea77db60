//! What watches see, and what it means.

use lockstep_api::names::kind;
use lockstep_api::{ResourceId, object};
use lockstep_graph::{Role, TaskId, Treatment};
use lockstep_health as health;
use serde_json::Value;

use super::answer::is_newer;
use super::wait::Waited;
use super::{Live, Orphan, Phase, Run, Watching};
use crate::compare::{Next, PatchOperation, decide, fingerprint, managers_of};
use crate::engine::plan::title;
use crate::kinds::Resource;
use crate::merge;
use crate::progress::{Happening, WaitReason};
use crate::watch::Seen;

// === impl Run ===

impl Run<'_> {
    pub(super) fn on_seen(&mut self, watching: &Watching, seen: Seen) {
        // A watch that was closed may still have something to say.
        if !self.watches.contains_key(watching) {
            return;
        }
        match seen {
            Seen::Restarted => self.watch_state(watching, |state| state.seen.clear()),
            Seen::Object(object) => self.on_object(watching, &object),
            Seen::Gone(object) => self.on_gone(watching, &object),
            Seen::Synced { .. } => self.on_synced(watching),
            Seen::Resumed => {}
            Seen::Trouble { refusal, .. } => self.on_trouble(watching, &refusal),
        }
    }

    pub(super) fn watch_state(&mut self, watching: &Watching, change: impl FnOnce(&mut super::WatchState)) {
        if let Some(state) = self.watches.get_mut(watching) {
            change(state);
        }
    }

    fn on_object(&mut self, watching: &Watching, live: &Value) {
        match watching {
            Watching::Names(resource) => self.on_name(resource, live),
            Watching::One(task, _) => {
                self.watch_state(watching, |state| {
                    state.seen.insert(*task);
                });
                self.on_doomed(*task, live);
            }
            Watching::All(resource) | Watching::Ours(resource) => {
                let id = identity(resource, live);
                if matches!(watching, Watching::All(_)) {
                    self.operators.insert(id.clone(), live.clone());
                    self.operator_changed(&id);
                }
                match self.plan.objects.get(&id).copied() {
                    Some(task) => {
                        self.watch_state(watching, |state| {
                            state.seen.insert(task);
                        });
                        self.on_ours(task, live);
                    }
                    None if matches!(watching, Watching::Ours(_)) && !self.plan.named.contains(&id) => {
                        self.on_orphan(resource, id, live);
                    }
                    None => {}
                }
            }
        }
    }

    /// An object of the plan, as it is now.
    pub(super) fn on_ours(&mut self, task: TaskId, live: &Value) {
        let version = live["metadata"]["resourceVersion"].as_str();
        let track = &self.tracks[task];
        if track.version.is_some()
            && (track.version.as_deref() == version || is_newer(track.version.as_deref(), version))
        {
            // The echo of our own write, or older than that.
            if track.live != Live::Unknown {
                return;
            }
        }
        let judged = self.judge(task, live);
        let track = &mut self.tracks[task];
        track.version = version.map(str::to_owned);
        track.live = judged;
        let item = &self.plan.items[task];
        if is_watched_for_health(&item.id.kind) {
            let verdict = health::of(&with_kind(live, item));
            let is_news = track.verdict.as_ref() != Some(&verdict);
            track.verdict = Some(verdict);
            if is_news {
                self.health_changed(task, live);
            }
        }
        self.object_changed(task);
    }

    /// Compares an object with its manifest.
    fn judge(&self, task: TaskId, live: &Value) -> Live {
        let item = &self.plan.items[task];
        if live["metadata"].get("deletionTimestamp").is_some() {
            let why = health::deletion(&with_kind(live, item));
            return Live::Terminating(
                why.map_or_else(|| format!("{} is being deleted", item.title), |why| why.sentence),
            );
        }
        if item.treatment == Treatment::CreateOnly {
            return Live::Present;
        }
        let manifest = item.body.object();
        let cleared: Vec<PatchOperation> = merge::clear(&manifest, live)
            .into_iter()
            .map(|field| PatchOperation::remove(field.pointer))
            .collect();
        let fields = match decide(&manifest, live, &cleared) {
            Next::Equal => return Live::Equal,
            Next::Apply { drift } => drift,
            Next::Patch { fields, .. } | Next::Suspect { fields } => {
                if self.tracks[task].live == Live::Overridden(fingerprint(&manifest, live, &fields)) {
                    return self.tracks[task].live.clone();
                }
                fields
            }
        };
        let mut managers: Vec<String> = fields.iter().flat_map(|field| managers_of(live, field)).collect();
        managers.sort();
        managers.dedup();
        Live::Different { fields, managers }
    }

    /// The health of an object changed: whoever waits for it looks again.
    fn health_changed(&mut self, task: TaskId, live: &Value) {
        let is_good = self.tracks[task].verdict.as_ref().is_some_and(health::Verdict::is_good);
        let item = &self.plan.items[task];
        if item.id.kind == kind::CUSTOM_RESOURCE_DEFINITION && is_good {
            self.now_served(live);
        }
        if self.waiting.contains_key(&Waited::Object(task)) {
            let reason =
                if item.role == Role::Barrier { WaitReason::JobRunning } else { WaitReason::NotEstablished };
            self.check_object(task, reason);
        }
        if is_good {
            self.tracks[task].diagnosis = None;
        }
        self.check_gates_of_component(task);
    }

    /// A definition is established: its kind is served.
    pub(super) fn now_served(&mut self, definition: &Value) {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, kind, plural) =
            (text(&spec["group"]), text(&spec["names"]["kind"]), text(&spec["names"]["plural"]));
        for version in spec["versions"].as_array().into_iter().flatten() {
            if version["served"] == true {
                let version = text(&version["name"]);
                let resource = Resource::new(&group, &version, &kind, &plural, spec["scope"] == "Namespaced");
                self.kinds.insert(resource);
                self.wake_all(&Waited::Kind(object::join_api_version(&group, &version), kind.clone()));
            }
        }
        self.repair_now(|item| item.id.group == group && item.id.kind == kind);
    }

    /// What follows from a new state of an object, apart from its health.
    fn object_changed(&mut self, task: TaskId) {
        if let Some(name) = self.namespace_of(task)
            && !matches!(self.tracks[task].live, Live::Terminating(_) | Live::Absent)
        {
            self.wake_all(&Waited::Namespace(name.clone()));
            self.repair_now(|item| item.id.namespace == name);
        }
        match (self.tracks[task].phase, self.tracks[task].live.clone()) {
            (Phase::Done, _) => self.look_at_drift(task),
            // It went away: now it can be created.
            (Phase::Parked, Live::Absent) if self.waiting.contains_key(&Waited::Object(task)) => {
                self.wake(task);
            }
            (Phase::Parked, Live::Terminating(sentence)) if self.waits_for_removal(task) => {
                self.park_for_removal(task, sentence);
            }
            // A failed task is tried again when somebody changed its object.
            (Phase::GivenUp, _) => self.wake(task),
            _ => {}
        }
    }

    fn waits_for_removal(&self, task: TaskId) -> bool {
        self.tracks[task].wait.as_ref().is_some_and(|(wait, _)| wait.reason == WaitReason::Deletion)
    }

    fn on_gone(&mut self, watching: &Watching, object: &Value) {
        match watching {
            Watching::Names(_) => {}
            Watching::One(task, _) => {
                self.watch_state(watching, |state| {
                    state.seen.remove(task);
                });
                self.doomed_is_gone(*task);
            }
            Watching::All(resource) | Watching::Ours(resource) => {
                let id = identity(resource, object);
                if matches!(watching, Watching::All(_)) {
                    self.operators.remove(&id);
                    self.operator_changed(&id);
                }
                self.orphans.remove(&id);
                if let Some(task) = self.plan.objects.get(&id).copied() {
                    self.watch_state(watching, |state| {
                        state.seen.remove(&task);
                    });
                    self.ours_is_gone(task, object["metadata"]["resourceVersion"].as_str());
                }
            }
        }
    }

    /// An object of the plan is not there any more, or has lost our label.
    pub(super) fn ours_is_gone(&mut self, task: TaskId, version: Option<&str>) {
        // We may have created it anew before this event came.
        if is_newer(self.tracks[task].version.as_deref(), version) {
            return;
        }
        self.tracks[task].live = Live::Absent;
        self.tracks[task].verdict = None;
        if self.plan.items[task].id.kind == kind::CUSTOM_RESOURCE_DEFINITION {
            self.no_longer_served(task);
        }
        self.object_changed(task);
    }

    fn no_longer_served(&mut self, definition: TaskId) {
        let (group, kind) = self.defined_by(definition);
        let versions: Vec<String> = self
            .kinds
            .iter()
            .filter(|resource| resource.group == group && resource.kind == kind)
            .map(Resource::api_version)
            .collect();
        for api_version in versions {
            self.kinds.remove(&api_version, &kind);
        }
    }

    fn on_orphan(&mut self, resource: &Resource, id: ResourceId, live: &Value) {
        let title = title(&id);
        let orphan = Orphan {
            title: title.clone(),
            resource: resource.clone(),
            namespace: resource.namespaced.then(|| id.namespace.clone()),
            name: id.name.clone(),
            uid: live["metadata"]["uid"].as_str().map(str::to_owned),
        };
        if self.orphans.insert(id, orphan).is_none() {
            self.tell(Happening::Orphan { object: title });
        }
    }

    /// Something that somebody may wait for has appeared.
    fn on_name(&mut self, resource: &Resource, live: &Value) {
        let name = object::name(live);
        if live["metadata"].get("deletionTimestamp").is_some() {
            return;
        }
        if resource.kind == kind::NAMESPACE {
            self.wake_all(&Waited::Namespace(name.to_owned()));
            return;
        }
        // `widgets.example.com` and `v1.example.com`: the group is behind the first dot.
        let group = name.split_once('.').map_or("", |(_, group)| group);
        let concerned: Vec<Waited> = self
            .waiting
            .keys()
            .filter(|waited| {
                matches!(waited, Waited::Kind(api_version, _) if object::split_api_version(api_version).0 == group)
            })
            .cloned()
            .collect();
        for waited in concerned {
            self.probe(&waited);
        }
    }
}

/// Kinds whose health others wait for, or that explain why an operator does not report.
fn is_watched_for_health(kind: &str) -> bool {
    matches!(
        kind,
        kind::CUSTOM_RESOURCE_DEFINITION
            | kind::JOB
            | kind::DEPLOYMENT
            | kind::DAEMON_SET
            | kind::STATEFUL_SET
    )
}

/// Which object a watch gave: entries of a list do not say their kind.
fn identity(resource: &Resource, live: &Value) -> ResourceId {
    ResourceId::new(&resource.group, &resource.kind, object::namespace(live), object::name(live))
}

/// An object with its kind, which entries of lists and metadata lack.
pub(super) fn with_kind<'a>(live: &'a Value, item: &super::super::plan::Item) -> std::borrow::Cow<'a, Value> {
    if object::kind(live) == item.id.kind {
        return std::borrow::Cow::Borrowed(live);
    }
    let mut whole = live.clone();
    whole["apiVersion"] = item.api_version.clone().into();
    whole["kind"] = item.id.kind.clone().into();
    std::borrow::Cow::Owned(whole)
}
