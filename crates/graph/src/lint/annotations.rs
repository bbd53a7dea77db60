//! Rules about the annotations that decide whether an object is selected.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::names::{annotation, feature_set, profile};
use lockstep_api::{capability, object};
use lockstep_payload::selection::capability_names;
use lockstep_payload::{Manifest, Selection};

use super::survey::{Place, Survey, has_hidden_annotations, raw_annotations, title};
use super::{Finding, Rule, rules, spelling};

/// The keys under `release.openshift.io/` and `capability.openshift.io/` that mean something in a manifest.
const KEYS: [&str; 8] = [
    annotation::FEATURE_SET,
    annotation::FEATURE_GATE,
    annotation::MAJOR_VERSION,
    annotation::CAPABILITY,
    annotation::DELETE,
    annotation::CREATE_ONLY,
    annotation::BOOTSTRAP_REQUIRED,
    annotation::VERIFICATION_CONFIG_MAP,
];

/// Looks at every manifest, selected or not: what is wrong here is often why it is not selected.
pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    let mut unknown_profiles: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, manifest) in survey.all() {
        let mut report = |rule: &'static Rule, message: String| {
            findings.push(survey.finding(rule, index, Place::default(), message));
        };
        check_form(manifest, &mut report);
        check_inclusion(manifest, &mut report);
        check_features(manifest, survey.release.major_version(), &mut report);
        for (key, _) in raw_annotations(manifest) {
            let Some(name) = key.strip_prefix(annotation::INCLUDE_PREFIX) else { continue };
            if !profile::ALL.contains(&name) && spelling::meant_profile(name).is_none() {
                unknown_profiles.entry(name).or_default().push(index);
            }
        }
    }
    for (name, objects) in unknown_profiles {
        let message = format!(
            "the cluster profile {name:?} is included by {} of this release's objects, this one the first, but no known \
             cluster has it; known are {}. If it is your own, all is well; if not, name one of these",
            objects.len(),
            profile::ALL.join(", ")
        );
        findings.push(survey.finding(&rules::UNKNOWN_PROFILE, objects[0], Place::default(), message));
    }
}

