use serde_json::json;

use super::*;

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "resourceVersion": "1"},
        "spec": {"replicas": 1, "template": {"spec": {
            "containers": [{"name": "web", "image": "i:1", "args": ["-a"]}, {"name": "proxy", "image": "p"}],
            "volumes": [{"name": "v", "emptyDir": {}}]}}},
        "status": {"replicas": 1}})
}

/// The lines for a change of the deployment.
fn lines(change: impl FnOnce(&mut Value)) -> String {
    let before = deployment();
    let mut after = before.clone();
    change(&mut after);
    text(&changes(Some(&before), &after))
}

#[test]
fn what_the_server_writes_is_no_change() {
    let line = lines(|after| {
        after["metadata"]["resourceVersion"] = json!("2");
        after["metadata"]["managedFields"] = json!([{"manager": "a"}]);
        after["metadata"]["generation"] = json!(2);
        after["metadata"]["uid"] = json!("u");
        after["metadata"]["creationTimestamp"] = json!("t");
        after["status"] = json!({"replicas": 2});
    });
    assert_eq!(line, "");
}

#[test]
fn each_change_is_one_line_with_items_by_name() {
    let line = lines(|after| {
        after["metadata"]["labels"] = json!({"a.b/c": "d"});
        after["spec"]["replicas"] = Value::Null;
        let spec = &mut after["spec"]["template"]["spec"];
        spec["containers"][0]["image"] = json!("i:2");
        spec["containers"][0]["args"] = json!(["-a", "-b"]);
        spec["containers"][0]["resources"] = json!({"limits": {"cpu": "1"}});
        spec["containers"][1] = json!({"name": "new", "image": "n"});
        spec.as_object_mut().unwrap().remove("volumes");
    });
    assert_eq!(
        line,
        "metadata.labels[\"a.b/c\"]: (none) → \"d\"\n\
         spec.replicas: 1 → null\n\
         spec.template.spec.containers[name=\"web\"].args: [\"-a\"] → [\"-a\",\"-b\"]\n\
         spec.template.spec.containers[name=\"web\"].image: \"i:1\" → \"i:2\"\n\
         spec.template.spec.containers[name=\"web\"].resources.limits.cpu: (none) → \"1\"\n\
         spec.template.spec.containers[name=\"new\"]: (none) → {\"image\":\"n\",\"name\":\"new\"}\n\
         spec.template.spec.containers[name=\"proxy\"]: {\"image\":\"p\",\"name\":\"proxy\"} → (none)\n\
         spec.template.spec.volumes: [{\"emptyDir\":{},\"name\":\"v\"}] → (none)\n"
    );
}

#[test]
fn another_order_of_named_items_is_one_change() {
    let line = lines(|after| {
        after["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().reverse();
    });
    assert_eq!(line, "spec.template.spec.containers: [\"web\",\"proxy\"] → [\"proxy\",\"web\"]\n");
}

#[test]
fn items_without_names_are_compared_between_equal_ends() {
    let rules =
        |verbs: &[&str]| json!({"rules": verbs.iter().map(|v| json!({"verbs": [v]})).collect::<Value>()});
    let show = |before, after| text(&changes(Some(&before), &after));
    assert_eq!(show(rules(&["a", "b", "c"]), rules(&["a", "x", "c"])), "rules[1].verbs: [\"b\"] → [\"x\"]\n");
    assert_eq!(show(rules(&["a", "c"]), rules(&["a", "b", "c"])), "rules[1]: (none) → {\"verbs\":[\"b\"]}\n");
    assert_eq!(show(rules(&["a", "b", "c"]), rules(&["b", "c"])), "rules[0]: {\"verbs\":[\"a\"]} → (none)\n");
}

#[test]
fn a_new_object_is_shown_leaf_by_leaf() {
    let new = json!({"kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}, "data": {"k": "v"}});
    assert_eq!(
        text(&changes(None, &new)),
        "data.k: (none) → \"v\"\nkind: (none) → \"ConfigMap\"\nmetadata.name: (none) → \"a\"\n"
    );
}

#[test]
fn data_of_secrets_is_never_shown() {
    let secret = |value: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": format!("{{\"data\":\"{value}\"}}")}},
            "data": {"k": value}, "stringData": {"s": value}})
    };
    let found = changes(Some(&secret("c2VjcmV0LW9uZQ==")), &secret("c2VjcmV0LXR3by1s"));
    assert_eq!(
        text(&found),
        "data.k: (secret, 10 bytes) → (secret, 12 bytes, changed)\n\
         metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]: \
         (secret, 27 bytes) → (secret, 27 bytes, changed)\n\
         stringData.s: (secret, 16 bytes) → (secret, 16 bytes, changed)\n"
    );
    let new = serde_json::to_string(&changes(None, &secret("c2VjcmV0LW9uZQ=="))).unwrap();
    assert!(!new.contains("c2VjcmV0"), "{new}");
}

#[test]
fn tokens_passwords_and_private_keys_are_never_shown() {
    let hidden = "hunter2";
    let key = "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----";
    for after in [
        json!({"data": {"adminPassword": hidden}}),
        json!({"data": {"x.pem": key}}),
        json!({"spec": {"tokens": [hidden]}}),
        json!({"spec": {"auth": {"bearerToken": hidden}}}),
        json!({"spec": {"jwt": "eyJhbGciOi.hunter2.sig"}}),
        json!({"spec": {"env": [{"name": "DB_PASSWORD", "value": hidden}]}}),
        json!({"spec": {"containers": [{"name": "a", "env": [{"name": "API_TOKEN", "value": hidden}]}]}}),
    ] {
        let shown = text(&changes(None, &after));
        assert!(shown.contains("(secret, ") && !shown.contains(hidden), "{shown}");
    }
    // Changed in a list that was there before.
    let env = |value: &str| json!({"spec": {"env": [{"name": "API_TOKEN", "value": value}]}});
    assert_eq!(
        text(&changes(Some(&env("a")), &env("hunter2"))),
        "spec.env[name=\"API_TOKEN\"].value: (secret, 1 byte) → (secret, 7 bytes, changed)\n"
    );
}

#[test]
fn names_of_places_of_secrets_are_shown() {
    let after = json!({"spec": {"bearerTokenFile": "/var/token", "automountServiceAccountToken": false,
        "tokenSecretRef": {"name": "n"}, "env": [{"name": "PASSWORD_FILE", "value": "/etc/p"}]}});
    let shown = text(&changes(None, &after));
    assert!(!shown.contains("(secret, "), "{shown}");
}

#[test]
fn long_values_are_shortened_to_where_they_differ() {
    let long = |tail: &str| json!({"data": {"k": format!("{}{tail}{}", "a".repeat(500), "b".repeat(500))}});
    let line = text(&changes(Some(&long("X")), &long("Y")));
    assert!(line.starts_with(&format!("data.k: …{}Xb", "a".repeat(20))), "{line}");
    assert!(line.contains(&format!("→ …{}Yb", "a".repeat(20))), "{line}");
    assert!(line.contains("(1003 characters)") && line.chars().count() < 300, "{line}");
}

#[test]
fn between_manifests_even_status_and_metadata_count() {
    let before = deployment();
    let mut after = before.clone();
    after["metadata"]["generation"] = json!(2);
    after["status"]["replicas"] = json!(2);
    assert_eq!(
        text(&all_changes(&before, &after)),
        "metadata.generation: (none) → 2\nstatus.replicas: 1 → 2\n"
    );
}
