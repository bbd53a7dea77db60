use serde_json::json;

use super::*;

fn status(code: u16, reason: &str, message: &str, details: Value) -> Refusal {
    let mut status =
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message});
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    if !details.is_null() {
        status["details"] = details;
    }
    Refusal::of_response(code, status.to_string().as_bytes(), None)
}

fn plain(code: u16, text: &str) -> Refusal {
    Refusal::of_response(code, text.as_bytes(), None)
}

fn causes(reason: &str, field: &str, message: &str) -> Value {
    json!({"name": "x", "kind": "Deployment", "causes": [{"reason": reason, "field": field, "message": message}]})
}

fn check(rows: &[(Refusal, &str)]) {
    for (refusal, reason) in rows {
        assert_eq!(refusal.reason(), *reason, "{refusal:?}");
    }
}

fn a_widget() -> Value {
    json!({"name": "zz", "group": "ex.dev", "kind": "widgets"})
}

#[test]
fn what_is_missing_is_told_by_structure() {
    let namespace = json!({"name": "ns", "kind": "namespaces"});
    let terminating =
        causes("NamespaceTerminating", "metadata.namespace", "namespace ns is being terminated");
    check(&[
        (plain(404, "404 page not found\n"), "KindNotServed"),
        (
            status(404, "NotFound", "the server could not find the requested resource", json!({})),
            "KindNotServed",
        ),
        (status(404, "NotFound", "namespaces \"ns\" not found", namespace), "NamespaceMissing"),
        (status(404, "NotFound", "widgets.ex.dev \"zz\" not found", a_widget()), "NotFound"),
        (status(403, "Forbidden", "x is forbidden: unable to create", terminating), "NamespaceTerminating"),
        (
            status(
                403,
                "Forbidden",
                "create not allowed while custom resource definition is terminating",
                a_widget(),
            ),
            "DefinitionTerminating",
        ),
        (plain(503, "service unavailable\n"), "ApiUnavailable"),
        (plain(503, "error trying to reach service: dial tcp: refused"), "ApiUnavailable"),
    ]);
}

#[test]
fn what_a_server_in_trouble_says_is_told_by_its_words() {
    let webhook =
        "Internal error occurred: failed calling webhook \"down.ex.dev\": failed to call webhook: Post \"x\"";
    let conversion = "conversion webhook for ex.dev/v1, Kind=Widget2 failed: Post \"https://a\"";
    let undeclared = "failed to create typed patch object (/a; rbac.authorization.k8s.io/v1, Kind=ClusterRoleBinding): \
                      .userNames: field not declared in schema";
    check(&[
        (plain(503, "Service Unavailable\n"), "ServerBusy"),
        (plain(502, "<html>Bad Gateway</html>"), "ServerBusy"),
        (plain(429, "Too many requests, please try again later.\n"), "ServerBusy"),
        (status(504, "Timeout", "Timeout: request did not complete", json!({})), "ServerBusy"),
        (status(500, "", "etcdserver: request timed out", Value::Null), "ServerBusy"),
        (status(500, "InternalError", webhook, json!({"causes": [{"message": "m"}]})), "WebhookUnavailable"),
        (status(500, "", conversion, Value::Null), "ConversionWebhookUnavailable"),
        (status(500, "", undeclared, Value::Null), "FieldNotDeclared"),
        (status(500, "", "etcdserver: request is too large", Value::Null), "ObjectTooLarge"),
        (status(500, "InternalError", "something else", Value::Null), "RequestFailed"),
        (status(410, "Expired", "too old resource version", Value::Null), "VersionGone"),
    ]);
}

