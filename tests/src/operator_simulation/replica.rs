//! One place for a replica, as a kubelet keeps it: a process of the deployed release that is killed, stopped and replaced.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use lockstep_api::names::{namespace, profile};
use lockstep_apply::server::Server;
use lockstep_graph::InstallOrder;
use lockstep_operator::clock::Clock;
use lockstep_operator::lease::Timing;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::serve::Health;
use lockstep_operator::{End, Host, OperatorError, OwnDeployment, Settings, events};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::editions::Edition;
use super::observer::Observer;
use super::story::Fate;
use crate::simulation::draw::Draw;

/// Where a replica runs.
pub(crate) struct Place<'a> {
    pub(crate) number: usize,
    pub(crate) seed: u64,
    pub(crate) editions: &'a [Edition; 2],
    pub(crate) observer: Observer,
    pub(crate) clock: Clock,
    /// The release of the operator's Deployment.
    pub(crate) deployed: watch::Receiver<usize>,
}

/// How long a process that is asked to stop may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long what is to be told may take after the end.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The times of the Lease.
const TIMING: Timing = Timing {
    duration: Duration::from_secs(5),
    renew_deadline: Duration::from_secs(4),
    retry_period: Duration::from_secs(1),
};

/// Why a process is no longer there.
enum Exit {
    Killed(Duration),
    Stopped(Duration),
    Replaced,
    Doomed,
    Ended(Result<End, OperatorError>),
}

// === impl Place ===

impl Place<'_> {
    /// Keeps a process there for ever.
    pub(crate) async fn live(mut self, fates: &[Fate]) {
        let begin = Instant::now();
        let mut draw = Draw::new(self.seed, &format!("replica {}", self.number));
        let mut fates = fates.iter();
        let mut fate = fates.next();
        sleep(Duration::from_millis(draw.between(0, 3000))).await;
        for start in 0_u64.. {
            let edition = *self.deployed.borrow_and_update();
            let identity = format!("replica-{}-{start}", self.number);
            self.observer.say(&format!("{identity} begins from {}", self.editions[edition].version));
            let (stop, mut process) = self.process(&identity, edition, start);
            let replacement = Duration::from_millis(draw.between(0, 8000));
            let exit = tokio::select! {
                biased;
                () = self.observer.doom(&identity) => Exit::Doomed,
                () = due(begin, fate) => {
                    let is_kill = fate.is_some_and(|fate| fate.is_kill);
                    let pause = fate.map(|fate| fate.back_after).unwrap_or_default();
                    fate = fates.next();
                    if is_kill { Exit::Killed(pause) } else { Exit::Stopped(pause) }
                }
                () = changed(&mut self.deployed, replacement) => Exit::Replaced,
                end = &mut process => Exit::Ended(end),
            };
            let pause = match exit {
                Exit::Killed(pause) => {
                    self.note(&identity, "replica killed");
                    pause
                }
                Exit::Doomed => {
                    self.note(&identity, "replica killed before the answer");
                    Duration::from_millis(draw.between(0, 20_000))
                }
                Exit::Stopped(pause) => {
                    self.note(&identity, "replica stopped");
                    self.stop(&identity, stop, process).await;
                    pause
                }
                Exit::Replaced => {
                    self.note(&identity, "replica replaced");
                    self.stop(&identity, stop, process).await;
                    Duration::from_millis(draw.between(0, 3000))
                }
                Exit::Ended(end) => {
                    match end {
                        Ok(End::HandedOver) => self.note(&identity, "replica handed over"),
                        end => self.observer.breaks(format!("{identity} ended by itself: {end:?}")),
                    }
                    Duration::from_millis(draw.between(0, 6000))
                }
            };
            sleep(pause).await;
        }
    }

    fn note(&self, identity: &str, what: &str) {
        self.observer.say(&format!("{identity}: {what}"));
        self.observer.count(what);
    }

    /// Asks a process to stop; after a while it is killed.
    async fn stop(
        &self,
        identity: &str,
        stop: oneshot::Sender<()>,
        process: BoxFuture<'_, Result<End, OperatorError>>,
    ) {
        let _ = stop.send(());
        match timeout(PATIENCE, process).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => self.observer.breaks(format!("{identity}: {error}")),
            Err(_) => self.observer.breaks(format!("{identity} did not stop within {PATIENCE:?}")),
        }
    }

    /// A process of a release. Dropping it is `kill -9`.
    fn process(
        &self,
        identity: &str,
        edition: usize,
        start: u64,
    ) -> (oneshot::Sender<()>, BoxFuture<'static, Result<End, OperatorError>>) {
        let server = Server::new(self.observer.client(identity));
        let metrics = Metrics::new();
        let (recorder, notes) = events::channel(metrics.clone());
        let host = Host {
            clock: self.clock.clone(),
            events: recorder,
            metrics,
            health: Health::new(Duration::from_mins(2)),
            authorities: watch::channel(Bytes::new()).0,
        };
        let seed = self.seed * 1000 + start * 10 + self.number as u64;
        let settings = settings(&self.editions[edition], identity, seed);
        let (stop, is_stopped) = oneshot::channel();
        let (clock, identity) = (self.clock.clone(), identity.to_owned());
        let process = async move {
            let pump = events::pump(notes, server.clone(), &identity, move || clock());
            let mut pump = pin!(pump.fuse());
            let run = lockstep_operator::run(server, settings, host, is_stopped.map(drop));
            let end = {
                let mut run = pin!(run);
                loop {
                    tokio::select! {
                        biased;
                        end = &mut run => break end,
                        () = &mut pump => {}
                    }
                }
            };
            let _ = timeout(LAST_WORDS, pump).await;
            end
        };
        (stop, process.boxed())
    }
}

fn settings(edition: &Edition, identity: &str, seed: u64) -> Settings {
    Settings {
        release_image: edition.image(),
        payload_dir: edition.folder.clone(),
        namespace: namespace::CLUSTER_VERSION.to_owned(),
        profile: profile::SELF_MANAGED_HIGH_AVAILABILITY.to_owned(),
        exclude: String::new(),
        always_enable: Vec::new(),
        install_order: InstallOrder::Flat,
        own_deployment: OwnDeployment::Auto,
        accept_unverified: true,
        insecure_registries: false,
        cache_dir: None,
        cache_limit: 0,
        retrieve_timeout: Duration::from_mins(2),
        unprovided_after: Duration::from_mins(5),
        identity: identity.to_owned(),
        timing: TIMING,
        seed,
    }
}

async fn due(begin: Instant, fate: Option<&Fate>) {
    match fate {
        Some(fate) => sleep_until(begin + fate.at).await,
        None => std::future::pending().await,
    }
}

/// Another release is deployed, and it is this one's turn to go.
async fn changed(deployed: &mut watch::Receiver<usize>, after: Duration) {
    if deployed.changed().await.is_err() {
        return std::future::pending().await;
    }
    sleep(after).await;
}
