//! The algebra against the filters, and the search against trying everything.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::manifest::Folder;
use crate::yaml::Document;

const GATES: [&str; 3] = ["A", "CRDCompatibilityRequirementOperator", "ClusterAPIMachineManagement"];
const CAPABILITIES: [&str; 3] = ["Console", "CompatibilityRequirements", "ClusterAPI"];

impl Space {
    /// The smallest cluster in which `object` is selected and none of `without`.
    fn present_without(&self, object: &Presence, without: &[&Presence]) -> Option<Combination> {
        let found = self.find(&[object], without, 100_000);
        assert!(found.is_complete);
        found.cluster
    }
}

fn manifest(annotations: Value) -> Manifest {
    let mut value = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "a"}});
    value["metadata"]["annotations"] = annotations;
    let document = Document { value, index: 0, line: 1, json: None };
    Manifest::from_document(Folder::ReleaseManifests, &Arc::from("a.yaml"), document).unwrap()
}

fn space() -> Space {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Space::new(set(&["hypershift", "self-managed-high-availability"]), set(&["hosted"]), 4)
}

fn presence(annotations: Value) -> Presence {
    space().presence(&manifest(annotations))
}

/// Included in both profiles, with further annotations.
fn everywhere(more: &[(&str, &str)]) -> Presence {
    let mut annotations = json!({"include.release.openshift.io/hypershift": "true",
        "include.release.openshift.io/self-managed-high-availability": "true"});
    for (key, value) in more {
        annotations[*key] = json!(value);
    }
    presence(annotations)
}

/// Every cluster over the names of these tests.
fn all_combinations() -> Vec<Combination> {
    let subsets = |names: [&'static str; 3]| {
        (0..8).map(move |bits| {
            let is_in = |index: &usize| bits & (1 << index) != 0;
            (0..3).filter(is_in).map(|index| names[index].to_owned()).collect::<BTreeSet<_>>()
        })
    };
    let space = space();
    let mut all = Vec::new();
    for profile in &space.profiles {
        for exclude in &space.excludes {
            for feature_set in feature_set::ALL {
                for gates in subsets(GATES) {
                    for disabled in subsets(CAPABILITIES) {
                        all.push(Combination {
                            profile: profile.clone(),
                            feature_set,
                            exclude: exclude.clone(),
                            gates: gates.clone(),
                            disabled,
                        });
                    }
                }
            }
        }
    }
    all
}

#[test]
fn an_object_is_missed_where_its_only_provider_needs_a_capability() {
    let (user, provider) = (everywhere(&[]), everywhere(&[("capability.openshift.io/name", "Console")]));
    let found = space().present_without(&user, &[&provider]).unwrap();
    assert_eq!(
        found.to_string(),
        "profile self-managed-high-availability, feature set Default, capability Console off"
    );
    assert_eq!(space().present_without(&provider, &[&user]), None);
}

#[test]
fn variants_of_a_provider_that_cover_all_feature_sets_together_leave_no_gap() {
    let variant = |sets| everywhere(&[("release.openshift.io/feature-set", sets)]);
    let user = everywhere(&[]);
    let (default, preview) =
        (variant("Default,OKD"), variant("CustomNoUpgrade,DevPreviewNoUpgrade,TechPreviewNoUpgrade"));
    assert_eq!(space().present_without(&user, &[&default, &preview]), None);
    let without_custom = variant("DevPreviewNoUpgrade,TechPreviewNoUpgrade");
    let found = space().present_without(&user, &[&default, &without_custom]).unwrap();
    assert_eq!(found.feature_set, "CustomNoUpgrade");
}

