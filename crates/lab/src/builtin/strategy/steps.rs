//! Steps of single kinds on the way to the store.

use serde_json::{Value, json};

use super::User;
use super::paths::{at, copy, is_equal, put, put_new, put_or_remove};

pub(super) fn namespace(object: &mut Value) {
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

pub(super) fn namespace_label(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    put(object, &["metadata", "labels", "kubernetes.io/metadata.name"], name);
}

/// Of the secrets of a service account only the names count.
pub(super) fn keep_secret_names(object: &mut Value) {
    for secret in object.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
        *secret = match secret.get("name") {
            Some(name) => json!({"name": name}),
            None => json!({}),
        };
    }
}

/// `stringData` is only a way to write: it ends up in `data`.
pub(super) fn secret_data(object: &mut Value) {
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

pub(super) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The annotation of a `DaemonSet` that counts the changes of its template.
pub(super) fn template_generation(object: &mut Value, old: Option<&Value>) {
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
pub(super) fn job_selector(object: &mut Value) {
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
    if is_shared && let Some(labels) = at(object, &["spec", "template", "metadata", "labels"]).cloned() {
        put(object, &["metadata", "labels"], labels);
    }
}

/// Who asked for a certificate is what the server knows, not what the request says.
pub(super) fn requester(object: &mut Value, user: &User) {
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
pub(super) fn certificate_request(subresource: &str, new: &mut Value, old: &Value, now: &str) {
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
pub(super) fn keep_conditions(new: &mut Value, old: &Value, kind: &str) {
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
pub(super) fn stored_versions(object: &mut Value) {
    let versions = object["spec"]["versions"].as_array().into_iter().flatten();
    let stored: Vec<Value> = versions
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    object["status"]["storedVersions"] = stored.into();
}

/// A volume remembers when its phase changed.
pub(super) fn phase_time(new: &mut Value, old: &Value, now: &str) {
    let path = &["status", "lastPhaseTransitionTime"];
    let same_phase = at(new, &["status", "phase"]) == at(old, &["status", "phase"]);
    if same_phase && at(new, path).is_none() {
        copy(new, old, path);
    } else if !same_phase && (at(new, path).is_none() || at(new, path) == at(old, path)) {
        put(new, path, now.into());
    }
}

/// Empty lists of rules are not stored, but they count as a change, as in the real server.
pub(super) fn drop_empty_rules(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|key, value| {
            !(matches!(key.as_str(), "ingress" | "egress") && value.as_array().is_some_and(Vec::is_empty))
        });
    }
}
