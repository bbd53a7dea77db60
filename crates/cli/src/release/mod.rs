//! `lockstep release …`

pub(crate) mod graph;
pub(crate) mod info;
pub(crate) mod lint;
pub(crate) mod objects;

use std::collections::BTreeSet;

use lockstep_api::names::annotation;
use lockstep_payload::{DiskFiles, Files, Release, Selection};

use crate::args::{SelectionArgs, Source};
use crate::output;

/// Opens the folder of a command line and loads it.
pub(crate) fn open(source: &Source) -> anyhow::Result<(Release, Selection)> {
    load(&DiskFiles::open(&source.release)?, &source.selection)
}

/// Loads a release and makes the selection for it; tells what is wrong with it on the way.
pub(crate) fn load(files: &dyn Files, cluster: &SelectionArgs) -> anyhow::Result<(Release, Selection)> {
    let release = Release::load(files, &cluster.load_options())?;
    let selection = cluster.selection(&release);
    tell_unknown_profile(&release, &selection);
    Ok((release, selection))
}

/// Tells which templates were left out; for commands whose result does not say it.
pub(crate) fn tell_skipped(release: &Release) {
    for skipped in &release.skipped {
        output::warn(&format!("skipping manifest {}: {}", skipped.file, skipped.error));
    }
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
    if named.is_empty() {
        output::warn("no object of this release is for any profile");
    } else if !named.contains(profile.as_str()) {
        let named = named.into_iter().collect::<Vec<_>>().join(", ");
        output::warn(&format!("no object of this release is for profile `{profile}`; it names: {named}"));
    }
}
