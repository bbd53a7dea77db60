//! What was seen of a running operator.

use jiff::{SignedDuration, Timestamp};
use lockstep_api::names::{object as names, reason};
use serde_json::Value;

use crate::facts::{Condition, list, text};
use crate::{Verdict, of};

/// What was seen of an operator while it was watched.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The name of its ClusterOperator.
    pub name: String,
    /// The ClusterOperator whenever it changed, the first as it was found.
    pub reports: Vec<Seen>,
    /// The workloads in its namespaces whenever they changed, each first as it was found.
    pub workloads: Vec<Seen>,
    /// The objects that it names, and whether they are there.
    pub related: Vec<RelatedObject>,
    /// When the watch began.
    pub begin: Timestamp,
    /// When the watch ended.
    pub end: Timestamp,
}

/// An object as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// When, by the clock of the watcher.
    pub at: Timestamp,
    /// The object.
    pub object: Value,
}

/// An object that a ClusterOperator names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedObject {
    /// What it is called there, such as `deployments.apps openshift-dns/dns`.
    pub called: String,
    /// Whether it is there; `None` when that could not be found out.
    pub exists: Option<bool>,
}

/// Two watches tell of one moment with this much between them, at most.
const APART: SignedDuration = SignedDuration::from_secs(2);

/// A condition that changed its status from one report to the next.
pub(super) struct Change<'a> {
    pub(super) at: Timestamp,
    pub(super) before: Condition<'a>,
    pub(super) after: Condition<'a>,
}

// === impl History ===

impl History {
    /// The last report, if there ever was one.
    pub(super) fn last(&self) -> Option<&Value> {
        self.reports.last().map(|seen| &seen.object)
    }

    /// Each report with the one after it.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&Seen, &Seen)> {
        self.reports.iter().zip(self.reports.iter().skip(1))
    }

    /// The conditions of each report with the same condition of the next one.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Change<'_>> {
        self.steps().flat_map(|(before, after)| {
            let entries = list(&before.object["status"]["conditions"]).iter().map(Condition::read);
            entries.filter_map(|condition| {
                let next = Condition::find(&after.object, condition.kind)?;
                Some(Change { at: after.at, before: condition, after: next })
            })
        })
    }

    /// The conditions that changed their status.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        self.pairs().filter(|pair| pair.before.status != pair.after.status)
    }

    /// The changes of the operator's version from one text to another, with the report that brought it.
    pub(super) fn moves(&self) -> impl Iterator<Item = (&Seen, &str, &str)> {
        self.steps().filter_map(|(before, after)| {
            let (old, new) = (operator_version(&before.object), operator_version(&after.object));
            (!new.is_empty() && old != new).then_some((after, old, new))
        })
    }

    /// Whether a workload changed or was on its way between two moments, or a little before and after.
    pub(super) fn is_moving(&self, from: Timestamp, to: Timestamp) -> bool {
        let (from, to) = (from - APART, to + APART);
        let changes =
            self.workloads.iter().any(|seen| seen.at > self.begin && seen.at >= from && seen.at <= to);
        changes
            || self
                .workloads
                .iter()
                .any(|seen| seen.at < to && moving(&seen.object).is_some() && self.until(seen) > from)
    }

    /// The workloads that were still on their way at a moment, each with a sentence.
    ///
    /// One that is done a little later counts as done: what is reported and what is seen come by two ways.
    pub(super) fn on_their_way(&self, at: Timestamp) -> impl Iterator<Item = String> {
        let is_then = move |seen: &&Seen| seen.at <= at && self.until(seen) > at + APART;
        self.workloads.iter().filter(is_then).filter_map(|seen| moving(&seen.object))
    }

    /// When a workload was next seen otherwise.
    fn until(&self, seen: &Seen) -> Timestamp {
        let is_same = |other: &&Seen| other.at > seen.at && same(&other.object, &seen.object);
        self.workloads.iter().filter(is_same).map(|other| other.at).min().unwrap_or(Timestamp::MAX - APART)
    }
}

fn same(one: &Value, other: &Value) -> bool {
    let id = |object: &Value| lockstep_api::ResourceId::of(object);
    id(one) == id(other)
}

/// The version of the operator that a report has, or the empty text.
pub(super) fn operator_version(report: &Value) -> &str {
    let mut versions = list(&report["status"]["versions"]).iter();
    let own = versions.find(|entry| text(&entry["name"]) == names::OPERATOR_VERSION);
    own.map(|entry| text(&entry["version"])).unwrap_or_default()
}

/// Why a workload is on its way to another version; one that only is not available is not.
fn moving(workload: &Value) -> Option<String> {
    match of(workload) {
        Verdict::NotYet(why) if why.reason != reason::WORKLOAD_NOT_AVAILABLE => Some(why.sentence),
        _ => None,
    }
}
