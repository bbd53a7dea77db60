//! The search for the smallest cluster that has some objects and not some others.
//!
//! Exact: the objects that must be there leave a set of clusters; each object that must not be there is made absent by
//! breaking one of its conditions, and every way to break it is tried. What cannot become smaller than the best cluster
//! found so far is cut off.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::capability::{GATED, Gated};
use lockstep_api::names::feature_set;

use super::{Combination, Presence, Space};

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The smallest cluster that was found; the smallest of all when the search is complete.
    pub cluster: Option<Combination>,
    /// How many steps it took.
    pub steps: usize,
    /// Whether everything was tried; without that, no cluster found does not mean that there is none.
    pub is_complete: bool,
}

impl Space {
    /// The smallest cluster in which all of `present` are selected and none of `absent`: the one with the fewest
    /// deviations from the default cluster.
    ///
    /// The question is as hard as any puzzle of yes and no, and releases are not ours: after `budget` steps the search
    /// stops and says that it is not complete.
    pub fn find(&self, present: &[&Presence], absent: &[&Presence], budget: usize) -> Search {
        let mut found = Search { cluster: None, steps: 0, is_complete: true };
        let all = Some(Clusters::all(self));
        let start = present.iter().fold(all, |clusters, presence| clusters?.with(presence));
        // An object that is present wherever one of `present` is can never be made absent, and one that is present
        // only where another of `absent` is asks nothing of its own.
        let is_hopeless = absent.iter().any(|other| present.iter().any(|wanted| wanted.implies(other)));
        let Some(start) = start.filter(|_| !is_hopeless) else { return found };
        let mut absent: Vec<&Presence> = absent.to_vec();
        absent.sort_unstable();
        absent.dedup();
        let open: Vec<&Presence> = absent
            .iter()
            .filter(|one| !absent.iter().any(|other| one != &other && one.implies(other)))
            .copied()
            .collect();
        self.search(&start, &open, budget, &mut found);
        found
    }

    fn search<'a>(
        &'a self,
        clusters: &Clusters<'a>,
        absent: &[&'a Presence],
        budget: usize,
        found: &mut Search,
    ) {
        if found.steps >= budget {
            found.is_complete = false;
            return;
        }
        found.steps += 1;
        let open: Vec<_> = absent.iter().copied().filter(|presence| !clusters.exclude(presence)).collect();
        if let Some(best) = &found.cluster {
            let at_least = clusters.deviations(self) + clusters.further_deviations(self, &open);
            if at_least >= best.deviations(self) {
                return;
            }
        }
        let ways = open.iter().map(|presence| clusters.without(presence)).min_by_key(Vec::len);
        match ways.or_else(|| clusters.with_a_missing_gate()) {
            Some(ways) => ways.into_iter().for_each(|way| self.search(&way, &open, budget, found)),
            None => found.cluster = Some(clusters.smallest(self)),
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

/// One thing about a cluster that can deviate from the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Profile,
    FeatureSet,
    Exclude,
    Gate(&'a str),
    Capability(&'a str),
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

    /// How many deviations more it takes at least to make these objects absent.
    ///
    /// An object that is present in the smallest cluster goes away only with a deviation in one of its free parts, and
    /// objects that share no part need one each. Which objects are counted is a greedy choice: another one could count
    /// more, none counts too many.
    fn further_deviations(&self, space: &Space, open: &[&'a Presence]) -> usize {
        let smallest = self.smallest(space);
        let there = open.iter().filter(|presence| presence.holds(&smallest));
        let mut needs: Vec<_> = there.filter_map(|presence| self.costly_parts(space, presence)).collect();
        needs.sort_by_key(BTreeSet::len);
        let mut taken = BTreeSet::new();
        let mut count = 0;
        for parts in needs {
            if taken.is_disjoint(&parts) {
                taken.extend(parts);
                count += 1;
            }
        }
        count
    }

    /// The free parts of which one has to deviate to make an object absent that the smallest cluster has; nothing when
    /// it goes away without a further deviation, by another choice where the default one is no longer possible.
    fn costly_parts(&self, space: &Space, presence: &'a Presence) -> Option<BTreeSet<Part<'a>>> {
        let default = space.profiles.first().map(String::as_str).unwrap_or_default();
        let choices = [
            (
                Part::Profile,
                self.profiles.iter().any(|profile| !presence.profiles.contains(*profile)),
                self.profiles.contains(default),
            ),
            (
                Part::FeatureSet,
                self.feature_sets.iter().any(|set| !presence.feature_sets.contains(set)),
                self.feature_sets.contains(feature_set::DEFAULT),
            ),
            (
                Part::Exclude,
                self.excludes.iter().any(|id| presence.excluded_by.contains(*id)),
                self.excludes.contains(""),
            ),
        ];
        let mut parts = BTreeSet::new();
        for (part, can_break, is_default) in choices {
            if can_break && !is_default {
                return None;
            }
            parts.extend(can_break.then_some(part));
        }
        let gates = presence.gates.keys().filter(|gate| !self.gates.contains_key(gate.as_str()));
        parts.extend(gates.map(|gate| Part::Gate(gate)));
        let names =
            presence.capabilities.iter().filter(|name| !self.capabilities.contains_key(name.as_str()));
        parts.extend(names.map(|name| Part::Capability(name)));
        Some(parts)
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
