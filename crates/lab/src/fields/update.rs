//! What a create, an update or a patch does to `managedFields`.

use serde_json::{Map, Value};

use super::compare::compare;
use super::managers::{Entry, Id, Manager, Managers, Operation, entries_of, set_entries, strip};
use super::reconcile::reconcile;
use super::set::FieldSet;
use super::types::TypeRef;
use super::validate::validate;

/// Writes the `managedFields` of an object that is about to be stored; `live` is what is stored now, if anything.
///
/// A client may send entries of its own: an empty list or one empty entry forgets all, malformed ones are ignored, others
/// take the place of the stored ones, but not through a subresource. An object without entries stays so until somebody
/// applies it. An object that does not have the form of its type loses its entries. `reset` is what the strategy of the
/// request puts back anyway, such as `status`.
pub(crate) fn update(
    ty: TypeRef<'_>,
    live: Option<&Value>,
    new: &mut Value,
    manager: &Manager<'_>,
    now: &str,
    reset: &FieldSet,
) {
    let managers = starting_point(ty, live, new, manager);
    set_entries(new, None);
    if managers.entries.is_empty() && live.is_some() {
        return;
    }
    let tracked = match live {
        Some(live) => track(ty, live, new, managers, manager, now, reset),
        None => track(ty, &empty_object(ty, new), new, managers, manager, now, reset),
    };
    if let Ok(managers) = tracked {
        managers.write(new);
    }
}

/// The entries before the write: those of the request where it has some, else those of the stored object.
fn starting_point(ty: TypeRef<'_>, live: Option<&Value>, new: &Value, manager: &Manager<'_>) -> Managers {
    let stored = || {
        let entries = live.and_then(entries_of).map_or(&[][..], Vec::as_slice);
        Managers::decode(entries).unwrap_or_default()
    };
    let sent = match entries_of(new) {
        Some(sent) if manager.subresource.is_empty() => sent,
        _ => return stored(),
    };
    let is_reset = match sent.as_slice() {
        // The metadata of a custom resource is decoded and written again, and an empty list does not survive that.
        [] if ty.is_builtin() => true,
        [] => return stored(),
        [only] => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    };
    if is_reset { Managers::default() } else { Managers::decode(sent).unwrap_or_else(|_| stored()) }
}

/// The object before it is created.
pub(super) fn empty_object(ty: TypeRef<'_>, new: &Value) -> Value {
    let mut empty = ty.zero();
    for name in ["apiVersion", "kind"] {
        if let (Some(value), Some(empty)) = (new.get(name), empty.as_object_mut()) {
            empty.insert(name.into(), value.clone());
        }
    }
    if ty.is_builtin() {
        copy_nulls(new, &mut empty);
    }
    empty
}

/// A null in an object of a built-in kind is an unset field that is always written: it was there before.
fn copy_nulls(new: &Value, empty: &mut Value) {
    let (Some(new), Some(empty)) = (new.as_object(), empty.as_object_mut()) else { return };
    for (name, value) in new {
        match empty.get_mut(name) {
            Some(empty) => copy_nulls(value, empty),
            None if value.is_null() => {
                empty.insert(name.clone(), Value::Null);
            }
            None => {}
        }
    }
}

