//! Custom resource definitions: validation of themselves and the life of their kinds.

use serde_json::{Value, json};

use crate::objects::{definition, schema};
use crate::target::{Target, cases};
use crate::wire::Answer;

cases!("custom resource definitions", controllers: false;
    a_definition_becomes_established,
    a_definition_is_completed_with_defaults,
    a_definition_with_another_name_is_invalid,
    a_definition_without_versions_is_invalid,
    a_definition_without_storage_version_is_invalid,
    a_definition_with_two_storage_versions_is_invalid,
    a_definition_without_schema_is_invalid,
    a_schema_without_types_is_not_structural,
    a_schema_with_forbidden_keywords_is_invalid,
    a_keyed_list_without_keys_is_invalid,
    a_default_that_does_not_fit_is_invalid,
    a_definition_of_a_protected_group_needs_approval,
    names_that_another_definition_has_are_not_accepted,
    the_scope_of_an_established_definition_is_immutable,
    a_stored_version_cannot_be_removed,
    a_new_version_is_served_after_an_update,
    an_unserved_version_is_not_found,
    the_kind_vanishes_with_its_definition,
    a_held_custom_object_keeps_its_definition_terminating,
    a_cluster_wide_custom_kind_has_no_namespace,
    an_object_sent_to_an_undefined_kind_is_not_found,
    the_status_of_a_definition_is_not_taken_from_a_create,
    a_definition_applied_twice_writes_once,
    a_removed_field_is_pruned_on_the_next_read,
    printer_columns_are_stored,
);

fn names(kind: &str) -> Value {
    definition("{group}", kind, schema(json!({"a": {"type": "string"}})))
}

fn custom(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "{group}/v1", "kind": kind, "metadata": {"name": name}, "spec": {"a": "x"}})
}

fn established(answer: &Answer) -> bool {
    let conditions = answer.body["status"]["conditions"].as_array();
    conditions
        .is_some_and(|all| all.iter().any(|one| one["type"] == "Established" && one["status"] == "True"))
}

async fn a_definition_becomes_established(t: &Target) {
    t.given("customresourcedefinitions", names("Gear")).await;
    t.eventually("customresourcedefinitions/gears.{group}", established).await;
    t.settled("/apis/{group}/v1/gears", |answer| answer.code == 200).await;
    t.post("/apis/{group}/v1/namespaces/{id}/gears", custom("Gear", "a")).await;
    t.get("/apis/{group}/v1/gears").await;
}

async fn a_definition_is_completed_with_defaults(t: &Target) {
    let mut body = names("Gear");
    body["spec"]["names"]["shortNames"] = json!(["gr"]);
    body["spec"]["names"]["categories"] = json!(["all"]);
    body["spec"]["preserveUnknownFields"] = json!(false);
    t.post("customresourcedefinitions", body).await;
}

async fn refused(t: &Target, change: impl Fn(&mut Value)) {
    let mut body = names("Gear");
    change(&mut body);
    t.post("customresourcedefinitions?dryRun=All", body).await;
}

async fn a_definition_with_another_name_is_invalid(t: &Target) {
    refused(t, |body| body["metadata"]["name"] = json!("gear.{group}")).await;
    refused(t, |body| body["spec"]["group"] = json!("nodots")).await;
    refused(t, |body| body["spec"]["names"]["plural"] = json!("Gears")).await;
    refused(t, |body| body["spec"]["names"]["kind"] = json!("")).await;
    refused(t, |body| body["spec"]["scope"] = json!("Everywhere")).await;
}

async fn a_definition_without_versions_is_invalid(t: &Target) {
    refused(t, |body| body["spec"]["versions"] = json!([])).await;
    refused(t, |body| body["spec"] = json!({})).await;
    refused(t, |body| body["spec"]["versions"][0]["name"] = json!("One")).await;
}

async fn a_definition_without_storage_version_is_invalid(t: &Target) {
    refused(t, |body| body["spec"]["versions"][0]["storage"] = json!(false)).await;
}

