//! A rehearsal as a report: what took how long, what was waited for and why, and a chart of all of it.

use lockstep_apply::progress::time::span;
use lockstep_apply::progress::{Board, Outcome, Seconds, State, Step, Summary, TaskProgress};
use lockstep_view::gantt::{Bar, BarKind, Gantt, GanttLane, Mark};
use lockstep_view::report::{Column, Report, ReportTable};

/// What a report says of a rehearsal besides its acts.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The cluster in a few words.
    pub cluster: String,
    /// The seed of everything random.
    pub seed: u64,
    /// The file of the scenario; without it everything turned healthy after a while.
    pub scenario: Option<String>,
    /// A drawing of the order of the release, as `flow_svg` makes it.
    pub graph_svg: Option<String>,
}

/// One act and when it began, from the beginning of the first.
struct Act<'a> {
    board: &'a Board,
    summary: Summary,
    began: Seconds,
}

/// The report of the acts of a rehearsal, in their order.
pub fn report(about: &About, boards: &[Board]) -> Report {
    let mut began = 0.0;
    let mut acts: Vec<Act<'_>> = Vec::new();
    for board in boards {
        let summary = board.summary();
        let next = began + summary.seconds;
        acts.push(Act { board, summary, began });
        began = next;
    }
    let versions: Vec<&str> = acts.iter().map(|act| act.summary.version.as_str()).collect();
    let is_good = acts.last().is_some_and(|act| act.summary.outcome == Some(Outcome::Converged));
    Report {
        title: format!("Rehearsal of {}", versions.join(" → ")),
        subtitle: "A run of the real engine in the embedded lab, in virtual time.".to_owned(),
        verdict: verdict(&acts),
        is_good,
        facts: facts(about, &acts, began),
        tables: tables(&acts),
        gantt: Some(Gantt {
            title: "Time".to_owned(),
            seconds: began,
            lanes: acts.iter().flat_map(lanes).collect(),
            marks: acts.iter().map(mark).collect(),
        }),
        graph_svg: about.graph_svg.clone(),
        waits: Some(waits(&acts)),
        notes: notes(&acts),
    }
}

