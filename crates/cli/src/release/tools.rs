//! `lockstep release extract --tools` and `--command`

use std::collections::BTreeMap;

use anyhow::Context as _;

use lockstep_release::extract::folder::Writing;
use lockstep_release::extract::tools::{self, Facts, System, Target};
use lockstep_release::extract::write;
use lockstep_release::inspect::{Columns, Details};
use lockstep_release::open::LayerFile;
use lockstep_release::platform::host_architecture;
use lockstep_release::{Digest, OpenRelease, ReadError};

use crate::args::ExtractArgs;
use crate::exit::{Outcome, UsageError};
use crate::output;

/// Requests at a time.
const PARALLEL: usize = 4;

/// A file that is handed out.
struct Handed {
    name: String,
    executable: bool,
    bytes: Vec<u8>,
}

pub(super) async fn run(args: &ExtractArgs, opened: &OpenRelease) -> anyhow::Result<Outcome> {
    let details = Details::of(opened)?;
    let facts = facts(args, opened, &details);
    let system = if args.tools {
        System::All
    } else {
        System::parse(args.command_os.as_deref()).map_err(UsageError)?
    };
    let wanted = tools::choose(args.command.as_deref(), &system, &facts).map_err(UsageError)?;
    let images = Images { args, opened, details: &details };
    let files = if system == System::All {
        archives(&images, &wanted, &facts).await?
    } else {
        programs(&images, &wanted, &facts).await?
    };
    let writing: Vec<Writing<'_>> = files
        .iter()
        .map(|file| Writing { name: &file.name, executable: file.executable, bytes: &file.bytes })
        .collect();
    // One program beside others is what people want; archives go to a folder of their own.
    write(&args.to, &writing, args.confirm || system != System::All)?;
    Ok(Outcome::Clean)
}

fn facts(args: &ExtractArgs, opened: &OpenRelease, details: &Details) -> Facts {
    let given = args.source.selection.load_options().release_image;
    let architecture = opened.image.as_ref().map(|image| image.config.platform.architecture.clone());
    let architecture =
        architecture.filter(|name| !name.is_empty()).unwrap_or_else(|| host_architecture().to_owned());
    let release_image = Some(given).filter(|given| !given.is_empty()).or_else(|| details.pull_spec.clone());
    if release_image.is_none() {
        output::note(
            "the release is in no registry, so installers are not told its pull spec; give it with --release-image",
        );
    }
    Facts {
        version: details.name.clone(),
        release_image,
        platform: details.platform.clone().unwrap_or_else(|| format!("linux/{architecture}")),
        architecture,
    }
}

/// The images of a release that hold its programs.
struct Images<'a> {
    args: &'a ExtractArgs,
    opened: &'a OpenRelease,
    details: &'a Details,
}

// === impl Images ===

impl Images<'_> {
    /// The programs of one component as they are in its image.
    async fn take(&self, targets: &[&'static Target]) -> anyhow::Result<Vec<Option<LayerFile>>> {
        let Some(first) = targets.first() else { return Ok(Vec::new()) };
        let tag = tools::tag(&self.details.references, first).map_err(ReadError::Refused)?;
        let registry = &self.args.source.registry;
        let (registries, filter) = (registry.registries(PARALLEL)?, registry.filter()?);
        let image = tools::component(self.opened, &registries, &filter, tag).await?;
        Ok(tools::read(&image, targets).await?)
    }

    fn has(&self, target: &Target) -> bool {
        tools::tag(&self.details.references, target).is_ok()
    }
}

/// A program that knows its release.
fn prepare(target: &Target, file: &LayerFile, facts: &Facts) -> anyhow::Result<Vec<u8>> {
    let (program, told) = target.prepare(&file.bytes, facts)?;
    for text in &told {
        output::warn(text);
    }
    Ok(program)
}

async fn programs(
    images: &Images<'_>,
    wanted: &[&'static Target],
    facts: &Facts,
) -> anyhow::Result<Vec<Handed>> {
    let mut files = Vec::new();
    for target in wanted {
        let file = images.take(&[target]).await?.pop().flatten();
        let file = file.with_context(|| missing(target))?;
        let bytes = prepare(target, &file, facts)?;
        files.push(Handed { name: target.file_name(), executable: true, bytes });
    }
    Ok(files)
}

async fn archives(
    images: &Images<'_>,
    wanted: &[&'static Target],
    facts: &Facts,
) -> anyhow::Result<Vec<Handed>> {
    let mut by_component: BTreeMap<&str, Vec<&'static Target>> = BTreeMap::new();
    for target in wanted {
        by_component.entry(target.component).or_default().push(target);
    }
    let (there, absent): (BTreeMap<_, _>, BTreeMap<_, _>) =
        by_component.into_iter().partition(|(_, targets)| images.has(targets[0]));
    if !absent.is_empty() {
        let names = absent.into_keys().collect::<Vec<_>>().join(", ");
        if there.is_empty() {
            anyhow::bail!("some required images are missing: {names}");
        }
        output::warn(&format!("Some commands can not be extracted due to missing images: {names}"));
    }
    let mut files = Vec::new();
    for targets in there.into_values() {
        for (target, file) in targets.iter().zip(images.take(&targets).await?) {
            match file {
                Some(file) => files.push(Handed {
                    name: target.archive_name(&facts.version),
                    executable: false,
                    bytes: target.pack(
                        &prepare(target, &file, facts)?,
                        &readme(target, facts),
                        file.modified,
                    )?,
                }),
                // Builds for one edition of a system came later than their images.
                None if target.is_variant() => {}
                None => output::warn(&format!("{}: {}", target.component, missing(target))),
            }
        }
    }
    if files.is_empty() {
        anyhow::bail!("the images of the release hold none of the programs that are wanted");
    }
    let text = format!(
        "These archives hold the programs of release {}.\n\n{}",
        facts.version,
        images.details.text(Columns::PullSpecs)
    );
    files.push(Handed { name: "release.txt".to_owned(), executable: false, bytes: text.into_bytes() });
    files.sort_by(|file, other| file.name.cmp(&other.name));
    let sum = |file: &Handed| [Digest::of(&file.bytes).hex(), "  ", &file.name, "\n"].concat();
    let sums = files.iter().map(sum).collect::<Vec<_>>().concat();
    files.push(Handed { name: "sha256sum.txt".to_owned(), executable: false, bytes: sums.into_bytes() });
    Ok(files)
}

fn missing(target: &Target) -> String {
    format!("image did not contain {}", target.path)
}

fn readme(target: &Target, facts: &Facts) -> String {
    format!(
        "# {}\n\n`{}` of release {}, for {}.\n\nPut it into a folder of your `PATH`; `{} help` says how it is used.\n",
        target.command,
        target.command,
        facts.version,
        target.os,
        target.command.split('.').next().unwrap_or(target.command)
    )
}
