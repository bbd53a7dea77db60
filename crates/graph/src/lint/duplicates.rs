//! Rules about one object that several manifests name.

use super::dependency::is_before;
use super::survey::{Survey, component, is_workload, title};
use super::{Finding, rules};

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    for same in survey.same_objects() {
        for (position, second) in same.iter().enumerate() {
            for first in &same[..position] {
                findings.extend(check_pair(survey, *first, *second));
            }
        }
    }
    check_tombstones(survey, findings);
}

/// Two manifests of one object, in load order, where both are selected.
fn check_pair(survey: &Survey<'_>, first: usize, second: usize) -> Option<Finding> {
    let (one, other) = (survey.manifest(first), survey.manifest(second));
    let place = survey.find(&[first, second], &[])?;
    let (title, file) = (title(one), &one.file);
    let found = |rule, index, message| Some(survey.finding(rule, index, place, message));
    if one.is_delete() != other.is_delete() {
        let (tombstone, creator) = if one.is_delete() { (first, other) } else { (second, one) };
        let message = format!(
            "{title} is deleted here and created by {}. The two undo each other for ever. Remove one of them, or select \
             them in different clusters",
            creator.file
        );
        return found(&rules::DELETE_OF_CREATED_OBJECT, tombstone, message);
    }
    let fights = !one.is_delete() && !one.is_create_only() && !other.is_create_only();
    if fights && one.object != other.object {
        let message = format!(
            "{title} is also in {file}, with other content. Each of the two overwrites the other for ever. Keep one of \
             them, or select them in different clusters"
        );
        return found(&rules::CONFLICTING_OBJECTS, second, message);
    }
    let message = format!(
        "{title} is also in {file}. Nothing breaks, but one of the two is superfluous. Keep one of them"
    );
    found(&rules::SAME_OBJECT_TWICE, second, message)
}

/// A component that replaces a workload must delete the old one first: the new one may wait for a lease that the old
/// one holds.
fn check_tombstones(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    let tombstones = survey.all().filter(|(_, manifest)| manifest.is_delete() && is_workload(manifest));
    for (tombstone, old) in tombstones {
        let replaces = |new: usize| {
            let manifest = survey.manifest(new);
            is_workload(manifest)
                && !manifest.is_delete()
                && manifest.id != old.id
                && component(manifest) == component(old)
                && is_before(survey, new, tombstone)
        };
        // Another namespace or another name: either way the pods of the two run at the same time.
        let replacement = (0..tombstone).rev().filter(|new| replaces(*new));
        let Some((new, place)) =
            replacement.into_iter().find_map(|new| Some((new, survey.find(&[tombstone, new], &[])?)))
        else {
            continue;
        };
        let message = format!(
            "{} is deleted only after {} of the same component was applied by {}. If the new one waits for something \
             that the old one holds, such as a lease, both are stuck. Let the file that deletes sort before the other",
            title(old),
            title(survey.manifest(new)),
            survey.manifest(new).file
        );
        findings.push(survey.finding(&rules::TOMBSTONE_AFTER_REPLACEMENT, tombstone, place, message));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{
        HYPERSHIFT, Objects, a_cluster_operator, a_deployment, annotated, cluster_operator_crd, found,
        found_anywhere, ids, object, with,
    };

    const DELETE: &str = "release.openshift.io/delete";
    const CREATE_ONLY: &str = "release.openshift.io/create-only";
    const FEATURE_SET: &str = "release.openshift.io/feature-set";
    const NONE: [(&str, &str); 0] = [];

    fn a_map(value: &str) -> Value {
        with(object("v1", "ConfigMap", "default", "a"), "data", json!({"key": value}))
    }

    fn two(first: Value, second: Value) -> Vec<(&'static str, Option<String>)> {
        let release =
            Objects::new().file("0000_90_a_1.yaml", &[first]).file("0000_90_a_2.yaml", &[second]).release();
        let found = found_anywhere(&release).into_iter();
        found.map(|it| (it.rule.id, it.combination)).collect()
    }

    #[test]
    fn equal_objects_are_superfluous_and_different_ones_fight() {
        assert_eq!(two(a_map("1"), a_map("1")), [("same-object-twice", None)]);
        assert_eq!(two(a_map("1"), a_map("2")), [("conflicting-objects", None)]);
        let once = annotated(a_map("2"), CREATE_ONLY, "true");
        assert_eq!(two(a_map("1"), once), [("same-object-twice", None)]);
    }

    #[test]
    fn variants_that_never_meet_are_fine() {
        let variant = |set: &str| annotated(a_map(set), FEATURE_SET, set);
        assert_eq!(two(variant("Default"), variant("TechPreviewNoUpgrade")), []);
        let meets = two(variant("Default,OKD"), variant("OKD"));
        let place = "profile self-managed-high-availability, feature set OKD".to_owned();
        assert_eq!(meets, [("conflicting-objects", Some(place))]);
    }

    #[test]
    fn in_one_cluster_only_what_is_selected_there_meets() {
        let variant = |set: &str| annotated(a_map(set), FEATURE_SET, set);
        let release = Objects::new()
            .file("0000_90_a_1.yaml", &[variant("Default,OKD")])
            .file("0000_90_a_2.yaml", &[variant("OKD")])
            .release();
        assert_eq!(ids(&found(&release)), NONE);
    }

    #[test]
    fn a_delete_and_a_create_of_one_object_are_an_error_where_both_are_selected() {
        let delete = annotated(object("v1", "ConfigMap", "default", "a"), DELETE, "true");
        assert_eq!(two(a_map("1"), delete.clone()), [("delete-of-created-object", None)]);
        assert_eq!(two(delete.clone(), a_map("1")), [("delete-of-created-object", None)]);
        let mut elsewhere = delete;
        elsewhere["metadata"]["annotations"] = json!({HYPERSHIFT: "true", DELETE: "true"});
        assert_eq!(two(a_map("1"), elsewhere), []);
    }

    #[test]
    fn a_tombstone_belongs_before_the_replacement() {
        let tombstone = annotated(a_deployment("old"), DELETE, "true");
        let operator = a_cluster_operator("a");
        let crd = cluster_operator_crd();
        let new = a_deployment("new");
        let release = |first: &Value, second: &Value| {
            Objects::new()
                .file("0000_60_a_0.yaml", std::slice::from_ref(&crd))
                .file("0000_60_a_1.yaml", std::slice::from_ref(first))
                .file("0000_60_a_2.yaml", std::slice::from_ref(second))
                .file("0000_60_a_3.yaml", std::slice::from_ref(&operator))
                .release()
        };
        assert_eq!(ids(&found(&release(&new, &tombstone))), [("tombstone-after-replacement", "old")]);
        assert_eq!(ids(&found(&release(&tombstone, &new))), NONE);
    }
}
