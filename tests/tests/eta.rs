//! The time that is left, as rehearsals tell it at half time: the true end lies in the interval most of the time, but not
//! always, or it would be too wide to be of use.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::time::Duration;

use lockstep_apply::progress::{Event, Forecast, Happening, Outcome};
use lockstep_graph::InstallOrder;
use lockstep_lab::Scenario;
use lockstep_rehearsal::{Rehearsal, Target};
use lockstep_tests::releases::example;

/// How many rehearsals of each sort; more in the soak.
fn rounds() -> u64 {
    std::env::var("LOCKSTEP_ROUNDS").map_or(12, |text| text.parse().unwrap())
}

/// The first seed; another one in each soak.
fn first_seed() -> u64 {
    std::env::var("LOCKSTEP_SEED").map_or(1000, |text| text.parse().unwrap())
}

/// The forecast at half time of one run: whether the end lay in it, and its width as a part of the whole.
fn at_half_time(events: &[Event]) -> (bool, f64) {
    // The end is when the last task is done; after that the cluster is only watched.
    let done = events.iter().filter(|event| matches!(event.what, Happening::Done { .. }));
    let end = done.map(|event| event.at).fold(0.0, f64::max);
    let mut forecast = Forecast::new();
    for event in events.iter().take_while(|event| event.at <= end / 2.0) {
        forecast.on(event);
    }
    let eta = forecast.eta(end / 2.0).unwrap();
    ((eta.from..=eta.to).contains(&end), (eta.to - eta.from) / end)
}

/// All events of the last act of a rehearsal.
fn play(seed: u64, is_update: bool, install_order: InstallOrder) -> Vec<Event> {
    let (old, new) = (example("1.0.0"), example("1.1.0"));
    let rehearsal = Rehearsal {
        target: Target { release: &new.0, selection: &new.1 },
        from: is_update.then_some(Target { release: &old.0, selection: &old.1 }),
        install_order,
        scenario: Scenario::default(),
        seed,
        speed: None,
        timeout: Duration::from_hours(4),
        hold: Duration::ZERO,
    };
    let mut events = Vec::new();
    let acts = rehearsal
        .run(|event| {
            if matches!(event.what, Happening::Began { .. }) {
                events.clear();
            }
            events.push(event.clone());
        })
        .unwrap();
    assert_eq!(acts.last().unwrap().ending.outcome, Outcome::Converged);
    events
}

#[test]
fn the_end_lies_in_the_interval_given_at_half_time() {
    let rounds = rounds();
    let (mut hits, mut narrow, mut widths) = (0, 0, Vec::new());
    for seed in 0..rounds {
        let (is_update, install_order) = match seed % 3 {
            0 => (false, InstallOrder::Flat),
            1 => (false, InstallOrder::RunLevel),
            _ => (true, InstallOrder::Flat),
        };
        let (is_hit, width) = at_half_time(&play(first_seed() + seed, is_update, install_order));
        hits += u64::from(is_hit);
        narrow += u64::from(width < 0.5);
        widths.push(width);
    }
    widths.sort_by(f64::total_cmp);
    let percent = |count: u64| count * 100 / rounds;
    println!(
        "{rounds} rehearsals: the end lay in the interval in {} %, which was narrower than half of the whole in {} % (median {:.2}, widest {:.2})",
        percent(hits),
        percent(narrow),
        widths[widths.len() / 2],
        widths[widths.len() - 1]
    );
    // With a dozen rounds the share itself is a matter of luck; a hundred are judged by what is asked for.
    let least = if rounds >= 100 { 80 } else { 50 };
    assert!(percent(hits) >= least, "{} %", percent(hits));
    assert!(rounds < 100 || percent(hits) <= 95, "{} %", percent(hits));
    assert!(widths.iter().all(|width| *width < 0.5), "{widths:?}");
}
