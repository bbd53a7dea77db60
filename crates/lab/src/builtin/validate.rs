//! The checks of built-in kinds: what the real server refuses, with the same fields, reasons and sentences in the same order.
//!
//! Objects come decoded, with defaults, and prepared by `strategy`. The value that a message shows of a whole structure is its JSON form as
//! it is sent; the real server shows some of its own structures in another form.

mod admission;
mod batch;
mod certificate;
mod config;
mod container;
mod cron;
mod flow;
mod network;
mod objects;
mod pod;
pub(super) mod quantity;
mod rbac;
mod scalars;
pub(super) mod service;
mod storage;
mod volume;
mod workload;

use lockstep_schema::Kind;
use serde_json::Value;

use crate::meta::{self, Cursor, NameRule};
use crate::status::FieldError;

/// What is wrong with a new object.
pub(crate) fn validate_create(kind: &Kind, object: &Value) -> Vec<FieldError> {
    let root = Cursor::root(object);
    let mut errors = match name_rule(kind) {
        Some(rule) => {
            let mut errors = meta::validate_meta_create(object, kind.namespaced, rule);
            finalizers(kind, &root, &mut errors);
            errors
        }
        None => Vec::new(),
    };
    check(kind, &root, None, &mut errors);
    if errors.is_empty() {
        errors = meta::validate_meta_create(object, kind.namespaced, NameRule::PathSegment);
    }
    errors
}

/// What is wrong with an object that is to take the place of another; `subresource` is empty for the object itself.
pub(crate) fn validate_update(kind: &Kind, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = meta::validate_meta_update(new, old, kind.namespaced);
    let (new_root, old_root) = (Cursor::root(new), Cursor::root(old));
    if !subresource.is_empty() {
        check_part(kind, subresource, &new_root, &old_root, &mut errors);
        return errors;
    }
    // The real server checks metadata for every kind and then, in one order or another, again for most of them.
    let again = again(kind);
    if again == Again::Change || again == Again::ChangeAndName {
        errors.extend(meta::validate_meta_change(new, old));
        finalizers(kind, &new_root, &mut errors);
    }
    if let (Again::Name | Again::ChangeAndName | Again::NameThenChange, Some(rule)) = (again, name_rule(kind))
    {
        errors.extend(meta::validate_meta_create(new, kind.namespaced, rule));
        finalizers(kind, &new_root, &mut errors);
    }
    check(kind, &new_root, Some(&old_root), &mut errors);
    if again == Again::NameThenChange {
        errors.extend(meta::validate_meta_change(new, old));
        finalizers(kind, &new_root, &mut errors);
    }
    errors
}

/// Finalizers without a domain must be well known; the kinds of three groups are more liberal.
fn finalizers(kind: &Kind, new: &Cursor<'_, '_>, errors: &mut Vec<FieldError>) {
    if ["admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"]
        .contains(&kind.group)
    {
        return;
    }
    let metadata = new.field("metadata");
    let finalizers = metadata.field("finalizers");
    for finalizer in finalizers.items() {
        let name = finalizer.text();
        if !name.contains('/') && !["kubernetes", "orphan", "foregroundDeletion"].contains(&name) {
            let sentence = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(finalizer.invalid(sentence));
        }
    }
}

/// Which checks of metadata an update repeats.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    /// None.
    No,
    /// What must not change.
    Change,
    /// The form of names and the rest, as at creation.
    Name,
    /// Both, first what must not change.
    ChangeAndName,
    /// Both, around the checks of the kind.
    NameThenChange,
}

fn again(kind: &Kind) -> Again {
    match (kind.group, kind.kind) {
        ("", "ConfigMap" | "Secret" | "Pod" | "ServiceAccount" | "PersistentVolumeClaim")
        | ("networking.k8s.io", "Ingress")
        | ("apiregistration.k8s.io", _) => Again::ChangeAndName,
        ("", "Namespace" | "Node") | ("rbac.authorization.k8s.io" | "certificates.k8s.io", _) => {
            Again::NameThenChange
        }
        ("", "PersistentVolume") | ("admissionregistration.k8s.io" | "flowcontrol.apiserver.k8s.io", _) => {
            Again::Name
        }
        ("policy", _) | ("", "Event") => Again::No,
        _ => Again::Change,
    }
}

