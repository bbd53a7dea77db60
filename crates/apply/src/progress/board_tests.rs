//! The board after events.

use super::super::examples::{at, began, half, wait, whole};
use super::super::{Happening, Outcome, WaitReason};
use super::*;

fn board(events: &[Event]) -> Board {
    let mut board = Board::new();
    for event in events {
        board.on(event);
    }
    board
}

#[test]
fn counts_follow_the_tasks() {
    let board = board(&half());
    assert_eq!((board.done(), board.percent(), board.tasks().len()), (4, 57, 7));
    let counts: Vec<_> = board.levels().iter().map(|level| (level.total, level.done, level.open)).collect();
    assert_eq!(counts, [(3, 3, 0), (4, 1, 3)]);
    assert_eq!(board.running().map(|(place, _)| place).collect::<Vec<_>>(), [5]);
    assert_eq!(board.writes().values().sum::<usize>(), 3);
    assert_eq!((board.retries(), board.failures().get("ServerBusy")), (1, Some(&1)));
    assert_eq!(board.concurrency(), Some(16));
}

#[test]
fn open_waits_stand_in_the_order_in_which_they_began() {
    let board = board(&half());
    let open: Vec<_> = board.open_waits().map(|record| (record.task, record.since)).collect();
    assert_eq!(open, [(6, 110.7), (4, 110.9)]);
    assert_eq!(board.waits()[0].until, Some(110.5));
}

#[test]
fn another_sentence_keeps_the_beginning_of_a_wait_and_another_reason_starts_a_new_one() {
    let mut board = board(&half());
    let updating = wait(WaitReason::OperatorUpdating, "2 of 3 pods are new", None);
    board.on(&at(190.0, Happening::Waiting { task: 4, wait: updating.clone() }));
    assert_eq!(board.tasks()[4].state, State::Waiting { since: 110.9, wait: updating });
    let degraded = wait(WaitReason::OperatorDegraded, "it is degraded", None);
    board.on(&at(200.0, Happening::Waiting { task: 4, wait: degraded }));
    let of_dns: Vec<_> = board.waits().iter().filter(|w| w.task == 4).map(|w| (w.since, w.until)).collect();
    assert_eq!(of_dns, [(110.9, Some(200.0)), (200.0, None)]);
    assert_eq!(board.open_waits().len(), 2);
}

#[test]
fn a_failed_task_is_open_until_it_is_tried_again() {
    let events = half();
    let retried = events.iter().position(|event| matches!(event.what, Happening::Retried { .. })).unwrap();
    let mut before = board(&events[..retried]);
    assert_eq!(before.failed().map(|(place, _)| place).collect::<Vec<_>>(), [5]);
    before.on(&events[retried]);
    assert_eq!(before.failed().count(), 0);
    assert_eq!(before.tasks()[5].state, State::Running { since: 117.0 });
}

#[test]
fn at_the_end_everything_is_done_and_nothing_is_waited_for() {
    let board = board(&whole());
    assert_eq!((board.done(), board.percent(), board.open_waits().len()), (7, 100, 0));
    assert_eq!(board.opened().count(), 0);
    assert_eq!(board.ended().map(|ended| (ended.outcome, ended.writes)), Some((Outcome::Converged, 4)));
    assert_eq!(board.orphans().len(), 1);
}

#[test]
fn a_second_run_starts_an_empty_board() {
    let mut events = whole();
    events.push(began());
    let board = board(&events);
    assert_eq!((board.done(), board.waits().len(), board.now()), (0, 0, 0.0));
    assert!(board.ended().is_none());
}

#[test]
fn drift_is_counted_per_object() {
    let mut board = board(&whole());
    let object = "Namespace openshift-dns".to_owned();
    for round in 0..2_i32 {
        let managers = vec!["kubectl-edit".into()];
        let fields = vec!["/metadata/labels".into()];
        let moment = 300.0 + f64::from(round);
        board.on(&at(moment, Happening::Drifted { object: object.clone(), fields, managers }));
    }
    board.on(&at(302.0, Happening::Repaired { object: object.clone(), seconds: 0.3 }));
    let drift = &board.drifts()[&object];
    assert_eq!((drift.times, drift.repaired, drift.slowest), (2, 1, 0.3));
}

#[test]
fn events_about_unknown_tasks_change_nothing() {
    let mut board = board(&half());
    for what in [
        Happening::Started { task: 99 },
        Happening::Waiting { task: 99, wait: wait(WaitReason::ServerBusy, "", None) },
        Happening::Done { task: 99 },
        Happening::Woke { task: 99 },
    ] {
        board.on(&at(185.0, what));
    }
    assert_eq!((board.done(), board.open_waits().len(), board.opened().count()), (4, 2, 3));
}
