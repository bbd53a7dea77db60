//! The end of `cargo xtask test`: what ran, what did not, how long it took.

use std::fmt::Write as _;
use std::time::Duration;

use super::{Outcome, Verdict};

/// How long everything may take on two cores, with nothing built before.
const BUDGET: Duration = Duration::from_mins(45);

/// A step that is over, in one line.
pub(super) fn sentence(outcome: &Outcome) -> String {
    let Outcome { verdict, suites, seconds, .. } = outcome;
    let passed: usize = suites.iter().map(|suite| suite.passed).sum();
    match verdict {
        Verdict::Passed if suites.is_empty() => format!("ok, {seconds:.1} s"),
        Verdict::Passed => format!("ok, {passed} passed, {seconds:.1} s"),
        Verdict::Failed => format!("FAILED, {seconds:.1} s"),
        Verdict::LeftOut(why) => format!("left out: {why}"),
    }
}

/// Tests that passed and failures of any sort.
///
/// A step that failed without a failed test (it did not compile, a check complained) is one failure, so that a run
/// that is not well never ends with `0 failed`.
pub(super) fn counts(outcomes: &[Outcome]) -> (usize, usize) {
    let passed = outcomes.iter().flat_map(|outcome| &outcome.suites).map(|suite| suite.passed).sum();
    let failed = outcomes.iter().map(|outcome| {
        let tests: usize = outcome.suites.iter().map(|suite| suite.failed).sum();
        tests.max(usize::from(outcome.verdict == Verdict::Failed))
    });
    (passed, failed.sum())
}

/// A table of all steps and suites with their times, then what was left out, then the time of the whole.
pub(super) fn table(outcomes: &[Outcome], total: Duration) -> String {
    let mut text = format!("\n{:<40} {:<8} {:>7} {:>7} {:>9}\n", "", "result", "passed", "failed", "seconds");
    let mut left_out = Vec::new();
    for Outcome { name, verdict, suites, seconds } in outcomes {
        let result = match verdict {
            Verdict::Passed => "ok",
            Verdict::Failed => "FAILED",
            Verdict::LeftOut(why) => {
                left_out.push(format!("{name}: {why}"));
                "left out"
            }
        };
        let _ = writeln!(text, "{name:<40} {result:<8} {:>7} {:>7} {seconds:>9.1}", "", "");
        // A suite without tests is a library that only others test.
        for suite in suites.iter().filter(|suite| suite.passed + suite.failed + suite.left_out.len() > 0) {
            let result = if suite.failed > 0 { "FAILED" } else { "ok" };
            let _ = writeln!(
                text,
                "  {:<38} {result:<8} {:>7} {:>7} {:>9.1}",
                suite.name, suite.passed, suite.failed, suite.seconds
            );
            left_out
                .extend(suite.left_out.iter().map(|it| format!("{}::{}: {}", suite.name, it.test, it.why)));
        }
    }
    for line in left_out {
        let _ = writeln!(text, "left out: {line}");
    }
    let over = if total > BUDGET { ", MORE than" } else { " of" };
    let _ = write!(
        text,
        "total: {} min {} s{over} the {} min for a first run on two cores",
        total.as_secs() / 60,
        total.as_secs() % 60,
        BUDGET.as_secs() / 60
    );
    text
}

#[cfg(test)]
mod tests {
    use super::super::log::{LeftOut, Suite};
    use super::*;

    fn a_step(name: &str, verdict: Verdict, suites: Vec<Suite>) -> Outcome {
        Outcome { name: name.into(), verdict, suites, seconds: 1.0 }
    }

    fn a_suite(passed: usize, failed: usize) -> Suite {
        Suite { name: "some_suite".into(), passed, failed, ..Suite::default() }
    }

    #[test]
    fn failed_tests_count_each_and_a_failed_check_counts_once() {
        let outcomes = [
            a_step("fmt", Verdict::Failed, Vec::new()),
            a_step("unit", Verdict::Failed, vec![a_suite(3, 2), a_suite(4, 0)]),
            a_step("fuzz", Verdict::Failed, vec![a_suite(1, 0)]),
            a_step("deny", Verdict::LeftOut("no".into()), Vec::new()),
        ];
        assert_eq!(counts(&outcomes), (8, 4));
    }

    #[test]
    fn what_was_left_out_is_listed_with_the_reason() {
        let missing = LeftOut { test: "objects".into(), why: "no real releases".into() };
        let outcomes = [
            a_step("deny", Verdict::LeftOut("cargo-deny is not installed".into()), Vec::new()),
            a_step("corpus", Verdict::Passed, vec![Suite { left_out: vec![missing], ..a_suite(0, 0) }]),
        ];
        let text = table(&outcomes, Duration::from_secs(61));
        assert!(text.contains("left out: deny: cargo-deny is not installed\n"), "{text}");
        assert!(text.contains("left out: some_suite::objects: no real releases\n"), "{text}");
        assert!(text.ends_with("total: 1 min 1 s of the 45 min for a first run on two cores"), "{text}");
    }

    #[test]
    fn a_suite_without_tests_has_no_line_and_one_with_tests_has() {
        let text = table(&[a_step("unit", Verdict::Passed, vec![a_suite(0, 0)])], Duration::ZERO);
        assert!(!text.contains("some_suite"), "{text}");
        let text = table(&[a_step("unit", Verdict::Passed, vec![a_suite(1, 0)])], Duration::ZERO);
        assert!(text.contains("some_suite"), "{text}");
    }
}
