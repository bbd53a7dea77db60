//! What the world has to know about a release: its operators, where they run, and what they will report.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use lockstep_api::names::{kind, object};
use lockstep_payload::{Manifest, Release, Selection};

/// The operators of a release, or of several releases that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReleaseFacts {
    pub(crate) operators: BTreeMap<OperatorId, Vec<Edition>>,
}

/// Which operator: one of the first generation may live in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OperatorId {
    pub(crate) first_generation: bool,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// An operator as one release has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edition {
    /// The Deployments that it needs; empty when the release has none of its component.
    pub(crate) deployments: Vec<DeploymentFacts>,
    /// What it reports when it is done.
    pub(crate) versions: Vec<(String, String)>,
    /// The objects that it names.
    pub(crate) related: Vec<Value>,
}

/// A Deployment of an operator, with what tells its releases apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeploymentFacts {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Images, arguments and variables of its containers.
    code: Vec<Value>,
}

// === impl ReleaseFacts ===

impl ReleaseFacts {
    /// The operators of a release for one cluster.
    pub fn of(release: &Release, selection: &Selection) -> Self {
        let selected: Vec<&Manifest> = release.selected(selection).filter(|it| !it.is_delete()).collect();
        let version = release.metadata.version.to_string();
        let operators = selected.iter().filter(|manifest| manifest.is_cluster_operator());
        Self { operators: operators.map(|manifest| edition(manifest, &selected, &version)).collect() }
    }

    /// The same operators with what they are in the next release.
    #[must_use]
    pub fn followed_by(mut self, next: Self) -> Self {
        for (id, editions) in next.operators {
            self.operators.entry(id).or_default().extend(editions);
        }
        self
    }

    /// How many operators there are.
    pub fn count(&self) -> usize {
        self.operators.len()
    }
}

fn edition(manifest: &Manifest, selected: &[&Manifest], version: &str) -> (OperatorId, Vec<Edition>) {
    let first_generation = manifest.is_first_generation();
    let id = OperatorId {
        first_generation,
        namespace: if first_generation { manifest.id.namespace.clone() } else { String::new() },
        name: manifest.id.name.clone(),
    };
    let is_same_component = |other: &&&Manifest| match &manifest.run_level {
        Some(level) => other.run_level.as_ref() == Some(level),
        None => other.file == manifest.file,
    };
    let deployments = selected
        .iter()
        .filter(|other| other.id.kind == kind::DEPLOYMENT)
        .filter(is_same_component)
        .map(|other| DeploymentFacts {
            namespace: other.id.namespace.clone(),
            name: other.id.name.clone(),
            code: code(&other.object),
        })
        .collect();
    let status = &manifest.object["status"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = status["versions"].as_array().into_iter().flatten();
    let mut versions: Vec<(String, String)> =
        listed.map(|entry| (text(&entry["name"]), text(&entry["version"]))).collect();
    if versions.is_empty() {
        let own = status["version"].as_str().unwrap_or(version);
        versions.push((object::OPERATOR_VERSION.to_owned(), own.to_owned()));
    }
    let related = status["relatedObjects"].as_array().cloned().unwrap_or_default();
    (id, vec![Edition { deployments, versions, related }])
}

// === impl Edition ===

impl Edition {
    /// Whether a live Deployment runs the code of this edition.
    pub(crate) fn is_run_by(&self, live: &Value) -> bool {
        self.deployments.iter().any(|facts| facts.is_run_by(live))
    }

    /// Whether the live Deployments run all the code of this edition.
    pub(crate) fn is_all_run_by(&self, live: &[Arc<Value>]) -> bool {
        self.deployments.iter().all(|facts| live.iter().any(|live| facts.is_run_by(live)))
    }
}

impl DeploymentFacts {
    fn is_run_by(&self, live: &Value) -> bool {
        self.fits(live) && self.code == code(live)
    }

    fn fits(&self, live: &Value) -> bool {
        live["metadata"]["name"] == self.name.as_str()
            && live["metadata"]["namespace"] == self.namespace.as_str()
    }
}

/// What a Deployment runs: of each container the image, the command and the plain variables.
fn code(deployment: &Value) -> Vec<Value> {
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array();
    containers
        .into_iter()
        .flatten()
        .map(|container| {
            let plain = |entry: &&Value| entry["value"].is_string();
            let variables = container["env"].as_array().into_iter().flatten().filter(plain);
            let variables: Vec<Value> =
                variables.map(|entry| serde_json::json!([entry["name"], entry["value"]])).collect();
            serde_json::json!([
                container["name"],
                container["image"],
                container["command"],
                container["args"],
                variables
            ])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(image: &str) -> Value {
        json!({"metadata": {"namespace": "n", "name": "d"}, "spec": {"template": {"spec": {"containers": [
            {"name": "c", "image": image, "env": [{"name": "V", "value": "1"}, {"name": "X", "valueFrom": {}}]}]}}}})
    }

    #[test]
    fn an_edition_is_recognised_by_what_its_deployment_runs() {
        let facts =
            DeploymentFacts { namespace: "n".into(), name: "d".into(), code: code(&deployment("i1")) };
        let edition = Edition { deployments: vec![facts], versions: vec![], related: vec![] };
        assert!(edition.is_run_by(&deployment("i1")));
        assert!(!edition.is_run_by(&deployment("i2")));
        let mut with_default = deployment("i1");
        with_default["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!("Always");
        assert!(edition.is_run_by(&with_default), "what the server fills in does not count");
        assert!(edition.is_all_run_by(&[Arc::new(deployment("i1"))]));
        assert!(!edition.is_all_run_by(&[Arc::new(deployment("i2"))]) && !edition.is_all_run_by(&[]));
    }
}
