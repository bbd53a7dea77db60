//! A recorded run as a report: what a rehearsal's report has, and what others did to the cluster meanwhile.

use lockstep_apply::progress::time::span;
use lockstep_apply::progress::{Board, Drift, RecordingHeader, WaitReason};
use lockstep_view::report::{Column, Report, ReportTable};

use crate::report::{About, report};

/// The report of the acts of a recording, in their order.
pub fn recorded(header: &RecordingHeader, boards: &[Board], is_cut_off: bool) -> Report {
    let mut report = report(&About::default(), boards);
    let began = header.began_at.as_deref();
    report.title = report.title.replacen("Rehearsal of", "Run of", 1);
    report.subtitle = match began {
        Some(began) => format!("Recorded by {} from {began} on.", header.written_by),
        None => format!("Recorded by {} in the embedded lab, in virtual time.", header.written_by),
    };
    // What only a rehearsal knows.
    report.facts.retain(|(name, _)| !["cluster", "scenario", "seed"].contains(&name.as_str()));
    report.tables.push(repairs(boards));
    report.tables.push(disruptions(boards));
    if is_cut_off {
        report.notes.push("The recording ends in the middle of an event: its run was killed.".to_owned());
    }
    report
}

fn repairs(boards: &[Board]) -> ReportTable {
    let row = |(object, drift): (&String, &Drift)| {
        let what = if drift.fields.is_empty() { "gone".to_owned() } else { drift.fields.join(", ") };
        let times = format!("{} of {}", drift.repaired, drift.times);
        vec![object.clone(), times, span(drift.slowest), drift.managers.join(", "), what]
    };
    ReportTable {
        title: "Repairs".to_owned(),
        about: "What somebody changed and was restored.".to_owned(),
        columns: vec![
            Column::text("object"),
            Column::number("restored"),
            Column::number("slowest"),
            Column::text("changed by"),
            Column::text("what"),
        ],
        rows: boards.iter().flat_map(|board| board.drifts().iter().map(row)).collect(),
    }
}

/// Operators that were seen not available or degraded, and servers that did not answer.
fn disruptions(boards: &[Board]) -> ReportTable {
    let mut rows = Vec::new();
    for board in boards {
        let end = board.now();
        for record in board.waits() {
            let is_one = matches!(
                record.wait.reason,
                WaitReason::OperatorDegraded | WaitReason::ServerBusy | WaitReason::ApiUnavailable
            );
            let Some(task) = board.tasks().get(record.task).filter(|_| is_one) else { continue };
            let until = record.until.unwrap_or(end);
            let (from, lasted) = (span(record.since), span(until - record.since));
            let words = [record.wait.reason.to_string(), record.wait.sentence.clone()];
            let [reason, sentence] = words;
            rows.push(vec![from, lasted, task.name().to_owned(), reason, sentence]);
        }
    }
    ReportTable {
        title: "Disruptions".to_owned(),
        about: "When operators were degraded, and when the server or an API of it did not answer.".to_owned(),
        columns: vec![
            Column::number("at"),
            Column::number("time"),
            Column::text("whose"),
            Column::text("what"),
            Column::text("why"),
        ],
        rows,
    }
}

#[cfg(test)]
mod tests {
    use lockstep_apply::progress::{Event, Happening, Level, Outcome, PlannedTask, Step, Wait};

    use super::*;

    fn a_board() -> Board {
        let gate = PlannedTask {
            object: "ClusterOperator dns".into(),
            file: "0000_70_dns_1.yaml".into(),
            level: Some("70".into()),
            component: Some("dns".into()),
            step: Step::Gate,
        };
        let wait = |reason, sentence: &str| Wait { reason, sentence: sentence.into(), provider: None };
        let levels = vec![Level { name: "70".into(), tasks: vec![0] }];
        let object = || "ConfigMap a/b".to_owned();
        let events = [
            (
                0.0,
                Happening::Began {
                    version: "1.0.0".into(),
                    mode: "updating".into(),
                    tasks: vec![gate],
                    levels,
                },
            ),
            (1.0, Happening::Started { task: 0 }),
            (
                2.0,
                Happening::Waiting { task: 0, wait: wait(WaitReason::OperatorDegraded, "dns is degraded") },
            ),
            (
                5.0,
                Happening::Waiting { task: 0, wait: wait(WaitReason::OperatorUpdating, "dns is updating") },
            ),
            (
                6.0,
                Happening::Drifted {
                    object: object(),
                    fields: vec!["data.x".into()],
                    managers: vec!["kubectl".into()],
                },
            ),
            (6.5, Happening::Repaired { object: object(), seconds: 0.5 }),
            (8.0, Happening::Done { task: 0 }),
            (9.0, Happening::Ended { outcome: Outcome::Converged, missing: vec![], writes: 1 }),
        ];
        let mut board = Board::new();
        for (at, what) in events {
            board.on(&Event { at, what });
        }
        board
    }

    #[test]
    fn a_recording_tells_repairs_and_disruptions_and_no_seed() {
        let header = RecordingHeader {
            api_version: "lockstep.dev/v1".into(),
            kind: "Recording".into(),
            version: 1,
            written_by: "lockstep 0.1.0".into(),
            began_at: Some("2026-07-01T12:00:00Z".into()),
        };
        let report = recorded(&header, &[a_board()], true);
        assert_eq!(report.title, "Run of 1.0.0");
        assert_eq!(report.subtitle, "Recorded by lockstep 0.1.0 from 2026-07-01T12:00:00Z on.");
        assert!(!report.facts.iter().any(|(name, _)| name == "seed"));
        let rows = |title: &str| &report.tables.iter().find(|table| table.title == title).unwrap().rows;
        assert_eq!(rows("Repairs")[..], [["ConfigMap a/b", "1 of 1", "0.5s", "kubectl", "data.x"]]);
        assert_eq!(rows("Disruptions").len(), 1);
        assert_eq!(rows("Disruptions")[0][2..], ["dns", "operator degraded", "dns is degraded"]);
        assert!(report.notes.last().unwrap().contains("was killed"));
    }
}
