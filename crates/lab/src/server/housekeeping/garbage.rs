//! Garbage collection: what happens to objects whose owners go.

use serde_json::Value;

use crate::server::core::Core;
use crate::server::delete::{DeleteOptions, FOREGROUND, ORPHAN, Propagation, remove, set_finalizers};
use crate::store::{Key, Store};

/// How an owner that an object names stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// It is there.
    Solid,
    /// It is not there, or another object has its name now.
    Absent,
    /// It is on its way out and waits for its dependents.
    Waiting,
}

/// Looks at one object that was written, or whose owner or dependent went.
pub(super) fn settle(core: &mut Core, key: &Key, now: &str) {
    let Some(object) = core.store.get(key).cloned() else { return };
    let is_deleted = object["metadata"].get("deletionTimestamp").is_some();
    if is_deleted && has_finalizer(&object, ORPHAN) {
        return orphan_dependents(core, key, &object);
    }
    if is_deleted && has_finalizer(&object, FOREGROUND) {
        return await_dependents(core, key, &object, now);
    }
    if !is_deleted {
        follow_owners(core, key, &object, now);
    }
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|list| list.iter().any(|it| it == name))
}

/// The owner went and its dependents shall stay: they lose the reference, then it loses the finalizer.
fn orphan_dependents(core: &mut Core, key: &Key, object: &Value) {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let dependents: Vec<Key> = core.store.dependents(uid).cloned().collect();
    for dependent in dependents {
        let Some(old) = core.store.get(&dependent) else { continue };
        let mut new = Value::clone(old);
        keep_owners(&mut new, |owner| owner["uid"] != uid);
        core.put(&dependent, new);
    }
    drop_finalizer(core, key, ORPHAN);
}

/// The owner waits until the dependents that block it are gone.
fn await_dependents(core: &mut Core, key: &Key, object: &Value, now: &str) {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let blocks = |store: &Store, dependent: &Key| {
        let owners = store.get(dependent).and_then(|object| object["metadata"]["ownerReferences"].as_array());
        owners.into_iter().flatten().any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
    };
    let dependents: Vec<Key> = core.store.dependents(uid).cloned().collect();
    for dependent in &dependents {
        let Some(found) = core.store.get(dependent).cloned() else { continue };
        if found["metadata"].get("deletionTimestamp").is_none() {
            follow_owners(core, dependent, &found, now);
        }
    }
    let is_blocked = dependents.iter().any(|dependent| blocks(&core.store, dependent));
    if !is_blocked {
        drop_finalizer(core, key, FOREGROUND);
    }
}

/// An object goes when its last owner goes; a reference to one that went is dropped while others stay.
fn follow_owners(core: &mut Core, key: &Key, object: &Value, now: &str) {
    let owners = object["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    if owners.is_empty() {
        return;
    }
    let mut standing = Vec::with_capacity(owners.len());
    for owner in owners {
        match standing_of(core, key, owner) {
            Some(found) => standing.push(found),
            // A kind that nobody serves: the real collector does not dare to decide either.
            None => return,
        }
    }
    if standing.iter().all(|&it| it == Owner::Solid) {
        return;
    }
    if standing.contains(&Owner::Solid) {
        let solid: Vec<&Value> = owners
            .iter()
            .zip(&standing)
            .filter(|(_, it)| **it == Owner::Solid)
            .map(|(owner, _)| owner)
            .collect();
        let mut new = object.clone();
        keep_owners(&mut new, |owner| solid.contains(&owner));
        core.put(key, new);
        return;
    }
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let has_dependents = core.store.dependents(uid).next().is_some();
    let propagation = if standing.contains(&Owner::Waiting) && has_dependents {
        Some(Propagation::Foreground)
    } else if has_finalizer(object, ORPHAN) || has_finalizer(object, FOREGROUND) {
        None
    } else {
        Some(Propagation::Background)
    };
    if propagation == Some(Propagation::Foreground) && is_in_a_ring(core, uid) {
        // Two objects that own each other would wait for each other for ever.
        let mut new = object.clone();
        for owner in
            new.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut).into_iter().flatten()
        {
            owner["blockOwnerDeletion"] = false.into();
        }
        core.put(key, new);
    }
    let Some(resource) = core.registry.of_table(&key.table).cloned() else { return };
    let options = DeleteOptions { propagation, uid: Some(uid.to_owned()), ..DeleteOptions::default() };
    // It was just there; what refuses the deletion refuses it to anybody.
    drop(remove(core, now, &resource, key, &options));
}

/// Whether a dependent of an object waits for its own dependents already.
fn is_in_a_ring(core: &Core, uid: &str) -> bool {
    core.store.dependents(uid).filter_map(|dependent| core.store.get(dependent)).any(|dependent| {
        dependent["metadata"].get("deletionTimestamp").is_some() && has_finalizer(dependent, FOREGROUND)
    })
}

fn standing_of(core: &Core, key: &Key, owner: &Value) -> Option<Owner> {
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    let resource = core.registry.of_kind(text("apiVersion"), text("kind"))?;
    if resource.names.namespaced && key.namespace().is_empty() {
        // Something without a namespace cannot be owned by something in one; nobody decides about it.
        return None;
    }
    let namespace = if resource.names.namespaced { key.namespace() } else { "" };
    let found = core.store.get(&Key::new(&resource.table, namespace, text("name")));
    Some(match found {
        Some(found) if found["metadata"]["uid"] == owner["uid"] => {
            let is_waiting =
                found["metadata"].get("deletionTimestamp").is_some() && has_finalizer(found, FOREGROUND);
            if is_waiting { Owner::Waiting } else { Owner::Solid }
        }
        _ => Owner::Absent,
    })
}

fn keep_owners(object: &mut Value, keep: impl Fn(&Value) -> bool) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) else { return };
    owners.retain(|owner| keep(owner));
    if owners.is_empty() {
        metadata.remove("ownerReferences");
    }
}

/// Takes a finalizer away; when it was the last one the object goes.
fn drop_finalizer(core: &mut Core, key: &Key, name: &str) {
    let Some(old) = core.store.get(key).cloned() else { return };
    let listed = old["metadata"]["finalizers"].as_array().into_iter().flatten();
    let left: Vec<String> =
        listed.filter_map(|it| it.as_str()).filter(|it| *it != name).map(str::to_owned).collect();
    let is_last = left.is_empty() && old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0;
    let is_held = core.registry.of_table(&key.table).is_some_and(|resource| resource.is_held(&old));
    if is_last && !is_held {
        core.remove(key);
        return;
    }
    let mut new = Value::clone(&old);
    set_finalizers(&mut new, &left);
    core.put(key, new);
}