#[test]
fn what_is_wrong_with_an_object_is_told_by_its_causes() {
    let size =
        |field: &str| causes("FieldValueTooLong", field, "Too long: may not be more than 262144 bytes");
    let large = "Request entity too large: limit is 3145728";
    let owned = causes("FieldManagerConflict", ".data.a", "conflict with \"mgr\" using v1");
    let uid = causes("FieldValueInvalid", "metadata.uid", "field is immutable");
    let patch = "the server rejected our request due to an error in our request";
    check(&[
        (status(413, "RequestEntityTooLarge", large, Value::Null), "ObjectTooLarge"),
        (status(422, "Invalid", "m", size("[]")), "ObjectTooLarge"),
        (status(422, "Invalid", "m", size("metadata.annotations")), "ObjectTooLarge"),
        (status(422, "Invalid", "m", size("spec.names.plural")), "ObjectInvalid"),
        (status(409, "Conflict", "m", owned), "FieldConflict"),
        (status(409, "Conflict", "the object has been modified", a_widget()), "ObjectChanged"),
        (status(409, "AlreadyExists", "exists", a_widget()), "AlreadyExists"),
        (status(422, "Invalid", "m", uid), "ObjectChanged"),
        (status(422, "Invalid", patch, json!({})), "ObjectChanged"),
        (status(400, "BadRequest", "the name does not match", Value::Null), "RequestFailed"),
    ]);
}

#[test]
fn whoever_says_no_is_told_apart() {
    let rights = "x is forbidden: User \"bob\" cannot patch resource \"pods\" in API group \"\"";
    let more = "x is forbidden: user \"bob\" (groups=[]) is attempting to grant RBAC permissions not currently held:\n{}";
    let quota = "pods \"x\" is forbidden: exceeded quota: q";
    let policy = "x is forbidden: ValidatingAdmissionPolicy 'vap' with binding 'vapb' denied request: no";
    let webhook = "admission webhook \"a.b\" denied the request: no";
    check(&[
        (status(401, "Unauthorized", "Unauthorized", Value::Null), "Unauthorized"),
        (status(403, "Forbidden", rights, a_widget()), "Forbidden"),
        (status(403, "Forbidden", more, a_widget()), "RightsEscalation"),
        (status(403, "Forbidden", quota, a_widget()), "AdmissionDenied"),
        (status(422, "Invalid", policy, json!({"causes": [{"message": "m"}]})), "AdmissionDenied"),
        (status(400, "", webhook, Value::Null), "AdmissionDenied"),
        (status(503, "", webhook, Value::Null), "AdmissionDenied"),
    ]);
}

#[test]
fn changes_that_are_refused_for_ever_are_told_from_wrong_values() {
    let rows = [
        ("FieldValueInvalid", "roleRef", "Invalid value: {}: cannot change roleRef", true),
        ("FieldValueInvalid", "spec.selector", "Invalid value: {}: field is immutable", true),
        (
            "FieldValueForbidden",
            "spec",
            "Forbidden: updates to statefulset spec for fields other than 'replicas' are",
            true,
        ),
        ("FieldValueInvalid", "spec.template", "Invalid value: {}: field is immutable", true),
        ("FieldValueForbidden", "data", "Forbidden: field is immutable when `immutable` is set", true),
        ("FieldValueInvalid", "spec.clusterIPs[0]", "Invalid value: []: may not change once set", true),
        ("FieldValueForbidden", "value", "Forbidden: may not be changed in an update.", true),
        ("FieldValueForbidden", "parameters", "Forbidden: updates to parameters are forbidden.", true),
        ("FieldValueInvalid", "status.storedVersions[0]", "Invalid value: missing from spec.versions", false),
        ("FieldValueForbidden", "spec.strategy.rollingUpdate", "Forbidden: may not be specified when", false),
        ("FieldValueNotSupported", "spec.a", "Unsupported value: \"field is immutable\"", false),
    ];
    for (reason, field, message, is_immutable) in rows {
        let refusal = status(422, "Invalid", "m", causes(reason, field, message));
        let Refusal::Immutable { causes } = refusal else {
            assert!(!is_immutable, "{field}: {message}");
            continue;
        };
        assert!(is_immutable, "{field}: {message}");
        assert_eq!(causes[0].field, field);
    }
}

