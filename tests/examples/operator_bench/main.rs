//! What `lockstep operator` costs on a real API server: to begin, to stay, to begin again, and to be replaced.
//!
//! Prints one JSON line per result; `cargo xtask bench operator` makes a report of them. The audit log says when what was
//! asked: every replica is a user of its own.
#![expect(clippy::print_stdout, reason = "the other side reads it")]

mod record;
mod stage;
mod stay;
mod takeover;

use std::error::Error;
use std::time::Duration;

use lockstep_tests::cli;
use lockstep_tests::corpus::corpus;
use lockstep_tests::operator::{is_at, until};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use record::now;
use stage::{FIRST, LEASE_SECONDS, Stage, Subject};
use takeover::Farewell;

/// How often the start is measured, each time on a fresh server.
const STARTS: usize = 3;
/// How often the first replica begins again.
const RESTARTS: usize = 3;
/// How often a replica takes over, of each sort.
const ROUNDS: u32 = 5;
/// How long an installation may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(8);
/// How long it stays, and the variable that says otherwise.
const MINUTES: (&str, u64) = ("LOCKSTEP_BENCH_MINUTES", 10);

fn main() -> Result<(), Box<dyn Error>> {
    let minutes = match std::env::var(MINUTES.0) {
        Ok(text) => text.parse().map_err(|_| format!("{} is `{text}`; use a whole number", MINUTES.0))?,
        Err(_) => MINUTES.1,
    };
    // Built before anything is measured.
    cli::binary();
    let real = corpus("a real release").map(|folder| folder.join("4.20.0"));
    let is_real = real.is_some();
    let subject = Subject::load(&real.unwrap_or_else(|| cli::root().join("examples/releases/1.1.0")));
    tell(
        "head",
        &json!({"release": subject.version, "isReal": is_real, "objects": subject.members.len(),
            "leaseSeconds": LEASE_SECONDS, "usualSeconds": takeover::usual_seconds()}),
    );
    Runtime::new()?.block_on(measure(&subject, Duration::from_mins(minutes)))
}

async fn measure(subject: &Subject, time: Duration) -> Result<(), Box<dyn Error>> {
    for _ in 1..STARTS {
        let mut stage = Stage::new(subject).await?;
        let (start, _replica) = (now(), stage.launch(FIRST));
        tell("start", &json!({"seconds": stage.first_apply(FIRST).await?.since(start)}));
    }
    let mut stage = Stage::new(subject).await?;
    let (start, mut holder) = (now(), stage.launch(FIRST));
    tell("start", &json!({"seconds": stage.first_apply(FIRST).await?.since(start)}));
    let is_installed = |object: &Value| is_at(object, &subject.version);
    until(&stage.real.client, "the installation", PATIENCE, Some(&holder), is_installed).await;
    let completed = now();
    let settled = stage.settle(FIRST, 0, |request| !request.is_idle()).await?.unwrap_or(completed);
    tell("install", &json!({"seconds": completed.since(start), "settled": settled.since(start)}));

    stay::run(&mut stage, holder.pid(), completed, time, tell).await?;
    for _ in 0..RESTARTS {
        holder.terminate();
        holder.exit(PATIENCE).await;
        let mark = stage.mark()?;
        let start = now();
        holder = stage.launch(FIRST);
        tell("restart", &stay::restart(&mut stage, start, mark).await?);
    }
    let mut holder = (holder, FIRST);
    for farewell in [Farewell::Kill, Farewell::Terminate] {
        for round in 0..ROUNDS {
            let (result, next) = takeover::run(&mut stage, holder, farewell, round).await?;
            tell(farewell.name(), &result);
            holder = next;
        }
    }
    Ok(())
}

fn tell(part: &str, result: &Value) {
    println!("{}", json!({"part": part, "result": result}));
}
