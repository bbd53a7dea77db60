//! The critical path: the chain of steps of which each began when the one before it ended, up to the end of the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Board, Seconds, WaitReason};

/// Steps shorter than this part of the whole are put together: a chain of 40 quick writes says nothing.
const SHORT: f64 = 0.01;
/// How much later than its cause a step may begin and still count as caused by it. Requests need some time.
const SLACK: Seconds = 1.0;

/// One step of the critical path, or several short ones in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathStep {
    /// The object, or the last of several.
    pub object: String,
    /// Name of its level.
    pub level: String,
    /// How many tasks are put together here.
    pub tasks: usize,
    /// From when on it determined the end.
    pub from: Seconds,
    /// Until when.
    pub until: Seconds,
    /// What it waited for longest, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<WaitReason>,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
}

/// Of which tasks the end of the run was made, first to last.
///
/// The events do not hold the graph, so causes are found by time: what a wait names as its provider, else the task
/// of the same component before it, else the last one of the levels before it.
pub(super) fn critical_path(board: &Board) -> Vec<PathStep> {
    let finders = Finders::new(board);
    let tasks = board.tasks();
    let Some(mut place) = last(board) else { return Vec::new() };
    let mut steps = Vec::new();
    // Each cause ends before its effect begins, so this ends; the limit holds for recordings that tell otherwise.
    while steps.len() <= tasks.len() {
        let until = tasks[place].done.unwrap_or(board.now());
        let started = tasks[place].started.unwrap_or(until);
        let cause = finders.cause(board, place, started);
        let from = match cause {
            Some(cause) => tasks[cause].done.unwrap_or(started).max(started).min(until),
            None => started,
        };
        steps.push(step(board, &finders, place, from, until));
        match cause {
            Some(cause) if tasks[cause].done < Some(until) => place = cause,
            _ => break,
        }
    }
    steps.reverse();
    merged(steps, board.now())
}

/// The task that ended last; in a run that did not converge, the one that is open longest.
fn last(board: &Board) -> Option<usize> {
    let started = |place: usize| board.tasks()[place].started.unwrap_or(0.0);
    let open = board.opened().map(|(place, _)| place).min_by(|a, b| started(*a).total_cmp(&started(*b)));
    let done = board.tasks().iter().enumerate().filter_map(|(place, task)| Some((place, task.done?)));
    open.or_else(|| done.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place))
}

/// What is looked up again and again.
struct Finders {
    /// The waits of each task.
    waits: BTreeMap<usize, Vec<usize>>,
    /// The task of the same level and component before each.
    before: Vec<Option<usize>>,
    /// The task of each level that was done last.
    last_of_level: Vec<Option<usize>>,
}

impl Finders {
    fn new(board: &Board) -> Self {
        let mut waits: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, record) in board.waits().iter().enumerate() {
            waits.entry(record.task).or_default().push(place);
        }
        let mut latest = BTreeMap::new();
        let mut before = Vec::new();
        let mut last_of_level: Vec<Option<usize>> = vec![None; board.levels().len()];
        for (place, task) in board.tasks().iter().enumerate() {
            let chain = (task.level, &task.plan.level, &task.plan.component);
            before.push(latest.insert(chain, place));
            if let Some(known) = task.level.and_then(|level| last_of_level.get_mut(level)) {
                let done = |place: usize| board.tasks()[place].done;
                if known.is_none_or(|known| done(known) < task.done) {
                    *known = Some(place);
                }
            }
        }
        Self { waits, before, last_of_level }
    }

    fn cause(&self, board: &Board, place: usize, started: Seconds) -> Option<usize> {
        let done = |place: &usize| board.tasks().get(*place).and_then(|task| task.done);
        let waits = self.waits.get(&place).into_iter().flatten().map(|wait| &board.waits()[*wait]);
        let provider = waits
            .filter(|record| record.until.is_some())
            .filter_map(|record| record.wait.provider)
            .rfind(|provider| *provider != place && done(provider).is_some_and(|done| done >= started));
        let in_time = |cause: &usize| done(cause).is_some_and(|done| done <= started + SLACK);
        let before = || self.before[place].filter(in_time);
        let level = board.tasks()[place].level.unwrap_or(0);
        let level_before = || {
            let levels = self.last_of_level.get(..level)?;
            levels
                .iter()
                .flatten()
                .copied()
                .filter(in_time)
                .max_by(|a, b| done(a).unwrap_or_default().total_cmp(&done(b).unwrap_or_default()))
        };
        provider.or_else(before).or_else(level_before)
    }
}

fn step(board: &Board, finders: &Finders, place: usize, from: Seconds, until: Seconds) -> PathStep {
    let task = &board.tasks()[place];
    let waits = finders.waits.get(&place).into_iter().flatten().map(|wait| &board.waits()[*wait]);
    let longest = waits
        .map(|record| (record, record.until.unwrap_or(until) - record.since))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(record, _)| &record.wait);
    let level = task.level.map(|level| board.levels()[level].name.clone()).unwrap_or_default();
    PathStep {
        object: task.plan.object.clone(),
        level,
        tasks: 1,
        from,
        until,
        reason: longest.map(|wait| wait.reason),
        sentence: longest.map(|wait| wait.sentence.clone()),
    }
}

/// Puts short steps that follow each other in one level into one.
fn merged(steps: Vec<PathStep>, total: Seconds) -> Vec<PathStep> {
    let is_short = |step: &PathStep| step.until - step.from < SHORT * total;
    let mut out: Vec<PathStep> = Vec::new();
    for step in steps {
        match out.last_mut() {
            Some(last)
                if last.level == step.level && is_short(&step) && (last.tasks > 1 || is_short(last)) =>
            {
                *last = PathStep { tasks: last.tasks + 1, from: last.from, ..step };
            }
            _ => out.push(step),
        }
    }
    out
}
