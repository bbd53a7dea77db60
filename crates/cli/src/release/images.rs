//! `lockstep release info` with a flag that looks at the images.

use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use lockstep_api::names::file;
use lockstep_payload::Folder;
use lockstep_payload::file_name::is_manifest;
use lockstep_release::compare::compare_images;
use lockstep_release::inspect::{Columns, Details, ImageWeight, Mismatch, changelog, weigh};
use lockstep_release::{Image, OpenRelease, Wanted};

use crate::args::{InfoArgs, InfoOutput};
use crate::exit::{Outcome, UsageError};
use crate::output;

/// Requests at a time.
const PARALLEL: usize = 6;

pub(super) fn run(args: &InfoArgs) -> anyhow::Result<Outcome> {
    super::block_on(look(args))
}

async fn look(args: &InfoArgs) -> anyhow::Result<Outcome> {
    let (wanted, source) = (&args.images, &args.source);
    if args.output != InfoOutput::Text && (wanted.image_for.is_some() || wanted.contents) {
        let flag = if wanted.contents { "--contents" } else { "--image-for" };
        return Err(UsageError(format!("--output and {flag} may not both be specified")).into());
    }
    let opened = super::fetch(&source.release, &source.registry, Wanted::ReleaseManifests).await?;
    if wanted.contents {
        return contents(&opened);
    }
    let details = Details::of(&opened)?;
    if let Some(name) = &wanted.image_for {
        return image_for(&details, name, &opened);
    }
    if let (Some(folder), Some(from)) = (&wanted.changelog, &wanted.changes_from) {
        return tell_changes(args, &details, folder, from).await;
    }
    if wanted.size || wanted.verify {
        return whole(args, &opened, &details).await;
    }
    let columns = match () {
        () if wanted.commits => Columns::Commits,
        () if wanted.commit_urls => Columns::CommitUrls,
        () if wanted.by_operator => Columns::Operators,
        () => Columns::PullSpecs,
    };
    match args.output {
        InfoOutput::Text => output::print(&details.text(columns))?,
        _ => print_value(args, &document(&details)?)?,
    }
    Ok(Outcome::Clean)
}

fn document(details: &Details) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(details)?;
    value["apiVersion"] = json!("lockstep.dev/v1");
    value["kind"] = json!("ReleaseDetails");
    Ok(value)
}

fn print_value(args: &InfoArgs, value: &Value) -> anyhow::Result<()> {
    match args.output {
        InfoOutput::Yaml => output::print_yaml(value),
        InfoOutput::Json | InfoOutput::Text => output::print_json(value),
    }
}

fn contents(opened: &OpenRelease) -> anyhow::Result<Outcome> {
    let mut names = opened.files.list(Folder::ReleaseManifests)?;
    names.retain(|name| is_manifest(name));
    names.sort();
    let special = [file::IMAGE_REFERENCES, file::RELEASE_METADATA].map(str::to_owned);
    for name in special.into_iter().chain(names) {
        let bytes = opened.files.read(Folder::ReleaseManifests, &name)?;
        output::print(&format!("# {name}\n"))?;
        output::print_bytes(&bytes)?;
        if !bytes.ends_with(b"\n") {
            output::print("\n")?;
        }
    }
    Ok(Outcome::Clean)
}

fn image_for(details: &Details, name: &str, opened: &OpenRelease) -> anyhow::Result<Outcome> {
    let tag = details.references.tags.iter().find(|tag| tag.name == name);
    let spec = tag.and_then(|tag| tag.pull_spec.as_ref());
    let spec =
        spec.with_context(|| format!("no image tag {name:?} exists in the release image {}", opened.name))?;
    output::print(&format!("{spec}\n"))?;
    Ok(Outcome::Clean)
}

/// Opens every image, and reads all of it where that is wanted.
async fn whole(args: &InfoArgs, opened: &OpenRelease, details: &Details) -> anyhow::Result<Outcome> {
    let registry = &args.source.registry;
    let (registries, filter, parallel) =
        (registry.registries(PARALLEL)?, registry.filter()?, registry.parallel(PARALLEL));
    let found = weigh::open_all(opened, &details.references, &registries, &filter, parallel).await;
    let (mut images, mut problems): (Vec<(String, Image)>, Vec<Mismatch>) = (Vec::new(), Vec::new());
    for (name, image) in found {
        match image {
            Ok(image) => images.push((name, image)),
            Err(error) => problems.push(Mismatch { name, why: error.to_string() }),
        }
    }
    let weights: Vec<ImageWeight> = images.iter().map(|(name, image)| ImageWeight::of(name, image)).collect();
    if args.images.verify {
        images.extend(opened.image.clone().map(|image| (String::new(), image)));
        problems.extend(weigh::verify(&images, parallel).await);
    }
    if args.output == InfoOutput::Text {
        let text = if args.images.size {
            weigh::text(details, &weights, Timestamp::now())
        } else {
            let digest = details.digest.as_deref().unwrap_or("(a folder)");
            format!("{digest} {} {}\n", details.created.as_deref().unwrap_or("unknown"), details.name)
        };
        if args.images.size || problems.is_empty() {
            output::print(&text)?;
        }
    } else {
        let mut value = document(details)?;
        value["images"] = serde_json::to_value(&weights)?;
        value["problems"] = serde_json::to_value(&problems)?;
        print_value(args, &value)?;
    }
    for Mismatch { name, why } in &problems {
        output::warn(&format!("{}: {why}", if name.is_empty() { "the release image" } else { name }));
    }
    Ok(if problems.is_empty() { Outcome::Clean } else { Outcome::Findings })
}

async fn tell_changes(args: &InfoArgs, to: &Details, folder: &Path, from: &str) -> anyhow::Result<Outcome> {
    let opened = super::fetch(from, &args.source.registry, Wanted::ReleaseManifests).await?;
    let from = Details::of(&opened)?;
    let images = compare_images(&from.references, &to.references);
    if from.digest.is_some() && from.digest == to.digest || images.is_empty() && from.name == to.name {
        output::print("releases are identical\n")?;
        return Ok(Outcome::Clean);
    }
    let changes = changelog::between(&from, to, &images, folder, args.images.fetch);
    match args.output {
        InfoOutput::Text => output::print(&changes.markdown())?,
        _ => print_value(args, &serde_json::to_value(&changes)?)?,
    }
    changes.errors.iter().for_each(|error| output::warn(error));
    Ok(if changes.errors.is_empty() { Outcome::Clean } else { Outcome::Findings })
}
