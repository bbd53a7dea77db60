//! A release with all its images, brought from one place to another.
//!
//! ```text
//! naming ─ plan ─┬─ space
//!                ├─ copy ─ verify ─ mend
//!                └─ report ─ instructions
//! ```
//!
//! # Compatibility
//! Tags, and what is told at the end, are those of the reference. Manifest lists are always copied whole, a list of one image
//! too, because its digest is what pull specs name; signatures are copied; a mirror set is an `ImageDigestMirrorSet` unless
//! asked for otherwise; what was written is asked for again at the end, and what is wrong is written anew.

pub mod copy;
pub mod instructions;
mod mend;
pub mod naming;
pub mod plan;
pub mod progress;
pub mod report;
pub mod space;
pub mod verify;

use std::path::Path;

use lockstep_api::names::{annotation, file};
use lockstep_payload::{Folder, images};

use self::copy::{Copied, Limits, Outcome};
use self::instructions::MirrorRule;
use self::naming::{Component, Naming, NamingError};
use self::plan::{Destination, Plan, Source, Wanted};
use self::progress::Snapshot;
use self::report::Report;
use self::space::SpaceError;
use self::verify::{Place, Problem, Verified};
use crate::image::Content;
use crate::location::Location;
use crate::open::{OpenRelease, ReadError};
use crate::reference::PullSpec;
use crate::store::{self, Registries, StoreError};

/// Where a mirror tells how far it is.
pub type Tell<'a> = &'a mut (dyn FnMut(Snapshot) + Send);

/// What a person asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where everything goes: a repository, a layout or an archive, without a tag.
    pub to: Location,
    /// Where the release image goes, if elsewhere; with a tag, if it shall have another.
    pub to_release_image: Option<Location>,
    /// What of the release is copied.
    pub parts: Parts,
    /// Whether signatures are copied.
    pub signatures: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Whether the disk is looked at first.
    pub space_check: bool,
    /// How copying is done.
    pub limits: Limits,
}

/// What of a release is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// The release image and all its images.
    All,
    /// The release image alone.
    ReleaseImage,
    /// All but the release image.
    Components,
}

/// A mirror that is planned.
#[derive(Debug, Clone)]
pub struct Mirror {
    request: Request,
    plan: Plan,
    report: Report,
    /// The repository that pull specs of the release image name, when it is known.
    origin: Option<String>,
}

