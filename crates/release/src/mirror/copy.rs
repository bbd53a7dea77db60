//! Moves what is missing: blobs side by side, the manifests of an image when its blobs are there, the release image last.
//!
//! So whoever sees a tag sees a whole image, and whoever sees the tag of the release sees a whole release. What is at the
//! destination is all that is remembered between runs: a run that was killed is taken up by asking again.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::task::{Id, JoinSet};

use super::naming::Role;
use super::plan::{Plan, PlannedBlob, PlannedImage};
use super::progress::{Phase, Snapshot};
use crate::image::RawManifest;
use crate::store::{BlobSource, Meter, Store, StoreError};

/// How often a blob is tried again, beside what the stores themselves try.
const MOST_TRIES: u32 = 4;
/// How long to wait before the second try; each further wait is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// What a registry says to a manifest when it does not know something that the manifest names.
const UNKNOWN: &str = "MANIFEST_BLOB_UNKNOWN";
/// How often it is told how far it is.
const TICK: Duration = Duration::from_millis(100);

/// How copying is done.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most things that are moved at a time.
    pub parallel: usize,
    /// Whether other images are still begun when one has failed.
    pub continue_on_error: bool,
}

/// What became of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was there.
    Present,
    /// It was copied.
    Copied,
    /// It could not be copied.
    Failed(String),
    /// It was not begun, because something else failed.
    NotBegun,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The outcome of each image of the plan.
    pub images: Vec<Outcome>,
    /// Blobs that were moved.
    pub blobs: usize,
    /// Bytes that came from the source, those that came twice counted twice.
    pub bytes: u64,
}

/// Something that is moved on its own.
enum Done {
    Blob(usize, Result<bool, StoreError>),
    Image(usize, Result<(), StoreError>),
}

/// Work that is left, going on and done.
struct Work<'a> {
    plan: &'a Plan,
    limits: Limits,
    /// Blobs that nobody has begun.
    waiting: VecDeque<usize>,
    /// Images whose blobs are there.
    ready: VecDeque<usize>,
    /// How many blobs each image still needs.
    open: Vec<usize>,
    /// The images that need a blob.
    needed_by: Vec<Vec<usize>>,
    outcomes: Vec<Outcome>,
    running: JoinSet<Done>,
    meters: HashMap<Id, (Meter, u64)>,
    bytes_done: u64,
    bytes_moved: u64,
    blobs_moved: usize,
    is_stopping: bool,
}

/// Copies what is missing; tells how far it is. Every store of the plan has to be there.
pub async fn copy(plan: &Plan, limits: Limits, tell: &mut (dyn FnMut(Snapshot) + Send)) -> Copied {
    let mut work = Work::new(plan, limits);
    let mut tick = tokio::time::interval(TICK);
    loop {
        work.begin();
        if work.running.is_empty() && !work.begin_release() {
            break;
        }
        tokio::select! {
            done = work.running.join_next_with_id() => match done {
                Some(Ok((id, done))) => work.end(id, done),
                // A task that fell over takes its work with it: what it was for stays open and is told as not done.
                Some(Err(_)) => work.is_stopping = true,
                None => {}
            },
            _ = tick.tick() => {}
        }
        tell(work.snapshot());
    }
    tell(work.snapshot());
    Copied { images: work.outcomes, blobs: work.blobs_moved, bytes: work.bytes_moved }
}

/// Writes a manifest whose blobs and images are there. Two lists may have an image in common, and a registry that is just
/// writing it once more says for a moment that it does not know it.
async fn write_manifest(store: &Store, tag: Option<&str>, manifest: &RawManifest) -> Result<(), StoreError> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..MOST_TRIES {
        match store.write_manifest(tag, manifest).await {
            Err(error) if error.to_string().contains(UNKNOWN) => tokio::time::sleep(pause).await,
            outcome => return outcome.map(drop),
        }
        pause *= 2;
    }
    store.write_manifest(tag, manifest).await.map(drop)
}

// === impl Work ===

