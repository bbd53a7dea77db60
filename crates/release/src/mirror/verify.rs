//! Asks the destination for everything of a plan: nothing is believed because it was written.
//!
//! A registry is asked for every manifest, the size of every blob and every tag; on disk every byte is hashed again.

use std::collections::HashMap;

use futures::StreamExt as _;
use tokio::task::{Id, JoinSet};

use super::plan::{Plan, PlannedBlob, PlannedImage, total};
use super::progress::{Phase, Snapshot};
use crate::digest::Digest;
use crate::store::{BlobSource, Meter, Store, StoreError, Which};

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Manifests that are there and right.
    pub manifests: usize,
    /// Blobs that are there and right.
    pub blobs: usize,
    /// Bytes that were hashed again; a registry hashes itself.
    pub bytes_hashed: u64,
    /// What is missing or wrong.
    pub problems: Vec<Problem>,
}

/// Something that is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// A sentence.
    pub text: String,
    /// What has to be written anew.
    pub place: Place,
}

/// What is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A blob: an index into [`Plan::blobs`].
    Blob(usize),
    /// A manifest.
    Manifest {
        /// Where: an index into [`Plan::destinations`].
        destination: usize,
        /// Which.
        digest: Digest,
    },
    /// The tag of an image.
    Tag {
        /// An index into [`Plan::images`].
        image: usize,
    },
    /// The place did not say; to write anew would not help.
    Unknown,
}

/// One answer.
enum Answer {
    Blob(Option<Problem>),
    Image(usize, Vec<Problem>),
}

/// Asks for everything; images that were not copied are left out.
pub async fn verify(
    plan: &Plan,
    is_copied: impl Fn(usize) -> bool,
    parallel: usize,
    tell: &mut (dyn FnMut(Snapshot) + Send),
) -> Verified {
    let images: Vec<(usize, &PlannedImage)> =
        plan.images.iter().enumerate().filter(|(at, _)| is_copied(*at)).collect();
    let mut wanted = vec![false; plan.blobs.len()];
    for blob in images.iter().flat_map(|(_, image)| &image.blobs) {
        wanted[*blob] = true;
    }
    let mut blobs = plan.blobs.iter().enumerate().filter(|(at, _)| wanted[*at]);
    let is_hashed =
        |blob: &PlannedBlob| !matches!(store(plan, blob.destination), Some(Store::Registry(_)) | None);
    let mut snapshot = Snapshot {
        phase: Phase::Verifying,
        images_done: 0,
        images: images.len(),
        bytes_done: 0,
        bytes: total(
            blobs
                .clone()
                .map(|(_, blob)| blob)
                .filter(|blob| is_hashed(blob))
                .map(|blob| blob.descriptor.size),
        ),
    };
    let mut left = images.into_iter();
    let (mut verified, mut running) = (Verified::default(), JoinSet::new());
    let mut meters: HashMap<Id, Meter> = HashMap::new();
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(100));
    loop {
        while running.len() < parallel.max(1) {
            if let Some((at, blob)) = blobs.next() {
                let Some(store) = store(plan, blob.destination) else { continue };
                let (blob, meter) = (blob.clone(), Meter::default());
                let counted = meter.clone();
                let task =
                    running.spawn(async move { Answer::Blob(ask_blob(&store, at, &blob, &counted).await) });
                meters.insert(task.id(), meter);
            } else if let Some((at, image)) = left.next() {
                let Some(store) = store(plan, image.destination) else { continue };
                let image = image.clone();
                running.spawn(async move {
                    Answer::Image(image.manifests.len(), ask_image(&store, at, &image).await)
                });
            } else {
                break;
            }
        }
        tokio::select! {
            answer = running.join_next_with_id() => match answer {
                None => break,
                Some(Ok((id, Answer::Blob(problem)))) => {
                    verified.bytes_hashed += meters.remove(&id).unwrap_or_default().bytes();
                    verified.blobs += usize::from(problem.is_none());
                    verified.problems.extend(problem);
                }
                Some(Ok((_, Answer::Image(manifests, problems)))) => {
                    snapshot.images_done += 1;
                    verified.manifests += manifests.saturating_sub(problems.len());
                    verified.problems.extend(problems);
                }
                Some(Err(error)) => {
                    let text = format!("not everything was asked for: {error}");
                    verified.problems.push(Problem { text, place: Place::Unknown });
                }
            },
            _ = tick.tick() => {}
        }
        let going_on: u64 = meters.values().map(Meter::bytes).sum();
        snapshot.bytes_done = verified.bytes_hashed + going_on;
        tell(snapshot);
    }
    verified.problems.sort();
    verified
}

fn store(plan: &Plan, destination: usize) -> Option<Store> {
    plan.destinations.get(destination)?.store.clone()
}

async fn ask_blob(store: &Store, at: usize, blob: &PlannedBlob, meter: &Meter) -> Option<Problem> {
    let wanted = &blob.descriptor;
    let problem = |text: String| Some(Problem { text, place: Place::Blob(at) });
    let missing = || problem(format!("{}: the blob {} is missing", store.name(), wanted.digest));
    let failed =
        |error: &StoreError| Some(Problem { text: error.to_string(), place: place(error, Place::Blob(at)) });
    if matches!(store, Store::Registry(_)) {
        return match store.blob_size(&wanted.digest).await {
            Ok(Some(size)) if size == wanted.size => None,
            Ok(Some(size)) => problem(format!(
                "{}: the blob {} has {size} bytes, not {}",
                store.name(),
                wanted.digest,
                wanted.size
            )),
            Ok(None) => missing(),
            Err(error) => failed(&error),
        };
    }
    let mut stream = BlobSource::store(store.clone()).counted_by(meter).checked(wanted);
    while let Some(piece) = stream.next().await {
        if let Err(error) = piece {
            return if error.is_not_found() { missing() } else { failed(&error) };
        }
    }
    None
}

async fn ask_image(store: &Store, at: usize, image: &PlannedImage) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut tell = |text: String, place: Place| problems.push(Problem { text, place });
    for manifest in &image.manifests {
        let digest = &manifest.raw.digest;
        let here = Place::Manifest { destination: image.destination, digest: digest.clone() };
        let which = Which::Digest(digest.clone());
        // On disk the bytes are read, and reading checks them; a registry has checked what it took.
        let found = match store {
            Store::Registry(_) => store.find(&which).await,
            Store::Layout(_) | Store::Archive(_) => {
                store.manifest(&which).await.map(|manifest| Some(manifest.digest))
            }
        };
        match found {
            Ok(Some(found)) if found == *digest => {}
            Ok(_) => {
                tell(format!("{}: the manifest {digest} of {} is missing", store.name(), image.name), here);
            }
            Err(error) => tell(format!("{}: {error}", image.name), place(&error, here)),
        }
    }
    let here = Place::Tag { image: at };
    match store.find(&Which::Tag(image.tag.clone())).await {
        Ok(Some(digest)) if digest == image.digest => {}
        Ok(Some(digest)) => tell(
            format!("{}: the tag {} points to {digest}, not to {}", store.name(), image.tag, image.digest),
            here,
        ),
        Ok(None) => tell(format!("{}: the tag {} is missing", store.name(), image.tag), here),
        Err(error) => tell(format!("{}: {error}", image.name), Place::Unknown),
    }
    problems
}

/// Only what is known to be missing or wrong is written anew: a question that failed says nothing about what is there.
fn place(error: &StoreError, here: Place) -> Place {
    match error {
        StoreError::NotFound { .. } | StoreError::Mismatch { .. } => here,
        _ => Place::Unknown,
    }
}
