//! Looks at an HTML page in Chromium and says what a reader would stumble over.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use xtask::Error;
use xtask::browser::{Browser, Visit, Window};

const SCRIPT: &str = include_str!("../assets/page-check.js");

/// The size that a page of ours stays below.
pub const MAX_BYTES: usize = 3_000_000;

/// The window of a laptop.
pub const LAPTOP: Window = Window { width: 1280, height: 900, dark: false };
/// The window of a laptop whose owner prefers dark pages.
pub const LAPTOP_IN_THE_DARK: Window = Window { width: 1280, height: 900, dark: true };
/// The window of a telephone.
pub const TELEPHONE: Window = Window { width: 400, height: 800, dark: false };

/// What was looked at and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageReport {
    /// The size of the page.
    pub bytes: usize,
    /// The smallest number of visible texts that a look checked; 0 would mean that it proved nothing.
    pub texts: u64,
    /// What is wrong, in the order of the windows.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong with a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The window that shows it, such as `1280 px dark`.
    pub window: String,
    /// `scroll`, `overlap`, `outside`, `contrast`, `request`, `size`, or `setup` when the look itself failed.
    pub rule: String,
    /// What and where.
    pub detail: String,
}

/// Checks a page on a laptop in light and dark and on a telephone; see [`check_page_in`].
pub fn check_page(html: &str) -> Result<PageReport, Error> {
    check_page_in(html, &[LAPTOP, LAPTOP_IN_THE_DARK, TELEPHONE])
}

/// Checks a page in the given windows, with its lists as they are and with all of them open.
///
/// Chromium is installed if that is possible and needed.
pub fn check_page_in(html: &str, windows: &[Window]) -> Result<PageReport, Error> {
    let mut report = PageReport { bytes: html.len(), texts: u64::MAX, problems: Vec::new() };
    if html.len() > MAX_BYTES {
        report.add("any window", "size", &format!("{} bytes are more than {MAX_BYTES}", html.len()));
    }
    for &window in windows {
        let wanted = json!({ "width": window.width, "dark": window.dark });
        let visit = visit(html, SCRIPT, &wanted, window)?;
        let name = format!("{} px {}", window.width, if window.dark { "dark" } else { "light" });
        report.take(&name, &visit.result);
        for address in &visit.requests {
            report.add(&name, "request", &format!("{address} (network log)"));
        }
    }
    Ok(report)
}

/// Opens a page and calls a script in it, one browser at a time: they would only slow each other down.
pub fn visit(html: &str, script: &str, argument: &Value, window: Window) -> Result<Visit, Error> {
    static BROWSER: Mutex<Option<Browser>> = Mutex::new(None);
    let mut browser = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match browser.take() {
        Some(found) => found,
        None => Browser::find_or_install()?,
    };
    browser.insert(found).visit(html, script, argument, window)
}

// === impl PageReport ===

impl PageReport {
    /// The rules that are broken, each once, in alphabetical order.
    pub fn broken_rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = self.problems.iter().map(|problem| problem.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    fn take(&mut self, window: &str, result: &Value) {
        let (Some(checked), Some(problems)) = (result["checked"].as_u64(), result["problems"].as_array())
        else {
            self.add(window, "setup", &format!("the check ended with {result}"));
            return;
        };
        self.texts = self.texts.min(checked);
        for problem in problems {
            let text = |field: &str| problem[field].as_str().unwrap_or_default().to_owned();
            self.add(window, &text("rule"), &text("detail"));
        }
    }

    fn add(&mut self, window: &str, rule: &str, detail: &str) {
        let owned = |text: &str| text.to_owned();
        self.problems.push(Problem { window: owned(window), rule: owned(rule), detail: owned(detail) });
    }
}

impl fmt::Display for PageReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} bytes, {} texts, {} problems", self.bytes, self.texts, self.problems.len())?;
        for Problem { window, rule, detail } in self.problems.iter().take(40) {
            writeln!(out, "{rule} ({window}): {detail}")?;
        }
        Ok(())
    }
}
