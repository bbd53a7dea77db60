//! `JUnit` XML, which CI systems show as tests: a suite per rule, a failed test per finding.

use std::fmt::Write as _;

use super::super::{Finding, LintReport, RULES};

/// The report as `JUnit` XML. A rule without findings is one passed test, so that one sees that it ran.
pub fn junit(report: &LintReport) -> String {
    let found = report.findings.len();
    let passed = RULES.iter().filter(|rule| !report.findings.iter().any(|it| it.rule == *rule)).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing into memory cannot fail.
    let _ = writeln!(
        out,
        "<testsuites name=\"lint of release {}\" tests=\"{}\" failures=\"{found}\">",
        escape(&report.release),
        found + passed
    );
    for rule in RULES {
        let findings: Vec<&Finding> = report.findings.iter().filter(|it| it.rule == rule).collect();
        let (tests, failures) = (findings.len().max(1), findings.len());
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\">",
            escape(rule.id)
        );
        if findings.is_empty() {
            let _ = writeln!(
                out,
                "    <testcase classname=\"{}\" name=\"{}\"/>",
                escape(rule.id),
                escape(rule.summary)
            );
        }
        for finding in findings {
            write_finding(&mut out, finding);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn write_finding(out: &mut String, finding: &Finding) {
    let place = format!("{}:{}", finding.path(), finding.line);
    let combination = finding.combination.as_ref().map(|it| format!(" (with {it})")).unwrap_or_default();
    let _ = write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\">\n      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
        escape(finding.rule.id),
        escape(&format!("{place} {}", finding.object.name)),
        finding.severity(),
        escape(&format!("{}{combination}", finding.message)),
    );
}

/// Text for an attribute; characters that XML cannot hold become the replacement character.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::a_report;
    use super::*;

    #[test]
    fn a_finding_is_a_failure_and_a_clean_rule_is_a_passed_test() {
        let xml = junit(&a_report());
        let tests = RULES.len();
        assert!(xml.contains(&format!(
            "<testsuites name=\"lint of release 4.1.0\" tests=\"{tests}\" failures=\"2\">"
        )));
        assert_eq!(xml.matches("<testcase ").count(), tests);
        assert_eq!(xml.matches("<failure ").count(), 2);
        assert!(
            xml.contains("<failure type=\"error\" message=\"an image (with profile p, feature set OKD)\"/>")
        );
    }

    #[test]
    fn what_xml_cannot_hold_is_escaped() {
        let xml = junit(&a_report());
        assert!(xml.contains("message=\"a &quot;field&quot; &lt;x&gt; &amp; more\u{fffd}\""), "{xml}");
    }
}
