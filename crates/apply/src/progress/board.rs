//! Where a run stands: the fold of its events.
//!
//! A [`Board`] has no clock and asks nobody: the same events give the same board, live or from a recording.

mod entries;

use std::collections::{BTreeMap, BTreeSet};

pub use entries::{Compared, Drift, Ending, Fight, LevelProgress, State, TaskProgress, WaitRecord};

use super::{Event, Happening, Level, ObjectText, PlannedTask, Seconds, Verb, Wait};

/// Remarks and overridden objects that are kept; a run that goes on for months must not grow.
const KEPT: usize = 200;

/// Where a run stands.
#[derive(Debug, Clone, Default)]
pub struct Board {
    version: String,
    mode: String,
    now: Seconds,
    tasks: Vec<TaskProgress>,
    levels: Vec<LevelProgress>,
    /// Tasks that are neither pending nor done.
    open: BTreeSet<usize>,
    waits: Vec<WaitRecord>,
    /// Places in `waits`, and so in the order in which they began.
    open_waits: BTreeSet<usize>,
    /// Of each task that waits, its place in `waits`.
    wait_of: BTreeMap<usize, usize>,
    done: usize,
    retries: usize,
    failures: BTreeMap<String, usize>,
    writes: BTreeMap<Verb, usize>,
    compared: Option<Compared>,
    concurrency: Option<usize>,
    drifts: BTreeMap<ObjectText, Drift>,
    fights: BTreeMap<(ObjectText, String), Fight>,
    overridden: BTreeMap<ObjectText, Vec<String>>,
    orphans: BTreeSet<ObjectText>,
    remarks: Vec<(Seconds, String)>,
    ended: Option<Ending>,
}

// === impl Board: the fold ===

impl Board {
    /// A board before the first event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in one event. A task that the run does not have is passed over: a recording may be anybody's.
    pub fn on(&mut self, event: &Event) {
        let at = event.at;
        self.now = self.now.max(at);
        match &event.what {
            Happening::Began { version, mode, tasks, levels } => {
                *self = Self::began(version, mode, tasks, levels);
                self.now = at;
            }
            Happening::Compared { equal, different, missing } => {
                self.compared = Some(Compared { equal: *equal, different: *different, missing: *missing });
            }
            Happening::Started { task } | Happening::Woke { task } => self.run(*task, at),
            Happening::Retried { task, .. } => {
                self.retries += 1;
                self.run(*task, at);
            }
            Happening::Applied { task, verb } => {
                *self.writes.entry(*verb).or_default() += 1;
                if let Some(task) = self.tasks.get_mut(*task) {
                    task.verb = Some(*verb);
                }
            }
            Happening::Unchanged { .. } => {}
            Happening::Waiting { task, wait } => self.wait(*task, wait, at),
            Happening::Failed { task, reason, sentence, retry_at } => {
                let (reason, sentence) = (reason.clone(), sentence.clone());
                *self.failures.entry(reason.clone()).or_default() += 1;
                if let Some(task) = self.tasks.get_mut(*task) {
                    task.failures += 1;
                }
                self.become_state(*task, State::Failed { at, reason, sentence, retry_at: *retry_at });
            }
            Happening::Done { task } => self.become_state(*task, State::Done { at }),
            Happening::Concurrency { limit } => self.concurrency = Some(*limit),
            Happening::Ended { outcome, missing, writes } => {
                let missing = missing.clone();
                self.ended = Some(Ending { at, outcome: *outcome, missing, writes: *writes });
            }
            aside => self.note(at, aside),
        }
    }

    fn began(version: &str, mode: &str, tasks: &[PlannedTask], levels: &[Level]) -> Self {
        let mut board = Self { version: version.to_owned(), mode: mode.to_owned(), ..Self::default() };
        board.tasks = tasks.iter().cloned().map(TaskProgress::new).collect();
        for (place, level) in levels.iter().enumerate() {
            let mut total = 0;
            for task in &level.tasks {
                if let Some(task) = board.tasks.get_mut(*task) {
                    task.level = Some(place);
                    total += 1;
                }
            }
            board.levels.push(LevelProgress { name: level.name.clone(), total, ..Default::default() });
        }
        board
    }

    /// What belongs to an object or to nobody, not to a task.
    fn note(&mut self, at: Seconds, what: &Happening) {
        match what {
            Happening::Drifted { object, fields, managers } => {
                let drift = self.drifts.entry(object.clone()).or_default();
                drift.times += 1;
                drift.fields.clone_from(fields);
                drift.managers.clone_from(managers);
            }
            Happening::Repaired { object, seconds } => {
                let drift = self.drifts.entry(object.clone()).or_default();
                drift.repaired += 1;
                drift.slowest = drift.slowest.max(*seconds);
            }
            Happening::Fighting { object, field, manager, rounds, next_at } => {
                let (object, field, manager) = (object.clone(), field.clone(), manager.clone());
                let key = (object.clone(), field.clone());
                let (rounds, next_at) = (*rounds, *next_at);
                self.fights.insert(key, Fight { object, field, manager, rounds, next_at });
            }
            Happening::Overridden { object, fields } if self.overridden.len() < KEPT => {
                self.overridden.insert(object.clone(), fields.clone());
            }
            Happening::Orphan { object } => {
                self.orphans.insert(object.clone());
            }
            Happening::Remark { sentence } => {
                if self.remarks.len() == KEPT {
                    self.remarks.remove(0);
                }
                self.remarks.push((at, sentence.clone()));
            }
            _ => {}
        }
    }

