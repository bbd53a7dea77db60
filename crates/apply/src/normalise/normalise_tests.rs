use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A CRD of `Widget` in `example.com`, cluster-scoped, with this schema of `spec`.
fn a_definition(spec: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"],
                "properties": {"spec": spec, "status": {"type": "object"}}}}}]}})
}

fn a_widget(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
}

/// The spec of a widget as it is stored under this schema, and what was dropped.
fn widget(schema: &Value, spec: &Value) -> (Value, Vec<String>) {
    let (definition, widget) = (a_definition(schema), a_widget(spec));
    let Normalised { object, dropped } = Rules::of_release([&definition, &widget]).normalise(&widget);
    (object["spec"].clone(), dropped)
}

fn normal(object: &Value) -> Value {
    Rules::default().normalise(object).object
}

/// An object with one more or other top-level part.
fn with(api_version: &str, kind: &str, part: &str, value: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
    object[part] = value;
    object
}

/// API version and kind of an object, the part that is looked at, and the form in which that is stored.
type Case = (&'static str, &'static str, &'static str, Value, Value);

fn check(cases: impl IntoIterator<Item = Case>) {
    for (api_version, kind, part, value, expected) in cases {
        let object = normal(&with(api_version, kind, part, value));
        assert_eq!(object[part], expected, "{kind} {part}");
    }
}

#[test]
fn metadata_has_only_what_an_author_writes_and_a_namespace_only_where_there_is_one() {
    check([
        // N2, N3, N8 in metadata of any kind
        (
            "v1",
            "ConfigMap",
            "metadata",
            json!({"name": "a", "creationTimestamp": null, "uid": "u", "labels": {},
            "resourceVersion": "1", "generation": 1, "managedFields": [{}], "selfLink": "x", "annotations": {"a": null},
            "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1}),
            json!({"name": "a"}),
        ),
        (
            "example.com/v1",
            "Any",
            "metadata",
            json!({"name": "a", "creationTimestamp": null, "annotations": {}}),
            json!({"name": "a"}),
        ),
        (
            "apps/v1",
            "Deployment",
            "spec",
            json!({"template": {"metadata": {"creationTimestamp": null, "labels": {"a": ""}}}}),
            json!({"template": {"metadata": {"labels": {"a": ""}}}}),
        ),
        (
            "apps/v1",
            "StatefulSet",
            "spec",
            json!({"volumeClaimTemplates": [{"metadata": {"name": "a",
            "creationTimestamp": null}, "status": {}}]}),
            json!({"volumeClaimTemplates": [{"metadata": {"name": "a"},
            "status": {}}]}),
        ),
        // N4
        (
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            "metadata",
            json!({"name": "a", "namespace": "b"}),
            json!({"name": "a"}),
        ),
        (
            "v1",
            "ConfigMap",
            "metadata",
            json!({"name": "a", "namespace": "b"}),
            json!({"name": "a", "namespace": "b"}),
        ),
    ]);
}

#[test]
fn single_parts_are_brought_into_the_form_that_is_stored() {
    let pod_spec = |spec: Value| json!({"template": {"spec": spec}});
    check([
        // N8: empty lists and maps go, other empty objects stay; so do zeros that somebody owns
        (
            "apps/v1",
            "Deployment",
            "spec",
            pod_spec(json!({"volumes": [], "nodeSelector": {}, "tolerations": [],
            "securityContext": {}, "affinity": {}, "hostNetwork": false, "containers": [{"name": "a", "args": [],
                "env": [{"name": "E", "value": ""}], "resources": {"limits": {}, "requests": {}}}]})),
            pod_spec(
                json!({"securityContext": {}, "affinity": {}, "hostNetwork": false, "containers": [{"name": "a",
                "env": [{"name": "E", "value": ""}], "resources": {}}]}),
            ),
        ),
        (
            "apps/v1",
            "Deployment",
            "spec",
            json!({"replicas": 0, "paused": false, "selector": {"matchLabels": {}},
            "strategy": null}),
            json!({"replicas": 0, "paused": false, "selector": {}}),
        ),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "spec",
            json!({"podSelector": {}, "ingress": [], "egress": []}),
            json!({"podSelector": {}}),
        ),
        ("v1", "ConfigMap", "data", json!({"a": null, "b": ""}), json!({"b": ""})),
        // Zeros inside of a list that is owned as a whole
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "subjects",
            json!([{"kind": "ServiceAccount", "name": "a",
            "apiGroup": "", "namespace": "b"}]),
            json!([{"kind": "ServiceAccount", "name": "a", "namespace": "b"}]),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "Role",
            "rules",
            json!([{"apiGroups": [""], "verbs": ["get"],
            "resources": ["pods"], "resourceNames": []}]),
            json!([{"apiGroups": [""], "verbs": ["get"],
            "resources": ["pods"]}]),
        ),
        // N9
        (
            "v1",
            "Secret",
            "data",
            json!({"a": "aGVs\nbG8=\r\n", "b": "not base64", "c": ""}),
            json!({"a": "aGVsbG8=", "b": "not base64", "c": ""}),
        ),
        ("v1", "ConfigMap", "binaryData", json!({"a": "aGVs\nbG9="}), json!({"a": "aGVsbG8="})),
        (
            "v1",
            "Service",
            "spec",
            json!({"ports": [{"port": 1, "name": "x"}, {"port": 1, "protocol": "TCP", "name": "y"},
            {"port": 1, "protocol": "UDP"}]}),
            json!({"ports": [{"port": 1, "protocol": "TCP", "name": "y"},
            {"port": 1, "protocol": "UDP"}]}),
        ),
    ]);
}

#[test]
fn a_part_that_nothing_is_left_of_goes() {
    for (kind, part, value) in [
        ("ConfigMap", "data", json!({})),
        ("ConfigMap", "data", json!({"a": null})),
        ("ConfigMap", "binaryData", json!({})),
        ("ServiceAccount", "secrets", json!([])),
        ("ServiceAccount", "imagePullSecrets", json!(null)),
        ("Namespace", "status", json!({"phase": "Active"})),
    ] {
        let object = with("v1", kind, part, value);
        assert_eq!(
            normal(&object),
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}}),
            "{part}"
        );
    }
}

