//! What a run is about: the tasks of a release with everything that is known of them before the first request.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::names::{group, kind};
use lockstep_api::{ResourceId, object};
use lockstep_graph::order::loosen;
use lockstep_graph::{Graph, InstallOrder, Mode, Role, Task, TaskId, Treatment, build, stages};
use lockstep_payload::{Manifest, Release, Selection};
use serde_json::Value;

use super::packed::Packed;
use crate::kinds::Resource;
use crate::modify::{ClusterFacts, modify};
use crate::normalise::Rules;
use crate::progress::{Level, ObjectText, PlannedTask, Step};

/// The tasks of a run.
#[derive(Debug)]
pub struct Plan {
    /// Version of the release.
    pub version: String,
    /// What the release is applied for.
    pub mode: Mode,
    /// The value of the label that marks what belongs to this release.
    pub set: String,
    pub(crate) graph: Graph,
    /// By task.
    pub(crate) items: Vec<Item>,
    /// Which task decides about an object: the last one that names it.
    pub(crate) objects: BTreeMap<ResourceId, TaskId>,
    /// Which task brings a kind, by group and kind.
    pub(crate) definitions: BTreeMap<(String, String), TaskId>,
    /// Which task brings a namespace.
    pub(crate) namespaces: BTreeMap<String, TaskId>,
    /// Every object that the release names, selected or not: none of these is an orphan.
    pub(crate) named: BTreeSet<ResourceId>,
    /// What is worth a line before anything begins.
    pub(crate) remarks: Vec<String>,
    levels: Vec<Level>,
}

/// One task, as the engine needs it.
#[derive(Debug)]
pub(crate) struct Item {
    /// The object, for people.
    pub(crate) title: ObjectText,
    pub(crate) id: ResourceId,
    pub(crate) api_version: String,
    /// Where the kind is served, when the release or Kubernetes itself says so.
    pub(crate) resource: Option<Resource>,
    /// The object as it shall be.
    pub(crate) body: Packed,
    /// Of a gate: the manifest with the versions that must be reported.
    pub(crate) expected: Option<Packed>,
    pub(crate) treatment: Treatment,
    pub(crate) role: Role,
    /// A later manifest names the same object and decides.
    pub(crate) is_superseded: bool,
    /// Why this manifest cannot be applied to this cluster at all.
    pub(crate) flaw: Option<String>,
}

/// One object of a release, as it shall be.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The object, for people.
    pub title: ObjectText,
    /// Which object.
    pub id: ResourceId,
    /// Group and version.
    pub api_version: String,
    /// All of it, with what the cluster adds.
    pub object: Value,
    /// Whether it is only created, never changed.
    pub is_create_only: bool,
}

/// What makes a plan out of a release.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// The order of an installation.
    pub install_order: InstallOrder,
    /// What the cluster adds to manifests.
    pub facts: ClusterFacts,
    /// Where objects go that live in a namespace and name none; `default` unless somebody says otherwise.
    pub namespace: Option<String>,
}

// === impl Planned ===

impl Planned {
    /// The smallest apply that makes a live object a member of the set.
    pub fn label(&self, live: &Value) -> bytes::Bytes {
        super::label_only(&self.object, &live["metadata"]["uid"])
    }
}

// === impl Plan ===

impl Plan {
    /// Makes the plan of a release for a cluster.
    pub fn new(release: &Release, selection: &Selection, mode: Mode, options: &PlanOptions) -> Self {
        let manifests: Vec<&Manifest> = release.selected(selection).collect();
        let rules = Rules::of_release(manifests.iter().map(|manifest| &manifest.object));
        let mut graph = build(Task::list(manifests.iter().copied()), mode, options.install_order, 0);
        let levels = levels(&graph);
        if mode != Mode::Updating && options.install_order == InstallOrder::Flat {
            graph.parallelize(loosen);
        }
        let mut plan = Self {
            version: release.metadata.version.to_string(),
            mode,
            set: options.facts.set.clone(),
            items: Vec::with_capacity(manifests.len()),
            objects: BTreeMap::new(),
            definitions: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            named: release
                .manifests
                .iter()
                .map(|manifest| identity(&rules, options, &manifest.object))
                .collect(),
            remarks: Vec::new(),
            levels,
            graph,
        };
        for (task, manifest) in manifests.into_iter().enumerate() {
            plan.add(task, manifest, &rules, options);
        }
        plan
    }

    fn add(&mut self, task: TaskId, manifest: &Manifest, rules: &Rules, options: &PlanOptions) {
        let normalised = rules.normalise(&manifest.object);
        let mut body = normalised.object;
        let flaw = modify(&mut body, &options.facts).err().map(|error| error.to_string());
        let id = identity(rules, options, &manifest.object);
        let (role, treatment) = (self.graph.tasks[task].role, self.graph.tasks[task].treatment);
        let title = title(&id);
        if !normalised.dropped.is_empty() {
            let fields = normalised.dropped.join(", ");
            self.remarks.push(format!(
                "{title} has fields that its kind does not have: {fields}. They are left out; correct them in {}",
                manifest.file
            ));
        }
        if treatment != Treatment::Delete {
            self.provide(task, &id, &body);
        }
        if let Some(earlier) = self.objects.insert(id.clone(), task) {
            let earlier_file = self.graph.tasks[earlier].file.clone();
            self.items[earlier].is_superseded = true;
            self.remarks.push(format!(
                "{title} is in two files, {earlier_file} and {}: the second one counts",
                manifest.file
            ));
        }
        let version = object::split_api_version(&manifest.api_version).1;
        let resource = rules.plural(&manifest.api_version, &id.kind).map(|plural| {
            let namespaced = rules.is_namespaced(&manifest.api_version, &id.kind).unwrap_or_default();
            Resource::new(&id.group, version, &id.kind, plural, namespaced)
        });
        self.items.push(Item {
            title,
            api_version: manifest.api_version.clone(),
            resource,
            body: Packed::of(&body),
            expected: (role == Role::Gate).then(|| Packed::of(&manifest.object)),
            treatment,
            role,
            is_superseded: false,
            flaw,
            id,
        });
    }

