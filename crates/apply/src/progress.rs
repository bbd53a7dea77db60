//! What a run tells: typed events that every view is made of.
//!
//! [`Event`]s are folded into a [`Board`], which knows where the run stands, and a [`Forecast`], which says when it
//! will end. [`Lines`] and [`screen()`] show both; a [`Recorder`] keeps the events, and a [`Recording`] gives them
//! back.

mod board;
mod durations;
mod eta;
mod event;
#[cfg(test)]
mod examples;
mod lines;
mod path;
mod recording;
mod screen;
mod summary;
pub mod time;
mod unfinished;

pub use board::{Board, Compared, Drift, Ending, Fight, LevelProgress, State, TaskProgress, WaitRecord};
pub use eta::{Eta, Forecast};
pub use event::{
    Event, Happening, Level, ObjectText, Outcome, PlannedTask, Seconds, Step, Verb, Wait, WaitReason,
};
pub use lines::Lines;
pub use path::PathStep;
pub use recording::{RECORDING_VERSION, Recorder, Recording, RecordingError, RecordingHeader};
pub use screen::screen;
pub use summary::{LevelTime, OperatorTime, Summary, WaitGroup};
