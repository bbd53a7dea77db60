//! When a run is over, and what it says then.

use lockstep_graph::{State, TaskId};
use tokio::time::Instant;

use super::super::Ending;
use super::timer::Timer;
use super::{Command, Phase, Run};
use crate::progress::{Happening, Outcome, WaitReason};
use crate::record;
use crate::refusal::Refusal;

/// How many things that are missing are told one by one.
const MOST_TOLD: usize = 20;

// === impl Run ===

impl Run<'_> {
    /// Ends the run when nothing is left to do, or nothing can be done.
    pub(super) fn check_ending(&mut self) {
        if self.ending.is_some() {
            return;
        }
        if self.frontier.is_done() {
            if !self.is_at_rest() {
                return;
            }
            let converged = self.converged.unwrap_or_else(|| self.converge());
            if self.is_recording {
                return;
            }
            let Some(hold) = self.options.hold else { return };
            let until = converged + hold;
            if self.now >= until {
                let fights = self.open_fights();
                let outcome = if fights.is_empty() { Outcome::Converged } else { Outcome::Failed };
                self.end(outcome, fights);
            } else {
                self.timers.set_once(until, Timer::Hold);
            }
            return;
        }
        let is_hopeless = self.under_way.is_empty()
            && self.tracks.iter().enumerate().all(|(task, track)| match track.phase {
                Phase::Done | Phase::GivenUp => true,
                Phase::Pending => {
                    *self.frontier.state(self.node_of[task]) == State::Blocked || self.is_behind(task)
                }
                Phase::Parked => self.waits_in_vain(task),
                Phase::Asking | Phase::Failed => false,
            });
        if is_hopeless {
            let missing = self.missing_lines();
            self.end(Outcome::Failed, missing);
        }
    }

    /// Everything is as it should be for the first time. The cluster remembers it, unless it does already.
    fn converge(&mut self) -> Instant {
        self.converged = Some(self.now);
        let known = self.options.record.as_ref().map(|record| record.completed.as_ref());
        if known.is_some_and(|completed| completed != Some(&self.plan.version))
            && self.open_fights().is_empty()
        {
            self.is_recording = true;
            self.commands.push(Command::Record);
        }
        self.now
    }

    /// The cluster was told. What is there is right in any case; the next run may only take it for an installation.
    pub(super) fn on_recorded(&mut self, outcome: Result<(), Refusal>) {
        self.is_recording = false;
        match outcome {
            Ok(()) => self.writes += 1,
            Err(refusal) => {
                let refused = refusal.explain(&record::title(&self.plan.set));
                let sentence = format!(
                    "{refused}. The cluster does not remember that {} is complete; give the next run `--mode updating`",
                    self.plan.version
                );
                self.tell(Happening::Remark { sentence });
            }
        }
    }

    /// The time to get there is over. Who got there stays for as long as it should, and has the same time again to end.
    pub(super) fn on_deadline(&mut self) {
        match (self.converged, self.options.hold, self.options.timeout) {
            (Some(_), None, _) => {}
            (Some(converged), Some(hold), Some(timeout)) if self.now < converged + hold => {
                self.timers.set(converged + hold + timeout, Timer::Deadline);
            }
            _ => self.give_up(),
        }
    }

    /// Ends the run as it is.
    fn give_up(&mut self) {
        let has_failed =
            self.tracks.iter().any(|track| matches!(track.phase, Phase::Failed | Phase::GivenUp));
        let missing = self.missing_lines();
        let is_converged = self.frontier.is_done();
        let outcome = match (is_converged, missing.is_empty(), has_failed) {
            (true, true, _) => Outcome::Converged,
            (_, _, true) => Outcome::Failed,
            _ => Outcome::TimedOut,
        };
        self.end(outcome, missing);
    }

    fn end(&mut self, outcome: Outcome, missing: Vec<String>) {
        let ending = Ending {
            outcome,
            missing: missing.clone(),
            orphans: self.orphans.values().cloned().collect(),
            writes: self.writes,
        };
        self.tell(Happening::Ended { outcome, missing, writes: self.writes });
        self.ending = Some(ending);
    }

    /// Whether a task waits for what another one would bring that was given up.
    fn waits_in_vain(&self, task: TaskId) -> bool {
        let provider = |task: TaskId| self.tracks[task].wait.as_ref().and_then(|(wait, _)| wait.provider);
        // A chain of waits that leads to itself is a deadlock, which is named when the time is over.
        let mut chain = std::iter::successors(provider(task), |next| provider(*next)).take(self.tracks.len());
        chain.any(|provider| self.tracks[provider].phase == Phase::GivenUp)
    }

    /// Whether a task comes after another one of its node that is not done.
    fn is_behind(&self, task: TaskId) -> bool {
        self.frontier.task(self.node_of[task]) != Some(task)
    }

    /// For everything that is missing: what, since when, why, and how much it holds up.
    fn missing_lines(&self) -> Vec<String> {
        let mut roots: Vec<(usize, String)> = Vec::new();
        for (task, track) in self.tracks.iter().enumerate() {
            let (sentence, since) = match (track.phase, &track.wait) {
                (Phase::Parked, Some((wait, since))) => {
                    let cycle = self.cycle(task, wait.reason, wait.provider);
                    (format!("{}{cycle}", wait.sentence), Some(*since))
                }
                (Phase::Failed | Phase::GivenUp, _) => match self.frontier.state(self.node_of[task]) {
                    State::Failed(sentence) => (sentence.clone(), None),
                    _ => continue,
                },
                (Phase::Asking, _) => (format!("{} is being applied", self.plan.items[task].title), None),
                _ => continue,
            };
            let holds_up = self.holds_up(task);
            let mut line = sentence;
            if let Some(since) = since {
                line += " (for ";
                line += &duration(self.now.duration_since(since).as_secs());
                line.push(')');
            }
            if holds_up > 0 {
                let noun = if holds_up == 1 { "task" } else { "tasks" };
                line = format!("{line}; {holds_up} {noun} wait behind it");
            }
            roots.push((holds_up, line));
        }
        // What holds up most comes first.
        roots.sort_by_key(|(holds_up, _)| std::cmp::Reverse(*holds_up));
        let more = roots.len().saturating_sub(MOST_TOLD);
        let mut lines: Vec<String> = roots.into_iter().take(MOST_TOLD).map(|(_, line)| line).collect();
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.extend(self.open_fights());
        lines
    }

    fn open_fights(&self) -> Vec<String> {
        let line = |(task, field, fight): (usize, &str, &super::super::fights::Fight)| {
            format!(
                "{}: {} is changed again and again by {:?} after {:?} has written it ({} times); one of the two must stop: \
                 change the release, set an override for the object, or stop the other writer",
                self.plan.items[task].title,
                field,
                fight.manager,
                crate::FIELD_MANAGER,
                fight.rounds
            )
        };
        self.fights.open(self.now).map(line).collect()
    }

    /// How many tasks cannot start before this one is done.
    fn holds_up(&self, task: TaskId) -> usize {
        let node = self.node_of[task];
        let mut nodes = vec![node];
        let mut seen = std::collections::BTreeSet::from([node]);
        let own = self.plan.graph.nodes[node]
            .tasks
            .iter()
            .filter(|other| self.tracks[**other].phase != Phase::Done);
        let mut count = own.count().saturating_sub(1);
        while let Some(node) = nodes.pop() {
            for after in &self.plan.graph.nodes[node].after {
                if seen.insert(*after) {
                    count += self.plan.graph.nodes[*after].tasks.len();
                    nodes.push(*after);
                }
            }
        }
        count
    }

    /// Says so when what a task waits for cannot come before the task is done.
    fn cycle(&self, task: TaskId, reason: WaitReason, provider: Option<TaskId>) -> String {
        let comes_after = |other: TaskId| {
            let node = self.node_of[other];
            if node == self.node_of[task] {
                return self.tracks[other].phase == Phase::Pending;
            }
            self.frontier.blocked(node).iter().any(|link| link.task == Some(task))
        };
        let blocked = match (reason, provider) {
            (_, Some(provider)) => Some(provider).filter(|provider| comes_after(*provider)),
            (
                WaitReason::OperatorNotAvailable
                | WaitReason::OperatorUpdating
                | WaitReason::OperatorDegraded,
                None,
            ) => self.workloads_of(task).into_iter().find(|workload| comes_after(*workload)),
            _ => None,
        };
        let Some(other) = blocked else { return String::new() };
        let (one, two) = (&self.plan.items[task].title, &self.plan.items[other].title);
        format!(
            ". This is a deadlock: {one} waits for {two} ({}), which waits for {one} ({}). Let the file of {two} sort before \
             that of {one}",
            self.plan.graph.tasks[other].file, self.plan.graph.tasks[task].file
        )
    }
}

pub(super) fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, _) if minutes < 60 => format!("{minutes} min"),
        (minutes, _) => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}
