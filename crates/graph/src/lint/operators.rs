//! Rules about `ClusterOperators` and the workloads that report them.

use std::collections::BTreeMap;

use lockstep_api::names::object;
use lockstep_payload::Manifest;
use serde_json::Value;

use super::dependency::{missing, too_late};
use super::survey::{Survey, component, entries, is_workload, text, title};
use super::{Finding, rules};

/// The workloads and `ClusterOperators` of one component.
#[derive(Default)]
struct Component {
    workloads: Vec<usize>,
    operators: Vec<usize>,
    /// Those whose file belongs to no component but whose name fits a workload of this one.
    strays: Vec<usize>,
}

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    let (mut components, mut strays) = (BTreeMap::<&str, Component>::new(), Vec::new());
    for (index, manifest) in survey.applied() {
        if manifest.is_cluster_operator() {
            findings.extend(check_versions(survey, index));
        }
        match component(manifest) {
            Some(name) if is_workload(manifest) => {
                components.entry(name).or_default().workloads.push(index);
            }
            Some(name) if manifest.is_cluster_operator() => {
                components.entry(name).or_default().operators.push(index);
            }
            None if manifest.is_cluster_operator() => strays.push(index),
            _ => {}
        }
    }
    for stray in strays {
        let workloads = workloads_of(survey, &survey.manifest(stray).id.name);
        let owners = workloads.iter().filter_map(|index| component(survey.manifest(*index)));
        owners.for_each(|name| components.entry(name).or_default().strays.push(stray));
        check_operator(survey, "the release", stray, &workloads, findings);
    }
    for (name, component) in &components {
        for operator in &component.operators {
            let whose = format!("component {name}");
            check_operator(survey, &whose, *operator, &component.workloads, findings);
        }
        // The operator that applies the release reports no ClusterOperator: it is the one that waits for them.
        if *name != object::CLUSTER_VERSION_OPERATOR {
            findings.extend(check_workloads(survey, name, component));
        }
    }
}

/// The workloads of a release that report the ClusterOperator of this name, going by theirs.
fn workloads_of(survey: &Survey<'_>, name: &str) -> Vec<usize> {
    let usual = [name.to_owned(), format!("{name}-operator"), format!("cluster-{name}-operator")];
    let is_one = |manifest: &Manifest| is_workload(manifest) && usual.contains(&manifest.id.name);
    survey.applied().filter(|(_, manifest)| is_one(manifest)).map(|(index, _)| index).collect()
}

fn check_versions(survey: &Survey<'_>, index: usize) -> Option<Finding> {
    let manifest = survey.manifest(index);
    let place = survey.find_one(index)?;
    let (lack, effect) = if manifest.is_first_generation() {
        let is_there = !text(&manifest.object, &["status", "version"]).is_empty();
        (!is_there).then_some(("status.version", "nobody knows what to wait for and the task fails"))?
    } else {
        let mut versions = entries(&manifest.object, &["status", "versions"]).peekable();
        if versions.peek().is_none() {
            ("status.versions", "nobody knows what to wait for and the task fails")
        } else {
            let is_own = |entry: &Value| {
                entry["name"] == object::OPERATOR_VERSION && !text(entry, &["version"]).is_empty()
            };
            let lack = "version of the operator itself in status.versions";
            (!versions.any(is_own)).then_some((lack, "an update does not wait until it is updated"))?
        }
    };
    let message = format!(
        "{} has no {lack}, so {effect}. Add the version of the release, at least under the name {:?}",
        title(manifest),
        object::OPERATOR_VERSION
    );
    Some(survey.finding(&rules::CLUSTEROPERATOR_WITHOUT_VERSIONS, index, place, message))
}

