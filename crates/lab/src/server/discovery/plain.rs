//! Discovery in the old form: one document per group and version.

use serde_json::{Map, Value, json};

use super::groups::{self, Group, Version};
use super::health;
use crate::server::resource::{Names, SubresourceNames};

/// `/`: every address that is no address of objects.
pub(super) fn root(served: &[Names]) -> Value {
    let mut paths = groups::addresses(served);
    let fixed = ["/api", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"];
    paths.extend(fixed.map(str::to_owned));
    paths.extend(health::addresses());
    json!({"paths": paths})
}

/// `/api`.
pub(super) fn core(host: &str) -> Value {
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}],
    })
}

/// `/apis`.
pub(super) fn group_list(served: &[Names]) -> Value {
    let groups: Vec<Value> =
        groups::by_registration(served).iter().map(|group| Value::Object(group_fields(group))).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/G`.
pub(super) fn group(served: &[Names], name: &str) -> Option<Value> {
    if name.is_empty() {
        return None;
    }
    let mut fields = group_fields(&groups::one(served, name)?);
    fields.insert("kind".into(), "APIGroup".into());
    fields.insert("apiVersion".into(), "v1".into());
    Some(Value::Object(fields))
}

fn group_fields(group: &Group<'_>) -> Map<String, Value> {
    let entry = |version: &Version<'_>| json!({"groupVersion": format!("{}/{}", group.name, version.name), "version": version.name});
    let mut fields = Map::new();
    fields.insert("name".into(), group.name.into());
    fields.insert("versions".into(), group.versions.iter().map(entry).collect());
    if let Some(first) = group.versions.first() {
        fields.insert("preferredVersion".into(), entry(first));
    }
    fields
}

/// `/api/V` and `/apis/G/V`.
pub(super) fn resource_list(served: &[Names], group: &str, version: &str) -> Option<Value> {
    let group = groups::one(served, group)?;
    let version = group.versions.iter().find(|it| it.name == version)?;
    let resources: Vec<Value> = version
        .resources
        .iter()
        .flat_map(|names| {
            std::iter::once(resource(names))
                .chain(names.subresources.iter().map(|sub| subresource(names, sub)))
        })
        .collect();
    let mut list = json!({"kind": "APIResourceList", "groupVersion": version.name, "resources": resources});
    if !group.name.is_empty() {
        list["groupVersion"] = format!("{}/{}", group.name, version.name).into();
        // NB: the real server leaves it out for the core group.
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn resource(names: &Names) -> Value {
    let mut entry = json!({
        "name": names.plural,
        "singularName": names.singular,
        "namespaced": names.namespaced,
        "kind": names.kind,
        "verbs": names.verbs,
    });
    for (key, words) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        if !words.is_empty() {
            entry[key] = json!(words);
        }
    }
    entry
}

fn subresource(names: &Names, sub: &SubresourceNames) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", names.plural, sub.name),
        "singularName": "",
        "namespaced": names.namespaced,
        "kind": sub.kind,
        "verbs": sub.verbs,
    });
    if (&sub.group, &sub.version) != (&names.group, &names.version) {
        entry["group"] = sub.group.as_str().into();
        entry["version"] = sub.version.as_str().into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::super::groups::tests::custom;
    use super::*;

    #[test]
    fn a_group_names_its_versions_and_the_preferred_one() {
        let served = [custom("x.io", "v1beta1", "Ant"), custom("x.io", "v1", "Ant")];
        assert_eq!(
            group(&served, "x.io").unwrap(),
            json!({
                "kind": "APIGroup",
                "apiVersion": "v1",
                "name": "x.io",
                "versions": [
                    {"groupVersion": "x.io/v1", "version": "v1"},
                    {"groupVersion": "x.io/v1beta1", "version": "v1beta1"},
                ],
                "preferredVersion": {"groupVersion": "x.io/v1", "version": "v1"},
            })
        );
        let list = group_list(&served);
        assert_eq!(list["groups"][0].get("kind"), None);
    }

    #[test]
    fn a_subresource_of_another_group_names_it_and_others_do_not() {
        let list = resource_list(&Names::builtin(), "", "v1").unwrap();
        let find = |name: &str| {
            let resources = list["resources"].as_array().unwrap();
            resources.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
        };
        assert_eq!(list["groupVersion"], "v1");
        assert_eq!(find("pods/eviction")["group"], "policy");
        assert_eq!(find("pods/binding").get("group"), None);
        assert_eq!(find("pods/log")["kind"], "Pod");
        assert_eq!(find("namespaces")["shortNames"], json!(["ns"]));
        assert_eq!(find("namespaces/status")["namespaced"], false);
    }

    #[test]
    fn the_root_lists_groups_versions_and_health_checks() {
        let paths = root(&[custom("x.io", "v1", "Ant")]);
        let paths: Vec<&str> = paths["paths"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        for path in ["/apis/x.io", "/apis/x.io/v1", "/readyz/ping", "/openapi/v3", "/version"] {
            assert!(paths.contains(&path), "{path}");
        }
        assert!(paths.is_sorted());
    }
}
