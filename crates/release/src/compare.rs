//! What differs between two releases: objects field by field, images, capabilities, run levels, deletions, and which
//! changes of custom resource definitions are incompatible.
//!
//! An object is the same object when group, kind, namespace and name are; of one object a release may hold several
//! variants, for instance one for each feature set. `variants` finds which belong together, `definition` judges
//! what changes for those who use a kind.

pub mod definition;
mod images;
mod page;
mod schema;
mod text;
mod variants;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use lockstep_api::ResourceId;
use lockstep_api::names::{annotation, group, kind};
use lockstep_payload::changes::{FieldChange, all_changes};
use lockstep_payload::selection::capability_names;
use lockstep_payload::{Folder, Manifest, Release, Space};

pub use definition::Incompatible;
pub use images::{ImageDiff, ImagesDiff, compare as compare_images};
pub use text::Only;
pub use words::Cause;

use variants::Pair;
use words::Words;

/// What differs between two releases; the field names are a published format.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseDiff {
    /// Format of this object.
    pub api_version: &'static str,
    /// Always `ReleaseDiff`.
    pub kind: &'static str,
    /// The release that is left.
    pub from: Side,
    /// The release that is gone to.
    pub to: Side,
    /// Whether the second release says that it can be reached from the first.
    pub update_declared: bool,
    /// Objects of `release-manifests/`: everybody's.
    pub release_manifests: Counts,
    /// Objects of `manifests/`: those of the operator itself.
    pub manifests: Counts,
    /// How many changes of definitions are incompatible.
    pub incompatible: usize,
    /// Objects that are new, gone or not as they were, in load order.
    pub objects: Vec<ObjectDiff>,
    /// Objects that run at another level or in another component.
    pub moved: Vec<Move>,
    /// Files that have another name at the same level and component.
    pub renamed: Vec<Rename>,
    /// Objects that the second release deletes and the first did not.
    pub deletions: Vec<Deletion>,
    /// Capabilities.
    pub capabilities: CapabilitiesDiff,
    /// Images.
    pub images: ImagesDiff,
}

/// One of the two releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// Its version.
    pub version: String,
    /// When its images were put together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// How many objects were compared, each variant for itself.
    pub objects: usize,
    /// How many images it lists.
    pub images: usize,
}

/// How many objects differ, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Only in the second.
    pub added: usize,
    /// Only in the first.
    pub removed: usize,
    /// In both, and not the same.
    pub changed: usize,
}

/// What became of an object or of one variant of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Only in the second.
    Added,
    /// Only in the first.
    Removed,
    /// In both, and not the same.
    Changed,
}

/// One object that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectDiff {
    /// What became of it.
    pub change: Change,
    /// Which object.
    #[serde(flatten)]
    pub id: ResourceId,
    /// Which of the two folders.
    pub folder: Folder,
    /// Run level and component of its first file; empty where the name gives none.
    pub component: String,
    /// What made it change; for objects that are in both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Whether the second release deletes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// The variants that differ.
    pub variants: Vec<VariantDiff>,
    /// What no longer works for those who use the kind that it defines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incompatible: Vec<Incompatible>,
}

/// One variant of an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VariantDiff {
    /// What became of it.
    pub change: Change,
    /// Its file, in the second release where it is there.
    pub file: String,
    /// For which clusters it is, where the object has several variants.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub audience: String,
    /// The fields that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldDiff>,
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldDiff {
    /// Where and what.
    #[serde(flatten)]
    pub change: FieldChange,
    /// The images that it names, by component.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageMention>,
    /// The same in words, with images by component and commit.
    #[serde(skip)]
    pub shown: FieldChange,
}

/// An image that a field names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageMention {
    /// Name of its tag.
    pub name: String,
    /// Commit of its source before, where it was named and known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_commit: Option<String>,
    /// Commit of its source now, where it is named and known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_commit: Option<String>,
}

/// An object that runs at another level or in another component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// Which object.
    #[serde(flatten)]
    pub id: ResourceId,
    /// Where it ran, as `level component`.
    pub from: String,
    /// Where it runs.
    pub to: String,
}

/// A file with another name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rename {
    /// Its name before.
    pub from: String,
    /// Its name now.
    pub to: String,
    /// How many objects went with it.
    pub objects: usize,
}

/// An object that the second release deletes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// Which object.
    #[serde(flatten)]
    pub id: ResourceId,
    /// The file that deletes it.
    pub file: String,
    /// Whether the first release held it.
    pub was_there: bool,
}

