//! The reference's test tables for whole kinds.

mod service;

use serde_json::{Value, json};

use super::merge;

/// An object of a kind with some fields at the top.
fn an_object(api_version: &str, kind: &str, fields: &Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
    for (name, value) in fields.as_object().unwrap() {
        object[name] = value.clone();
    }
    object
}

/// Merges two objects that differ in some fields; the result without what all objects have.
fn merged(api_version: &str, kind: &str, live: &Value, manifest: &Value) -> Option<Value> {
    let manifest = an_object(api_version, kind, manifest);
    let mut result = merge(&manifest, &an_object(api_version, kind, live))?;
    assert_eq!(merge(&manifest, &result), None, "not stable: {result}");
    let fields = result.as_object_mut().unwrap();
    for name in ["apiVersion", "kind", "metadata"] {
        fields.remove(name);
    }
    Some(result)
}

/// Live, manifest and what comes out, where anything does.
type Case = (Value, Value, Option<Value>);

fn check(api_version: &str, kind: &str, cases: impl IntoIterator<Item = Case>) {
    for (live, manifest, expected) in cases {
        assert_eq!(merged(api_version, kind, &live, &manifest), expected, "live {live} manifest {manifest}");
    }
}

/// The same cases with everything below `spec`.
fn check_spec(api_version: &str, kind: &str, cases: impl IntoIterator<Item = Case>) {
    let spec = |value: Value| json!({"spec": value});
    check(
        api_version,
        kind,
        cases.into_iter().map(|(live, manifest, expected)| (spec(live), spec(manifest), expected.map(spec))),
    );
}

/// Values of a field of a spec: equal ones are left, others become those of the manifest.
fn check_fields(api_version: &str, kind: &str, fields: &[(&str, Value, Value)]) {
    for (name, one, other) in fields {
        let (one, other) = (json!({*name: one}), json!({*name: other}));
        check_spec(api_version, kind, [(one.clone(), one.clone(), None), (one, other.clone(), Some(other))]);
    }
}

#[test]
fn owner_references_are_matched_by_uid_and_others_stay() {
    let owner = |uid: &str| json!({"uid": uid, "name": uid});
    let controller = |uid: &str, value: bool| json!({"uid": uid, "name": uid, "controller": value});
    let cases = [
        (json!([]), json!([]), None),
        (json!([]), json!([owner("1")]), Some(json!([owner("1")]))),
        (
            json!([owner("2"), owner("3")]),
            json!([owner("1")]),
            Some(json!([owner("2"), owner("3"), owner("1")])),
        ),
        (json!([owner("1")]), json!([owner("1")]), None),
        (json!([owner("1")]), json!([controller("1", true)]), Some(json!([controller("1", true)]))),
        (
            json!([controller("1", false)]),
            json!([controller("1", true)]),
            Some(json!([controller("1", true)])),
        ),
    ];
    // Two built-in kinds and one that no schema knows.
    for (api_version, kind) in [("v1", "Namespace"), ("apps/v1", "Deployment"), ("example.com/v1", "Thing")] {
        for (live, manifest, expected) in cases.clone() {
            let object = |owners: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "ownerReferences": owners}});
            let result =
                merge(&object(manifest), &object(live)).map(|it| it["metadata"]["ownerReferences"].clone());
            assert_eq!(result, expected, "{kind}");
        }
    }
}

#[test]
fn metadata_is_merged_and_what_the_server_keeps_stays() {
    let live = json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": "7", "finalizers": ["f"],
        "labels": {"theirs": "x", "ours": "old"}, "annotations": {"theirs": ""}}});
    let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "creationTimestamp": null,
        "resourceVersion": "1", "namespace": "", "labels": {"ours": "new", "empty": ""}}});
    let expected = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "uid": "1", "resourceVersion": "7",
        "finalizers": ["f"], "labels": {"theirs": "x", "ours": "new", "empty": ""}, "annotations": {"theirs": ""}}});
    assert_eq!(merge(&manifest, &live), Some(expected.clone()));
    assert_eq!(merge(&manifest, &expected), None);
}

