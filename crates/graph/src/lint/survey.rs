//! What the rules look at: the manifests of a release, who provides what, and in which clusters.

use std::cell::Cell;
use std::collections::BTreeMap;

use lockstep_api::names::{group, kind};
use lockstep_api::{ResourceId, object};
use lockstep_payload::{Folder, Manifest, Presence, Release, Space};
use lockstep_schema::Schema;
use serde_json::Value;

use super::{Finding, Rule, Scope, spelling};

/// How many steps one question about all clusters may take, and all questions together.
///
/// Real releases need a few steps per question; this only keeps a hostile one from running for hours.
const STEPS: (usize, usize) = (200_000, 2_000_000);

/// A release as the rules see it. Manifests are named by their index in load order.
pub(super) struct Survey<'a> {
    pub(super) release: &'a Release,
    pub(super) schema: &'static Schema,
    clusters: Clusters,
    by_id: BTreeMap<&'a ResourceId, Vec<usize>>,
    /// The CRDs by group and kind of what they define.
    crds: BTreeMap<&'a str, BTreeMap<&'a str, Vec<usize>>>,
    /// The Namespaces by name, deletes as well; some carry a namespace of their own, which means nothing.
    namespaces: BTreeMap<&'a str, Vec<usize>>,
}

/// Where something holds: in the selected or default cluster, or in another combination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Place {
    /// How far it is from the default cluster; 0 for the selected one.
    pub(super) deviations: usize,
    combination: Option<String>,
}

enum Clusters {
    /// Whether each manifest is selected.
    One(Vec<bool>),
    All {
        space: Space,
        presence: Vec<Presence>,
        /// Steps that are left for all further questions.
        steps: Cell<usize>,
        /// Questions that were given up.
        undecided: Cell<usize>,
    },
}

// === impl Survey ===

impl<'a> Survey<'a> {
    pub(super) fn new(release: &'a Release, scope: Scope<'_>) -> Self {
        let clusters = match scope {
            Scope::Selected(selection) => {
                Clusters::One(release.decide(selection).map(|(_, decision)| decision.is_ok()).collect())
            }
            Scope::AllCombinations => {
                // A misspelled profile is no profile; it would only repeat its finding as many others.
                let space = Space::of(release).with_profiles(|name| spelling::meant_profile(name).is_none());
                let presence = release.manifests.iter().map(|manifest| space.presence(manifest)).collect();
                let (steps, undecided) = (Cell::new(STEPS.1), Cell::new(0));
                Clusters::All { space, presence, steps, undecided }
            }
        };
        let mut by_id = BTreeMap::<_, Vec<_>>::new();
        let mut crds = BTreeMap::<_, BTreeMap<_, Vec<_>>>::new();
        let mut namespaces = BTreeMap::<_, Vec<_>>::new();
        for (index, manifest) in release.manifests.iter().enumerate() {
            by_id.entry(&manifest.id).or_default().push(index);
            if manifest.id.group.is_empty() && manifest.id.kind == kind::NAMESPACE {
                namespaces.entry(manifest.id.name.as_str()).or_default().push(index);
            }
            if manifest.is_crd() && !manifest.is_delete() {
                let spec = &manifest.object["spec"];
                let text = |value: &'a Value| value.as_str().unwrap_or_default();
                let kinds = crds.entry(text(&spec["group"])).or_default();
                kinds.entry(text(&spec["names"]["kind"])).or_default().push(index);
            }
        }
        Self { release, schema: Schema::builtin(), clusters, by_id, crds, namespaces }
    }

