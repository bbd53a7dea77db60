//! How many requests a registry gets at a time; fewer for a while after it asked for patience.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a smaller allowance lasts.
const SLOW: Duration = Duration::from_secs(20);

/// Lets a bounded number of requests through.
#[derive(Debug)]
pub(super) struct Gate {
    limit: usize,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    inside: usize,
    /// A smaller allowance, and until when it counts.
    slowed: Option<(usize, Instant)>,
}

/// The right to have one request under way; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Permit(Arc<Gate>);

// === impl Gate ===

impl Gate {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        let state = Mutex::new(State { inside: 0, slowed: None });
        Arc::new(Self { limit: limit.max(1), state, freed: Notify::new() })
    }

    /// Waits for a place.
    pub(super) async fn enter(self: &Arc<Self>) -> Permit {
        loop {
            let freed = self.freed.notified();
            match self.try_enter(Instant::now()) {
                Ok(()) => return Permit(Arc::clone(self)),
                Err(Some(until)) => {
                    let _ = tokio::time::timeout_at(until, freed).await;
                }
                Err(None) => freed.await,
            }
        }
    }

    /// Halves the allowance for a while.
    pub(super) fn slow_down(&self) {
        let now = Instant::now();
        let mut state = self.state();
        let allowance = state.allowance(self.limit, now);
        state.slowed = Some(((allowance / 2).max(1), now + SLOW));
    }

    /// Takes a place, or says when there may be one beside those that are given back.
    fn try_enter(&self, now: Instant) -> Result<(), Option<Instant>> {
        let mut state = self.state();
        if state.inside < state.allowance(self.limit, now) {
            state.inside += 1;
            return Ok(());
        }
        Err(state.slowed.map(|(_, until)| until).filter(|until| *until > now))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn allowance(&self, limit: usize, now: Instant) -> usize {
        self.slowed.filter(|(_, until)| *until > now).map_or(limit, |(allowance, _)| allowance)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.state().inside -= 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn patience_halves_the_allowance_and_time_restores_it() {
        let gate = Gate::new(4);
        gate.slow_down();
        let _two = (gate.enter().await, gate.enter().await);
        let start = Instant::now();
        let third = gate.enter().await;
        assert_eq!(start.elapsed(), SLOW, "only time gives a third place");
        drop(third);
        let _more = (gate.enter().await, gate.enter().await);
        assert_eq!(start.elapsed(), SLOW);
        assert!(gate.try_enter(Instant::now()).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_makes_room() {
        let gate = Gate::new(0);
        let only = gate.enter().await;
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { drop(gate.enter().await) }
        });
        tokio::task::yield_now().await;
        drop(only);
        waiting.await.unwrap();
    }
}
