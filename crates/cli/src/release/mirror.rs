//! `lockstep release mirror`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use lockstep_release::mirror::copy::Limits;
use lockstep_release::mirror::instructions::{Kind, text as instructions};
use lockstep_release::mirror::progress::{Pace, Phase, Snapshot, amount};
use lockstep_release::mirror::report::{ImageReport, ImageResult, Report};
use lockstep_release::mirror::{Mirror, Parts, Request};
use lockstep_release::open::{self, OpenRelease, ReadError, Wanted};
use lockstep_release::store::Registries;
use lockstep_release::{Location, PlatformFilter, StoreError};

use super::block_on;
use crate::args::{InstructionsArg, MirrorArgs, MirrorOutput};
use crate::exit::{Outcome, UsageError};
use crate::output;
use crate::stop::Stop;

/// How many things are moved at a time, unless somebody says otherwise.
const PARALLEL: usize = 6;
/// The time between two frames on a terminal.
const FRAME: Duration = Duration::from_millis(200);
/// The time between two lines elsewhere.
const LINES: Duration = Duration::from_secs(5);

/// Shows how far it is on standard error: one line that is drawn again and again, or a line now and then.
struct Progress {
    is_terminal: bool,
    started: Instant,
    last: Option<Instant>,
    phase: Option<Phase>,
    pace: Pace,
    is_drawn: bool,
}

/// Runs the command.
pub(crate) fn run(args: &MirrorArgs) -> anyhow::Result<Outcome> {
    let from = usage(Location::parse(from(args)?))?;
    let request = request(args)?;
    let registries = args.registries.registries(PARALLEL)?;
    let filter = args.registries.filter()?;
    block_on(async {
        let mut stop = Stop::new()?;
        let mut progress = Progress::new();
        let outcome = tokio::select! {
            biased;
            () = stop.wait() => None,
            outcome = mirror(&from, request, &registries, &filter, &mut progress) => Some(outcome),
        };
        progress.end();
        let Some(outcome) = outcome else {
            output::note("ended; the same command goes on where this one was");
            return Ok(Outcome::Interrupted);
        };
        let report = outcome?;
        tell(args, &report)
    })
}

async fn mirror(
    from: &Location,
    request: Request,
    registries: &Registries,
    filter: &PlatformFilter,
    progress: &mut Progress,
) -> anyhow::Result<Report> {
    let release = open(from, registries, filter).await?;
    let is_dry = request.dry_run;
    let parallel = request.limits.parallel;
    let mirror = Mirror::plan(&release, request, registries, &mut |at| progress.show(at)).await?;
    progress.end();
    let report = mirror.report();
    if report.images.iter().all(|image| image.name == "release") && !report.images.is_empty() {
        output::note("only the release image is mirrored");
    }
    talk(&format!("mirror: {} to {}", report.from, report.to));
    talk(&format!("mirror: {}; parallel {parallel}", report.summary()));
    if is_dry {
        return Ok(report.clone());
    }
    Ok(mirror.run(&mut |at| progress.show(at)).await?)
}

/// Opens the release; of a list any image tells what the release has, when there is none for this machine.
async fn open(
    from: &Location,
    registries: &Registries,
    filter: &PlatformFilter,
) -> anyhow::Result<OpenRelease> {
    let opened = open::release(from, registries, filter, Wanted::ReleaseManifests).await;
    match (opened, filter) {
        (Err(ReadError::Store(StoreError::Platform(_))), PlatformFilter::Host) => {
            let any = PlatformFilter::parse("")?;
            Ok(open::release(from, registries, &any, Wanted::ReleaseManifests).await?)
        }
        (opened, _) => Ok(opened?),
    }
}

fn from(args: &MirrorArgs) -> Result<&str, UsageError> {
    let wrong = |text: &str| Err(UsageError(text.to_owned()));
    match (args.release.as_slice(), &args.from) {
        ([], None) => wrong("must specify a release image with --from"),
        ([], Some(from)) => Ok(from),
        ([release], None) => Ok(release),
        ([_], Some(_)) => wrong("you may not specify an argument and --from"),
        _ => wrong("only one argument is accepted"),
    }
}

fn request(args: &MirrorArgs) -> Result<Request, UsageError> {
    let wrong = |text: &str| UsageError(text.to_owned());
    if args.skip_release_image && args.to_release_image.is_some() {
        return Err(wrong("--skip-release-image and --to-release-image may not both be specified"));
    }
    let Some(to) = &args.to else {
        return Err(wrong("must specify a place to mirror the release to with --to"));
    };
    let to = Location::parse_target(to)
        .map_err(|error| UsageError(format!("--to must be a valid image repository: {error}")))?;
    match &to {
        Location::Registry(spec) if spec.tag.is_none() && spec.digest.is_none() => {
            if spec.repository.is_empty() {
                let text = format!("--to must be a valid image repository: {spec} is only a registry");
                return Err(UsageError(text));
            }
        }
        Location::Layout { tag: None, .. } | Location::Archive { tag: None, .. } => {}
        Location::Folder(path) => {
            let path = path.display();
            return Err(UsageError(format!("--to {path}: is a folder; use oci:{path} for images")));
        }
        _ => return Err(wrong("--to must be to an image repository and may not contain a tag or digest")),
    }
    let to_release_image = args.to_release_image.as_deref().map(Location::parse_target).transpose();
    Ok(Request {
        to,
        to_release_image: usage(to_release_image)?,
        parts: match (args.skip_release_image, args.only_release_image) {
            (true, _) => Parts::Components,
            (false, true) => Parts::ReleaseImage,
            (false, false) => Parts::All,
        },
        signatures: !args.skip_signatures,
        dry_run: args.dry_run,
        space_check: !args.skip_space_check,
        limits: Limits {
            parallel: args.registries.parallel(PARALLEL),
            continue_on_error: args.continue_on_error,
        },
    })
}