async fn a_definition_with_two_storage_versions_is_invalid(t: &Target) {
    refused(t, |body| {
        let mut second = body["spec"]["versions"][0].clone();
        second["name"] = json!("v2");
        body["spec"]["versions"] = json!([body["spec"]["versions"][0], second]);
    })
    .await;
    refused(t, |body| {
        let first = body["spec"]["versions"][0].clone();
        body["spec"]["versions"] = json!([first, first]);
    })
    .await;
}

async fn a_definition_without_schema_is_invalid(t: &Target) {
    refused(t, |body| body["spec"]["versions"][0]["schema"] = Value::Null).await;
    refused(t, |body| body["spec"]["versions"][0]["schema"] = json!({})).await;
}

async fn with_schema(t: &Target, schema: Value) {
    refused(t, |body| body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema.clone()).await;
}

async fn a_schema_without_types_is_not_structural(t: &Target) {
    with_schema(t, json!({"properties": {"spec": {"type": "object"}}})).await;
    with_schema(t, json!({"type": "object", "properties": {"spec": {}}})).await;
    with_schema(t, json!({"type": "object", "properties": {"spec": {"type": "array"}}})).await;
    with_schema(t, json!({"type": "string"})).await;
    with_schema(t, json!({"type": "object", "properties": {"spec": {"type": "sphere"}}})).await;
    with_schema(
        t,
        json!({"type": "object", "properties": {"spec": {"type": "object",
        "anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}}]}}}),
    )
    .await;
}

async fn a_schema_with_forbidden_keywords_is_invalid(t: &Target) {
    let spec = |value: Value| json!({"type": "object", "properties": {"spec": value}});
    with_schema(t, spec(json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}))).await;
    with_schema(t, spec(json!({"$ref": "#/x"}))).await;
    with_schema(t, spec(json!({"type": "object", "additionalProperties": false}))).await;
    with_schema(
        t,
        spec(json!({"type": "object", "properties": {"a": {"type": "string"}},
        "additionalProperties": {"type": "string"}})),
    )
    .await;
    with_schema(t, spec(json!({"type": "string", "pattern": "("}))).await;
    with_schema(
        t,
        json!({"type": "object", "properties": {"metadata": {"type": "object",
        "properties": {"labels": {"type": "object"}}}}}),
    )
    .await;
    with_schema(t, spec(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}))).await;
}

async fn a_keyed_list_without_keys_is_invalid(t: &Target) {
    let list = |keys: Value, items: Value| {
        json!({"type": "object", "properties": {"spec": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": keys, "items": items}}})
    };
    let item = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
    with_schema(t, list(json!([]), item.clone())).await;
    with_schema(t, list(json!(["b"]), item)).await;
    with_schema(t, list(json!(["a"]), json!({"type": "object", "properties": {"a": {"type": "string"}}})))
        .await;
    with_schema(t, list(json!(["a"]), json!({"type": "string"}))).await;
    with_schema(
        t,
        json!({"type": "object", "properties": {"spec": {"type": "array",
        "x-kubernetes-list-type": "heap", "items": {"type": "string"}}}}),
    )
    .await;
}

async fn a_default_that_does_not_fit_is_invalid(t: &Target) {
    let spec = |value: Value| json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": value}}}});
    with_schema(t, spec(json!({"type": "string", "default": 5}))).await;
    with_schema(t, spec(json!({"type": "string", "enum": ["x"], "default": "y"}))).await;
    with_schema(t, spec(json!({"type": "object", "properties": {}, "default": {"b": 1}}))).await;
}

async fn a_definition_of_a_protected_group_needs_approval(t: &Target) {
    let mut body = definition("{id}.k8s.io", "Gear", schema(json!({})));
    t.post("customresourcedefinitions?dryRun=All", body.clone()).await;
    body["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, test"});
    t.post("customresourcedefinitions?dryRun=All", body).await;
}

async fn names_that_another_definition_has_are_not_accepted(t: &Target) {
    t.define(names("Gear")).await;
    let mut rival = names("Gear");
    rival["metadata"]["name"] = json!("cogs.{group}");
    rival["spec"]["names"] =
        json!({"plural": "cogs", "kind": "Gear", "singular": "gear", "listKind": "GearList"});
    t.given("customresourcedefinitions", rival).await;
    let conflict = |answer: &Answer| {
        answer.body["status"]["conditions"].as_array().is_some_and(|all| {
            all.iter().any(|one| one["type"] == "NamesAccepted" && one["status"] == "False")
        })
    };
    t.eventually("customresourcedefinitions/cogs.{group}", conflict).await;
    t.get("/apis/{group}/v1/cogs").await;
}

async fn the_scope_of_an_established_definition_is_immutable(t: &Target) {
    t.define(names("Gear")).await;
    t.merge("customresourcedefinitions/gears.{group}", json!({"spec": {"scope": "Cluster"}})).await;
    t.merge("customresourcedefinitions/gears.{group}", json!({"spec": {"group": "other.example.com"}})).await;
    t.merge("customresourcedefinitions/gears.{group}", json!({"spec": {"names": {"kind": "Cog"}}})).await;
}

fn versions(names: &[(&str, bool, bool)]) -> Value {
    let one = |(name, served, storage): &(&str, bool, bool)| {
        json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema":
            schema(json!({"a": {"type": "string"}}))}})
    };
    json!(names.iter().map(one).collect::<Vec<_>>())
}

