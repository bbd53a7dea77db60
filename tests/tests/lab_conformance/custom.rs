//! Custom objects: validation by every keyword, pruning and defaults.

use serde_json::{Value, json};

use crate::objects::{check, pair, plain, widget};
use crate::target::{Target, cases};
use crate::wire::Answer;

cases!("custom objects: validation, pruning, defaults", controllers: false;
    a_wrong_type_is_invalid,
    a_text_has_a_length_a_pattern_and_values,
    a_number_has_limits_and_a_step,
    a_list_has_limits,
    an_object_has_limits_and_required_fields,
    formats_are_checked,
    an_unknown_format_is_ignored,
    integers_have_a_width,
    one_of_needs_exactly_one,
    any_of_needs_at_least_one,
    all_of_needs_all_and_not_forbids,
    a_set_and_a_keyed_list_have_no_repetitions,
    int_or_string_takes_both_and_nothing_else,
    an_embedded_object_needs_a_kind,
    null_is_dropped_unless_nullable_and_refused_in_lists,
    several_errors_are_named_at_once,
    a_rule_refuses_what_it_does_not_hold_for,
    a_transition_rule_refuses_a_change,
    unknown_fields_are_pruned,
    unknown_fields_stay_where_they_are_preserved,
    unknown_fields_of_the_metadata_are_pruned,
    defaults_are_filled_in_where_the_parent_is,
    a_default_replaces_a_null_that_is_not_allowed,
    defaults_inside_list_items_are_filled_in,
    numbers_keep_their_kind,
    strict_validation_names_every_unknown_field,
    versions_without_conversion_change_only_their_name,
    a_kind_without_status_subresource_takes_its_status,
    an_object_without_spec_is_an_object,
    wrong_metadata_of_a_custom_object_is_invalid,
);

/// One object per value, each must be judged alone.
async fn judge(t: &Target, field: &str, values: &[Value]) {
    for (number, value) in values.iter().enumerate() {
        let body = check(&format!("{}-{number}", field.to_lowercase()), json!({field: value}));
        t.post("checks", body).await;
    }
}

async fn a_wrong_type_is_invalid(t: &Target) {
    judge(t, "string", &[json!("x"), json!(1), json!(true), json!({}), json!([])]).await;
    judge(t, "integer", &[json!(1), json!("1"), json!(1.5), json!(1.0)]).await;
    judge(t, "number", &[json!(1), json!(1.5), json!("1")]).await;
    judge(t, "boolean", &[json!(true), json!("true"), json!(0)]).await;
    judge(t, "object", &[json!({}), json!("x"), json!([])]).await;
    judge(t, "array", &[json!([]), json!({}), json!("x"), json!(["a", 1])]).await;
}

async fn a_text_has_a_length_a_pattern_and_values(t: &Target) {
    judge(t, "minLength", &[json!("abc"), json!("ab"), json!("äöü")]).await;
    judge(t, "maxLength", &[json!("abc"), json!("abcd"), json!("äöü")]).await;
    judge(t, "pattern", &[json!("aa"), json!("ab")]).await;
    judge(t, "enum", &[json!("a"), json!("c")]).await;
}

async fn a_number_has_limits_and_a_step(t: &Target) {
    judge(t, "minimum", &[json!(3), json!(2.5)]).await;
    judge(t, "maximum", &[json!(3), json!(3.5)]).await;
    judge(t, "exclusiveMinimum", &[json!(3), json!(4)]).await;
    judge(t, "exclusiveMaximum", &[json!(3), json!(2)]).await;
    judge(t, "multipleOf", &[json!(9), json!(10)]).await;
}

async fn a_list_has_limits(t: &Target) {
    judge(t, "minItems", &[json!(["a", "b"]), json!(["a"])]).await;
    judge(t, "maxItems", &[json!(["a", "b"]), json!(["a", "b", "c"])]).await;
}

async fn an_object_has_limits_and_required_fields(t: &Target) {
    judge(t, "minProperties", &[json!({"a": "1", "b": "2"}), json!({"a": "1"})]).await;
    judge(t, "maxProperties", &[json!({"a": "1", "b": "2"}), json!({"a": "1", "b": "2", "c": "3"})]).await;
    judge(t, "required", &[json!({"a": "1", "b": "2"}), json!({"a": "1"}), json!({})]).await;
}

async fn formats_are_checked(t: &Target) {
    for (field, good, bad) in [
        ("dateTime", "2026-01-02T03:04:05Z", "yesterday"),
        ("date", "2026-01-02", "2026-13-02"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "fe80::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/99"),
        ("uuid", "0a1b2c3d-0000-4000-8000-000000000001", "0a1b"),
        ("email", "a@example.com", "a"),
        ("uri", "https://example.com/x", "not a uri"),
        ("hostname", "a.example.com", "a_b!"),
        ("byte", "eA==", "%%"),
        ("duration", "1h30m", "long"),
    ] {
        judge(t, field, &[json!(good), json!(bad)]).await;
    }
}

