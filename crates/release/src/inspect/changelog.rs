//! What happened between two releases, from the sources of their images.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use super::Details;
use super::git::{self, RawCommit};
use crate::compare::{ImageDiff, ImagesDiff};

/// What happened between two releases.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changelog {
    /// Format of this object.
    pub api_version: &'static str,
    /// Always `Changelog`.
    pub kind: &'static str,
    /// The release that is left.
    pub from: Side,
    /// The release that is gone to.
    pub to: Side,
    /// Versions of components.
    pub components: Vec<ComponentChange>,
    /// Images that are new.
    pub new_images: Vec<String>,
    /// Images that are gone.
    pub removed_images: Vec<String>,
    /// Images that were built again from the same sources.
    pub rebuilt_images: Vec<String>,
    /// Images that were built from other sources, by repository and range.
    pub updated_images: Vec<Update>,
    /// Repositories that could not be asked.
    pub errors: Vec<String>,
}

/// One of the two releases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// Its name.
    pub name: String,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Digest of its image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The version of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentChange {
    /// What people call it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its version before, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// Images that were built from other commits of one repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// Their names.
    pub names: Vec<String>,
    /// Where the source is.
    pub source: String,
    /// Commit before.
    pub from_commit: String,
    /// Commit now.
    pub to_commit: String,
    /// What happened in between.
    pub commits: Vec<Commit>,
    /// How many commits are not among these.
    pub elided_commits: usize,
}

/// One change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    /// Numbers of the bugs it names, sorted.
    pub bugs: Vec<u64>,
    /// Issues it names, sorted.
    pub issues: Vec<String>,
    /// What it says of itself.
    pub subject: String,
    /// Number of its pull request.
    pub pull: u64,
    /// The commit.
    pub commit: String,
    /// When it was made.
    pub date: String,
}

/// Reads a merge of a pull request: the first line of the body says what it does.
pub fn of_merge(subject: &str, body: &str) -> Option<Commit> {
    let pull = subject.strip_prefix("Merge pull request #")?.split_whitespace().next()?.parse().ok()?;
    let line = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Some(Commit { pull, ..of_line(line) })
}

/// Reads a commit that was squashed or rebased: its subject names the pull request as `(#N)`.
pub fn of_squash(subject: &str) -> Option<Commit> {
    let start = subject.rfind("(#")?;
    let pull = subject[start + 2..].split_once(')')?.0.parse().ok()?;
    Some(Commit { pull, ..of_line(subject) })
}

/// Takes bugs and issues off the beginning of a line.
fn of_line(line: &str) -> Commit {
    let line = without_tags(line.trim());
    let split = line.split_once(':').map(|(names, rest)| (names.trim(), rest.trim()));
    let (bugs, issues, subject) = match split {
        Some((names, rest)) => match (bugs(names), issues(names)) {
            (Some(bugs), _) => (bugs, Vec::new(), rest),
            (None, Some(issues)) => (Vec::new(), issues, rest),
            (None, None) => (Vec::new(), Vec::new(), line),
        },
        None => (Vec::new(), Vec::new(), line),
    };
    let subject = if subject.is_empty() { "Merge" } else { subject }.to_owned();
    Commit { bugs, issues, subject, ..Commit::default() }
}

/// The line without `[tag]` groups before it; a tag has no blanks.
fn without_tags(mut line: &str) -> &str {
    while let Some((tag, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        if tag.is_empty() || tag.contains(char::is_whitespace) {
            break;
        }
        line = rest.trim_start();
    }
    line
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| character == ',' || character.is_whitespace())
        .filter(|word| !word.is_empty())
}

/// `Bug 1`, `Bugs 1, 2 3`.
fn bugs(names: &str) -> Option<Vec<u64>> {
    let mut words = words(names);
    let first = words.next()?;
    if !first.eq_ignore_ascii_case("bug") && !first.eq_ignore_ascii_case("bugs") {
        return None;
    }
    let mut found: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    found.sort_unstable();
    found.dedup();
    (!found.is_empty()).then_some(found)
}