async fn a_stored_version_cannot_be_removed(t: &Target) {
    t.define(names("Gear")).await;
    let next = json!({"spec": {"versions": versions(&[("v2", true, true)])}});
    t.merge("customresourcedefinitions/gears.{group}", next).await;
    let both = json!({"spec": {"versions": versions(&[("v1", true, false), ("v2", true, true)])}});
    let answer = t.merge_quiet("customresourcedefinitions/gears.{group}", both).await;
    t.note("both", json!([answer.code, answer.body["status"]["storedVersions"]]));
    t.merge_quiet(
        "customresourcedefinitions/gears.{group}/status",
        json!({"status": {"storedVersions": ["v2"]}}),
    )
    .await;
    let next = json!({"spec": {"versions": versions(&[("v2", true, true)])}});
    let answer = t.merge_quiet("customresourcedefinitions/gears.{group}", next).await;
    t.note("alone", json!([answer.code, answer.body["status"]["storedVersions"]]));
}

async fn a_new_version_is_served_after_an_update(t: &Target) {
    t.define(names("Gear")).await;
    t.given("/apis/{group}/v1/namespaces/{id}/gears", custom("Gear", "a")).await;
    let both = json!({"spec": {"versions": versions(&[("v1", true, true), ("v2", true, false)])}});
    t.merge_quiet("customresourcedefinitions/gears.{group}", both).await;
    t.eventually("/apis/{group}/v2/namespaces/{id}/gears/a", |answer| answer.code == 200).await;
}

async fn an_unserved_version_is_not_found(t: &Target) {
    t.get("/apis/{shared}/v1alpha1/namespaces/{id}/pairs").await;
    t.get("/apis/{shared}/v3/namespaces/{id}/pairs").await;
    t.get("/apis/{shared}/v1/namespaces/{id}/nothings").await;
}

async fn the_kind_vanishes_with_its_definition(t: &Target) {
    t.define(names("Gear")).await;
    t.given("/apis/{group}/v1/namespaces/{id}/gears", custom("Gear", "a")).await;
    t.delete_unrecorded("customresourcedefinitions/gears.{group}", json!({})).await;
    t.eventually("customresourcedefinitions/gears.{group}", |answer| answer.code == 404).await;
    t.eventually("/apis/{group}/v1/namespaces/{id}/gears", |answer| answer.code == 404).await;
    t.define(names("Gear")).await;
    // The real server answers 429 until the storage of a kind that came back is ready.
    t.settled("/apis/{group}/v1/namespaces/{id}/gears", |answer| answer.code == 200).await;
    t.get("/apis/{group}/v1/namespaces/{id}/gears").await;
}

