//! ClusterVersion: its validation and the definitions that a cluster gets.

use lockstep_api::validation::{validate, without_invalid};
use lockstep_api::{ClusterVersion, Update, crd, object};
use lockstep_payload::yaml;
use serde_json::Value;

use super::Difference;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "one-definition",
        title: "One definition of ClusterVersion serves all feature sets",
        decision: "compatible outside, better inside",
        case: "definitions of ClusterVersion, and whether they have `acceptRisks`, `mode` and `signatureStores`",
        reference: "5, one per feature set; the fields are in some",
        ours: "1, for every feature set; acceptRisks: true, mode: true, signatureStores: true",
        why: "A change of the feature set would otherwise replace the definition under the objects. Whether such a field may \
              be used is decided by the operator.",
        observe: || {
            let documents = documents(crd::CLUSTER_VERSION);
            let definition = &documents[0];
            let spec = &schema(definition)["properties"]["spec"]["properties"];
            let update = &spec["desiredUpdate"]["properties"];
            let sets = object::annotation(definition, "release.openshift.io/feature-set");
            format!(
                "{}, for {}; acceptRisks: {}, mode: {}, signatureStores: {}",
                documents.len(),
                sets.unwrap_or("every feature set"),
                update["acceptRisks"].is_object(),
                update["mode"].is_object(),
                spec["signatureStores"].is_object()
            )
        },
    },
    Difference {
        id: "annotations-of-definitions",
        title: "The definitions carry no marks of another project's review, and suit small clusters",
        decision: "compatible outside, better inside",
        case: "annotations of the definition of ClusterOperator",
        reference: "api-approved.openshift.io, api.openshift.io/merged-by-featuregates, \
                    include.release.openshift.io/self-managed-high-availability",
        ours: "include.release.openshift.io/self-managed-high-availability, include.release.openshift.io/single-node-developer",
        why: "The marks speak of a review that these definitions did not have. Nothing reads them in a cluster.",
        observe: || {
            let documents = documents(crd::CLUSTER_OPERATOR);
            let annotations = object::annotations(&documents[0]).unwrap_or_default();
            annotations.into_keys().collect::<Vec<_>>().join(", ")
        },
    },
    Difference {
        id: "additional-capabilities-without-a-baseline",
        title: "Additional capabilities need no baseline set",
        decision: "accident of the reference",
        case: "`additionalEnabledCapabilities: [marketplace]` without `baselineCapabilitySet`",
        reference: "refused: no such key: baselineCapabilitySet",
        ours: "accepted: every rule asks whether there is a baseline set",
        why: "The field is optional and means everything when it is left out. The reference's rule about `marketplace` reads it \
              without asking whether it is there.",
        observe: || {
            let cases: Vec<Value> = serde_json::from_str(crd::VALIDATION_CASES).unwrap();
            let name = "marketplace without any baseline, which means all";
            let case = cases.iter().find(|case| case["name"] == name).unwrap();
            let documents = documents(crd::CLUSTER_VERSION);
            let rules = schema(&documents[0])["x-kubernetes-validations"].as_array().unwrap();
            let asks = rules.iter().map(|rule| rule["rule"].as_str().unwrap()).all(|rule| {
                rule.find("!has(self.spec.capabilities.baselineCapabilitySet)")
                    < rule.find("self.spec.capabilities.baselineCapabilitySet !=")
                    && rule.contains("!has(self.spec.capabilities.baselineCapabilitySet)")
            });
            let verdict = if case["accepted"] == true { "accepted" } else { "refused" };
            format!(
                "{verdict}: {}",
                if asks { "every rule asks whether there is a baseline set" } else { "a rule does not ask" }
            )
        },
    },
    Difference {
        id: "name-of-cluster-version",
        title: "A wrong name of a ClusterVersion is told in one sentence",
        decision: "always say why",
        case: "a ClusterVersion named `Version`",
        reference: "metadata.name: Invalid value: \"Version\": (the standard text for a DNS-1035 label, with its pattern)",
        ours: "metadata.name: Invalid value: \"Version\": must be a DNS-1035 label: at most 63 lower case letters, digits and \
               '-', a letter first and no '-' last",
        why: "The standard text shows a regular expression; what it means can be said. Field and form of the text stay.",
        observe: || {
            let errors = validate(&ClusterVersion::new("Version"), false);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        },
    },
    Difference {
        id: "desired-update-that-asks-for-nothing",
        title: "A desired update that asks for nothing is dropped",
        decision: "accident of the reference",
        case: "`desiredUpdate: {force: true}`: the error, and what the operator goes on with",
        reference: "spec.desiredUpdate: Required value: must specify architecture, version, or image; kept",
        ours: "spec.desiredUpdate: Required value: must specify architecture, version, or image; dropped",
        why: "Every other wrong desired update is dropped; this one only escaped by the spelling of its path.",
        observe: || {
            let mut object = ClusterVersion::new("version");
            object.spec.desired_update = Some(Update { force: true, ..Update::default() });
            let errors = validate(&object, false);
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let update = without_invalid(object, &errors).spec.desired_update;
            format!("{}; {}", texts.join("; "), if update.is_some() { "kept" } else { "dropped" })
        },
    },
];

fn documents(text: &str) -> Vec<Value> {
    yaml::documents(text.as_bytes()).unwrap().into_iter().map(|document| document.value).collect()
}

fn schema(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}
