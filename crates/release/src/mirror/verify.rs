//! Asks the destination for everything of a plan: nothing is believed because it was written.
//!
//! A registry is asked for every manifest, the size of every blob and every tag; on disk every byte is hashed again.

use std::collections::HashMap;

use futures::StreamExt as _;
use tokio::task::{Id, JoinSet};

use super::plan::{Plan, PlannedBlob, PlannedImage};
use super::progress::{Phase, Snapshot};
use crate::store::{BlobSource, Meter, Store, Which};

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Manifests that are there and right.
    pub manifests: usize,
    /// Blobs that are there and right.
    pub blobs: usize,
    /// Bytes that were hashed again; a registry hashes itself.
    pub bytes_hashed: u64,
    /// What is missing or wrong, each a sentence.
    pub problems: Vec<String>,
}

/// One answer.
enum Answer {
    Blob(Option<String>),
    Image(usize, Vec<String>),
}

/// Asks for everything; images that were not copied are left out.
pub async fn verify(
    plan: &Plan,
    is_copied: impl Fn(usize) -> bool,
    parallel: usize,
    tell: &mut (dyn FnMut(Snapshot) + Send),
) -> Verified {
    let images: Vec<&PlannedImage> =
        plan.images.iter().enumerate().filter(|(at, _)| is_copied(*at)).map(|(_, image)| image).collect();
    let mut wanted = vec![false; plan.blobs.len()];
    for blob in images.iter().flat_map(|image| &image.blobs) {
        wanted[*blob] = true;
    }
    let mut blobs = plan.blobs.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(blob, _)| blob);
    let is_hashed =
        |blob: &PlannedBlob| !matches!(store(plan, blob.destination), Some(Store::Registry(_)) | None);
    let mut snapshot = Snapshot {
        phase: Phase::Verifying,
        images_done: 0,
        images: images.len(),
        bytes_done: 0,
        bytes: blobs.clone().filter(|blob| is_hashed(blob)).map(|blob| blob.descriptor.size).sum(),
    };
    let mut left = images.into_iter();
    let (mut verified, mut running) = (Verified::default(), JoinSet::new());
    let mut meters: HashMap<Id, Meter> = HashMap::new();
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(100));
    loop {
        while running.len() < parallel.max(1) {
            if let Some(blob) = blobs.next() {
                let Some(store) = store(plan, blob.destination) else { continue };
                let (blob, meter) = (blob.clone(), Meter::default());
                let counted = meter.clone();
                let task =
                    running.spawn(async move { Answer::Blob(ask_blob(&store, &blob, &counted).await) });
                meters.insert(task.id(), meter);
            } else if let Some(image) = left.next() {
                let Some(store) = store(plan, image.destination) else { continue };
                let image = image.clone();
                running.spawn(async move {
                    Answer::Image(image.manifests.len(), ask_image(&store, &image).await)
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
                Some(Err(error)) => verified.problems.push(format!("not everything was asked for: {error}")),
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

async fn ask_blob(store: &Store, blob: &PlannedBlob, meter: &Meter) -> Option<String> {
    let wanted = &blob.descriptor;
    let missing = || format!("{}: the blob {} is missing", store.name(), wanted.digest);
    if matches!(store, Store::Registry(_)) {
        return match store.blob_size(&wanted.digest).await {
            Ok(Some(size)) if size == wanted.size => None,
            Ok(Some(size)) => Some(format!(
                "{}: the blob {} has {size} bytes, not {}",
                store.name(),
                wanted.digest,
                wanted.size
            )),
            Ok(None) => Some(missing()),
            Err(error) => Some(error.to_string()),
        };
    }
    let mut stream = BlobSource::store(store.clone()).counted_by(meter).checked(wanted);
    while let Some(piece) = stream.next().await {
        if let Err(error) = piece {
            return Some(if error.is_not_found() { missing() } else { error.to_string() });
        }
    }
    None
}

async fn ask_image(store: &Store, image: &PlannedImage) -> Vec<String> {
    let mut problems = Vec::new();
    for manifest in &image.manifests {
        let which = Which::Digest(manifest.raw.digest.clone());
        // On disk the bytes are read, and reading checks them; a registry has checked what it took.
        let found = match store {
            Store::Registry(_) => store.find(&which).await,
            Store::Layout(_) | Store::Archive(_) => {
                store.manifest(&which).await.map(|manifest| Some(manifest.digest))
            }
        };
        match found {
            Ok(Some(digest)) if digest == manifest.raw.digest => {}
            Ok(_) => problems.push(format!(
                "{}: the manifest {} of {} is missing",
                store.name(),
                manifest.raw.digest,
                image.name
            )),
            Err(error) => problems.push(format!("{}: {error}", image.name)),
        }
    }
    match store.find(&Which::Tag(image.tag.clone())).await {
        Ok(Some(digest)) if digest == image.digest => {}
        Ok(Some(digest)) => problems.push(format!(
            "{}: the tag {} points to {digest}, not to {}",
            store.name(),
            image.tag,
            image.digest
        )),
        Ok(None) => problems.push(format!("{}: the tag {} is missing", store.name(), image.tag)),
        Err(error) => problems.push(format!("{}: {error}", image.name)),
    }
    problems
}
