//! What verification found missing or wrong is given up at the destination and marked missing, so that it is copied anew.

use super::copy::{Copied, Outcome};
use super::plan::Plan;
use super::verify::{Place, Problem, Verified};
use crate::digest::Digest;

// === impl Plan ===

impl Plan {
    /// Takes in what became of the images: what was copied is there, what failed is not begun again.
    pub(super) fn take_in(&mut self, outcomes: &[Outcome]) {
        for (image, outcome) in self.images.iter_mut().zip(outcomes) {
            match outcome {
                Outcome::Present | Outcome::Copied => {
                    image.tagged = true;
                    image.manifests.iter_mut().for_each(|manifest| manifest.there = true);
                    for blob in &image.blobs {
                        if let Some(blob) = self.blobs.get_mut(*blob) {
                            blob.there = true;
                        }
                    }
                }
                Outcome::Failed(error) => image.problem = Some(error.clone()),
                Outcome::NotBegun => {}
            }
        }
    }

    /// Gives up what is wrong at the destinations; says what could not be given up.
    pub(super) async fn forget(&mut self, problems: &[Problem]) -> Vec<String> {
        let mut failures = Vec::new();
        for problem in problems {
            let (destination, digest) = match &problem.place {
                Place::Blob(at) => {
                    let Some(blob) = self.blobs.get_mut(*at) else { continue };
                    blob.there = false;
                    (blob.destination, blob.descriptor.digest.clone())
                }
                Place::Manifest { destination, digest } => {
                    self.miss_manifest(*destination, digest);
                    (*destination, digest.clone())
                }
                Place::Tag { image } => {
                    if let Some(image) = self.images.get_mut(*image) {
                        image.tagged = false;
                    }
                    continue;
                }
                Place::Unknown => continue,
            };
            let Some(store) = self.destinations.get(destination).and_then(|it| it.store.as_ref()) else {
                continue;
            };
            if let Err(error) = store.forget(&digest).await {
                failures.push(error.to_string());
            }
        }
        failures
    }

    /// What was found the first time and no more; what belongs to an image that failed then was not asked for.
    pub(super) fn mended(&self, found: &[Problem], left: &Verified, copied: &Copied) -> Vec<String> {
        let is_left = |place: &Place| left.problems.iter().any(|problem| problem.place == *place);
        let was_asked = |place: &Place| {
            let mut images = self.images.iter().enumerate().zip(&copied.images);
            images.all(|((at, image), outcome)| {
                let is_part = match place {
                    Place::Blob(blob) => image.blobs.contains(blob),
                    Place::Manifest { destination, digest } => {
                        image.destination == *destination
                            && image.manifests.iter().any(|manifest| manifest.raw.digest == *digest)
                    }
                    Place::Tag { image } => at == *image,
                    Place::Unknown => true,
                };
                !is_part || matches!(outcome, Outcome::Present | Outcome::Copied)
            })
        };
        let is_mended =
            |it: &&Problem| it.place != Place::Unknown && !is_left(&it.place) && was_asked(&it.place);
        let mut mended: Vec<String> = found.iter().filter(is_mended).map(|it| it.text.clone()).collect();
        mended.dedup();
        mended
    }

    fn miss_manifest(&mut self, destination: usize, digest: &Digest) {
        let images = self.images.iter_mut().filter(|image| image.destination == destination);
        for manifest in images.flat_map(|image| &mut image.manifests) {
            if manifest.raw.digest == *digest {
                manifest.there = false;
            }
        }
    }
}

// === impl Copied ===

impl Copied {
    /// Whether an image could not be copied.
    pub(super) fn has_failed(&self) -> bool {
        self.images.iter().any(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    /// Adds what a second round did; what it found present is what the first one made of it.
    pub(super) fn add(&mut self, again: Self) {
        for (first, second) in self.images.iter_mut().zip(again.images) {
            if second != Outcome::Present {
                *first = second;
            }
        }
        self.blobs += again.blobs;
        self.bytes += again.bytes;
    }
}
