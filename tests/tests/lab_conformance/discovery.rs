//! What is served: groups, resources, versions, health.

use serde_json::{Value, json};

use crate::objects::{definition, schema};
use crate::target::{Target, cases};

cases!("discovery", controllers: false;
    health_says_ok,
    the_version_has_the_known_fields,
    the_core_group_names_its_version,
    a_built_in_group_names_its_versions,
    built_in_resources_are_described,
    a_custom_group_is_described,
    a_custom_group_appears_in_the_list_of_groups,
    aggregated_discovery_describes_built_in_kinds,
    aggregated_discovery_describes_custom_kinds,
    a_removed_definition_takes_its_group_along,
);

async fn health_says_ok(t: &Target) {
    for path in ["/healthz", "/livez", "/readyz", "/healthz/ping"] {
        t.get(path).await;
    }
}

async fn the_version_has_the_known_fields(t: &Target) {
    let answer = t.peek("/version").await;
    let fields: Vec<Value> =
        answer.body.as_object().into_iter().flatten().map(|(key, _)| json!(key)).collect();
    t.note("version", json!([answer.code, answer.body["major"], answer.body["minor"], fields]));
}

async fn the_core_group_names_its_version(t: &Target) {
    let answer = t.peek("/api").await;
    t.note("core", json!([answer.code, answer.body["kind"], answer.body["versions"]]));
}

async fn a_built_in_group_names_its_versions(t: &Target) {
    for group in ["apps", "batch", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "networking.k8s.io"] {
        t.get(&format!("/apis/{group}")).await;
    }
}

/// The entries of these resources; a server may serve more.
async fn entries(t: &Target, path: &str, names: &[&str]) {
    let answer = t.peek(path).await;
    t.note("list", json!([answer.code, answer.body["kind"], answer.body["groupVersion"]]));
    for name in names {
        let all = answer.body["resources"].as_array();
        let entry = all.and_then(|all| all.iter().find(|entry| entry["name"] == *name)).cloned();
        t.note(name, entry.unwrap_or_default());
    }
}

async fn built_in_resources_are_described(t: &Target) {
    entries(
        t,
        "/api/v1",
        &[
            "configmaps",
            "namespaces",
            "namespaces/finalize",
            "namespaces/status",
            "pods",
            "pods/status",
            "pods/binding",
            "services",
            "events",
            "nodes",
            "secrets",
            "serviceaccounts",
        ],
    )
    .await;
    entries(
        t,
        "/apis/apps/v1",
        &["deployments", "deployments/scale", "deployments/status", "daemonsets", "replicasets"],
    )
    .await;
    entries(t, "/apis/batch/v1", &["jobs", "cronjobs/status"]).await;
    entries(t, "/apis/rbac.authorization.k8s.io/v1", &["clusterroles", "rolebindings"]).await;
    entries(
        t,
        "/apis/apiextensions.k8s.io/v1",
        &["customresourcedefinitions", "customresourcedefinitions/status"],
    )
    .await;
    entries(
        t,
        "/apis/certificates.k8s.io/v1",
        &["certificatesigningrequests", "certificatesigningrequests/approval"],
    )
    .await;
}

/// The hash of the storage version is made from the name of the group, which only this case has.
fn without_hash(mut answer: Value) -> Value {
    for entry in answer["resources"].as_array_mut().into_iter().flatten() {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("storageVersionHash");
        }
    }
    answer
}

fn gear() -> Value {
    let mut body = definition("{group}", "Gear", schema(json!({})));
    body["spec"]["names"]["shortNames"] = json!(["gr"]);
    body["spec"]["names"]["categories"] = json!(["all", "gears"]);
    body["spec"]["versions"][0]["subresources"] = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}});
    body
}

async fn a_custom_group_is_described(t: &Target) {
    t.define(gear()).await;
    let answer = t.settled("/apis/{group}/v1", |answer| answer.code == 200).await;
    t.note("resources", without_hash(answer.body));
    t.eventually("/apis/{group}", |answer| answer.code == 200).await;
    t.note("other version", without_hash(t.peek("/apis/{shared}/v2").await.body));
}

async fn a_custom_group_appears_in_the_list_of_groups(t: &Target) {
    t.define(gear()).await;
    let group = t.fill("{group}");
    let find = |body: &Value| {
        body["groups"].as_array().and_then(|all| all.iter().find(|one| one["name"] == group)).cloned()
    };
    let answer = t.settled("/apis", |answer| find(&answer.body).is_some()).await;
    t.note("group", find(&answer.body).unwrap_or_default());
    let groups = answer.body["groups"].as_array().cloned().unwrap_or_default();
    let apps = groups.iter().find(|one| one["name"] == "apps").cloned();
    t.note("apps", apps.unwrap_or_default());
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async fn aggregated(t: &Target, path: &str, group: &str) -> Value {
    let call = crate::wire::Call::new("GET", path.to_owned()).accept(AGGREGATED);
    let answer = call.send(&t.client).await;
    let all = answer.body["items"].as_array().cloned().unwrap_or_default();
    all.into_iter()
        .find(|item| item["metadata"]["name"].as_str().unwrap_or_default() == group)
        .unwrap_or_default()
}

async fn aggregated_discovery_describes_built_in_kinds(t: &Target) {
    let answer = crate::wire::Call::new("GET", "/apis").accept(AGGREGATED).send(&t.client).await;
    t.note("form", json!([answer.code, answer.content_type, answer.body["kind"], answer.body["apiVersion"]]));
    let item = aggregated(t, "/apis", "apps").await;
    let version =
        item["versions"].as_array().and_then(|all| all.iter().find(|one| one["version"] == "v1")).cloned();
    let version = version.unwrap_or_default();
    t.note("freshness", version["freshness"].clone());
    for name in ["deployments", "daemonsets"] {
        let all = version["resources"].as_array();
        t.note(
            name,
            all.and_then(|all| all.iter().find(|one| one["resource"] == name)).cloned().unwrap_or_default(),
        );
    }
    let core = aggregated(t, "/api", "").await;
    let all = core["versions"][0]["resources"].as_array();
    for name in ["pods", "configmaps", "namespaces"] {
        let entry =
            all.and_then(|all| all.iter().find(|one| one["resource"] == name)).cloned().unwrap_or_default();
        // A lab need not know how to run a command in a container.
        t.note(
            name,
            json!([
                entry["scope"],
                entry["responseKind"],
                entry["singularResource"],
                entry["shortNames"],
                entry["verbs"]
            ]),
        );
    }
}

async fn aggregated_discovery_describes_custom_kinds(t: &Target) {
    t.define(gear()).await;
    let group = t.fill("{group}");
    let mut item = Value::Null;
    for _ in 0..200 {
        item = aggregated(t, "/apis", &group).await;
        if !item.is_null() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    t.note("group", item);
}

async fn a_removed_definition_takes_its_group_along(t: &Target) {
    t.define(gear()).await;
    t.delete_unrecorded("customresourcedefinitions/gears.{group}", json!({})).await;
    t.eventually("/apis/{group}/v1", |answer| answer.code == 404).await;
    t.eventually("/apis/{group}", |answer| answer.code == 404).await;
}
