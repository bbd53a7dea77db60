//! What happens to an object of a built-in kind between the request and the store: who may write what, generations, allocation.
//!
//! A create runs [`admission::admit_create`], [`prepare_create`], then the checks of `validate`; an update the same with `update`.
//! What was taken from the service network counts only after [`ServiceNetwork::commit`].

pub(crate) mod admission;
pub(crate) mod deletion;
mod pod;
pub(crate) mod rules;
pub(crate) mod scale;
pub(crate) mod selectable;
mod service;
pub(crate) mod warnings;

use std::collections::BTreeMap;

use lockstep_schema::Kind;
use serde_json::{Value, json};

pub(crate) use service::ServiceNetwork;

use crate::status::FieldError;
use rules::{Generation, OnStatus};

/// What a preparation may ask for besides the object.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The time of the lab's clock as objects write it, in whole seconds.
    pub now: &'a str,
    /// Who asks.
    pub user: &'a User,
    /// Where cluster addresses and node ports come from.
    pub services: &'a mut ServiceNetwork,
}

/// Who asks, as a `CertificateSigningRequest` records it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct User {
    /// The name.
    pub name: String,
    /// The uid; may be empty.
    pub uid: String,
    /// The groups, in order.
    pub groups: Vec<String>,
    /// More that the authenticator said.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Does what reading an object of a kind does beyond its defaults, before anybody asks who wrote which field.
pub(crate) fn convert(kind: &Kind, object: &mut Value) {
    if (kind.group, kind.kind) == ("", "Secret") {
        secret_data(object);
    }
}

