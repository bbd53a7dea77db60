//! The one writer of the ClusterVersion's status.

use std::time::Duration;

use bytes::Bytes;
use lockstep_api::names::{feature_gate, group, kind, object, reason};
use lockstep_api::{ClusterVersionStatus, Release};
use lockstep_apply::engine::health_mode;
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun, Server};
use lockstep_graph::Mode;
use lockstep_graph::report::{Failure, Report, Run, is_news};
use lockstep_status::{Context, StartTimes, status};
use lockstep_updates::upgradeable::{self, Facts};
use serde_json::Value;
use tokio::time::Instant;

use super::Core;
use crate::asked::Asked;
use crate::metrics;
use crate::tracker::Tracker;
use crate::world::Source;

/// Progress alone is written no more often than this.
const PACE: Duration = Duration::from_secs(1);
/// The longest pause after a status that could not be written.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What became of a write.
pub(super) enum Written {
    /// The object as it is now; ours, or that of somebody who was faster.
    Is(Box<Value>),
    /// It did not work.
    Failed(Refusal),
}

// === impl Core ===

impl Core {
    /// Writes the status when it is another one; when to look again at one that is not written yet.
    pub(super) fn publish(&mut self) -> Option<Instant> {
        let asked = self.asked()?;
        if self.accepted.is_none() && self.refused.is_none() {
            return None;
        }
        let now = Instant::now();
        if let Some(work) = &mut self.work {
            work.tracker.look(health_mode(self.phase.mode), |name| self.world.operator(name), now);
        }
        let mut report = self.report(&asked, now);
        self.keep_share(&mut report);
        let status = self.status(&asked, &report);
        if status == asked.version.status {
            self.shown = Some(report);
            return None;
        }
        let is_urgent =
            self.shown.as_ref().is_none_or(|shown| is_news(shown, &report) || shown.loaded != report.loaded);
        if self.writing.is_some() {
            return Some(now + PACE);
        }
        if now < self.next_write && (!is_urgent || self.write_failures > 0) {
            return Some(self.next_write);
        }
        let mut object = self.world.raw_version().cloned()?;
        match serde_json::to_value(&status) {
            Ok(status) => object["status"] = status,
            Err(error) => {
                tracing::error!("the status cannot be written: {error}");
                return None;
            }
        }
        self.shown = Some(report);
        self.next_write = now + PACE;
        self.writing = Some(Box::pin(write(self.server.clone(), object)));
        Some(now + PACE)
    }

    /// Work that is begun anew counts from nothing; what was done of a release is done.
    fn keep_share(&mut self, report: &mut Report) {
        let Run { done, total, .. } = report.run;
        if report.reconciling || total == 0 {
            self.most = None;
            return;
        }
        let done = match &self.most {
            Some((image, most, of)) if *image == report.actual.image && *of == total => done.max(*most),
            _ => done,
        };
        report.run.done = done;
        self.most = Some((report.actual.image.clone(), done, total));
    }

    /// Lets metrics and probes show what is known.
    pub(super) fn export(&mut self) {
        if self.is_exported || !self.world.is_known() {
            return;
        }
        self.is_exported = true;
        let version = self.world.version();
        self.host.health.ready(match &version {
            Some(_) => "at work",
            None => "at work; there is no ClusterVersion version yet",
        });
        let version = version.map_or(metrics::Version::Missing, |it| metrics::Version::Found(Box::new(it)));
        let operators = self.world.operators();
        let (install, manifests) =
            (self.world.entries(Source::Installer), self.world.entries(Source::InstallerManifests));
        let installer = metrics::Installer::of(install.as_ref(), manifests.as_ref());
        let current = self.own.clone();
        let gates = self.accepted.as_ref().map(|accepted| &accepted.choice.gates);
        let has_risks =
            gates.is_some_and(|gates| gates.is_enabled(feature_gate::CLUSTER_UPDATE_ACCEPT_RISKS));
        self.host.metrics.set(|facts| {
            facts.version = version;
            facts.operators = operators;
            facts.current = current;
            facts.installer = Some(installer);
            facts.has_risks = has_risks;
        });
        let authorities =
            self.world.entries(Source::ClientCa).and_then(|mut data| data.remove(object::CLIENT_CA_FILE));
        self.host.trust(authorities.unwrap_or_default());
    }

