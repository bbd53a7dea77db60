use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The drift, extra and suspect paths of a comparison.
fn paths(wanted: &Value, live: &Value, fields: &Value) -> [Vec<String>; 3] {
    let mut object = json!({"metadata": {"name": "a"}});
    let merge = |object: &mut Value, more: &Value| {
        for (name, value) in more.as_object().unwrap() {
            object[name] = value.clone();
        }
    };
    let mut manifest = object.clone();
    merge(&mut manifest, wanted);
    merge(&mut object, live);
    object["metadata"]["managedFields"] =
        json!([{"manager": "lockstep", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields}]);
    let Comparison { drift, extra, suspect, is_ours } = compare(&manifest, &object);
    assert!(is_ours);
    [drift, extra, suspect]
}

#[test]
fn values_and_ownership_decide_together() {
    // Manifest, live, fields; then drift, extra, suspect.
    let cases = [
        (json!({"a": 1}), json!({"a": 1}), json!({"f:a": {}}), ["", "", ""]),
        (json!({"a": 1}), json!({"a": 2}), json!({"f:a": {}}), ["", "", "a"]),
        (json!({"a": 1}), json!({"a": 1}), json!({}), ["a", "", ""]),
        (json!({"a": 1}), json!({}), json!({}), ["a", "", ""]),
        (json!({"a": 1.0}), json!({"a": 1}), json!({"f:a": {}}), ["", "", ""]),
        (json!({"a": "1"}), json!({"a": 1}), json!({"f:a": {}}), ["", "", "a"]),
        (json!({"a": ""}), json!({}), json!({"f:a": {}}), ["", "", "a"]),
        // Nothing is wanted and nothing is there.
        (json!({"a": null}), json!({}), json!({}), ["", "", ""]),
        (json!({"a": null}), json!({"a": null}), json!({"f:a": {}}), ["", "", ""]),
        (json!({"a": null}), json!({"a": 1}), json!({}), ["a", "", ""]),
        // Maps.
        (json!({"a": {}}), json!({"a": {"x": 1}}), json!({}), ["", "", ""]),
        (json!({"a": {}}), json!({}), json!({"f:a": {}}), ["", "", ""]),
        (json!({"a": {}}), json!({}), json!({}), ["a", "", ""]),
        (json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}}), json!({"f:a": {"f:b": {}}}), ["", "", ""]),
        (json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}}), json!({"f:a": {}}), ["", "", ""]),
        (json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), json!({"f:a": {}}), ["", "", "a"]),
        (json!({"a": {"b": 1}}), json!({"a": {"b": 1}}), json!({"f:a": {".": {}}}), ["a.b", "", ""]),
        (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1, "c": 3}}), json!({}), ["a.c", "", ""]),
        (json!({"a": {"b": {"c": 2}}}), json!({"a": {"b": {"c": 2}}}), json!({}), ["a", "", ""]),
        (json!({"a": {"b": 1}}), json!({"a": "text"}), json!({"f:a": {"f:b": {}}}), ["", "", "a.b"]),
        (json!({"a": {"b": []}}), json!({"a": {}}), json!({}), ["", "", ""]),
        // Lists that are owned as a whole.
        (json!({"a": [1, 2]}), json!({"a": [1, 2]}), json!({"f:a": {}}), ["", "", ""]),
        (json!({"a": [1, 2]}), json!({"a": [2, 1]}), json!({"f:a": {}}), ["", "", "a"]),
        (json!({"a": [1]}), json!({"a": [1, 2]}), json!({"f:a": {}}), ["", "", "a"]),
        (json!({"a": [{"b": 1}]}), json!({"a": [{"b": 1, "c": 2}]}), json!({"f:a": {}}), ["", "", ""]),
        (json!({"a": [1]}), json!({"a": [1]}), json!({}), ["a", "", ""]),
        (json!({"a": []}), json!({"a": []}), json!({}), ["", "", ""]),
        (json!({"a": []}), json!({}), json!({}), ["", "", ""]),
        (json!({"a": []}), json!({"a": [1]}), json!({}), ["", "a", ""]),
        // Sets.
        (
            json!({"a": ["x", "y"]}),
            json!({"a": ["x", "y"]}),
            json!({"f:a": {"v:\"x\"": {}, "v:\"y\"": {}}}),
            ["", "", ""],
        ),
        (json!({"a": ["x"]}), json!({"a": ["x", "z"]}), json!({"f:a": {"v:\"x\"": {}}}), ["", "a", ""]),
        (
            json!({"a": ["x", "y"]}),
            json!({"a": ["x"]}),
            json!({"f:a": {"v:\"x\"": {}}}),
            ["a[=\"y\"]", "", ""],
        ),
        (
            json!({"a": ["x", "y"]}),
            json!({"a": ["y", "x"]}),
            json!({"f:a": {"v:\"x\"": {}, "v:\"y\"": {}}}),
            ["a", "", ""],
        ),
    ];
    for (wanted, live, fields, expected) in cases {
        let expected = expected.map(|path| if path.is_empty() { vec![] } else { vec![path.to_owned()] });
        assert_eq!(paths(&wanted, &live, &fields), expected, "{wanted} {live} {fields}");
    }
}

