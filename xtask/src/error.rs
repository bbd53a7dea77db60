//! What can go wrong in the project's own commands.
//!
//! Written by hand: `xtask` is compiled before everything else and stays free of derive macros.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A failed step of a command, with what the reader needs to act.
#[derive(Debug)]
pub enum Error {
    /// A file or process operation failed.
    Io {
        /// What was being done, as a gerund phrase that names the file.
        doing: String,
        /// What the system answered.
        source: io::Error,
    },
    /// A folder that should hold Kubernetes binaries does not hold all of them.
    MissingBinaries {
        /// The folder that was looked at.
        folder: PathBuf,
        /// The names that are not there.
        missing: Vec<&'static str>,
    },
    /// There is nothing to build Kubernetes with.
    NoGo {
        /// The binaries that would have been built.
        wanted: Vec<&'static str>,
    },
    /// A `go` command failed.
    Go {
        /// What was being done, as a gerund phrase.
        doing: String,
        /// The last lines that `go` wrote.
        log: String,
    },
    /// A component of the private Kubernetes did not come up.
    Component {
        /// The name of its binary.
        name: &'static str,
        /// What happened, as the end of a sentence that starts with the name.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// A command answered with a failure.
    Command {
        /// The command line.
        command: String,
        /// What it wrote to its error stream.
        log: String,
    },
    /// Some text does not have the form that it should have.
    Data {
        /// The file, address or type that was read.
        from: String,
        /// What is wrong with it, and what would be right.
        what: String,
    },
}

/// Makes an [`Error::Io`] out of a system error; `doing` names the step and the file.
pub(crate) fn io_error(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
    let doing = doing.into();
    move |source| Error::Io { doing, source }
}

// === impl Error ===

impl Error {
    /// Whether another choice of ports may help.
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Component { log, .. } if log.contains("address already in use"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, source } => write!(f, "{doing}: {source}"),
            Self::MissingBinaries { folder, missing } => write!(
                f,
                "`{}` (from KUBEBUILDER_ASSETS) lacks {}; put them there or unset the variable",
                folder.display(),
                missing.join(", ")
            ),
            Self::NoGo { wanted } => write!(
                f,
                "no `go` on PATH to build Kubernetes with; install Go, or put the binaries {} into one folder \
                 and name it in KUBEBUILDER_ASSETS",
                wanted.join(", ")
            ),
            Self::Go { doing, log } => write!(f, "{doing} failed; the last lines of `go`:\n{log}"),
            Self::Component { name, what, log } => {
                write!(f, "{name} {what}; the last lines of its log:\n{log}")
            }
            Self::Command { command, log } => write!(f, "`{command}` failed: {}", log.trim_end()),
            Self::Data { from, what } => write!(f, "{from}: {what}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_binaries_are_named_with_the_folder_and_the_variable() {
        let error = Error::MissingBinaries { folder: "/opt/kube".into(), missing: vec!["etcd", "kubectl"] };
        let text = error.to_string();
        assert!(text.contains("`/opt/kube`") && text.contains("etcd, kubectl"), "{text}");
        assert!(text.contains("KUBEBUILDER_ASSETS"), "{text}");
    }

    #[test]
    fn without_go_the_text_lists_what_is_wanted_and_where_to_put_it() {
        let text = Error::NoGo { wanted: vec!["etcd", "kube-apiserver"] }.to_string();
        assert!(text.contains("etcd, kube-apiserver") && text.contains("KUBEBUILDER_ASSETS"), "{text}");
    }

    #[test]
    fn only_a_failed_bind_asks_for_other_ports() {
        let with = |log: &str| Error::Component { name: "etcd", what: "ended".into(), log: log.into() };
        assert!(with("listen tcp 127.0.0.1:2379: bind: address already in use").is_port_taken());
        assert!(!with("permission denied").is_port_taken());
    }
}
