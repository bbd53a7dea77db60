//! Is it well? One verdict per object: good, not yet or bad, with a sentence that says why.
//!
//! Everything here is a function from values to values, and takes any JSON: what is missing or has another type than
//! expected is empty. Sentences hold no ages and no counts of tries, so that they change only when something does.

mod api_service;
mod cluster_operator;
pub mod conformance;
pub mod convergence;
mod crd;
mod daemon_set;
mod deletion;
mod deployment;
mod diagnosis;
mod facts;
mod first_generation;
mod job;
mod namespace;
mod other;
mod pod;
pub mod stability;
mod stateful_set;
mod verdict;
pub mod why;

use lockstep_api::names::{group, kind};
use lockstep_api::object;
use serde_json::Value;

pub use cluster_operator::{Effect, Form, Gate, Mode, form, gate};
pub use deletion::deletion;
pub use diagnosis::workload;
pub use verdict::{Verdict, Why};

/// Whether an object is well, by the rules of its group and kind.
///
/// A ClusterOperator is judged without its manifest here, by its conditions alone; [`gate`] also asks for the versions.
pub fn of(object: &Value) -> Verdict {
    match (object::group(object), object::kind(object)) {
        (group::APPS, kind::DEPLOYMENT) => deployment::of(object),
        (group::APPS, kind::DAEMON_SET) => daemon_set::of(object),
        (group::APPS, kind::STATEFUL_SET) => stateful_set::of(object),
        (group::BATCH, kind::JOB) => job::of(object),
        (group::API_EXTENSIONS, kind::CUSTOM_RESOURCE_DEFINITION) => crd::of(object),
        (group::API_REGISTRATION, kind::API_SERVICE) => api_service::of(object),
        ("", kind::NAMESPACE) => namespace::of(object),
        ("", kind::POD) => pod::of(object),
        (group::CONFIG | group::OPERATOR_STATUS, kind::CLUSTER_OPERATOR) => cluster_operator::of(object),
        _ => other::of(object),
    }
}

#[cfg(test)]
mod lib_tests;
