//! Which resources are served, by group, version and plural name.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::resource::{Names, Resource};
use crate::store::TableName;

/// All served resources.
#[derive(Default)]
pub(crate) struct Registry {
    versions: BTreeMap<(String, String), BTreeMap<String, Arc<Resource>>>,
    /// Filled when somebody asks: CRDs come by the hundred, questions about all of them seldom.
    names: OnceLock<Arc<Vec<Names>>>,
}

/// Why there is no resource at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The group is built in, but has no such version or resource: an error with a body.
    InBuiltinGroup,
    /// Nobody serves the group: plain text.
    Group,
}

// === impl Registry ===

impl Registry {
    /// The built-in kinds.
    pub(crate) fn builtin() -> Self {
        let mut registry = Self::default();
        for resource in Resource::builtin() {
            registry.insert(Arc::new(resource));
        }
        registry
    }

    /// The resource at an address.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Result<&Arc<Resource>, Missing> {
        let of_version = self.versions.get(&(group.to_owned(), version.to_owned()));
        if let Some(found) = of_version.and_then(|resources| resources.get(plural)) {
            return Ok(found);
        }
        let mut of_group = self.versions.iter().filter(|((name, _), _)| name == group);
        let is_builtin = of_group.any(|(_, resources)| resources.values().any(|it| !it.names.is_custom));
        Err(if is_builtin { Missing::InBuiltinGroup } else { Missing::Group })
    }

    /// The resource whose objects have this version and kind.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resources = self.versions.get(&(group.to_owned(), version.to_owned()))?;
        resources.values().find(|resource| resource.names.kind == kind)
    }

    /// One of the resources that share a table; nothing when none is served any more.
    pub(crate) fn of_table(&self, table: &TableName) -> Option<&Arc<Resource>> {
        self.versions
            .iter()
            .filter(|((group, _), _)| **group == *table.group)
            .find_map(|(_, resources)| resources.get(&*table.plural))
    }

    /// The names of everything that is served.
    pub(crate) fn names(&self) -> Arc<Vec<Names>> {
        let all = || self.versions.values().flat_map(BTreeMap::values).map(|resource| resource.names.clone());
        Arc::clone(self.names.get_or_init(|| Arc::new(all().collect())))
    }

    /// Replaces the versions of a custom resource; an empty list ends it.
    pub(crate) fn replace_custom(&mut self, table: &TableName, resources: Vec<Resource>) {
        self.versions.retain(|(group, _), of_version| {
            if **group == *table.group {
                of_version.retain(|plural, resource| !resource.names.is_custom || **plural != *table.plural);
            }
            !of_version.is_empty()
        });
        for resource in resources {
            self.insert(Arc::new(resource));
        }
        self.names = OnceLock::new();
    }

    fn insert(&mut self, resource: Arc<Resource>) {
        let names = &resource.names;
        let key = (names.group.clone(), names.version.clone());
        self.versions.entry(key).or_default().insert(names.plural.clone(), resource);
    }
}
