//! The form in which objects are stored, and the one in which they are shown.

use std::sync::Arc;

use serde_json::Value;

use super::{Resource, Sort, events};
use crate::server::go_json;

// === impl Resource ===

impl Resource {
    /// Turns an object of this version into the form that is stored.
    ///
    /// A custom resource is stored in the storage version of its definition, in the form that reading it back would give, so
    /// that most reads have nothing to do.
    pub(crate) fn to_storage(&self, object: &mut Value) {
        match &self.sort {
            Sort::Builtin(kind) => {
                if events::is_view(kind) {
                    events::to_core(object);
                }
            }
            Sort::Custom(custom) => {
                if let Some(storage) = custom.definition.storage() {
                    object["apiVersion"] = storage.api_version.as_str().into();
                    custom.definition.renew(object);
                }
                go_json::settle_numbers(object);
            }
        }
    }

    /// A stored object as this version shows it.
    ///
    /// Nearly always that is what is stored. A custom resource that was stored before its definition changed is brought into
    /// the form of the new schema, and one of another version is converted.
    pub(crate) fn present(&self, stored: &Arc<Value>) -> Arc<Value> {
        match &self.sort {
            Sort::Builtin(kind) => {
                let api_version = &stored["apiVersion"];
                if *api_version == kind.api_version || stored["kind"] != kind.kind {
                    return Arc::clone(stored);
                }
                let mut object = Value::clone(stored);
                if events::is_view(kind) {
                    events::from_core(&mut object);
                } else {
                    object["apiVersion"] = kind.api_version.into();
                }
                Arc::new(object)
            }
            Sort::Custom(custom) => {
                let metadata = &stored["metadata"];
                let version =
                    metadata["resourceVersion"].as_str().and_then(|it| it.parse().ok()).unwrap_or(0);
                let is_old = version <= custom.since;
                let is_other = stored["apiVersion"] != custom.version.api_version.as_str();
                // A bookmark has a version, but is no object.
                if !(is_old || is_other) || metadata.get("uid").is_none() {
                    return Arc::clone(stored);
                }
                let mut object = Value::clone(stored);
                if is_old {
                    custom.definition.renew(&mut object);
                }
                custom.version.convert(&mut object);
                Arc::new(object)
            }
        }
    }

    /// Brings an object that is about to be stored again into the form of the current schema.
    pub(crate) fn renew(&self, object: &mut Value) {
        if let Sort::Custom(custom) = &self.sort {
            let version =
                object["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse::<u64>().ok());
            if version.is_some_and(|version| version <= custom.since) {
                custom.definition.renew(object);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::crd::definition::Definition;

    fn widgets(revision: u64, properties: &Value, previous: Option<&Resource>) -> Vec<Resource> {
        let version = |name: &str, storage: bool| {
            json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": properties}}}}})
        };
        let crd = json!({"metadata": {"generation": revision}, "spec": {"group": "ex.dev", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"}, "versions": [version("v1", true), version("v2", false)]}});
        let definition = Arc::new(Definition::parse(&crd).unwrap());
        Resource::custom(&crd, &definition, previous, revision)
    }

    fn stored(version: &str) -> Arc<Value> {
        Arc::new(
            json!({"apiVersion": "ex.dev/v1", "kind": "Widget", "metadata": {"uid": "u", "resourceVersion": version},
            "spec": {"a": "x"}}),
        )
    }

    #[test]
    fn only_objects_from_before_a_change_of_the_schema_are_touched() {
        let first = widgets(1, &json!({"a": {"type": "string"}}), None);
        let object = stored("2");
        assert!(Arc::ptr_eq(&first[0].present(&object), &object));

        let second = widgets(5, &json!({"b": {"type": "string", "default": "y"}}), Some(&first[0]));
        assert_eq!(second[0].present(&object)["spec"], json!({"b": "y"}));
        let newer = stored("6");
        assert!(Arc::ptr_eq(&second[0].present(&newer), &newer));
        assert_eq!(second[1].present(&newer)["apiVersion"], "ex.dev/v2");
    }

    #[test]
    fn what_is_stored_has_the_storage_version_and_whole_numbers() {
        let resources =
            widgets(1, &json!({"a": {"type": "number"}, "b": {"type": "string", "default": "y"}}), None);
        let mut object = json!({"apiVersion": "ex.dev/v2", "kind": "Widget", "spec": {"a": 1.0, "c": 1}});
        resources[1].to_storage(&mut object);
        assert_eq!(object, json!({"apiVersion": "ex.dev/v1", "kind": "Widget", "spec": {"a": 1, "b": "y"}}));
        assert!(object["spec"]["a"].is_i64());
        let mut object = json!({"apiVersion": "ex.dev/v1", "kind": "Widget", "spec": {"a": 1.5}});
        resources[0].to_storage(&mut object);
        assert_eq!(object["spec"]["a"], 1.5);
    }
}
