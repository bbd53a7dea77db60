//! The search for the smallest cluster that has some objects and not some others.
//!
//! Exact: the objects that must be there leave a set of clusters; each object that must not be there is made absent by
//! breaking one of its conditions, and every way to break it is tried. What cannot become smaller than the best cluster
//! found so far is cut off.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::capability::{GATED, Gated};
use lockstep_api::names::feature_set;

use super::{Combination, Presence, Space};

impl Space {
    /// The smallest cluster in which all of `present` are selected and none of `absent`: the one with the fewest
    /// deviations from the default cluster.
    pub fn find(&self, present: &[&Presence], absent: &[&Presence]) -> Option<Combination> {
        let start =
            present.iter().try_fold(Clusters::all(self), |clusters, presence| clusters.with(presence))?;
        // An object that is present wherever one of `present` is can never be made absent, and one that is present
        // only where another of `absent` is asks nothing of its own.
        if absent.iter().any(|other| present.iter().any(|wanted| wanted.implies(other))) {
            return None;
        }
        let mut absent: Vec<&Presence> = absent.to_vec();
        absent.sort_unstable();
        absent.dedup();
        let open: Vec<&Presence> = absent
            .iter()
            .filter(|one| !absent.iter().any(|other| one != &other && one.implies(other)))
            .copied()
            .collect();
        let mut best = None;
        self.search(&start, &open, &mut best);
        best
    }

    /// The smallest cluster in which `object` is selected and none of `without`.
    pub fn present_without(&self, object: &Presence, without: &[&Presence]) -> Option<Combination> {
        self.find(&[object], without)
    }

    fn search<'a>(
        &'a self,
        clusters: &Clusters<'a>,
        absent: &[&'a Presence],
        best: &mut Option<Combination>,
    ) {
        if best.as_ref().is_some_and(|best| clusters.deviations(self) >= best.deviations(self)) {
            return;
        }
        let open: Vec<_> = absent.iter().copied().filter(|presence| !clusters.exclude(presence)).collect();
        let ways = open.iter().map(|presence| clusters.without(presence)).min_by_key(Vec::len);
        match ways.or_else(|| clusters.with_a_missing_gate()) {
            Some(ways) => ways.into_iter().for_each(|way| self.search(&way, &open, best)),
            None => *best = Some(clusters.smallest(self)),
        }
    }
}

/// A set of clusters: what is still free about each part of a combination.
#[derive(Debug, Clone)]
struct Clusters<'a> {
    profiles: BTreeSet<&'a str>,
    feature_sets: BTreeSet<&'static str>,
    excludes: BTreeSet<&'a str>,
    /// Decided gates; the others are free.
    gates: BTreeMap<&'a str, bool>,
    /// Decided capabilities; the others are free.
    capabilities: BTreeMap<&'a str, bool>,
}

// === impl Clusters ===

impl<'a> Clusters<'a> {
    fn all(space: &'a Space) -> Self {
        Self {
            profiles: space.profiles.iter().map(String::as_str).collect(),
            feature_sets: space.feature_sets.iter().copied().collect(),
            excludes: space.excludes.iter().map(String::as_str).collect(),
            gates: BTreeMap::new(),
            capabilities: BTreeMap::new(),
        }
    }

    /// Those of the clusters in which an object is present.
    fn with(mut self, presence: &'a Presence) -> Option<Self> {
        self.profiles.retain(|profile| presence.profiles.contains(*profile));
        self.feature_sets.retain(|set| presence.feature_sets.contains(set));
        self.excludes.retain(|id| !presence.excluded_by.contains(*id));
        for (gate, on) in &presence.gates {
            if self.gates.insert(gate, *on).is_some_and(|before| before != *on) {
                return None;
            }
        }
        for name in &presence.capabilities {
            self.capabilities.insert(name, true);
        }
        let empty = self.profiles.is_empty() || self.feature_sets.is_empty() || self.excludes.is_empty();
        (!presence.never && !empty).then_some(self)
    }

    /// Whether an object is absent in all of them already.
    fn exclude(&self, presence: &Presence) -> bool {
        presence.never
            || !self.profiles.iter().any(|profile| presence.profiles.contains(*profile))
            || self.feature_sets.is_disjoint(&presence.feature_sets)
            || self.excludes.iter().all(|id| presence.excluded_by.contains(*id))
            || presence.gates.iter().any(|(gate, on)| self.gates.get(gate.as_str()) == Some(&!on))
            || presence.capabilities.iter().any(|name| self.is_off(name))
    }

