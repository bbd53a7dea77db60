//! Requests that are wrong in themselves, and the forms in which the server says so.

use serde_json::{Value, json};

use crate::objects::{config_map, deployment, pod, service, widget};
use crate::target::{Target, cases};
use crate::wire::Call;

cases!("errors", controllers: false;
    an_unknown_group_is_a_plain_text,
    an_unknown_version_or_resource_of_a_known_group_is_a_status,
    an_unknown_path_is_a_plain_text_and_a_last_slash_is_harmless,
    an_absent_object_is_named_with_its_group,
    broken_json_is_refused,
    a_body_that_is_no_object_is_refused,
    an_empty_body_is_refused,
    a_body_without_kind_is_taken_by_built_in_kinds_only,
    a_body_of_another_kind_is_refused,
    a_body_of_another_version_is_refused,
    a_body_with_another_name_is_refused,
    a_wrong_type_of_a_built_in_field_is_refused,
    a_body_of_three_megabytes_is_too_large,
    data_of_one_megabyte_is_too_long,
    an_object_too_large_for_the_store_is_refused,
    an_unknown_content_type_is_refused,
    an_unknown_patch_type_is_refused,
    an_unknown_accept_is_not_acceptable,
    yaml_is_read_and_written,
    a_method_that_is_not_there_is_not_allowed,
    an_unknown_query_is_ignored_but_export_is_refused,
    a_wrong_dry_run_is_refused,
    a_wrong_field_validation_is_refused,
    strict_field_validation_refuses_unknown_fields,
    warnings_name_unknown_fields,
    ignored_field_validation_says_nothing,
    repeated_fields_are_named,
    several_errors_of_a_built_in_kind_are_named_at_once,
    an_unsupported_value_names_what_is_supported,
    a_duplicate_value_is_named,
    a_missing_container_is_required,
    a_wrong_port_is_out_of_range,
    a_selector_that_does_not_match_its_template_is_invalid,
    two_ports_without_names_are_invalid,
    a_wrong_role_reference_is_invalid,
    a_taken_node_port_or_address_is_refused,
    delete_options_of_another_kind_are_refused,
    a_wrong_pretty_or_timeout_is_harmless_or_refused,
    a_deprecated_kind_warns,
);

async fn an_unknown_group_is_a_plain_text(t: &Target) {
    t.get("/apis/none.example.com/v1/things").await;
    t.get("/apis/none.example.com/v1").await;
    t.get("/apis/none.example.com").await;
    t.post("/apis/none.example.com/v1/namespaces/{id}/things", config_map("a", json!({}))).await;
    t.apply("one", "/apis/none.example.com/v1/namespaces/{id}/things/a", config_map("a", json!({}))).await;
}

async fn an_unknown_version_or_resource_of_a_known_group_is_a_status(t: &Target) {
    t.get("/apis/apps/v9/deployments").await;
    t.get("/apis/apps/v1/things").await;
    t.get("/apis/apps/v1/namespaces/{id}/things/a").await;
    t.get("/api/v9/pods").await;
    t.get("/api/v1/namespaces/{id}/things").await;
    t.apply("one", "/apis/apps/v1/namespaces/{id}/things/a", config_map("a", json!({}))).await;
}

async fn an_unknown_path_is_a_plain_text_and_a_last_slash_is_harmless(t: &Target) {
    t.get("/nowhere").await;
    t.get("/apis/apps/v1/namespaces/{id}/deployments/a/b/c/d").await;
    t.get("/api/v1/namespaces/{id}/configmaps/").await;
}

async fn an_absent_object_is_named_with_its_group(t: &Target) {
    t.get("configmaps/none").await;
    t.get("deployments/none").await;
    t.get("widgets/none").await;
    t.get("clusterroles/{id}").await;
    t.get("customresourcedefinitions/none.{group}").await;
}

async fn raw(t: &Target, label: &str, text: &str) {
    let call = Call::new("POST", t.path("configmaps"));
    t.send(label, call.bytes("application/json", text.as_bytes().to_vec())).await;
    let call = Call::new("POST", t.path("widgets"));
    t.send(&format!("{label}, custom"), call.bytes("application/json", text.as_bytes().to_vec())).await;
}

async fn broken_json_is_refused(t: &Target) {
    raw(t, "cut", "{\"apiVersion\": \"v1\", ").await;
    raw(t, "comma", "{\"a\": 1,}").await;
    raw(t, "more", "{} {}").await;
}

async fn a_body_that_is_no_object_is_refused(t: &Target) {
    raw(t, "list", "[]").await;
    raw(t, "text", "\"x\"").await;
    raw(t, "null", "null").await;
    raw(t, "number", "5").await;
}

