//! Inside a cluster: brings it to the release that its ClusterVersion asks for, keeps it there, and reports.
//!
//! ```text
//! watches ─▶ World ─▶ Asked ─┬─▶ load ─▶ Accepted ─▶ Work (engine) ─▶ Tracker ─▶ Report ─▶ status ─▶ one writer
//!                            └─ Choice (gates, capabilities, overrides, facts) ─▲
//! ```
//!
//! Everything happens in one task, behind a Lease: when the Lease is lost, the task is dropped, and with it every request.

mod asked;
pub mod clock;
pub mod events;
mod gates;
pub mod lease;
pub mod metrics;
mod notice;
mod retrieve;
pub mod serve;
mod settings;
mod tracker;
mod world;

pub use notice::{Notice, Tone};
pub use settings::{OwnDeployment, Settings};