async fn an_unknown_format_is_ignored(t: &Target) {
    judge(t, "unknownFormat", &[json!("anything")]).await;
}

async fn integers_have_a_width(t: &Target) {
    judge(t, "int32", &[json!(2_147_483_647), json!(2_147_483_648_i64)]).await;
    judge(t, "int64", &[json!(9_007_199_254_740_993_i64), json!(i64::MAX)]).await;
}

async fn one_of_needs_exactly_one(t: &Target) {
    judge(t, "oneOf", &[json!({"a": "1"}), json!({}), json!({"a": "1", "b": "2"})]).await;
}

async fn any_of_needs_at_least_one(t: &Target) {
    judge(t, "anyOf", &[json!({"a": "1", "b": "2"}), json!({})]).await;
}

async fn all_of_needs_all_and_not_forbids(t: &Target) {
    judge(t, "allOf", &[json!("abc"), json!("a"), json!("abcde")]).await;
    judge(t, "not", &[json!("yes"), json!("no")]).await;
}

async fn a_set_and_a_keyed_list_have_no_repetitions(t: &Target) {
    judge(t, "set", &[json!(["a", "b"]), json!(["a", "b", "a"])]).await;
    judge(
        t,
        "map",
        &[json!([{"name": "a"}, {"name": "b"}]), json!([{"name": "a"}, {"name": "a"}]), json!([{}])],
    )
    .await;
}

async fn int_or_string_takes_both_and_nothing_else(t: &Target) {
    judge(t, "either", &[json!(5), json!("5%"), json!(1.5), json!(true), json!({})]).await;
}

async fn an_embedded_object_needs_a_kind(t: &Target) {
    let whole = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x", "labels": {"a": "b"}, "odd": 1},
        "spec": {"a": "x", "odd": 1}, "odd": 1});
    judge(
        t,
        "template",
        &[whole, json!({}), json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "A B"}})],
    )
    .await;
}

async fn null_is_dropped_unless_nullable_and_refused_in_lists(t: &Target) {
    judge(t, "nullable", &[Value::Null, json!("x")]).await;
    judge(t, "string", &[Value::Null]).await;
    judge(t, "object", &[Value::Null, json!({"a": null})]).await;
    judge(t, "array", &[json!([null]), Value::Null]).await;
}

/// The real server names the errors of several properties in a random order, in its message too.
async fn several_errors_are_named_at_once(t: &Target) {
    let sorted = |answer: &Answer| {
        let mut causes: Vec<String> =
            answer.body["details"]["causes"].as_array().into_iter().flatten().map(Value::to_string).collect();
        causes.sort();
        json!({"code": answer.code, "reason": answer.body["reason"], "causes": causes})
    };
    let spec =
        json!({"string": 1, "minimum": 1, "enum": "z", "required": {}, "array": [1, 2], "maxLength": "abcd"});
    t.note("created", sorted(&t.post_quiet("checks", check("a", spec.clone())).await));
    let fits_its_types = json!({"minimum": 1, "enum": "z", "required": {}});
    t.note("applied", sorted(&t.apply_quiet("one", "checks/a", check("a", fits_its_types)).await));
    t.given("checks", check("b", json!({}))).await;
    t.note("patched", sorted(&t.merge_quiet("checks/b", json!({"spec": spec})).await));
}

async fn a_rule_refuses_what_it_does_not_hold_for(t: &Target) {
    judge(t, "ranged", &[json!({"low": 1, "high": 2}), json!({"low": 3, "high": 2})]).await;
}

async fn a_transition_rule_refuses_a_change(t: &Target) {
    t.given("checks", check("a", json!({"immutable": "x"}))).await;
    t.merge("checks/a", json!({"spec": {"immutable": "y"}})).await;
    t.merge("checks/a", json!({"spec": {"immutable": null}})).await;
    t.merge("checks/a", json!({"spec": {"immutable": "y"}})).await;
}

async fn unknown_fields_are_pruned(t: &Target) {
    let mut body = widget(
        "a",
        json!({"size": 1, "odd": {"x": 1}, "bare": {"x": 1}, "nested": {"deep": {"odd": 1}},
        "ports": [{"port": 1, "odd": true}], "conf": {"a": "1", "odd": "2"}}),
    );
    body["odd"] = json!(1);
    t.post("widgets", body).await;
}

async fn unknown_fields_stay_where_they_are_preserved(t: &Target) {
    let free = json!({"x": {"y": [1, {"z": null}]}, "e": {}, "l": []});
    t.post(
        "widgets",
        widget("a", json!({"free": free, "template": {"apiVersion": "v1", "kind": "T", "any": [1]}})),
    )
    .await;
}

