//! What the world knows of the server: the objects it plays, as last seen or written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_api::object::split_api_version;
use serde_json::Value;

use super::api::Resource;

/// The kinds that the world plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Node,
    Deployment,
    DaemonSet,
    StatefulSet,
    Job,
    ReplicaSet,
    Pod,
    ClusterOperator,
    FirstGeneration,
}

/// One object that the world plays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The objects by key, and who controls whom.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    objects: BTreeMap<Key, Arc<Value>>,
    children: BTreeMap<String, BTreeSet<Key>>,
    /// Uids that the world deleted itself and whose last event has not come yet: older events must not revive them.
    gone: BTreeSet<String>,
}

// === impl Kind ===

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Node,
        Self::Deployment,
        Self::DaemonSet,
        Self::StatefulSet,
        Self::Job,
        Self::ReplicaSet,
        Self::Pod,
        Self::ClusterOperator,
        Self::FirstGeneration,
    ];

    pub(crate) fn resource(self) -> &'static Resource {
        static RESOURCES: [Resource; 9] = [
            Resource::known("", "nodes", "Node"),
            Resource::known("apps", "deployments", "Deployment"),
            Resource::known("apps", "daemonsets", "DaemonSet"),
            Resource::known("apps", "statefulsets", "StatefulSet"),
            Resource::known("batch", "jobs", "Job"),
            Resource::known("apps", "replicasets", "ReplicaSet"),
            Resource::known("", "pods", "Pod"),
            Resource::known("config.openshift.io", "clusteroperators", "ClusterOperator"),
            Resource::known("operatorstatus.openshift.io", "clusteroperators", "ClusterOperator"),
        ];
        &RESOURCES[self as usize]
    }

    /// The kind that an owner reference names; another group may have a kind of the same name.
    pub(crate) fn of_owner(owner: &Value) -> Option<Self> {
        let (group, _) = split_api_version(text(&owner["apiVersion"]));
        let kind = text(&owner["kind"]);
        Self::ALL.into_iter().filter(|known| !known.is_custom()).find(|known| {
            let resource = known.resource();
            resource.kind == kind && resource.group == group
        })
    }

    /// Whether its objects live in namespaces.
    fn is_namespaced(self) -> bool {
        !self.is_custom() && self != Self::Node
    }

    /// Whether a CRD brings it, so that it may not be served yet.
    pub(crate) fn is_custom(self) -> bool {
        matches!(self, Self::ClusterOperator | Self::FirstGeneration)
    }
}

// === impl Key ===

impl Key {
    pub(crate) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn of(kind: Kind, object: &Value) -> Self {
        Self::new(kind, lockstep_api::object::namespace(object), lockstep_api::object::name(object))
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = &self.kind.resource().kind;
        if self.namespace.is_empty() {
            write!(f, "{kind} {}", self.name)
        } else {
            write!(f, "{kind} {}/{}", self.namespace, self.name)
        }
    }
}

// === impl Cache ===

