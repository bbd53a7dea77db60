//! One replica at work: a Lease that is waited for, held, lost or given back.
//!
//! Nobody is believed about time: how long a Lease is good for is measured from when its last change was *seen*, and the
//! holder stops some time before anybody else can think that it is over. Waiting costs nothing: the Lease is watched, and a
//! free one is taken when the event comes, an abandoned one when its time is over.

mod record;

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use lockstep_api::names::group;
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun, Server};
use lockstep_apply::watch::{Backoff, Seen, Watched, watch};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::clock::Clock;
use record::Record;

/// The three times of a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long others wait after the last renewal that they saw.
    pub duration: Duration,
    /// After how long without a renewal the holder stops.
    pub renew_deadline: Duration,
    /// How often it is renewed.
    pub retry_period: Duration,
}

/// Somebody who wants to hold the Lease.
#[derive(Clone)]
pub struct Candidate {
    /// Where the Lease is.
    pub server: Server,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are: different for every process.
    pub identity: String,
    /// The three times.
    pub timing: Timing,
    /// The time of day, which others only read.
    pub clock: Clock,
    /// The seed of pauses.
    pub seed: u64,
}

/// The Lease is ours, until [`Held::keep`] says otherwise.
pub struct Held {
    candidate: Candidate,
    lease: Value,
    /// When the request that renewed it last was sent.
    renewed: Instant,
}

/// How the Lease was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Somebody else has it.
    #[error("the lease is held by {0:?}")]
    Taken(String),
    /// It could not be renewed in time.
    #[error("the lease could not be renewed within {deadline:?}: {why}")]
    NotRenewed {
        /// How long it was tried.
        deadline: Duration,
        /// What the server said last.
        why: String,
    },
}

/// The longest pause between two tries to renew.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

// === impl Timing ===

impl Timing {
    /// What the reference uses: an outage of 78 seconds is survived.
    pub const REFERENCE: Self = Self::of_seconds(137, 107, 26);
    /// The same on a cluster of one node, where the API server restarts with it.
    pub const SINGLE_NODE: Self = Self::of_seconds(270, 240, 60);

    const fn of_seconds(duration: u64, renew_deadline: u64, retry_period: u64) -> Self {
        Self {
            duration: Duration::from_secs(duration),
            renew_deadline: Duration::from_secs(renew_deadline),
            retry_period: Duration::from_secs(retry_period),
        }
    }

    /// Whether the three fit together.
    ///
    /// # Errors
    /// Which two do not, and why.
    pub fn check(&self) -> Result<(), String> {
        let Self { duration, renew_deadline, retry_period } = *self;
        if duration.subsec_nanos() != 0 || duration.is_zero() {
            return Err(format!("--lease-duration {duration:?} must be whole seconds, at least one"));
        }
        if renew_deadline >= duration {
            return Err(format!(
                "--renew-deadline {renew_deadline:?} must be shorter than --lease-duration {duration:?}, or two could write"
            ));
        }
        if retry_period.is_zero() || retry_period >= renew_deadline {
            return Err(format!(
                "--retry-period {retry_period:?} must be shorter than --renew-deadline {renew_deadline:?}"
            ));
        }
        Ok(())
    }
}

// === impl Candidate ===

impl Candidate {
    /// Waits until the Lease is ours; `tell` hears of everybody else who holds it meanwhile.
    pub async fn acquire(&self, mut tell: impl FnMut(&str)) -> Held {
        let mut events = watch(self.server.clone(), self.watched(), self.seed);
        let mut backoff = Backoff::new(self.seed, &self.identity);
        let mut is_synced = false;
        let mut seen: Option<(Value, Instant)> = None;
        let mut not_before = Instant::now();
        loop {
            let free_at = match (&seen, is_synced) {
                (_, false) => None,
                (None, true) => Some(not_before),
                (Some((lease, at)), true) => Some(self.free_at(lease, *at).max(not_before)),
            };
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(Seen::Object(lease)) => {
                        let holder = Record::of(&lease).holder;
                        let before = seen.as_ref().map(|(lease, _)| Record::of(lease).holder);
                        if !holder.is_empty() && before.as_ref() != Some(&holder) {
                            tell(&holder);
                        }
                        let is_older = seen.as_ref().is_some_and(|(known, _)| version(known) == version(&lease));
                        if !is_older {
                            seen = Some((lease, Instant::now()));
                        }
                    }
                    Some(Seen::Gone(_)) => seen = None,
                    Some(Seen::Synced { .. }) => is_synced = true,
                    Some(Seen::Restarted | Seen::Resumed | Seen::Trouble { .. }) | None => {}
                },
                () = until(free_at) => {
                    let sent = Instant::now();
                    let before = seen.as_ref().map(|(lease, _)| lease);
                    match self.write(before).await {
                        Ok(lease) => return Held { candidate: self.clone(), lease, renewed: sent },
                        Err(Refusal::NamespaceMissing { .. }) => self.bring_namespace().await,
                        Err(Refusal::NotFound) => seen = None,
                        Err(_) => {}
                    }
                    // Somebody was faster, or the server is away: either way an event comes, or time passes.
                    not_before = Instant::now() + backoff.next().min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// When a Lease can be taken that was last seen to change at a moment.
    fn free_at(&self, lease: &Value, seen: Instant) -> Instant {
        let record = Record::of(lease);
        if record.holder.is_empty() || record.holder == self.identity {
            return seen;
        }
        seen + record.duration.unwrap_or(self.timing.duration)
    }

    async fn write(&self, before: Option<&Value>) -> Result<Value, Refusal> {
        let lease = record::held(
            &self.name,
            &self.namespace,
            &self.identity,
            self.timing.duration,
            before,
            (self.clock)(),
        );
        let body = Bytes::from(lease.to_string());
        let namespace = Some(self.namespace.as_str());
        let call = match before {
            None => Call::create(&resource(), namespace, body, DryRun::No),
            Some(_) => Call::replace(&resource(), namespace, &self.name, body, DryRun::No),
        };
        Ok(self.server.send(call).await?.object)
    }

    /// On a new cluster even the place of the Lease comes with the release, which nobody applies without a Lease.
    async fn bring_namespace(&self) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}});
        let namespaces = Resource::new("", "v1", "Namespace", "namespaces", false);
        let call = Call::create(&namespaces, None, Bytes::from(object.to_string()), DryRun::No);
        if let Err(refusal) = self.server.send(call).await
            && !matches!(refusal, Refusal::AlreadyExists)
        {
            tracing::warn!("{}", refusal.explain(&format!("Namespace {}", self.namespace)));
        }
    }

    fn watched(&self) -> Watched {
        Watched {
            resource: resource(),
            namespace: Some(self.namespace.clone()),
            label_selector: None,
            field_selector: Some(format!("metadata.name={}", self.name)),
            metadata_only: false,
        }
    }
}

