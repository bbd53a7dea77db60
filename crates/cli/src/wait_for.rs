//! `lockstep wait-for`: stay until a cluster is there, or say why it is not.

mod show;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use lockstep_apply::server::Server;
use lockstep_converge::wait::{Ending, Failure, Goal, Options, wait};
use lockstep_health::stability::Limits;

use crate::args::{CommonWaitArgs, StabilityArgs, WaitForArgs, WaitForCommand};
use crate::exit::{Outcome, UsageError};
use crate::stop::Stop;
use crate::{cluster, why};
use show::Show;

/// How often somebody is told that time goes by.
const TICK: Duration = Duration::from_millis(500);
/// How long the cause is looked for after a failure.
const PATIENCE: Duration = Duration::from_secs(30);
/// The exit code of an interrupted wait.
const INTERRUPTED: u8 = 8;

pub(crate) fn run(args: &WaitForArgs) -> anyhow::Result<Outcome> {
    let (goal, options, common, record) = read(&args.goal)?;
    let runtime = Runtime::new().context("starting the threads of the client")?;
    let outcome = runtime.block_on(stay(&goal, options, common, record));
    runtime.shutdown_background();
    outcome
}

fn read(goal: &WaitForCommand) -> anyhow::Result<(Goal, Options, &CommonWaitArgs, Option<&Path>)> {
    let options = Options::default();
    Ok(match goal {
        WaitForCommand::Api(args) => {
            (Goal::Api, Options { api: args.timeout, ..options }, &args.common, None)
        }
        WaitForCommand::BootstrapComplete(args) => {
            let (api, bootstrap, etcd) = (args.api_timeout, args.timeout, args.etcd_timeout);
            (Goal::BootstrapComplete, Options { api, bootstrap, etcd, ..options }, &args.common, None)
        }
        WaitForCommand::InstallComplete(args) => {
            let options = stability(&Options { cluster: args.timeout, ..options }, &args.stability)?;
            (Goal::InstallComplete, options, &args.common, args.stability.record.as_deref())
        }
        WaitForCommand::Stable(args) => {
            let options = stability(&options, &args.stability)?;
            (Goal::Stable, options, &args.common, args.stability.record.as_deref())
        }
        WaitForCommand::Converged(args) => {
            (Goal::Converged, Options { cluster: args.timeout, ..options }, &args.common, None)
        }
        WaitForCommand::Operator(args) => {
            let goal = Goal::Operator(args.name.clone());
            (goal, Options { cluster: args.timeout, ..options }, &args.common, None)
        }
    })
}

fn stability(options: &Options, args: &StabilityArgs) -> anyhow::Result<Options> {
    let limits = Limits { quiet: args.stable_for, period: args.period, together: args.together };
    if limits.period < limits.quiet {
        let why =
            "--period has to be at least as long as --stable-for: nobody can rest longer than is watched";
        return Err(UsageError(why.to_owned()).into());
    }
    Ok(Options { stability: limits, expected: args.expect.iter().cloned().collect(), ..options.clone() })
}

async fn stay(
    goal: &Goal,
    options: Options,
    common: &CommonWaitArgs,
    record: Option<&Path>,
) -> anyhow::Result<Outcome> {
    let mut stop = Stop::new().context("waiting for signals")?;
    let cluster = cluster::connect(&common.cluster).await?;
    let server = Server::new(cluster.client).with_timeout(cluster.request_timeout);
    let mut show = Show::new(common.output);
    let (sender, mut receiver) = mpsc::unbounded_channel();
    // Who listens goes away only together with this.
    let mut tell = move |told| drop(sender.send(told));
    let mut waiting = Box::pin(wait(&server, goal, &options, &mut tell));
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ending = loop {
        tokio::select! {
            biased;
            () = stop.wait() => {
                show.interrupted()?;
                return Ok(Outcome::Code(INTERRUPTED));
            }
            Some(told) = receiver.recv() => show.take(&told)?,
            ending = &mut waiting => break ending,
            _ = ticks.tick() => show.tick()?,
        }
    };
    drop(waiting);
    while let Ok(told) = receiver.try_recv() {
        show.take(&told)?;
    }
    if let Some(path) = record {
        write_record(path, &ending)?;
    }
    let causes = match &ending.failure {
        Some(_) => timeout(PATIENCE, why::causes(&server, &cluster.address)).await.ok(),
        None => None,
    };
    show.end(&ending, causes.as_ref())?;
    Ok(match &ending.failure {
        None => Outcome::Clean,
        Some(Failure { stage, .. }) => Outcome::Code(stage.exit_code()),
    })
}

/// Adds what was observed to a file, a line each: who collects them over many clusters can choose the two numbers anew.
fn write_record(path: &Path, ending: &Ending) -> anyhow::Result<()> {
    let rests = ending.rests.iter().map(|rest| json!({"version": 1, "rest": rest}));
    let judgement = ending.stability.iter().map(|judgement| json!({"version": 1, "judgement": judgement}));
    let lines = rests.chain(judgement).map(|line| line.to_string()).collect::<Vec<_>>().join("\n") + "\n";
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(lines.as_bytes()));
    written.with_context(|| format!("writing {}", path.display()))
}
