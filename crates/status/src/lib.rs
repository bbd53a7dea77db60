//! From the report of a run to what ClusterVersion's status says.
//!
//! Today these are the conditions Available, Failing and Progressing. [`judge`] decides what a failure means at a
//! moment, [`conditions`](conditions()) writes it down. There is no clock here: `now` is an argument, and since when an
//! operator has been waited for stands in [`StartTimes`].

pub mod conditions;
pub mod judgement;
pub mod start_times;

pub use conditions::{Before, conditions};
pub use judgement::{Judgement, judge};
pub use start_times::{MACHINE_CONFIG_WINDOW, SLOW_WINDOW, StartTimes, TOLERANCE};