#[test]
fn status_goes_whatever_the_kind() {
    for (api_version, kind) in
        [("config.openshift.io/v1", "ClusterOperator"), ("image.openshift.io/v1", "ImageStream")]
    {
        let object = with(api_version, kind, "status", json!({"versions": [{"name": "operator"}]}));
        assert!(normal(&object).get("status").is_none(), "{kind}");
    }
}

#[test]
fn undeclared_fields_of_a_built_in_kind_go_and_are_named() {
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "a", "lables": {}}, "userNames": ["x"], "roleRef": {"kind": "ClusterRole", "name": "b"}});
    let normalised = Rules::default().normalise(&binding);
    assert_eq!(normalised.dropped, ["metadata.lables", "userNames"]);
    assert_eq!(
        normalised.object,
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "a"},
            "roleRef": {"kind": "ClusterRole", "name": "b"}})
    );
    let job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": {"jobTemplate": {"spec": {"backOffLimit": 3, "template": {"spec": {"containers": [{"name": "a"},
            {"name": "b", "imag": "x"}]}}}}}});
    let dropped = Rules::default().normalise(&job).dropped;
    let containers = "spec.jobTemplate.spec.template.spec.containers";
    assert_eq!(dropped, ["spec.jobTemplate.spec.backOffLimit".to_owned(), format!("{containers}[1].imag")]);
}

#[test]
fn the_schemas_of_a_crd_keep_only_keywords_that_are_stored() {
    let schema = json!({"type": "object", "properties": {
        "format": {"type": "string", "format": "", "description": "", "nullable": false, "x-kubernetes-int-or-string": false},
        "list": {"type": "array", "items": {"type": "object", "required": [], "title": "",
            "anyOf": [{"optional": ["port"], "required": ["a"]}]}},
        "map": {"type": "object", "additionalProperties": {"type": "string", "pattern": "", "wrong": 1}},
        "flag": {"additionalProperties": true, "default": {"a": null, "b": []}, "minLength": 0,
            "x-kubernetes-preserve-unknown-fields": true}}});
    let mut definition = a_definition(&schema);
    definition["spec"]["preserveUnknownFields"] = json!(false);
    definition["spec"]["conversion"] = json!({"strategy": "None"});
    definition["status"] = json!({"storedVersions": []});
    let Normalised { object, dropped } = Rules::default().normalise(&definition);
    let expected = json!({"type": "object", "properties": {
        "format": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "anyOf": [{"required": ["a"]}]}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "flag": {"additionalProperties": true, "default": {"a": null, "b": []}, "minLength": 0,
            "x-kubernetes-preserve-unknown-fields": true}}});
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    assert_eq!(object.pointer(path), Some(&expected));
    assert_eq!(object["spec"].get("preserveUnknownFields"), None);
    assert_eq!(object["spec"]["conversion"], json!({"strategy": "None"}));
    let path = "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties";
    assert_eq!(
        dropped,
        [format!("{path}.list.items.anyOf[0].optional"), format!("{path}.map.additionalProperties.wrong")]
    );
}

