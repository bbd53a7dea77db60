//! The end of a namespace: its content goes first.

use serde_json::{Value, json};

use crate::server::core::Core;
use crate::server::delete::{DeleteOptions, Propagation, remove};
use crate::store::Key;

/// Empties a namespace that is deleted, and ends it when it is empty.
pub(super) fn settle(core: &mut Core, key: &Key, now: &str) {
    let Some(namespace) = core.store.get(key).cloned() else { return };
    if namespace["metadata"].get("deletionTimestamp").is_none() {
        return;
    }
    let mut remaining: Vec<(String, usize)> = Vec::new();
    let mut finalizers: Vec<(String, usize)> = Vec::new();
    let tables: Vec<_> = core.store.tables().cloned().collect();
    for table in tables {
        let objects = core.store.objects(&table, key.name());
        let Some(resource) = core.registry.of_table(&table).cloned() else { continue };
        if objects.is_empty() || !resource.names.namespaced {
            continue;
        }
        for (path, _) in &objects {
            let at = Key { table: table.clone(), path: path.clone() };
            let options =
                DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
            drop(remove(core, now, &resource, &at, &options));
        }
        let left = core.store.objects(&table, key.name());
        if !left.is_empty() {
            let name = if table.group.is_empty() {
                format!("{}.", table.plural)
            } else {
                format!("{}.{}", table.plural, table.group)
            };
            remaining.push((name, left.len()));
            for (_, object) in &left {
                for finalizer in object["metadata"]["finalizers"].as_array().into_iter().flatten() {
                    count(&mut finalizers, finalizer.as_str().unwrap_or_default());
                }
            }
        }
    }
    if remaining.is_empty() {
        finish(core, key, &namespace, now);
    } else {
        let mut new = Value::clone(&namespace);
        new["status"]["conditions"] = conditions(&remaining, &finalizers, now, &namespace);
        if new != *namespace {
            core.put(key, new);
        }
    }
}

fn count(counts: &mut Vec<(String, usize)>, name: &str) {
    match counts.iter_mut().find(|(known, _)| known == name) {
        Some((_, number)) => *number += 1,
        None => counts.push((name.to_owned(), 1)),
    }
}

/// The namespace is empty: its own finalizer lets go.
fn finish(core: &mut Core, key: &Key, namespace: &Value, now: &str) {
    let mut new = namespace.clone();
    if let Some(Value::Array(finalizers)) = new.pointer_mut("/spec/finalizers") {
        finalizers.retain(|name| name != "kubernetes");
        if finalizers.is_empty()
            && let Some(spec) = new["spec"].as_object_mut()
        {
            spec.remove("finalizers");
        }
    }
    let is_listed = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    if is_listed(&new["spec"]["finalizers"]) || is_listed(&new["metadata"]["finalizers"]) {
        new["status"]["conditions"] = conditions(&[], &[], now, namespace);
        if new != *namespace {
            core.put(key, new);
        }
        return;
    }
    core.remove(key);
}

/// The five conditions of a namespace on its way out.
fn conditions(
    remaining: &[(String, usize)],
    finalizers: &[(String, usize)],
    now: &str,
    old: &Value,
) -> Value {
    let sentence = |list: &[(String, usize)], one: &str| {
        let parts: Vec<String> =
            list.iter().map(|(name, number)| format!("{name} {one} {number} resource instances")).collect();
        parts.join(", ")
    };
    let content = (!remaining.is_empty())
        .then(|| format!("Some resources are remaining: {}", sentence(remaining, "has")));
    let held = (!finalizers.is_empty()).then(|| {
        format!("Some content in the namespace has finalizers remaining: {}", sentence(finalizers, "in"))
    });
    let all = [
        (
            "NamespaceDeletionDiscoveryFailure",
            None,
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            None,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        ("NamespaceContentRemaining", content, "ContentRemoved", "All content successfully removed"),
        (
            "NamespaceFinalizersRemaining",
            held,
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ];
    let conditions = all.into_iter().map(|(kind, problem, reason, message)| {
        let (status, reason, message) = match problem {
            Some(problem) if kind == "NamespaceContentRemaining" => ("True", "SomeResourcesRemain", problem),
            Some(problem) => ("True", "SomeFinalizersRemain", problem),
            None => ("False", reason, message.to_owned()),
        };
        let known =
            old["status"]["conditions"].as_array().into_iter().flatten().find(|it| it["type"] == kind);
        let since = known.filter(|it| it["status"] == status).map(|it| it["lastTransitionTime"].clone());
        json!({
            "type": kind,
            "status": status,
            "lastTransitionTime": since.unwrap_or_else(|| now.into()),
            "reason": reason,
            "message": message,
        })
    });
    conditions.collect()
}