#[test]
fn the_first_generation_operator_is_present_in_every_profile() {
    let value = json!({"apiVersion": "operatorstatus.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "a"}});
    let document = Document { value, index: 0, line: 1, json: None };
    let operator = Manifest::from_document(Folder::ReleaseManifests, &Arc::from("a.yaml"), document).unwrap();
    let found = space().presence(&operator);
    assert!(all_combinations().iter().all(|cluster| found.holds(cluster)));
}

#[test]
fn a_gated_capability_is_on_only_with_one_of_its_gates() {
    let needs = everywhere(&[("capability.openshift.io/name", "CompatibilityRequirements")]);
    let found = space().present_without(&needs, &[]).unwrap();
    assert_eq!(found.gates.len(), 1, "{found}");
    assert!(needs.holds(&found));
    assert_eq!(space().present_without(&everywhere(&[]), &[&needs]), Some(space().default_combination()));
}

#[test]
fn what_the_filters_never_select_is_never_present() {
    for annotations in [
        Value::Null,
        json!({}),
        json!({"include.release.openshift.io/hypershift": true}),
        json!({"include.release.openshift.io/hypershift": "yes"}),
        json!({"include.release.openshift.io/hypershift": "true", "release.openshift.io/feature-set": "Other"}),
        json!({"include.release.openshift.io/hypershift": "true", "release.openshift.io/feature-gate": "A,-A"}),
        json!({"include.release.openshift.io/hypershift": "true", "release.openshift.io/major-version": "5"}),
        json!({"include.release.openshift.io/hypershift": "true", "capability.openshift.io/name": "console"}),
    ] {
        let found = presence(annotations.clone());
        assert_eq!(space().present_without(&found, &[]), None, "{annotations}");
        assert!(!all_combinations().iter().any(|cluster| found.holds(cluster)), "{annotations}");
    }
}

#[test]
fn a_hundred_variants_are_decided_at_once() {
    let user = everywhere(&[]);
    let variants: Vec<Presence> = (0..100)
        .map(|n| everywhere(&[("release.openshift.io/feature-gate", &format!("A{n},-B{n},C{n}"))]))
        .collect();
    let variants: Vec<&Presence> = variants.iter().collect();
    assert_eq!(space().present_without(&user, &variants), Some(space().default_combination()));
}

/// Variants of which each goes away only with a gate of its own.
fn pairs(count: usize) -> Vec<Presence> {
    let gates = |n: usize| format!("-A{n},-B{n}");
    (0..count).map(|n| everywhere(&[("release.openshift.io/feature-gate", &gates(n))])).collect()
}

#[test]
fn sixty_variants_with_a_choice_each_are_decided_in_few_steps() {
    let (user, variants) = (everywhere(&[]), pairs(60));
    let found = space().find(&[&user], &variants.iter().collect::<Vec<_>>(), usize::MAX);
    assert_eq!(found.cluster.map(|cluster| cluster.gates.len()), Some(60));
    assert!(found.is_complete);
    assert!(found.steps < 1_000, "{}", found.steps);
}

#[test]
fn a_search_that_may_not_go_on_says_so() {
    let (user, variants) = (everywhere(&[]), pairs(3));
    let variants: Vec<_> = variants.iter().collect();
    let needed = space().find(&[&user], &variants, usize::MAX).steps;
    assert!(space().find(&[&user], &variants, needed).is_complete);
    let cut = space().find(&[&user], &variants, needed - 1);
    assert!(!cut.is_complete);
    assert!(cut.cluster.is_some(), "what was found so far stays found");
    let nothing = space().find(&[&user], &variants, 1);
    assert_eq!((nothing.cluster, nothing.steps, nothing.is_complete), (None, 1, false));
}

fn any_annotations() -> impl Strategy<Value = Value> {
    let maybe = |key: &'static str, values: &'static [&'static str]| prop_oneof![2 => Just(None), 3 => prop::sample::select(values).prop_map(move |value| Some((key, value)))];
    (
        maybe("include.release.openshift.io/self-managed-high-availability", &["true", "true", "no"]),
        maybe("include.release.openshift.io/hypershift", &["true"]),
        maybe("exclude.release.openshift.io/hosted", &["true", "false"]),
        maybe("release.openshift.io/feature-set", &["Default", "OKD,Default", "TechPreviewNoUpgrade", "x"]),
        maybe(
            "release.openshift.io/feature-gate",
            &["A", "-A", "", "A,-ClusterAPIMachineManagement", "ClusterAPIMachineManagement", "A,-A"],
        ),
        maybe(
            "capability.openshift.io/name",
            &["Console", "Console+ClusterAPI", "CompatibilityRequirements", "none"],
        ),
        maybe("release.openshift.io/major-version", &["4", "-4", "5"]),
    )
        .prop_map(|(a, b, c, d, e, f, g)| {
            // Feature set and gates together are never selected; seldom is enough.
            let e = if d.is_some() && c.is_none() { None } else { e };
            let g = if a.is_some() { None } else { g };
            [a, b, c, d, e, f, g].into_iter().flatten().map(|(key, value)| (key, json!(value))).collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn presence_says_of_every_cluster_what_the_filters_say(annotations in any_annotations()) {
        let manifest = manifest(annotations);
        let found = space().presence(&manifest);
        for cluster in all_combinations().iter().step_by(7) {
            let selected = cluster.selection(&space()).check(&manifest).is_ok();
            prop_assert_eq!(found.holds(cluster), selected, "{}", cluster);
        }
    }

    #[test]
    fn search_finds_the_smallest_cluster_that_trying_all_finds(
        present in prop::collection::vec(any_annotations(), 1..3),
        absent in prop::collection::vec(any_annotations(), 0..5),
    ) {
        let of = |all: Vec<Value>| all.into_iter().map(presence).collect::<Vec<_>>();
        let (present, absent) = (of(present), of(absent));
        let fits = |cluster: &Combination| {
            present.iter().all(|one| one.holds(cluster)) && !absent.iter().any(|one| one.holds(cluster))
        };
        let space = space();
        let expected = all_combinations().iter().filter(|cluster| fits(cluster)).map(|cluster| cluster.deviations(&space)).min();
        let found = space.find(&present.iter().collect::<Vec<_>>(), &absent.iter().collect::<Vec<_>>(), usize::MAX).cluster;
        prop_assert!(found.as_ref().is_none_or(fits));
        prop_assert_eq!(found.map(|cluster| cluster.deviations(&space)), expected);
    }
}
