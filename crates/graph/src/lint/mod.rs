//! Lint: what is wrong, or will surprise somebody, in a release, before any cluster sees it.
//!
//! Release in, findings out. A rule looks at one cluster, given by a selection, or at all clusters that the release
//! knows of: presence is a conjunction, so every dependency is decided exactly (see [`lockstep_payload::presence`]) and
//! a finding names the smallest combination in which it holds. Every rule has a page in `docs/lint/`.

mod annotations;
mod dependency;
mod duplicates;
mod images;
mod names;
mod operators;
pub mod output;
mod prerequisites;
mod references;
pub mod rules;
mod schema;
mod spelling;
mod survey;

use std::fmt;

use serde::Serialize;

use lockstep_api::ResourceId;
use lockstep_payload::{Folder, Release, Selection, Space};

pub use rules::RULES;

/// Which clusters a lint looks at.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// The one cluster that this selection describes.
    Selected(&'a Selection),
    /// Every cluster that the release knows of, exactly.
    AllCombinations,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; usual in real releases.
    Info,
    /// Probably not what the author meant.
    Warning,
    /// An installation or an update will fail, hang or silently lack something.
    Error,
}

/// One rule. Its id never changes; its page is `docs/lint/<id>.md`.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The stable id.
    pub id: &'static str,
    /// How bad every finding of it is.
    pub severity: Severity,
    /// What it finds.
    pub summary: &'static str,
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Folder of the file.
    pub folder: Folder,
    /// Base name of the file.
    pub file: String,
    /// Line on which the object starts, from 1.
    pub line: usize,
    /// API version of the object, empty where the finding is about a file.
    pub api_version: String,
    /// The object.
    pub object: ResourceId,
    /// What is there, why it matters, what to do.
    pub message: String,
    /// The smallest combination in which it holds; nothing where that is the selected or the default cluster.
    pub combination: Option<String>,
}

/// Everything that was found in one release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintReport {
    /// Version of the release.
    pub release: String,
    /// Whether all combinations were looked at.
    pub all_combinations: bool,
    /// How many questions about all combinations were given up because they took too long: each may hide a finding.
    pub undecided: usize,
    /// The findings, by file, line and rule.
    pub findings: Vec<Finding>,
}

/// Looks for everything that the rules know.
pub fn lint(release: &Release, scope: Scope<'_>) -> LintReport {
    let survey = survey::Survey::new(release, scope);
    let mut findings = Vec::new();
    let families = [
        names::check,
        annotations::check,
        duplicates::check,
        operators::check,
        prerequisites::check,
        references::check,
        images::check,
        schema::check,
    ];
    for family in families {
        family(&survey, &mut findings);
    }
    findings.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
    LintReport {
        release: release.metadata.version.to_string(),
        all_combinations: matches!(scope, Scope::AllCombinations),
        undecided: survey.undecided(),
        findings,
    }
}

/// The selection that lint looks at when no flags are given: default profile and feature set, no gates, all
/// capabilities.
pub fn default_selection(release: &Release) -> Selection {
    let space = Space::of(release);
    space.default_combination().selection(&space)
}

// === impl Severity ===

impl Severity {
    /// From the worst to the least.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    /// `error`, `warning` or `info`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Finding ===

impl Finding {
    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.rule.severity
    }

    /// Folder and file, as a path inside the release.
    pub fn path(&self) -> String {
        format!("{}/{}", self.folder.as_str(), self.file)
    }

    fn sort_key(&self) -> impl Ord {
        (&self.file, self.folder, self.line, self.rule.id, &self.message)
    }
}

// === impl LintReport ===

impl LintReport {
    /// How many findings there are of one severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity() == severity).count()
    }

    /// Whether there is a finding of this severity or a worse one.
    pub fn has_at_least(&self, severity: Severity) -> bool {
        self.findings.iter().any(|finding| finding.severity() >= severity)
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use super::testing::{Objects, object};
    use super::*;

    #[test]
    fn findings_stand_in_the_order_of_files_and_lines() {
        let release = Objects::new()
            .file("b.yaml", &[object("v1", "ConfigMap", "default", "a"), object("v1", "Foo", "default", "b")])
            .file("a.yaml", &[object("v1", "Foo", "default", "c")])
            .release();
        let report = lint(&release, Scope::Selected(&default_selection(&release)));
        let found: Vec<_> =
            report.findings.iter().map(|it| (it.file.as_str(), it.line, it.rule.id)).collect();
        assert!(found.is_sorted(), "{found:?}");
        assert_eq!(found.iter().filter(|it| it.2 == "unknown-built-in-kind").count(), 2, "{found:?}");
        assert_eq!(report.release, "4.1.0");
        assert!(report.has_at_least(Severity::Warning));
        assert_eq!(report.count(Severity::Error) > 0, report.has_at_least(Severity::Error));
    }
}