#[test]
fn config_maps_keep_keys_of_others() {
    let live = json!({"data": {"ca-bundle.crt": "x", "a": "1"}, "binaryData": {"b": "AA=="}});
    check(
        "v1",
        "ConfigMap",
        [
            (live.clone(), json!({"data": {"a": "1"}}), None),
            (live.clone(), json!({}), None),
            (
                live,
                json!({"data": {"a": "2"}, "binaryData": {"c": "AQ=="}}),
                Some(
                    json!({"data": {"ca-bundle.crt": "x", "a": "2"}, "binaryData": {"b": "AA==", "c": "AQ=="}}),
                ),
            ),
        ],
    );
}

#[test]
fn service_accounts_follow_the_manifest_in_the_token_only() {
    let token = |value: bool| json!({"automountServiceAccountToken": value});
    check(
        "v1",
        "ServiceAccount",
        [
            (token(false), json!({}), Some(json!({}))),
            (token(false), token(false), None),
            (json!({"secrets": [{"name": "t"}], "imagePullSecrets": [{"name": "p"}]}), json!({}), None),
            (
                json!({"secrets": [{"name": "t"}]}),
                json!({"secrets": [{"name": "m"}]}),
                Some(json!({"secrets": [{"name": "t"}, {"name": "m"}]})),
            ),
        ],
    );
}

#[test]
fn deployments_have_exact_numbers_with_defaults() {
    let default = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}});
    let recreate = json!({"strategy": {"type": "Recreate"}});
    check_spec(
        "apps/v1",
        "Deployment",
        [
            (json!({"replicas": 2}), json!({"replicas": 3}), Some(json!({"replicas": 3}))),
            (json!({"replicas": 2}), json!({"replicas": 2}), None),
            (json!({"replicas": 2}), json!({}), Some(json!({"replicas": 1}))),
            (json!({"replicas": 1}), json!({}), None),
            (json!({}), json!({"selector": {}}), Some(json!({"selector": {}}))),
            (default.clone(), json!({}), None),
            (default.clone(), json!({"strategy": {"type": "RollingUpdate"}}), None),
            (default.clone(), recreate.clone(), Some(recreate.clone())),
            (recreate.clone(), json!({}), Some(json!({"strategy": {}}))),
            (json!({"paused": true, "minReadySeconds": 5}), json!({}), Some(json!({}))),
            (json!({"revisionHistoryLimit": 3, "progressDeadlineSeconds": 4}), json!({}), None),
            (
                json!({"revisionHistoryLimit": 3}),
                json!({"revisionHistoryLimit": 4}),
                Some(json!({"revisionHistoryLimit": 4})),
            ),
        ],
    );
}

#[test]
fn daemon_sets_leave_their_strategy_unless_the_manifest_has_one() {
    let strategy = |ty: &str| json!({"updateStrategy": {"type": ty}});
    let cases = [
        (strategy("OnDelete"), json!({}), None),
        (strategy("OnDelete"), strategy("RollingUpdate"), Some(strategy("RollingUpdate"))),
        (json!({"minReadySeconds": 4}), json!({}), None),
    ];
    check_spec("apps/v1", "DaemonSet", cases);
}

