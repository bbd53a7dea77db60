//! Asks repositories on disk what happened; nothing is fetched unless that is wanted.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Stands between the fields of a commit, and behind each commit.
const FIELD: char = '\u{1e}';
const END: char = '\u{1f}';

/// Why a repository did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The place of the source cannot be used.
    #[error("the source location {0:?} is no address of a repository")]
    Location(String),
    /// What should be a commit is none.
    #[error("{0:?} is no commit")]
    NoCommit(String),
    /// The repository is not there.
    #[error("{path} is not there; clone {source_location} to it, or give --fetch")]
    Missing {
        /// Where it should be.
        path: String,
        /// Where it comes from.
        source_location: String,
    },
    /// A commit is not in it.
    #[error("{which} commit {commit} does not exist in {path}; fetch it, or give --fetch")]
    Unknown {
        /// `from` or `to`.
        which: &'static str,
        /// The commit.
        commit: String,
        /// The repository.
        path: String,
    },
    /// The command failed.
    #[error("git {what} in {path}: {why}")]
    Failed {
        /// What was asked.
        what: String,
        /// The repository.
        path: String,
        /// What the command said.
        why: String,
    },
}

/// A commit as git prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCommit {
    /// Its name.
    pub id: String,
    /// When it was committed.
    pub date: String,
    /// Its first line.
    pub subject: String,
    /// The rest.
    pub body: String,
}

/// A repository on disk.
#[derive(Debug, Clone)]
pub struct Repository {
    path: PathBuf,
}

// === impl Repository ===

impl Repository {
    /// Opens the repository of a source below a folder, as `host/path`; with `fetch` it is cloned where it is missing.
    pub fn open(folder: &Path, source: &str, fetch: bool) -> Result<Self, GitError> {
        let path = folder.join(place(source).ok_or_else(|| GitError::Location(source.to_owned()))?);
        let repository = Self { path };
        if repository.path.is_dir() {
            return Ok(repository);
        }
        if !fetch {
            let path = repository.name();
            return Err(GitError::Missing { path, source_location: source.to_owned() });
        }
        let name = repository.name();
        let clone = ["clone", "--quiet", "--bare", "--filter=blob:none", "--", source, &name];
        run(&name, Command::new("git").args(clone), "clone")?;
        Ok(repository)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn git(&self, arguments: &[&str]) -> Result<String, GitError> {
        let what = arguments.first().copied().unwrap_or_default();
        run(&self.name(), Command::new("git").arg("-C").arg(&self.path).args(arguments), what)
    }

    /// Checks that both commits are there; with `fetch` the others are fetched once.
    pub fn require(&self, from: &str, to: &str, fetch: bool) -> Result<(), GitError> {
        for commit in [from, to] {
            if commit.len() < 7 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(GitError::NoCommit(commit.to_owned()));
            }
        }
        let has = |commit: &str| self.git(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok();
        if fetch && !(has(from) && has(to)) {
            self.git(&["fetch", "--quiet", "--all"])?;
        }
        for (which, commit) in [("from", from), ("to", to)] {
            if !has(commit) {
                return Err(GitError::Unknown { which, commit: commit.to_owned(), path: self.name() });
            }
        }
        Ok(())
    }

    /// The commits of the first line of descent between two: the merges, or the others.
    pub fn log(&self, from: &str, to: &str, merges: bool) -> Result<Vec<RawCommit>, GitError> {
        let merges = if merges { "--merges" } else { "--no-merges" };
        let format = format!("--format=%H{FIELD}%cI{FIELD}%s{FIELD}%b{END}");
        let range = format!("{from}..{to}");
        let text = self.git(&["log", "--first-parent", merges, &format, &range, "--"])?;
        let read = |one: &str| {
            let mut fields = one.trim_start().split(FIELD).map(str::to_owned);
            Some(RawCommit {
                id: fields.next()?,
                date: fields.next()?,
                subject: fields.next()?,
                body: fields.next()?,
            })
        };
        Ok(text.split(END).filter_map(read).collect())
    }
}

/// `host/path` of a source; nothing where it could lead elsewhere.
fn place(source: &str) -> Option<PathBuf> {
    let (scheme, rest) = source.split_once("://")?;
    if !["https", "http", "ssh", "git"].contains(&scheme) {
        return None;
    }
    let rest =
        rest.rsplit_once('@').map_or(rest, |(_, host)| host).trim_end_matches('/').trim_end_matches(".git");
    let parts: Vec<&str> = rest.split('/').collect();
    let is_good =
        |part: &&str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.contains(['\\', '\0', ':']);
    (parts.len() >= 2 && parts.iter().all(is_good)).then(|| parts.iter().collect())
}

fn run(path: &str, command: &mut Command, what: &str) -> Result<String, GitError> {
    let failed = |why: String| GitError::Failed { what: what.to_owned(), path: path.to_owned(), why };
    // Nobody is there to type a password.
    let output = command.env("GIT_TERMINAL_PROMPT", "0").stdin(std::process::Stdio::null()).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_a_place_below_the_folder_and_nowhere_else() {
        let of = |source: &str| place(source).map(|path| path.display().to_string());
        assert_eq!(of("https://github.com/o/r").as_deref(), Some("github.com/o/r"));
        assert_eq!(of("https://user@git.example.com/a/b/c.git/").as_deref(), Some("git.example.com/a/b/c"));
        assert_eq!(of("https://git.example.com/a/b.git").as_deref(), Some("git.example.com/a/b"));
        for wrong in [
            "",
            "o/r",
            "https://../x",
            "https://h/../../x",
            "https://h",
            "file:///etc/x",
            "https://h/-upload/x",
            "ext::sh/x",
            "https://h//x",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
