//! Scratch.
#![allow(clippy::print_stdout, missing_docs, clippy::unwrap_used)]
use lockstep_rehearsal::*;
use std::time::Duration;
fn main() {
    let (release, selection) = lockstep_tests::releases::example("1.0.0");
    let (next, next_selection) = lockstep_tests::releases::example("1.1.0");
    let arg = std::env::args().nth(1);
    let scenario = match arg.as_deref() {
        Some(path) if path != "-" => {
            lockstep_lab::Scenario::read(path, &std::fs::read(path).unwrap()).unwrap()
        }
        _ => lockstep_lab::Scenario::default(),
    };
    let rehearsal = Rehearsal {
        target: Target { release: &next, selection: &next_selection },
        from: Some(Target { release: &release, selection: &selection }),
        install_order: lockstep_graph::InstallOrder::Flat,
        scenario,
        seed: 1,
        speed: None,
        timeout: Duration::from_secs(4 * 3600),
        hold: Duration::from_secs(60),
    };
    let begin = std::time::Instant::now();
    let acts = rehearsal
        .run(|event| {
            let text = serde_json::to_string(event).unwrap();
            println!("{}", text.chars().take(300).collect::<String>());
        })
        .unwrap();
    for act in &acts {
        println!(
            "{} {:?} {:?} writes {} missing {:#?} orphans {:?}",
            act.version,
            act.mode,
            act.ending.outcome,
            act.ending.writes,
            act.ending.missing,
            act.ending.orphans.iter().map(|o| &o.title).collect::<Vec<_>>()
        );
    }
    println!("wall {:?}", begin.elapsed());
}
