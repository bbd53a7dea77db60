//! `lockstep apply`

use std::cell::RefCell;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tokio::runtime::Runtime;
use tokio::time::MissedTickBehavior;

use lockstep_apply::engine::{self, Ending, Options};
use lockstep_apply::preview;
use lockstep_apply::progress::Outcome as RunOutcome;

use crate::args::{ApplyArgs, DiffOutput, EventOutput, Hold};
use crate::display::{Display, FRAME, Form, View};
use crate::exit::Outcome;
use crate::stop::Stop;
use crate::target::{self, Target};
use crate::{diff, output, prune};

pub(crate) fn run(args: &ApplyArgs) -> anyhow::Result<Outcome> {
    prune::check(args)?;
    let runtime = Runtime::new().context("starting the threads of the client")?;
    let outcome = runtime.block_on(apply(args));
    // A name that is still being looked up holds nobody up.
    runtime.shutdown_background();
    outcome
}

async fn apply(args: &ApplyArgs) -> anyhow::Result<Outcome> {
    let target = target::prepare(&args.plan, &args.cluster).await?;
    if args.dry_run.is_some() {
        let previews = preview::preview(&target.server, &target.plan).await;
        let previews = previews.map_err(|refusal| anyhow!(refusal.explain(&cluster(&target))))?;
        diff::show(&target.plan, &previews, DiffOutput::Text)?;
        return Ok(Outcome::Clean);
    }
    let form = Form::fitting(args.output == EventOutput::Jsonl, args.verbose);
    let began_at = jiff::Timestamp::now().to_string();
    let view = View::new(Some(Display::new(form, 1.0)), args.record.as_deref(), Some(began_at))?;
    let view = RefCell::new(view);
    let ending = drive(&target, &options(args, &target), &view).await?;
    view.into_inner().finish()?;
    let Some(ending) = ending else { return Ok(Outcome::Interrupted) };
    match ending.outcome {
        RunOutcome::Converged => prune::run(args, &target.server, &ending.orphans).await,
        RunOutcome::Failed => Ok(Outcome::Findings),
        RunOutcome::TimedOut => Ok(Outcome::TimedOut),
        RunOutcome::Cancelled => Ok(Outcome::Interrupted),
    }
}

/// Runs the plan and shows it until it ends, or until Ctrl-C.
async fn drive(target: &Target, options: &Options, view: &RefCell<View>) -> anyhow::Result<Option<Ending>> {
    let mut stop = Stop::new().context("waiting for signals")?;
    let tell = |event| view.borrow_mut().take(&event);
    let mut run = pin!(engine::run(&target.server, &target.plan, options, tell));
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            biased;
            () = stop.wait() => {
                view.borrow_mut().cancel();
                output::note("stopped; what was applied stays, and another `lockstep apply` goes on from there");
                return Ok(None);
            }
            ending = &mut run => return match ending {
                Ok(ending) => Ok(Some(ending)),
                Err(refusal) => Err(anyhow!(refusal.explain(&cluster(target)))),
            },
            _ = frames.tick() => view.borrow_mut().tick(),
        }
    }
}

fn options(args: &ApplyArgs, target: &Target) -> Options {
    Options {
        timeout: Some(args.timeout).filter(|timeout| *timeout > Duration::ZERO),
        hold: match args.hold {
            Hold::For(time) => Some(time),
            Hold::Forever => None,
        },
        recreate: args.recreate.iter().cloned().collect(),
        record: target.record.clone(),
        ..Options::default()
    }
}

fn cluster(target: &Target) -> String {
    format!("the cluster at {}", target.address)
}