fn usage<T>(outcome: Result<T, impl std::fmt::Display>) -> Result<T, UsageError> {
    outcome.map_err(|error| UsageError(error.to_string()))
}

/// Prints the outcome.
fn tell(args: &MirrorArgs, report: &Report) -> anyhow::Result<Outcome> {
    if report.images.len() <= 1 && !args.only_release_image {
        output::warn("Release image contains no image references - is this a valid release?");
    }
    // One layer that cannot be had may be that of all images.
    let mut failures: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, error) in report.failures() {
        failures.entry(error).or_default().push(name);
    }
    for (error, names) in failures {
        output::warn(&format!("{}: {error}", some(&names)));
    }
    for problem in &report.mended {
        output::note(&format!("verification: {problem}; it was written anew"));
    }
    for problem in &report.problems {
        output::warn(&format!("verification: {problem}"));
    }
    match args.output {
        MirrorOutput::Json => output::print_json(report)?,
        MirrorOutput::Text if report.dry_run => output::print(&list(report))?,
        MirrorOutput::Text if report.complete => output::print(&success(args, report))?,
        MirrorOutput::Text => {}
    }
    if report.complete {
        return Ok(Outcome::Clean);
    }
    if report.dry_run {
        let has_failed = report.failures().next().is_some();
        return Ok(if has_failed { Outcome::Findings } else { Outcome::Clean });
    }
    let missing = report.images.iter().filter(|image| !is_there(image)).count();
    let text = format!(
        "{missing} of {} images are not mirrored, {} problems were found at the end; the same command tries again",
        report.images.len(),
        report.problems.len()
    );
    output::error(&anyhow::anyhow!(text));
    Ok(Outcome::Findings)
}

/// The first names, and how many more there are.
fn some(names: &[&str]) -> String {
    match names {
        [one, two, three, rest @ ..] if !rest.is_empty() => {
            format!("{one}, {two}, {three} and {} more", rest.len())
        }
        few => few.join(", "),
    }
}

fn is_there(image: &ImageReport) -> bool {
    matches!(image.result, ImageResult::Present | ImageResult::Copied)
}

/// What a dry run says: every image with what of it is missing.
fn list(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for image in &report.images {
        let state = match image.result {
            ImageResult::Present => "there".to_owned(),
            ImageResult::Failed => "cannot be read".to_owned(),
            _ => format!("{} of {} missing", amount(image.missing_bytes), amount(image.bytes)),
        };
        let _ = writeln!(text, "{} -> {}  {state}", image.source, image.destination);
    }
    let _ = writeln!(text, "\n{}", report.summary());
    text
}

/// What is told at the end; scripts read it.
fn success(args: &MirrorArgs, report: &Report) -> String {
    let mut text = String::from("\nSuccess\n");
    if let Some(image) = report.release_image() {
        let _ = writeln!(text, "Update image:  {}", image.destination);
    }
    let _ = writeln!(text, "Mirror prefix: {}", report.to);
    if report.mirror_rules.is_empty() {
        if let (Some(image), false) = (report.release_image(), is_registry(report)) {
            let _ = writeln!(
                text,
                "\nTo upload the release to a registry, run:\n\n    lockstep release mirror {} --to REGISTRY/REPOSITORY",
                image.destination
            );
        }
        return text;
    }
    match args.print_mirror_instructions {
        InstructionsArg::Idms => text.push_str(&instructions(&report.mirror_rules, Kind::Idms)),
        InstructionsArg::Icsp => text.push_str(&instructions(&report.mirror_rules, Kind::Icsp)),
        InstructionsArg::None => {}
    }
    text
}

fn is_registry(report: &Report) -> bool {
    matches!(Location::parse_target(&report.to), Ok(Location::Registry(_)))
}

/// Says something that belongs to the work, not to the result.
fn talk(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", lockstep_api::text::visible(text));
}

// === impl Progress ===

impl Progress {
    fn new() -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            is_terminal: io::stderr().is_terminal() && !is_dumb,
            started: Instant::now(),
            last: None,
            phase: None,
            pace: Pace::default(),
            is_drawn: false,
        }
    }

    fn show(&mut self, snapshot: Snapshot) {
        let pause = if self.is_terminal { FRAME } else { LINES };
        // A phase that is over sooner than a line is due needs none.
        if self.phase != Some(snapshot.phase) {
            self.phase = Some(snapshot.phase);
            self.last = Some(Instant::now());
        }
        if self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        self.last = Some(Instant::now());
        self.pace.take(self.started.elapsed(), &snapshot);
        let line = snapshot.line(&self.pace);
        let mut out = io::stderr().lock();
        if self.is_terminal {
            let _ = write!(out, "\r{line}\u{1b}[K").and_then(|()| out.flush());
            self.is_drawn = true;
        } else {
            let _ = writeln!(out, "{line}");
        }
    }

    /// What comes next stands on a line of its own.
    fn end(&mut self) {
        if self.is_drawn {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
            self.is_drawn = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_some_are_told() {
        assert_eq!(some(&["a"]), "a");
        assert_eq!(some(&["a", "b", "c"]), "a, b, c");
        assert_eq!(some(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }
}
