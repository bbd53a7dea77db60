//! Takes a picture of a cluster that a diagnosis can read: here and now, or later from a folder.
//!
//! What leaves the cluster is masked on the way: values of Secrets and `ConfigMap`s are never kept, nor are variables of
//! containers and annotations that nobody here asks for; a text that has the value of a Secret in it loses that part.

mod expected;
mod folder;
mod logs;
mod probe;
mod redact;
mod trim;

use std::collections::BTreeMap;

use futures::StreamExt as _;
use jiff::Timestamp;
use lockstep_apply::kinds::{Kinds, Resource};
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, ListPage, Server};
use lockstep_health::why::resource::{self, ALL};
use lockstep_health::why::snapshot::{Alert, Snapshot, VERSION};
use serde_json::Value;

use crate::status::read::ALERTS;
pub use expected::expected;
pub use folder::{FolderError, read, write};
use redact::Redactor;

/// Lists at a time.
const AT_ONCE: usize = 8;
/// Objects per page.
const PAGE: u32 = 500;
/// How old an Event may be, in seconds.
const EVENT_AGE: i64 = 3600;
/// Namespaces whose `ConfigMap`s are looked at.
const CONFIG_NAMESPACES: [&str; 4] =
    ["kube-system", "openshift-config", "openshift-config-managed", "openshift-etcd"];

/// Where a picture comes from.
pub struct Camera<'a> {
    /// The cluster.
    pub server: &'a Server,
    /// The address of its API, for probes; empty for none.
    pub address: &'a str,
    /// The time of whoever looks.
    pub now: Timestamp,
}

// === impl Camera ===

impl Camera<'_> {
    /// Takes a picture. Whatever cannot be read is left out; when nothing can, the picture says why.
    pub async fn picture(&self) -> Snapshot {
        let mut picture = Snapshot { version: VERSION, now: self.now, ..Snapshot::default() };
        let alive = self.server.send(Call::raw("/version")).await;
        if let Ok(answer) = &alive {
            picture.skew_seconds = answer.date.map_or(0, |date| self.now.as_second() - date.as_second());
        }
        picture.probes = probe::probes(self.server, self.address).await;
        let kinds = match Kinds::discover(self.server).await {
            Ok(kinds) => kinds,
            Err(refusal) => {
                let error = alive.err().unwrap_or(refusal);
                picture.api_error = error.explain("the API server");
                return picture;
            }
        };
        let redactor = self.redactor().await;
        let listed = ALL.iter().filter_map(|wanted| Some((*wanted, served(&kinds, wanted)?)));
        let lists =
            listed.map(|(wanted, resource)| async move { (wanted, self.list(&wanted, &resource).await) });
        let found: Vec<_> = futures::stream::iter(lists).buffer_unordered(AT_ONCE).collect().await;
        for (wanted, outcome) in found {
            match outcome {
                Ok(objects) => {
                    let keep = |object: Value| trim::trimmed(&wanted, object, picture.now, EVENT_AGE);
                    let mut objects: Vec<Value> = objects.into_iter().filter_map(keep).collect();
                    for object in &mut objects {
                        redactor.object(object);
                    }
                    picture.objects.insert(wanted.key.to_owned(), objects);
                }
                Err(refusal) => tracing::warn!("{}", refusal.explain(wanted.key)),
            }
        }
        picture.alerts = self.alerts(&redactor).await;
        picture.pull_secret = Some(redact::pull_secret(self.server).await);
        picture.logs = logs::of_crashing(self.server, &picture, &redactor).await;
        picture
    }

    /// All objects of a resource, page by page.
    async fn list(&self, wanted: &resource::Resource, of: &Resource) -> Result<Vec<Value>, Refusal> {
        if *wanted == resource::CONFIG_MAPS {
            let mut all = Vec::new();
            for namespace in CONFIG_NAMESPACES {
                all.extend(self.pages(of, Some(namespace), false).await?);
            }
            return Ok(all);
        }
        // Of a Secret nothing but its name and type is of interest, and the type is not part of its metadata: it is asked
        // for where a rule needs it.
        self.pages(of, None, *wanted == resource::SECRETS).await
    }

    async fn pages(
        &self,
        of: &Resource,
        namespace: Option<&str>,
        metadata_only: bool,
    ) -> Result<Vec<Value>, Refusal> {
        let (mut all, mut token) = (Vec::new(), None::<String>);
        loop {
            let page = ListPage { limit: Some(PAGE), token: token.as_deref(), ..ListPage::default() };
            let call = Call::list(of, namespace, &page);
            let call = if metadata_only { call.metadata_only_list() } else { call };
            let mut answer = self.server.send(call).await?.object;
            token = answer["metadata"]["continue"].as_str().filter(|it| !it.is_empty()).map(str::to_owned);
            if let Value::Array(items) = answer["items"].take() {
                all.extend(items.into_iter().map(|item| typed(item, of)));
            }
            if token.is_none() {
                return Ok(all);
            }
        }
    }

    /// Alerts that fire; none where nobody watches.
    async fn alerts(&self, redactor: &Redactor) -> Vec<Alert> {
        let Ok(answer) = self.server.send(Call::raw(ALERTS)).await else { return Vec::new() };
        let alerts = answer.object["data"]["alerts"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let firing = alerts.iter().filter(|alert| alert["state"] == "firing");
        let read = |alert: &Value| Alert {
            name: text(&alert["labels"]["alertname"]),
            since: text(&alert["activeAt"]).parse().ok(),
            summary: redactor.text(&text(&alert["annotations"]["summary"])),
        };
        firing.map(read).collect()
    }

    /// Knows the values of all Secrets that may be read.
    async fn redactor(&self) -> Redactor {
        let secrets = Resource::new("", "v1", "Secret", "secrets", true);
        let secrets = self.pages(&secrets, None, false).await.unwrap_or_default();
        Redactor::knowing(&secrets)
    }
}

/// Where a resource is served, in the newest version that is.
fn served(kinds: &Kinds, wanted: &resource::Resource) -> Option<Resource> {
    let is_wanted = |it: &&Resource| it.plural == wanted.plural() && it.group == wanted.group();
    // `v1` before `v1beta1` before `v1alpha1`.
    let rank = |it: &&Resource| {
        let weight =
            if it.version.contains("alpha") { 0 } else { usize::from(!it.version.contains("beta")) + 1 };
        (weight, it.version.clone())
    };
    kinds.iter().filter(is_wanted).max_by_key(rank).cloned()
}

/// Entries of a list do not name their kind.
fn typed(mut item: Value, of: &Resource) -> Value {
    if let Some(object) = item.as_object_mut() {
        object.insert("apiVersion".to_owned(), of.api_version().into());
        object.insert("kind".to_owned(), of.kind.clone().into());
    }
    item
}

/// Lines by what they belong to.
type Logs = BTreeMap<String, String>;