/// The entries after a write that turned `live` into `new`: who wrote owns every field that is new or different.
pub(super) fn track(
    ty: TypeRef<'_>,
    live: &Value,
    new: &Value,
    mut managers: Managers,
    manager: &Manager<'_>,
    now: &str,
    reset: &FieldSet,
) -> Result<Managers, String> {
    validate(ty, new, true)?;
    validate(ty, live, true)?;
    managers.drop_unknown(ty, new);
    for entry in managers.entries.values_mut() {
        reconcile(ty, &mut entry.set);
    }
    let mut comparison = compare(ty, live, new);
    comparison.exclude(reset);
    // By force there are no conflicts.
    managers.settle(&comparison, None, true).ok();

    let mut set = comparison.modified;
    set.add(&comparison.added);
    set.subtract_trees(reset);
    strip(&mut set);
    if !set.is_empty() {
        let id = Id::of(manager, Operation::Update);
        let api_version = manager.api_version.to_owned();
        if let Some(previous) = managers.entries.get(&id) {
            set.add(&previous.set);
        }
        managers.entries.insert(id, Entry { set, api_version, time: Some(now.into()) });
    }
    managers.cap();
    Ok(managers)
}

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;
    use serde_json::json;

    use super::*;
    use crate::fields::types::{builtin_type, custom_types};

    const NOW: &str = "2024-01-01T00:00:00Z";
    const LATER: &str = "2024-01-01T00:00:07Z";

    fn config_map(data: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, "data": data})
    }

    /// Writes an object as somebody and hands back what is stored then.
    fn write(live: Option<&Value>, object: &Value, name: &str, now: &str) -> Value {
        let mut new = object.clone();
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let ty = builtin_type(Schema::builtin().kind(api_version, kind).unwrap());
        let manager = Manager { name, api_version, subresource: "" };
        update(ty, live, &mut new, &manager, now, &FieldSet::of_names(&[&["status"]]));
        new
    }

    fn entries(object: &Value) -> Vec<(String, String, Value)> {
        let entries = entries_of(object).map_or(&[][..], Vec::as_slice);
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        entries.iter().map(|it| (text(it, "manager"), text(it, "time"), it["fieldsV1"].clone())).collect()
    }

    #[test]
    fn who_creates_an_object_owns_what_it_says() {
        let created = write(None, &config_map(&json!({"x": "1"})), "one", NOW);
        assert_eq!(
            created["metadata"]["managedFields"],
            json!([{"manager": "one", "operation": "Update", "apiVersion": "v1", "time": NOW, "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {".": {}, "f:x": {}}}}])
        );
    }

    #[test]
    fn structs_that_are_always_there_are_not_owned_and_lists_that_may_be_missing_are() {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
            "strategy": {"rollingUpdate": {"maxSurge": 1}}, "template": {"spec": {
                "containers": [{"name": "c", "resources": {}}], "volumes": [{"name": "v"}],
            }},
        }, "status": {}});
        let created = write(None, &deployment, "one", NOW);
        assert_eq!(
            entries(&created)[0].2,
            json!({"f:spec": {
                "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}},
                "f:template": {"f:spec": {
                    "f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:resources": {}}},
                    "f:volumes": {".": {}, "k:{\"name\":\"v\"}": {".": {}, "f:name": {}}},
                }},
            }})
        );
    }

    #[test]
    fn a_custom_resource_owns_its_objects_too() {
        let types = custom_types(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "integer"}}}}}));
        let mut new =
            json!({"apiVersion": "ex.dev/v1", "kind": "W", "metadata": {"name": "a"}, "spec": {"a": 1}});
        let manager = Manager { name: "", api_version: "ex.dev/v1", subresource: "" };
        update(types.root(), None, &mut new, &manager, NOW, &FieldSet::default());
        let [(name, _, fields)] = entries(&new).try_into().unwrap();
        assert_eq!((name.as_str(), fields), ("unknown", json!({"f:spec": {".": {}, "f:a": {}}})));
    }

    #[test]
    fn a_changed_field_changes_its_owner() {
        let created = write(None, &config_map(&json!({"x": "1", "y": "1"})), "one", NOW);
        let mut change = created.clone();
        change["data"] = json!({"x": "2", "y": "1", "z": "1"});
        let changed = write(Some(&created), &change, "two", LATER);
        assert_eq!(
            entries(&changed),
            [
                ("one".into(), NOW.into(), json!({"f:data": {".": {}, "f:y": {}}})),
                ("two".into(), LATER.into(), json!({"f:data": {"f:x": {}, "f:z": {}}})),
            ]
        );
    }

    #[test]
    fn an_equal_write_changes_nothing_and_one_of_the_same_manager_is_added_to_its_entry() {
        let created = write(None, &config_map(&json!({"x": "1"})), "one", NOW);
        assert_eq!(write(Some(&created), &created, "two", LATER), created);
        let mut change = created.clone();
        change["data"]["y"] = "1".into();
        let changed = write(Some(&created), &change, "one", LATER);
        assert_eq!(
            entries(&changed),
            [("one".into(), LATER.into(), json!({"f:data": {".": {}, "f:x": {}, "f:y": {}}}))]
        );
    }

    #[test]
    fn who_has_nothing_left_is_gone() {
        let created = write(None, &config_map(&json!({"x": "1"})), "one", NOW);
        let mut change = created.clone();
        change["data"] = json!(null);
        change.as_object_mut().unwrap().remove("data");
        let changed = write(Some(&created), &change, "two", LATER);
        assert_eq!(changed["metadata"].get("managedFields"), None);
    }

    #[test]
    fn a_null_that_the_server_writes_is_nobodys() {
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "a", "labels": {"a": "b"}}, "rules": null});
        let created = write(None, &role, "one", NOW);
        assert_eq!(entries(&created)[0].2, json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}));
    }

    #[test]
    fn a_custom_resource_is_reset_by_an_empty_entry_and_not_by_an_empty_list() {
        let types = custom_types(&json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
        let manager = Manager { name: "one", api_version: "ex.dev/v1", subresource: "" };
        let mut live = json!({"apiVersion": "ex.dev/v1", "kind": "W", "metadata": {"name": "a"}, "a": 1});
        update(types.root(), None, &mut live, &manager, NOW, &FieldSet::default());
        for (sent, is_kept) in [(json!([]), true), (json!([{}]), false)] {
            let mut new = live.clone();
            new["metadata"]["managedFields"] = sent;
            update(types.root(), Some(&live), &mut new, &manager, LATER, &FieldSet::default());
            assert_eq!(new == live, is_kept);
            assert_eq!(new["metadata"].get("managedFields").is_some(), is_kept);
        }
    }

    #[test]
    fn an_empty_list_forgets_all_owners_and_so_it_stays() {
        let created = write(None, &config_map(&json!({"x": "1"})), "one", NOW);
        for sent in [json!([]), json!([{}])] {
            let mut change = created.clone();
            change["metadata"]["managedFields"] = sent;
            let reset = write(Some(&created), &change, "two", LATER);
            assert_eq!(reset["metadata"].get("managedFields"), None);
            let mut again = reset.clone();
            again["data"]["x"] = "2".into();
            assert_eq!(write(Some(&reset), &again, "two", LATER), again);
        }
    }

    #[test]
    fn a_client_may_rewrite_entries_but_not_break_or_forget_them() {
        let created = write(None, &config_map(&json!({"x": "1"})), "one", NOW);
        let with = |entries: Value| {
            let mut change = created.clone();
            change["metadata"]["managedFields"] = entries;
            write(Some(&created), &change, "two", LATER)
        };
        let mut renamed = created["metadata"]["managedFields"].clone();
        renamed[0]["manager"] = "three".into();
        renamed[0]["operation"] = "Apply".into();
        assert_eq!(with(renamed.clone())["metadata"]["managedFields"], renamed);
        assert_eq!(with(json!(null)), created);
        assert_eq!(with(json!([{"manager": "x"}])), created);
    }

    #[test]
    fn an_entry_of_an_unknown_version_is_dropped() {
        let created = write(None, &config_map(&json!({"x": "1"})), "one", NOW);
        let mut change = created.clone();
        change["metadata"]["managedFields"][0]["apiVersion"] = "v9".into();
        assert_eq!(write(Some(&created), &change, "two", LATER)["metadata"].get("managedFields"), None);
    }

    #[test]
    fn a_subresource_cannot_rewrite_entries() {
        let created = write(None, &config_map(&json!({"x": "1"})), "one", NOW);
        let mut change = created.clone();
        change["metadata"]["managedFields"] = json!([]);
        let ty = builtin_type(Schema::builtin().kind("v1", "ConfigMap").unwrap());
        let manager = Manager { name: "two", api_version: "v1", subresource: "status" };
        update(ty, Some(&created), &mut change, &manager, LATER, &FieldSet::default());
        assert_eq!(change, created);
    }

    #[test]
    fn entries_in_a_new_object_are_taken_over_by_who_creates_it() {
        let mut new = config_map(&json!({"x": "1"}));
        new["metadata"]["managedFields"] = json!([{"manager": "me", "operation": "Apply", "apiVersion": "v1",
            "time": NOW, "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:x": {}}}}]);
        let created = write(None, &new, "one", LATER);
        assert_eq!(
            entries(&created),
            [("one".into(), LATER.into(), json!({"f:data": {".": {}, "f:x": {}}}))]
        );
    }

    #[test]
    fn an_object_without_the_form_of_its_type_has_no_entries() {
        let created = write(None, &config_map(&json!({"x": 1})), "one", NOW);
        assert_eq!(created["metadata"].get("managedFields"), None);
    }
}
