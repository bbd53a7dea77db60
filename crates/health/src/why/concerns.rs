//! What a finding is about, so that a cause can be laid beside the symptoms that it brings about.

use std::collections::BTreeSet;

/// The operators, namespaces and nodes that a finding concerns, and whether it concerns all of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Concerns {
    pub(super) operators: BTreeSet<String>,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) nodes: BTreeSet<String>,
    /// Those of the nodes that are down: what is ill on them is ill because of it.
    pub(super) down: BTreeSet<String>,
    pub(super) pools: BTreeSet<String>,
    /// The ClusterVersion itself: nothing of the release goes on.
    pub(super) version: bool,
    /// Everything that needs the API, or the whole bootstrap.
    pub(super) whole: bool,
}

// === impl Concerns ===

impl Concerns {
    pub(super) fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    pub(super) fn version() -> Self {
        Self { version: true, ..Self::default() }
    }

    pub(super) fn of_operator(name: &str) -> Self {
        Self::default().operator(name)
    }

    pub(super) fn of_node(name: &str) -> Self {
        Self::default().node(name)
    }

    pub(super) fn operator(mut self, name: &str) -> Self {
        if !name.is_empty() {
            self.operators.insert(name.to_owned());
        }
        self
    }

    pub(super) fn namespace(mut self, name: &str) -> Self {
        if !name.is_empty() {
            self.namespaces.insert(name.to_owned());
        }
        self
    }

    pub(super) fn node(mut self, name: &str) -> Self {
        if !name.is_empty() {
            self.nodes.insert(name.to_owned());
        }
        self
    }

    /// A node that is down.
    pub(super) fn down(mut self, name: &str) -> Self {
        if !name.is_empty() {
            self.down.insert(name.to_owned());
        }
        self.node(name)
    }

    pub(super) fn pool(mut self, name: &str) -> Self {
        self.pools.insert(name.to_owned());
        self
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.operators.extend(other.operators);
        self.namespaces.extend(other.namespaces);
        self.nodes.extend(other.nodes);
        self.down.extend(other.down);
        self.pools.extend(other.pools);
        self.version |= other.version;
        self.whole |= other.whole;
        self
    }

    /// Whether two findings are about the same thing; a finding about everything is about each.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let shares = |a: &BTreeSet<String>, b: &BTreeSet<String>| !a.is_disjoint(b);
        self.whole
            || self.version && other.version
            || shares(&self.operators, &other.operators)
            || shares(&self.namespaces, &other.namespaces)
            || shares(&self.nodes, &other.nodes)
            || shares(&self.pools, &other.pools)
    }
}
