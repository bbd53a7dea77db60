//! Manifests to task graph: in which order a release is applied, what can start, what waits and why; and lint of a
//! release.
//!
//! [`order::build`] makes the [`Graph`] of a mode; a [`Frontier`] is the state of a run over it. Nothing here touches
//! a cluster.

pub mod dot;
pub mod frontier;
pub mod graph;
pub mod info;
pub mod lint;
pub mod order;
pub mod report;
pub mod stage;
pub mod task;

pub use frontier::{Frontier, Link, State};
pub use graph::{Graph, Node, NodeId};
pub use order::{InstallOrder, Mode, build};
pub use stage::{Lane, Stage, stages};
pub use task::{Role, Task, TaskId, Treatment};
