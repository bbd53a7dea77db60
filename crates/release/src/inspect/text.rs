//! A release as text: blocks of named values, then a table of its images.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use lockstep_api::names::annotation;
use lockstep_api::text::visible;
use lockstep_payload::images::ImageTag;
use lockstep_view::table::Table;

use super::Details;

/// What the table of images shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Their digests.
    Digests,
    /// Their pull specs.
    PullSpecs,
    /// Repository and commit of their sources.
    Commits,
    /// Where a person reads their sources.
    CommitUrls,
    /// Which operators use them.
    Operators,
}

// === impl Details ===

impl Details {
    /// The release in blocks; blank lines end a block.
    pub fn text(&self, columns: Columns) -> String {
        let mut out = self.head();
        let _ = writeln!(out, "Images:\n{}", indent(&self.images(columns).to_string()));
        if !self.warnings.is_empty() {
            out.push_str("Warnings:\n");
            for warning in &self.warnings {
                let _ = writeln!(out, "* {warning}");
            }
        }
        out.split('\n').map(visible).collect::<Vec<_>>().join("\n")
    }

    /// Everything before the images. Writing to a string cannot fail.
    pub(super) fn head(&self) -> String {
        let mut out = String::new();
        let mut facts = Table::without_header();
        facts.row(["Name:", &self.name]);
        let optional = [("Digest:", &self.digest), ("Created:", &self.created), ("OS/Arch:", &self.platform)];
        for (name, value) in optional.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            facts.row([name, value]);
        }
        facts.row(["Manifests:", &self.manifests.to_string()]);
        if self.metadata_files > 0 {
            facts.row(["Metadata files:", &self.metadata_files.to_string()]);
        }
        let _ = writeln!(out, "{facts}");
        if let Some(spec) = &self.pull_spec {
            let _ = writeln!(out, "Pull From: {spec}\n");
        }
        let _ = writeln!(out, "Release Metadata:\n  Version:  {}", self.metadata.version);
        let _ = writeln!(out, "  Upgrades: {}\n  Metadata:", upgrades(&self.metadata.previous));
        for (key, value) in &self.metadata.metadata {
            match value {
                Value::String(text) if text.is_empty() => {}
                Value::String(text) => {
                    let _ = writeln!(out, "    {key}: {text}");
                }
                Value::Array(items) if items.is_empty() => {}
                Value::Object(fields) if fields.is_empty() => {}
                other => {
                    let _ = writeln!(out, "    {key}: {other}");
                }
            }
        }
        out.push('\n');
        if !self.versions.is_empty() {
            out.push_str("Component Versions:\n");
            for (key, found) in &self.versions {
                let _ = writeln!(
                    out,
                    "{}",
                    format!("  {key} {} {}", found.version, found.display_name).trim_end()
                );
            }
            out.push('\n');
        }
        out
    }

    fn images(&self, columns: Columns) -> Table {
        let note = |tag: &ImageTag, key: &str| tag.annotations.get(key).cloned().unwrap_or_default();
        let spec = |tag: &ImageTag| tag.pull_spec.clone().unwrap_or_default();
        let digest = |tag: &ImageTag| {
            spec(tag).split_once('@').map_or_else(|| spec(tag), |(_, digest)| digest.to_owned())
        };
        let (source, commit) = (annotation::BUILD_SOURCE_LOCATION, annotation::BUILD_COMMIT_ID);
        let mut table = match columns {
            Columns::Digests => Table::new(["name", "digest"]),
            Columns::PullSpecs => Table::new(["name", "pull spec"]),
            Columns::Commits => Table::new(["name", "repo", "commit"]),
            Columns::CommitUrls => Table::new(["name", "url"]),
            Columns::Operators => return self.operators(),
        };
        for tag in &self.references.tags {
            let cells = match columns {
                Columns::Digests | Columns::Operators => vec![digest(tag)],
                Columns::PullSpecs => vec![spec(tag)],
                Columns::Commits => vec![note(tag, source), note(tag, commit)],
                Columns::CommitUrls => vec![commit_url(&note(tag, source), &note(tag, commit))],
            };
            table.row(std::iter::once(tag.name.clone()).chain(cells));
        }
        table
    }

    /// The images by the operators whose manifests use them.
    fn operators(&self) -> Table {
        let mut by_operator: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for tag in &self.references.tags {
            let users = tag.annotations.get(annotation::USED_BY).map_or("", String::as_str);
            let mut users: Vec<&str> =
                users.split(',').map(str::trim).filter(|user| !user.is_empty()).collect();
            if users.is_empty() {
                users.push("(nobody says)");
            }
            for user in users {
                by_operator.entry(user).or_default().push(&tag.name);
            }
        }
        let mut table = Table::new(["operator", "images"]);
        for (operator, images) in by_operator {
            table.row([operator, &images.join(", ")]);
        }
        table
    }
}

/// Where a person reads a commit: an address for GitHub, else repository and commit.
pub fn commit_url(source: &str, commit: &str) -> String {
    let path = source
        .strip_prefix("https://github.com/")
        .map(|path| path.trim_end_matches(".git").trim_end_matches('/'));
    match path {
        Some(path) if !commit.is_empty() => format!("https://github.com/{path}/commit/{commit}"),
        _ => format!("{source} {commit}").trim().to_owned(),
    }
}

/// Versions in their own order; what is no version comes last.
fn upgrades(previous: &[String]) -> String {
    if previous.is_empty() {
        return "<none>".to_owned();
    }
    let mut all: Vec<(bool, Option<semver::Version>, &String)> = previous
        .iter()
        .map(|text| {
            let version = semver::Version::parse(text).ok();
            (version.is_none(), version, text)
        })
        .collect();
    all.sort();
    all.into_iter().map(|(_, _, text)| text.as_str()).collect::<Vec<_>>().join(", ")
}

pub(super) fn indent(text: &str) -> String {
    text.lines().flat_map(|line| ["  ", line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_sorted_as_versions() {
        let of =
            |versions: &[&str]| upgrades(&versions.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["4.16.10", "nonsense", "4.16.9", "4.9.0"]), "4.9.0, 4.16.9, 4.16.10, nonsense");
        assert_eq!(of(&[]), "<none>");
    }

    #[test]
    fn only_github_commits_have_an_address() {
        assert_eq!(commit_url("https://github.com/o/r", "abc"), "https://github.com/o/r/commit/abc");
        assert_eq!(commit_url("https://git.example.com/o/r", "abc"), "https://git.example.com/o/r abc");
        assert_eq!(commit_url("", ""), "");
    }
}
