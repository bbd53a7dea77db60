//! Rules about `ClusterOperators` and the workloads that report them.

use std::collections::BTreeMap;

use lockstep_api::names::object;

use super::dependency::{missing, too_late};
use super::survey::{Survey, component, entries, is_workload, text, title};
use super::{Finding, rules};

/// The workloads and `ClusterOperators` of one component.
#[derive(Default)]
struct Component {
    workloads: Vec<usize>,
    operators: Vec<usize>,
}

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    let mut components: BTreeMap<&str, Component> = BTreeMap::new();
    for (index, manifest) in survey.applied() {
        if manifest.is_cluster_operator() {
            findings.extend(check_versions(survey, index));
        }
        let Some(name) = component(manifest) else { continue };
        if is_workload(manifest) {
            components.entry(name).or_default().workloads.push(index);
        } else if manifest.is_cluster_operator() {
            components.entry(name).or_default().operators.push(index);
        }
    }
    for (name, component) in &components {
        for operator in &component.operators {
            check_operator(survey, name, *operator, component, findings);
        }
        // The operator that applies the release reports no ClusterOperator: it is the one that waits for them.
        if *name != object::CLUSTER_VERSION_OPERATOR {
            findings.extend(check_workloads(survey, name, component));
        }
    }
}

fn check_versions(survey: &Survey<'_>, index: usize) -> Option<Finding> {
    let manifest = survey.manifest(index);
    let place = survey.find_one(index)?;
    let (field, is_there) = if manifest.is_first_generation() {
        ("status.version", !text(&manifest.object, &["status", "version"]).is_empty())
    } else {
        ("status.versions", entries(&manifest.object, &["status", "versions"]).next().is_some())
    };
    if is_there {
        return None;
    }
    let message = format!(
        "{} has no {field}, so nobody knows what to wait for and the task fails. Add the version of the release, at least \
         under the name {:?}",
        title(manifest),
        object::OPERATOR_VERSION
    );
    Some(survey.finding(&rules::CLUSTEROPERATOR_WITHOUT_VERSIONS, index, place, message))
}

fn check_operator(
    survey: &Survey<'_>,
    name: &str,
    operator: usize,
    component: &Component,
    findings: &mut Vec<Finding>,
) {
    let manifest = survey.manifest(operator);
    // One component may have several operators in several levels; its own level counts first.
    let level = |index: &usize| survey.manifest(*index).run_level.as_ref().map(|at| &at.level);
    let near = |index: &usize| level(index) == level(&operator);
    let mut workloads: Vec<usize> = component.workloads.iter().copied().filter(near).collect();
    if workloads.is_empty() {
        workloads.clone_from(&component.workloads);
    }
    if let Some((workload, place)) = too_late(survey, operator, &workloads) {
        let workload = survey.manifest(workload);
        let message = format!(
            "an update waits here for {}, but {}, which has to report it, comes only after it, in {}. The update never \
             gets there. Let the file of the ClusterOperator sort after that of the workload",
            title(manifest),
            title(workload),
            workload.file
        );
        findings.push(survey.finding(&rules::CLUSTEROPERATOR_BEFORE_WORKLOAD, operator, place, message));
    }
    if let Some(place) = missing(survey, operator, &workloads) {
        let message = format!(
            "an update waits for {}, but component {name} ships no Deployment, DaemonSet or StatefulSet that could report \
             it. If nobody outside the release does, the update never ends. Add the workload, or select both in the same \
             clusters",
            title(manifest)
        );
        findings.push(survey.finding(&rules::CLUSTEROPERATOR_WITHOUT_WORKLOAD, operator, place, message));
    }
}

