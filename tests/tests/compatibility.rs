//! Every deliberate difference from the reference operator, as a pair of outcomes: the reference's as text, ours by
//! running our code. `docs/compatibility.md` is written from the same list.
//!
//! `LOCKSTEP_BLESS=1` writes the page instead of comparing it.

#[cfg(test)]
#[path = "compatibility/apply.rs"]
mod apply;
#[cfg(test)]
#[path = "compatibility/building.rs"]
mod building;
#[cfg(test)]
#[path = "compatibility/definitions.rs"]
mod definitions;
#[cfg(test)]
#[path = "compatibility/extracting.rs"]
mod extracting;
#[cfg(test)]
#[path = "compatibility/fixture.rs"]
mod fixture;
#[cfg(test)]
#[path = "compatibility/history.rs"]
mod history;
#[cfg(test)]
#[path = "compatibility/limits.rs"]
mod limits;
#[cfg(test)]
#[path = "compatibility/mirroring.rs"]
mod mirroring;
#[cfg(test)]
#[path = "compatibility/order.rs"]
mod order;
#[cfg(test)]
#[path = "compatibility/reading.rs"]
mod reading;
#[cfg(test)]
#[path = "compatibility/report.rs"]
mod report;
#[cfg(test)]
#[path = "compatibility/requests.rs"]
mod requests;
#[cfg(test)]
#[path = "compatibility/status.rs"]
mod status;
#[cfg(test)]
#[path = "compatibility/upgradeable.rs"]
mod upgradeable;

use std::collections::BTreeSet;
use std::path::Path;

/// One deliberate difference.
struct Difference {
    /// Never changes; the anchor on the page.
    id: &'static str,
    /// One line for a reader who looks for something.
    title: &'static str,
    /// What decided it: a decision of the project's design, or a principle in words.
    decision: &'static str,
    /// What was looked at.
    case: &'static str,
    /// The reference's outcome.
    reference: &'static str,
    /// Ours.
    ours: &'static str,
    /// Why it differs.
    why: &'static str,
    /// Runs our code on the case.
    observe: fn() -> String,
}

const HEAD: &str = "\
# Compatibility

Lockstep is compatible outside and different inside. *Compatible* means: the names and fields of the API, the annotation
keys, the format of a release, the types and reasons of conditions, the version hash, and the forms of messages that
people and tools match on are those of OpenShift's cluster version operator, called the reference here. Real releases load
as there, object by object, and give the same hashes. What is an accident of the reference is not repeated.

This page lists every deliberate difference. Each entry is a pair of outcomes for one case, and a test runs our code on
the case and compares; what is not listed here and differs is a bug. D and a number is a decision of the project's design.

<!-- Written by the suite `compatibility` from its list: LOCKSTEP_BLESS=1 cargo test -p lockstep-tests --test compatibility -->
";

fn sections() -> [(&'static str, &'static [Difference]); 13] {
    [
        ("Reading a release", reading::DIFFERENCES),
        ("Limits", limits::DIFFERENCES),
        ("Order and runs", order::DIFFERENCES),
        ("Reports", report::DIFFERENCES),
        ("ClusterVersion and the definitions", definitions::DIFFERENCES),
        ("The status of ClusterVersion", status::DIFFERENCES),
        ("History", history::DIFFERENCES),
        ("Requests for a release", requests::DIFFERENCES),
        ("Upgradeable", upgradeable::DIFFERENCES),
        ("Applying objects", apply::DIFFERENCES),
        ("Building releases", building::DIFFERENCES),
        ("Extracting", extracting::DIFFERENCES),
        ("Mirroring releases", mirroring::DIFFERENCES),
    ]
}

fn page() -> String {
    let mut parts = vec![HEAD.to_owned()];
    for (section, differences) in sections() {
        parts.push(format!("\n## {section}\n"));
        parts.extend(differences.iter().map(entry));
    }
    parts.concat()
}

fn entry(it: &Difference) -> String {
    let Difference { id, title, decision, why, .. } = it;
    let [case, reference, ours] = [it.case, it.reference, it.ours].map(cell);
    format!(
        "\n### {title}\n\n`{id}` · {decision}\n\n| | |\n|---|---|\n| case | {case} |\n| reference | {reference} |\n\
         | Lockstep | {ours} |\n\n{why}\n"
    )
}

/// A text as the cell of a table.
fn cell(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('|', "\\|")
        .replace('*', "\\*")
        .replace('\n', "<br>")
}

#[test]
fn our_outcome_is_the_written_one_and_not_the_references() {
    let wrong: Vec<String> = sections()
        .iter()
        .flat_map(|(_, differences)| *differences)
        .filter_map(|it| {
            let observed = (it.observe)();
            let same = it.ours == it.reference;
            (observed != it.ours || same)
                .then(|| format!("{}\n  written:  {:?}\n  observed: {observed:?}", it.id, it.ours))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_difference_has_an_id_of_its_own_and_says_why() {
    let all: Vec<&Difference> = sections().iter().flat_map(|(_, differences)| *differences).collect();
    let ids: BTreeSet<&str> = all.iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), all.len());
    for it in all {
        assert!(it.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
        assert!(it.why.ends_with('.') && it.why.len() > 30, "{}", it.id);
    }
}

#[test]
fn the_page_is_written_from_this_list() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/compatibility.md");
    if std::env::var_os("LOCKSTEP_BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        committed,
        page(),
        "docs/compatibility.md is out of date: LOCKSTEP_BLESS=1 cargo test -p lockstep-tests --test compatibility"
    );
}