#[test]
fn rules_of_an_aggregated_role_belong_to_the_controller() {
    let role = |aggregation: Value| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"},
            "aggregationRule": aggregation, "rules": [{"verbs": ["get"]}]})
    };
    let selectors = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
    assert!(normal(&role(selectors)).get("rules").is_none());
    assert!(normal(&role(json!(null))).get("rules").is_some());
}

#[test]
fn texts_of_a_secret_become_data_and_win_over_it() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "data": {"a": "eA==", "b": "eQ=="}, "stringData": {"b": "hello", "c": null}});
    let expected = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "data": {"a": "eA==", "b": "aGVsbG8="}});
    assert_eq!(normal(&secret), expected);
    let wrong =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": 1}});
    assert_eq!(normal(&wrong), wrong);
}

#[test]
fn custom_resources_are_pruned_by_the_schema_of_their_crd() {
    let bare = json!({"type": "object"});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}});
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    let cases: Vec<(Value, Value, Value, &[&str])> = vec![
        (bare.clone(), json!({"managementState": "Managed"}), json!({}), &["spec.managementState"]),
        (object(json!({"a": bare})), json!({"a": {"b": {"c": 1}}}), json!({"a": {}}), &["spec.a.b"]),
        (
            free.clone(),
            json!({"x": {"y": null}, "a": {"b": "1", "c": 1}}),
            json!({"x": {"y": null}, "a": {"b": "1"}}),
            &["spec.a.c"],
        ),
        (
            object(json!({"m": {"type": "object", "additionalProperties": {"type": "string"}}})),
            json!({"m": {"a": "1", "b": null}}),
            json!({"m": {"a": "1"}}),
            &[],
        ),
        (
            object(json!({"m": {"type": "object", "additionalProperties": true}})),
            json!({"m": {"a": 1, "b": {"c": 1}}}),
            json!({"m": {"a": 1, "b": {}}}),
            &["spec.m.b.c"],
        ),
        (
            object(json!({"l": {"type": "array", "items": object(json!({"a": {"type": "string"}}))}})),
            json!({"l": [{"a": "1", "b": 2}, {"b": 3}]}),
            json!({"l": [{"a": "1"}, {}]}),
            &["spec.l[0].b", "spec.l[1].b"],
        ),
        // Empty values of a custom resource are stored as written.
        (
            object(json!({"l": {"type": "array", "items": bare}, "o": bare, "s": {"type": "string"}})),
            json!({"l": [], "o": {}, "s": ""}),
            json!({"l": [], "o": {}, "s": ""}),
            &[],
        ),
        (
            embedded.clone(),
            json!({"kind": "K", "metadata": {"name": "a", "creationTimestamp": null, "wrong": 1}, "x": 1}),
            json!({"kind": "K", "metadata": {"name": "a"}, "x": 1}),
            &["spec.metadata.wrong"],
        ),
        (
            free,
            json!({"objects": [{"metadata": {"creationTimestamp": null}, "x": null}]}),
            json!({"objects": [{"metadata": {}, "x": null}]}),
            &[],
        ),
        (
            object(
                json!({"l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "p"],
            "items": object(json!({"a": {"type": "string"}, "p": {"type": "string", "default": "T"},
                "v": {"type": "integer"}}))}}),
            ),
            json!({"l": [{"a": "1", "v": 1}, {"a": "1", "p": "T", "v": 2}]}),
            json!({"l": [{"a": "1", "p": "T", "v": 2}]}),
            &[],
        ),
        (
            object(
                json!({"l": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}),
            ),
            json!({"l": ["a", "b", "a"]}),
            json!({"l": ["b", "a"]}),
            &[],
        ),
    ];
    for (schema, spec, expected, dropped) in cases {
        let (stored, gone) = widget(&schema, &spec);
        assert_eq!(stored, expected, "{schema}");
        assert_eq!(gone, dropped, "{schema}");
    }
}

#[test]
fn nulls_of_a_custom_resource_stay_only_where_they_are_required() {
    let schema = json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "integer", "nullable": true},
        "b": {"type": "boolean"}, "c": {"type": "integer", "nullable": true}, "d": {"type": "string"}}});
    let (stored, dropped) = widget(&schema, &json!({"a": null, "b": null, "c": null, "d": null}));
    assert_eq!(stored, json!({"a": null, "b": false}));
    assert!(dropped.is_empty());
}

