//! Three replicas of the operator against the lab in virtual time: kills, weather, people and updates from a seed.
//!
//! A story is drawn from a seed and played for half an hour that takes a moment. The laws see every request that reaches the
//! lab and everything that the ClusterVersion ever says, and nothing else of the operator. What is simulated and what is
//! not is in `docs/simulation.md`.

mod editions;
mod observer;
mod play;
mod replica;
mod story;

pub use editions::Editions;

use crate::simulation::Tally;
use story::Story;

/// A story that was played.
#[derive(Debug)]
pub struct Played {
    /// What was reached, or which laws were broken.
    pub outcome: Result<Tally, Vec<String>>,
    /// What happened, line by line: the same for every time that the seed is played.
    pub lines: Vec<String>,
    /// What was meant to happen.
    pub story: String,
}

/// Plays the story of a seed.
///
/// # Panics
/// When the runtime cannot be made.
pub fn simulate(seed: u64, editions: &Editions) -> Played {
    let story = Story::of(seed, editions);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.expect("a runtime with paused time");
    let (outcome, lines) = runtime.block_on(play::play(seed, &story, editions));
    Played { outcome, lines, story: format!("{story:#?}") }
}

/// What a whole suite reached too little of: a way that is never gone proves nothing.
pub fn missing(tally: &Tally) -> Vec<&'static str> {
    tally.lacks(&EXPECTED)
}

const EXPECTED: [&str; 22] = [
    "replica killed",
    "replica killed after a write",
    "replica stopped",
    "replica handed over",
    "replica replaced",
    "lease taken over",
    "ask for the next release",
    "ask for the first release",
    "ask for nothing",
    "deed paused",
    "deed resumed",
    "deed override",
    "deed override removed",
    "deed object deleted",
    "deed field changed",
    "deed label removed",
    "fault latency",
    "fault outage",
    "fault refuse 500",
    "fault timeout after the commit",
    "end at the first release",
    "end at the next release",
];
