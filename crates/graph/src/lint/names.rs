//! Rules about file names: run level and component.

use std::collections::BTreeMap;

use lockstep_api::names::{file, object};
use lockstep_payload::RunLevel;

use super::survey::{Place, Survey};
use super::{Finding, rules};

/// Run levels that are assigned, to whom, and the words by which their components are known.
///
/// Level 60–69 belongs to the core operators of the platform, which no list of words tells apart from others.
const ASSIGNED: [(u32, u32, &str, &[&str]); 8] = [
    (0, 4, "the cluster version operator", &[object::CLUSTER_VERSION_OPERATOR]),
    (5, 5, "the config operator", &["config-operator"]),
    (7, 7, "the network operator", &["network"]),
    (8, 8, "the DNS operator", &["dns"]),
    (9, 9, "the service CA and the machine approver", &["service-ca", "machine-approver"]),
    (10, 29, "the Kubernetes operators", &["kube-", "etcd"]),
    (30, 39, "the machine API", &["machine", "cluster-api", "baremetal"]),
    (50, 59, "the operator lifecycle manager", &["olm", "operator-lifecycle-manager", "marketplace"]),
];

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    let (mut files, mut chunks) = (BTreeMap::<_, Vec<usize>>::new(), BTreeMap::<_, Vec<usize>>::new());
    for (index, manifest) in survey.all() {
        match &manifest.run_level {
            None => files.entry(&manifest.file).or_default().push(index),
            Some(level) => chunks.entry(level).or_default().push(index),
        }
    }
    for objects in files.values() {
        let nearest = survey.nearest(objects);
        findings.extend(nearest.map(|(index, place)| without_run_level(survey, index, place)));
    }
    for (level, objects) in &chunks {
        let Some((owner, (index, place))) = other_owner(level).zip(survey.nearest(objects)) else { continue };
        findings.push(in_level_of_others(survey, index, level, owner, place));
    }
}

fn without_run_level(survey: &Survey<'_>, index: usize, place: Place) -> Finding {
    let name = &survey.manifest(index).file;
    let effect = "It runs alone: everything before it is finished first and everything after it waits";
    if name.starts_with(file::RUN_LEVEL_PREFIX) {
        let message = format!(
            "the file name {name:?} begins like one with a run level, but has none. {effect}, and it belongs to no \
             component. Name it 0000_<run level>_<component>_<rest>, with underscores between the parts and dashes \
             inside the component"
        );
        return survey.finding(&rules::MISTYPED_RUN_LEVEL, index, place, message);
    }
    let message = format!(
        "the file name {name:?} has no run level. {effect}. Name it 0000_<run level>_<component>_<rest> to let it run \
         side by side with other components"
    );
    survey.finding(&rules::FILE_NAME_WITHOUT_RUN_LEVEL, index, place, message)
}

/// Whom a run level is assigned to, when that is somebody else.
fn other_owner(at: &RunLevel) -> Option<&'static str> {
    let number: u32 = at.level.parse().ok()?;
    let (_, _, owner, words) =
        ASSIGNED.iter().find(|(first, last, ..)| (*first..=*last).contains(&number))?;
    (!words.iter().any(|word| at.component.contains(word))).then_some(*owner)
}

fn in_level_of_others(
    survey: &Survey<'_>,
    index: usize,
    at: &RunLevel,
    owner: &str,
    place: Place,
) -> Finding {
    let message = format!(
        "component {} sits in run level {}, which is assigned to {owner}. This is only a convention; check that it \
         really must run there, after the earlier levels and before the later ones",
        at.component, at.level
    );
    survey.finding(&rules::RUN_LEVEL_OF_ANOTHER_COMPONENT, index, place, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{HA, Objects, annotated, found, found_anywhere, ids, object, with};

    const FEATURE_SET: &str = "release.openshift.io/feature-set";

    fn rules_of(file: &str) -> Vec<&'static str> {
        let release = Objects::new().file(file, &[object("v1", "ConfigMap", "default", "a")]).release();
        found(&release).into_iter().map(|finding| finding.rule.id).collect()
    }

    #[test]
    fn a_name_that_only_looks_like_one_with_a_run_level_is_an_error() {
        for file in ["0000_90_openshift-cluster-image-policy.yaml", "0000_10-helm-chart-repository.crd.yaml"]
        {
            assert_eq!(rules_of(file), ["mistyped-run-level"], "{file}");
        }
        assert_eq!(rules_of("0000_90_openshift-cluster-image-policy_a.yaml"), [""; 0]);
    }

    #[test]
    fn a_name_without_run_level_is_found_once_per_file() {
        assert_eq!(rules_of("99_ingress-operator_01_roles.yaml"), ["file-name-without-run-level"]);
        let two = [object("v1", "ConfigMap", "default", "a"), object("v1", "ConfigMap", "default", "b")];
        assert_eq!(found(&Objects::new().file("roles.yaml", &two).release()).len(), 1);
    }

    #[test]
    fn a_component_in_the_level_of_others_is_told() {
        assert_eq!(rules_of("0000_07_console-operator_01.yaml"), ["run-level-of-another-component"]);
        assert_eq!(rules_of("0000_50_console-operator_01.yaml"), ["run-level-of-another-component"]);
        for own in [
            "0000_07_cluster-network-operator_01.yaml",
            "0000_13_cluster-kube-scheduler-operator_03_crd.yaml",
            "0000_00_cluster-version-operator_01.yaml",
            "0000_06_any_01.yaml",
            "0000_60_console-operator_01.yaml",
            "0000_70_cluster-monitoring-operator_01.yaml",
        ] {
            assert_eq!(rules_of(own), [""; 0], "{own}");
        }
    }

    #[test]
    fn the_object_nearest_to_the_default_cluster_is_named() {
        let preview =
            annotated(object("v1", "ConfigMap", "default", "a"), FEATURE_SET, "TechPreviewNoUpgrade");
        let release = Objects::new()
            .file("0000_07_console-operator_01.yaml", std::slice::from_ref(&preview))
            .file("0000_07_console-operator_02.yaml", &[object("v1", "ConfigMap", "default", "b")])
            .file(
                "roles.yaml",
                &[with(
                    preview,
                    "metadata",
                    json!({"name": "c", "namespace": "default",
                "annotations": {HA: "true", FEATURE_SET: "TechPreviewNoUpgrade"}}),
                )],
            )
            .release();
        let all = found_anywhere(&release);
        assert_eq!(
            ids(&all),
            [("run-level-of-another-component", "b"), ("file-name-without-run-level", "c")]
        );
        assert_eq!(all[0].combination, None);
        assert!(all[1].combination.is_some());
    }
}