/// The workload of a component that runs without a ClusterOperator in the cluster nearest to the default one.
fn check_workloads(survey: &Survey<'_>, name: &str, component: &Component) -> Option<Finding> {
    let (workload, place) = component
        .workloads
        .iter()
        .filter_map(|workload| Some((*workload, missing(survey, *workload, &component.operators)?)))
        .min_by_key(|(_, place)| place.deviations)?;
    let message = format!(
        "component {name} runs {} but has no ClusterOperator, so nothing waits until it works: later levels begin and the \
         update ends while it may be broken. Add a ClusterOperator that it reports",
        title(survey.manifest(workload))
    );
    Some(survey.finding(&rules::WORKLOAD_WITHOUT_CLUSTEROPERATOR, workload, place, message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{
        Objects, a_cluster_operator, a_deployment, annotated, cluster_operator_crd, found, found_anywhere,
        ids, object, with,
    };

    const NONE: [(&str, &str); 0] = [];

    fn release(files: &[(&str, &[Value])]) -> lockstep_payload::Release {
        let start = Objects::new().file("0000_00_cluster-version-operator_1.yaml", &[cluster_operator_crd()]);
        files.iter().fold(start, |objects, (name, content)| objects.file(name, content)).release()
    }

    #[test]
    fn an_operator_before_its_workload_is_a_deadlock() {
        let bad = release(&[
            ("0000_60_a_1.yaml", &[a_cluster_operator("a")]),
            ("0000_60_a_2.yaml", &[a_deployment("a")]),
        ]);
        assert_eq!(ids(&found(&bad)), [("clusteroperator-before-workload", "a")]);
        let good = release(&[
            ("0000_60_a_1.yaml", &[a_deployment("a")]),
            ("0000_60_a_2.yaml", &[a_cluster_operator("a")]),
        ]);
        assert_eq!(ids(&found(&good)), NONE);
        let classic =
            release(&[("99_a_1.yaml", &[a_cluster_operator("a")]), ("99_a_2.yaml", &[a_deployment("a")])]);
        assert!(ids(&found(&classic)).contains(&("clusteroperator-before-workload", "a")));
    }

    #[test]
    fn a_workload_that_is_there_in_time_in_one_cluster_only_is_named_with_the_others() {
        let early = annotated(a_deployment("a"), "release.openshift.io/feature-set", "Default");
        let files: [(&str, &[Value]); 3] = [
            ("0000_60_a_1.yaml", &[early]),
            ("0000_60_a_2.yaml", &[a_cluster_operator("a")]),
            ("0000_60_a_3.yaml", &[a_deployment("b")]),
        ];
        assert_eq!(ids(&found(&release(&files))), NONE);
        let all = found_anywhere(&release(&files));
        assert_eq!(ids(&all), [("clusteroperator-before-workload", "a")]);
        assert_eq!(
            all[0].combination.as_deref(),
            Some("profile self-managed-high-availability, feature set TechPreviewNoUpgrade")
        );
    }

    #[test]
    fn an_operator_needs_versions_of_its_generation() {
        let with_status = |operator: Value, status: Value| {
            let files: [(&str, &[Value]); 1] =
                [("0000_60_a_1.yaml", &[a_deployment("a"), with(operator, "status", status)])];
            let found = found(&release(&files));
            found.iter().any(|finding| finding.rule.id == "clusteroperator-without-versions")
        };
        let first = object("operatorstatus.openshift.io/v1", "ClusterOperator", "default", "a");
        assert!(with_status(a_cluster_operator("a"), json!({})));
        assert!(with_status(a_cluster_operator("a"), json!({"versions": []})));
        assert!(with_status(a_cluster_operator("a"), json!({"version": "1"})));
        assert!(!with_status(
            a_cluster_operator("a"),
            json!({"versions": [{"name": "operator", "version": "1"}]})
        ));
        assert!(with_status(first.clone(), json!({})));
        assert!(!with_status(first, json!({"version": "1"})));
    }

    #[test]
    fn operator_and_workload_need_each_other() {
        let alone = release(&[("0000_60_a_1.yaml", &[a_cluster_operator("a")])]);
        assert_eq!(ids(&found(&alone)), [("clusteroperator-without-workload", "a")]);
        let silent = release(&[("0000_60_a_1.yaml", &[a_deployment("a"), a_deployment("b")])]);
        assert_eq!(ids(&found(&silent)), [("workload-without-clusteroperator", "a")]);
        let other = release(&[
            ("0000_60_a_1.yaml", &[a_deployment("a")]),
            ("0000_60_b_1.yaml", &[a_cluster_operator("b")]),
        ]);
        assert_eq!(ids(&found(&other)).len(), 2);
    }

    #[test]
    fn the_version_operator_has_no_cluster_operator() {
        let own = release(&[("0000_00_cluster-version-operator_2.yaml", &[a_deployment("a")])]);
        assert_eq!(ids(&found(&own)), NONE);
    }

    #[test]
    fn a_workload_behind_a_capability_leaves_its_operator_alone_where_it_is_off() {
        let optional = annotated(a_deployment("a"), "capability.openshift.io/name", "Console");
        let files: [(&str, &[Value]); 1] = [("0000_60_a_1.yaml", &[optional, a_cluster_operator("a")])];
        assert_eq!(ids(&found(&release(&files))), NONE);
        let all = found_anywhere(&release(&files));
        assert_eq!(ids(&all), [("clusteroperator-without-workload", "a")]);
        assert!(all[0].combination.as_deref().unwrap().ends_with("capability Console off"));
    }
}
