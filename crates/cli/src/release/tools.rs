//! `lockstep release extract --tools` and `--command`

use std::collections::BTreeMap;

use lockstep_release::extract::folder::Writing;
use lockstep_release::extract::tools::{self, Facts, System, Target};
use lockstep_release::extract::write;
use lockstep_release::inspect::{Columns, Details};
use lockstep_release::platform::host_architecture;
use lockstep_release::{Digest, Image, OpenRelease, ReadError};

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
    let mut taken = Taken { args, opened, details: &details, facts: &facts, images: BTreeMap::new() };
    let files = if system == System::All {
        taken.archives(&wanted).await?
    } else {
        let mut files = Vec::new();
        for target in wanted {
            let (bytes, _) = taken.program(target).await?;
            files.push(Handed { name: target.file_name(), executable: true, bytes });
        }
        files
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
    let release_image = details.pull_spec.clone().or_else(|| Some(given).filter(|given| !given.is_empty()));
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

/// Programs, taken out of images that are opened once.
struct Taken<'a> {
    args: &'a ExtractArgs,
    opened: &'a OpenRelease,
    details: &'a Details,
    facts: &'a Facts,
    images: BTreeMap<&'static str, Image>,
}

// === impl Taken ===

impl Taken<'_> {
    /// A program that knows its release, and when it was made.
    async fn program(&mut self, target: &'static Target) -> anyhow::Result<(Vec<u8>, u64)> {
        if !self.images.contains_key(target.component) {
            let tag = tools::tag(&self.details.references, target).map_err(ReadError::Refused)?;
            let registry = &self.args.source.registry;
            let (registries, filter) = (registry.registries(PARALLEL)?, registry.filter()?);
            let image = tools::component(self.opened, &registries, &filter, tag).await?;
            self.images.insert(target.component, image);
        }
        let file = tools::read(&self.images[target.component], target).await?;
        let (program, told) = target.prepare(&file.bytes, self.facts)?;
        for text in &told {
            output::warn(text);
        }
        Ok((program, file.modified))
    }

    async fn archives(&mut self, wanted: &[&'static Target]) -> anyhow::Result<Vec<Handed>> {
        let is_there = |target: &&'static Target| tools::tag(&self.details.references, target).is_ok();
        let (there, missing): (Vec<&'static Target>, Vec<&'static Target>) =
            wanted.iter().copied().partition(is_there);
        if !missing.is_empty() {
            let mut names: Vec<&str> = missing.iter().map(|target| target.component).collect();
            names.dedup();
            if there.is_empty() {
                anyhow::bail!("some required images are missing: {}", names.join(", "));
            }
            output::warn(&format!(
                "Some commands can not be extracted due to missing images: {}",
                names.join(", ")
            ));
        }
        let mut files = Vec::new();
        for target in there {
            match self.program(target).await {
                Ok((program, modified)) => files.push(Handed {
                    name: target.archive_name(&self.facts.version),
                    executable: false,
                    bytes: target.pack(&program, &readme(target, self.facts), modified)?,
                }),
                // Builds for one edition of a system came later than their images.
                Err(error) if target.is_variant() && is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let text = format!(
            "These archives hold the programs of release {}.\n\n{}",
            self.facts.version,
            self.details.text(Columns::PullSpecs)
        );
        files.push(Handed { name: "release.txt".to_owned(), executable: false, bytes: text.into_bytes() });
        files.sort_by(|file, other| file.name.cmp(&other.name));
        let sum = |file: &Handed| [Digest::of(&file.bytes).hex(), "  ", &file.name, "\n"].concat();
        let sums = files.iter().map(sum).collect::<Vec<_>>().concat();
        files.push(Handed { name: "sha256sum.txt".to_owned(), executable: false, bytes: sums.into_bytes() });
        Ok(files)
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<ReadError>()
        .is_some_and(|error| error.to_string().starts_with("image did not contain"))
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