/// Capabilities that are new, gone, or named by other objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesDiff {
    /// Only in the second.
    pub added: Vec<String>,
    /// Only in the first.
    pub removed: Vec<String>,
    /// Objects that need other capabilities than before.
    pub moved: Vec<Move>,
}

/// Compares two releases.
pub fn compare(from: &Release, to: &Release) -> ReleaseDiff {
    let words = (Words::of(from), Words::of(to));
    let spaces = (Space::of(from), Space::of(to));
    let (old, new) = (by_id(from), by_id(to));
    let mut diff = ReleaseDiff {
        api_version: "lockstep.dev/v1",
        kind: "ReleaseDiff",
        from: side(from),
        to: side(to),
        update_declared: to.metadata.previous.contains(&from.metadata.version.to_string()),
        release_manifests: Counts::default(),
        manifests: Counts::default(),
        incompatible: 0,
        objects: Vec::new(),
        moved: Vec::new(),
        renamed: Vec::new(),
        deletions: Vec::new(),
        capabilities: capabilities(from, to),
        images: images::compare(&from.images, &to.images),
    };
    let mut renames: BTreeMap<(String, String), usize> = BTreeMap::new();
    for id in old.keys().chain(new.keys()).copied().collect::<BTreeSet<_>>() {
        let none = Vec::new();
        let (before, after) = (old.get(id).unwrap_or(&none), new.get(id).unwrap_or(&none));
        let pairs = variants::pair(before, after);
        diff.objects.extend(object(id, &pairs, &words, &spaces));
        diff.deletions.extend(deletion(id, before, after));
        note_moves(id, &pairs, &mut diff, &mut renames);
    }
    // By file, then by name: the order in which the release is applied.
    diff.objects.sort_by(|a, b| (first_file(a), &a.id).cmp(&(first_file(b), &b.id)));
    for object in &diff.objects {
        let counts = match object.folder {
            Folder::Manifests => &mut diff.manifests,
            Folder::ReleaseManifests => &mut diff.release_manifests,
        };
        match object.change {
            Change::Added => counts.added += 1,
            Change::Removed => counts.removed += 1,
            Change::Changed => counts.changed += 1,
        }
        diff.incompatible += object.incompatible.len();
    }
    diff.renamed = renames.into_iter().map(|((from, to), objects)| Rename { from, to, objects }).collect();
    diff
}

fn side(release: &Release) -> Side {
    Side {
        version: release.metadata.version.to_string(),
        created: release.images.creation_timestamp.clone(),
        objects: release.manifests.len(),
        images: release.images.tags.len(),
    }
}

fn by_id(release: &Release) -> BTreeMap<&ResourceId, Vec<&Manifest>> {
    let mut found: BTreeMap<&ResourceId, Vec<&Manifest>> = BTreeMap::new();
    for manifest in &release.manifests {
        found.entry(&manifest.id).or_default().push(manifest);
    }
    found
}

fn first_file(object: &ObjectDiff) -> &str {
    object.variants.first().map_or("", |variant| &variant.file)
}

