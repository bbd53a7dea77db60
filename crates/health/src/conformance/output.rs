//! Findings as text and as a document.

use std::fmt::Write as _;

use lockstep_api::names::group;
use lockstep_api::text::visible;
use serde_json::{Value, json};

use super::{Finding, Outcome};

/// One line per rule, the evidence and the remedy under those that are broken, and a last line with the counts.
pub fn text(subject: &str, findings: &[Finding]) -> String {
    let mut out = String::new();
    for Finding { rule, outcome } in findings {
        // Writing into memory cannot fail.
        let _ = writeln!(out, "{:<15} {:<33} {}", outcome.word(), rule.id, rule.says);
        match outcome {
            Outcome::Pass => {}
            Outcome::Fail(evidence) => {
                for line in evidence {
                    let _ = writeln!(out, "                  {}", visible(line));
                }
                let _ = writeln!(out, "                  next: {}", rule.remedy);
            }
            Outcome::NotApplicable(why) | Outcome::NotSeen(why) => {
                let _ = writeln!(out, "                  {}", visible(why));
            }
        }
    }
    let _ = writeln!(out, "{}: {}", visible(subject), summary(findings));
    out
}

/// A versioned document for other programs.
pub fn json(subject: &str, findings: &[Finding]) -> Value {
    json!({
        "apiVersion": format!("{}/v1", group::LOCKSTEP),
        "kind": "ConformanceReport",
        "subject": subject,
        "passes": !findings.iter().any(|finding| finding.outcome.is_fail()),
        "findings": findings,
    })
}

fn summary(findings: &[Finding]) -> String {
    let count = |word: &str| findings.iter().filter(|finding| finding.outcome.word() == word).count();
    let words = ["pass", "fail", "not seen", "not applicable"];
    words.map(|word| format!("{} {word}", count(word))).join(", ")
}
