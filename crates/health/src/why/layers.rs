//! The rules, one file per layer or part of it.

mod admission;
mod api;
mod bootstrap;
mod etcd;
mod images;
mod machines;
mod network;
mod nodes;
mod operators;
mod platform;
mod pods;
mod prerequisites;
mod release;
mod requests;
mod scheduling;
mod static_pods;

use super::concerns::Concerns;
use super::facts::{Facts, Sick, parse};
use super::resource::PODS;
use super::rule::{Hit, Rule};
use crate::facts::Condition;

pub(super) use operators::{flaps, is_behind};

/// All tables, in the order of the catalogue.
pub(super) const TABLES: &[&[Rule]] = &[
    api::RULES,
    bootstrap::RULES,
    prerequisites::RULES,
    etcd::RULES,
    static_pods::RULES,
    requests::RULES,
    nodes::RULES,
    network::RULES,
    images::RULES,
    scheduling::RULES,
    pods::RULES,
    admission::RULES,
    operators::RULES,
    platform::RULES,
    machines::RULES,
    release::RULES,
];

/// A hit on a Pod; it concerns the Pod's namespace and node.
fn on_pod(sick: &Sick<'_>) -> Hit {
    Hit::on(PODS, sick.pod).since(parse(sick.since())).concerning(Concerns::of_node(sick.node))
}

/// A hit with what a condition says, and since when.
fn with(hit: Hit, condition: &Condition<'_>) -> Hit {
    hit.since(parse(condition.since)).line(condition.told())
}

/// Everything, while there is no API to say what is well; else nothing.
fn all_if_unreachable(facts: &Facts<'_>) -> Concerns {
    let is_unreachable = !facts.snapshot.api_error.is_empty() || facts.snapshot.objects.is_empty();
    if is_unreachable { Concerns::whole() } else { Concerns::default() }
}
