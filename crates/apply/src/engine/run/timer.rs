//! What happens at a certain time unless something happens before.

use std::collections::BTreeMap;

use lockstep_graph::TaskId;
use tokio::time::Instant;

use super::{Command, Phase, Run, Waited};

/// What to do when its time has come. Setting one again moves it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Give up.
    Deadline,
    /// The server may be asked again.
    Resume,
    /// Try a task again.
    Retry(TaskId),
    /// Events can be lost: try one of those that wait for this.
    Probe(Waited),
    /// Events can be lost: read the object that a task waits for.
    Look(TaskId),
    /// Repair an object.
    Repair(TaskId),
    /// A wait for something that nothing in the release provides has lasted too long.
    Unprovided(TaskId),
    /// Look why a workload is not well.
    Diagnose(TaskId),
    /// The cluster has been kept at the release for long enough.
    Hold,
}

/// All timers.
#[derive(Debug, Default)]
pub(super) struct Timers {
    at: BTreeMap<Timer, Instant>,
    order: std::collections::BTreeSet<(Instant, Timer)>,
}

// === impl Timers ===

impl Timers {
    pub(super) fn set(&mut self, at: Instant, timer: Timer) {
        self.cancel(&timer);
        self.order.insert((at, timer.clone()));
        self.at.insert(timer, at);
    }

    /// Sets a timer unless it is set.
    pub(super) fn set_once(&mut self, at: Instant, timer: Timer) {
        if !self.at.contains_key(&timer) {
            self.set(at, timer);
        }
    }

    pub(super) fn cancel(&mut self, timer: &Timer) {
        if let Some(at) = self.at.remove(timer) {
            self.order.remove(&(at, timer.clone()));
        }
    }

    pub(super) fn first(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// The next timer whose time has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<Timer> {
        if self.first()? > now {
            return None;
        }
        let (_, timer) = self.order.pop_first()?;
        self.at.remove(&timer);
        Some(timer)
    }
}

// === impl Run ===

impl Run<'_> {
    pub(super) fn on_timer(&mut self, timer: Timer) {
        match timer {
            Timer::Deadline => self.on_deadline(),
            Timer::Resume => self.wake_all(&Waited::Server),
            Timer::Retry(task) => self.retry(task),
            Timer::Probe(waited) => self.probe(&waited),
            Timer::Look(task) => self.look(task),
            // The pump looks what is due, and whether it is over.
            Timer::Repair(_) | Timer::Hold => {}
            Timer::Unprovided(task) => self.escalate(task),
            Timer::Diagnose(task) => {
                if let Some(resource) = self.resource(task).filter(|_| self.is_worth_a_diagnosis(task)) {
                    self.commands.push(Command::Diagnose(task, resource));
                }
            }
        }
    }

    fn retry(&mut self, task: TaskId) {
        if matches!(self.tracks[task].phase, Phase::Failed | Phase::GivenUp | Phase::Parked) {
            self.wake(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_timer_that_is_set_again_moves() {
        let (mut timers, now) = (Timers::default(), Instant::now());
        let later = |seconds| now + Duration::from_secs(seconds);
        timers.set(later(1), Timer::Retry(1));
        timers.set(later(2), Timer::Deadline);
        timers.set(later(3), Timer::Retry(1));
        timers.set_once(later(9), Timer::Deadline);
        assert_eq!(timers.first(), Some(later(2)));
        assert_eq!(timers.due(later(1)), None);
        assert_eq!(timers.due(later(9)), Some(Timer::Deadline));
        assert_eq!(timers.due(later(9)), Some(Timer::Retry(1)));
        assert_eq!(timers.due(later(9)), None);
    }
}
