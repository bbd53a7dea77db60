//! The decision tables of the specification, row by row.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::manifest::Folder;
use crate::yaml::Document;

const HA: &str = "include.release.openshift.io/self-managed-high-availability";
const CAPABILITY: &str = "capability.openshift.io/name";
const FEATURE_SET: &str = "release.openshift.io/feature-set";
const FEATURE_GATE: &str = "release.openshift.io/feature-gate";
const MAJOR_VERSION: &str = "release.openshift.io/major-version";

fn manifest(object: Value) -> Manifest {
    let document = Document { value: object, index: 0, line: 1, json: None };
    Manifest::from_document(Folder::ReleaseManifests, &Arc::from("a.yaml"), document).unwrap()
}

fn a_deployment(annotations: &Value) -> Manifest {
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "my-namespace", "name": "my-deployment"}});
    if !annotations.is_null() {
        object["metadata"]["annotations"] = annotations.clone();
    }
    manifest(object)
}

fn a_crd(annotations: &Value) -> Manifest {
    manifest(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "a", "annotations": annotations}}))
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn profile(name: &str) -> Selection {
    Selection { profile: Some(name.to_owned()), ..Selection::default() }
}

fn ha() -> Selection {
    profile("self-managed-high-availability")
}

fn capabilities(known: &[&str], enabled: &[&str]) -> Selection {
    let filter = CapabilityFilter { known: Some(set(known)), enabled: set(enabled) };
    Selection { capabilities: Some(filter), ..Selection::default() }
}

fn gates(names: &[&str]) -> Selection {
    Selection { feature_gates: Some(set(names)), ..Selection::default() }
}

fn feature_set(name: &str) -> Selection {
    Selection { feature_set: Some(name.to_owned()), ..ha() }
}

fn entry(group: &str, kind: &str, namespace: &str, name: &str, unmanaged: bool) -> Override {
    let [group, kind, namespace, name] = [group, kind, namespace, name].map(str::to_owned);
    Override { group, kind, namespace, name, unmanaged, ..Override::default() }
}

fn overridden(group: &str, kind: &str, namespace: &str, name: &str, unmanaged: bool) -> Selection {
    Selection { overrides: vec![entry(group, kind, namespace, name, unmanaged)], ..Selection::default() }
}

fn outcome(selection: &Selection, manifest: &Manifest) -> String {
    selection.check(manifest).map_or_else(|reason| reason.to_string(), |()| "included".to_owned())
}

