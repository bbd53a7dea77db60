//! `lockstep release new`

use std::path::Path;

use anyhow::Context as _;

use lockstep_api::text::visible;
use lockstep_graph::lint::{Scope, Severity, default_selection, lint, output as form};
use lockstep_payload::{LoadOptions, Release};
use lockstep_release::build::input::ReferenceMode;
use lockstep_release::build::mapping::Mappings;
use lockstep_release::build::prepare::seconds;
use lockstep_release::build::{BaseChoice, BuildError, Lookup, Prepared, Request, Source, prepare};
use lockstep_release::{Location, store};

use crate::args::{LintMode, NewArgs, ReferenceModeArg, location};
use crate::exit::{Outcome, UsageError};
use crate::output;

/// How many images are looked at side by side.
const PARALLEL: usize = 4;
/// Largest image stream that is read from standard input or a file, in bytes.
const MAX_STREAM_BYTES: u64 = 32 * 1024 * 1024;

pub(crate) fn run(args: &NewArgs) -> anyhow::Result<Outcome> {
    super::block_on(build(args))
}

async fn build(args: &NewArgs) -> anyhow::Result<Outcome> {
    let target =
        args.target.to.as_deref().map(Location::parse_target).transpose().map_err(|error| usage(&error))?;
    let request = request(args, target.as_ref())?;
    let lookup = lookup(args)?;
    let prepared = prepare(&request, &lookup).await.map_err(told)?;
    for note in &prepared.payload.notes {
        output::note(note);
    }
    for warning in &prepared.payload.warnings {
        output::warn(warning);
    }
    if args.target.output.is_some() {
        output::print(&format!("{}\n", String::from_utf8_lossy(&prepared.payload.image_references)))?;
        return Ok(Outcome::Clean);
    }
    if !is_clean(args.content.lint, args.content.skip_manifest_check, &prepared)? {
        output::note("nothing was written: lint found something, and --lint says that this fails the build");
        return Ok(Outcome::Findings);
    }
    if !args.target.dry_run {
        write(args, target.as_ref(), &lookup, &prepared).await?;
    }
    output::print(&format!("{}\n", prepared.line()))?;
    Ok(Outcome::Clean)
}

fn usage(error: &dyn std::fmt::Display) -> anyhow::Error {
    UsageError(error.to_string()).into()
}

/// Several problems are told one by one.
fn told(error: BuildError) -> anyhow::Error {
    match error {
        BuildError::Problems(problems) if problems.len() > 1 => {
            for problem in &problems {
                output::error(&anyhow::anyhow!("{problem}"));
            }
            anyhow::anyhow!("unable to create a release: {} problems in the manifests", problems.len())
        }
        BuildError::Usage(text) => UsageError(text).into(),
        other => other.into(),
    }
}

fn request(args: &NewArgs, target: Option<&Location>) -> anyhow::Result<Request> {
    let mut mappings = Mappings::default();
    for path in &args.source.mapping_file {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        mappings.add_file(&path.display().to_string(), &text).map_err(|error| usage(&error))?;
    }
    for mapping in &args.mappings {
        mappings.add_argument(mapping).map_err(|error| usage(&error))?;
    }
    let content = &args.content;
    let created = content.created.as_deref().map(time).transpose()?;
    let is_folder = matches!(target, Some(Location::Folder(_)));
    let is_optional = is_folder || args.target.to_dir.is_some() || args.target.to_file.is_some();
    Ok(Request {
        mappings,
        exclude: args.source.exclude.iter().cloned().collect(),
        include: args.source.include.iter().cloned().collect(),
        name: content.name.clone(),
        previous: content.previous.clone(),
        next: content.next.clone(),
        metadata: content.metadata.clone(),
        url: content.url.clone(),
        channels: content.channels.clone(),
        component_versions: content.component_versions.clone(),
        display_names: content.component_versions_display_names.clone(),
        base: match args.target.base.as_deref() {
            // The list of images does not depend on the base.
            _ if args.target.output.is_some() => BaseChoice::None,
            None => BaseChoice::Default { is_optional },
            Some("none") => BaseChoice::None,
            Some(text) => BaseChoice::Named(text.to_owned()),
        },
        prefix: content.prefix.clone(),
        allow_missing_images: content.allow_missing_images,
        allow_undeclared_images: content.allow_undeclared_images,
        skip_manifest_check: content.skip_manifest_check,
        created,
        ..Request::new(source(args)?)
    })
}