#[test]
fn required_fields_are_named_all_at_once_and_only_when_nothing_else_is_wrong() {
    let required =
        |field: &str| json!({"reason": "FieldValueRequired", "field": field, "message": "Required value"});
    let both = json!({"causes": [required("spec"), required("priority")]});
    let fields = vec!["spec".to_owned(), "priority".to_owned()];
    assert_eq!(status(422, "Invalid", "m", both), Refusal::Required { fields });
    let mixed =
        json!({"causes": [required("spec"), {"reason": "FieldValueInvalid", "field": "a", "message": "b"}]});
    assert!(
        matches!(status(422, "Invalid", "m", mixed), Refusal::Invalid { causes, .. } if causes.len() == 2)
    );
}

#[test]
fn an_undeclared_field_is_named_and_a_wrong_type_is_not() {
    let of = |text: &str| {
        let message =
            format!("failed to create typed patch object (ns/name; apps/v1, Kind=Deployment): {text}");
        match status(500, "", &message, Value::Null) {
            Refusal::Undeclared { field, .. } => field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(of(".spec.backOffLimit: field not declared in schema").as_deref(), Some(".spec.backOffLimit"));
    assert_eq!(of(".spec.replicas: expected numeric (int or float), got string"), None);
}

#[test]
fn the_names_in_an_answer_are_kept() {
    let terminating = status(
        403,
        "Forbidden",
        "configmaps \"a\" is forbidden: unable to create new content in namespace old because it is being terminated",
        causes("NamespaceTerminating", "metadata.namespace", "namespace old is being terminated"),
    );
    assert_eq!(terminating, Refusal::NamespaceTerminating { name: "old".to_owned() });
    let conflict = status(
        409,
        "Conflict",
        "m",
        causes("FieldManagerConflict", ".data.a", "conflict with \"mgr\" using v1"),
    );
    let owned = vec![Owned { manager: "mgr".to_owned(), field: ".data.a".to_owned() }];
    assert_eq!(conflict, Refusal::Conflict { owned });
    let message =
        "Internal error occurred: failed calling webhook \"down.ex.dev\": failed to call webhook: Post \"x\"";
    let down = status(500, "InternalError", message, Value::Null);
    assert!(matches!(down, Refusal::WebhookUnavailable { name, .. } if name == "down.ex.dev"));
}

#[test]
fn the_time_to_come_back_is_that_of_the_header_or_of_the_details() {
    let details = json!({"retryAfterSeconds": 3});
    assert_eq!(status(429, "TooManyRequests", "m", details).retry_after(), Some(Duration::from_secs(3)));
    let header = Some(Duration::from_secs(7));
    assert_eq!(Refusal::of_response(429, b"later", header).retry_after(), header);
    assert_eq!(plain(503, "away").retry_after(), None);
}

#[test]
fn only_what_mends_itself_is_transient() {
    for (refusal, expected) in [
        (plain(503, "away"), true),
        (plain(500, "boom"), true),
        (status(409, "Conflict", "modified", json!({})), true),
        (plain(404, "404 page not found"), false),
        (plain(400, "wrong"), false),
        (plain(401, "who"), false),
    ] {
        assert_eq!(refusal.is_transient(), expected, "{refusal:?}");
    }
}

#[test]
fn the_classes_of_the_reference_fit() {
    use lockstep_graph::report::classify;
    for (refusal, class) in [
        (plain(404, "404 page not found"), "UpdatePayloadResourceTypeMissing"),
        (status(409, "Conflict", "m", json!({})), "UpdatePayloadResourceConflict"),
        (plain(503, "service unavailable"), "UpdatePayloadClusterDown"),
        (plain(504, ""), "UpdatePayloadClusterDown"),
        (plain(401, ""), "UpdatePayloadClusterUnauthorized"),
        (plain(500, "boom"), "UpdatePayloadClusterError"),
        (status(422, "Invalid", "m", Value::Null), "UpdatePayloadResourceInvalid"),
        (Refusal::of_response(429, b"", Some(Duration::from_secs(1))), "UpdatePayloadClusterOverloaded"),
    ] {
        assert_eq!(classify(refusal.api_error()).0, class, "{refusal:?}");
    }
}