async fn unknown_fields_of_the_metadata_are_pruned(t: &Target) {
    let mut body = widget("a", json!({}));
    body["metadata"]["odd"] = json!({"x": 1});
    body["metadata"]["clusterName"] = json!("x");
    t.post("widgets", body).await;
}

async fn defaults_are_filled_in_where_the_parent_is(t: &Target) {
    t.post("widgets", widget("a", json!({}))).await;
    t.post("widgets", widget("b", json!({"nested": {}}))).await;
    t.post(
        "widgets",
        widget("c", json!({"nested": {"deep": {}}, "defaulted": {"level": 1}, "color": "red"})),
    )
    .await;
    t.post("widgets", json!({"apiVersion": "{shared}/v1", "kind": "Widget", "metadata": {"name": "d"}}))
        .await;
}

async fn a_default_replaces_a_null_that_is_not_allowed(t: &Target) {
    t.post("widgets", widget("a", json!({"color": null, "maybe": null, "defaulted": null}))).await;
    t.post("widgets", widget("b", json!({"text": null}))).await;
}

async fn defaults_inside_list_items_are_filled_in(t: &Target) {
    t.post(
        "widgets",
        widget(
            "a",
            json!({"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}],
        "stages": [{"name": "x"}, {"wait": 9}, {}]}),
        ),
    )
    .await;
}

async fn numbers_keep_their_kind(t: &Target) {
    t.post("widgets", widget("a", json!({"ratio": 1.0, "size": 9_007_199_254_740_993_i64}))).await;
    t.post(
        "widgets",
        widget("b", json!({"ratio": 1.5e10, "free": {"f": 1.0, "g": 0.1, "h": 1e21, "i": -0.0}})),
    )
    .await;
    // Where the scale looks it has to fit into 32 bits.
    t.post("widgets", widget("c", json!({"replicas": 2_147_483_648_i64}))).await;
}

async fn strict_validation_names_every_unknown_field(t: &Target) {
    let body = widget("a", json!({"odd": 1, "nested": {"odd": 2}, "ports": [{"port": 1, "odd": 3}]}));
    t.post("widgets?fieldValidation=Strict", body.clone()).await;
    t.post("widgets?fieldValidation=Warn", body.clone()).await;
    t.merge_refused("widgets/a?fieldValidation=Strict", json!({"spec": {"odd": 1}})).await;
    t.merge("widgets/a?fieldValidation=Ignore", json!({"spec": {"odd": 1}})).await;
}

async fn versions_without_conversion_change_only_their_name(t: &Target) {
    t.post("pairs", pair("v1", "a", json!({"a": "x", "v2": "pruned"}))).await;
    t.get("/apis/{shared}/v2/namespaces/{id}/pairs/a").await;
    t.post("/apis/{shared}/v2/namespaces/{id}/pairs", pair("v2", "b", json!({"a": "x", "v2": "kept"}))).await;
    t.get("pairs/b").await;
    t.get("/apis/{shared}/v2/namespaces/{id}/pairs").await;
    t.post("pairs", pair("v2", "c", json!({}))).await;
    t.apply("one", "/apis/{shared}/v2/namespaces/{id}/pairs/a", pair("v2", "a", json!({"a": "x"}))).await;
    t.apply("two", "pairs/a", pair("v1", "a", json!({"a": "y"}))).await;
}

async fn a_kind_without_status_subresource_takes_its_status(t: &Target) {
    let mut body = plain("a", json!({"a": "x"}));
    body["status"] = json!({"phase": "Here"});
    t.post("plains", body).await;
    t.merge("plains/a", json!({"status": {"phase": "There"}})).await;
    t.get("plains/a/status").await;
    t.get("plains/a/scale").await;
}

async fn an_object_without_spec_is_an_object(t: &Target) {
    t.post("plains", json!({"apiVersion": "{shared}/v1", "kind": "Plain", "metadata": {"name": "a"}})).await;
    t.post(
        "plains",
        json!({"apiVersion": "{shared}/v1", "kind": "Plain", "metadata": {"name": "b"}, "spec": null}),
    )
    .await;
    t.post("plains", json!({"apiVersion": "{shared}/v1", "kind": "Other", "metadata": {"name": "c"}})).await;
    t.post("plains", json!({"apiVersion": "{shared}/v9", "kind": "Plain", "metadata": {"name": "d"}})).await;
}

async fn wrong_metadata_of_a_custom_object_is_invalid(t: &Target) {
    let mut body = plain("a", json!({}));
    body["metadata"]["labels"] = json!({"a b": "c"});
    t.post("plains", body.clone()).await;
    body["metadata"]["labels"] = json!({"a": 5});
    t.post("plains", body.clone()).await;
    body["metadata"]["labels"] = Value::Null;
    body["metadata"]["finalizers"] = json!("x");
    t.post("plains", body).await;
}