/// `ABC-1, DEF-2`.
fn issues(names: &str) -> Option<Vec<String>> {
    let is_issue = |word: &&str| {
        word.split_once('-').is_some_and(|(project, number)| {
            let is_project = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
            project.starts_with(|first: char| first.is_ascii_uppercase())
                && project.bytes().all(is_project)
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if !words(names).all(|word| is_issue(&word)) {
        return None;
    }
    let mut found: Vec<String> = words(names).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    (!found.is_empty()).then_some(found)
}

/// What happened between two releases; the repositories are in `folder`, as `host/path`.
pub fn between(from: &Details, to: &Details, images: &ImagesDiff, folder: &Path, fetch: bool) -> Changelog {
    let names = |images: &[ImageDiff]| images.iter().map(|image| image.name.clone()).collect();
    let mut changelog = Changelog {
        api_version: "lockstep.dev/v1",
        kind: "Changelog",
        from: side(from),
        to: side(to),
        components: components(from, to),
        new_images: names(&images.added),
        removed_images: names(&images.removed),
        rebuilt_images: names(&images.rebuilt),
        ..Changelog::default()
    };
    let mut ranges: BTreeMap<(String, String, String), Vec<String>> = BTreeMap::new();
    for image in &images.changed {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        let range = (part(&image.source), part(&image.from_commit), part(&image.to_commit));
        ranges.entry(range).or_default().push(image.name.clone());
    }
    for ((source, from_commit, to_commit), names) in ranges {
        let update = |commits, elided_commits| Update {
            names: names.clone(),
            source: source.clone(),
            from_commit: from_commit.clone(),
            to_commit: to_commit.clone(),
            commits,
            elided_commits,
        };
        match commits(&source, &from_commit, &to_commit, folder, fetch) {
            Ok((commits, elided)) => changelog.updated_images.push(update(commits, elided)),
            Err(error) => {
                changelog.errors.push(format!("{}: {error}", names.join(", ")));
                changelog.updated_images.push(update(Vec::new(), 0));
            }
        }
    }
    changelog
}

fn commits(
    source: &str,
    from: &str,
    to: &str,
    folder: &Path,
    fetch: bool,
) -> Result<(Vec<Commit>, usize), git::GitError> {
    let repository = git::Repository::open(folder, source, fetch)?;
    repository.require(from, to, fetch)?;
    let read = |raw: RawCommit, commit: Option<Commit>| {
        commit.map(|commit| Commit { commit: raw.id, date: raw.date, ..commit })
    };
    let merges = repository.log(from, to, true)?;
    let others = repository.log(from, to, false)?;
    if merges.is_empty() {
        let all = others.len();
        let found: Vec<Commit> = others
            .into_iter()
            .filter_map(|raw| {
                let commit = of_squash(&raw.subject);
                read(raw, commit)
            })
            .collect();
        let elided = all - found.len();
        return Ok((found, elided));
    }
    let found: Vec<Commit> = merges
        .into_iter()
        .filter_map(|raw| {
            let commit = of_merge(&raw.subject, &raw.body);
            read(raw, commit)
        })
        .collect();
    Ok((found, others.len()))
}

fn side(details: &Details) -> Side {
    Side { name: details.name.clone(), created: details.created.clone(), digest: details.digest.clone() }
}

fn components(from: &Details, to: &Details) -> Vec<ComponentChange> {
    let change = |(key, found): (&String, &super::versions::Component)| {
        let before = from.versions.get(key).map(|before| before.version.clone());
        let name = if found.display_name.is_empty() { capitalised(key) } else { found.display_name.clone() };
        ComponentChange {
            name,
            version: found.version.clone(),
            from: before.filter(|before| *before != found.version),
        }
    };
    to.versions.iter().map(change).collect()
}

/// `machine-os` as `Machine Os`.
fn capitalised(key: &str) -> String {
    let word = |word: &str| {
        let mut characters = word.chars();
        let first = characters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(characters).collect::<String>()
    };
    key.split('-').map(word).collect::<Vec<_>>().join(" ")
}

// === impl Changelog ===

impl Changelog {
    /// The changelog as Markdown. Writing to a string cannot fail.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n\n", self.to.name);
        if let Some(created) = &self.to.created {
            let _ = writeln!(out, "Created: {created}\n");
        }
        if let Some(digest) = &self.to.digest {
            let _ = writeln!(out, "Image Digest: `{digest}`\n");
        }
        let _ = writeln!(out, "## Changes from {}\n", self.from.name);
        if !self.components.is_empty() {
            out.push_str("### Components\n\n");
            for ComponentChange { name, version, from } in &self.components {
                let _ = match from {
                    Some(from) => writeln!(out, "* {name} upgraded from {from} to {version}"),
                    None => writeln!(out, "* {name} {version}"),
                };
            }
            out.push('\n');
        }
        for (title, images) in [
            ("New images", &self.new_images),
            ("Removed images", &self.removed_images),
            ("Rebuilt images without code change", &self.rebuilt_images),
        ] {
            if !images.is_empty() {
                let _ = writeln!(out, "### {title}\n");
                for image in images {
                    let _ = writeln!(out, "* {image}");
                }
                out.push('\n');
            }
        }
        self.updated_images.iter().for_each(|update| update.write(&mut out));
        out
    }
}

// === impl Update ===

impl Update {
    fn write(&self, out: &mut String) {
        let names = self.names.join(", ");
        let base = self.source.trim_end_matches(".git").trim_end_matches('/');
        let is_github = base.starts_with("https://github.com/");
        let _ = if is_github {
            writeln!(out, "### [{names}]({base}/tree/{})\n", self.to_commit)
        } else {
            writeln!(out, "### {names}\n")
        };
        for commit in &self.commits {
            let mut references: Vec<String> = commit.bugs.iter().map(|bug| format!("Bug {bug}")).collect();
            references.extend(commit.issues.iter().cloned());
            let references =
                if references.is_empty() { String::new() } else { format!("{}: ", references.join(", ")) };
            let subject = commit.subject.replace('<', "&lt;").replace('>', "&gt;");
            let pull = if is_github {
                format!("[#{}]({base}/pull/{})", commit.pull, commit.pull)
            } else {
                format!("#{}", commit.pull)
            };
            let _ = writeln!(out, "* {references}{subject} {pull}");
        }
        if self.elided_commits > 0 {
            let _ = writeln!(
                out,
                "* And {} elided commits (e.g. from squash or rebase merges)",
                self.elided_commits
            );
        }
        let _ = if is_github {
            writeln!(out, "* [Full changelog]({base}/compare/{}...{})\n", self.from_commit, self.to_commit)
        } else {
            writeln!(out, "* {base} {}..{}\n", self.from_commit, self.to_commit)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(commit: Option<Commit>) -> (u64, Vec<u64>, Vec<String>, String) {
        let Commit { pull, bugs, issues, subject, .. } = commit.unwrap();
        (pull, bugs, issues, subject)
    }

    #[test]
    fn rows_of_the_specification() {
        let merge = |body: &str| parts(of_merge("Merge pull request #145 from someone/branch", body));
        let row =
            |bugs: &[u64], subject: &str| (145, bugs.to_vec(), Vec::<String>::new(), subject.to_owned());
        assert_eq!(merge("Bug 1743564: test"), row(&[1_743_564], "test"));
        assert_eq!(merge("[release-4.1] Bug 1743564 : test"), row(&[1_743_564], "test"));
        assert_eq!(merge("Bugs , 17 43,564,: test"), row(&[17, 43, 564], "test"));
        let spaced = "[release 4.1] bugs 1743564: test";
        assert_eq!(merge(spaced), row(&[], spaced));
        assert_eq!(merge(""), row(&[], "Merge"));
        assert_eq!(merge("Bug 5:"), row(&[5], "Merge"));
        assert_eq!(parts(of_squash("Bugs 1743564: fix typo (#145)")), row(&[1_743_564], "fix typo (#145)"));
        let (pull, bugs, issues, subject) =
            parts(of_squash("OCPBUGS-1743564, NE-123 ABC-789,,, XYZ-123: fix typo (#145)"));
        assert_eq!((pull, bugs.len(), subject.as_str()), (145, 0, "fix typo (#145)"));
        assert_eq!(issues, ["ABC-789", "NE-123", "OCPBUGS-1743564", "XYZ-123"]);
        assert_eq!(of_squash("no number"), None);
        assert_eq!(of_merge("Merge branch 'x'", "Bug 1: y"), None);
        assert_eq!(merge("fix: a thing").3, "fix: a thing", "a word before a colon is no issue");
    }
}
