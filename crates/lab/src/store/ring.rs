//! The recent events of one resource, bounded in number and in weight.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

/// How much of the past is remembered, per resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// At most this many events.
    pub events: usize,
    /// At most about this many bytes of objects.
    pub weight: usize,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is new.
    Added,
    /// It is different.
    Modified,
    /// It is gone.
    Deleted,
}

/// One write.
#[derive(Debug)]
pub(crate) struct Event {
    /// The number of the write.
    pub revision: u64,
    /// What it did.
    pub change: Change,
    /// Where: `namespace/name`, or the name alone.
    pub path: String,
    /// The object after the write; for a removal its last state with the version of the removal.
    pub object: Arc<Value>,
    /// The object before the write.
    pub previous: Option<Arc<Value>>,
    weight: usize,
}

/// The version that was asked for is older than what is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forgotten {
    /// The oldest version from which events are still known.
    pub oldest: u64,
}

/// The events of one resource, oldest first.
#[derive(Debug, Default)]
pub(super) struct Ring {
    events: VecDeque<Arc<Event>>,
    weight: usize,
    /// The number of the last event that was dropped.
    forgotten_until: u64,
}

// === impl Window ===

impl Default for Window {
    fn default() -> Self {
        Self { events: 4096, weight: 24 << 20 }
    }
}

// === impl Ring ===

impl Ring {
    /// An empty ring that knows nothing from before a version.
    pub(super) fn starting_at(revision: u64) -> Self {
        Self { forgotten_until: revision, ..Self::default() }
    }

    pub(super) fn push(
        &mut self,
        revision: u64,
        change: Change,
        path: &str,
        object: Arc<Value>,
        previous: Option<Arc<Value>>,
        window: Window,
    ) {
        // NB: only the new state counts; the previous one is that of an earlier event, or of one just dropped.
        let weight = weigh(&object);
        self.weight += weight;
        let event = Event { revision, change, path: path.to_owned(), object, previous, weight };
        self.events.push_back(Arc::new(event));
        while self.events.len() > window.events || (self.weight > window.weight && self.events.len() > 1) {
            let Some(dropped) = self.events.pop_front() else { break };
            self.weight -= dropped.weight;
            self.forgotten_until = dropped.revision;
        }
    }

    /// The number of the last event; 0 when there was none.
    pub(super) fn last(&self) -> u64 {
        self.events.back().map_or(self.forgotten_until, |event| event.revision)
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// The events after a version; fails when one of them was dropped.
    pub(super) fn after(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, Forgotten> {
        if revision < self.forgotten_until {
            return Err(Forgotten { oldest: self.forgotten_until });
        }
        let first = self.events.partition_point(|event| event.revision <= revision);
        Ok(self.events.range(first..))
    }
}

/// About how many bytes a value takes; exact enough for a bound, cheap enough for every write.
fn weigh(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
        Value::String(text) => 32 + text.len(),
        Value::Array(items) => 32 + items.iter().map(weigh).sum::<usize>(),
        Value::Object(fields) => {
            32 + fields.iter().map(|(key, value)| 48 + key.len() + weigh(value)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn push(ring: &mut Ring, revision: u64, window: Window) {
        ring.push(revision, Change::Added, "x", Arc::new(json!({"a": "b"})), None, window);
    }

    fn revisions(ring: &Ring, after: u64) -> Result<Vec<u64>, Forgotten> {
        ring.after(after).map(|events| events.map(|event| event.revision).collect())
    }

    #[test]
    fn events_after_a_version_come_in_order() {
        let mut ring = Ring::default();
        for revision in [2, 5, 9] {
            push(&mut ring, revision, Window::default());
        }
        assert_eq!(revisions(&ring, 0), Ok(vec![2, 5, 9]));
        assert_eq!(revisions(&ring, 5), Ok(vec![9]));
        assert_eq!(revisions(&ring, 9), Ok(vec![]));
    }

    #[test]
    fn a_version_before_a_dropped_event_is_forgotten() {
        let mut ring = Ring::default();
        let window = Window { events: 2, weight: usize::MAX };
        for revision in [2, 5, 9] {
            push(&mut ring, revision, window);
        }
        assert_eq!(revisions(&ring, 1), Err(Forgotten { oldest: 2 }));
        assert_eq!(revisions(&ring, 2), Ok(vec![5, 9]));
    }

    #[test]
    fn heavy_events_push_older_ones_out_but_the_last_one_stays() {
        let mut ring = Ring::default();
        let window = Window { events: 100, weight: 1 };
        for revision in [2, 5] {
            push(&mut ring, revision, window);
        }
        assert_eq!(revisions(&ring, 2), Ok(vec![5]));
    }
}
