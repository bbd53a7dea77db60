//! A small run that the tests of the views share.

use super::{Event, Happening, Level, Outcome, PlannedTask, Seconds, Step, Verb, Wait, WaitReason};

/// Two levels: `07` with the network operator, `10` with dns and a custom resource that waits for its kind.
pub(super) fn tasks() -> Vec<PlannedTask> {
    let task = |object: &str, level: &str, component: &str, step| PlannedTask {
        object: object.into(),
        file: format!("0000_{level}_{component}_00.yaml"),
        level: Some(level.into()),
        component: Some(component.into()),
        step,
    };
    vec![
        task("Namespace openshift-network-operator", "07", "network", Step::Apply),
        task("Deployment openshift-network-operator/network-operator", "07", "network", Step::Apply),
        task("ClusterOperator network", "07", "network", Step::Gate),
        task("Deployment openshift-dns-operator/dns-operator", "10", "dns", Step::Apply),
        task("ClusterOperator dns", "10", "dns", Step::Gate),
        task("CustomResourceDefinition widgets.example.com", "10", "shop", Step::Apply),
        task("Widget shop/one", "10", "store", Step::Apply),
    ]
}

pub(super) fn at(at: Seconds, what: Happening) -> Event {
    Event { at, what }
}

pub(super) fn wait(reason: WaitReason, sentence: &str, provider: Option<usize>) -> Wait {
    Wait { reason, sentence: sentence.into(), provider }
}

pub(super) fn began() -> Event {
    let levels = vec![
        Level { name: "07".into(), tasks: vec![0, 1, 2] },
        Level { name: "10".into(), tasks: vec![3, 4, 5, 6] },
    ];
    at(0.0, Happening::Began { version: "4.20.0".into(), mode: "updating".into(), tasks: tasks(), levels })
}

/// Up to 3m00s: level 07 is done, dns is waited for, a failure and a fight have happened.
pub(super) fn half() -> Vec<Event> {
    let updating = WaitReason::OperatorUpdating;
    let network = wait(updating, "ClusterOperator network reports 4.19.0; it must report 4.20.0", None);
    let dns = wait(updating, "ClusterOperator dns reports 4.19.0; it must report 4.20.0", None);
    let kind = wait(
        WaitReason::KindNotServed,
        "the kind Widget is not served; 0000_10_shop_00.yaml brings it",
        Some(5),
    );
    let created = |task| Happening::Applied { task, verb: Verb::Created };
    let changed = |task| Happening::Applied { task, verb: Verb::Changed };
    vec![
        began(),
        at(0.1, Happening::Compared { equal: 2, different: 3, missing: 2 }),
        at(0.1, Happening::Started { task: 0 }),
        at(0.2, Happening::Unchanged { task: 0 }),
        at(0.2, Happening::Done { task: 0 }),
        at(0.2, Happening::Started { task: 1 }),
        at(0.4, changed(1)),
        at(0.4, Happening::Done { task: 1 }),
        at(0.4, Happening::Started { task: 2 }),
        at(0.5, Happening::Waiting { task: 2, wait: network }),
        at(110.5, Happening::Woke { task: 2 }),
        at(110.5, Happening::Done { task: 2 }),
        at(110.6, Happening::Started { task: 3 }),
        at(110.6, Happening::Started { task: 5 }),
        at(110.6, Happening::Started { task: 6 }),
        at(110.7, Happening::Waiting { task: 6, wait: kind }),
        at(110.8, changed(3)),
        at(110.8, Happening::Done { task: 3 }),
        at(110.8, Happening::Started { task: 4 }),
        at(110.9, Happening::Waiting { task: 4, wait: dns }),
        at(
            111.0,
            Happening::Failed {
                task: 5,
                reason: "ServerBusy".into(),
                sentence: "the server answers 429; it is tried again".into(),
                retry_at: Some(117.0),
            },
        ),
        at(117.0, Happening::Retried { task: 5, failures: 1 }),
        at(117.2, created(5)),
        at(
            150.0,
            Happening::Fighting {
                object: "Deployment openshift-network-operator/network-operator".into(),
                field: "/spec/replicas".into(),
                manager: "autoscaler".into(),
                rounds: 3,
                next_at: 240.0,
            },
        ),
        at(180.0, Happening::Concurrency { limit: 16 }),
    ]
}

/// The whole run: it converges at 4m10s, and dns was the last.
pub(super) fn whole() -> Vec<Event> {
    let mut events = half();
    events.extend([
        at(181.0, Happening::Done { task: 5 }),
        at(181.1, Happening::Woke { task: 6 }),
        at(181.3, Happening::Applied { task: 6, verb: Verb::Created }),
        at(181.3, Happening::Done { task: 6 }),
        at(200.0, Happening::Orphan { object: "ConfigMap openshift-dns/old".into() }),
        at(250.0, Happening::Done { task: 4 }),
        at(250.0, Happening::Ended { outcome: Outcome::Converged, missing: vec![], writes: 4 }),
    ]);
    events
}
