//! The whole engine against the lab in virtual time: releases, operators, people, faults and crashes from a seed.
//!
//! A story is drawn from a seed, played on a lab whose time is virtual, and watched by laws that know nothing of the
//! engine's state: they see what it says, what it sends and what it is told. What is simulated and what is not is in
//! `docs/simulation.md`.

pub(crate) mod draw;
mod laws;
mod manifests;
mod observer;
pub(crate) mod place;
mod play;
mod release;
pub(crate) mod story;
pub(crate) mod tally;

use std::cell::RefCell;

pub use tally::Tally;

use story::Story;

/// Plays the story of a seed: what was reached, or which laws were broken. `trace` takes what happens, line by line.
///
/// # Errors
/// Sentences about what went wrong; the same for every time that the seed is played.
///
/// # Panics
/// When the runtime cannot be made.
pub fn simulate(seed: u64, trace: &mut dyn FnMut(&str)) -> Result<Tally, Vec<String>> {
    let story = Story::of(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.expect("a runtime with paused time");
    let trace = RefCell::new(trace);
    runtime.block_on(play::play(seed, &story, &|line| (trace.borrow_mut())(line)))
}
