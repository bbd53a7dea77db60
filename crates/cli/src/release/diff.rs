//! `lockstep release diff`

use lockstep_payload::Release;
use lockstep_release::Wanted;
use lockstep_release::compare::{Only, compare};

use crate::args::{OnlyArg, ReleaseDiffArgs, ReleaseDiffOutput};
use crate::exit::{Outcome, UsageError};
use crate::output;

pub(crate) fn run(args: &ReleaseDiffArgs) -> anyhow::Result<Outcome> {
    // 1 says that there are differences, which is not known when something went wrong.
    diff(args).map_err(|error| UsageError(format!("{error:#}")).into())
}

fn diff(args: &ReleaseDiffArgs) -> anyhow::Result<Outcome> {
    let object = args.object.as_deref().map(object_name).transpose()?;
    let (from, to) = (load(args, &args.from)?, load(args, &args.to)?);
    let diff = compare(&from, &to).only(args.only.map(Only::from), object);
    match args.output {
        ReleaseDiffOutput::Text => output::print(&diff.text())?,
        ReleaseDiffOutput::Json => output::print_json(&diff)?,
        ReleaseDiffOutput::Html => output::print(&diff.html())?,
    }
    let outcome = if diff.is_empty() { Outcome::Clean } else { Outcome::Findings };
    // The process ends here: giving back a hundred thousand small pieces of memory first would only take time.
    std::mem::forget((from, to));
    Ok(outcome)
}

fn object_name(text: &str) -> anyhow::Result<(&str, &str)> {
    let split = text.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty());
    split.ok_or_else(|| {
        UsageError(format!("--object: {text:?} is no object; write it like Deployment/console")).into()
    })
}

fn load(args: &ReleaseDiffArgs, text: &str) -> anyhow::Result<Release> {
    let opened = super::block_on(super::fetch(text, &args.registry, Wanted::Everything))?;
    // NB: not with the pull specs of the two release images: these differ always, and say nothing.
    let (mut release, selection) = super::load(opened.files.as_ref(), &args.selection)?;
    super::tell_skipped(&release);
    if args.selected {
        release.manifests.retain(|manifest| selection.check(manifest).is_ok());
    }
    Ok(release)
}

// === impl Only ===

impl From<OnlyArg> for Only {
    fn from(only: OnlyArg) -> Self {
        match only {
            OnlyArg::Added => Self::Added,
            OnlyArg::Removed => Self::Removed,
            OnlyArg::Changed => Self::Changed,
            OnlyArg::Incompatible => Self::Incompatible,
        }
    }
}
