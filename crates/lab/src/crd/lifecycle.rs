//! The life of a definition: what the server sets when it is written, and what its controllers make of it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::approval;
use super::definition::{Names, bundle_problem};

/// The finalizer that waits for the objects of a deleted definition.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// How far the deletion of a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// It was asked for.
    Pending,
    /// Objects are being deleted.
    InProgress,
    /// No object is left, or there never could be any.
    Completed,
}

/// Sets the defaults of a definition.
pub(crate) fn default(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        for (key, name) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
            let is_empty = names.get(key).and_then(Value::as_str).unwrap_or_default().is_empty();
            if is_empty && !kind.is_empty() {
                names.insert(key.to_owned(), name.into());
            }
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
    let service = crd.pointer_mut("/spec/conversion/webhook/clientConfig/service");
    if let Some(Value::Object(service)) = service {
        service.entry("port").or_insert_with(|| 443.into());
    }
}

/// A new definition: its status is the server's business.
pub(crate) fn prepare_create(crd: &mut Value) {
    crd["metadata"]["generation"] = 1.into();
    crd["status"] = json!({
        "conditions": null,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": storage_version(crd).map_or(Value::Null, |version| json!([version])),
    });
}

/// A changed definition: its status stays, and a new storage version is remembered.
pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    new["status"] = old["status"].clone();
    let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
    let changed = i64::from(new["spec"] != old["spec"]);
    new["metadata"]["generation"] = (generation + changed).into();
    let Some(version) = storage_version(new) else { return };
    let Some(stored) = new["status"]["storedVersions"].as_array_mut() else {
        new["status"]["storedVersions"] = json!([version]);
        return;
    };
    if !stored.iter().any(|stored| *stored == version.as_str()) {
        stored.push(version.into());
    }
}

/// A changed status. NB: metadata can be written this way, too; the finalizer is removed like that.
pub(crate) fn prepare_status_update(new: &mut Value, old: &Value) {
    new["spec"] = old["spec"].clone();
}

/// Does what the naming, approval and establishing controllers do with a definition; whether anything changed.
///
/// `others` are the accepted names of the other definitions of the group; `now` is the time in the form of the API.
pub(crate) fn reconcile(crd: &mut Value, others: &[Names], now: &str) -> bool {
    let before = crd["status"].clone();
    if let Some((status, reason, message)) = approval::condition(crd) {
        set(crd, "KubernetesAPIApprovalPolicyConformant", status, reason, &message, now);
    }
    name(crd, others, now);
    if is_true(crd, "NamesAccepted") && !is_true(crd, "Established") {
        if bundle_problem(&crd["spec"]["conversion"]["webhook"]["clientConfig"]).is_some() {
            let message = "The conversion webhook CABundle is invalid";
            set(crd, "Established", "False", "InvalidCABundle", message, now);
        } else {
            let message = "the initial names have been accepted";
            set(crd, "Established", "True", "InitialNamesAccepted", message, now);
        }
    }
    crd["status"] != before
}

/// Marks a definition for deletion: time, finalizer and condition.
pub(crate) fn begin_deletion(crd: &mut Value, now: &str) {
    if crd["metadata"]["deletionTimestamp"].is_null() {
        crd["metadata"]["deletionTimestamp"] = now.into();
    }
    let finalizers = &mut crd["metadata"]["finalizers"];
    match finalizers {
        Value::Array(list) if list.iter().any(|finalizer| finalizer == FINALIZER) => {}
        Value::Array(list) => list.push(FINALIZER.into()),
        other => *other = json!([FINALIZER]),
    }
    set_deletion(crd, Deletion::Pending, now);
}

/// Says how far a deletion is; the last step also removes the finalizer.
pub(crate) fn set_deletion(crd: &mut Value, deletion: Deletion, now: &str) {
    let (status, reason, message) = match deletion {
        Deletion::Pending => (
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        ),
        Deletion::InProgress => {
            ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
        }
        Deletion::Completed if is_true(crd, "Established") => {
            ("False", "InstanceDeletionCompleted", "removed all instances")
        }
        Deletion::Completed => ("False", "NeverEstablished", "resource was never established"),
    };
    set(crd, "Terminating", status, reason, message, now);
    if deletion == Deletion::Completed
        && let Some(list) = crd["metadata"]["finalizers"].as_array_mut()
    {
        list.retain(|finalizer| finalizer != FINALIZER);
        if list.is_empty()
            && let Some(metadata) = crd["metadata"].as_object_mut()
        {
            metadata.remove("finalizers");
        }
    }
}

