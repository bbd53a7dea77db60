//! In which clusters an object of a release is present, as an exact algebra.
//!
//! Whether a manifest is selected is a conjunction: the profile is one of some, the feature set is one of some, the
//! exclude identifier is none of some, these gates are on and those off, these capabilities are on. A [`Presence`] is
//! that conjunction, a [`Combination`] is one cluster, a [`Space`] is all clusters that a release knows of. The one
//! question asked of them is [`Space::find`]: is there a cluster in which these objects are present and none of those?

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use lockstep_api::names::{annotation, feature_set, profile};
use lockstep_api::{capability, object};

use crate::capabilities::Capabilities;
use crate::manifest::Manifest;
use crate::release::Release;
use crate::selection::{Selection, capability_names, elements};

mod search;

pub use search::Search;

/// All clusters that a release knows of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// The profiles that the release names, the default one first where it is among them.
    pub profiles: Vec<String>,
    /// The feature sets, the default one first.
    pub feature_sets: Vec<&'static str>,
    /// The exclude identifiers that the release names, after the empty one that a cluster has by default.
    pub excludes: Vec<String>,
    /// Major version of the release.
    pub major_version: u64,
}

/// The condition under which one manifest is selected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Presence {
    /// The profiles that include it.
    pub profiles: BTreeSet<String>,
    /// The feature sets that include it, spelled out.
    pub feature_sets: BTreeSet<&'static str>,
    /// The exclude identifiers that leave it out.
    pub excluded_by: BTreeSet<String>,
    /// The gates that must be on (`true`) or off (`false`).
    pub gates: BTreeMap<String, bool>,
    /// The capabilities that must be on.
    pub capabilities: BTreeSet<String>,
    /// Whether no cluster selects it, whatever the other fields say.
    pub never: bool,
}

/// One cluster, told as what differs from the default one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combination {
    /// The profile.
    pub profile: String,
    /// The feature set, spelled out.
    pub feature_set: &'static str,
    /// The exclude identifier, empty for none.
    pub exclude: String,
    /// The gates that are on.
    pub gates: BTreeSet<String>,
    /// The capabilities that are switched off.
    pub disabled: BTreeSet<String>,
}

// === impl Space ===

impl Space {
    /// The clusters that a release knows of.
    ///
    /// A profile that it never names is not considered. Feature sets are: a cluster may choose any of them, so an object
    /// that forgets one is a gap. Only the community distribution's own set counts where the release names it, because
    /// such clusters run releases that were made for them.
    pub fn of(release: &Release) -> Self {
        let (mut profiles, mut excludes, mut is_community) = (BTreeSet::new(), BTreeSet::new(), false);
        for manifest in &release.manifests {
            let annotations = object::annotations(&manifest.object).unwrap_or_default();
            is_community |= annotations
                .get(annotation::FEATURE_SET)
                .is_some_and(|sets| sets.split(',').any(|set| set == feature_set::OKD));
            for key in annotations.into_keys() {
                if let Some(profile) = key.strip_prefix(annotation::INCLUDE_PREFIX) {
                    profiles.insert(profile.to_owned());
                } else if let Some(id) = key.strip_prefix(annotation::EXCLUDE_PREFIX) {
                    excludes.insert(id.to_owned());
                }
            }
        }
        let mut space = Self::new(profiles, excludes, release.major_version());
        space.feature_sets.retain(|set| is_community || *set != feature_set::OKD);
        space
    }

    /// The clusters with any feature set and these profiles and exclude identifiers.
    pub fn new(mut profiles: BTreeSet<String>, mut excludes: BTreeSet<String>, major_version: u64) -> Self {
        let default = profile::SELF_MANAGED_HIGH_AVAILABILITY.to_owned();
        let mut first = Vec::new();
        if profiles.remove(&default) || profiles.is_empty() {
            first.push(default);
        }
        excludes.remove("");
        Self {
            profiles: first.into_iter().chain(profiles).collect(),
            feature_sets: vec![
                feature_set::DEFAULT,
                feature_set::TECH_PREVIEW_NO_UPGRADE,
                feature_set::DEV_PREVIEW_NO_UPGRADE,
                feature_set::CUSTOM_NO_UPGRADE,
                feature_set::OKD,
            ],
            excludes: [String::new()].into_iter().chain(excludes).collect(),
            major_version,
        }
    }

    /// The same clusters without those whose profile is refused.
    #[must_use]
    pub fn with_profiles(&self, keep: impl Fn(&str) -> bool) -> Self {
        let profiles = self.profiles.iter().filter(|profile| keep(profile)).cloned().collect();
        let space = Self::new(profiles, BTreeSet::new(), self.major_version);
        Self { profiles: space.profiles, ..self.clone() }
    }

    /// The default cluster: the first profile, the default feature set, no gates, all capabilities.
    pub fn default_combination(&self) -> Combination {
        Combination {
            profile: self.profiles.first().cloned().unwrap_or_default(),
            feature_set: feature_set::DEFAULT,
            exclude: String::new(),
            gates: BTreeSet::new(),
            disabled: BTreeSet::new(),
        }
    }

