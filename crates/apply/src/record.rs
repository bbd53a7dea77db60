//! What a cluster remembers of a set of objects: the release that it was last brought to completely.
//!
//! Without it, an installation that was stopped half-way could not be told from a release that is to be updated. Where an
//! operator runs, the history of the ClusterVersion says the same and more.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::kinds::Resource;
use crate::refusal::Refusal;
use crate::server::{Call, DryRun, ListPage, Server};
use crate::watch::Backoff;

/// A place that every cluster has, and that no release takes away.
const NAMESPACE: &str = "kube-system";
/// How often it is tried to write it.
const TRIES: usize = 5;

/// What the cluster remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The version of the release that was complete last.
    pub completed: Option<String>,
}

/// Reads what a cluster remembers of a set.
pub(crate) async fn read(server: &Server, set: &str) -> Result<Record, Refusal> {
    let selector = format!("metadata.name={}", name(set));
    let page = ListPage { field_selector: Some(&selector), ..ListPage::default() };
    let answer = server.send_patiently(&Call::list(&resource(), Some(NAMESPACE), &page)).await?;
    Ok(Record::of(&answer.object["items"][0], set))
}

/// Lets a cluster remember that a release is complete.
pub(crate) async fn write(server: &Server, set: &str, version: &str, seed: u64) -> Result<(), Refusal> {
    let mut backoff = Backoff::new(seed, "record");
    for _ in 1..TRIES {
        match send(server, set, version).await {
            Err(refusal) if refusal.is_transient() => {
                tokio::time::sleep(refusal.retry_after().unwrap_or_else(|| backoff.next())).await;
            }
            outcome => return outcome,
        }
    }
    send(server, set, version).await
}

async fn send(server: &Server, set: &str, version: &str) -> Result<(), Refusal> {
    let body = Bytes::from(object(set, version).to_string());
    let call = Call::apply(&resource(), Some(NAMESPACE), &name(set), body, true, DryRun::No);
    server.send(call).await.map(drop)
}

/// The object for people.
pub(crate) fn title(set: &str) -> String {
    format!("ConfigMap {NAMESPACE}/{}", name(set))
}

fn resource() -> Resource {
    Resource::new("", "v1", "ConfigMap", "configmaps", true)
}

/// The value of a label may have letters that a name must not have.
fn name(set: &str) -> String {
    format!("lockstep-{}", set.to_lowercase().replace('_', "-"))
}

fn object(set: &str, version: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name(set),
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/managed-by": "lockstep"},
        },
        "data": {"set": set, "completed": version},
    })
}

// === impl Record ===

impl Record {
    /// Two sets may share a name in small letters; the record says whose it is.
    fn of(object: &Value, set: &str) -> Self {
        let data = &object["data"];
        let completed = (data["set"] == set).then(|| data["completed"].as_str().map(str::to_owned));
        Self { completed: completed.flatten() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_for_the_same_set_only() {
        let object = object("My_Set", "1.2.3");
        assert_eq!(object["metadata"]["name"], "lockstep-my-set");
        assert_eq!(Record::of(&object, "My_Set").completed.as_deref(), Some("1.2.3"));
        assert_eq!(Record::of(&object, "my-set"), Record::default());
        assert_eq!(Record::of(&Value::Null, "my-set"), Record::default());
    }
}