    pub(super) fn manifest(&self, index: usize) -> &'a Manifest {
        &self.release.manifests[index]
    }

    /// All manifests with their index.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &'a Manifest)> {
        self.release.manifests.iter().enumerate()
    }

    /// All manifests that create or change something.
    pub(super) fn applied(&self) -> impl Iterator<Item = (usize, &'a Manifest)> {
        self.all().filter(|(_, manifest)| !manifest.is_delete())
    }

    /// A place where all of `present` are selected and none of `absent`.
    pub(super) fn find(&self, present: &[usize], absent: &[usize]) -> Option<Place> {
        match &self.clusters {
            Clusters::One(selected) => {
                let is_there = |index: &usize| selected[*index];
                (present.iter().all(is_there) && !absent.iter().any(is_there)).then(Place::default)
            }
            Clusters::All { space, presence, steps, undecided } => {
                let of = |indices: &[usize]| -> Vec<&Presence> {
                    indices.iter().map(|index| &presence[*index]).collect()
                };
                let search = space.find(&of(present), &of(absent), STEPS.0.min(steps.get()));
                steps.set(steps.get() - search.steps);
                // A cluster that was found exists, even if there may be a smaller one.
                undecided.set(undecided.get() + usize::from(!search.is_complete && search.cluster.is_none()));
                let found = search.cluster?;
                let deviations = found.deviations(space);
                Some(Place { deviations, combination: (deviations > 0).then(|| found.to_string()) })
            }
        }
    }

    /// How many questions were given up because they took too long.
    pub(super) fn undecided(&self) -> usize {
        match &self.clusters {
            Clusters::One(_) => 0,
            Clusters::All { undecided, .. } => undecided.get(),
        }
    }

    /// A place where one manifest is selected.
    pub(super) fn find_one(&self, index: usize) -> Option<Place> {
        self.find(&[index], &[])
    }

    /// The first of some manifests in the cluster, among those where one of them is selected, nearest to the default.
    pub(super) fn nearest(&self, indices: &[usize]) -> Option<(usize, Place)> {
        let found = indices.iter().filter_map(|index| Some((*index, self.find_one(*index)?)));
        found.min_by_key(|(_, place)| place.deviations)
    }

    /// All manifests of one object, deletes as well.
    pub(super) fn named(&self, id: &ResourceId) -> &[usize] {
        self.by_id.get(id).map_or(&[], Vec::as_slice)
    }

    /// The groups of manifests that name the same object, deletes as well.
    pub(super) fn same_objects(&self) -> impl Iterator<Item = &[usize]> {
        self.by_id.values().map(Vec::as_slice).filter(|indices| indices.len() > 1)
    }

    /// The manifests that bring an object of the core group.
    pub(super) fn core(&self, kind: &str, namespace: &str, name: &str) -> Vec<usize> {
        let id = ResourceId::new("", kind, namespace, name);
        self.named(&id).iter().copied().filter(|index| !self.manifest(*index).is_delete()).collect()
    }

    /// The manifests that bring a namespace, and those that delete it.
    pub(super) fn namespaces(&self, name: &str) -> (Vec<usize>, Vec<usize>) {
        let all = self.namespaces.get(name).into_iter().flatten().copied();
        all.partition(|index| !self.manifest(*index).is_delete())
    }

    /// A manifest that deletes the CRD of a kind; such a manifest often has nothing but the name, which begins with
    /// the plural.
    pub(super) fn deleted_crd(&self, group: &str, kind: &str) -> Option<usize> {
        let singular = kind.to_lowercase();
        let usual = ["s", "es"].map(|ending| format!("{singular}{ending}.{group}"));
        let defines = |manifest: &Manifest| {
            let spec = &manifest.object["spec"];
            spec["group"] == group && spec["names"]["kind"] == kind || usual.contains(&manifest.id.name)
        };
        let deleted = self.all().filter(|(_, manifest)| manifest.is_delete() && manifest.is_crd());
        deleted.into_iter().find(|(_, manifest)| defines(manifest)).map(|(index, _)| index)
    }

    /// The CRDs of a kind, whatever their versions.
    pub(super) fn crds(&self, group: &str, kind: &str) -> &[usize] {
        self.crds.get(group).and_then(|kinds| kinds.get(kind)).map_or(&[], Vec::as_slice)
    }

    /// The `APIServices` of a group and version: another server serves its kinds.
    pub(super) fn api_services(&self, group: &str, version: &str) -> Vec<usize> {
        let id =
            ResourceId::new(group::API_REGISTRATION, kind::API_SERVICE, "", format!("{version}.{group}"));
        self.named(&id).iter().copied().filter(|index| !self.manifest(*index).is_delete()).collect()
    }

    /// Whether the kind of an object lives in namespaces, as far as the schema or a CRD of the release says so.
    pub(super) fn is_namespaced(&self, manifest: &Manifest) -> Option<bool> {
        if let Some(kind) = self.schema.kind(&manifest.api_version, &manifest.id.kind) {
            return Some(kind.namespaced);
        }
        let crd = self.crds(&manifest.id.group, &manifest.id.kind).first()?;
        Some(self.manifest(*crd).object["spec"]["scope"] == "Namespaced")
    }

    /// A finding about one manifest.
    pub(super) fn finding(
        &self,
        rule: &'static Rule,
        index: usize,
        place: Place,
        message: String,
    ) -> Finding {
        let manifest = self.manifest(index);
        Finding {
            rule,
            folder: manifest.folder,
            file: manifest.file.to_string(),
            line: manifest.line,
            api_version: manifest.api_version.clone(),
            object: manifest.id.clone(),
            message,
            combination: place.combination,
        }
    }

    /// A finding about a file of which no object was read.
    pub(super) fn file_finding(rule: &'static Rule, folder: Folder, file: &str, message: String) -> Finding {
        Finding {
            rule,
            folder,
            file: file.to_owned(),
            line: 1,
            api_version: String::new(),
            object: ResourceId::default(),
            message,
            combination: None,
        }
    }
}

