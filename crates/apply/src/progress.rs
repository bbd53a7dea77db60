//! What a run tells: typed events that every view is made of.

mod event;

pub use event::{
    Event, Happening, Level, ObjectText, Outcome, PlannedTask, Seconds, Step, Verb, Wait, WaitReason,
};