async fn an_empty_body_is_refused(t: &Target) {
    raw(t, "nothing", "").await;
    let call = Call::new("PUT", t.path("configmaps/a"));
    t.send("nothing to put", call.bytes("application/json", Vec::new())).await;
}

async fn a_body_without_kind_is_taken_by_built_in_kinds_only(t: &Target) {
    t.post("configmaps", json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await;
    t.post("configmaps", json!({"apiVersion": "v1", "metadata": {"name": "b"}})).await;
    t.post("widgets", json!({"metadata": {"name": "a"}})).await;
}

async fn a_body_of_another_kind_is_refused(t: &Target) {
    t.post("configmaps", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})).await;
    t.post("configmaps", json!({"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "a"}})).await;
    t.post("deployments", config_map("a", json!({}))).await;
    t.post("widgets", config_map("a", json!({}))).await;
}

async fn a_body_of_another_version_is_refused(t: &Target) {
    let mut body = deployment("a");
    body["apiVersion"] = json!("apps/v1beta1");
    t.post("deployments", body.clone()).await;
    body["apiVersion"] = json!("v1");
    t.post("deployments", body.clone()).await;
    body["apiVersion"] = json!("a/b/c");
    t.post("deployments", body).await;
    t.post("widgets", json!({"apiVersion": "{shared}/v9", "kind": "Widget", "metadata": {"name": "a"}}))
        .await;
}

async fn a_body_with_another_name_is_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    t.put("configmaps/a", config_map("b", json!({}))).await;
    t.put("configmaps/a", json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}})).await;
    t.given("widgets", widget("a", json!({}))).await;
    t.put("widgets/a", widget("b", json!({}))).await;
}

async fn a_wrong_type_of_a_built_in_field_is_refused(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["replicas"] = json!("three");
    t.post("deployments", body.clone()).await;
    body["spec"]["replicas"] = json!(1.5);
    t.post("deployments", body.clone()).await;
    body["spec"]["replicas"] = json!(1);
    body["spec"]["template"]["spec"]["containers"] = json!("x");
    t.post("deployments", body).await;
    t.post("configmaps", config_map("a", json!({"k": 5}))).await;
    t.post("configmaps", config_map("a", json!(["k"]))).await;
    t.post("configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": "x"})).await;
    t.post("configmaps", json!({"apiVersion": 1, "kind": "ConfigMap", "metadata": {"name": "a"}})).await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"},
        "spec": {"renewTime": "soon"}});
    t.post("leases", lease).await;
}

async fn a_body_of_three_megabytes_is_too_large(t: &Target) {
    t.post("configmaps", config_map("a", json!({"k": "x".repeat(3_200_000)}))).await;
    t.apply("one", "configmaps/a", config_map("a", json!({"k": "x".repeat(3_200_000)}))).await;
}

async fn data_of_one_megabyte_is_too_long(t: &Target) {
    t.post("configmaps", config_map("a", json!({"k": "x".repeat(1_048_577)}))).await;
    t.post("configmaps", config_map("b", json!({"k".repeat(254): "x"}))).await;
    t.post("configmaps", config_map("c", json!({"..": "x"}))).await;
}

async fn an_object_too_large_for_the_store_is_refused(t: &Target) {
    t.post("widgets", widget("a", json!({"text": "x".repeat(1_700_000)}))).await;
}

async fn an_unknown_content_type_is_refused(t: &Target) {
    for kind in ["text/plain", "application/xml", "", "application/json; charset=utf-8"] {
        let body = config_map("a", json!({})).to_string().into_bytes();
        let call = Call::new("POST", t.path("configmaps?dryRun=All"));
        t.send(&format!("content type {kind:?}"), call.bytes(kind, body)).await;
        let body = t.fill(&widget("a", json!({})).to_string()).into_bytes();
        let call = Call::new("POST", t.path("widgets?dryRun=All"));
        t.send(&format!("custom, content type {kind:?}"), call.bytes(kind, body)).await;
    }
}

async fn an_unknown_patch_type_is_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    t.patch("configmaps/a", "application/json", json!({})).await;
    t.patch("configmaps/a", "text/plain", json!({})).await;
    t.given("widgets", widget("a", json!({}))).await;
    t.patch("widgets/a", "application/strategic-merge-patch+json", json!({})).await;
}

async fn an_unknown_accept_is_not_acceptable(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    t.get_as("configmaps/a", "text/html").await;
    t.get_as("configmaps/a", "application/json;as=Nothing;g=meta.k8s.io;v=v1").await;
    t.get_as("configmaps/a", "text/html, */*").await;
    t.get_as("configmaps/a", "").await;
    t.get_as("widgets", "image/png").await;
}

