use std::time::Duration;

use super::*;
use crate::refusal::Owned;

const DEPLOYMENT: &str = "Deployment openshift-dns/dns-operator";

fn cause(field: &str, message: &str) -> Cause {
    Cause { reason: "FieldValueInvalid".to_owned(), field: field.to_owned(), message: message.to_owned() }
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn every_message_names_the_object_and_what_to_do() {
    let rows = [
        (Refusal::KindNotServed, "kubectl api-resources"),
        (Refusal::NamespaceMissing { name: text("x") }, "kubectl create namespace x"),
        (Refusal::NamespaceTerminating { name: text("x") }, "kubectl get namespace x -o yaml"),
        (Refusal::DefinitionTerminating, "wait until it is gone"),
        (Refusal::ApiUnavailable, "kubectl get apiservices"),
        (
            Refusal::WebhookUnavailable { name: text("a.b"), message: text("refused") },
            "the configuration that has \"a.b\"",
        ),
        (Refusal::ConversionWebhookUnavailable { message: text("m") }, "`spec.conversion`"),
        (Refusal::Undeclared { message: text("m"), field: Some(text(".spec.x")) }, "take `spec.x` out"),
        (Refusal::Undeclared { message: text("m"), field: None }, "correct the value"),
        (Refusal::TooLarge { message: text("limit is 3145728") }, "smaller"),
        (Refusal::Required { fields: vec![text("spec.a"), text("spec.b")] }, "spec.a, spec.b; add them"),
        (
            Refusal::Invalid { causes: vec![cause("spec.a", "bad")], message: text("m") },
            "spec.a: bad; correct",
        ),
        (
            Refusal::Conflict { owned: vec![Owned { manager: text("kubectl"), field: text(".data.a") }] },
            "\"kubectl\"",
        ),
        (Refusal::Escalation { message: text("m") }, "escalate"),
        (Refusal::Unauthorized { message: text("Unauthorized") }, "log in again"),
        (Refusal::Unreachable { message: text("refused") }, "kubectl cluster-info"),
    ];
    for (refusal, part) in rows {
        let told = refusal.explain(DEPLOYMENT);
        assert!(told.starts_with("Deployment openshift-dns/dns-operator: "), "{told}");
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn an_immutable_field_is_named_with_the_command_that_recreates_the_object() {
    let refusal = Refusal::Immutable { causes: vec![cause("spec.selector", "field is immutable")] };
    assert_eq!(
        refusal.explain(DEPLOYMENT),
        "Deployment openshift-dns/dns-operator: cannot be changed: spec.selector: field is immutable; delete the \
         object and create it anew with: lockstep apply RELEASE --recreate Deployment/dns-operator"
    );
    assert!(refusal.explain("ClusterRoleBinding a:b").ends_with("--recreate ClusterRoleBinding/a:b"));
}

#[test]
fn a_definition_is_never_offered_for_deletion() {
    let refusal = Refusal::Immutable { causes: vec![cause("spec.scope", "field is immutable")] };
    let told = refusal.explain("CustomResourceDefinition widgets.example.com");
    assert!(!told.contains("--recreate") && told.contains("never deleted"), "{told}");
}

#[test]
fn a_missing_right_is_told_with_the_question_to_ask() {
    let rows = [
        (
            "deployments.apps \"y\" is forbidden: User \"bob\" cannot patch resource \"deployments\" in API group \"apps\" \
             in the namespace \"x\"",
            "kubectl auth can-i patch deployments.apps -n x --as bob",
        ),
        (
            "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
            "kubectl auth can-i list pods --as bob",
        ),
        (
            "x is forbidden: User \"bob\" cannot update resource \"pods/status\" in API group \"\" in the namespace \"n\"",
            "kubectl auth can-i update pods --subresource=status -n n --as bob",
        ),
        ("forbidden: User \"bob\" cannot get path \"/version\"", "kubectl auth can-i get /version --as bob"),
        ("computer says no", "kubectl auth can-i --list"),
    ];
    for (message, part) in rows {
        let told = Refusal::Forbidden { message: message.to_owned() }.explain("Pod n/x");
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_denial_names_its_configuration_or_policy() {
    let by_webhook =
        Refusal::Denied { message: text("admission webhook \"deny.ex.dev\" denied the request: no") };
    assert!(by_webhook.explain(DEPLOYMENT).contains("the one that has \"deny.ex.dev\" in"));
    let message = "ValidatingAdmissionPolicy 'vap' with binding 'b' denied request: no";
    let by_policy = Refusal::Denied { message: text(message) };
    assert!(by_policy.explain(DEPLOYMENT).contains("kubectl get validatingadmissionpolicy vap -o yaml"));
}

#[test]
fn what_is_wrong_with_a_certificate_decides_what_to_do() {
    for (message, part) in [
        ("certificate expired: not valid after 2020-01-01T00:00:00Z", "must be renewed"),
        ("invalid peer certificate: UnknownIssuer", "`certificate-authority`"),
        ("invalid peer certificate: certificate not valid for name \"a\"", "tls-server-name"),
        ("received corrupt message of type InvalidContentType", "http://"),
        ("received fatal alert: CertificateRequired", "check certificate"),
    ] {
        let told = Refusal::Tls { message: text(message) }.explain(DEPLOYMENT);
        assert!(told.contains(part) && told.contains(message), "{told}");
    }
}

#[test]
fn no_value_of_a_secret_is_told() {
    let causes = vec![cause("data.password", "Invalid value: \"hunter2\": field is immutable")];
    for refusal in [
        Refusal::Immutable { causes: causes.clone() },
        Refusal::Invalid { causes, message: text("hunter2") },
        Refusal::Undeclared { field: None, message: text(".data.password: expected string, got hunter2") },
    ] {
        let told = refusal.explain("Secret x/y");
        assert!(!told.contains("hunter2"), "{told}");
        assert!(refusal.explain("ConfigMap x/y").contains("hunter2"));
    }
}

#[test]
fn a_busy_server_is_told_with_the_time_that_it_asks_for() {
    let refusal = Refusal::Busy { message: text("too many"), retry_after: Some(Duration::from_secs(5)) };
    assert_eq!(refusal.explain("Pod a"), "Pod a: the server is busy (too many) and asks to come back in 5 s");
}