/// Keys and values as such.
fn check_form(manifest: &Manifest, report: &mut impl FnMut(&'static Rule, String)) {
    // A first-generation ClusterOperator is selected although its annotations cannot be read.
    if has_hidden_annotations(manifest) && !manifest.is_first_generation() {
        let bad = raw_annotations(manifest).find(|(_, value)| !value.is_string() && !value.is_null());
        let what = bad.map_or("the annotations are no map".to_owned(), |(key, value)| {
            format!("the annotation {key} has the value {value}, which is not a string")
        });
        let message = format!(
            "{what}. This hides all annotations of {}, so no cluster ever selects it. Put the value in quotes",
            title(manifest)
        );
        report(&rules::ANNOTATION_NOT_A_STRING, message);
    }
    for (key, value) in raw_annotations(manifest) {
        if let Some(meant) = meant_key(key) {
            let message = format!(
                "the annotation {key} means nothing; {meant} is probably meant. Correct its spelling"
            );
            report(&rules::MISTYPED_ANNOTATION, message);
        }
        let Some(value) = value.as_str() else { continue };
        let may_be_false = key.starts_with(annotation::EXCLUDE_PREFIX)
            || [annotation::DELETE, annotation::CREATE_ONLY].contains(&key);
        let counts = key.starts_with(annotation::INCLUDE_PREFIX) || may_be_false;
        if counts && value != "true" && !(may_be_false && value == "false") {
            let message = format!(
                "the annotation {key} has the value {value:?}; only \"true\" counts, so for {} it is as if the \
                 annotation were not there. Write \"true\" or remove it",
                title(manifest)
            );
            report(&rules::ANNOTATION_VALUE_NOT_TRUE, message);
        }
    }
}

/// Whether any profile includes the object; not when a misspelling already explains why not.
fn check_inclusion(manifest: &Manifest, report: &mut impl FnMut(&'static Rule, String)) {
    let explained = raw_annotations(manifest)
        .any(|(key, _)| key.starts_with(annotation::INCLUDE_PREFIX) || meant_key(key).is_some());
    let is_always_there = manifest.is_first_generation() && object::annotations(&manifest.object).is_none();
    if !explained && !is_always_there {
        let message = format!(
            "{} has no annotation {}<profile>, so no cluster ever selects it. Add one with the value \"true\" for each \
             profile, or remove the object",
            title(manifest),
            annotation::INCLUDE_PREFIX
        );
        report(&rules::NO_INCLUDE_ANNOTATION, message);
    }
}

/// Feature sets, gates, major version and capabilities.
fn check_features(manifest: &Manifest, major: u64, report: &mut impl FnMut(&'static Rule, String)) {
    let title = title(manifest);
    let (sets, gates) =
        (manifest.annotation(annotation::FEATURE_SET), manifest.annotation(annotation::FEATURE_GATE));
    if sets.is_some() && gates.is_some() {
        let message = format!(
            "{title} has both {} and {}, so no cluster ever selects it. Keep one of them",
            annotation::FEATURE_SET,
            annotation::FEATURE_GATE
        );
        report(&rules::BOTH_FEATURE_ANNOTATIONS, message);
    }
    for set in sets.into_iter().flat_map(|sets| sets.split(',')).filter(|set| !feature_set::ALL.contains(set))
    {
        let meant = spelling::meant(set.trim(), &feature_set::ALL).or(Some(set.trim()));
        let hint =
            meant.filter(|it| feature_set::ALL.contains(it)).map(|it| format!("; {it} is probably meant"));
        let message = format!(
            "the feature set {set:?} does not exist, so no cluster ever selects {title}{}. Known are {}, separated by \
             commas without blanks",
            hint.unwrap_or_default(),
            feature_set::ALL.join(", ")
        );
        report(&rules::UNKNOWN_FEATURE_SET, message);
    }
    if let Some(gate) = contradictory_gate(gates.unwrap_or_default()) {
        let message = format!(
            "{title} wants the feature gate {gate} both on and off, so no cluster ever selects it. Keep one of the two"
        );
        report(&rules::CONTRADICTORY_FEATURE_GATES, message);
    }
    for name in capability_names(manifest.annotation(annotation::CAPABILITY)) {
        if !capability::KNOWN.contains(&name) {
            let hint =
                spelling::meant(name, &capability::KNOWN).map(|it| format!("; {it} is probably meant"));
            let message = format!(
                "the capability {name:?} does not exist, so no cluster ever selects {title}{}. Known are {}, joined by + \
                 without blanks",
                hint.unwrap_or_default(),
                capability::KNOWN.join(", ")
            );
            report(&rules::UNKNOWN_CAPABILITY, message);
        }
    }
    if let Some(problem) = unusable_major_version(manifest, major) {
        let message = format!(
            "{problem}, so no cluster ever selects {title}. Correct or remove the annotation {}",
            annotation::MAJOR_VERSION
        );
        report(&rules::UNUSABLE_MAJOR_VERSION, message);
    }
}

/// The key that was probably meant, when a key is not one of those that mean something.
fn meant_key(key: &str) -> Option<String> {
    if let Some(name) = key.strip_prefix(annotation::INCLUDE_PREFIX) {
        return spelling::meant_profile(name).map(|name| format!("{}{name}", annotation::INCLUDE_PREFIX));
    }
    if key.starts_with(annotation::EXCLUDE_PREFIX) {
        // Identifiers are free.
        return None;
    }
    let (domain, name) = key.split_once('/')?;
    let prefixes =
        [annotation::INCLUDE_PREFIX, annotation::EXCLUDE_PREFIX].map(|it| it.trim_end_matches('/'));
    if let Some(prefix) = spelling::meant(domain, &prefixes) {
        return Some(format!("{prefix}/{name}"));
    }
    // Other people's domains may use the word as they like.
    let looks_like_ours = domain.starts_with("incl") || domain.contains("release.openshift");
    if looks_like_ours && profile::ALL.contains(&name) {
        return Some(format!("{}{name}", annotation::INCLUDE_PREFIX));
    }
    spelling::meant(key, &KEYS).map(str::to_owned)
}

fn contradictory_gate(value: &str) -> Option<&str> {
    let gates: BTreeSet<&str> = value.split(',').map(str::trim).collect();
    gates.iter().copied().find(|gate| !gate.is_empty() && gates.contains(format!("-{gate}").as_str()))
}

/// What the filter says about the annotation, unless it is only for another major version.
fn unusable_major_version(manifest: &Manifest, major: u64) -> Option<String> {
    let value = manifest.annotation(annotation::MAJOR_VERSION)?;
    let filter = |version| Selection { major_version: Some(version), ..Selection::default() };
    // A usable annotation lets some version pass: one that it names, or one that nobody names.
    let named = value.split(',').filter_map(|version| version.trim().parse().ok());
    if named.chain([u64::MAX]).any(|version| filter(version).check(manifest).is_ok()) {
        return None;
    }
    filter(major).check(manifest).err().map(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{HA, Objects, a_crd, annotated, found, found_anywhere, ids, object};

    fn a_map() -> Value {
        object("v1", "ConfigMap", "default", "a")
    }

    fn rules_of(object: Value) -> Vec<&'static str> {
        let release = Objects::new().file("0000_90_a_1.yaml", &[object]).release();
        let (one, all) = (found(&release), found_anywhere(&release));
        assert_eq!(ids(&one), ids(&all));
        one.into_iter().map(|finding| finding.rule.id).collect()
    }

    fn only(annotations: Value) -> Value {
        let mut object = a_map();
        object["metadata"]["annotations"] = annotations;
        object
    }

    #[test]
    fn a_misspelled_key_is_found_and_the_correct_one_is_not() {
        for key in [
            "include.release.openshift.io/self-managed-high-availabilty",
            "inlcude.release.openshift.io/hypershift",
            "include.openshift.io/ibm-cloud-managed",
            "included-in.release.openshift.io/hypershift",
            "release.openshift.io/feature-gates",
            "release.openshift.io/create_only",
            "capability.openshift.io/names",
        ] {
            assert_eq!(rules_of(annotated(a_map(), key, "true")), ["mistyped-annotation"], "{key}");
        }
        for key in [
            "include.release.openshift.io/hypershift",
            "exclude.release.openshift.io/hypershift",
            "exclude.release.openshift.io/self-managed-high-availabilty",
            "release.openshift.io/bootstrap-required",
            "config.openshift.io/inject-proxy",
            "example.com/hypershift",
            "release.example.com/hypershift",
            "no-slash",
        ] {
            assert_eq!(rules_of(annotated(a_map(), key, "true")), [""; 0], "{key}");
        }
    }

    #[test]
    fn an_object_whose_only_include_annotation_is_misspelled_is_reported_once() {
        let object = only(json!({"include.release.openshift.io/self-managed-high-availabilty": "true"}));
        assert_eq!(rules_of(object), ["mistyped-annotation"]);
    }

    #[test]
    fn a_profile_of_ones_own_is_told_once() {
        let own = |name| {
            annotated(object("v1", "ConfigMap", "default", name), "include.release.openshift.io/edge", "true")
        };
        let release = Objects::new().file("0000_90_a_1.yaml", &[own("a"), own("b")]).release();
        assert_eq!(ids(&found(&release)), [("unknown-profile", "a")]);
    }

    #[test]
    fn only_true_is_true() {
        assert_eq!(
            rules_of(annotated(a_map(), "include.release.openshift.io/hypershift", "yes")),
            ["annotation-value-not-true"]
        );
        assert_eq!(
            rules_of(annotated(a_map(), "release.openshift.io/delete", "True")),
            ["annotation-value-not-true"]
        );
        assert_eq!(rules_of(annotated(a_map(), "release.openshift.io/create-only", "false")), [""; 0]);
    }

    #[test]
    fn one_value_that_is_no_string_hides_the_object() {
        assert_eq!(rules_of(annotated(a_map(), "a", true)), ["annotation-not-a-string"]);
        assert_eq!(rules_of(annotated(a_map(), "a", "true")), [""; 0]);
        assert_eq!(rules_of(annotated(a_map(), "a", Value::Null)), [""; 0]);
        assert_eq!(rules_of(only(json!(["a"]))), ["annotation-not-a-string", "no-include-annotation"]);
    }

    #[test]
    fn an_object_without_a_profile_is_found_unless_it_is_of_the_first_generation() {
        for annotations in [Value::Null, json!({}), json!({"a": "b"})] {
            assert_eq!(rules_of(only(annotations)), ["no-include-annotation"]);
        }
        let mut first = object("operatorstatus.openshift.io/v1", "ClusterOperator", "default", "a");
        first["metadata"]["annotations"] = Value::Null;
        assert!(!rules_of(first).contains(&"no-include-annotation"));
    }

    #[test]
    fn feature_sets_that_do_not_exist_are_found() {
        let sets = |value: &str| rules_of(annotated(a_map(), "release.openshift.io/feature-set", value));
        assert_eq!(sets("TechPreview"), ["unknown-feature-set"]);
        assert_eq!(sets("Default, OKD"), ["unknown-feature-set"]);
        assert_eq!(sets("Default,OKD"), [""; 0]);
    }

    #[test]
    fn feature_sets_and_gates_exclude_each_other() {
        let sets = annotated(a_map(), "release.openshift.io/feature-set", "Default");
        assert_eq!(
            rules_of(annotated(sets, "release.openshift.io/feature-gate", "A")),
            ["both-feature-annotations"]
        );
        assert_eq!(rules_of(annotated(a_map(), "release.openshift.io/feature-gate", "-A, B")), [""; 0]);
        let never = annotated(a_map(), "release.openshift.io/feature-gate", "A, -A");
        assert_eq!(rules_of(never), ["contradictory-feature-gates"]);
    }

    #[test]
    fn capabilities_that_do_not_exist_are_found() {
        let names = |value: &str| rules_of(annotated(a_map(), "capability.openshift.io/name", value));
        assert_eq!(names("console"), ["unknown-capability"]);
        assert_eq!(names("Console + Ingress"), ["unknown-capability", "unknown-capability"]);
        assert_eq!(names("Console+Ingress"), [""; 0]);
        assert_eq!(names(""), [""; 0]);
    }

    #[test]
    fn a_major_version_must_be_readable_and_on_a_kind_that_can_have_one() {
        let key = "release.openshift.io/major-version";
        assert_eq!(rules_of(annotated(a_map(), key, "4")), ["unusable-major-version"]);
        let mut crd = a_crd("example.com", "Foo", "v1");
        crd["metadata"]["annotations"] = json!({HA: "true"});
        for bad in ["four", "4,-4", "5,-5"] {
            assert_eq!(rules_of(annotated(crd.clone(), key, bad)), ["unusable-major-version"], "{bad}");
        }
        for good in ["4", "5", "-4", "3,4", ""] {
            assert_eq!(rules_of(annotated(crd.clone(), key, good)), [""; 0], "{good}");
        }
    }
}