#[test]
fn what_we_applied_and_the_manifest_no_longer_has_is_drift() {
    for (wanted, live, fields, drift) in [
        (json!({"b": 1}), json!({"a": 1, "b": 1}), json!({"f:a": {}, "f:b": {}}), "a"),
        (
            json!({"a": {"b": 1}}),
            json!({"a": {"b": 1, "c": 1}}),
            json!({"f:a": {"f:b": {}, "f:c": {}}}),
            "a.c",
        ),
        (json!({"a": {}}), json!({"a": {"c": 1}}), json!({"f:a": {"f:c": {}}}), "a.c"),
        (json!({"a": []}), json!({"a": [1]}), json!({"f:a": {}}), "a"),
        (
            json!({"a": ["x"]}),
            json!({"a": ["x", "y"]}),
            json!({"f:a": {"v:\"x\"": {}, "v:\"y\"": {}}}),
            "a[=\"y\"]",
        ),
        (list(&[("a", 1)]), list(&[("a", 1), ("b", 2)]), named(&["a", "b"]), "spec.list[name=\"b\"]"),
        (
            json!({"metadata": {}}),
            json!({"metadata": {"labels": {"l": "v"}}}),
            json!({"f:metadata": {"f:labels": {"f:l": {}}}}),
            "metadata.labels",
        ),
    ] {
        assert_eq!(paths(&wanted, &live, &fields)[0], [drift], "{wanted} {live} {fields}");
    }
}

/// Fields for a list whose items have a name and own `v`.
fn named(names: &[&str]) -> Value {
    let items =
        names.iter().map(|name| (format!("k:{{\"name\":\"{name}\"}}"), json!({"f:name": {}, "f:v": {}})));
    json!({"f:spec": {"f:list": items.collect::<Value>()}})
}

fn list(items: &[(&str, u8)]) -> Value {
    let items: Value = items.iter().map(|(name, v)| json!({"name": name, "v": v})).collect();
    json!({"spec": {"list": items}})
}

#[test]
fn items_are_matched_by_key() {
    let wanted = list(&[("a", 1), ("b", 2)]);
    for (live, owned, expected) in [
        (list(&[("a", 1), ("b", 2)]), named(&["a", "b"]), ["", "", ""]),
        (list(&[("x", 0), ("a", 1), ("y", 0), ("b", 2)]), named(&["a", "b"]), ["", "spec.list", ""]),
        (list(&[("b", 2), ("a", 1)]), named(&["a", "b"]), ["spec.list", "", ""]),
        (list(&[("a", 1), ("b", 3)]), named(&["a", "b"]), ["", "", "spec.list[name=\"b\"].v"]),
        (list(&[("a", 1)]), named(&["a", "b"]), ["spec.list[name=\"b\"]", "", ""]),
        (list(&[("a", 1), ("b", 2)]), named(&["a"]), ["spec.list[1]", "spec.list", ""]),
    ] {
        let expected = expected.map(|path| if path.is_empty() { vec![] } else { vec![path.to_owned()] });
        assert_eq!(paths(&wanted, &live, &owned), expected, "{live} {owned}");
    }
}

