//! What it costs to stay installed: a second run, drift, requests, memory and connections.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::{Duration, Instant};

use lockstep_tests::audit::{AuditLog, Request};
use lockstep_tests::objects::ReleaseObject;
use lockstep_tests::process::{connections, memory};
use serde_json::{Value, json};

use crate::child::Process;
use crate::drift;
use crate::pairs::{APPLY, until_healthy};
use crate::stage::{LOCKSTEP, SECOND, Stage, Subject};

/// How often the second run is measured.
const RESTARTS: usize = 3;
/// How long nothing may be asked until an installation counts as settled.
const SILENCE: Duration = Duration::from_secs(5);
/// When it is given up that an installation settles.
const PATIENCE: Duration = Duration::from_mins(10);
/// How long after the last repair the steady state begins.
const REST: Duration = Duration::from_secs(15);
/// The shortest time that requests are counted over, however long the rest took.
const LEAST_WINDOW: Duration = Duration::from_mins(1);
/// How many addresses of unwanted requests are named.
const NAMED: usize = 10;

/// How much of it.
pub(crate) struct Plan {
    /// From convergence until the memory is looked at.
    pub(crate) time: Duration,
    /// Deletions and edits.
    pub(crate) changes: u64,
    pub(crate) seed: u64,
}

/// Installs, measures everything and tells each result.
pub(crate) async fn run(
    subject: &Subject,
    plan: &Plan,
    tell: impl Fn(&str, Value),
) -> Result<(), Box<dyn Error>> {
    let stage = Stage::new(subject, true).await?;
    let mut log = AuditLog::new(stage.server.audit_log().ok_or("a server without an audit log")?);
    // Longer than everything here takes; it is ended before.
    let hold = format!("{}s", (plan.time + Duration::from_hours(2)).as_secs());
    let arguments: Vec<&str> = APPLY.into_iter().chain(["--hold", &hold]).collect();
    let start = Instant::now();
    let mut process = Process::lockstep(&arguments, &subject.folder, &stage.server.kubeconfig_of(LOCKSTEP))?;
    until_healthy(subject, &stage, &mut process).await?;
    let seconds = start.elapsed().as_secs_f64();
    let converged = until_silent(&mut log, &mut process).await?;
    let settled = (converged - start).as_secs_f64();
    tell("install", json!({"seconds": seconds, "settled": settled}));

    for _ in 0..RESTARTS {
        tell("restart", restart(subject, &stage, &mut log).await?);
    }
    tell("drift", drift::run(subject, &stage.client, plan.changes, plan.seed).await?);

    tokio::time::sleep(REST).await;
    log.read()?;
    let begin = Instant::now();
    let end = (converged + plan.time).max(begin + LEAST_WINDOW);
    tokio::time::sleep_until(end.into()).await;
    let requests: Vec<Request> = log.read()?.into_iter().filter(|it| it.user == LOCKSTEP).collect();
    let (watches, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(Request::is_watch);
    tell(
        "steady",
        json!({"minutes": begin.elapsed().as_secs_f64() / 60.0, "requests": others.len(),
            "watches": watches.len(), "named": named(&others)}),
    );
    let memory = memory(process.pid())?;
    tell(
        "process",
        json!({"minutes": converged.elapsed().as_secs_f64() / 60.0, "memory": memory.now, "peak": memory.peak,
            "connections": connections(process.pid())?}),
    );
    Ok(())
}

/// When the last request besides watches came, known after a while without another.
async fn until_silent(log: &mut AuditLog, process: &mut Process) -> Result<Instant, Box<dyn Error>> {
    let start = Instant::now();
    let mut last = start;
    while last.elapsed() < SILENCE {
        if log.read()?.iter().any(|it| it.user == LOCKSTEP && !it.is_watch()) {
            last = Instant::now();
        }
        if start.elapsed() > PATIENCE {
            return Err(process.failed("still sends requests ten minutes after the operators got healthy"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(last)
}

/// A second run beside the first: the whole process, and what it asked the server for.
async fn restart(subject: &Subject, stage: &Stage, log: &mut AuditLog) -> Result<Value, Box<dyn Error>> {
    log.read()?;
    let start = Instant::now();
    Process::lockstep(&APPLY, &subject.folder, &stage.server.kubeconfig_of(SECOND))?.succeeds().await?;
    let seconds = start.elapsed().as_secs_f64();
    let requests: Vec<Request> = log.read()?.into_iter().filter(|it| it.user == SECOND).collect();
    let members: BTreeSet<String> = subject.objects.iter().map(ReleaseObject::path).collect();
    let writes: Vec<Request> = requests.iter().filter(|it| it.is_write()).cloned().collect();
    let (reads, others): (Vec<Request>, Vec<Request>) =
        requests.iter().filter(|it| it.is_object_read()).cloned().partition(|it| members.contains(&it.path));
    Ok(json!({
        "seconds": seconds, "requests": requests.len(), "writes": writes.len(), "objectReads": reads.len(),
        "otherReads": named(&others), "named": named(&[writes, reads].concat()),
    }))
}

/// The most frequent of these requests.
fn named(requests: &[Request]) -> Vec<String> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for request in requests {
        *counts.entry((&request.verb, &request.path)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().take(NAMED).map(|((verb, path), count)| format!("{count} × {verb} {path}")).collect()
}