/// Makes an object ready to be checked and stored for the first time; name, namespace, uid and creation time are set already.
///
/// # Errors
/// A Service whose wishes about addresses and ports cannot be met.
pub(crate) fn prepare_create(
    kind: &Kind,
    object: &mut Value,
    context: &mut Context<'_>,
) -> Result<(), Vec<FieldError>> {
    let (group, name) = (kind.group, kind.kind);
    if (group, name) == ("", "Service") {
        service::begin_create(object, context.services)?;
    }
    match rules::generation(kind) {
        Generation::None => remove(object, &["metadata", "generation"]),
        Generation::Fixed | Generation::On(_) | Generation::AllButMetadata => {
            put(object, &["metadata", "generation"], 1.into());
        }
    }
    if rules::drops_status_on_create(kind) {
        object["status"] = rules::empty_status(kind);
    }
    match (group, name) {
        ("", "Pod") => pod::prepare_create(object, context.now),
        ("", "Namespace") => namespace(object),
        ("", "PersistentVolume") => {
            object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": context.now});
        }
        ("", "ServiceAccount") => keep_secret_names(object),
        ("apps", "DaemonSet") => template_generation(object, None),
        ("batch", "Job") => job_selector(object),
        ("certificates.k8s.io", "CertificateSigningRequest") => requester(object, context.user),
        ("apiregistration.k8s.io", "APIService")
            if object["spec"].get("service").is_none_or(Value::is_null) =>
        {
            object["status"] = json!({"conditions": [{
                "type": "Available", "status": "True", "lastTransitionTime": context.now,
                "reason": "Local", "message": "Local APIServices are always available",
            }]});
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => stored_versions(object),
        ("networking.k8s.io", "NetworkPolicy") => drop_empty_rules(object),
        _ => {}
    }
    Ok(())
}

/// Makes an object ready to be checked and to take the place of another; `subresource` is empty for the object itself.
///
/// # Errors
/// A Service whose wishes about addresses and ports cannot be met.
pub(crate) fn prepare_update(
    kind: &Kind,
    subresource: &str,
    new: &mut Value,
    old: &Value,
    context: &mut Context<'_>,
) -> Result<(), Vec<FieldError>> {
    let (group, name) = (kind.group, kind.kind);
    if (group, name, subresource) == ("", "Service", "") {
        service::begin_update(new, old, context.services)?;
    }
    copy(new, old, &["metadata", "generation"]);
    match (group, name, subresource) {
        ("certificates.k8s.io", "CertificateSigningRequest", _) => {
            certificate_request(subresource, new, old, context.now);
        }
        ("", "Pod", "ephemeralcontainers" | "resize") => pod::prepare_part(subresource, new, old),
        ("", "Namespace", "finalize") => copy(new, old, &["status"]),
        (_, _, "") => prepare_main(kind, new, old),
        _ => prepare_status(kind, new, old, context.now),
    }
    keep_system_fields(new, old);
    Ok(())
}

/// A write of the object itself: its status stays, and its generation counts the changes.
fn prepare_main(kind: &Kind, new: &mut Value, old: &Value) {
    if kind.subresources.contains_key("status") {
        copy(new, old, &["status"]);
    }
    match (kind.group, kind.kind) {
        ("", "Service") => service::drop_type_dependent(new, old),
        ("", "Namespace") => {
            copy(new, old, &["spec", "finalizers"]);
            namespace_label(new);
        }
        ("", "ServiceAccount") => keep_secret_names(new),
        ("", "Secret") => {
            if new["type"].as_str().is_none_or(str::is_empty) {
                copy(new, old, &["type"]);
            }
            secret_data(new);
        }
        ("apps", "DaemonSet") => template_generation(new, Some(old)),
        _ => {}
    }
    let changed = match rules::generation(kind) {
        Generation::None | Generation::Fixed => false,
        Generation::On(paths) => paths.iter().any(|path| !is_equal(at(new, path), at(old, path))),
        Generation::AllButMetadata => {
            let labels = &["metadata", "labels"];
            let rest = |value: &Value| {
                value.as_object().map(|map| map.iter().filter(|it| it.0 != "metadata").map(own).collect())
            };
            let (new_rest, old_rest): (Option<BTreeMap<_, _>>, Option<BTreeMap<_, _>>) =
                (rest(new), rest(old));
            !is_equal(at(new, labels), at(old, labels)) || new_rest != old_rest
        }
    };
    if changed {
        let before = at(old, &["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
        put(new, &["metadata", "generation"], (before + 1).into());
    }
    if (kind.group, kind.kind) == ("networking.k8s.io", "NetworkPolicy") {
        drop_empty_rules(new);
    }
}

fn own(entry: (&String, &Value)) -> (String, Value) {
    (entry.0.clone(), entry.1.clone())
}

/// A write of the status: the rest stays, and of the metadata what the kind says.
fn prepare_status(kind: &Kind, new: &mut Value, old: &Value, now: &str) {
    copy(new, old, &["spec"]);
    match rules::metadata_on_status(kind) {
        OnStatus::Taken => {}
        OnStatus::LabelsStay => copy(new, old, &["metadata", "labels"]),
        OnStatus::OwnersStay => copy(new, old, &["metadata", "ownerReferences"]),
        OnStatus::MostStays => {
            for field in
                ["deletionTimestamp", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"]
            {
                copy(new, old, &["metadata", field]);
            }
        }
        OnStatus::AllStays => {
            let managed = at(new, &["metadata", "managedFields"]).cloned();
            copy(new, old, &["metadata"]);
            put_or_remove(new, &["metadata", "managedFields"], managed);
        }
    }
    match (kind.group, kind.kind) {
        ("", "Pod") => pod::keep_status_facts(new, old),
        ("", "PersistentVolume") => phase_time(new, old, now),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            copy(new, old, &["metadata", "resourceVersion"]);
        }
        _ => {}
    }
}

/// What an update can never change in the metadata, whatever it sends.
pub(crate) fn keep_system_fields(new: &mut Value, old: &Value) {
    let meta = |value: &Value, name: &str| at(value, &["metadata", name]).cloned();
    if meta(new, "uid").is_none_or(|uid| uid.as_str() == Some("")) {
        copy(new, old, &["metadata", "uid"]);
    }
    for name in ["creationTimestamp", "deletionTimestamp"] {
        if meta(old, name).is_some() {
            copy(new, old, &["metadata", name]);
        }
    }
    if meta(new, "deletionGracePeriodSeconds").is_none() {
        copy(new, old, &["metadata", "deletionGracePeriodSeconds"]);
    }
}

// === kinds with a step of their own ===

fn namespace(object: &mut Value) {
    object["status"] = json!({"phase": "Active"});
    if !object["spec"].is_object() {
        object["spec"] = json!({});
    }
    let finalizers = &mut object["spec"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(list) if list.iter().any(|it| it == "kubernetes") => {}
        Some(list) => list.push("kubernetes".into()),
        None => *finalizers = json!(["kubernetes"]),
    }
    namespace_label(object);
}

fn namespace_label(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    put(object, &["metadata", "labels", "kubernetes.io/metadata.name"], name);
}

/// Of the secrets of a service account only the names count.
fn keep_secret_names(object: &mut Value) {
    for secret in object.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
        *secret = match secret.get("name") {
            Some(name) => json!({"name": name}),
            None => json!({}),
        };
    }
}

/// `stringData` is only a way to write: it ends up in `data`.
fn secret_data(object: &mut Value) {
    use base64::Engine as _;
    let Some(object) = object.as_object_mut() else { return };
    let Some(Value::Object(texts)) = object.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    let data = object.entry("data").or_insert_with(|| json!({}));
    if data.is_null() {
        *data = json!({});
    }
    for (key, text) in texts {
        let bytes = text.as_str().unwrap_or_default();
        data[key] = base64::engine::general_purpose::STANDARD.encode(bytes).into();
    }
}

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The annotation of a `DaemonSet` that counts the changes of its template.
fn template_generation(object: &mut Value, old: Option<&Value>) {
    let path = &["metadata", "annotations", TEMPLATE_GENERATION];
    let read =
        |value: &Value| at(value, path).and_then(Value::as_str).and_then(|text| text.parse::<i64>().ok());
    let count = match old {
        None => read(object).unwrap_or(0).max(1),
        Some(old) => {
            let template = &["spec", "template"];
            let changed = !is_equal(at(object, template), at(old, template));
            read(old).unwrap_or(0) + i64::from(changed)
        }
    };
    put(object, path, count.to_string().into());
}

/// A Job that does not bring a selector of its own gets one by its uid, and its template the labels for it.
fn job_selector(object: &mut Value) {
    let (own, template) =
        (at(object, &["metadata", "labels"]), at(object, &["spec", "template", "metadata", "labels"]));
    let is_empty = own.is_none_or(|it| it.as_object().is_none_or(serde_json::Map::is_empty));
    // Labels that the user left out are those of the template, also when something is added to them.
    let is_shared = is_empty || own == template;
    if object["spec"]["manualSelector"].as_bool() != Some(true) {
        let (name, uid) = (object["metadata"]["name"].clone(), object["metadata"]["uid"].clone());
        for (key, value) in [
            ("job-name", &name),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("batch.kubernetes.io/controller-uid", &uid),
        ] {
            put_new(object, &["spec", "template", "metadata", "labels", key], value);
        }
        put_new(object, &["spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"], &uid);
    }
    if is_shared
        && let Some(labels) = at(object, &["spec", "template", "metadata", "labels"]).cloned()
    {
        put(object, &["metadata", "labels"], labels);
    }
}

/// Who asked for a certificate is what the server knows, not what the request says.
fn requester(object: &mut Value, user: &User) {
    object["status"] = json!({});
    if !object["spec"].is_object() {
        object["spec"] = json!({});
    }
    let text = |text: &str| (!text.is_empty()).then(|| Value::from(text));
    put_or_remove(object, &["spec", "username"], text(&user.name));
    put_or_remove(object, &["spec", "uid"], text(&user.uid));
    put_or_remove(object, &["spec", "groups"], (!user.groups.is_empty()).then(|| json!(user.groups)));
    put_or_remove(object, &["spec", "extra"], (!user.extra.is_empty()).then(|| json!(user.extra)));
}

/// Each address of a `CertificateSigningRequest` writes its own part of it.
fn certificate_request(subresource: &str, new: &mut Value, old: &Value, now: &str) {
    copy(new, old, &["spec"]);
    if subresource.is_empty() {
        copy(new, old, &["status"]);
        return;
    }
    if subresource == "approval" {
        let conditions = at(new, &["status", "conditions"]).cloned();
        copy(new, old, &["status"]);
        put_or_remove(new, &["status", "conditions"], conditions);
    } else {
        for kind in ["Approved", "Denied"] {
            keep_conditions(new, old, kind);
        }
    }
    let before = at(old, &["status", "conditions"]).and_then(Value::as_array).cloned().unwrap_or_default();
    let conditions = new.get_mut("status").and_then(|status| status.get_mut("conditions"));
    for condition in conditions.and_then(Value::as_array_mut).into_iter().flatten() {
        if condition["lastUpdateTime"].is_null() {
            condition["lastUpdateTime"] = now.into();
        }
        if condition["lastTransitionTime"].is_null() {
            let same = before.iter().find(|it| {
                it["type"] == condition["type"]
                    && it["status"] == condition["status"]
                    && !it["lastTransitionTime"].is_null()
            });
            condition["lastTransitionTime"] =
                same.map_or_else(|| now.into(), |it| it["lastTransitionTime"].clone());
        }
    }
}

/// Conditions of a type stay as they were when there are as many of them.
fn keep_conditions(new: &mut Value, old: &Value, kind: &str) {
    let of_kind = |value: &&Value| value["type"] == kind;
    let conditions = at(old, &["status", "conditions"]).and_then(Value::as_array);
    let before: Vec<&Value> = conditions.into_iter().flatten().filter(of_kind).collect();
    let conditions = new.get_mut("status").and_then(|status| status.get_mut("conditions"));
    let now: Vec<&mut Value> = conditions
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter(|value| value["type"] == kind)
        .collect();
    if before.len() == now.len() {
        for (now, before) in now.into_iter().zip(before) {
            *now = before.clone();
        }
    }
}

/// The version that is stored is recorded from the start.
fn stored_versions(object: &mut Value) {
    let versions = object["spec"]["versions"].as_array().into_iter().flatten();
    let stored: Vec<Value> = versions
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    object["status"]["storedVersions"] = stored.into();
}

/// A volume remembers when its phase changed.
fn phase_time(new: &mut Value, old: &Value, now: &str) {
    let path = &["status", "lastPhaseTransitionTime"];
    let same_phase = at(new, &["status", "phase"]) == at(old, &["status", "phase"]);
    if same_phase && at(new, path).is_none() {
        copy(new, old, path);
    } else if !same_phase && (at(new, path).is_none() || at(new, path) == at(old, path)) {
        put(new, path, now.into());
    }
}

/// Empty lists of rules are not stored, but they count as a change, as in the real server.
fn drop_empty_rules(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|key, value| {
            !(matches!(key.as_str(), "ingress" | "egress") && value.as_array().is_some_and(Vec::is_empty))
        });
    }
}

