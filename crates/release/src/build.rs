//! Builds releases: operators' manifests and images in, a release image out.
//!
//! ```text
//! folders, component images, an image stream, a release ─ Request ─▶ components + Stream
//!     ─ assemble (check, replace images and versions, name, prune) ─▶ Payload ─ layer + Base ─▶ Prepared ─▶ a store, a folder
//! ```
//!
//! The same input gives the same bytes: nothing of the machine or the moment gets in. When a release was made is what was
//! said (`created`), else what its image stream says, else the newest change of a file in the component images, else 1970;
//! times of files in folders do not count, because a checkout changes them.

pub mod assemble;
pub mod base;
pub mod check;
pub mod components;
pub mod folder;
pub mod image;
pub mod input;
mod loose;
pub mod mapping;
pub mod metadata;
pub mod naming;
pub mod operator_image;
pub mod output;
pub mod placeholders;
pub mod prepare;
pub mod program;
pub mod references;
pub mod repackage;
pub mod replace;
pub mod request;
pub mod stream;
pub mod undeclared;
pub mod versions;

use std::fmt;

use crate::open::ReadError;
use crate::store::StoreError;

pub use output::Prepared;
pub use prepare::prepare;
pub use request::{BaseChoice, Lookup, Request, Source};

/// Something in an operator's manifests that keeps a release from being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `component/file`.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

/// Why no release was made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Manifests that cannot be in a release; all of them.
    #[error("unable to create a release: {}", list(.0))]
    Problems(Vec<Problem>),
    /// The request makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Something that was found on the way.
    #[error("{0}")]
    Refused(String),
    /// An image or release that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A store that cannot be written to.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.file, self.line, self.why)
    }
}
