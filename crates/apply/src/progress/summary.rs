//! What a run was: times, critical path, waits and their causes, retries and writes.

use std::collections::BTreeMap;
use std::fmt::Write;

use lockstep_api::text::visible;
use serde::{Deserialize, Serialize};

use super::board::{Board, Compared, Drift, Fight};
use super::path::{PathStep, critical_path};
use super::time::{counted, span};
use super::{ObjectText, Outcome, Seconds, Step, Verb, WaitReason};

/// What a run was, for JSON and for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Version of the release.
    pub version: String,
    /// `installing`, `updating` or `reconciling`.
    pub mode: String,
    /// How it ended; absent when it was killed or goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What is missing and why.
    pub missing: Vec<String>,
    /// How long it took.
    pub seconds: Seconds,
    /// How many tasks it had.
    pub tasks: usize,
    /// How many of them are done.
    pub done: usize,
    /// Time per run level, in their order.
    pub levels: Vec<LevelTime>,
    /// Time per operator, the longest first.
    pub operators: Vec<OperatorTime>,
    /// The chain of steps that determined the end.
    pub critical_path: Vec<PathStep>,
    /// What was waited for, the longest sum first.
    pub waits: Vec<WaitGroup>,
    /// How often tasks failed, per reason.
    pub failures: BTreeMap<String, usize>,
    /// How often a task was tried again.
    pub retries: usize,
    /// Writes that the server accepted, per verb.
    pub writes: BTreeMap<Verb, usize>,
    /// What the first comparison found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
    /// What others changed.
    pub drift: BTreeMap<ObjectText, Drift>,
    /// Who fought over what.
    pub fights: Vec<Fight>,
    /// Where admission overrides the release: object and paths.
    pub overridden: BTreeMap<ObjectText, Vec<String>>,
    /// Objects of this set that no manifest names.
    pub orphans: Vec<ObjectText>,
    /// Lines that belong to no task.
    pub remarks: Vec<String>,
}

/// How long a run level took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LevelTime {
    /// Its name.
    pub name: String,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many of them are done.
    pub done: usize,
    /// When its first task was started; absent when none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Seconds>,
    /// When its last task was done, or the end of a run that left some open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Seconds>,
}

/// How long a gate held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorTime {
    /// Name of the ClusterOperator.
    pub name: String,
    /// Name of its level.
    pub level: String,
    /// When it was looked at first.
    pub from: Seconds,
    /// When it was well, or the end of the run.
    pub until: Seconds,
    /// Whether it was well in the end.
    pub well: bool,
    /// Of this time, how much was spent waiting.
    pub waited: Seconds,
}

/// All waits of one sort.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitGroup {
    /// The sort.
    pub reason: WaitReason,
    /// How many waits there were.
    pub times: usize,
    /// Their sum; they run side by side, so it may be more than the run took.
    pub total: Seconds,
    /// The longest of them.
    pub longest: Seconds,
    /// Whose wait was the longest.
    pub object: ObjectText,
    /// What was said about it last.
    pub sentence: String,
    /// How many of them last to the end.
    pub open: usize,
}

// === impl Board ===

impl Board {
    /// What the run was, up to the latest event.
    pub fn summary(&self) -> Summary {
        let ended = self.ended();
        Summary {
            version: self.version().to_owned(),
            mode: self.mode().to_owned(),
            outcome: ended.map(|ended| ended.outcome),
            missing: ended.map(|ended| ended.missing.clone()).unwrap_or_default(),
            seconds: ended.map_or(self.now(), |ended| ended.at),
            tasks: self.tasks().len(),
            done: self.done(),
            levels: level_times(self),
            operators: operator_times(self),
            critical_path: critical_path(self),
            waits: wait_groups(self),
            failures: self.failures().clone(),
            retries: self.retries(),
            writes: self.writes().clone(),
            compared: self.compared(),
            drift: self.drifts().clone(),
            fights: self.fights().cloned().collect(),
            overridden: self.overridden().clone(),
            orphans: self.orphans().iter().cloned().collect(),
            remarks: self.remarks().iter().map(|(_, sentence)| sentence.clone()).collect(),
        }
    }
}

fn level_times(board: &Board) -> Vec<LevelTime> {
    let time = |level: &super::LevelProgress| {
        let until =
            if level.done == level.total { level.last_done } else { level.started.map(|_| board.now()) };
        LevelTime {
            name: level.name.clone(),
            tasks: level.total,
            done: level.done,
            from: level.started,
            until,
        }
    };
    board.levels().iter().map(time).collect()
}

fn operator_times(board: &Board) -> Vec<OperatorTime> {
    let mut waited: BTreeMap<usize, Seconds> = BTreeMap::new();
    for record in board.waits() {
        *waited.entry(record.task).or_default() += record.until.unwrap_or(board.now()) - record.since;
    }
    let gates = board.tasks().iter().enumerate().filter(|(_, task)| task.plan.step == Step::Gate);
    let mut times: Vec<OperatorTime> = gates
        .filter_map(|(place, task)| {
            Some(OperatorTime {
                name: task.name().to_owned(),
                level: task.level.map(|level| board.levels()[level].name.clone()).unwrap_or_default(),
                from: task.started?,
                until: task.done.unwrap_or(board.now()),
                well: task.state.is_done(),
                waited: waited.get(&place).copied().unwrap_or_default(),
            })
        })
        .collect();
    times.sort_by(|a, b| (b.until - b.from).total_cmp(&(a.until - a.from)));
    times
}

