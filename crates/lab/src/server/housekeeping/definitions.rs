//! CRDs coming into force, changing, and going.

use std::sync::Arc;

use serde_json::Value;

use crate::crd::definition::{Definition, Names};
use crate::crd::lifecycle::{self, Deletion, FINALIZER};
use crate::server::core::{Core, definitions_table};
use crate::server::delete::{DeleteOptions, remove};
use crate::server::resource::{Manager, Resource};
use crate::store::{Key, TableName};

/// Looks at a CRD that was written or removed.
pub(super) fn settle(core: &mut Core, key: &Key, now: &str) {
    let Some(crd) = core.store.get(key).cloned() else {
        let Some((plural, group)) = key.name().split_once('.') else { return };
        let table = TableName::new(group, plural);
        core.registry.replace_custom(&table, Vec::new());
        core.store.close(&table);
        look_again(core, key, group);
        return;
    };
    let mut new = Value::clone(&crd);
    let others = core.store.objects(&definitions_table(), "");
    let others: Vec<Names> = others
        .iter()
        .filter(|(path, other)| *path != key.path && other["spec"]["group"] == crd["spec"]["group"])
        .map(|(_, other)| Names::parse(&other["status"]["acceptedNames"]))
        .collect();
    let crd = if lifecycle::reconcile(&mut new, &others, now) {
        let stored = put_status(core, key, &crd, new, now);
        // It is as it should be now; a second look would only read its schemas again.
        core.work.forget(key);
        stored
    } else {
        crd
    };
    serve(core, &crd);
    if crd["metadata"].get("deletionTimestamp").is_some() {
        clean_up(core, key, &crd, now);
    }
}

/// Stores a CRD with a new status; the controllers of the server are a manager of fields like others.
fn put_status(core: &mut Core, key: &Key, old: &Value, mut new: Value, now: &str) -> Arc<Value> {
    if let Some(resource) = core.registry.of_table(&definitions_table()) {
        let manager = Manager { name: "kube-apiserver", subresource: "status" };
        resource.track(Some(old), &mut new, manager, now);
    }
    core.put(key, new)
}

/// Looks again at the definitions of a group that could not have their names so far.
fn look_again(core: &mut Core, key: &Key, group: &str) {
    for (path, other) in core.store.objects(&definitions_table(), "") {
        let is_waiting = other["spec"]["group"] == group && !lifecycle::is_true(&other, "NamesAccepted");
        if is_waiting && path != key.path {
            core.work.note(Key { table: definitions_table(), path });
        }
    }
}

/// Serves what is established, and nothing else.
fn serve(core: &mut Core, crd: &Value) {
    let Ok(definition) = Definition::parse(crd) else { return };
    let table = TableName::new(&definition.group, &definition.names.plural);
    core.store.open(&table);
    let resources = if lifecycle::is_true(crd, "Established") {
        let previous = core.registry.of_table(&table);
        Resource::custom(crd, &Arc::new(definition), previous.map(AsRef::as_ref), core.store.revision())
    } else {
        Vec::new()
    };
    core.registry.replace_custom(&table, resources);
}

/// Deletes the objects of a CRD on its way out; when none is left its finalizer lets go.
fn clean_up(core: &mut Core, key: &Key, crd: &Value, now: &str) {
    let finalizers = crd["metadata"]["finalizers"].as_array();
    if !finalizers.is_some_and(|list| list.iter().any(|it| it == FINALIZER)) {
        return;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let table = TableName::new(&text(&crd["spec"]["group"]), &text(&crd["spec"]["names"]["plural"]));
    let resource = core.registry.of_table(&table).cloned().or_else(|| Resource::of_stored(crd).map(Arc::new));
    if let Some(resource) = resource {
        for (path, _) in core.store.objects(&table, "") {
            let at = Key { table: table.clone(), path };
            drop(remove(core, now, &resource, &at, &DeleteOptions::default()));
        }
    }
    let is_done = core.store.objects(&table, "").is_empty();
    let mut new = crd.clone();
    lifecycle::set_deletion(&mut new, if is_done { Deletion::Completed } else { Deletion::InProgress }, now);
    if new == *crd {
        return;
    }
    if is_done && new["metadata"].get("finalizers").is_none() {
        core.remove(key);
    } else {
        put_status(core, key, crd, new, now);
    }
}
