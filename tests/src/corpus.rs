//! Real releases, where they are at hand.

use std::path::PathBuf;

use crate::cli::root;

/// Folder of the corpus: `LOCKSTEP_CORPUS`, or `shared/payloads` beside the checkout.
///
/// Without one, says what is left out and gives `None`: a stranger's clone has none.
///
/// # Panics
/// When `LOCKSTEP_CORPUS` is set but is no corpus: a misspelt folder must not leave suites out.
pub fn corpus(suite: &str) -> Option<PathBuf> {
    let beside = root().join("../shared/payloads");
    let folder = std::env::var_os("LOCKSTEP_CORPUS").map_or(beside, PathBuf::from);
    if folder.join("4.20.0/release-manifests").is_dir() {
        return Some(folder);
    }
    assert!(
        std::env::var_os("LOCKSTEP_CORPUS").is_none(),
        "LOCKSTEP_CORPUS is {}, which has no release 4.20.0",
        folder.display()
    );
    #[expect(clippy::print_stderr, reason = "a suite that is left out has to say so")]
    {
        eprintln!(
            "LEFT OUT: {suite}: no real releases here (set LOCKSTEP_CORPUS to a folder that has 4.20.0 and 4.21.0)"
        );
    }
    None
}
