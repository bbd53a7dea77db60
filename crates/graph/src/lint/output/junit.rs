//! `JUnit` XML, which CI systems show as tests: a suite per rule, a test per finding.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::{Finding, LintReport, RULES, Severity};

/// The report as `JUnit` XML. Findings of this severity or a worse one are failed tests; the others are passed tests
/// that say what was found, so that the file and the exit code of the command agree. A rule without findings is one
/// passed test, so that one sees that it ran.
pub fn junit(report: &LintReport, fail_on: Severity) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures) = (0, 0);
    for rule in RULES {
        let findings: Vec<&Finding> = report.findings.iter().filter(|it| it.rule == rule).collect();
        let failed = if rule.severity >= fail_on { findings.len() } else { 0 };
        let count = findings.len().max(1);
        (tests, failures) = (tests + count, failures + failed);
        // Writing into memory cannot fail.
        let _ = writeln!(
            suites,
            "  <testsuite name=\"{}\" tests=\"{count}\" failures=\"{failed}\">",
            escape(rule.id)
        );
        if findings.is_empty() {
            let _ = writeln!(
                suites,
                "    <testcase classname=\"{}\" name=\"{}\"/>",
                escape(rule.id),
                escape(rule.summary)
            );
        }
        write_findings(&mut suites, &findings, fail_on);
        suites.push_str("  </testsuite>\n");
    }
    let given_up = match report.undecided {
        0 => String::new(),
        count => format!(", questions given up: {count}"),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"lint of release {}{given_up}\" tests=\"{tests}\" failures=\"{failures}\">\n\
         {suites}</testsuites>\n",
        escape(&report.release)
    )
}

/// The findings of one rule. CI systems take two tests of one name for one, so a second finding about an object is
/// numbered.
fn write_findings(out: &mut String, findings: &[&Finding], fail_on: Severity) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for finding in findings {
        let object = format!("{}:{} {}", finding.path(), finding.line, finding.object.name);
        let count = seen.entry(object.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { object } else { format!("{object} ({count})") };
        let combination = finding.combination.as_ref().map(|it| format!(" (with {it})")).unwrap_or_default();
        let severity = finding.severity();
        let message = escape(&format!("{}{combination}", finding.message));
        let result = if severity >= fail_on {
            format!("<failure type=\"{severity}\" message=\"{message}\"/>")
        } else {
            format!("<system-out>{severity}: {message}</system-out>")
        };
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\">\n      {result}\n    </testcase>\n",
            escape(finding.rule.id),
            escape(&name),
        );
    }
}

/// Text for an attribute or an element; characters that XML cannot hold become the replacement character.
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
        let xml = junit(&a_report(), Severity::Warning);
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
    fn a_finding_below_the_threshold_is_a_passed_test_that_tells_it() {
        let mut report = a_report();
        let xml = junit(&report, Severity::Error);
        assert_eq!(xml.matches("<failure ").count(), 1);
        assert!(xml.contains("<system-out>warning: a &quot;field&quot;"), "{xml}");
        report.findings.remove(0);
        let clean = junit(&report, Severity::Error);
        assert!(clean.contains(&format!("tests=\"{}\" failures=\"0\">", RULES.len())), "{clean}");
        assert!(!clean.contains("<failure"), "{clean}");
    }

    #[test]
    fn two_findings_of_a_rule_about_one_object_have_two_names() {
        let mut report = a_report();
        let second = Finding { message: "another image".to_owned(), ..report.findings[0].clone() };
        report.findings.insert(1, second);
        let xml = junit(&report, Severity::Error);
        let name = "name=\"release-manifests/0000_60_a_1.yaml:3 a";
        assert_eq!(xml.matches(&format!("{name}\">")).count(), 1);
        assert_eq!(xml.matches(&format!("{name} (2)\">")).count(), 1);
    }

    #[test]
    fn what_xml_cannot_hold_is_escaped() {
        let xml = junit(&a_report(), Severity::Info);
        assert!(xml.contains("message=\"a &quot;field&quot; &lt;x&gt; &amp; more\u{fffd}\""), "{xml}");
    }
}
