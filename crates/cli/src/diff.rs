//! `lockstep diff`

use anyhow::{Context as _, anyhow};
use serde_json::json;
use tokio::runtime::Runtime;

use lockstep_api::text::visible;
use lockstep_apply::engine::Plan;
use lockstep_apply::preview::{self, Preview};

use crate::args::{DiffArgs, DiffOutput};
use crate::exit::{Outcome, UsageError};
use crate::{output, target};

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let runtime = Runtime::new().context("starting the threads of the client")?;
    let outcome = runtime.block_on(diff(args));
    runtime.shutdown_background();
    // 1 says that there are differences, which is not known when something went wrong.
    outcome.map_err(|error| UsageError(format!("{error:#}")).into())
}

async fn diff(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let target = target::prepare(&args.plan, &args.cluster).await?;
    let previews = preview::preview(&target.server, &target.plan).await;
    let cluster = format!("the cluster at {}", target.address);
    let previews = previews.map_err(|refusal| anyhow!(refusal.explain(&cluster)))?;
    show(&target.plan, &previews, args.output)?;
    Ok(if previews.iter().any(Preview::is_unknown) {
        Outcome::Unknown
    } else if previews.iter().any(Preview::is_difference) {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// Prints what would change.
pub(crate) fn show(plan: &Plan, previews: &[Preview], form: DiffOutput) -> anyhow::Result<()> {
    match form {
        DiffOutput::Text => {
            let texts: String = previews.iter().map(Preview::text).collect();
            let lines: String = texts.lines().map(|line| visible(line).into_owned() + "\n").collect();
            output::print(&format!("{lines}{}\n", preview::count(previews)))
        }
        DiffOutput::Json => output::print_json(&json!({
            "apiVersion": "lockstep.dev/v1",
            "kind": "Diff",
            "version": plan.version,
            "mode": plan.mode,
            "set": plan.set,
            "objects": previews,
        })),
    }
}