/// Why a release could not be mirrored.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The release cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its images cannot be read.
    #[error("{name}: {why}")]
    References {
        /// The release.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// An image that has no digest, or a name that no tag can have.
    #[error(transparent)]
    Naming(#[from] NamingError),
    /// A store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk is too small.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// Something that cannot be mirrored so.
    #[error("{0}")]
    Refused(String),
}

// === impl Mirror ===

impl Mirror {
    /// Reads what has to be copied, and asks the destination what it has. Nothing is written.
    pub async fn plan(
        release: &OpenRelease,
        request: Request,
        registries: &Registries,
        tell: Tell<'_>,
    ) -> Result<Self, MirrorError> {
        let source = source(release)?;
        let origin = origin(release, &source).await?;
        let wanted = wanted(&request, &source, registries).await?;
        let plan = plan::plan(&source, &wanted, registries, tell).await?;
        let mut report = Report {
            api_version: Report::API_VERSION,
            kind: Report::KIND,
            version: source.version.clone(),
            architecture: source.architecture.clone(),
            from: release.name.clone(),
            to: request.to.to_string(),
            dry_run: request.dry_run,
            parallel: request.limits.parallel,
            complete: false,
            totals: report::Totals::default(),
            images: Vec::new(),
            problems: Vec::new(),
            mended: Vec::new(),
            mirror_rules: rules(&plan, &source.components, origin.as_deref()),
        };
        report.add_plan(&plan);
        Ok(Self { request, plan, report, origin })
    }

    /// What is planned.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Copies what is missing and asks for everything at the end; what is missing or wrong then is copied once more.
    ///
    /// # Errors
    /// When the disk is too small. What fails on the way is in the report.
    pub async fn run(mut self, tell: Tell<'_>) -> Result<Report, MirrorError> {
        if self.request.space_check {
            self.check_space()?;
        }
        let limits = self.request.limits;
        let mut copied = copy::copy(&self.plan, limits, tell).await;
        let mut verified = self.end(&copied, tell).await?;
        // Where something failed nothing more is begun, unless it was asked for.
        if !verified.problems.is_empty() && (limits.continue_on_error || !copied.has_failed()) {
            self.plan.take_in(&copied.images);
            let kept = self.plan.forget(&verified.problems).await;
            copied.add(copy::copy(&self.plan, limits, tell).await);
            let again = self.end(&copied, tell).await?;
            let found = std::mem::replace(&mut verified, again).problems;
            self.report.mended = self.plan.mended(&found, &verified, &copied);
            let kept = kept.into_iter().map(|text| Problem { text, place: Place::Unknown });
            verified.problems.extend(kept);
        }
        self.report.add_verified(verified);
        Ok(self.report)
    }

    /// Ends a round of copying, and asks for everything that it should have brought.
    async fn end(&mut self, copied: &Copied, tell: Tell<'_>) -> Result<Verified, StoreError> {
        self.report.add_copied(copied);
        self.note_origin().await?;
        for store in self.plan.destinations.iter().filter_map(|it| it.store.as_ref()) {
            store.finish().await?;
        }
        let is_there = |at: usize| matches!(copied.images.get(at), Some(Outcome::Present | Outcome::Copied));
        Ok(verify::verify(&self.plan, is_there, self.request.limits.parallel, tell).await)
    }

    fn check_space(&self) -> Result<(), SpaceError> {
        for (at, destination) in self.plan.destinations.iter().enumerate() {
            let missing = self.plan.missing_bytes_of(at);
            let largest = self.plan.missing().map(|blob| blob.descriptor.size).max().unwrap_or_default();
            let needed = space::needed(&destination.location, missing, largest, self.request.limits.parallel);
            space::check(&destination.location, needed)?;
        }
        Ok(())
    }

    /// Keeps where the release was pulled from, for whoever mirrors it on from the disk.
    async fn note_origin(&self) -> Result<(), StoreError> {
        let Some(origin) = &self.origin else { return Ok(()) };
        let release = self.plan.images.iter().zip(&self.report.images).find(|(image, result)| {
            image.role == naming::Role::Release
                && matches!(result.result, report::ImageResult::Present | report::ImageResult::Copied)
        });
        let Some((image, _)) = release else { return Ok(()) };
        match self.plan.destinations.get(image.destination).and_then(|it| it.store.as_ref()) {
            Some(store) => store.note(&image.tag, annotation::PULLED_FROM, origin).await,
            None => Ok(()),
        }
    }
}

/// What is in a release: its images by digest, and what it is called.
fn source(release: &OpenRelease) -> Result<Source, MirrorError> {
    let Some(image) = &release.image else {
        return Err(MirrorError::Refused(format!(
            "{} is a folder of manifests; make an image of it with `lockstep release new` first",
            release.name
        )));
    };
    let wrong = |why: String| MirrorError::References { name: release.name.clone(), why };
    let bytes = release
        .files
        .read(Folder::ReleaseManifests, file::IMAGE_REFERENCES)
        .map_err(|error| wrong(error.to_string()))?;
    let references = images::read(&bytes).map_err(|error| wrong(error.to_string()))?;
    let is_multi = match image.list.as_ref().map(crate::RawManifest::content) {
        Some(Ok(Content::Index(index))) => index.manifests.len() > 1,
        _ => false,
    };
    let architecture =
        if is_multi { "multi" } else { naming::architecture(&image.config.platform.architecture) };
    Ok(Source {
        home: image.store.clone(),
        digest: image.digest().clone(),
        name: release.name.clone(),
        naming: Naming::new(&references.name, architecture)?,
        components: naming::components(&references)?,
        version: references.name,
        architecture: architecture.to_owned(),
    })
}

/// The repository that pull specs of the release image name: where it is read, or where it was read when it came to the disk.
async fn origin(release: &OpenRelease, source: &Source) -> Result<Option<String>, StoreError> {
    match &release.location {
        Location::Registry(spec) => Ok(Some(spec.name())),
        Location::Layout { .. } | Location::Archive { .. } => {
            source.home.noted(&source.digest, annotation::PULLED_FROM).await
        }
        Location::Folder(_) => Ok(None),
    }
}

async fn wanted(request: &Request, source: &Source, registries: &Registries) -> Result<Wanted, MirrorError> {
    let to = destination(&request.to, request.dry_run, registries).await?;
    let (mut release_to, mut release_tag) = (None, source.naming.release().to_owned());
    if let Some(location) = request.to_release_image.as_ref().filter(|_| request.parts != Parts::Components) {
        let (bare, tag) = split(location)?;
        release_tag = tag.unwrap_or(release_tag);
        // NB: a place on disk can be opened for writing once only.
        if !is_same_place(&bare, &to.location) {
            release_to = Some(destination(&bare, request.dry_run, registries).await?);
        }
    }
    Ok(Wanted {
        to,
        release_to,
        release_tag,
        release_image: request.parts != Parts::Components,
        components: request.parts != Parts::ReleaseImage,
        signatures: request.signatures,
    })
}

/// Opens a destination; a dry run makes nothing.
async fn destination(
    location: &Location,
    dry_run: bool,
    registries: &Registries,
) -> Result<Destination, MirrorError> {
    let store = match location {
        Location::Layout { path, .. } if dry_run && !path.join(store::layout::MARKER).exists() => None,
        Location::Archive { path, .. } if dry_run && !path.exists() => None,
        Location::Layout { .. } | Location::Archive { .. } if dry_run => {
            Some(store::open(location, registries).await?.0)
        }
        _ => Some(store::create(location, registries).await?.0),
    };
    Ok(Destination { location: location.clone(), store })
}

/// Whether two locations without tags are one place, whatever way their paths go.
fn is_same_place(one: &Location, other: &Location) -> bool {
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    match (one, other) {
        (Location::Layout { path: one, .. }, Location::Layout { path: other, .. })
        | (Location::Archive { path: one, .. }, Location::Archive { path: other, .. }) => {
            one == other || whole(one).is_some_and(|one| Some(one) == whole(other))
        }
        _ => one == other,
    }
}

/// A location without its tag, and the tag.
fn split(location: &Location) -> Result<(Location, Option<String>), MirrorError> {
    Ok(match location.clone() {
        Location::Layout { path, tag } => (Location::Layout { path, tag: None }, tag),
        Location::Archive { path, tag } => (Location::Archive { path, tag: None }, tag),
        Location::Registry(PullSpec { digest: Some(_), .. }) => {
            let why = format!("{location}: an image is written to a repository or a tag, not to a digest");
            return Err(MirrorError::Refused(why));
        }
        Location::Registry(spec) => (Location::Registry(spec.bare()), spec.tag),
        Location::Folder(path) => {
            let why = format!("{} is a folder of manifests, not of images", path.display());
            return Err(MirrorError::Refused(why));
        }
    })
}

/// Where clusters find the images that are in registries now.
fn rules(plan: &Plan, components: &[Component], origin: Option<&str>) -> Vec<MirrorRule> {
    let repository = |role: naming::Role| {
        let image = plan.images.iter().find(|image| image.role == role)?;
        match &plan.destinations.get(image.destination)?.location {
            Location::Registry(spec) => Some(spec.name()),
            _ => None,
        }
    };
    let (release, component) = (repository(naming::Role::Release), repository(naming::Role::Component));
    let of_components = components.iter().filter_map(|it| Some((it.source.name(), component.clone()?)));
    let of_release = origin.and_then(|origin| Some((origin.to_owned(), release?)));
    instructions::merge(of_components.chain(of_release))
}
