//! Reading the two forms in which a server tells what it serves.

use serde_json::Value;

use super::{Kinds, Resource, api_version};
use crate::refusal::Refusal;
use crate::server::{Call, Server};

/// Everything at once, in the newest form that the server knows; a list of groups otherwise.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

pub(super) async fn discover(server: &Server) -> Result<Kinds, Refusal> {
    let mut kinds = Kinds::default();
    for root in ["/api", "/apis"] {
        let answer = server.send(Call::raw(root).accept(AGGREGATED)).await?.object;
        if answer["kind"] == "APIGroupDiscoveryList" {
            read_aggregated(&mut kinds, &answer);
            continue;
        }
        for (group, version) in group_versions(&answer) {
            let name = api_version(&group, &version);
            match server.send(Call::raw(&format!("{root}/{name}"))).await {
                Ok(answer) => read_plain(&mut kinds, &group, &version, &answer.object),
                // One API that does not answer says nothing about the others.
                Err(_) => {
                    kinds.stale.insert(name);
                }
            }
        }
    }
    Ok(kinds)
}

fn read_aggregated(kinds: &mut Kinds, answer: &Value) {
    for group in list(&answer["items"]) {
        let group_name = text(&group["metadata"]["name"]);
        for version in list(&group["versions"]) {
            let version_name = text(&version["version"]);
            if version["freshness"] == "Stale" {
                kinds.stale.insert(api_version(group_name, version_name));
            }
            for resource in list(&version["resources"]) {
                let kind = text(&resource["responseKind"]["kind"]);
                let plural = text(&resource["resource"]);
                add(kinds, [group_name, version_name, kind, plural], resource["scope"] == "Namespaced");
            }
        }
    }
}

fn read_plain(kinds: &mut Kinds, group: &str, version: &str, answer: &Value) {
    for resource in list(&answer["resources"]) {
        let (kind, plural) = (text(&resource["kind"]), text(&resource["name"]));
        // A part of an object, such as `pods/status`.
        if !plural.contains('/') {
            add(kinds, [group, version, kind, plural], resource["namespaced"] == true);
        }
    }
}

fn add(kinds: &mut Kinds, [group, version, kind, plural]: [&str; 4], namespaced: bool) {
    if !kind.is_empty() && !plural.is_empty() {
        kinds.insert(Resource::new(group, version, kind, plural, namespaced));
    }
}

/// Groups and versions of `APIVersions` (the core) or `APIGroupList`.
fn group_versions(answer: &Value) -> Vec<(String, String)> {
    let core = list(&answer["versions"]).map(|version| (String::new(), text(version).to_owned()));
    let groups = list(&answer["groups"]).flat_map(|group| {
        let name = text(&group["name"]);
        list(&group["versions"]).map(move |version| (name.to_owned(), text(&version["version"]).to_owned()))
    });
    core.chain(groups).filter(|(_, version)| !version.is_empty()).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stale_api_is_not_known_rather_than_empty() {
        let answer = json!({"kind": "APIGroupDiscoveryList", "items": [
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
                {"resource": "deployments", "responseKind": {"group": "", "version": "", "kind": "Deployment"},
                    "scope": "Namespaced"}]}]},
            {"metadata": {"name": "image.openshift.io"}, "versions": [{"version": "v1", "freshness": "Stale"}]},
        ]});
        let mut kinds = Kinds::default();
        read_aggregated(&mut kinds, &answer);
        let expected = Resource::new("apps", "v1", "Deployment", "deployments", true);
        assert_eq!(kinds.find("apps/v1", "Deployment"), Some(&expected));
        assert!(kinds.is_stale("image.openshift.io/v1") && !kinds.is_stale("apps/v1"));
    }

    #[test]
    fn the_plain_form_leaves_out_parts_of_objects() {
        let answer = json!({"kind": "APIResourceList", "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": true},
            {"name": "pods/status", "kind": "Pod", "namespaced": true},
            {"name": "nodes", "kind": "Node", "namespaced": false},
        ]});
        let mut kinds = Kinds::default();
        read_plain(&mut kinds, "", "v1", &answer);
        assert_eq!(kinds.iter().map(|it| it.plural.as_str()).collect::<Vec<_>>(), ["nodes", "pods"]);
        assert!(!kinds.find("v1", "Node").unwrap().namespaced);
    }

    #[test]
    fn both_plain_lists_name_their_versions() {
        let core = group_versions(&json!({"kind": "APIVersions", "versions": ["v1"]}));
        assert_eq!(core, [(String::new(), "v1".to_owned())]);
        let groups =
            json!({"groups": [{"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]}]});
        assert_eq!(group_versions(&groups), [("apps".to_owned(), "v1".to_owned())]);
    }
}
