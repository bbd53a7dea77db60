//! SARIF 2.1.0, which code-review sites show next to the lines.

use serde_json::{Value, json};

use super::super::{Finding, LintReport, RULES, Severity};
use super::pretty;

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
            "properties": {"release": report.release, "allCombinations": report.all_combinations},
            "results": report.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    }))
}

fn result(finding: &Finding) -> Value {
    let note = finding.combination.as_ref().map(|combination| format!(" (with {combination})"));
    let place = json!({
        "artifactLocation": {"uri": finding.path()},
        "region": {"startLine": finding.line},
    });
    let mut location = json!({"physicalLocation": place});
    if !finding.object.name.is_empty() {
        let name = finding.object.to_string();
        location["logicalLocations"] = json!([{"fullyQualifiedName": name, "kind": "object"}]);
    }
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": RULES.iter().position(|rule| rule == finding.rule),
        "level": level(finding.severity()),
        "message": {"text": format!("{}{}", finding.message, note.unwrap_or_default())},
        "locations": [location],
    })
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
    }
}