/// Whether a condition of a definition is `True`.
pub(crate) fn is_true(crd: &Value, condition: &str) -> bool {
    let conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|entry| entry["type"] == condition && entry["status"] == "True")
}

/// The naming controller: accepts every name that nobody else has.
fn name(crd: &mut Value, others: &[Names], now: &str) {
    let (wanted, accepted) = (&crd["spec"]["names"], &crd["status"]["acceptedNames"]);
    if same_names(wanted, accepted) {
        return;
    }
    let mut resources: BTreeSet<&str> = BTreeSet::new();
    let mut kinds: BTreeSet<&str> = BTreeSet::new();
    let own = Names::parse(accepted);
    for names in others.iter().chain([&own]) {
        resources.extend([names.plural.as_str(), names.singular.as_str()]);
        resources.extend(names.short_names.iter().map(String::as_str));
        kinds.extend([names.kind.as_str(), names.list_kind.as_str()]);
    }
    let wanted_names = Names::parse(wanted);
    let mut new_names = accepted.as_object().cloned().unwrap_or_default();
    let mut conflict: Option<(&str, String)> = None;
    let in_use = |name: &str| format!("{name:?} is already in use");

    for (key, reason, wanted, own, used) in [
        ("plural", "PluralConflict", &wanted_names.plural, &own.plural, &resources),
        ("singular", "SingularConflict", &wanted_names.singular, &own.singular, &resources),
    ] {
        accept(key, reason, wanted, own, used, &mut new_names, &mut conflict);
    }
    if wanted_names.short_names != own.short_names {
        let mut taken = wanted_names.short_names.iter().filter(|name| !own.short_names.contains(name));
        let taken: Vec<String> = taken
            .by_ref()
            .filter(|name| resources.contains(name.as_str()))
            .map(|name| in_use(name))
            .collect();
        match taken.as_slice() {
            [] => put(&mut new_names, "shortNames", &wanted["shortNames"]),
            [one] => conflict = Some(("ShortNamesConflict", one.clone())),
            several => conflict = Some(("ShortNamesConflict", format!("[{}]", several.join(", ")))),
        }
    }
    for (key, reason, wanted, own) in [
        ("kind", "KindConflict", &wanted_names.kind, &own.kind),
        ("listKind", "ListKindConflict", &wanted_names.list_kind, &own.list_kind),
    ] {
        accept(key, reason, wanted, own, &kinds, &mut new_names, &mut conflict);
    }
    put(&mut new_names, "categories", &wanted["categories"]);
    crd["status"]["acceptedNames"] = Value::Object(new_names);

    let is_established = is_true(crd, "Established");
    if let Some((reason, message)) = conflict {
        set(crd, "NamesAccepted", "False", reason, &message, now);
        if !has(crd, "Established") {
            set(crd, "Established", "False", "NotAccepted", "not all names are accepted", now);
        }
    } else {
        set(crd, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
        if !is_established {
            let message = "the initial names have been accepted";
            set(crd, "Established", "False", "Installing", message, now);
        }
    }
}

fn accept(
    key: &str,
    reason: &'static str,
    wanted: &str,
    own: &str,
    used: &BTreeSet<&str>,
    names: &mut Map<String, Value>,
    conflict: &mut Option<(&'static str, String)>,
) {
    if wanted != own && used.contains(wanted) {
        *conflict = Some((reason, format!("{wanted:?} is already in use")));
    } else {
        names.insert(key.to_owned(), wanted.into());
    }
}

fn put(names: &mut Map<String, Value>, key: &str, value: &Value) {
    if value.as_array().is_none_or(Vec::is_empty) {
        names.remove(key);
    } else {
        names.insert(key.to_owned(), value.clone());
    }
}

fn same_names(wanted: &Value, accepted: &Value) -> bool {
    Names::parse(wanted) == Names::parse(accepted)
}

fn has(crd: &Value, condition: &str) -> bool {
    let conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|entry| entry["type"] == condition)
}

/// Sets a condition; its time changes only with its status.
fn set(crd: &mut Value, condition: &str, status: &str, reason: &str, message: &str, now: &str) {
    let conditions = &mut crd["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else { return };
    match list.iter_mut().find(|entry| entry["type"] == condition) {
        Some(entry) => {
            if entry["status"] != status {
                entry["lastTransitionTime"] = now.into();
            }
            entry["status"] = status.into();
            entry["reason"] = reason.into();
            entry["message"] = message.into();
        }
        None => list.push(json!({"type": condition, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": now})),
    }
}

fn storage_version(crd: &Value) -> Option<String> {
    let versions = crd["spec"]["versions"].as_array()?;
    let version = versions.iter().find(|version| version["storage"] == true)?;
    version["name"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2024-01-01T00:00:00Z";

    fn a_definition() -> Value {
        let mut crd = json!({"metadata": {}, "spec": {"group": "ex.dev", "names": {"plural": "widgets", "kind": "Widget",
            "shortNames": ["w"]}, "versions": [{"name": "v1", "storage": true}]}});
        default(&mut crd);
        prepare_create(&mut crd);
        crd
    }

    fn conditions(crd: &Value) -> Vec<String> {
        let list = crd["status"]["conditions"].as_array().unwrap().iter();
        list.map(|entry| {
            format!("{} {} {}", entry["type"], entry["status"], entry["reason"]).replace('"', "")
        })
        .collect()
    }

    #[test]
    fn defaults_name_the_singular_and_the_list() {
        let crd = a_definition();
        assert_eq!(crd["spec"]["names"]["singular"], "widget");
        assert_eq!(crd["spec"]["names"]["listKind"], "WidgetList");
        assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
        assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    }

    #[test]
    fn a_webhook_gets_its_port() {
        let mut crd = json!({"spec": {"names": {}, "conversion": {"strategy": "Webhook",
            "webhook": {"clientConfig": {"service": {"name": "s"}}}}}});
        default(&mut crd);
        assert_eq!(
            crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"],
            json!({"name": "s", "port": 443})
        );
    }

    #[test]
    fn free_names_are_accepted_and_established() {
        let mut crd = a_definition();
        assert!(reconcile(&mut crd, &[], NOW));
        assert_eq!(
            crd["status"]["acceptedNames"],
            json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
                "shortNames": ["w"]})
        );
        assert_eq!(
            conditions(&crd),
            ["NamesAccepted True NoConflicts", "Established True InitialNamesAccepted"]
        );
        assert!(!reconcile(&mut crd, &[], "2025-01-01T00:00:00Z"), "nothing to do the second time");
    }

    #[test]
    fn a_taken_name_keeps_it_from_being_established() {
        let mut crd = a_definition();
        let other = Names { list_kind: "WidgetList".to_owned(), ..Names::default() };
        reconcile(&mut crd, &[other], NOW);
        assert_eq!(
            conditions(&crd),
            ["NamesAccepted False ListKindConflict", "Established False NotAccepted"]
        );
        assert_eq!(crd["status"]["conditions"][0]["message"], "\"WidgetList\" is already in use");
        assert_eq!(crd["status"]["acceptedNames"]["kind"], "Widget");
        assert!(reconcile(&mut crd, &[], NOW), "the name became free");
        assert_eq!(
            conditions(&crd),
            ["NamesAccepted True NoConflicts", "Established True InitialNamesAccepted"]
        );
    }

    #[test]
    fn deletion_goes_through_its_conditions() {
        let mut crd = a_definition();
        reconcile(&mut crd, &[], NOW);
        begin_deletion(&mut crd, NOW);
        assert_eq!(crd["metadata"]["finalizers"], json!([FINALIZER]));
        assert_eq!(conditions(&crd)[2], "Terminating True InstanceDeletionPending");
        set_deletion(&mut crd, Deletion::InProgress, NOW);
        assert_eq!(conditions(&crd)[2], "Terminating True InstanceDeletionInProgress");
        set_deletion(&mut crd, Deletion::Completed, NOW);
        assert_eq!(conditions(&crd)[2], "Terminating False InstanceDeletionCompleted");
        assert_eq!(crd["metadata"].get("finalizers"), None);
    }

    #[test]
    fn a_new_storage_version_is_remembered_and_counts_as_a_change() {
        let old = a_definition();
        let mut new = old.clone();
        new["status"] = Value::Null;
        new["spec"]["versions"] = json!([{"name": "v1"}, {"name": "v2", "storage": true}]);
        prepare_update(&mut new, &old);
        assert_eq!(new["status"]["storedVersions"], json!(["v1", "v2"]));
        assert_eq!(new["metadata"]["generation"], 2);
    }
}