    /// Remembers what an object makes possible for others.
    fn provide(&mut self, task: TaskId, id: &ResourceId, body: &Value) {
        if id.kind == kind::NAMESPACE && id.group.is_empty() {
            self.namespaces.insert(id.name.clone(), task);
        } else if id.kind == kind::CUSTOM_RESOURCE_DEFINITION && id.group == group::API_EXTENSIONS {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let spec = &body["spec"];
            self.definitions.insert((text(&spec["group"]), text(&spec["names"]["kind"])), task);
        }
    }

    /// The objects of the release, in its order, without those that are to be deleted and those that a later manifest decides about.
    pub fn planned(&self) -> impl Iterator<Item = Planned> {
        let is_wanted = |item: &&Item| !item.is_superseded && item.treatment != Treatment::Delete;
        self.items.iter().filter(is_wanted).map(|item| Planned {
            title: item.title.clone(),
            id: item.id.clone(),
            api_version: item.api_version.clone(),
            object: item.body.object(),
            is_create_only: item.treatment == Treatment::CreateOnly,
        })
    }

    /// The gates: for each task that waits for a ClusterOperator, its manifest.
    pub fn gates(&self) -> impl Iterator<Item = (TaskId, Value)> {
        let gate = |(task, item): (TaskId, &Item)| Some((task, item.expected.as_ref()?.object()));
        self.items.iter().enumerate().filter_map(gate)
    }

    /// All tasks as reports name them: `deployment "namespace/name" (3 of 90)`.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.graph.tasks.iter().map(ToString::to_string)
    }

    /// The task that decides about an object.
    pub fn task_of(&self, id: &ResourceId) -> Option<TaskId> {
        self.objects.get(id).copied()
    }

    /// What to start first: the definitions that others of the release need, because a server takes seconds until it serves
    /// so many kinds. Then the other definitions: they cost it the most, and late ones disturb what is served already.
    pub(crate) fn preference(&self) -> Vec<u32> {
        let needed: BTreeSet<TaskId> = self
            .items
            .iter()
            .filter(|item| item.treatment != Treatment::Delete)
            .filter_map(|item| self.definitions.get(&(item.id.group.clone(), item.id.kind.clone())).copied())
            .collect();
        let definitions: BTreeSet<TaskId> = self.definitions.values().copied().collect();
        let namespaces: BTreeSet<TaskId> = self.namespaces.values().copied().collect();
        let preference = |task: TaskId| match task {
            task if needed.contains(&task) => 0,
            task if namespaces.contains(&task) || definitions.contains(&task) => 1,
            _ => 2,
        };
        (0..self.items.len()).map(preference).collect()
    }

    /// The tasks as views need them.
    pub(crate) fn tasks(&self) -> Vec<PlannedTask> {
        let planned = |(item, task): (&Item, &Task)| PlannedTask {
            object: item.title.clone(),
            file: task.file.to_string(),
            level: task.level().map(str::to_owned),
            component: task.component().map(str::to_owned),
            step: match (item.treatment, item.role) {
                (Treatment::Delete, _) => Step::Delete,
                (_, Role::Gate) => Step::Gate,
                (_, Role::Barrier) => Step::Job,
                (_, Role::Plain) => Step::Apply,
            },
        };
        self.items.iter().zip(&self.graph.tasks).map(planned).collect()
    }

    /// The run levels, in order.
    pub(crate) fn levels(&self) -> Vec<Level> {
        self.levels.clone()
    }
}

/// Which object a manifest means: the namespace counts where the kind has one, and is the one of the options where it is left out.
fn identity(rules: &Rules, options: &PlanOptions, manifest: &Value) -> ResourceId {
    let mut id = ResourceId::of(manifest);
    match rules.is_namespaced(object::api_version(manifest), &id.kind) {
        Some(false) => id.namespace.clear(),
        Some(true) if id.namespace.is_empty() => {
            options.namespace.as_deref().unwrap_or("default").clone_into(&mut id.namespace);
        }
        _ => {}
    }
    id
}

/// `Kind namespace/name`.
pub(crate) fn title(id: &ResourceId) -> ObjectText {
    if id.namespace.is_empty() {
        format!("{} {}", id.kind, id.name)
    } else {
        format!("{} {}/{}", id.kind, id.namespace, id.name)
    }
}

fn levels(graph: &Graph) -> Vec<Level> {
    let level = |stage: lockstep_graph::Stage| Level {
        name: stage.level_text().unwrap_or_else(|| "–".to_owned()),
        tasks: stage.lanes.into_iter().flat_map(|lane| lane.tasks).collect(),
    };
    stages(graph).into_iter().map(level).collect()
}
