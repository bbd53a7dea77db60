//! `lockstep release base-image`

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use lockstep_operator::manifests::{BOOTSTRAP, FILES};
use lockstep_release::build::Lookup;
use lockstep_release::build::base::Bases;
use lockstep_release::build::operator_image::{OperatorImage, Parts};
use lockstep_release::build::prepare::named;
use lockstep_release::{Location, store};

use crate::args::BaseImageArgs;
use crate::exit::{Outcome, UsageError};
use crate::output;

/// Requests at a time.
const PARALLEL: usize = 4;
/// The tag where none is given.
const TAG: &str = "latest";

pub(crate) fn run(args: &BaseImageArgs) -> anyhow::Result<Outcome> {
    super::block_on(build(args))
}

async fn build(args: &BaseImageArgs) -> anyhow::Result<Outcome> {
    let target = Location::parse_target(&args.to).map_err(|error| UsageError(error.to_string()))?;
    if matches!(target, Location::Folder(_)) {
        return Err(UsageError(
            "--to: an image is written, not a folder; wanted oci:DIR, FILE.tar or a pull spec".to_owned(),
        )
        .into());
    }
    let lookup = Lookup {
        registries: args.registry.registries(PARALLEL)?,
        images_from: None,
        filter: args.registry.filter()?,
        keep_manifest_list: false,
        parallel: args.registry.parallel(PARALLEL),
    };
    let bases = match &args.from {
        Some(from) => Some(Bases::of_image(named("--from", from, &lookup).await?, false).await?),
        None => None,
    };
    let image = OperatorImage::build(&parts(args)?, bases)?;
    let (store, tag) = store::create(&target, &lookup.registries).await?;
    let tag = tag.unwrap_or_else(|| TAG.to_owned());
    image.write(&store, &tag).await.with_context(|| format!("failed to push image {target}"))?;
    store.finish().await?;
    output::note(&format!("Pushed to {}:{tag}", store.name()));
    output::print(&format!("{}\n", image.digest()))?;
    Ok(Outcome::Clean)
}

fn parts(args: &BaseImageArgs) -> anyhow::Result<Parts> {
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => std::env::current_exe().context("finding the program that runs; name it with --binary")?,
    };
    let manifests = match &args.manifests {
        Some(folder) => files(folder)?,
        None => FILES
            .iter()
            .filter(|file| !(args.without_monitoring && file.is_monitoring))
            .map(|file| (file.name.to_owned(), file.text.as_bytes().to_vec()))
            .collect(),
    };
    Ok(Parts {
        program: read(&binary)?.into(),
        manifests: manifests.into_iter().map(|(name, bytes)| (name, bytes.into())).collect(),
        bootstrap: BTreeMap::from([(BOOTSTRAP.name.to_owned(), BOOTSTRAP.text.into())]),
        certificates: args.ca_bundle.as_deref().map(read).transpose()?.map(Into::into),
        architecture: args.arch.clone(),
        allow_dynamic: args.allow_dynamic,
    })
}

/// Files by name.
type Manifests = BTreeMap<String, Vec<u8>>;

fn files(folder: &Path) -> anyhow::Result<Manifests> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry.with_context(|| folder.display().to_string())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() {
            files.insert(name, read(&entry.path())?);
        }
    }
    Ok(files)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}
