//! Lines of a small run.

use super::super::examples::{at, began, half, wait, whole};
use super::*;
use crate::progress::{Level, PlannedTask};

/// All lines of a run that is looked at every second between its events.
fn lines(events: &[Event], is_verbose: bool) -> String {
    let (mut lines, mut board) = (Lines::new(is_verbose), Board::new());
    let mut out = Vec::new();
    let mut second = 0.0;
    for event in events {
        while second < event.at {
            out.extend(lines.tick(second, &board, Some(Eta { from: 200.0, to: 280.0 })));
            second += 1.0;
        }
        board.on(event);
        out.extend(lines.on(event, &board));
    }
    out.join("\n")
}

#[test]
fn long_waits_failures_fights_the_state_and_the_end_are_lines() {
    insta::assert_snapshot!(lines(&whole(), false), @r"
    00:00 updating 4.20.0: 7 tasks in 2 levels
    00:00 compared: 2 equal, 3 different, 2 missing
    00:06 waiting: ClusterOperator network reports 4.19.0; it must report 4.20.0
    00:15 Working towards 4.20.0: 2 of 7 done (28% complete), waiting on network; level 07, applying 0, 3–5 min left; since 14s: ClusterOperator network reports 4.19.0; it must report 4.20.0
    00:30 Working towards 4.20.0: 2 of 7 done (28% complete), waiting on network; level 07, applying 0, 2–5 min left; since 29s: ClusterOperator network reports 4.19.0; it must report 4.20.0
    00:45 Working towards 4.20.0: 2 of 7 done (28% complete), waiting on network; level 07, applying 0, 2–4 min left; since 44s: ClusterOperator network reports 4.19.0; it must report 4.20.0
    01:00 Working towards 4.20.0: 2 of 7 done (28% complete), waiting on network; level 07, applying 0, 2–4 min left; since 59s: ClusterOperator network reports 4.19.0; it must report 4.20.0
    01:15 Working towards 4.20.0: 2 of 7 done (28% complete), waiting on network; level 07, applying 0, 2–4 min left; since 1m14s: ClusterOperator network reports 4.19.0; it must report 4.20.0
    01:30 Working towards 4.20.0: 2 of 7 done (28% complete), waiting on network; level 07, applying 0, 1–4 min left; since 1m29s: ClusterOperator network reports 4.19.0; it must report 4.20.0
    01:45 Working towards 4.20.0: 2 of 7 done (28% complete), waiting on network; level 07, applying 0, 1–3 min left; since 1m44s: ClusterOperator network reports 4.19.0; it must report 4.20.0
    01:50 ClusterOperator network is well after 1m50s
    01:51 failed: CustomResourceDefinition widgets.example.com: the server answers 429; it is tried again (again in 6.0s)
    01:56 waiting: Widget shop/one: the kind Widget is not served; 0000_10_shop_00.yaml brings it
    01:56 waiting: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    02:00 Working towards 4.20.0: 4 of 7 done (57% complete), waiting on dns, Widget shop/one; level 10, applying 1, 1–3 min left; since 9.1s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    02:15 Working towards 4.20.0: 4 of 7 done (57% complete), waiting on dns, Widget shop/one; level 10, applying 1, 65–145 s left; since 24s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    02:30 fight: autoscaler changed /spec/replicas of Deployment openshift-network-operator/network-operator back 3 times; next write in 1m30s
    02:30 Working towards 4.20.0: 4 of 7 done (57% complete), waiting on dns, Widget shop/one; level 10, applying 1, 50–130 s left; since 39s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    02:45 Working towards 4.20.0: 4 of 7 done (57% complete), waiting on dns, Widget shop/one; level 10, applying 1, 35–115 s left; since 54s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    03:00 Working towards 4.20.0: 4 of 7 done (57% complete), waiting on dns, Widget shop/one; level 10, applying 1, 20–100 s left; since 1m09s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    03:15 Working towards 4.20.0: 6 of 7 done (85% complete), waiting on dns; level 10, applying 0, 5–85 s left; since 1m24s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    03:20 orphan: ConfigMap openshift-dns/old is labelled as ours, but no manifest names it
    03:30 Working towards 4.20.0: 6 of 7 done (85% complete), waiting on dns; level 10, applying 0, 0–70 s left; since 1m39s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    03:45 Working towards 4.20.0: 6 of 7 done (85% complete), waiting on dns; level 10, applying 0, 0–55 s left; since 1m54s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    04:00 Working towards 4.20.0: 6 of 7 done (85% complete), waiting on dns; level 10, applying 0, 0–40 s left; since 2m09s: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    04:10 ClusterOperator dns is well after 2m19s
    04:10 Cluster version is 4.20.0, after 4m10s and 4 writes
    ");
}

#[test]
fn verbose_adds_every_step_of_every_object() {
    let text = lines(&whole(), true);
    for part in [
        "00:00 unchanged: Namespace openshift-network-operator",
        "changed: Deployment openshift-dns-operator/dns-operator",
        "woke: Widget shop/one",
        "tried again after 1 failure: CustomResourceDefinition widgets.example.com",
        "up to 16 requests at once",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn many_long_waits_of_one_sort_share_a_line() {
    let plan = |name: usize| PlannedTask {
        object: format!("Widget shop/{name}"),
        file: String::new(),
        level: None,
        component: None,
        step: Step::Apply,
    };
    let tasks: Vec<PlannedTask> = (0..30).map(plan).collect();
    let levels = vec![Level { name: "00".into(), tasks: (0..30).collect() }];
    let began = Happening::Began { version: "1".into(), mode: "installing".into(), tasks, levels };
    let (mut lines, mut board) = (Lines::new(false), Board::new());
    board.on(&at(0.0, began));
    for task in 0..30 {
        let wait = wait(WaitReason::KindNotServed, "the kind Widget is not served", None);
        board.on(&at(1.0, Happening::Waiting { task, wait }));
    }
    assert_eq!(lines.tick(5.9, &board, None), Vec::<String>::new());
    let told = lines.tick(6.1, &board, None);
    assert_eq!(
        told,
        [
            "00:06 30 objects wait (kind not served), the first: waiting: Widget shop/0: the kind Widget is not served"
        ]
    );
    assert_eq!(lines.tick(7.0, &board, None), Vec::<String>::new(), "it is said once");
}

#[test]
fn a_fight_is_told_at_first_and_at_each_doubling() {
    let (mut lines, mut board) = (Lines::new(false), Board::new());
    let mut told = Vec::new();
    for rounds in 3..=20 {
        let (object, field, manager) = ("ConfigMap a/b".into(), "/data/x".into(), "them".into());
        let event = at(1.0, Happening::Fighting { object, field, manager, rounds, next_at: 2.0 });
        board.on(&event);
        if !lines.on(&event, &board).is_empty() {
            told.push(rounds);
        }
    }
    assert_eq!(told, [3, 4, 8, 16]);
}

#[test]
fn drift_names_who_did_what() {
    let board = Board::new();
    let mut lines = Lines::new(false);
    let object = || "Namespace openshift-dns".to_owned();
    let gone = Happening::Drifted { object: object(), fields: vec![], managers: vec![] };
    let fields = vec!["/metadata/labels/a".into()];
    let changed = Happening::Drifted { object: object(), fields, managers: vec!["kubectl-edit".into()] };
    assert_eq!(
        lines.on(&at(61.0, gone), &board),
        ["01:01 drift: somebody removed Namespace openshift-dns or its label"]
    );
    assert_eq!(
        lines.on(&at(62.0, changed), &board),
        ["01:02 drift: kubectl-edit changed /metadata/labels/a of Namespace openshift-dns"]
    );
}

#[test]
fn what_is_missing_stands_before_the_last_line() {
    let (mut lines, mut board) = (Lines::new(false), Board::new());
    let missing = vec!["ClusterOperator dns is not available".to_owned()];
    let ended = at(600.0, Happening::Ended { outcome: Outcome::TimedOut, missing, writes: 3 });
    for event in half().iter().chain([&ended]) {
        board.on(event);
    }
    assert_eq!(
        lines.on(&ended, &board)[2..],
        [
            "10:00 missing: ClusterOperator dns is not available",
            "10:00 not converged in time, after 10m00s: 4 of 7 done, 3 writes"
        ]
    );
}

#[test]
fn names_cannot_drive_the_terminal() {
    let mut board = Board::new();
    board.on(&began());
    let event = at(1.0, Happening::Remark { sentence: "a\u{1b}[2Jb\nc".into() });
    assert_eq!(Lines::new(false).on(&event, &board), ["00:01 a\u{fffd}[2Jb\u{fffd}c"]);
}
