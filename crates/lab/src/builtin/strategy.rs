//! What happens to an object of a built-in kind between the request and the store: who may write what, generations, allocation.
//!
//! A create runs [`admission::admit_create`], [`prepare_create`], then the checks of `validate`; an update the same with `update`.
//! What was taken from the service network counts only after [`ServiceNetwork::commit`].

pub(crate) mod admission;
pub(crate) mod deletion;
mod paths;
mod pod;
pub(crate) mod rules;
pub(crate) mod scale;
pub(crate) mod selectable;
mod service;
mod steps;
pub(crate) mod warnings;

use std::collections::BTreeMap;

use lockstep_schema::Kind;
use serde_json::{Value, json};

pub(crate) use service::ServiceNetwork;

use crate::status::FieldError;
use paths::{at, copy, is_equal, put, put_or_remove, remove};
use rules::{Generation, OnStatus};
use steps::{
    certificate_request, drop_empty_rules, job_selector, keep_secret_names, namespace, namespace_label,
    phase_time, requester, secret_data, stored_versions, template_generation,
};

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
    for name in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        remove(object, &["metadata", name]);
    }
    match rules::generation(kind) {
        // Nobody counts: what the user says is stored.
        Generation::None | Generation::Later(_) => {}
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
    if (group, name) == ("", "Namespace") {
        namespace_label(new);
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
        ("", "Namespace") => copy(new, old, &["spec", "finalizers"]),
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
        Generation::On(paths) | Generation::Later(paths) => {
            paths.iter().any(|path| !is_equal(at(new, path), at(old, path)))
        }
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

#[cfg(test)]
mod tests {
    use lockstep_schema::Schema;

    use super::steps::TEMPLATE_GENERATION;
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
        assert_eq!(
            made["metadata"],
            json!({"generation": 7}),
            "a kind without generations stores what it gets"
        );
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
            json!({"metadata": {"name": "x", "uid": "u", "labels": {"a": "b"}},
                "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
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
        let mut made = json!({"stringData": {"a": "x"}, "data": {"a": "eQ==", "b": "eg=="}});
        convert(kind("v1", "Secret"), &mut made);
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
