//! The owner of every object of a release: the ClusterVersion, where there is one.

use lockstep_api::names::{annotation, group, kind};
use lockstep_api::object;
use serde_json::{Value, json};

use super::{ModifyError, name_of};

/// The ClusterVersion that owns the objects of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

// === impl Owner ===

impl Owner {
    /// Reads it from the live ClusterVersion; without a uid it is not stored yet and owns nothing.
    pub(super) fn read(cluster_version: &Value) -> Option<Self> {
        let text = |field: &str| cluster_version["metadata"][field].as_str().filter(|text| !text.is_empty());
        Some(Self { name: text("name")?.to_owned(), uid: text("uid")?.to_owned() })
    }
}

/// Sets the owner references of an object.
///
/// A manifest that names owners of other kinds keeps exactly these. Any other gets the ClusterVersion; where there is none,
/// a reference to one goes, because garbage collection would remove an object whose owner does not exist.
///
/// *Compatibility*: the value of the create-only annotation is compared exactly here, as in the reference.
pub(super) fn set(object: &mut Value, owner: Option<&Owner>) -> Result<(), ModifyError> {
    let is_cluster_version =
        object::kind(object) == kind::CLUSTER_VERSION && object::group(object) == group::CONFIG;
    let is_controller = object::annotation(object, annotation::CREATE_ONLY) != Some("true");
    let name = name_of(object);
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return Ok(()) };
    let mut references = match metadata.remove("ownerReferences") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(references)) => references,
        Some(_) => {
            let field = "metadata.ownerReferences";
            return Err(ModifyError::Type { field, object: name, expected: "a list" });
        }
    };
    references.retain(|reference| reference["kind"] != kind::CLUSTER_VERSION);
    if let Some(Owner { name, uid }) = owner
        && references.is_empty()
        && !is_cluster_version
    {
        let api_version = object::join_api_version(group::CONFIG, "v1");
        let mut reference =
            json!({"apiVersion": api_version, "kind": kind::CLUSTER_VERSION, "name": name, "uid": uid});
        if is_controller {
            reference["controller"] = true.into();
        }
        references.push(reference);
    }
    if !references.is_empty() {
        metadata.insert("ownerReferences".to_owned(), references.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(kind: &str, name: &str, uid: &str) -> Value {
        json!({"apiVersion": "config.openshift.io/v1", "kind": kind, "name": name, "uid": uid})
    }

    fn ours(uid: &str) -> Value {
        let mut reference = reference("ClusterVersion", "version", uid);
        reference["controller"] = json!(true);
        reference
    }

    fn owned(references: &Value, owner: Option<&Owner>) -> Value {
        let mut object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"ownerReferences": references}});
        set(&mut object, owner).unwrap();
        object["metadata"].get("ownerReferences").cloned().unwrap_or_default()
    }

    #[test]
    fn the_cluster_version_owns_what_names_no_other_owner() {
        let owner = |uid: &str| Owner { name: "version".into(), uid: uid.into() };
        let deployment = reference("Deployment", "user-defined", "uuid3");
        let cases = [
            (json!(null), "uuid1", json!([ours("uuid1")])),
            (json!([]), "uuid1", json!([ours("uuid1")])),
            (json!([reference("ClusterVersion", "version", "uuid1")]), "uuid2", json!([ours("uuid2")])),
            (json!([reference("ClusterVersion", "user-defined", "uuid2")]), "uuid2", json!([ours("uuid2")])),
            (json!([deployment]), "uuid2", json!([deployment])),
            (
                json!([deployment, reference("ClusterVersion", "version", "uuid1")]),
                "uuid2",
                json!([deployment]),
            ),
        ];
        for (references, uid, expected) in cases {
            assert_eq!(owned(&references, Some(&owner(uid))), expected, "{references}");
        }
    }

    #[test]
    fn without_a_cluster_version_nobody_refers_to_one() {
        let deployment = reference("Deployment", "a", "uuid3");
        assert_eq!(owned(&json!(null), None), json!(null));
        assert_eq!(owned(&json!([reference("ClusterVersion", "version", "uuid1")]), None), json!(null));
        assert_eq!(owned(&json!([deployment]), None), json!([deployment]));
    }

    #[test]
    fn an_object_that_is_only_created_is_owned_but_not_controlled() {
        let owner = Owner { name: "version".into(), uid: "u".into() };
        for (value, is_controlled) in [("true", false), ("True", true), ("false", true)] {
            let mut object = json!({"kind": "ConfigMap",
                "metadata": {"annotations": {"release.openshift.io/create-only": value}}});
            set(&mut object, Some(&owner)).unwrap();
            let controller = object["metadata"]["ownerReferences"][0].get("controller");
            assert_eq!(controller.is_some(), is_controlled, "{value}");
        }
    }

    #[test]
    fn the_cluster_version_does_not_own_itself() {
        let mut object =
            json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {}});
        set(&mut object, Some(&Owner { name: "version".into(), uid: "u".into() })).unwrap();
        assert_eq!(object["metadata"], json!({}));
    }
}
