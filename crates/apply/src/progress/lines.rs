//! A run as lines for pipes and log files: what changes, and every few seconds where it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use lockstep_api::text::visible;

use super::board::{Board, WaitRecord};
use super::summary::word;
use super::time::{clock, counted, left, span};
use super::{Eta, Event, Happening, Outcome, Seconds, Step, WaitReason};

/// How often the state is told when nothing else is.
const EVERY: Seconds = 15.0;
/// A wait that lasts longer than this is worth a line.
const LONG: Seconds = 5.0;
/// Up to so many waits that become long together get a line each; more of one sort share one.
const SINGLE: usize = 3;
/// How many waits the periodic line names; it tells the reason of the first.
const NAMED: usize = 3;

/// Makes lines of events; without I/O and clock.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    is_verbose: bool,
    last_state: Seconds,
    /// Waits that had their line, by task and reason.
    told: BTreeSet<(usize, WaitReason)>,
    fights: BTreeMap<(String, String), usize>,
}

// === impl Lines ===

impl Lines {
    /// Lines for everything that matters; with `is_verbose`, one for every step of every object as well.
    pub fn new(is_verbose: bool) -> Self {
        Self { is_verbose, ..Self::default() }
    }

    /// The lines for an event that the board has already taken in.
    pub fn on(&mut self, event: &Event, board: &Board) -> Vec<String> {
        let mut lines = self.long_waits(event.at, board);
        let line = match &event.what {
            Happening::Began { version, mode, tasks, levels } => {
                *self = Self::new(self.is_verbose);
                self.last_state = event.at;
                let (tasks, levels) = (tasks.len(), levels.len());
                Some(format!("{mode} {version}: {tasks} tasks in {levels} levels"))
            }
            Happening::Compared { equal, different, missing } => {
                Some(format!("compared: {equal} equal, {different} different, {missing} missing"))
            }
            Happening::Failed { task, sentence, retry_at, .. } => {
                let again = match retry_at {
                    Some(again) => format!("again in {}", span(again - event.at)),
                    None => "not tried again".to_owned(),
                };
                Some(format!("failed: {}: {sentence} ({again})", object(board, *task)))
            }
            Happening::Done { task } => self.done(*task, board),
            Happening::Ended { outcome, missing, writes } => {
                lines.extend(missing.iter().map(|missing| line(event.at, &format!("missing: {missing}"))));
                Some(end(*outcome, *writes, board))
            }
            Happening::Drifted { object, fields, managers } => Some(drifted(object, fields, managers)),
            Happening::Repaired { object, seconds } => {
                Some(format!("repaired: {object} after {}", span(*seconds)))
            }
            Happening::Fighting { object, field, manager, rounds, next_at } => {
                let known = self.fights.insert((object.clone(), field.clone()), *rounds);
                // Each round would be a line for ever; each doubling is enough.
                let is_news = known.is_none() || rounds.is_power_of_two();
                let next = span(next_at - event.at);
                is_news.then(|| {
                    format!("fight: {manager} changed {field} of {object} back {rounds} times; next write in {next}")
                })
            }
            Happening::Overridden { object, fields } => {
                Some(format!("overridden: admission sets {} of {object}; left as it is", fields.join(", ")))
            }
            Happening::Orphan { object } => {
                Some(format!("orphan: {object} is labelled as ours, but no manifest names it"))
            }
            Happening::Remark { sentence } => Some(sentence.clone()),
            step => self.is_verbose.then(|| verbose(step, board)).flatten(),
        };
        lines.extend(line.map(|text| self::line(event.at, &text)));
        lines
    }

    /// What is to be said although nothing happened: waits that have become long, and every 15 seconds the state.
    pub fn tick(&mut self, now: Seconds, board: &Board, eta: Option<Eta>) -> Vec<String> {
        let mut lines = self.long_waits(now, board);
        if now - self.last_state >= EVERY && board.ended().is_none() && !board.tasks().is_empty() {
            self.last_state = now;
            lines.push(line(now, &state(now, board, eta)));
        }
        lines
    }

    fn done(&mut self, task: usize, board: &Board) -> Option<String> {
        let told: Vec<_> = self.told.range((task, WaitReason::KindNotServed)..).copied().collect();
        let was_told =
            told.iter().take_while(|(of, _)| *of == task).map(|key| self.told.remove(key)).count() > 0;
        let progress = board.tasks().get(task)?;
        let took = span(progress.done? - progress.started?);
        match progress.plan.step {
            Step::Gate if was_told || self.is_verbose => {
                Some(format!("{} is well after {took}", progress.plan.object))
            }
            _ if self.is_verbose => Some(format!("done: {} after {took}", progress.plan.object)),
            _ => None,
        }
    }

