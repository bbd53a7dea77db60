//! What a board has: tasks, levels, waits and everything else that views show.

use serde::{Deserialize, Serialize};

use super::super::{ObjectText, Outcome, PlannedTask, Seconds, Step, Verb, Wait};

/// One task and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskProgress {
    /// The task.
    pub plan: PlannedTask,
    /// Place of its level.
    pub level: Option<usize>,
    /// Where it stands.
    pub state: State,
    /// When it was started first.
    pub started: Option<Seconds>,
    /// When it was done last.
    pub done: Option<Seconds>,
    /// What was done to the object last.
    pub verb: Option<Verb>,
    /// How often it failed.
    pub failures: usize,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It waits for its turn.
    Pending,
    /// Requests are under way, or its verdict is.
    Running {
        /// Since when.
        since: Seconds,
    },
    /// It waits for something outside.
    Waiting {
        /// Since when.
        since: Seconds,
        /// For what, and why.
        wait: Wait,
    },
    /// It failed; a retry makes it running.
    Failed {
        /// When.
        at: Seconds,
        /// One word for machines.
        reason: String,
        /// What is wrong and what to do.
        sentence: String,
        /// When it is tried again; none when it is not.
        retry_at: Option<Seconds>,
    },
    /// It is done.
    Done {
        /// When.
        at: Seconds,
    },
}

/// One run level and where it stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LevelProgress {
    /// Its name.
    pub name: String,
    /// How many tasks it has.
    pub total: usize,
    /// How many of them are done.
    pub done: usize,
    /// How many are running, waiting or failed.
    pub open: usize,
    /// When its first task was started.
    pub started: Option<Seconds>,
    /// When its last task was done.
    pub last_done: Option<Seconds>,
}

/// A task that waited, or waits, for one sort of thing.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitRecord {
    /// Which task.
    pub task: usize,
    /// For what; the sentence is the latest.
    pub wait: Wait,
    /// From when on.
    pub since: Seconds,
    /// Until when; none while it lasts.
    pub until: Option<Seconds>,
}

/// What the first comparison with the cluster found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// Objects that are as they should be.
    pub equal: usize,
    /// Objects that differ.
    pub different: usize,
    /// Objects that are not there.
    pub missing: usize,
}

/// What others did to one object after it was applied.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// How often it drifted.
    pub times: usize,
    /// How often it was repaired.
    pub repaired: usize,
    /// What differed last; empty when the object or its label was gone.
    pub fields: Vec<String>,
    /// Who did it last.
    pub managers: Vec<String>,
    /// The longest repair.
    pub slowest: Seconds,
}

/// Two who write one field in turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fight {
    /// The object.
    pub object: ObjectText,
    /// The path.
    pub field: String,
    /// Who else writes it.
    pub manager: String,
    /// How often they changed it back.
    pub rounds: usize,
    /// When we write it next.
    pub next_at: Seconds,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// When.
    pub at: Seconds,
    /// How.
    pub outcome: Outcome,
    /// What is missing and why.
    pub missing: Vec<String>,
    /// Writes that the server accepted.
    pub writes: usize,
}

// === impl TaskProgress ===

impl TaskProgress {
    pub(super) fn new(plan: PlannedTask) -> Self {
        Self { plan, level: None, state: State::Pending, started: None, done: None, verb: None, failures: 0 }
    }

    /// The name under which people know it: of a gate the operator's alone, else kind and name.
    pub fn name(&self) -> &str {
        match self.plan.step {
            Step::Gate => self.plan.object.rsplit(' ').next().unwrap_or(&self.plan.object),
            _ => &self.plan.object,
        }
    }
}

// === impl State ===

impl State {
    /// Whether it is begun and not done.
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Pending | Self::Done { .. })
    }

    /// Whether it is done.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    pub(super) fn began(&self, now: Seconds) -> Seconds {
        match self {
            Self::Pending => now,
            Self::Running { since } | Self::Waiting { since, .. } => *since,
            Self::Failed { at, .. } | Self::Done { at } => *at,
        }
    }
}
