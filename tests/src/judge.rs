//! When an installation is over: every ClusterOperator of the release is available, at the versions of the release.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::TryStreamExt as _;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt as _};
use lockstep_api::names::{condition, group, kind};
use serde_json::{Value, json};

use crate::objects::ReleaseObject;

/// How often a kind is asked for that is not served yet.
const PAUSE: Duration = Duration::from_millis(50);

/// What the ClusterOperators of a release have to report: versions by name, by operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judge {
    expected: BTreeMap<String, Vec<Value>>,
}

// === impl Judge ===

impl Judge {
    /// Judges by the ClusterOperators among the objects of a release.
    pub fn of(objects: &[ReleaseObject]) -> Self {
        let operators = objects.iter().filter(|object| object.kind == kind::CLUSTER_OPERATOR);
        let versions =
            |object: &ReleaseObject| object.status["versions"].as_array().cloned().unwrap_or_default();
        Self { expected: operators.map(|object| (object.name.clone(), versions(object))).collect() }
    }

    /// How many operators there are.
    pub fn len(&self) -> usize {
        self.expected.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }

    /// Waits until the last one is healthy; all of them have to be at the same time.
    pub async fn until_healthy(&self, client: &Client) {
        loop {
            // A watch that ends, and a kind that is not served yet, begin again.
            if self.watch(client).await.unwrap_or_default() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn watch(&self, client: &Client) -> kube::Result<bool> {
        let resource = ApiResource {
            group: group::CONFIG.into(),
            version: "v1".into(),
            api_version: format!("{}/v1", group::CONFIG),
            kind: kind::CLUSTER_OPERATOR.into(),
            plural: "clusteroperators".into(),
        };
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let list = api.list(&ListParams::default()).await?;
        let mut waiting: BTreeMap<&str, &[Value]> =
            self.expected.iter().map(|(name, versions)| (name.as_str(), versions.as_slice())).collect();
        for live in &list.items {
            self.look(live, &mut waiting);
        }
        let version = list.metadata.resource_version.unwrap_or_default();
        let mut events = std::pin::pin!(api.watch(&WatchParams::default(), &version).await?);
        while !waiting.is_empty() {
            match events.try_next().await? {
                Some(WatchEvent::Added(live) | WatchEvent::Modified(live)) => self.look(&live, &mut waiting),
                Some(WatchEvent::Bookmark(_)) => {}
                // The end, an error or a deletion: from the beginning.
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Takes one look at one operator.
    fn look<'a>(&'a self, live: &DynamicObject, waiting: &mut BTreeMap<&'a str, &'a [Value]>) {
        let Some((name, versions)) = self.expected.get_key_value(&live.name_any()) else { return };
        if is_healthy(versions, &live.data["status"]) {
            waiting.remove(name.as_str());
        } else {
            waiting.insert(name, versions);
        }
    }
}

/// Whether a status says that it is available, at these versions.
fn is_healthy(expected: &[Value], status: &Value) -> bool {
    let list = |name: &str| status[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_available = |it: &Value| it["type"] == condition::AVAILABLE && it["status"] == "True";
    list("conditions").iter().any(is_available)
        && expected.iter().all(|wanted| {
            let wanted = json!({"name": wanted["name"], "version": wanted["version"]});
            list("versions").contains(&wanted)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_needs_both_the_condition_and_every_version() {
        let expected = [json!({"name": "operator", "version": "2"}), json!({"name": "x", "version": "7"})];
        let status = |available: &str, version: &str| {
            json!({"conditions": [{"type": "Degraded", "status": "True"}, {"type": "Available", "status": available}],
                "versions": [{"name": "x", "version": "7"}, {"name": "operator", "version": version}]})
        };
        assert!(is_healthy(&expected, &status("True", "2")));
        assert!(!is_healthy(&expected, &status("False", "2")));
        assert!(!is_healthy(&expected, &status("True", "1")));
        assert!(!is_healthy(&expected, &Value::Null));
    }

    #[test]
    fn an_operator_that_falls_back_is_waited_for_again() {
        let judge = Judge { expected: BTreeMap::from([("a".to_owned(), vec![])]) };
        let live = |available: &str| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {"name": "a"},
                "status": {"conditions": [{"type": "Available", "status": available}]}}))
            .unwrap()
        };
        let mut waiting = BTreeMap::new();
        judge.look(&live("False"), &mut waiting);
        assert_eq!(waiting.len(), 1);
        judge.look(&live("True"), &mut waiting);
        assert_eq!(waiting.len(), 0);
        judge.look(&live("False"), &mut waiting);
        assert_eq!(waiting.len(), 1);
    }
}