async fn yaml_is_read_and_written(t: &Target) {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n";
    let call = Call::new("POST", t.path("configmaps"));
    let made = t.send("yaml", call.bytes("application/yaml", text.into())).await;
    t.note("code", made.code);
    let read = Call::new("GET", t.path("configmaps/a")).accept("application/yaml").send(&t.client).await;
    t.note("content type", read.content_type.clone());
    t.note("first line", read.body.as_str().and_then(|text| text.lines().next()).unwrap_or_default());
}

async fn a_method_that_is_not_there_is_not_allowed(t: &Target) {
    t.put("configmaps", config_map("a", json!({}))).await;
    t.merge("configmaps", json!({})).await;
    t.post("configmaps/a", config_map("a", json!({}))).await;
    t.delete("namespaces").await;
    t.post("deployments/a/scale", json!({})).await;
    t.delete("deployments/a/status").await;
    t.put("widgets", widget("a", json!({}))).await;
    t.post("widgets/a", widget("a", json!({}))).await;
}

async fn an_unknown_query_is_ignored_but_export_is_refused(t: &Target) {
    t.post("configmaps?colour=red&fieldManager=one", config_map("a", json!({}))).await;
    t.get("configmaps/a?colour=red&export=true").await;
}

async fn a_wrong_dry_run_is_refused(t: &Target) {
    t.post("configmaps?dryRun=Some", config_map("a", json!({}))).await;
    t.post("configmaps?dryRun=All&dryRun=Some", config_map("a", json!({}))).await;
    t.given("configmaps", config_map("b", json!({}))).await;
    t.merge("configmaps/b?dryRun=x", json!({})).await;
    t.put("configmaps/b?dryRun=x", config_map("b", json!({}))).await;
    t.delete("configmaps/b?dryRun=x").await;
    t.post("widgets?dryRun=x", widget("a", json!({}))).await;
}

async fn a_wrong_field_validation_is_refused(t: &Target) {
    t.post("configmaps?fieldValidation=Loose", config_map("a", json!({}))).await;
    t.given("configmaps", config_map("b", json!({}))).await;
    t.merge("configmaps/b?fieldValidation=Loose", json!({})).await;
    t.put("configmaps/b?fieldValidation=Loose", config_map("b", json!({}))).await;
}

fn unknown() -> Value {
    let mut body = deployment("a");
    body["spec"]["template"]["spec"]["containers"][0]["odd"] = json!(1);
    body["spec"]["backOffLimit"] = json!(3);
    body["metadata"]["odd"] = json!("x");
    body["odd"] = json!({"x": 1});
    body
}

async fn strict_field_validation_refuses_unknown_fields(t: &Target) {
    t.post("deployments?fieldValidation=Strict", unknown()).await;
    t.given("deployments", deployment("a")).await;
    t.put("deployments/a?fieldValidation=Strict", unknown()).await;
    t.merge_refused("deployments/a?fieldValidation=Strict", json!({"spec": {"odd": 1}})).await;
    t.post("deployments?fieldValidation=Strict", deployment("b")).await;
}

async fn warnings_name_unknown_fields(t: &Target) {
    t.post("deployments?fieldValidation=Warn", unknown()).await;
    t.put("deployments/a?fieldValidation=Warn", unknown()).await;
    t.merge("deployments/a?fieldValidation=Warn", json!({"spec": {"odd": 1}})).await;
    // Without the option it is the same.
    t.put("deployments/a", unknown()).await;
}

async fn ignored_field_validation_says_nothing(t: &Target) {
    t.post("deployments?fieldValidation=Ignore", unknown()).await;
    t.put("deployments/a?fieldValidation=Ignore", unknown()).await;
}

async fn repeated_fields_are_named(t: &Target) {
    let text = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\", \"name\": \"a\"}, \
         \"data\": {\"k\": \"v\", \"k\": \"w\"}}";
    for mode in ["Strict", "Warn", "Ignore"] {
        let call = Call::new("POST", t.path(&format!("configmaps?dryRun=All&fieldValidation={mode}")));
        t.send(mode, call.bytes("application/json", text.into())).await;
    }
}

