//! `lockstep release …`

pub(crate) mod graph;
pub(crate) mod info;
pub(crate) mod lint;
pub(crate) mod objects;

use std::collections::BTreeSet;

use lockstep_api::names::annotation;
use lockstep_payload::{DiskFiles, Release, Selection};

use crate::args::Source;
use crate::output;

/// Loads the release of a command line and the selection for it; tells what is wrong with it on the way.
pub(crate) fn load(source: &Source) -> anyhow::Result<(Release, Selection)> {
    let release = Release::load(&DiskFiles::open(&source.release)?, &source.selection.load_options())?;
    let selection = source.selection.selection(&release);
    for skipped in &release.skipped {
        output::warn(&format!("skipping manifest {}: {}", skipped.file, skipped.error));
    }
    tell_unknown_profile(&release, &selection);
    Ok((release, selection))
}

/// A profile that no object names is most likely misspelt.
fn tell_unknown_profile(release: &Release, selection: &Selection) {
    let Some(profile) = &selection.profile else { return };
    let named: BTreeSet<&str> = release
        .manifests
        .iter()
        .filter_map(|manifest| manifest.object["metadata"]["annotations"].as_object())
        .flat_map(|annotations| annotations.keys())
        .filter_map(|key| key.strip_prefix(annotation::INCLUDE_PREFIX))
        .collect();
    if !named.contains(profile.as_str()) {
        let named: Vec<&str> = named.into_iter().collect();
        output::warn(&format!(
            "no object of this release is for profile `{profile}`; it names: {}",
            named.join(", ")
        ));
    }
}
