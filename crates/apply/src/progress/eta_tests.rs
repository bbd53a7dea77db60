//! The forecast against a small world whose operators take as long as those of the default scenario.

use super::*;
use crate::progress::{Level, Outcome, PlannedTask, Wait, WaitReason};

/// Runs levels of gates side by side, and tells their events.
struct World {
    chance: Chance,
    /// How many times as long as in the default scenario everything takes.
    slowness: f64,
}

impl World {
    fn between(&mut self, from: f64, to: f64) -> f64 {
        from + self.chance.fraction() * (to - from)
    }

    /// Pods, then the operator is up, then it is done: the durations of the default scenario.
    fn gate(&mut self) -> Seconds {
        let pods = self.between(5.0, 40.0).max(self.between(5.0, 40.0));
        self.slowness * (pods + self.between(1.0, 5.0) + self.between(20.0, 120.0))
    }

    /// A whole run: for each level how many components it has, each with ten quick steps and one gate.
    fn run(&mut self, shape: &[usize]) -> Vec<Event> {
        let (mut tasks, mut levels, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let mut barrier = 0.0;
        for (place, components) in shape.iter().enumerate() {
            let mut level = Level { name: format!("{place}0"), tasks: Vec::new() };
            let mut end = barrier;
            for component in 0..*components {
                let mut at = barrier;
                for step in 0..=10 {
                    let task = tasks.len();
                    level.tasks.push(task);
                    tasks.push(planned(place, component, if step == 10 { Step::Gate } else { Step::Apply }));
                    events.push(Event { at, what: Happening::Started { task } });
                    if step == 10 {
                        events.push(Event { at, what: Happening::Waiting { task, wait: a_wait() } });
                        at += self.gate();
                    } else {
                        at += self.between(0.005, 0.1);
                    }
                    events.push(Event { at, what: Happening::Done { task } });
                }
                end = f64::max(end, at);
            }
            levels.push(level);
            barrier = end;
        }
        events.sort_by(|a, b| a.at.total_cmp(&b.at));
        let began = Happening::Began { version: "1".into(), mode: "updating".into(), tasks, levels };
        events.insert(0, Event { at: 0.0, what: began });
        let ended = Happening::Ended { outcome: Outcome::Converged, missing: vec![], writes: 1 };
        events.push(Event { at: barrier, what: ended });
        events
    }
}

fn planned(level: usize, component: usize, step: Step) -> PlannedTask {
    PlannedTask {
        object: format!("ClusterOperator {level}-{component}"),
        file: String::new(),
        level: Some(level.to_string()),
        component: Some(component.to_string()),
        step,
    }
}

fn a_wait() -> Wait {
    Wait { reason: WaitReason::OperatorUpdating, sentence: "updating".into(), provider: None }
}

/// The forecast at a part of the run, and when it really ended.
fn forecast(events: &[Event], part: f64) -> (Option<Eta>, Seconds) {
    let end = events.last().unwrap().at;
    let mut forecast = Forecast::new();
    for event in events.iter().take_while(|event| event.at <= end * part) {
        forecast.on(event);
    }
    (forecast.eta(end * part), end)
}

/// In how many of a hundred runs the end lies in the interval given at half time, and the part of the whole that
/// the interval takes, in the middle.
fn quality(shape: &[usize], slowness: f64) -> (usize, f64) {
    const SEEDS: usize = 100;
    let mut hits = 0;
    let mut widths = Vec::new();
    for seed in 0..SEEDS {
        let events = World { chance: Chance::new(seed), slowness }.run(shape);
        let (eta, end) = forecast(&events, 0.5);
        let eta = eta.unwrap();
        hits += usize::from(eta.from <= end && end <= eta.to);
        widths.push((eta.to - eta.from) / end);
    }
    widths.sort_by(f64::total_cmp);
    (hits * 100 / SEEDS, quantile(&widths, 0.5))
}

#[test]
fn the_end_lies_in_the_interval_of_half_time_in_most_runs() {
    let shapes: [(&str, &[usize]); 6] = [
        ("a real update", &[1, 1, 2, 2, 1, 3, 1, 20, 1, 2, 1]),
        ("a small update", &[1, 1, 1, 2, 3, 1]),
        ("one level after the other", &[1; 12]),
        ("broad levels", &[10, 10, 10]),
        ("all at once, many", &[34]),
        ("all at once, some", &[10]),
    ];
    for (name, shape) in shapes {
        let (hits, width) = quality(shape, 1.0);
        println!("{name}: {hits} of 100, width {width:.2}");
        // Rehearsals are judged by the exact share; this world is simpler than theirs.
        assert!((80..=99).contains(&hits), "{name}: {hits} of 100");
        assert!(width < 0.5, "{name}: {width}");
    }
}

#[test]
fn a_world_in_which_the_expectation_is_far_off_is_learned_by_half_time() {
    for slowness in [0.1, 4.0, 10.0] {
        let (hits, width) = quality(&[1, 1, 2, 2, 1, 3, 1, 20, 1, 2, 1], slowness);
        println!("{slowness} times as slow: {hits} of 100, width {width:.2}");
        assert!(hits >= 75 && width < 0.6, "{slowness} times as slow: {hits} of 100, width {width}");
    }
}

#[test]
fn the_interval_gets_narrower_towards_the_end_and_never_lies_in_the_past() {
    let events = World { chance: Chance::new(7), slowness: 1.0 }.run(&[1, 2, 3, 2]);
    let mut widths = Vec::new();
    for part in [0.05, 0.5, 0.95] {
        let (eta, end) = forecast(&events, part);
        let eta = eta.unwrap();
        assert!(eta.from >= end * part && eta.from < eta.to, "{part}: {eta:?}");
        widths.push(eta.to - eta.from);
    }
    assert!(widths[0] > widths[1] && widths[1] > widths[2], "{widths:?}");
}

#[test]
fn the_same_events_give_the_same_interval() {
    let events = World { chance: Chance::new(3), slowness: 1.0 }.run(&[2, 2]);
    assert_eq!(forecast(&events, 0.4), forecast(&events, 0.4));
}

#[test]
fn nothing_is_said_before_the_beginning_after_the_end_and_about_a_step_that_hangs() {
    assert_eq!(Forecast::new().eta(5.0), None);
    let events = World { chance: Chance::new(3), slowness: 1.0 }.run(&[2, 2]);
    assert_eq!(forecast(&events, 1.0).0, None);
    let mut hanging = Forecast::new();
    // Everything up to the first gate that is waited for.
    let first = events.iter().position(|event| matches!(event.what, Happening::Waiting { .. })).unwrap();
    for event in &events[..=first] {
        hanging.on(event);
    }
    assert!(hanging.eta(600.0).is_some_and(|eta| eta.from > 600.0));
    assert_eq!(hanging.eta(1300.0), None);
}

#[test]
fn gates_that_are_good_at_once_promise_no_long_waits() {
    let tasks: Vec<PlannedTask> = (0..8).map(|place| planned(place, 0, Step::Gate)).collect();
    let levels = (0..8).map(|task| Level { name: task.to_string(), tasks: vec![task] }).collect();
    let mut forecast = Forecast::new();
    let began = Happening::Began { version: "1".into(), mode: "updating".into(), tasks, levels };
    forecast.on(&Event { at: 0.0, what: began });
    for task in 0..4 {
        forecast.on(&Event { at: 0.1, what: Happening::Started { task } });
        forecast.on(&Event { at: 0.2, what: Happening::Done { task } });
    }
    let eta = forecast.eta(0.2).unwrap();
    assert!(eta.to < 5.0, "{eta:?}");
}
