//! Custom resources in the lab and in a real API server: the same definitions and objects, the same answers.
#![recursion_limit = "256"]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

#[path = "lab_crd/definitions.rs"]
mod definitions;
#[path = "lab_crd/real.rs"]
mod real;
#[path = "lab_crd/resources.rs"]
mod resources;

use std::collections::BTreeMap;

use lockstep_lab::crd::{check_definition, check_resource, establish, scale_of};
use lockstep_payload::{DiskFiles, LoadOptions, Release};
use lockstep_tests::corpus::corpus;
use serde_json::{Value, json};

use real::{Answer, Real};

/// What the lab answers, in the form of the real server's answers.
fn lab_resource(crd: &Value, object: &Value, old: Option<&Value>, status: bool) -> Answer {
    match check_resource(crd, object, old, status) {
        Ok((object, dropped)) => {
            let warnings = dropped.iter().map(|field| format!("unknown field \"{field}\"")).collect();
            Answer { code: if old.is_some() { 200 } else { 201 }, body: real::normal(object), warnings }
        }
        Err(status) => {
            Answer { code: status["code"].as_u64().unwrap(), body: real::normal(status), warnings: vec![] }
        }
    }
}

fn lab_definition(crd: &Value) -> Answer {
    match check_definition(crd) {
        Ok((object, warnings)) => Answer { code: 201, body: real::normal(object), warnings },
        Err(status) => {
            Answer { code: status["code"].as_u64().unwrap(), body: real::normal(status), warnings: vec![] }
        }
    }
}

/// Collects differences, so that one run shows all of them.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare(&mut self, case: &str, real: &Answer, lab: &Answer) {
        // The real server walks a map on the way to its warnings: their order is chance.
        let sorted = |answer: &Answer| {
            let mut warnings = answer.warnings.clone();
            warnings.sort();
            warnings
        };
        if (real.code, &real.body, sorted(real)) != (lab.code, &lab.body, sorted(lab)) {
            self.0.push(format!("{case}:\n  real {real}\n  lab  {lab}"));
        }
    }

    fn assert_none(self) {
        assert!(self.0.is_empty(), "{} differences\n{}", self.0.len(), self.0.join("\n"));
    }
}

#[tokio::test]
async fn new_resources_get_the_same_answer() {
    let real = Real::connect().await;
    let crd = real.define(&resources::widgets()).await;
    let mut differences = Differences::default();
    let cases = resources::cases();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    for (name, object) in cases {
        let answer = real.create_dry(resources::PATH, &object).await;
        differences.compare(name, &answer, &lab_resource(&crd, &object, None, false));
    }
    differences.assert_none();
}

#[tokio::test]
async fn a_scale_shows_the_same_numbers() {
    let real = Real::connect().await;
    let crd = real.define(&resources::scaled()).await;
    let path = "/apis/lab.example.com/v1/scaleds";
    let mut differences = Differences::default();
    for (name, fields) in [
        ("numbers", json!({"spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=b"}})),
        ("zero", json!({"spec": {"replicas": 0}})),
        ("missing", json!({"spec": {}})),
    ] {
        let mut object =
            json!({"apiVersion": "lab.example.com/v1", "kind": "Scaled", "metadata": {"name": name}});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let created = real.create(path, &object).await;
        assert_eq!(created.code, 201, "{created}");
        let mut answer = real.get(&format!("{path}/{name}/scale")).await;
        answer.body = real::normal(answer.body);
        let lab = match scale_of(&crd, &created.body) {
            Ok(scale) => Answer { code: 200, body: real::normal(scale), warnings: vec![] },
            Err(status) => Answer { code: 500, body: status, warnings: vec![] },
        };
        differences.compare(name, &answer, &lab);
    }
    differences.assert_none();
}

#[tokio::test]
async fn rules_that_could_not_be_checked_are_mentioned() {
    let real = Real::connect().await;
    let crd = real.define(&resources::ruled()).await;
    let mut differences = Differences::default();
    for (name, spec) in [("fine", json!({"a": 1})), ("blocked", json!({"a": "x"})), ("missing", json!({}))] {
        let object = json!({"apiVersion": "lab.example.com/v1", "kind": "Ruled", "metadata": {"name": "x"}, "spec": spec});
        let answer = real.create_dry("/apis/lab.example.com/v1/ruleds", &object).await;
        differences.compare(name, &answer, &lab_resource(&crd, &object, None, false));
    }
    differences.assert_none();
}

#[tokio::test]
async fn what_was_wrong_before_may_stay_wrong() {
    let real = Real::connect().await;
    let lax = real.define(&resources::ratchets(false)).await;
    let path = "/apis/lab.example.com/v1/ratchets";
    let old = real.create(path, &resources::wrong_ratchet()).await;
    assert_eq!(old.code, 201, "{old}");
    let mut strict = resources::ratchets(true);
    strict["metadata"]["resourceVersion"] = lax["metadata"]["resourceVersion"].clone();
    let strict = real.redefine(&strict, path, &resources::wrong_ratchet()).await;

    let mut differences = Differences::default();
    let stored = real.get(&format!("{path}/x")).await.body;
    for (name, object, status) in resources::changes(&stored) {
        let suffix = if status { "/status" } else { "" };
        let answer = real.replace_dry(&format!("{path}/x{suffix}"), &object).await;
        let lab = lab_resource(&strict, &object, Some(&stored), status);
        differences.compare(name, &answer, &lab);
    }
    differences.assert_none();
}

