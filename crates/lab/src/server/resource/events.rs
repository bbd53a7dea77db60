//! Events: `events.k8s.io/v1` is another view of the Events of the core.

use lockstep_schema::{Kind, Schema};
use serde_json::Value;

use crate::builtin::decode::decode;
use crate::store::TableName;

/// Where the fields of the two forms differ: the name in the core, the name in `events.k8s.io`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("message", "note"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Whether a kind is a view of another one, which is what is stored.
pub(super) fn is_view(kind: &Kind) -> bool {
    (kind.group, kind.kind) == ("events.k8s.io", "Event")
}

/// Where the objects of a view are.
pub(super) fn table(kind: &Kind) -> Option<TableName> {
    is_view(kind).then(|| TableName::new("", "events"))
}

/// Turns an Event of `events.k8s.io` into one of the core.
pub(super) fn to_core(object: &mut Value) {
    for (core, view) in RENAMED {
        rename(object, view, core);
    }
    finish(object, "v1");
}

/// Turns an Event of the core into one of `events.k8s.io`.
pub(super) fn from_core(object: &mut Value) {
    for (core, view) in RENAMED {
        rename(object, core, view);
    }
    finish(object, "events.k8s.io/v1");
}

fn rename(object: &mut Value, from: &str, to: &str) {
    let Some(fields) = object.as_object_mut() else { return };
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

/// Writes what each form always writes, and leaves out what it leaves out when it is empty.
fn finish(object: &mut Value, api_version: &str) {
    object["apiVersion"] = api_version.into();
    let Some(fields) = object.as_object_mut() else { return };
    fields.retain(|name, value| name == "metadata" || value.as_str() != Some(""));
    if let Some(kind) = Schema::builtin().kind(api_version, "Event")
        && let Ok(decoded) = decode(kind, object.take())
    {
        *object = decoded.object;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_of_an_event_are_the_same_event() {
        let core = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"},
            "message": "m", "count": 3, "reason": "R", "reportingComponent": "", "source": {"component": "c"}});
        let mut event = core.clone();
        from_core(&mut event);
        assert_eq!((&event["note"], &event["deprecatedCount"]), (&json!("m"), &json!(3)));
        assert_eq!(event["regarding"], json!({"kind": "Pod"}));
        assert_eq!(event.get("reportingController"), None);
        to_core(&mut event);
        for field in ["message", "count", "involvedObject", "source", "reason"] {
            assert_eq!(event[field], core[field], "{field}");
        }
    }
}
