//! Discovery in one document: every group, version and resource at once.

use serde_json::{Value, json};

use super::groups::{self, Group, Version};
use crate::server::resource::Names;
use lockstep_schema::Schema;

/// `/api`: the core group.
pub(super) fn core(served: &[Names]) -> Value {
    list(groups::one(served, "").iter())
}

/// `/apis`: all other groups.
pub(super) fn groups(served: &[Names]) -> Value {
    list(groups::by_name(served).iter())
}

fn list<'a>(groups: impl Iterator<Item = &'a Group<'a>>) -> Value {
    let items: Vec<Value> = groups.map(group).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn group(group: &Group<'_>) -> Value {
    let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": group.name}) };
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    json!({"metadata": metadata, "versions": versions})
}

fn version(version: &Version<'_>) -> Value {
    let resources: Vec<Value> = version.resources.iter().map(|names| resource(names)).collect();
    json!({"version": version.name, "resources": resources, "freshness": "Current"})
}

fn resource(names: &Names) -> Value {
    let mut entry = json!({
        "resource": names.plural,
        "responseKind": response_kind(names, &names.group, &names.version, &names.kind),
        "scope": if names.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": names.singular,
        "verbs": names.verbs,
    });
    for (key, words) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        if !words.is_empty() {
            entry[key] = json!(words);
        }
    }
    if !names.subresources.is_empty() {
        entry["subresources"] = names
            .subresources
            .iter()
            .map(|sub| {
                json!({
                    "subresource": sub.name,
                    "responseKind": response_kind(names, &sub.group, &sub.version, &sub.kind),
                    "verbs": sub.verbs,
                })
            })
            .collect();
    }
    entry
}

/// The kind of an answer. Where it is that of the group and version around it, the real server leaves both empty
/// for its own kinds and repeats them for custom resources.
fn response_kind(names: &Names, group: &str, version: &str, kind: &str) -> Value {
    let is_of_parent = group == names.group && version == names.version;
    let is_builtin = || Schema::builtin().kind(&names.api_version(), &names.kind).is_some();
    if is_of_parent && is_builtin() {
        json!({"group": "", "version": "", "kind": kind})
    } else {
        json!({"group": group, "version": version, "kind": kind})
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::tests::custom;
    use super::*;

    #[test]
    fn builtin_kinds_leave_out_what_stands_around_them() {
        let all = groups(&Names::builtin());
        let apps = &all["items"][1];
        assert_eq!(apps["metadata"]["name"], "apps");
        let deployments = &apps["versions"][0]["resources"][2];
        assert_eq!(deployments["responseKind"], json!({"group": "", "version": "", "kind": "Deployment"}));
        let scale = &deployments["subresources"][0];
        assert_eq!(scale["responseKind"], json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}));
    }

    #[test]
    fn custom_kinds_name_their_group_and_version() {
        let all = groups(&[custom("x.io", "v1", "Ant")]);
        let ant = &all["items"][0]["versions"][0]["resources"][0];
        assert_eq!(ant["responseKind"], json!({"group": "x.io", "version": "v1", "kind": "Ant"}));
        assert_eq!(ant["scope"], "Namespaced");
        assert_eq!(ant.get("subresources"), None);
    }

    #[test]
    fn the_core_group_has_no_name() {
        let all = core(&Names::builtin());
        assert_eq!(all["items"][0]["metadata"], json!({}));
        assert_eq!(core(&[])["items"], json!([]));
    }
}