#[test]
fn inclusion_decisions_of_the_specification() {
    let exclude = Selection { exclude: Some("identifier".to_owned()), ..ha() };
    let exclude_and_capabilities =
        Selection { capabilities: Some(CapabilityFilter::default()), ..exclude.clone() };
    let excluded = json!({"exclude.release.openshift.io/identifier": "true", HA: "true"});
    let tech_preview = json!({HA: "true", FEATURE_SET: "TechPreviewNoUpgrade"});
    let other = json!({HA: "true", FEATURE_SET: "Other"});
    let unknown = "unrecognized value \"Other\" in release.openshift.io/feature-set=Other; known values are: \
                   CustomNoUpgrade,Default,DevPreviewNoUpgrade,OKD,TechPreviewNoUpgrade";
    let allow_unknown = Selection {
        capabilities: Some(CapabilityFilter { known: None, enabled: set(&["cap1", "cap3"]) }),
        ..Selection::default()
    };
    let both = Selection { feature_gates: Some(set(&["FeatureGate1"])), ..feature_set("FeatureSet1") };
    let cases = [
        (&exclude, excluded.clone(), "exclude.release.openshift.io/identifier=true"),
        (&exclude_and_capabilities, excluded, "exclude.release.openshift.io/identifier=true"),
        (&exclude, json!({"exclude.release.openshift.io/identifier": "false", HA: "true"}), "included"),
        (&profile("single-node"), json!({HA: "true"}), "include.release.openshift.io/single-node unset"),
        (&Selection::default(), json!({HA: "true"}), "included"),
        (&ha(), json!({HA: "true"}), "included"),
        (
            &ha(),
            json!({HA: "false-except-for-the-config-operator"}),
            "unrecognized value include.release.openshift.io/self-managed-high-availability=false-except-for-the-config-operator",
        ),
        (&feature_set(""), json!({HA: "true"}), "included"),
        (&feature_set("TechPreviewNoUpgrade"), json!({HA: "true"}), "included"),
        (
            &feature_set(""),
            tech_preview.clone(),
            "\"Default\" is required, and release.openshift.io/feature-set=TechPreviewNoUpgrade",
        ),
        (&feature_set("TechPreviewNoUpgrade"), tech_preview, "included"),
        (&feature_set(""), other.clone(), unknown),
        (&feature_set("TechPreviewNoUpgrade"), other, unknown),
        (
            &feature_set("OKD"),
            json!({FEATURE_SET: "TechPreviewNoUpgrade,Default"}),
            "\"OKD\" is required, and release.openshift.io/feature-set=Default,TechPreviewNoUpgrade",
        ),
        (&ha(), json!({}), "include.release.openshift.io/self-managed-high-availability unset"),
        (&ha(), Value::Null, "no annotations"),
        (&Selection::default(), Value::Null, "no annotations"),
        (&Selection::default(), json!({HA: true}), "no annotations"),
        (&Selection::default(), json!({HA: "true", CAPABILITY: "cap1"}), "included"),
        (&capabilities(&["cap1"], &[]), json!({CAPABILITY: "cap1"}), "disabled capabilities: cap1"),
        (&capabilities(&["cap1"], &["cap1"]), json!({CAPABILITY: "cap1"}), "included"),
        (&capabilities(&["cap1"], &[]), json!({CAPABILITY: ""}), "included"),
        (
            &capabilities(&["cap1", "cap3"], &["cap1", "cap3"]),
            json!({CAPABILITY: "cap1+cap2"}),
            "unrecognized capability names: cap2",
        ),
        (
            &capabilities(&["cap1", "cap2", "cap3"], &["cap1", "cap3"]),
            json!({CAPABILITY: "cap1+cap2"}),
            "disabled capabilities: cap2",
        ),
        (
            &capabilities(&["cap1", "cap2", "cap3"], &["cap1", "cap2", "cap3"]),
            json!({CAPABILITY: "cap1+cap2+cap3"}),
            "included",
        ),
        (&allow_unknown, json!({CAPABILITY: "cap1+cap2"}), "disabled capabilities: cap2"),
        (&overridden("", "Pod", "my-namespace", "my-pod", true), json!({}), "included"),
        (&overridden("apps", "Deployment", "my-namespace", "my-deployment", false), json!({}), "included"),
        (&overridden("apps", "Deployment", "my-namespace", "my-deployment", true), json!({}), "overridden"),
        (&overridden("apps/v1", "Deployment", "my-namespace", "my-deployment", true), json!({}), "included"),
        (
            &gates(&["FeatureGate1"]),
            json!({FEATURE_GATE: "FeatureGate2"}),
            "feature gate FeatureGate2 is required but not enabled",
        ),
        (
            &gates(&["FeatureGate1"]),
            json!({FEATURE_GATE: "-FeatureGate1"}),
            "feature gate FeatureGate1 is enabled but manifest requires it to be disabled",
        ),
        (&gates(&["FeatureGate1"]), json!({FEATURE_GATE: "FeatureGate1"}), "included"),
        (
            &both,
            json!({FEATURE_SET: "FeatureSet1", FEATURE_GATE: "FeatureGate1"}),
            "both feature set and feature gate annotations are present: manifests may specify either a feature set or \
             a feature gate, but not both",
        ),
    ];
    for (selection, annotations, expected) in cases {
        assert_eq!(outcome(selection, &a_deployment(&annotations)), expected, "{annotations}");
    }
}

#[test]
fn feature_gate_expressions_are_conjunctions() {
    let missing = |gate: &str| format!("feature gate {gate} is required but not enabled");
    let enabled =
        |gate: &str| format!("feature gate {gate} is enabled but manifest requires it to be disabled");
    let ok = || "included".to_owned();
    let cases: [(&[&str], &str, String); 9] = [
        (&["gate1", "gate2"], "", ok()),
        (&["gate1", "gate2"], "gate1,gate2,-gate3", ok()),
        (&["gate1"], "gate1,gate2,-gate3", missing("gate2")),
        (&["gate1", "gate2", "gate3"], "gate1,gate2,-gate3", enabled("gate3")),
        (&["gate1", "gate2"], " gate1 , gate2 , -gate3 ", ok()),
        (&["gate1"], "gate1,,", ok()),
        (&["New"], "New,Alternative", missing("Alternative")),
        (&["A"], "A,-B", ok()),
        (&["A", "B"], "A,-B", enabled("B")),
    ];
    for (on, expression, expected) in cases {
        let manifest = a_deployment(&json!({FEATURE_GATE: expression}));
        assert_eq!(outcome(&gates(on), &manifest), expected, "{on:?} {expression:?}");
    }
}