/// `Deployment ns/name`, the way a sentence names an object.
pub(super) fn title(manifest: &Manifest) -> String {
    title_of(&manifest.id)
}

/// [`title`] of an identity.
pub(super) fn title_of(id: &ResourceId) -> String {
    let ResourceId { kind, namespace, name, .. } = id;
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

/// The component of a file: by run level, or by the classic form `NN_component_rest`.
pub(super) fn component(manifest: &Manifest) -> Option<&str> {
    if let Some(level) = &manifest.run_level {
        return Some(&level.component);
    }
    let (digits, rest) = manifest.file.split_once('_')?;
    let (name, _) = rest.split_once('_')?;
    let is_classic = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = name.bytes().any(|byte| byte.is_ascii_alphabetic());
    (is_classic && is_name).then_some(name)
}

/// Whether an object runs pods until it is removed.
pub(super) fn is_workload(manifest: &Manifest) -> bool {
    manifest.id.group == group::APPS
        && [kind::DEPLOYMENT, kind::DAEMON_SET, kind::STATEFUL_SET].contains(&manifest.id.kind.as_str())
}

/// The annotations as written, also where a value that is no string hides them from everybody else.
pub(super) fn raw_annotations(manifest: &Manifest) -> impl Iterator<Item = (&str, &Value)> {
    let annotations = manifest.object["metadata"]["annotations"].as_object();
    annotations.into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// The text at a path of fields, or the empty string.
pub(super) fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    path.iter().fold(value, |value, field| &value[*field]).as_str().unwrap_or_default()
}

/// The entries of a list at a path of fields.
pub(super) fn entries<'v>(value: &'v Value, path: &[&str]) -> impl Iterator<Item = &'v Value> + use<'v> {
    path.iter().fold(value, |value, field| &value[*field]).as_array().into_iter().flatten()
}

/// Whether annotations of an object hide each other; see [`object::annotations`].
pub(super) fn has_hidden_annotations(manifest: &Manifest) -> bool {
    let written = &manifest.object["metadata"]["annotations"];
    !written.is_null() && object::annotations(&manifest.object).is_none()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Objects, annotated, object};
    use super::*;

    #[test]
    fn a_question_without_steps_left_is_counted_and_one_in_one_cluster_needs_none() {
        let optional =
            annotated(object("v1", "ConfigMap", "default", "a"), "capability.openshift.io/name", "Console");
        let release = Objects::new()
            .file("0000_60_a_1.yaml", &[optional, object("v1", "ConfigMap", "default", "b")])
            .release();
        let survey = Survey::new(&release, Scope::AllCombinations);
        assert!(survey.find(&[1], &[0]).is_some());
        assert_eq!(survey.undecided(), 0);
        let Clusters::All { steps, .. } = &survey.clusters else { panic!("all were asked for") };
        steps.set(0);
        assert_eq!(survey.find(&[1], &[0]), None);
        assert_eq!(survey.undecided(), 1);
        let selection = super::super::default_selection(&release);
        let one = Survey::new(&release, Scope::Selected(&selection));
        assert_eq!((one.find(&[1], &[0]), one.undecided()), (None, 0));
    }
}
