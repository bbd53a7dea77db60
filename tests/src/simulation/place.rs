//! Where objects are: the name under which they are followed, and their address.

use lockstep_api::object;
use serde_json::Value;

/// Kinds of generated releases: API version, kind, plural, whether they have a namespace.
const KINDS: [(&str, &str, &str, bool); 12] = [
    ("v1", "Namespace", "namespaces", false),
    ("v1", "ConfigMap", "configmaps", true),
    ("v1", "Secret", "secrets", true),
    ("v1", "Service", "services", true),
    ("v1", "ServiceAccount", "serviceaccounts", true),
    ("apps/v1", "Deployment", "deployments", true),
    ("apps/v1", "DaemonSet", "daemonsets", true),
    ("batch/v1", "Job", "jobs", true),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false),
    ("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false),
    ("config.openshift.io/v1", "ClusterOperator", "clusteroperators", false),
];

/// `RESOURCE[.GROUP] [NAMESPACE/]NAME`, as the journal of the lab writes it.
pub(crate) type Key = String;

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) key: Key,
    /// The address of the collection that it is created in.
    pub(crate) collection: String,
    /// The address of the object.
    pub(crate) path: String,
}

/// What the address of a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// `RESOURCE[.GROUP]`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    /// Empty for a collection.
    pub(crate) name: String,
}

// === impl Place ===

impl Place {
    /// Where an object is; custom kinds have regular plurals and namespaces.
    pub(crate) fn of(object: &Value) -> Self {
        let (api_version, kind) = (object::api_version(object), object::kind(object));
        let known = KINDS.iter().find(|entry| entry.0 == api_version && entry.1 == kind);
        let (plural, namespaced) = known.map_or_else(
            || (format!("{}s", kind.to_lowercase()), true),
            |entry| (entry.2.to_owned(), entry.3),
        );
        let (group, version) = object::split_api_version(api_version);
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let namespace = if namespaced { object::namespace(object) } else { "" };
        let collection = if namespaced {
            format!("{root}/namespaces/{namespace}/{plural}")
        } else {
            format!("{root}/{plural}")
        };
        let name = object::name(object);
        let resource = if group.is_empty() { plural } else { format!("{plural}.{group}") };
        Self { key: key(&resource, namespace, name), path: format!("{collection}/{name}"), collection }
    }
}

pub(crate) fn key(resource: &str, namespace: &str, name: &str) -> Key {
    if namespace.is_empty() { format!("{resource} {name}") } else { format!("{resource} {namespace}/{name}") }
}

// === impl Address ===

impl Address {
    /// What an address names; nothing for discovery and the like.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, plural, name) = match rest {
            [plural] => ("", *plural, ""),
            ["namespaces", namespace, plural] => (*namespace, *plural, ""),
            ["namespaces", namespace, plural, name, ..] => (*namespace, *plural, *name),
            // The last one is a part of an object without a namespace, such as its status.
            [plural, name] | [plural, name, _] => ("", *plural, *name),
            _ => return None,
        };
        let resource = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
        Some(Self { resource, namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_and_the_address_of_a_request_for_it_have_one_key() {
        for object in [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "n"}}),
            json!({"apiVersion": "sim.example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "n"}}),
        ] {
            let place = Place::of(&object);
            let address = Address::parse(&place.path).unwrap();
            assert_eq!(key(&address.resource, &address.namespace, &address.name), place.key);
        }
        assert_eq!(Address::parse("/version"), None);
    }
}
