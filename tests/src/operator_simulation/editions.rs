//! The two releases of the simulation: parts of the examples, small enough to be installed in a moment.

use std::fs;
use std::path::{Path, PathBuf};

use lockstep_api::names::profile::SELF_MANAGED_HIGH_AVAILABILITY;
use lockstep_lab::ReleaseFacts;
use lockstep_payload::{DiskFiles, LoadOptions, Release, Selection};
use tempfile::TempDir;

use crate::cli::root;
use crate::real::{Wanted, wanted};
use crate::releases;

/// The files that are taken: those of the operator itself, and of a few components with gates, definitions and removals.
const PARTS: [&str; 7] = [
    "cluster-version-operator",
    "cluster-config-operator",
    "dns-operator",
    "cluster-machine-approver",
    "service-ca-operator",
    "image-references",
    "release-metadata",
];

/// Two releases on disk, the second one following the first.
#[derive(Debug)]
pub struct Editions {
    folder: TempDir,
    pub(crate) all: [Edition; 2],
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Edition {
    pub(crate) version: &'static str,
    pub(crate) folder: PathBuf,
    /// Every object of it, as it must be in the end.
    pub(crate) objects: Vec<Wanted>,
    facts: ReleaseFacts,
}

// === impl Editions ===

impl Editions {
    /// Writes both to a folder that lives as long as this.
    ///
    /// # Panics
    /// When they cannot be written or read.
    #[expect(clippy::new_without_default, reason = "it writes files")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let all = ["1.0.0", "1.1.0"].map(|version| Edition::write(folder.path(), version));
        Self { folder, all }
    }

    /// What the world must know of both.
    pub(crate) fn facts(&self) -> ReleaseFacts {
        let [first, next] = &self.all;
        first.facts.clone().followed_by(next.facts.clone())
    }

    /// Which of them an image is.
    pub(crate) fn find(&self, image: &str) -> Option<usize> {
        self.all.iter().position(|edition| edition.image() == image)
    }

    /// A text in which no name of this machine is left.
    pub(crate) fn plain(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "RELEASES")
    }
}

// === impl Edition ===

impl Edition {
    fn write(parent: &Path, version: &'static str) -> Self {
        let (from, folder) = (root().join("examples/releases").join(version), parent.join(version));
        for part in ["manifests", "release-manifests"] {
            fs::create_dir_all(folder.join(part)).expect("a folder");
            for entry in fs::read_dir(from.join(part)).expect("an example") {
                let entry = entry.expect("an entry");
                let name = entry.file_name().to_string_lossy().into_owned();
                if PARTS.iter().any(|part| name.contains(part)) {
                    fs::copy(entry.path(), folder.join(part).join(&name)).expect("a copy");
                }
            }
        }
        let chosen = load(&folder);
        let (release, selection) = &chosen;
        let facts = ReleaseFacts::of(release, selection);
        Self { version, objects: wanted(&chosen), facts, folder }
    }

    /// What stands for its image.
    pub(crate) fn image(&self) -> String {
        self.folder.display().to_string()
    }
}

fn load(folder: &Path) -> (Release, Selection) {
    let (_, selection) = releases::load(folder);
    let files = DiskFiles::open(folder).expect("a release");
    let options = LoadOptions {
        profile: SELF_MANAGED_HIGH_AVAILABILITY.to_owned(),
        release_image: folder.display().to_string(),
    };
    (Release::load(&files, &options).expect("a release that can be read"), selection)
}