fn wait_groups(board: &Board) -> Vec<WaitGroup> {
    let mut groups: BTreeMap<WaitReason, WaitGroup> = BTreeMap::new();
    for record in board.waits() {
        let took = record.until.unwrap_or(board.now()) - record.since;
        let group = groups.entry(record.wait.reason).or_insert_with(|| WaitGroup {
            reason: record.wait.reason,
            times: 0,
            total: 0.0,
            longest: -1.0,
            object: String::new(),
            sentence: String::new(),
            open: 0,
        });
        group.times += 1;
        group.total += took;
        group.open += usize::from(record.until.is_none());
        if took > group.longest {
            group.longest = took;
            group.object.clone_from(&board.tasks()[record.task].plan.object);
            group.sentence.clone_from(&record.wait.sentence);
        }
    }
    let mut groups: Vec<WaitGroup> = groups.into_values().collect();
    groups.sort_by(|a, b| b.total.total_cmp(&a.total));
    groups
}

// === impl Summary ===

impl Summary {
    /// The summary as text for a terminal, each line ended.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail, so the results of `writeln!` are not looked at in this file.
        let outcome = match self.outcome {
            Some(Outcome::Converged) => "converged",
            Some(Outcome::Failed) => "failed",
            Some(Outcome::TimedOut) => "not converged in time",
            Some(Outcome::Cancelled) => "cancelled",
            None => "not ended",
        };
        let (version, mode) = (visible(&self.version), visible(&self.mode));
        let time = span(self.seconds);
        let _ = writeln!(
            out,
            "{mode} {version}: {outcome} after {time}, {} of {} done, {}",
            self.done,
            self.tasks,
            self.write_words()
        );
        for missing in &self.missing {
            let _ = writeln!(out, "missing: {}", visible(missing));
        }
        self.times(&mut out);
        self.causes(&mut out);
        out
    }

    fn write_words(&self) -> String {
        let words = self.writes.iter().map(|(verb, n)| format!("{n} {}", word(*verb)));
        let words = words.collect::<Vec<_>>().join(", ");
        let words = if words.is_empty() { "no writes".to_owned() } else { words };
        if self.retries == 0 {
            words
        } else {
            format!("{words}, {}", counted(self.retries, "retry", "retries"))
        }
    }

    fn times(&self, out: &mut String) {
        let rows = self.levels.iter().filter_map(|level| {
            let took = span(level.until? - level.from?);
            Some([level.name.clone(), format!("{} of {}", level.done, level.tasks), took])
        });
        table(out, ["LEVEL", "DONE", "TIME"], rows.collect());
        let rows = self.operators.iter().map(|operator| {
            let took = span(operator.until - operator.from);
            let took = if operator.well { took } else { format!("{took}, not well") };
            [operator.name.clone(), operator.level.clone(), took]
        });
        table(out, ["OPERATOR", "LEVEL", "TIME"], rows.collect());
        let rows = self.critical_path.iter().map(|step| {
            let more = if step.tasks > 1 { format!("{} steps up to ", step.tasks) } else { String::new() };
            let why = step.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            [span(step.until - step.from), step.level.clone(), format!("{more}{}{why}", step.object)]
        });
        table(out, ["TIME", "LEVEL", "CRITICAL PATH"], rows.collect());
    }

    fn causes(&self, out: &mut String) {
        let rows = self.waits.iter().map(|group| {
            let longest = format!("{} {}: {}", span(group.longest), group.object, group.sentence);
            [
                group.reason.to_string(),
                format!("{}, {}", counted(group.times, "time", "times"), span(group.total)),
                longest,
            ]
        });
        table(out, ["WAIT", "SUM", "LONGEST"], rows.collect());
        let rows = self.fights.iter().map(|fight| {
            let rounds = format!("{} against {}", counted(fight.rounds, "round", "rounds"), fight.manager);
            [fight.object.clone(), fight.field.clone(), rounds]
        });
        table(out, ["FIGHT", "FIELD", "ROUNDS"], rows.collect());
        let rows = self.drift.iter().map(|(object, drift)| {
            let repaired = format!("{} of {}", drift.repaired, drift.times);
            [object.clone(), repaired, drift.managers.join(", ")]
        });
        table(out, ["DRIFT", "REPAIRED", "BY"], rows.collect());
        if !(self.overridden.is_empty() && self.orphans.is_empty() && self.remarks.is_empty()) {
            out.push('\n');
        }
        for (object, fields) in &self.overridden {
            let (object, fields) = (visible(object), fields.join(", "));
            let _ = writeln!(out, "admission overrides {object}: {}", visible(&fields));
        }
        for orphan in &self.orphans {
            let _ = writeln!(out, "orphan: {}", visible(orphan));
        }
        for remark in &self.remarks {
            let _ = writeln!(out, "{}", visible(remark));
        }
    }
}

/// A verb for people.
pub(super) fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Created => "created",
        Verb::Changed => "changed",
        Verb::Deleted => "deleted",
        Verb::Recreated => "recreated",
    }
}

/// Three columns under a header and behind a blank line; nothing without rows.
fn table(out: &mut String, header: [&str; 3], rows: Vec<[String; 3]>) {
    if rows.is_empty() {
        return;
    }
    let rows: Vec<[String; 3]> = std::iter::once(header.map(str::to_owned))
        .chain(rows)
        .map(|row| row.map(|cell| visible(&cell).into_owned()))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0) + 3;
    let (first, second) = (width(0), width(1));
    out.push('\n');
    for [a, b, c] in &rows {
        let _ = writeln!(out, "{}", format!("{a:<first$}{b:<second$}{c}").trim_end());
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
