//! `lockstep operator`

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use lockstep_api::names::{kind, object, profile};
use lockstep_apply::server::Server;
use lockstep_apply::survey;
use lockstep_operator::clock::Clock;
use lockstep_operator::lease::Timing;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::serve::{self, Health, ServeOptions, TlsSettings};
use lockstep_operator::{Authorities, End, Host, OwnDeployment, Settings, events};
use tokio::sync::watch;

use crate::args::{OperatorArgs, OwnDeploymentArg};
use crate::exit::{Outcome, UsageError};
use crate::stop::Stop;
use crate::{cluster, logging, output};

/// Two are enough for one loop and a few connections; each has a stack.
const THREADS: usize = 2;
/// A loop that has not come round for so long is dead.
const LONGEST_TURN: Duration = Duration::from_mins(2);
/// How long what is to be told may take after the end.
const LAST_WORDS: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &OperatorArgs) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    let runtime = runtime.context("starting the threads of the operator")?;
    let outcome = runtime.block_on(operate(args));
    // A name that is still being looked up holds nobody up.
    runtime.shutdown_background();
    outcome
}

async fn operate(args: &OperatorArgs) -> anyhow::Result<Outcome> {
    check(args)?;
    let (seed, identity) = identity();
    let _logging = logging::begin(&args.logging, &identity)?;
    let mut stop = Stop::new().context("waiting for signals")?;
    let cluster = cluster::connect(&args.cluster).await?;
    let metrics = Metrics::new();
    let counted = metrics.clone();
    let server = Server::new(cluster.client)
        .with_timeout(cluster.request_timeout)
        .counting(Arc::new(move |verb, code| counted.request(verb, code)));
    let clock: Clock = Arc::new(jiff::Timestamp::now);
    let (recorder, notes) = events::channel(metrics.clone());
    let (authorities, trusted) = watch::channel(Authorities::new());
    let host = Host {
        clock: Arc::clone(&clock),
        events: recorder,
        metrics: metrics.clone(),
        health: Health::new(LONGEST_TURN),
        authorities,
    };
    let timing = timing(args, &server).await?;
    let settings = settings(args, timing, seed, identity.clone());
    let (ended, end) = watch::channel(false);
    let site = tokio::spawn(site(args, trusted, &host, server.clone(), end)?);
    let writer_server = server.clone();
    let told = tokio::spawn(async move {
        let now = Arc::clone(&clock);
        events::pump(notes, writer_server, &identity, move || now()).await;
    });
    let outcome = lockstep_operator::run(server, settings, host, stop.wait()).await;
    // What was noted is still written; who waits for it has a limit.
    let _ = ended.send(true);
    let _ = tokio::time::timeout(LAST_WORDS, async { (site.await, told.await) }).await;
    match outcome? {
        End::Stopped => output::note("stopped"),
        End::HandedOver => output::note("the operator of the next release does the rest"),
    }
    Ok(Outcome::Clean)
}

/// Metrics and probes, until the end.
fn site(
    args: &OperatorArgs,
    trusted: watch::Receiver<Authorities>,
    host: &Host,
    server: Server,
    mut end: watch::Receiver<bool>,
) -> anyhow::Result<impl Future<Output = ()> + Send + use<>> {
    let listen = &args.listen;
    let missing = |flag: &str| UsageError(format!("--listen was not set empty, so {flag} must be set"));
    let options = if listen.listen.is_empty() {
        None
    } else {
        let certificate = listen.serving_cert_file.clone().ok_or_else(|| missing("--serving-cert-file"))?;
        let key = listen.serving_key_file.clone().ok_or_else(|| missing("--serving-key-file"))?;
        let tls = TlsSettings::parse(&listen.tls_min_version, &listen.tls_cipher_suites)
            .map_err(|error| UsageError(error.to_string()))?;
        let options = ServeOptions::new(&listen.listen, certificate, key, trusted, Arc::clone(&host.clock));
        Some(ServeOptions { tls, ..options })
    };
    let (metrics, health) = (host.metrics.clone(), host.health.clone());
    Ok(async move {
        let stop = async move {
            let _ = end.wait_for(|ended| *ended).await;
        };
        let Some(options) = options else { return stop.await };
        if let Err(error) = serve::serve(options, metrics, health, server, stop).await {
            tracing::error!("{error}");
        }
    })
}

fn check(args: &OperatorArgs) -> anyhow::Result<()> {
    if args.release_image.is_empty() {
        return Err(UsageError("missing --release-image flag, it is required".to_owned()).into());
    }
    if args.reference.enable_auto_update == Some(true) {
        let text = "--enable-auto-update is not supported: an administrator says when to update, with \
                    `lockstep upgrade to`";
        return Err(UsageError(text.to_owned()).into());
    }
    Ok(())
}

/// The times of the Lease: those of the flags, else those of the reference for this sort of cluster.
async fn timing(args: &OperatorArgs, server: &Server) -> anyhow::Result<Timing> {
    let lease = &args.lease;
    let given = [lease.lease_duration, lease.renew_deadline, lease.retry_period];
    let usual = if given.iter().all(Option::is_some) {
        Timing::REFERENCE
    } else {
        let found = survey::read(server, kind::INFRASTRUCTURE, "infrastructures", object::CLUSTER).await;
        let is_single =
            |object: &serde_json::Value| object["status"]["controlPlaneTopology"] == "SingleReplica";
        match found {
            Ok(Some(object)) if is_single(&object) => Timing::SINGLE_NODE,
            Ok(_) => Timing::REFERENCE,
            Err(error) => {
                tracing::warn!("whether this cluster has one node is not known: {error}");
                Timing::REFERENCE
            }
        }
    };
    let timing = Timing {
        duration: lease.lease_duration.unwrap_or(usual.duration),
        renew_deadline: lease.renew_deadline.unwrap_or(usual.renew_deadline),
        retry_period: lease.retry_period.unwrap_or(usual.retry_period),
    };
    timing.check().map_err(UsageError)?;
    Ok(timing)
}

fn settings(args: &OperatorArgs, timing: Timing, seed: u64, identity: String) -> Settings {
    let profile =
        if args.profile.is_empty() { profile::SELF_MANAGED_HIGH_AVAILABILITY } else { &args.profile };
    Settings {
        release_image: args.release_image.clone(),
        payload_dir: args.payload_dir.clone(),
        namespace: args.lease.operator_namespace.clone(),
        profile: profile.to_owned(),
        exclude: args.exclude.clone(),
        always_enable: args.always_enable_capabilities.clone(),
        install_order: args.install_order.into(),
        own_deployment: match args.own_deployment {
            OwnDeploymentArg::Auto => OwnDeployment::Auto,
            OwnDeploymentArg::Apply => OwnDeployment::Apply,
        },
        accept_unverified: args.accept_unverified,
        insecure_registries: args.insecure_registries,
        cache_dir: Some(args.cache_dir.clone()).filter(|folder| !folder.as_os_str().is_empty()),
        cache_limit: args.cache_limit.saturating_mul(1024 * 1024),
        retrieve_timeout: args.retrieve_timeout,
        unprovided_after: args.unprovided_after,
        identity,
        timing,
        seed,
    }
}

/// A number and a name that are different for every process.
fn identity() -> (u64, String) {
    let seed = seed();
    (seed, format!("{}_{seed:016x}", host_name()))
}

fn seed() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    hasher.write_u128(since.map(|time| time.as_nanos()).unwrap_or_default());
    hasher.finish()
}

/// The name of the Pod, or of the machine.
fn host_name() -> String {
    let of_file = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).or_else(of_file);
    name.map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "operator".to_owned())
}
