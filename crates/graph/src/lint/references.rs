//! Rules about objects that name other objects: bindings and their subjects, webhooks and their services.

use lockstep_api::names::{group, kind, namespace};
use lockstep_payload::Manifest;
use serde_json::Value;

use super::dependency::missing;
use super::survey::{Survey, entries, text, title};
use super::{Finding, rules};

/// Service accounts that every namespace gets.
const BUILT_IN_ACCOUNTS: [&str; 3] = ["default", "builder", "deployer"];

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    for (index, manifest) in survey.applied() {
        for (account_namespace, name) in subjects(manifest) {
            if account_namespace.is_empty() {
                let Some(place) = survey.find_one(index) else { continue };
                let message = format!(
                    "{} gives rights to the service account {name} without saying in which namespace, and the API server \
                     refuses such a binding. Name the namespace of the account",
                    title(manifest)
                );
                findings.push(survey.finding(&rules::RBAC_SUBJECT_WITHOUT_NAMESPACE, index, place, message));
                continue;
            }
            let providers = survey.core(kind::SERVICE_ACCOUNT, account_namespace, name);
            let Some(place) = missing(survey, index, &providers) else { continue };
            let message = format!(
                "{} gives rights to the service account {account_namespace}/{name}, which {} not bring. It has no effect \
                 until an operator creates the account at run time. If none does, add the account or correct the subject",
                title(manifest),
                who(survey, &providers)
            );
            findings.push(survey.finding(&rules::RBAC_SUBJECT_NOT_PROVIDED, index, place, message));
        }
        for (caller, service) in services(manifest) {
            let (in_namespace, name) = (text(service, &["namespace"]), text(service, &["name"]));
            let providers = survey.core(kind::SERVICE, in_namespace, name);
            let Some(place) = missing(survey, index, &providers) else { continue };
            let message = format!(
                "{caller} of {} calls the service {in_namespace}/{name}, which {} not bring. Until an operator creates it, \
                 requests that need it fail. If none does, add the Service or correct the reference",
                title(manifest),
                who(survey, &providers)
            );
            findings.push(survey.finding(&rules::SERVICE_NOT_PROVIDED, index, place, message));
        }
    }
}

fn who(survey: &Survey<'_>, providers: &[usize]) -> String {
    providers.first().map_or("the release does".to_owned(), |provider| {
        format!("{}, not selected here, does", survey.manifest(*provider).file)
    })
}