// === impl Held ===

impl Held {
    /// Renews the Lease until it is lost.
    pub async fn keep(&mut self) -> Lost {
        let Timing { renew_deadline, retry_period, .. } = self.candidate.timing;
        let pause = (retry_period / 4).min(LONGEST_PAUSE);
        loop {
            sleep_until(self.renewed + retry_period).await;
            let deadline = self.renewed + renew_deadline;
            let mut why = "the server did not answer".to_owned();
            loop {
                let sent = Instant::now();
                match timeout_at(deadline, self.candidate.write(Some(&self.lease))).await {
                    Ok(Ok(lease)) => {
                        (self.lease, self.renewed) = (lease, sent);
                        break;
                    }
                    Ok(Err(Refusal::Stale | Refusal::NotFound)) => {
                        match timeout_at(deadline, self.look()).await {
                            Ok(Ok(lease)) => {
                                let holder = Record::of(&lease).holder;
                                if holder != self.candidate.identity {
                                    return Lost::Taken(holder);
                                }
                                self.lease = lease;
                            }
                            Ok(Err(Refusal::NotFound)) => {
                                return Lost::Taken("nobody: it was deleted".to_owned());
                            }
                            Ok(Err(refusal)) => why = refusal.to_string(),
                            Err(_) => {}
                        }
                    }
                    Ok(Err(refusal)) => why = refusal.to_string(),
                    Err(_) => {}
                }
                if Instant::now() + pause >= deadline {
                    return Lost::NotRenewed { deadline: renew_deadline, why };
                }
                sleep(pause).await;
            }
        }
    }

    /// Lets the next one have it. Who cannot be told finds out by the clock.
    pub async fn give_back(self) {
        let Candidate { server, namespace, name, clock, timing, .. } = &self.candidate;
        let lease = record::given_back(name, namespace, &self.lease, clock());
        let body = Bytes::from(lease.to_string());
        let call = Call::replace(&resource(), Some(namespace), name, body, DryRun::No);
        match timeout_at(self.renewed + timing.duration, server.send(call)).await {
            Ok(Ok(_)) => tracing::info!("the lease is given back"),
            Ok(Err(refusal)) => tracing::warn!("the lease could not be given back: {refusal}"),
            Err(_) => tracing::warn!("the lease could not be given back in time"),
        }
    }

    async fn look(&self) -> Result<Value, Refusal> {
        let Candidate { server, namespace, name, .. } = &self.candidate;
        Ok(server.send(Call::get(&resource(), Some(namespace), name)).await?.object)
    }
}

fn resource() -> Resource {
    Resource::new(group::COORDINATION, "v1", "Lease", "leases", true)
}

fn version(lease: &Value) -> Option<&str> {
    lease["metadata"]["resourceVersion"].as_str()
}

/// Sleeps until a moment, or for ever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn times_that_would_allow_two_writers_are_refused() {
        let timing =
            |duration, renew_deadline, retry_period| Timing { duration, renew_deadline, retry_period };
        for good in [Timing::REFERENCE, Timing::SINGLE_NODE, timing(seconds(5), seconds(4), seconds(1))] {
            assert_eq!(good.check(), Ok(()));
        }
        let rows = [
            (timing(seconds(5), seconds(5), seconds(1)), "--renew-deadline"),
            (timing(seconds(5), seconds(4), seconds(4)), "--retry-period"),
            (timing(seconds(5), seconds(4), seconds(0)), "--retry-period"),
            (timing(Duration::from_millis(1500), seconds(1), Duration::from_millis(100)), "--lease-duration"),
            (timing(seconds(0), seconds(0), seconds(0)), "--lease-duration"),
        ];
        for (wrong, flag) in rows {
            assert!(wrong.check().unwrap_err().starts_with(flag), "{wrong:?}");
        }
    }
}
