//! Events: what happened, for people who look at the ClusterVersion with `kubectl describe`.
//!
//! Whoever has something to tell never waits: notes go through a bounded channel, and a pump writes them. A server that
//! does not answer costs events, which are counted, and nothing else.

mod ledger;

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use jiff::Timestamp;
use tokio::sync::mpsc;

use lockstep_api::names::{kind, namespace};
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun, Server};

use crate::Notice;
use crate::metrics::Metrics;
use ledger::{Act, Ledger, Write};

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    /// The ClusterVersion.
    ClusterVersion,
    /// The lease that elects the replica at work.
    Lease,
}

/// One thing that happened.
#[derive(Debug)]
struct Note {
    about: About,
    notice: Notice,
}

/// Takes notes; copies write to the same place.
#[derive(Clone)]
pub struct Recorder {
    notes: mpsc::Sender<Note>,
    metrics: Metrics,
}

/// The end of the channel that [`pump`] reads.
pub struct Notes {
    notes: mpsc::Receiver<Note>,
    metrics: Metrics,
}

/// Room for what happens while a write is tried again; more is lost and counted.
const WAITING: usize = 256;
/// Pauses before a write is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// A place for notes, and where they are read; what is lost is counted in `metrics`.
pub fn channel(metrics: Metrics) -> (Recorder, Notes) {
    let (sender, notes) = mpsc::channel(WAITING);
    (Recorder { notes: sender, metrics: metrics.clone() }, Notes { notes, metrics })
}

// === impl Recorder ===

impl Recorder {
    /// Notes something about the ClusterVersion; never waits.
    pub fn record(&self, notice: Notice) {
        self.note(About::ClusterVersion, notice);
    }

    /// Notes something about the lease; never waits.
    pub fn record_lease(&self, notice: Notice) {
        self.note(About::Lease, notice);
    }

    fn note(&self, about: About, notice: Notice) {
        if self.notes.try_send(Note { about, notice }).is_err() {
            self.metrics.event_dropped();
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

/// Writes events until every [`Recorder`] is gone, then what is still to be written.
///
/// The end is bounded by nothing but the time limits of requests: whoever ends a process gives it a moment and drops it.
/// `seed` tells the names of this process's events from those of others.
pub async fn pump(notes: Notes, server: Server, seed: &str, clock: impl Fn() -> Timestamp) {
    let Notes { mut notes, metrics } = notes;
    let mut ledger = Ledger::new(seed);
    loop {
        let pause = ledger.next_due().map(|due| until(due, clock()));
        let wait = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        let writes = match select(pin!(notes.recv()), pin!(wait)).await {
            Either::Left((Some(note), _)) => ledger.take(note, clock()).into_iter().collect(),
            Either::Right(_) => ledger.due(clock()),
            Either::Left((None, _)) => break,
        };
        // The process ends: one try each.
        let pauses: &[Duration] = if notes.is_closed() { &[] } else { &PAUSES };
        for write in writes {
            send(&server, &mut ledger, write, clock(), pauses, &metrics).await;
        }
    }
    for write in ledger.due(Timestamp::MAX) {
        send(&server, &mut ledger, write, clock(), &[], &metrics).await;
    }
}

fn until(due: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(due.duration_since(now)).unwrap_or_default()
}

/// Sends one write; an event that is gone is created again with its count.
async fn send(
    server: &Server,
    ledger: &mut Ledger,
    write: Write,
    now: Timestamp,
    pauses: &[Duration],
    metrics: &Metrics,
) {
    let name = write.name.clone();
    let mut outcome = send_patiently(server, write, pauses).await;
    if outcome == Err(Refusal::NotFound)
        && let Some(write) = ledger.renew(&name, now)
    {
        outcome = send_patiently(server, write, pauses).await;
    }
    if let Err(refusal) = outcome {
        tracing::warn!(event = name, "an event was not written: {refusal}");
        ledger.forget(&name);
        metrics.event_dropped();
    }
}

async fn send_patiently(server: &Server, write: Write, pauses: &[Duration]) -> Result<(), Refusal> {
    let events = Resource::new("", "v1", kind::EVENT, "events", true);
    let place = Some(namespace::CLUSTER_VERSION);
    let call = match write.act {
        Act::Create(event) => Call::create(&events, place, Bytes::from(event.to_string()), DryRun::No),
        Act::Patch(operations) => {
            Call::json_patch(&events, place, &write.name, Bytes::from(operations.to_string()), DryRun::No)
        }
    };
    let mut pauses = pauses.iter();
    loop {
        match server.send(call.clone()).await {
            // Stored, though the answer of an earlier try was lost.
            Ok(_) | Err(Refusal::AlreadyExists) => return Ok(()),
            Err(refusal) => match pauses.next().filter(|_| refusal.is_transient()) {
                Some(pause) => tokio::time::sleep(*pause).await,
                None => return Err(refusal),
            },
        }
    }
}

#[cfg(test)]
mod tests;