    fn run(&mut self, task: usize, at: Seconds) {
        // Woken by its event, a task goes on; it did not begin again.
        let is_running = self.tasks.get(task).is_some_and(|task| matches!(task.state, State::Running { .. }));
        if !is_running {
            self.become_state(task, State::Running { since: at });
        }
    }

    fn wait(&mut self, task: usize, wait: &Wait, at: Seconds) {
        let same = self.wait_of.get(&task).filter(|place| self.waits[**place].wait.reason == wait.reason);
        if let Some(&place) = same {
            // Another sentence about the same thing: the wait goes on.
            self.waits[place].wait = wait.clone();
            if let Some(TaskProgress { state: State::Waiting { wait: known, .. }, .. }) =
                self.tasks.get_mut(task)
            {
                known.clone_from(wait);
            }
            return;
        }
        if task < self.tasks.len() {
            self.become_state(task, State::Waiting { since: at, wait: wait.clone() });
            self.open_waits.insert(self.waits.len());
            self.wait_of.insert(task, self.waits.len());
            self.waits.push(WaitRecord { task, wait: wait.clone(), since: at, until: None });
        }
    }

    /// Moves a task to another state and keeps every count right; an open wait of it ends.
    fn become_state(&mut self, place: usize, state: State) {
        let at = state.began(self.now);
        let Some(task) = self.tasks.get_mut(place) else { return };
        let (was_open, was_done) = (task.state.is_open(), task.state.is_done());
        let (is_open, is_done) = (state.is_open(), state.is_done());
        if let Some(wait) = self.wait_of.remove(&place) {
            self.waits[wait].until = Some(at);
            self.open_waits.remove(&wait);
        }
        task.state = state;
        task.started = task.started.or(Some(at));
        if is_done {
            task.done = Some(at);
        }
        let level = task.level.and_then(|level| self.levels.get_mut(level));
        if let Some(level) = level {
            level.started = level.started.or(Some(at));
            level.open = level.open + usize::from(is_open) - usize::from(was_open);
            level.done = level.done + usize::from(is_done) - usize::from(was_done);
            if is_done {
                level.last_done = Some(at);
            }
        }
        self.done = self.done + usize::from(is_done) - usize::from(was_done);
        if is_open {
            self.open.insert(place);
        } else {
            self.open.remove(&place);
        }
    }
}

// === impl Board: what views ask ===

impl Board {
    /// Version of the release.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// `installing`, `updating` or `reconciling`.
    pub fn mode(&self) -> &str {
        &self.mode
    }

    /// When the latest event happened.
    pub fn now(&self) -> Seconds {
        self.now
    }

    /// All tasks, by their place.
    pub fn tasks(&self) -> &[TaskProgress] {
        &self.tasks
    }

    /// The run levels in order.
    pub fn levels(&self) -> &[LevelProgress] {
        &self.levels
    }

    /// How many tasks are done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// The part that is done in percent, truncated as the reference does it.
    pub fn percent(&self) -> usize {
        (self.done * 100).checked_div(self.tasks.len()).unwrap_or(0)
    }

    /// Tasks whose requests are under way, in the order of the release.
    pub fn running(&self) -> impl Iterator<Item = (usize, &TaskProgress)> {
        self.opened().filter(|(_, task)| matches!(task.state, State::Running { .. }))
    }

    /// Tasks that failed and are not yet tried again, in the order of the release.
    pub fn failed(&self) -> impl Iterator<Item = (usize, &TaskProgress)> {
        self.opened().filter(|(_, task)| matches!(task.state, State::Failed { .. }))
    }

    /// Tasks that are running, waiting or failed, in the order of the release.
    pub fn opened(&self) -> impl Iterator<Item = (usize, &TaskProgress)> {
        self.open.iter().map(|place| (*place, &self.tasks[*place]))
    }

    /// Every wait so far, in the order in which they began.
    pub fn waits(&self) -> &[WaitRecord] {
        &self.waits
    }

    /// What is waited for now, the longest wait first.
    pub fn open_waits(&self) -> impl ExactSizeIterator<Item = &WaitRecord> {
        self.open_waits.iter().map(|place| &self.waits[*place])
    }

    /// How often each sort of write happened.
    pub fn writes(&self) -> &BTreeMap<Verb, usize> {
        &self.writes
    }

    /// How often a task was tried again.
    pub fn retries(&self) -> usize {
        self.retries
    }

    /// How often tasks failed, per reason.
    pub fn failures(&self) -> &BTreeMap<String, usize> {
        &self.failures
    }

    /// What the first comparison found, once it is known.
    pub fn compared(&self) -> Option<Compared> {
        self.compared
    }

    /// How many requests may be under way at once, once it is known.
    pub fn concurrency(&self) -> Option<usize> {
        self.concurrency
    }

    /// Objects that somebody changed after they were applied.
    pub fn drifts(&self) -> &BTreeMap<ObjectText, Drift> {
        &self.drifts
    }

    /// Fields that are fought over.
    pub fn fights(&self) -> impl Iterator<Item = &Fight> {
        self.fights.values()
    }

    /// Objects in which admission overrides the release, and the paths.
    pub fn overridden(&self) -> &BTreeMap<ObjectText, Vec<String>> {
        &self.overridden
    }

    /// Objects of this set that no manifest names.
    pub fn orphans(&self) -> &BTreeSet<ObjectText> {
        &self.orphans
    }

    /// Lines that belong to no task, with their moment.
    pub fn remarks(&self) -> &[(Seconds, String)] {
        &self.remarks
    }

    /// How it ended, once it has.
    pub fn ended(&self) -> Option<&Ending> {
        self.ended.as_ref()
    }
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