fn source(args: &NewArgs) -> anyhow::Result<Source> {
    let source = &args.source;
    if let Some(folder) = &source.from_dir {
        return Ok(Source::Folder(folder.clone()));
    }
    if let Some(file) = &source.from_image_stream_file {
        let mode = match source.reference_mode {
            ReferenceModeArg::Public => ReferenceMode::Public,
            ReferenceModeArg::Source => ReferenceMode::Source,
        };
        return Ok(Source::Stream { bytes: read(file)?, mode });
    }
    match &source.from_release {
        Some(release) => Ok(Source::Release(location(release)?)),
        None => Ok(Source::Mappings),
    }
}

/// A file, or standard input.
fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let place = || file.display().to_string();
    let mut input: Box<dyn std::io::Read> = if file == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(file).with_context(place)?)
    };
    input.by_ref().take(MAX_STREAM_BYTES).read_to_end(&mut bytes).with_context(place)?;
    Ok(bytes)
}

/// Seconds since 1970, or a time as people write it.
fn time(text: &str) -> anyhow::Result<u64> {
    text.parse().ok().or_else(|| seconds(text)).ok_or_else(|| {
        UsageError(format!(
            "--created: {text:?} is no time; wanted 2024-09-20T14:45:10Z or seconds since 1970"
        ))
        .into()
    })
}

fn lookup(args: &NewArgs) -> anyhow::Result<Lookup> {
    Ok(Lookup {
        registries: args.registry.registries(PARALLEL)?,
        images_from: args.source.images_from.as_deref().map(location).transpose()?,
        filter: args.registry.filter()?,
        keep_manifest_list: args.target.keep_manifest_list,
        parallel: args.registry.parallel(PARALLEL),
    })
}

/// Lints what would be written; says whether it may be.
fn is_clean(mode: LintMode, may_be_unreadable: bool, prepared: &Prepared) -> anyhow::Result<bool> {
    let fails_from = match mode {
        LintMode::Off => return Ok(true),
        LintMode::Show => None,
        LintMode::Error => Some(Severity::Error),
        LintMode::Warning => Some(Severity::Warning),
    };
    let release = match Release::load(&prepared.files(), &LoadOptions::default()) {
        Ok(release) => release,
        Err(error) if may_be_unreadable => {
            output::warn(&format!("no cluster can read this release: {error}"));
            return Ok(fails_from.is_none());
        }
        Err(error) => return Err(error).context("no cluster could read this release"),
    };
    let mut report = lint(&release, Scope::Selected(&default_selection(&release)));
    report.findings.retain(|finding| finding.severity() > Severity::Info);
    if !report.findings.is_empty() {
        for line in form::text(&report).lines() {
            output::tell(&output::paint_severities(&format!(
                "lint: {}
",
                visible(line)
            )));
        }
    }
    Ok(fails_from.is_none_or(|severity| !report.has_at_least(severity)))
}

async fn write(
    args: &NewArgs,
    target: Option<&Location>,
    lookup: &Lookup,
    prepared: &Prepared,
) -> anyhow::Result<()> {
    if let Some(folder) = &args.target.to_dir {
        return Ok(prepared.write_files(folder)?);
    }
    if let Some(file) = &args.target.to_file {
        return std::fs::write(file, &prepared.layer.bytes).with_context(|| file.display().to_string());
    }
    match target {
        None => output::note("nothing was written: say where with --to"),
        Some(Location::Folder(folder)) => prepared.write_folder(folder)?,
        Some(target) => {
            let (store, tag) = store::create(target, &lookup.registries).await?;
            let tag = tag.unwrap_or_else(|| prepared.payload.name.replace('+', "_"));
            prepared.write(&store, &tag).await.with_context(|| format!("failed to push image {target}"))?;
            output::note(&format!("Pushed to {}:{tag}", store.name()));
        }
    }
    Ok(())
}
