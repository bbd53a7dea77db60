//! The Deployment that runs the operator: the reference's, which is stopped and brought back, or ours.

use bytes::Bytes;
use lockstep_api::names::{annotation, group, kind, object};
use lockstep_apply::compare::patch::unchanged_since;
use lockstep_apply::compare::{PatchOperation, former};
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun};
use serde_json::{Value, json};

use super::{AdoptError, Adoption, refused};

/// How often a change is tried that others disturb.
const TRIES: usize = 10;

/// The Deployment as it was read.
pub(super) struct Predecessor {
    /// Null when there is none.
    pub(super) live: Value,
}

// === impl Predecessor ===

impl Predecessor {
    pub(super) async fn read(adoption: &Adoption) -> Result<Self, AdoptError> {
        Ok(Self { live: read(adoption).await?.unwrap_or_default() })
    }

    pub(super) fn replicas(&self) -> u64 {
        self.live["spec"]["replicas"].as_u64().unwrap_or_default()
    }

    /// Whether it runs this operator and not the reference.
    fn is_ours(&self) -> bool {
        is_operator(&self.live)
    }

    /// Whether the reference must be stopped.
    pub(super) fn must_stop(&self) -> bool {
        self.replicas() > 0 && !self.is_ours()
    }

    /// Whether a manifest of the release is a Deployment of the reference, which stays stopped and keeps its owner.
    pub(super) fn stays(manifest: &Value) -> bool {
        manifest["kind"] == kind::DEPLOYMENT
            && manifest["metadata"]["name"] == object::CLUSTER_VERSION_OPERATOR
            && !is_operator(manifest)
    }

    /// What becomes of it.
    pub(super) fn sentence(&self, adoption: &Adoption) -> String {
        let title = title(adoption);
        match (self.live.is_null(), self.is_ours(), self.replicas()) {
            (true, ..) => format!("{title} is not there"),
            (_, true, _) => format!("{title} runs this operator already and is left alone"),
            (_, _, 0) => format!("{title} is scaled to 0 already"),
            (.., replicas) => format!("{title} is scaled from {replicas} to 0"),
        }
    }

    /// Changes the number of replicas.
    pub(super) async fn scale(&self, adoption: &Adoption, replicas: u64) -> Result<(), AdoptError> {
        let operations = |live: &Value| {
            (live["spec"]["replicas"] != replicas)
                .then(|| vec![PatchOperation::add("/spec/replicas", json!(replicas))])
        };
        change(adoption, operations).await
    }
}

/// Brings the Deployment back to what it was, then its owner entries; gives the number of replicas.
pub(super) async fn restore(adoption: &Adoption, saved: &Value) -> Result<Option<u64>, AdoptError> {
    if saved.is_null() || read(adoption).await?.is_none() {
        return Ok(None);
    }
    let spec = &saved["spec"];
    change(adoption, |live| {
        let mut operations = Vec::new();
        for key in ["template", "replicas"] {
            if live["spec"][key] != spec[key] {
                operations.push(PatchOperation::add(format!("/spec/{key}"), spec[key].clone()));
            }
        }
        (!operations.is_empty()).then_some(operations)
    })
    .await?;
    // By itself: a change of values is recorded as ours, and that record goes with this one.
    let entries = former(saved);
    change(adoption, |live| {
        let now = former(live);
        let kept = live["metadata"]["managedFields"].as_array().into_iter().flatten();
        let kept: Vec<Value> = kept.filter(|entry| !now.contains(entry)).cloned().collect();
        let all: Vec<Value> = entries.iter().cloned().chain(kept).collect();
        (now != entries).then(|| vec![PatchOperation::replace("/metadata/managedFields", Value::Array(all))])
    })
    .await?;
    Ok(spec["replicas"].as_u64())
}

/// Changes the Deployment as it is now; again when somebody else was faster.
async fn change(
    adoption: &Adoption,
    operations: impl Fn(&Value) -> Option<Vec<PatchOperation>>,
) -> Result<(), AdoptError> {
    let mut last = Refusal::Stale;
    for _ in 0..TRIES {
        let Some(live) = read(adoption).await? else { return Ok(()) };
        let Some(mut operations) = operations(&live) else { return Ok(()) };
        operations.extend(unchanged_since(&live));
        let body = Bytes::from(json!(operations).to_string());
        let name = object::CLUSTER_VERSION_OPERATOR;
        let call = Call::json_patch(&resource(), Some(&adoption.namespace), name, body, DryRun::No);
        match adoption.server.send(call).await {
            Ok(_) => return Ok(()),
            Err(Refusal::Stale) => last = Refusal::Stale,
            Err(refusal) => return Err(refused(title(adoption))(refusal)),
        }
    }
    Err(refused(title(adoption))(last))
}

async fn read(adoption: &Adoption) -> Result<Option<Value>, AdoptError> {
    let call = Call::get(&resource(), Some(&adoption.namespace), object::CLUSTER_VERSION_OPERATOR);
    match adoption.server.send(call).await {
        Ok(answer) => Ok(Some(answer.object)),
        Err(Refusal::NotFound | Refusal::NamespaceMissing { .. }) => Ok(None),
        Err(refusal) => Err(refused(title(adoption))(refusal)),
    }
}

fn is_operator(deployment: &Value) -> bool {
    deployment["metadata"]["annotations"][annotation::OPERATOR] == "true"
}

fn title(adoption: &Adoption) -> String {
    format!("Deployment {}/{}", adoption.namespace, object::CLUSTER_VERSION_OPERATOR)
}

fn resource() -> Resource {
    Resource::new(group::APPS, "v1", kind::DEPLOYMENT, "deployments", true)
}