#[test]
fn a_field_of_the_key_that_the_manifest_leaves_out_has_its_default() {
    let fields = json!({"f:ports": {
        "k:{\"port\":53,\"protocol\":\"TCP\"}": {"f:port": {}},
        "k:{\"port\":53,\"protocol\":\"UDP\"}": {"f:port": {}, "f:protocol": {}},
    }});
    let both = json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]});
    let wanted = json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]});
    assert_eq!(paths(&wanted, &both, &fields), [vec![], vec![], Vec::<String>::new()]);
    let only_udp =
        json!({"f:ports": {"k:{\"port\":53,\"protocol\":\"UDP\"}": {"f:port": {}, "f:protocol": {}}}});
    assert_eq!(paths(&wanted, &both, &only_udp)[0], ["ports[1]"], "an item is not taken for another");
}

#[test]
fn escaped_keys_are_found() {
    // The server may write other escapes than we do.
    let fields = json!({"f:list": {"k:{\"name\":\"a\\u0026b\"}": {"f:name": {}, "f:v": {}}}});
    let object = json!({"list": [{"name": "a&b", "v": 1}]});
    assert_eq!(paths(&object, &object, &fields), [vec![], vec![], Vec::<String>::new()]);
}

#[test]
fn what_the_schema_of_a_built_in_kind_says_is_equal() {
    let pod =
        |container: &Value| json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}});
    for (wanted, live, equal) in [
        (
            json!({"resources": {"limits": {"cpu": "1000m"}}}),
            json!({"resources": {"limits": {"cpu": "1"}}}),
            true,
        ),
        (
            json!({"resources": {"limits": {"cpu": "1000m"}}}),
            json!({"resources": {"limits": {"cpu": "2"}}}),
            false,
        ),
        (json!({"stdin": false}), json!({}), true),
        (json!({"stdin": true}), json!({}), false),
        (json!({"livenessProbe": {"initialDelaySeconds": 0}}), json!({"livenessProbe": {}}), true),
        (
            json!({"securityContext": {"allowPrivilegeEscalation": false}}),
            json!({"securityContext": {}}),
            false,
        ),
        (json!({"args": [""]}), json!({"args": [""]}), true),
        (json!({"image": "1000m"}), json!({"image": "1"}), false),
    ] {
        // The list is owned as a whole here, so that the same holds inside of such values.
        let fields = json!({"f:spec": {"f:containers": {}}});
        let [drift, extra, suspect] = paths(&pod(&wanted), &pod(&live), &fields);
        assert_eq!((drift.len(), extra.len(), suspect.is_empty()), (0, 0, equal), "{wanted} {live}");
    }
    let event = |time: &str| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"renewTime": time}});
    let fields = json!({"f:spec": {"f:renewTime": {}}});
    let same =
        paths(&event("2026-01-01T02:00:00.000000+02:00"), &event("2026-01-01T00:00:00.000000Z"), &fields);
    assert_eq!(same, [vec![], vec![], Vec::<String>::new()]);
    let other = paths(&event("2026-01-01T02:00:00.000000Z"), &event("2026-01-01T00:00:00.000000Z"), &fields);
    assert_eq!(other[2], ["spec.renewTime"]);
}

#[test]
fn without_an_entry_of_ours_everything_is_drift() {
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"l": "1"}},
        "data": {"k": "v", "x": "y"}});
    let found = compare(&manifest, &manifest);
    assert_eq!((found.drift, found.is_ours), (vec!["data".to_owned(), "metadata.labels".to_owned()], false));
    let mut live = manifest.clone();
    live["data"]["k"] = json!("other");
    assert!(compare(&manifest, &live).drift.contains(&"data.k".to_owned()));
    let empty =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "b"}});
    assert_eq!(
        compare(&empty, &empty).drift,
        Vec::<String>::new(),
        "an apply that owns nothing has no entry"
    );
}

