//! Operators that do not come to rest: seen all the time, told when that changes.

use std::collections::BTreeSet;

use lockstep_api::object;
use lockstep_health::stability::{Limits, Stability};
use serde_json::Value;
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

/// What is told of an operator.
#[derive(Debug, PartialEq, Eq)]
struct News {
    tone: Tone,
    reason: &'static str,
    message: String,
}

/// A moment that does not come before the next event.
const NEVER: Duration = Duration::from_hours(24);

// === impl Observed ===

impl Observed {
    pub(super) fn new(now: Instant) -> Self {
        let stability = Stability::new(Limits::default());
        Self { since: now, stability, known: BTreeSet::new(), restless: BTreeSet::new(), due: now }
    }

    /// Looks at all operators; what is to be told.
    fn look<'a>(&mut self, operators: impl Iterator<Item = &'a Value>, now: Instant) -> Vec<News> {
        let moment = now - self.since;
        let mut known = BTreeSet::new();
        for operator in operators {
            self.stability.see(operator, Duration::ZERO, moment);
            known.insert(object::name(operator).to_owned());
        }
        for name in self.known.difference(&known) {
            self.stability.gone(name, moment);
        }
        self.known = known;
        self.due = self.stability.next_restless(moment).map_or(now + NEVER, |moment| self.since + moment);
        let Limits { quiet, period, .. } = Limits::default();
        let restless = self.stability.restless(moment);
        let mut news: Vec<News> = restless
            .iter()
            .filter(|(name, _)| !self.restless.contains(**name))
            .map(|(name, sentence)| News {
                tone: Tone::Warning,
                reason: "OperatorUnstable",
                message: format!(
                    "ClusterOperator {name} has not held Progressing=False for {} seconds within {} minutes: {sentence}",
                    quiet.as_secs(),
                    period.as_secs() / 60
                ),
            })
            .collect();
        let over = self.restless.iter().filter(|name| !restless.contains_key(name.as_str()));
        news.extend(over.map(|name| News {
            tone: Tone::Normal,
            reason: "OperatorStable",
            message: format!("ClusterOperator {name} moves no longer without a rest"),
        }));
        self.restless = restless.keys().map(|name| (*name).to_owned()).collect();
        news
    }
}

// === impl Core ===

impl Core {
    /// Looks at all operators when something came in or is due, and tells who does not come to rest, or has.
    pub(super) fn observe_rest(&mut self) {
        let now = Instant::now();
        if self.is_exported && now < self.rest.due {
            return;
        }
        let news = self.rest.look(self.world.all(Source::Operators), now);
        if news.is_empty() {
            return;
        }
        self.host.metrics.unstable(self.rest.restless.clone());
        for News { tone, reason, message } in news {
            self.tell(tone, reason, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operator(progressing: &str, since: &str) -> Value {
        json!({"metadata": {"name": "dns"}, "status": {"conditions": [
            {"type": "Progressing", "status": progressing, "lastTransitionTime": since}]}})
    }

    #[test]
    fn who_moves_for_a_whole_period_is_told_once_and_again_when_it_stops() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut observed = Observed::new(begin);
        let moving = operator("True", "a");
        assert_eq!(observed.look([&moving].into_iter(), at(0)), []);
        assert_eq!(observed.due, at(300));
        let news = observed.look([&moving].into_iter(), at(300));
        assert_eq!((news.len(), news[0].reason, news[0].tone), (1, "OperatorUnstable", Tone::Warning));
        assert!(news[0].message.contains("dns") && news[0].message.contains("Progressing=True"), "{news:?}");
        assert_eq!(observed.look([&moving].into_iter(), at(310)), [], "once is enough");
        assert_eq!(observed.restless, BTreeSet::from(["dns".to_owned()]));
        let news = observed.look([&operator("False", "b")].into_iter(), at(320));
        assert_eq!(news[0].reason, "OperatorStable");
        assert!(observed.restless.is_empty());
    }

    #[test]
    fn an_operator_that_goes_away_is_no_longer_restless() {
        let begin = Instant::now();
        let mut observed = Observed::new(begin);
        observed.look([&operator("True", "a")].into_iter(), begin);
        let later = begin + Duration::from_mins(6);
        assert_eq!(observed.look([&operator("True", "a")].into_iter(), later).len(), 1);
        assert_eq!(observed.look(std::iter::empty(), later)[0].reason, "OperatorStable");
        assert_eq!(observed.due, later + NEVER);
    }
}