#[test]
fn jobs_follow_the_manifest_and_keep_what_the_server_fills_in() {
    let policy = |action: &str| json!({"rules": [{"action": action, "onExitCodes": {"operator": "In", "values": [1]}}]});
    let container = |image: &str| json!({"spec": {"containers": [{"name": "a", "image": image}]}});
    let fields = [
        ("parallelism", json!(2), json!(3)),
        ("completions", json!(2), json!(3)),
        ("activeDeadlineSeconds", json!(2), json!(3)),
        ("podFailurePolicy", policy("Count"), policy("Ignore")),
        ("backoffLimit", json!(2), json!(3)),
        ("manualSelector", json!(true), json!(false)),
        ("template", container("a"), container("b")),
        ("ttlSecondsAfterFinished", json!(2), json!(3)),
        ("completionMode", json!("Indexed"), json!("NonIndexed")),
        ("suspend", json!(true), json!(false)),
    ];
    check_fields("batch/v1", "Job", &fields);
    let filled_in = json!({"backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false, "parallelism": 1, "completions": 1,
        "manualSelector": false, "podReplacementPolicy": "TerminatingOrFailed", "selector": {"matchLabels": {"uid": "1"}}});
    check_spec("batch/v1", "Job", [(filled_in, json!({}), None)]);
    check("batch/v1", "Job", [(json!({"status": {"active": 1}}), json!({"status": {"active": 2}}), None)]);
    let selector = json!({"selector": {"matchLabels": {"a": "b"}}});
    check_spec("batch/v1", "Job", [(json!({}), selector.clone(), Some(selector))]);
}

#[test]
fn cron_jobs_follow_the_manifest_and_keep_what_the_server_fills_in() {
    let template = |limit: u8| json!({"spec": {"backoffLimit": limit}});
    let fields = [
        ("schedule", json!("1 * * * *"), json!("2 * * * *")),
        ("timeZone", json!("Etc/UTC"), json!("Europe/Berlin")),
        ("startingDeadlineSeconds", json!(2), json!(3)),
        ("concurrencyPolicy", json!("Forbid"), json!("Replace")),
        ("suspend", json!(true), json!(false)),
        ("jobTemplate", template(1), template(2)),
        ("successfulJobsHistoryLimit", json!(5), json!(4)),
        ("failedJobsHistoryLimit", json!(5), json!(0)),
    ];
    check_fields("batch/v1", "CronJob", &fields);
    let filled_in = json!({"concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1});
    check_spec("batch/v1", "CronJob", [(filled_in, json!({}), None)]);
    let changed = json!({"suspend": true, "timeZone": "Etc/UTC"});
    check_spec("batch/v1", "CronJob", [(changed, json!({}), Some(json!({"suspend": false})))]);
}

#[test]
fn roles_and_bindings_are_exact() {
    let rule = |verb: &str| json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]});
    check(
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        [
            (rule("get"), rule("get"), None),
            (rule("get"), rule("list"), Some(rule("list"))),
            (rule("get"), json!({}), Some(json!({}))),
            (
                json!({"aggregationRule": {}, "rules": rule("get")["rules"]}),
                json!({"aggregationRule": {}, "rules": rule("list")["rules"]}),
                None,
            ),
        ],
    );
    let group = "rbac.authorization.k8s.io";
    let subject = |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": "n"});
    let subjects =
        |names: &[&str]| json!({"subjects": names.iter().map(|name| subject(name)).collect::<Vec<_>>()});
    let to_role = |name: &str| json!({"roleRef": {"kind": "ClusterRole", "name": name}});
    let full = |name: &str| json!({"roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": group}});
    let user = |with: bool| {
        let mut user = json!({"subjects": [{"kind": "User", "name": "u"}]});
        if with {
            user["subjects"][0]["apiGroup"] = json!(group);
        }
        user
    };
    check(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        [
            (subjects(&["a"]), subjects(&["a", "b"]), Some(subjects(&["a", "b"]))),
            (subjects(&["a", "b"]), subjects(&["a"]), Some(subjects(&["a"]))),
            (subjects(&["a"]), subjects(&["b"]), Some(subjects(&["b"]))),
            (subjects(&["a"]), subjects(&["a"]), None),
            (json!({}), full("r"), Some(full("r"))),
            (json!({}), to_role("r"), Some(to_role("r"))),
            // Replaced as a whole; the server fills in the group.
            (full("r"), to_role("q"), Some(to_role("q"))),
            (full("r"), to_role("r"), None),
            (full("r"), full("r"), None),
            (user(true), user(false), None),
        ],
    );
}

