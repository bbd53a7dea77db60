//! Summaries of a small run.

use super::super::examples::{half, whole};
use super::*;
use crate::progress::Event;

fn summary(events: &[Event]) -> Summary {
    let mut board = Board::new();
    for event in events {
        board.on(event);
    }
    board.summary()
}

#[test]
fn the_critical_path_leads_from_the_first_task_to_the_last_over_the_barrier() {
    let path = summary(&whole()).critical_path;
    let steps: Vec<_> = path.iter().map(|step| (step.object.as_str(), step.tasks)).collect();
    assert_eq!(
        steps,
        [
            ("Deployment openshift-network-operator/network-operator", 2),
            ("ClusterOperator network", 1),
            ("Deployment openshift-dns-operator/dns-operator", 1),
            ("ClusterOperator dns", 1),
        ]
    );
    assert_eq!(path[3].reason, Some(WaitReason::OperatorUpdating));
    assert!(path[3].until - path[3].from > 139.0);
}

#[test]
fn a_provider_is_the_cause_of_whoever_waited_for_it() {
    // Without dns the custom resource is the last, and its kind came late.
    let mut events = whole();
    events.retain(|event| !format!("{:?}", event.what).contains("task: 4"));
    let path = summary(&events).critical_path;
    let objects: Vec<_> = path.iter().map(|step| step.object.as_str()).collect();
    assert_eq!(objects[2..], ["CustomResourceDefinition widgets.example.com", "Widget shop/one"]);
}

#[test]
fn waits_are_grouped_by_reason_with_sum_and_longest() {
    let waits = summary(&whole()).waits;
    assert_eq!(waits.len(), 2);
    assert_eq!((waits[0].reason, waits[0].times, waits[0].open), (WaitReason::OperatorUpdating, 2, 0));
    assert!((waits[0].total - 249.1).abs() < 0.01 && (waits[0].longest - 139.1).abs() < 0.01);
    assert_eq!(waits[0].object, "ClusterOperator dns");
}

#[test]
fn a_run_that_was_killed_counts_what_is_open_up_to_its_last_event() {
    let summary = summary(&half());
    assert_eq!((summary.outcome, summary.seconds), (None, 180.0));
    assert_eq!(summary.levels[1].until, Some(180.0));
    let dns = summary.operators.iter().find(|operator| operator.name == "dns").unwrap();
    assert!(!dns.well && (dns.until - 180.0).abs() < 0.01);
    assert_eq!(summary.waits.iter().map(|group| group.open).sum::<usize>(), 2);
}

#[test]
fn a_summary_survives_json() {
    let summary = summary(&whole());
    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    assert!(
        text.contains("\"criticalPath\"") && text.contains("\"writes\":{\"created\":2,\"changed\":2}"),
        "{text}"
    );
}

#[test]
fn the_text_names_times_causes_and_writes() {
    insta::assert_snapshot!(summary(&whole()).text(), @r"
    updating 4.20.0: converged after 4m10s, 7 of 7 done, 2 created, 2 changed, 1 retry

    LEVEL   DONE     TIME
    07      3 of 3   1m50s
    10      4 of 4   2m19s

    OPERATOR   LEVEL   TIME
    dns        10      2m19s
    network    07      1m50s

    TIME    LEVEL   CRITICAL PATH
    0.3s    07      2 steps up to Deployment openshift-network-operator/network-operator
    1m50s   07      ClusterOperator network (operator updating)
    0.2s    10      Deployment openshift-dns-operator/dns-operator
    2m19s   10      ClusterOperator dns (operator updating)

    WAIT                SUM              LONGEST
    operator updating   2 times, 4m09s   2m19s ClusterOperator dns: ClusterOperator dns reports 4.19.0; it must report 4.20.0
    kind not served     1 time, 1m10s    1m10s Widget shop/one: the kind Widget is not served; 0000_10_shop_00.yaml brings it

    FIGHT                                                    FIELD            ROUNDS
    Deployment openshift-network-operator/network-operator   /spec/replicas   3 rounds against autoscaler

    orphan: ConfigMap openshift-dns/old
    ");
}
