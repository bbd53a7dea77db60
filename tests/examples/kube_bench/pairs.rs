//! One installation on a fresh server, until the last ClusterOperator is healthy.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::child::{Flood, Process};
use crate::stage::{LOCKSTEP, Stage, Subject};

/// When an installation is given up.
const PATIENCE: Duration = Duration::from_mins(10);
/// The installation by Lockstep.
pub(crate) const APPLY: [&str; 5] = ["apply", "--mode", "installing", "--timeout", "10m"];

/// Measures one side.
pub(crate) async fn run(subject: &Subject, side: &str) -> Result<Value, Box<dyn Error>> {
    let stage = Stage::new(subject, false).await?;
    if side == "flood" { flood(subject, &stage).await } else { lockstep(subject, &stage).await }
}

async fn flood(subject: &Subject, stage: &Stage) -> Result<Value, Box<dyn Error>> {
    let mut flood = Flood::start(&subject.folder, &stage.server.kubeconfig_of(LOCKSTEP))?;
    let start = Instant::now();
    flood.begin()?;
    let is_healthy = timeout(PATIENCE, subject.judge.until_healthy(&stage.client)).await;
    let seconds = start.elapsed().as_secs_f64();
    let own = flood.finish()?;
    is_healthy.map_err(|_| format!("the operators did not get healthy after the flood: {own}"))?;
    Ok(
        json!({"seconds": seconds, "stored": own["seconds"], "waves": own["waves"], "refused": own["refused"]}),
    )
}

/// The clock runs from the start of the process: reading the release is a part of it.
async fn lockstep(subject: &Subject, stage: &Stage) -> Result<Value, Box<dyn Error>> {
    let start = Instant::now();
    let mut process = Process::lockstep(&APPLY, &subject.folder, &stage.server.kubeconfig_of(LOCKSTEP))?;
    until_healthy(subject, stage, &mut process).await?;
    let seconds = start.elapsed().as_secs_f64();
    process.succeeds().await?;
    Ok(json!({"seconds": seconds, "stored": start.elapsed().as_secs_f64()}))
}

/// Waits for the last ClusterOperator, unless the process fails first.
pub(crate) async fn until_healthy(
    subject: &Subject,
    stage: &Stage,
    process: &mut Process,
) -> Result<(), Box<dyn Error>> {
    let is_healthy = tokio::select! {
        () = subject.judge.until_healthy(&stage.client) => true,
        error = process.fails() => return Err(error),
        () = tokio::time::sleep(PATIENCE) => false,
    };
    if is_healthy { Ok(()) } else { Err(process.failed("did not get the operators healthy in time")) }
}