    /// Everything that is known about the work.
    fn report(&self, asked: &Asked, now: Instant) -> Report {
        let release = self.accepted.as_ref().map(|accepted| accepted.release.clone());
        let actual = release.unwrap_or_else(|| {
            let first = asked.first(&self.own).release;
            Release { image: first.image, version: first.version, ..Release::default() }
        });
        let mode = self.phase.mode;
        let tracker = self.work.as_ref().map(|work| &work.tracker);
        let failure = tracker
            .and_then(|tracker| tracker.failure(health_mode(mode), |name| self.world.operator(name), now));
        let ended = self.work.as_ref().and_then(|work| work.ended.as_ref());
        let failure =
            failure.or_else(|| ended.map(|why| Failure::new(reason::UPDATE_PAYLOAD_FAILED, why.clone())));
        let run = Run {
            failure,
            done: tracker.map(Tracker::done).unwrap_or_default(),
            total: tracker.map(Tracker::total).unwrap_or_default(),
            completed: self.phase.completed,
            initial: mode == Mode::Installing,
            version_hash: self.accepted.as_ref().map(|it| it.version_hash.clone()).unwrap_or_default(),
            last_progress: None,
        };
        Report {
            generation: asked.version.metadata.generation.unwrap_or_default(),
            actual,
            verified: false,
            reconciling: mode == Mode::Reconciling,
            run,
            loaded: self.loaded.clone(),
        }
    }

    fn status(&self, asked: &Asked, report: &Report) -> ClusterVersionStatus {
        let operators = self.world.operators();
        let tracker = self.work.as_ref().map(|work| &work.tracker);
        let deletions = tracker.map(Tracker::deletions).unwrap_or_default();
        let (gates, acks) = (self.world.entries(Source::AdminGates), self.world.entries(Source::AdminAcks));
        let risks = upgradeable::risks(&Facts {
            version: &asked.version,
            is_updating: !report.reconciling,
            operators: &operators,
            gates: gates.as_ref(),
            acks: acks.as_ref(),
            deletions: &deletions,
        });
        let waited = tracker.map(Tracker::waited_operators).unwrap_or_default();
        let times = StartTimes::of_api(&asked.version.status.history, &operators, &waited);
        let mut remarks: Vec<String> =
            self.accepted.iter().flat_map(|accepted| accepted.remarks.iter().cloned()).collect();
        remarks.extend(asked.wanted.remark.clone());
        remarks.extend(self.put_off(asked));
        let gates = self.accepted.as_ref().map(|accepted| &accepted.choice.gates);
        let context = Context {
            own: &self.own,
            invalid: &asked.invalid,
            upgradeable: upgradeable::condition(&risks),
            is_paused: asked.is_paused,
            remarks: &remarks,
            times: &times,
            publish_architecture: gates
                .is_some_and(|gates| gates.is_enabled(feature_gate::IMAGE_STREAM_IMPORT_MODE)),
        };
        status(&asked.version, report, &context, (self.host.clock)())
    }

    /// Says that another release is asked for, and when it is taken up.
    fn put_off(&self, asked: &Asked) -> Option<String> {
        let accepted = self.accepted.as_ref()?;
        let wanted = &asked.wanted.release;
        if wanted.image == accepted.release.image {
            return None;
        }
        let name = if wanted.version.is_empty() { &wanted.image } else { &wanted.version };
        if self.phase.mode == Mode::Installing {
            return Some(format!(
                "{name} is taken up when the installation of {} is complete",
                accepted.release.version
            ));
        }
        asked.is_paused.then(|| format!("{name} is taken up when the pause is over"))
    }

    pub(super) fn on_written(&mut self, written: Written) {
        match written {
            Written::Is(object) => {
                self.write_failures = 0;
                self.world.put(Source::Version, *object);
            }
            Written::Failed(refusal) => {
                self.write_failures += 1;
                let pause = PACE.saturating_mul(1 << self.write_failures.min(5)).min(LONGEST_PAUSE);
                self.next_write = Instant::now() + refusal.retry_after().unwrap_or_default().max(pause);
                tracing::warn!("{}", refusal.explain("the status of ClusterVersion version"));
            }
        }
    }
}

/// Puts a status in its place. When somebody was faster, gives what is there now: then it is judged anew.
async fn write(server: Server, object: Value) -> Written {
    let resource = Resource::new(group::CONFIG, "v1", kind::CLUSTER_VERSION, "clusterversions", false);
    let body = Bytes::from(object.to_string());
    let call = Call::replace(&resource, None, object::VERSION, body, DryRun::No).subresource("status");
    match server.send(call).await {
        Ok(answer) => Written::Is(Box::new(answer.object)),
        Err(Refusal::Stale) => match server.send(Call::get(&resource, None, object::VERSION)).await {
            Ok(answer) => Written::Is(Box::new(answer.object)),
            Err(refusal) => Written::Failed(refusal),
        },
        Err(refusal) => Written::Failed(refusal),
    }
}
