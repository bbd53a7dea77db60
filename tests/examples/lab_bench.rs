//! The same release applied by the same code to the lab and to a real API server, in turns.
//!
//! Prints one JSON line per run; `cargo xtask bench lab` makes a report of them. With `lab` as second argument only the
//! lab is measured, for a profiler.
#![expect(clippy::print_stdout, reason = "the other side reads it")]

use std::error::Error;

use lockstep_lab::{Lab, LabOptions};
use lockstep_tests::clients;
use lockstep_tests::install::{CONCURRENCY, Install, Outcome};
use serde_json::json;
use tokio::runtime::Runtime;
use xtask::kube::{Server, ServerOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pairs: usize = arguments.next().ok_or("usage: lab_bench PAIRS [lab]")?.parse()?;
    let is_lab_only = arguments.next().is_some();
    let install = Install::load();
    println!(
        "{}",
        json!({"release": install.release, "isReal": install.is_real, "objects": install.len(),
            "concurrency": CONCURRENCY})
    );
    for pair in 1..=pairs {
        // In turns, so that a machine that gets slower or faster favours nobody.
        let mut sides = [("lab", lab as fn(&Install) -> Result<Outcome, Box<dyn Error>>), ("real", real)];
        if pair % 2 == 0 {
            sides.reverse();
        }
        for (side, run) in sides.into_iter().filter(|(side, _)| *side == "lab" || !is_lab_only) {
            let outcome = run(&install)?;
            let (seconds, refused) = (outcome.time.as_secs_f64(), outcome.refused);
            println!("{}", json!({"pair": pair, "side": side, "seconds": seconds, "refused": refused}));
        }
    }
    Ok(())
}

/// A new lab in this process, gone when it was measured.
fn lab(install: &Install) -> Result<Outcome, Box<dyn Error>> {
    Ok(Runtime::new()?.block_on(async {
        let lab = Lab::new(LabOptions::default());
        let client = lab.client();
        Install::prepare(&client).await;
        install.run(&client).await
    }))
}

/// A new API server beside this process, gone when it was measured.
fn real(install: &Install) -> Result<Outcome, Box<dyn Error>> {
    let server = Server::start(&ServerOptions::default())?;
    Ok(Runtime::new()?.block_on(async {
        let client = clients::of_file(server.kubeconfig()).await;
        Install::prepare(&client).await;
        install.run(&client).await
    }))
}
