//! Reading, applying and watching, without types: three kinds are not worth more.

use std::time::Duration;

use anyhow::Context as _;
use futures::TryStreamExt as _;
use kube::api::{Patch, PatchParams, WatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, WatchEvent};
use kube::{Api, Client};
use lockstep_api::object;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::operand::{NAME, NAMESPACE, OPERATOR_NAMESPACE, is_within};

/// Who owns the fields that are applied.
const MANAGER: &str = "example-operator";
/// The name of the reported ClusterOperator.
pub(crate) const CLUSTER_OPERATOR: &str = "example";
/// The `ConfigMap` of users.
pub(crate) const CONFIG: &str = "config";
/// The pause before a watch that broke is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// One object that is looked at whenever it changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    group: &'static str,
    kind: &'static str,
    /// Empty for an object of the whole cluster.
    namespace: &'static str,
    name: &'static str,
}

/// Everything that a pass looks at.
pub(crate) fn watched() -> [Watched; 4] {
    let of = |group, kind, namespace, name| Watched { group, kind, namespace, name };
    [
        of("", "ConfigMap", OPERATOR_NAMESPACE, CONFIG),
        of("", "ConfigMap", NAMESPACE, NAME),
        of("apps", "Deployment", NAMESPACE, NAME),
        of("config.openshift.io", "ClusterOperator", "", CLUSTER_OPERATOR),
    ]
}

fn api(client: &Client, group: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    match namespace {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    }
}

/// The live object; `Null` when there is none.
pub(crate) async fn get(
    client: &Client,
    group: &str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> anyhow::Result<Value> {
    let found = api(client, group, kind, namespace).get_opt(name).await;
    let found = found.with_context(|| format!("reading {kind} {namespace}/{name}"))?;
    Ok(found.map(serde_json::to_value).transpose()?.unwrap_or(Value::Null))
}

/// Makes an object as it shall be and gives it as it is; one that is so already is not written.
pub(crate) async fn ensure(client: &Client, wanted: &Value) -> anyhow::Result<Value> {
    let (kind, namespace, name) = (object::kind(wanted), object::namespace(wanted), object::name(wanted));
    let group = object::group(wanted);
    let live = get(client, group, kind, namespace, name).await?;
    if is_within(wanted, &live) {
        return Ok(live);
    }
    let patch = PatchParams::apply(MANAGER).force();
    let applied = api(client, group, kind, namespace).patch(name, &patch, &Patch::Apply(wanted)).await;
    let applied = applied.with_context(|| format!("applying {kind} {namespace}/{name}"))?;
    Ok(serde_json::to_value(applied)?)
}

/// Wakes somebody whenever an object changes, for ever.
pub(crate) async fn follow(client: Client, watched: Watched, wake: mpsc::Sender<()>) {
    let api = api(&client, watched.group, watched.kind, watched.namespace);
    let params = WatchParams::default().fields(&format!("metadata.name={}", watched.name));
    // The version "0" gives what is there, then every change. A place that is taken is a wake-up that is due already.
    loop {
        if let Ok(events) = api.watch(&params, "0").await {
            let mut events = std::pin::pin!(events);
            while let Ok(Some(event)) = events.try_next().await {
                match event {
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(_) => break,
                    _ => drop(wake.try_send(())),
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