#[test]
fn definitions_are_exact_and_keep_an_injected_bundle() {
    let conversion = |bundle: Option<&str>, annotated: bool| {
        let mut client = json!({"service": {"namespace": "n", "name": "s"}});
        if let Some(bundle) = bundle {
            client["caBundle"] = json!(bundle);
            client["service"]["port"] = json!(443);
        }
        let mut object = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "as.g"}, "spec": {"names": {"kind": "A", "plural": "as"},
            "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}}});
        if annotated {
            object["metadata"]["annotations"] = json!({"service.beta.openshift.io/inject-cabundle": "true"});
        }
        object
    };
    assert_eq!(merge(&conversion(None, true), &conversion(Some("QQ=="), true)), None);
    assert_eq!(merge(&conversion(None, false), &conversion(Some("QQ=="), true)), None);
    let result = merge(&conversion(None, false), &conversion(Some("QQ=="), false)).unwrap();
    assert_eq!(
        result["spec"]["conversion"]["webhook"]["clientConfig"],
        json!({"service": {"namespace": "n", "name": "s", "port": 443}})
    );
    let names = json!({"names": {"kind": "A", "plural": "as"}});
    let filled_in = json!({"names": {"kind": "A", "plural": "as", "singular": "a", "listKind": "AList"}, "conversion": {"strategy": "None"}});
    let mut short = filled_in.clone();
    short["names"]["shortNames"] = json!(["x"]);
    check_spec(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        [(filled_in.clone(), names.clone(), None), (short, names, Some(filled_in))],
    );
}

#[test]
fn webhooks_are_exact_after_defaults() {
    let hooks = |more: Value| {
        let mut hook = json!({"name": "h", "sideEffects": "None", "rules": [{"operations": ["*"]}]});
        for (name, value) in more.as_object().unwrap() {
            hook[name] = value.clone();
        }
        json!({"webhooks": [hook]})
    };
    let group = "admissionregistration.k8s.io/v1";
    let fields = [
        ("failurePolicy", json!("Ignore"), json!("Fail")),
        ("matchPolicy", json!("Exact"), json!("Equivalent")),
        ("namespaceSelector", json!({"matchLabels": {"a": "b"}}), json!({})),
        ("objectSelector", json!({"matchLabels": {"a": "b"}}), json!({})),
        ("timeoutSeconds", json!(3), json!(10)),
    ];
    for (name, other, default) in fields {
        let (other, default) = (hooks(json!({name: other})), hooks(json!({name: default})));
        check(
            group,
            "ValidatingWebhookConfiguration",
            [
                (other.clone(), other.clone(), None),
                (default.clone(), hooks(json!({})), None),
                (default.clone(), other.clone(), Some(other.clone())),
                (other, hooks(json!({})), Some(default)),
            ],
        );
    }
    let mut scoped = hooks(json!({}));
    scoped["webhooks"][0]["rules"][0]["scope"] = json!("*");
    let two = json!({"webhooks": [{"name": "h", "clientConfig": {"caBundle": "QQ=="}}, {"name": "i"}]});
    let one = json!({"webhooks": [{"name": "i"}]});
    check(
        group,
        "ValidatingWebhookConfiguration",
        [(scoped, hooks(json!({})), None), (two.clone(), one.clone(), Some(one))],
    );
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        let object = |bundle: bool| {
            let client = if bundle { json!({"caBundle": "QQ=="}) } else { json!({}) };
            json!({"apiVersion": group, "kind": kind, "metadata": {"name": "a", "annotations": {"service.beta.openshift.io/inject-cabundle": "true"}},
                "webhooks": [{"name": "h", "clientConfig": client}, {"name": "i", "clientConfig": client}]})
        };
        assert_eq!(merge(&object(false), &object(true)), None, "{kind}");
    }
}

