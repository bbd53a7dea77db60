//! When a run will end, as an interval.
//!
//! A rollout spends its time at gates, and how long an operator takes is chance. So the rest of a run is played many
//! times: each step that is open takes as much longer as steps of its age do, each that is to come takes as long as
//! one of this run; steps of one component add up, of the components of a level the slowest counts, levels add up.
//! The interval leaves out the earliest and the latest of the ends played.
//!
//! How long steps take is learned in the run itself, and steps that are still open teach as well: only counting those
//! that are done would make the slow ones look quick. See [`durations`](super::durations).

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::durations::{Belief, Chance};
use super::{Event, Happening, Seconds, Step};

/// How often the rest is played: enough for the ends of the interval to be steady to a few percent.
const PLAYS: usize = 500;
/// The part of the ends played that lies before the interval, and behind it.
const LEFT_OUT: f64 = 0.04;
/// From this part of the way on an interval that is wider than this part of the whole is of no use: it is cut at both
/// sides.
const LATE: f64 = 0.35;
const WIDEST: f64 = 0.42;
/// How long a slow step takes, as far as anybody can say before.
const EXPECTED: Seconds = 95.0;
/// A step shorter than this was good when it was looked at, and says nothing about those that have work to do.
const AT_ONCE: Seconds = 1.0;
/// Of how many latest steps the part that was good at once is taken: a run that goes on where another stopped
/// has many of them at first.
const LATEST: usize = 20;
/// When a step is open for this long, and for so many times the longest before it, nobody knows when it ends.
const HOPELESS: (Seconds, f64) = (1200.0, 4.0);

/// When the run will end, in seconds since it began: about nine times in ten, between these two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Eta {
    /// Hardly before.
    pub from: Seconds,
    /// Hardly later.
    pub to: Seconds,
}

/// What is known about the rest of a run.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    steps: Vec<StepFacts>,
    chains: Vec<Chain>,
    /// Durations of the slow steps that are done.
    seen: Vec<Seconds>,
    /// Whether each of the latest slow steps was good at once.
    latest: VecDeque<bool>,
    /// Of the quick steps that never waited: how many are done and how long they took together.
    quick: (usize, Seconds),
    /// Quick steps that are open now, and the most that ever were.
    quick_open: usize,
    quick_side_by_side: usize,
    has_ended: bool,
}

#[derive(Debug, Clone)]
struct StepFacts {
    chain: Option<usize>,
    /// Whether it is a gate or a Job, where the time goes.
    is_slow: bool,
    started: Option<Seconds>,
    waiting_since: Option<Seconds>,
    has_waited: bool,
    is_done: bool,
}

/// Tasks that run one after the other: those of one component in one level.
#[derive(Debug, Clone)]
struct Chain {
    level: usize,
    tasks: Vec<usize>,
    left: usize,
}

/// What is left of one chain: how long each open step is open, and how many slow and quick ones are to come.
struct Rest {
    level: usize,
    ages: Vec<Seconds>,
    slow: usize,
    quick: usize,
}

// === impl Eta ===

impl Eta {
    /// The middle of an interval that is too wide.
    fn at_most(self, width: Seconds) -> Self {
        let excess = (self.to - self.from - width).max(0.0) / 2.0;
        Self { from: self.from + excess, to: self.to - excess }
    }
}

// === impl Forecast ===

impl Forecast {
    /// A forecast before the first event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in one event.
    pub fn on(&mut self, event: &Event) {
        let at = event.at;
        match &event.what {
            Happening::Began { tasks, levels, .. } => {
                *self = Self::default();
                self.steps = tasks.iter().map(|task| StepFacts::new(is_slow(task.step))).collect();
                for (place, level) in levels.iter().enumerate() {
                    let mut chains: BTreeMap<_, Vec<usize>> = BTreeMap::new();
                    for task in level.tasks.iter().filter(|task| **task < tasks.len()) {
                        let plan = &tasks[*task];
                        chains.entry((&plan.level, &plan.component)).or_default().push(*task);
                    }
                    for tasks in chains.into_values() {
                        for task in &tasks {
                            self.steps[*task].chain = Some(self.chains.len());
                        }
                        self.chains.push(Chain { level: place, left: tasks.len(), tasks });
                    }
                }
            }
            Happening::Started { task } => self.start(*task, at),
            Happening::Waiting { task, .. } => {
                self.start(*task, at);
                if let Some(step) = self.steps.get_mut(*task) {
                    step.waiting_since = step.waiting_since.or(Some(at));
                    step.has_waited = true;
                }
            }
            Happening::Woke { task } => {
                if let Some(step) = self.steps.get_mut(*task) {
                    step.waiting_since = None;
                }
            }
            Happening::Done { task } => self.finish(*task, at),
            Happening::Ended { .. } => self.has_ended = true,
            _ => {}
        }
    }

