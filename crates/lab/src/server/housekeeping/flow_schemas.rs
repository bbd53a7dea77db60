//! Whether flow schemas find their priority levels: the server itself says so in their status.

use serde_json::{Value, json};

use crate::server::core::Core;
use crate::server::resource::Manager;
use crate::store::{Key, TableName};

/// The group of flow schemas and priority levels.
pub(super) const GROUP: &str = "flowcontrol.apiserver.k8s.io";
/// Who writes the status.
const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";
/// The levels that every real server brings along; here they count as if they were there.
const LEVELS: [&str; 8] = [
    "catch-all",
    "exempt",
    "global-default",
    "leader-election",
    "node-high",
    "system",
    "workload-high",
    "workload-low",
];

/// Looks at a flow schema, or at all of them when a priority level came or went.
pub(super) fn settle(core: &mut Core, key: &Key, now: &str) {
    let schemas = TableName::new(GROUP, "flowschemas");
    if key.table == schemas {
        return tell(core, key, now);
    }
    for (path, _) in core.store.objects(&schemas, "") {
        tell(core, &Key { table: schemas.clone(), path }, now);
    }
}

fn tell(core: &mut Core, key: &Key, now: &str) {
    let Some(old) = core.store.get(key).cloned() else { return };
    let level = old["spec"]["priorityLevelConfiguration"]["name"].as_str().unwrap_or_default();
    let levels = TableName::new(GROUP, "prioritylevelconfigurations");
    let is_there = LEVELS.contains(&level) || core.store.get(&Key::new(&levels, "", level)).is_some();
    let (status, reason, end) = if is_there {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let known =
        old["status"]["conditions"].as_array().into_iter().flatten().find(|it| it["type"] == "Dangling");
    if known.is_some_and(|it| it["status"] == status) {
        return;
    }
    let Some(resource) = core.registry.of_table(&key.table).cloned() else { return };
    let message =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?} {end}");
    let patch = json!({
        "apiVersion": old["apiVersion"],
        "kind": old["kind"],
        "metadata": {"name": old["metadata"]["name"]},
        "status": {"conditions": [{
            "type": "Dangling", "status": status, "lastTransitionTime": now, "reason": reason, "message": message,
        }]},
    });
    let manager = Manager { name: MANAGER, subresource: "status" };
    let merged: Option<Value> = resource.apply(Some(&old), &patch, manager, true, now).ok();
    if let Some(new) = merged.filter(|new| *new != *old) {
        core.put(key, new);
    }
}
