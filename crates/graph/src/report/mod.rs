//! The report of a run: for what it runs, what failed, what of it a person is told, and how far it has come.
//!
//! Everything here is a function from values to values. What ClusterVersion's conditions make of it is the business of
//! whoever writes them.

pub mod condense;
pub mod failure;
pub mod mode;
pub mod progress;
pub mod summary;

pub use condense::{condense, failing_part, one_of, shown};
pub use failure::{ApiError, Effect, FailedTask, Failure, Plural, RunError, classify};
pub use mode::{Change, Phase, Target, initial_mode, same_image};
pub use progress::{Loaded, Report, Run, is_news, merge_loaded, merge_run, percent};
pub use summary::summary;
