//! What an operator needs of whoever runs it.

use bytes::Bytes;
use lockstep_apply::progress::{Event, Happening};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::events::Recorder;
use crate::metrics::Metrics;
use crate::serve::Health;
use crate::tracker::Tracker;

/// Certificate authorities as PEM.
pub type Authorities = Bytes;

/// What an operator needs of whoever runs it.
#[derive(Clone)]
pub struct Host {
    /// The time of day.
    pub clock: Clock,
    /// Takes what is worth an Event.
    pub events: Recorder,
    /// What is exported.
    pub metrics: Metrics,
    /// What probes are told.
    pub health: Health,
    /// Who may sign the certificates of those who read metrics, as PEM.
    pub authorities: watch::Sender<Authorities>,
}

// === impl Host ===

impl Host {
    /// Counts what an engine told.
    pub(crate) fn measure(&self, tracker: &Tracker, event: &Event) {
        match &event.what {
            Happening::Done { task } => {
                if let Some(started) = tracker.started_at(*task) {
                    self.metrics.task_done(tracker.kind_of(*task), (event.at - started).max(0.0));
                }
                self.metrics.waits(tracker.waits());
            }
            Happening::Waiting { .. } | Happening::Woke { .. } => self.metrics.waits(tracker.waits()),
            Happening::Repaired { seconds, .. } => self.metrics.drift_repaired(*seconds),
            Happening::Fighting { .. } => self.metrics.fights(tracker.fights()),
            _ => {}
        }
    }

    /// Tells who may sign the certificates of those who read metrics.
    pub(crate) fn trust(&self, authorities: String) {
        self.authorities.send_if_modified(|before| {
            let is_new = *before != authorities.as_bytes();
            if is_new {
                *before = authorities.into();
            }
            is_new
        });
    }
}
