//! `lockstep release …`

pub(crate) mod base_image;
pub(crate) mod diff;
pub(crate) mod extract;
pub(crate) mod graph;
mod images;
pub(crate) mod info;
pub(crate) mod lint;
pub(crate) mod mirror;
pub(crate) mod new;
pub(crate) mod objects;
pub(crate) mod rbac;
mod tools;

use std::collections::BTreeSet;

use lockstep_api::names::annotation;
use lockstep_payload::{Files, Release, Selection};
use lockstep_release::{OpenRelease, Wanted};

use crate::args::{RegistryArgs, SelectionArgs, Source, location};
use crate::output;

/// A release that was opened and loaded for a cluster.
pub(crate) struct Loaded {
    pub(crate) release: Release,
    pub(crate) selection: Selection,
    /// What was said about the cluster; a release from a registry names its own image.
    pub(crate) cluster: SelectionArgs,
}

/// Requests at a time for commands that read a release and nothing more.
const PARALLEL: usize = 4;

/// Runs a future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(future)
}

/// Opens the release of a command line and loads it.
pub(crate) fn open(source: &Source) -> anyhow::Result<Loaded> {
    block_on(open_async(source))
}

/// The same, for who runs already.
pub(crate) async fn open_async(source: &Source) -> anyhow::Result<Loaded> {
    let opened = fetch(&source.release, &source.registry, Wanted::Everything).await?;
    load_opened(&opened, &source.selection)
}

/// Opens a release, with the files that are wanted.
pub(crate) async fn fetch(
    release: &str,
    registry: &RegistryArgs,
    wanted: Wanted,
) -> anyhow::Result<OpenRelease> {
    let location = location(release)?;
    Ok(lockstep_release::open::release(
        &location,
        &registry.registries(PARALLEL)?,
        &registry.filter()?,
        wanted,
    )
    .await?)
}

/// Loads an opened release; one that was found by its pull spec runs from that image.
pub(crate) fn load_opened(opened: &OpenRelease, cluster: &SelectionArgs) -> anyhow::Result<Loaded> {
    let cluster = match opened.pull_spec() {
        Some(spec) => cluster.or_release_image(&spec.to_string()),
        None => cluster.clone(),
    };
    let (release, selection) = load(opened.files.as_ref(), &cluster)?;
    Ok(Loaded { release, selection, cluster })
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
