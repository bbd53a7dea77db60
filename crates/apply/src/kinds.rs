//! What the server serves: which kind is at which address.

mod discovery;

use std::collections::{BTreeMap, BTreeSet};

use crate::refusal::Refusal;
use crate::server::Server;

/// A kind and where its objects are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The API group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The name in addresses, such as `deployments`.
    pub plural: String,
    /// Whether objects are in namespaces.
    pub namespaced: bool,
}

/// The kinds that a server serves, as it said at one moment.
///
/// NB: that a kind is missing here proves nothing. Right after a start the server leaves out kinds that it has, and an
/// API of another server is missing while that one does not answer. Only a refused request tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kinds {
    /// By API version and kind.
    served: BTreeMap<String, BTreeMap<String, Resource>>,
    /// API versions whose kinds the server could not tell.
    stale: BTreeSet<String>,
}

// === impl Resource ===

impl Resource {
    /// A resource.
    pub fn new(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced,
        }
    }

    /// Group and version as objects write them: `apps/v1`, `v1`.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The address of all objects, or of those in one namespace.
    pub fn list_path(&self, namespace: Option<&str>) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if let Some(namespace) = namespace.filter(|namespace| self.namespaced && !namespace.is_empty()) {
            path.push_str("/namespaces/");
            crate::server::escape_into(&mut path, namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        path
    }

    /// The address of one object; the namespace is left out where the kind has none.
    pub fn object_path(&self, namespace: Option<&str>, name: &str) -> String {
        let mut path = self.list_path(namespace);
        path.push('/');
        crate::server::escape_into(&mut path, name);
        path
    }

    /// The resource as rights and messages name it: `deployments.apps`, `pods`.
    pub fn name(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub(crate) fn is_namespaces(&self) -> bool {
        self.group.is_empty() && self.plural == "namespaces"
    }
}

// === impl Kinds ===

impl Kinds {
    /// Asks the server: two requests where it can tell everything at once, one per API version otherwise.
    pub async fn discover(server: &Server) -> Result<Self, Refusal> {
        discovery::discover(server).await
    }

    /// Where a kind is served.
    pub fn find(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        self.served.get(api_version)?.get(kind)
    }

    /// Whether the server could not tell what this API version has.
    pub fn is_stale(&self, api_version: &str) -> bool {
        self.stale.contains(api_version)
    }

    /// All kinds, sorted by API version and name.
    pub fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.served.values().flat_map(BTreeMap::values)
    }

    /// Adds a kind that is known from elsewhere, such as from an established definition.
    ///
    /// The first one stays: a few kinds answer under several names, and the server lists the main one first.
    pub fn insert(&mut self, resource: Resource) {
        let of_version = self.served.entry(resource.api_version()).or_default();
        of_version.entry(resource.kind.clone()).or_insert(resource);
    }

    /// Forgets a kind: the server has just said that it does not serve it.
    pub fn remove(&mut self, api_version: &str, kind: &str) {
        if let Some(of_version) = self.served.get_mut(api_version) {
            of_version.remove(kind);
        }
    }

    /// Takes in a newer answer; what only the older one has stays, because absence proves nothing.
    pub fn merge(&mut self, newer: Self) {
        for (api_version, kinds) in newer.served {
            self.served.entry(api_version).or_default().extend(kinds);
        }
        self.stale = newer.stale;
    }
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_group_and_scope() {
        let pods = Resource::new("", "v1", "Pod", "pods", true);
        let nodes = Resource::new("", "v1", "Node", "nodes", false);
        let roles = Resource::new("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false);
        assert_eq!(pods.object_path(Some("x"), "y"), "/api/v1/namespaces/x/pods/y");
        assert_eq!(pods.list_path(None), "/api/v1/pods");
        assert_eq!(nodes.object_path(Some("stray"), "n"), "/api/v1/nodes/n", "a stray namespace is dropped");
        assert_eq!(
            roles.object_path(None, "system:a/b"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%2Fb"
        );
    }

    #[test]
    fn a_newer_answer_forgets_nothing_but_what_was_not_known() {
        let mut kinds = Kinds::default();
        kinds.insert(Resource::new("a", "v1", "A", "as", true));
        kinds.stale.insert("b/v1".to_owned());
        let mut newer = Kinds::default();
        newer.insert(Resource::new("b", "v1", "B", "bs", true));
        kinds.merge(newer);
        assert!(kinds.find("a/v1", "A").is_some() && kinds.find("b/v1", "B").is_some());
        assert!(!kinds.is_stale("b/v1"));
    }

    #[test]
    fn of_two_names_for_one_kind_the_first_stays() {
        let mut kinds = Kinds::default();
        kinds.insert(Resource::new("", "v1", "Thing", "things", true));
        kinds.insert(Resource::new("", "v1", "Thing", "otherthings", true));
        assert_eq!(kinds.find("v1", "Thing").unwrap().plural, "things");
    }
}
