//! Operators that do not come to rest: seen all the time, told when that changes.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::object;
use lockstep_health::stability::{Limits, Stability};
use tokio::time::{Duration, Instant};

use super::Core;
use crate::notice::Tone;
use crate::world::Source;

/// What is observed since this replica works.
pub(super) struct Observed {
    since: Instant,
    stability: Stability,
    /// Who was seen last, and who of them was restless.
    known: BTreeSet<String>,
    restless: BTreeSet<String>,
    /// When somebody becomes restless although nothing happens.
    pub(super) due: Instant,
}

/// A moment that does not come before the next event.
const NEVER: Duration = Duration::from_hours(24);

// === impl Observed ===

impl Observed {
    pub(super) fn new(now: Instant) -> Self {
        let stability = Stability::new(Limits::default());
        Self { since: now, stability, known: BTreeSet::new(), restless: BTreeSet::new(), due: now }
    }
}

// === impl Core ===

impl Core {
    /// Looks at all operators when something came in or is due, and tells who does not come to rest, or has.
    pub(super) fn observe_rest(&mut self) {
        if self.is_exported && Instant::now() < self.rest.due {
            return;
        }
        let now = Instant::now() - self.rest.since;
        let mut known = BTreeSet::new();
        for operator in self.world.all(Source::Operators) {
            self.rest.stability.see(operator, Duration::ZERO, now);
            known.insert(object::name(operator).to_owned());
        }
        for name in self.rest.known.difference(&known) {
            self.rest.stability.gone(name, now);
        }
        self.rest.known = known;
        let next = self.rest.stability.next_restless(now).map(|moment| self.rest.since + moment);
        self.rest.due = next.unwrap_or(Instant::now() + NEVER);
        let restless: BTreeMap<String, String> = self
            .rest
            .stability
            .restless(now)
            .into_iter()
            .map(|(name, sentence)| (name.to_owned(), sentence.to_owned()))
            .collect();
        let names: BTreeSet<String> = restless.keys().cloned().collect();
        if names == self.rest.restless {
            return;
        }
        let Limits { quiet, period, .. } = Limits::default();
        for (name, sentence) in restless.iter().filter(|(name, _)| !self.rest.restless.contains(*name)) {
            let text = format!(
                "ClusterOperator {name} has not held Progressing=False for {} seconds within {} minutes: {sentence}",
                quiet.as_secs(),
                period.as_secs() / 60
            );
            self.tell(Tone::Warning, "OperatorUnstable", text);
        }
        for name in self.rest.restless.difference(&names) {
            self.tell(Tone::Normal, "OperatorStable", format!("ClusterOperator {name} has come to rest"));
        }
        self.host.metrics.unstable(names.clone());
        self.rest.restless = names;
    }
}
