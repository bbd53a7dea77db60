//! Rest, judged over whole rehearsals: healthy ones with other seeds all pass, those with one operator that flaps never do.
//!
//! `LOCKSTEP_ROUNDS` sets how many healthy ones are played (and two fifths of that with a flapping operator),
//! `LOCKSTEP_FIRST_SEED` where the seeds begin.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lockstep_apply::engine::{self, Options, Plan, PlanOptions};
use lockstep_apply::modify::ClusterFacts;
use lockstep_apply::progress::Outcome;
use lockstep_apply::server::Server;
use lockstep_converge::wait::{self, Goal, wait};
use lockstep_graph::{InstallOrder, Mode};
use lockstep_lab::{Clock, Lab, LabOptions, ReleaseFacts, Rng, Scenario, World};
use lockstep_payload::{Release, Selection};
use lockstep_tests::releases::example;
use serde_json::Value;
use tokio::task::JoinSet;

/// How many healthy rehearsals the ordinary suite plays.
const ROUNDS: u64 = 30;
const HEAD: &str = "apiVersion: lab.lockstep.dev/v1\nkind: Scenario\n";

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// A scenario in which one operator never holds still for half a minute.
fn flapping(chosen: &(Release, Selection), seed: u64) -> String {
    let plan = plan(chosen);
    let of_config = |operator: &Value| operator["apiVersion"] == "config.openshift.io/v1";
    let gates = plan.gates().filter(|(_, operator)| of_config(operator));
    let mut names: Vec<String> =
        gates.map(|(_, operator)| operator["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    let mut rng = Rng::new(seed).fork("flapping");
    let name = &names[usize::try_from(rng.below(names.len() as u64)).unwrap()];
    // Each state lasts for a period.
    let period = 4 + rng.below(24);
    format!("{HEAD}operators:\n- name: {name}\n  behaviour: {{oscillate: {{period: {period}s}}}}\n")
}

fn plan(chosen: &(Release, Selection)) -> Plan {
    let facts = ClusterFacts { set: "version".to_owned(), ..ClusterFacts::default() };
    let options = PlanOptions { install_order: InstallOrder::Flat, facts, namespace: None };
    Plan::new(&chosen.0, &chosen.1, Mode::Installing, &options)
}

/// Installs a release in the lab, then waits for rest; what failed, if anything did.
fn rehearse(chosen: &(Release, Selection), seed: u64, scenario: &str) -> Option<wait::Failure> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let clock = Arc::new(Clock::simulated());
        let lab = Lab::new(LabOptions { seed, clock: Arc::clone(&clock), ..LabOptions::default() });
        let scenario = Scenario::read("test.yaml", scenario.as_bytes()).unwrap();
        let facts = ReleaseFacts::of(&chosen.0, &chosen.1);
        let mut world = JoinSet::new();
        world.spawn(World::new(lab.world_client(), scenario, Some(facts), clock, seed).run());
        let server = Server::new(lab.client());
        let options = Options {
            timeout: Some(Duration::from_hours(2)),
            hold: Some(Duration::ZERO),
            seed,
            ..Options::default()
        };
        let ending = engine::run(&server, &plan(chosen), &options, |_| {}).await.unwrap();
        assert_eq!(ending.outcome, Outcome::Converged, "seed {seed}: {:?}", ending.missing);
        wait(&server, &Goal::Stable, &wait::Options { seed, ..wait::Options::default() }, &mut |_| {})
            .await
            .failure
    })
}

/// Plays seeds side by side; those for which something is not as expected.
fn play(count: u64, first: u64, is_wrong: impl Fn(u64) -> Option<String> + Sync) -> Vec<String> {
    let (next, wrong) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= count {
                        break;
                    }
                    if let Some(why) = is_wrong(first + round) {
                        wrong.lock().unwrap().push(format!("seed {}: {why}", first + round));
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

#[test]
fn healthy_rehearsals_come_to_rest_and_one_flapping_operator_is_always_found() {
    let chosen = example("1.0.0");
    let (count, first) =
        (variable("LOCKSTEP_ROUNDS").unwrap_or(ROUNDS), variable("LOCKSTEP_FIRST_SEED").unwrap_or(0));
    let failed = play(count, first, |seed| Some(rehearse(&chosen, seed, HEAD)?.sentence));
    let with_flapping = count * 2 / 5;
    let passed = play(with_flapping, first, |seed| {
        let scenario = flapping(&chosen, seed);
        rehearse(&chosen, seed, &scenario).is_none().then_some(scenario)
    });
    println!(
        "{count} healthy rehearsals, {} failed; {with_flapping} with a flapping operator, {} passed",
        failed.len(),
        passed.len()
    );
    assert!(failed.is_empty() && passed.is_empty(), "failed: {failed:#?}\npassed: {passed:#?}");
}