#[tokio::test]
async fn definitions_get_the_same_answer() {
    let real = Real::connect().await;
    let mut differences = Differences::default();
    let cases = definitions::cases();
    assert!(cases.len() >= 40, "{} cases", cases.len());
    for (name, crd) in cases {
        let answer = real.create_dry(real::DEFINITIONS, &crd).await;
        differences.compare(name, &answer, &lab_definition(&crd));
    }
    differences.assert_none();
}

#[tokio::test]
async fn definitions_come_to_the_same_status() {
    let real = Real::connect().await;
    let mut others: Vec<Value> = Vec::new();
    let mut differences = Differences::default();
    for (name, crd) in definitions::lives() {
        let created = real.create(real::DEFINITIONS, &crd).await;
        assert_eq!(created.code, 201, "{created}");
        let (new, _) = check_definition(&crd).unwrap();
        let lab = establish(&new, &others, "2024-01-01T00:00:00Z");
        let settled = real.settle(&crd).await;
        let of =
            |crd: &Value| Answer { code: 200, body: real::normal_status(&crd["status"]), warnings: vec![] };
        differences.compare(name, &of(&settled), &of(&lab));
        others.push(lab);
    }
    differences.assert_none();
}

#[test]
fn definitions_and_resources_of_real_releases_are_accepted() {
    let Some(corpus) = corpus("custom resources of real releases in the lab") else { return };
    for release in ["4.20.0", "4.21.0"] {
        let options = LoadOptions {
            release_image: "registry.example.com/release:1".to_owned(),
            profile: "self-managed-high-availability".to_owned(),
        };
        let release = Release::load(&DiskFiles::open(&corpus.join(release)).unwrap(), &options).unwrap();
        let is_kept =
            |object: &&Value| object["metadata"]["annotations"]["release.openshift.io/delete"].is_null();
        let objects: Vec<&Value> =
            release.manifests.iter().map(|manifest| &manifest.object).filter(is_kept).collect();
        let mut kinds: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        let mut wrong = Vec::new();
        let mut definitions = 0;
        for crd in objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition") {
            definitions += 1;
            if let Err(status) = check_definition(crd) {
                wrong.push(format!("{}: {}", crd["metadata"]["name"], status["message"]));
            }
            let spec = &crd["spec"];
            for version in spec["versions"].as_array().unwrap() {
                let key = format!("{}/{} {}", spec["group"], version["name"], spec["names"]["kind"])
                    .replace('"', "");
                kinds.entry(key).or_default().push(crd);
            }
        }
        let mut resources = 0;
        for object in &objects {
            let key = format!("{} {}", object["apiVersion"], object["kind"]).replace('"', "");
            let Some(crds) = kinds.get(&key) else { continue };
            resources += 1;
            // A release has several variants of some definitions, for different feature sets; one of them fits.
            let answers: Vec<_> = crds.iter().map(|crd| check_resource(crd, object, None, false)).collect();
            let is_known = KNOWN_REFUSALS
                .iter()
                .any(|(kind, name)| object["kind"] == *kind && object["metadata"]["name"] == *name);
            match answers.first() {
                Some(Err(status)) if answers.iter().all(Result::is_err) && !is_known => {
                    wrong.push(format!("{key} {}: {}", object["metadata"]["name"], status["message"]));
                }
                _ if is_known && answers.iter().any(Result::is_ok) => {
                    wrong.push(format!(
                        "{key} {}: accepted, the real server refuses it",
                        object["metadata"]["name"]
                    ));
                }
                _ => {}
            }
        }
        assert!(definitions > 100 && resources > 50, "{definitions} definitions, {resources} resources");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// The objects of the releases that the real server refuses as they are written, for a missing required field.
const KNOWN_REFUSALS: [(&str, &str); 13] = [
    ("ClusterOperator", "authentication"),
    ("ClusterOperator", "cloud-credential"),
    ("ClusterOperator", "cluster-autoscaler"),
    ("ClusterOperator", "dns"),
    ("ClusterOperator", "ingress"),
    ("ClusterOperator", "marketplace"),
    ("ClusterOperator", "network"),
    ("ClusterOperator", "operator-lifecycle-manager"),
    ("ClusterOperator", "operator-lifecycle-manager-catalog"),
    ("ClusterOperator", "operator-lifecycle-manager-packageserver"),
    ("ClusterOperator", "service-ca"),
    ("SecurityContextConstraints", "machine-api-termination-handler"),
    ("SecurityContextConstraints", "insights-runtime-extractor-scc"),
];