    /// The condition under which a manifest is selected; it says for every cluster what [`Selection::check`] says.
    ///
    /// *Compatibility*: as there, a first-generation ClusterOperator without annotations is always present.
    pub fn presence(&self, manifest: &Manifest) -> Presence {
        let always = Presence {
            profiles: self.profiles.iter().cloned().collect(),
            feature_sets: self.feature_sets.iter().copied().collect(),
            excluded_by: BTreeSet::new(),
            gates: BTreeMap::new(),
            capabilities: BTreeSet::new(),
            never: false,
        };
        let Some(annotations) = object::annotations(&manifest.object) else {
            return Presence { never: !manifest.is_first_generation(), ..always };
        };
        let is_true = |prefix: &str, name: &str| {
            annotations.get(format!("{prefix}{name}").as_str()).copied() == Some("true")
        };
        let mut found = always;
        found.profiles.retain(|profile| is_true(annotation::INCLUDE_PREFIX, profile));
        found.excluded_by =
            self.excludes.iter().filter(|id| is_true(annotation::EXCLUDE_PREFIX, id)).cloned().collect();
        if let Some(value) = annotations.get(annotation::FEATURE_SET) {
            let sets: BTreeSet<&str> = value.split(',').collect();
            found.never |= sets.iter().any(|set| !feature_set::ALL.contains(set));
            found.never |= annotations.contains_key(annotation::FEATURE_GATE);
            found.feature_sets.retain(|set| sets.contains(set));
        }
        for element in elements(annotations.get(annotation::FEATURE_GATE).unwrap_or(&"")) {
            let (gate, on) = element.strip_prefix('-').map_or((element, true), |gate| (gate, false));
            found.never |= found.gates.insert(gate.to_owned(), on).is_some_and(|before| before != on);
        }
        let by_major = Selection { major_version: Some(self.major_version), ..Selection::default() };
        found.never |= by_major.check(manifest).is_err();
        let names = capability_names(annotations.get(annotation::CAPABILITY).copied());
        found.never |= names.iter().any(|name| !capability::KNOWN.contains(name));
        found.capabilities = names.into_iter().map(str::to_owned).collect();
        found
    }
}

// === impl Presence ===

impl Presence {
    /// Whether the object is present in a cluster.
    pub fn holds(&self, cluster: &Combination) -> bool {
        !self.never
            && self.profiles.contains(&cluster.profile)
            && self.feature_sets.contains(cluster.feature_set)
            && !self.excluded_by.contains(&cluster.exclude)
            && self.gates.iter().all(|(gate, on)| cluster.gates.contains(gate) == *on)
            && self.capabilities.iter().all(|name| cluster.has_capability(name))
    }

    /// Whether the other object is present wherever this one is, as far as the two conditions show it.
    pub fn implies(&self, other: &Self) -> bool {
        self.never
            || !other.never
                && self.profiles.is_subset(&other.profiles)
                && self.feature_sets.is_subset(&other.feature_sets)
                && other.excluded_by.is_subset(&self.excluded_by)
                && other.gates.iter().all(|(gate, on)| self.gates.get(gate) == Some(on))
                && other.capabilities.is_subset(&self.capabilities)
    }
}

// === impl Combination ===

impl Combination {
    /// Whether a capability is on: not switched off, and known under the gates of the cluster.
    pub fn has_capability(&self, name: &str) -> bool {
        !self.disabled.contains(name)
            && capability::GATED
                .iter()
                .find(|gated| gated.capability == name)
                .is_none_or(|gated| gated.is_known(|gate| self.gates.contains(gate)))
    }

    /// The filters of this cluster.
    pub fn selection(&self, space: &Space) -> Selection {
        let mut capabilities = Capabilities::all(&self.gates);
        capabilities.enabled.retain(|name| !self.disabled.contains(name));
        Selection {
            exclude: Some(self.exclude.clone()),
            feature_set: Some(self.feature_set.to_owned()),
            feature_gates: Some(self.gates.clone()),
            major_version: Some(space.major_version),
            profile: Some(self.profile.clone()),
            capabilities: Some(capabilities.filter()),
            overrides: Vec::new(),
        }
    }

    /// How many things differ from the default cluster.
    pub fn deviations(&self, space: &Space) -> usize {
        usize::from(Some(&self.profile) != space.profiles.first())
            + usize::from(self.feature_set != feature_set::DEFAULT)
            + usize::from(!self.exclude.is_empty())
            + self.gates.len()
            + self.disabled.len()
    }
}

/// `profile hypershift, feature set Default, gate A on, capability B off, exclude C`.
impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "profile {}, feature set {}", self.profile, self.feature_set)?;
        for gate in &self.gates {
            write!(f, ", gate {gate} on")?;
        }
        for name in &self.disabled {
            write!(f, ", capability {name} off")?;
        }
        if !self.exclude.is_empty() {
            write!(f, ", exclude {}", self.exclude)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "presence_tests.rs"]
mod tests;
