//! Whether this process lives and is ready, each with a sentence.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What the loops say of themselves; copies are the same.
#[derive(Debug, Clone)]
pub struct Health(Arc<Mutex<State>>);

/// A question's answer for a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether all is well.
    pub is_good: bool,
    /// Why, for a person.
    pub sentence: String,
}

#[derive(Debug)]
struct State {
    longest: Duration,
    /// The loops that are at work, and since when they have not been heard of.
    at_work: BTreeMap<&'static str, Instant>,
    ready: Answer,
}

// === impl Health ===

impl Health {
    /// Not ready yet; a loop that works for longer than `longest` without a sign of life is taken for dead.
    pub fn new(longest: Duration) -> Self {
        let ready = Answer { is_good: false, sentence: "starting".to_owned() };
        Self(Arc::new(Mutex::new(State { longest, at_work: BTreeMap::new(), ready })))
    }

    /// A loop is at work, or still at work.
    pub fn beat(&self, name: &'static str) {
        self.lock().at_work.insert(name, Instant::now());
    }

    /// A loop has nothing to do, or has ended; it may rest as long as it likes.
    pub fn rest(&self, name: &'static str) {
        self.lock().at_work.remove(name);
    }

    /// The caches are filled, or another replica works and this one stands by; `sentence` says which.
    pub fn ready(&self, sentence: impl Into<String>) {
        self.lock().ready = Answer { is_good: true, sentence: sentence.into() };
    }

    /// Something is missing that `sentence` names.
    pub fn not_ready(&self, sentence: impl Into<String>) {
        self.lock().ready = Answer { is_good: false, sentence: sentence.into() };
    }

    /// Whether every loop that is at work has been heard of lately.
    pub fn is_live(&self) -> Answer {
        let state = self.lock();
        let oldest = state.at_work.iter().min_by_key(|(_, since)| **since);
        match oldest {
            Some((name, since)) if since.elapsed() > state.longest => Answer {
                is_good: false,
                sentence: format!(
                    "the loop `{name}` has been at work for {} s without a sign of life; the limit is {} s",
                    since.elapsed().as_secs(),
                    state.longest.as_secs()
                ),
            },
            _ => Answer { is_good: true, sentence: "all loops answer".to_owned() },
        }
    }

    /// Whether this replica can do its work, or take it over.
    pub fn is_ready(&self) -> Answer {
        self.lock().ready.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn loop_that_works_too_long_is_dead_and_one_that_rests_is_not() {
        let health = Health::new(Duration::from_mins(1));
        health.beat("sync");
        health.beat("lease");
        health.rest("lease");
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(health.is_live().is_good);
        tokio::time::advance(Duration::from_secs(2)).await;
        let answer = health.is_live();
        assert!(!answer.is_good && answer.sentence.contains("`sync`"), "{answer:?}");
        health.beat("sync");
        assert!(health.is_live().is_good);
    }

    #[test]
    fn ready_is_what_was_last_said() {
        let health = Health::new(Duration::from_mins(1));
        assert!(!health.is_ready().is_good);
        health.ready("standing by");
        assert_eq!(health.is_ready(), Answer { is_good: true, sentence: "standing by".into() });
        health.not_ready("the caches are not filled");
        assert!(!health.is_ready().is_good);
    }
}
