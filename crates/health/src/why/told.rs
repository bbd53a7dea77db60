//! A diagnosis as somebody wants to read it who was woken up: the cause, the proof, the damage, the next command.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::finding::{Diagnosis, Finding, called};

/// How many further findings are told in full.
const IN_FULL: usize = 4;
/// How many names stand in one line.
const NAMES: usize = 8;

/// The whole diagnosis as text.
pub fn told(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    let now = diagnosis.at.timestamp();
    match diagnosis.causes.split_first() {
        None if diagnosis.unhealthy.is_empty() => text += "Nothing is wrong that any rule knows.\n",
        None => {
            let _ = writeln!(text, "No rule knows why these are not well: {}.", names(&diagnosis.unhealthy));
        }
        Some((first, rest)) => {
            text += "ROOT CAUSE\n";
            text += &in_full(first, now);
            if !rest.is_empty() {
                let _ = writeln!(text, "\nFURTHER FINDINGS ({})", rest.len());
                for finding in rest.iter().take(IN_FULL) {
                    text += &in_full(finding, now);
                }
                for finding in rest.iter().skip(IN_FULL) {
                    text += &head(finding, now);
                }
            }
        }
    }
    for open in &diagnosis.unexplained {
        let _ = writeln!(text, "\nNO CAUSE FOUND for operator {}; it says:", open.operator);
        for line in open.conditions.iter().chain(&open.events) {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// `[id] level: title: object, since …` on one line.
fn head(finding: &Finding, now: Timestamp) -> String {
    let Finding { id, level, title, object, .. } = finding;
    let mut line = format!("  [{id}] {}: {title}: {}", level.word(), called(object));
    if !finding.others.is_empty() {
        let _ = write!(line, " and {} more", finding.others.len());
    }
    if let Some(since) = finding.since {
        let _ = write!(line, ", for {}", span(now.duration_since(since).as_secs()));
    }
    let _ = writeln!(line, " ({})", finding.confidence.word());
    line
}

fn in_full(finding: &Finding, now: Timestamp) -> String {
    let mut text = head(finding, now);
    let _ = writeln!(text, "    why: {}", finding.why);
    for line in &finding.evidence {
        let _ = writeln!(text, "    seen: {line}");
    }
    if !finding.blocks.is_empty() {
        let _ = writeln!(text, "    blocks: {}", names(&finding.blocks));
    }
    for (at, line) in finding.fix.iter().enumerate() {
        let _ = writeln!(text, "    {} {line}", if at == 0 { "do:" } else { "   " });
    }
    if !finding.explains.is_empty() {
        let symptoms: Vec<String> =
            finding.explains.iter().map(|it| format!("{} {}", it.id, called(&it.object))).collect();
        let _ = writeln!(text, "    explains: {}", names(&symptoms));
    }
    text
}

/// Some names, and how many more there are.
fn names(all: &[String]) -> String {
    let shown = all.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A span of time with its two largest units.
fn span(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86400 => format!("{}h{}m", seconds / 3600, seconds % 3600 / 60),
        seconds => format!("{}d{}h", seconds / 86400, seconds % 86400 / 3600),
    }
}
