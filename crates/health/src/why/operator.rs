//! One ClusterOperator as rules see it.

use std::collections::BTreeSet;

use lockstep_api::names::condition::{AVAILABLE, DEGRADED, PROGRESSING};
use lockstep_api::names::{namespace, object as well_known};
use lockstep_api::object;
use serde_json::Value;

use super::snapshot::Expected;
use crate::facts::{Condition, list, text};

/// Namespaces that many operators name and that belong to none.
const SHARED: [&str; 6] = [
    namespace::CONFIG,
    namespace::CONFIG_MANAGED,
    namespace::KUBE_SYSTEM,
    "openshift-infra",
    "default",
    "openshift",
];

/// One ClusterOperator.
pub(super) struct Operator<'a> {
    pub(super) name: &'a str,
    pub(super) object: &'a Value,
    /// Where its workloads run.
    pub(super) namespaces: BTreeSet<&'a str>,
}

/// One part of a reason that the shared library of operators has put together: `Prefix_Reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) prefix: &'a str,
    pub(super) reason: &'a str,
}

// === impl Operator ===

impl<'a> Operator<'a> {
    pub(super) fn read(object: &'a Value, payload: Option<&'a Expected>) -> Self {
        let name = object::name(object);
        let related = list(&object["status"]["relatedObjects"]).iter().flat_map(|related| {
            let is_namespace = text(&related["resource"]) == "namespaces";
            [text(&related["namespace"]), if is_namespace { text(&related["name"]) } else { "" }]
        });
        let component = payload.and_then(|payload| payload.operators.iter().find(|it| it.name == name));
        let deployments = payload.map_or(&[][..], |payload| &payload.deployments);
        let own = deployments.iter().filter(|it| component.is_some_and(|own| own.component == it.component));
        let namespaces = related
            .chain(own.map(|it| it.namespace.as_str()))
            .filter(|namespace| !namespace.is_empty() && !SHARED.contains(namespace))
            .collect();
        Self { name, object, namespaces }
    }

    pub(super) fn condition(&self, kind: &str) -> Option<Condition<'a>> {
        Condition::find(self.object, kind)
    }

    pub(super) fn is_unavailable(&self) -> bool {
        self.condition(AVAILABLE).is_some_and(|found| !found.is_true())
    }

    pub(super) fn is_degraded(&self) -> bool {
        self.condition(DEGRADED).is_some_and(|found| found.is_true())
    }

    pub(super) fn is_progressing(&self) -> bool {
        self.condition(PROGRESSING).is_some_and(|found| found.is_true())
    }

    pub(super) fn is_silent(&self) -> bool {
        list(&self.object["status"]["conditions"]).is_empty()
    }

    /// The core conditions that it does not report.
    pub(super) fn lacks(&self) -> impl Iterator<Item = &'static str> {
        let core = [AVAILABLE, PROGRESSING, DEGRADED];
        core.into_iter().filter(|kind| self.condition(kind).is_none())
    }

    /// The version that it reports for itself.
    pub(super) fn version(&self) -> &'a str {
        let versions = list(&self.object["status"]["versions"]).iter();
        let own = versions.clone().find(|entry| text(&entry["name"]) == well_known::OPERATOR_VERSION);
        own.map_or("", |entry| text(&entry["version"]))
    }

    /// The conditions that say that something is wrong: not available, degraded.
    pub(super) fn bad(&self) -> impl Iterator<Item = Condition<'a>> {
        let unavailable = self.condition(AVAILABLE).filter(|found| !found.is_true());
        let degraded = self.condition(DEGRADED).filter(|found| !found.is_false());
        unavailable.into_iter().chain(degraded)
    }

    /// The bad condition whose reason has one of these tokens, or whose reason or message contains one of these words.
    pub(super) fn complains(&self, words: &[&str]) -> Option<Condition<'a>> {
        self.bad()
            .find(|bad| words.iter().any(|word| bad.reason.contains(word) || bad.message.contains(word)))
    }
}

/// The parts of a reason.
pub(super) fn tokens(reason: &str) -> impl Iterator<Item = Token<'_>> {
    reason.split("::").map(|part| {
        let (prefix, reason) = part.split_once('_').unwrap_or(("", part));
        Token { prefix, reason }
    })
}
