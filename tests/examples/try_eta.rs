//! Scratch.
#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, missing_docs, clippy::unwrap_used)]
use lockstep_apply::progress::*;
use lockstep_graph::InstallOrder;
use lockstep_rehearsal::{Rehearsal, Target};
use std::time::Duration;
fn main() {
    let (old, new) = (lockstep_tests::releases::example("1.0.0"), lockstep_tests::releases::example("1.1.0"));
    let n: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    for kind in 0..3 {
        let (mut hit, mut early, mut late) = (0, 0, 0);
        let mut rows = vec![];
        for seed in 0..n {
            let (is_update, install_order) =
                [(false, InstallOrder::Flat), (false, InstallOrder::RunLevel), (true, InstallOrder::Flat)]
                    [kind];
            let rehearsal = Rehearsal {
                target: Target { release: &new.0, selection: &new.1 },
                from: is_update.then_some(Target { release: &old.0, selection: &old.1 }),
                install_order,
                scenario: lockstep_lab::Scenario::default(),
                seed: 5000 + seed,
                speed: None,
                timeout: Duration::from_secs(14400),
                hold: Duration::ZERO,
            };
            let mut events: Vec<Event> = vec![];
            rehearsal
                .run(|event| {
                    if matches!(event.what, Happening::Began { .. }) {
                        events.clear();
                    }
                    events.push(event.clone());
                })
                .unwrap();
            let end = events
                .iter()
                .filter(|e| matches!(e.what, Happening::Done { .. }))
                .map(|e| e.at)
                .fold(0.0, f64::max);
            let mut f = Forecast::new();
            for e in events.iter().take_while(|e| e.at <= end / 2.0) {
                f.on(e);
            }
            let eta = f.eta(end / 2.0).unwrap();
            if end < eta.from {
                early += 1
            } else if end > eta.to {
                late += 1
            } else {
                hit += 1
            }
            rows.push((end, eta.from, eta.to));
            if seed == 0 {
                let gates: Vec<f64> = events
                    .iter()
                    .filter_map(
                        |e| if let Happening::Done { task } = e.what { Some((task, e.at)) } else { None },
                    )
                    .filter_map(|(task, at)| {
                        let Happening::Began { tasks, .. } = &events[0].what else { return None };
                        (tasks[task].step == Step::Gate).then_some(at)
                    })
                    .collect();
                println!("gates done at {gates:?}");
            }
        }
        println!(
            "kind {kind}: hit {hit} ended before {early} after {late} of {n}: {:?}",
            &rows[..8.min(rows.len())]
                .iter()
                .map(|(a, b, c)| format!("{a:.0} in {b:.0}-{c:.0}"))
                .collect::<Vec<_>>()
        );
    }
}
