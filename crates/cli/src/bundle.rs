//! The example release that is part of the binary.

use lockstep_api::names::file;
use lockstep_payload::{Folder, MemoryFiles};

/// Folder, file name and content of every file.
const BUNDLED: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// The example release.
pub(crate) fn example() -> MemoryFiles {
    BUNDLED.iter().fold(MemoryFiles::new("the bundled example release"), |files, (folder, name, content)| {
        let folder = if *folder == file::MANIFESTS { Folder::Manifests } else { Folder::ReleaseManifests };
        files.with(folder, *name, *content)
    })
}