/// The service accounts that a binding names, each once, without those that a cluster makes itself.
fn subjects(manifest: &Manifest) -> Vec<(&str, &str)> {
    let is_binding = manifest.id.group == group::RBAC
        && [kind::ROLE_BINDING, kind::CLUSTER_ROLE_BINDING].contains(&manifest.id.kind.as_str());
    let mut found: Vec<(&str, &str)> = entries(&manifest.object, &["subjects"])
        .filter(|subject| is_binding && subject["kind"] == kind::SERVICE_ACCOUNT)
        .map(|subject| {
            let written = text(subject, &["namespace"]);
            // In a RoleBinding the binding's own namespace is meant where none is written.
            let of = if written.is_empty() { manifest.id.namespace.as_str() } else { written };
            (of, text(subject, &["name"]))
        })
        // NB: the controllers of Kubernetes itself have their accounts in kube-system.
        .filter(|(of, name)| {
            of.is_empty() || *of != namespace::KUBE_SYSTEM && !BUILT_IN_ACCOUNTS.contains(name)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The services that the API server calls because of an object, and for what; each service once.
fn services(manifest: &Manifest) -> Vec<(&'static str, &Value)> {
    let (object, none) = (&manifest.object, Vec::new());
    let mut found: Vec<(&str, &Value)> = match (manifest.id.group.as_str(), manifest.id.kind.as_str()) {
        (
            group::ADMISSION_REGISTRATION,
            kind::VALIDATING_WEBHOOK_CONFIGURATION | kind::MUTATING_WEBHOOK_CONFIGURATION,
        ) => entries(object, &["webhooks"])
            .map(|hook| ("a webhook", &hook["clientConfig"]["service"]))
            .collect(),
        (group::API_REGISTRATION, kind::API_SERVICE) => vec![("the API", &object["spec"]["service"])],
        (group::API_EXTENSIONS, kind::CUSTOM_RESOURCE_DEFINITION) => {
            let service = &object["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
            vec![("the conversion", service)]
        }
        _ => none,
    };
    found.retain(|(_, service)| service.is_object());
    let mut seen: Vec<(&str, &str)> = Vec::new();
    found.retain(|(_, service)| {
        let key = (text(service, &["namespace"]), text(service, &["name"]));
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, a_crd, annotated, found, found_anywhere, ids, object, with};

    const NONE: [(&str, &str); 0] = [];

    fn rules_of(objects: &[Value]) -> Vec<(&'static str, Option<String>)> {
        let release = Objects::new().file("0000_60_a_1.yaml", objects).release();
        found_anywhere(&release).into_iter().map(|it| (it.rule.id, it.combination)).collect()
    }

    fn a_binding(namespace: &str, name: &str) -> Value {
        let subject = json!({"kind": "ServiceAccount", "namespace": namespace, "name": name});
        let binding = object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "a");
        with(binding, "subjects", json!([subject, subject, {"kind": "Group", "name": "g"}]))
    }

    fn an_account() -> Value {
        object("v1", "ServiceAccount", "default", "robot")
    }

    #[test]
    fn a_subject_that_nothing_provides_is_told_once() {
        assert_eq!(rules_of(&[a_binding("default", "robot")]), [("rbac-subject-not-provided", None)]);
        assert_eq!(rules_of(&[a_binding("default", "robot"), an_account()]), []);
        assert_eq!(rules_of(&[a_binding("default", "default")]), []);
        assert_eq!(rules_of(&[a_binding("kube-system", "job-controller")]), []);
        let mut local = a_binding("", "robot");
        local["kind"] = json!("RoleBinding");
        local["metadata"]["namespace"] = json!("default");
        assert_eq!(rules_of(&[local, an_account()]), []);
    }

    #[test]
    fn an_account_without_a_namespace_is_refused_where_the_binding_has_none_either() {
        for name in ["robot", "default"] {
            let found = rules_of(&[a_binding("", name), an_account()]);
            assert_eq!(found, [("rbac-subject-without-namespace", None)], "{name}");
        }
        assert_eq!(rules_of(&[a_binding("default", "robot"), an_account()]), []);
    }

    #[test]
    fn a_subject_that_is_missing_in_one_combination_is_told_with_it() {
        let optional = annotated(an_account(), "capability.openshift.io/name", "Ingress");
        let found = rules_of(&[a_binding("default", "robot"), optional]);
        let place = "profile self-managed-high-availability, feature set Default, capability Ingress off";
        assert_eq!(found, [("rbac-subject-not-provided", Some(place.to_owned()))]);
    }

    #[test]
    fn each_caller_of_a_service_needs_it() {
        let service = json!({"namespace": "default", "name": "hook"});
        let webhooks =
            json!([{"clientConfig": {"service": service}}, {"clientConfig": {"service": service}}]);
        let configuration =
            object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "a");
        let api = object("apiregistration.k8s.io/v1", "APIService", "", "v1.example.com");
        let mut crd = a_crd("example.com", "Foo", "v1");
        crd["spec"]["conversion"] =
            json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}});
        let callers = [
            with(configuration.clone(), "webhooks", webhooks),
            with(api, "spec", json!({"service": service})),
            crd,
        ];
        for caller in callers {
            assert_eq!(rules_of(std::slice::from_ref(&caller)), [("service-not-provided", None)]);
            assert_eq!(rules_of(&[caller, object("v1", "Service", "default", "hook")]), []);
        }
        let by_url =
            with(configuration, "webhooks", json!([{"clientConfig": {"url": "https://example.com"}}]));
        assert_eq!(rules_of(&[by_url]), []);
    }

    #[test]
    fn other_kinds_with_subjects_are_left_alone() {
        let other = with(object("v1", "ConfigMap", "default", "a"), "data", json!({"subjects": "x"}));
        let release = Objects::new().file("0000_60_a_1.yaml", &[other]).release();
        assert_eq!(ids(&found(&release)), NONE);
    }
}