#[test]
fn image_streams_add_tags_and_keep_those_of_others() {
    let tag = |more: Value| {
        let mut tag = json!({"name": "t", "from": {"kind": "DockerImage", "name": "a"}});
        for (name, value) in more.as_object().unwrap() {
            tag[name] = value.clone();
        }
        json!({"tags": [tag]})
    };
    let lookup = |local: bool| json!({"lookupPolicy": {"local": local}});
    let import = |name: &str, value: Value| tag(json!({"importPolicy": {name: value}}));
    let mut cases = vec![
        (lookup(true), lookup(true), None),
        (lookup(true), lookup(false), Some(lookup(false))),
        (lookup(false), json!({}), None),
        (tag(json!({})), tag(json!({})), None),
        (
            tag(json!({})),
            tag(json!({"from": {"kind": "DockerImage", "name": "b"}})),
            Some(tag(json!({"from": {"kind": "DockerImage", "name": "b"}}))),
        ),
        (import("importMode", json!("Legacy")), tag(json!({})), None),
        (
            import("importMode", json!("PreserveOriginal")),
            tag(json!({})),
            Some(import("importMode", json!("Legacy"))),
        ),
        (
            tag(json!({"annotations": {"a": "b"}, "generation": 4, "referencePolicy": {"type": "Source"}})),
            tag(json!({"generation": null})),
            None,
        ),
        (json!({"dockerImageRepository": "x"}), json!({}), None),
        (json!({}), tag(json!({"reference": true})), Some(tag(json!({"reference": true})))),
    ];
    for (name, one, other) in [
        ("insecure", json!(true), json!(false)),
        ("scheduled", json!(true), json!(false)),
        ("importMode", json!("PreserveOriginal"), json!("Legacy")),
    ] {
        let (one, other) = (import(name, one), import(name, other));
        cases.extend([(one.clone(), one.clone(), None), (one, other.clone(), Some(other))]);
    }
    let theirs = json!({"name": "theirs"});
    let both = json!({"tags": [theirs, tag(json!({}))["tags"][0]]});
    cases.push((json!({"tags": [theirs]}), tag(json!({})), Some(both)));
    check_spec("image.openshift.io/v1", "ImageStream", cases);
    check(
        "image.openshift.io/v1",
        "ImageStream",
        [(json!({"status": {"a": 1}}), json!({"status": {"a": 2}}), None)],
    );
}

#[test]
fn operator_groups_are_exact_with_a_default_strategy() {
    let spec = |name: &str, value: Value| json!({name: value});
    check_spec(
        "operators.coreos.com/v1",
        "OperatorGroup",
        [
            (json!({}), spec("selector", json!({})), Some(spec("selector", json!({})))),
            (spec("targetNamespaces", json!(["a"])), spec("targetNamespaces", json!(["a"])), None),
            (
                spec("targetNamespaces", json!([])),
                spec("targetNamespaces", json!(["foo", "bar"])),
                Some(spec("targetNamespaces", json!(["foo", "bar"]))),
            ),
            (spec("serviceAccountName", json!("a")), spec("serviceAccountName", json!("a")), None),
            (
                spec("serviceAccountName", json!("a")),
                spec("serviceAccountName", json!("b")),
                Some(spec("serviceAccountName", json!("b"))),
            ),
            (spec("serviceAccountName", json!("a")), json!({}), None),
            (spec("staticProvidedAPIs", json!(true)), spec("staticProvidedAPIs", json!(true)), None),
            (
                spec("staticProvidedAPIs", json!(true)),
                spec("staticProvidedAPIs", json!(false)),
                Some(spec("staticProvidedAPIs", json!(false))),
            ),
            (
                spec("upgradeStrategy", json!("UnsafeFailForward")),
                json!({}),
                Some(spec("upgradeStrategy", json!("Default"))),
            ),
            (spec("upgradeStrategy", json!("Default")), json!({}), None),
            (
                spec("upgradeStrategy", json!("Default")),
                spec("upgradeStrategy", json!("UnsafeFailForward")),
                Some(spec("upgradeStrategy", json!("UnsafeFailForward"))),
            ),
        ],
    );
}

