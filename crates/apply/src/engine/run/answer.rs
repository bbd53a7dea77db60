//! What the answers of the server mean for tasks.

use std::time::Duration;

use lockstep_api::names::kind;
use lockstep_graph::{TaskId, Treatment};
use lockstep_health::{self as health, Why};

use super::timer::Timer;
use super::wait::Waited;
use super::{Brought, Live, Phase, Run, Stopped, doubling};
use crate::compare::fingerprint;
use crate::progress::{Happening, Verb, Wait, WaitReason};
use crate::refusal::Refusal;

/// After how many failures in a row a task is given up.
const MOST_FAILURES: u32 = 6;
/// First and longest pause after a failure.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));
/// First and longest pause after something that is usually over at once.
const SOON: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// First and longest pause while the server does not answer.
const OUTAGE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));
/// When a task that was given up is tried again.
const ANOTHER_CHANCE: Duration = Duration::from_mins(5);

// === impl Run ===

impl Run<'_> {
    pub(super) fn on_brought(&mut self, task: TaskId, outcome: Result<Brought, Stopped>) {
        self.under_way.remove(&task);
        match outcome {
            Ok(brought) => {
                self.answered();
                self.brought(task, &brought);
            }
            Err(stopped) => {
                self.writes += stopped.writes;
                // Whoever is not let in gets no answer that means anything, however fast it comes.
                let is_outage = matches!(
                    stopped.refusal,
                    Refusal::Busy { .. }
                        | Refusal::Unreachable { .. }
                        | Refusal::Tls { .. }
                        | Refusal::Unauthorized { .. }
                );
                if !is_outage {
                    self.answered();
                }
                self.refused(task, &stopped.refusal);
            }
        }
    }

    fn answered(&mut self) {
        self.outages = 0;
        let under_way = self.under_way.len();
        if let Some(limit) = self.pace.answered(self.now, under_way) {
            self.tell(Happening::Concurrency { limit });
        }
    }

    fn brought(&mut self, task: TaskId, brought: &Brought) {
        self.writes += brought.writes;
        let item = &self.plan.items[task];
        let version = brought.live["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        let is_newer = is_newer(self.tracks[task].version.as_deref(), version.as_deref());
        // A watch may already have told about a later change.
        if !is_newer {
            self.tracks[task].version = version;
            self.tracks[task].verdict = Some(health::of(&brought.live));
            self.tracks[task].live = if item.treatment == Treatment::CreateOnly {
                Live::Present
            } else {
                let kept = [&*brought.overridden, &*brought.returning].concat();
                if kept.is_empty() {
                    Live::Equal
                } else {
                    Live::Overridden(fingerprint(&item.body.object(), &brought.live, &kept))
                }
            };
        }
        if !brought.overridden.is_empty() {
            self.tell(Happening::Overridden {
                object: item.title.clone(),
                fields: brought.overridden.clone(),
            });
        }
        self.is_there(task);
        let is_well = self.tracks[task].verdict.as_ref().is_some_and(health::Verdict::is_good);
        if is_well && item.id.kind == kind::CUSTOM_RESOURCE_DEFINITION {
            self.now_served(&brought.live);
        }
        if self.tracks[task].phase == Phase::Done {
            self.repaired(task);
            return;
        }
        self.tell(match brought.verb {
            Some(verb) => Happening::Applied { task, verb },
            None => Happening::Unchanged { task },
        });
        if let Live::Different { .. } = self.tracks[task].live {
            // Changed by somebody since: the task is done, the rest is drift.
            self.settle(task);
            self.look_at_drift(task);
            return;
        }
        self.settle(task);
    }

    /// The object of a task exists: so do its kind and its namespace.
    fn is_there(&mut self, task: TaskId) {
        let item = &self.plan.items[task];
        if let Some(resource) = self.resource(task) {
            self.kinds.insert(resource);
        }
        self.wake_all(&Waited::Kind(item.api_version.clone(), item.id.kind.clone()));
        if !item.id.namespace.is_empty() {
            self.wake_all(&Waited::Namespace(item.id.namespace.clone()));
        }
    }

    pub(super) fn on_removed(&mut self, task: TaskId, outcome: Result<(), Refusal>) {
        self.under_way.remove(&task);
        match outcome {
            Ok(()) => {
                self.answered();
                self.writes += 1;
                if self.tracks[task].phase == Phase::Done {
                    self.repaired(task);
                    return;
                }
                self.tell(Happening::Applied { task, verb: Verb::Deleted });
                if self.tracks[task].live == Live::Absent {
                    self.finish_removal(task);
                } else {
                    let title = &self.plan.items[task].title;
                    self.park_for_removal(task, format!("{title} is being deleted"));
                }
            }
            Err(refusal) => self.refused(task, &refusal),
        }
    }

    pub(super) fn on_diagnosed(&mut self, task: TaskId, why: Option<Why>) {
        if self.tracks[task].diagnosis != why {
            self.tracks[task].diagnosis = why;
            self.check_gates_of_component(task);
        }
        if self.is_worth_a_diagnosis(task) {
            self.timers.set(self.now + Duration::from_secs(30), Timer::Diagnose(task));
        }
    }

    /// The server said no: what that means for the task.
    fn refused(&mut self, task: TaskId, refusal: &Refusal) {
        if self.tracks[task].phase == Phase::Done {
            self.repair_refused(task, refusal);
            return;
        }
        let item = &self.plan.items[task];
        let title = item.title.clone();
        let of_this_kind = Waited::Kind(item.api_version.clone(), item.id.kind.clone());
        let of_kind = (item.id.group.clone(), item.id.kind.clone());
        let waits = |reason, sentence| Wait { reason, sentence, provider: None };
        match refusal {
            Refusal::KindNotServed => {
                self.kinds.remove(&item.api_version, &item.id.kind);
                let provider = self.plan.definitions.get(&of_kind).copied();
                let wait = self.kind_wait(task, provider);
                let is_established = provider.and_then(|provider| self.tracks[provider].verdict.as_ref());
                if is_established.is_some_and(health::Verdict::is_good) {
                    // The server needs a moment between saying so and doing so.
                    self.park_until_later(task, wait.reason, wait.sentence, SOON);
                } else {
                    self.park(task, of_this_kind, wait);
                }
            }
            Refusal::NamespaceMissing { name } => {
                let wait = self.namespace_wait(task, name);
                self.park(task, Waited::Namespace(name.clone()), wait);
            }
            Refusal::NamespaceTerminating { .. } => {
                let wait = waits(WaitReason::NamespaceMissing, refusal.explain(&title));
                self.park(task, Waited::Namespace(item.id.namespace.clone()), wait);
            }
            Refusal::DefinitionTerminating => {
                self.park(task, of_this_kind, waits(WaitReason::KindNotServed, refusal.explain(&title)));
            }
            Refusal::ApiUnavailable => {
                self.park_until_later(task, WaitReason::ApiUnavailable, refusal.explain(&title), RETRY);
            }
            Refusal::WebhookUnavailable { .. } | Refusal::ConversionWebhookUnavailable { .. } => {
                self.park_until_later(task, WaitReason::WebhookUnavailable, refusal.explain(&title), RETRY);
            }
            Refusal::Busy { .. }
            | Refusal::Unreachable { .. }
            | Refusal::Tls { .. }
            | Refusal::Unauthorized { .. } => {
                self.server_refused(refusal);
                self.park(task, Waited::Server, waits(WaitReason::ServerBusy, refusal.explain(&title)));
            }
            // Usually over at once: somebody wrote at the same time, or the server has not read its own schema yet.
            Refusal::Stale | Refusal::AlreadyExists | Refusal::Undeclared { field: Some(_), .. }
                if self.tracks[task].failures < MOST_FAILURES =>
            {
                self.park_until_later(task, WaitReason::ServerBusy, refusal.explain(&title), SOON);
            }
            _ => self.fail(task, refusal.reason(), refusal.explain(&title), false),
        }
    }

    /// The server does not answer, or asks for fewer requests.
    pub(super) fn server_refused(&mut self, refusal: &Refusal) {
        let pause = refusal.retry_after().unwrap_or_else(|| doubling(OUTAGE.0, self.outages, OUTAGE.1));
        // Many requests fail at once in one outage; it counts once.
        if self.pace.held_until(self.now).is_none() {
            self.outages += 1;
        }
        if let Some(limit) = self.pace.refused(self.now, pause) {
            self.tell(Happening::Concurrency { limit });
        }
        if let Some(until) = self.pace.held_until(self.now) {
            self.timers.set(until, Timer::Resume);
        }
    }

    /// Nothing tells when to go on: the clock does.
    fn park_until_later(
        &mut self,
        task: TaskId,
        reason: WaitReason,
        sentence: String,
        pause: (Duration, Duration),
    ) {
        let at = self.now + doubling(pause.0, self.tracks[task].failures, pause.1);
        self.tracks[task].failures += 1;
        self.park(task, Waited::Clock(task), Wait { reason, sentence, provider: None });
        self.timers.set(at, Timer::Retry(task));
    }

    /// A task failed. It is tried again, ever more rarely. Once it is given up nobody waits for it, but as long as there is
    /// something else to do it gets another chance now and then: who had to mend it may have done so.
    pub(super) fn fail(&mut self, task: TaskId, reason: &str, sentence: String, is_final: bool) {
        self.leave_wait(task);
        let failures = self.tracks[task].failures + 1;
        self.tracks[task].failures = failures;
        let is_final = is_final || failures >= MOST_FAILURES;
        let pause = if is_final { ANOTHER_CHANCE } else { doubling(RETRY.0, failures - 1, RETRY.1) };
        let at = self.now + pause;
        self.tracks[task].phase = if is_final { Phase::GivenUp } else { Phase::Failed };
        let moved = self.frontier.fail(self.node_of[task], sentence.clone());
        debug_assert!(moved.is_ok(), "{moved:?}");
        if self.plan.items[task].flaw.is_none() {
            self.timers.set(at, Timer::Retry(task));
        }
        let retry_at = (!is_final).then(|| self.seconds(at));
        self.tell(Happening::Failed { task, reason: reason.to_owned(), sentence, retry_at });
    }
}

/// Whether a version is known to come after another. They are numbers, although nobody promises that for ever.
pub(super) fn is_newer(version: Option<&str>, than: Option<&str>) -> bool {
    match (version.and_then(|text| text.parse::<u64>().ok()), than.and_then(|text| text.parse::<u64>().ok()))
    {
        (Some(version), Some(than)) => version > than,
        _ => false,
    }
}