// === paths ===

/// The value at a path; nothing when it is missing or null.
pub(crate) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name)).filter(|value| !value.is_null())
}

/// Sets the value at a path, and makes the maps on the way.
fn put(object: &mut Value, path: &[&str], value: Value) {
    let mut place = object;
    for name in path {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[*name];
    }
    *place = value;
}

fn put_new(object: &mut Value, path: &[&str], value: &Value) {
    if at(object, path).is_none() {
        put(object, path, value.clone());
    }
}

fn put_or_remove(object: &mut Value, path: &[&str], value: Option<Value>) {
    match value {
        Some(value) => put(object, path, value),
        None => remove(object, path),
    }
}

/// Removes the value at a path; what is around it stays.
fn remove(object: &mut Value, path: &[&str]) {
    let Some((last, way)) = path.split_last() else { return };
    let place = way.iter().try_fold(object, |value, name| value.get_mut(name));
    if let Some(map) = place.and_then(Value::as_object_mut) {
        map.remove(*last);
    }
}

fn copy(new: &mut Value, old: &Value, path: &[&str]) {
    if at(new, path) != at(old, path) {
        put_or_remove(new, path, at(old, path).cloned());
    }
}

/// Whether two values mean the same: missing is as good as empty.
fn is_equal(one: Option<&Value>, other: Option<&Value>) -> bool {
    let empty = |value: &Value| match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    match (one, other) {
        (None, Some(value)) | (Some(value), None) => empty(value),
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;

    use super::*;

    pub(super) fn kind(api_version: &str, name: &str) -> &'static Kind {
        Schema::builtin().kind(api_version, name).unwrap()
    }

    fn create(api_version: &str, name: &str, mut object: Value) -> Value {
        let mut services = ServiceNetwork::new();
        let user = User { name: "admin".into(), groups: vec!["system:masters".into()], ..User::default() };
        let mut context = Context { now: "2020-01-01T00:00:00Z", user: &user, services: &mut services };
        prepare_create(kind(api_version, name), &mut object, &mut context).unwrap();
        object
    }

    fn update(api_version: &str, name: &str, subresource: &str, new: &Value, old: &Value) -> Value {
        let mut services = ServiceNetwork::new();
        let user = User::default();
        let mut context = Context { now: "2020-01-01T00:00:00Z", user: &user, services: &mut services };
        let mut new = new.clone();
        prepare_update(kind(api_version, name), subresource, &mut new, old, &mut context).unwrap();
        new
    }

    #[test]
    fn a_new_deployment_has_generation_one_and_no_status() {
        let object =
            json!({"metadata": {"name": "x", "generation": 7}, "spec": {}, "status": {"replicas": 3}});
        let made = create("apps/v1", "Deployment", object);
        assert_eq!(made["metadata"]["generation"], 1);
        assert_eq!(made["status"], json!({}));
        let made = create("v1", "ConfigMap", json!({"metadata": {"generation": 7}}));
        assert_eq!(made["metadata"], json!({}));
    }

    #[test]
    fn a_write_of_the_object_keeps_the_status_and_counts_changes_of_spec_and_annotations() {
        let old = json!({"metadata": {"generation": 3, "uid": "u"}, "spec": {"replicas": 1}, "status": {"replicas": 1}});
        let mut new = old.clone();
        new["status"] = json!({"replicas": 9});
        let written = update("apps/v1", "Deployment", "", &new, &old);
        assert_eq!(written, old);
        new["spec"]["replicas"] = 2.into();
        assert_eq!(update("apps/v1", "Deployment", "", &new, &old)["metadata"]["generation"], 4);
        let mut new = old.clone();
        new["metadata"]["annotations"] = json!({"a": "b"});
        assert_eq!(update("apps/v1", "Deployment", "", &new, &old)["metadata"]["generation"], 4);
        assert_eq!(update("apps/v1", "ReplicaSet", "", &new, &old)["metadata"]["generation"], 3);
    }

    #[test]
    fn a_write_of_the_status_keeps_the_spec_and_the_labels_of_a_deployment_only() {
        let old = json!({"metadata": {"generation": 1, "labels": {"a": "b"}}, "spec": {"replicas": 1}, "status": {}});
        let new = json!({"metadata": {"generation": 5, "labels": {"x": "y"}}, "spec": {"replicas": 2}, "status": {"replicas": 1}});
        let written = update("apps/v1", "Deployment", "status", &new, &old);
        assert_eq!(written["spec"], old["spec"]);
        assert_eq!(written["status"], new["status"]);
        assert_eq!(written["metadata"], old["metadata"]);
        let written = update("apps/v1", "ReplicaSet", "status", &new, &old);
        assert_eq!(written["metadata"]["labels"], json!({"x": "y"}));
    }

    #[test]
    fn a_job_is_selected_by_its_uid() {
        let made = create(
            "batch/v1",
            "Job",
            json!({"metadata": {"name": "x", "uid": "u"}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
        );
        let labels = json!({"a": "b", "job-name": "x", "batch.kubernetes.io/job-name": "x", "controller-uid": "u",
            "batch.kubernetes.io/controller-uid": "u"});
        assert_eq!(made["spec"]["template"]["metadata"]["labels"], labels);
        assert_eq!(made["metadata"]["labels"], labels);
        assert_eq!(
            made["spec"]["selector"],
            json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}})
        );
    }

    #[test]
    fn string_data_becomes_data() {
        let made =
            create("v1", "Secret", json!({"stringData": {"a": "x"}, "data": {"a": "eQ==", "b": "eg=="}}));
        assert_eq!(made["data"], json!({"a": "eA==", "b": "eg=="}));
        assert_eq!(made.get("stringData"), None);
    }

    #[test]
    fn the_requester_of_a_certificate_is_the_user() {
        let object =
            json!({"spec": {"username": "liar", "signerName": "a.b/c"}, "status": {"certificate": "x"}});
        let made = create("certificates.k8s.io/v1", "CertificateSigningRequest", object);
        assert_eq!(
            made["spec"],
            json!({"username": "admin", "groups": ["system:masters"], "signerName": "a.b/c"})
        );
        assert_eq!(made["status"], json!({}));
    }

    #[test]
    fn an_approval_writes_conditions_only_and_gives_them_times() {
        let old = json!({"metadata": {}, "spec": {"signerName": "s"}, "status": {"certificate": "c"}});
        let new = json!({"metadata": {}, "spec": {}, "status": {"conditions": [{"type": "Approved", "status": "True"}]}});
        let written = update("certificates.k8s.io/v1", "CertificateSigningRequest", "approval", &new, &old);
        assert_eq!(written["spec"], old["spec"]);
        assert_eq!(written["status"]["certificate"], "c");
        assert_eq!(written["status"]["conditions"][0]["lastTransitionTime"], "2020-01-01T00:00:00Z");
        let plain = update("certificates.k8s.io/v1", "CertificateSigningRequest", "", &new, &old);
        assert_eq!(plain["status"], old["status"]);
    }

    #[test]
    fn the_template_generation_of_a_daemon_set_counts_changes_of_the_template() {
        let made =
            create("apps/v1", "DaemonSet", json!({"metadata": {"name": "x"}, "spec": {"template": {}}}));
        assert_eq!(made["metadata"]["annotations"][TEMPLATE_GENERATION], "1");
        let mut new = made.clone();
        new["metadata"]["annotations"] = json!({});
        new["spec"]["template"] = json!({"spec": {}});
        let written = update("apps/v1", "DaemonSet", "", &new, &made);
        assert_eq!(written["metadata"]["annotations"][TEMPLATE_GENERATION], "2");
        assert_eq!(written["metadata"]["generation"], 2);
    }

    #[test]
    fn an_empty_list_of_network_rules_counts_as_a_change_but_is_not_stored() {
        let old = json!({"metadata": {"generation": 1}, "spec": {"podSelector": {}}});
        let mut new = old.clone();
        new["spec"]["ingress"] = json!([]);
        let written = update("networking.k8s.io/v1", "NetworkPolicy", "", &new, &old);
        assert_eq!(written["metadata"]["generation"], 2);
        assert_eq!(written["spec"], old["spec"]);
    }
}