async fn several_errors_of_a_built_in_kind_are_named_at_once(t: &Target) {
    let mut body = deployment("A_B");
    body["spec"]["replicas"] = json!(-1);
    body["spec"]["minReadySeconds"] = json!(-5);
    body["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    body["spec"]["template"]["spec"]["containers"][0]["image"] = json!("");
    body["spec"]["template"]["spec"]["containers"][0]["name"] = json!("C");
    t.post("deployments", body).await;
}

async fn an_unsupported_value_names_what_is_supported(t: &Target) {
    let mut body = service("a");
    body["spec"]["type"] = json!("Tunnel");
    t.post("services", body).await;
    let mut body = pod("a");
    body["spec"]["containers"][0]["imagePullPolicy"] = json!("Sometimes");
    t.post("pods", body.clone()).await;
    body["spec"]["containers"][0]["imagePullPolicy"] = json!("Always");
    body["spec"]["dnsPolicy"] = json!("None");
    t.post("pods", body).await;
}

async fn a_duplicate_value_is_named(t: &Target) {
    let mut body = pod("a");
    body["spec"]["containers"] = json!([{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]);
    body["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]);
    t.post("pods", body).await;
    let mut body = pod("b");
    body["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "none", "mountPath": "/x"}]);
    t.post("pods", body).await;
}

async fn a_missing_container_is_required(t: &Target) {
    t.post("pods", json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})).await;
    t.post(
        "pods",
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"containers": [{}]}}),
    )
    .await;
    t.post("deployments", json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}))
        .await;
}

async fn a_wrong_port_is_out_of_range(t: &Target) {
    let mut body = service("a");
    body["spec"]["ports"] = json!([{"port": 0}, {"port": 70_000, "name": "b", "targetPort": "UPPER"}]);
    t.post("services", body).await;
    let mut body = pod("a");
    body["spec"]["containers"][0]["ports"] =
        json!([{"containerPort": 0}, {"containerPort": 80, "protocol": "tcp"}]);
    t.post("pods", body).await;
}

async fn a_selector_that_does_not_match_its_template_is_invalid(t: &Target) {
    let mut body = deployment("a");
    body["spec"]["selector"]["matchLabels"] = json!({"app": "other"});
    t.post("deployments", body.clone()).await;
    body["spec"]["selector"] = json!({});
    t.post("deployments", body).await;
}

async fn two_ports_without_names_are_invalid(t: &Target) {
    let mut body = service("a");
    body["spec"]["ports"] = json!([{"port": 80}, {"port": 81}]);
    t.post("services", body.clone()).await;
    body["spec"]["ports"] = json!([]);
    t.post("services", body).await;
}

async fn a_wrong_role_reference_is_invalid(t: &Target) {
    let binding = |reference: Value, subject: Value| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "a"},
            "roleRef": reference, "subjects": [subject]})
    };
    let group = "rbac.authorization.k8s.io";
    t.post(
        "rolebindings",
        binding(
            json!({"apiGroup": group, "kind": "Thing", "name": "x"}),
            json!({"kind": "User", "name": "u"}),
        ),
    )
    .await;
    t.post(
        "rolebindings",
        binding(json!({"apiGroup": group, "kind": "Role", "name": ""}), json!({"kind": "Robot", "name": ""})),
    )
    .await;
}

async fn a_taken_node_port_or_address_is_refused(t: &Target) {
    let made = t.given("services", service("a")).await;
    let mut body = service("b");
    body["spec"]["clusterIP"] = made.body["spec"]["clusterIP"].clone();
    let refused = t.post_quiet("services", body.clone()).await;
    t.note(
        "taken",
        json!([refused.code, refused.body["reason"], refused.body["details"]["causes"][0]["field"]]),
    );
    body["spec"]["clusterIP"] = json!("10.1.2.3");
    t.post("services", body.clone()).await;
    body["spec"]["clusterIP"] = json!("nonsense");
    t.post("services", body.clone()).await;
    body["spec"]["clusterIP"] = json!("");
    body["spec"]["type"] = json!("NodePort");
    body["spec"]["ports"] = json!([{"port": 80, "nodePort": 5}]);
    t.post("services", body).await;
}

async fn delete_options_of_another_kind_are_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    let call = Call::new("DELETE", t.path("configmaps/a"));
    t.send("another kind", call.body(&config_map("a", json!({})))).await;
    let call = Call::new("DELETE", t.path("configmaps/a"));
    t.send("broken", call.bytes("application/json", b"{".to_vec())).await;
    let call = Call::new("DELETE", t.path("configmaps/a"));
    t.send("empty object", call.body(&json!({}))).await;
}

async fn a_wrong_pretty_or_timeout_is_harmless_or_refused(t: &Target) {
    t.given("configmaps", config_map("a", json!({}))).await;
    t.get("configmaps/a?pretty=perhaps").await;
    t.get("configmaps/a?timeout=perhaps").await;
    t.get("configmaps?labelSelector=none&timeout=1s").await;
}

async fn a_deprecated_kind_warns(t: &Target) {
    let body = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "a"}});
    t.post("/api/v1/namespaces/{id}/endpoints", body).await;
    t.get("/api/v1/componentstatuses/none").await;
}
