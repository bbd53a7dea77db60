//! What is served: one entry per resource and version, built-in or defined by a CRD.

use lockstep_schema::Kind;

use crate::crd::definition::{Definition, Version};

/// The names, scope and verbs of one served resource version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "short names are what they are called everywhere")]
pub(crate) struct Names {
    /// The API group; empty for the core.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The kind of its objects.
    pub kind: String,
    /// The kind of its lists, such as `PodList`.
    pub list_kind: String,
    /// The name in addresses, such as `pods`.
    pub plural: String,
    /// The name for one object; may be empty.
    pub singular: String,
    /// Abbreviations.
    pub short_names: Vec<String>,
    /// Groups of resources it belongs to, such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects live in a namespace.
    pub namespaced: bool,
    /// Whether a CRD defines it.
    pub is_custom: bool,
    /// What can be done with it.
    pub verbs: Vec<String>,
    /// Parts with an address of their own.
    pub subresources: Vec<SubresourceNames>,
}

/// A subresource such as `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubresourceNames {
    /// The last part of its address.
    pub name: String,
    /// The group of its kind.
    pub group: String,
    /// The version of its kind.
    pub version: String,
    /// Its kind: that of the object, or another such as `Scale`.
    pub kind: String,
    /// What can be done with it.
    pub verbs: Vec<String>,
}

// === impl Names ===

impl Names {
    /// The group and version as objects carry them: `v1`, `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The names of one version of a CRD.
    pub(crate) fn of_version(definition: &Definition, version: &Version) -> Self {
        let names = &definition.names;
        let part = |name: &str, group: &str, version: &str, kind: &str| SubresourceNames {
            name: name.into(),
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            verbs: owned(&PART_VERBS),
        };
        let mut subresources = Vec::new();
        if version.status {
            subresources.push(part("status", &definition.group, &version.name, &names.kind));
        }
        if version.scale.is_some() {
            subresources.push(part("scale", "autoscaling", "v1", "Scale"));
        }
        Self {
            group: definition.group.clone(),
            version: version.name.clone(),
            kind: names.kind.clone(),
            list_kind: names.list_kind.clone(),
            plural: names.plural.clone(),
            singular: names.singular.clone(),
            short_names: names.short_names.clone(),
            categories: names.categories.clone(),
            namespaced: definition.namespaced,
            is_custom: true,
            verbs: owned(&CUSTOM_VERBS),
            subresources,
        }
    }

    /// All built-in kinds.
    #[cfg(test)]
    pub(crate) fn builtin() -> Vec<Self> {
        lockstep_schema::Schema::builtin().kinds().map(Self::of_kind).collect()
    }

    /// The names of a built-in kind.
    pub(crate) fn of_kind(kind: &Kind) -> Self {
        let subresources = kind.subresources.iter().map(|(name, sub)| {
            let (api_version, sub_kind) = match &sub.kind {
                Some(other) => (other.api_version, other.kind),
                None => (kind.api_version, kind.kind),
            };
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            SubresourceNames {
                name: (*name).into(),
                group: group.into(),
                version: version.into(),
                kind: sub_kind.into(),
                verbs: owned(&sub.verbs),
            }
        });
        Self {
            group: kind.group.into(),
            version: kind.version.into(),
            kind: kind.kind.into(),
            list_kind: format!("{}List", kind.kind),
            plural: kind.plural.into(),
            singular: kind.singular.into(),
            short_names: owned(&kind.short_names),
            categories: owned(&kind.categories),
            namespaced: kind.namespaced,
            is_custom: false,
            verbs: owned(&kind.verbs),
            subresources: subresources.collect(),
        }
    }
}

/// What can be done with custom resources.
const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// What can be done with their parts.
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_of_a_deployment_has_its_own_kind() {
        let all = Names::builtin();
        let deployment = all.iter().find(|names| names.kind == "Deployment").unwrap();
        let scale = deployment.subresources.iter().find(|sub| sub.name == "scale").unwrap();
        assert_eq!((scale.group.as_str(), scale.kind.as_str()), ("autoscaling", "Scale"));
        assert_eq!(deployment.api_version(), "apps/v1");
    }
}