fn verdict(acts: &[Act<'_>]) -> String {
    let Some(Act { summary, .. }) = acts.last() else { return "Nothing was run.".to_owned() };
    let (version, time) = (&summary.version, span(summary.seconds));
    match summary.outcome {
        Some(Outcome::Converged) => format!("Converged to {version} after {time}."),
        Some(Outcome::TimedOut) => format!("Not converged to {version} in time, after {time}."),
        Some(Outcome::Failed) => format!("Failed on the way to {version}, after {time}."),
        Some(Outcome::Cancelled) | None => format!("Stopped on the way to {version}, after {time}."),
    }
}

fn facts(about: &About, acts: &[Act<'_>], seconds: Seconds) -> Vec<(String, String)> {
    let sum = |of: fn(&Summary) -> usize| acts.iter().map(|act| of(&act.summary)).sum::<usize>().to_string();
    let scenario = about.scenario.clone().unwrap_or_else(|| "everything turns healthy".to_owned());
    [
        ("cluster", about.cluster.clone()),
        ("scenario", scenario),
        ("seed", about.seed.to_string()),
        ("time", span(seconds)),
        ("tasks", sum(|summary| summary.tasks)),
        ("done", sum(|summary| summary.done)),
        ("writes", sum(|summary| summary.writes.values().sum())),
        ("retries", sum(|summary| summary.retries)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn tables(acts: &[Act<'_>]) -> Vec<ReportTable> {
    let name = |title: &str, act: &Act<'_>| {
        if acts.len() == 1 { title.to_owned() } else { format!("{title}: {}", act_name(act)) }
    };
    let mut tables = Vec::new();
    for act in acts {
        let summary = &act.summary;
        tables.push(ReportTable {
            title: name("Missing", act),
            about: "What is not there or not well, and why.".to_owned(),
            columns: vec![Column::text("what and why")],
            rows: summary.missing.iter().map(|missing| vec![missing.clone()]).collect(),
        });
        let levels = summary.levels.iter().filter_map(|level| {
            let took = span(level.until? - level.from?);
            Some(vec![level.name.clone(), format!("{} of {}", level.done, level.tasks), took])
        });
        tables.push(ReportTable {
            title: name("Run levels", act),
            about: String::new(),
            columns: vec![Column::text("level"), Column::number("done"), Column::number("time")],
            rows: levels.collect(),
        });
        let operators = summary.operators.iter().map(|operator| {
            let well = if operator.well { "yes" } else { "no" };
            let (time, waited) = (span(operator.until - operator.from), span(operator.waited));
            vec![operator.name.clone(), operator.level.clone(), well.to_owned(), time, waited]
        });
        tables.push(ReportTable {
            title: name("Operators", act),
            about: "How long each gate held.".to_owned(),
            columns: vec![
                Column::text("operator"),
                Column::text("level"),
                Column::text("well"),
                Column::number("time"),
                Column::number("waited"),
            ],
            rows: operators.collect(),
        });
        let path = summary.critical_path.iter().map(|step| {
            let more = if step.tasks > 1 { format!("{} steps up to ", step.tasks) } else { String::new() };
            let why = step.sentence.clone().unwrap_or_default();
            vec![span(step.until - step.from), step.level.clone(), format!("{more}{}", step.object), why]
        });
        tables.push(ReportTable {
            title: name("Critical path", act),
            about: "The chain of steps that determined the end: to be faster, make these faster.".to_owned(),
            columns: vec![
                Column::number("time"),
                Column::text("level"),
                Column::text("step"),
                Column::text("waited for"),
            ],
            rows: path.collect(),
        });
    }
    tables
}

fn waits(acts: &[Act<'_>]) -> ReportTable {
    let rows = acts.iter().flat_map(|act| &act.summary.waits).map(|group| {
        let open = if group.open > 0 { format!("{} to the end", group.open) } else { String::new() };
        vec![
            group.reason.to_string(),
            group.times.to_string(),
            span(group.total),
            span(group.longest),
            group.object.clone(),
            group.sentence.clone(),
            open,
        ]
    });
    ReportTable {
        title: "Waits".to_owned(),
        about: "They run side by side, so that their sum may be more than the run took.".to_owned(),
        columns: vec![
            Column::text("reason"),
            Column::number("times"),
            Column::number("sum"),
            Column::number("longest"),
            Column::text("whose"),
            Column::text("why"),
            Column::text("open"),
        ],
        rows: rows.collect(),
    }
}

/// For each run level a lane, and below it one for each operator of the level.
fn lanes(act: &Act<'_>) -> Vec<GanttLane> {
    let (board, end) = (act.board, act.summary.seconds);
    let mut lanes = Vec::new();
    for (place, level) in board.levels().iter().enumerate() {
        let Some(from) = level.started else { continue };
        let is_done = level.done == level.total;
        let until = level.last_done.filter(|_| is_done).unwrap_or(end);
        let kind = if is_done { BarKind::Done } else { BarKind::Waiting };
        let text =
            format!("level {}: {} of {} done, {}", level.name, level.done, level.total, span(until - from));
        lanes.push(GanttLane {
            label: format!("level {}", level.name),
            group: Some(act_name(act)),
            bars: vec![Bar { from: act.began + from, until: act.began + until, kind, text }],
        });
        let gates = board.tasks().iter().enumerate();
        let gates = gates.filter(|(_, task)| task.level == Some(place) && task.plan.step == Step::Gate);
        lanes.extend(gates.filter_map(|(number, task)| operator(act, number, task)));
    }
    lanes
}

fn operator(act: &Act<'_>, number: usize, task: &TaskProgress) -> Option<GanttLane> {
    let (began, end) = (act.began, act.summary.seconds);
    let from = task.started?;
    let until = task.done.unwrap_or(end);
    let whole = Bar {
        from: began + from,
        until: began + until,
        kind: BarKind::Applying,
        text: format!("{}: {}", task.name(), span(until - from)),
    };
    let waits = act.board.waits().iter().filter(|record| record.task == number).map(|record| Bar {
        from: began + record.since,
        until: began + record.until.unwrap_or(end),
        kind: BarKind::Waiting,
        text: record.wait.sentence.clone(),
    });
    let failed = match &task.state {
        State::Failed { at, sentence, .. } => {
            let (from, until) = (began + at, began + end);
            Some(Bar { from, until, kind: BarKind::Failed, text: sentence.clone() })
        }
        _ => None,
    };
    let bars = std::iter::once(whole).chain(waits).chain(failed).collect();
    Some(GanttLane { label: format!("  {}", task.name()), group: Some(act_name(act)), bars })
}

fn mark(act: &Act<'_>) -> Mark {
    Mark { at: act.began + act.summary.seconds, text: format!("end of {}", act_name(act)) }
}

fn act_name(act: &Act<'_>) -> String {
    format!("{} {}", act.summary.mode, act.summary.version)
}

fn notes(acts: &[Act<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for Act { summary, .. } in acts {
        let fight = |fight: &lockstep_apply::progress::Fight| {
            format!(
                "{} changed {} of {} back {} times.",
                fight.manager, fight.field, fight.object, fight.rounds
            )
        };
        notes.extend(summary.fights.iter().map(fight));
        let overridden = summary.overridden.iter();
        notes.extend(
            overridden
                .map(|(object, fields)| format!("Admission overrides {object}: {}.", fields.join(", "))),
        );
        notes.extend(summary.orphans.iter().map(|orphan| format!("{orphan} is no longer in the release.")));
        notes.extend(summary.remarks.iter().cloned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use lockstep_apply::progress::{Event, Happening, Level, PlannedTask, Wait, WaitReason};

    use super::*;

    fn a_board(mode: &str, outcome: Option<Outcome>) -> Board {
        let gate = PlannedTask {
            object: "ClusterOperator dns".into(),
            file: "0000_70_dns_1.yaml".into(),
            level: Some("70".into()),
            component: Some("dns".into()),
            step: Step::Gate,
        };
        let wait = Wait {
            reason: WaitReason::OperatorNotAvailable,
            sentence: "ClusterOperator dns is not available".into(),
            provider: None,
        };
        let levels = vec![Level { name: "70".into(), tasks: vec![0] }];
        let mut events = vec![
            (0.0, Happening::Began { version: "1.0.0".into(), mode: mode.into(), tasks: vec![gate], levels }),
            (1.0, Happening::Started { task: 0 }),
            (2.0, Happening::Waiting { task: 0, wait }),
        ];
        if outcome == Some(Outcome::Converged) {
            events.push((8.0, Happening::Done { task: 0 }));
        }
        let missing = match outcome {
            Some(Outcome::Converged) | None => vec![],
            _ => vec!["dns".to_owned()],
        };
        events.extend(outcome.map(|outcome| (10.0, Happening::Ended { outcome, missing, writes: 1 })));
        let mut board = Board::new();
        for (at, what) in events {
            board.on(&Event { at, what });
        }
        board
    }

    #[test]
    fn acts_follow_each_other_in_the_chart() {
        let boards =
            [a_board("installing", Some(Outcome::Converged)), a_board("updating", Some(Outcome::Converged))];
        let report = report(&About::default(), &boards);
        assert!(report.is_good);
        assert_eq!(report.verdict, "Converged to 1.0.0 after 10s.");
        let gantt = report.gantt.unwrap();
        assert_eq!(span(gantt.seconds), "20s");
        let groups: Vec<&str> = gantt.lanes.iter().filter_map(|lane| lane.group.as_deref()).collect();
        assert_eq!(groups, ["installing 1.0.0", "installing 1.0.0", "updating 1.0.0", "updating 1.0.0"]);
        let starts: Vec<String> = gantt.lanes.iter().map(|lane| span(lane.bars[0].from)).collect();
        assert_eq!(starts, ["1.0s", "1.0s", "11s", "11s"]);
        assert!(report.tables.iter().any(|table| table.title == "Operators: updating 1.0.0"));
    }

    #[test]
    fn a_run_that_is_stuck_shows_its_wait_to_the_end() {
        let report = report(&About::default(), &[a_board("installing", Some(Outcome::TimedOut))]);
        assert!(!report.is_good);
        assert_eq!(report.verdict, "Not converged to 1.0.0 in time, after 10s.");
        assert_eq!(report.tables[0].rows, [["dns"]]);
        let bars = &report.gantt.unwrap().lanes[1].bars;
        let waiting = bars.iter().find(|bar| bar.kind == BarKind::Waiting).unwrap();
        assert_eq!((span(waiting.from), span(waiting.until)), ("2.0s".to_owned(), "10s".to_owned()));
        assert_eq!(waiting.text, "ClusterOperator dns is not available");
        let waits = report.waits.unwrap();
        assert_eq!(waits.rows[0][6], "1 to the end");
    }

    #[test]
    fn nothing_run_is_nothing_good() {
        let report = report(&About::default(), &[]);
        assert!(!report.is_good && report.verdict == "Nothing was run.");
    }
}