#[test]
fn major_version_expressions_include_before_they_exclude() {
    let no_match = |major: u64| format!("major version {major} does not match any required versions");
    let excluded = |major: u64| format!("major version {major} matches excluded version {major}");
    let ok = || "included".to_owned();
    let cases = [
        (4, "4", ok()),
        (4, "5", no_match(4)),
        (4, "4,5,6", ok()),
        (4, "3,4,5", ok()),
        (4, "5,6,4", ok()),
        (4, "5,6,7", no_match(4)),
        (4, "-4", excluded(4)),
        (4, "-5", ok()),
        (4, "-4,-5,-6", excluded(4)),
        (4, "-5,-6,-7", ok()),
        (4, "4,-5", ok()),
        (4, "4,-4", "inclusion and exclusion requirements overlap: [4]".to_owned()),
        (4, "5,-6", no_match(4)),
        (4, " 4 , 5 , -6 ", ok()),
        (4, "4,,5", ok()),
        (4, "abc", "invalid included major version \"abc\" in annotation: not a number".to_owned()),
        (4, "-abc", "invalid excluded major version \"abc\" in annotation: not a number".to_owned()),
        (0, "0", ok()),
        (999, "999", ok()),
        (4, "4,5,-3", ok()),
        (3, "4,5,-3", excluded(3)),
        (4, "5,6,7,8,9,10", no_match(4)),
    ];
    for (major, expression, expected) in cases {
        let selection = Selection { major_version: Some(major), ..Selection::default() };
        assert_eq!(
            outcome(&selection, &a_crd(&json!({MAJOR_VERSION: expression}))),
            expected,
            "{expression:?}"
        );
    }
    let four = Selection { major_version: Some(4), ..Selection::default() };
    assert_eq!(outcome(&four, &a_crd(&json!({}))), "included");
    assert_eq!(outcome(&Selection::default(), &a_crd(&json!({MAJOR_VERSION: "5"}))), "included");
    assert_eq!(
        outcome(&four, &a_deployment(&json!({MAJOR_VERSION: "4"}))),
        "major version filtering is only supported for feature gates and custom resources"
    );
    let gated = Selection { feature_gates: Some(set(&[])), ..four };
    assert_eq!(
        outcome(&gated, &a_crd(&json!({MAJOR_VERSION: "5", FEATURE_GATE: "G"}))),
        "feature gate G is required but not enabled",
        "gates come first"
    );
}

#[test]
fn a_feature_gate_object_may_name_major_versions() {
    let object = manifest(json!({"apiVersion": "config.openshift.io/v1", "kind": "FeatureGate",
        "metadata": {"name": "cluster", "annotations": {MAJOR_VERSION: "4"}}}));
    let five = Selection { major_version: Some(5), ..Selection::default() };
    assert_eq!(outcome(&five, &object), "major version 5 does not match any required versions");
}

#[test]
fn a_cluster_scoped_object_matches_an_override_with_any_namespace_and_the_first_entry_counts() {
    let role = manifest(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "r", "annotations": {}}}));
    let entry = |namespace: &str, unmanaged: bool| {
        entry("rbac.authorization.k8s.io", "ClusterRole", namespace, "r", unmanaged)
    };
    let select = |overrides: Vec<Override>| Selection { overrides, ..Selection::default() };
    assert_eq!(outcome(&select(vec![entry("any", true)]), &role), "overridden");
    assert_eq!(outcome(&select(vec![entry("", false), entry("", true)]), &role), "included");
}

#[test]
fn a_first_generation_operator_needs_no_annotations_but_can_be_overridden() {
    let operator =
        manifest(json!({"apiVersion": "operatorstatus.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "o", "namespace": "n"}, "status": {"version": "1.0.0"}}));
    assert_eq!(outcome(&feature_set(""), &operator), "included");
    assert_eq!(
        outcome(&overridden("operatorstatus.openshift.io", "ClusterOperator", "n", "o", true), &operator),
        "overridden"
    );
    let second = manifest(json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "o"}}));
    assert_eq!(outcome(&ha(), &second), "no annotations");
}

#[test]
fn capability_annotations_split_at_plus_without_trimming() {
    assert_eq!(capability_names(None), Vec::<&str>::new());
    assert_eq!(capability_names(Some("")), Vec::<&str>::new());
    assert_eq!(capability_names(Some("cap1+cap2")), ["cap1", "cap2"]);
    assert_eq!(capability_names(Some("cap1 + cap2")), ["cap1 ", " cap2"]);
}

#[test]
fn rendered_definitions_of_the_specification() {
    // Major version, the annotations of the definitions, those that are written.
    let cases: [(Option<u64>, &[&str], &[&str]); 5] = [
        (Some(4), &["4", "5", ""], &["4", ""]),
        (Some(5), &["4", "5"], &["5"]),
        (None, &["4", "5"], &["4", "5"]),
        (Some(4), &["-3", "4"], &["-3", "4"]),
        (Some(4), &["4,5", "-3", "6"], &["4,5", "-3"]),
    ];
    for (major_version, definitions, expected) in cases {
        let render = Selection { major_version, feature_gates: Some(set(&[])), ..feature_set("") };
        let is_written = |major: &&&str| {
            let annotations = if major.is_empty() {
                json!({HA: "true"})
            } else {
                json!({HA: "true", MAJOR_VERSION: major})
            };
            outcome(&render, &a_crd(&annotations)) == "included"
        };
        let written: Vec<&str> = definitions.iter().filter(is_written).copied().collect();
        assert_eq!(written, expected, "{major_version:?}");
    }
}