/// The form of the names of a kind; nothing for kinds whose own check does not look at metadata.
pub(crate) fn name_rule(kind: &Kind) -> Option<NameRule> {
    match (kind.group, kind.kind) {
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => Some(NameRule::Label),
        ("rbac.authorization.k8s.io", _) => Some(NameRule::PathSegment),
        // Certificate requests have no rule, an API service and a CRD have one of their own.
        ("certificates.k8s.io" | "apiregistration.k8s.io" | "apiextensions.k8s.io", _)
        | ("networking.k8s.io", "IPAddress") => Some(NameRule::Free),
        ("policy", _) | ("", "Event") => None,
        _ => Some(NameRule::Subdomain),
    }
}

/// The checks of a kind beside metadata; `old` is there for updates.
fn check(kind: &Kind, new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Vec<FieldError>) {
    match (kind.group, kind.kind) {
        ("", "Pod") => match old {
            None => pod::create(new, errors),
            Some(old) => pod::update(new, old, errors),
        },
        ("", "PodTemplate") => pod::template(&new.field("template"), errors),
        ("", "ReplicationController") => workload::replication_controller(new, errors),
        ("apps", "Deployment") => workload::deployment(new, old, errors),
        ("apps", "ReplicaSet") => workload::replica_set(new, old, errors),
        ("apps", "DaemonSet") => workload::daemon_set(new, old, errors),
        ("apps", "StatefulSet") => workload::stateful_set(new, old, errors),
        ("batch", "Job") => batch::job(new, old, errors),
        ("batch", "CronJob") => batch::cron_job(new, old, errors),
        ("", "Service") => service::service(new, old, errors),
        ("", "ConfigMap") => config::config_map(new, old, errors),
        ("", "Secret") => config::secret(new, old, errors),
        ("", "Namespace") => config::namespace(new, errors),
        ("", "Node") => config::node(new, old, errors),
        ("", "PersistentVolume") => storage::volume(new, old, errors),
        ("", "PersistentVolumeClaim") => storage::claim(new, old, errors),
        ("storage.k8s.io", "StorageClass") => storage::class(new, old, errors),
        ("storage.k8s.io", "CSIDriver") => storage::driver(new, old, errors),
        ("rbac.authorization.k8s.io", _) => rbac::check(kind.kind, new, old, errors),
        ("networking.k8s.io", "NetworkPolicy") => network::policy(new, errors),
        ("networking.k8s.io", "Ingress") => network::ingress(new, old, errors),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(new, old, errors),
        ("policy", "PodDisruptionBudget") => objects::disruption_budget(new, errors),
        ("scheduling.k8s.io", "PriorityClass") => objects::priority_class(new, old, errors),
        ("coordination.k8s.io", "Lease") => objects::lease(new, errors),
        ("" | "events.k8s.io", "Event") => objects::event(kind.group, new, old, errors),
        ("autoscaling", _) => objects::autoscaler(new, errors),
        ("apiregistration.k8s.io", "APIService") => objects::api_service(new, errors),
        ("discovery.k8s.io", "EndpointSlice") => objects::endpoint_slice(new, old, errors),
        ("certificates.k8s.io", "CertificateSigningRequest") => certificate::request("", new, old, errors),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => flow::schema(new, errors),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => flow::level(new, errors),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => {
            admission::webhooks(new, errors);
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => admission::policy(new, errors),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            admission::binding(new, errors)
        }
        _ => {}
    }
}

/// The checks of a write to a part of an object.
fn check_part(
    kind: &Kind,
    part: &str,
    new: &Cursor<'_, '_>,
    old: &Cursor<'_, '_>,
    errors: &mut Vec<FieldError>,
) {
    let change = |errors: &mut Vec<FieldError>| {
        errors.extend(meta::validate_meta_change(new.value(), old.value()));
        finalizers(kind, new, errors);
    };
    match (kind.group, kind.kind, part) {
        ("certificates.k8s.io", "CertificateSigningRequest", _) => {
            errors.extend(meta::validate_meta_create(new.value(), kind.namespaced, NameRule::Free));
            certificate::request(part, new, Some(old), errors);
            change(errors);
        }
        ("", "Pod", "status") => {
            change(errors);
            pod::update_status(new, old, errors);
        }
        ("apps" | "", "Deployment" | "ReplicaSet" | "DaemonSet" | "ReplicationController", "status") => {
            change(errors);
            workload::status(kind.kind, &new.field("status"), &old.field("status"), errors);
        }
        ("apps", "StatefulSet", "status") => {
            workload::status(kind.kind, &new.field("status"), &old.field("status"), errors);
            change(errors);
        }
        ("admissionregistration.k8s.io" | "flowcontrol.apiserver.k8s.io" | "policy", _, _) => {}
        _ => change(errors),
    }
}