    fn start(&mut self, task: usize, at: Seconds) {
        if let Some(step) = self.steps.get_mut(task)
            && step.started.is_none()
        {
            step.started = Some(at);
            self.quick_open += usize::from(!step.is_slow);
            self.quick_side_by_side = self.quick_side_by_side.max(self.quick_open);
        }
    }

    fn finish(&mut self, task: usize, at: Seconds) {
        let Some(step) = self.steps.get_mut(task).filter(|step| !step.is_done) else { return };
        step.is_done = true;
        step.waiting_since = None;
        if let Some(chain) = step.chain {
            self.chains[chain].left -= 1;
        }
        let took = at - step.started.unwrap_or(at);
        if !step.is_slow {
            self.quick_open -= usize::from(step.started.is_some());
            if !step.has_waited {
                self.quick = (self.quick.0 + 1, self.quick.1 + took);
            }
            return;
        }
        if took >= AT_ONCE {
            self.seen.push(took);
        }
        if self.latest.len() == LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(took < AT_ONCE);
    }

    /// When the run will end, seen from `now`; none before it began, after it ended, and when a step is open for so
    /// long that any answer would be a guess.
    pub fn eta(&self, now: Seconds) -> Option<Eta> {
        if self.has_ended || self.steps.is_empty() {
            return None;
        }
        let rests = self.rests(now);
        let ages: Vec<Seconds> = rests.iter().flat_map(|rest| &rest.ages).copied().collect();
        let longest = self.seen.iter().copied().fold(0.0, f64::max);
        let hopeless = HOPELESS.0.max(HOPELESS.1 * longest);
        if ages.iter().any(|age| *age > hopeless) {
            return None;
        }
        let belief = Belief::learn(EXPECTED, &self.seen, &ages);
        let at_once = self.part_at_once();
        let pace = self.quick.1 / count(self.quick.0.max(1));
        let work = self.quick_work(&rests, pace);
        let mut chance = Chance::new(self.steps.len());
        let mut ends: Vec<Seconds> = Vec::with_capacity(PLAYS);
        for durations in belief.spread(PLAYS) {
            let mut levels = work.clone();
            for rest in &rests {
                let longest =
                    rest.ages.iter().map(|age| durations.rest(*age, &mut chance)).fold(0.0, f64::max);
                let mut time = longest + pace * count(rest.quick);
                for _ in 0..rest.slow {
                    if chance.fraction() >= at_once {
                        time += durations.draw(&mut chance);
                    }
                }
                let level = levels.entry(rest.level).or_default();
                *level = level.max(time);
            }
            ends.push(now + levels.values().sum::<Seconds>());
        }
        ends.sort_by(f64::total_cmp);
        let eta = Eta { from: quantile(&ends, LEFT_OUT), to: quantile(&ends, 1.0 - LEFT_OUT) };
        Some(if now > eta.from * LATE { eta.at_most(eta.from * WIDEST) } else { eta })
    }

    fn rests(&self, now: Seconds) -> Vec<Rest> {
        let unfinished = self.chains.iter().filter(|chain| chain.left > 0);
        let rest = |chain: &Chain| {
            let left = || chain.tasks.iter().map(|task| &self.steps[*task]).filter(|step| !step.is_done);
            let age = |step: &StepFacts| {
                let since = if step.is_slow { step.started } else { step.waiting_since };
                since.map(|since| (now - since).max(0.0))
            };
            let slow = left().filter(|step| step.is_slow && step.started.is_none()).count();
            let quick = left().filter(|step| !step.is_slow).count();
            Rest { level: chain.level, ages: left().filter_map(age).collect(), slow, quick }
        };
        unfinished.map(rest).collect()
    }

    fn part_at_once(&self) -> f64 {
        let at_once = self.latest.iter().filter(|at_once| **at_once).count();
        if self.latest.len() < 3 { 0.0 } else { count(at_once) / count(self.latest.len()) }
    }

    /// How long the quick steps of each level take at least, when as many run side by side as ever did.
    fn quick_work(&self, rests: &[Rest], pace: Seconds) -> BTreeMap<usize, Seconds> {
        let mut work: BTreeMap<usize, Seconds> = BTreeMap::new();
        for rest in rests {
            let side_by_side = count(self.quick_side_by_side.max(1));
            *work.entry(rest.level).or_default() += pace * count(rest.quick) / side_by_side;
        }
        work
    }
}

// === impl StepFacts ===

impl StepFacts {
    fn new(is_slow: bool) -> Self {
        Self { chain: None, is_slow, started: None, waiting_since: None, has_waited: false, is_done: false }
    }
}

fn is_slow(step: Step) -> bool {
    matches!(step, Step::Gate | Step::Job)
}

/// The value that this part of the sorted values does not exceed.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = sorted.iter().enumerate().find(|(place, _)| count(place + 1) >= part * count(sorted.len()));
    place.map_or(0.0, |(_, value)| *value)
}

/// A count as a number to reckon with.
fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
#[path = "eta_tests.rs"]
mod tests;