#[test]
fn required_values_are_known_for_two_kinds_also_without_their_crds() {
    let operator = with("config.openshift.io/v1", "ClusterOperator", "status", json!({}));
    assert_eq!(normal(&operator)["spec"], json!({}));
    let other = with("operatorstatus.openshift.io/v1", "ClusterOperator", "status", json!({}));
    assert!(normal(&other).get("spec").is_none());

    let constraints =
        with("security.openshift.io/v1", "SecurityContextConstraints", "volumes", json!(["secret"]));
    let stored = normal(&constraints);
    for name in CONSTRAINTS_FALSE {
        assert_eq!(stored[name], json!(false), "{name}");
    }
    assert_eq!(stored["volumes"], json!(["secret"]));
    assert_eq!(stored.get("priority"), Some(&Value::Null));
    assert_eq!(stored.get("allowedCapabilities"), Some(&Value::Null));
}

#[test]
fn required_values_come_from_the_crd_when_the_release_has_it() {
    let (stored, _) = widget(&json!({"type": "object"}), &json!(null));
    assert_eq!(stored, json!({}));
}

#[test]
fn scope_and_plural_come_from_the_crds_of_the_release_and_from_kubernetes() {
    let definition = a_definition(&json!({}));
    let rules = Rules::of_release([&definition]);
    assert_eq!(rules.is_namespaced("example.com/v1", "Widget"), Some(false));
    assert_eq!(rules.plural("example.com/v1", "Widget"), Some("widgets"));
    assert_eq!(rules.is_namespaced("apps/v1", "Deployment"), Some(true));
    assert_eq!(rules.plural("apps/v1", "Deployment"), Some("deployments"));
    for (api_version, kind) in
        [("example.com/v2", "Widget"), ("example.com/v1", "Wodget"), ("apps/v2", "Deployment")]
    {
        assert_eq!(rules.is_namespaced(api_version, kind), None, "{api_version} {kind}");
        assert_eq!(rules.plural(api_version, kind), None, "{api_version} {kind}");
    }
    let namespaced = json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "a", "namespace": "b"}});
    assert_eq!(rules.normalise(&namespaced).object["metadata"], json!({"name": "a"}));
}

#[test]
fn schemas_are_kept_only_for_kinds_that_the_release_has_objects_of() {
    let definition = a_definition(&json!({"type": "object"}));
    let has_schema =
        |rules: &Rules| rules.definition("example.com/v1", "Widget").unwrap().structure.is_some();
    assert!(!has_schema(&Rules::of_release([&definition])));
    assert!(has_schema(&Rules::of_release([&a_widget(&json!({})), &definition])));
}

#[test]
fn what_is_no_object_comes_back_as_it_is() {
    for value in [json!(null), json!("text"), json!([1]), json!({}), json!({"metadata": "text", "spec": 1})] {
        assert_eq!(normal(&value), value);
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i32).prop_map(Value::from),
        prop_oneof![Just(""), Just("a"), Just("eA=\n=")].prop_map(Value::from),
    ];
    let names = [
        "a",
        "b",
        "name",
        "value",
        "metadata",
        "creationTimestamp",
        "labels",
        "spec",
        "template",
        "containers",
        "env",
        "ports",
        "containerPort",
        "protocol",
        "rules",
        "subjects",
        "data",
        "stringData",
        "items",
        "properties",
        "type",
        "format",
        "enum",
        "default",
        "versions",
        "schema",
        "openAPIV3Schema",
        "free",
        "list",
        "map",
        "status",
    ];
    leaf.prop_recursive(6, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(names.to_vec()), inner, 0..6)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn an_object_in_normal_form_stays_as_it_is(
        kind in prop::sample::select(vec![
            ("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "Service"),
            ("rbac.authorization.k8s.io/v1", "ClusterRole"), ("rbac.authorization.k8s.io/v1", "RoleBinding"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("example.com/v1", "Widget"),
            ("config.openshift.io/v1", "ClusterOperator"), ("security.openshift.io/v1", "SecurityContextConstraints"),
        ]),
        parts in prop::collection::btree_map(
            prop::sample::select(vec!["spec", "data", "stringData", "rules", "subjects", "metadata", "status", "extra"]),
            any_value(), 0..5),
    ) {
        let schema = json!({"type": "object", "required": ["a", "name"], "properties": {
            "a": {"type": "boolean"}, "b": {"type": "string"}, "name": {"type": "object", "nullable": true},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "required": ["value"],
                "properties": {"value": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}}},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "nullable": true}}}});
        let mut object = json!({"apiVersion": kind.0, "kind": kind.1});
        for (part, value) in parts {
            object[part] = value;
        }
        let definition = a_definition(&schema);
        let rules = Rules::of_release([&definition, &object]);
        let once = rules.normalise(&object).object;
        let twice = rules.normalise(&once);
        prop_assert_eq!(&twice.object, &once);
        prop_assert_eq!(twice.dropped, Vec::<String>::new());
    }
}
