//! How often conditions of operators changed, counted from what is seen of them.

use std::collections::BTreeMap;

use lockstep_api::names::metric;
use lockstep_api::{ClusterOperator, ConditionStatus};

use super::gauge::Gauge;

/// Counts changes of the status of conditions since the process began.
#[derive(Debug, Default)]
pub(super) struct Transitions {
    /// What was last seen of each operator: the status by type.
    seen: BTreeMap<String, BTreeMap<String, ConditionStatus>>,
    /// How often, by operator and type.
    counts: BTreeMap<(String, String), i64>,
}

// === impl Transitions ===

impl Transitions {
    /// Compares operators with what was seen of them before; a condition that comes or goes has changed, too.
    ///
    /// An operator that is new, or new again, has nothing to be compared with.
    pub(super) fn see(&mut self, operators: &[ClusterOperator]) {
        let mut seen = BTreeMap::new();
        for operator in operators {
            let name = &operator.metadata.name;
            let conditions = operator.status.conditions.iter();
            let new: BTreeMap<_, _> = conditions.map(|it| (it.kind.clone(), it.status.clone())).collect();
            if let Some(old) = self.seen.remove(name) {
                let gone = old.keys().filter(|kind| !new.contains_key(*kind));
                let changed = new.iter().filter(|(kind, status)| old.get(*kind) != Some(status));
                for kind in gone.chain(changed.map(|(kind, _)| kind)) {
                    *self.counts.entry((name.clone(), kind.clone())).or_default() += 1;
                }
            }
            seen.insert(name.clone(), new);
        }
        self.seen = seen;
    }

    /// Forgets what was seen: what happens while another replica works is not counted here.
    pub(super) fn forget(&mut self) {
        self.seen.clear();
    }

    pub(super) fn gauge(&self) -> Gauge {
        let mut gauge = Gauge::new(
            metric::OPERATOR_CONDITION_TRANSITIONS,
            "How often the status of a condition has changed since this process began",
        );
        for ((name, kind), count) in &self.counts {
            gauge.set([("name", name), ("condition", kind)], *count);
        }
        gauge
    }
}