impl Cache {
    /// Takes in an object; `false` when it is known in this or a newer version.
    pub(crate) fn put(&mut self, key: &Key, mut object: Value) -> bool {
        if self.gone.contains(uid(&object)) {
            return false;
        }
        // Also against a predecessor of the same name: versions grow over all objects.
        if self.objects.get(key).is_some_and(|known| version(known) >= version(&object)) {
            return false;
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        self.forget(key);
        if let Some(owner) = controller(&object) {
            self.children.entry(text(&owner["uid"]).to_owned()).or_default().insert(key.clone());
        }
        self.objects.insert(key.clone(), Arc::new(object));
        true
    }

    /// The server says that an object is gone.
    pub(crate) fn remove(&mut self, key: &Key, removed: &str) -> bool {
        self.gone.remove(removed);
        let is_known = self.objects.get(key).is_some_and(|known| uid(known) == removed);
        if is_known {
            self.forget(key);
        }
        is_known
    }

    /// The world deleted an object; its event is still to come.
    pub(crate) fn deleted(&mut self, key: &Key, removed: &str) {
        if self.remove(key, removed) {
            self.gone.insert(removed.to_owned());
        }
    }

    fn forget(&mut self, key: &Key) {
        let Some(old) = self.objects.remove(key) else { return };
        if let Some(owner) = controller(&old) {
            let owner = text(&owner["uid"]);
            if let Some(children) = self.children.get_mut(owner) {
                children.remove(key);
                if children.is_empty() {
                    self.children.remove(owner);
                }
            }
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.objects.get(key).cloned()
    }

    /// All objects of a kind, in order.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.range(Key::new(kind, "", "")..).take_while(move |(key, _)| key.kind == kind)
    }

    /// The objects that this one controls, in order.
    pub(crate) fn children(&self, owner: &Value, kind: Kind) -> Vec<(Key, Arc<Value>)> {
        let keys = self.children.get(uid(owner)).into_iter().flatten().filter(|key| key.kind == kind);
        keys.filter_map(|key| Some((key.clone(), self.get(key)?))).collect()
    }

    /// The keys of everything that an object of this uid controls.
    pub(crate) fn children_of(&self, uid: &str) -> Vec<Key> {
        self.children.get(uid).into_iter().flatten().cloned().collect()
    }
}

// === readers ===

/// The uid of an object.
pub(crate) fn uid(object: &Value) -> &str {
    text(&object["metadata"]["uid"])
}

/// A text, or nothing.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The reference to the one owner that controls an object.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// The key of the owner that controls an object, if the world plays its kind.
pub(crate) fn controller_key(object: &Value) -> Option<Key> {
    let owner = controller(object)?;
    let kind = Kind::of_owner(owner)?;
    let namespace = if kind.is_namespaced() { lockstep_api::object::namespace(object) } else { "" };
    Some(Key::new(kind, namespace, text(&owner["name"])))
}

/// Whether somebody asked for the end of an object.
pub(crate) fn is_ending(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Versions of one resource grow; servers have promised that they can be compared as numbers.
fn version(object: &Value) -> u64 {
    text(&object["metadata"]["resourceVersion"]).parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(version: &str) -> Value {
        json!({"metadata": {"namespace": "n", "name": "p", "uid": "u", "resourceVersion": version,
            "managedFields": [1], "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "o", "controller": true}]}})
    }

    #[test]
    fn an_older_event_changes_nothing_and_does_not_revive_the_deleted() {
        let (mut cache, key) = (Cache::default(), Key::new(Kind::Pod, "n", "p"));
        assert!(cache.put(&key, pod("5")));
        assert!(!cache.put(&key, pod("5")) && !cache.put(&key, pod("4")));
        assert_eq!(cache.get(&key).unwrap()["metadata"]["managedFields"], Value::Null);
        cache.deleted(&key, "u");
        assert!(!cache.put(&key, pod("6")), "an event that was on its way");
        cache.remove(&key, "u");
        assert!(cache.put(&key, pod("7")));
    }

    #[test]
    fn children_follow_their_owner_reference() {
        let (mut cache, key) = (Cache::default(), Key::new(Kind::Pod, "n", "p"));
        cache.put(&key, pod("1"));
        let owner = json!({"metadata": {"uid": "o"}});
        assert_eq!(cache.children(&owner, Kind::Pod).len(), 1);
        assert_eq!(controller_key(&pod("1")), Some(Key::new(Kind::ReplicaSet, "n", "r")));
        cache.remove(&key, "u");
        assert!(cache.children(&owner, Kind::Pod).is_empty() && cache.children.is_empty());
    }

    #[test]
    fn an_owner_is_found_by_group_and_kind_and_in_its_own_scope() {
        let owned = |version: &str, kind: &str| {
            let owner = json!({"apiVersion": version, "kind": kind, "name": "o", "controller": true});
            controller_key(&json!({"metadata": {"namespace": "n", "name": "p", "ownerReferences": [owner]}}))
        };
        assert_eq!(owned("v1", "Node"), Some(Key::new(Kind::Node, "", "o")));
        assert_eq!(owned("batch/v1", "Job"), Some(Key::new(Kind::Job, "n", "o")));
        assert_eq!(owned("batch.example.com/v1", "Job"), None);
        assert_eq!(owned("config.openshift.io/v1", "ClusterOperator"), None);
    }

    #[test]
    fn resources_stand_in_the_order_of_the_kinds() {
        for kind in Kind::ALL {
            assert!(format!("{kind:?}").starts_with(&*kind.resource().kind) || kind == Kind::FirstGeneration);
        }
    }
}