fn check_operator(
    survey: &Survey<'_>,
    whose: &str,
    operator: usize,
    workloads: &[usize],
    findings: &mut Vec<Finding>,
) {
    let manifest = survey.manifest(operator);
    // A component may run other things beside the operator, and several operators in several levels: the name counts
    // first, then the level.
    let level = |index: &usize| survey.manifest(*index).run_level.as_ref().map(|at| &at.level);
    let named = preferred(workloads, |it| survey.manifest(*it).id.name.contains(&manifest.id.name));
    let reporters = preferred(&named, |it| level(it) == level(&operator));
    if let Some((workload, place)) = too_late(survey, operator, &reporters) {
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
    // Whoever reports it, one workload is enough for the doubt.
    if let Some(place) = missing(survey, operator, workloads) {
        let (why, what_to_do) = match reporters.first().map(|it| survey.manifest(*it)) {
            Some(workload) => (
                format!("{}, in {}, is not selected there", title(workload), workload.file),
                "Give both the same annotations",
            ),
            None => (
                format!("{whose} ships no Deployment, DaemonSet or StatefulSet that could report it"),
                "Add the workload",
            ),
        };
        let message = format!(
            "an update waits for {}, but {why}. If nobody outside the release reports it, the update never ends. \
             {what_to_do}",
            title(manifest)
        );
        findings.push(survey.finding(&rules::CLUSTEROPERATOR_WITHOUT_WORKLOAD, operator, place, message));
    }
}

/// Those that fit; all where none does.
fn preferred(all: &[usize], fits: impl Fn(&usize) -> bool) -> Vec<usize> {
    let some: Vec<usize> = all.iter().copied().filter(fits).collect();
    if some.is_empty() { all.to_vec() } else { some }
}

/// The workload of a component that runs without a ClusterOperator in the cluster nearest to the default one.
fn check_workloads(survey: &Survey<'_>, name: &str, component: &Component) -> Option<Finding> {
    let operators: Vec<usize> = component.operators.iter().chain(&component.strays).copied().collect();
    let (workload, place) = component
        .workloads
        .iter()
        .filter_map(|workload| Some((*workload, missing(survey, *workload, &operators)?)))
        .min_by_key(|(_, place)| place.deviations)?;
    let (why, what_to_do) = match operators.first().map(|it| survey.manifest(*it)) {
        Some(operator) => (
            format!("{}, in {}, is not selected there", title(operator), operator.file),
            "Give both the same annotations",
        ),
        None => ("has no ClusterOperator".to_owned(), "Add a ClusterOperator that it reports"),
    };
    let message = format!(
        "component {name} runs {} but {why}, so nothing waits until it works: later levels begin and the update ends \
         while it may be broken. {what_to_do}",
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
            ("0000_60_a_3.yaml", &[a_deployment("a-late")]),
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
        for entry in [json!({}), json!({"name": "operand", "version": "1"}), json!({"name": "operator"})] {
            assert!(with_status(a_cluster_operator("a"), json!({"versions": [entry]})), "{entry}");
        }
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
        let why = "Deployment default/a, in 0000_60_a_1.yaml, is not selected there";
        assert!(all[0].message.contains(why), "{}", all[0].message);
    }

    #[test]
    fn a_workload_without_its_operator_where_a_capability_is_off_names_the_operator() {
        let optional = annotated(a_cluster_operator("a"), "capability.openshift.io/name", "Console");
        let all = found_anywhere(&release(&[("0000_60_a_1.yaml", &[a_deployment("a"), optional])]));
        assert_eq!(ids(&all), [("workload-without-clusteroperator", "a")]);
        let why = "ClusterOperator a, in 0000_60_a_1.yaml, is not selected there";
        assert!(all[0].message.contains(why), "{}", all[0].message);
        let never = found(&release(&[("0000_60_a_1.yaml", &[a_deployment("a")])]));
        assert!(never[0].message.contains("has no ClusterOperator"), "{}", never[0].message);
    }

    #[test]
    fn an_operator_in_a_file_without_component_finds_its_workload_by_name() {
        let of = |operator: &str, file: &str, workload: &str| {
            let all = found(&release(&[
                (operator, &[a_cluster_operator("dns")]),
                (file, &[a_deployment(workload)]),
            ]));
            let about_names = "file-name-without-run-level";
            all.into_iter().map(|it| it.rule.id).filter(|id| *id != about_names).collect::<Vec<_>>()
        };
        for workload in ["dns", "dns-operator", "cluster-dns-operator"] {
            assert_eq!(of("z.yaml", "0000_60_a_1.yaml", workload), [""; 0], "{workload}");
            let late = ["clusteroperator-before-workload"];
            assert_eq!(of("z.yaml", "zz.yaml", workload), late, "{workload}");
        }
        let lonely = ["workload-without-clusteroperator", "clusteroperator-without-workload"];
        assert_eq!(of("z.yaml", "0000_60_a_1.yaml", "coredns"), lonely);
    }

    #[test]
    fn an_earlier_workload_of_another_name_does_not_hide_the_deadlock() {
        let files = |first: &str| {
            release(&[
                ("0000_60_a_1.yaml", &[a_deployment(first)]),
                ("0000_60_a_2.yaml", &[a_cluster_operator("dns")]),
                ("0000_60_a_3.yaml", &[a_deployment("dns-operator")]),
            ])
        };
        assert_eq!(ids(&found(&files("metrics"))), [("clusteroperator-before-workload", "dns")]);
        assert_eq!(ids(&found(&files("dns-node"))), NONE);
    }

    #[test]
    fn a_workload_of_another_level_is_still_a_workload_of_the_component() {
        let optional = annotated(a_deployment("dns-operator"), "capability.openshift.io/name", "Console");
        let files = |second: &str| {
            release(&[
                ("0000_50_olm_1.yaml", &[a_deployment(second)]),
                ("0000_60_olm_1.yaml", &[optional.clone(), a_cluster_operator("dns")]),
            ])
        };
        let lonely = |release| {
            ids(&found_anywhere(&release)).iter().any(|(rule, _)| *rule == "clusteroperator-without-workload")
        };
        assert!(!lonely(files("dns")));
        assert!(!lonely(files("other")));
        assert!(lonely(release(&[("0000_60_olm_1.yaml", &[optional.clone(), a_cluster_operator("dns")])])));
    }
}
