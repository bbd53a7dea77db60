//! The entries of an object as its `scale` subresource shows and changes them: only who owns the replicas counts.

use serde_json::Value;

use super::element::PathElement;
use super::managers::{Entry, Managers};
use super::set::FieldSet;

/// The API version of the kind `Scale`.
const SCALE_VERSION: &str = "autoscaling/v1";
/// Where a `Scale` has its replicas.
const IN_SCALE: &[&str] = &["spec", "replicas"];

/// The entries of the `Scale` of an object: those that own its replicas, which are at this path.
///
/// # Errors
/// When the entries are malformed.
pub(crate) fn parent_to_scale(entries: &[Value], replicas: &[&str]) -> Result<Option<Value>, String> {
    let mut managers = Managers::decode(entries)?;
    let path = path(replicas);
    managers.entries.retain(|_, entry| entry.set.has(&path));
    for entry in managers.entries.values_mut() {
        entry.set = FieldSet::of_names(&[IN_SCALE]);
        entry.api_version = SCALE_VERSION.into();
    }
    Ok(managers.encode())
}

/// The entries of an object after its `Scale` was written: who is not in the `Scale` any more has lost the replicas,
/// who is new there owns them.
///
/// # Errors
/// When entries are malformed.
pub(crate) fn scale_to_parent(
    entries: &[Value],
    scale_entries: &[Value],
    api_version: &str,
    replicas: &[&str],
) -> Result<Option<Value>, String> {
    let parent = Managers::decode(entries)?;
    let mut scale = Managers::decode(scale_entries)?;
    let (path, in_scale) = (path(replicas), path(IN_SCALE));
    let at_path = FieldSet::of_names(&[replicas]);
    let mut managers = Managers::default();
    for (id, entry) in &parent.entries {
        let mut entry = entry.clone();
        // NB: an update of the object and the same update as its Scale shows it have ids of two versions, so that even a
        // write that changes nothing splits the entry in two. The server does that.
        if entry.set.has(&path) && scale.entries.remove(id).is_none() {
            entry.set.subtract(&at_path);
        }
        if !entry.set.is_empty() {
            managers.entries.insert(id.clone(), entry);
        }
    }
    for (id, entry) in scale.entries {
        if entry.set.has(&in_scale) {
            let time = parent.entries.get(&id).and_then(|entry| entry.time.clone());
            managers
                .entries
                .insert(id, Entry { set: at_path.clone(), api_version: api_version.into(), time });
        }
    }
    Ok(managers.encode())
}

fn path(names: &[&str]) -> Vec<PathElement> {
    names.iter().map(|name| PathElement::field(name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::managers::Manager;
    use crate::fields::types::builtin_type_named;
    use crate::fields::update::update;

    const NOW: &str = "2024-01-01T00:00:00Z";

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "time": NOW,
            "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    /// What is left of the entries of a Deployment when somebody writes its Scale.
    fn scaled(entries: &Value, manager: &str, from: u32, to: u32) -> Value {
        let entries = entries.as_array().unwrap();
        let replicas = &["spec", "replicas"];
        let scale = |replicas: u32, entries: Option<Value>| {
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": replicas}, "status": {"replicas": 0},
                "metadata": {"name": "a", "managedFields": entries}})
        };
        let old = scale(from, parent_to_scale(entries, replicas).unwrap());
        let mut new = scale(to, None);
        let ty = builtin_type_named("autoscaling.v1.Scale").unwrap();
        let manager = Manager { name: manager, api_version: "autoscaling/v1", subresource: "scale" };
        update(ty, Some(&old), &mut new, &manager, NOW, &FieldSet::default());
        let after = new["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        scale_to_parent(entries, &after, "apps/v1", replicas).unwrap().unwrap()
    }

    #[test]
    fn who_scales_takes_the_replicas_from_an_applier_and_has_no_time() {
        let entries = json!([entry("one", "Apply", &json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}))]);
        assert_eq!(
            scaled(&entries, "hpa", 1, 2),
            json!([
                entry("one", "Apply", &json!({"f:spec": {"f:paused": {}}})),
                {"manager": "hpa", "operation": "Update", "apiVersion": "apps/v1", "subresource": "scale",
                    "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
            ])
        );
    }

    #[test]
    fn an_applier_keeps_the_replicas_when_they_stay_the_same() {
        let entries = json!([entry("one", "Apply", &json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}))]);
        assert_eq!(scaled(&entries, "hpa", 1, 1), entries);
    }

    #[test]
    fn an_updater_is_split_in_two_even_when_they_stay_the_same() {
        let entries = json!([entry("one", "Update", &json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}))]);
        let mut timeless = entry("one", "Update", &json!({"f:spec": {"f:replicas": {}}}));
        timeless.as_object_mut().unwrap().remove("time");
        assert_eq!(
            scaled(&entries, "hpa", 1, 1),
            json!([timeless, entry("one", "Update", &json!({"f:spec": {"f:paused": {}}}))])
        );
    }

    #[test]
    fn replicas_that_nobody_owns_stay_so() {
        let entries = json!([entry("one", "Update", &json!({"f:spec": {"f:paused": {}}}))]);
        assert_eq!(scaled(&entries, "hpa", 1, 2), entries);
    }
}
