//! Scratch.
#![allow(clippy::print_stdout, missing_docs, clippy::unwrap_used)]
use lockstep_apply::engine::{self, Options, Plan, PlanOptions};
use lockstep_apply::server::Server;
use lockstep_lab::{Clock, ReleaseFacts, Scenario, World};
use std::sync::Arc;
use std::time::Duration;
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let kube = xtask::kube::Server::start(&xtask::kube::ServerOptions::default()).unwrap();
        let client = lockstep_tests::clients::of_file(kube.kubeconfig()).await;
        let folder = std::path::Path::new("../shared/payloads")
            .join(std::env::args().nth(1).unwrap_or("4.20.0".into()));
        let (release, selection) = lockstep_tests::releases::load(&folder);
        let facts = ReleaseFacts::of(&release, &selection);
        let world =
            World::new(client.clone(), Scenario::instant(), Some(facts), Arc::new(Clock::real(1.0)), 1);
        let mut set = tokio::task::JoinSet::new();
        set.spawn(world.run());
        for turn in 0..3 {
            let facts = lockstep_apply::modify::ClusterFacts { set: "version".into(), ..Default::default() };
            let begin = std::time::Instant::now();
            let plan = Plan::new(
                &release,
                &selection,
                lockstep_graph::Mode::Installing,
                &PlanOptions { facts, ..Default::default() },
            );
            println!("plan {:?}", begin.elapsed());
            let options = Options { timeout: Some(Duration::from_secs(120)), ..Options::default() };
            let server = Server::new(client.clone());
            let begin = std::time::Instant::now();
            let mut log =
                std::io::BufWriter::new(std::fs::File::create(format!("/tmp/real-{turn}.jsonl")).unwrap());
            let ending = engine::run(&server, &plan, &options, |event| {
                use std::io::Write;
                writeln!(log, "{}", serde_json::to_string(&event).unwrap()).unwrap();
            })
            .await;
            match ending {
                Ok(ending) => println!(
                    "{turn}: {:?} {:?} writes {} missing {:#?}",
                    begin.elapsed(),
                    ending.outcome,
                    ending.writes,
                    ending.missing
                ),
                Err(refusal) => println!("{}", refusal.explain("the cluster")),
            }
        }
    });
}
