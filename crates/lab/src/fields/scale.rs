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
    for (id, mut entry) in parent.entries.clone() {
        // The id of an update of the Scale differs from that of the object in its version alone.
        let mut in_scale = id.clone();
        if !in_scale.api_version.is_empty() {
            in_scale.api_version = SCALE_VERSION.into();
        }
        let kept = scale.entries.remove(&id).or_else(|| scale.entries.remove(&in_scale));
        if kept.is_none() && entry.set.has(&path) {
            entry.set.subtract(&at_path);
        }
        if !entry.set.is_empty() {
            managers.entries.insert(id, entry);
        }
    }
    for (mut id, entry) in scale.entries {
        if entry.set.has(&in_scale) {
            let time = parent.entries.get(&id).and_then(|entry| entry.time.clone());
            if !id.api_version.is_empty() {
                id.api_version = api_version.into();
            }
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
