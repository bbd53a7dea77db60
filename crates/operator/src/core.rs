//! The one loop: what is known of the cluster, what is asked, and what is under way for it.

mod decide;
mod load;
mod publish;
mod rest;
mod work;

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use lockstep_api::names::reason;
use lockstep_api::{ARCHITECTURE_MULTI, Release};
use lockstep_apply::server::Server;
use lockstep_graph::Mode;
use lockstep_graph::report::{Loaded, Phase, Report};
use lockstep_payload::{DiskFiles, Files as _, Folder, images, metadata};
use lockstep_updates::request::Wanted;
use tokio::time::{Instant, sleep_until};

use crate::asked::{Asked, Choice};
use crate::host::Host;
use crate::notice::{Notice, Tone};
use crate::retrieve::{Cache, LoadFailure, Retrieved, Retriever};
use crate::settings::Settings;
use crate::world::{Watches, World};
use crate::{End, OperatorError};
use publish::Written;
use rest::Observed;
use work::Work;

/// What a probe calls the one loop.
const LOOP: &str = "sync";
/// How often a status is looked at that depends on the clock alone.
const TICK: Duration = Duration::from_mins(1);

/// Everything that is known and under way.
pub(crate) struct Core {
    server: Server,
    settings: Settings,
    host: Host,
    watches: Watches,
    world: World,
    retriever: Retriever,
    /// The release that this operator comes from.
    own: Release,
    /// The release that is worked on.
    accepted: Option<Accepted>,
    phase: Phase,
    /// What is said about the last load.
    loaded: Loaded,
    loading: Option<Loading>,
    refused: Option<Refused>,
    work: Option<Work>,
    /// When the work is begun again after it came to nothing, and how often that was.
    again_at: Option<Instant>,
    /// Capabilities that were on: they stay on.
    had: BTreeSet<String>,
    writing: Option<BoxFuture<'static, Written>>,
    /// When a status may be written next, and what was written last.
    next_write: Instant,
    shown: Option<Report>,
    write_failures: u32,
    /// The most that was done of a release on its way there: its image, tasks, and of how many.
    most: Option<(String, usize, usize)>,
    /// Which operators come to rest, and which do not.
    rest: Observed,
    /// Whether the successor shall go on.
    is_leaving: bool,
    /// Whether it was said that there is no ClusterVersion.
    is_missing_told: bool,
    /// Whether something came in that metrics show.
    is_exported: bool,
}

/// A release that is worked on.
struct Accepted {
    release: Release,
    choice: Choice,
    version_hash: String,
    /// Lines worth telling in the status.
    remarks: Vec<String>,
}

/// For what a release is got.
#[derive(Debug, Clone, PartialEq)]
enum Purpose {
    /// It is asked for.
    Target(Wanted),
    /// The cluster is at it already: what speaks against it was looked at when it was accepted.
    Resume(Wanted),
    /// It is worked on, and has to be planned anew.
    Again,
}

/// A release that is being got.
struct Loading {
    purpose: Purpose,
    image: String,
    future: BoxFuture<'static, Result<Got, LoadFailure>>,
}

/// What was got.
struct Got {
    next: Retrieved,
    /// The release that is left, where that matters.
    current: Option<lockstep_payload::Release>,
}

/// A release that is not used.
struct Refused {
    wanted: Wanted,
    /// Its version, when nothing but preconditions speaks against it.
    version: Option<String>,
    failures: u32,
    retry_at: Instant,
    access: lockstep_release::store::ClusterAccess,
}

// === impl Core ===

impl Core {
    /// Opens the watches. Nothing is written yet.
    pub(crate) fn new(server: Server, settings: Settings, host: Host) -> Result<Self, OperatorError> {
        let own = own_release(&settings)?;
        let created = own_creation(&settings);
        host.metrics.set(|facts| facts.payload_created = created);
        let cache = settings.cache_dir.as_ref().map(|folder| Cache::new(folder, settings.cache_limit));
        let retriever = Retriever {
            own_image: settings.release_image.clone(),
            payload_dir: settings.payload_dir.clone(),
            profile: settings.profile.clone(),
            cache,
            patience: settings.retrieve_timeout,
            accept_unverified: settings.accept_unverified,
            insecure: settings.insecure_registries,
        };
        Ok(Self {
            watches: Watches::new(server.clone(), settings.seed),
            server,
            settings,
            host,
            world: World::default(),
            retriever,
            own,
            accepted: None,
            phase: Phase::new(Mode::Installing),
            loaded: Loaded::default(),
            loading: None,
            refused: None,
            work: None,
            again_at: None,
            had: BTreeSet::new(),
            writing: None,
            next_write: Instant::now(),
            shown: None,
            write_failures: 0,
            most: None,
            rest: Observed::new(Instant::now()),
            is_leaving: false,
            is_missing_told: false,
            is_exported: false,
        })
    }