async fn a_held_custom_object_keeps_its_definition_terminating(t: &Target) {
    t.define(names("Gear")).await;
    let mut held = custom("Gear", "held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    t.given("/apis/{group}/v1/namespaces/{id}/gears", held).await;
    t.delete_unrecorded("customresourcedefinitions/gears.{group}", json!({})).await;
    let deleting = |answer: &Answer| !answer.body["metadata"]["deletionTimestamp"].is_null();
    t.settled("/apis/{group}/v1/namespaces/{id}/gears/held", deleting).await;
    t.eventually_post("/apis/{group}/v1/namespaces/{id}/gears", custom("Gear", "new"), |answer| {
        answer.code != 201
    })
    .await;
    let crd = t.peek("customresourcedefinitions/gears.{group}").await;
    t.note("finalizers", crd.body["metadata"]["finalizers"].clone());
    t.merge("/apis/{group}/v1/namespaces/{id}/gears/held", json!({"metadata": {"finalizers": null}})).await;
    t.eventually("customresourcedefinitions/gears.{group}", |answer| answer.code == 404).await;
}

async fn a_cluster_wide_custom_kind_has_no_namespace(t: &Target) {
    let mut body = names("Gear");
    body["spec"]["scope"] = json!("Cluster");
    t.define(body).await;
    t.post("/apis/{group}/v1/gears", custom("Gear", "a")).await;
    let mut namespaced = custom("Gear", "b");
    namespaced["metadata"]["namespace"] = json!("{id}");
    t.post("/apis/{group}/v1/gears", namespaced).await;
    t.post("/apis/{group}/v1/namespaces/{id}/gears", custom("Gear", "c")).await;
    t.get("/apis/{group}/v1/namespaces/{id}/gears").await;
}

async fn an_object_sent_to_an_undefined_kind_is_not_found(t: &Target) {
    t.post("/apis/{group}/v1/namespaces/{id}/gears", custom("Gear", "a")).await;
    t.apply("one", "/apis/{group}/v1/namespaces/{id}/gears/a", custom("Gear", "a")).await;
}

async fn the_status_of_a_definition_is_not_taken_from_a_create(t: &Target) {
    let mut body = names("Gear");
    body["status"] =
        json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": [], "storedVersions": ["v9"]});
    t.post("customresourcedefinitions", body).await;
}

async fn a_definition_applied_twice_writes_once(t: &Target) {
    t.apply("one", "customresourcedefinitions/gears.{group}", names("Gear")).await;
    let one = t.settled("customresourcedefinitions/gears.{group}", established).await;
    let two = t.apply_quiet("one", "customresourcedefinitions/gears.{group}", names("Gear")).await;
    t.note("code", two.code);
    t.note("same generation", one.meta("generation") == two.meta("generation"));
}

async fn a_removed_field_is_pruned_on_the_next_read(t: &Target) {
    t.define(names("Gear")).await;
    t.given("/apis/{group}/v1/namespaces/{id}/gears", custom("Gear", "a")).await;
    let other = definition("{group}", "Gear", schema(json!({"b": {"type": "string", "default": "new"}})));
    t.merge_quiet("customresourcedefinitions/gears.{group}", json!({"spec": other["spec"]})).await;
    t.eventually("/apis/{group}/v1/namespaces/{id}/gears/a", |answer| answer.body["spec"]["b"] == "new")
        .await;
}

async fn printer_columns_are_stored(t: &Target) {
    let mut body = names("Gear");
    body["spec"]["versions"][0]["additionalPrinterColumns"] = json!([{"name": "A", "type": "string", "jsonPath": ".spec.a"}, {"name": "Age", "type": "date",
            "jsonPath": ".metadata.creationTimestamp", "priority": 1}]);
    t.post("customresourcedefinitions", body).await;
    refused(t, |body| {
        body["spec"]["versions"][0]["additionalPrinterColumns"] =
            json!([{"name": "", "type": "x", "jsonPath": "spec"}]);
    })
    .await;
}