impl<'a> Work<'a> {
    fn new(plan: &'a Plan, limits: Limits) -> Self {
        let mut needed_by = vec![Vec::new(); plan.blobs.len()];
        let (mut open, mut outcomes, mut ready) = (Vec::new(), Vec::new(), VecDeque::new());
        for (at, image) in plan.images.iter().enumerate() {
            let missing = image.blobs.iter().filter(|blob| !plan.blobs[**blob].there);
            let missing: Vec<usize> = missing.copied().collect();
            for blob in &missing {
                needed_by[*blob].push(at);
            }
            open.push(missing.len());
            outcomes.push(match &image.problem {
                Some(problem) => Outcome::Failed(problem.clone()),
                None if plan.is_complete(image) => Outcome::Present,
                None => Outcome::NotBegun,
            });
            if missing.is_empty() && outcomes[at] == Outcome::NotBegun && image.role != Role::Release {
                ready.push_back(at);
            }
        }
        let waiting = (0..plan.blobs.len()).filter(|blob| !plan.blobs[*blob].there).collect();
        let has_failed = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Failed(_)));
        Self {
            plan,
            limits,
            waiting,
            ready,
            open,
            needed_by,
            outcomes,
            running: JoinSet::new(),
            meters: HashMap::new(),
            bytes_done: 0,
            bytes_moved: 0,
            blobs_moved: 0,
            is_stopping: has_failed && !limits.continue_on_error,
        }
    }

    /// Begins as much as may go on at a time; images before blobs, so that they can be used early.
    fn begin(&mut self) {
        while !self.is_stopping && self.running.len() < self.limits.parallel.max(1) {
            if let Some(at) = self.ready.pop_front() {
                self.begin_image(at);
            } else if let Some(at) = self.waiting.pop_front() {
                // A blob that only failed images need is not worth the way.
                if self.needed_by[at].iter().any(|image| self.outcomes[*image] == Outcome::NotBegun) {
                    self.begin_blob(at);
                }
            } else {
                break;
            }
        }
    }

    /// Begins the release image when everything else is there; whether it did.
    fn begin_release(&mut self) -> bool {
        let is_done = |outcome: &Outcome| matches!(outcome, Outcome::Present | Outcome::Copied);
        let release = self.plan.images.iter().position(|image| image.role == Role::Release);
        let Some(release) = release.filter(|at| self.outcomes[*at] == Outcome::NotBegun) else {
            return false;
        };
        let are_others_done =
            self.outcomes.iter().enumerate().all(|(at, outcome)| at == release || is_done(outcome));
        if self.is_stopping || self.open[release] > 0 || !are_others_done {
            return false;
        }
        self.begin_image(release);
        true
    }

    fn begin_blob(&mut self, at: usize) {
        let blob = self.plan.blobs[at].clone();
        let Some(store) = self.store(blob.destination) else { return };
        let (meter, size) = (Meter::default(), blob.descriptor.size);
        let counted = meter.clone();
        let task =
            self.running.spawn(async move { Done::Blob(at, move_blob(&blob, &store, &counted).await) });
        self.meters.insert(task.id(), (meter, size));
    }

    fn begin_image(&mut self, at: usize) {
        let image = &self.plan.images[at];
        let Some(store) = self.store(image.destination) else { return };
        let (steps, tag) = (steps(image), image.tag.clone());
        self.running.spawn(async move {
            for (manifest, is_tagged) in steps {
                let tag = is_tagged.then_some(tag.as_str());
                if let Err(error) = write_manifest(&store, tag, &manifest).await {
                    return Done::Image(at, Err(error));
                }
            }
            Done::Image(at, Ok(()))
        });
    }

    fn store(&self, destination: usize) -> Option<Store> {
        self.plan.destinations.get(destination)?.store.clone()
    }

    fn end(&mut self, id: Id, done: Done) {
        match done {
            Done::Blob(at, outcome) => {
                let (meter, size) = self.meters.remove(&id).unwrap_or_default();
                self.bytes_moved += meter.bytes();
                match outcome {
                    Ok(was_moved) => {
                        self.bytes_done += size;
                        self.blobs_moved += usize::from(was_moved);
                        self.blob_is_there(at);
                    }
                    Err(error) => {
                        let error = error.to_string();
                        for image in self.needed_by[at].clone() {
                            self.fail(image, &error);
                        }
                    }
                }
            }
            Done::Image(at, Ok(())) => self.outcomes[at] = Outcome::Copied,
            Done::Image(at, Err(error)) => self.fail(at, &error.to_string()),
        }
    }

    fn blob_is_there(&mut self, blob: usize) {
        for image in self.needed_by[blob].clone() {
            self.open[image] -= 1;
            let is_open = self.outcomes[image] == Outcome::NotBegun;
            if self.open[image] == 0 && is_open && self.plan.images[image].role != Role::Release {
                self.ready.push_back(image);
            }
        }
    }

    fn fail(&mut self, image: usize, error: &str) {
        if self.outcomes[image] == Outcome::NotBegun {
            self.outcomes[image] = Outcome::Failed(error.to_owned());
        }
        self.is_stopping |= !self.limits.continue_on_error;
    }

    fn snapshot(&self) -> Snapshot {
        let is_done = |outcome: &&Outcome| matches!(outcome, Outcome::Present | Outcome::Copied);
        let running: u64 = self.meters.values().map(|(meter, size)| meter.bytes().min(*size)).sum();
        Snapshot {
            phase: Phase::Copying,
            images_done: self.outcomes.iter().filter(is_done).count(),
            images: self.outcomes.len(),
            bytes_done: self.bytes_done + running,
            bytes: self.plan.missing_bytes(),
        }
    }
}

/// The manifests that have to be written, in order, and which of them gets the tag: the last one.
fn steps(image: &PlannedImage) -> Vec<(RawManifest, bool)> {
    let last = image.manifests.len().saturating_sub(1);
    let steps = image.manifests.iter().enumerate().filter(|(at, manifest)| *at == last || !manifest.there);
    steps.map(|(at, manifest)| (manifest.raw.clone(), at == last)).collect()
}

/// Moves one blob; what fails in a way that may pass is tried again, from the next place that has it.
async fn move_blob(blob: &PlannedBlob, store: &Store, meter: &Meter) -> Result<bool, StoreError> {
    let mut pause = FIRST_PAUSE;
    let mut tries = 0;
    loop {
        let from = blob.sources.iter().cycle().nth(tries as usize);
        let Some(from) = from else {
            return Err(StoreError::NotFound {
                what: format!("the blob {}", blob.descriptor.digest),
                store: "any place that was read".to_owned(),
            });
        };
        let source = BlobSource::store(from.clone()).counted_by(meter);
        tries += 1;
        match store.write_blob(&blob.descriptor, &source).await {
            Err(error) if tries < MOST_TRIES && may_pass(&error, blob, from) => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            outcome => return outcome,
        }
    }
}

fn may_pass(error: &StoreError, blob: &PlannedBlob, from: &Store) -> bool {
    match error {
        StoreError::NotFound { .. } | StoreError::Denied { .. } => blob.sources.len() > 1,
        StoreError::Answer { .. } => true,
        // A file that is short or wrong stays so.
        StoreError::Network { .. } | StoreError::Mismatch { .. } => {
            matches!(from, Store::Registry(_)) || blob.sources.len() > 1
        }
        StoreError::Io { .. } | StoreError::Format(_) | StoreError::Platform(_) | StoreError::Refused(_) => {
            false
        }
    }
}
