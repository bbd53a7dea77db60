//! Discovery: which kinds are served, under which names, with which verbs and subresources.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::Error;

/// All served kinds in the order of group, version and kind; `get` answers a GET of the API.
pub(super) fn read(get: impl Fn(&str) -> Result<Value, Error>) -> Result<Vec<Value>, Error> {
    let mut kinds = BTreeMap::new();
    for version in array(&get("/api")?["versions"]) {
        let version = text(version);
        add(&mut kinds, "", version, &get(&format!("/api/{version}"))?);
    }
    for group in array(&get("/apis")?["groups"]) {
        let name = text(&group["name"]);
        for version in array(&group["versions"]) {
            let version = text(&version["version"]);
            add(&mut kinds, name, version, &get(&format!("/apis/{name}/{version}"))?);
        }
    }
    Ok(kinds.into_values().collect())
}

type Key = (String, String, String);

/// Adds the resources of one `APIResourceList`; a name with a slash is a subresource of the name before it.
fn add(kinds: &mut BTreeMap<Key, Value>, group: &str, version: &str, list: &Value) {
    let resources = array(&list["resources"]);
    for resource in resources.iter().filter(|resource| !text(&resource["name"]).contains('/')) {
        let (kind, plural) = (text(&resource["kind"]), text(&resource["name"]));
        let prefix = format!("{plural}/");
        let subresources: Map<String, Value> = resources
            .iter()
            .filter_map(|sub| {
                Some((text(&sub["name"]).strip_prefix(&prefix)?.to_owned(), subresource(sub, resource)))
            })
            .collect();
        let mut entry = json!({
            "group": group,
            "version": version,
            "kind": kind,
            "plural": plural,
            "singular": resource["singularName"],
            "namespaced": resource["namespaced"],
            "verbs": resource["verbs"],
        });
        for (name, value) in [("short", &resource["shortNames"]), ("categories", &resource["categories"])] {
            if !array(value).is_empty() {
                entry[name] = value.clone();
            }
        }
        if !subresources.is_empty() {
            entry["subresources"] = subresources.into();
        }
        kinds.insert((group.into(), version.into(), kind.into()), entry);
    }
}

/// The verbs of a subresource, and its kind where it is not that of its parent.
fn subresource(sub: &Value, parent: &Value) -> Value {
    let mut entry = json!({"verbs": sub["verbs"]});
    if sub["kind"] != parent["kind"] {
        entry["kind"] = sub["kind"].clone();
        if let (Some(group), Some(version)) = (sub["group"].as_str(), sub["version"].as_str()) {
            entry["apiVersion"] = format!("{group}/{version}").into();
        }
    }
    entry
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(path: &str) -> Value {
        match path {
            "/api" => json!({"versions": ["v1"]}),
            "/api/v1" => json!({"resources": [
                {"name": "namespaces", "singularName": "namespace", "namespaced": false, "kind": "Namespace",
                 "verbs": ["get"], "shortNames": ["ns"], "storageVersionHash": "x"},
                {"name": "namespaces/finalize", "namespaced": false, "kind": "Namespace", "verbs": ["update"]},
            ]}),
            "/apis" => json!({"groups": [{"name": "apps", "versions": [{"version": "v1"}]}]}),
            "/apis/apps/v1" => json!({"resources": [
                {"name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment",
                 "verbs": ["get"], "categories": ["all"]},
                {"name": "deployments/scale", "group": "autoscaling", "version": "v1", "kind": "Scale",
                 "verbs": ["get", "patch"]},
            ]}),
            other => panic!("nobody should ask for {other}"),
        }
    }

    #[test]
    fn kinds_carry_scope_names_and_subresources_and_nothing_that_changes_by_itself() {
        let kinds = read(|path| Ok(answer(path))).unwrap();
        assert_eq!(
            kinds[0],
            json!({"group": "", "version": "v1", "kind": "Namespace", "plural": "namespaces", "singular": "namespace",
                "namespaced": false, "verbs": ["get"], "short": ["ns"],
                "subresources": {"finalize": {"verbs": ["update"]}}})
        );
    }

    #[test]
    fn a_subresource_of_another_kind_names_it() {
        let kinds = read(|path| Ok(answer(path))).unwrap();
        assert_eq!(
            kinds[1]["subresources"]["scale"],
            json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "verbs": ["get", "patch"]})
        );
        assert_eq!(kinds[1]["categories"], json!(["all"]));
    }
}
