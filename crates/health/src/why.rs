//! Why a cluster does not get on: one root cause first, with evidence, what it blocks and what to do.
//!
//! A [`Snapshot`] is everything that was seen: lists of objects, probes, records of a bootstrap host, logs. [`diagnose`]
//! runs every rule of the [`catalogue`] over it, lets causes explain symptoms, and orders what is left. Rules are data and
//! functions: none asks a cluster, a clock or a file, so a folder that was written yesterday is judged like a live cluster.

mod catalogue;
mod concerns;
mod facts;
mod filter;
mod finding;
mod layers;
mod left_out;
mod operator;
mod phase;
mod rank;
pub mod resource;
mod rule;
mod services;
pub mod snapshot;
mod thing;
mod told;
mod words;

pub use catalogue::catalogue;
pub use filter::{About, about};
pub use finding::{Diagnosis, Explained, Finding, Unexplained};
pub use left_out::{LEFT_OUT, LeftOut};
pub use phase::Phase;
pub use rank::diagnose;
pub use rule::{Confidence, Layer, Level, Rule};
pub use snapshot::{
    Alert, Certificate, Expected, Outcome, Probe, PullSecret, Record, Snapshot, Through, Transition, VERSION,
    Workload,
};
pub use told::told;

#[cfg(test)]
mod tests;
