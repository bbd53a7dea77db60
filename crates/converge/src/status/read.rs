//! What a picture is made of, from a cluster.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use lockstep_api::names::{condition, group, kind, machine, namespace};
use lockstep_api::{ClusterVersion, object};
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, ListPage, Server};
use lockstep_apply::watch::Watched;
use lockstep_payload::Manifest;

use super::Input;

/// Where alerts are asked for: through the API server, so that nothing but the connection to it is needed.
pub(crate) const ALERTS: &str =
    "/api/v1/namespaces/openshift-monitoring/services/https:thanos-querier:web/proxy/api/v1/alerts";

/// Why a cluster cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The server refuses.
    #[error("{0}")]
    Refused(String),
    /// An object is not what it should be.
    #[error("reading {what}; look at it with `kubectl get {what} -o yaml`")]
    Strange {
        /// Which one.
        what: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// Reads everything that a picture needs. What is not essential and cannot be read becomes a remark.
pub async fn read(
    server: &Server,
    levels: BTreeMap<String, String>,
    now: Timestamp,
) -> Result<Input, ReadError> {
    let mut remarks = Vec::new();
    let name = lockstep_api::names::object::VERSION;
    let version = match server.send(Call::get(&cluster_versions(), None, name)).await {
        Ok(answer) => Some(parse("clusterversion/version", answer.object)?),
        Err(Refusal::NotFound | Refusal::KindNotServed) => None,
        Err(refusal) => return Err(ReadError::Refused(refusal.explain("ClusterVersion version"))),
    };
    let operators = match list(server, &cluster_operators()).await {
        Ok(found) => found
            .into_iter()
            .map(|it| parse(&format!("clusteroperator/{}", object::name(&it)), it))
            .collect::<Result<Vec<_>, _>>()?,
        Err(Refusal::NotFound | Refusal::KindNotServed) => Vec::new(),
        Err(refusal) => return Err(ReadError::Refused(refusal.explain("ClusterOperators"))),
    };
    let mut optional = |found: Result<Vec<Value>, Refusal>, what: &str| match found {
        Ok(found) => found,
        Err(Refusal::NotFound | Refusal::KindNotServed) => Vec::new(),
        Err(refusal) => {
            remarks.push(format!("{what} are left out: {}", refusal.explain(what)));
            Vec::new()
        }
    };
    let pools = optional(list(server, &config_pools()).await, "MachineConfigPools");
    // Without pools nothing is said of nodes.
    let nodes = if pools.is_empty() { Vec::new() } else { optional(list(server, &nodes()).await, "Nodes") };
    let mut configs = Vec::new();
    for name in named_configs(&nodes) {
        let call = Call::get(&machine_configs(), None, &name);
        let found = server.send(call).await.map(|answer| vec![answer.object]);
        configs.extend(optional(found, "MachineConfigs"));
    }
    let config_operator = if pools.is_empty() {
        None
    } else {
        let call = Call::get(&deployments(), Some(machine::NAMESPACE), machine::OPERATOR);
        server.send(call).await.ok().map(|answer| answer.object)
    };
    let alerts =
        if version.as_ref().is_some_and(is_moving) { alerts(server, &mut remarks).await } else { None };
    Ok(Input {
        version,
        operators,
        pools,
        nodes,
        configs,
        config_operator,
        alerts,
        levels,
        stability: None,
        remarks,
        now,
    })
}

/// The run level of each operator of a release.
pub fn levels<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> BTreeMap<String, String> {
    let operators = manifests.into_iter().filter(|manifest| manifest.is_cluster_operator());
    operators
        .filter_map(|manifest| Some((manifest.id.name.clone(), manifest.run_level.as_ref()?.level.clone())))
        .collect()
}

/// What changes a picture: whoever shows one watches these.
pub fn watched(has_pools: bool) -> Vec<Watched> {
    let mut resources = vec![cluster_versions(), cluster_operators()];
    if has_pools {
        resources.extend([config_pools(), nodes()]);
    }
    let watched = |resource| Watched {
        resource,
        namespace: None,
        label_selector: None,
        field_selector: None,
        metadata_only: false,
    };
    resources.into_iter().map(watched).collect()
}

/// Where ClusterVersion objects are.
pub fn cluster_versions() -> Resource {
    Resource::new(group::CONFIG, "v1", kind::CLUSTER_VERSION, "clusterversions", false)
}

/// Where ClusterOperator objects are.
pub fn cluster_operators() -> Resource {
    Resource::new(group::CONFIG, "v1", kind::CLUSTER_OPERATOR, "clusteroperators", false)
}

/// Events.
pub fn events() -> Resource {
    Resource::new("", "v1", kind::EVENT, "events", true)
}

/// The namespace that the operator of the cluster writes its events to.
pub const EVENTS_NAMESPACE: &str = namespace::CLUSTER_VERSION;

fn config_pools() -> Resource {
    Resource::new(machine::GROUP, "v1", kind::MACHINE_CONFIG_POOL, "machineconfigpools", false)
}

fn machine_configs() -> Resource {
    Resource::new(machine::GROUP, "v1", kind::MACHINE_CONFIG, "machineconfigs", false)
}

fn nodes() -> Resource {
    Resource::new("", "v1", kind::NODE, "nodes", false)
}

fn deployments() -> Resource {
    Resource::new(group::APPS, "v1", kind::DEPLOYMENT, "deployments", true)
}

/// Everything of a kind; the server leaves kind and version out of the objects of a list.
async fn list(server: &Server, resource: &Resource) -> Result<Vec<Value>, Refusal> {
    let page = ListPage { resource_version: Some("0"), ..ListPage::default() };
    let mut answer = server.send(Call::list(resource, None, &page)).await?;
    let mut items = match answer.object["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    for fields in items.iter_mut().filter_map(Value::as_object_mut) {
        fields.entry("apiVersion").or_insert_with(|| resource.api_version().into());
        fields.entry("kind").or_insert_with(|| resource.kind.clone().into());
    }
    Ok(items)
}

fn parse<T: DeserializeOwned>(what: &str, object: Value) -> Result<T, ReadError> {
    serde_json::from_value(object).map_err(|source| ReadError::Strange { what: what.to_owned(), source })
}

fn is_moving(version: &ClusterVersion) -> bool {
    version.status.conditions.is_true(condition::PROGRESSING)
}

/// The configurations that nodes have or shall have.
fn named_configs(nodes: &[Value]) -> BTreeSet<String> {
    let keys = [machine::CURRENT_CONFIG, machine::DESIRED_CONFIG];
    let named = nodes.iter().flat_map(|node| keys.iter().filter_map(|key| object::annotation(node, key)));
    named.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

async fn alerts(server: &Server, remarks: &mut Vec<String>) -> Option<Vec<Value>> {
    match server.send(Call::raw(ALERTS)).await {
        Ok(mut answer) => match answer.object["data"]["alerts"].take() {
            Value::Array(alerts) => Some(alerts),
            _ => None,
        },
        Err(Refusal::NotFound | Refusal::NamespaceMissing { .. } | Refusal::KindNotServed) => None,
        Err(refusal) => {
            let why = refusal.explain("the alerts");
            remarks.push(format!("Unable to fetch alerts, ignoring alerts in 'Update Health':  {why}"));
            None
        }
    }
}
