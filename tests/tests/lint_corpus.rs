//! Lint on real releases: how many findings each rule has, so that a rule that begins to see ghosts, or goes blind, is
//! noticed; and the example releases and the rules' pages.
//!
//! The real payloads are not part of this project; without them these tests say so and pass.
#![expect(clippy::unwrap_used, reason = "what the tests of a suite share is test code too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use lockstep_graph::lint::{LintReport, RULES, Scope, Severity, default_selection, lint};
use lockstep_payload::{DiskFiles, LoadOptions, Release};
use lockstep_tests::cli::root;
use lockstep_tests::corpus::corpus;

/// Findings per rule: in the default cluster, and in all combinations. A rule that is not listed has none.
type Expected = &'static [(&'static str, usize, usize)];

const V4_20_0: Expected = &[
    ("annotation-value-not-true", 6, 6),
    ("clusteroperator-without-workload", 0, 1),
    ("custom-resource-before-crd", 13, 13),
    ("custom-resource-without-crd", 0, 120),
    ("image-mention-not-listed", 4, 4),
    ("kind-not-provided", 10, 10),
    ("mistyped-run-level", 0, 1),
    ("namespace-not-in-release", 40, 72),
    ("no-include-annotation", 22, 22),
    ("object-before-namespace", 8, 8),
    ("rbac-subject-not-provided", 40, 44),
    ("run-level-of-another-component", 39, 40),
    ("same-object-twice", 1, 1),
    ("service-not-provided", 1, 1),
    ("undeclared-field", 3, 3),
    ("workload-without-clusteroperator", 0, 2),
];

const V4_21_0: Expected = &[
    ("annotation-value-not-true", 6, 6),
    ("clusteroperator-without-workload", 0, 1),
    ("custom-resource-before-crd", 13, 13),
    ("custom-resource-without-crd", 0, 126),
    ("image-mention-not-listed", 4, 4),
    ("kind-not-provided", 10, 10),
    ("mistyped-run-level", 1, 1),
    ("namespace-not-in-release", 40, 72),
    ("no-include-annotation", 19, 19),
    ("object-before-namespace", 8, 8),
    ("rbac-subject-not-provided", 41, 45),
    ("run-level-of-another-component", 39, 41),
    ("same-object-twice", 1, 2),
    ("service-not-provided", 1, 1),
    ("undeclared-field", 2, 2),
    ("workload-without-clusteroperator", 0, 3),
];

/// Errors, warnings and infos in the default cluster, and in all combinations.
const SEVERITIES: [(&str, [usize; 3], [usize; 3]); 2] =
    [("4.20.0", [21, 47, 119], [22, 170, 156]), ("4.21.0", [22, 43, 120], [22, 174, 158])];

/// Folder of the real releases, where there are any.
fn real_releases() -> Option<PathBuf> {
    corpus("lint of real releases")
}

fn load(folder: &Path) -> Release {
    let files = DiskFiles::open(folder).unwrap();
    let options = LoadOptions {
        release_image: "registry.example.com/release:latest".to_owned(),
        profile: "self-managed-high-availability".to_owned(),
    };
    Release::load(&files, &options).unwrap()
}

fn lint_default(release: &Release) -> LintReport {
    lint(release, Scope::Selected(&default_selection(release)))
}

fn per_rule(report: &LintReport) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for finding in &report.findings {
        *counts.entry(finding.rule.id).or_default() += 1;
    }
    counts
}

fn assert_counts(version: &str, expected: Expected) {
    let Some(corpus) = real_releases() else { return };
    let release = load(&corpus.join(version));
    let of = |count: fn(&(&'static str, usize, usize)) -> usize| -> BTreeMap<&str, usize> {
        expected.iter().map(|row| (row.0, count(row))).filter(|(_, count)| *count > 0).collect()
    };
    assert_eq!(per_rule(&lint_default(&release)), of(|row| row.1), "{version}, default cluster");
    let all = lint(&release, Scope::AllCombinations);
    assert_eq!(per_rule(&all), of(|row| row.2), "{version}, all combinations");
}

#[test]
fn findings_per_rule_on_4_20_0_are_those_that_were_judged() {
    assert_counts("4.20.0", V4_20_0);
}

#[test]
fn findings_per_rule_on_4_21_0_are_those_that_were_judged() {
    assert_counts("4.21.0", V4_21_0);
}

#[test]
fn findings_per_severity_on_real_payloads_are_those_that_were_judged() {
    let Some(corpus) = real_releases() else { return };
    for (version, in_default, in_all) in SEVERITIES {
        let release = load(&corpus.join(version));
        let counts = |report: &LintReport| Severity::ALL.map(|severity| report.count(severity));
        assert_eq!(counts(&lint_default(&release)), in_default, "{version}");
        assert_eq!(counts(&lint(&release, Scope::AllCombinations)), in_all, "{version}");
    }
}

#[test]
fn every_question_about_a_real_payload_is_decided() {
    let Some(corpus) = real_releases() else { return };
    for (version, ..) in SEVERITIES {
        let release = load(&corpus.join(version));
        assert_eq!(lint(&release, Scope::AllCombinations).undecided, 0, "{version}");
    }
}

#[test]
fn what_is_found_in_the_default_cluster_is_found_in_all_combinations_without_one() {
    let Some(corpus) = real_releases() else { return };
    let release = load(&corpus.join("4.20.0"));
    let key = |report: LintReport, keep: fn(&Option<String>) -> bool| -> BTreeSet<(&str, String, usize)> {
        let kept = report.findings.into_iter().filter(|finding| keep(&finding.combination));
        kept.map(|finding| (finding.rule.id, finding.file, finding.line)).collect()
    };
    let in_default = key(lint_default(&release), |_| true);
    let in_all = key(lint(&release, Scope::AllCombinations), Option::is_none);
    let difference: Vec<_> = in_default.symmetric_difference(&in_all).collect();
    assert!(difference.is_empty(), "{difference:#?}");
}

#[test]
fn the_example_releases_have_only_infos_in_every_combination() {
    for version in ["1.0.0", "1.1.0"] {
        let release = load(&root().join("examples/releases").join(version));
        for report in [lint_default(&release), lint(&release, Scope::AllCombinations)] {
            let found = per_rule(&report);
            assert!(!report.has_at_least(Severity::Warning), "{version}: {found:?}");
            assert_eq!(found, BTreeMap::from([("namespace-not-in-release", 2)]), "{version}");
        }
    }
}

#[test]
fn every_rule_has_a_page_and_every_page_a_rule() {
    let folder = root().join("docs/lint");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    for rule in RULES {
        let page = fs::read_to_string(folder.join(format!("{}.md", rule.id)))
            .unwrap_or_else(|error| panic!("the page of {}: {error}", rule.id));
        let head = format!("# {}\n\n{}. Severity: {}.\n", rule.id, rule.summary, rule.severity);
        assert!(page.starts_with(&head), "{}: the page begins with another summary or severity", rule.id);
        for heading in
            ["What it finds", "Why it matters", "Bad example", "Good example", "How to fix", "Meant as"]
        {
            assert!(page.contains(&format!("\n## {heading}\n")), "{}: no {heading:?}", rule.id);
        }
        let row = format!("| [{0}]({0}.md) | {1} | {2} |", rule.id, rule.severity, rule.summary);
        assert!(index.contains(&row), "{} is missing from the index", rule.id);
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), RULES.len() + 1, "a page without a rule");
}
