//! What a mirror did or would do, for programs and for people.

use serde::Serialize;

use super::copy::{Copied, Outcome};
use super::instructions::MirrorRule;
use super::naming::Role;
use super::plan::{Destination, Plan, PlannedImage, total};
use super::progress::amount;
use super::verify::Verified;
use crate::location::Location;

/// A mirror as data.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Always [`Report::API_VERSION`].
    pub api_version: &'static str,
    /// Always [`Report::KIND`].
    pub kind: &'static str,
    /// The version of the release.
    pub version: String,
    /// Its architecture, or `multi`.
    pub architecture: String,
    /// Where the release was read.
    pub from: String,
    /// Where it was mirrored to.
    pub to: String,
    /// Whether nothing was to be written.
    pub dry_run: bool,
    /// How many things were moved at a time.
    pub parallel: usize,
    /// Whether everything is there and verified; for a dry run, whether everything was there.
    pub complete: bool,
    /// Sums.
    pub totals: Totals,
    /// Every image.
    pub images: Vec<ImageReport>,
    /// What is missing or wrong at the destination.
    pub problems: Vec<String>,
    /// What was missing or wrong at the destination and was written anew.
    pub mended: Vec<String>,
    /// Where clusters find the images now.
    pub mirror_rules: Vec<MirrorRule>,
}

/// Sums of a mirror.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Images.
    pub images: usize,
    /// Manifests, each once.
    pub manifests: usize,
    /// Blobs, each once.
    pub blobs: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Blobs that were missing at the destination.
    pub missing_blobs: usize,
    /// Their bytes.
    pub missing_bytes: u64,
    /// Blobs that were moved.
    pub moved_blobs: usize,
    /// Bytes that came from the source, those that came twice counted twice.
    pub moved_bytes: u64,
    /// Manifests that were found at the end.
    pub verified_manifests: usize,
    /// Blobs that were found at the end.
    pub verified_blobs: usize,
}

/// One image of a mirror.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageReport {
    /// Its name in the release.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Where it comes from.
    pub source: String,
    /// Where it is now.
    pub destination: String,
    /// Its digest.
    pub digest: String,
    /// How many manifests it has.
    pub manifests: usize,
    /// Bytes of its blobs; those that it shares are counted for each image.
    pub bytes: u64,
    /// Bytes of its blobs that were missing at the destination.
    pub missing_bytes: u64,
    /// What became of it.
    pub result: ImageResult,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What became of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageResult {
    /// It was there.
    Present,
    /// It was copied.
    Copied,
    /// It could not be copied.
    Failed,
    /// It was not begun, because something else failed.
    NotBegun,
    /// A dry run would copy it.
    Planned,
}

// === impl Report ===

impl Report {
    /// The API version of the report.
    pub const API_VERSION: &'static str = "lockstep.dev/v1";
    /// The kind of the report.
    pub const KIND: &'static str = "MirrorReport";

    /// Takes in what is planned.
    pub(super) fn add_plan(&mut self, plan: &Plan) {
        self.totals = Totals {
            images: plan.images.len(),
            manifests: plan.manifests(),
            blobs: plan.blobs.len(),
            bytes: plan.bytes(),
            missing_blobs: plan.missing().count(),
            missing_bytes: plan.missing_bytes(),
            ..Totals::default()
        };
        self.images = plan.images.iter().map(|image| image_report(plan, image)).collect();
        self.complete = self.images.iter().all(|image| image.result == ImageResult::Present);
    }

    /// Takes in what was copied.
    pub(super) fn add_copied(&mut self, copied: &Copied) {
        self.totals.moved_blobs = copied.blobs;
        self.totals.moved_bytes = copied.bytes;
        for (image, outcome) in self.images.iter_mut().zip(&copied.images) {
            (image.result, image.error) = match outcome {
                Outcome::Present => (ImageResult::Present, None),
                Outcome::Copied => (ImageResult::Copied, None),
                Outcome::Failed(error) => (ImageResult::Failed, Some(error.clone())),
                Outcome::NotBegun => (ImageResult::NotBegun, None),
            };
        }
    }

    /// Takes in what the destination said at the end.
    pub(super) fn add_verified(&mut self, verified: Verified) {
        self.totals.verified_manifests = verified.manifests;
        self.totals.verified_blobs = verified.blobs;
        self.problems = verified.problems.into_iter().map(|problem| problem.text).collect();
        let is_there =
            |image: &ImageReport| matches!(image.result, ImageResult::Present | ImageResult::Copied);
        self.complete = self.problems.is_empty() && self.images.iter().all(is_there);
    }

    /// The release image at the destination, if it was wanted.
    pub fn release_image(&self) -> Option<&ImageReport> {
        self.images.iter().find(|image| image.role == Role::Release)
    }

    /// The images that failed, with why.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.images.iter().filter_map(|image| Some((image.name.as_str(), image.error.as_deref()?)))
    }

    /// `192 images, 412 blobs, 12.1 GB; 3.4 GB are there, 8.7 GB are missing`.
    pub fn summary(&self) -> String {
        let Totals { images, blobs, bytes, missing_bytes, .. } = self.totals;
        let there = bytes.saturating_sub(missing_bytes);
        format!(
            "{images} images, {blobs} blobs, {}; {} are there, {} are missing",
            amount(bytes),
            amount(there),
            amount(missing_bytes)
        )
    }
}

fn image_report(plan: &Plan, image: &PlannedImage) -> ImageReport {
    let blobs = || image.blobs.iter().filter_map(|blob| plan.blobs.get(*blob));
    ImageReport {
        name: image.name.clone(),
        role: image.role,
        source: image.source.clone(),
        destination: plan
            .destinations
            .get(image.destination)
            .map_or_else(String::new, |it| it.at(&image.tag)),
        digest: image.digest.to_string(),
        manifests: image.manifests.len(),
        bytes: total(blobs().map(|blob| blob.descriptor.size)),
        missing_bytes: total(blobs().filter(|blob| !blob.there).map(|blob| blob.descriptor.size)),
        result: match &image.problem {
            Some(_) => ImageResult::Failed,
            None if plan.is_complete(image) => ImageResult::Present,
            None => ImageResult::Planned,
        },
        error: image.problem.clone(),
    }
}

// === impl Destination ===

impl Destination {
    /// What a tag there is called.
    pub fn at(&self, tag: &str) -> String {
        match &self.location {
            Location::Registry(spec) => spec.with_tag(tag).to_string(),
            Location::Layout { path, .. } => {
                Location::Layout { path: path.clone(), tag: Some(tag.to_owned()) }.to_string()
            }
            Location::Archive { path, .. } => {
                Location::Archive { path: path.clone(), tag: Some(tag.to_owned()) }.to_string()
            }
            Location::Folder(path) => path.display().to_string(),
        }
    }
}