#[test]
fn finalizers_and_owners_of_others_are_not_extra() {
    let fields = json!({"f:metadata": {"f:finalizers": {"v:\"a\"": {}}}});
    let object = |names: &[&str]| json!({"metadata": {"finalizers": names}});
    assert_eq!(paths(&object(&["a"]), &object(&["a", "b"]), &fields), [vec![], vec![], Vec::<String>::new()]);
}

// === random objects ===

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z0-9./]{0,6}".prop_map(Value::from),
    ]
}

/// Bodies with maps, atomic lists, and lists of named items.
fn body() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            3 => prop::collection::btree_map("[a-d./~]{1,3}", inner.clone(), 1..4)
                .prop_map(|map| map.into_iter().collect()),
            1 => prop::collection::vec(scalar(), 1..4).prop_map(Value::from),
            2 => prop::collection::btree_map("[a-e\"&]{1,2}", inner, 1..4).prop_map(|items| {
                items.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
            }),
        ]
    })
}

/// The fields that a server records for who applies a value.
fn fields_of(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            map.iter().map(|(name, value)| (format!("f:{name}"), fields_of(value))).collect()
        }
        Value::Array(items) if items.iter().all(Value::is_object) => {
            let item = |item: &Value| (format!("k:{}", json!({"name": item["name"]})), fields_of(item));
            items.iter().map(item).collect()
        }
        _ => json!({}),
    }
}

/// Pointers to all leaves.
fn leaves(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let mut pointer = pointer.to_owned();
                path::push_field(&mut pointer, name);
                leaves(value, &pointer, found);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                leaves(value, &format!("{pointer}/{place}"), found);
            }
        }
        _ => found.push(pointer.to_owned()),
    }
}

fn another(value: &Value) -> Value {
    match value {
        Value::Bool(value) => Value::from(!value),
        Value::Number(number) => Value::from(number.as_i64().unwrap() ^ 1),
        Value::String(text) => Value::from(format!("{text}x")),
        _ => unreachable!("leaves are scalars"),
    }
}

proptest! {
    #[test]
    fn an_applied_manifest_is_equal_and_one_with_any_other_leaf_is_not(spec in body(), pick in any::<prop::sample::Index>()) {
        let manifest = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "labels": {"l": "v"}},
            "spec": {"of": spec}});
        let mut fields = fields_of(&manifest);
        fields.as_object_mut().unwrap().retain(|name, _| name != "f:apiVersion" && name != "f:kind");
        fields["f:metadata"].as_object_mut().unwrap().remove("f:name");
        let mut live = manifest.clone();
        live["metadata"]["managedFields"] =
            json!([{"manager": "lockstep", "operation": "Apply", "fieldsV1": fields}]);
        live["metadata"]["uid"] = json!("u");
        live["status"] = json!({"ready": true});
        let equal = Comparison { is_ours: true, ..Comparison::default() };
        prop_assert_eq!(compare(&manifest, &live), equal.clone());
        prop_assert_eq!(decide(&manifest, &live, &[]), Next::Equal);

        let mut pointers = Vec::new();
        leaves(&manifest["spec"], "/spec", &mut pointers);
        let pointer = &pointers[pick.index(pointers.len())];
        let mut changed = manifest.clone();
        let leaf = changed.pointer_mut(pointer).unwrap();
        *leaf = another(leaf);
prop_assert_ne!(&compare(&changed, &live), &equal, "{}", pointer);

        let (above, name) = pointer.rsplit_once('/').unwrap();
        let mut without = manifest.clone();
        match without.pointer_mut(above).unwrap() {
            Value::Object(map) => drop(map.remove(&name.replace("~1", "/").replace("~0", "~"))),
            Value::Array(items) => drop(items.remove(name.parse().unwrap())),
            _ => unreachable!("a leaf is in something"),
        }
        prop_assert_ne!(compare(&without, &live), equal, "without {}", pointer);
    }
}