    /// Works until there is a reason to stop.
    pub(crate) async fn run(&mut self) -> End {
        loop {
            self.host.health.beat(LOOP);
            self.decide();
            let next_look = self.publish();
            self.observe_rest();
            self.export();
            self.host.health.rest(LOOP);
            if self.is_leaving && self.writing.is_none() && next_look.is_none() {
                return End::HandedOver;
            }
            let wake_at = self.wake_at(next_look);
            tokio::select! {
                biased;
                written = some(&mut self.writing) => self.on_written(written),
                got = some_load(&mut self.loading) => self.on_got(got),
                told = next_of(&mut self.work) => self.on_told(told),
                _ = self.watches.next(&mut self.world) => self.is_exported = false,
                () = sleep_until(wake_at) => {}
            }
        }
    }

    /// When something is due that no event tells.
    fn wake_at(&self, next_look: Option<Instant>) -> Instant {
        let now = Instant::now();
        let retry = self.refused.as_ref().filter(|_| self.loading.is_none()).map(|refused| refused.retry_at);
        let work = self.work.as_ref().and_then(|work| work.tracker.next_look(now));
        let due = [next_look, retry, work, self.again_at, Some(self.rest.due)];
        due.into_iter().flatten().fold(now + TICK, Instant::min)
    }

    fn tell(&self, tone: Tone, reason: &'static str, message: impl Into<String>) {
        let message = message.into();
        match tone {
            Tone::Normal => tracing::info!(reason, "{message}"),
            Tone::Warning => tracing::warn!(reason, "{message}"),
        }
        self.host.events.record(Notice { tone, reason, message });
    }

    fn asked(&self) -> Option<Asked> {
        if !self.world.is_known() {
            return None;
        }
        Asked::read(&self.world, &self.own)
    }
}

/// The release that the operator comes from, by what it says about itself.
fn own_release(settings: &Settings) -> Result<Release, OperatorError> {
    let wrong = |why: String| OperatorError::Local { folder: settings.payload_dir.clone(), why };
    let files = DiskFiles::open(&settings.payload_dir).map_err(|error| wrong(error.to_string()))?;
    let bytes = files.read(Folder::ReleaseManifests, lockstep_api::names::file::RELEASE_METADATA);
    let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
    let read = metadata::read(&bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(of_metadata(&read, &settings.release_image))
}

/// When that release was made, where it says so.
fn own_creation(settings: &Settings) -> Option<Timestamp> {
    let files = DiskFiles::open(&settings.payload_dir).ok()?;
    let bytes = files.read(Folder::ReleaseManifests, lockstep_api::names::file::IMAGE_REFERENCES).ok()?;
    images::read(&bytes).ok()?.creation_timestamp?.parse().ok()
}

/// What the status says about a release.
fn of_metadata(metadata: &metadata::ReleaseMetadata, image: &str) -> Release {
    Release {
        version: metadata.version.to_string(),
        image: image.to_owned(),
        url: metadata.url.clone().unwrap_or_default(),
        channels: metadata.channels.clone(),
        architecture: if metadata.multi_architecture { ARCHITECTURE_MULTI.to_owned() } else { String::new() },
        ..Release::default()
    }
}

/// Waits for what is under way; for ever when nothing is.
async fn some(future: &mut Option<BoxFuture<'static, Written>>) -> Written {
    let Some(under_way) = future else { return std::future::pending().await };
    let outcome = under_way.await;
    *future = None;
    outcome
}

async fn some_load(loading: &mut Option<Loading>) -> (Purpose, String, Result<Got, LoadFailure>) {
    let Some(under_way) = loading else { return std::future::pending().await };
    let outcome = (&mut under_way.future).await;
    match loading.take() {
        Some(Loading { purpose, image, .. }) => (purpose, image, outcome),
        None => std::future::pending().await,
    }
}

async fn next_of(work: &mut Option<Work>) -> Vec<work::Told> {
    match work {
        Some(work) => work.next().await,
        None => std::future::pending().await,
    }
}

/// Names the steps of a load, for texts that people and tools match on.
fn about(version: &str, image: &str) -> String {
    format!("version={version:?} image={image:?}")
}

/// The last step of every load that worked.
const LOADED: &str = reason::PAYLOAD_LOADED;
