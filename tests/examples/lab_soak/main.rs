//! One lab under everything at once, for a long time: does it stay small, quick and alive?
//!
//! Prints a line now and then and a verdict at the end; `cargo xtask soak lab` runs it. Arguments: minutes, seed.
#![expect(clippy::print_stdout, reason = "a program that reports")]

mod load;
mod record;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockstep_lab::{Lab, LabOptions, Login, Rng, ServeOptions, serve};
use lockstep_tests::{clients, panics};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use load::Load;
use record::Record;

/// How often memory is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How often a line is printed, at least.
const TELL: Duration = Duration::from_secs(10);
/// How many lines are printed, at most.
const LINES: u32 = 20;
/// Events that each resource remembers: few, so that the memory is full of them long before the first half is over.
const WINDOW: usize = 512;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (Some(minutes), Some(seed)) = (number(), number()) else {
        return Err("usage: lab_soak MINUTES SEED".into());
    };
    panics::watch();
    Runtime::new()?.block_on(soak(Duration::from_mins(minutes.max(1)), seed))
}

async fn soak(duration: Duration, seed: u64) -> Result<ExitCode, Box<dyn Error>> {
    let lab = Lab::new(LabOptions { seed, window: WINDOW, ..LabOptions::default() });
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let serving = serve(lab.router(), ServeOptions::new(address)).await?;
    let record = Arc::new(Record::default());
    let load = Load {
        here: lab.client(),
        over_tls: clients::of_text(&serving.kubeconfig(Login::Token)).await,
        faults: lab.faults().clone(),
        record: Arc::clone(&record),
    };
    let mut tasks = JoinSet::new();
    load.start(&Rng::new(seed), &mut tasks).await;

    let start = Instant::now();
    let tell_every = TELL.max(duration / LINES);
    let mut next_line = tell_every;
    while start.elapsed() < duration {
        tokio::time::sleep(LOOK).await;
        record.look();
        if start.elapsed() >= next_line {
            next_line += tell_every;
            println!("{}", record.line(start.elapsed(), lab.counts()));
        }
        if let Some(ended) = tasks.try_join_next() {
            // None of them ends by itself.
            record.object(format!("a part of the load ended: {ended:?}"));
        }
    }
    tasks.shutdown().await;
    serving.shutdown().await;
    let (report, is_well) = record.verdict(duration);
    println!("{report}");
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
