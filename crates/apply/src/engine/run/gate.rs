//! ClusterOperators that must be well before anything after them starts.

use std::time::Duration;

use lockstep_api::ResourceId;
use lockstep_api::names::{kind, reason};
use lockstep_graph::{Role, State, TaskId};
use lockstep_health::{self as health, Verdict, Why};

use super::super::health_mode;
use super::timer::Timer;
use super::wait::Waited;
use super::{Phase, Run};
use crate::progress::{Happening, Wait, WaitReason};

/// After how long a workload that is not well is looked at more closely.
const PATIENCE: Duration = Duration::from_secs(10);

// === impl Run ===

impl Run<'_> {
    /// Opens a gate, or says why it is shut.
    pub(super) fn check_gate(&mut self, task: TaskId) {
        let item = &self.plan.items[task];
        let Some(expected) = &item.expected else {
            self.finish(task);
            return;
        };
        let gate =
            health::gate(&expected.object(), self.operators.get(&item.id), health_mode(self.plan.mode));
        match gate.verdict {
            Verdict::Good => {
                if let Some(remark) = gate.remark {
                    self.tell(Happening::Remark { sentence: remark.sentence });
                }
                self.finish(task);
            }
            Verdict::Bad(why) => self.fail(task, &why.reason, why.sentence, true),
            Verdict::NotYet(why) => {
                let waited = Waited::Operator(item.id.clone());
                let sentence = format!("{}{}", why.sentence, self.what_its_workloads_show(task));
                self.park(task, waited, Wait { reason: reason_of(&why), sentence, provider: None });
            }
        }
    }

    /// A ClusterOperator changed.
    pub(super) fn operator_changed(&mut self, id: &ResourceId) {
        let waiting = self.waiting.get(&Waited::Operator(id.clone())).cloned().unwrap_or_default();
        for task in waiting {
            self.check_gate(task);
        }
    }

    /// A workload changed: gates of its component say so.
    pub(super) fn check_gates_of_component(&mut self, workload: TaskId) {
        let component = self.plan.graph.tasks[workload].component();
        let is_concerned = |task: &TaskId| {
            self.plan.items[*task].role == Role::Gate
                && self.tracks[*task].phase == Phase::Parked
                && self.plan.graph.tasks[*task].component() == component
        };
        let gates: Vec<TaskId> = (0..self.plan.items.len()).filter(is_concerned).collect();
        for task in gates {
            if self.waiting.contains_key(&Waited::Operator(self.plan.items[task].id.clone())) {
                self.check_gate(task);
            }
        }
    }

    /// What the workloads of a gate's component tell about why the operator does not report.
    fn what_its_workloads_show(&mut self, gate: TaskId) -> String {
        let mut shown = String::new();
        for task in self.workloads_of(gate) {
            let track = &self.tracks[task];
            let title = &self.plan.items[task].title;
            let text = match (&track.phase, &track.verdict, &track.diagnosis) {
                (_, Some(Verdict::NotYet(_) | Verdict::Bad(_)), Some(deeper)) => deeper.sentence.clone(),
                (_, Some(Verdict::NotYet(why) | Verdict::Bad(why)), None) => {
                    self.timers.set_once(self.now + PATIENCE, Timer::Diagnose(task));
                    why.sentence.clone()
                }
                (Phase::Pending, ..) if *self.frontier.state(self.node_of[task]) == State::Blocked => {
                    format!("{title} comes only after it")
                }
                (Phase::Parked | Phase::Failed | Phase::GivenUp, ..) => match &track.wait {
                    Some((wait, _)) => wait.sentence.clone(),
                    None => format!("{title} could not be applied"),
                },
                _ => continue,
            };
            shown.push_str("; ");
            shown.push_str(&text);
        }
        shown
    }

    /// The workloads of the same component, in order.
    pub(super) fn workloads_of(&self, gate: TaskId) -> Vec<TaskId> {
        let component = self.plan.graph.tasks[gate].component();
        let is_workload = |task: &TaskId| {
            let item = &self.plan.items[*task];
            matches!(
                item.id.kind.as_str(),
                kind::DEPLOYMENT | kind::DAEMON_SET | kind::STATEFUL_SET | kind::JOB
            ) && self.plan.graph.tasks[*task].component() == component
        };
        (0..self.plan.items.len()).filter(|_| component.is_some()).filter(is_workload).collect()
    }

    /// Whether anybody would read why a workload is not well.
    pub(super) fn is_worth_a_diagnosis(&self, workload: TaskId) -> bool {
        let is_unwell = self.tracks[workload].verdict.as_ref().is_some_and(|verdict| !verdict.is_good());
        let component = self.plan.graph.tasks[workload].component();
        let waits = |(item, task): (&super::super::plan::Item, &lockstep_graph::Task)| {
            item.role == Role::Gate && task.component() == component
        };
        is_unwell
            && self
                .plan
                .items
                .iter()
                .zip(&self.plan.graph.tasks)
                .enumerate()
                .any(|(task, pair)| waits(pair) && self.tracks[task].phase == Phase::Parked)
    }
}

fn reason_of(why: &Why) -> WaitReason {
    match why.reason.as_str() {
        reason::CLUSTER_OPERATOR_DEGRADED => WaitReason::OperatorDegraded,
        reason::CLUSTER_OPERATOR_UPDATING => WaitReason::OperatorUpdating,
        _ => WaitReason::OperatorNotAvailable,
    }
}
