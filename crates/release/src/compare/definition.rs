//! Changes of a custom resource definition after which something that worked does not.
//!
//! The server would accept all of them. Those who use the kind notice: a version that they ask for is gone, or objects
//! that were valid are refused at the next write.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use lockstep_payload::{Manifest, Presence, Space};

use super::schema;
use super::variants::{Pair, overlap};

/// One incompatible change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Incompatible {
    /// What kind of change; a stable word.
    pub rule: &'static str,
    /// Where in the definition, or in objects of its kind: `v1 spec.replicas`.
    pub path: String,
    /// What no longer works, in a sentence.
    pub message: String,
}

/// What no longer works, over all variants of a definition.
///
/// A variant is compared with each one that can take its place in some cluster: two variants for two feature sets may
/// have become one.
pub(super) fn judge(pairs: &[Pair<'_>], (old_space, new_space): &(Space, Space)) -> Vec<Incompatible> {
    let mut found = BTreeSet::new();
    let after: Vec<&Manifest> = pairs.iter().filter_map(|pair| pair.after).collect();
    // What the first release deletes was no definition that anybody used.
    let before = |pair: &Pair<'_>| pair.before.is_some_and(|before| !before.is_delete());
    let pairs: Vec<&Pair<'_>> = pairs.iter().filter(|pair| before(pair)).collect();
    if after.is_empty() && !pairs.is_empty() {
        found.insert(incompatible(
            "definition-removed",
            String::new(),
            "the release no longer has the definition: new clusters lack the kind, old ones keep it as it is",
        ));
    } else {
        let before: Vec<&Manifest> = pairs.iter().filter_map(|pair| pair.before).collect();
        for audience in forsaken((&before, old_space), (&after, new_space)) {
            let text = format!(
                "the release no longer has the definition for {audience}: new clusters of that kind lack it, old ones keep it as it is"
            );
            found.insert(incompatible("definition-removed", String::new(), text));
        }
    }
    for pair in pairs {
        let Some(before) = pair.before else { continue };
        let presence = old_space.presence(before);
        let follows = |candidate: &&&Manifest| {
            pair.after.is_some_and(|after| std::ptr::eq(after, **candidate))
                || overlap(&presence, &new_space.presence(candidate))
        };
        for candidate in after.iter().filter(follows) {
            if candidate.is_delete() {
                let text = "the release deletes the definition, and with it all objects of the kind";
                found.insert(incompatible("definition-deleted", String::new(), text));
            } else if before.object != candidate.object {
                compare(&before.object, &candidate.object, &mut found);
            }
        }
    }
    found.into_iter().collect()
}

/// The profiles and feature sets that had a variant and have none any more: `profile p, feature set Default`.
///
/// A variant that deletes counts: what it does is told by itself.
fn forsaken(
    (before, old_space): (&[&Manifest], &Space),
    (after, new_space): (&[&Manifest], &Space),
) -> Vec<String> {
    // Both are judged over the same clusters: one that only the first release names has lost what it had.
    let profiles = old_space.profiles.iter().chain(&new_space.profiles).cloned().collect();
    let all = Space::new(profiles, BTreeSet::new(), old_space.major_version);
    let old = Space { feature_sets: old_space.feature_sets.clone(), ..all.clone() };
    let new = Space { major_version: new_space.major_version, ..all };
    let presences = |space: &Space, manifests: &[&Manifest]| {
        let all = manifests.iter().map(|manifest| space.presence(manifest));
        all.filter(|presence| !presence.never).collect::<Vec<Presence>>()
    };
    let (before, after) = (presences(&old, before), presences(&new, after));
    let mut lost: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for profile in &old.profiles {
        let has = |all: &[Presence], set: &str| {
            all.iter().any(|one| one.profiles.contains(profile) && one.feature_sets.contains(set))
        };
        let sets: Vec<&str> =
            old.feature_sets.iter().copied().filter(|set| has(&before, set) && !has(&after, set)).collect();
        if !sets.is_empty() {
            lost.entry(sets).or_default().push(profile);
        }
    }
    let name = |word: &str, names: &[&str]| {
        format!("{word}{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
    };
    lost.iter()
        .map(|(sets, profiles)| format!("{}, {}", name("profile", profiles), name("feature set", sets)))
        .collect()
}

fn incompatible(rule: &'static str, path: String, message: impl Into<String>) -> Incompatible {
    Incompatible { rule, path, message: message.into() }
}

/// What two forms of one definition promise.
fn compare(before: &Value, after: &Value, found: &mut BTreeSet<Incompatible>) {
    let (before, after) = (&before["spec"], &after["spec"]);
    for (rule, pointer, what) in [
        ("scope-changed", "/scope", "scope"),
        ("name-changed", "/names/kind", "kind"),
        ("name-changed", "/names/plural", "plural name"),
        ("name-changed", "/group", "group"),
    ] {
        let text =
            |spec: &Value| spec.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (old, new) = (text(before), text(after));
        if old != new {
            let path = format!("spec{}", pointer.replace('/', "."));
            found.insert(incompatible(rule, path, format!("the {what} was {old} and is {new}")));
        }
    }
    if before["preserveUnknownFields"] == true && after["preserveUnknownFields"] != true {
        let text = "fields that the schema does not know were kept and are dropped";
        found.insert(incompatible("unknown-fields-dropped", "spec.preserveUnknownFields".to_owned(), text));
    }
    stored_version(before, after, found);
    for (name, old) in versions(before) {
        match versions(after).find(|(other, _)| *other == name) {
            None => {
                let path = format!("spec.versions[name={name:?}]");
                found.insert(incompatible("version-removed", path, format!("the version {name} is gone")));
            }
            Some((_, new)) => version(name, old, new, found),
        }
    }
}

fn versions(spec: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let all = spec["versions"].as_array().into_iter().flatten();
    all.map(|version| (version["name"].as_str().unwrap_or_default(), version))
}

fn stored_version(before: &Value, after: &Value, found: &mut BTreeSet<Incompatible>) {
    let stored = |spec| versions(spec).find(|(_, version)| version["storage"] == true).map(|(name, _)| name);
    if let (Some(old), Some(new)) = (stored(before), stored(after))
        && old != new
    {
        let text = format!(
            "objects were stored as {old} and are stored as {new}; those that are there stay {old} until they are written"
        );
        found.insert(incompatible("stored-version-changed", "spec.versions".to_owned(), text));
    }
}

fn version(name: &str, before: &Value, after: &Value, found: &mut BTreeSet<Incompatible>) {
    let path = format!("spec.versions[name={name:?}]");
    // NB: a version without the field is not served; the server requires it.
    if before["served"] == true && after["served"] != true {
        let text = format!("the version {name} is no longer served");
        found.insert(incompatible("version-not-served", path.clone(), text));
    }
    for part in ["status", "scale"] {
        let has = |version: &Value| version["subresources"].get(part).is_some();
        if has(before) && !has(after) {
            let text = format!("{name} no longer has the subresource {part}");
            found.insert(incompatible("subresource-removed", format!("{path}.subresources.{part}"), text));
        }
    }
    let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    for finding in schema::narrowed(&schema(before), &schema(after)) {
        let path = if finding.path.is_empty() { name.to_owned() } else { format!("{name} {}", finding.path) };
        found.insert(Incompatible { path, ..finding });
    }
}
