//! The order of groups and versions.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::server::resource::Names;

/// The groups of the real server in the order of their priorities; those of custom resources come after them.
const BUILTIN: [&str; 20] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// A group with its versions, the preferred one first, and the resources of each by name.
pub(super) struct Group<'a> {
    /// The name; empty for the core.
    pub name: &'a str,
    /// The versions in their order.
    pub versions: Vec<Version<'a>>,
}

/// The resources of one version of a group.
pub(super) struct Version<'a> {
    /// The name.
    pub name: &'a str,
    /// In the order of their names.
    pub resources: Vec<&'a Names>,
}

/// The place of a built-in group among the others.
pub(super) fn builtin_rank(group: &str) -> Option<usize> {
    BUILTIN.iter().position(|name| *name == group)
}

/// All groups but the core, in the order of the aggregated form: those of custom resources by name.
pub(super) fn by_name(served: &[Names]) -> Vec<Group<'_>> {
    let mut groups = all(served);
    groups.sort_by_key(|group| (builtin_rank(group.name).unwrap_or(usize::MAX), group.name));
    groups
}

/// All groups but the core, in the order of the plain form.
///
/// There the real server sorts registrations, and those of custom resources have equal priorities and names such as
/// `v1.example.com`: the version decides before the group.
pub(super) fn by_registration(served: &[Names]) -> Vec<Group<'_>> {
    let mut groups = all(served);
    groups.sort_by_cached_key(|group| {
        let first = group.versions.iter().map(|version| format!("{}.{}", version.name, group.name)).min();
        (builtin_rank(group.name).unwrap_or(usize::MAX), first)
    });
    groups
}

/// One group; the core is the empty name.
pub(super) fn one<'a>(served: &'a [Names], name: &str) -> Option<Group<'a>> {
    grouped(served.iter().filter(|names| names.group == name)).pop()
}

fn all(served: &[Names]) -> Vec<Group<'_>> {
    grouped(served.iter().filter(|names| !names.group.is_empty()))
}

fn grouped<'a>(served: impl Iterator<Item = &'a Names>) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<&Names>>> = BTreeMap::new();
    for names in served {
        groups.entry(&names.group).or_default().entry(&names.version).or_default().push(names);
    }
    groups
        .into_iter()
        .map(|(name, versions)| {
            let mut versions: Vec<Version<'_>> = versions
                .into_iter()
                .map(|(name, mut resources)| {
                    resources.sort_by(|a, b| a.plural.cmp(&b.plural));
                    Version { name, resources }
                })
                .collect();
            versions.sort_by(|a, b| preference(a.name, b.name));
            Group { name, versions }
        })
        .collect()
}

/// All addresses `/api/V`, `/apis/G` and `/apis/G/V` that are served.
pub(super) fn addresses(served: &[Names]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for names in served {
        if names.group.is_empty() {
            found.insert(format!("/api/{}", names.version));
        } else {
            found.insert(format!("/apis/{}", names.group));
            found.insert(format!("/apis/{}/{}", names.group, names.version));
        }
    }
    found
}

/// The order of versions: stable before beta before alpha, higher numbers first, then other words by name.
pub(super) fn preference(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// How stable, the major and the minor number of `v1`, `v2beta1`.
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let major = number(major)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        (Some(minor), _) => Some((1, major, number(minor)?)),
        (_, Some(minor)) => Some((0, major, number(minor)?)),
        _ => None,
    }
}

/// A number as versions have it: no zero in front.
fn number(text: &str) -> Option<u64> {
    if text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A custom resource without subresources.
    pub(in crate::server::discovery) fn custom(group: &str, version: &str, kind: &str) -> Names {
        let plural = format!("{}s", kind.to_lowercase());
        let verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        Names {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            list_kind: format!("{kind}List"),
            singular: kind.to_lowercase(),
            plural,
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: true,
            verbs: verbs.map(str::to_owned).to_vec(),
            subresources: Vec::new(),
            is_custom: true,
        }
    }

    #[test]
    fn versions_are_ordered_as_clients_prefer_them() {
        let mut versions =
            ["foo10", "v1alpha1", "v9", "v2beta1", "v10", "v1", "foo1", "v1beta2", "v1beta1", "v02"];
        versions.sort_by(|a, b| preference(a, b));
        assert_eq!(
            versions,
            ["v10", "v9", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "foo1", "foo10", "v02"]
        );
    }

    #[test]
    fn groups_of_custom_resources_come_last_in_two_orders() {
        let mut served = Names::builtin();
        served.push(custom("a.example.com", "v1alpha1", "Gadget"));
        served.push(custom("z.example.com", "v1", "Widget"));
        served.push(custom("m.example.com", "v1", "Old"));
        let last = |groups: Vec<Group<'_>>| {
            groups[groups.len() - 3..].iter().map(|group| group.name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(last(by_name(&served)), ["a.example.com", "m.example.com", "z.example.com"]);
        assert_eq!(last(by_registration(&served)), ["m.example.com", "z.example.com", "a.example.com"]);
        assert_eq!(by_name(&served)[0].name, "apiregistration.k8s.io");
    }

    #[test]
    fn every_builtin_group_has_its_place() {
        for names in Names::builtin() {
            assert!(names.group.is_empty() || builtin_rank(&names.group).is_some(), "{}", names.group);
        }
    }

    #[test]
    fn the_resources_of_a_version_are_ordered_by_name() {
        let served =
            [custom("x.io", "v1", "Zebra"), custom("x.io", "v1", "Ant"), custom("y.io", "v1", "Bee")];
        let group = one(&served, "x.io").unwrap();
        let names: Vec<&str> = group.versions[0].resources.iter().map(|it| it.plural.as_str()).collect();
        assert_eq!(names, ["ants", "zebras"]);
        assert!(one(&served, "z.io").is_none());
    }
}