    fn is_off(&self, capability: &str) -> bool {
        self.capabilities.get(capability) == Some(&false)
            || gates_of(capability)
                .is_some_and(|gated| gated.any_of.iter().all(|gate| self.gates.get(gate) == Some(&false)))
    }

    /// Every way to make an object absent that is present in some of the clusters.
    ///
    /// The ways overlap; together they are all clusters without the object. The reader of a finding understands a
    /// switched capability better than an exclude identifier, so the ways come in that order and the first of equally
    /// small clusters wins.
    fn without(&self, presence: &'a Presence) -> Vec<Self> {
        let mut ways = Vec::new();
        let mut other = self.clone();
        other.feature_sets.retain(|set| !presence.feature_sets.contains(set));
        if !other.feature_sets.is_empty() {
            ways.push(other);
        }
        for (gate, on) in presence.gates.iter().filter(|(gate, _)| !self.gates.contains_key(gate.as_str())) {
            let mut other = self.clone();
            other.gates.insert(gate, !on);
            ways.push(other);
        }
        for name in &presence.capabilities {
            ways.extend(self.without_gates_of(name));
            if !self.capabilities.contains_key(name.as_str()) {
                let mut other = self.clone();
                other.capabilities.insert(name, false);
                ways.push(other);
            }
        }
        let mut other = self.clone();
        other.profiles.retain(|profile| !presence.profiles.contains(*profile));
        if !other.profiles.is_empty() {
            ways.push(other);
        }
        let mut other = self.clone();
        other.excludes.retain(|id| presence.excluded_by.contains(*id));
        if !other.excludes.is_empty() {
            ways.push(other);
        }
        ways
    }

    /// Those of the clusters in which a capability is unknown because its gates are off.
    fn without_gates_of(&self, capability: &str) -> Option<Self> {
        let gated = gates_of(capability)?;
        let is_required = self.capabilities.get(capability) == Some(&true);
        let is_on = gated.any_of.iter().any(|gate| self.gates.get(gate) == Some(&true));
        let mut other = self.clone();
        other.gates.extend(gated.any_of.iter().map(|gate| (*gate, false)));
        (!is_required && !is_on).then_some(other)
    }

    /// A capability that must be on and is known only where one of its gates is: every gate that would do.
    fn with_a_missing_gate(&self) -> Option<Vec<Self>> {
        let required = self.capabilities.iter().filter(|(_, on)| **on).filter_map(|(name, _)| gates_of(name));
        let is_on = |gate: &&str| self.gates.get(gate) == Some(&true);
        let missing = required.into_iter().find(|gated| !gated.any_of.iter().any(is_on))?;
        let free = missing.any_of.iter().filter(|gate| !self.gates.contains_key(*gate));
        let turn_on = |gate: &&'static str| {
            let mut other = self.clone();
            other.gates.insert(gate, true);
            other
        };
        Some(free.map(turn_on).collect())
    }

    /// How many deviations every one of the clusters has at least.
    fn deviations(&self, space: &Space) -> usize {
        let default = space.profiles.first().map(String::as_str).unwrap_or_default();
        usize::from(!self.profiles.contains(default))
            + usize::from(!self.feature_sets.contains(feature_set::DEFAULT))
            + usize::from(!self.excludes.contains(""))
            + self.gates.values().filter(|on| **on).count()
            + self.capabilities.values().filter(|on| !**on).count()
    }

    /// The one with the fewest deviations: whatever is free stays as in the default cluster.
    fn smallest(&self, space: &Space) -> Combination {
        let mut found = space.default_combination();
        if let Some(profile) = space.profiles.iter().find(|one| self.profiles.contains(one.as_str())) {
            found.profile.clone_from(profile);
        }
        if let Some(set) = space.feature_sets.iter().find(|set| self.feature_sets.contains(*set)) {
            found.feature_set = set;
        }
        if let Some(id) = space.excludes.iter().find(|id| self.excludes.contains(id.as_str())) {
            found.exclude.clone_from(id);
        }
        let owned = |decided: &BTreeMap<&str, bool>, value: bool| {
            decided.iter().filter(|(_, on)| **on == value).map(|(name, _)| (*name).to_owned()).collect()
        };
        found.gates = owned(&self.gates, true);
        found.disabled = owned(&self.capabilities, false);
        found
    }
}

fn gates_of(capability: &str) -> Option<&'static Gated> {
    GATED.iter().find(|gated| gated.capability == capability)
}
