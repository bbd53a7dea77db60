//! `lockstep render` and `lockstep image`: what a release image answers besides the operator itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use lockstep_api::names::file::{IMAGE_REFERENCES, RELEASE_METADATA};
use lockstep_api::names::profile;
use lockstep_payload::render::{self, File, Source};
use lockstep_payload::template::TemplateData;
use lockstep_payload::{DiskFiles, FeatureGates, Files as _, Folder, Selection, images, metadata};

use crate::args::{ImageArgs, RenderArgs};
use crate::exit::Outcome;
use crate::output;

pub(crate) fn image(args: &ImageArgs) -> anyhow::Result<Outcome> {
    let images = references(&DiskFiles::open(&args.root.payload_dir)?)?;
    let Some(pull_spec) = images.pull_specs().remove(&args.name) else {
        let near = images.near(&args.name);
        let hint = match near.as_slice() {
            [] => format!("; it has {} images, none with a name like that", images.pull_specs().len()),
            near => format!("; near: {}", near.join(", ")),
        };
        return Err(anyhow!("the release {} has no image {:?}{hint}", images.name, args.name));
    };
    // Without an end of line, as scripts of the reference expect it.
    output::print(&pull_spec)?;
    Ok(Outcome::Clean)
}

pub(crate) fn render(args: &RenderArgs) -> anyhow::Result<Outcome> {
    let root = &args.root.payload_dir;
    let files = DiskFiles::open(root)?;
    let images = references(&files)?;
    let metadata = metadata::read(&files.read(Folder::ReleaseManifests, RELEASE_METADATA)?)
        .with_context(|| format!("reading the version of the release in {}", root.display()))?;
    let gates = match &args.feature_gate_manifest_path {
        Some(path) => render::feature_gates(&path.display().to_string(), &read(path)?)?,
        None => FeatureGates::default(),
    };
    let overrides = match &args.cluster_version_manifest_path {
        Some(path) => render::overrides(&path.display().to_string(), &read(path)?)?,
        None => Vec::new(),
    };
    let profile = std::env::var(profile::VARIABLE).ok().filter(|profile| !profile.is_empty());
    let profile = profile.unwrap_or_else(|| profile::SELF_MANAGED_HIGH_AVAILABILITY.to_owned());
    let selection = Selection {
        feature_set: Some(gates.feature_set),
        feature_gates: Some(gates.enabled),
        major_version: Some(metadata.version.major),
        profile: Some(profile.clone()),
        overrides,
        ..Selection::default()
    };
    let data = TemplateData {
        release_image: args.release_image.clone(),
        cluster_profile: profile,
        images: images.pull_specs(),
    };
    let mut written = 0;
    for source in Source::ALL {
        let target = args.output_dir.join(source.target());
        fs::create_dir_all(&target).with_context(|| format!("creating {}", target.display()))?;
        for input in folder(&root.join(source.folder()))? {
            let Some(output) = render::file(source, &input, &data, &selection)? else { continue };
            let path = target.join(&output.name);
            fs::write(&path, output.content).with_context(|| format!("writing {}", path.display()))?;
            written += 1;
        }
    }
    output::note(&format!("{written} files written to {}", args.output_dir.display()));
    Ok(Outcome::Clean)
}

fn references(files: &DiskFiles) -> anyhow::Result<images::ImageReferences> {
    Ok(images::read(&files.read(Folder::ReleaseManifests, IMAGE_REFERENCES)?)?)
}

/// The files of a folder in the order of their names; a folder that is not there has none.
fn folder(path: &Path) -> anyhow::Result<Vec<File>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()
        .with_context(|| format!("reading {}", path.display()))?;
    paths.retain(|path| path.is_file());
    paths.sort();
    let file = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(File { name, content: read(&path)? })
    };
    paths.into_iter().map(file).collect()
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}
