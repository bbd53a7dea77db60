//! Which object is looked at when: each at most once at a time, the earliest first, equal times by key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::cache::Key;

/// Keys with the lab time at which they are due.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    due: BTreeMap<Key, Duration>,
    order: BTreeSet<(Duration, Key)>,
    busy: BTreeSet<Key>,
}

// === impl Queue ===

impl Queue {
    /// Looks at a key no later than at this time.
    pub(crate) fn add(&self, key: Key, at: Duration) {
        if self.lock().add(key, at) {
            self.changed.notify_one();
        }
    }

    /// The next key that is due and that nobody looks at.
    pub(crate) fn take(&self, now: Duration) -> Option<Key> {
        let mut state = self.lock();
        let (at, key) = state.order.iter().find(|(_, key)| !state.busy.contains(key)).cloned()?;
        if at > now {
            return None;
        }
        state.order.remove(&(at, key.clone()));
        state.due.remove(&key);
        state.busy.insert(key.clone());
        Some(key)
    }

    /// A key was looked at; it may be taken again.
    pub(crate) fn done(&self, key: Key, again: Option<Duration>) {
        let mut state = self.lock();
        state.busy.remove(&key);
        if let Some(at) = again {
            state.add(key, at);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// When the next key is due that nobody looks at.
    pub(crate) fn next(&self) -> Option<Duration> {
        let state = self.lock();
        state.order.iter().find(|(_, key)| !state.busy.contains(key)).map(|(at, _)| *at)
    }

    /// Waits until something was added or done.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, key: Key, at: Duration) -> bool {
        match self.due.get(&key) {
            Some(known) if *known <= at => return false,
            Some(known) => {
                self.order.remove(&(*known, key.clone()));
            }
            None => {}
        }
        self.due.insert(key.clone(), at);
        self.order.insert((at, key));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::Kind;
    use super::*;

    fn key(name: &str) -> Key {
        Key::new(Kind::Pod, "n", name)
    }

    #[test]
    fn the_earliest_comes_first_and_only_once() {
        let queue = Queue::default();
        let at = Duration::from_secs;
        queue.add(key("b"), at(1));
        queue.add(key("a"), at(2));
        queue.add(key("a"), at(1));
        queue.add(key("a"), at(9));
        assert_eq!(queue.take(at(0)), None);
        assert_eq!(
            (queue.take(at(1)), queue.take(at(1)), queue.take(at(9))),
            (Some(key("a")), Some(key("b")), None)
        );
    }

    #[test]
    fn a_key_that_is_looked_at_waits_until_that_is_done() {
        let queue = Queue::default();
        queue.add(key("a"), Duration::ZERO);
        queue.take(Duration::ZERO);
        queue.add(key("a"), Duration::ZERO);
        assert_eq!((queue.take(Duration::ZERO), queue.next()), (None, None));
        queue.done(key("a"), None);
        assert_eq!(queue.take(Duration::ZERO), Some(key("a")));
    }
}
