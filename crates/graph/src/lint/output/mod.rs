//! A report as text, JSON, SARIF or `JUnit` XML; pure functions, without colour.

mod junit;
mod sarif;

pub use junit::junit;
pub use sarif::sarif;

use std::fmt::Write as _;

use serde_json::{Value, json};

use lockstep_api::names::group;
use lockstep_api::text::visible;

use super::{Finding, LintReport, Severity};

/// One line per finding, as compilers write them, and a last line with the counts.
pub fn text(report: &LintReport) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let (severity, path, line) = (finding.severity(), finding.path(), finding.line);
        let told = format!("{path}:{line}: {severity}: {} [{}]", finding.message, finding.rule.id);
        let with = finding.combination.as_ref().map(|it| format!(" (with {it})")).unwrap_or_default();
        // Writing into memory cannot fail.
        let _ = writeln!(out, "{}{}", visible(&told), visible(&with));
    }
    let _ = writeln!(out, "release {}: {}", visible(&report.release), summary(report));
    if report.undecided > 0 {
        let _ = writeln!(
            out,
            "questions about all combinations that took too long and were given up: {}; there may be more to find",
            report.undecided
        );
    }
    out
}

/// A versioned document for other programs.
pub fn json(report: &LintReport) -> String {
    let counts: serde_json::Map<String, Value> = Severity::ALL
        .into_iter()
        .map(|severity| (severity.as_str().to_owned(), report.count(severity).into()))
        .collect();
    let document = json!({
        "apiVersion": format!("{}/v1", group::LOCKSTEP),
        "kind": "LintReport",
        "release": report.release,
        "allCombinations": report.all_combinations,
        "undecided": report.undecided,
        "counts": counts,
        "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
    });
    pretty(&document)
}

/// `1 error, 2 warnings, 0 infos`.
fn summary(report: &LintReport) -> String {
    let counted = Severity::ALL.map(|severity| {
        let count = report.count(severity);
        format!("{count} {severity}{}", if count == 1 { "" } else { "s" })
    });
    counted.join(", ")
}

fn finding_json(finding: &Finding) -> Value {
    let mut value = json!({
        "rule": finding.rule.id,
        "severity": finding.severity(),
        "folder": finding.folder.as_str(),
        "file": finding.file,
        "line": finding.line,
        "object": finding.object,
        "message": finding.message,
    });
    if let Some(combination) = &finding.combination {
        value["combination"] = combination.as_str().into();
    }
    value
}

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

#[cfg(test)]
pub(super) mod tests {
    use lockstep_api::ResourceId;
    use lockstep_payload::Folder;

    use super::super::rules;
    use super::*;

    /// A report with an error that has a combination, and a warning with characters that need escapes.
    pub(in super::super) fn a_report() -> LintReport {
        let finding = |rule, line, message: &str, combination: Option<&str>| Finding {
            rule,
            folder: Folder::ReleaseManifests,
            file: "0000_60_a_1.yaml".to_owned(),
            line,
            api_version: "apps/v1".to_owned(),
            object: ResourceId::new("apps", "Deployment", "ns", "a"),
            message: message.to_owned(),
            combination: combination.map(str::to_owned),
        };
        LintReport {
            release: "4.1.0".to_owned(),
            all_combinations: true,
            undecided: 0,
            findings: vec![
                finding(&rules::IMAGE_NOT_LISTED, 3, "an image", Some("profile p, feature set OKD")),
                finding(&rules::UNDECLARED_FIELD, 9, "a \"field\" <x> & more\u{1}", None),
            ],
        }
    }

    #[test]
    fn text_has_a_line_per_finding_and_the_counts() {
        assert_eq!(
            text(&a_report()),
            "release-manifests/0000_60_a_1.yaml:3: error: an image [image-not-listed] (with profile p, feature set OKD)\n\
             release-manifests/0000_60_a_1.yaml:9: warning: a \"field\" <x> & more\u{fffd} [undeclared-field]\n\
             release 4.1.0: 1 error, 1 warning, 0 infos\n"
        );
    }

    #[test]
    fn text_shows_no_character_of_a_release_that_drives_a_terminal() {
        let mut report = a_report();
        report.release = "4\u{1b}[2J".to_owned();
        report.findings[0].file = "a\u{202e}.yaml".to_owned();
        report.findings[0].combination = Some("profile a\nb".to_owned());
        let text = text(&report);
        assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
        assert_eq!(text.lines().count(), 3, "{text:?}");
    }

    #[test]
    fn what_could_not_be_decided_is_told() {
        let report = LintReport { undecided: 2, ..a_report() };
        assert!(text(&report).contains("given up: 2; there may be more"), "{}", text(&report));
        assert!(json(&report).contains("\"undecided\": 2"));
        assert!(!text(&a_report()).contains("given up"));
    }

    #[test]
    fn json_names_its_version_and_leaves_an_absent_combination_out() {
        let document: Value = serde_json::from_str(&json(&a_report())).unwrap();
        assert_eq!(document["apiVersion"], "lockstep.dev/v1");
        assert_eq!(document["kind"], "LintReport");
        assert_eq!(document["counts"], json!({"error": 1, "warning": 1, "info": 0}));
        assert_eq!(
            document["findings"][0],
            json!({"rule": "image-not-listed", "severity": "error", "folder": "release-manifests",
                "file": "0000_60_a_1.yaml", "line": 3, "message": "an image", "combination": "profile p, feature set OKD",
                "object": {"group": "apps", "kind": "Deployment", "namespace": "ns", "name": "a"}})
        );
        assert_eq!(document["findings"][1].get("combination"), None);
    }
}
