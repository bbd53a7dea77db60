//! Which variants of an object belong together in two releases.

use lockstep_api::names::annotation;
use lockstep_api::object;
use lockstep_payload::{Manifest, Presence};

/// A variant in the first release, in the second, or in both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) before: Option<&'a Manifest>,
    pub(super) after: Option<&'a Manifest>,
}

// === impl Pair ===

impl Pair<'_> {
    pub(super) fn is_same(&self) -> bool {
        match (self.before, self.after) {
            (Some(before), Some(after)) => before.object == after.object,
            _ => false,
        }
    }
}

/// How alike two variants may be, the best first.
const LIKENESS: [fn(&Manifest, &Manifest) -> bool; 5] = [
    |before, after| before.object == after.object && before.file == after.file,
    |before, after| before.object == after.object,
    |before, after| audience(before) == audience(after) && before.file == after.file,
    |before, after| audience(before) == audience(after),
    |before, after| before.file == after.file,
];

/// Pairs the variants of one object: equal ones first, then those for the same clusters, then those of one file, then
/// the only one that is left on each side. What is still alone is new or gone.
pub(super) fn pair<'a>(before: &[&'a Manifest], after: &[&'a Manifest]) -> Vec<Pair<'a>> {
    let mut old: Vec<&Manifest> = before.to_vec();
    let mut found: Vec<(usize, Pair<'a>)> = Vec::new();
    let mut open: Vec<(usize, &Manifest)> = after.iter().copied().enumerate().collect();
    for is_alike in LIKENESS {
        open.retain(|&(place, new)| match old.iter().position(|old| is_alike(old, new)) {
            Some(at) => {
                found.push((place, Pair { before: Some(old.remove(at)), after: Some(new) }));
                false
            }
            None => true,
        });
    }
    if let ([(place, new)], [only]) = (open.as_slice(), old.as_slice()) {
        found.push((*place, Pair { before: Some(only), after: Some(new) }));
        (open, old) = (Vec::new(), Vec::new());
    }
    found.extend(open.into_iter().map(|(place, new)| (place, Pair { before: None, after: Some(new) })));
    found.sort_by_key(|(place, _)| *place);
    let gone = old.into_iter().map(|old| Pair { before: Some(old), after: None });
    found.into_iter().map(|(_, pair)| pair).chain(gone).collect()
}

/// For which clusters a variant is, by its annotations: `feature-set=Default, ibm-cloud-managed`.
pub(super) fn audience(manifest: &Manifest) -> String {
    let annotations = object::annotations(&manifest.object).unwrap_or_default();
    let mut parts = Vec::new();
    for key in
        [annotation::FEATURE_SET, annotation::FEATURE_GATE, annotation::MAJOR_VERSION, annotation::CAPABILITY]
    {
        if let Some(value) = annotations.get(key) {
            let (_, name) = key.rsplit_once('/').unwrap_or(("", key));
            parts
                .push(format!("{}={value}", if key == annotation::CAPABILITY { "capability" } else { name }));
        }
    }
    for (key, value) in &annotations {
        if let Some(profile) = key.strip_prefix(annotation::INCLUDE_PREFIX) {
            parts.push(if *value == "true" { profile.to_owned() } else { format!("{profile}={value}") });
        } else if let Some(id) = key.strip_prefix(annotation::EXCLUDE_PREFIX) {
            parts.push(format!("not {id}"));
        }
    }
    parts.join(", ")
}

/// Whether some cluster can hold both: one before an update, the other behind it.
pub(super) fn overlap(a: &Presence, b: &Presence) -> bool {
    let agree = |(gate, on): (&String, &bool)| b.gates.get(gate).is_none_or(|other| other == on);
    !a.never
        && !b.never
        && !a.profiles.is_disjoint(&b.profiles)
        && !a.feature_sets.is_disjoint(&b.feature_sets)
        && a.gates.iter().all(agree)
}
