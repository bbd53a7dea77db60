//! Flags of `lockstep release info` that look at the images of a release.

use std::path::PathBuf;

use clap::Args;

/// What of the images.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Args)]
#[command(next_help_heading = "Images")]
pub(crate) struct InfoImageArgs {
    /// Show the source repository and commit of each image.
    #[arg(long, group = "images")]
    pub(crate) commits: bool,
    /// Show where the commit of each image can be read.
    #[arg(long, group = "images")]
    pub(crate) commit_urls: bool,
    /// Show the pull spec of each image.
    #[arg(long, group = "images")]
    pub(crate) pullspecs: bool,
    /// Show which operators use which images.
    #[arg(long, group = "images")]
    pub(crate) by_operator: bool,
    /// Show what each image weighs, and what of it no other one has.
    #[arg(long, group = "images")]
    pub(crate) size: bool,
    /// Read every manifest and blob of the release and its images, and compare them with their digests.
    #[arg(long, group = "images")]
    pub(crate) verify: bool,
    /// Print the files of the release.
    #[arg(long, group = "images")]
    pub(crate) contents: bool,
    /// Print the pull spec of one image.
    #[arg(long, value_name = "NAME", group = "images")]
    pub(crate) image_for: Option<String>,
    /// Print what happened since --changes-from, asking the repositories in this folder, as HOST/PATH.
    #[arg(long, value_name = "DIR", group = "images", requires = "changes_from")]
    pub(crate) changelog: Option<PathBuf>,
    /// The release before, for --changelog.
    #[arg(long, value_name = "RELEASE", requires = "changelog")]
    pub(crate) changes_from: Option<String>,
    /// Clone repositories that are missing and fetch commits that are, for --changelog.
    #[arg(long, requires = "changelog")]
    pub(crate) fetch: bool,
}

// === impl InfoImageArgs ===

impl InfoImageArgs {
    /// Whether one of them is given.
    pub(crate) fn is_any(&self) -> bool {
        let flags = [
            self.commits,
            self.commit_urls,
            self.pullspecs,
            self.by_operator,
            self.size,
            self.verify,
            self.contents,
        ];
        flags.contains(&true) || self.image_for.is_some() || self.changelog.is_some()
    }
}