#[test]
fn security_context_constraints_are_replaced_field_by_field() {
    let full = |flag: bool, text: &str| {
        json!({"priority": if flag { 1 } else { 2 }, "allowPrivilegedContainer": flag, "allowHostDirVolumePlugin": flag, "allowHostNetwork": flag,
            "allowHostPorts": flag, "allowHostPID": flag, "allowHostIPC": flag, "defaultAllowPrivilegeEscalation": flag,
            "allowPrivilegeEscalation": flag, "readOnlyRootFilesystem": flag, "defaultAddCapabilities": [text], "requiredDropCapabilities": [text],
            "allowedCapabilities": [text], "volumes": ["shared", text], "allowedFlexVolumes": [{"driver": text}], "seLinuxContext": {"type": text},
            "runAsUser": {"type": text}, "fsGroup": {"type": text}, "supplementalGroups": {"type": text}, "users": [text], "groups": [text],
            "seccompProfiles": [text], "allowedUnsafeSysctls": [text], "forbiddenSysctls": [text]})
    };
    let escalation = |value: bool| json!({"allowPrivilegeEscalation": value});
    check(
        "security.openshift.io/v1",
        "SecurityContextConstraints",
        [
            (full(true, "a"), full(true, "a"), None),
            (full(true, "a"), full(false, "b"), Some(full(false, "b"))),
            (full(true, "a"), json!({}), Some(escalation(true))),
            (escalation(false), json!({}), Some(escalation(true))),
            (escalation(true), json!({}), None),
            (json!({"allowHostIPC": false, "users": []}), json!({}), None),
            (json!({"userNamespaceLevel": "x"}), json!({}), None),
            (json!({"volumes": ["a", "b"]}), json!({"volumes": ["a"]}), Some(json!({"volumes": ["a"]}))),
            (json!({"volumes": ["a"]}), json!({"volumes": ["a", "b"]}), Some(json!({"volumes": ["a", "b"]}))),
        ],
    );
}

#[test]
fn other_kinds_follow_what_the_manifest_says_and_no_further() {
    let live = json!({"spec": {"filled": "in", "list": [{"a": 1, "default": 2}], "theirs": {"x": 1}}, "other": 1, "status": {}});
    check(
        "example.com/v1",
        "Thing",
        [
            (live.clone(), json!({"spec": {"list": [{"a": 1}], "theirs": {}}, "status": {"x": 1}}), None),
            (live.clone(), json!({"spec": {"list": [{"a": 1.0}], "theirs": null}}), None),
            (
                live,
                json!({"spec": {"list": [{"a": 3}], "empty": []}}),
                Some(
                    json!({"spec": {"filled": "in", "list": [{"a": 3}], "theirs": {"x": 1}, "empty": []}, "other": 1, "status": {}}),
                ),
            ),
        ],
    );
    let priority = json!({"value": 1, "preemptionPolicy": "PreemptLowerPriority"});
    check(
        "scheduling.k8s.io/v1",
        "PriorityClass",
        [(priority, json!({"value": 1, "globalDefault": false}), None)],
    );
    // An older version of a kind that has rules has none.
    check_spec("apps/v1beta1", "Deployment", [(json!({"paused": true}), json!({}), None)]);
}

#[test]
fn what_the_server_does_not_declare_is_not_written_again_and_again() {
    let group = "rbac.authorization.k8s.io/v1";
    check(group, "ClusterRoleBinding", [(json!({}), json!({"userNames": ["a"]}), None)]);
    let object = |metadata: Value| json!({"apiVersion": group, "kind": "ClusterRole", "metadata": metadata});
    assert_eq!(merge(&object(json!({"name": "a", "namespace": "n"})), &object(json!({"name": "a"}))), None);
}

#[test]
fn what_is_no_object_is_left_alone() {
    let object = json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "NodePort"}});
    for other in [json!(null), json!([]), json!("x"), json!(1)] {
        assert_eq!(merge(&other, &object), None);
        assert_eq!(merge(&object, &other), None);
    }
}
