//! Make a cluster match a release, keep it there, and say at every moment what is waited for and why.
//!
//! Three parts: what to send for one object (`normalise`, `modify`, `compare`, `merge`: pure), how to talk to
//! the server (`server`, `refusal`, `kinds`, `watch`), and the [`engine`] that pumps a Frontier and repairs drift.

pub mod compare;
pub mod engine;
pub mod kinds;
pub mod merge;
pub mod modify;
pub mod normalise;
pub mod preview;
pub mod progress;
pub mod record;
pub mod refusal;
pub mod server;
pub mod survey;
pub mod watch;

/// The name under which every field that we set is recorded.
pub const FIELD_MANAGER: &str = "lockstep";
