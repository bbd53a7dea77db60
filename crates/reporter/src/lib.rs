//! For operators: report a ClusterOperator correctly.
//!
//! A [`Report`] says what an operator knows at one moment: how its parts are, which versions they have reached, which
//! objects belong to it. [`Report::over`] turns it into the whole status that follows from it and from what stands in the
//! cluster; [`Reporter::publish`] writes that status, once, and not at all when nothing changed. [`Prerequisites`] waits for
//! the operators that have to be there first. Only `publish` and `wait` do anything: the rest are functions of values.
//!
//! # Example
//! ```
//! use lockstep_api::{ClusterOperatorStatus, Condition, ConditionStatus, Conditions};
//! use lockstep_reporter::{Report, Rollout};
//!
//! let at = |second| jiff::Timestamp::from_second(second).unwrap();
//! // What the parts say; whoever holds this list sets a part again whenever it is looked at.
//! let mut parts = Conditions::default();
//! parts.set(Condition::new("ServerAvailable", ConditionStatus::True), at(0));
//! parts.set(Condition::new("ServerDegraded", ConditionStatus::False), at(0));
//!
//! let report = |rollout| {
//!     Report::new("example", "1.1.0")
//!         .parts(&parts)
//!         .operand("server", "1.1.0", rollout)
//!         .related("", "namespaces", "", "openshift-example")
//!         .related("apps", "deployments", "openshift-example", "server")
//! };
//! // While the operand moves, the old version stays, and Progressing says so.
//! let mut old = ClusterOperatorStatus::default();
//! old.versions = vec![lockstep_reporter::version("operator", "1.0.0")];
//! let moving = report(Rollout::Underway("1 of 2 replicas are new".into())).over(&old, at(10))?;
//! assert_eq!(moving.version("operator"), Some("1.0.0"));
//! assert!(moving.conditions.is_true("Progressing"));
//! // Once it has moved, all of it changes together.
//! let moved = report(Rollout::Done).over(&moving, at(20))?;
//! assert_eq!(moved.version("operator"), Some("1.1.0"));
//! assert!(moved.conditions.is_false("Progressing"));
//! // The same report again is the same status: nothing to write.
//! assert_eq!(report(Rollout::Done).over(&moved, at(99))?, moved);
//! # Ok::<(), lockstep_reporter::Invalid>(())
//! ```

mod check;
mod inertia;
mod prerequisites;
mod publish;
mod report;
mod rollout;
mod server;
mod union;

pub use check::Invalid;
pub use inertia::Inertia;
pub use prerequisites::{Missing, Prerequisites, WaitError};
pub use publish::{PublishError, Published, Reporter};
pub use report::{Report, version};
pub use rollout::Rollout;
pub use union::{ALL_IS_WELL, union};
