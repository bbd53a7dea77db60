//! A whole operator that reports with `lockstep-reporter`.
//!
//! It brings a greeter: a Deployment and its `ConfigMap`, made from a `ConfigMap` that users may change. It waits for the
//! operator that it needs, reports a ClusterOperator, and ends on SIGTERM. Nothing polls: watches wake it, and a slow clock
//! for what watches lose.

mod cluster;
mod operand;
mod pass;
mod settings;

use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use kube::Client;
use lockstep_reporter::{Missing, Published, Reporter};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use pass::State;
use settings::Settings;

/// Everything is looked at again after this time, because events can be lost.
const RECHECK: Duration = Duration::from_mins(5);
/// The pause after the first failed pass; it doubles up to the longest one.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long the prerequisite is waited for before Degraded says so; the wait begins anew then.
const PREREQUISITE_LIMIT: Duration = Duration::from_mins(10);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // It fails only where somebody chose before, and nobody does.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let settings = Settings::from_environment()?;
    let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for Ctrl-C")?;
    let config =
        kube::Config::infer().await.context("finding the cluster; set KUBECONFIG, or run in a Pod")?;
    let client = Client::try_from(config).context("making a client")?;
    log(&format!("example-operator {}", settings.version));
    tokio::select! {
        biased;
        _ = terminate.recv() => log("SIGTERM: done"),
        _ = interrupt.recv() => log("Ctrl-C: done"),
        outcome = run(client, settings) => outcome?,
    }
    Ok(())
}

/// Looks, acts and reports whenever something changed; dropping it ends its tasks.
async fn run(client: Client, settings: Settings) -> anyhow::Result<()> {
    // One place is enough: whoever is woken looks at everything.
    let (wake, mut woken) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    for watched in cluster::watched() {
        tasks.spawn(cluster::follow(client.clone(), watched, wake.clone()));
    }
    // What was last heard of the prerequisite.
    let (gate, prerequisite) = tokio::sync::watch::channel(None);
    tasks.spawn(wait_for_prerequisite(client.clone(), settings.clone(), gate, wake.clone()));

    let reporter = Reporter::new(client.clone());
    let mut state = State::default();
    let mut pause = PAUSE;
    loop {
        let waits_for = prerequisite.borrow().clone();
        let next = match pass::pass(&client, &settings, &mut state, waits_for, Timestamp::now()).await {
            Ok((report, next)) => match reporter.publish(&report, Timestamp::now()).await {
                Ok(published) => {
                    tell(&published);
                    pause = PAUSE;
                    next.unwrap_or(RECHECK)
                }
                Err(error) => failed(&error.into(), &mut pause),
            },
            Err(error) => failed(&error, &mut pause),
        };
        // A wake-up, or the time is over: both are followed by a look.
        let _ = tokio::time::timeout(next, woken.recv()).await;
    }
}

/// Waits for the operator that this one needs; `Some(Ok)` when it is there, `Some(Err)` with what is missing.
async fn wait_for_prerequisite(
    client: Client,
    settings: Settings,
    gate: tokio::sync::watch::Sender<pass::Gate>,
    wake: mpsc::Sender<()>,
) {
    loop {
        let told = |missing: &[Missing]| {
            let text = missing.first().map(ToString::to_string);
            gate.send_replace(Some(text.map_or(Ok(()), |text| Err(pass::Wait { text, is_too_long: false }))));
            let _ = wake.try_send(());
        };
        match settings.prerequisites().wait(&client, PREREQUISITE_LIMIT, told).await {
            // Whoever has begun does not stop because the other one moves on.
            Ok(()) => return,
            Err(error) => {
                gate.send_replace(Some(Err(pass::Wait { text: error.to_string(), is_too_long: true })));
                let _ = wake.try_send(());
            }
        }
    }
}

fn failed(error: &anyhow::Error, pause: &mut Duration) -> Duration {
    let now = *pause;
    log(&format!("again in {now:?}: {error:#}"));
    *pause = (now * 2).min(LONGEST_PAUSE);
    now
}

fn tell(published: &Published) {
    if published.is_written() {
        let status = &published.object().status;
        let conditions: Vec<String> =
            status.conditions.iter().map(|found| format!("{}={}", found.kind, found.status)).collect();
        log(&format!(
            "reported {} {}",
            status.version("operator").unwrap_or("no version"),
            conditions.join(" ")
        ));
    }
}

/// One line to standard error; where it is gone there is nobody to tell.
fn log(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