/// What became of one object; nothing when every variant is as it was.
fn object(
    id: &ResourceId,
    pairs: &[Pair<'_>],
    words: &(Words, Words),
    spaces: &(Space, Space),
) -> Option<ObjectDiff> {
    let is_new = pairs.iter().all(|pair| pair.before.is_none());
    let is_gone = pairs.iter().all(|pair| pair.after.is_none());
    let change = match (is_new, is_gone) {
        (true, _) => Change::Added,
        (_, true) => Change::Removed,
        _ => Change::Changed,
    };
    let has_variants = pairs.len() > 1;
    let differing: Vec<&Pair<'_>> = pairs.iter().filter(|pair| !pair.is_same()).collect();
    if differing.is_empty() {
        return None;
    }
    let first =
        pairs.iter().find_map(|pair| pair.after).or_else(|| pairs.iter().find_map(|pair| pair.before))?;
    let causes = differing.iter().map(|pair| words::cause(pair, words));
    Some(ObjectDiff {
        change,
        id: id.clone(),
        folder: first.folder,
        component: place(first),
        cause: (change == Change::Changed).then(|| causes.reduce(Cause::and)).flatten(),
        deleted: pairs.iter().filter_map(|pair| pair.after).any(Manifest::is_delete),
        variants: differing.iter().map(|pair| variant(pair, words, has_variants)).collect(),
        incompatible: if first.is_crd() { definition::judge(pairs, spaces) } else { Vec::new() },
    })
}

fn variant(pair: &Pair<'_>, words: &(Words, Words), has_variants: bool) -> VariantDiff {
    let audience = |manifest: &Manifest| {
        if has_variants { variants::audience(manifest) } else { String::new() }
    };
    let named = |change, manifest: &Manifest| VariantDiff {
        change,
        file: manifest.file.to_string(),
        audience: audience(manifest),
        fields: Vec::new(),
    };
    match (pair.before, pair.after) {
        (Some(before), Some(after)) => VariantDiff {
            fields: all_changes(&before.object, &after.object)
                .into_iter()
                .map(|change| words::field(change, words))
                .collect(),
            ..named(Change::Changed, after)
        },
        (None, Some(after)) => named(Change::Added, after),
        (Some(before), None) => named(Change::Removed, before),
        (None, None) => VariantDiff {
            change: Change::Changed,
            file: String::new(),
            audience: String::new(),
            fields: Vec::new(),
        },
    }
}

/// Deleted now, and not so before.
fn deletion(id: &ResourceId, before: &[&Manifest], after: &[&Manifest]) -> Option<Deletion> {
    let deletes = after.iter().find(|manifest| manifest.is_delete())?;
    let was_deleted = before.iter().any(|manifest| manifest.is_delete());
    (!was_deleted).then(|| Deletion {
        id: id.clone(),
        file: deletes.file.to_string(),
        was_there: !before.is_empty(),
    })
}

fn note_moves(
    id: &ResourceId,
    pairs: &[Pair<'_>],
    diff: &mut ReleaseDiff,
    renames: &mut BTreeMap<(String, String), usize>,
) {
    let both = pairs.iter().filter_map(|pair| Some((pair.before?, pair.after?)));
    for (before, after) in both.filter(|(before, after)| before.file != after.file) {
        if before.run_level == after.run_level {
            *renames.entry((before.file.to_string(), after.file.to_string())).or_default() += 1;
            continue;
        }
        let moved = Move { id: id.clone(), from: place(before), to: place(after) };
        if !diff.moved.contains(&moved) {
            diff.moved.push(moved);
        }
    }
    let needs = |manifest: Option<&Manifest>| {
        manifest
            .and_then(|manifest| manifest.annotation(annotation::CAPABILITY))
            .unwrap_or_default()
            .to_owned()
    };
    let both = pairs.iter().filter(|pair| pair.before.is_some() && pair.after.is_some());
    for pair in both.filter(|pair| needs(pair.before) != needs(pair.after)) {
        let moved = Move { id: id.clone(), from: needs(pair.before), to: needs(pair.after) };
        if !diff.capabilities.moved.contains(&moved) {
            diff.capabilities.moved.push(moved);
        }
    }
}

/// `level component`, or the file where its name gives none.
fn place(manifest: &Manifest) -> String {
    match &manifest.run_level {
        Some(found) => format!("{} {}", found.level, found.component),
        None => manifest.file.to_string(),
    }
}

fn capabilities(from: &Release, to: &Release) -> CapabilitiesDiff {
    let (old, new) = (capabilities_of(from), capabilities_of(to));
    CapabilitiesDiff {
        added: new.difference(&old).cloned().collect(),
        removed: old.difference(&new).cloned().collect(),
        moved: Vec::new(),
    }
}

/// Those that objects name, and those that the ClusterVersion of the release knows.
fn capabilities_of(release: &Release) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for manifest in &release.manifests {
        let names = capability_names(manifest.annotation(annotation::CAPABILITY));
        found.extend(names.into_iter().map(str::to_owned));
        if manifest.is_crd()
            && manifest.object["spec"]["group"] == group::CONFIG
            && manifest.object["spec"]["names"]["kind"] == kind::CLUSTER_VERSION
        {
            found.extend(known_to(&manifest.object));
        }
    }
    found
}

fn known_to(definition: &Value) -> Vec<String> {
    const CHOICE: &str = "/schema/openAPIV3Schema/properties/spec/properties/capabilities/properties/additionalEnabledCapabilities/items/enum";
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let choices = versions.filter_map(|version| version.pointer(CHOICE)?.as_array());
    choices.flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

// === impl ReleaseDiff ===

impl ReleaseDiff {
    /// Whether the two hold the same: no object, image, place or file name differs.
    pub fn is_empty(&self) -> bool {
        let capabilities = &self.capabilities;
        self.objects.is_empty()
            && self.moved.is_empty()
            && self.renamed.is_empty()
            && self.images.is_empty()
            && capabilities.added.is_empty()
            && capabilities.removed.is_empty()
    }
}

#[cfg(test)]
#[path = "compare/tests.rs"]
mod tests;