    /// A line for each wait that has become long; many of one sort share one.
    fn long_waits(&mut self, now: Seconds, board: &Board) -> Vec<String> {
        let mut groups: BTreeMap<WaitReason, Vec<&WaitRecord>> = BTreeMap::new();
        // They are sorted by their beginning, so that the first short one ends the search.
        for record in board.open_waits().take_while(|record| now - record.since > LONG) {
            if self.told.insert((record.task, record.wait.reason)) {
                groups.entry(record.wait.reason).or_default().push(record);
            }
        }
        let mut lines = Vec::new();
        for (reason, records) in groups {
            if records.len() <= SINGLE {
                lines.extend(records.iter().map(|record| line(now, &waiting(record, board))));
            } else {
                let such = records.first().map(|record| waiting(record, board)).unwrap_or_default();
                lines.push(line(
                    now,
                    &format!("{} objects wait ({reason}), the first: {such}", records.len()),
                ));
            }
        }
        lines
    }
}

/// Where the run stands, in the reference's form.
fn state(now: Seconds, board: &Board, eta: Option<Eta>) -> String {
    let (done, total, percent) = (board.done(), board.tasks().len(), board.percent());
    let mut text =
        format!("Working towards {}: {done} of {total} done ({percent}% complete)", board.version());
    // Writing to a String cannot fail, so the results of `write!` are not looked at.
    // Gates first: who waits for an object of the release mostly waits for one of them in the end.
    let is_gate = |record: &&WaitRecord| board.tasks()[record.task].plan.step == Step::Gate;
    let (mut waits, others): (Vec<_>, Vec<_>) = board.open_waits().partition(is_gate);
    waits.extend(others);
    if !waits.is_empty() {
        let names: Vec<&str> =
            waits.iter().take(NAMED).map(|record| board.tasks()[record.task].name()).collect();
        let _ = write!(text, ", waiting on {}", names.join(", "));
        if waits.len() > NAMED {
            let _ = write!(text, " and {} more", waits.len() - NAMED);
        }
    }
    let failed = board.failed().count();
    if failed > 0 {
        let _ = write!(text, "; {failed} failed");
    }
    let _ = write!(text, "; {}applying {}", levels(board), board.running().count());
    if let Some(eta) = eta {
        let _ = write!(text, ", {} left", left(eta, now));
    }
    if let Some(first) = waits.first() {
        let _ = write!(text, "; since {}: {}", span(now - first.since), first.wait.sentence);
    }
    text
}

/// The levels in which something is open: `level 10, `, `level 10–31, `, or nothing.
fn levels(board: &Board) -> String {
    let mut open = board.levels().iter().filter(|level| level.open > 0).map(|level| level.name.as_str());
    match (open.next(), open.next_back()) {
        (None, _) => String::new(),
        (Some(only), None) => format!("level {only}, "),
        (Some(first), Some(last)) => format!("level {first}–{last}, "),
    }
}

fn waiting(record: &WaitRecord, board: &Board) -> String {
    let sentence = &record.wait.sentence;
    match &board.tasks()[record.task] {
        // Sentences about a gate name the operator themselves.
        task if sentence.contains(&task.plan.object) => format!("waiting: {sentence}"),
        task => format!("waiting: {}: {sentence}", task.plan.object),
    }
}

fn drifted(object: &str, fields: &[String], managers: &[String]) -> String {
    let who = if managers.is_empty() { "somebody".to_owned() } else { managers.join(", ") };
    match fields {
        [] => format!("drift: {who} removed {object} or its label"),
        fields => format!("drift: {who} changed {} of {object}", fields.join(", ")),
    }
}

fn end(outcome: Outcome, writes: usize, board: &Board) -> String {
    let (version, time) = (board.version(), span(board.now()));
    let writes = counted(writes, "write", "writes");
    let (done, total) = (board.done(), board.tasks().len());
    match outcome {
        Outcome::Converged => format!("Cluster version is {version}, after {time} and {writes}"),
        Outcome::Failed => format!("failed after {time}: {done} of {total} done, {writes}"),
        Outcome::TimedOut => {
            format!("not converged in time, after {time}: {done} of {total} done, {writes}")
        }
        Outcome::Cancelled => format!("cancelled after {time}: {done} of {total} done, {writes}"),
    }
}

fn verbose(step: &Happening, board: &Board) -> Option<String> {
    match step {
        Happening::Started { task } => Some(format!("started: {}", object(board, *task))),
        Happening::Applied { task, verb } => Some(format!("{}: {}", word(*verb), object(board, *task))),
        Happening::Unchanged { task } => Some(format!("unchanged: {}", object(board, *task))),
        Happening::Waiting { task, wait } => {
            Some(format!("waits: {}: {}", object(board, *task), wait.sentence))
        }
        Happening::Woke { task } => Some(format!("woke: {}", object(board, *task))),
        Happening::Retried { task, failures } => Some(format!(
            "tried again after {}: {}",
            counted(*failures, "failure", "failures"),
            object(board, *task)
        )),
        Happening::Concurrency { limit } => Some(format!("up to {limit} requests at once")),
        _ => None,
    }
}

fn object(board: &Board, task: usize) -> &str {
    board.tasks().get(task).map_or("unknown task", |task| &task.plan.object)
}

fn line(at: Seconds, text: &str) -> String {
    format!("{} {}", clock(at), visible(text))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
