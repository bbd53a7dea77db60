//! From the report of a run to what ClusterVersion's status says.
//!
//! [`status`](status()) writes the whole of it, in the order of the API. [`judge`] decides what a failure means at a moment,
//! [`conditions`](conditions()) writes it down as Available, Failing and Progressing, [`accepted`] has the conditions that
//! are not about a run, [`history`] the releases that the cluster was brought to. There is no clock here: `now` is an
//! argument, and since when an operator has been waited for stands in [`StartTimes`].

pub mod accepted;
pub mod conditions;
pub mod history;
pub mod judgement;
mod progress;
pub mod start_times;
pub mod status;

pub use conditions::{Asked, Before, conditions};
pub use judgement::{Judgement, judge};
pub use start_times::{MACHINE_CONFIG_WINDOW, SLOW_WINDOW, StartTimes, TOLERANCE};
pub use status::{Context, generic_failure, no_desired_image, status};
