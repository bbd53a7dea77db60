//! SARIF 2.1.0, which code-review sites show next to the lines.

use std::fmt::Write as _;

use lockstep_api::ResourceId;
use serde_json::{Value, json};

use super::super::{Finding, LintReport, RULES, Severity};
use super::pretty;

/// Stands for the folder of the release, which every reader has elsewhere.
const BASE: &str = "RELEASE";

/// The report as a SARIF log with one run; paths are relative to the folder of the release.
pub fn sarif(report: &LintReport) -> String {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": {"text": rule.summary},
                "help": {"text": format!("See docs/lint/{}.md.", rule.id)},
                "defaultConfiguration": {"level": level(rule.severity)},
            })
        })
        .collect();
    pretty(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "lockstep", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "originalUriBaseIds": {BASE: {"description": {"text": "The folder of the release."}}},
            "properties": {
                "release": report.release,
                "allCombinations": report.all_combinations,
                "undecided": report.undecided,
            },
            "results": report.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    }))
}

fn result(finding: &Finding) -> Value {
    let note = finding.combination.as_ref().map(|combination| format!(" (with {combination})"));
    let place = json!({
        "artifactLocation": {"uri": percent_encoded(&finding.path()), "uriBaseId": BASE},
        "region": {"startLine": finding.line},
    });
    let mut location = json!({"physicalLocation": place});
    if !finding.object.name.is_empty() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": qualified(finding), "kind": "object"}]);
    }
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": RULES.iter().position(|rule| rule == finding.rule),
        "level": level(finding.severity()),
        "message": {"text": format!("{}{}", finding.message, note.unwrap_or_default())},
        "locations": [location],
    })
}

/// `v1/ConfigMap/namespace/name`, without the parts that are empty.
fn qualified(finding: &Finding) -> String {
    let ResourceId { kind, namespace, name, .. } = &finding.object;
    let parts = [&finding.api_version, kind, namespace, name].into_iter().filter(|part| !part.is_empty());
    parts.map(String::as_str).collect::<Vec<_>>().join("/")
}

/// A path as a relative URI: what may not stand in one is written as the hexadecimal numbers of its bytes.
fn percent_encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing into memory cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// SARIF knows `note` where we say info.
fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::a_report;
    use super::*;

    #[test]
    fn a_result_points_at_its_rule_and_line() {
        let log: Value = serde_json::from_str(&sarif(&a_report())).unwrap();
        let run = &log["runs"][0];
        assert_eq!(log["version"], "2.1.0");
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), RULES.len());
        for result in run["results"].as_array().unwrap() {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(result["ruleId"], RULES[index].id);
        }
        let first = &run["results"][0];
        assert_eq!(first["level"], "error");
        assert_eq!(first["message"]["text"], "an image (with profile p, feature set OKD)");
        let place = &first["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "release-manifests/0000_60_a_1.yaml");
        assert_eq!(place["region"]["startLine"], 3);
        assert_eq!(
            first["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
            "apps/v1/Deployment/ns/a"
        );
        let base = place["artifactLocation"]["uriBaseId"].as_str().unwrap();
        assert!(run["originalUriBaseIds"][base].is_object());
    }

    #[test]
    fn a_file_name_that_is_no_uri_is_encoded() {
        let mut report = a_report();
        report.findings[0].file = "a b:%ü.yaml".to_owned();
        let log: Value = serde_json::from_str(&sarif(&report)).unwrap();
        let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "release-manifests/a%20b%3A%25%C3%BC.yaml");
    }
}
